#include "tools/inputs.h"

#include <algorithm>

#include "frontend/onnx/tensor.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "tools/command.h"

namespace nnc::tool {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY", kZipMagic = "PK\x03\x04", kEmptyZipMagic = "PK\x05\x06";

Result<Bytes> read_bytes(const std::string& path, Console& console, Budget& budget) {
  const int64_t most = budget.limits()[Limit::kTotalBytes];
  return path == "-" ? console.terminal().input(most) : read_file(path, most);
}

Result<Tensor> raw_tensor(const InputSpec& spec, ByteView bytes) {
  if (!spec.dims)
    return Error(Code::kUsage, cat("file ", quote(spec.path), ": raw data needs extents, as in :", dtype_name(spec.dtype), "[8,512]"));
  NNC_ASSIGN(Tensor t, Tensor::create(spec.dtype, *spec.dims));
  if (t.bytes() != bytes.size())
    return Error(Code::kInvalidData,
                 cat("raw data of ", type_text(spec.dtype, *spec.dims), " are ", t.bytes(), " bytes, the file holds ", bytes.size()),
                 place_of(spec.path));
  if (!bytes.empty()) std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(t.data()));
  return t;
}

// input_0.pb, input_1.pb, ... of a folder, by position; and the outputs beside them.
Result<std::vector<Tensor>> read_numbered(const std::string& folder, std::string_view prefix, size_t most, const Limits& limits) {
  std::vector<Tensor> out;
  NNC_ASSIGN(const std::vector<FolderEntry> entries, list_folder(folder));
  for (size_t k = 0; k < most; ++k) {
    const std::string name = cat(prefix, k, ".pb");
    if (std::ranges::find(entries, name, &FolderEntry::name) == entries.end()) break;
    NNC_ASSIGN(const Bytes bytes, read_file(cat(folder, "/", name), limits[Limit::kTotalBytes]));
    auto tensor = onnx::read_tensor_pb(bytes, limits);
    if (!tensor.ok()) return std::move(tensor).error().at(place_of(cat(folder, "/", name)));
    out.push_back(std::move(*tensor));
  }
  return out;
}

Error no_input(const Interface& interface, std::string_view name) {
  Error e(Code::kUnknownName, cat("the model has no input ", quote(name)));
  e.context.push_back(cat("inputs: ", args_text(interface.inputs)));
  if (const std::string close = nearest(name, interface.input_names()); !close.empty())
    e.context.push_back(cat("did you mean ", quote(close), "?   -i ", close, "=..."));
  return e;
}

bool extents_fit(const Arg& arg, const std::vector<int64_t>& dims) {
  if (!arg.has_shape) return true;
  if (arg.dims.size() != dims.size()) return false;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (int64_t n = 0; parse_int(arg.dims[axis], &n) && n != dims[axis]) return false;
  return true;
}

Error does_not_fit(const Arg& arg, std::string_view given) {
  return Error(Code::kBadInput,
               cat("input ", quote(arg.name), ": ", given, " given, ", arg_text(arg).substr(arg.name.size() + 1), " expected"));
}

// The dtype and the extents of a tensor against the model's.
Status fit(const Arg& arg, bool cast, Tensor& t) {
  const std::string given = type_text(t.dtype(), t.dims());
  if (!extents_fit(arg, t.dims())) return does_not_fit(arg, given);
  if (arg.dtype == DType::kInvalid || t.dtype() == arg.dtype) return {};
  if (!cast) return does_not_fit(arg, given).with("try: --cast to convert it");
  NNC_ASSIGN(t, cast_tensor(t, arg.dtype));
  return {};
}

// The same of what will be made.
Status fit(const Arg& arg, bool cast, const InputSpec& spec) {
  const DType dtype = spec.dtype == DType::kInvalid ? arg.dtype : spec.dtype;
  if (spec.dims && !extents_fit(arg, *spec.dims)) return does_not_fit(arg, type_text(dtype, *spec.dims));
  if (dtype == arg.dtype || arg.dtype == DType::kInvalid || cast) return {};
  return does_not_fit(arg, spec.dims ? type_text(dtype, *spec.dims) : std::string(dtype_name(dtype))).with("try: --cast to convert it");
}

class Reader {
 public:
  Reader(const Arguments& a, const Interface& interface, Console& console, Budget& budget)
      : a_(a), interface_(interface), console_(console), budget_(budget) {}

  Result<GivenInputs> run() {
    for (const std::string& text : a_.all("input")) NNC_TRY(read(text));
    std::vector<std::string> missing;
    for (const Arg& arg : interface_.inputs) {
      if (out_.inputs.contains(arg.name)) continue;
      missing.push_back(arg_text(arg));
      if (a_.all("input").empty()) out_.inputs[arg.name].origin = "random";
    }
    if (missing.empty() || a_.all("input").empty()) return std::move(out_);
    return Error(Code::kBadInput, cat(missing.size() == 1 ? "an input is" : "inputs are", " missing: ", join(missing, " · ")))
        .with(cat("try: -i ", interface_.input(missing_name())->name, "=... for each; without any -i all inputs are random"));
  }

