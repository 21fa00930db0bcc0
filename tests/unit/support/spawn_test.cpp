#include "ir/support/spawn.h"

#include <elf.h>
#include <fcntl.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "ir/support/text.h"
#include "tests/unit/support/scratch.h"

namespace nnc {
namespace {

class Spawn : public Scratch {};

SpawnRequest script(const std::string& text) {
  SpawnRequest request;
  request.program = "/bin/sh";
  request.arguments = {"-c", text};
  request.timeout_ms = 30'000;
  return request;
}
SpawnOutcome run(const SpawnRequest& request) {
  auto outcome = spawn(request);
  EXPECT_TRUE(outcome.ok()) << outcome.error().str();
  return outcome.ok() ? std::move(outcome).value() : SpawnOutcome();
}
// A process that is gone, or a zombie that nobody here can reap.
bool is_dead(std::string_view pid) {
  const auto status = read_system_file(cat("/proc/", pid, "/status"), 1 << 20);
  return !status.ok() || text_of(*status).find("State:\tZ") != std::string_view::npos;
}
bool dies_soon(std::string_view pid) {
  for (int i = 0; i < 500 && !is_dead(pid); ++i) ::usleep(10'000);
  return is_dead(pid);
}

TEST_F(Spawn, StreamsAndExitCode) {
  SpawnRequest request = script("cat; echo complaint >&2; exit 3");
  request.input = bytes_of("from us\n");
  const SpawnOutcome outcome = run(request);
  EXPECT_EQ(outcome.out, "from us\n");
  EXPECT_EQ(outcome.err, "complaint\n");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.describe(), "ended with exit code 3");
  EXPECT_TRUE(run(script("exit 0")).ok());
}

TEST_F(Spawn, LargeInputAndCutOutput) {
  const std::string text(3'000'000, 'z');
  SpawnRequest request = script("tee /dev/stderr");
  request.input = bytes_of(text);
  SpawnOutcome outcome = run(request);
  EXPECT_EQ(outcome.out, text);
  EXPECT_EQ(outcome.err, text);
  EXPECT_FALSE(outcome.out_cut || outcome.err_cut);
  request.max_output = 1000;
  outcome = run(request);
  EXPECT_EQ(outcome.out, text.substr(0, 1000));
  EXPECT_TRUE(outcome.out_cut && outcome.err_cut);
  EXPECT_TRUE(outcome.ok());
}

TEST_F(Spawn, ArgumentsAreNotInterpreted) {
  SpawnRequest request;
  request.program = "/usr/bin/printf";
  const std::vector<std::string> hostile = {"$(touch x)", "; rm -rf /",        "`id`", "a b", "", "'", "\"", "\\", "\n", "*", "\xff\x01",
                                            "-n",         "&& false | cat > x"};
  request.arguments = {"[%s]"};
  request.arguments.insert(request.arguments.end(), hostile.begin(), hostile.end());
  EXPECT_EQ(run(request).out, join(hostile, "", [](const std::string& s) { return cat("[", s, "]"); }));
}

TEST_F(Spawn, NothingOfTheEnvironmentPasses) {
  for (const char* name : {"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "CPATH", "TMPDIR", "BASH_ENV", "ENV", "GCC_EXEC_PREFIX"}) {
    const char* value = std::getenv(name);
    const std::string kept = value ? value : "";
    ::setenv(name, "/poisoned", 1);
    SpawnRequest request;
    request.program = "/usr/bin/env";
    EXPECT_EQ(run(request).out, "LC_ALL=C\nPATH=/usr/bin:/bin\n") << name;
    request.environment = spawn_environment("/t");
    EXPECT_EQ(run(request).out, "LC_ALL=C\nPATH=/usr/bin:/bin\nTMPDIR=/t\n") << name;
    value ? ::setenv(name, kept.c_str(), 1) : ::unsetenv(name);
  }
}

// What really happens with a compiler: folders full of traps stand where the environment points.
TEST_F(Spawn, APoisonedEnvironmentDoesNotReachTheCompiler) {
  if (::access("/usr/bin/c++", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/c++";
  make_folder("traps");
  for (const char* tool : {"as", "ld", "cc1plus", "collect2", "c++", "g++", "sh"}) {
    put(std::string("traps/") + tool, "#!/bin/sh\necho TRAP\nexit 9\n");
    ASSERT_EQ(::chmod(path(std::string("traps/") + tool).c_str(), 0700), 0);
  }
  put("traps/stddef.h", "#error TRAP\n");
  const char* names[] = {"PATH", "CPATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "TMPDIR", "LD_PRELOAD"};
  std::vector<std::string> kept;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    kept.emplace_back(value ? value : "");
    ::setenv(name,
             name == std::string("TMPDIR")       ? "/nonexistent"
             : name == std::string("LD_PRELOAD") ? path("traps/as").c_str()
                                                 : path("traps").c_str(),
             1);
  }
  SpawnRequest request;
  request.program = "/usr/bin/c++";
  request.arguments = {"-x", "c++", "-", "-shared", "-fPIC", "-o", path("out.so")};
  request.environment = spawn_environment(path());
  request.folder = path();
  request.input = bytes_of("#include <stddef.h>\nextern \"C\" size_t three() { return 3; }\n");
  const SpawnOutcome outcome = run(request);
  EXPECT_TRUE(outcome.ok()) << outcome.describe() << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(::access(path("out.so").c_str(), R_OK), 0);
  for (size_t i = 0; i < std::size(names); ++i) kept[i].empty() ? ::unsetenv(names[i]) : ::setenv(names[i], kept[i].c_str(), 1);
}

TEST_F(Spawn, TheChildHasNoDescriptorOfOurs) {
  put("a", "x");
  const int leak = ::open(path("a").c_str(), O_RDONLY);  // without O_CLOEXEC, on purpose
  const int far = ::fcntl(leak, F_DUPFD, 900);
  EXPECT_EQ(run(script("for n in $(seq 0 1000); do if [ -e /proc/$$/fd/$n ]; then echo -n $n,; fi; done")).out, "0,1,2,");
  ::close(leak);
  ::close(far);
}

TEST_F(Spawn, FolderSessionPrivilegesAndCores) {
  SpawnRequest request = script("pwd; ulimit -c; grep NoNewPrivs /proc/self/status; cut -d ' ' -f 5,6 /proc/$$/stat; echo $$ $$");
  request.folder = path();
  const SpawnOutcome outcome = run(request);
  const auto lines = split(outcome.out, '\n');
  ASSERT_EQ(lines.size(), 6u) << outcome.out;
  EXPECT_EQ(lines[0], path());
  EXPECT_EQ(lines[1], "0");
  EXPECT_EQ(lines[2], "NoNewPrivs:\t1");
  EXPECT_EQ(lines[3], lines[4]);  // leader of its group and session
}

TEST_F(Spawn, TimeoutKillsTheWholeFamily) {
  SpawnRequest request = script("sleep 1000 & echo $!; echo before; sleep 1000");
  request.timeout_ms = 300;
  const SpawnOutcome outcome = run(request);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.exit_code, -1);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_EQ(outcome.describe(), "took too long and was killed");
  const auto lines = split(outcome.out, '\n');
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "before");
  EXPECT_TRUE(dies_soon(lines[0]));
}

TEST_F(Spawn, EndlessOutputDoesNotOutliveTheTimeout) {
  SpawnRequest request = script("yes");
  request.timeout_ms = 300;
  request.max_output = 100;
  const SpawnOutcome outcome = run(request);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.out.size(), 100u);
}

TEST_F(Spawn, WhatStaysBehindIsKilled) {
  const SpawnOutcome outcome = run(script("sleep 1000 & echo $!"));
  EXPECT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_TRUE(dies_soon(trim(outcome.out)));
  // One in a session of its own escapes the kill, but we do not wait for it.
  const SpawnOutcome escaped = run(script("setsid sleep 3 & echo done"));
  EXPECT_EQ(escaped.out, "done\n");
  EXPECT_FALSE(escaped.timed_out);
}

TEST_F(Spawn, LimitOnTime) {
  SpawnRequest request = script("while :; do :; done");
  request.cpu_seconds = 1;
  const SpawnOutcome outcome = run(request);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_TRUE(outcome.signal == SIGXCPU || outcome.signal == SIGKILL) << outcome.describe();
}

TEST_F(Spawn, LimitOnMemory) {
  SpawnRequest request;
  request.program = "/bin/dd";
  request.arguments = {"if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"};
  EXPECT_TRUE(run(request).ok());
  request.memory_bytes = 100 << 20;
  EXPECT_EQ(run(request).exit_code, 1);
}

TEST_F(Spawn, LimitOnFiles) {
  SpawnRequest request;
  request.program = "/bin/dd";
  request.arguments = {"if=/dev/zero", "of=" + path("big"), "bs=64K", "count=16"};
  EXPECT_TRUE(run(request).ok());
  request.file_bytes = 128 << 10;
  const SpawnOutcome outcome = run(request);
  EXPECT_EQ(outcome.signal, SIGXFSZ) << outcome.describe();
  EXPECT_EQ(get("big").size(), 128u << 10);
}

TEST_F(Spawn, ProgramsThatCannotRun) {
  put("text", "no program");
  ASSERT_EQ(::chmod(path("text").c_str(), 0600), 0);
  for (const std::string& program : {std::string("/nonexistent/program"), path(), path("text"), path("text/below")}) {
    SpawnRequest request;
    request.program = program;
    const auto outcome = spawn(request);
    ASSERT_FALSE(outcome.ok()) << program;
    EXPECT_EQ(outcome.error().code, Code::kIo);
    EXPECT_NE(outcome.error().message.find("cannot run the program"), std::string::npos) << outcome.error().str();
  }
  SpawnRequest request = script("true");
  request.folder = "/nonexistent";
  EXPECT_NE(spawn(request).error().message.find("cannot enter its folder"), std::string::npos);
  request = script("true");
  request.arguments.push_back(std::string("a\0b", 3));
  EXPECT_EQ(spawn(request).error().code, Code::kIo);
  request = script("true");
  request.arguments.push_back(std::string(4 << 20, 'a'));  // longer than the system passes
  EXPECT_EQ(spawn(request).error().code, Code::kIo);
}

TEST_F(Spawn, SignalsAreReported) {
  const SpawnOutcome outcome = run(script("kill -SEGV $$"));
  EXPECT_EQ(outcome.signal, SIGSEGV);
  EXPECT_EQ(outcome.describe(), "was ended by signal 11 (Segmentation fault)");
}

TEST_F(Spawn, SignalHandlingOfOursIsNotInherited) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  EXPECT_EQ(run(script("kill -PIPE $$; echo alive")).signal, SIGPIPE);
  EXPECT_EQ(run(script("kill -TERM $$; echo alive")).signal, SIGTERM);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  std::signal(SIGPIPE, before);
}

TEST_F(Spawn, AProcessThatIgnoresItsChildrenGetsAnError) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const auto outcome = spawn(script("true"));
  std::signal(SIGCHLD, before);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().str().find("SIGCHLD"), std::string::npos);
}

