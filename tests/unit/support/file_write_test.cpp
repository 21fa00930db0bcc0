// The promise of the atomic writer: whatever fails, and wherever, the file is the old one or the new one and nothing else is left.
#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "tests/unit/support/scratch.h"

namespace nnc {
namespace {

class Writes : public Scratch {};

TEST_F(Writes, MakesAndReplaces) {
  ASSERT_TRUE(write_file_atomic(path("a"), bytes_of("one")).ok());
  EXPECT_EQ(get("a"), "one");
  ASSERT_TRUE(write_file_atomic(path("a"), bytes_of("")).ok());
  EXPECT_EQ(get("a"), "");
  EXPECT_EQ(names(), "a ");
}

TEST_F(Writes, StreamsAndPatches) {
  auto writer = AtomicWriter::create(path("a"));
  ASSERT_TRUE(writer.ok());
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<size_t>(i * 37 % 5000), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(writer->write(piece).ok());
    expected += piece;
  }
  const std::string large(600'000, 'L');
  ASSERT_TRUE(writer->write(large).ok());
  expected += large;
  ASSERT_TRUE(writer->write("tail").ok());
  expected += "tail";
  EXPECT_EQ(writer->size(), static_cast<int64_t>(expected.size()));
  ASSERT_TRUE(writer->patch(3, bytes_of("HEAD")).ok());
  ASSERT_TRUE(writer->patch(writer->size() - 1, bytes_of("L")).ok());
  expected.replace(3, 4, "HEAD");
  expected.back() = 'L';
  ASSERT_TRUE(writer->write("!").ok());
  expected += "!";
  EXPECT_EQ(get("a").substr(0, 8), "NNC-8001");
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(get("a"), expected);
}

TEST_F(Writes, WithoutCommitNothingChanges) {
  put("a", "old");
  {
    auto writer = AtomicWriter::create(path("a"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(std::string(1 << 20, 'x')).ok());
    AtomicWriter moved = std::move(writer).value();
  }
  EXPECT_EQ(get("a"), "old");
  EXPECT_EQ(names(), "a ");
}

TEST_F(Writes, ModeAndUmask) {
  const mode_t before = ::umask(022);
  ASSERT_TRUE(write_file_atomic(path("public"), bytes_of("x"), 0666).ok());
  ASSERT_TRUE(write_file_atomic(path("private"), bytes_of("x"), 0600).ok());
  ::umask(before);
  struct stat status;
  ASSERT_EQ(::stat(path("public").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
  ASSERT_EQ(::stat(path("private").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(Writes, LinksAreReplacedNotFollowed) {
  put("target", "old");
  make_link("target", "link");
  make_link("nowhere", "dangling");
  ASSERT_TRUE(write_file_atomic(path("link"), bytes_of("new")).ok());
  ASSERT_TRUE(write_file_atomic(path("dangling"), bytes_of("new")).ok());
  EXPECT_EQ(get("target"), "old");
  EXPECT_EQ(get("link"), "new");
  EXPECT_EQ(names(), "dangling link target ");
}

TEST_F(Writes, DevicesPipesAndFoldersStay) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  make_folder("dir");
  make_link("/dev/null", "null");
  for (const std::string& bad :
       {path("pipe"), path("dir"), path("null"), path("dir/"), std::string(), path("missing/a"), path("a") + '\0'}) {
    const Status status = write_file_atomic(bad, bytes_of("x"));
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().code, Code::kIo);
  }
  EXPECT_EQ(names(), "dir/ null pipe ");
}

TEST_F(Writes, FilesOfAKilledProcessStayAndDoNotHinder) {
  // A dead process of the same number left files under the names that come next.
  std::string last;
  {
    auto writer = AtomicWriter::create(path("a"));
    ASSERT_TRUE(writer.ok());
    last = list_folder(path())->front().name;
  }
  const size_t dash = last.rfind('-');
  const int number = std::stoi(last.substr(dash + 1));
  const auto left_over = [&](int ahead) { return last.substr(0, dash + 1) + std::to_string(number + ahead) + ".tmp"; };
  for (int ahead = 1; ahead <= 3; ++ahead) put(left_over(ahead), "left over");
  ASSERT_TRUE(write_file_atomic(path("a"), bytes_of("new")).ok());
  EXPECT_EQ(get("a"), "new");
  for (int ahead = 1; ahead <= 3; ++ahead) EXPECT_EQ(get(left_over(ahead)), "left over");
}

// One fault at one of the calls that a write makes.
struct Fault {
  int at = -1;    // which call, counted from 0; -1: none
  int error = 0;  // errno, or 0 for a short write
  bool sticky = false;
  int calls = 0;
  bool hit() { return calls++ == at || (sticky && at >= 0 && calls > at); }
};
Fault fault;

template <class Call> auto faulty(Call&& call) -> decltype(call()) {
  if (!fault.hit() || fault.error == 0) return call();
  errno = fault.error;
  return -1;
}

void install_faults() {
  file_calls.openat = [](int folder, const char* name, int flags, unsigned mode) {
    return faulty([&] { return ::openat(folder, name, flags, mode); });
  };
  file_calls.pwrite = [](int fd, const void* from, size_t length, int64_t offset) -> ssize_t {
    if (!fault.hit()) return ::pwrite(fd, from, length, offset);
    if (fault.error != 0) return errno = fault.error, -1;
    return ::pwrite(fd, from, length / 2 + 1, offset);
  };
  file_calls.fsync = [](int fd) { return faulty([&] { return ::fsync(fd); }); };
  file_calls.close = [](int fd) {
    const int closed = ::close(fd);  // a failing close closes as well
    return faulty([&] { return closed; });
  };
  file_calls.renameat = [](int a, const char* from, int b, const char* to) { return faulty([&] { return ::renameat(a, from, b, to); }); };
}

TEST_F(Writes, EveryCallFailsOnceInEveryWay) {
  const FileCalls real = file_calls;
  const std::string fresh(700'000, 'n');
  fault = {};
  install_faults();
  ASSERT_TRUE(write_file_atomic(path("a"), bytes_of(fresh)).ok());
  const int calls = fault.calls;
  ASSERT_GE(calls, 7);
  int failures = 0, refused = 0;
  for (const bool sticky : {false, true}) {
    for (const int error : {EIO, ENOSPC, EDQUOT, EINTR, EROFS, 0}) {
      if (sticky && error == EINTR) continue;  // repeated for ever, as it should be
      for (int at = 0; at < calls; ++at) {
        file_calls = real;
        put("a", "old");
        fault = {.at = at, .error = error, .sticky = sticky};
        install_faults();
        const Status status = write_file_atomic(path("a"), bytes_of(fresh));
        file_calls = real;
        const std::string now = get("a");
        ASSERT_TRUE(now == "old" || now == fresh) << at << " " << error;
        if (status.ok()) {
          ASSERT_EQ(now, fresh) << at << " " << error;
        } else {
          ++failures;
          refused += now == "old";
          ASSERT_TRUE(error != EINTR && error != 0) << at << " " << status.error().str();
          ASSERT_EQ(status.error().code, Code::kIo);
        }
        ASSERT_EQ(names(), "a ") << at << " " << error;
      }
    }
  }
  EXPECT_GT(failures, 20);
  EXPECT_GT(refused, 15);
}

// What can be made again waits for no disk; it replaces the old file as a whole all the same.
TEST_F(Writes, WithoutSync) {
  const FileCalls real = file_calls;
  put("a", "old");
  file_calls.fsync = [](int) { return errno = EIO, -1; };
  const Status lasting = write_file_atomic(path("a"), bytes_of("new"));
  EXPECT_EQ(get("a"), "old");
  const Status quick = write_file_atomic(path("a"), bytes_of("new"), 0600, /*durable=*/false);
  file_calls = real;
  EXPECT_FALSE(lasting.ok());
  EXPECT_TRUE(quick.ok());
  EXPECT_EQ(get("a"), "new");
  EXPECT_EQ(names(), "a ");
}

TEST_F(Writes, AKilledWriterLeavesTheOldFileOrTheNewOne) {
  const auto version = [](int n) { return std::string(200'000, static_cast<char>('a' + n % 26)); };
  put("a", version(0));
  int changed = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string before = get("a");
    const pid_t child = ::fork();
    if (child == 0) {
      for (int n = before[0] - 'a' + 1;; ++n) (void)write_file_atomic(path("a"), bytes_of(version(n)));
    }
    ::usleep(static_cast<useconds_t>(1000 + round * 37 % 3000));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::string now = get("a");
    ASSERT_EQ(now, version(now[0] - 'a'));
    changed += now != before;
  }
  EXPECT_GT(changed, 0);
}

}  // namespace
}  // namespace nnc
