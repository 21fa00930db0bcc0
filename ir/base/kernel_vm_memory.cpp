// Memory of the interpreter: every access is checked against its buffer, and reads of shared and local memory against what was written.

#include <cstring>

#include "ir/base/frag_layout.h"
#include "ir/base/kernel_rules.h"
#include "ir/base/kernel_vm_code.h"
#include "ir/support/text.h"

namespace nnc::vm {

const Inst* fail(const Inst* i, Thread& t, std::string message) {
  const int64_t* special = t.reg<int64_t>(t.program->special_offset);
  t.error->message = cat("kernel @", t.program->kernel.name, ", task (", special[0], ", ", special[1], ", ", special[2], "), thread ",
                         t.index, ": ", message);
  t.stop = Stop::kError;
  t.pc = i;
  return nullptr;
}

const Inst* out_of_bounds(const Inst* i, Thread& t, uint32_t buffer, int64_t index, int64_t count, const char* what) {
  return fail(i, t,
              cat(what, " of elements [", index, ", ", index, "+", count, ") of buffer '", t.program->buffers[buffer].name, "', which has ",
                  t.memory[buffer].count));
}

bool all_written(const Memory& m, int64_t index, int64_t count) {
  if (m.written == nullptr) return true;
  for (int64_t k = 0; k < count; ++k)
    if (m.written[index + k] != 1) return false;
  return true;
}
const Inst* unwritten(const Inst* i, Thread& t, uint32_t buffer, int64_t index) {
  return fail(i, t,
              cat("read of element ", index, " of buffer '", t.program->buffers[buffer].name,
                  "' before anything was written there (or a copy has landed)"));
}
namespace {

bool inside(const Memory& m, int64_t index, int64_t count) { return index >= 0 && count <= m.count && index <= m.count - count; }

void mark(const Memory& m, int64_t index, int64_t count) {
  if (m.written != nullptr) std::memset(m.written + index, 1, static_cast<size_t>(count));
}

template <size_t Bytes> inline void copy_fixed(std::byte* d, const std::byte* s) { __builtin_memcpy(d, s, Bytes); }
inline void copy_bytes(std::byte* d, const std::byte* s, size_t n) {
  switch (n) {
    case 1: return copy_fixed<1>(d, s);
    case 2: return copy_fixed<2>(d, s);
    case 4: return copy_fixed<4>(d, s);
    case 8: return copy_fixed<8>(d, s);
    case 16: return copy_fixed<16>(d, s);
    case 32: return copy_fixed<32>(d, s);
    case 64: return copy_fixed<64>(d, s);
    default:
      for (; n >= 64; n -= 64, d += 64, s += 64) copy_fixed<64>(d, s);
      if (n != 0) __builtin_memcpy(d, s, n);
  }
}

// Registers: dst value, a index and, if Sum, b what is added to it; aux the buffer.
template <size_t Size, bool Sum, bool One> const Inst* load_plain(const Inst* i, Thread& t) {
  const Memory& m = t.memory[i->aux];
  int64_t index = *t.reg<int64_t>(i->a);
  if (Sum) index = int64_t(uint64_t(index) + uint64_t(*t.reg<int64_t>(i->b)));
  const int64_t n = One ? 1 : i->lanes;
  if (!inside(m, index, n)) return out_of_bounds(i, t, i->aux, index, n, "read");
  if (!all_written(m, index, n)) return unwritten(i, t, i->aux, index);
  if (One)
    copy_fixed<Size>(t.regs + i->dst, m.data + index * int64_t(Size));
  else
    copy_bytes(t.regs + i->dst, m.data + index * int64_t(Size), static_cast<size_t>(n) * Size);
  return i + 1;
}
// How many lanes a mask has on, if these come first; else -1.
inline int lanes_in_front(const uint8_t* mask, int lanes) {
  int on = 0;
  while (on < lanes && mask[on] != 0) ++on;
  for (int k = on; k < lanes; ++k)
    if (mask[k] != 0) return -1;
  return on;
}

// Registers: dst value, a index, b mask (if blocks is 1), c the value of masked-off lanes (imm 1) or zero (imm 0); aux the buffer.
template <size_t Size, bool Gather> const Inst* load_masked(const Inst* i, Thread& t) {
  const Memory& m = t.memory[i->aux];
  const int64_t* index = t.reg<int64_t>(i->a);
  const uint8_t* mask = i->blocks ? t.reg<uint8_t>(i->b) : nullptr;  // blocks: whether there is a mask
  if constexpr (!Gather) {
    // The rest of a row is a run.
    const int on = mask != nullptr ? lanes_in_front(mask, i->lanes) : -1;
    const int64_t from = index[0];
    if (on == 0 || (on > 0 && inside(m, from, on) && all_written(m, from, on))) {
      const size_t bytes = static_cast<size_t>(on) * Size, all = static_cast<size_t>(i->lanes) * Size;
      std::byte* d = t.regs + i->dst;
      if (i->imm)
        std::memmove(d + bytes, t.regs + i->c + bytes, all - bytes);
      else
        std::memset(d + bytes, 0, all - bytes);
      if (on > 0) std::memcpy(d, m.data + from * int64_t(Size), bytes);
      return i + 1;
    }
  }
  alignas(64) std::byte lanes[64 * Size];
  for (int k = 0; k < i->lanes; ++k) {
    std::byte* d = lanes + size_t(k) * Size;
    if (mask != nullptr && mask[k] == 0) {
      if (i->imm)
        copy_fixed<Size>(d, t.regs + i->c + size_t(k) * Size);
      else
        std::memset(d, 0, Size);
      continue;
    }
    int64_t at = Gather ? index[k] : 0;
    if (!Gather && __builtin_add_overflow(index[0], int64_t(k), &at)) return out_of_bounds(i, t, i->aux, index[0], i->lanes, "read");
    if (!inside(m, at, 1)) return out_of_bounds(i, t, i->aux, at, 1, "read");
    if (!all_written(m, at, 1)) return unwritten(i, t, i->aux, at);
    copy_fixed<Size>(d, m.data + at * int64_t(Size));
  }
  copy_bytes(t.regs + i->dst, lanes, size_t(i->lanes) * Size);
  return i + 1;
}
// Registers: dst index, a value, b what is added to the index if Sum.
template <size_t Size, bool Sum, bool One> const Inst* store_plain(const Inst* i, Thread& t) {
  const Memory& m = t.memory[i->aux];
  int64_t index = *t.reg<int64_t>(i->dst);
  if (Sum) index = int64_t(uint64_t(index) + uint64_t(*t.reg<int64_t>(i->b)));
  const int64_t n = One ? 1 : i->lanes;
  if (!inside(m, index, n)) return out_of_bounds(i, t, i->aux, index, n, "write");
  mark(m, index, n);
  if (One)
    copy_fixed<Size>(m.data + index * int64_t(Size), t.regs + i->a);
  else
    copy_bytes(m.data + index * int64_t(Size), t.regs + i->a, static_cast<size_t>(n) * Size);
  return i + 1;
}
// Registers: dst index, a value, b mask (if blocks is 1).
template <size_t Size, bool Scatter> const Inst* store_masked(const Inst* i, Thread& t) {
  const Memory& m = t.memory[i->aux];
  const int64_t* index = t.reg<int64_t>(i->dst);
  const uint8_t* mask = i->blocks ? t.reg<uint8_t>(i->b) : nullptr;
  if constexpr (!Scatter) {
    const int on = mask != nullptr ? lanes_in_front(mask, i->lanes) : -1;
    if (on == 0) return i + 1;
    if (on > 0 && inside(m, index[0], on)) {
      mark(m, index[0], on);
      std::memcpy(m.data + index[0] * int64_t(Size), t.regs + i->a, static_cast<size_t>(on) * Size);
      return i + 1;
    }
  }
  for (int k = 0; k < i->lanes; ++k) {
    if (mask != nullptr && mask[k] == 0) continue;
    int64_t at = Scatter ? index[k] : 0;
    if (!Scatter && __builtin_add_overflow(index[0], int64_t(k), &at)) return out_of_bounds(i, t, i->aux, index[0], i->lanes, "write");
    if (!inside(m, at, 1)) return out_of_bounds(i, t, i->aux, at, 1, "write");
    mark(m, at, 1);
    copy_fixed<Size>(m.data + at * int64_t(Size), t.regs + i->a + size_t(k) * Size);
  }
  return i + 1;
}

template <size_t Size> Handler loads(Access form, int lanes) {
  switch (form) {
    case Access::kPlain: return lanes == 1 ? load_plain<Size, false, true> : load_plain<Size, false, false>;
    case Access::kSum: return lanes == 1 ? load_plain<Size, true, true> : load_plain<Size, true, false>;
    case Access::kMasked: return load_masked<Size, false>;
    case Access::kScattered: break;
  }
  return load_masked<Size, true>;
}
template <size_t Size> Handler stores(Access form, int lanes) {
  switch (form) {
    case Access::kPlain: return lanes == 1 ? store_plain<Size, false, true> : store_plain<Size, false, false>;
    case Access::kSum: return lanes == 1 ? store_plain<Size, true, true> : store_plain<Size, true, false>;
    case Access::kMasked: return store_masked<Size, false>;
    case Access::kScattered: break;
  }
  return store_masked<Size, true>;
}

template <class T> T combine(AtomicOp op, T old, T v) {
  switch (op) {
    case AtomicOp::kAdd:
      if constexpr (std::is_floating_point_v<T>)
        return old + v;
      else
        return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(v));
    case AtomicOp::kMin: return v < old ? v : old;
    case AtomicOp::kMax: return v > old ? v : old;
    case AtomicOp::kOr:
      if constexpr (!std::is_floating_point_v<T>) return T(old | v);
      return old;
    case AtomicOp::kCas: return old;
  }
  return old;
}
// Registers: dst old value, a index, b value (cas: what is compared), c new value of cas; imm the operation.
template <class T> const Inst* atomic(const Inst* i, Thread& t) {
  const Memory& m = t.memory[i->aux];
  const int64_t index = *t.reg<int64_t>(i->a);
  if (!inside(m, index, 1)) return out_of_bounds(i, t, i->aux, index, 1, "atomic access");
  if (!all_written(m, index, 1)) return unwritten(i, t, i->aux, index);
  T old;
  std::byte* p = m.data + index * int64_t(sizeof(T));
  std::memcpy(&old, p, sizeof old);
  const auto op = static_cast<AtomicOp>(i->imm);
  const T v = *t.reg<T>(i->b);
  T fresh = combine(op, old, v);
  if (op == AtomicOp::kCas && std::memcmp(&old, &v, sizeof v) == 0) fresh = *t.reg<T>(i->c);
  std::memcpy(p, &fresh, sizeof fresh);
  *t.reg<T>(i->dst) = old;
  return i + 1;
}

}  // namespace

