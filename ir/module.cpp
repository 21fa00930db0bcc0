#include <algorithm>

#include "ir/base/tensor_hash.h"
#include "ir/graph.h"
#include "ir/support/text.h"

namespace nnc {

namespace {
// Of dtype, extents and a few kilobytes from all over the tensor: equal tensors have equal samples, and few others do.
uint64_t sample(const Tensor& t) {
  constexpr size_t kPiece = 256, kPieces = 16;
  uint64_t h = hash64(cat(dtype_name(t.dtype()), "[", join(t.dims(), ",", [](int64_t d) { return d; }), "]"));
  for (const std::string& s : t.strings()) h = hash64(s, h);
  const ByteView bytes(static_cast<const uint8_t*>(t.data()), t.bytes());
  if (bytes.size() <= kPiece * kPieces) return hash64(bytes, h);
  for (size_t k = 0; k < kPieces; ++k) h = hash64(bytes.subspan((bytes.size() - kPiece) / (kPieces - 1) * k, kPiece), h);
  return h;
}
}  // namespace

ConstId Module::add_constant(Tensor t) {
  NNC_CHECK(t.valid(), "constant without a dtype");
  const uint64_t key = sample(t);
  for (auto [it, end] = constant_ids_.equal_range(key); it != end; ++it)
    if (constants_[it->second].tensor.same_bits(t)) return it->second;
  const ConstId id = constants_.push({std::move(t), std::nullopt});
  constant_ids_.emplace(key, id);
  return id;
}

const Digest& Module::constant_hash(ConstId id) const {
  const Constant& c = constants_[id];
  if (!c.hash) c.hash = tensor_hash(c.tensor);
  return *c.hash;
}

namespace {
void constants_of(const Graph& g, std::vector<ConstId>* out) {
  for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
    for (const AttrValue& a : g.node(id).attrs)
      if (const auto* c = std::get_if<ConstId>(&a); c != nullptr && c->valid()) out->push_back(*c);
    for (RegionId r : g.node(id).regions) constants_of(g.region(r), out);
  }
}
}  // namespace

void Module::hash_constants() const {
  std::vector<ConstId> used;
  for (const auto& e : entries) constants_of(*e->graph, &used);
  for (size_t i = 0; i < states.size(); ++i)
    if (const ConstId initial = states[StateId(i)].initial; initial.valid()) used.push_back(initial);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::erase_if(used, [&](ConstId id) { return constants_[id].hash.has_value(); });
  std::vector<const Tensor*> tensors;
  for (ConstId id : used) tensors.push_back(&constants_[id].tensor);
  const std::vector<Digest> hashes = tensor_hashes(tensors);
  for (size_t k = 0; k < used.size(); ++k) constants_[used[k]].hash = hashes[k];
}

LocId Module::add_loc(Loc loc) {
  const auto it = loc_ids_.find(loc);
  if (it != loc_ids_.end()) return it->second;
  const LocId id = locs_.push(loc);
  loc_ids_[std::move(loc)] = id;
  return id;
}

std::vector<LocId> Module::loc_leaves(LocId id) const {
  std::vector<LocId> leaves, todo = {id};
  while (!todo.empty()) {
    const LocId next = todo.back();
    todo.pop_back();
    if (!next.valid()) continue;
    const Loc& l = locs_[next];
    if (l.fused.empty()) leaves.push_back(next);
    todo.insert(todo.end(), l.fused.begin(), l.fused.end());
  }
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

LocId Module::fuse_locs(std::span<const LocId> locs) {
  Loc fused;
  for (LocId id : locs) {
    const std::vector<LocId> leaves = loc_leaves(id);
    fused.fused.insert(fused.fused.end(), leaves.begin(), leaves.end());
  }
  std::sort(fused.fused.begin(), fused.fused.end());
  fused.fused.erase(std::unique(fused.fused.begin(), fused.fused.end()), fused.fused.end());
  if (fused.fused.empty()) return {};
  if (fused.fused.size() == 1) return fused.fused[0];
  return add_loc(std::move(fused));
}

const Loc& Module::loc(LocId id) const {
  static const Loc none;
  return id.valid() ? locs_[id] : none;
}

namespace {

std::string leaf_str(const Loc& loc) {
  if (!loc.node.empty()) return loc.op.empty() ? cat("node ", quote(loc.node)) : cat("node ", quote(loc.node), " (", loc.op, ")");
  if (!loc.file.empty()) return cat(quote(loc.file), ":", loc.line);
  if (!loc.scope.empty()) return cat("module ", quote(loc.scope));
  return loc.op.empty() ? "an unnamed node" : cat("an unnamed ", loc.op);
}

}  // namespace

std::string Module::loc_str(LocId id) const {
  constexpr size_t kShown = 4;
  const std::vector<LocId> leaves = loc_leaves(id);
  if (leaves.empty()) return "a node without location";
  const size_t shown = std::min(leaves.size(), kShown);
  std::string out = join(std::span(leaves).first(shown), ", ", [&](LocId leaf) { return leaf_str(locs_[leaf]); });
  if (leaves.size() > shown) append(out, " and ", leaves.size() - shown, " more");
  return out;
}

Entry& Module::add_entry(std::string name, std::string profile) {
  auto entry = std::make_unique<Entry>();
  entry->graph = std::make_unique<Graph>(this, name);
  entry->name = std::move(name);
  entry->profile = std::move(profile);
  entries.push_back(std::move(entry));
  return *entries.back();
}

Entry* Module::find_entry(std::string_view name, std::string_view profile) {
  for (const auto& entry : entries) {
    if (entry->name == name && entry->profile == profile) return entry.get();
  }
  return nullptr;
}

std::unique_ptr<Module> Module::clone() const {
  auto m = clone_for_inference();
  m->constant_ids_ = constant_ids_;
  m->loc_ids_ = loc_ids_;
  return m;
}

std::unique_ptr<Module> Module::clone_for_inference() const {
  auto m = std::make_unique<Module>();
  m->symbols = symbols;
  m->states = states;
  m->metadata = metadata;
  m->constants_ = constants_;
  m->locs_ = locs_;
  for (const auto& entry : entries) {
    auto e = std::make_unique<Entry>();
    e->name = entry->name;
    e->profile = entry->profile;
    e->args = entry->args;
    e->results = entry->results;
    e->graph = entry->graph->copy(m.get());
    m->entries.push_back(std::move(e));
  }
  return m;
}

}  // namespace nnc
