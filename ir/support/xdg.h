#pragma once
// The user's folders for this project, by the XDG base directory rules. Names only: nothing is created or checked here
// (`ensure_private_dir` in file.h does that).

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace nnc {

enum class UserDir : uint8_t {
  kConfig,  // $XDG_CONFIG_HOME/nnc, else $HOME/.config/nnc
  kState,   // $XDG_STATE_HOME/nnc, else $HOME/.local/state/nnc
  kCache,   // $XDG_CACHE_HOME/nnc, else $HOME/.cache/nnc
};

// From this process's environment. A relative value counts as unset. An error (kIo) when neither variable helps.
Result<std::string> user_dir(UserDir dir);
// The same from given values of the XDG variable and HOME; an empty one is unset.
Result<std::string> user_dir(UserDir dir, std::string_view xdg_value, std::string_view home);

}  // namespace nnc
