#include "ir/base/npy_header.h"

#include "ir/support/text.h"

namespace nnc {
namespace {

struct NumpyRow {
  char kind;
  int size;
  DType dtype;
};
constexpr NumpyRow kNumpy[] = {
    {'b', 1, DType::kBool}, {'i', 1, DType::kI8},  {'i', 2, DType::kI16}, {'i', 4, DType::kI32},   {'i', 8, DType::kI64},
    {'u', 1, DType::kU8},   {'u', 2, DType::kU16}, {'u', 4, DType::kU32}, {'u', 8, DType::kU64},   {'f', 2, DType::kF16},
    {'f', 4, DType::kF32},  {'f', 8, DType::kF64}, {'c', 8, DType::kC64}, {'c', 16, DType::kC128}, {'V', 2, DType::kBF16},
};

struct NamedRow {
  std::string_view name;
  DType dtype;
};
// As ml_dtypes registers them with numpy.
constexpr NamedRow kNamed[] = {
    {"bfloat16", DType::kBF16},
    {"float8_e4m3fn", DType::kF8E4M3FN},
    {"float8_e4m3fnuz", DType::kF8E4M3FNUZ},
    {"float8_e5m2", DType::kF8E5M2},
    {"float8_e5m2fnuz", DType::kF8E5M2FNUZ},
    {"float8_e8m0fnu", DType::kF8E8M0},
    {"float4_e2m1fn", DType::kF4E2M1},
    {"int2", DType::kI2},
    {"int4", DType::kI4},
    {"uint2", DType::kU2},
    {"uint4", DType::kU4},
};

NpyType named_type(DType t) {
  const bool packed = dtype_bits(t) < 8;
  return {t, packed ? NpyStorage::kUnpacked : NpyStorage::kPlain, packed ? 1 : dtype_bits(t) / 8, false};
}

Result<NpyType> parse_descr(std::string_view descr) {
  for (const NamedRow& row : kNamed)
    if (row.name == descr) return named_type(row.dtype);
  std::string_view rest = descr;
  bool swap = false;
  if (!rest.empty() && std::string_view("<>=|").find(rest[0]) != std::string_view::npos) {
    swap = rest[0] == '>';
    rest.remove_prefix(1);
  }
  int64_t size = 0;
  if (rest.size() >= 2 && rest[1] >= '0' && rest[1] <= '9' && parse_int(rest.substr(1), &size)) {
    for (const NumpyRow& row : kNumpy)
      if (row.kind == rest[0] && row.size == size) return NpyType{row.dtype, NpyStorage::kPlain, size, swap && size > 1};
    constexpr int64_t kMaxItem = int64_t(1) << 31;
    if (rest[0] == 'S' && size <= kMaxItem) return NpyType{DType::kString, NpyStorage::kBytes, size, false};
    if (rest[0] == 'U' && size <= kMaxItem / 4) return NpyType{DType::kString, NpyStorage::kUnicode, 4 * size, swap};
  }
  Error e(Code::kUnsupportedOp, cat("array of numpy type ", quote(descr), ": nnc has no such dtype"));
  if (rest == "V1") return std::move(e).with("try: save the bytes with .view(numpy.uint8), or under an ml_dtypes name");
  if (!rest.empty() && rest[0] == 'O') return std::move(e).with("pickled objects are not read; try: save strings with dtype=str");
  return std::move(e).with("try: .astype(...) to a number or string type before saving");
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<NpyHeader> run() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!accept('{')) return error("'{' expected");
    while (!accept('}')) {
      NNC_ASSIGN(const std::string_view key, string());
      if (!accept(':')) return error("':' expected");
      bool* seen = key == "descr" ? &has_descr : key == "fortran_order" ? &has_order : key == "shape" ? &has_shape : nullptr;
      if (!seen || *seen) return error(cat("key ", quote(key), " is unknown or given twice"));
      *seen = true;
      if (seen == &has_descr) {
        NNC_TRY(descr(&header.type));
      } else if (seen == &has_order) {
        NNC_ASSIGN(header.fortran_order, boolean());
      } else {
        NNC_TRY(shape(&header.dims));
      }
      if (!accept(',') && !peek('}')) return error("',' or '}' expected");
    }
    skip();
    if (at_ != text_.size()) return error("text after the dictionary");
    if (!has_descr || !has_order || !has_shape) return error("descr, fortran_order and shape expected");
    return header;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool peek(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  Error error(std::string message) const {
    Error e(Code::kParse, std::move(message));
    e.place.column = int(at_ + 1);
    return e;
  }
  Result<std::string_view> string() {
    const char mark = peek('"') ? '"' : '\'';
    if (!accept(mark)) return error("a string expected");
    const size_t end = text_.find(mark, at_);
    if (end == std::string_view::npos) return error("the string does not end");
    const std::string_view s = text_.substr(at_, end - at_);
    if (s.find('\\') != std::string_view::npos) return error("escapes are not read");
    at_ = end + 1;
    return s;
  }
  Status descr(NpyType* out) {
    if (peek('[') || peek('('))
      return Error(Code::kUnsupportedOp, "array of records: nnc has no such dtype").with("try: save each field as an array");
    NNC_ASSIGN(const std::string_view text, string());
    NNC_ASSIGN(*out, parse_descr(text));
    return {};
  }
  Result<bool> boolean() {
    skip();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    return error("True or False expected");
  }
  Status shape(std::vector<int64_t>* dims) {
    if (!accept('(')) return error("'(' expected");
    while (!accept(')')) {
      skip();
      const size_t start = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      int64_t extent;
      if (!parse_int(text_.substr(start, at_ - start), &extent)) return error("an extent expected");
      accept('L');  // as Python 2 wrote them
      dims->push_back(extent);
      if (!accept(',') && !peek(')')) return error("',' or ')' expected");
    }
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) { return Parser(text).run(); }

std::string npy_descr(DType dtype, int64_t item) {
  if (dtype == DType::kString) return cat("<U", item / 4);
  for (const NamedRow& row : kNamed)
    if (row.dtype == dtype) return std::string(row.name);
  for (const NumpyRow& row : kNumpy)
    if (row.dtype == dtype) return cat(row.size == 1 ? "|" : "<", row.kind, row.size);
  NNC_CHECK(false, "a dtype without an npy spelling");
}

}  // namespace nnc
