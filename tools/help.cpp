// `nnc help`, and the texts that --help and a bare `nnc` show. All of it comes out of the tables.

#include <algorithm>

#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/document.h"

namespace nnc::tool {

namespace {

// `text` in lines of at most `width`, the second and later ones indented.
std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out, line;
  width = std::max<size_t>(width, indent + 30);
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      append(out, line, "\n", std::string(indent, ' '));
      line.clear();
    }
    append(line, line.empty() ? "" : " ", word);
  }
  return out + line;
}

std::string flag_text(const Flag& f) {
  std::string out = f.letter != 0 ? cat("-", f.letter, ", ") : std::string("    ");
  append(out, "--", f.name);
  if (f.kind == FlagKind::kOptional)
    append(out, "[=", f.value, "]");
  else if (f.kind != FlagKind::kSwitch)
    append(out, " ", f.value);
  return out;
}

}  // namespace

std::string command_help(const Command& command, const Console& console) {
  const auto width = static_cast<size_t>(std::clamp(console.terminal().width, 60, 120));
  std::string out = cat(console.bold(cat("nnc ", command.name)), command.positionals.empty() ? "" : " ", command.positionals,
                        " [flags]\n  ", command.summary);
  if (!command.alias.empty()) append(out, " (also: nnc ", command.alias, ")");
  out += "\n\n";
  for (const std::string_view line : split(command.details, '\n')) append(out, "  ", line, "\n");
  append(out, "\n", console.bold("Flags"), " (each also as NNC_<FLAG> in the environment)\n");
  constexpr size_t kColumn = 26;
  for (const Flag& f : all_flags()) {
    if (!takes_flag(command, f.name)) continue;
    const std::string head = flag_text(f);
    append(out, "  ", head, head.size() + 2 < kColumn ? std::string(kColumn - head.size() - 2, ' ') : cat("\n", std::string(kColumn, ' ')),
           wrapped(f.help, kColumn, width), "\n");
  }
  return out;
}

std::string overview(const Console& console) {
  std::string out = cat("nnc ", version_text(), ": compiles neural networks and runs them\n\n");
  for (const Command& c : all_commands()) {
    const std::string head = cat(c.name, c.positionals.empty() ? "" : " ", c.positionals);
    append(out, "  nnc ", console.bold(head), std::string(head.size() < 24 ? 24 - head.size() : 1, ' '), c.summary, "\n");
  }
  append(out,
         "\nnnc help COMMAND shows flags and examples. Exit codes: 0 done, 1 a comparison failed, 2 usage, 3 model or data invalid, 4 "
         "unsupported,\n",
         "5 artifact incompatible or untrusted, 6 device or compiler missing, 7 out of memory, 8 reading or writing failed, 70 internal "
         "error, 130 interrupted.\n");
  return out;
}

Result<int> help_command(const Arguments& a, Console& console) {
  if (a.positionals.empty()) {
    console.set_json(false);
    console.print(overview(console));
    return 0;
  }
  const Command* command = find_command(a.positionals[0]);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const Command& c : all_commands()) names.emplace_back(c.name);
    return unknown_name(Code::kUsage, "command", a.positionals[0], names);
  }
  console.set_json(false);
  console.print(command_help(*command, console));
  return 0;
}

}  // namespace nnc::tool
