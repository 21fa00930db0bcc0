#include <algorithm>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/inputs.h"

namespace nnc::tool {

namespace {

Error no_output(const Interface& interface, std::string_view name) {
  Error e(Code::kUnknownName, cat("the model has no output ", quote(name)));
  e.context.push_back(cat("outputs: ", args_text(interface.outputs)));
  if (const std::string close = nearest(name, interface.output_names()); !close.empty())
    e.context.push_back(cat("did you mean ", quote(close), "?"));
  return e;
}

void append_axis(const Tensor& t, size_t axis, int64_t base, bool cut, std::string* out) {
  if (axis == t.dims().size()) return append(*out, element_text(t, base));
  constexpr int64_t kEdge = 3;
  const int64_t n = t.dims()[axis];
  int64_t stride = 1;
  for (size_t a = axis + 1; a < t.dims().size(); ++a) stride *= t.dims()[a];
  *out += '[';
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) *out += axis + 1 == t.dims().size() ? ", " : cat(",\n", std::string(axis + 1, ' '));
    if (cut && n > 2 * kEdge && i == kEdge) {
      *out += "...";
      i = n - kEdge - 1;
      continue;
    }
    append_axis(t, axis + 1, base + i * stride, cut, out);
  }
  *out += ']';
}

Status write_one(const std::string& path, const NamedTensor& t, Console& console) {
  NNC_ASSIGN(const Bytes bytes, npy_bytes(t.tensor));
  if (path != "-") return write_file_atomic(path, bytes);
  console.raw(bytes);
  return {};
}

}  // namespace

std::string element_text(const Tensor& t, int64_t i) {
  const DType d = t.dtype();
  if (d == DType::kString) return quote(t.strings()[static_cast<size_t>(i)]);
  if (is_complex(d)) {
    const DType part = d == DType::kC64 ? DType::kF32 : DType::kF64;
    return cat(load_f64(part, t.data(), 2 * i), load_f64(part, t.data(), 2 * i + 1) < 0 ? "" : "+", load_f64(part, t.data(), 2 * i + 1),
               "i");
  }
  if (d == DType::kBool) return t.i64(i) != 0 ? "true" : "false";
  if (d == DType::kU64) return cat(static_cast<uint64_t>(t.i64(i)));
  if (is_float(d)) return d == DType::kF64 ? cat(t.f64(i)) : cat(static_cast<float>(t.f64(i)));
  return cat(t.i64(i));
}

std::string tensor_text(const Tensor& t, int64_t max_elements) {
  std::string out;
  if (t.count() == 0) return "[]";
  append_axis(t, 0, 0, t.count() > max_elements, &out);
  return out;
}

Result<std::vector<NamedTensor>> read_expected(const Arguments& a, const Interface& interface, Console& console, Budget& budget) {
  std::vector<NamedTensor> out;
  for (const std::string& text : a.all("expect")) {
    NNC_ASSIGN(const InputSpec spec, parse_input_spec(text));
    if (spec.source != InputSpec::Source::kFile)
      return Error(Code::kUsage, cat("--expect ", quote(text), ": @ref.npz or y=@y.npy expected"));
    NNC_ASSIGN(std::vector<NamedTensor> tensors, read_tensors(spec, console, budget));
    for (NamedTensor& t : tensors) {
      if (!spec.name.empty()) t.name = spec.name;
      if (t.name.empty() && interface.outputs.size() == 1) t.name = interface.outputs[0].name;
      const std::vector<std::string> names = interface.output_names();
      if (std::ranges::find(names, t.name) == names.end()) return no_output(interface, t.name);
      out.push_back(std::move(t));
    }
  }
  return out;
}

Status write_outputs(const Arguments& a, const std::vector<NamedTensor>& outputs, Console& console) {
  for (const std::string& text : a.all("output")) {
    const size_t equal = text.find('=');
    const bool named = equal != std::string::npos && equal > 0 && text[0] != '@';
    const std::string name = named ? text.substr(0, equal) : std::string();
    std::string path = named ? text.substr(equal + 1) : text;
    const bool to_file = path.starts_with('@');
    if (to_file) path.erase(0, 1);
    std::vector<NamedTensor> chosen;
    for (const NamedTensor& t : outputs)
      if (!named || t.name == name) chosen.push_back(t);
    if (named && chosen.empty()) {
      std::vector<std::string> names;
      for (const NamedTensor& t : outputs) names.push_back(t.name);
      return unknown_name(Code::kUnknownName, "output", name, names).with(cat("outputs: ", join(names, ", ")));
    }
    if (path == "-" && !to_file) {
      for (const NamedTensor& t : chosen)
        console.print(cat(t.name, " ", type_text(t.tensor.dtype(), t.tensor.dims()), "\n", tensor_text(t.tensor), "\n"));
    } else if (path.ends_with(".npz") || (path == "-" && chosen.size() != 1)) {
      NNC_ASSIGN(const Bytes bytes, npz_bytes(chosen));
      if (path == "-")
        console.raw(bytes);
      else
        NNC_TRY(write_file_atomic(path, bytes));
    } else if (path.ends_with(".npy") || path == "-") {
      if (chosen.size() != 1)
        return Error(Code::kUsage, cat("-o ", quote(text), ": the model has ", chosen.size(), " outputs, an npy file holds one"))
            .with("try: -o @out.npz, or -o NAME=@out.npy");
      NNC_TRY(write_one(path, chosen[0], console));
    } else {
      return Error(Code::kUsage, cat("-o ", quote(text), ": @FILE.npz, @FILE.npy, NAME=@FILE.npy, NAME=- or - expected"));
    }
  }
  return {};
}

}  // namespace nnc::tool
