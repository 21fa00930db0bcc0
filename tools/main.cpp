// The program `nnc`: everything is in the library, so that tests call it in their own process.

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ir/support/check_hook.h"
#include "tools/command.h"
#include "tools/crash.h"
#include "tools/interrupt.h"

namespace {

// We throw nothing, so what arrives here is the library's word that memory or threads ran out: nothing can be made any more, not even a
// message.
void out_of_memory() {
  constexpr char kText[] = "error[NNC-7001]: out of memory\n";
  if (::write(2, kText, sizeof kText - 1) < 0) ::_exit(7);
  ::_exit(7);
}

// A failed check has printed what it found.
constexpr int kInternal = 70;
void internal_error(int) { ::_exit(kInternal); }

// A compilation makes and drops many blocks; giving pages back and faulting them in again took a tenth of its time. What the heap gets at
// first is address space, of which the system gives large pages as they are touched.
void prepare_heap() {
  constexpr int kHeap = 64 << 20, kLargePage = 2 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kHeap / 2);  // the most that there is
  ::mallopt(M_TRIM_THRESHOLD, 16 * kHeap);
  ::mallopt(M_TOP_PAD, kHeap);
  void* volatile first = std::malloc(kLargePage);  // volatile: or compilers leave the pair out
  std::free(first);
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0)) & ~uintptr_t{kLargePage - 1};
  (void)::madvise(reinterpret_cast<void*>(end - kHeap + kLargePage), kHeap - kLargePage, MADV_HUGEPAGE);  // or it stays as it is
}

}  // namespace

int main(int argc, char** argv) {
  prepare_heap();
  std::set_terminate(out_of_memory);
  std::signal(SIGABRT, internal_error);
  nnc::set_check_hook(nnc::tool::report_crash);
  nnc::tool::catch_interrupts();
  const std::vector<std::string> words(argv + 1, argv + argc);
  nnc::tool::Console console(nnc::tool::process_terminal());
  nnc::tool::remember_words(words);
  const int code = nnc::tool::run_tool(words, console);
  if (code == kInternal) nnc::tool::report_crash("an error that is told as internal");
  return code;
}
