// Choice of the program.

#include <algorithm>
#include <set>

#include "ir/base/cpu_features.h"
#include "ir/support/text.h"
#include "runtime/artifact.h"

namespace nnc {

namespace {

constexpr int64_t kUntrustedRounds = int64_t(1) << 26;

bool interpreted(const Artifact& a, size_t i) {
  size_t native = 0;
  for (const ExecutableUnit& u : a.units(i)) native += u.code.empty() ? 0 : u.kernels.size();
  return native < a.program(i).kernels.size();
}

Result<std::shared_ptr<const Executable>> load(const Artifact& a, size_t i, std::shared_ptr<Device> device, bool native,
                                               const LoadOptions& options) {
  std::vector<ExecutableUnit> units;
  if (native) units = a.units(i);
  NNC_ASSIGN(std::shared_ptr<const Executable> e,
             Executable::create(std::move(device), a.program(i), a.constants(i), units, a.trusted() ? INT64_MAX : kUntrustedRounds));
  if (options.require_native) NNC_TRY(e->require_native());
  return e;
}

Error untrusted(const Artifact& a) {
  return Error(Code::kUntrusted,
               cat("native code of an artifact that you do not trust is not run (digest ", a.digest().hex().substr(0, 16), "...)"))
      .with("  try: nnc trust FILE, if you know where it comes from")
      .with("       --allow-interpreter, to run it slowly without native code");
}

}  // namespace

Result<std::shared_ptr<const Executable>> load_executable(const Artifact& a, std::shared_ptr<Device> device, const LoadOptions& options) {
  std::vector<std::string> have = machine_features();
  std::erase_if(have, [&](const std::string& f) {
    return std::find(options.without_features.begin(), options.without_features.end(), f) != options.without_features.end();
  });
  const bool host = device->name() == "cpu";
  std::vector<std::string> targets;
  std::set<std::string> missing;
  int best = -1, portable = -1;
  bool any = false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Program& p = a.program(i);
    targets.push_back(p.target);
    if (!device->runs(p.target) || (!options.target.empty() && options.target != p.target)) continue;
    any = true;
    if (host && interpreted(a, i)) {
      if (portable < 0 || p.target == "cpu:vm") portable = static_cast<int>(i);
      continue;
    }
    const std::vector<std::string> lacks = host ? missing_features(p.features, have) : std::vector<std::string>();
    if (lacks.empty()) {
      if (best < 0 || p.features.size() > a.program(static_cast<size_t>(best)).features.size()) best = static_cast<int>(i);
    } else {
      missing.insert(lacks.begin(), lacks.end());
    }
  }
  if (!any)
    return Error(Code::kIncompatible, cat("the artifact has no program ",
                                          options.target.empty() ? cat("for the device ", device->name()) : cat("\"", options.target, "\""),
                                          "; it has ", join(targets, ", ")));
  if (best >= 0 && a.trusted()) return load(a, static_cast<size_t>(best), std::move(device), true, options);
  if (best >= 0 && portable < 0) portable = best;  // its own kernel IR
  if (options.allow_interpreter && portable >= 0) return load(a, static_cast<size_t>(portable), std::move(device), false, options);
  if (best >= 0) return untrusted(a);
  if (missing.empty())
    return Error(Code::kIncompatible, "the artifact has only kernels that are interpreted")
        .with("  try: --allow-interpreter, or compile for --target cpu");
  Error e(Code::kIncompatible, cat("no program of the artifact fits this machine, which lacks ",
                                   join(missing, ", ", [](const std::string& f) { return f; }), "; it has ", join(targets, ", ")));
  if (portable >= 0) return std::move(e).with("  try: --allow-interpreter");
  return std::move(e).with("  try: compile for --target cpu on this machine");
}

}  // namespace nnc
