#include "ir/support/file.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>

#include "tests/unit/support/scratch.h"

namespace nnc {
namespace {

class Files : public Scratch {};

TEST_F(Files, ReadsWholeAndParts) {
  put("a", "hello world");
  auto file = ReadFile::open(path("a"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 11);
  EXPECT_EQ(file->path(), path("a"));
  EXPECT_EQ(text_of(*file->read(6, 5)), "world");
  EXPECT_EQ(text_of(*file->read(11, 0)), "");
  EXPECT_EQ(text_of(*file->read_all(11)), "hello world");
  EXPECT_EQ(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(Files, RangesAreCheckedBeforeMemoryIsTaken) {
  put("a", "hello");
  const auto file = ReadFile::open(path("a"));
  for (const auto& [offset, length] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 6}, {5, 1}, {6, 0}, {-1, 1}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}, {INT64_MAX, INT64_MAX}, {0, int64_t{1} << 60}}) {
    const auto bytes = file->read(offset, length);
    ASSERT_FALSE(bytes.ok()) << offset << " " << length;
    EXPECT_EQ(bytes.error().code, Code::kInvalidData);
    EXPECT_EQ(bytes.error().place.file, path("a"));
  }
}

TEST_F(Files, SizeLimitOfAWholeFile) {
  put("a", "12345");
  EXPECT_TRUE(read_file(path("a"), 5).ok());
  EXPECT_EQ(read_file(path("a"), 4).error().code, Code::kLimit);
  put("empty", "");
  EXPECT_EQ(read_file(path("empty"), 0)->size(), 0u);
}

TEST_F(Files, ContentsWithoutSomeParts) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text.push_back(static_cast<char>('a' + i % 26));
  put("a", text);
  const std::vector<FileRange> parts = {{10, 8'000}, {8'010, 0}, {8'010, 5}, {19'000, 1'000}};
  auto contents = FileContents::read(std::move(ReadFile::open(path("a"))).value(), 20'000, parts);
  ASSERT_TRUE(contents.ok()) << contents.error().str();
  const ByteView bytes = contents->bytes();
  ASSERT_EQ(bytes.size(), text.size());
  EXPECT_EQ(text_of(bytes.first(10)), text.substr(0, 10));
  EXPECT_EQ(text_of(bytes.subspan(8'015, 10'985)), text.substr(8'015, 10'985));
  for (const FileRange& r : parts)
    for (int64_t k = r.offset; k < r.offset + r.length; ++k) ASSERT_EQ(bytes[static_cast<size_t>(k)], 0) << k;
  const std::pair<size_t, size_t> wanted[] = {{0, 20'000}, {0, 10},    {5, 10},     {10, 8'000}, {100, 100},
                                              {8'010, 5},  {8'015, 7}, {19'999, 1}, {20'000, 0}};
  for (const auto& [at, length] : wanted) {
    Bytes out(length, 0xff);
    ASSERT_TRUE(contents->copy(bytes.subspan(at, length), out).ok());
    EXPECT_EQ(text_of(out), text.substr(at, length)) << at;
  }
  // What is read late may be gone by then.
  ASSERT_EQ(::truncate(path("a").c_str(), 100), 0);
  Bytes out(200);
  EXPECT_EQ(contents->copy(bytes.subspan(50, 200), out).error().code, Code::kInvalidData);
  EXPECT_TRUE(contents->copy(bytes.subspan(9'000, 200), out).ok());
  EXPECT_EQ(FileContents::read(std::move(ReadFile::open(path("a"))).value(), 99).error().code, Code::kLimit);
}

TEST_F(Files, AFileThatShrinksOrGrows) {
  put("a", std::string(1000, 'x'));
  const auto file = ReadFile::open(path("a"));
  ASSERT_EQ(::truncate(path("a").c_str(), 2000), 0);
  EXPECT_EQ(file->read_all(5000)->size(), 1000u);
  ASSERT_EQ(::truncate(path("a").c_str(), 10), 0);
  const auto bytes = file->read_all(5000);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, Code::kInvalidData);
}

TEST_F(Files, RefusesWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  make_folder("dir");
  for (const std::string& bad : {path("pipe"), path("dir"), std::string("/dev/null"), path("a") + '\0' + "b"}) {
    const auto file = ReadFile::open(bad);
    ASSERT_FALSE(file.ok()) << bad;
    EXPECT_EQ(file.error().code, Code::kInvalidData) << file.error().str();
  }
  const auto missing = ReadFile::open(path("missing"));
  EXPECT_EQ(missing.error().code, Code::kIo);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
}

TEST_F(Files, PathsOfTheUserFollowLinks) {
  put("a", "text");
  make_link("a", "link");
  EXPECT_EQ(get("link"), "text");
}

TEST_F(Files, InterruptedAndShortReadsGoOn) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i);
  put("a", text);
  file_calls.pread = [](int fd, void* to, size_t length, int64_t offset) -> ssize_t {
    static int calls = 0;
    if (++calls % 2 == 0) return errno = EINTR, -1;
    return ::pread(fd, to, std::min<size_t>(length, 7), offset);
  };
  EXPECT_EQ(get("a"), text);
  file_calls.pread = [](int, void*, size_t, int64_t) -> ssize_t { return errno = EIO, -1; };
  EXPECT_EQ(read_file(path("a"), 1 << 20).error().code, Code::kIo);
}

TEST_F(Files, SystemFilesAreReadToTheirEnd) {
  const auto status = read_system_file("/proc/self/status", 1 << 20);
  ASSERT_TRUE(status.ok());
  EXPECT_NE(text_of(*status).find("Name:"), std::string_view::npos);
  EXPECT_EQ(read_system_file("/proc/self/status", 10).error().code, Code::kLimit);
}

TEST_F(Files, MappedFile) {
  put("a", std::string(10000, 'm'));
  put("empty", "");
  auto mapped = MappedFile::map(*ReadFile::open(path("a")));
  ASSERT_TRUE(mapped.ok());
  MappedFile moved = std::move(mapped).value();
  EXPECT_EQ(text_of(moved.bytes()), std::string(10000, 'm'));
  EXPECT_TRUE(MappedFile::map(*ReadFile::open(path("empty")))->bytes().empty());
  moved = MappedFile();
  EXPECT_TRUE(moved.bytes().empty());
}

TEST_F(Files, PrivateFiles) {
  put("a", "x");
  ASSERT_EQ(::chmod(path("a").c_str(), 0600), 0);
  EXPECT_TRUE(ReadFile::open_private(path("a")).ok());
  for (const mode_t mode : {0604u, 0640u, 0602u, 0620u}) {
    ASSERT_EQ(::chmod(path("a").c_str(), mode), 0);
    EXPECT_EQ(ReadFile::open_private(path("a")).error().code, Code::kUntrusted) << mode;
  }
  ASSERT_EQ(::chmod(path("a").c_str(), 0600), 0);
  make_link("a", "link");
  EXPECT_EQ(ReadFile::open_private(path("link")).error().code, Code::kUntrusted);
  EXPECT_EQ(ReadFile::open_private(path("missing")).error().code, Code::kIo);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path("a").c_str(), 12345, 12345), 0);
    EXPECT_EQ(ReadFile::open_private(path("a")).error().code, Code::kUntrusted);
  }
}

TEST_F(Files, PrivateFolders) {
  EXPECT_TRUE(ensure_private_dir(path("x/y/z")).ok());
  EXPECT_TRUE(ensure_private_dir(path("x/y/z/")).ok());
  struct stat status;
  for (const char* made : {"x", "x/y", "x/y/z"}) {
    ASSERT_EQ(::stat(path(made).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u) << made;
  }
  ASSERT_EQ(::chmod(path("x/y").c_str(), 0755), 0);
  EXPECT_TRUE(ensure_private_dir(path("x/y/z")).ok());
  EXPECT_EQ(ensure_private_dir(path("x/y")).error().code, Code::kUntrusted);
  make_link("x/y/z", "link");
  EXPECT_EQ(ensure_private_dir(path("link")).error().code, Code::kUntrusted);
  put("file", "");
  EXPECT_EQ(ensure_private_dir(path("file")).error().code, Code::kUntrusted);
  EXPECT_EQ(ensure_private_dir(path("file/below")).error().code, Code::kIo);
  EXPECT_EQ(ensure_private_dir("").error().code, Code::kIo);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path("x/y/z").c_str(), 12345, 12345), 0);
    EXPECT_EQ(ensure_private_dir(path("x/y/z")).error().code, Code::kUntrusted);
  }
}

