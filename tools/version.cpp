// `nnc version`: the program's version and those of everything that has one of its own.

#include "codegen/host_compiler.h"
#include "ir/support/text.h"
#include "runtime/artifact_format.h"
#include "runtime/capi/nnc.h"
#include "tools/command.h"
#include "tools/document.h"

namespace nnc::tool {

Result<int> version_command(const Arguments& a, Console& console) {
  const auto compiler = host_compiler_version();
  if (console.json()) {
    JsonWriter w = begin_document("version", a);
    w.field("version", version_text()).field("c_abi", NNC_ABI_VERSION);
    w.field("artifact_format", cat(kArtifactMajor, ".", kArtifactMinor));
    if (compiler.ok())
      w.field("host_compiler", *compiler);
    else
      w.key("host_compiler").null();
    finish_document(w, console);
  }
  console.print(cat("nnc ", version_text(), "\nC ABI ", NNC_ABI_VERSION, ", artifact format ", kArtifactMajor, ".", kArtifactMinor,
                    "\nhost compiler: ", compiler.ok() ? *compiler : compiler.error().message, "\n"));
  return 0;
}

}  // namespace nnc::tool
