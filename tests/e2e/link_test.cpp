// What the shared libraries hold and let out.

#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/support/spawn.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

// The names that nm prints for a library, one a line.
std::string names(const std::string& library, std::vector<std::string> options) {
  SpawnRequest request;
  request.program = "/usr/bin/nm";
  request.arguments = std::move(options);
  request.arguments.push_back(cat(std::getenv("NNC_BUILD_DIR"), "/lib/", library));
  request.max_output = 64 << 20;
  auto outcome = spawn(request);
  EXPECT_TRUE(outcome.ok() && outcome->ok()) << library;
  return outcome.ok() ? outcome->out : "";
}

bool has(const std::string& listing, std::string_view name) { return listing.find(name) != std::string::npos; }

TEST(Libraries, LetOutNothingButTheInterface) {
  for (const char* library : {"libnnc_rt.so", "libnnc.so"}) {
    const std::string listing = names(library, {"-D", "--defined-only", "--format=posix"});
    int count = 0;
    for (std::string_view line : split(listing, '\n')) {
      if (line.empty()) continue;
      EXPECT_EQ(line.substr(0, 4), "nnc_") << library << ": " << line;
      ++count;
    }
    EXPECT_GT(count, 30) << library;
  }
}

TEST(Libraries, TheRuntimeHoldsNoCompiler) {
  const std::string runtime = names("libnnc_rt.so", {"-C", "--defined-only"}), whole = names("libnnc.so", {"-C", "--defined-only"});
  for (const char* name : {"nnc::compile_for_target", "nnc::plan_module", "nnc::lower_group", "nnc::emit_cpu_unit", "nnc::import_onnx",
                           "nnc::parse_module", "nnc::Interpreter::", "nnc::run_optimize"}) {
    EXPECT_TRUE(has(whole, name)) << name;
    EXPECT_FALSE(has(runtime, name)) << name;
  }
  for (const char* name : {"nnc::Session::run", "nnc::VmKernel::run", "nnc::parse_program", "nnc::parse_kernel"})
    EXPECT_TRUE(has(runtime, name)) << name;
}

// Beside the C and C++ libraries, threads and zlib nothing is needed to start a program; drivers and compilers are opened when they are
// asked for.
TEST(Libraries, NeedOnlyTheSystem) {
  for (const char* library : {"libnnc_rt.so", "libnnc.so"}) {
    SpawnRequest request;
    request.program = "/usr/bin/readelf";
    request.arguments = {"-d", cat(std::getenv("NNC_BUILD_DIR"), "/lib/", library)};
    auto outcome = spawn(request);
    ASSERT_TRUE(outcome.ok() && outcome->ok());
    int needed = 0;
    for (std::string_view line : split(outcome->out, '\n')) {
      const size_t at = line.find("Shared library: [");
      if (at == std::string_view::npos) continue;
      std::string_view name = line.substr(at + 17);
      name = name.substr(0, name.find(".so"));
      EXPECT_TRUE(name == "libz" || name == "libstdc++" || name == "libm" || name == "libgcc_s" || name == "libc" || name == "libdl" ||
                  name == "libpthread" || name == "ld-linux-x86-64")
          << library << " needs " << name;
      ++needed;
    }
    EXPECT_GT(needed, 2) << library;
  }
}

}  // namespace
}  // namespace nnc
