#include <algorithm>
#include <cstring>

#include "ir/base/npy_header.h"
#include "ir/base/npy_stream.h"
#include "ir/support/checked.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr size_t kMagicBytes = 6;
constexpr char kMagic[kMagicBytes + 1] = "\x93NUMPY";
constexpr size_t kMaxHeader = 1 << 16;
constexpr size_t kAlign = 64;

void swap_bytes(uint8_t* data, size_t bytes, size_t unit) {
  for (size_t i = 0; i + unit <= bytes; i += unit) std::reverse(data + i, data + i + unit);
}

// `in` has the axes in Fortran order; out gets them in C order.
void from_fortran(const uint8_t* in, uint8_t* out, std::span<const int64_t> dims, size_t item) {
  const size_t rank = dims.size();
  std::vector<int64_t> index(rank, 0), stride(rank);
  int64_t step = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    stride[axis] = step;
    step *= dims[axis];
  }
  int64_t at = 0;
  for (int64_t i = 0; i < step; ++i) {
    std::memcpy(out + size_t(i) * item, in + size_t(at) * item, item);
    for (size_t axis = rank; axis-- > 0;) {
      at += stride[axis];
      if (++index[axis] < dims[axis]) break;
      at -= stride[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

bool append_utf8(std::string& out, uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xc0 | c >> 6);
    out += char(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += char(0xe0 | c >> 12);
    out += char(0x80 | (c >> 6 & 63));
    out += char(0x80 | (c & 63));
  } else {
    out += char(0xf0 | c >> 18);
    out += char(0x80 | (c >> 12 & 63));
    out += char(0x80 | (c >> 6 & 63));
    out += char(0x80 | (c & 63));
  }
  return true;
}

// False where the text is no UTF-8 (overlong forms and surrogates included).
bool decode_utf8(std::string_view s, std::vector<uint32_t>& out) {
  for (size_t i = 0; i < s.size();) {
    const uint8_t lead = uint8_t(s[i]);
    const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + length > s.size()) return false;
    uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t k = 1; k < length; ++k) {
      if ((uint8_t(s[i + k]) & 0xc0) != 0x80) return false;
      c = c << 6 | (uint8_t(s[i + k]) & 63);
    }
    std::string again;
    if (!append_utf8(again, c) || again.size() != length) return false;
    out.push_back(c);
    i += length;
  }
  return true;
}

class Reader {
 public:
  Reader(ByteSource& source, std::string_view file, const std::shared_ptr<const void>& owner, Budget& budget)
      : source_(source), file_(file), owner_(owner), budget_(budget) {}

  Result<Tensor> run() {
    NNC_TRY(header());
    NNC_TRY(budget_.within(Limit::kRank, int64_t(header_.dims.size())));
    auto counted = checked_element_count(header_.dims);
    if (!counted.ok()) return std::move(counted).error().at(place());
    count_ = *counted;
    NNC_TRY(budget_.within(Limit::kElements, count_));
    const CheckedSize declared = CheckedSize(count_) * header_.type.item;
    if (!declared.ok() || uint64_t(declared.value_or(0)) != source_.remaining()) {
      return broken(
          cat("the header declares ", count_, " elements of ", header_.type.item, " bytes, ", source_.remaining(), " bytes follow it"));
    }
    bytes_ = size_t(declared.value_or(0));
    switch (header_.type.storage) {
      case NpyStorage::kPlain: return plain();
      case NpyStorage::kUnpacked: return unpacked();
      case NpyStorage::kUnicode:
      case NpyStorage::kBytes: return strings();
    }
    return Tensor();
  }

 private:
  Place place() const { return broken_file(file_, source_.offset(), {}).place; }
  Error broken(std::string message) const { return broken_file(file_, source_.offset(), std::move(message)); }

  Status header() {
    uint8_t start[kMagicBytes + 2], size[4] = {};
    if (source_.remaining() < sizeof start) return broken(cat("no npy file: ", source_.remaining(), " bytes"));
    NNC_TRY(source_.read(start, sizeof start));
    if (std::memcmp(start, kMagic, kMagicBytes) != 0) return broken("no npy file: it starts with other bytes");
    const int version = start[kMagicBytes];
    if (version < 1 || version > 3 || start[kMagicBytes + 1] != 0)
      return broken(cat("npy version ", version, ".", start[kMagicBytes + 1], ": 1.0 to 3.0 expected"));
    const size_t size_bytes = version == 1 ? 2 : 4;
    if (source_.remaining() < size_bytes) return broken("the file ends in the header");
    NNC_TRY(source_.read(size, size_bytes));
    const size_t length = size[0] | size_t(size[1]) << 8 | size_t(size[2]) << 16 | size_t(size[3]) << 24;
    if (length > kMaxHeader) return broken(cat("a header of ", length, " bytes: at most ", kMaxHeader, " expected"));
    if (source_.remaining() < length) return broken(cat("a header of ", length, " bytes, ", source_.remaining(), " are left"));
    const int64_t base = source_.offset();
    std::string text(length, 0);
    NNC_TRY(source_.read(text.data(), length));
    auto parsed = parse_npy_header(text);
    if (parsed.ok()) {
      header_ = std::move(*parsed);
      return {};
    }
    if (parsed.error().code != Code::kParse) return std::move(parsed).error().at(broken_file(file_, base, {}).place);
    const int64_t offset = base + parsed.error().place.column - 1;
    return broken_file(file_, offset, cat("npy header: ", parsed.error().message));
  }

