#include "ir/base/input_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/base/philox.h"
#include "ir/support/checked.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

Error usage(std::string message) {
  return Error(Code::kUsage, std::move(message))
      .with(
          "forms: x=@in.npy  x=@all.npz:entry  x=@raw.bin:f16[8,512]  x=f32[1,3,224,224]  ids=i64[1,128]~0..30521  "
          "mask=ones  sr=i64[]:16000");
}

bool looks_like_type(std::string_view s) {
  const size_t bracket = s.find('[');
  return parse_dtype(s.substr(0, bracket)) != DType::kInvalid && (bracket == std::string_view::npos || s.back() == ']');
}

struct IntRange {
  int64_t lo = 0;
  uint64_t count = 0;  // 0: all 2^64
};

bool parse_u64(std::string_view s, uint64_t* out) {
  const auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), *out);
  return code == std::errc() && end == s.data() + s.size();
}

// An integer as the bits that store_i64 takes.
Result<int64_t> parse_element(std::string_view s, DType t) {
  int64_t v = 0;
  uint64_t u = 0;
  if (t == DType::kBool) {
    if (s == "true" || s == "1") return int64_t(1);
    if (s == "false" || s == "0") return int64_t(0);
    return usage(cat("value ", quote(s), " of a bool: true, false, 1 or 0 expected"));
  }
  if (is_unsigned_int(t)) {
    if (parse_u64(s, &u) && u <= int_max(t)) return int64_t(u);
  } else if (parse_int(s, &v) && v >= int_min(t) && (v < 0 || uint64_t(v) <= int_max(t))) {
    return v;
  }
  return usage(cat("value ", quote(s), " of dtype ", dtype_name(t), ": an integer in ", int_min(t), "..", int_max(t), " expected"));
}

Result<IntRange> int_range(const InputSpec& spec, DType t) {
  if (spec.lo.empty()) {
    if (t == DType::kBool) return IntRange{0, 2};
    return IntRange{0, std::min<uint64_t>(9, int_max(t)) + 1};
  }
  NNC_ASSIGN(const int64_t lo, parse_element(spec.lo, t));
  NNC_ASSIGN(const int64_t hi, parse_element(spec.hi, t));
  const bool ordered = is_unsigned_int(t) ? uint64_t(lo) <= uint64_t(hi) : lo <= hi;
  if (!ordered) return usage(cat("range ~", spec.lo, "..", spec.hi, " is empty"));
  return IntRange{lo, uint64_t(hi) - uint64_t(lo) + 1};
}

Status fill_random(const InputSpec& spec, Tensor& t, uint64_t seed, uint64_t stream) {
  const DType dtype = t.dtype();
  void* out = t.data();
  const int64_t n = t.count();
  if (is_float(dtype)) {
    const bool is_scale = dtype == DType::kF8E8M0;  // holds no 0 and nothing negative
    double lo = is_scale ? 0.25 : -1, hi = is_scale ? 4 : 1;
    if (!spec.lo.empty() && (!parse_double(spec.lo, &lo) || !parse_double(spec.hi, &hi) || !std::isfinite(hi - lo) || lo > hi))
      return usage(cat("range ~", spec.lo, "..", spec.hi, ": two finite numbers, the smaller first, expected"));
    for (int64_t i = 0; i < n; ++i) store_f64(dtype, out, i, lo + (hi - lo) * philox_unit(philox_element(seed, stream, uint64_t(i))));
    return {};
  }
  if (!is_int(dtype) && dtype != DType::kBool)
    return usage(cat("no random values of dtype ", dtype_name(dtype), ": give a file or the values"));
  NNC_ASSIGN(const IntRange range, int_range(spec, dtype));
  for (int64_t i = 0; i < n; ++i)
    store_i64(dtype, out, i, int64_t(uint64_t(range.lo) + philox_below(philox_element(seed, stream, uint64_t(i)), range.count)));
  return {};
}

Status store_text(std::string_view text, Tensor& t, int64_t i) {
  const DType dtype = t.dtype();
  if (dtype == DType::kString) {
    t.strings()[size_t(i)] = text;
  } else if (is_float(dtype)) {
    double v;
    if (!parse_double(text, &v)) return usage(cat("value ", quote(text), " of dtype ", dtype_name(dtype), ": a number expected"));
    store_f64(dtype, t.data(), i, v);
  } else if (is_int(dtype) || dtype == DType::kBool) {
    NNC_ASSIGN(const int64_t v, parse_element(text, dtype));
    store_i64(dtype, t.data(), i, v);
  } else {
    return usage(cat("no values of dtype ", dtype_name(dtype), " on the command line: give a file"));
  }
  return {};
}

Status fill_values(const InputSpec& spec, Tensor& t) {
  const int64_t n = t.count();
  const bool is_word = spec.values.size() == 1 && t.dtype() != DType::kString;
  if (is_word && (spec.values[0] == "ones" || spec.values[0] == "zeros")) {
    for (int64_t i = 0; i < n; ++i) NNC_TRY(store_text(spec.values[0] == "ones" ? "1" : "0", t, i));
    return {};
  }
  if (spec.values.size() != 1 && int64_t(spec.values.size()) != n)
    return usage(cat(spec.values.size(), " values for ", n, " elements: 1 or ", n, " expected"));
  for (int64_t i = 0; i < n; ++i) NNC_TRY(store_text(spec.values[spec.values.size() == 1 ? 0 : size_t(i)], t, i));
  return {};
}

