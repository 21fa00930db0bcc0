#include "ir/support/file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "ir/support/checked.h"
#include "ir/support/file_internal.h"
#include "ir/support/memory.h"
#include "ir/support/text.h"

namespace nnc {

FileCalls file_calls = {
    .openat = [](int folder, const char* name, int flags, unsigned mode) { return ::openat(folder, name, flags, mode); },
    .openat2 =
        [](int folder, const char* name, uint64_t flags, uint64_t resolve) {
          open_how how{.flags = flags, .mode = 0, .resolve = resolve};
          return static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how));
        },
    .pread = [](int fd, void* to, size_t length, int64_t offset) { return ::pread(fd, to, length, offset); },
    .pwrite = [](int fd, const void* from, size_t length, int64_t offset) { return ::pwrite(fd, from, length, offset); },
    .fsync = ::fsync,
    .close = ::close,
    .renameat = ::renameat,
};

Error system_error(std::string_view doing, const std::string& path, int error_number) {
  // The description in the C locale, whatever the user's is.
  const char* text = strerrordesc_np(error_number);
  Place place;
  place.file = path;
  const Code code = error_number == ENOMEM ? Code::kOutOfMemory : Code::kIo;
  return Error(code, cat(doing, " ", quote(path), ": ", text ? text : "unknown error"), std::move(place));
}

Place place_in(const std::string& path, int64_t offset) {
  Place place;
  place.file = path;
  place.offset = offset;
  return place;
}

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    case S_IFLNK: return "a symbolic link";
    default: return "no regular file";
  }
}

const int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

namespace {

Result<FileHandle> open_to_read(const std::string& path, int more_flags) {
  if (path.find('\0') != std::string::npos) return Error(Code::kInvalidData, cat("the path ", quote(path), " has a zero byte"));
  const int fd = uninterrupted([&] { return file_calls.openat(AT_FDCWD, path.c_str(), kReadFlags | more_flags, 0); });
  if (fd >= 0) return FileHandle(fd);
  if (errno == ELOOP && (more_flags & O_NOFOLLOW) != 0) {
    return Error(Code::kUntrusted, cat(quote(path), " is a symbolic link; expected a file"), place_in(path));
  }
  return system_error("cannot open", path, errno);
}

Error too_large(const std::string& path, int64_t size, int64_t max_bytes) {
  return Error(Code::kLimit, cat("the file ", quote(path), " has ", size, " bytes; at most ", max_bytes, " are read"), place_in(path));
}

}  // namespace

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) file_calls.close(fd_);
  fd_ = other.release();
  return *this;
}

FileHandle::~FileHandle() {
  if (fd_ >= 0) file_calls.close(fd_);
}

Result<ReadFile> ReadFile::adopt(FileHandle handle, std::string path) {
  struct stat status;
  if (::fstat(handle.get(), &status) != 0) return system_error("cannot read", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error(Code::kInvalidData, cat(quote(path), " is ", kind_of(status.st_mode), "; expected a regular file"), place_in(path));
  }
  return ReadFile(std::move(handle), std::move(path), status.st_size);
}

Result<ReadFile> ReadFile::open(const std::string& path) {
  NNC_ASSIGN(FileHandle handle, open_to_read(path, 0));
  return adopt(std::move(handle), path);
}

Result<ReadFile> ReadFile::open_private(const std::string& path) {
  NNC_ASSIGN(FileHandle handle, open_to_read(path, O_NOFOLLOW));
  NNC_ASSIGN(ReadFile file, adopt(std::move(handle), path));
  struct stat status;
  if (::fstat(file.descriptor(), &status) != 0) return system_error("cannot read", path, errno);
  if (status.st_uid != ::geteuid())
    return Error(Code::kUntrusted, cat("the file ", quote(path), " belongs to another user"), place_in(path));
  if ((status.st_mode & 077) != 0) {
    return Error(Code::kUntrusted, cat("the file ", quote(path), " is open to other users"), place_in(path)).with("try: chmod 600 it");
  }
  return file;
}

