#pragma once
// The option table: every flag once, with its help, for all commands; parsing, did-you-mean, environment, help and completion all read it.
// What a flag means is the commands' matter.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"
#include "tools/config.h"

namespace nnc::tool {

enum class FlagKind : uint8_t {
  kSwitch,    // present or not
  kValue,     // one value; the last one wins
  kRepeat,    // a value each time
  kOptional,  // `--kernels` or `--kernels=NAME`
};

struct Flag {
  std::string_view name;  // "input"
  char letter = 0;        // 'i', or 0
  FlagKind kind = FlagKind::kValue;
  std::string_view value;  // "SPEC", for help
  std::string_view help;
  std::string_view choices;  // "auto|always|never": nothing else is taken; empty: anything
};
std::span<const Flag> all_flags();
const Flag* find_flag(std::string_view name);

struct Command;
using Environment = std::function<std::optional<std::string>(const std::string&)>;

// What the user asked for. Values come from the command line, or else from NNC_<FLAG>, or else from the file of --config.
class Arguments {
 public:
  std::vector<std::string> positionals;
  std::vector<std::string> words;  // as typed, without the program's name

  bool has(std::string_view flag) const;
  std::string text(std::string_view flag, std::string_view otherwise = {}) const;
  std::vector<std::string> all(std::string_view flag) const;
  std::string origin(std::string_view flag) const;  // "--threads", "NNC_THREADS", "nnc.toml:3"; empty: not given
  // kUsage, naming the flag and where it came from, unless it is a number in the range.
  Result<int64_t> integer(std::string_view flag, int64_t otherwise, int64_t lo, int64_t hi) const;
  Result<double> number(std::string_view flag, double otherwise) const;

 private:
  friend Result<Arguments> parse_arguments(const Command&, std::span<const std::string>, const Environment&);
  friend Status apply_config(const Command&, std::span<const ConfigEntry>, const std::string&, Arguments*);
  struct Given {
    std::vector<std::string> values;
    std::string from;  // "--threads", "-i", "NNC_THREADS"
  };
  std::map<std::string, Given, std::less<>> flags_;
};

// `words`: what follows the command's name. Flags and positionals may be mixed; everything after `--` is positional.
Result<Arguments> parse_arguments(const Command& command, std::span<const std::string> words, const Environment& environment);
// The entries of a file of --config that are for this command: those of its table, and above all tables what it knows. What was given
// before stays.
Status apply_config(const Command& command, std::span<const ConfigEntry> entries, const std::string& file, Arguments* arguments);
// "NNC_RENAME_DIM".
std::string environment_name(const Flag& flag);

}  // namespace nnc::tool
