// The packer places alias groups, largest first, each into the tightest gap that the groups alive at the same time leave. The checker
// sweeps over the steps and knows nothing of that.

#include "ir/base/plan_pack.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/support/checked.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

Error bad_buffer(size_t i, std::string_view what) { return Error(Code::kInvalidIr, cat("buffer ", i, ": ", what)); }

bool power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

// What shares memory: one placement, alive from the first member's first step to the last one's last.
struct Group {
  int64_t bytes = 0, align = 1, offset = -1;
  uint32_t first = UINT32_MAX, last = 0;
};

// By buffer, its group; groups are numbered by their roots' order.
Result<std::vector<uint32_t>> group_numbers(std::span<const SizedBuffer> buffers, std::vector<Group>& groups) {
  std::vector<uint32_t> root(buffers.size()), number(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const SizedBuffer& b = buffers[i];
    if (b.bytes < 0 || b.bytes > kDimMax * 16) return bad_buffer(i, cat("its size is ", b.bytes, " bytes"));
    if (!power_of_two(b.align)) return bad_buffer(i, cat("its alignment is ", b.align));
    if (b.first > b.last) return bad_buffer(i, "it dies before it is born");
    // An alias may name a later buffer; a chain longer than the table is a cycle.
    size_t at = i, steps = 0;
    while (buffers[at].alias_of >= 0) {
      at = static_cast<size_t>(buffers[at].alias_of);
      if (at >= buffers.size() || ++steps > buffers.size()) return bad_buffer(i, "its alias leads nowhere");
    }
    root[i] = static_cast<uint32_t>(at);
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    if (root[i] == i) {
      number[i] = static_cast<uint32_t>(groups.size());
      groups.emplace_back();
    }
  for (size_t i = 0; i < buffers.size(); ++i) {
    number[i] = number[root[i]];
    Group& g = groups[number[i]];
    g.bytes = std::max(g.bytes, buffers[i].bytes);
    g.align = std::max(g.align, buffers[i].align);
    g.first = std::min(g.first, buffers[i].first);
    g.last = std::max(g.last, buffers[i].last);
  }
  return number;
}

int64_t round_up(int64_t v, int64_t align) { return (v + align - 1) & -align; }

// The offset of the tightest gap between the placed groups (sorted by offset) that live at the same time; behind all of them if no gap is
// wide enough.
int64_t best_offset(const std::vector<Group*>& placed, const Group& g) {
  int64_t best = -1, best_slack = INT64_MAX, end = 0;
  for (const Group* p : placed) {
    if (p->last < g.first || g.last < p->first) continue;
    const int64_t at = round_up(end, g.align);
    if (const int64_t slack = p->offset - at - g.bytes; slack >= 0 && slack < best_slack) {
      best = at;
      best_slack = slack;
    }
    end = std::max(end, p->offset + p->bytes);
  }
  return best >= 0 ? best : round_up(end, g.align);
}

Result<int64_t> live_bound(const std::vector<Group>& groups) {
  std::map<uint32_t, int64_t> change;  // by step
  CheckedSize total;
  for (const Group& g : groups) {
    change[g.first] += g.bytes;
    change[g.last + 1] -= g.bytes;
    total += CheckedSize(g.bytes) + CheckedSize(g.align);
  }
  NNC_TRY(total.value("bytes of all buffers"));
  int64_t live = 0, bound = 0;
  for (const auto& [step, bytes] : change) bound = std::max(bound, live += bytes);
  return bound;
}

}  // namespace

Result<Packing> pack_buffers(std::span<const SizedBuffer> buffers) {
  std::vector<Group> groups;
  NNC_ASSIGN(const std::vector<uint32_t> number, group_numbers(buffers, groups));
  Packing out;
  NNC_ASSIGN(out.lower_bound, live_bound(groups));
  std::vector<uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return groups[a].bytes > groups[b].bytes; });
  std::vector<Group*> placed;
  placed.reserve(groups.size());
  for (uint32_t i : order) {
    Group& g = groups[i];
    g.offset = g.bytes == 0 ? 0 : best_offset(placed, g);
    if (g.bytes == 0) continue;
    out.peak = std::max(out.peak, g.offset + g.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &g, [](const Group* a, const Group* b) { return a->offset < b->offset; }),
                  &g);
  }
  out.offsets.reserve(buffers.size());
  for (uint32_t n : number) out.offsets.push_back(groups[n].offset);
  return out;
}

Status check_packing(std::span<const SizedBuffer> buffers, const Packing& p) {
  if (p.offsets.size() != buffers.size())
    return Error(Code::kInternal, cat("a packing of ", p.offsets.size(), " offsets for ", buffers.size(), " buffers"));
  struct Region {
    int64_t end;
    size_t buffer;
  };
  // Members of an alias group: one region from the first birth to the last death.
  std::map<size_t, SizedBuffer> regions;  // by root
  for (size_t i = 0; i < buffers.size(); ++i) {
    size_t root = i;
    for (size_t hops = 0; buffers[root].alias_of >= 0; ++hops) {
      if (hops > buffers.size() || static_cast<size_t>(buffers[root].alias_of) >= buffers.size())
        return bad_buffer(i, "its alias leads nowhere");
      root = static_cast<size_t>(buffers[root].alias_of);
    }
    const SizedBuffer& b = buffers[i];
    if (p.offsets[i] != p.offsets[root]) return Error(Code::kInternal, cat("buffer ", i, " aliases buffer ", root, " but lies elsewhere"));
    if (b.bytes < 0 || b.first > b.last) return bad_buffer(i, "its size or its life is negative");
    if (b.align < 1 || p.offsets[i] < 0 || p.offsets[i] % b.align != 0)
      return Error(Code::kInternal, cat("buffer ", i, " at ", p.offsets[i], " is not aligned to ", b.align));
    if (b.bytes > 0 && !fits(p.offsets[i], b.bytes, p.peak))
      return Error(Code::kInternal, cat("buffer ", i, " ends outside the arena of ", p.peak, " bytes"));
    auto [it, fresh] = regions.try_emplace(root, b);
    if (fresh) continue;
    it->second.bytes = std::max(it->second.bytes, b.bytes);
    it->second.first = std::min(it->second.first, b.first);
    it->second.last = std::max(it->second.last, b.last);
  }
  std::vector<std::pair<uint32_t, size_t>> births;
  std::vector<std::pair<uint32_t, size_t>> deaths;
  for (const auto& [root, r] : regions)
    if (r.bytes > 0) {
      births.emplace_back(r.first, root);
      deaths.emplace_back(r.last, root);
    }
  std::sort(births.begin(), births.end());
  std::sort(deaths.begin(), deaths.end());
  std::map<int64_t, Region> live;  // by offset; never two overlapping
  size_t dead = 0;
  for (const auto& birth : births) {
    const auto step = birth.first;
    const auto root = birth.second;  // not a structured binding: the lambda below captures both
    for (; dead < deaths.size() && deaths[dead].first < step; ++dead) live.erase(p.offsets[deaths[dead].second]);
    const int64_t begin = p.offsets[root], end = begin + regions.at(root).bytes;
    const auto next = live.lower_bound(begin);
    auto clash = [&](const Region& other) {
      return Error(Code::kInternal,
                   cat("buffers ", other.buffer, " and ", root, " overlap in the arena while both are alive at step ", step));
    };
    if (next != live.end() && next->first < end) return clash(next->second);
    if (next != live.begin() && std::prev(next)->second.end > begin) return clash(std::prev(next)->second);
    live.emplace(begin, Region{end, root});
  }
  return {};
}

}  // namespace nnc
