// `nnc explain`: what each error code means and what to do; also the page docs/errors.md.

#include <algorithm>

#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

struct Explanation {
  Code code;
  std::string_view title, meaning, remedy;
};

constexpr Explanation kExplanations[] = {
    {Code::kMismatch, "a comparison failed",
     "Outputs differ from what --expect gives by more than the tolerance, or an assertion of the model does not hold for this call.",
     "Look at the table of errors. Other numbers are expected across compilers and machines: --rtol 1e-3 --atol 1e-4 is usual in f32."},
    {Code::kAssertDims, "a dim is not what the program was made for",
     "When the model was imported, something (often an If over shapes) was decided under an assumption about dims that this call does not "
     "meet.",
     "Compile with a --profile or --dim range that includes the sizes of the call; several --profile may stand in one artifact."},
    {Code::kIndexOutOfRange, "an index left its range",
     "A Gather, Scatter, OneHot or label holds an index outside of the axis that it selects from. States are as they were before the run.",
     "Check the input that is named: token ids against the vocabulary, labels against the classes."},
    {Code::kUsage, "the command line is wrong", "A flag, its value or the order of words is not what the command takes.",
     "nnc help COMMAND shows flags and examples."},
    {Code::kUnknownFlag, "no such flag", "The command has no flag of that name.", "nnc help COMMAND lists its flags."},
    {Code::kUnknownName, "no such name", "The model or artifact has no input, output, dim, entry, pass or kernel of that name.",
     "nnc dump MODEL lists what there is."},
    {Code::kBadInput, "an input does not fit", "The dtype, the rank or an extent of an input is not what the model takes.",
     "--cast converts dtypes; extents must be inside the ranges that --dim gave when compiling."},
    {Code::kInvalidModel, "the model is broken",
     "The ONNX file does not parse, refers to what it does not hold, or its types do not agree.",
     "nnc check MODEL lists all problems with the nodes' names."},
    {Code::kInvalidIr, "the IR does not verify",
     "A text of the graph IR breaks an invariant. For a graph that nnc made itself this is a defect of nnc.",
     "Report it with the output of nnc dump --after-each."},
    {Code::kInvalidData, "a data file is broken", "An npy, npz, pb, wav or picture file does not parse or is cut off.",
     "Write the file again; numpy.save and numpy.savez without pickle are read."},
    {Code::kParse, "IR text does not parse", "The message names line and column.", "docs/ir-text.md has the grammar."},
    {Code::kNeedDims, "sizes or values are needed",
     "The structure of the model (a rank, a branch, a count of outputs) depends on dims or on values of inputs that were not given.",
     "Give them: --dim NAME=SIZE, or --profile 'NAME;DIM=SIZE;value:INPUT=V' for each way in which the model is used."},
    {Code::kLimit, "a limit was reached",
     "The model or a file needs more nodes, memory or nesting than nnc takes from files that nobody vouches for.",
     "--limit NAME=N raises it, for files from a source that you trust."},
    {Code::kUnsupportedOp, "not supported", "An operator, an attribute value or a dtype that this version does not have.",
     "nnc check MODEL lists all of them; nnc ops and nnc ops --onnx show what there is."},
    {Code::kNoGradient, "no gradient", "A gradient was asked for through an operator that has none; its row says why.",
     "nnc ops NAME shows the reason."},
    {Code::kInvalidArtifact, "the artifact is broken", "The file is cut off, changed or from a newer version.",
     "Compile it again from the model."},
    {Code::kIncompatible, "nothing in the artifact fits",
     "No program of the artifact runs on this device; the message names the features that are missing.",
     "Compile with --target for this machine, or add cpu:vm and run with --allow-interpreter."},
    {Code::kUntrusted, "native code that is not trusted",
     "The artifact holds native code and is not on your list, or a private file can be changed by others.",
     "nnc trust FILE, if you know where it comes from; --allow-interpreter runs it without native code, slowly."},
    {Code::kRequirement, "--require does not hold", "Some step is interpreted where native code was required.",
     "Compile for this machine: --target cpu; nnc dump shows steps by kind."},
    {Code::kNoDevice, "the device is missing", "The device or its driver is not there.",
     "nnc devices says what is there and why the rest is not."},
    {Code::kNoCompiler, "the compiler is missing", "No C++ compiler, or no NVRTC, was found.",
     "apt-get install g++; artifacts that are compiled already need none."},
    {Code::kDeviceFailed, "the device failed", "A kernel or a copy ended with an error of the device.",
     "The message names the kernel and its source nodes."},
    {Code::kOutOfMemory, "out of memory", "Memory could not be had. The session stays usable.",
     "Smaller sizes, or a device with more memory."},
    {Code::kIo, "reading or writing failed", "A file is missing, not readable, or the disk is full.",
     "The message has the path and the system's reason."},
    {Code::kPathEscape, "a path leaves the model's folder", "External data of a model must lie beneath its folder, as plain files.",
     "Put the data beside the model; links are not followed."},
    {Code::kInternal, "a defect of nnc", "Something that nnc holds to be true was not.", "Report it with the command and the version."},
};

const Explanation* find(std::string_view word) {
  for (const Explanation& e : kExplanations) {
    const std::string name = code_name(e.code);
    if (word == name || word == name.substr(4)) return &e;
  }
  return nullptr;
}

std::string error_page() {
  std::string out =
      "# Error codes\n\nMade by `nnc explain --doc`; a test checks that it is fresh. The first digit is the exit code (9: 70).\n\n| code | "
      "what | meaning | what to do |\n|---|---|---|---|\n";
  for (const Explanation& e : kExplanations)
    append(out, "| ", code_name(e.code), " | ", e.title, " | ", e.meaning, " | ", e.remedy, " |\n");
  return out;
}

}  // namespace

Result<int> explain_command(const Arguments& a, Console& console) {
  if (a.has("doc")) {
    console.set_json(false);
    console.print(error_page());
    return 0;
  }
  std::vector<std::string> names;
  Table table({"code", ">exit", "what"});
  for (const Explanation& e : kExplanations) {
    names.push_back(code_name(e.code));
    table.row({code_name(e.code), cat(exit_code(e.code)), std::string(e.title)});
  }
  const Explanation* one = a.positionals.empty() ? nullptr : find(a.positionals[0]);
  if (!a.positionals.empty() && one == nullptr)
    return unknown_name(Code::kUnknownName, "error code", a.positionals[0], names).with("try: nnc explain");
  if (one != nullptr)
    console.print(cat(console.bold(code_name(one->code)), ": ", one->title, "  (exit code ", exit_code(one->code), ")\n  ", one->meaning,
                      "\n  ", one->remedy, "\n"));
  else
    console.print(table.str());
  if (console.json()) {
    JsonWriter w = begin_document("explain", a);
    w.key("codes").array();
    for (const Explanation& e : kExplanations)
      if (one == nullptr || one == &e)
        w.object()
            .field("code", code_name(e.code))
            .field("exit", exit_code(e.code))
            .field("title", e.title)
            .field("meaning", e.meaning)
            .field("remedy", e.remedy)
            .end();
    w.end();
    finish_document(w, console);
  }
  return 0;
}

}  // namespace nnc::tool