  Result<Tensor> allocate() {
    if (header_.type.dtype != DType::kString) NNC_TRY(budget_.charge(Limit::kTotalBytes, int64_t(dtype_bytes(header_.type.dtype, count_))));
    auto t = Tensor::create(header_.type.dtype, header_.dims);
    if (!t.ok()) return std::move(t).error().at(place());
    return t;
  }

  Result<Tensor> plain() {
    const NpyType& type = header_.type;
    const bool permute = header_.fortran_order && header_.dims.size() > 1 && count_ > 1;
    const bool as_it_is = !type.swap && !permute && type.dtype != DType::kBool;
    if (owner_ && as_it_is) {
      const uint8_t* where = source_.view(0);
      if (where && reinterpret_cast<uintptr_t>(where) % kAlign == 0) {
        return Tensor(type.dtype, header_.dims, owner_, source_.view(bytes_), bytes_);
      }
    }
    NNC_ASSIGN(Tensor t, allocate());
    auto* out = static_cast<uint8_t*>(t.data());
    NNC_TRY(payload(out, permute));
    if (type.swap) swap_bytes(out, bytes_, is_complex(type.dtype) ? size_t(type.item) / 2 : size_t(type.item));
    if (type.dtype == DType::kBool)
      for (size_t i = 0; i < bytes_; ++i) out[i] = out[i] != 0;
    return t;
  }

  // All elements in C order, as the file has them.
  Status payload(uint8_t* out, bool permute) {
    if (!permute) return source_.read(out, bytes_);
    NNC_TRY(budget_.charge(Limit::kTotalBytes, int64_t(bytes_)));
    Bytes raw(bytes_);
    NNC_TRY(source_.read(raw.data(), bytes_));
    from_fortran(raw.data(), out, header_.dims, size_t(header_.type.item));
    budget_.release(Limit::kTotalBytes, int64_t(bytes_));
    return {};
  }
  Result<Bytes> raw_payload() {
    NNC_TRY(budget_.charge(Limit::kTotalBytes, int64_t(bytes_)));
    Bytes raw(bytes_);
    NNC_TRY(payload(raw.data(), header_.fortran_order && header_.dims.size() > 1));
    return raw;
  }

  Result<Tensor> unpacked() {
    NNC_ASSIGN(const Bytes raw, raw_payload());
    NNC_ASSIGN(Tensor t, allocate());
    const int bits = dtype_bits(header_.type.dtype);
    auto* out = static_cast<uint8_t*>(t.data());
    for (size_t i = 0; i < raw.size(); ++i) {
      const size_t bit = i * size_t(bits);
      out[bit / 8] = uint8_t(out[bit / 8] | (raw[i] & ((1 << bits) - 1)) << (bit % 8));
    }
    budget_.release(Limit::kTotalBytes, int64_t(bytes_));
    return t;
  }

  Result<Tensor> strings() {
    const int64_t base = source_.offset();
    const CheckedSize objects = CheckedSize(count_) * int64_t(sizeof(std::string));
    NNC_TRY(budget_.charge(Limit::kTotalBytes, objects.value_or(INT64_MAX)));
    NNC_TRY(budget_.charge(Limit::kStringBytes, int64_t(bytes_)));
    NNC_ASSIGN(Bytes raw, raw_payload());
    if (header_.type.swap) swap_bytes(raw.data(), raw.size(), 4);
    NNC_ASSIGN(Tensor t, allocate());
    const size_t item = size_t(header_.type.item);
    for (size_t i = 0; i < size_t(count_); ++i) {
      const uint8_t* at = raw.data() + i * item;
      std::string& s = t.strings()[i];
      if (header_.type.storage == NpyStorage::kBytes) {
        size_t length = item;
        while (length > 0 && at[length - 1] == 0) --length;
        s.assign(reinterpret_cast<const char*>(at), length);
      } else if (!from_utf32(at, item / 4, s)) {
        return broken_file(file_, base, cat("string ", i, " holds a number that is no Unicode character"));
      }
    }
    budget_.release(Limit::kTotalBytes, int64_t(bytes_));
    return t;
  }

  static bool from_utf32(const uint8_t* at, size_t length, std::string& out) {
    const auto code = [&](size_t i) {
      uint32_t c;
      std::memcpy(&c, at + 4 * i, 4);
      return c;
    };
    while (length > 0 && code(length - 1) == 0) --length;
    for (size_t i = 0; i < length; ++i)
      if (!append_utf8(out, code(i))) return false;
    return true;
  }

