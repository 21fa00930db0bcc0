#include <algorithm>

#include "ir/support/text.h"
#include "tools/command.h"

namespace nnc::tool {

namespace {

constexpr std::string_view kCommon[] = {"json", "quiet", "color", "progress", "help"};

const std::vector<Command>& table() {
  static const std::vector<Command> commands = {
      {"run", "", "MODEL|ARTIFACT", 1, 1, "runs a model once",
       "nnc run model.onnx -i x=@in.npy -o @out.npz\n"
       "nnc run model.onnx -i @in.npz --expect @ref.npz --rtol 1e-3 --atol 1e-4\n"
       "nnc run model.onnx -i x=f32[1,3,224,224] --seed 7 -o -\n"
       "nnc run model.nnb --require native",
       {"input", "output", "expect", "rtol", "atol", "cast", "seed", "dim", "profile", "rename-dim", "entry", "limit", "target", "device", "threads", "level", "league", "require", "allow-interpreter",
        "no-cache"},
       run_command},
      {"devices", "", "", 0, 0, "lists devices and what they can do", "nnc devices --json", {}, devices_command},
      {"ops", "", "[NAME]", 0, 1, "lists operators", "nnc ops matmul\nnnc ops --onnx\nnnc ops --doc > docs/ops.md", {"doc", "onnx"}, ops_command},
      {"help", "", "[COMMAND]", 0, 1, "shows this, or the flags of a command", "nnc help run", {}, help_command},
      {"version", "", "", 0, 0, "shows the version", "nnc --version --json", {}, version_command},
      {"completion", "", "bash|zsh|fish", 1, 1, "prints a completion script for a shell", "source <(nnc completion bash)", {}, completion_command},
  };
  return commands;
}

}  // namespace

std::span<const Command> all_commands() { return table(); }
std::span<const std::string_view> common_flags() { return kCommon; }

const Command* find_command(std::string_view name) {
  for (const Command& c : table())
    if (c.name == name || (!c.alias.empty() && c.alias == name)) return &c;
  return nullptr;
}

bool takes_flag(const Command& command, std::string_view flag) {
  return std::ranges::find(kCommon, flag) != std::end(kCommon) || std::ranges::find(command.flags, flag) != command.flags.end();
}

Error unknown_name(Code code, std::string_view what, std::string_view name, std::span<const std::string> known) {
  Error e(code, cat("there is no ", what, " ", quote(name)));
  if (const std::string close = nearest(name, known); !close.empty()) e.context.push_back(cat("did you mean ", quote(close), "?"));
  return e;
}

}  // namespace nnc::tool