Handler load_handler(int elem_bytes, int lanes, Access form) {
  switch (elem_bytes) {
    case 1: return loads<1>(form, lanes);
    case 2: return loads<2>(form, lanes);
    case 4: return loads<4>(form, lanes);
    default: return loads<8>(form, lanes);
  }
}
Handler store_handler(int elem_bytes, int lanes, Access form) {
  switch (elem_bytes) {
    case 1: return stores<1>(form, lanes);
    case 2: return stores<2>(form, lanes);
    case 4: return stores<4>(form, lanes);
    default: return stores<8>(form, lanes);
  }
}
Handler atomic_handler(AtomicOp, Lane t) {
  switch (t) {
    case Lane::kI8: return atomic<int8_t>;
    case Lane::kI16: return atomic<int16_t>;
    case Lane::kI32: return atomic<int32_t>;
    case Lane::kI64: return atomic<int64_t>;
    case Lane::kU8: return atomic<uint8_t>;
    case Lane::kU16: return atomic<uint16_t>;
    case Lane::kU32: return atomic<uint32_t>;
    case Lane::kU64: return atomic<uint64_t>;
    case Lane::kF32: return atomic<float>;
    case Lane::kF64: return atomic<double>;
    default: return nullptr;
  }
}

// Registers: dst clamped index, a index, b bound (one lane); aux the site.
const Inst* do_check(const Inst* i, Thread& t) {
  const int64_t *a = t.reg<int64_t>(i->a), bound = *t.reg<int64_t>(i->b);
  int64_t* d = t.reg<int64_t>(i->dst);
  for (int k = 0; k < i->lanes; ++k) {
    const int64_t v = a[k];
    const bool ok = v >= 0 && v < bound;
    if (!ok && t.failure != nullptr && !t.failure->set) *t.failure = {true, i->aux, v, bound};
    d[k] = ok ? v : bound <= 0 || v < 0 ? 0 : bound - 1;
  }
  return i + 1;
}

