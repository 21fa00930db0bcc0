#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "ir/support/text.h"
#include "ir/verifier.h"
#include "tests/unit/ir/test_graphs.h"

namespace nnc {
namespace {

using test::parsed;
using test::random_module;
using testing::HasSubstr;

TEST(IrText, RandomModulesComeBackByteForByte) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const std::unique_ptr<Module> m = random_module(seed);
    const std::string text = print_module(*m);
    for (const char* word :
         {"region @then", "floordiv", "fused [", "states {", "bounded", "profile", "reshape(", "transpose(", "alpha = "}) {
      if (text.find(word) != std::string::npos) ++seen[word];
    }
    Result<std::unique_ptr<Module>> again = parse_module(text);
    ASSERT_TRUE(again.ok()) << again.error().str() << "\n" << text;
    ASSERT_EQ(print_module(**again), text);
    const std::vector<Diagnostic> found = verify(**again);
    ASSERT_TRUE(found.empty()) << "seed " << seed << ": " << found[0].message << "\n" << text;
    for (size_t k = 0; k < m->entries.size(); ++k) {
      EXPECT_EQ(canonical_hash(*m->entries[k]->graph), canonical_hash(*(*again)->entries[k]->graph));
    }
  }
  EXPECT_EQ(seen.size(), 9u);
  for (const auto& [word, count] : seen) EXPECT_GE(count, 20) << word;
}

TEST(IrText, ShapeValuesComeBack) {
  const std::unique_ptr<Module> m = random_module(3);
  const std::unique_ptr<Module> again = parsed(print_module(*m));
  for (size_t e = 0; e < m->entries.size(); ++e) {
    Graph &a = *m->entries[e]->graph, &b = *again->entries[e]->graph;
    a.compact();
    ASSERT_EQ(a.value_capacity(), b.value_capacity());
    for (size_t v = 0; v < a.value_capacity(); ++v) EXPECT_EQ(a.shape_value(ValueId(v)), b.shape_value(ValueId(v)));
  }
}

Module& with_constant(Module& m, Tensor t) {
  Graph& g = *m.add_entry("main").graph;
  g.set_outputs({*Builder(g).constant(std::move(t))});
  m.entries[0]->results = {{"c", {}}};
  return m;
}
const Tensor& only_constant(const Module& m) { return *const_value(*m.entries[0]->graph, m.entries[0]->graph->outputs()[0]); }

TEST(IrText, EveryElementComesBackBitForBit) {
  test::Rng rng(7);
  for (size_t t = 1; t < static_cast<size_t>(DType::kCount); ++t) {
    const auto dtype = static_cast<DType>(t);
    Tensor constant(dtype, {3, 16});
    if (dtype == DType::kString) {
      for (size_t k = 0; k < 48; ++k) constant.strings()[k] = std::string("a\"\n\0 \xff", 6).substr(k % 6);
    } else if (dtype == DType::kBool) {
      for (int64_t k = 0; k < 48; ++k) store_i64(dtype, constant.data(), k, rng.below(2));
    } else {
      auto bytes = constant.as_mut<uint8_t>();
      for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng.next());
    }
    Module m;
    const std::string text = print_module(with_constant(m, constant));
    const std::unique_ptr<Module> again = parsed(text);
    EXPECT_TRUE(only_constant(*again).same_bits(constant)) << text;
    EXPECT_EQ(print_module(*again), text);
  }
}

TEST(IrText, SpecialFloatsAreReadable) {
  const float values[] = {0.1f, -0.0f, std::numeric_limits<float>::infinity(), 1e-45f};
  Module m;
  EXPECT_THAT(print_module(with_constant(m, Tensor::of<float>(DType::kF32, {4}, values))),
              HasSubstr("value = f32[4] {0.1, -0, inf, 1e-45}}"));
}

TEST(IrText, LargeConstantsAreReadFromTheSideFile) {
  Tensor large(DType::kF32, {5, 13});
  for (size_t k = 0; k < 65; ++k) large.as_mut<float>()[k] = static_cast<float>(k) * 0.5f;
  Module m;
  const std::string text = print_module(with_constant(m, large));
  EXPECT_THAT(text, HasSubstr(cat("f32[5, 13] sha256:", tensor_hash(large).hex())));
  const Result<std::unique_ptr<Module>> without = parse_module(text);
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("side file"));

  std::string side = constants_side_file(m);
  Result<ConstantSource> source = open_constants_side_file(side);
  ASSERT_TRUE(source.ok()) << source.error().str();
  Result<std::unique_ptr<Module>> again = parse_module(text, *source);
  ASSERT_TRUE(again.ok()) << again.error().str();
  EXPECT_TRUE(only_constant(**again).same_bits(large));

  side.back() = static_cast<char>(side.back() ^ 1);
  const Result<std::unique_ptr<Module>> damaged = parse_module(text, *open_constants_side_file(side));
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(damaged.error().message, HasSubstr("other bytes than its hash"));
}

