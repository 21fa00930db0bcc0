#include <zlib.h>

#include <algorithm>
#include <set>

#include "ir/base/zip.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint64_t kNarrow = 0xffffffff;  // a size that stands for "see the zip64 field"
constexpr uint64_t kDeflateRatio = 1040;  // deflate reaches 1032

class Directory {
 public:
  Directory(ByteView file, std::string_view name, Budget& budget) : file_(file), name_(name), budget_(budget) {}

  Result<std::vector<ZipEntry>> run() {
    NNC_TRY(find_end());
    std::vector<ZipEntry> entries;
    std::vector<std::pair<uint64_t, uint64_t>> extents;
    std::set<std::string, std::less<>> names;
    uint64_t at = start_;
    for (uint64_t i = 0; i < count_; ++i) {
      ZipEntry entry;
      uint64_t local = 0;
      NNC_TRY(central(&at, &entry, &local));
      extents.emplace_back(local, entry.start + entry.packed);
      if (!names.insert(entry.name).second) return broken(local, cat("entry ", quote(entry.name), " occurs twice"));
      if (!entry.name.empty() && entry.name.back() == '/') continue;
      NNC_TRY(budget_.charge(Limit::kTensors, 1));
      entries.push_back(std::move(entry));
    }
    if (at != start_ + size_) return broken(at, "the directory has another length than it declares");
    std::sort(extents.begin(), extents.end());
    for (size_t i = 1; i < extents.size(); ++i)
      if (extents[i].first < extents[i - 1].second) return broken(extents[i].first, "entries overlap");
    return entries;
  }

 private:
  Error broken(uint64_t offset, std::string message) const { return broken_file(name_, int64_t(offset), "npz: " + std::move(message)); }
  bool inside(uint64_t offset, uint64_t bytes, uint64_t limit) const { return offset <= limit && bytes <= limit - offset; }
  uint64_t number(uint64_t offset, int bytes) const {
    uint64_t v = 0;
    for (int i = 0; i < bytes; ++i) v |= uint64_t(file_[offset + uint64_t(i)]) << (8 * i);
    return v;
  }

  Status find_end() {
    const uint64_t size = file_.size();
    for (uint64_t comment = 0; comment <= 0xffff && size >= kEndBytes + comment; ++comment) {
      const uint64_t at = size - kEndBytes - comment;
      if (number(at, 4) == kEnd && number(at + 20, 2) == comment) return end_record(at);
    }
    return broken(size, "no end record: the file is no zip archive or is cut short");
  }

  Status end_record(uint64_t at) {
    count_ = number(at + 10, 2);
    size_ = number(at + 12, 4);
    start_ = number(at + 16, 4);
    uint64_t disk = number(at + 4, 2) | number(at + 6, 2), here = number(at + 8, 2), limit = at;
    if (at >= kLocator64Bytes && number(at - kLocator64Bytes, 4) == kLocator64) {
      const uint64_t locator = at - kLocator64Bytes, record = number(locator + 8, 8);
      if (!inside(record, kEnd64Bytes, locator) || number(record, 4) != kEnd64)
        return broken(locator, "the zip64 end record is not where the locator says");
      disk = number(record + 16, 4) | number(record + 20, 4);
      here = number(record + 24, 8);
      count_ = number(record + 32, 8);
      size_ = number(record + 40, 8);
      start_ = number(record + 48, 8);
      limit = record;
    }
    if (disk != 0 || here != count_) return broken(at, "archives in several parts are not read");
    if (!inside(start_, size_, limit) || start_ + size_ != limit)
      return broken(at, cat("the directory does not lie before its end record: offset ", start_, ", ", size_, " bytes"));
    if (count_ > size_ / kCentralBytes) return broken(at, cat("a directory of ", size_, " bytes cannot hold ", count_, " entries"));
    return {};
  }

