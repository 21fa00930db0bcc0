#include "tools/options.h"

#include <algorithm>

#include "ir/support/text.h"
#include "tools/command.h"

namespace nnc::tool {

namespace {

constexpr Flag kFlags[] = {
    // what goes in and comes out
    {"input", 'i', FlagKind::kRepeat, "SPEC",
     "an input: x=@in.npy, @all.npz, x=@all.npz:images, @folder/ (ONNX test data), x=@raw.bin:f16[8,512], x=f32[1,3,224,224], "
     "ids=i64[1,128]~0..30521, mask=ones, sr=i64[]:16000",
     ""},
    {"output", 'o', FlagKind::kRepeat, "SPEC",
     "where results go: @out.npz, y=@y.npy, y=-, or - (as text to stdout); compile: the artifact, - for stdout", ""},
    {"expect", 0, FlagKind::kRepeat, "SPEC", "compare with @ref.npz or y=@y.npy; exit code 1 if something differs", ""},
    {"rtol", 0, FlagKind::kValue, "X", "relative tolerance of --expect (1e-5)", ""},
    {"atol", 0, FlagKind::kValue, "X", "absolute tolerance of --expect (1e-8)", ""},
    {"cast", 0, FlagKind::kSwitch, "", "convert inputs of another dtype instead of refusing them", ""},
    {"seed", 0, FlagKind::kValue, "N", "seed of random inputs (0)", ""},
    // the model
    {"dim", 0, FlagKind::kRepeat, "SPEC",
     "size or range of a dim: seq=128, batch=1..32@8 (typical 8), W=32..1280%32 (multiples); unnamed dims are INPUT.AXIS; bench: "
     "seq=[16,128] runs both",
     ""},
    {"profile", 0, FlagKind::kRepeat, "SPEC",
     "one variant of the model: NAME;DIM=SIZE|LO..HI@T;value:INPUT=V, as in 16k;input.1=576;value:sr=16000", ""},
    {"rename-dim", 0, FlagKind::kRepeat, "A=B", "gives a dim of the model another name", ""},
    {"entry", 0, FlagKind::kValue, "NAME", "which entry runs (main)", ""},
    {"limit", 0, FlagKind::kRepeat, "NAME=N", "changes a resource limit: nodes=2000000", ""},
    // how it is compiled and where it runs
    {"target", 0, FlagKind::kRepeat, "LIST",
     "what code is made for: cpu, cpu:x86-64-v4, cpu:vm, cuda:sm_80,sm_90, cuda-emu:sm_80; run: also eval, the reference interpreter, and "
     "eval:f64, which keeps all floats in f64",
     ""},
    {"device", 0, FlagKind::kValue, "NAME", "where it runs (cpu)", "cpu|cuda-emu|cuda"},
    {"threads", 0, FlagKind::kRepeat, "N", "threads of the cpu device (as many as the process may use); bench: 1,2 runs both", ""},
    {"level", 'O', FlagKind::kValue, "0|1|2", "optimisation: 0 as imported, 1 simplified, 2 fused (2)", "0|1|2"},
    {"league", 0, FlagKind::kValue, "NAME", "rounding: strict repeats the interpreter's, fast may reorder (strict)", "strict|fast"},
    {"require", 0, FlagKind::kValue, "KIND", "an error unless every step is native code", "native"},
    {"allow-interpreter", 0, FlagKind::kSwitch, "", "run kernels without native code, or of an untrusted file, in the interpreter", ""},
    {"without-features", 0, FlagKind::kRepeat, "LIST",
     "run, bench of an artifact: what the processor is taken not to have, as on another machine: avx512f,fma", ""},
    {"no-cache", 0, FlagKind::kSwitch, "", "compile every kernel anew", ""},
    {"emit", 0, FlagKind::kValue, "LIST", "also into ARTIFACT.d: ir (graph, plans, kernels), source (C++, CUDA), code (.so, .cubin)", ""},
    // bench
    {"runs", 0, FlagKind::kValue, "N", "timed runs per row (as many as fit into --seconds, at least 10)", ""},
    {"warm-up", 0, FlagKind::kValue, "N", "runs before timing starts (3)", ""},
    {"seconds", 0, FlagKind::kValue, "X", "time for each row of the table (2)", ""},
    {"steps", 0, FlagKind::kSwitch, "", "what each step of a run takes, the slowest first", ""},
    // dump
    {"after", 0, FlagKind::kValue, "PASS", "the graph after that pass: import, simplify, a pass's name, or optimize", ""},
    {"after-each", 0, FlagKind::kValue, "DIR", "a numbered file for each pass, and constants.bin beside them", ""},
    {"groups", 0, FlagKind::kSwitch, "", "groups: their operators, skeletons and source nodes", ""},
    {"plan", 0, FlagKind::kSwitch, "", "the memory plan and the steps", ""},
    {"kernels", 0, FlagKind::kOptional, "NAME", "kernel IR and generated source, of all kernels or of those whose name contains NAME", ""},
    {"svg", 0, FlagKind::kSwitch, "", "a picture: of the groups, of the graph after --after PASS, or with --plan of the memory", ""},
    {"dot", 0, FlagKind::kSwitch, "", "the graph or its groups in the language of Graphviz", ""},
    // ops, trust, completion
    {"doc", 0, FlagKind::kSwitch, "", "the page docs/ops.md (ops) or docs/errors.md (explain)", ""},
    {"man", 0, FlagKind::kSwitch, "", "the manual page nnc(1)", ""},
    {"onnx", 0, FlagKind::kSwitch, "", "operators of ONNX that the importer knows, with their versions", ""},
    {"remove", 0, FlagKind::kSwitch, "", "take the artifact off the list", ""},
    // everywhere
    {"json", 0, FlagKind::kSwitch, "", "one JSON document on stdout; errors as JSON on stderr", ""},
    {"quiet", 'q', FlagKind::kSwitch, "", "nothing on stderr but errors", ""},
    {"color", 0, FlagKind::kValue, "WHEN", "auto, always or never (auto)", "auto|always|never"},
    {"progress", 0, FlagKind::kValue, "HOW", "auto, plain, json (one event a line) or none (auto)", "auto|plain|json|none"},
    {"config", 0, FlagKind::kValue, "FILE", "flags from a TOML file: key = value above all tables, or in [run], [compile], ...", ""},
    {"help", 'h', FlagKind::kSwitch, "", "this text", ""},
};

bool truth(std::string_view s) { return !(s.empty() || s == "0" || s == "false" || s == "no" || s == "off"); }

std::vector<std::string> flag_names(const Command& command) {
  std::vector<std::string> out;
  for (const Flag& f : kFlags)
    if (takes_flag(command, f.name)) out.push_back(cat("--", f.name));
  return out;
}

Error no_such_flag(const Command& command, std::string_view word) {
  Error e(Code::kUnknownFlag, cat(command.name, " has no flag ", quote(word)));
  const Flag* elsewhere = word.starts_with("--") ? find_flag(word.substr(2)) : nullptr;
  if (const std::string close = nearest(word, flag_names(command)); !close.empty())
    e.context.push_back(cat("did you mean ", close, "?"));
  else if (elsewhere != nullptr) {
    std::vector<std::string> takers;
    for (const Command& c : all_commands())
      if (takes_flag(c, elsewhere->name)) takers.emplace_back(c.name);
    e.context.push_back(cat("--", elsewhere->name, " is a flag of: ", join(takers, ", ")));
  }
  return std::move(e).with(cat("try: nnc help ", command.name));
}

Status check_choice(const Flag& flag, std::string_view from, std::string_view value) {
  if (flag.choices.empty()) return {};
  std::vector<std::string> choices;
  for (const std::string_view c : split(flag.choices, '|')) {
    if (c == value) return {};
    choices.emplace_back(c);
  }
  Error e(Code::kUsage, cat(from, " ", quote(value), ": one of ", join(choices, ", "), " expected"));
  if (const std::string close = nearest(value, choices); !close.empty()) e.context.push_back(cat("did you mean ", quote(close), "?"));
  return e;
}

}  // namespace

std::span<const Flag> all_flags() { return kFlags; }

const Flag* find_flag(std::string_view name) {
  const auto found = std::ranges::find(kFlags, name, &Flag::name);
  return found == std::end(kFlags) ? nullptr : &*found;
}

std::string environment_name(const Flag& flag) {
  std::string out = "NNC_";
  for (const char c : flag.name) out += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  return out;
}

bool Arguments::has(std::string_view flag) const {
  NNC_CHECK(find_flag(flag) != nullptr, "flags are in the table");
  return flags_.find(flag) != flags_.end();
}

std::string Arguments::text(std::string_view flag, std::string_view otherwise) const {
  NNC_CHECK(find_flag(flag) != nullptr, "flags are in the table");
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::string(otherwise) : found->second.values.back();
}

std::string Arguments::origin(std::string_view flag) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::string() : found->second.from;
}

