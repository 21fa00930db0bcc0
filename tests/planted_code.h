#pragma once
// Native code that leaves a mark when it is loaded, in the place of a program's own: what an attacker would plant in an artifact.

#include <string>

#include "codegen/compile.h"
#include "ir/support/file.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"

namespace nnc::test {

// `program` gets one unit that defines all its kernels and, when it is loaded, makes the file `mark`. Builds in `folder`.
inline Status plant_code(CompiledProgram& program, const std::string& folder, const std::string& mark) {
  SpawnRequest compiler;
  compiler.program = "/usr/bin/g++";
  compiler.arguments = {"-shared", "-fPIC", "-x", "c++", "-", "-o", cat(folder, "/planted.so")};
  std::string source =
      cat("#include <cstdio>\n__attribute__((constructor)) static void mark() { fclose(fopen(", quote(mark), ", \"w\")); }\n");
  for (const PlanKernel& k : program.program.kernels) append(source, "extern \"C\" void ", k.name, "() {}\n");
  compiler.input = bytes_of(source);
  NNC_ASSIGN(const SpawnOutcome built, spawn(compiler));
  if (!built.ok()) return Error(Code::kInternal, built.err);
  NativeUnit unit;
  NNC_ASSIGN(unit.code, read_file(cat(folder, "/planted.so"), 1 << 20));
  for (uint32_t k = 0; k < program.program.kernels.size(); ++k) unit.kernels.push_back(k);
  program.units.clear();
  program.units.push_back(std::move(unit));
  return {};
}

}  // namespace nnc::test
