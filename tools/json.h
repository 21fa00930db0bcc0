#pragma once
// Writer of JSON documents: what a user scripts. Always valid: bytes that are no UTF-8 become U+FFFD, numbers that JSON cannot say become
// null. No reader.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace nnc::tool {

class JsonWriter {
 public:
  JsonWriter& object() { return open('{'); }
  JsonWriter& array() { return open('['); }
  JsonWriter& end();  // closes what was opened last
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);
  JsonWriter& value(bool truth);
  JsonWriter& value(int64_t number);
  JsonWriter& value(int number) { return value(static_cast<int64_t>(number)); }
  JsonWriter& value(uint64_t number);
  JsonWriter& null();
  template <class T> JsonWriter& field(std::string_view name, const T& v) { return key(name).value(v); }
  // A list of numbers or texts.
  template <class Range> JsonWriter& list(std::string_view name, const Range& range) {
    key(name).array();
    for (const auto& v : range) value(v);
    return end();
  }
  std::string take() { return std::move(text_); }

 private:
  JsonWriter& open(char bracket);
  void before();
  std::string text_;
  std::vector<char> open_;
  bool first_ = true, after_key_ = false;
};

void write_error(JsonWriter& w, const Error& e);

}  // namespace nnc::tool
