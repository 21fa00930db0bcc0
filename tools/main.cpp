// The program `nnc`: everything is in the library, so that tests call it in their own process.

#include <string>
#include <vector>

#include "tools/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  nnc::tool::Console console(nnc::tool::process_terminal());
  return nnc::tool::run_tool(words, console);
}
