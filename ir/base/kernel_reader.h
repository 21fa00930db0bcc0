#pragma once
// Reading kernel text: words, then expressions. Statements are in kernel_parse.cpp. After the first failure every call gives something
// harmless and moves no further.

#include <optional>

#include "ir/base/kernel_exprs.h"

namespace nnc {

inline constexpr int kMaxTextDepth = 200;  // of nested expressions and blocks

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

 protected:
  void blanks();
  void fail(std::string what);
  bool accept(std::string_view token);
  void expect(std::string_view token);
  // Letters, digits, _ and dots.
  std::string_view word();
  int64_t integer(int64_t lo = INT64_MIN, int64_t hi = INT64_MAX);
  std::string text_in_quotes();

  std::string_view text_;
  size_t at_ = 0;
  bool failed_ = false;
  Error error_;
};

class ExprReader : public TextReader {
 public:
  explicit ExprReader(std::string_view text) : TextReader(text), pool_(k_) {}

 protected:
  Dim dim(std::string_view stops);
  ExprId bad();
  ExprId node(ExprNode n);
  // The number of an existing "%name.N" or "$name.N"; its sign has been read.
  uint32_t reference(size_t count);
  VarId var_ref();
  BufId buf_ref();
  ExprId expr();
  ExprId expr_body();
  ExprId call(ExprNode n);
  KType type();
  ExprId constant(KType t);
  std::optional<uint64_t> constant_bits(const KType& t, std::string_view s);

  Kernel k_;
  ExprPool pool_;
  int depth_ = 0;
};

}  // namespace nnc
