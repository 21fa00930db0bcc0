#pragma once
// The commands: one row each, in commands.cpp, and one file each. A command reads Arguments, writes to a Console and returns an exit code,
// or the Error that gives it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/console.h"
#include "tools/options.h"

namespace nnc::tool {

struct Command {
  std::string_view name;
  std::string_view alias;
  std::string_view positionals;  // "MODEL", "MODEL|ARTIFACT"; for help
  size_t min_positionals = 0, max_positionals = 0;
  std::string_view summary;
  std::string_view details;             // examples, for help
  std::vector<std::string_view> flags;  // names in the option table, beside those of all commands
  Result<int> (*run)(const Arguments&, Console&) = nullptr;
};
std::span<const Command> all_commands();
const Command* find_command(std::string_view name);
// Flags that every command takes.
std::span<const std::string_view> common_flags();
bool takes_flag(const Command& command, std::string_view flag);

// The program: `words` without its own name. Prints errors and returns the exit code.
int run_tool(std::span<const std::string> words, Console& console);

// How names are missed: kUnknownName or kUsage with what there is and the nearest.
Error unknown_name(Code code, std::string_view what, std::string_view name, std::span<const std::string> known);

Result<int> run_command(const Arguments&, Console&);
Result<int> compile_command(const Arguments&, Console&);
Result<int> bench_command(const Arguments&, Console&);
Result<int> dump_command(const Arguments&, Console&);
Result<int> check_command(const Arguments&, Console&);
Result<int> devices_command(const Arguments&, Console&);
Result<int> ops_command(const Arguments&, Console&);
Result<int> trust_command(const Arguments&, Console&);
Result<int> explain_command(const Arguments&, Console&);
Result<int> help_command(const Arguments&, Console&);
Result<int> config_command(const Arguments&, Console&);
Result<int> version_command(const Arguments&, Console&);
Result<int> completion_command(const Arguments&, Console&);
std::string command_help(const Command& command, const Console& console);
std::string overview(const Console& console);

}  // namespace nnc::tool
