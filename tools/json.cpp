#include "tools/json.h"

#include <cmath>

#include "ir/support/text.h"
#include "tools/console.h"

namespace nnc::tool {

namespace {

std::string escaped(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    size_t n = 1;
    if (c == '"' || c == '\\')
      append(out, '\\', static_cast<char>(c));
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20)
      append(out, "\\u", hex(c, 4));
    else if (c < 0x80)
      out += static_cast<char>(c);
    else {
      n = valid_utf8_prefix(text);
      if (n == 0) {
        out += "\xef\xbf\xbd";
        n = 1;
      } else {
        out += text.substr(0, n);
      }
    }
    text.remove_prefix(n);
  }
  return out += '"';
}

}  // namespace

void JsonWriter::before() {
  if (!after_key_ && !first_ && !open_.empty()) text_ += ", ";
  first_ = after_key_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  before();
  text_ += bracket;
  open_.push_back(bracket == '{' ? '}' : ']');
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end() {
  NNC_CHECK(!open_.empty() && !after_key_, "something is open");
  text_ += open_.back();
  open_.pop_back();
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  NNC_CHECK(!open_.empty() && open_.back() == '}', "keys are in objects");
  before();
  append(text_, escaped(name), ": ");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before();
  text_ += escaped(text);
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  before();
  append(text_, number);
  return *this;
}
JsonWriter& JsonWriter::value(bool truth) {
  before();
  text_ += truth ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::value(int64_t number) {
  before();
  append(text_, number);
  return *this;
}
JsonWriter& JsonWriter::value(uint64_t number) {
  before();
  append(text_, number);
  return *this;
}
JsonWriter& JsonWriter::null() {
  before();
  text_ += "null";
  return *this;
}

void write_error(JsonWriter& w, const Error& e) {
  w.object().field("code", code_name(e.code)).field("exit", exit_code(e.code)).field("message", e.message);
  if (!e.place.empty()) {
    w.key("place").object();
    for (const auto& [name, text] : {std::pair<std::string_view, const std::string&>{"node", e.place.node},
                                     {"op", e.place.op},
                                     {"value", e.place.value},
                                     {"file", e.place.file}})
      if (!text.empty()) w.field(name, text);
    if (e.place.line > 0)
      w.field("line", e.place.line).field("column", e.place.column);
    else if (e.place.offset >= 0)
      w.field("offset", e.place.offset);
    w.end();
  }
  w.list("context", e.context).end();
}

}  // namespace nnc::tool
