// `nnc config`: which flags a command would run with, and who said so.

#include "ir/support/text.h"
#include "tools/command.h"
#include "tools/document.h"
#include "tools/table.h"

namespace nnc::tool {

Result<int> config_command(const Arguments& a, Console& console) {
  const Command* command = find_command(a.positionals[0]);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const Command& c : all_commands()) names.emplace_back(c.name);
    return unknown_name(Code::kUsage, "command", a.positionals[0], names).with("try: nnc help");
  }
  Table table({"flag", "value", "from"});
  JsonWriter w = begin_document("config", a);
  w.field("command", command->name).key("flags").array();
  for (const Flag& f : all_flags()) {
    if (!takes_flag(*command, f.name)) continue;
    const std::string from = a.has(f.name) ? a.origin(f.name) : std::string("default");
    table.row({cat("--", f.name), a.has(f.name) ? join(a.all(f.name), "  ") : "-", from});
    w.object().field("flag", f.name).list("values", a.all(f.name)).field("from", from).end();
  }
  w.end();
  console.print(table.str());
  if (console.json()) finish_document(w, console);
  return 0;
}

}  // namespace nnc::tool
