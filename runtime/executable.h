#pragma once
// A program that is ready for one device: verified plan, loaded kernels, constants. Immutable and shared by sessions of any thread.
// Everything that depends on a call's extents is the session's.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/base/plan.h"
#include "ir/base/tensor.h"
#include "runtime/device.h"

namespace nnc {

// Native code of one unit and the kernels in it, as indices into Program::kernels. The bytes are only read while loading.
struct ExecutableUnit {
  std::vector<uint32_t> kernels;
  ByteView code;
};

struct CodeCounts {
  int64_t native = 0, vm = 0, host = 0, library = 0;
  int64_t total() const { return native + vm + host + library; }
};

class Executable {
 public:
  // Kernels that no unit defines are interpreted. `constants`: in the order of Program::constants, as stored: those
  // that the program wants unpacked are unpacked here, once for all sessions.
  // `max_rounds`: of the loops of one interpreted task, for programs that nobody vouches for.
  static Result<std::shared_ptr<const Executable>> create(std::shared_ptr<Device> device, Program program, std::vector<Tensor> constants,
                                                          std::span<const ExecutableUnit> units, int64_t max_rounds = INT64_MAX);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const Program& program() const { return program_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  const Kernel& kernel(uint32_t index) const { return kernels_[index]; }
  const DeviceKernel& code(uint32_t index) const { return *code_[index]; }
  const Tensor& constant(uint32_t index) const { return constants_[index]; }
  // The variants (profiles) of an entry, in the order in which they are tried; kUnknownName lists what there is.
  Result<std::span<const uint32_t>> variants(std::string_view entry) const;
  std::vector<std::string> entry_names() const;
  // How the steps of an entry run, regions included; "" counts all entries.
  CodeCounts counts(std::string_view entry = {}) const;
  // kRequirement unless every step of the entry is native or a host function that cannot be anything else.
  Status require_native(std::string_view entry = {}) const;

 private:
  Executable() = default;
  Status load(std::span<const ExecutableUnit> units, int64_t max_rounds);

  std::shared_ptr<Device> device_;
  Program program_;
  std::vector<Tensor> constants_;
  std::vector<Kernel> kernels_;
  std::vector<const DeviceKernel*> code_;
  std::vector<std::unique_ptr<DeviceModule>> modules_;
  std::map<std::string, std::vector<uint32_t>, std::less<>> entries_;
};

}  // namespace nnc
