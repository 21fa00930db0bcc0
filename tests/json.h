#pragma once
// Reads JSON that this project's own scripts wrote (tests/models/models.json). Numbers are doubles; a syntax error ends the program. No
// writer.

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace nnc::test {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::map<std::string, Json> fields;

  bool has(const std::string& name) const { return fields.contains(name); }
  const Json& operator[](const std::string& name) const {
    static const Json none;
    const auto found = fields.find(name);
    return found == fields.end() ? none : found->second;
  }
  double num(double fallback = 0) const { return kind == Kind::kNumber || kind == Kind::kBool ? number : fallback; }
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}
  Json read() {
    Json v = value();
    skip();
    NNC_CHECK(at_ == text_.size(), "text after the JSON value");
    return v;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  char peek() {
    skip();
    NNC_CHECK(at_ < text_.size(), "JSON ends early");
    return text_[at_];
  }
  void expect(std::string_view word) {
    skip();
    NNC_CHECK(text_.substr(at_, word.size()) == word, "unexpected text in JSON");
    at_ += word.size();
  }
  std::string string() {
    expect("\"");
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'u') {
          const auto code = static_cast<unsigned>(std::strtoul(std::string(text_.substr(at_, 4)).c_str(), nullptr, 16));
          at_ += 4;
          if (code < 0x80) {
            out += static_cast<char>(code);
            continue;
          }
          if (code < 0x800) {
            out += static_cast<char>(0xc0 | (code >> 6));
          } else {
            out += static_cast<char>(0xe0 | (code >> 12));
            out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
          }
          c = static_cast<char>(0x80 | (code & 0x3f));
        } else {
          c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
        }
      }
      out += c;
    }
    expect("\"");
    return out;
  }
  Json value() {
    Json v;
    switch (peek()) {
      case '{':
        v.kind = Json::Kind::kObject;
        expect("{");
        while (peek() != '}') {
          std::string name = string();
          expect(":");
          v.fields[name] = value();
          if (peek() == ',') expect(",");
        }
        expect("}");
        return v;
      case '[':
        v.kind = Json::Kind::kArray;
        expect("[");
        while (peek() != ']') {
          v.items.push_back(value());
          if (peek() == ',') expect(",");
        }
        expect("]");
        return v;
      case '"':
        v.kind = Json::Kind::kString;
        v.text = string();
        return v;
      case 't':
        expect("true");
        v.kind = Json::Kind::kBool;
        v.number = 1;
        return v;
      case 'f':
        expect("false");
        v.kind = Json::Kind::kBool;
        return v;
      case 'n': expect("null"); return v;
      default: break;
    }
    const size_t end = text_.find_first_not_of("+-.0123456789eE", at_);
    v.kind = Json::Kind::kNumber;
    v.number = std::strtod(std::string(text_.substr(at_, end - at_)).c_str(), nullptr);
    NNC_CHECK(end > at_, "no JSON value");
    at_ = end == std::string_view::npos ? text_.size() : end;
    return v;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace nnc::test
