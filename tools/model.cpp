#include "tools/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/artifact_format.h"
#include "tools/command.h"

namespace nnc::tool {

const Arg* Interface::input(std::string_view name) const {
  const auto found = std::ranges::find(inputs, name, &Arg::name);
  return found == inputs.end() ? nullptr : &*found;
}

namespace {
std::vector<std::string> names_of(const std::vector<Arg>& args) {
  std::vector<std::string> out;
  for (const Arg& a : args) out.push_back(a.name);
  return out;
}
}  // namespace

std::vector<std::string> Interface::input_names() const { return names_of(inputs); }
std::vector<std::string> Interface::output_names() const { return names_of(outputs); }

std::string arg_text(const Arg& a) {
  if (!a.is_tensor) return cat(a.name, " (no tensor)");
  return cat(a.name, " ", a.dtype == DType::kInvalid ? "?" : dtype_name(a.dtype), a.has_shape ? cat("[", join(a.dims, ","), "]") : "[...]");
}

std::string args_text(const std::vector<Arg>& args) { return join(args, " · ", arg_text); }

Place place_of(std::string file) {
  Place p;
  p.file = std::move(file);
  return p;
}

std::string type_text(DType dtype, std::span<const int64_t> dims) {
  return cat(dtype_name(dtype), "[", join(dims, ",", [](int64_t d) { return d; }), "]");
}

namespace {

Result<Interface> artifact_interface(const Artifact& artifact, const std::string& wanted) {
  if (artifact.size() == 0 || artifact.program(0).entries.empty()) return Error(Code::kInvalidArtifact, "the artifact holds no entries");
  const Program& p = artifact.program(0);
  std::vector<std::string> names;
  for (const PlanEntry& e : p.entries) {
    names.push_back(e.name);
    if (!wanted.empty() && e.name != wanted) continue;
    auto args = [&p](const std::vector<PlanArg>& from) {
      std::vector<Arg> out;
      for (const PlanArg& a : from) {
        if (a.state >= 0) continue;
        out.push_back({a.name, a.dtype, true, true, {}});
        for (const Dim& d : a.shape) out.back().dims.push_back(p.symbols.pretty(d));
      }
      return out;
    };
    return Interface{args(e.args), args(e.results)};
  }
  return unknown_name(Code::kUnknownName, "entry", wanted, names).with(cat("entries: ", join(names, ", ")));
}

}  // namespace

namespace {
// A file that is missing: is there one of nearly that name?
Error missing_file(Error e, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const auto entries = list_folder(folder);
  std::vector<std::string> names;
  for (size_t k = 0; entries.ok() && k < entries->size(); ++k) names.push_back((*entries)[k].name);
  const std::string close = nearest(path.substr(slash + 1), names);
  if (close.empty()) return e;
  return std::move(e).with(cat("did you mean ", quote(cat(slash == std::string::npos ? "" : folder, close)), "?"));
}
}  // namespace

Result<ModelFile> open_model(const std::string& path, const Arguments& a, const Limits& limits, bool check_contents) {
  ModelFile m;
  m.path = path;
  auto opened = ReadFile::open(path);
  if (!opened.ok()) return missing_file(std::move(opened).error(), path);
  ReadFile& file = *opened;
  std::array<uint8_t, kArtifactMagic.size()> magic{};
  if (file.size() >= static_cast<int64_t>(magic.size())) NNC_TRY(file.read(0, magic));
  if (magic == kArtifactMagic) {
    ArtifactOptions options;
    options.check_contents = check_contents;
    NNC_ASSIGN(m.artifact, Artifact::open(path, options));
    NNC_ASSIGN(m.interface, artifact_interface(*m.artifact, a.text("entry")));
    return m;
  }
  NNC_ASSIGN(FileContents contents, read_onnx_file(std::move(file), kMaxModelBytes));
  auto interface = read_onnx_interface(contents.bytes(), limits);
  if (!interface.ok()) return std::move(interface).error().at(place_of(path));
  m.onnx = std::move(*interface);
  m.contents = std::move(contents);
  auto args = [](const std::vector<OnnxArg>& from) {
    std::vector<Arg> out;
    for (const OnnxArg& arg : from) out.push_back({arg.name, arg.dtype, arg.is_tensor, arg.has_shape, arg.dims});
    return out;
  };
  m.interface = {args(m.onnx.inputs), args(m.onnx.outputs)};
  return m;
}

Status require_onnx(const ModelFile& model, std::string_view command) {
  if (model.artifact == nullptr) return {};
  return Error(Code::kUsage, cat(command, " needs a model, ", quote(model.path), " is an artifact"));
}

Result<DimSpec> parse_dim_spec(std::string_view text) {
  const Error wrong = Error(Code::kUsage, cat("size ", quote(text), ": N, LO..HI, LO..HI@TYPICAL or LO..HI%MULTIPLE expected"));
  DimSpec d;
  std::string_view rest = text;
  auto cut = [&](char mark, int64_t* value) {
    const size_t at = rest.find(mark);
    if (at == std::string_view::npos) return true;
    size_t end = rest.find_first_of("@%", at + 1);
    if (end == std::string_view::npos) end = rest.size();
    if (!parse_int(rest.substr(at + 1, end - at - 1), value) || *value < 1) return false;
    return true;
  };
  if (!cut('@', &d.typical) || !cut('%', &d.multiple)) return wrong;
  rest = rest.substr(0, rest.find_first_of("@%"));
  const size_t dots = rest.find("..");
  if (dots == std::string_view::npos) {
    int64_t n = 0;
    if (!parse_int(rest, &n) || n < 0 || n > kDimMax || d.typical > 0) return wrong;
    d.lo = d.hi = d.typical = n;
    return d;
  }
  const std::string_view lo = rest.substr(0, dots), hi = rest.substr(dots + 2);
  if (!parse_int(lo, &d.lo) || !(hi.empty() || parse_int(hi, &d.hi))) return wrong;
  if (d.lo < 0 || d.lo > d.hi || d.hi > kDimMax || (d.typical > 0 && (d.typical < d.lo || d.typical > d.hi))) return wrong;
  return d;
}

Result<std::pair<std::string, std::string>> parse_assignment(std::string_view flag, std::string_view text) {
  const size_t equal = text.find('=');
  if (equal == std::string_view::npos || equal == 0 || equal + 1 == text.size())
    return Error(Code::kUsage, cat("--", flag, " ", quote(text), ": NAME=VALUE expected"));
  return std::pair(std::string(trim(text.substr(0, equal))), std::string(trim(text.substr(equal + 1))));
}

Result<Limits> limits_from(const Arguments& a) {
  Limits limits;
  for (const std::string& setting : a.all("limit")) NNC_TRY(limits.set(setting));
  return limits;
}

namespace {

// What dims may be called: by the model, or INPUT.AXIS.
std::vector<std::string> dim_names(const Interface& interface) {
  std::set<std::string> names;
  for (const Arg& a : interface.inputs) {
    for (size_t axis = 0; axis < a.dims.size(); ++axis) {
      int64_t n = 0;
      if (parse_int(a.dims[axis], &n)) continue;
      names.insert(a.dims[axis]);
      names.insert(cat(a.name, ".", axis));
    }
  }
  return {names.begin(), names.end()};
}

std::string known_dims(const Interface& interface) {
  std::set<std::string> names;
  for (const Arg& a : interface.inputs)
    for (const std::string& d : a.dims)
      if (int64_t n = 0; !parse_int(d, &n)) names.insert(d);
  return names.empty() ? "the model has no dims to choose" : cat("dims: ", join(names, ", ", [](const std::string& s) { return s; }));
}

Status check_dim(const Interface& interface, const std::map<std::string, std::string>& rename, std::string* name) {
  for (const auto& [old, now] : rename)
    if (now == *name) *name = old;
  const std::vector<std::string> names = dim_names(interface);
  if (std::ranges::find(names, *name) != names.end()) return {};
  const std::string listed = known_dims(interface);
  Error e(Code::kUnknownName, cat("no input of the model has the dim ", quote(*name)));
  e.context.push_back(listed);
  if (const std::string close = nearest(*name, names); !close.empty()) e.context.push_back(cat("did you mean ", quote(close), "?"));
  return e;
}

Result<Tensor> profile_value(const Interface& interface, const std::string& name, std::string_view text) {
  const Arg* arg = interface.input(name);
  if (arg == nullptr)
    return unknown_name(Code::kUnknownName, "input", name, interface.input_names()).with(cat("inputs: ", args_text(interface.inputs)));
  const bool list = text.starts_with('[') && text.ends_with(']');
  const std::vector<std::string_view> parts = split(list ? text.substr(1, text.size() - 2) : text, ',');
  if (!list && parts.size() > 1)
    return Error(Code::kUsage, cat("value ", quote(text), " of input ", quote(name), ": a list stands in [...]"));
  Tensor t(arg->dtype, list || (arg->has_shape && arg->dims.size() == 1) ? std::vector<int64_t>{static_cast<int64_t>(parts.size())}
                                                                         : std::vector<int64_t>{});
  for (size_t k = 0; k < parts.size(); ++k) {
    int64_t whole = 0;
    double number = 0;
    if (parse_int(trim(parts[k]), &whole) && !is_float(arg->dtype))
      store_i64(arg->dtype, t.data(), static_cast<int64_t>(k), whole);
    else if (parse_double(trim(parts[k]), &number) && is_float(arg->dtype))
      store_f64(arg->dtype, t.data(), static_cast<int64_t>(k), number);
    else
      return Error(Code::kUsage,
                   cat("value ", quote(parts[k]), " of input ", quote(name), ": a number of dtype ", dtype_name(arg->dtype), " expected"));
  }
  return t;
}

Result<ImportProfile> parse_profile(std::string_view text, const Interface& interface, const ModelOptions& options) {
  ImportProfile p;
  p.dims = options.dims;
  bool first = true;
  for (std::string_view part : split(text, ';')) {
    part = trim(part);
    if (first && part.find('=') == std::string_view::npos) {
      p.name = part;
    } else if (part.starts_with("value:")) {
      NNC_ASSIGN(const auto pair, parse_assignment("profile", part.substr(6)));
      NNC_ASSIGN(p.values[pair.first], profile_value(interface, pair.first, pair.second));
    } else if (!part.empty()) {
      NNC_ASSIGN(auto pair, parse_assignment("profile", part));
      NNC_TRY(check_dim(interface, options.rename, &pair.first));
      NNC_ASSIGN(p.dims[pair.first], parse_dim_spec(pair.second));
    }
    first = false;
  }
  return p;
}

Status read_dim_flag(const std::string& text, const Interface& interface, bool allow_lists, ModelOptions* out) {
  NNC_ASSIGN(auto pair, parse_assignment("dim", text));
  NNC_TRY(check_dim(interface, out->rename, &pair.first));
  const std::string& value = pair.second;
  if (!(value.starts_with('[') && value.ends_with(']'))) {
    NNC_ASSIGN(out->dims[pair.first], parse_dim_spec(value));
    return {};
  }
  if (!allow_lists) return Error(Code::kUsage, cat("--dim ", quote(text), ": a list of sizes is for bench"));
  for (const std::string_view part : split(std::string_view(value).substr(1, value.size() - 2), ',')) {
    NNC_ASSIGN(const DimSpec d, parse_dim_spec(trim(part)));
    if (d.lo != d.hi) return Error(Code::kUsage, cat("--dim ", quote(text), ": the sizes of a list are numbers"));
    out->lists[pair.first].push_back(d.lo);
  }
  return {};
}

}  // namespace

Result<ModelOptions> model_options(const Arguments& a, const Interface& interface, bool allow_lists) {
  ModelOptions out;
  NNC_ASSIGN(out.limits, limits_from(a));
  for (const std::string& text : a.all("rename-dim")) {
    NNC_ASSIGN(auto pair, parse_assignment("rename-dim", text));
    NNC_TRY(check_dim(interface, {}, &pair.first));
    out.rename.insert(std::move(pair));
  }
  for (const std::string& text : a.all("dim")) NNC_TRY(read_dim_flag(text, interface, allow_lists, &out));
  for (const std::string& text : a.all("profile")) {
    NNC_ASSIGN(ImportProfile p, parse_profile(text, interface, out));
    if (p.name.empty() && a.all("profile").size() > 1) p.name = cat("p", out.profiles.size());
    out.profiles.push_back(std::move(p));
  }
  return out;
}

namespace {

// Sizes of open dims that given inputs have; ranges of flags stay ranges.
Status dims_of_inputs(const Interface& interface, const std::map<std::string, Tensor>& given, std::map<std::string, DimSpec>* dims) {
  std::map<std::string, std::pair<int64_t, std::string>> seen;
  for (const auto& [name, tensor] : given) {
    const Arg* arg = interface.input(name);
    if (arg == nullptr || arg->dims.size() != tensor.dims().size()) continue;
    for (size_t axis = 0; axis < arg->dims.size(); ++axis) {
      const std::string& dim = arg->dims[axis];
      if (int64_t n = 0; parse_int(dim, &n) || dims->contains(cat(name, ".", axis))) continue;
      const int64_t size = tensor.dims()[axis];
      const auto [it, is_new] = seen.emplace(dim, std::pair(size, name));
      if (!is_new && it->second.first != size)
        return Error(Code::kBadInput, cat("dim ", quote(dim), " is ", size, " in input ", quote(name), " and ", it->second.first,
                                          " in input ", quote(it->second.second)));
      dims->emplace(dim, DimSpec::size(size));
    }
  }
  return {};
}

bool is_structural(const Tensor& t) { return t.rank() <= 1 && t.count() <= 64 && (is_int(t.dtype()) || t.dtype() == DType::kBool); }

}  // namespace

Result<std::unique_ptr<Module>> import_model(const ModelFile& model, const ModelOptions& options,
                                             const std::map<std::string, Tensor>& given, Console& console, std::vector<Error>* findings) {
  ImportOptions import;
  import.limits = options.limits;
  import.rename_dims = options.rename;
  import.profiles = options.profiles;
  if (import.profiles.empty()) {
    import.profiles.emplace_back();
    import.profiles[0].dims = options.dims;
    NNC_TRY(dims_of_inputs(model.interface, given, &import.profiles[0].dims));
  }
  std::vector<Error> own;
  std::vector<Error>& found = findings != nullptr ? *findings : own;
  const std::optional<FileContents> contents = std::exchange(model.contents, std::nullopt);
  console.begin("import", model.path.substr(model.path.rfind('/') + 1));
  auto module = contents ? import_onnx_file(model.path, *contents, import, &found) : import_onnx_file(model.path, import, &found);
  console.done();
  const bool needs = !module.ok() && std::ranges::any_of(found, [](const Error& e) { return e.code == Code::kNeedDims; });
  if (module.ok() || !needs || !options.profiles.empty()) return module;
  std::vector<std::string> taken;
  for (const auto& [name, tensor] : given) {
    if (!is_structural(tensor)) continue;
    import.profiles[0].values[name] = tensor;
    taken.push_back(name);
  }
  if (taken.empty()) return module;
  found.clear();
  auto again = import_onnx_file(model.path, import, &found);
  if (again.ok())
    console.note(cat("the structure of the model depends on values: the program is made for those given of ", join(taken, ", ")));
  return again;
}

namespace {

void follow_index(const Graph& g, ValueId v, int64_t* limit, int depth) {
  auto narrow = [&](const Dim& extent) {
    if (extent.is_const()) *limit = std::min(*limit, extent.constant() - 1);
  };
  for (const Use& use : g.value(v).uses) {
    if (!use.node.valid()) continue;
    const Node& n = g.node(use.node);
    const bool is_axis_index =
        (n.kind == OpKind::kGather || n.kind == OpKind::kGatherElements || n.kind == OpKind::kScatterElements) && use.index == 1;
    if (is_axis_index) {
      const Shape& x = g.type(n.operands[0]).shape;
      const int64_t axis = n.i("axis");
      narrow(x[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis)]);
    } else if (n.kind == OpKind::kOneHot && use.index == 0) {
      narrow(n.dims("depth").at(0));
    } else if (use.index == 0 && depth < 16 &&
               (n.kind == OpKind::kCast || (n.def().lowering == Lowering::kMap && n.operands.size() == 1))) {
      follow_index(g, n.results[0], limit, depth + 1);
    }
  }
}

}  // namespace

std::map<std::string, int64_t> index_limits(const Module& module) {
  std::map<std::string, int64_t> out;
  for (const auto& entry : module.entries) {
    const Graph& g = *entry->graph;
    for (size_t k = 0; k < entry->args.size(); ++k) {
      const ValueId v = g.inputs()[k];
      if (entry->args[k].state.valid() || !is_int(g.type(v).dtype)) continue;
      int64_t limit = INT64_MAX;
      follow_index(g, v, &limit, 0);
      if (limit == INT64_MAX || limit < 0) continue;
      const auto [it, is_new] = out.emplace(entry->args[k].name, limit);
      if (!is_new) it->second = std::min(it->second, limit);
    }
  }
  return out;
}

std::map<std::string, int64_t> index_limits(const Artifact& artifact) {
  std::map<std::string, int64_t> out;
  for (const auto& [key, value] : artifact.properties()) {
    int64_t n = 0;
    if (key.starts_with(kIndexLimitProperty) && parse_int(value, &n)) out[key.substr(kIndexLimitProperty.size())] = n;
  }
  return out;
}

}  // namespace nnc::tool
