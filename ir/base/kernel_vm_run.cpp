// Runs tasks: threads go one after another to their next meeting point (barrier, warp operation, mma), in thread order, so every run is the
// same.

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/base/frag_layout.h"
#include "ir/base/kernel_rules.h"
#include "ir/base/kernel_vm_code.h"
#include "ir/support/checked.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

// `values`: of all symbols, derived ones too.
Result<std::array<int64_t, 3>> extents_for(const Kernel& k, std::span<const int64_t> values) {
  std::array<int64_t, 3> extents{};
  CheckedSize total = 1;
  for (size_t i = 0; i < 3; ++i) {
    NNC_ASSIGN(extents[i], k.symbols.eval(k.grid[i], values));
    if (extents[i] < 0) return Error(Code::kInvalidIr, cat("kernel @", k.name, ": grid extent ", extents[i], " is negative"));
    total *= CheckedSize(extents[i]);
  }
  NNC_TRY(total.value("tasks of the grid"));
  return extents;
}

}  // namespace

Result<std::array<int64_t, 3>> grid_extents(const Kernel& k, std::span<const int64_t> dims) {
  NNC_ASSIGN(const std::vector<int64_t> values, complete_dims(k, dims));
  return extents_for(k, values);
}

namespace vm {
namespace {

constexpr int kWarp = 32;

// What a run needs besides the buffers; kept per OS thread, so that runs after the first allocate nothing.
struct Arena {
  std::vector<std::byte> bytes;
  std::vector<Memory> memory;
  std::vector<Thread> threads;
  std::vector<int64_t> values;  // of the kernel's symbols
  std::vector<uint8_t> known;
};
Arena& arena() {
  thread_local Arena a;
  return a;
}

size_t round64(size_t n) { return (n + 63) / 64 * 64; }

// ---- warp operations

struct Warp {
  Thread* lanes;
  int count;
};

void shuffle_lanes(const Inst* i, const Warp& w) {
  alignas(64) static thread_local std::byte values[kWarp][512];
  const size_t bytes = i->blocks;
  for (int k = 0; k < w.count; ++k) std::memcpy(values[k], w.lanes[k].regs + i->a, bytes);
  for (int k = 0; k < w.count; ++k) {
    const int64_t by = *w.lanes[k].reg<int64_t>(i->b);
    int64_t from = k;
    switch (static_cast<WarpOp>(i->imm)) {
      case WarpOp::kShflXor: from = k ^ (by & (kWarp - 1)); break;
      case WarpOp::kShflUp: from = by >= 0 && by <= k ? k - by : k; break;
      case WarpOp::kShflDown: from = by >= 0 && by < kWarp ? k + by : k; break;
      default: from = by & (kWarp - 1); break;
    }
    // A lane that does not exist gives the own value.
    std::memcpy(w.lanes[k].regs + i->dst, values[from < w.count ? from : k], bytes);
  }
}

void vote_lanes(const Inst* i, const Warp& w) {
  uint32_t votes = 0;
  for (int k = 0; k < w.count; ++k) votes |= uint32_t(*w.lanes[k].reg<uint8_t>(i->a) != 0) << k;
  const uint32_t all = w.count == kWarp ? ~uint32_t(0) : (uint32_t(1) << w.count) - 1;
  for (int k = 0; k < w.count; ++k) {
    switch (static_cast<WarpOp>(i->imm)) {
      case WarpOp::kBallot: *w.lanes[k].reg<uint32_t>(i->dst) = votes; break;
      case WarpOp::kAny: *w.lanes[k].reg<uint8_t>(i->dst) = votes != 0; break;
      default: *w.lanes[k].reg<uint8_t>(i->dst) = votes == all; break;
    }
  }
}

float frag_value(DType t, const std::byte* p) {
  uint32_t bits = 0;
  std::memcpy(&bits, p, t == DType::kF32 ? 4 : 2);
  if (t == DType::kF16) return f16_to_f32(static_cast<uint16_t>(bits));
  if (t == DType::kBF16) return bf16_to_f32(static_cast<uint16_t>(bits));
  bits = tf32_bits(bits);
  float v;
  std::memcpy(&v, &bits, 4);
  return v;
}

// The tile that a fragment spread over the lanes stands for.
template <class T, class Read> void gather_tile(const Warp& w, uint32_t offset, const KType& type, T* tile, int cols, Read&& read) {
  const int size = dtype_bits(type.elem) / 8;
  for (int lane = 0; lane < kWarp; ++lane)
    for (int e = 0; e < frag_elements(type.frag); ++e) {
      const FragPlace p = frag_place(type.frag, lane, e);
      tile[p.row * cols + p.col] = read(w.lanes[lane].regs + offset + e * size);
    }
}
template <class T> void scatter_tile(const Warp& w, uint32_t offset, const KType& type, const T* tile) {
  for (int lane = 0; lane < kWarp; ++lane)
    for (int e = 0; e < frag_elements(type.frag); ++e) {
      const FragPlace p = frag_place(type.frag, lane, e);
      std::memcpy(w.lanes[lane].regs + offset + e * 4, &tile[p.row * 8 + p.col], 4);
    }
}
template <class T> T read_as(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// The order of an mma, here and on the emulated device: from k = 0 upwards, one rounding a step.
void mma(const Program& p, const Inst* i, const Warp& w) {
  const Stmt& s = p.kernel.stmts[StmtId(static_cast<uint32_t>(i->imm))];
  const KType &tc = p.kernel.vars[s.var].type, &ta = p.kernel.vars[s.f0].type, &tb = p.kernel.vars[s.f1].type;
  const int depth = ta.frag.k;
  if (tc.elem == DType::kI32) {
    int32_t a[16 * 32], b[32 * 8], c[16 * 8];
    const auto whole = [](DType t) {
      return [t](const std::byte* x) { return t == DType::kU8 ? int32_t(read_as<uint8_t>(x)) : int32_t(read_as<int8_t>(x)); };
    };
    gather_tile(w, i->a, ta, a, depth, whole(ta.elem));
    gather_tile(w, i->b, tb, b, 8, whole(tb.elem));
    gather_tile(w, i->dst, tc, c, 8, read_as<int32_t>);
    for (int r = 0; r < 16; ++r)
      for (int n = 0; n < 8; ++n)
        for (int k = 0; k < depth; ++k) c[r * 8 + n] = int32_t(uint32_t(c[r * 8 + n]) + uint32_t(a[r * depth + k] * b[k * 8 + n]));
    return scatter_tile(w, i->dst, tc, c);
  }
  float a[16 * 16], b[16 * 8], c[16 * 8];
  gather_tile(w, i->a, ta, a, depth, [&](const std::byte* x) { return frag_value(ta.elem, x); });
  gather_tile(w, i->b, tb, b, 8, [&](const std::byte* x) { return frag_value(tb.elem, x); });
  gather_tile(w, i->dst, tc, c, 8, read_as<float>);
  for (int r = 0; r < 16; ++r)
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < depth; ++k) c[r * 8 + n] = std::fma(a[r * depth + k], b[k * 8 + n], c[r * 8 + n]);
  scatter_tile(w, i->dst, tc, c);
}

// ---- scheduling

enum SyncKind : uint32_t { kBlockBarrier = 0, kWarpBarrier = 1, kWarpOp = 2, kMma = 3 };

void run_thread(Thread& t) {
  const Inst* pc = t.pc;
  while (pc != nullptr) pc = pc->fn(pc, t);
}

// All lanes to the block's next barrier or to the end. False: an error is set.
bool run_warp(const Program& p, const Warp& w) {
  for (;;) {
    for (int k = 0; k < w.count; ++k) {
      run_thread(w.lanes[k]);
      if (w.lanes[k].stop == Stop::kError) return false;
    }
    const Thread& first = w.lanes[0];
    for (int k = 1; k < w.count; ++k)
      if (w.lanes[k].stop != first.stop || (first.stop == Stop::kSync && w.lanes[k].pc != first.pc)) {
        fail(first.pc, w.lanes[k], "threads of one warp wait at different places");
        return false;
      }
    if (first.stop == Stop::kDone || first.pc->aux == kBlockBarrier) return true;
    const Inst* i = first.pc;
    if (i->aux == kWarpOp && static_cast<WarpOp>(i->imm) <= WarpOp::kShflIdx)
      shuffle_lanes(i, w);
    else if (i->aux == kWarpOp)
      vote_lanes(i, w);
    else if (i->aux == kMma)
      mma(p, i, w);
    for (int k = 0; k < w.count; ++k) w.lanes[k].pc = i + 1;
  }
}

bool run_task(const Program& p, std::span<Thread> threads) {
  for (Thread& t : threads) {
    t.pc = p.code.data();
    t.copies.clear();
    t.copy_group = 0;
  }
  for (;;) {
    for (size_t first = 0; first < threads.size(); first += kWarp)
      if (!run_warp(p, {&threads[first], static_cast<int>(std::min<size_t>(kWarp, threads.size() - first))})) return false;
    const Thread& lead = threads[0];
    for (Thread& t : threads)
      if (t.stop != lead.stop || (lead.stop == Stop::kSync && t.pc != lead.pc)) {
        fail(lead.pc, t, "threads of one block wait at different barriers, or some have ended");
        return false;
      }
    if (lead.stop == Stop::kDone) return true;
    for (Thread& t : threads) t.pc = t.pc + 1;
  }
}

Status bind_buffers(const Program& p, std::span<const VmBuffer> params, Arena& a, std::byte* at) {
  a.memory.resize(p.buffers.size());
  for (size_t b = 0; b < p.buffers.size(); ++b) {
    const BufferInfo& info = p.buffers[b];
    if (b < params.size()) {
      if (params[b].bytes < 0 || (params[b].data == nullptr && params[b].bytes != 0))
        return Error(Code::kInternal, "kernel launched with a buffer of no address");
      a.memory[b] = {static_cast<std::byte*>(params[b].data), params[b].bytes / info.elem_bytes, nullptr};
      continue;
    }
    a.memory[b].data = at;
    a.memory[b].count = info.count;
    at += round64(static_cast<size_t>(info.count * info.elem_bytes));
    a.memory[b].written = reinterpret_cast<uint8_t*>(at);
    at += round64(static_cast<size_t>(info.count));
  }
  return {};
}

size_t scratch_bytes(const Program& p) {
  size_t n = 0;
  for (size_t b = p.kernel.param_count; b < p.buffers.size(); ++b)
    n += round64(static_cast<size_t>(p.buffers[b].count * p.buffers[b].elem_bytes)) + round64(static_cast<size_t>(p.buffers[b].count));
  return n;
}

}  // namespace

Status run_tasks(const Program& p, std::span<const VmBuffer> params, std::span<const int64_t> dims, int64_t begin, int64_t end,
                 CheckFailure* failure) {
  const Kernel& k = p.kernel;
  if (params.size() != k.param_count)
    return Error(Code::kInternal, cat("kernel @", k.name, " takes ", k.param_count, " buffers, not ", params.size()));
  if (dims.size() != k.symbols.size())
    return Error(Code::kInternal, cat("kernel @", k.name, " has ", k.symbols.size(), " symbols, ", dims.size(), " values given"));
  Arena& a = arena();
  a.values.assign(dims.begin(), dims.end());
  a.known.resize(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) a.known[i] = k.symbols[SymbolId(i)].kind != SymKind::kDerived;
  NNC_TRY(k.symbols.derive(a.values, a.known));
  NNC_ASSIGN(const auto extents, extents_for(k, a.values));
  if (begin < 0 || end > extents[0] * extents[1] * extents[2] || begin > end)
    return Error(Code::kInternal, cat("kernel @", k.name, ": tasks outside the grid"));
  if (begin == end) return {};

  const size_t frame = round64(p.frame_bytes), scratch = scratch_bytes(p), count = static_cast<size_t>(k.threads);
  a.bytes.resize(std::max(a.bytes.size(), frame * count + scratch + 64));
  std::byte* base = a.bytes.data() + (64 - reinterpret_cast<uintptr_t>(a.bytes.data()) % 64) % 64;
  NNC_TRY(bind_buffers(p, params, a, base + frame * count));
  if (a.threads.size() < count) a.threads.resize(count);
  Failure error;
  for (size_t n = 0; n < count; ++n) {
    Thread& t = a.threads[n];
    t.regs = base + n * frame;
    t.code = p.code.data();
    t.memory = a.memory.data();
    t.program = &p;
    t.failure = failure;
    t.error = &error;
    t.fuel = p.fuel;
    t.index = static_cast<int>(n);
    for (const Constant& c : p.constants) std::memcpy(t.regs + c.offset, c.bytes.data(), c.bytes.size());
    int64_t* special = t.reg<int64_t>(p.special_offset);
    special[3] = t.index;
    special[4] = t.index % kWarp;
    std::copy(a.values.begin(), a.values.end(), special + 5);
  }
  for (int64_t task = begin; task < end; ++task) {
    if (--a.threads[0].fuel < 0) return Error(Code::kLimit, cat("kernel @", k.name, " runs more tasks and loop rounds than allowed"));
    for (size_t n = 0; n < count; ++n) {
      int64_t* special = a.threads[n].reg<int64_t>(p.special_offset);
      special[0] = task % extents[0];
      special[1] = task / extents[0] % extents[1];
      special[2] = task / extents[0] / extents[1];
    }
    for (size_t b = k.param_count; b < p.buffers.size(); ++b) std::memset(a.memory[b].written, 0, static_cast<size_t>(a.memory[b].count));
    if (!run_task(p, {a.threads.data(), count})) return Error(Code::kInvalidIr, error.message);
  }
  return {};
}

}  // namespace vm
}  // namespace nnc
