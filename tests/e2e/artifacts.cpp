#include "tests/e2e/artifacts.h"

#include <gtest/gtest.h>

#include <set>

#include "codegen/artifact_writer.h"
#include "runtime/trust.h"

namespace nnc::test {

std::vector<CompiledProgram> compile_all(const Module& m, const std::vector<std::string>& targets) {
  const std::unique_ptr<Module> copy = m.clone();
  EXPECT_TRUE(simplify_module(*copy, {}).ok());
  std::vector<CompiledProgram> out;
  for (const std::string& name : targets) {
    auto target = parse_target(name);
    auto p = target.ok() ? compile_for_target(*copy, *target, {}) : Result<CompiledProgram>(target.error());
    if (p.ok())
      out.push_back(std::move(*p));
    else
      ADD_FAILURE() << name << ": " << p.error().str();
  }
  return out;
}

void compile_artifact(const Module& m, const std::vector<std::string>& targets, const std::string& path, bool trusted) {
  const std::vector<CompiledProgram> programs = compile_all(m, targets);
  ASSERT_EQ(programs.size(), targets.size());
  auto digest = write_artifact(path, {programs, "", {}});
  ASSERT_TRUE(digest.ok()) << digest.error().str();
  ASSERT_TRUE((trusted ? add_trust(*digest, "carrying test") : remove_trust(*digest)).ok());
}

ArtifactSizes sizes_of(const Artifact& a) {
  ArtifactSizes s{a.file_bytes(), a.weight_bytes(), 0, a.table_bytes()};
  for (size_t i = 0; i < a.size(); ++i) s.code += a.code_bytes(i);
  return s;
}

int64_t shared_packed(const Artifact& a) {
  std::set<std::string> stored, unpacked;
  for (size_t i = 0; i < a.size(); ++i)
    for (const PlanConstant& c : a.program(i).constants) (c.unpack.empty() ? stored : unpacked).insert(c.hash);
  int64_t both = 0;
  for (const std::string& hash : unpacked) both += static_cast<int64_t>(stored.count(hash));
  return both;
}

}  // namespace nnc::test
