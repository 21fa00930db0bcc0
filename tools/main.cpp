// The program `nnc`: everything is in the library, so that tests call it in their own process.

#include <csignal>
#include <exception>
#include <string>
#include <vector>

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

}  // namespace

int main(int argc, char** argv) {
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
