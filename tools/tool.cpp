#include <algorithm>

#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/interrupt.h"

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
  NNC_ASSIGN(const Arguments arguments, parse_arguments(*command, words.subspan(1), console.terminal().environment));
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
  if (outcome.ok()) return *outcome;
  console.error(outcome.error());
  return exit_code(outcome.error().code);
}

}  // namespace nnc::tool