 private:
  std::string missing_name() const {
    for (const Arg& arg : interface_.inputs)
      if (!out_.inputs.contains(arg.name)) return arg.name;
    return {};
  }

  Status put(const std::string& name, GivenInput input) {
    const Arg* arg = interface_.input(name);
    if (arg == nullptr) return no_input(interface_, name);
    if (out_.inputs.contains(name)) return Error(Code::kUsage, cat("input ", quote(name), " is given twice"));
    NNC_TRY(input.tensor.valid() ? fit(*arg, a_.has("cast"), input.tensor) : fit(*arg, a_.has("cast"), input.spec));
    out_.inputs[name] = std::move(input);
    return {};
  }

  Status read_folder(const std::string& folder) {
    NNC_ASSIGN(const std::vector<Tensor> in, read_numbered(folder, "input_", interface_.inputs.size(), budget_.limits()));
    if (in.empty() && !interface_.inputs.empty()) return Error(Code::kIo, cat("the folder ", quote(folder), " holds no input_0.pb"));
    for (size_t k = 0; k < in.size(); ++k) NNC_TRY(put(interface_.inputs[k].name, {{}, in[k], cat("input_", k, ".pb")}));
    NNC_ASSIGN(const std::vector<Tensor> out, read_numbered(folder, "output_", interface_.outputs.size(), budget_.limits()));
    for (size_t k = 0; k < out.size(); ++k) out_.expected.push_back({interface_.outputs[k].name, out[k]});
    return {};
  }

  Status read(const std::string& text) {
    NNC_ASSIGN(const InputSpec spec, parse_input_spec(text));
    if (spec.source != InputSpec::Source::kFile)
      return put(spec.name, {spec, {}, spec.source == InputSpec::Source::kRandom ? "random" : "values"});
    if (spec.name.empty() && (spec.path.ends_with('/') || list_folder(spec.path, 1 << 20).ok())) return read_folder(spec.path);
    NNC_ASSIGN(std::vector<NamedTensor> tensors, read_tensors(spec, console_, budget_));
    for (NamedTensor& t : tensors) {
      if (!spec.name.empty()) t.name = spec.name;
      if (t.name.empty()) {
        if (interface_.inputs.size() != 1)
          return Error(Code::kUsage, cat("-i ", quote(text), " does not say which input it is for"))
              .with(cat("inputs: ", args_text(interface_.inputs)));
        t.name = interface_.inputs[0].name;
      }
      NNC_TRY(put(t.name, {{}, std::move(t.tensor), spec.path}));
    }
    return {};
  }

  const Arguments& a_;
  const Interface& interface_;
  Console& console_;
  Budget& budget_;
  GivenInputs out_;
};

}  // namespace

std::map<std::string, Tensor> GivenInputs::tensors() const {
  std::map<std::string, Tensor> out;
  for (const auto& [name, input] : inputs)
    if (input.tensor.valid()) out.emplace(name, input.tensor);
  return out;
}

Result<std::vector<NamedTensor>> read_tensors(const InputSpec& spec, Console& console, Budget& budget) {
  NNC_ASSIGN(const Bytes read, read_bytes(spec.path, console, budget));
  const auto bytes = std::make_shared<const Bytes>(std::move(read));
  const std::string_view text = text_of(*bytes);
  std::vector<NamedTensor> out;
  if (spec.is_raw()) {
    NNC_ASSIGN(Tensor t, raw_tensor(spec, *bytes));
    out.push_back({{}, std::move(t)});
  } else if (text.starts_with(kZipMagic) || text.starts_with(kEmptyZipMagic)) {
    const FileBytes file{*bytes, spec.path, bytes};
    if (!spec.entry.empty()) {
      NNC_ASSIGN(Tensor t, read_npz_entry(file, spec.entry, budget));
      out.push_back({spec.entry, std::move(t)});
      return out;
    }
    NNC_ASSIGN(out, read_npz(file, budget));
    if (!spec.name.empty() && out.size() != 1)
      return Error(Code::kUsage,
                   cat("the archive holds ", out.size(), " arrays: ", join(out, ", ", [](const NamedTensor& t) { return t.name; })),
                   place_of(spec.path))
          .with(cat("try: ", spec.name, "=@", spec.path, ":NAME"));
  } else if (text.starts_with(kNpyMagic)) {
    NNC_ASSIGN(Tensor t, read_npy({*bytes, spec.path, bytes}, budget));
    out.push_back({{}, std::move(t)});
  } else if (spec.path.ends_with(".pb")) {
    auto t = onnx::read_tensor_pb(*bytes, budget.limits());
    if (!t.ok()) return std::move(t).error().at(place_of(spec.path));
    out.push_back({{}, std::move(*t)});
  } else {
    return Error(Code::kInvalidData, "neither an npy file, nor an npz archive, nor a tensor of ONNX (.pb)", place_of(spec.path))
        .with(cat("raw data: ", spec.name.empty() ? "x" : spec.name, "=@", spec.path, ":f32[...]"));
  }
  return out;
}

