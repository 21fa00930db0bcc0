// `nnc devices`: what this machine can run programs on, and why not where it cannot.

#include "codegen/api/device.h"
#include "codegen/host_compiler.h"
#include "codegen/target.h"
#include "ir/support/text.h"
#include "runtime/thread_pool.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/table.h"

namespace nnc::tool {

namespace {

struct DeviceRow {
  std::string name, what, reason;  // a reason: not available
  std::vector<std::string> targets, features;
};

DeviceRow cpu_row() {
  DeviceRow d{"cpu", processor_name(), {}, {}, machine_features()};
  if (d.what.empty()) d.what = "x86-64 processor";
  const auto targets = parse_targets("cpu");
  for (size_t k = 0; targets.ok() && k < targets->size(); ++k) d.targets.push_back((*targets)[k].name);
  d.targets.push_back("cpu:vm");
  return d;
}

DeviceRow other_row(std::string name, std::string what, std::vector<std::string> targets) {
  const auto device = open_device(name);
  return {std::move(name), std::move(what), device.ok() ? std::string() : device.error().message, std::move(targets), {}};
}

}  // namespace

Result<int> devices_command(const Arguments& a, Console& console) {
  const std::vector<DeviceRow> rows = {cpu_row(), other_row("cuda-emu", "CUDA kernels on the host", {"cuda-emu:sm_80", "cuda-emu:sm_90"}),
                                       other_row("cuda", "NVIDIA device", {"cuda:sm_80", "cuda:sm_90"})};
  const auto compiler = host_compiler_version();
  if (console.json()) {
    JsonWriter w = begin_document("devices", a);
    w.field("host_compiler", compiler.ok() ? *compiler : std::string());
    w.key("devices").array();
    for (const DeviceRow& d : rows) {
      w.object()
          .field("name", d.name)
          .field("what", d.what)
          .field("available", d.reason.empty())
          .field("reason", d.reason)
          .list("targets", d.targets)
          .list("features", d.features)
          .end();
    }
    w.end();
    finish_document(w, console);
    return 0;
  }
  Table table({"device", "what", "targets"});
  for (const DeviceRow& d : rows) table.row({d.name, d.what, d.reason.empty() ? join(d.targets, ", ") : cat("not available: ", d.reason)});
  console.print(table.str());
  console.print(cat(" processors ", ThreadPool::usable_processors(), "; features ", join(rows[0].features, " "), "\n host compiler ",
                    compiler.ok() ? *compiler : compiler.error().message, "\n"));
  return 0;
}

}  // namespace nnc::tool