  Status central(uint64_t* at, ZipEntry* entry, uint64_t* local) {
    const uint64_t end = start_ + size_;
    if (!inside(*at, kCentralBytes, end) || number(*at, 4) != kCentral) return broken(*at, "a directory entry expected");
    const uint64_t flags = number(*at + 8, 2), method = number(*at + 10, 2);
    const uint64_t name_bytes = number(*at + 28, 2), extra_bytes = number(*at + 30, 2), comment_bytes = number(*at + 32, 2);
    if (!inside(*at + kCentralBytes, name_bytes + extra_bytes + comment_bytes, end)) return broken(*at, "the directory entry is cut short");
    NNC_TRY(budget_.within(Limit::kNameBytes, int64_t(name_bytes)));
    entry->name = text_of(file_.subspan(*at + kCentralBytes, name_bytes));
    entry->crc = uint32_t(number(*at + 16, 4));
    entry->packed = number(*at + 20, 4);
    entry->unpacked = number(*at + 24, 4);
    *local = number(*at + 42, 4);
    if (flags & 1) return broken(*at, cat("entry ", quote(entry->name), " is encrypted"));
    if (method != 0 && method != 8)
      return broken(*at, cat("entry ", quote(entry->name), ": compression method ", method, ", stored or deflated expected"));
    entry->deflated = method == 8;
    NNC_TRY(wide_sizes(*at + kCentralBytes + name_bytes, extra_bytes, entry, local));
    NNC_TRY(local_record(*local, entry));
    *at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
    return {};
  }

  Status wide_sizes(uint64_t at, uint64_t bytes, ZipEntry* entry, uint64_t* local) {
    uint64_t* wanted[3] = {&entry->unpacked, &entry->packed, local};
    const uint64_t end = at + bytes;
    while (inside(at, 4, end)) {
      const uint64_t id = number(at, 2), length = number(at + 2, 2);
      if (!inside(at + 4, length, end)) break;
      uint64_t field = at + 4;
      for (uint64_t* value : wanted) {
        if (id != 1 || *value != kNarrow) continue;
        if (!inside(field, 8, at + 4 + length)) return broken(field, "the zip64 field is cut short");
        *value = number(field, 8);
        field += 8;
      }
      if (id == 1) return {};
      at += 4 + length;
    }
    return {};
  }

  Status local_record(uint64_t at, ZipEntry* entry) {
    if (!inside(at, kLocalBytes, start_) || number(at, 4) != kLocal)
      return broken(at, cat("no entry ", quote(entry->name), " where the directory says"));
    const uint64_t name_bytes = number(at + 26, 2), extra_bytes = number(at + 28, 2);
    if (!inside(at + kLocalBytes, name_bytes + extra_bytes, start_) || text_of(file_.subspan(at + kLocalBytes, name_bytes)) != entry->name)
      return broken(at, cat("entry ", quote(entry->name), " has another name in its own record"));
    if (number(at + 8, 2) != (entry->deflated ? 8u : 0u))
      return broken(at, cat("entry ", quote(entry->name), " has another method in its own record"));
    entry->start = at + kLocalBytes + name_bytes + extra_bytes;
    if (!inside(entry->start, entry->packed, start_))
      return broken(at, cat("entry ", quote(entry->name), ": ", entry->packed, " bytes reach past the file"));
    if (entry->deflated ? entry->unpacked / kDeflateRatio > entry->packed : entry->unpacked != entry->packed)
      return broken(at, cat("entry ", quote(entry->name), ": ", entry->packed, " bytes cannot become ", entry->unpacked));
    return {};
  }

  ByteView file_;
  std::string_view name_;
  Budget& budget_;
  uint64_t start_ = 0, size_ = 0, count_ = 0;
};

class StoredReader final : public ZipEntryReader {
 public:
  StoredReader(ByteView file, std::string_view name, const ZipEntry& entry)
      : bytes_(file.subspan(entry.start, entry.packed)), name_(name), entry_(entry), source_(bytes_, int64_t(entry.start), name) {}
  uint64_t remaining() const override { return source_.remaining(); }
  int64_t offset() const override { return source_.offset(); }
  Status read(void* out, size_t bytes) override { return source_.read(out, bytes); }
  const uint8_t* view(size_t bytes) override { return source_.view(bytes); }
  Status finish() override {
    if (zip_crc(0, bytes_) == entry_.crc) return {};
    return broken_file(name_, int64_t(entry_.start), cat("npz: entry ", quote(entry_.name), ": the checksum does not hold"));
  }