TEST(IrText, EveryTruncationOfASideFileIsAnErrorOrTheSame) {
  Module m;
  Tensor strings(DType::kString, {2});
  strings.strings() = {"abc", ""};
  const Digest hash = tensor_hash(strings);
  const std::string side = constants_side_file(with_constant(m, strings), 1);
  for (size_t n = 0; n < side.size(); ++n) {
    Result<ConstantSource> source = open_constants_side_file(side.substr(0, n));
    EXPECT_FALSE(source.ok() && (*source)(hash, DType::kString, std::vector<int64_t>{2}).ok()) << n;
  }
  EXPECT_TRUE((*open_constants_side_file(side))(hash, DType::kString, std::vector<int64_t>{2}).ok());
}

TEST(IrText, AllProblemsAtOnceWithLineAndColumn) {
  ParseInfo info;
  const Result<std::unique_ptr<Module>> m = parse_module(
      "graph @g(%x: f32[4]) {\n"
      "  %1 = nonsense(%x) : f32[4]\n"
      "  %2 = relu(%x, %x) : f32[4]\n"
      "  %3 = relu(%q) : f32[4]\n"
      "  %4 = relu(%x) {alpha = 1} : f32[4]\n"
      "  %5, %6 = relu(%x) : f32[4], f32[4]\n"
      "  %7 = relu(%x) : g32[4]\n"
      "  return %3\n"
      "}\n",
      {}, &info);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().code, Code::kParse);
  std::vector<std::string> found;
  for (const TextProblem& p : info.problems) found.push_back(cat(p.line, ":", p.column));
  EXPECT_THAT(found, testing::UnorderedElementsAre("2:8", "3:8", "4:13", "5:18", "6:3", "7:19"));
  EXPECT_EQ(m.error().context.size(), 5u);
}

// Truncations and changed bytes of a text are an error or a module that prints; never a crash.
TEST(IrText, BrokenTextIsACleanError) {
  const std::string text = print_module(*random_module(5));
  test::Rng rng(11);
  for (size_t k = 0; k < 600; ++k) {
    std::string broken = text;
    if (k % 2 == 0)
      broken.resize(static_cast<size_t>(rng.below(static_cast<int64_t>(text.size()))));
    else
      broken[static_cast<size_t>(rng.below(static_cast<int64_t>(text.size())))] = "%@#s(){}[]<>,=:\"0 9x\n"[rng.below(20)];
    Result<std::unique_ptr<Module>> m = parse_module(broken);
    if (m.ok()) {
      (void)verify(**m);
      EXPECT_FALSE(print_module(**m).empty());
    }
  }
}

TEST(IrText, SymbolsKeepTheirNumbersAndDefinitions) {
  const char* text =
      "nnir 1\n"
      "symbols {\n"
      "  s2 = input \"n\" in [1, 64] divisor 4 typical 16 bounded\n"
      "  s5 = floordiv(s2+3, 4) in [1, 16]\n"
      "  s6 = round(s2, 3/2, even) in [2, 96]\n"
      "}\n"
      "entry @main(%0: f32[s2, s5, s6] \"x\") -> (\"y\") {\n"
      "  return %0\n"
      "}\n";
  const std::unique_ptr<Module> m = parsed(text);
  EXPECT_EQ(print_module(*m), text);
  EXPECT_EQ(m->symbols[SymbolId(2)].typical, 16);
  EXPECT_EQ(m->symbols.find("n"), SymbolId(2));
}

TEST(IrText, HashDoesNotSeeNamesLocationsOrOrder) {
  const auto hash = [](const char* body) {
    const std::unique_ptr<Module> m =
        parsed(cat("locations {\n  #0 = node \"n\"\n}\ngraph @", body[0], "(%x: f32[4], %y: f32[4]) {\n", body + 1, "}\n"));
    return canonical_hash(*m->entries[0]->graph);
  };
  const Digest a = hash("a  %1 = relu(%x) : f32[4]\n  %2 = neg(%y) : f32[4]\n  %3 = add(%1, %2) : f32[4]\n  return %3\n");
  EXPECT_EQ(a, hash("b  %p = neg(%y) : f32[4] loc #0\n  %q = relu(%x) : f32[4]\n  %r = add(%q, %p) : f32[4]\n  return %r\n"));
  EXPECT_NE(a, hash("a  %1 = relu(%y) : f32[4]\n  %2 = neg(%x) : f32[4]\n  %3 = add(%1, %2) : f32[4]\n  return %3\n"));
  EXPECT_NE(a, hash("a  %1 = relu(%x) : f32[4]\n  %2 = neg(%y) : f32[4]\n  %3 = add(%2, %1) : f32[4]\n  return %3\n"));
  EXPECT_EQ(hash("a  %1 = hard_sigmoid(%x) : f32[4]\n  return %1\n"),
            hash("a  %1 = hard_sigmoid(%x) {alpha = 0.2, beta = 0.5} : f32[4]\n  return %1\n"));
  EXPECT_NE(hash("a  %1 = hard_sigmoid(%x) : f32[4]\n  return %1\n"),
            hash("a  %1 = hard_sigmoid(%x) {alpha = 0.25} : f32[4]\n  return %1\n"));
}

}  // namespace
}  // namespace nnc
