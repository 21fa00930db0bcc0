#include "codegen/emu_device/fibre.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the callee-saved registers and the stack pointer, takes the other's. The control words of the floating-point units are the same
// everywhere here.
asm(R"(
  .text
  .hidden nnc_emu_switch
  .globl nnc_emu_switch
  .type nnc_emu_switch, @function
nnc_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size nnc_emu_switch, .-nnc_emu_switch

  .hidden nnc_emu_begin
  .globl nnc_emu_begin
  .type nnc_emu_begin, @function
nnc_emu_begin:
  movq %r12, %rdi
  call *%rbx
  ud2
  .size nnc_emu_begin, .-nnc_emu_begin
)");

extern "C" void nnc_emu_switch(void** save, void* to);
extern "C" void nnc_emu_begin();

namespace nnc::emu {

namespace {
constexpr size_t kStack = 128 << 10;
constexpr size_t kGuard = 4096;
}  // namespace

void Fibre::start(void (*entry)(void*), void* argument) {
  // As nnc_emu_switch leaves a stack: r15, r14, r13, r12, rbx, rbp, return address; aligned so that `begin` calls as the calling convention
  // wants.
  void** top = reinterpret_cast<void**>(stack_ + size_ - 64);
  void** sp = top - 7;
  for (int i = 0; i < 7; ++i) sp[i] = nullptr;
  sp[3] = argument;
  sp[4] = reinterpret_cast<void*>(entry);
  sp[6] = reinterpret_cast<void*>(&nnc_emu_begin);
  here_ = sp;
}

void Fibre::resume() {
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_, size_);
  nnc_emu_switch(&caller_, here_);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
  nnc_emu_switch(&caller_, here_);
#endif
}

void Fibre::leave() { nnc_emu_switch(&here_, caller_); }

FibrePool::~FibrePool() {
  for (auto& f : fibres_) munmap(f->stack_ - kGuard, f->size_ + kGuard);
}

Status FibrePool::reserve(size_t count) {
  while (fibres_.size() < count) {
    void* p = mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) return Error(Code::kOutOfMemory, "no memory for the stacks of the emulated threads");
    mprotect(p, kGuard, PROT_NONE);
    auto f = std::make_unique<Fibre>();
    f->stack_ = static_cast<std::byte*>(p) + kGuard;
    f->size_ = kStack;
    fibres_.push_back(std::move(f));
  }
  return {};
}

}  // namespace nnc::emu
