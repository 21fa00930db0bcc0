#pragma once
// The one way to run another program: no shell, an absolute program, an argument list, an environment made here, limits on the child and
// on how long it may take. For compilers and their like: input is given before, output is collected. No pseudo terminals, no pipelines,
// nothing in the background.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc {

struct SpawnRequest {
  std::string program;                 // absolute path; the PATH of the environment has no say
  std::vector<std::string> arguments;  // without the program's name
  // All that the child's environment holds, as NAME=value; nothing is inherited. Empty: `spawn_environment()`.
  std::vector<std::string> environment;
  std::string folder = "/";      // where the child starts; absolute
  ByteView input;                // the child's standard input
  int64_t max_output = 4 << 20;  // bytes kept of each output; the rest is read and dropped
  int64_t timeout_ms = 120'000;  // then the child and what it started are killed
  // Limits on the child; 0: none.
  int64_t cpu_seconds = 120;
  int64_t memory_bytes = int64_t{8} << 30;  // address space
  int64_t file_bytes = int64_t{4} << 30;    // of one file that it writes
};

struct SpawnOutcome {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string out, err;  // bytes, not text
  bool out_cut = false, err_cut = false;
  bool ok() const { return exit_code == 0; }
  // "ended with exit code 1", "took too long and was killed", "was ended by signal 11 (Segmentation fault)".
  std::string describe() const;
};

// The fixed environment: a C locale, a PATH of /usr/bin and /bin, and TMPDIR when `temp_folder` is not empty.
std::vector<std::string> spawn_environment(const std::string& temp_folder = {});

// Runs the program to its end. An error (kIo, kOutOfMemory) when it could not be started; a program that failed is an outcome. The child
// has no descriptor of ours but 0, 1 and 2, default signal handling, a session of its own, no core dumps and no new privileges; when it
// ends, what it started and left in its session is killed. May be called from several threads at once.
Result<SpawnOutcome> spawn(const SpawnRequest& request);

}  // namespace nnc