  ByteSource& source_;
  std::string_view file_;
  const std::shared_ptr<const void>& owner_;
  Budget& budget_;
  NpyHeader header_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

Status utf32_image(const Tensor& t, NpyImage* image, int64_t* item) {
  std::vector<std::vector<uint32_t>> decoded(t.strings().size());
  size_t longest = 1;  // numpy has no '<U0' arrays of its own
  for (size_t i = 0; i < decoded.size(); ++i) {
    if (!decode_utf8(t.strings()[i], decoded[i]))
      return Error(Code::kBadInput, cat("string ", i, " of the tensor is no UTF-8: ", quote(t.strings()[i])));
    if (!decoded[i].empty() && decoded[i].back() == 0)
      return Error(Code::kBadInput, cat("string ", i, " of the tensor ends with a zero, which npy files cannot hold"));
    longest = std::max(longest, decoded[i].size());
  }
  const CheckedSize bytes = CheckedSize(int64_t(decoded.size())) * int64_t(longest) * 4;
  NNC_ASSIGN(const int64_t size, bytes.value("bytes of the strings"));
  image->converted.assign(size_t(size), 0);
  for (size_t i = 0; i < decoded.size(); ++i)
    if (!decoded[i].empty()) std::memcpy(image->converted.data() + i * longest * 4, decoded[i].data(), decoded[i].size() * 4);
  *item = int64_t(longest) * 4;
  return {};
}

}  // namespace

Error broken_file(std::string_view file, int64_t offset, std::string message) {
  Place where;
  where.file = file;
  where.offset = offset;
  return Error(Code::kInvalidData, std::move(message), std::move(where));
}

Status MemorySource::read(void* out, size_t bytes) {
  if (bytes > remaining()) return broken_file(file_, offset(), cat(bytes, " bytes expected, ", remaining(), " are left"));
  if (bytes > 0) std::memcpy(out, bytes_.data() + at_, bytes);
  at_ += bytes;
  return {};
}

const uint8_t* MemorySource::view(size_t bytes) {
  if (bytes > remaining()) return nullptr;
  const uint8_t* at = bytes_.data() + at_;
  at_ += bytes;
  return at;
}

Result<Tensor> read_npy_stream(ByteSource& source, std::string_view file, const std::shared_ptr<const void>& owner, Budget& budget) {
  return Reader(source, file, owner, budget).run();
}

Result<Tensor> read_npy(const FileBytes& file, Budget& budget) {
  MemorySource source(file.bytes, 0, file.name);
  return read_npy_stream(source, file.name, file.owner, budget);
}

Result<NpyImage> npy_image(const Tensor& tensor) {
  NNC_CHECK(tensor.valid(), "a tensor to write");
  NpyImage image;
  int64_t item = 0;
  const int bits = dtype_bits(tensor.dtype());
  if (tensor.dtype() == DType::kString) {
    NNC_TRY(utf32_image(tensor, &image, &item));
  } else if (bits < 8) {
    // Sign-extended, as ml_dtypes keeps them.
    image.converted.resize(size_t(tensor.count()));
    const auto* in = static_cast<const uint8_t*>(tensor.data());
    for (size_t i = 0; i < image.converted.size(); ++i) {
      const size_t bit = i * size_t(bits);
      const int code = in[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
      image.converted[i] = is_signed_int(tensor.dtype()) ? uint8_t(wrap_int(tensor.dtype(), code)) : uint8_t(code);
    }
  }
  const bool converted = tensor.dtype() == DType::kString || bits < 8;
  image.payload = converted ? ByteView(image.converted) : ByteView(static_cast<const uint8_t*>(tensor.data()), tensor.bytes());
  std::string shape = join(tensor.dims(), ", ", [](int64_t d) { return d; });
  if (tensor.rank() == 1) shape += ',';
  std::string text = cat("{'descr': '", npy_descr(tensor.dtype(), item), "', 'fortran_order': False, 'shape': (", shape, "), }");
  const auto frame = [&](size_t prefix) { return (prefix + text.size() + 1 + kAlign - 1) / kAlign * kAlign; };
  const bool is_long = frame(10) - 10 > 0xffff;
  const size_t prefix = is_long ? 12 : 10, length = frame(prefix) - prefix;
  text.resize(length, ' ');
  text.back() = '\n';
  image.header.append(kMagic, kMagicBytes);
  image.header += is_long ? '\2' : '\1';
  image.header += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) image.header += char(length >> (8 * i) & 0xff);
  image.header += text;
  return image;
}

Status write_npy(const Tensor& tensor, const ByteSink& sink) {
  NNC_ASSIGN(const NpyImage image, npy_image(tensor));
  NNC_TRY(sink(bytes_of(image.header)));
  return sink(image.payload);
}

Result<Bytes> npy_bytes(const Tensor& tensor) {
  Bytes out;
  NNC_TRY(write_npy(tensor, [&](ByteView piece) -> Status {
    out.insert(out.end(), piece.begin(), piece.end());
    return {};
  }));
  return out;
}

}  // namespace nnc
