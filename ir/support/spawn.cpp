#include "ir/support/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "ir/support/file.h"
#include "ir/support/file_internal.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr int64_t kTickMs = 20;  // how often a silent child is looked at

// All that the child needs, made before it exists: between its start and the new program it may neither allocate nor lock.
struct ChildPlan {
  const char* program = nullptr;
  const char* folder = nullptr;
  std::vector<char*> argv, envp;
  std::array<int, 3> standard{};  // become 0, 1, 2; all above 2
  std::array<std::pair<int, rlim_t>, 4> limits{};
  size_t limit_count = 0;
  int highest_fd = 0;
  pid_t parent = 0;
};

// What the child could not do. It shares our memory until it has become the new program.
struct ChildFailure {
  volatile int error = 0;
  const char* volatile step = nullptr;
};

// Runs in the child.
[[noreturn]] void become(const ChildPlan& plan, const sigset_t& all_signals, ChildFailure& failure) {
  const auto fail = [&failure](const char* step) {
    failure.error = errno;
    failure.step = step;
    ::_exit(127);
  };
  // Handlers go before signals come: ours must not run in here, and what we ignore is not the new program's choice.
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  if (::setsid() < 0) fail("start a session");
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != plan.parent) fail("follow its parent");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("renounce privileges");
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(plan.standard[static_cast<size_t>(fd)], fd) < 0) fail("set its standard streams");
  }
  if (::syscall(SYS_close_range, 3u, ~0u, 0u) != 0) {
    for (int fd = 3; fd <= plan.highest_fd; ++fd) ::close(fd);
  }
  if (::chdir(plan.folder) != 0) fail("enter its folder");
  for (size_t i = 0; i < plan.limit_count; ++i) {
    const auto kind = static_cast<__rlimit_resource>(plan.limits[i].first);
    rlimit limit{};
    if (::getrlimit(kind, &limit) != 0) fail("read its limits");
    limit.rlim_max = std::min(limit.rlim_max, plan.limits[i].second);  // only the system raises what we were given
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(kind, &limit) != 0) fail("set its limits");
  }
  sigset_t none = all_signals;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.program, plan.argv.data(), plan.envp.data());
  fail("run the program");
  __builtin_unreachable();
}

// No other thread of ours is stopped, so it may change nothing that `become` reads. Kept apart so that nothing of the caller's frame is
// shared with the child.
__attribute__((noinline)) pid_t start(const ChildPlan& plan, ChildFailure& failure) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan, all, failure);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

Result<FileHandle> input_file(ByteView input) {
  FileHandle handle(::memfd_create("nnc-input", MFD_CLOEXEC));
  if (!handle) return system_error("cannot make the input of", "a child", errno);
  while (!input.empty()) {
    const ssize_t put = uninterrupted([&] { return ::write(handle.get(), input.data(), input.size()); });
    if (put <= 0) return system_error("cannot write the input of", "a child", put < 0 ? errno : ENOSPC);
    input = input.subspan(static_cast<size_t>(put));
  }
  if (::lseek(handle.get(), 0, SEEK_SET) != 0) return system_error("cannot rewind the input of", "a child", errno);
  return handle;
}

// A descriptor above 2, so that it survives the child's own shuffling.
Result<FileHandle> above_standard(FileHandle handle) {
  if (handle.get() > 2) return handle;
  FileHandle moved(::fcntl(handle.get(), F_DUPFD_CLOEXEC, 3));
  if (!moved) return system_error("cannot duplicate a descriptor for", "a child", errno);
  return moved;
}

struct Pipe {
  FileHandle read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe to", "a child", errno);
  FileHandle read(ends[0]), write(ends[1]);
  Pipe pipe;
  NNC_ASSIGN(pipe.read, above_standard(std::move(read)));
  NNC_ASSIGN(pipe.write, above_standard(std::move(write)));
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// Takes what is there, but not for ever from one that writes without end; false at the end of the stream.
bool drain(int fd, int64_t max, std::string* text, bool* cut) {
  constexpr int kReads = 256;
  char buffer[16384];
  for (int i = 0; i < kReads; ++i) {
    const ssize_t got = uninterrupted([&] { return ::read(fd, buffer, sizeof buffer); });
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const auto room = static_cast<size_t>(std::max<int64_t>(0, max - static_cast<int64_t>(text->size())));
    const auto kept = std::min(room, static_cast<size_t>(got));
    text->append(buffer, kept);
    *cut |= kept < static_cast<size_t>(got);
  }
  return true;
}

enum class ChildState : uint8_t { kRuns, kEnded, kLost };

// Leaves an ended child unreaped, so that its number stays its own. Lost: somebody else took it, or this process ignores SIGCHLD.
ChildState look_at(pid_t pid, int more_flags) {
  siginfo_t info{};
  const int looked = uninterrupted([&] { return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | more_flags); });
  if (looked != 0) return ChildState::kLost;
  return info.si_pid != 0 ? ChildState::kEnded : ChildState::kRuns;
}

