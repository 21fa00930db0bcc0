#pragma once
// Files of flags, for --config: the part of TOML that is tables of keys with strings, numbers, truth values and lists of these.

#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace nnc::tool {

struct ConfigEntry {
  std::string table;  // "run" below [run]; empty above all tables
  std::string key;
  std::vector<std::string> values;  // of a list, or one
  bool truth = false;               // the value is true or false
  int64_t line = 0;
};
// `file` is for messages.
Result<std::vector<ConfigEntry>> parse_config(std::string_view text, const std::string& file);

}  // namespace nnc::tool