// What follows the dtype and extents, or stands alone: "~lo..hi", ":a,b", "ones".
Status parse_content(std::string_view text, InputSpec* spec) {
  if (text.empty()) return {};
  if (text[0] == '~') {
    const size_t dots = text.find("..");
    if (dots == std::string_view::npos || dots == 1 || dots + 2 == text.size())
      return usage(cat("range ", quote(text), ": ~lo..hi expected"));
    spec->lo = text.substr(1, dots - 1);
    spec->hi = text.substr(dots + 2);
    double lo, hi;
    if (!parse_double(spec->lo, &lo) || !parse_double(spec->hi, &hi)) return usage(cat("range ", quote(text), ": two numbers expected"));
    return {};
  }
  spec->source = InputSpec::Source::kValues;
  for (std::string_view value : split(text.substr(text[0] == ':' ? 1 : 0), ',')) spec->values.emplace_back(value);
  return {};
}

Status parse_file(std::string_view text, InputSpec* spec) {
  spec->source = InputSpec::Source::kFile;
  const size_t colon = text.rfind(':');
  std::string_view path = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const std::string_view rest = text.substr(colon + 1);
    if (path.ends_with(".npz")) {
      if (rest.empty()) return usage(cat("file ", quote(text), ": the name of an entry expected after ':'"));
      spec->entry = rest;
    } else if (looks_like_type(rest)) {
      NNC_ASSIGN(TypeSpec type, parse_type_spec(rest));
      spec->dtype = type.dtype;
      spec->dims = std::move(type.dims);
    } else {
      path = text;  // the colon belongs to the path
    }
  }
  if (path.empty()) return usage("a path expected after '@'");
  spec->path = path;
  return {};
}

}  // namespace

Result<TypeSpec> parse_type_spec(std::string_view text) {
  TypeSpec out;
  const size_t bracket = text.find('[');
  const std::string_view name = text.substr(0, bracket);
  out.dtype = parse_dtype(name);
  if (out.dtype == DType::kInvalid) return usage(cat("unknown dtype ", quote(name)));
  if (bracket == std::string_view::npos) return out;
  if (text.back() != ']') return usage(cat("type ", quote(text), ": ']' expected at its end"));
  out.dims.emplace();
  const std::string_view list = text.substr(bracket + 1, text.size() - bracket - 2);
  if (trim(list).empty()) return out;
  for (std::string_view part : split(list, ',')) {
    int64_t extent;
    if (!parse_int(trim(part), &extent) || extent < 0)
      return usage(cat("type ", quote(text), ": extent ", quote(trim(part)), " is no number of at least 0"));
    out.dims->push_back(extent);
  }
  return out;
}

Result<InputSpec> parse_input_spec(std::string_view text) {
  InputSpec spec;
  if (!text.empty() && text[0] == '@') {
    NNC_TRY(parse_file(text.substr(1), &spec));
    if (spec.is_raw()) return usage(cat(quote(text), ": raw data needs the name of its input, as in x=", text));
    return spec;
  }
  const size_t equal = text.find('=');
  if (equal == std::string_view::npos || equal == 0) return usage(cat(quote(text), ": name=value or @file expected"));
  spec.name = text.substr(0, equal);
  std::string_view value = text.substr(equal + 1);
  if (value.empty()) return usage(cat(quote(text), ": a value expected after '='"));
  if (value[0] == '@') {
    NNC_TRY(parse_file(value.substr(1), &spec));
    return spec;
  }
  const size_t end = std::min(value.find_first_of(":~"), value.size());
  const std::string_view head = value.substr(0, end);
  if (head == "ones" || head == "zeros") {
    if (end != value.size()) return usage(cat(quote(text), ": nothing expected after ", head));
    NNC_TRY(parse_content(value, &spec));
    return spec;
  }
  if (!head.empty()) {
    NNC_ASSIGN(TypeSpec type, parse_type_spec(head));
    spec.dtype = type.dtype;
    spec.dims = std::move(type.dims);
  }
  NNC_TRY(parse_content(value.substr(end), &spec));
  return spec;
}

Result<Tensor> generate(const InputSpec& spec, DType dtype, std::span<const int64_t> dims, uint64_t seed, uint64_t stream, Budget& budget) {
  NNC_CHECK(spec.source != InputSpec::Source::kFile, "a spec that needs no file");
  NNC_TRY(budget.within(Limit::kRank, int64_t(dims.size())));
  NNC_ASSIGN(const int64_t count, checked_element_count(dims));
  NNC_TRY(budget.within(Limit::kElements, count));
  const int64_t item = int64_t(sizeof(std::string));
  NNC_TRY(budget.charge(Limit::kTotalBytes,
                        dtype == DType::kString ? (CheckedSize(count) * item).value_or(INT64_MAX) : int64_t(dtype_bytes(dtype, count))));
  NNC_ASSIGN(Tensor t, Tensor::create(dtype, {dims.begin(), dims.end()}));
  NNC_TRY(spec.source == InputSpec::Source::kRandom ? fill_random(spec, t, seed, stream) : fill_values(spec, t));
  return t;
}

}  // namespace nnc
