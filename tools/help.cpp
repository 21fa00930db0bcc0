// `nnc help`, and the texts that --help and a bare `nnc` show. All of it comes out of the tables.

#include <algorithm>

#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/document.h"

namespace nnc::tool {

namespace {

std::span<const std::pair<int, std::string_view>> exit_statuses() {
  static constexpr std::pair<int, std::string_view> kStatuses[] = {{0, "done"},
                                                                   {1, "a comparison failed"},
                                                                   {2, "usage"},
                                                                   {3, "model or data invalid"},
                                                                   {4, "unsupported"},
                                                                   {5, "artifact incompatible or untrusted"},
                                                                   {6, "device or compiler missing"},
                                                                   {7, "out of memory"},
                                                                   {8, "reading or writing failed"},
                                                                   {70, "internal error"},
                                                                   {130, "interrupted"}};
  return kStatuses;
}

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

// For roff: no line starts with a command, backslashes and hyphens are themselves.
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    at_start = c == '\n';
  }
  return out;
}

std::string manual() {
  std::string out =
      cat(".TH NNC 1 \"\" \"nnc ", version_text(), "\" \"User Commands\"\n.SH NAME\nnnc \\- compiles neural networks and runs them\n",
          ".SH SYNOPSIS\n.B nnc\n.I COMMAND\n[\\fIflags\\fR] [\\fIMODEL\\fR|\\fIARTIFACT\\fR]\n.SH COMMANDS\n");
  for (const Command& c : all_commands()) {
    append(out, ".SS nnc ", roff(c.name), " ", roff(c.positionals), "\n", roff(c.summary), ".\n");
    if (!c.alias.empty()) append(out, "Also: nnc ", roff(c.alias), ".\n");
    append(
        out, ".PP\n.nf\n", roff(c.details), "\n.fi\n.PP\nFlags: ",
        c.flags.empty() ? std::string("those of all commands") : roff(join(c.flags, ", ", [](std::string_view f) { return cat("--", f); })),
        ".\n");
  }
  append(out, ".SH FLAGS\nAll commands take ", roff(join(common_flags(), ", ", [](std::string_view f) { return cat("--", f); })),
         ". Each flag also comes from NNC_<FLAG> in the environment, or from the file of --config.\n");
  for (const Flag& f : all_flags()) append(out, ".TP\n\\fB", roff(trim(flag_text(f))), "\\fR\n", roff(f.help), ".\n");
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_statuses()) append(out, ".TP\n", code, "\n", roff(meaning), "\n");
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
  append(out, "\n", console.bold("Flags"), " (each also as NNC_<FLAG> in the environment, or from --config FILE)\n");
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
  const auto width = static_cast<size_t>(std::clamp(console.terminal().width, 60, 120));
  const std::string codes = join(exit_statuses(), ", ", [](const auto& s) { return cat(s.first, " ", s.second); });
  append(out, "\n", wrapped(cat("nnc help COMMAND shows flags and examples. Exit codes: ", codes, "."), 0, width), "\n");
  return out;
}

Result<int> help_command(const Arguments& a, Console& console) {
  if (a.has("man")) {
    console.set_json(false);
    console.print(manual());
    return 0;
  }
  if (a.positionals.empty()) {
    console.set_json(false);
    console.print(overview(console));
    return 0;
  }
  const Command* command = find_command(a.positionals[0]);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const Command& c : all_commands()) names.emplace_back(c.name);
    return unknown_name(Code::kUsage, "command", a.positionals[0], names).with("try: nnc help");
  }
  console.set_json(false);
  console.print(command_help(*command, console));
  return 0;
}

}  // namespace nnc::tool
