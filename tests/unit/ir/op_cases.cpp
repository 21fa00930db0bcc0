#include "tests/unit/ir/op_cases.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/support/text.h"
#include "ir/verifier.h"

namespace nnc::test {

namespace {

double number(const std::string& word) { return std::stod(word); }
int64_t integer(const std::string& word) { return word[0] == '-' ? std::stoll(word) : static_cast<int64_t>(std::stoull(word)); }

EvalTensor parse_tensor(std::istringstream& line) {
  std::string dtype, extents, word;
  line >> dtype;
  if (dtype == "absent" || dtype == "any") return {};
  line >> extents;
  std::vector<int64_t> dims;
  std::istringstream inside(extents.substr(1, extents.size() - 2));
  while (std::getline(inside, word, ',')) dims.push_back(integer(word));
  EvalTensor t = EvalTensor::make(parse_dtype(dtype), dims);
  for (size_t k = 0; line >> word; ++k) {
    if (t.floating())
      t.f.at(k) = number(word);
    else
      t.i.at(k) = integer(word);
  }
  return t;
}

AttrValue parse_attr(const AttrDef& def, std::istringstream& line) {
  std::vector<std::string> words;
  for (std::string w; line >> w;) words.push_back(w);
  switch (def.kind) {
    case AttrKind::kInt: return integer(words.at(0));
    case AttrKind::kFloat: return number(words.at(0));
    case AttrKind::kString: return words.at(0);
    case AttrKind::kStrings: return words;
    case AttrKind::kInts: {
      std::vector<int64_t> v;
      for (const auto& w : words) v.push_back(integer(w));
      return v;
    }
    case AttrKind::kFloats: {
      std::vector<double> v;
      for (const auto& w : words) v.push_back(number(w));
      return v;
    }
    case AttrKind::kDims: {
      Shape v;
      for (const auto& w : words) v.emplace_back(integer(w));
      return v;
    }
    default: ADD_FAILURE() << "attribute " << def.name << " of a kind that cases do not hold"; return {};
  }
}

}  // namespace

std::vector<OpCase> load_op_cases(const std::string& name) {
  std::ifstream file(std::string(NNC_SOURCE_DIR) + "/tests/unit/ir/cases/" + name + ".txt");
  EXPECT_TRUE(file.good()) << name;
  std::vector<OpCase> cases;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "case")
      line >> cases.emplace_back().name;
    else if (key == "op")
      line >> cases.back().op;
    else if (key == "in")
      cases.back().inputs.push_back(parse_tensor(line));
    else if (key == "out")
      cases.back().outputs.push_back(parse_tensor(line));
    if (key != "attr") continue;
    std::string attr;
    line >> attr;
    const OpDef* def = find_op(cases.back().op);
    if (def == nullptr) continue;
    for (const AttrDef& a : def->attrs)
      if (a.name == attr) cases.back().attrs.push_back({a.name, parse_attr(a, line)});
  }
  return cases;
}

void number_arguments(Module& m) {
  Entry& e = *m.entries[0];
  const auto name = [](std::vector<ArgBinding>& all, char letter, size_t n) {
    all.clear();
    for (size_t k = 0; k < n; ++k) all.push_back({cat(letter, k), {}});
  };
  name(e.args, 'x', e.graph->inputs().size());
  name(e.results, 'y', e.graph->outputs().size());
}

Result<std::vector<EvalTensor>> run_op(OpKind kind, const std::vector<EvalTensor>& inputs, const AttrList& attrs, RunMode mode) {
  Module m;
  Graph& g = *m.add_entry("main").graph;
  std::vector<ValueId> operands;
  std::vector<EvalTensor> args;
  for (const EvalTensor& t : inputs) {
    if (t.dtype == DType::kInvalid) {
      operands.emplace_back();
      continue;
    }
    operands.push_back(g.add_input(Type::tensor(t.dtype, Shape(t.dims.begin(), t.dims.end()))));
    args.push_back(t);
  }
  NNC_ASSIGN(const NodeId id, g.append(kind, operands, attrs, {}));
  std::vector<ValueId> results = g.node(id).results;
  if (mode.expanded) {
    Builder b(g);
    NNC_TRY(op_def(kind).expand(b, g, id, &results));
  }
  g.set_outputs(results);
  number_arguments(m);
  NNC_TRY(verify_or_error(m));
  EvalOptions options;
  options.anchored = mode.anchored;
  return Interpreter(m, options).run(g, std::move(args));
}

std::string difference(const EvalTensor& got, const EvalTensor& want, double rel, double abs) {
  if (got.dtype != want.dtype) return cat("dtype ", dtype_name(got.dtype), " instead of ", dtype_name(want.dtype));
  if (got.dims != want.dims) return cat("extents ", testing::PrintToString(got.dims), " instead of ", testing::PrintToString(want.dims));
  if (got.i != want.i) return cat("integers ", testing::PrintToString(got.i), " instead of ", testing::PrintToString(want.i));
  if (got.f.size() != want.f.size()) return cat(got.f.size(), " elements instead of ", want.f.size());
  for (size_t k = 0; k < got.f.size(); ++k) {
    const double a = got.f[k], b = want.f[k];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::fabs(a - b) <= abs + rel * std::fabs(b)) continue;
    return cat("element ", k, " is ", testing::PrintToString(a), " instead of ", testing::PrintToString(b));
  }
  return {};
}

}  // namespace nnc::test
