#include "ir/base/tensor_hash.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "ir/support/parallel.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

constexpr size_t kWorthThreads = size_t{1} << 20;

// Everything is delimited, so that no two different tensors feed the same bytes.
Sha256 begun(const Tensor& t) {
  Sha256 hash;
  hash.update(cat(dtype_name(t.dtype()), "[", join(t.dims(), ",", [](int64_t d) { return d; }), "]\n"));
  for (const std::string& s : t.strings()) hash.update(cat(s.size(), ":", s));
  return hash;
}
ByteView bytes_in(const Tensor& t) { return {static_cast<const uint8_t*>(t.data()), t.bytes()}; }

}  // namespace

Digest tensor_hash(const Tensor& t) {
  Sha256 hash = begun(t);
  hash.update(bytes_in(t));
  return hash.finish();
}

std::vector<Digest> tensor_hashes(std::span<const Tensor* const> tensors) {
  std::vector<Digest> out(tensors.size());
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t k) { return tensors[k]->bytes(); });
  std::atomic<size_t> next{0};
  struct Current {
    size_t tensor;
    Sha256 hash;
    ByteView rest;
  };
  const auto take = [&](Current& p) {
    const size_t k = next.fetch_add(1, std::memory_order_relaxed);
    if (k >= order.size()) return false;
    p = {order[k], begun(*tensors[order[k]]), bytes_in(*tensors[order[k]])};
    return true;
  };
  // Each thread has two tensors under way; where one ends, the next takes its place.
  const auto work = [&](size_t) {
    Current a, b;
    bool has_a = take(a), has_b = take(b);
    while (has_a || has_b) {
      const size_t both = has_a && has_b ? std::min(a.rest.size(), b.rest.size()) : 0;
      Sha256::update_both(a.hash, a.rest.first(both), b.hash, b.rest.first(both));
      for (auto [p, has] : {std::pair(&a, &has_a), std::pair(&b, &has_b)}) {
        if (!*has) continue;
        p->rest = p->rest.subspan(both);
        if (!p->rest.empty() && has_a && has_b) continue;
        p->hash.update(p->rest);
        out[p->tensor] = p->hash.finish();
        *has = take(*p);
      }
    }
  };
  const size_t all = std::accumulate(order.begin(), order.end(), size_t{0}, [&](size_t n, size_t k) { return n + tensors[k]->bytes(); });
  if (all < kWorthThreads)
    work(0);
  else
    parallel_for(parallel_threads((tensors.size() + 1) / 2), work);
  return out;
}

}  // namespace nnc
