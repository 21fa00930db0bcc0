#pragma once
// Reader of `.nnb` files. Structure and meaning are verified whenever a file is opened; the contents behind the hashes too, unless the user
// trusts the file. Native code of a file that nobody trusts is never loaded. Nothing here writes.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/plan.h"
#include "ir/base/tensor.h"
#include "ir/support/bytes.h"
#include "ir/support/hash.h"
#include "runtime/device.h"
#include "runtime/executable.h"

namespace nnc {

enum class ArtifactTrust : uint8_t {
  kList,    // the user's list decides
  kCaller,  // the caller vouches for the file
  kNone,
};
struct ArtifactOptions {
  ArtifactTrust trust = ArtifactTrust::kList;
  bool check_contents = false;  // hashes of all sections and all kernels also where the file is trusted
  int64_t max_bytes = int64_t(1) << 40;
};

class Artifact {
 public:
  static Result<std::shared_ptr<const Artifact>> open(const std::string& path, const ArtifactOptions& options = {});
  // `bytes` live as long as `owner`. They are copied unless they are trusted and aligned to 64.
  static Result<std::shared_ptr<const Artifact>> from_bytes(std::shared_ptr<const void> owner, ByteView bytes,
                                                            const ArtifactOptions& options = {});

  const Digest& digest() const { return digest_; }
  bool trusted() const { return trusted_; }
  const std::string& writer() const { return writer_; }
  const std::vector<std::pair<std::string, std::string>>& properties() const { return properties_; }
  std::string_view graph() const { return graph_; }  // module text, or empty
  int64_t file_bytes() const { return static_cast<int64_t>(bytes_.size()); }
  int64_t weight_bytes() const;
  int64_t table_bytes() const { return table_bytes_; }  // plans, kernel IR, graph, hashes

  // The programs, in the order of the file.
  size_t size() const { return programs_.size(); }
  const Program& program(size_t i) const { return programs_[i].program; }
  int64_t code_bytes(size_t i) const;
  // Constants of a program, in its order; they share the file's bytes.
  std::vector<Tensor> constants(size_t i) const;
  std::vector<ExecutableUnit> units(size_t i) const;

 private:
  struct CodeUnit {
    std::vector<uint32_t> kernels;
    Digest hash;
    ByteView bytes;
  };
  struct Item {
    Program program;
    std::vector<CodeUnit> code;
    std::vector<uint32_t> constants;
  };
  struct Parser;
  Artifact() = default;
  static Result<std::shared_ptr<const Artifact>> parse(std::shared_ptr<const void> owner, ByteView bytes, const ArtifactOptions& options,
                                                       const std::string& path);

  std::shared_ptr<const void> owner_;
  ByteView bytes_;
  int64_t table_bytes_ = 0;
  Digest digest_;
  bool trusted_ = false;
  std::string writer_;
  std::string_view graph_;
  std::vector<std::pair<std::string, std::string>> properties_;
  std::vector<Tensor> constants_;
  std::vector<Digest> constant_hashes_;
  std::vector<Item> programs_;
};

struct LoadOptions {
  std::string target;              // this program and no other; empty: the best that fits
  bool allow_interpreter = false;  // `cpu:vm`, and kernels without native code
  bool require_native = false;
  std::vector<std::string> without_features;  // what the machine is taken not to have
};
// Chooses among the programs for the device and loads it. kIncompatible names the features that are missing, kUntrusted says what to type.
Result<std::shared_ptr<const Executable>> load_executable(const Artifact& artifact, std::shared_ptr<Device> device,
                                                          const LoadOptions& options = {});

}  // namespace nnc