const Inst* do_alloc(const Inst* i, Thread& t) {
  const Memory& m = t.memory[i->aux];
  if (m.written != nullptr) std::memset(m.written, 0, static_cast<size_t>(m.count));
  return i + 1;
}

// Registers: dst shared index, a global index, b mask if lanes is 2; aux shared buffer, blocks global buffer, imm bytes. The destination is
// unreadable until a wait lands the copy; a masked-off copy lands zeros and reads nothing.
const Inst* do_copy_async(const Inst* i, Thread& t) {
  const uint32_t shared = i->aux, global = i->blocks;
  const Memory &s = t.memory[shared], &g = t.memory[global];
  const int64_t at = *t.reg<int64_t>(i->dst), from = *t.reg<int64_t>(i->a), n = i->imm / t.program->buffers[shared].elem_bytes;
  const bool off = i->lanes == 2 && *t.reg<uint8_t>(i->b) == 0;
  if (!inside(s, at, n)) return out_of_bounds(i, t, shared, at, n, "asynchronous write");
  if (!off && !inside(g, from, n)) return out_of_bounds(i, t, global, from, n, "asynchronous read");
  const auto misaligned = [&](const Memory& m, int64_t index) {
    return (reinterpret_cast<uintptr_t>(m.data) + uint64_t(index * t.program->buffers[shared].elem_bytes)) % uint64_t(i->imm) != 0;
  };
  if (misaligned(s, at) || (!off && misaligned(g, from)))
    return fail(i, t, cat("asynchronous copy of ", i->imm, " bytes that is not aligned to them"));
  if (s.written != nullptr) std::memset(s.written + at, 2, static_cast<size_t>(n));
  t.copies.push_back({shared, global, at, from, i->imm, t.copy_group, off});
  return i + 1;
}
const Inst* do_copy_commit(const Inst* i, Thread& t) {
  ++t.copy_group;
  return i + 1;
}
const Inst* do_copy_wait(const Inst* i, Thread& t) {
  size_t kept = 0;
  for (const PendingCopy& c : t.copies) {
    if (c.group >= t.copy_group - i->imm) {
      t.copies[kept++] = c;
      continue;
    }
    const Memory &s = t.memory[c.shared], &g = t.memory[c.global];
    const int64_t size = t.program->buffers[c.shared].elem_bytes;
    if (c.masked_off)
      std::memset(s.data + c.at * size, 0, static_cast<size_t>(c.bytes));
    else
      std::memcpy(s.data + c.at * size, g.data + c.from * size, static_cast<size_t>(c.bytes));
    mark(s, c.at, c.bytes / size);
  }
  t.copies.resize(kept);
  return i + 1;
}

