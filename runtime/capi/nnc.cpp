// The edge of the C interface: handles, conversions, and the one place where running out of memory is caught.

#include "runtime/capi/nnc.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "ir/support/text.h"
#include "runtime/artifact.h"
#include "runtime/open_device.h"
#include "runtime/session.h"

using nnc::Code;
using nnc::DType;
using nnc::Error;
using nnc::Result;
using nnc::Status;

struct nnc_error {
  int32_t code = 0;
  std::string message, text, node, json;
};
struct nnc_runtime {
  std::shared_ptr<nnc::Device> device;
};
namespace {
struct Info {
  nnc_value_info info{};
  std::vector<std::string> words;  // what its pointers name
};
struct EntryInfo {
  std::vector<Info> inputs, outputs;
};
}  // namespace
struct nnc_model {
  std::shared_ptr<const nnc::Artifact> artifact;  // owner of the weights
  std::shared_ptr<const nnc::Executable> executable;
  std::vector<std::string> entries;
  std::map<std::string, EntryInfo, std::less<>> infos;
  std::vector<Info> states;
};
struct nnc_session {
  std::shared_ptr<const nnc::Artifact> artifact;
  std::unique_ptr<nnc::Session> session;
  std::vector<nnc::InputView> inputs;
  std::vector<nnc::OutputView> outputs;
  std::vector<nnc::Tensor> kept;  // outputs that the session provides
  nnc::Tensor kept_state;
};

namespace {

constexpr DType kDtypes[] = {DType::kInvalid,  DType::kBool,       DType::kU2,     DType::kU4,         DType::kU8,     DType::kU16,
                             DType::kU32,      DType::kU64,        DType::kI2,     DType::kI4,         DType::kI8,     DType::kI16,
                             DType::kI32,      DType::kI64,        DType::kF16,    DType::kBF16,       DType::kF32,    DType::kF64,
                             DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0, DType::kF4E2M1,
                             DType::kString,   DType::kC64,        DType::kC128};
static_assert(std::size(kDtypes) == static_cast<size_t>(DType::kCount), "every dtype has its number");

DType dtype_of(nnc_dtype t) {
  const auto i = static_cast<size_t>(t);
  return i < std::size(kDtypes) ? kDtypes[i] : DType::kInvalid;
}
nnc_dtype number_of(DType t) { return static_cast<nnc_dtype>(std::find(std::begin(kDtypes), std::end(kDtypes), t) - std::begin(kDtypes)); }

std::string json_string(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      out += "\\u" + nnc::hex(u, 4);
    } else {
      out += c;
    }
  }
  return out + '"';
}

nnc_error* out_of_memory() {
  static nnc_error error{static_cast<int32_t>(Code::kOutOfMemory), "out of memory", "NNC-7001: out of memory", "",
                         "{\"code\": 7001, \"message\": \"out of memory\"}"};
  return &error;
}

nnc_error* wrap(Error e) {
  auto* out = new nnc_error();
  out->code = static_cast<int32_t>(e.code);
  out->text = e.str();
  out->node = e.place.node;
  out->json = nnc::cat("{\"code\": ", out->code, ", \"message\": ", json_string(e.message), ", \"node\": ", json_string(e.place.node),
                       ", \"op\": ", json_string(e.place.op), ", \"file\": ", json_string(e.place.file), ", \"context\": [",
                       nnc::join(e.context, ", ", [](const std::string& line) { return json_string(line); }), "]}");
  out->message = std::move(e.message);
  return out;
}

// Runs `f`, which gives a Status. Memory that runs out anywhere below ends here.
template <class F> nnc_error* guarded(F&& f) {
  try {
    Status status = f();
    return status.ok() ? nullptr : wrap(std::move(status).error());
  } catch (const std::bad_alloc&) { return out_of_memory(); }
}

Error missing(std::string_view what) { return Error(Code::kUsage, nnc::cat(what, " is NULL")); }

// The caller's options over the defaults: as many bytes as both know.
template <class O> Result<O> options_of(const O* given) {
  O out{};
  out.struct_size = sizeof out;
  if (!given) return out;
  if (given->struct_size < sizeof(size_t)) return Error(Code::kUsage, "struct_size of the options is not set");
  std::memcpy(&out, given, std::min(given->struct_size, sizeof out));
  return out;
}