std::vector<std::string> Arguments::all(std::string_view flag) const {
  NNC_CHECK(find_flag(flag) != nullptr, "flags are in the table");
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::vector<std::string>() : found->second.values;
}

Result<int64_t> Arguments::integer(std::string_view flag, int64_t otherwise, int64_t lo, int64_t hi) const {
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return otherwise;
  int64_t v = 0;
  if (parse_int(found->second.values.back(), &v) && v >= lo && v <= hi) return v;
  return Error(Code::kUsage,
               cat(found->second.from, " ", quote(found->second.values.back()), ": a whole number of ", lo, " to ", hi, " expected"));
}

Result<double> Arguments::number(std::string_view flag, double otherwise) const {
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return otherwise;
  double v = 0;
  if (parse_double(found->second.values.back(), &v) && v >= 0 && v < 1e300) return v;
  return Error(Code::kUsage, cat(found->second.from, " ", quote(found->second.values.back()), ": a number of at least 0 expected"));
}

Result<Arguments> parse_arguments(const Command& command, std::span<const std::string> words, const Environment& environment) {
  Arguments out;
  out.words.assign(words.begin(), words.end());
  auto give = [&](const Flag& flag, std::string from, std::string value) -> Status {
    NNC_TRY(check_choice(flag, from, value));
    Arguments::Given& g = out.flags_[std::string(flag.name)];
    if (flag.kind != FlagKind::kRepeat) g.values.clear();
    g.values.push_back(std::move(value));
    g.from = std::move(from);
    return {};
  };
  bool only_positionals = false;
  for (size_t k = 0; k < words.size(); ++k) {
    const std::string& word = words[k];
    if (only_positionals || word.size() < 2 || word[0] != '-') {
      out.positionals.push_back(word);
      continue;
    }
    if (word == "--") {
      only_positionals = true;
      continue;
    }
    const bool is_long = word[1] == '-';
    const size_t equal = is_long ? word.find('=') : std::string::npos;
    const std::string spelled = is_long ? word.substr(0, equal) : word.substr(0, 2);
    const Flag* flag = nullptr;
    for (const Flag& f : kFlags)
      if (is_long ? spelled.substr(2) == f.name : f.letter == word[1]) flag = &f;
    if (flag == nullptr || !takes_flag(command, flag->name)) return no_such_flag(command, spelled);
    const bool attached = is_long ? equal != std::string::npos : word.size() > 2;
    const std::string rest = !attached ? std::string() : word.substr(is_long ? equal + 1 : 2);
    if (flag->kind == FlagKind::kSwitch) {
      if (attached) return Error(Code::kUsage, cat(spelled, " takes no value, ", quote(rest), " given"));
      NNC_TRY(give(*flag, spelled, "1"));
    } else if (attached || flag->kind == FlagKind::kOptional) {
      NNC_TRY(give(*flag, spelled, rest));
    } else {
      if (k + 1 == words.size())
        return Error(Code::kUsage, cat(spelled, " needs a value: ", spelled, " ", flag->value)).with(cat("try: nnc help ", command.name));
      NNC_TRY(give(*flag, spelled, words[++k]));
    }
  }
  for (const Flag& f : kFlags) {
    if (!takes_flag(command, f.name) || out.flags_.contains(f.name) || f.name == "help") continue;
    const auto value = environment(environment_name(f));
    if (!value || (f.kind == FlagKind::kSwitch ? !truth(*value) : value->empty())) continue;
    NNC_TRY(give(f, environment_name(f), f.kind == FlagKind::kSwitch ? "1" : *value));
  }
  return out;
}

