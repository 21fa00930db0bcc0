#include "codegen/cuda/nvrtc.h"

#include <algorithm>
#include <cstring>

#include "codegen/cuda/nvrtc_api.h"
#include "codegen/kernel_cache.h"
#include "ir/support/hash.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

// Every product and sum as the kernel has it: no contraction, IEEE division and square root, denormals kept.
constexpr const char* kOptions[] = {"--std=c++17",      "--fmad=false",       "--ftz=false",       "--prec-div=true",
                                    "--prec-sqrt=true", "--ptxas-options=-v", "--disable-warnings"};

struct ProgramHolder {
  const nvrtc::Api& api;
  nvrtc::Program program = nullptr;
  ~ProgramHolder() {
    if (program) api.destroy(&program);
  }
};

Result<CudaCode> compile_now(const nvrtc::Api& api, const std::string& source, const std::vector<std::string>& options, bool ptx) {
  ProgramHolder p{api};
  if (const auto s = api.create(&p.program, source.c_str(), "nnc_kernels.cu", 0, nullptr, nullptr); s != nvrtc::kSuccess)
    return Error(Code::kInternal, cat("NVRTC takes no program: code ", int(s)));
  std::vector<const char*> args;
  for (const std::string& o : options) args.push_back(o.c_str());
  const auto compiled = api.compile(p.program, static_cast<int>(args.size()), args.data());
  CudaCode out;
  size_t n = 0;
  if (api.log_size(p.program, &n) == nvrtc::kSuccess && n > 1) {
    out.log.resize(n);
    api.log(p.program, out.log.data());
    out.log.resize(std::strlen(out.log.c_str()));
  }
  if (compiled != nvrtc::kSuccess)
    return Error(Code::kInternal, cat("generated CUDA code did not compile: NVRTC code ", int(compiled))).with(out.log.substr(0, 4000));
  n = 0;
  const auto sized = ptx ? api.ptx_size(p.program, &n) : api.cubin_size(p.program, &n);
  if (sized != nvrtc::kSuccess || n == 0) return Error(Code::kInternal, "NVRTC made no code");
  out.code.resize(n);
  auto* to = reinterpret_cast<char*>(out.code.data());
  if ((ptx ? api.ptx(p.program, to) : api.cubin(p.program, to)) != nvrtc::kSuccess) return Error(Code::kInternal, "NVRTC gave no code");
  return out;
}

// A cache entry: length of the log as eight bytes, the log, the code.
Bytes packed(const CudaCode& c) {
  Bytes b(8 + c.log.size());
  for (int i = 0; i < 8; ++i) b[static_cast<size_t>(i)] = static_cast<uint8_t>(uint64_t(c.log.size()) >> (8 * i));
  std::copy(c.log.begin(), c.log.end(), b.begin() + 8);
  b.insert(b.end(), c.code.begin(), c.code.end());
  return b;
}
bool unpack(const Bytes& b, CudaCode* c) {
  if (b.size() < 8) return false;
  uint64_t n = 0;
  for (int i = 0; i < 8; ++i) n |= uint64_t(b[static_cast<size_t>(i)]) << (8 * i);
  if (n > b.size() - 8) return false;
  c->log.assign(b.begin() + 8, b.begin() + 8 + static_cast<std::ptrdiff_t>(n));
  c->code.assign(b.begin() + 8 + static_cast<std::ptrdiff_t>(n), b.end());
  return true;
}

Result<std::vector<int>> architectures(const nvrtc::Api& api) {
  int n = 0;
  if (api.arch_count(&n) != nvrtc::kSuccess || n <= 0) return Error(Code::kNoCompiler, cat(api.path, " does not say what it compiles for"));
  std::vector<int> archs(static_cast<size_t>(n));
  if (api.archs(archs.data()) != nvrtc::kSuccess) return Error(Code::kNoCompiler, cat(api.path, " does not say what it compiles for"));
  return archs;
}

// The number before `word` in `line`, 0 if it is not there.
int number_before(std::string_view line, std::string_view word) {
  const size_t at = line.find(word);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] == ' ') --begin;
  const size_t end = begin;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t v = 0;
  return parse_int(line.substr(begin, end - begin), &v) ? static_cast<int>(v) : 0;
}

}  // namespace

std::vector<CudaKernelUse> parse_ptxas_log(std::string_view log) {
  std::vector<CudaKernelUse> out;
  constexpr std::string_view kEntry = "Compiling entry function '";
  for (const std::string_view line : split(log, '\n')) {
    if (const size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kEntry.size());
      out.push_back({});
      out.back().name = std::string(rest.substr(0, rest.find('\'')));
    } else if (!out.empty()) {
      CudaKernelUse& k = out.back();
      k.registers = std::max(k.registers, number_before(line, " registers"));
      k.stack_bytes = std::max(k.stack_bytes, number_before(line, " bytes stack frame"));
      k.spill_stores = std::max(k.spill_stores, number_before(line, " bytes spill stores"));
      k.spill_loads = std::max(k.spill_loads, number_before(line, " bytes spill loads"));
      k.shared_bytes = std::max(k.shared_bytes, number_before(line, " bytes smem"));
    }
  }
  return out;
}

Result<CudaCode> compile_cuda(const std::string& source, int sm, const NvrtcOptions& o) {
  NNC_ASSIGN(const nvrtc::Api* api, nvrtc::load(o.library));
  NNC_ASSIGN(const std::vector<int> known, architectures(*api));
  if (std::find(known.begin(), known.end(), sm) == known.end())
    return Error(Code::kIncompatible, cat("NVRTC ", api->major, ".", api->minor, " does not compile for sm_", sm))
        .with("  it compiles for: " + join(known, ", ", [](int a) { return cat("sm_", a); }));
  std::vector<std::string> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(cat("--gpu-architecture=", o.ptx ? "compute_" : "sm_", sm));
  Sha256 h;
  h.update(cat("nvrtc ", api->major, ".", api->minor, "\n"));
  for (const std::string& s : options) h.update(s + "\n");
  h.update(source);
  const std::string key = h.finish().hex();
  const KernelCache cache(o.use_cache);
  CudaCode out;
  if (const auto hit = cache.find(key); hit && unpack(*hit, &out)) {
    out.kernels = parse_ptxas_log(out.log);
    return out;
  }
  NNC_ASSIGN(out, compile_now(*api, source, options, o.ptx));
  cache.store(key, packed(out));
  out.kernels = parse_ptxas_log(out.log);
  return out;
}

Result<std::string> nvrtc_version(const NvrtcOptions& o) {
  NNC_ASSIGN(const nvrtc::Api* api, nvrtc::load(o.library));
  return cat("NVRTC ", api->major, ".", api->minor);
}

Result<std::vector<int>> nvrtc_architectures(const NvrtcOptions& o) {
  NNC_ASSIGN(const nvrtc::Api* api, nvrtc::load(o.library));
  return architectures(*api);
}

}  // namespace nnc
