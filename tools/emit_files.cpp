#include "tools/emit_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "tools/command.h"

namespace nnc::tool {

namespace {

// "cpu:x86-64-v4" as part of a file's name.
std::string file_part(std::string target) {
  std::ranges::replace(target, ':', '-');
  return target;
}

// How a unit's code calls itself by its first bytes.
std::string_view code_ending(const NativeUnit& unit, bool cuda) {
  if (!cuda) return ".so";
  return text_of(unit.code).starts_with(
             "\x7f"
             "ELF")
             ? ".cubin"
             : ".ptx";
}

}  // namespace

Result<EmitKinds> parse_emit(const std::string& list) {
  EmitKinds out;
  for (const std::string_view word : split(list, ',')) {
    const std::string kind(trim(word));
    bool* const which = kind == "ir" ? &out.ir : kind == "source" ? &out.source : kind == "code" ? &out.code : nullptr;
    if (which == nullptr)
      return unknown_name(Code::kUsage, "kind of file", kind, std::vector<std::string>{"ir", "source", "code"})
          .with("kinds: ir, source, code");
    *which = true;
  }
  return out;
}

Result<int64_t> emit_files(const std::string& folder, const EmitKinds& kinds, const std::string& graph,
                           std::span<const CompiledProgram> programs) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return Error(Code::kIo, cat("the folder ", quote(folder), " cannot be made"));
  int64_t count = 0;
  const auto write = [&](const std::string& name, ByteView bytes) -> Status {
    ++count;
    return write_file_atomic(cat(folder, "/", name), bytes);
  };
  if (kinds.ir) NNC_TRY(write("graph.nnir", bytes_of(graph)));
  for (const CompiledProgram& p : programs) {
    const std::string target = file_part(p.program.target);
    if (kinds.ir) {
      NNC_TRY(write(cat(target, ".plan"), bytes_of(print_program(p.program))));
      std::string kernels;
      for (const PlanKernel& k : p.program.kernels) append(kernels, k.text, k.text.ends_with('\n') ? "\n" : "\n\n");
      NNC_TRY(write(cat(target, ".kernels"), bytes_of(kernels)));
    }
    const bool cuda = p.program.target.starts_with("cuda:");
    for (size_t u = 0; u < p.units.size(); ++u) {
      const NativeUnit& unit = p.units[u];
      const std::string name = cat(target, "-", u);
      if (kinds.source) NNC_TRY(write(cat(name, p.program.target.starts_with("cuda") ? ".cu" : ".cpp"), bytes_of(unit.source)));
      if (kinds.code && !unit.code.empty()) NNC_TRY(write(cat(name, code_ending(unit, cuda)), unit.code));
    }
  }
  return count;
}

}  // namespace nnc::tool
