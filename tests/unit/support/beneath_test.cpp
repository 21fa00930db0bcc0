// Names that models gave, or could give, to files: none leads out of the model's folder, by any way of resolving them.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "ir/support/text.h"
#include "tests/unit/support/scratch.h"

namespace nnc {
namespace {

constexpr std::string_view kInside = "inside", kSecret = "SECRET";

class Beneath : public Scratch, public testing::WithParamInterface<Resolution> {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    put("secret.txt", kSecret);
    make_folder("outside");
    put("outside/w.bin", kSecret);
    make_folder("m");
    make_folder("m/sub");
    make_folder("m/sub/deeper");
    for (const char* name : {"m/w.bin", "m/sub/w.bin", "m/sub/deeper/x.bin", "m/-rf", "m/...", "m/with space", "m/a\\b", "m/li\nne",
                             "m/\"q\"", "m/\xe2\x80\xae.bin", "m/~", "m/C:"}) {
      put(name, kInside);
    }
  }
  Result<ReadFile> open(std::string_view name) const { return open_beneath(path("m"), name, GetParam()); }
  void expect_refused(std::string_view name, Code code) const {
    const auto file = open(name);
    ASSERT_FALSE(file.ok()) << quote(name);
    EXPECT_EQ(file.error().code, code) << file.error().str();
    EXPECT_LT(file.error().str().size(), 6000u);
  }
  static std::string text(const Result<ReadFile>& file) {
    if (!file.ok()) return file.error().str();
    const auto bytes = file->read_all(1000);
    return bytes.ok() ? std::string(text_of(*bytes)) : bytes.error().str();
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Beneath, testing::Values(Resolution::kAuto, Resolution::kKernel, Resolution::kWalk), [](const auto& way) {
  return way.param == Resolution::kAuto ? "auto" : way.param == Resolution::kKernel ? "kernel" : "walk";
});

TEST_P(Beneath, FilesOfTheFolderOpen) {
  for (const char* name : {"w.bin", "./w.bin", "sub/w.bin", "sub//w.bin", "sub/./w.bin", ".//sub/./deeper///x.bin", "-rf", "...",
                           "with space", "a\\b", "li\nne", "\"q\"", "\xe2\x80\xae.bin", "~", "C:"}) {
    const auto file = open(name);
    EXPECT_EQ(text(file), kInside) << name;
    if (file.ok()) { EXPECT_EQ(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC); }
  }
}

TEST_P(Beneath, PathsThatLeaveTheFolder) {
  for (const std::string& name :
       {std::string(".."), std::string("../secret.txt"), std::string("sub/../../secret.txt"), std::string("sub/../w.bin"),
        std::string("./../m/w.bin"), std::string("sub/.."), std::string("../"), std::string("../m/w.bin"),
        std::string("sub/deeper/../../../secret.txt"), path("secret.txt"), path("m/w.bin"), std::string("//w.bin"), std::string("/"),
        std::string("/etc/passwd"), std::string("/proc/self/environ"), std::string("/dev/zero")}) {
    expect_refused(name, Code::kPathEscape);
  }
}

TEST_P(Beneath, SymbolicLinks) {
  make_link("w.bin", "m/link_in");
  make_link("../secret.txt", "m/link_out");
  make_link("/etc/passwd", "m/link_absolute");
  make_link("nothing", "m/link_dangling");
  make_link("link_loop", "m/link_loop");
  make_link("link_in", "m/link_chain");
  make_link("sub", "m/dir_in");
  make_link("..", "m/dir_out");
  make_link("/", "m/dir_root");
  make_link("/proc/self/fd", "m/dir_proc");
  make_link("/proc/self/environ", "m/link_proc");
  make_link(".", "m/sub/dot");
  for (const char* name : {"link_in", "./link_in", "link_out", "link_absolute", "link_dangling", "link_loop", "link_chain", "link_proc",
                           "dir_in/w.bin", "dir_out/secret.txt", "dir_out/m/w.bin", "dir_root/etc/passwd", "dir_proc/0", "sub/dot/w.bin"}) {
    expect_refused(name, Code::kPathEscape);
  }
}

TEST_P(Beneath, HardLinks) {
  make_hard_link("secret.txt", "m/hard_out");
  make_hard_link("m/w.bin", "m/sub/hard_in");
  for (const char* name : {"hard_out", "sub/hard_in", "w.bin"}) expect_refused(name, Code::kPathEscape);
}

TEST_P(Beneath, WhatIsNoFile) {
  ASSERT_EQ(::mkfifo(path("m/pipe").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path("m/socket").c_str());
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const char* name : {"pipe", "socket", "sub", "sub/deeper", "sub/", "sub/.", ".", "./", "w.bin/", "w.bin/.", "./."}) {
    expect_refused(name, Code::kInvalidData);
  }
  ::close(listener);
}

TEST_P(Beneath, NamesThatAreNoNames) {
  const std::string deep = [] {
    std::string s;
    for (int i = 0; i < 3000; ++i) s += "a/";
    return s + "b";
  }();
  for (const std::string& name :
       {std::string(), std::string("w.bin\0.txt", 10), std::string(1, '\0'), std::string("\0/etc/passwd", 12), std::string(256, 'n'),
        std::string("sub/") + std::string(300, 'n'), std::string(5000, 'n'), std::string(64 << 10, 'n'), deep}) {
    expect_refused(name, Code::kInvalidData);
  }
  for (const std::string& name :
       {std::string("..\\secret.txt"), std::string("file:///etc/passwd"), std::string("~/w.bin"), std::string("$HOME/w.bin"),
        std::string("%2e%2e/secret.txt"), std::string("*"), std::string("w.bin "), std::string(" w.bin"), std::string(255, 'n'),
        std::string("w.bin/x"), std::string("missing/w.bin"), std::string("*ORT_MEM_ADDR*")}) {
    expect_refused(name, Code::kIo);
  }
}

TEST_P(Beneath, DevicesAndProcess) {
  EXPECT_EQ(open_beneath("/dev", "null", GetParam()).error().code, Code::kInvalidData);
  EXPECT_EQ(open_beneath("/dev", "zero", GetParam()).error().code, Code::kInvalidData);
  EXPECT_EQ(open_beneath("/proc/self", "exe", GetParam()).error().code, Code::kPathEscape);
  EXPECT_EQ(open_beneath("/proc/self", "fd/0", GetParam()).error().code, Code::kPathEscape);
  EXPECT_EQ(open_beneath("/proc/self", "root/etc/passwd", GetParam()).error().code, Code::kPathEscape);
  EXPECT_EQ(open_beneath("/proc", "self/environ", GetParam()).error().code, Code::kPathEscape);
}

TEST_P(Beneath, TheFolderItself) {
  make_link("m", "m_link");
  EXPECT_EQ(text(open_beneath(path("m_link"), "w.bin", GetParam())), kInside);
  EXPECT_EQ(text(open_beneath(path("m/"), "w.bin", GetParam())), kInside);
  EXPECT_EQ(open_beneath(path("secret.txt"), "w.bin", GetParam()).error().code, Code::kIo);
  EXPECT_EQ(open_beneath(path("nowhere"), "w.bin", GetParam()).error().code, Code::kIo);
}

TEST_P(Beneath, TheMessageSaysWhatLiesThere) {
  put("m/renamed.onnx.data", "");
  const std::string message = open("model.onnx.data").error().str();
  EXPECT_NE(message.find("the model names the file \"model.onnx.data\"; there is none in \"" + path("m") + "\""), std::string::npos)
      << message;
  EXPECT_NE(message.find("holds \"renamed.onnx.data\", "), std::string::npos) << message;
  EXPECT_NE(message.find(" more"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n', message.find("holds")), std::string::npos) << message;
  const std::string below = open("sub/v.bin").error().str();
  EXPECT_NE(below.find("/sub\" holds \"w.bin\", \"deeper/\""), std::string::npos) << below;
  EXPECT_NE(open("sub/deeper/x.bin/y").error().str().find("/sub/deeper\" holds \"x.bin\""), std::string::npos);
  make_folder("m/void");
  EXPECT_NE(open("void/x").error().str().find("/void\" is empty"), std::string::npos);
}

TEST_P(Beneath, BoundsAreThoseOfTheFile) {
  const auto file = open("w.bin");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 6);
  EXPECT_FALSE(file->read(0, 7).ok());
  EXPECT_FALSE(file->read(INT64_MAX - 1, 4).ok());
}

// Before the n-th call that opens something, the attacker acts.
int calls_until_attack = 0;
std::function<void()> attack;
void attack_when_due() {
  if (calls_until_attack-- == 0) attack();
}

TEST_P(Beneath, SwapsBetweenTheSteps) {
  const std::string sub = path("m/sub"), aside = path("m/aside"), outside = path("outside"), file = path("m/sub/w.bin"),
                    secret = path("secret.txt");
  const std::function<void()> attacks[] = {
      [&] { (void)::rename(sub.c_str(), aside.c_str()), (void)::symlink(outside.c_str(), sub.c_str()); },
      [&] { (void)::rename(sub.c_str(), aside.c_str()), (void)::symlink("..", sub.c_str()); },
      [&] { (void)::unlink(file.c_str()), (void)::symlink(secret.c_str(), file.c_str()); },
      [&] { (void)::unlink(file.c_str()), (void)::link(secret.c_str(), file.c_str()); },
      [&] { (void)::unlink(file.c_str()), (void)::mkfifo(file.c_str(), 0600); },
      [&] { (void)::rename(sub.c_str(), path("moved_out").c_str()); },
  };
  int refused = 0, served = 0;
  for (const auto& way : attacks) {
    for (int step = 0; step < 6; ++step) {
      calls_until_attack = step;
      attack = way;
      file_calls.openat = [](int folder, const char* name, int flags, unsigned mode) {
        attack_when_due();
        return ::openat(folder, name, flags, mode);
      };
      const auto kernel = FileCalls(file_calls).openat2;
      static int (*real_openat2)(int, const char*, uint64_t, uint64_t) = nullptr;
      if (!real_openat2) real_openat2 = kernel;
      file_calls.openat2 = [](int folder, const char* name, uint64_t flags, uint64_t resolve) {
        attack_when_due();
        return real_openat2(folder, name, flags, resolve);
      };
      const std::string got = text(open("sub/w.bin"));
      ASSERT_EQ(got.find(kSecret), std::string::npos) << step;
      (got == kInside ? served : refused) += 1;
      // Back to the beginning.
      file_calls.openat = [](int folder, const char* name, int flags, unsigned mode) { return ::openat(folder, name, flags, mode); };
      file_calls.openat2 = real_openat2;
      if (::access(path("m/aside").c_str(), F_OK) == 0) {
        ::unlink(sub.c_str());
        ::rename(aside.c_str(), sub.c_str());
      }
      if (::access(path("moved_out").c_str(), F_OK) == 0) ::rename(path("moved_out").c_str(), sub.c_str());
      ::unlink(file.c_str());
      put("m/sub/w.bin", kInside);
    }
  }
  EXPECT_GT(refused, 4);
  EXPECT_GT(served, 4);
}

TEST_P(Beneath, SwapsByARacingThread) {
  make_link("../outside", "m/sub2");
  make_link("../secret.txt", "m/w2.bin");
  std::atomic<bool> stop{false};
  std::thread racer([&] {
    constexpr unsigned kExchange = 2;
    while (!stop.load(std::memory_order_relaxed)) {
      (void)::syscall(SYS_renameat2, AT_FDCWD, path("m/sub").c_str(), AT_FDCWD, path("m/sub2").c_str(), kExchange);
      (void)::syscall(SYS_renameat2, AT_FDCWD, path("m/w.bin").c_str(), AT_FDCWD, path("m/w2.bin").c_str(), kExchange);
    }
  });
  int served = 0;
  for (int round = 0; round < 3000; ++round) {
    for (const char* name : {"w.bin", "sub/w.bin"}) {
      const auto file = open(name);
      if (!file.ok()) {
        // The link may be gone again when the walk looks for the reason.
        EXPECT_TRUE(file.error().code == Code::kPathEscape || file.error().code == Code::kIo) << file.error().str();
        continue;
      }
      ASSERT_EQ(text(file), kInside);
      ++served;
    }
  }
  stop = true;
  racer.join();
  EXPECT_GT(served, 0);
}

class Fallback : public Scratch {};

TEST_F(Fallback, WithoutTheCallTheWalkServes) {
  put("w.bin", kInside);
  make_link("w.bin", "link");
  for (const int error : {ENOSYS, EPERM, EINVAL, E2BIG}) {
    static int reported;
    reported = error;
    file_calls.openat2 = [](int, const char*, uint64_t, uint64_t) { return errno = reported, -1; };
    EXPECT_TRUE(open_beneath(path(), "w.bin").ok()) << error;
    EXPECT_EQ(open_beneath(path(), "link").error().code, Code::kPathEscape) << error;
    EXPECT_FALSE(open_beneath(path(), "w.bin", Resolution::kKernel).ok()) << error;
  }
}

TEST_F(Fallback, TheKernelIsAskedAgainAndThenGivesUp) {
  put("w.bin", kInside);
  static int calls;
  calls = 0;
  static const auto real = file_calls.openat2;
  file_calls.openat2 = [](int folder, const char* name, uint64_t flags, uint64_t resolve) {
    if (++calls % 3 != 0) return errno = calls % 3 == 1 ? EAGAIN : EINTR, -1;
    return real(folder, name, flags, resolve);
  };
  EXPECT_TRUE(open_beneath(path(), "w.bin").ok());
  EXPECT_EQ(calls, 3);
  file_calls.openat2 = [](int, const char*, uint64_t, uint64_t) { return errno = EAGAIN, -1; };
  EXPECT_EQ(open_beneath(path(), "w.bin").error().code, Code::kIo);
}

}  // namespace
}  // namespace nnc
