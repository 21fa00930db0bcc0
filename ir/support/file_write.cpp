#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "ir/support/checked.h"
#include "ir/support/file.h"
#include "ir/support/file_internal.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr size_t kBuffered = size_t{1} << 18;

// Names of temporary files differ within the process; those that a killed process left are skipped.
std::string temporary_name() {
  static std::atomic<uint64_t> counter{0};
  return cat(".nnc-", static_cast<int64_t>(::getpid()), "-", counter.fetch_add(1, std::memory_order_relaxed), ".tmp");
}

// Replacing a device by a file would break the machine ("-o /dev/null").
Status check_target(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  return Error(Code::kIo, cat("cannot write ", quote(path), ": it is ", kind_of(status.st_mode), "; expected a regular file or none"),
               place_in(path));
}

}  // namespace

Result<AtomicWriter> AtomicWriter::create(const std::string& path, unsigned mode) {
  const size_t slash = path.rfind('/');
  const std::string folder_path = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (path.empty() || path.back() == '/' || path.find('\0') != path.npos)
    return Error(Code::kIo, cat(quote(path), " is no name of a file"));
  NNC_TRY(check_target(path));
  const int folder = uninterrupted([&] { return file_calls.openat(AT_FDCWD, folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0); });
  if (folder < 0) return system_error("cannot open the folder", folder_path, errno);
  FileHandle folder_handle(folder);
  for (;;) {
    std::string temporary = temporary_name();
    const int fd = uninterrupted(
        [&] { return file_calls.openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode); });
    if (fd >= 0) return AtomicWriter(std::move(folder_handle), FileHandle(fd), path, std::move(temporary));
    if (errno != EEXIST) return system_error("cannot write in the folder", folder_path, errno);
  }
}

AtomicWriter::~AtomicWriter() {
  if (folder_ && !temporary_.empty()) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
}

Status AtomicWriter::put(ByteView bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put = uninterrupted([&] { return file_calls.pwrite(file_.get(), bytes.data(), bytes.size(), offset); });
    if (put < 0) return system_error("cannot write", path_, errno);
    // A file system that takes nothing and reports nothing is full.
    if (put == 0) return system_error("cannot write", path_, ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += put;
  }
  return {};
}

Status AtomicWriter::flush() {
  NNC_TRY(put(buffer_, flushed_));
  flushed_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  return {};
}

Status AtomicWriter::write(ByteView bytes) {
  NNC_CHECK(file_, "write after commit");
  if (buffer_.size() + bytes.size() > kBuffered) NNC_TRY(flush());
  if (bytes.size() > kBuffered) {
    NNC_TRY(put(bytes, flushed_));
    flushed_ += static_cast<int64_t>(bytes.size());
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  return {};
}

Status AtomicWriter::patch(int64_t offset, ByteView bytes) {
  NNC_CHECK(file_, "write after commit");
  NNC_CHECK(fits(offset, static_cast<int64_t>(bytes.size()), size()), "patch of bytes that were not written");
  NNC_TRY(flush());
  return put(bytes, offset);
}

Status AtomicWriter::commit(bool durable) {
  NNC_CHECK(file_, "two commits");
  NNC_TRY(flush());
  if (durable && uninterrupted([&] { return file_calls.fsync(file_.get()); }) != 0)
    return system_error("cannot make durable", path_, errno);
  // Some file systems report what went wrong only now. The descriptor is gone in any case.
  if (file_calls.close(file_.release()) != 0 && errno != EINTR) return system_error("cannot write", path_, errno);
  const size_t slash = path_.rfind('/');
  const std::string name = slash == path_.npos ? path_ : path_.substr(slash + 1);
  const int renamed = uninterrupted([&] { return file_calls.renameat(folder_.get(), temporary_.c_str(), folder_.get(), name.c_str()); });
  if (renamed != 0) return system_error("cannot replace", path_, errno);
  temporary_.clear();
  if (!durable) return {};
  // Not every file system can sync a folder.
  const int synced = uninterrupted([&] { return file_calls.fsync(folder_.get()); });
  if (synced != 0 && errno != EINVAL && errno != EROFS) return system_error("cannot make durable", path_, errno);
  return {};
}

Status write_file_atomic(const std::string& path, ByteView bytes, unsigned mode, bool durable) {
  NNC_ASSIGN(AtomicWriter writer, AtomicWriter::create(path, mode));
  NNC_TRY(writer.write(bytes));
  return writer.commit(durable);
}

}  // namespace nnc
