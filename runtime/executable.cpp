#include "runtime/executable.h"

#include "ir/base/plan_unpack.h"
#include "ir/base/plan_verify.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

void count_steps(const std::vector<Step>& steps, const Executable& e, CodeCounts& out) {
  for (const Step& s : steps) {
    switch (s.kind) {
      case StepKind::kLaunch: ++(e.code(s.kernel).kind() == CodeKind::kNative ? out.native : out.vm); break;
      case StepKind::kHost: ++out.host; break;
      case StepKind::kLibrary: ++out.library; break;
      default: break;
    }
    count_steps(s.body, e, out);
    count_steps(s.orelse, e, out);
    for (const Alternative& a : s.alternatives) count_steps(a.steps, e, out);
  }
}

}  // namespace

Result<std::shared_ptr<const Executable>> Executable::create(std::shared_ptr<Device> device, Program program, std::vector<Tensor> constants,
                                                             std::span<const ExecutableUnit> units, int64_t max_rounds) {
  if (!device->runs(program.target))
    return Error(Code::kIncompatible, cat("a program for ", program.target, " does not run on the device ", device->name()));
  NNC_TRY(verify_program(program));
  if (constants.size() != program.constants.size())
    return Error(Code::kInvalidArtifact, cat(constants.size(), " constants where the program has ", program.constants.size()));
  for (size_t i = 0; i < constants.size(); ++i) {
    const PlanConstant& c = program.constants[i];
    if (auto fits = check_stored(c, constants[i].dtype(), constants[i].dims()); !fits.ok())
      return Error(Code::kInvalidArtifact, fits.error().message);
    if (c.dtype == DType::kString)
      return Error(Code::kUnsupportedOp, cat("constant ", c.hash, " is of a form that the device ", device->name(), " does not take"));
    NNC_ASSIGN(constants[i], unpack_stored(c, constants[i]));
  }
  std::shared_ptr<Executable> e(new Executable());
  e->device_ = std::move(device);
  e->program_ = std::move(program);
  e->constants_ = std::move(constants);
  e->kernels_.reserve(e->program_.kernels.size());
  for (const PlanKernel& k : e->program_.kernels) {
    auto kernel = parse_kernel(k.text);
    if (!kernel.ok()) return std::move(kernel).error().with(cat("  kernel ", k.name));
    if (kernel->in_place != k.in_place)
      return Error(Code::kInvalidArtifact, cat("kernel ", k.name, ": plan and kernel differ in what may share memory"));
    e->kernels_.push_back(std::move(*kernel));
  }
  NNC_TRY(verify_launches(e->program_, e->kernels_));
  NNC_TRY(e->load(units, max_rounds));
  for (uint32_t i = 0; i < e->program_.entries.size(); ++i) e->entries_[e->program_.entries[i].name].push_back(i);
  return std::shared_ptr<const Executable>(std::move(e));
}

Status Executable::load(std::span<const ExecutableUnit> units, int64_t max_rounds) {
  code_.resize(kernels_.size());
  auto add = [&](ByteView code, std::span<const uint32_t> kernels) -> Status {
    ModuleSource source;
    source.code = code;
    source.max_rounds = max_rounds;
    for (uint32_t k : kernels) source.kernels.push_back({program_.kernels[k].name, &kernels_[k]});
    NNC_ASSIGN(std::unique_ptr<DeviceModule> module, device_->load(source));
    for (size_t i = 0; i < kernels.size(); ++i) code_[kernels[i]] = module->kernel(i);
    modules_.push_back(std::move(module));
    return {};
  };
  std::vector<uint8_t> defined(kernels_.size(), 0);
  for (const ExecutableUnit& u : units) {
    for (uint32_t k : u.kernels) {
      if (k >= kernels_.size() || defined[k])
        return Error(Code::kInvalidArtifact, cat("kernel ", k, " is defined twice or is none of the ", kernels_.size()));
      defined[k] = !u.code.empty();
    }
    if (!u.code.empty()) NNC_TRY(add(u.code, u.kernels));
  }
  std::vector<uint32_t> rest;
  for (uint32_t k = 0; k < kernels_.size(); ++k)
    if (!defined[k]) rest.push_back(k);
  return rest.empty() ? Status() : add({}, rest);
}

std::vector<std::string> Executable::entry_names() const {
  std::vector<std::string> names;
  for (const auto& [name, variants] : entries_) names.push_back(name);
  return names;
}

Result<std::span<const uint32_t>> Executable::variants(std::string_view entry) const {
  if (const auto it = entries_.find(entry); it != entries_.end()) return std::span<const uint32_t>(it->second);
  const std::vector<std::string> names = entry_names();
  Error e(Code::kUnknownName, cat("the program has no entry \"", entry, "\""));
  if (const std::string close = nearest(entry, names); !close.empty()) return std::move(e).with(cat("  did you mean \"", close, "\"?"));
  return std::move(e).with(cat("  entries: ", join(names, ", ")));
}

CodeCounts Executable::counts(std::string_view entry) const {
  CodeCounts out;
  for (const PlanEntry& e : program_.entries)
    if (entry.empty() || e.name == entry)
      for (const Segment& s : e.segments) count_steps(s.steps, *this, out);
  return out;
}

Status Executable::require_native(std::string_view entry) const {
  const CodeCounts c = counts(entry);
  if (c.vm == 0) return {};
  return Error(Code::kRequirement,
               cat(c.vm, " of ", c.total(), " steps would be interpreted (target ", program_.target, "), native code was required"))
      .with("  try: nnc compile with a target of this machine, or nnc trust FILE");
}

}  // namespace nnc