namespace {
// Where element `e` of this lane lies; imm: 1 transposed. Registers: a index, b leading dimension.
int64_t frag_index(const Inst* i, Thread& t, const FragShape& shape, int e) {
  const int64_t base = *t.reg<int64_t>(i->a), ld = *t.reg<int64_t>(i->b);
  const FragPlace p = frag_place(shape, t.index % 32, e);
  const int64_t outer = i->imm ? p.col : p.row, inner = i->imm ? p.row : p.col;
  return int64_t(uint64_t(base) + uint64_t(outer) * uint64_t(ld) + uint64_t(inner));
}
}  // namespace

// dst the fragment; c packs the fragment's variable.
const Inst* do_frag_load(const Inst* i, Thread& t) {
  const FragShape& shape = t.program->kernel.vars[VarId(i->c)].type.frag;
  const Memory& m = t.memory[i->aux];
  const int64_t size = t.program->buffers[i->aux].elem_bytes;
  for (int e = 0; e < frag_elements(shape); ++e) {
    const int64_t at = frag_index(i, t, shape, e);
    if (!inside(m, at, 1)) return out_of_bounds(i, t, i->aux, at, 1, "fragment read");
    if (!all_written(m, at, 1)) return unwritten(i, t, i->aux, at);
    std::memcpy(t.regs + i->dst + e * size, m.data + at * size, static_cast<size_t>(size));
  }
  return i + 1;
}
const Inst* do_frag_store(const Inst* i, Thread& t) {
  const FragShape& shape = t.program->kernel.vars[VarId(i->c)].type.frag;
  const Memory& m = t.memory[i->aux];
  const int64_t size = t.program->buffers[i->aux].elem_bytes;
  for (int e = 0; e < frag_elements(shape); ++e) {
    const int64_t at = frag_index(i, t, shape, e);
    if (!inside(m, at, 1)) return out_of_bounds(i, t, i->aux, at, 1, "fragment write");
    mark(m, at, 1);
    std::memcpy(m.data + at * size, t.regs + i->dst + e * size, static_cast<size_t>(size));
  }
  return i + 1;
}

}  // namespace nnc::vm