void describe(const nnc::SymbolTable& symbols, const std::string& name, DType dtype, const nnc::Shape& shape, std::vector<Info>& list) {
  Info& i = list.emplace_back();
  i.words.push_back(name);
  for (const nnc::Dim& d : shape) i.words.push_back(symbols.pretty(d));
  i.info.dtype = number_of(dtype);
  i.info.rank = static_cast<int32_t>(shape.size());
  for (size_t a = 0; a < shape.size(); ++a) {
    const nnc::DimRange r = symbols.range(shape[a]);
    i.info.dims[a] = shape[a].is_const() ? shape[a].constant() : -1;
    i.info.dim_min[a] = r.lo;
    i.info.dim_max[a] = r.hi;
  }
}
// Pointers are set once nothing moves any more.
void point(std::vector<Info>& list) {
  for (Info& i : list) {
    i.info.name = i.words[0].c_str();
    for (size_t a = 0; a + 1 < i.words.size(); ++a) i.info.dim_names[a] = i.words[a + 1].c_str();
  }
}

void describe_model(nnc_model& m) {
  const nnc::Program& p = m.executable->program();
  m.entries = m.executable->entry_names();
  for (const nnc::PlanEntry& e : p.entries) {
    EntryInfo& info = m.infos[e.name];
    if (!info.inputs.empty() || !info.outputs.empty()) continue;  // another profile of the entry
    for (const nnc::PlanArg& a : e.args)
      if (a.state < 0) describe(p.symbols, a.name, a.dtype, a.shape, info.inputs);
    for (const nnc::PlanArg& r : e.results)
      if (r.state < 0) describe(p.symbols, r.name, r.dtype, r.shape, info.outputs);
  }
  for (const nnc::PlanState& s : p.states) describe(p.symbols, s.name, s.dtype, s.shape, m.states);
  for (auto& [name, info] : m.infos) {
    point(info.inputs);
    point(info.outputs);
  }
  point(m.states);
}

Result<nnc::ArtifactOptions> artifact_options(const nnc_model_options& o) {
  nnc::ArtifactOptions out;
  if (o.trust < NNC_TRUST_LIST || o.trust > NNC_TRUST_NONE) return Error(Code::kUsage, nnc::cat("trust is ", static_cast<int>(o.trust)));
  out.trust = o.trust == NNC_TRUST_LIST     ? nnc::ArtifactTrust::kList
              : o.trust == NNC_TRUST_CALLER ? nnc::ArtifactTrust::kCaller
                                            : nnc::ArtifactTrust::kNone;
  return out;
}

Status finish_load(nnc_runtime* runtime, std::shared_ptr<const nnc::Artifact> artifact, const nnc_model_options& o, nnc_model** out) {
  nnc::LoadOptions load;
  if (o.target) load.target = o.target;
  load.allow_interpreter = o.allow_interpreter != 0;
  load.require_native = o.require_native != 0;
  for (size_t i = 0; i < o.without_feature_count; ++i) load.without_features.push_back(o.without_features[i]);
  auto model = std::make_unique<nnc_model>();
  NNC_ASSIGN(model->executable, nnc::load_executable(*artifact, runtime->device, load));
  model->artifact = std::move(artifact);
  describe_model(*model);
  *out = model.release();
  return {};
}

Result<const EntryInfo*> entry_info(const nnc_model* model, const char* entry) {
  if (!model || !entry) return missing(model ? "entry" : "model");
  NNC_TRY(model->executable->variants(entry));
  return &model->infos.find(std::string_view(entry))->second;
}
Status give(const std::vector<Info>& list, size_t index, std::string_view what, nnc_value_info* out) {
  if (!out) return missing("out");
  if (index >= list.size()) return Error(Code::kUnknownName, nnc::cat(what, " ", index, " of ", list.size()));
  *out = list[index].info;
  return {};
}

Status read_input(const nnc_input& in, size_t index, nnc::InputView& out) {
  if (in.rank < 0 || in.rank > NNC_MAX_RANK || (in.rank > 0 && !in.dims))
    return Error(Code::kBadInput, nnc::cat("input ", index, ": rank ", in.rank, in.dims ? "" : " without dims"));
  if (!in.data && in.bytes > 0) return Error(Code::kBadInput, nnc::cat("input ", index, ": data is NULL"));
  out = {dtype_of(in.dtype), {in.dims, static_cast<size_t>(in.rank)}, in.data, static_cast<int64_t>(std::min<size_t>(in.bytes, INT64_MAX))};
  return {};
}

