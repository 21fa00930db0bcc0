#include "frontend/onnx/importer.h"

#include "frontend/onnx/import_model.h"
#include "ir/support/file.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr size_t kMaxListed = 20;

// One error out of all findings: the first in full, the others in a line each.
Error summary(const std::vector<Error>& findings, std::string_view path) {
  Error e = findings.front();
  bool unsupported = e.code == Code::kUnsupportedOp;
  if (findings.size() > 1) {
    e.context.push_back(cat(findings.size() - 1, " more problem", findings.size() == 2 ? "" : "s", ":"));
    for (size_t k = 1; k < findings.size(); ++k) {
      unsupported |= findings[k].code == Code::kUnsupportedOp;
      if (k == kMaxListed) e.context.push_back(cat("... and ", findings.size() - k, " more"));
      if (k >= kMaxListed) continue;
      const Error& f = findings[k];
      e.context.push_back(cat("  ", code_name(f.code), " ",
                              f.place.node.empty() ? std::string() : cat("node ", quote(f.place.node), " (", f.place.op, "): "),
                              f.message));
    }
  }
  if (unsupported || findings.size() > 1) e.context.push_back(cat("try: nnc check ", path.empty() ? "MODEL" : path));
  return e;
}

Result<std::unique_ptr<Module>> import_bytes(ByteView bytes, const std::string& path, const FileContents* contents,
                                             const ImportOptions& options, std::vector<Error>* findings) {
  Budget budget(options.limits);
  auto model = onnx::read_model(bytes, budget);
  if (!model.ok()) {
    Error e = std::move(model).error();
    e.place.file = path;
    if (findings != nullptr) findings->push_back(e);
    return e;
  }
  onnx::Importer importer(*model, options, budget, path, contents);
  std::unique_ptr<Module> module = importer.run();
  if (module != nullptr) return module;
  std::vector<Error>& all = importer.findings();
  NNC_CHECK(!all.empty(), "an import without module has findings");
  for (Error& e : all) {
    if (e.place.file.empty()) e.place.file = path;
  }
  Error e = summary(all, path);
  if (findings != nullptr) findings->insert(findings->end(), std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
  return e;
}

OnnxArg arg_of(const onnx::ValueInfoProto& info) {
  OnnxArg arg;
  arg.name = std::string(info.name);
  arg.is_tensor = info.type.kind == onnx::TypeProto::Kind::kTensor;
  if (const auto t = onnx::dtype_of(info.type.elem_type); arg.is_tensor && t.ok()) arg.dtype = *t;
  arg.has_shape = info.type.has_shape;
  for (size_t a = 0; a < info.type.dims.size(); ++a) {
    const onnx::DimensionProto& d = info.type.dims[a];
    arg.dims.push_back(d.value && *d.value >= 0 ? cat(*d.value) : onnx::dim_name(info, a));
  }
  return arg;
}

}  // namespace

Result<std::unique_ptr<Module>> import_onnx(ByteView bytes, const ImportOptions& options, std::vector<Error>* findings) {
  return import_bytes(bytes, {}, nullptr, options, findings);
}

Result<std::unique_ptr<Module>> import_onnx_file(const std::string& path, const ImportOptions& options, std::vector<Error>* findings) {
  NNC_ASSIGN(ReadFile file, ReadFile::open(path));
  NNC_ASSIGN(const FileContents contents, read_onnx_file(std::move(file), options.limits[Limit::kTotalBytes]));
  return import_onnx_file(path, contents, options, findings);
}

Result<std::unique_ptr<Module>> import_onnx_file(const std::string& path, const FileContents& contents, const ImportOptions& options,
                                                 std::vector<Error>* findings) {
  return import_bytes(contents.bytes(), path, &contents, options, findings);
}

Result<OnnxInterface> read_onnx_interface(ByteView bytes, const Limits& limits) {
  Budget budget(limits);
  NNC_ASSIGN(const onnx::ModelProto model, onnx::read_model(bytes, budget));
  if (!model.graph) return Error(Code::kInvalidModel, "the model holds no graph");
  OnnxInterface out;
  out.ir_version = model.ir_version;
  out.nodes = model.graph->nodes.size();
  for (const onnx::OpsetImport& o : model.opsets) out.opsets[o.domain == "ai.onnx" ? std::string() : std::string(o.domain)] = o.version;
  std::map<std::string_view, bool> initialized;
  for (const onnx::TensorProto& t : model.graph->initializers) initialized[t.name] = true;
  for (const onnx::ValueInfoProto& v : model.graph->inputs) {
    if (!initialized.contains(v.name)) out.inputs.push_back(arg_of(v));
  }
  for (const onnx::ValueInfoProto& v : model.graph->outputs) out.outputs.push_back(arg_of(v));
  return out;
}

}  // namespace nnc