Result<GivenInputs> read_inputs(const Arguments& a, const Interface& interface, Console& console, Budget& budget) {
  return Reader(a, interface, console, budget).run();
}

std::map<std::string, int64_t> typical_sizes(const std::map<std::string, DimSpec>& dims) {
  std::map<std::string, int64_t> out;
  for (const auto& [name, d] : dims) {
    if (d.lo == d.hi || d.typical > 0)
      out[name] = d.lo == d.hi ? d.lo : d.typical;
    else if (d.hi < kDimMax)
      out[name] = d.hi;
  }
  return out;
}

Status make_inputs(GivenInputs& given, const Interface& interface, const std::map<std::string, int64_t>& dims,
                   const std::map<std::string, int64_t>& limits, uint64_t seed, Console& console, Budget& budget) {
  std::map<std::string, int64_t> sizes;
  for (const Arg& arg : interface.inputs) {
    const auto found = given.inputs.find(arg.name);
    if (found == given.inputs.end()) continue;
    const std::vector<int64_t> have =
        found->second.tensor.valid() ? found->second.tensor.dims() : found->second.spec.dims.value_or(std::vector<int64_t>());
    for (size_t axis = 0; axis < arg.dims.size() && have.size() == arg.dims.size(); ++axis) sizes.emplace(arg.dims[axis], have[axis]);
  }
  for (size_t k = 0; k < interface.inputs.size(); ++k) {
    const Arg& arg = interface.inputs[k];
    const auto found = given.inputs.find(arg.name);
    if (found == given.inputs.end() || found->second.tensor.valid()) continue;
    GivenInput& in = found->second;
    const DType dtype = in.spec.dtype != DType::kInvalid ? in.spec.dtype : arg.dtype;
    if (dtype == DType::kInvalid || !arg.is_tensor)
      return Error(Code::kBadInput, cat("input ", quote(arg.name), " is no tensor of a known dtype: give a file"));
    std::vector<int64_t> extents;
    if (in.spec.dims) extents = *in.spec.dims;
    if (!in.spec.dims && !arg.has_shape)
      return Error(Code::kNeedDims, cat("input ", quote(arg.name), " has no shape in the model"))
          .with(cat("try: -i ", arg.name, "=", dtype_name(dtype), "[...]"));
    for (size_t axis = 0; !in.spec.dims && axis < arg.dims.size(); ++axis) {
      const std::string own = cat(arg.name, ".", axis);
      int64_t n = 0;
      if (parse_int(arg.dims[axis], &n)) {
      } else if (const auto by_axis = dims.find(own); by_axis != dims.end())
        n = by_axis->second;
      else if (const auto by_input = sizes.find(arg.dims[axis]); by_input != sizes.end())
        n = by_input->second;
      else if (const auto by_flag = dims.find(arg.dims[axis]); by_flag != dims.end())
        n = by_flag->second;
      else
        return Error(Code::kNeedDims, cat("the size of ", quote(arg.dims[axis]), " of input ", arg_text(arg), " is not known"))
            .with(cat("try: --dim ", arg.dims[axis], "=N, or -i ", arg.name, "=", dtype_name(dtype), "[...]"));
      extents.push_back(n);
    }
    if (const auto limit = limits.find(arg.name); in.spec.source == InputSpec::Source::kRandom && in.spec.lo.empty() && is_int(dtype)) {
      in.spec.lo = "0";
      in.spec.hi = cat(limit != limits.end() ? limit->second : int64_t(1));
      if (limit == limits.end())
        console.note_once(cat("input ", arg.name, ": random integers in 0..1; another range: -i ", arg.name, "=~LO..HI"));
    }
    NNC_ASSIGN(in.tensor, generate(in.spec, dtype, extents, seed, k, budget));
    if (arg.dtype != DType::kInvalid && dtype != arg.dtype) { NNC_ASSIGN(in.tensor, cast_tensor(in.tensor, arg.dtype)); }
    if (in.spec.source == InputSpec::Source::kRandom)
      in.origin = cat("random ", in.spec.lo.empty() ? std::string() : cat(in.spec.lo, "..", in.spec.hi, ", "), "seed ", seed);
  }
  return {};
}

Result<Tensor> cast_tensor(const Tensor& t, DType to) {
  auto number = [](DType d) { return is_float(d) || is_int(d) || d == DType::kBool; };
  if (!number(t.dtype()) || !number(to)) return Error(Code::kBadInput, cat("no cast from ", dtype_name(t.dtype()), " to ", dtype_name(to)));
  NNC_ASSIGN(Tensor out, Tensor::create(to, t.dims()));
  const bool whole = !is_float(t.dtype());
  for (int64_t i = 0; i < t.count(); ++i) {
    if (to == DType::kBool)
      store_i64(to, out.data(), i, whole ? t.i64(i) != 0 : t.f64(i) != 0);
    else if (whole && t.dtype() == DType::kU64)
      store_u64(to, out.data(), i, static_cast<uint64_t>(t.i64(i)));
    else if (whole)
      store_i64(to, out.data(), i, t.i64(i));
    else
      store_f64(to, out.data(), i, t.f64(i));
  }
  return out;
}

}  // namespace nnc::tool
