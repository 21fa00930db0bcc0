#include "ir/base/zip.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr uint64_t kNarrow = 0xffffffff;
constexpr uint64_t kFirstDay = 0x21;  // 1980-01-01, the first date the format has
constexpr uint64_t kUtf8 = 0x800;
constexpr uint64_t kVersion = 20, kVersion64 = 45;

class Fields {
 public:
  Fields& put(uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += char(v >> (8 * i) & 0xff);
    return *this;
  }
  Fields& put(std::string_view s) {
    out_ += s;
    return *this;
  }
  ByteView view() const { return bytes_of(out_); }

 private:
  std::string out_;
};

}  // namespace

Status ZipWriter::data(ByteView bytes) {
  at_ += bytes.size();
  return sink_(bytes);
}

Status ZipWriter::add(std::string_view name, uint64_t bytes, uint32_t crc) {
  if (name.size() > 0xffff) return Error(Code::kBadInput, cat("a name of ", name.size(), " bytes: at most 65535 expected"));
  records_.push_back({std::string(name), bytes, at_, crc});
  const bool wide = bytes >= zip64_from_;
  Fields r;
  r.put(0x04034b50, 4).put(wide ? kVersion64 : kVersion, 2).put(kUtf8, 2).put(0, 2).put(0, 2).put(kFirstDay, 2).put(crc, 4);
  r.put(wide ? kNarrow : bytes, 4).put(wide ? kNarrow : bytes, 4).put(name.size(), 2).put(wide ? 20 : 0, 2).put(name);
  if (wide) r.put(1, 2).put(16, 2).put(bytes, 8).put(bytes, 8);
  return data(r.view());
}

Status ZipWriter::finish() {
  const uint64_t start = at_;
  for (const auto& e : records_) {
    const bool wide = e.bytes >= zip64_from_, far = e.offset >= zip64_from_;
    const uint64_t extra = (wide ? 16 : 0) + (far ? 8 : 0);
    Fields r;
    r.put(0x02014b50, 4).put(extra ? kVersion64 : kVersion, 2).put(extra ? kVersion64 : kVersion, 2).put(kUtf8, 2).put(0, 2);
    r.put(0, 2).put(kFirstDay, 2).put(e.crc, 4).put(wide ? kNarrow : e.bytes, 4).put(wide ? kNarrow : e.bytes, 4);
    r.put(e.name.size(), 2)
        .put(extra ? extra + 4 : 0, 2)
        .put(0, 2)
        .put(0, 2)
        .put(0, 2)
        .put(0, 4)
        .put(far ? kNarrow : e.offset, 4)
        .put(e.name);
    if (extra) r.put(1, 2).put(extra, 2);
    if (wide) r.put(e.bytes, 8).put(e.bytes, 8);
    if (far) r.put(e.offset, 8);
    NNC_TRY(data(r.view()));
  }
  const uint64_t end = at_, size = end - start, count = records_.size();
  const bool wide = count >= 0xffff || size >= zip64_from_ || start >= zip64_from_;
  Fields r;
  if (wide) {
    r.put(0x06064b50, 4)
        .put(44, 8)
        .put(kVersion64, 2)
        .put(kVersion64, 2)
        .put(0, 4)
        .put(0, 4)
        .put(count, 8)
        .put(count, 8)
        .put(size, 8)
        .put(start, 8);
    r.put(0x07064b50, 4).put(0, 4).put(end, 8).put(1, 4);
  }
  const uint64_t short_count = wide ? 0xffff : count;
  r.put(0x06054b50, 4).put(0, 2).put(0, 2).put(short_count, 2).put(short_count, 2);
  r.put(wide ? kNarrow : size, 4).put(wide ? kNarrow : start, 4).put(0, 2);
  return data(r.view());
}

}  // namespace nnc
