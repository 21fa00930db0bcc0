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

Status write_bytes(const std::string& path, ByteView bytes, Console& console) {
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

namespace {

// One `-o`: what goes where.
struct Destination {
  std::string spec, name, path;  // no name: all outputs
  bool to_stdout = false;
  bool as_text = false;  // to people
  bool takes(const std::string& output) const { return name.empty() || output == name; }
  bool is_archive() const { return path.ends_with(".npz"); }
};

Result<Destination> parse_destination(const std::string& text) {
  Destination out;
  out.spec = text;
  const size_t equal = text.find('=');
  const bool named = equal != std::string::npos && equal > 0 && text[0] != '@';
  if (named) out.name = text.substr(0, equal);
  out.path = named ? text.substr(equal + 1) : text;
  const bool to_file = out.path.starts_with('@');
  if (to_file) out.path.erase(0, 1);
  out.to_stdout = out.path == "-";
  out.as_text = out.to_stdout && !to_file;
  if (out.to_stdout || out.path.ends_with(".npz") || out.path.ends_with(".npy")) return out;
  return Error(Code::kUsage, cat("-o ", quote(text), ": @FILE.npz, @FILE.npy, NAME=@FILE.npy, NAME=- or - expected"));
}

}  // namespace

Status check_outputs(const Arguments& a, const Interface& interface) {
  const std::vector<std::string> names = interface.output_names();
  for (const std::string& text : a.all("output")) {
    NNC_ASSIGN(const Destination to, parse_destination(text));
    if (!to.name.empty() && std::ranges::find(names, to.name) == names.end()) return no_output(interface, to.name);
    if (to.to_stdout) continue;
    if (!to.is_archive() && to.name.empty() && names.size() != 1)
      return Error(Code::kUsage, cat("-o ", quote(text), ": the model has ", names.size(), " outputs, an npy file holds one"))
          .with("try: -o @out.npz, or -o NAME=@out.npy");
    NNC_TRY(check_writable(to.path));
  }
  return {};
}

Status check_writable(const std::string& path) {
  NNC_ASSIGN(const AtomicWriter probe, AtomicWriter::create(path));
  return {};
}

Status write_outputs(const Arguments& a, const std::vector<NamedTensor>& outputs, Console& console) {
  for (const std::string& text : a.all("output")) {
    NNC_ASSIGN(const Destination to, parse_destination(text));
    std::vector<NamedTensor> chosen;
    for (const NamedTensor& t : outputs)
      if (to.takes(t.name)) chosen.push_back(t);
    if (to.as_text) {
      for (const NamedTensor& t : chosen)
        console.print(cat(t.name, " ", type_text(t.tensor.dtype(), t.tensor.dims()), "\n", tensor_text(t.tensor), "\n"));
    } else if (to.is_archive() || chosen.size() != 1) {
      NNC_ASSIGN(const Bytes bytes, npz_bytes(chosen));
      NNC_TRY(write_bytes(to.path, bytes, console));
    } else {
      NNC_ASSIGN(const Bytes bytes, npy_bytes(chosen[0].tensor));
      NNC_TRY(write_bytes(to.path, bytes, console));
    }
  }
  return {};
}

}  // namespace nnc::tool
