#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>

#include "ir/support/file.h"
#include "ir/support/file_internal.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

using Components = std::vector<std::string>;

// What came of an attempt to open: a descriptor, or why not (an errno; ELOOP for a link on the way).
struct Opened {
  FileHandle handle;
  int error = 0;
};

Error escape(std::string_view name, std::string_view why) {
  return Error(Code::kPathEscape, cat("the model names the file ", quote(name), ": ", why))
      .with("expected: a relative name of a file in the model's own folder");
}

Error bad_name(std::string_view name, std::string_view why) {
  return Error(Code::kInvalidData, cat("the model names the file ", quote(name.substr(0, 256)), ": ", why));
}

Result<Components> parse_name(std::string_view name) {
  if (name.empty()) return bad_name(name, "the name is empty");
  if (name.size() >= PATH_MAX) return bad_name(name, cat("the name has ", name.size(), " bytes"));
  if (name.find('\0') != name.npos) return bad_name(name, "the name has a zero byte");
  if (name.front() == '/') return escape(name, "the path is absolute");
  Components components;
  for (const std::string_view part : split(name, '/')) {
    if (part == "..") return escape(name, "the path has a '..'");
    if (part.size() > NAME_MAX) return bad_name(name, cat("a part of the name has ", part.size(), " bytes"));
    if (!part.empty() && part != ".") components.emplace_back(part);
  }
  if (name.back() == '/' || components.empty() || name.ends_with("/.")) return bad_name(name, "the path names a folder");
  return components;
}

Opened open_by_kernel(int root, const std::string& name) {
  constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  // The kernel asks for another attempt when something was renamed meanwhile.
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int fd = uninterrupted([&] { return file_calls.openat2(root, name.c_str(), static_cast<uint64_t>(kReadFlags), kResolve); });
    if (fd >= 0) return {FileHandle(fd), 0};
    if (errno != EAGAIN) break;
  }
  return {FileHandle(), errno};
}

bool is_link(int folder, const std::string& name) {
  struct stat status;
  return ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

// The deepest folder that exists on the way to the file, without following links; `depth` is how many components it took.
FileHandle walk(FileHandle folder, const Components& components, size_t* depth, int* error) {
  *error = 0;
  for (*depth = 0; *depth + 1 < components.size(); ++*depth) {
    const std::string& part = components[*depth];
    const int fd =
        uninterrupted([&] { return file_calls.openat(folder.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0); });
    if (fd < 0) {
      *error = errno;
      if (*error == ENOTDIR && is_link(folder.get(), part)) *error = ELOOP;
      return folder;
    }
    folder = FileHandle(fd);
  }
  return folder;
}

Opened open_by_walk(int root, const Components& components) {
  const int start = uninterrupted([&] { return file_calls.openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0); });
  if (start < 0) return {FileHandle(), errno};
  size_t depth = 0;
  int error = 0;
  const FileHandle folder = walk(FileHandle(start), components, &depth, &error);
  if (error != 0) return {FileHandle(), error};
  const int fd = uninterrupted([&] { return file_calls.openat(folder.get(), components.back().c_str(), kReadFlags | O_NOFOLLOW, 0); });
  if (fd >= 0) return {FileHandle(fd), 0};
  return {FileHandle(), errno};
}

// Old kernels and filters of system calls do not know the call, or pretend so.
bool kernel_cannot(int error) { return error == ENOSYS || error == EPERM || error == EINVAL || error == E2BIG || error == EOPNOTSUPP; }

// What lies in the folder where the file should be: the names most like it first.
std::string neighbours(int root, const std::string& root_dir, const Components& components) {
  constexpr int64_t kRead = 2000;
  constexpr size_t kShown = 6;
  constexpr int kFar = 16;
  const int start = ::openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  size_t depth = 0;
  int error = 0;
  const FileHandle folder = walk(FileHandle(start), components, &depth, &error);
  std::string path = root_dir;
  for (size_t i = 0; i < depth; ++i) append(path, "/", components[i]);
  const auto entries = list_folder(FileHandle(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path, kRead);
  if (!entries.ok()) return {};
  if (entries->empty()) return cat("the folder ", quote(path), " is empty");
  std::vector<std::pair<int, std::string>> names;
  for (const FolderEntry& entry : *entries) {
    names.emplace_back(edit_distance(entry.name, components[depth], kFar), quote(entry.name + (entry.is_folder ? "/" : "")));
  }
  std::ranges::sort(names);
  const size_t shown = std::min(names.size(), kShown);
  std::string text = cat("the folder ", quote(path), " holds ");
  append(text, join(std::span(names).first(shown), ", ", [](const auto& item) -> const std::string& { return item.second; }));
  if (shown < names.size()) append(text, " and ", names.size() - shown, " more");
  return text;
}

Error refusal(int error, int root, const std::string& root_dir, std::string_view name, const Components& components) {
  if (error == ELOOP) {
    return escape(name, "a part of the path is a symbolic link").with("try: a copy of the file itself in place of the link");
  }
  if (error == EXDEV) return escape(name, "the path leaves the folder");
  if (error == ENXIO) return bad_name(name, "it is a pipe, a socket or a device; expected a regular file");
  Error failed = system_error("cannot open the file that the model names,", join(components, "/"), error);
  if (error != ENOENT && error != ENOTDIR) return failed;
  failed.message = cat("the model names the file ", quote(name), "; there is none in ", quote(root_dir));
  if (std::string text = neighbours(root, root_dir, components); !text.empty()) return std::move(failed).with(std::move(text));
  return failed;
}

}  // namespace

Result<ReadFile> open_beneath(const std::string& root_dir, std::string_view name, Resolution resolution) {
  NNC_ASSIGN(const Components components, parse_name(name));
  const std::string folder = root_dir.empty() ? "." : root_dir;
  const int root = uninterrupted([&] { return file_calls.openat(AT_FDCWD, folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0); });
  if (root < 0) return system_error("cannot open the folder", folder, errno);
  const FileHandle root_handle(root);

  Opened opened;
  if (resolution != Resolution::kWalk) opened = open_by_kernel(root, join(components, "/"));
  if (resolution == Resolution::kWalk || (resolution == Resolution::kAuto && kernel_cannot(opened.error)))
    opened = open_by_walk(root, components);
  if (!opened.handle) return refusal(opened.error, root, folder, name, components);

  // From here on only the descriptor counts.
  const std::string path = cat(folder, "/", join(components, "/"));
  struct stat status;
  if (::fstat(opened.handle.get(), &status) != 0) return system_error("cannot read", path, errno);
  if (!S_ISREG(status.st_mode)) return bad_name(name, cat("it is ", kind_of(status.st_mode), "; expected a regular file"));
  if (status.st_nlink != 1) {
    return escape(name, cat("the file has ", static_cast<uint64_t>(status.st_nlink), " links and may stand for one elsewhere"))
        .with("try: a copy of the file in place of the hard link");
  }
  return ReadFile::adopt(std::move(opened.handle), path);
}

}  // namespace nnc