Status apply_config(const Command& command, std::span<const ConfigEntry> entries, const std::string& file, Arguments* arguments) {
  const auto wrong = [&](const ConfigEntry& e, std::string what) {
    Error error(Code::kUnknownFlag, std::move(what));
    error.place.file = file;
    error.place.line = e.line;
    error.place.column = 1;
    return error;
  };
  std::vector<std::string> names, commands;
  for (const Flag& f : kFlags) names.emplace_back(f.name);
  for (const Command& c : all_commands()) commands.emplace_back(c.name);
  std::map<std::string, Arguments::Given, std::less<>> found;
  for (const bool own : {false, true}) {  // the command's table is read last and wins
    for (const ConfigEntry& e : entries) {
      if (!e.table.empty() && find_command(e.table) == nullptr)
        return unknown_name(Code::kUnknownName, "command", e.table, commands).at(wrong(e, "").place);
      const Flag* flag = find_flag(e.key);
      if (flag == nullptr) {
        Error error = wrong(e, cat("there is no flag --", e.key));
        if (const std::string close = nearest(e.key, names); !close.empty()) error.context.push_back(cat("did you mean ", close, "?"));
        return error;
      }
      const Command* table = e.table.empty() ? &command : find_command(e.table);
      if (!takes_flag(*table, flag->name)) {
        if (e.table.empty()) continue;
        return wrong(e, cat(e.table, " has no flag --", e.key)).with(cat("try: nnc help ", e.table));
      }
      if (table != &command || e.table.empty() == own) continue;
      if (e.truth != (flag->kind == FlagKind::kSwitch) || (flag->kind != FlagKind::kRepeat && e.values.size() != 1))
        return wrong(e, cat(e.key, ": ",
                            flag->kind == FlagKind::kSwitch   ? "true or false"
                            : flag->kind == FlagKind::kRepeat ? "a value or a list"
                                                              : "one value",
                            " expected"));
      if (e.truth && e.values[0] == "false") {
        found.erase(e.key);
        continue;
      }
      const std::string from = cat(file, ":", e.line);
      for (const std::string& v : e.values) NNC_TRY(e.truth ? Status() : check_choice(*flag, cat(from, ": ", e.key), v));
      found[e.key] = {e.values, from};
    }
  }
  arguments->flags_.merge(found);  // what is there stays
  return {};
}

}  // namespace nnc::tool