Status ReadFile::read(int64_t offset, std::span<uint8_t> out) const {
  if (!fits(offset, static_cast<int64_t>(out.size()), size_)) {
    return Error(Code::kInvalidData, cat(out.size(), " bytes at ", offset, " lie outside the file, which has ", size_),
                 place_in(path_, offset));
  }
  while (!out.empty()) {
    const ssize_t got = uninterrupted([&] { return file_calls.pread(handle_.get(), out.data(), out.size(), offset); });
    if (got < 0) return system_error("cannot read", path_, errno);
    if (got == 0)
      return Error(Code::kInvalidData, cat("the file ", quote(path_), " became shorter while it was read"), place_in(path_, offset));
    out = out.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return {};
}

Result<Bytes> ReadFile::read(int64_t offset, int64_t length) const {
  if (!fits(offset, length, size_)) {
    return Error(Code::kInvalidData, cat(length, " bytes at ", offset, " lie outside the file, which has ", size_),
                 place_in(path_, offset));
  }
  Bytes bytes(static_cast<size_t>(length));
  NNC_TRY(read(offset, std::span(bytes)));
  return bytes;
}

Result<Bytes> ReadFile::read_all(int64_t max_bytes) const {
  if (size_ > max_bytes) return too_large(path_, size_, max_bytes);
  return read(0, size_);
}

Result<Bytes> read_file(const std::string& path, int64_t max_bytes) {
  NNC_ASSIGN(const ReadFile file, ReadFile::open(path));
  return file.read_all(max_bytes);
}

Result<FileContents> FileContents::read(ReadFile file, int64_t max_bytes, std::vector<FileRange> left_out) {
  if (file.size() > max_bytes) return too_large(file.path(), file.size(), max_bytes);
  const auto size = static_cast<size_t>(file.size());
  std::shared_ptr<uint8_t> memory = std::static_pointer_cast<uint8_t>(left_out.empty() ? shared_memory(size, false) : sparse_memory(size));
  if (memory == nullptr) return Error(Code::kOutOfMemory, cat("no memory for the file ", quote(file.path()), " of ", size, " bytes"));
  int64_t at = 0;
  const auto read_to = [&](int64_t end) { return file.read(at, std::span(memory.get() + at, static_cast<size_t>(end - at))); };
  for (const FileRange& r : left_out) {
    NNC_CHECK(r.offset >= at && fits(r.offset, r.length, file.size()), "what is left out lies in the file, in order");
    NNC_TRY(read_to(r.offset));
    at = r.offset + r.length;
  }
  NNC_TRY(read_to(file.size()));
  return FileContents(std::move(file), std::move(left_out), std::move(memory));
}

Status FileContents::copy(ByteView part, std::span<uint8_t> out) const {
  NNC_CHECK(part.size() == out.size(), "room for the part");
  if (out.empty()) return {};
  const int64_t begin = part.data() - memory_.get(), end = begin + static_cast<int64_t>(part.size());
  NNC_CHECK(begin >= 0 && end <= file_.size(), "a part of the file");
  const auto next = std::ranges::partition_point(left_out_, [&](const FileRange& r) { return r.offset + r.length <= begin; });
  if (next != left_out_.end() && next->offset < end) return file_.read(begin, out);
  std::memcpy(out.data(), part.data(), out.size());
  return {};
}

Result<Bytes> read_system_file(const std::string& path, int64_t max_bytes) {
  NNC_ASSIGN(const ReadFile file, ReadFile::open(path));
  Bytes bytes;
  for (;;) {
    const size_t held = bytes.size();
    if (static_cast<int64_t>(held) > max_bytes) return too_large(path, static_cast<int64_t>(held), max_bytes);
    bytes.resize(held + 16384);
    const ssize_t got = uninterrupted(
        [&] { return file_calls.pread(file.descriptor(), bytes.data() + held, bytes.size() - held, static_cast<int64_t>(held)); });
    if (got < 0) return system_error("cannot read", path, errno);
    bytes.resize(held + static_cast<size_t>(got));
    if (got == 0) return bytes;
  }
}

Result<MappedFile> MappedFile::map(const ReadFile& file) {
  if (file.size() == 0) return MappedFile();
  const auto size = static_cast<size_t>(file.size());
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED) return system_error("cannot map", file.path(), errno);
  return MappedFile(ByteView(static_cast<const uint8_t*>(address), size));
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace nnc