TEST_F(Spawn, FromManyThreadsAtOnce) {
  std::atomic<bool> stop{false};
  std::thread allocator([&stop] {
    while (!stop) std::vector<std::string>(100, std::string(100, 'x')).clear();
  });
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&good, t] {
      for (int i = 0; i < 8; ++i) {
        SpawnRequest request = script("cat; exit $0");
        request.arguments.push_back(std::to_string(t));
        const std::string text = cat("thread ", t, " round ", i);
        request.input = bytes_of(text);
        const auto outcome = spawn(request);
        good += outcome.ok() && outcome->out == text && outcome->exit_code == t;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  stop = true;
  allocator.join();
  EXPECT_EQ(good, 48);
}

TEST(SpawnDeathTest, WorksWithStandardStreamsClosed) {
  EXPECT_EXIT(
      {
        for (int fd = 0; fd < 3; ++fd) ::close(fd);
        SpawnRequest request = script("cat; echo e >&2");
        request.input = bytes_of("in");
        const auto outcome = spawn(request);
        ::_exit(outcome.ok() && outcome->out == "in" && outcome->err == "e\n" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(SpawnDeathTest, ARelativeProgramIsABug) {
  SpawnRequest request;
  request.program = "sh";
  EXPECT_DEATH((void)spawn(request), "absolute");
}

// The binary asks the C library for none of the functions that search a PATH or start a shell.
TEST(SpawnSymbols, NoShellAndNoSearchIsLinked) {
  const auto file = read_file("/proc/self/exe", int64_t{1} << 31);
  ASSERT_TRUE(file.ok());
  const auto at = [&file](uint64_t offset) { return file->data() + offset; };
  Elf64_Ehdr header;
  std::memcpy(&header, at(0), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), at(header.e_shoff), sections.size() * sizeof(Elf64_Shdr));
  size_t seen = 0;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, at(section.sh_offset + i * sizeof symbol), sizeof symbol);
      const std::string name = reinterpret_cast<const char*>(at(sections[section.sh_link].sh_offset + symbol.st_name));
      for (const char* banned : {"system", "popen", "execvp", "execlp", "execvpe", "posix_spawnp", "wordexp"}) EXPECT_NE(name, banned);
      seen += name == "execve";
    }
  }
  EXPECT_EQ(seen, 1u);
}

}  // namespace
}  // namespace nnc
