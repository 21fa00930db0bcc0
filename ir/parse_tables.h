#pragma once
// The parts of IR text below graphs: dims, types, constants, and the tables of symbols, states and locations. parser.cpp builds entries on
// it. Every reading function returns false after it has reported a problem; its caller then goes on with the next line.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/support/text.h"
#include "ir/text.h"
#include "ir/text_cursor.h"

namespace nnc {

class TableParser {
 protected:
  TableParser(std::string_view text, const ConstantSource& constants)
      : in_(text), constants_(constants), module_(std::make_unique<Module>()) {}

  bool fail(std::string message) {
    in_.problem(std::move(message));
    return false;
  }
  bool expect(std::string_view symbol) { return in_.accept(symbol) || fail(cat("'", symbol, "' expected")); }
  bool expect_string(std::string* out) { return in_.string(out) || fail("a quoted string expected"); }
  bool expect_int(int64_t* out) { return in_.integer(out) || fail("an integer expected"); }
  template <class Line> bool block(Line&& line) {
    if (!expect("{")) return false;
    while (!in_.accept("}")) {
      if (in_.at_end()) return fail("'}' expected");
      const size_t start = in_.position();
      if (!line()) in_.skip_line(start);
    }
    return true;
  }
  // "[a, b]" or "(a, b)"; `item` reads one.
  template <class Item> bool list(std::string_view open, std::string_view close, Item&& item) {
    if (!expect(open)) return false;
    if (in_.accept(close)) return true;
    do {
      if (!item()) return false;
    } while (in_.accept(","));
    return expect(close);
  }

  bool symbol_id(int64_t* id);
  void fill_symbols(int64_t up_to);
  bool symbol();
  bool symbol_definition(Symbol* s);
  bool dim(std::string_view stops, Dim* out);
  void declare_implicit(std::string_view text);
  bool dims(Shape* out);
  bool type(Type* t);
  bool dtype(DType* t);
  bool constant(ConstId* id);
  Result<Tensor> stored_constant(DType dt, const std::vector<int64_t>& extents);
  Result<Tensor> inline_constant(DType dt, const std::vector<int64_t>& extents);
  bool state();
  bool location_id(size_t* id);
  bool location();

  TextCursor in_;
  const ConstantSource& constants_;
  std::unique_ptr<Module> module_;
  std::map<std::string, StateId> states_;
  std::vector<LocId> locs_;
  bool implicit_symbols_ = false;  // argument types declare what they use
};

}  // namespace nnc