Status fill_output(const nnc::Tensor& t, nnc::Tensor& kept, nnc_output& out, std::string_view what) {
  out.dtype = number_of(t.dtype());
  out.rank = t.rank();
  std::copy(t.dims().begin(), t.dims().end(), out.dims);
  out.bytes = t.bytes();
  if (!out.data) {
    kept = t;
    out.data = kept.data();
    out.room = 0;
    return {};
  }
  if (out.room < t.bytes())
    return Error(Code::kBadInput, nnc::cat(what, " needs ", t.bytes(), " bytes, room for ", out.room, " was given"));
  if (t.bytes() > 0) std::memcpy(out.data, t.data(), t.bytes());
  return {};
}

// Some outputs get memory of the session's: the tensors of the run are kept.
Status run_keeping(nnc_session& s, const char* entry, nnc_output* outputs, size_t count) {
  std::vector<nnc::Tensor> inputs;
  for (const nnc::InputView& v : s.inputs) {
    NNC_ASSIGN(nnc::Tensor t, nnc::Tensor::create(v.dtype, {v.dims.begin(), v.dims.end()}));
    if (static_cast<int64_t>(t.bytes()) > v.bytes)
      return Error(Code::kBadInput, nnc::cat("an input has ", v.bytes, " bytes, ", t.bytes(), " expected"));
    if (t.bytes() > 0) std::memcpy(t.data(), v.data, t.bytes());
    inputs.push_back(std::move(t));
  }
  NNC_ASSIGN(std::vector<nnc::Tensor> results, s.session->run(entry, inputs));
  if (results.size() != count) return Error(Code::kBadInput, nnc::cat("the entry has ", results.size(), " outputs, ", count, " given"));
  s.kept.assign(count, {});
  for (size_t i = 0; i < count; ++i) NNC_TRY(fill_output(results[i], s.kept[i], outputs[i], nnc::cat("output ", i)));
  return {};
}

Status run_in_place(nnc_session& s, const char* entry, nnc_output* outputs, size_t count) {
  s.outputs.resize(count);
  for (size_t i = 0; i < count; ++i) {
    s.outputs[i].data = outputs[i].data;
    s.outputs[i].room = static_cast<int64_t>(std::min<size_t>(outputs[i].room, INT64_MAX));
  }
  Status status = s.session->run(entry, s.inputs, s.outputs);
  for (size_t i = 0; i < count; ++i) {  // also after a failure: how much room would have been enough
    const nnc::OutputView& v = s.outputs[i];
    outputs[i].dtype = number_of(v.dtype);
    outputs[i].rank = v.rank;
    std::copy(v.dims.begin(), v.dims.begin() + v.rank, outputs[i].dims);
    outputs[i].bytes = static_cast<size_t>(v.bytes);
  }
  return status;
}

}  // namespace

