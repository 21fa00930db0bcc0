// Control flow, moves and the meeting points of threads.

#include <cstring>

#include "ir/base/kernel_vm_code.h"
#include "ir/support/text.h"

namespace nnc::vm {

const Inst* do_move(const Inst* i, Thread& t) {
  std::memmove(t.regs + i->dst, t.regs + i->a, size_t(i->blocks) * 64);
  return i + 1;
}
const Inst* do_move8(const Inst* i, Thread& t) {
  std::memcpy(t.regs + i->dst, t.regs + i->a, 8);
  return i + 1;
}
const Inst* do_clear(const Inst* i, Thread& t) {
  std::memset(t.regs + i->dst, 0, size_t(i->blocks) * 64);
  return i + 1;
}
// imm: byte offset of the element in the fragment; blocks: its size.
const Inst* do_frag_get(const Inst* i, Thread& t) {
  std::memcpy(t.regs + i->dst, t.regs + i->a + i->imm, i->blocks);
  return i + 1;
}
const Inst* do_frag_set(const Inst* i, Thread& t) {
  std::memcpy(t.regs + i->dst + i->imm, t.regs + i->a, i->blocks);
  return i + 1;
}

// dst the variable, b its end (evaluated), aux where to go when there is no round left.
const Inst* do_for_begin(const Inst* i, Thread& t) { return *t.reg<int64_t>(i->dst) < *t.reg<int64_t>(i->b) ? i + 1 : t.code + i->aux; }
namespace {
const Inst* out_of_fuel(const Inst* i, Thread& t) { return fail(i, t, "more loop rounds than allowed"); }
}  // namespace
const Inst* do_for_next(const Inst* i, Thread& t) {
  int64_t& v = *t.reg<int64_t>(i->dst);
  if (__builtin_add_overflow(v, i->imm, &v) || v >= *t.reg<int64_t>(i->b)) return i + 1;
  if (--t.fuel < 0) return out_of_fuel(i, t);
  return t.code + i->aux;
}
const Inst* do_jump(const Inst* i, Thread& t) { return t.code + i->aux; }
const Inst* do_while_next(const Inst* i, Thread& t) {
  if (--t.fuel < 0) return out_of_fuel(i, t);
  return t.code + i->aux;
}
const Inst* do_branch_false(const Inst* i, Thread& t) { return *t.reg<uint8_t>(i->a) ? i + 1 : t.code + i->aux; }
const Inst* do_end(const Inst*, Thread& t) {
  t.stop = Stop::kDone;
  return nullptr;
}
const Inst* do_sync(const Inst* i, Thread& t) {
  t.pc = i;
  t.stop = Stop::kSync;
  return nullptr;
}

}  // namespace nnc::vm
