#pragma once
// Bytes as an anonymous file that nobody can change any more: how native code reaches the dynamic loader without a path on disk.

#include <string>

#include "ir/support/bytes.h"
#include "ir/support/file.h"

namespace nnc {

// `label` shows in /proc/PID/maps and says nothing else.
Result<FileHandle> sealed_memory_file(ByteView bytes, const std::string& label);

}  // namespace nnc