 private:
  ByteView bytes_;
  std::string_view name_;
  const ZipEntry& entry_;
  MemorySource source_;
};

class InflatingReader final : public ZipEntryReader {
 public:
  InflatingReader(ByteView file, std::string_view name, const ZipEntry& entry)
      : in_(file.subspan(entry.start, entry.packed)), name_(name), entry_(entry) {
    NNC_CHECK(inflateInit2(&stream_, -MAX_WBITS) == Z_OK, "zlib");
  }
  ~InflatingReader() override { inflateEnd(&stream_); }
  uint64_t remaining() const override { return entry_.unpacked - done_; }
  int64_t offset() const override { return int64_t(entry_.start + fed_ - stream_.avail_in); }
  const uint8_t* view(size_t) override { return nullptr; }

  Status read(void* out, size_t bytes) override {
    if (bytes > remaining()) return broken(cat(bytes, " bytes expected, ", remaining(), " are left"));
    auto* to = static_cast<uint8_t*>(out);
    for (size_t left = bytes; left > 0;) {
      const uInt piece = uInt(std::min<size_t>(left, 1 << 20));
      NNC_TRY(inflate_some(to, piece));
      const size_t got = piece - stream_.avail_out;
      crc_ = zip_crc(crc_, ByteView(to, got));
      to += got;
      left -= got;
      done_ += got;
    }
    return {};
  }

  Status finish() override {
    if (remaining() != 0) return broken(cat(remaining(), " bytes were not read"));
    // Nothing more may come out, and all input must be used.
    uint8_t more;
    while (!ended_) {
      NNC_TRY(inflate_some(&more, 1, true));
      if (stream_.avail_out == 0) return broken("inflates to more bytes than declared");
    }
    if (fed_ - stream_.avail_in != in_.size()) return broken("bytes follow the end of the compressed data");
    if (crc_ != entry_.crc) return broken("the checksum does not hold");
    return {};
  }

 private:
  Error broken(std::string message) const { return broken_file(name_, offset(), cat("npz: entry ", quote(entry_.name), ": ", message)); }

  // At least one byte, unless the stream may end here.
  Status inflate_some(uint8_t* out, uInt bytes, bool may_end = false) {
    stream_.next_out = out;
    stream_.avail_out = bytes;
    while (stream_.avail_out == bytes) {
      if (ended_) return may_end ? Status() : broken("inflates to fewer bytes than declared");
      if (stream_.avail_in == 0) {
        const size_t piece = std::min<size_t>(in_.size() - fed_, 1 << 20);
        stream_.next_in = const_cast<uint8_t*>(in_.data() + fed_);
        stream_.avail_in = uInt(piece);
        fed_ += piece;
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END)
        ended_ = true;
      else if (code != Z_OK)
        return broken(code == Z_BUF_ERROR ? "the compressed data is cut short" : "the compressed data is broken");
    }
    return {};
  }

  ByteView in_;
  std::string_view name_;
  const ZipEntry& entry_;
  z_stream stream_{};
  uint64_t fed_ = 0, done_ = 0;
  uint32_t crc_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(ByteView file, std::string_view file_name, Budget& budget) {
  return Directory(file, file_name, budget).run();
}

std::unique_ptr<ZipEntryReader> open_zip_entry(ByteView file, std::string_view file_name, const ZipEntry& entry) {
  if (entry.deflated) return std::make_unique<InflatingReader>(file, file_name, entry);
  return std::make_unique<StoredReader>(file, file_name, entry);
}

uint32_t zip_crc(uint32_t crc, ByteView bytes) {
  // zlib takes a null pointer for a request for the start value.
  return bytes.empty() ? crc : uint32_t(crc32_z(crc, bytes.data(), bytes.size()));
}

}  // namespace nnc
