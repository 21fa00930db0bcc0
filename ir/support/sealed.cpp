#include "ir/support/sealed.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ir/support/text.h"

namespace nnc {

Result<FileHandle> sealed_memory_file(ByteView bytes, const std::string& label) {
  auto failed = [](const char* call) { return Error(Code::kIo, cat("anonymous file: ", call, ": ", std::strerror(errno))); };
  FileHandle file(memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return failed("memfd_create");
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("write");
    done += static_cast<size_t>(n);
  }
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return failed("sealing");
  return file;
}

}  // namespace nnc
