#pragma once
// What the file*.cpp share. The calls into the system where faults matter are a table: tests make them fail, be interrupted or come up
// short. Nothing but file*.cpp and their tests includes this.

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/file.h"
#include "ir/support/result.h"

namespace nnc {

struct FileCalls {
  int (*openat)(int folder, const char* name, int flags, unsigned mode);
  int (*openat2)(int folder, const char* name, uint64_t flags, uint64_t resolve);
  ssize_t (*pread)(int fd, void* to, size_t length, int64_t offset);
  ssize_t (*pwrite)(int fd, const void* from, size_t length, int64_t offset);
  int (*fsync)(int fd);
  int (*close)(int fd);
  int (*renameat)(int from_folder, const char* from, int to_folder, const char* to);
};
extern FileCalls file_calls;

// A place with only the file's name and offset.
Place place_in(const std::string& path, int64_t offset = -1);
// An error of the system: `doing` is "cannot open", "cannot write".
Error system_error(std::string_view doing, const std::string& path, int error_number);

// Flags for opening a file of unknown kind: never waits for the other end of a pipe, never makes a terminal ours.
extern const int kReadFlags;
// "a folder", "a pipe": for messages.
const char* kind_of(mode_t mode);
// Consumes the descriptor of a folder.
Result<std::vector<FolderEntry>> list_folder(FileHandle folder, const std::string& path, int64_t max_entries);

// Interrupted calls are repeated.
template <class Call> auto uninterrupted(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace nnc
