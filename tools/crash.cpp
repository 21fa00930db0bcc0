#include "tools/crash.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "codegen/host_compiler.h"
#include "ir/base/cpu_features.h"
#include "ir/support/file.h"
#include "ir/support/spawn.h"
#include "ir/support/text.h"
#include "ir/support/xdg.h"
#include "tools/command.h"
#include "tools/document.h"

namespace nnc::tool {

namespace {

std::span<const std::string> remembered;
constexpr std::string_view kInBundle = "NNC_NO_CRASH_BUNDLE";  // set for the program that looks for the IR: it may end the same way

// The command line of `nnc dump MODEL --after-each` with those flags of the words that it takes; empty where there is no model.
std::vector<std::string> dump_words(std::span<const std::string> words, const std::string& folder) {
  const Command *command = words.empty() ? nullptr : find_command(words[0]), *dump = find_command("dump");
  if (command == nullptr || !command->positionals.starts_with("MODEL")) return {};
  const auto given = parse_arguments(*command, words.subspan(1), [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
  if (!given.ok() || given->positionals.empty() || given->positionals[0] == "-") return {};
  std::vector<std::string> out = {"dump", given->positionals[0], "--after-each", folder};
  for (const Flag& f : all_flags()) {
    if (f.kind == FlagKind::kSwitch || f.name == "output" || f.name == "after" || f.name == "after-each" || f.name == "kernels") continue;
    if (!takes_flag(*dump, f.name) || !takes_flag(*command, f.name)) continue;
    // A list of sizes is for bench; the graph is the same for one of them.
    for (const std::string& value : given->all(f.name))
      if (value.find("=[") == std::string::npos) out.insert(out.end(), {cat("--", f.name), value});
  }
  return out;
}

std::string report(std::string_view message, std::span<const std::string> words, const std::vector<std::string>& dump) {
  const auto compiler = host_compiler_version();
  std::string out = cat("nnc ", version_text(), "\nwhat      ", message, "\ncommand   nnc ",
                        join(words, " ", [](const std::string& w) { return quote(w); }), "\nprocessor ", processor_name(), "\nfeatures  ",
                        join(machine_features(), " "), "\ncompiler  ", compiler.ok() ? *compiler : compiler.error().message, "\n");
  for (const Flag& f : all_flags())
    if (const char* value = std::getenv(environment_name(f).c_str()))
      append(out, "variable  ", environment_name(f), "=", quote(value), "\n");
  if (!dump.empty()) append(out, "passes    nnc ", join(dump, " ", [](const std::string& w) { return quote(w); }), "\n");
  return out;
}

}  // namespace

void remember_words(std::span<const std::string> words) { remembered = words; }

Status write_crash_bundle(const std::string& folder, std::string_view message, std::span<const std::string> words,
                          const std::string& program) {
  NNC_TRY(ensure_private_dir(folder));
  const std::string passes = cat(folder, "/passes");
  const std::vector<std::string> dump = dump_words(words, passes);
  NNC_TRY(write_file_atomic(cat(folder, "/report.txt"), bytes_of(report(message, words, dump))));
  if (dump.empty()) return {};
  SpawnRequest request;
  request.program = program;
  request.arguments = dump;
  request.environment = spawn_environment();
  request.environment.push_back(cat(kInBundle, "=1"));
  char here[4096];
  if (::getcwd(here, sizeof here) != nullptr) request.folder = here;
  NNC_ASSIGN(const SpawnOutcome outcome, spawn(request));
  NNC_TRY(remove_file(cat(passes, "/constants.bin")));  // weights
  return write_file_atomic(cat(folder, "/passes.txt"),
                           bytes_of(cat("the program that wrote them ", outcome.describe(), "\n", outcome.err)));
}

void report_crash(const char* message) {
  if (std::getenv(std::string(kInBundle).c_str()) != nullptr) return;
  const auto state = user_dir(UserDir::kState);
  if (!state.ok()) return;
  const std::string folder = cat(*state, "/crash-", ::getpid());
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  const Status written = write_crash_bundle(folder, message, remembered, std::string(self, length > 0 ? static_cast<size_t>(length) : 0));
  const std::string said = written.ok()
                               ? cat("nnc: this is a defect of nnc. To report it, send the folder ", folder, " (no weights in it)\n")
                               : cat("nnc: this is a defect of nnc; no report could be written: ", written.error().message, "\n");
  if (::write(2, said.data(), said.size()) < 0) return;
}

}  // namespace nnc::tool
