#pragma once
// From kernel IR to C-like text. One writer walks kernels; a Dialect says how a target spells types, kernel heads, memory and thread
// statements, and defines the helper functions that the text asks for by name
// (`fma_f32x16`): a unit holds exactly the helpers that its kernels use. Text never contains a byte of the model: identifiers are prefix
// and counter, floats are bit patterns.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "ir/base/kernel.h"
#include "ir/support/text.h"

namespace nnc {

// Lines with indentation; nothing else makes source text.
class SourceWriter {
 public:
  void line(std::string_view text);
  void open(std::string_view head);  // head + " {"
  void close(std::string_view tail = "}");
  void middle(std::string_view text);  // "} else {"
  void blank() { text_ += '\n'; }
  void raw(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0;
};

// A helper function: primitive, operand type and, for casts, the source type.
struct HelperKey {
  std::string name;  // the function's name, unique for what it does
  ExprOp op = ExprOp::kCount;
  KType type, from;
  KType other;                   // mma: the second factor
  std::vector<uint8_t> pattern;  // shuffles; copies: bytes, or groups left pending; fragment loads: transposed; loads and stores: lanes of
                                 // one access, where they are fewer
  enum What : uint8_t { kOp, kLoad, kLoadMasked, kStore, kStoreMasked, kCheck, kAtomic, kWarp, kFragment, kCopy, kLanes } what = kOp;
  uint8_t sub = 0;  // kLanes: 1 from a lane on, 0 below it; AtomicOp, WarpOp, FragOp; for loads and stores: 1 streaming
  bool operator<(const HelperKey& o) const { return name < o.name; }
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string type_name(const KType& t) const = 0;
  // Before everything: typedefs of the types in use, in a fixed order.
  virtual void prelude(SourceWriter& w, const std::set<KType>& types, bool index64) const = 0;
  virtual void define(SourceWriter& w, const HelperKey& h) const = 0;
  // Opens the kernel's function and declares parameters, dims and task numbers; `close_kernel` ends it.
  virtual void open_kernel(SourceWriter& w, const Kernel& k, const std::string& symbol) const = 0;
  virtual void close_kernel(SourceWriter& w, const Kernel& k) const = 0;
  virtual std::string alloc(const Kernel& k, const KBuffer& b, const std::string& name) const = 0;
  virtual std::string barrier(Scope s) const = 0;
  virtual std::string prefetch(const std::string& buffer, const std::string& index) const {
    return cat("__builtin_prefetch(&", buffer, "[", index, "]);");
  }
  // How many lanes of a load or store of neighbours one access may take: all, or fewer where the target wants alignment that is not proved.
  virtual int access_lanes(const Kernel&, const Stmt&, const KType& t) const { return t.lanes; }
  virtual std::string unroll() const { return {}; }  // line before a loop that the tree wants unrolled
  virtual std::string thread_name() const { return "0"; }
  // Comparisons of lane numbers with a scalar are called by number: `lanes_below(n)`, helpers kLanes.
  virtual bool counts_lanes() const { return false; }
  virtual bool operators_on(const KType& t) const = 0;  // `a + b` works on this type as kernel IR means it
};

struct EmitOptions {
  bool notes = true;
};

class UnitEmitter {
 public:
  UnitEmitter(const Dialect& dialect, EmitOptions options = {}) : d_(dialect), options_(options) {}
  void add(const Kernel& k, const std::string& symbol);
  std::string finish();

  // For dialects: how names in kernels are spelled.
  static std::string var_name(const Kernel& k, VarId v);
  static std::string buffer_name(const Kernel& k, BufId b);

 private:
  std::string expr(const Kernel& k, ExprId e);
  struct LaneSum {
    int iotas = 0;
    std::vector<std::string> scalars;
  };
  bool lane_sum(const Kernel& k, ExprId e, LaneSum* out);
  std::optional<std::string> lane_compare(const Kernel& k, const ExprNode& e);
  std::string call(const Kernel& k, HelperKey key, const std::vector<std::string>& args);
  void statements(SourceWriter& w, const Kernel& k, const Block& b);
  void statement(SourceWriter& w, const Kernel& k, const Stmt& s);
  void memory(SourceWriter& w, const Kernel& k, const Stmt& s);
  void threads(SourceWriter& w, const Kernel& k, const Stmt& s);
  std::string type(const KType& t);
  const Dialect& d_;
  EmitOptions options_;
  std::set<KType> types_;
  std::set<HelperKey> helpers_;
  std::vector<std::string> bodies_;
  std::map<VarId, ExprId> lane_names_;  // of the kernel at hand: names of vectors of indices
  bool index64_ = false;
};

// A dim over the kernel's symbols as C: idx(12) * d0 * d1 + idx(3).
std::string dim_text(const Dim& d);

// C++ for the host compiler, one unit; every symbol has the signature KernelFn (ir/base/abi.h).
std::string emit_cpu_unit(const std::vector<std::pair<const Kernel*, std::string>>& kernels, const Target& target);

// The same kernels as CUDA C++. `emulate`: the text that the emulator compiles, equal but for the header before the kernels and an entry
// after each. The device's header (codegen/cuda) is part of the text unless `header` is off, which is for people to read.
struct CudaEmitOptions {
  bool emulate = false;
  bool header = true;
};
std::string emit_cuda_unit(const std::vector<std::pair<const Kernel*, std::string>>& kernels, const Target& target,
                           const CudaEmitOptions& options = {});

}  // namespace nnc
