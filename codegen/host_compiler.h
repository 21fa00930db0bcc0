#pragma once
// Drives the host C++ compiler: source text on its standard input, one shared object out, with nothing undefined in it and no initialiser.
// Content-addressed: the key is the hash of source, options and the compiler's version, so that equal input never compiles twice.

#include <functional>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc {

struct CompileUnit {
  std::string source;
};
struct HostCompilerOptions {
  std::string compiler;  // absolute; empty: the first of the fixed candidates that exists
  bool use_cache = true;
  int parallel = 2;
  std::function<void(size_t done, size_t total)> progress;  // units, from any thread
  std::function<bool()> cancelled;                          // asked before each unit, from any thread: those that run are finished and kept
};

// One shared object per unit, in order. Code::kNoCompiler names the package; a source that does not compile is our bug (kInternal) and is
// saved for a report.
Result<std::vector<Bytes>> compile_cpu_units(const std::vector<CompileUnit>& units, const Target& target,
                                             const HostCompilerOptions& options = {});
// "g++ (Debian 12.2.0-14) 12.2.0", or the reason why there is none.
Result<std::string> host_compiler_version(const HostCompilerOptions& options = {});

}  // namespace nnc
