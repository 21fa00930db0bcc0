#include "tests/bench/engine.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "ir/support/file.h"

namespace nnc::bench {

namespace {

double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

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

// Best and mean rate of the second half: the clock has settled by then.
void probe(double seconds) {
  const bool wide = __builtin_cpu_supports("avx512f");
  constexpr int64_t kRounds = 4000;
  const double flops = static_cast<double>(kRounds) * (wide ? 24 * 16 * 2 : 12 * 8 * 2);
  volatile double sink = 0;
  const double start = now();
  while (now() - start < seconds / 2) sink = sink + (wide ? chains512(kRounds) : chains256(kRounds));
  double best = 0, done = 0;
  const double begin = now(), used = processor_time();
  double at = begin;
  while (at - begin < seconds / 2) {
    sink = sink + (wide ? chains512(kRounds) : chains256(kRounds));
    const double end = now();
    best = std::max(best, flops / (end - at));
    done += flops;
    at = end;
  }
  std::printf("{\"gflops\": %.2f, \"best\": %.2f, \"cpu\": %.2f}\n", 1e-9 * done / (at - begin), 1e-9 * best,
              1e-9 * done / (processor_time() - used));
}

void slice(const std::function<void()>& run, double seconds) {
  std::vector<double> times;
  const double start = now(), used = processor_time();
  double at = start;
  do {
    run();
    const double end = now();
    times.push_back(end - at);
    at = end;
  } while (at - start < seconds);
  const double spent = processor_time() - used;
  std::sort(times.begin(), times.end());
  const size_t n = times.size();
  std::printf("{\"n\": %zu, \"p10\": %.9f, \"p50\": %.9f, \"p90\": %.9f, \"cpu\": %.9f}\n", n, times[n / 10], times[n / 2],
              times[n * 9 / 10], spent / static_cast<double>(n));
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(2);
}

std::vector<NamedTensor> read_inputs(const std::string& path) {
  Budget budget;
  const Bytes bytes = must(read_file(path, int64_t(1) << 32));
  return must(read_npz({bytes, path}, budget));
}

void serve(const std::function<void()>& run, const std::function<std::vector<NamedTensor>()>& outputs) {
  char line[4096];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    if (std::strncmp(line, "run ", 4) == 0) {
      slice(run, std::atof(line + 4));
    } else if (std::strncmp(line, "probe ", 6) == 0) {
      probe(std::atof(line + 6));
    } else if (std::strncmp(line, "outputs ", 8) == 0) {
      std::string path(line + 8);
      path.erase(path.find_last_not_of("\r\n") + 1);
      must(write_file_atomic(path, must(npz_bytes(outputs()))));
      std::printf("{}\n");
    } else {
      return;
    }
    std::fflush(stdout);
  }
}

}  // namespace nnc::bench