// Collects both outputs until the child has ended, or kills it in time.
ChildState collect(pid_t pid, const SpawnRequest& request, const FileHandle& out, const FileHandle& err, SpawnOutcome* outcome) {
  const int64_t deadline = now_ms() + request.timeout_ms;
  bool out_open = true, err_open = true;
  for (ChildState state = ChildState::kRuns;;) {
    if (out_open) out_open = drain(out.get(), request.max_output, &outcome->out, &outcome->out_cut);
    if (err_open) err_open = drain(err.get(), request.max_output, &outcome->err, &outcome->err_cut);
    if (state != ChildState::kRuns) return state;
    state = look_at(pid, WNOHANG);
    const int64_t left = deadline - now_ms();
    if (state == ChildState::kRuns && left <= 0) {
      outcome->timed_out = true;
      ::kill(-pid, SIGKILL);
      state = look_at(pid, 0);
    }
    if (state == ChildState::kEnded) ::kill(-pid, SIGKILL);  // what it left running
    if (state != ChildState::kRuns) continue;                // what it wrote last is still in the pipes
    pollfd fds[2] = {{out_open ? out.get() : -1, POLLIN, 0}, {err_open ? err.get() : -1, POLLIN, 0}};
    // With both streams closed nothing wakes us but time.
    ::poll(fds, 2, static_cast<int>(std::min(left, out_open || err_open ? kTickMs : 1)));
  }
}

Status check(const SpawnRequest& request) {
  const auto bad = [](const std::string& text) { return text.find('\0') != text.npos; };
  NNC_CHECK(request.program.starts_with('/') && request.folder.starts_with('/'), "a child's program and folder are absolute paths");
  bool zero = bad(request.program) || bad(request.folder);
  for (const std::string& argument : request.arguments) zero |= bad(argument);
  for (const std::string& variable : request.environment) zero |= bad(variable);
  if (zero) return Error(Code::kIo, cat("cannot run ", quote(request.program), ": an argument has a zero byte"));
  return {};
}

void add_limits(const SpawnRequest& request, ChildPlan* plan) {
  const auto add = [plan](int resource, int64_t value) {
    if (value > 0) plan->limits[plan->limit_count++] = {resource, static_cast<rlim_t>(value)};
  };
  add(RLIMIT_CPU, request.cpu_seconds);
  add(RLIMIT_AS, request.memory_bytes);
  add(RLIMIT_FSIZE, request.file_bytes);
  plan->limits[plan->limit_count++] = {RLIMIT_CORE, 0};
}

char* pointer(const std::string& text) { return const_cast<char*>(text.c_str()); }

// Points into its arguments.
ChildPlan make_plan(const SpawnRequest& request, const std::vector<std::string>& environment) {
  ChildPlan plan;
  plan.program = request.program.c_str();
  plan.folder = request.folder.c_str();
  plan.argv.push_back(pointer(request.program));
  for (const std::string& argument : request.arguments) plan.argv.push_back(pointer(argument));
  plan.argv.push_back(nullptr);
  for (const std::string& variable : environment) plan.envp.push_back(pointer(variable));
  plan.envp.push_back(nullptr);
  add_limits(request, &plan);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  plan.highest_fd = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 1 << 16));
  plan.parent = ::getpid();
  return plan;
}

}  // namespace

std::string SpawnOutcome::describe() const {
  if (timed_out) return "took too long and was killed";
  if (signal == 0) return cat("ended with exit code ", exit_code);
  const char* name = sigdescr_np(signal);
  return cat("was ended by signal ", signal, name ? cat(" (", name, ")") : "");
}

std::vector<std::string> spawn_environment(const std::string& temp_folder) {
  std::vector<std::string> variables = {"LC_ALL=C", "PATH=/usr/bin:/bin"};
  if (!temp_folder.empty()) variables.push_back(cat("TMPDIR=", temp_folder));
  return variables;
}

Result<SpawnOutcome> spawn(const SpawnRequest& request) {
  NNC_TRY(check(request));
  NNC_ASSIGN(FileHandle raw_input, input_file(request.input));
  NNC_ASSIGN(const FileHandle input, above_standard(std::move(raw_input)));
  NNC_ASSIGN(Pipe out, make_pipe());
  NNC_ASSIGN(Pipe err, make_pipe());

  const std::vector<std::string> environment = request.environment.empty() ? spawn_environment() : request.environment;
  ChildPlan plan = make_plan(request, environment);
  plan.standard = {input.get(), out.write.get(), err.write.get()};
  ChildFailure failure;
  const pid_t pid = start(plan, failure);
  if (pid < 0) return system_error("cannot start", request.program, errno);
  out.write = FileHandle();
  err.write = FileHandle();
  SpawnOutcome outcome;
  const ChildState state = collect(pid, request, out.read, err.read, &outcome);
  int status = 0;
  if (state == ChildState::kLost || uninterrupted([&] { return ::waitpid(pid, &status, 0); }) != pid) {
    return system_error("cannot learn the end of", request.program, ECHILD)
        .with("expected: a process that neither ignores SIGCHLD nor reaps all children");
  }
  if (failure.step) {
    const char* step = failure.step;
    return system_error(cat("cannot ", step, ":"), request.program, failure.error);
  }
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace nnc
