#include <algorithm>
#include <optional>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/model.h"

namespace nnc::tool {

namespace {

void configure(const Arguments& a, Console& console) {
  const std::string color = a.text("color", "auto"), progress = a.text("progress", "auto");
  console.set_json(a.has("json"));
  console.set_quiet(a.has("quiet"));
  console.set_color(color == "always" ? ColorMode::kAlways : color == "never" ? ColorMode::kNever : ColorMode::kAuto);
  console.set_progress(progress == "plain"  ? ProgressMode::kPlain
                       : progress == "json" ? ProgressMode::kJson
                       : progress == "none" ? ProgressMode::kNone
                                            : ProgressMode::kAuto);
}

Error unknown_command(std::string_view word) {
  std::vector<std::string> names;
  for (const Command& c : all_commands()) {
    names.emplace_back(c.name);
    if (!c.alias.empty()) names.emplace_back(c.alias);
  }
  return unknown_name(Code::kUsage, "command", word, names).with("try: nnc help");
}

// A model on standard input becomes a file, since import and artifacts read by position; `folder` keeps it as long as the command runs.
Status spool_model(std::string* model, std::optional<TempDir>* folder, Console& console) {
  NNC_ASSIGN(const Bytes bytes, console.terminal().input(kMaxModelBytes));
  NNC_ASSIGN(TempDir made, TempDir::create());
  folder->emplace(std::move(made));
  *model = cat((*folder)->path(), "/stdin");
  return write_file_atomic(*model, bytes);
}

// `nnc config run` shows what `nnc run` would take.
const Command& configured_command(const Command& command, const Arguments& a) {
  const Command* shown = command.run == config_command && !a.positionals.empty() ? find_command(a.positionals[0]) : nullptr;
  return shown == nullptr ? command : *shown;
}

Result<int> dispatch(std::span<const std::string> words, Console& console) {
  if (words.empty()) {
    console.note(overview(console));
    return exit_code(Code::kUsage);
  }
  std::string name = words[0];
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || name == "-V") name = "version";
  const Command* command = find_command(name);
  if (command == nullptr)
    return name.starts_with("-") ? Error(Code::kUsage, cat("a command expected before ", quote(name))).with("try: nnc help")
                                 : unknown_command(name);
  NNC_ASSIGN(Arguments arguments, parse_arguments(*command, words.subspan(1), console.terminal().environment));
  if (arguments.has("config")) {
    const std::string file = arguments.text("config");
    NNC_ASSIGN(const Bytes bytes, read_file(file, 1 << 20));
    NNC_ASSIGN(const std::vector<ConfigEntry> entries, parse_config(text_of(bytes), file));
    NNC_TRY(apply_config(configured_command(*command, arguments), entries, file, &arguments));
  }
  configure(arguments, console);
  if (arguments.has("help")) {
    console.set_json(false);
    console.print(command_help(*command, console));
    return 0;
  }
  const size_t n = arguments.positionals.size();
  if (n < command->min_positionals)
    return Error(Code::kUsage, cat(command->name, " needs ", command->positionals)).with(cat("try: nnc help ", command->name));
  if (n > command->max_positionals)
    return Error(Code::kUsage,
                 cat(command->name, " does not know what to do with ", quote(arguments.positionals[command->max_positionals])))
        .with(cat("try: nnc help ", command->name));
  std::optional<TempDir> folder;
  if (n > 0 && arguments.positionals[0] == "-" && command->positionals.starts_with("MODEL"))
    NNC_TRY(spool_model(&arguments.positionals[0], &folder, console));
  return command->run(arguments, console);
}

}  // namespace

int run_tool(std::span<const std::string> words, Console& console) {
  // Errors of the command line itself are told in the form that was asked for.
  console.set_json(std::ranges::find(words, "--json") != words.end());
  Result<int> outcome = dispatch(words, console);
  if (interrupted()) {
    console.note("interrupted");
    return kInterrupted;
  }
  if (const std::string problem = console.terminal().out_problem(); outcome.ok() && !problem.empty())
    outcome = Error(Code::kIo, cat("standard output cannot be written: ", problem));
  if (outcome.ok()) return *outcome;
  console.error(outcome.error());
  return exit_code(outcome.error().code);
}

}  // namespace nnc::tool
