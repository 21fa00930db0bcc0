// `nnc completion`: scripts for shells, made of the tables.

#include "ir/support/text.h"
#include "tools/command.h"

namespace nnc::tool {

namespace {

std::vector<std::string> words_of(const Command& c) {
  std::vector<std::string> out;
  for (const Flag& f : all_flags())
    if (takes_flag(c, f.name)) out.push_back(cat("--", f.name));
  return out;
}

std::string command_names(std::string_view separator) {
  return join(all_commands(), separator,
              [](const Command& c) { return c.alias.empty() ? std::string(c.name) : cat(c.name, " ", c.alias); });
}

// Choices of flags that have some, as cases over the word before.
std::string choice_cases(std::string_view indent) {
  std::string out;
  for (const Flag& f : all_flags()) {
    if (f.choices.empty()) continue;
    std::string choices(f.choices);
    for (char& c : choices)
      if (c == '|') c = ' ';
    append(out, indent, "--", f.name, ") COMPREPLY=($(compgen -W \"", choices, "\" -- \"$word\")); return ;;\n");
  }
  return out;
}

std::string bash_script() {
  std::string out = "_nnc() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n";
  append(out, "  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W \"", command_names(" "),
         "\" -- \"$word\")); return; fi\n  case $before in\n", choice_cases("    "), "  esac\n");
  out += "  [[ $word == -* ]] || { COMPREPLY=($(compgen -f -- \"$word\")); return; }\n  case ${COMP_WORDS[1]} in\n";
  for (const Command& c : all_commands())
    append(out, "    ", c.name, c.alias.empty() ? "" : "|", c.alias, ") COMPREPLY=($(compgen -W \"", join(words_of(c), " "),
           "\" -- \"$word\")) ;;\n");
  return out + "  esac\n}\ncomplete -o filenames -F _nnc nnc\n";
}

std::string fish_script() {
  std::string out;
  for (const Command& c : all_commands()) {
    append(out, "complete -c nnc -n __fish_use_subcommand -a ", c.name, " -d ", quote(c.summary), "\n");
    for (const Flag& f : all_flags()) {
      if (!takes_flag(c, f.name)) continue;
      std::string choices(f.choices);
      for (char& ch : choices)
        if (ch == '|') ch = ' ';
      append(out, "complete -c nnc -n '__fish_seen_subcommand_from ", c.name, "' -l ", f.name, f.letter != 0 ? cat(" -s ", f.letter) : "",
             f.kind == FlagKind::kSwitch ? "" : " -r", choices.empty() ? "" : cat(" -a ", quote(choices)), "\n");
    }
  }
  return out;
}

}  // namespace

Result<int> completion_command(const Arguments& a, Console& console) {
  const std::string& shell = a.positionals[0];
  console.set_json(false);
  if (shell == "bash")
    console.print(bash_script());
  else if (shell == "zsh")
    console.print(cat("autoload -U +X bashcompinit && bashcompinit\n", bash_script()));
  else if (shell == "fish")
    console.print(fish_script());
  else
    return unknown_name(Code::kUsage, "shell", shell, std::vector<std::string>{"bash", "zsh", "fish"}).with("shells: bash, zsh, fish");
  return 0;
}

}  // namespace nnc::tool
