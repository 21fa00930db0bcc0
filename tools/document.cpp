#include "tools/document.h"

#include "ir/support/file.h"
#include "ir/support/text.h"
#include "runtime/thread_pool.h"

namespace nnc::tool {

std::string_view version_text() { return NNC_VERSION; }

std::string processor_name() {
  const auto info = read_system_file("/proc/cpuinfo", 1 << 20);
  if (!info.ok()) return {};
  for (const std::string_view line : split(text_of(*info), '\n')) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) return std::string(trim(line.substr(colon + 1)));
  }
  return {};
}

JsonWriter begin_document(std::string_view command, const Arguments& a) {
  JsonWriter w;
  w.object().field("schema", cat("nnc.", command, "/1"));
  w.key("nnc").object().field("version", version_text()).end();
  w.key("host").object().field("processor", processor_name()).field("processors", ThreadPool::usable_processors()).end();
  w.list("args", a.words);
  return w;
}

void finish_document(JsonWriter& w, Console& console) {
  w.end();
  const std::string text = cat(w.take(), "\n");
  console.raw(bytes_of(text));
}

}  // namespace nnc::tool
