#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "ir/support/file.h"
#include "ir/support/file_internal.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

bool is_folder(DIR* folder, const dirent* entry) {
  if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK) return entry->d_type == DT_DIR;
  struct stat status;
  return ::fstatat(::dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

// Empties and removes a folder of ours. Links are removed, not followed; what cannot be removed stays.
void remove_tree(int parent, const char* name) {
  const int fd = ::openat(parent, name, kFolderFlags | O_NOFOLLOW);
  if (fd < 0) return;
  if (auto entries = list_folder(FileHandle(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), name, INT64_MAX); entries.ok()) {
    for (const FolderEntry& entry : *entries) {
      if (::unlinkat(fd, entry.name.c_str(), 0) != 0) remove_tree(fd, entry.name.c_str());
    }
  }
  ::close(fd);
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

// Every folder on the way that is missing, mode 0700.
Status make_folders(const std::string& path) {
  for (size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) == 0 || errno == EEXIST) continue;
    // Above what exists, the reason may be another: only a missing folder is an error.
    const int error = errno;
    struct stat status;
    if (::stat(part.c_str(), &status) != 0) return system_error("cannot make the folder", part, error);
  }
  return {};
}

}  // namespace

Result<std::vector<FolderEntry>> list_folder(FileHandle handle, const std::string& path, int64_t max_entries) {
  DIR* folder = handle ? ::fdopendir(handle.get()) : nullptr;
  if (!folder) return system_error("cannot list", path, errno);
  handle.release();
  std::vector<FolderEntry> entries;
  int error = 0;
  bool too_many = false;
  while (!too_many) {
    errno = 0;
    const dirent* entry = ::readdir(folder);
    if (!entry) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    too_many = static_cast<int64_t>(entries.size()) >= max_entries;
    entries.push_back({std::string(name), is_folder(folder, entry)});
  }
  ::closedir(folder);
  if (error != 0) return system_error("cannot list", path, error);
  if (too_many) return Error(Code::kLimit, cat("the folder ", quote(path), " has more than ", max_entries, " entries"), place_in(path));
  std::ranges::sort(entries, {}, &FolderEntry::name);
  return entries;
}

Result<std::vector<FolderEntry>> list_folder(const std::string& path, int64_t max_entries) {
  const int fd = uninterrupted([&] { return file_calls.openat(AT_FDCWD, path.c_str(), kFolderFlags, 0); });
  if (fd < 0) return system_error("cannot list", path, errno);
  return list_folder(FileHandle(fd), path, max_entries);
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("cannot remove", path, errno);
  return {};
}

Status ensure_private_dir(const std::string& path) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (folder.empty() || folder.find('\0') != folder.npos) return Error(Code::kIo, cat(quote(path), " is no name of a folder"));
  NNC_TRY(make_folders(folder));
  const int fd = uninterrupted([&] { return file_calls.openat(AT_FDCWD, folder.c_str(), kFolderFlags | O_NOFOLLOW, 0); });
  if (fd < 0) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return Error(Code::kUntrusted, cat(quote(path), " is a link or no folder; expected a folder of this user"), place_in(path));
    }
    return system_error("cannot open the folder", path, errno);
  }
  const FileHandle handle(fd);
  struct stat status;
  if (::fstat(fd, &status) != 0) return system_error("cannot read", path, errno);
  if (status.st_uid != ::geteuid())
    return Error(Code::kUntrusted, cat("the folder ", quote(path), " belongs to another user"), place_in(path));
  if ((status.st_mode & 077) != 0) {
    return Error(Code::kUntrusted, cat("the folder ", quote(path), " is open to other users"), place_in(path)).with("try: chmod 700 it");
  }
  return {};
}

Result<FileLock> FileLock::acquire(const std::string& path, int timeout_ms) {
  constexpr int kStepMs = 5;
  const int fd = uninterrupted(
      [&] { return file_calls.openat(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600); });
  if (fd < 0) return system_error("cannot open the lock", path, errno);
  FileHandle handle(fd);
  for (int waited = 0;; waited += kStepMs) {
    if (uninterrupted([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) == 0) return FileLock(std::move(handle));
    if (errno != EWOULDBLOCK) return system_error("cannot lock", path, errno);
    if (waited >= timeout_ms) {
      return Error(Code::kIo, cat("the lock ", quote(path), " is held by another process for more than ", timeout_ms, " ms"),
                   place_in(path));
    }
    ::usleep(kStepMs * 1000);
  }
}

Result<TempDir> TempDir::create(const std::string& base) {
  std::string path = cat(base.empty() ? "/tmp" : base, "/nnc-XXXXXX");
  if (!::mkdtemp(path.data())) return system_error("cannot make the folder", path, errno);
  return TempDir(std::move(path));
}

TempDir::~TempDir() {
  if (!path_.empty()) remove_tree(AT_FDCWD, path_.c_str());
}

}  // namespace nnc
