// ONNX Runtime as an engine of the paired harness, through its C interface: `bench_ort LIBRARY MODEL IN.npz --threads N`. All graph
// optimisations, N threads within an operator (they spin, its default), one operator at a time, inputs and outputs bound once to memory of
// ours.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "ir/support/text.h"
#include "tests/bench/engine.h"
#include "tests/bench/ort_api.h"

namespace nnc::bench {

namespace {

class Peer {
 public:
  explicit Peer(const std::string& library) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) fail(cat("cannot open ONNX Runtime: ", dlerror()));
    using Base = const OrtApiBase* (*)();
    const auto base = reinterpret_cast<Base>(dlsym(handle, "OrtGetApiBase"));
    if (base == nullptr) fail(cat(library, " has no OrtGetApiBase"));
    version = base()->version();
    api_ = base()->api(kOrtApiVersion);
    if (api_ == nullptr) fail(cat(library, " (", version, ") does not offer version ", kOrtApiVersion, " of its C interface"));
    call<CreateEnv>(kWarning, "bench", &env_);
    call<GetDefaultAllocator>(&allocator_);
    call<CreateCpuMemoryInfo>(kDeviceAllocator, kDefaultMemory, &memory_);
  }

  void load(const std::string& model, int threads) {
    OrtObject* options = nullptr;
    call<CreateSessionOptions>(&options);
    call<SetSessionGraphOptimizationLevel>(options, kAllOptimisations);
    call<SetSessionExecutionMode>(options, kSequential);
    call<SetIntraOpNumThreads>(options, threads);
    call<SetInterOpNumThreads>(options, 1);
    call<CreateSession>(env_, model.c_str(), options, &session_);
  }

  // Runs once to learn the outputs' extents, then binds everything.
  void bind(const std::vector<NamedTensor>& inputs) {
    inputs_ = names<SessionGetInputCount, SessionGetInputName>();
    outputs_ = names<SessionGetOutputCount, SessionGetOutputName>();
    std::map<std::string, Tensor> given;
    for (const NamedTensor& n : inputs) given[n.name] = n.tensor;
    std::vector<OrtObject*> values;
    held_.reserve(inputs_.size());
    values.reserve(inputs_.size());
    results.reserve(outputs_.size());
    for (const char* name : inputs_) {
      if (given.count(name) == 0) fail(cat("no input \"", name, "\" is given"));
      held_.push_back(given.at(name));
      values.push_back(wrap(held_.back()));
    }
    std::vector<OrtObject*> made(outputs_.size(), nullptr);
    call<Run>(session_, nullptr, inputs_.data(), values.data(), values.size(), outputs_.data(), outputs_.size(), made.data());
    call<CreateIoBinding>(session_, &binding_);
    for (size_t i = 0; i < inputs_.size(); ++i) call<BindInput>(binding_, inputs_[i], values[i]);
    for (size_t o = 0; o < outputs_.size(); ++o) {
      results.push_back({outputs_[o], room_like(made[o])});
      call<BindOutput>(binding_, outputs_[o], wrap(results.back().tensor));
      ReleaseValue::call(api_, made[o]);
    }
    run();
  }

  void run() { call<RunWithBinding>(session_, nullptr, binding_); }

  std::string version;
  std::vector<NamedTensor> results;

 private:
  template <class Entry, class... Args> void call(Args... args) {
    if (OrtStatus* s = Entry::call(api_, args...)) fail(cat("ONNX Runtime: ", GetErrorMessage::call(api_, s)));
  }
  template <class Count, class Name> std::vector<const char*> names() {
    size_t n = 0;
    call<Count>(session_, &n);
    std::vector<const char*> out;
    for (size_t i = 0; i < n; ++i) {
      char* name = nullptr;
      call<Name>(session_, i, allocator_, &name);
      out.push_back(name);
    }
    return out;
  }
  // Element types have the numbers of ONNX's TensorProto.
  OrtObject* wrap(Tensor& t) {
    OrtObject* value = nullptr;
    call<CreateTensorWithData>(memory_, t.data(), static_cast<size_t>(t.bytes()), t.dims().data(), t.dims().size(), onnx_type(t.dtype()),
                               &value);
    return value;
  }
  Tensor room_like(const OrtObject* value) {
    int is = 0, type = 0;
    call<IsTensor>(value, &is);
    if (is == 0) fail("an output of the model is no tensor");
    OrtObject* info = nullptr;
    call<GetTensorTypeAndShape>(value, &info);
    call<GetTensorElementType>(info, &type);
    size_t rank = 0;
    call<GetDimensionsCount>(info, &rank);
    std::vector<int64_t> dims(rank);
    call<GetDimensions>(info, dims.data(), rank);
    ReleaseTensorTypeAndShape::call(api_, info);
    for (const auto& [dtype, number] : kTypes)
      if (number == type) return must(Tensor::create(dtype, dims));
    fail(cat("no tensor holds ONNX element type ", type));
  }
  static int onnx_type(DType t) {
    for (const auto& [dtype, number] : kTypes)
      if (dtype == t) return number;
    fail(cat("ONNX Runtime is not given elements of type ", dtype_name(t)));
  }

  static constexpr std::pair<DType, int> kTypes[] = {{DType::kF32, 1}, {DType::kU8, 2},   {DType::kI8, 3},   {DType::kI32, 6},
                                                     {DType::kI64, 7}, {DType::kBool, 9}, {DType::kF16, 10}, {DType::kF64, 11}};
  void* const* api_ = nullptr;
  OrtObject *env_ = nullptr, *allocator_ = nullptr, *memory_ = nullptr, *session_ = nullptr, *binding_ = nullptr;
  std::vector<const char*> inputs_, outputs_;
  std::vector<Tensor> held_;
};

int serve_ort(int argc, char** argv) {
  if (argc != 6 || std::string(argv[4]) != "--threads") fail("usage: bench_ort LIBRARY MODEL IN.npz --threads N");
  Peer peer(argv[1]);
  const double begin = now();
  peer.load(argv[2], std::atoi(argv[5]));
  const double created = now() - begin;
  peer.bind(read_inputs(argv[3]));
  std::printf("{\"created\": %.4f, \"version\": \"%s\"}\n", created, peer.version.c_str());
  std::fflush(stdout);
  serve([&] { peer.run(); }, [&] { return peer.results; });
  std::fflush(stdout);
  std::_Exit(0);  // its environment and ours need no order of destruction
}

}  // namespace

}  // namespace nnc::bench

int main(int argc, char** argv) { return nnc::bench::serve_ort(argc, argv); }