extern "C" {

uint32_t nnc_abi_version(void) { return NNC_ABI_VERSION; }

int32_t nnc_error_code(const nnc_error* error) { return error ? error->code : 0; }
const char* nnc_error_message(const nnc_error* error) { return error ? error->message.c_str() : ""; }
const char* nnc_error_text(const nnc_error* error) { return error ? error->text.c_str() : ""; }
const char* nnc_error_node(const nnc_error* error) { return error ? error->node.c_str() : ""; }
const char* nnc_error_json(const nnc_error* error) { return error ? error->json.c_str() : "{}"; }
void nnc_error_release(nnc_error* error) {
  if (error != out_of_memory()) delete error;
}

size_t nnc_dtype_bytes(nnc_dtype dtype, int64_t count) {
  const DType t = dtype_of(dtype);
  return t == DType::kInvalid || count < 0 ? 0 : nnc::dtype_bytes(t, count);
}
const char* nnc_dtype_name(nnc_dtype dtype) {
  const DType t = dtype_of(dtype);
  return t == DType::kInvalid ? "invalid" : nnc::dtype_name(t).data();
}

nnc_error* nnc_runtime_create(const nnc_runtime_options* options, nnc_runtime** out) {
  return guarded([&]() -> Status {
    if (!out) return missing("out");
    *out = nullptr;
    NNC_ASSIGN(const nnc_runtime_options o, options_of(options));
    auto runtime = std::make_unique<nnc_runtime>();
    const nnc::ThreadPoolOptions pool{o.threads, o.pin != 0, o.spin_us == 0 ? 50 : std::max<int64_t>(o.spin_us, 0)};
    NNC_ASSIGN(runtime->device, nnc::open_device(o.device ? o.device : "cpu", pool));
    *out = runtime.release();
    return {};
  });
}
void nnc_runtime_release(nnc_runtime* runtime) { delete runtime; }

nnc_error* nnc_model_load_file(nnc_runtime* runtime, const char* path, const nnc_model_options* options, nnc_model** out) {
  return guarded([&]() -> Status {
    if (!runtime || !path || !out) return missing(!runtime ? "runtime" : !path ? "path" : "out");
    *out = nullptr;
    NNC_ASSIGN(const nnc_model_options o, options_of(options));
    NNC_ASSIGN(const nnc::ArtifactOptions how, artifact_options(o));
    NNC_ASSIGN(auto artifact, nnc::Artifact::open(path, how));
    return finish_load(runtime, std::move(artifact), o, out);
  });
}
nnc_error* nnc_model_load_memory(nnc_runtime* runtime, const void* data, size_t bytes, const nnc_model_options* options, nnc_model** out) {
  return guarded([&]() -> Status {
    if (!runtime || !data || !out) return missing(!runtime ? "runtime" : !data ? "data" : "out");
    *out = nullptr;
    NNC_ASSIGN(const nnc_model_options o, options_of(options));
    NNC_ASSIGN(const nnc::ArtifactOptions how, artifact_options(o));
    auto copy = std::make_shared<nnc::Tensor>();
    NNC_ASSIGN(*copy, nnc::Tensor::create(DType::kU8, {static_cast<int64_t>(std::min<size_t>(bytes, INT64_MAX))}));
    std::memcpy(copy->data(), data, bytes);
    const nnc::ByteView view(static_cast<const uint8_t*>(copy->data()), bytes);
    NNC_ASSIGN(auto artifact, nnc::Artifact::from_bytes(copy, view, how));
    return finish_load(runtime, std::move(artifact), o, out);
  });
}
void nnc_model_release(nnc_model* model) { delete model; }

const char* nnc_model_target(const nnc_model* model) { return model ? model->executable->program().target.c_str() : ""; }
size_t nnc_model_entry_count(const nnc_model* model) { return model ? model->entries.size() : 0; }
const char* nnc_model_entry_name(const nnc_model* model, size_t index) {
  return model && index < model->entries.size() ? model->entries[index].c_str() : nullptr;
}

nnc_error* nnc_model_input_count(const nnc_model* model, const char* entry, size_t* out) {
  return guarded([&]() -> Status {
    if (!out) return missing("out");
    NNC_ASSIGN(const EntryInfo* info, entry_info(model, entry));
    *out = info->inputs.size();
    return {};
  });
}
nnc_error* nnc_model_input(const nnc_model* model, const char* entry, size_t index, nnc_value_info* out) {
  return guarded([&]() -> Status {
    NNC_ASSIGN(const EntryInfo* info, entry_info(model, entry));
    return give(info->inputs, index, "input", out);
  });
}
nnc_error* nnc_model_output_count(const nnc_model* model, const char* entry, size_t* out) {
  return guarded([&]() -> Status {
    if (!out) return missing("out");
    NNC_ASSIGN(const EntryInfo* info, entry_info(model, entry));
    *out = info->outputs.size();
    return {};
  });
}
nnc_error* nnc_model_output(const nnc_model* model, const char* entry, size_t index, nnc_value_info* out) {
  return guarded([&]() -> Status {
    NNC_ASSIGN(const EntryInfo* info, entry_info(model, entry));
    return give(info->outputs, index, "output", out);
  });
}
size_t nnc_model_state_count(const nnc_model* model) { return model ? model->states.size() : 0; }
nnc_error* nnc_model_state(const nnc_model* model, size_t index, nnc_value_info* out) {
  return guarded([&]() -> Status {
    if (!model) return missing("model");
    return give(model->states, index, "state", out);
  });
}
nnc_error* nnc_model_code_counts(const nnc_model* model, const char* entry, nnc_code_counts* out) {
  return guarded([&]() -> Status {
    if (!model || !out) return missing(model ? "out" : "model");
    if (entry) NNC_TRY(model->executable->variants(entry));
    const nnc::CodeCounts c = model->executable->counts(entry ? entry : "");
    *out = {c.native, c.vm, c.host, c.library};
    return {};
  });
}

nnc_error* nnc_session_create(nnc_model* model, const nnc_session_options* options, nnc_session** out) {
  return guarded([&]() -> Status {
    if (!model || !out) return missing(model ? "out" : "model");
    *out = nullptr;
    NNC_ASSIGN(const nnc_session_options o, options_of(options));
    nnc::SessionOptions how;
    if (o.bindings > 0) how.bindings = o.bindings;
    if (o.max_memory_bytes > 0) how.max_bytes = o.max_memory_bytes;
    auto session = std::make_unique<nnc_session>();
    session->artifact = model->artifact;
    NNC_ASSIGN(session->session, nnc::Session::create(model->executable, how));
    *out = session.release();
    return {};
  });
}
void nnc_session_release(nnc_session* session) { delete session; }

nnc_error* nnc_session_run(nnc_session* session, const char* entry, const nnc_input* inputs, size_t input_count, nnc_output* outputs,
                           size_t output_count) {
  return guarded([&]() -> Status {
    if (!session || !entry || (!inputs && input_count > 0) || (!outputs && output_count > 0))
      return missing(!session ? "session" : !entry ? "entry" : "inputs or outputs");
    session->inputs.resize(input_count);
    for (size_t i = 0; i < input_count; ++i) NNC_TRY(read_input(inputs[i], i, session->inputs[i]));
    const bool keep = std::any_of(outputs, outputs + output_count, [](const nnc_output& o) { return !o.data; });
    return keep ? run_keeping(*session, entry, outputs, output_count) : run_in_place(*session, entry, outputs, output_count);
  });
}

nnc_error* nnc_session_get_state(nnc_session* session, const char* name, nnc_output* out) {
  return guarded([&]() -> Status {
    if (!session || !name || !out) return missing(!session ? "session" : !name ? "name" : "out");
    NNC_ASSIGN(const nnc::Tensor t, session->session->state(name));
    return fill_output(t, session->kept_state, *out, nnc::cat("state \"", name, "\""));
  });
}
nnc_error* nnc_session_set_state(nnc_session* session, const char* name, const nnc_input* value) {
  return guarded([&]() -> Status {
    if (!session || !name || !value) return missing(!session ? "session" : !name ? "name" : "value");
    nnc::InputView v;
    NNC_TRY(read_input(*value, 0, v));
    NNC_ASSIGN(nnc::Tensor t, nnc::Tensor::create(v.dtype, {v.dims.begin(), v.dims.end()}));
    if (static_cast<int64_t>(t.bytes()) > v.bytes)
      return Error(Code::kBadInput, nnc::cat("state \"", name, "\": ", v.bytes, " bytes given, ", t.bytes(), " expected"));
    if (t.bytes() > 0) std::memcpy(t.data(), v.data, t.bytes());
    return session->session->set_state(name, t);
  });
}
nnc_error* nnc_session_reset_states(nnc_session* session) {
  return guarded([&]() -> Status {
    if (!session) return missing("session");
    return session->session->reset_states();
  });
}
void nnc_session_cancel(nnc_session* session) {
  if (session) session->session->cancel();
}
nnc_error* nnc_session_get_stats(const nnc_session* session, nnc_session_stats* out) {
  return guarded([&]() -> Status {
    if (!session || !out) return missing(session ? "out" : "session");
    if (out->struct_size < sizeof(size_t)) return Error(Code::kUsage, "struct_size is not set");
    const nnc::Session::Stats& s = session->session->stats();
    const nnc_session_stats all{out->struct_size, s.allocations, s.bindings, s.arena_bytes, s.state_bytes};
    std::memcpy(out, &all, std::min(out->struct_size, sizeof all));
    return {};
  });
}

}  // extern "C"
