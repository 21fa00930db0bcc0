// One engine of the paired harness: compiles a model, then runs slices on request. `bench_worker MODEL --inputs IN.npz --target T --threads
// N [--dim NAME=SPEC ...]`; commands on standard input, one JSON line for each: `run SECONDS` runs the model for that long (times in
// seconds), `probe SECONDS` measures the FMA peak of one thread (GFLOP/s), `outputs FILE.npz` writes the outputs, `quit`.

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "codegen/api/load.h"
#include "frontend/onnx/importer.h"
#include "ir/base/tensor_io.h"
#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/cpu_device.h"
#include "runtime/session.h"

namespace {

using namespace nnc;

template <class T> T must(Result<T> r) {
  if (r.ok()) return std::move(r).value();
  std::fprintf(stderr, "%s\n", r.error().str().c_str());
  std::exit(2);
}
void must(const Status& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "%s\n", s.error().str().c_str());
  std::exit(2);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Independent chains of fused multiply-adds in registers: what no kernel can exceed.
__attribute__((target("avx512f"))) double chains512(int64_t rounds) {
  __m512 a[24];
  for (int i = 0; i < 24; ++i) a[i] = _mm512_set1_ps(0.001f * static_cast<float>(i + 1));
  const __m512 b = _mm512_set1_ps(0.999999f), c = _mm512_set1_ps(1e-7f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < 24; ++i) a[i] = _mm512_fmadd_ps(a[i], b, c);
  }
  __m512 sum = a[0];
  for (int i = 1; i < 24; ++i) sum = _mm512_add_ps(sum, a[i]);
  alignas(64) float out[16];
  _mm512_store_ps(out, sum);
  return static_cast<double>(out[0] + out[1]);
}
__attribute__((target("avx2,fma"))) double chains256(int64_t rounds) {
  __m256 a[12];
  for (int i = 0; i < 12; ++i) a[i] = _mm256_set1_ps(0.001f * static_cast<float>(i + 1));
  const __m256 b = _mm256_set1_ps(0.999999f), c = _mm256_set1_ps(1e-7f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) a[i] = _mm256_fmadd_ps(a[i], b, c);
  }
  __m256 sum = a[0];
  for (int i = 1; i < 12; ++i) sum = _mm256_add_ps(sum, a[i]);
  alignas(32) float out[8];
  _mm256_store_ps(out, sum);
  return static_cast<double>(out[0] + out[1]);
}

// The second half counts: the clock has settled by then.
double probe_gflops(double seconds) {
  const bool wide = __builtin_cpu_supports("avx512f");
  constexpr int64_t kRounds = 20000;
  volatile double sink = 0;
  const double start = now();
  while (now() - start < seconds / 2) sink = sink + (wide ? chains512(kRounds) : chains256(kRounds));
  int64_t done = 0;
  const double begin = now();
  double end = begin;
  while ((end = now()) - begin < seconds / 2) {
    sink = sink + (wide ? chains512(kRounds) : chains256(kRounds));
    done += kRounds;
  }
  return static_cast<double>(done) * (wide ? 24 * 16 * 2 : 12 * 8 * 2) / (end - begin) * 1e-9;
}

struct Bound {
  std::vector<InputView> inputs;
  std::vector<OutputView> outputs;
  std::vector<Tensor> memory;
};

}  // namespace

int main(int argc, char** argv) {
  std::string model, inputs, target = "cpu";
  int threads = 1;
  ImportOptions import;
  import.profiles.emplace_back();
  for (int k = 1; k < argc; ++k) {
    const std::string a = argv[k];
    if (a == "--inputs" && k + 1 < argc) {
      inputs = argv[++k];
    } else if (a == "--target" && k + 1 < argc) {
      target = argv[++k];
    } else if (a == "--threads" && k + 1 < argc) {
      threads = std::atoi(argv[++k]);
    } else if (a == "--dim" && k + 1 < argc) {
      const std::string spec = argv[++k];
      const size_t equals = spec.find('=');
      import.profiles[0].dims[spec.substr(0, equals)] = DimSpec::size(std::atoll(spec.c_str() + equals + 1));
    } else {
      model = a;
    }
  }
  const double begin = now();
  auto module = must(import_onnx_file(model, import));
  must(simplify_module(*module));
  const Target t = must(parse_target(target));
  const CompiledProgram compiled = must(compile_for_target(*module, t));
  const double compiled_at = now();
  ThreadPoolOptions pool;
  pool.threads = threads;
  auto executable = must(load_compiled(compiled, must(make_cpu_device(pool))));
  auto session = must(Session::create(executable));

  Budget budget;
  const Bytes bytes = must(read_file(inputs, int64_t(1) << 32));
  std::map<std::string, Tensor> given;
  for (NamedTensor& n : must(read_npz({bytes, inputs}, budget))) given[n.name] = std::move(n.tensor);
  std::vector<Tensor> args;
  const PlanEntry& entry = executable->program().entries.front();
  for (const PlanArg& a : entry.args) args.push_back(given.at(a.name));
  std::vector<Tensor> results = must(session->run(entry.name, args));
  Bound b;
  for (const Tensor& a : args) b.inputs.push_back({a.dtype(), a.dims(), a.data(), static_cast<int64_t>(a.bytes())});
  for (Tensor& r : results) b.outputs.push_back({r.data(), static_cast<int64_t>(r.bytes()), DType::kInvalid, 0, {}, 0});
  const CodeCounts counts = executable->counts();
  std::printf("{\"compile\": %.4f, \"load\": %.4f, \"native\": %lld, \"vm\": %lld, \"host\": %lld, \"kernels\": %zu}\n",
              compiled_at - begin, now() - compiled_at, static_cast<long long>(counts.native), static_cast<long long>(counts.vm),
              static_cast<long long>(counts.host), compiled.program.kernels.size());
  std::fflush(stdout);

  char line[4096];
  while (std::fgets(line, sizeof line, stdin)) {
    if (std::strncmp(line, "run ", 4) == 0) {
      const double seconds = std::atof(line + 4), start = now();
      std::vector<double> times;
      do {
        const double a = now();
        must(session->run(entry.name, b.inputs, b.outputs));
        times.push_back(now() - a);
      } while (now() - start < seconds);
      std::sort(times.begin(), times.end());
      std::printf("{\"n\": %zu, \"p10\": %.9f, \"p50\": %.9f, \"p90\": %.9f}\n", times.size(), times[times.size() / 10],
                  times[times.size() / 2], times[times.size() * 9 / 10]);
    } else if (std::strncmp(line, "probe ", 6) == 0) {
      std::printf("{\"gflops\": %.2f}\n", probe_gflops(std::atof(line + 6)));
    } else if (std::strncmp(line, "outputs ", 8) == 0) {
      std::string path(line + 8);
      path.erase(path.find_last_not_of("\r\n") + 1);
      std::vector<NamedTensor> named;
      for (size_t r = 0; r < results.size(); ++r) named.push_back({entry.results[r].name, results[r]});
      must(write_file_atomic(path, must(npz_bytes(named))));
      std::printf("{}\n");
    } else {
      break;
    }
    std::fflush(stdout);
  }
  return 0;
}
