#include <algorithm>

#include "ir/support/text.h"
#include "tools/command.h"

namespace nnc::tool {

namespace {

constexpr std::string_view kCommon[] = {"json", "quiet", "color", "progress", "config", "help"};

std::vector<std::string_view> every_flag() {
  std::vector<std::string_view> out;
  for (const Flag& f : all_flags()) out.push_back(f.name);
  return out;
}

const std::vector<Command>& table() {
  static const std::vector<Command> commands = {
      {"run",
       "",
       "MODEL|ARTIFACT",
       1,
       1,
       "runs a model once",
       "nnc run model.onnx -i x=@in.npy -o @out.npz\n"
       "nnc run model.onnx -i @in.npz --expect @ref.npz --rtol 1e-3 --atol 1e-4\n"
       "nnc run model.onnx -i x=f32[1,3,224,224] --seed 7 -o -\n"
       "nnc run model.nnb --require native",
       {"input",           "output", "expect", "rtol",   "atol",    "cast",  "seed",   "dim",     "profile",           "rename-dim",
        "entry",           "limit",  "target", "device", "threads", "level", "league", "require", "allow-interpreter", "no-cache",
        "without-features"},
       run_command},
      {"compile",
       "",
       "MODEL",
       1,
       1,
       "compiles a model into an artifact",
       "nnc compile model.onnx -o model.nnb\n"
       "nnc compile model.onnx --target cpu,cpu:vm --dim batch=1..32@8 -o model.nnb\n"
       "nnc compile model.onnx --emit ir,source -o model.nnb\n"
       "nnc compile vad.onnx --profile '16k;input.1=576;value:sr=16000' --profile '8k;input.1=288;value:sr=8000' -o vad.nnb",
       {"output", "dim", "profile", "rename-dim", "entry", "limit", "target", "level", "league", "require", "no-cache", "emit"},
       compile_command},
      {"bench",
       "",
       "MODEL|ARTIFACT",
       1,
       1,
       "measures how long a run takes",
       "nnc bench model.onnx --dim batch=[1,8] --threads 1,2\n"
       "nnc bench model.nnb -i x=@in.npy --seconds 5\n"
       "nnc bench model.onnx --steps --threads 1",
       {"input",   "cast",  "seed",   "dim",     "profile",           "rename-dim",       "entry",    "limit", "target",  "device",
        "threads", "level", "league", "require", "allow-interpreter", "without-features", "no-cache", "runs",  "warm-up", "seconds",
        "steps"},
       bench_command},
      {"dump",
       "inspect",
       "MODEL|ARTIFACT",
       1,
       1,
       "shows a model, its graph after any pass, its plan and its kernels",
       "nnc dump model.onnx --after fuse\n"
       "nnc dump model.onnx --after-each passes/\n"
       "nnc dump model.onnx --kernels=conv --target cpu:x86-64-v4\n"
       "nnc dump model.onnx --svg -o groups.svg\n"
       "nnc dump model.onnx --plan --svg -o memory.svg",
       {"output", "dim", "profile", "rename-dim", "entry", "limit", "target", "level", "league", "after", "after-each", "groups", "plan",
        "kernels", "svg", "dot"},
       dump_command},
      {"check",
       "",
       "MODEL|ARTIFACT",
       1,
       1,
       "finds everything that is wrong with a model, at once",
       "nnc check model.onnx",
       {"dim", "profile", "rename-dim", "limit"},
       check_command},
      {"devices", "", "", 0, 0, "lists devices and what they can do", "nnc devices --json", {}, devices_command},
      {"ops",
       "",
       "[NAME]",
       0,
       1,
       "lists operators",
       "nnc ops matmul\nnnc ops --onnx\nnnc ops --doc > docs/ops.md",
       {"doc", "onnx"},
       ops_command},
      {"trust",
       "",
       "[ARTIFACT]",
       0,
       1,
       "lists or changes the artifacts whose native code may run",
       "nnc trust model.nnb\nnnc trust --remove model.nnb",
       {"remove"},
       trust_command},
      {"explain", "", "[CODE]", 0, 1, "says what an error code means", "nnc explain NNC-2003", {"doc"}, explain_command},
      {"config", "", "COMMAND", 1, 1, "shows the flags that a command would run with, and where each comes from",
       "nnc config run --config nnc.toml\nNNC_THREADS=1 nnc config bench", every_flag(), config_command},
      {"help",
       "",
       "[COMMAND]",
       0,
       1,
       "shows this, or the flags of a command",
       "nnc help run\nnnc help --man > nnc.1",
       {"man"},
       help_command},
      {"version", "", "", 0, 0, "shows the version", "nnc --version --json", {}, version_command},
      {"completion",
       "",
       "bash|zsh|fish",
       1,
       1,
       "prints a completion script for a shell",
       "source <(nnc completion bash)",
       {},
       completion_command},
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
