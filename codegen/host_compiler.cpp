#include "codegen/host_compiler.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "codegen/elf_check.h"
#include "codegen/kernel_cache.h"
#include "ir/support/file.h"
#include "ir/support/hash.h"
#include "ir/support/mutant.h"
#include "ir/support/parallel.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr const char* kCandidates[] = {"/usr/bin/g++", "/usr/bin/g++-12", "/usr/bin/g++-13", "/usr/bin/g++-14", "/usr/local/bin/g++"};

struct Compiler {
  std::string path, version;
};

Result<Compiler> find_compiler(const HostCompilerOptions& options) {
  std::vector<std::string> paths;
  if (!options.compiler.empty())
    paths.push_back(options.compiler);
  else
    paths.assign(std::begin(kCandidates), std::end(kCandidates));
  for (const std::string& path : paths) {
    SpawnRequest r;
    r.program = path;
    r.arguments = {"--version"};
    r.timeout_ms = 20'000;
    auto outcome = spawn(r);
    if (!outcome.ok() || !outcome->ok()) continue;
    return Compiler{path, outcome->out.substr(0, outcome->out.find('\n'))};
  }
  return Error(Code::kNoCompiler, "no C++ compiler was found, native code cannot be made")
      .with("  looked for: " + join(paths, ", "))
      .with("  install:    apt-get install g++")
      .with("  or compile for the interpreter: --target cpu:vm");
}

// One process asks a compiler for its version once.
Result<Compiler> compiler_for(const HostCompilerOptions& options) {
  static std::mutex mutex;
  static std::vector<std::pair<std::string, Compiler>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& [key, c] : known)
    if (key == options.compiler) return c;
  NNC_ASSIGN(Compiler c, find_compiler(options));
  known.push_back({options.compiler, c});
  return c;
}

std::vector<std::string> flags(const Target& target) {
  std::vector<std::string> f = {"-x", "c++", "-std=c++20", "-O2", "-march=" + target.march};
  if (target.vector_bytes >= 64) f.push_back("-mprefer-vector-width=512");
  for (const char* s : {mutant("products_and_sums_contract") ? "-ffp-contract=fast" : "-ffp-contract=off",
                        "-fno-math-errno",
                        "-fno-trapping-math",
                        "-fno-tree-loop-distribute-patterns",
                        "-fno-exceptions",
                        "-fno-rtti",
                        "-fno-stack-protector",
                        "-fno-asynchronous-unwind-tables",
                        "-fno-ident",
                        "-fno-plt",
                        "-fcf-protection=none",
                        "-Wno-psabi",
                        "-w",
                        "-fPIC",
                        "-shared",
                        "-nostdlib",
                        "-nostartfiles",
                        "-Wl,--build-id=none",
                        "-Wl,-z,noexecstack",
                        "-Wl,-z,norelro",
                        "-Wl,--hash-style=gnu",
                        "-s"})
    f.push_back(s);
  return f;
}

Result<Bytes> compile_one(const Compiler& c, const std::string& source, const Target& target) {
  NNC_ASSIGN(TempDir dir, TempDir::create());
  const std::string out = dir.path() + "/unit.so";
  SpawnRequest r;
  r.program = c.path;
  r.arguments = flags(target);
  r.arguments.push_back("-o");
  r.arguments.push_back(out);
  r.arguments.push_back("-");
  r.environment = spawn_environment(dir.path());
  r.folder = dir.path();
  r.input = bytes_of(source);
  r.timeout_ms = 300'000;
  r.cpu_seconds = 300;
  NNC_ASSIGN(SpawnOutcome outcome, spawn(r));
  if (!outcome.ok()) {
    Error e(Code::kInternal, cat("generated code did not compile: the compiler ", outcome.describe()));
    return std::move(e).with(outcome.err.substr(0, 4000));
  }
  NNC_ASSIGN(Bytes so, read_file(out, int64_t(256) << 20));
  NNC_TRY(check_shared_object(so));
  return so;
}

}  // namespace

Result<std::string> host_compiler_version(const HostCompilerOptions& options) {
  NNC_ASSIGN(Compiler c, compiler_for(options));
  return c.version;
}

Result<std::vector<Bytes>> compile_cpu_units(const std::vector<CompileUnit>& units, const Target& target,
                                             const HostCompilerOptions& options) {
  std::vector<Bytes> out(units.size());
  if (units.empty()) return out;
  NNC_ASSIGN(const Compiler compiler, compiler_for(options));
  KernelCache cache(options.use_cache);
  std::vector<std::string> keys(units.size());
  parallel_for(units.size(), [&](size_t i) {
    Sha256 h;
    h.update(compiler.version);
    h.update("\n");
    for (const std::string& f : flags(target)) h.update(f + "\n");
    h.update(units[i].source);
    keys[i] = h.finish().hex();
    if (auto hit = cache.find(keys[i]); hit && check_shared_object(*hit).ok()) out[i] = std::move(*hit);
  });
  std::vector<size_t> missing;
  for (size_t i = 0; i < units.size(); ++i)
    if (out[i].empty()) missing.push_back(i);
  // The longest first, so that no process is left with one while the others have nothing to do.
  std::stable_sort(missing.begin(), missing.end(), [&](size_t a, size_t b) { return units[a].source.size() > units[b].source.size(); });
  std::atomic<size_t> next{0}, done{units.size() - missing.size()};
  if (options.progress) options.progress(done, units.size());
  std::vector<std::optional<Error>> errors(units.size());
  auto work = [&] {
    for (size_t m; (m = next.fetch_add(1)) < missing.size();) {
      const size_t i = missing[m];
      if (options.cancelled && options.cancelled()) {
        errors[i] = Error(Code::kLimit, "the compilation was cancelled");
        return;
      }
      auto so = compile_one(compiler, units[i].source, target);
      if (so.ok()) {
        out[i] = std::move(so).value();
        cache.store(keys[i], out[i]);
      } else {
        errors[i] = std::move(so).error();
      }
      ++done;
      if (options.progress) options.progress(done, units.size());
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < options.parallel && t < static_cast<int>(missing.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  for (auto& e : errors)
    if (e) return std::move(*e);
  return out;
}

}  // namespace nnc
