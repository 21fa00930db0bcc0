#pragma once
// A line of C++ that asked for something: taken by default arguments, so that messages can name the caller's line. Like
// std::source_location, which Clang 14 cannot compile from GCC's library.

namespace nnc {

struct Where {
  const char* file = "";
  int line = 0;

  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace nnc
