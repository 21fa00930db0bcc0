#include "frontend/onnx/import_model.h"

#include <algorithm>

#include "frontend/onnx/op_table.h"
#include "ir/support/text.h"

namespace nnc::onnx {

namespace {

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

// Values of metadata that could tell where a file lay on the exporter's machine stay behind.
bool looks_like_path(std::string_view value) {
  return value.starts_with('/') || value.starts_with('~') || value.find("/home/") != std::string_view::npos ||
         value.find("/Users/") != std::string_view::npos || (value.size() > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/'));
}

std::string spec_str(const DimSpec& s) { return s.lo == s.hi ? cat(s.lo) : cat(s.lo, "..", s.hi); }

Result<std::map<std::string_view, int64_t>> opset_map(const std::vector<OpsetImport>& imports) {
  std::map<std::string_view, int64_t> out;
  for (const OpsetImport& o : imports) {
    const std::string_view domain = is_default_domain(o.domain) ? std::string_view() : o.domain;
    if (!out.emplace(domain, o.version).second && out[domain] != o.version) {
      return Error(Code::kInvalidModel, cat("operator set ", quote(domain.empty() ? "ai.onnx" : domain), " is imported twice, as version ",
                                            out[domain], " and ", o.version));
    }
  }
  return out;
}

}  // namespace

Importer::Importer(const ModelProto& model, const ImportOptions& options, Budget& budget, std::string path, const FileContents* contents)
    : model_(model),
      options_(options),
      budget_(budget),
      tensors_(budget, std::move(path), contents),
      analysis_(&all_findings_),
      module_(std::make_unique<Module>()) {}

void Importer::add_finding(Error e) {
  constexpr size_t kMaxFindings = 1000;
  if (findings_->size() < kMaxFindings) findings_->push_back(std::move(e));
}

std::unique_ptr<Module> Importer::run() {
  check_model();
  if (!all_findings_.empty()) return nullptr;
  carry_metadata();
  static const std::vector<ImportProfile> kOne(1);
  const std::vector<ImportProfile>& profiles = options_.profiles.empty() ? kOne : options_.profiles;
  for (const ImportProfile& p : profiles) {
    import_entry(p);
    if (all_findings_.empty()) continue;
    if (profiles.size() > 1) {
      for (Error& e : all_findings_) e.context.push_back(cat("under profile ", quote(p.name)));
    }
    return nullptr;
  }
  return std::move(module_);
}

void Importer::check_model() {
  if (!model_.graph) return add_finding(Error(Code::kInvalidModel, "the model holds no graph"));
  auto opsets = opset_map(model_.opsets);
  if (!opsets.ok()) return add_finding(opsets.error());
  opsets_ = std::move(*opsets);
  if (opsets_.empty() && model_.ir_version < 3) opsets_[""] = 1;
  for (const FunctionProto& f : model_.functions) {
    auto own = opset_map(f.opsets);
    if (!own.ok()) {
      add_finding(own.error());
      continue;
    }
    function_opsets_[&f] = std::move(*own);
    const std::string_view domain = is_default_domain(f.domain) ? std::string_view() : f.domain;
    if (!functions_.emplace(std::tuple(domain, f.name, f.overload), &f).second) {
      add_finding(Error(Code::kInvalidModel, cat("two functions are called ", quote(cat(f.domain, "::", f.name)))));
    }
    analysis_.facts(f);
  }
  const GraphProto& g = *model_.graph;
  for (const std::string_view name : analysis_.facts(g).free_names) {
    size_t user = g.nodes.size();
    for (size_t k = 0; k < g.nodes.size() && user == g.nodes.size(); ++k) {
      if (std::ranges::find(g.nodes[k].inputs, name) != g.nodes[k].inputs.end()) user = k;
    }
    Error e(Code::kInvalidModel, cat("the value ", quote(name), " is used, but nothing defines it"));
    if (user < g.nodes.size()) {
      e.place.node = node_label(g.nodes[user], user);
      e.place.op = std::string(g.nodes[user].op_type);
    }
    add_finding(std::move(e));
  }
  if (g.outputs.empty()) add_finding(Error(Code::kInvalidModel, "the graph has no outputs"));
}

void Importer::carry_metadata() {
  auto& m = module_->metadata;
  if (!model_.producer_name.empty())
    m["producer"] = cat(model_.producer_name, model_.producer_version.empty() ? "" : " ", model_.producer_version);
  m["ir_version"] = cat(model_.ir_version);
  for (const auto& [domain, version] : opsets_) m[cat("opset.", domain.empty() ? "ai.onnx" : domain)] = cat(version);
  for (const auto& [key, value] : model_.metadata) {
    if (!key.empty() && !looks_like_path(value) && !key.starts_with("pkg.torch")) m[cat("model.", key)] = std::string(value);
  }
}

std::vector<const ValueInfoProto*> Importer::entry_inputs() const {
  std::map<std::string_view, bool> initialized;
  if (!options_.initializers_as_inputs) {
    for (const TensorProto& t : model_.graph->initializers) initialized[t.name] = true;
    for (const SparseTensorProto& t : model_.graph->sparse_initializers) initialized[t.values.name] = true;
  }
  std::vector<const ValueInfoProto*> out;
  for (const ValueInfoProto& v : model_.graph->inputs) {
    if (!initialized.contains(v.name)) out.push_back(&v);
  }
  return out;
}

Status Importer::note_dim(const std::string& name, const std::string& axis_name, std::optional<DimSpec> given) {
  OpenDim& open = open_dims_[name];
  std::string as = axis_name;
  std::vector<std::string> keys = {axis_name, name};
  for (const std::string& key : {axis_name, name}) {
    if (const auto renamed = options_.rename_dims.find(key); renamed != options_.rename_dims.end()) keys.push_back(renamed->second);
  }
  for (const std::string& key : keys) {
    const auto found = profile_->dims.find(key);
    if (found == profile_->dims.end()) continue;
    if (given && !(given->lo >= found->second.lo && given->hi <= found->second.hi)) {
      return Error(Code::kUsage, cat("dim ", key, " is ", spec_str(found->second), ", but the input's value has ", given->lo, " there"));
    }
    if (!given) given = found->second;
    as = key;
  }
  if (!given) return {};
  const DimSpec& s = *given;
  if (s.lo < 0 || s.lo > s.hi || s.hi > kDimMax || s.multiple < 1)
    return Error(Code::kUsage, cat("dim ", as, ": ", spec_str(s), " is no size and no range of sizes"));
  if (open.spec && (open.spec->lo != s.lo || open.spec->hi != s.hi || open.spec->multiple != s.multiple)) {
    return Error(Code::kUsage, cat("dims ", open.given_as, " and ", as, " are one dim of the model (", quote(name), "), but are given as ",
                                   spec_str(*open.spec), " and ", spec_str(s)));
  }
  open.spec = s;
  open.given_as = as;
  return {};
}

// Finds out what the profile says about each open dim, before any is made: a dim may be spoken of by its name or by any of its axes.
bool Importer::name_dims(const std::vector<const ValueInfoProto*>& inputs) {
  open_dims_.clear();
  std::vector<std::string> names;
  const size_t before = findings_->size();
  const auto check = [&](Status s) {
    if (!s.ok()) add_finding(std::move(s).error());
  };
  for (const ValueInfoProto* info : inputs) {
    const auto value = profile_->values.find(std::string(info->name));
    names.emplace_back(info->name);
    for (size_t a = 0; a < info->type.dims.size(); ++a) {
      const DimensionProto& d = info->type.dims[a];
      const std::string axis_name = cat(info->name, ".", a);
      names.push_back(axis_name);
      const auto spec = profile_->dims.find(axis_name);
      if (d.value && *d.value >= 0 && !(*d.value == 0 && spec != profile_->dims.end())) {
        if (spec != profile_->dims.end() && (*d.value < spec->second.lo || *d.value > spec->second.hi)) {
          add_finding(
              Error(Code::kUsage, cat("dim ", axis_name, " is given as ", spec_str(spec->second), ", the model has ", *d.value, " there")));
        }
        continue;
      }
      const std::string name = dim_name(*info, a);
      names.push_back(name);
      std::optional<DimSpec> given;
      if (value != profile_->values.end() && a < value->second.dims().size()) given = DimSpec::size(value->second.dims()[a]);
      check(note_dim(name, axis_name, given));
    }
  }
  for (const auto& [from, to] : options_.rename_dims) names.push_back(to);
  const auto unknown = [&](std::string_view what, const std::string& name) {
    Error e(Code::kUnknownName, cat("the model has no ", what, " ", quote(name)));
    if (const std::string meant = nearest(name, names); !meant.empty()) e.context.push_back(cat("did you mean ", meant, "?"));
    std::string open;
    for (const auto& [n, d] : open_dims_) append(open, open.empty() ? "" : ", ", n);
    e.context.push_back(open.empty() ? std::string("the model leaves no dim open") : cat("open dims: ", open));
    add_finding(std::move(e));
  };
  for (const auto& [name, spec] : profile_->dims) {
    const bool of_shapeless = std::ranges::any_of(
        inputs, [&, key = &name](const ValueInfoProto* i) { return !i->type.has_shape && key->starts_with(cat(i->name, ".")); });
    if (!of_shapeless && std::ranges::find(names, name) == names.end()) unknown("dim", name);
  }
  for (const auto& [name, value] : profile_->values) {
    if (std::ranges::none_of(inputs, [&, key = &name](const ValueInfoProto* i) { return i->name == *key; })) unknown("input", name);
  }
  return findings_->size() == before;
}

Result<Type> Importer::input_type(const ValueInfoProto& info) {
  const TypeProto& t = info.type;
  if (t.kind == TypeProto::Kind::kNone) return Error(Code::kInvalidModel, cat("input ", quote(info.name), " has no type"));
  if (t.kind != TypeProto::Kind::kTensor)
    return Error(Code::kUnsupportedOp, cat("input ", quote(info.name), " is no tensor (a sequence, optional or map): not supported"));
  auto dtype = dtype_of(t.elem_type);
  if (!dtype.ok()) return Error(Code::kInvalidModel, cat("input ", quote(info.name), ": ", dtype.error().message));
  NNC_TRY(budget_.within(Limit::kRank, static_cast<int64_t>(t.dims.size())));

  const auto value = profile_->values.find(std::string(info.name));
  std::vector<DimensionProto> dims = t.dims;
  if (!t.has_shape) {
    // Its rank is what the profile speaks of.
    if (value != profile_->values.end()) {
      dims.resize(value->second.dims().size());
    } else {
      while (profile_->dims.contains(cat(info.name, ".", dims.size()))) dims.emplace_back();
      if (dims.empty()) {
        return Error(Code::kNeedDims, cat("input ", quote(info.name), " has no shape in the model, so its rank is not known"))
            .with(cat("try: --dim ", info.name, ".0=SIZE for each of its axes, or --set ", info.name, "=VALUE"));
      }
    }
    for (size_t a = 0; a < dims.size(); ++a) {
      const std::string name = cat(info.name, ".", a);
      NNC_TRY(note_dim(name, name, value == profile_->values.end() ? std::nullopt : std::optional(DimSpec::size(value->second.dims()[a]))));
    }
  }
  if (value != profile_->values.end()) {
    const Tensor& v = value->second;
    bool fits = v.dtype() == *dtype && v.dims().size() == dims.size();
    for (size_t a = 0; fits && a < dims.size(); ++a) fits = !dims[a].value || *dims[a].value < 0 || *dims[a].value == v.dims()[a];
    if (!fits) {
      return Error(Code::kBadInput, cat("the value given for input ", quote(info.name), " is ", dtype_name(v.dtype()), "[",
                                        join(v.dims(), ",", [](int64_t d) { return d; }), "], the model has ", dtype_name(*dtype),
                                        " of rank ", dims.size()));
    }
  }
  Shape shape;
  for (size_t a = 0; a < dims.size(); ++a) {
    const std::string axis_name = cat(info.name, ".", a);
    const bool fixed = dims[a].value && (*dims[a].value > 0 || (*dims[a].value == 0 && !profile_->dims.contains(axis_name)));
    if (fixed) {
      shape.emplace_back(*dims[a].value);
      continue;
    }
    const std::string name = a < t.dims.size() ? dim_name(info, a) : axis_name;
    OpenDim& open = open_dims_[name];
    if (!open.dim) {
      const DimSpec s = open.spec.value_or(DimSpec());
      if (s.lo == s.hi) {
        open.dim = Dim(s.lo);
        fixed_dims_.push_back(cat(open.given_as, " = ", s.lo));
      } else {
        std::string symbol = name;
        for (const std::string& key : {axis_name, name}) {
          if (const auto renamed = options_.rename_dims.find(key); renamed != options_.rename_dims.end()) symbol = renamed->second;
        }
        open.dim = Dim(module_->symbols.input(std::move(symbol), s.lo, s.hi, s.multiple, s.typical));
      }
    }
    shape.push_back(*open.dim);
  }
  return Type::tensor(*dtype, std::move(shape));
}

bool Importer::add_graph_inputs(Entry& entry, Scope& scope) {
  const auto inputs = entry_inputs();
  fixed_inputs_.clear();
  fixed_dims_.clear();
  if (!name_dims(inputs)) return false;
  const size_t before = findings_->size();
  for (const ValueInfoProto* info : inputs) {
    auto type = input_type(*info);
    if (!type.ok()) {
      add_finding(std::move(type).error());
      continue;
    }
    const ValueId v = entry.graph->add_input(std::move(*type), std::string(info->name));
    entry.args.push_back({std::string(info->name), {}});
    if (const auto fixed = profile_->values.find(std::string(info->name)); fixed != profile_->values.end()) {
      fixed_inputs_[info->name] = {v, module_->add_constant(fixed->second)};  // bound to the constant at its first use
    } else {
      scope.names[info->name] = Binding::of(v);
    }
  }
  return findings_->size() == before;
}

void Importer::add_graph_outputs(Entry& entry, Scope& scope) {
  std::vector<ValueId> outputs;
  for (const ValueInfoProto& info : model_.graph->outputs) {
    const Binding b = lookup(scope, info.name);
    if (b.state != Binding::State::kValue) {
      if (findings_->empty()) add_finding(Error(Code::kInvalidModel, cat("output ", quote(info.name), " has no value")));
      continue;
    }
    const Type& type = entry.graph->type(b.value);
    if (info.type.kind == TypeProto::Kind::kTensor && info.type.elem_type != DataType::kUndefined) {
      const auto declared = dtype_of(info.type.elem_type);
      const bool wrong_rank = info.type.has_shape && !info.type.dims.empty() && static_cast<int>(info.type.dims.size()) != type.rank();
      if (!declared.ok() || *declared != type.dtype || wrong_rank) {
        add_finding(Error(Code::kInvalidModel,
                          cat("output ", quote(info.name), " is declared as ", declared.ok() ? dtype_name(*declared) : "an unknown type",
                              " of rank ", info.type.dims.size(), ", but is ", type_pretty(module_->symbols, type))));
      }
    }
    outputs.push_back(b.value);
    entry.results.push_back({std::string(info.name), {}});
  }
  entry.graph->set_outputs(std::move(outputs));
}

void Importer::import_entry(const ImportProfile& profile) {
  profile_ = &profile;
  Entry& entry = module_->add_entry(options_.entry, profile.name);
  const GraphProto& g = *model_.graph;
  Scope scope;
  scope.graph = entry.graph.get();
  scope.proto = &g;
  scope.opsets = &opsets_;
  if (!add_graph_inputs(entry, scope)) return;
  for (const TensorProto& t : g.initializers) {
    if (!scope.names.contains(t.name)) scope.initializers[t.name] = &t;
  }
  for (const SparseTensorProto& t : g.sparse_initializers) scope.sparse_initializers[t.values.name] = &t;
  import_nodes(scope, g.nodes, analysis_.facts(g));
  add_graph_outputs(entry, scope);
  entry.graph->compact();
}

}  // namespace nnc::onnx
