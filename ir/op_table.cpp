// Finds the row of an op. Rows are copied out of the families once, so that they lie in the order of ops.def with their spelling filled in.

#include <map>

#include "ir/op.h"
#include "ir/ops/families.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr size_t kOpCount = static_cast<size_t>(OpKind::kCount);

struct OpLine {
  std::string_view spelling, family;
  std::span<const OpDef> (*rows)();
};
constexpr OpLine kLines[] = {
#define NNC_OP(enumerator, spelling, family) {#spelling, #family, &ops_##family},
#include "ir/ops.def"
#undef NNC_OP
};
static_assert(std::size(kLines) == kOpCount);

std::vector<std::string> problems_of(const std::vector<OpDef>& rows);

struct Table {
  std::vector<OpDef> rows = std::vector<OpDef>(kOpCount);  // kind is kCount where there is no row
  std::vector<const OpDef*> present;
  std::map<std::string_view, const OpDef*> by_name;

  Table() {
    for (size_t k = 0; k < kOpCount; ++k) {
      const OpDef* found = nullptr;
      for (const OpDef& row : kLines[k].rows()) {
        if (static_cast<size_t>(row.kind) != k) continue;
        NNC_CHECK(found == nullptr, cat("op ", kLines[k].spelling, " has two rows").c_str());
        found = &row;
      }
      if (found == nullptr) continue;
      rows[k] = *found;
      rows[k].name = kLines[k].spelling;
      present.push_back(&rows[k]);
      by_name[rows[k].name] = &rows[k];
    }
    const std::vector<std::string> problems = problems_of(rows);
    NNC_CHECK(problems.empty(), problems[0].c_str());
  }
};

const Table& table() {
  static const Table t;
  return t;
}

void check_row(const OpDef& def, std::vector<std::string>& problems) {
  const auto need = [&](bool ok, const char* what) {
    if (!ok) problems.push_back(cat(def.name, ": ", what));
  };
  need(!def.doc.empty(), "no doc");
  need(def.infer != nullptr, "no infer");
  need(def.eval != nullptr, "no eval");
  need((def.gradient != nullptr) != !def.no_gradient.empty(), "needs either a gradient or the reason for none");
  need(def.min_operands >= 0 && (def.max_operands == -1 || def.max_operands >= def.min_operands), "operand counts");
  need(def.lowering != Lowering::kExpand || def.expand != nullptr, "lowered by expansion, but no expand");
  for (size_t k = 0; k < def.attrs.size(); ++k) {
    const AttrDef& a = def.attrs[k];
    need(!a.name.empty(), "attribute without a name");
    for (size_t j = 0; j < k; ++j) need(def.attrs[j].name != a.name, "two attributes of one name");
    need(a.choices.empty() || a.kind == AttrKind::kString, "choices for an attribute that is no string");
    if (a.choices.empty() || a.required) continue;
    bool legal = false;
    for (std::string_view c : split(a.choices, '|')) legal |= c == a.string_default;
    need(legal, "default outside the choices");
  }
}

std::vector<std::string> problems_of(const std::vector<OpDef>& rows) {
  std::vector<std::string> problems;
  for (size_t k = 0; k < kOpCount; ++k) {
    const OpDef& def = rows[k];
    if (def.kind == OpKind::kCount) {
      problems.push_back(cat(kLines[k].spelling, ": no row in ir/ops/", kLines[k].family, ".cpp"));
    } else {
      check_row(def, problems);
    }
    // A row in another family's file would never be found.
    for (const OpDef& row : kLines[k].rows()) {
      const size_t kind = static_cast<size_t>(row.kind);
      if (kind >= kOpCount || kLines[kind].family != kLines[k].family) problems.push_back(cat("a stray row in family ", kLines[k].family));
    }
  }
  return problems;
}

}  // namespace

const OpDef& op_def(OpKind kind) {
  NNC_CHECK(kind < OpKind::kCount, "no op kind");
  const OpDef& def = table().rows[static_cast<size_t>(kind)];
  NNC_CHECK(def.kind == kind, cat("op ", op_name(kind), " has no row").c_str());
  return def;
}

const OpDef* find_op(std::string_view spelling) {
  const auto it = table().by_name.find(spelling);
  return it == table().by_name.end() ? nullptr : it->second;
}

std::string_view op_name(OpKind kind) { return kind < OpKind::kCount ? kLines[static_cast<size_t>(kind)].spelling : "?"; }

std::span<const OpDef* const> all_ops() { return table().present; }

std::vector<std::string> op_table_problems() { return problems_of(table().rows); }

}  // namespace nnc