TEST_F(Files, LockIsExclusiveAndDiesWithItsHolder) {
  {
    const auto held = FileLock::acquire(path("lock"), 0);
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(FileLock::acquire(path("lock"), 20).error().code, Code::kIo);
  }
  EXPECT_TRUE(FileLock::acquire(path("lock"), 0).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = FileLock::acquire(path("lock"), 0);
    ::_exit(held.ok() ? 0 : 1);  // without letting go
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(FileLock::acquire(path("lock"), 0).ok());
  EXPECT_EQ(FileLock::acquire(path("missing/lock"), 0).error().code, Code::kIo);
}

TEST_F(Files, ListsSorted) {
  put("b", "");
  put("a", "");
  make_folder("c");
  make_link("c", "d");
  EXPECT_EQ(names(), "a b c/ d/ ");
  EXPECT_EQ(list_folder(path(), 4)->size(), 4u);
  EXPECT_EQ(list_folder(path(), 3).error().code, Code::kLimit);
  EXPECT_EQ(list_folder(path("missing")).error().code, Code::kIo);
  EXPECT_TRUE(remove_file(path("a")).ok());
  EXPECT_TRUE(remove_file(path("a")).ok());
  EXPECT_EQ(remove_file(path("c")).error().code, Code::kIo);
  EXPECT_EQ(names(), "b c/ d/ ");
}

TEST_F(Files, TempDirIsPrivateAndGoesAwayWhole) {
  std::string where;
  put("kept", "outside");
  make_folder("kept_dir");
  put("kept_dir/file", "outside");
  ::setenv("TMPDIR", "/nonexistent", 1);
  {
    auto made = TempDir::create(path());
    ASSERT_TRUE(made.ok());
    TempDir dir = std::move(made).value();
    where = dir.path();
    struct stat status;
    ASSERT_EQ(::stat(where.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    ASSERT_EQ(::mkdir((where + "/sub").c_str(), 0700), 0);
    ASSERT_TRUE(write_file_atomic(where + "/sub/file", bytes_of("x")).ok());
    ASSERT_EQ(::symlink(path("kept_dir").c_str(), (where + "/link").c_str()), 0);
    ASSERT_EQ(::symlink(path("kept").c_str(), (where + "/sub/link").c_str()), 0);
  }
  ::unsetenv("TMPDIR");
  EXPECT_NE(::access(where.c_str(), F_OK), 0);
  EXPECT_EQ(get("kept"), "outside");
  EXPECT_EQ(get("kept_dir/file"), "outside");
  EXPECT_EQ(TempDir::create(path("missing")).error().code, Code::kIo);
}

}  // namespace
}  // namespace nnc
