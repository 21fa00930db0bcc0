#pragma once
// Files. With file_*.cpp the only place that opens, writes, lists or removes them; a test bans the other ways. Three kinds of path are
// told apart: one that the user typed (links are followed), one that a model names (`open_beneath`: nothing leaves the model's folder),
// and the user's private files (owner and mode are checked). A file is opened first and then checked by its descriptor, never by name.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/support/bytes.h"
#include "ir/support/result.h"

namespace nnc {

// Owns a descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A regular file open for reading. Its size is the one at opening; reads are checked against it, so that a file that grows or shrinks
// gives an error (kInvalidData) and never a fault. Reads of several threads at once are fine.
class ReadFile {
 public:
  // A path that the user typed. Pipes, devices and folders are refused (kInvalidData), also without waiting for their other end.
  static Result<ReadFile> open(const std::string& path);
  // A file of this user that nobody else may have written or read: owner and mode are checked and the last component is no link
  // (kUntrusted).
  static Result<ReadFile> open_private(const std::string& path);
  // Takes a descriptor that somebody opened; `path` is for messages.
  static Result<ReadFile> adopt(FileHandle handle, std::string path);

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  int descriptor() const { return handle_.get(); }
  // All of `out`, or an error.
  Status read(int64_t offset, std::span<uint8_t> out) const;
  // Checked before memory is taken.
  Result<Bytes> read(int64_t offset, int64_t length) const;
  Result<Bytes> read_all(int64_t max_bytes) const;

 private:
  ReadFile(FileHandle handle, std::string path, int64_t size) : handle_(std::move(handle)), path_(std::move(path)), size_(size) {}
  FileHandle handle_;
  std::string path_;
  int64_t size_ = 0;
};

// A whole file that the user named; kLimit when it is larger than `max_bytes`.
Result<Bytes> read_file(const std::string& path, int64_t max_bytes);
struct FileRange {
  int64_t offset = 0, length = 0;
};
// The same in memory of its own kind (memory.h): for files of any size. Large parts that are copied elsewhere in any case can be left
// out: they are zeros in memory, and `copy` reads them.
class FileContents {
 public:
  // `left_out`: within the file, in its order, apart from each other.
  static Result<FileContents> read(ReadFile file, int64_t max_bytes, std::vector<FileRange> left_out = {});
  ByteView bytes() const { return {memory_.get(), static_cast<size_t>(file_.size())}; }
  // `part` lies in `bytes()` and is as long as `out`.
  Status copy(ByteView part, std::span<uint8_t> out) const;

 private:
  FileContents(ReadFile file, std::vector<FileRange> left_out, std::shared_ptr<uint8_t> memory)
      : file_(std::move(file)), left_out_(std::move(left_out)), memory_(std::move(memory)) {}
  ReadFile file_;
  std::vector<FileRange> left_out_;
  std::shared_ptr<uint8_t> memory_;
};
// A file of the system whose size is not known before it is read (/proc, /sys): until its end.
Result<Bytes> read_system_file(const std::string& path, int64_t max_bytes);

// A file's bytes as memory. Only for files that this user trusts: one that shrinks while it is mapped kills the process.
class MappedFile {
 public:
  static Result<MappedFile> map(const ReadFile& file);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  ByteView bytes() const { return bytes_; }

 private:
  explicit MappedFile(ByteView bytes) : bytes_(bytes) {}
  ByteView bytes_;
};

enum class Resolution : uint8_t {
  kAuto,    // the kernel's bounded resolution, else the walk
  kKernel,  // an error where the kernel has none
  kWalk,    // component by component
};
// The one opener for files that a model names: a relative name below `root_dir`, without "..", no component a link, a regular file
// with one link. kPathEscape for what would leave the folder or could stand for a file elsewhere, kInvalidData for what is no file or
// no name, kIo for what is not there; then the message says what lies in the folder.
Result<ReadFile> open_beneath(const std::string& root_dir, std::string_view name, Resolution resolution = Resolution::kAuto);

// Replaces a file as a whole: the bytes go to a temporary file in the same folder, and `commit` makes it durable and renames it. Until
// then, and when anything fails, the old file stays as it was; without `commit` the temporary file is removed. A link at `path` is
// replaced, not followed; pipes, devices and folders are refused.
class AtomicWriter {
 public:
  static Result<AtomicWriter> create(const std::string& path, unsigned mode = 0644);
  AtomicWriter(AtomicWriter&&) noexcept = default;
  AtomicWriter& operator=(AtomicWriter&&) = delete;
  ~AtomicWriter();

  Status write(ByteView bytes);
  Status write(std::string_view text) { return write(bytes_of(text)); }
  // Overwrites bytes that were written before: a header whose sums are known at the end.
  Status patch(int64_t offset, ByteView bytes);
  int64_t size() const { return flushed_ + static_cast<int64_t>(buffer_.size()); }
  // Once, at the end. What can be made again need not survive a loss of power.
  Status commit(bool durable = true);

 private:
  AtomicWriter(FileHandle folder, FileHandle file, std::string path, std::string temporary)
      : folder_(std::move(folder)), file_(std::move(file)), path_(std::move(path)), temporary_(std::move(temporary)) {}
  Status flush();
  Status put(ByteView bytes, int64_t offset);

  FileHandle folder_, file_;
  std::string path_, temporary_;
  Bytes buffer_;
  int64_t flushed_ = 0;
};
Status write_file_atomic(const std::string& path, ByteView bytes, unsigned mode = 0644, bool durable = true);

// Makes the folder and its missing parents, mode 0700. An existing one must be a folder (no link) of this user that nobody else may
// enter (kUntrusted); modes of parents are the user's business.
Status ensure_private_dir(const std::string& path);

// An advisory lock between processes on a file that it makes (0600) and leaves there: for read-modify-write of small lists. The system
// drops it when the process dies. Answers must not depend on it: where it cannot be had in time (kIo), go on without or give up.
class FileLock {
 public:
  static Result<FileLock> acquire(const std::string& path, int timeout_ms);

 private:
  explicit FileLock(FileHandle handle) : handle_(std::move(handle)) {}
  FileHandle handle_;
};

struct FolderEntry {
  std::string name;
  bool is_folder = false;
};
// Sorted by name, without "." and ".."; kLimit past `max_entries`.
Result<std::vector<FolderEntry>> list_folder(const std::string& path, int64_t max_entries = 100'000);
// No error when there is none.
Status remove_file(const std::string& path);

// A private folder (0700) for one task, removed with everything in it at the end. It lies in `base`, or in /tmp when that is empty; the
// environment has no say.
class TempDir {
 public:
  static Result<TempDir> create(const std::string& base = {});
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();
  const std::string& path() const { return path_; }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace nnc
