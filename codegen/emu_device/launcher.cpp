#include "codegen/emu_device/launcher.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/support/hash.h"
#include "ir/support/text.h"

namespace nnc {

std::string_view emu_fault_name(EmuFault f) {
  static constexpr std::string_view kNames[] = {"access outside the buffer",
                                                "misaligned access",
                                                "read of memory that nothing was written to",
                                                "data race",
                                                "read before an asynchronous copy has landed",
                                                "divergent barrier",
                                                "warp operation without all lanes",
                                                "buffer smaller than the kernel wants"};
  return kNames[static_cast<size_t>(f)];
}

namespace emu {

namespace {

constexpr u64 kBlockNumbers = u64(1) << (64 - kBlockShift);
constexpr u64 kWriteMark = 8;  // in the record that a race report carries

void on_report(nnc_block* b, u32 kind, const nnc_ref* buffer, i64 index, u64 other, u32) {
  static_cast<Launcher*>(b)->fault(kind, buffer, index, other);
}
void on_sync(nnc_block* b, u32 kind, u32 line) { static_cast<Launcher*>(b)->meet(kind, line); }
void on_copy(nnc_block* b, const nnc_ref* to, i64 to_index, const nnc_ref* from, i64 from_index, u32 bytes, u32 on) {
  static_cast<Launcher*>(b)->start_copy(*to, to_index, *from, from_index, bytes, on != 0);
}
void on_commit(nnc_block* b) { ++static_cast<Launcher*>(b)->current().group; }
void on_wait(nnc_block* b, u32 pending) { static_cast<Launcher*>(b)->land_copies(pending); }
constexpr nnc_api kApi = {on_report, on_sync, on_copy, on_commit, on_wait};

}  // namespace

Shuffled::Shuffled(u64 n, u64 seed) : n_(std::max<u64>(n, 1)) {
  if (n_ == 1 || seed == 0) return;  // seed 0: in order
  b_ = mix64(seed) % n_;
  a_ = mix64(seed + kGolden) % n_;
  while (a_ == 0 || std::gcd(a_, n_) != 1) a_ = (a_ + 1) % n_;
}

void EmuPool::forget() {
  std::fill(global.begin(), global.end(), nnc_word{});
  std::fill(shared.begin(), shared.end(), nnc_word{});
  next_block = 1;
}

Launcher::Launcher(EmuPool& pool, const EmuKernel& kernel, const EmuOptions& o, int64_t tasks)
    : nnc_block{}, pool_(pool), kernel_(kernel), options_(o), tasks_(tasks), blocks_(static_cast<u64>(tasks), o.seed) {}

void Launcher::shadow_globals(std::span<const EmuBuffer> buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto begin = [&](size_t i) { return reinterpret_cast<uintptr_t>(buffers[i].data); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return begin(a) < begin(b); });
  struct Cluster {
    size_t from, to;  // in `order`
    uintptr_t base, end;
    size_t offset = 0;
    u32 shift = 2;
  };
  std::vector<Cluster> clusters;
  size_t words_needed = 0;
  for (size_t i = 0; i < order.size();) {
    Cluster c{i, i + 1, begin(order[i]) & ~uintptr_t(7), begin(order[i]) + static_cast<uintptr_t>(buffers[order[i]].bytes)};
    while (c.to < order.size() && begin(order[c.to]) < c.end) {
      c.end = std::max(c.end, begin(order[c.to]) + static_cast<uintptr_t>(buffers[order[c.to]].bytes));
      ++c.to;
    }
    i = c.to;
    bool is_written = false;
    for (size_t j = c.from; j < c.to; ++j) {
      is_written |= kernel_.info->written[order[j]] != 0;
      c.shift = std::min<u32>(c.shift, kernel_.info->elem[order[j]] == 1 ? 0 : kernel_.info->elem[order[j]] == 2 ? 1 : 2);
    }
    if (!is_written) continue;  // memory that is only read has no races
    c.offset = words_needed;
    words_needed += (static_cast<size_t>(c.end - c.base) >> c.shift) + 1;
    clusters.push_back(c);
  }
  if (pool_.global.size() < words_needed) pool_.global.resize(words_needed);
  for (const Cluster& c : clusters)
    for (size_t j = c.from; j < c.to; ++j) {
      nnc_ref& r = refs_[order[j]];
      r.shift = c.shift;
      r.words = pool_.global.data() + c.offset + ((begin(order[j]) - c.base) >> c.shift);
    }
}

Status Launcher::prepare(std::span<const EmuBuffer> buffers, std::span<const int64_t> dim_values, CheckFailure* first_failure) {
  const nnc_kernel_info& info = *kernel_.info;
  for (u32 i = 0; i < info.params; ++i) {
    const EmuBuffer& b = buffers[i];
    refs_.push_back({b.data, b.bytes / info.elem[i], nullptr, options_.initialisation ? reinterpret_cast<u64*>(b.written) : nullptr, 2, i,
                     info.elem[i], 0});
  }
  if (pool_.next_block + static_cast<u64>(tasks_) >= kBlockNumbers) pool_.forget();
  if (options_.races) shadow_globals(buffers);
  dims_.assign(dim_values.begin(), dim_values.end());
  api = &kApi;
  params = refs_.data();
  dims = dims_.data();
  failure = first_failure;
  threads = info.threads;
  pool_.shared_memory.resize(std::max<size_t>(pool_.shared_memory.size(), info.shared_bytes + 256));
  shared = pool_.shared_memory.data();
  shared += (256 - reinterpret_cast<uintptr_t>(shared) % 256) % 256;
  std::memset(shared, 0xff, info.shared_bytes);
  if (pool_.shared.size() < info.shared_words) pool_.shared.resize(info.shared_words);
  shared_words = options_.races && info.shared_words ? pool_.shared.data() : nullptr;
  if (info.fibres) {
    NNC_TRY(pool_.fibres.reserve(threads));
    if (pool_.threads.size() < threads) pool_.threads.resize(threads);
    warp_epoch_.assign((threads + kWarpSize - 1) / kWarpSize, 0);
    for (u32 t = 0; t < threads; ++t) pool_.fibres[t].start(&Launcher::thread_main, this);
  }
  return {};
}

void Launcher::run() {
  first = pool_.next_block;
  for (int64_t i = 0; i < tasks_ && !given_up_; ++i) {
    if (pool_.next_block + 1 >= kBlockNumbers) {
      pool_.forget();
      first = pool_.next_block;
    }
    const u64 number = pool_.next_block++;
    me = number << kBlockShift;
    task = static_cast<i64>(blocks_[static_cast<u64>(i)]);
    const u64 order = options_.seed == 0 ? 0 : mix64(options_.seed + number) | 1;
    if (kernel_.info->fibres)
      run_fibre_block(order);
    else
      run_plain_block(order);
  }
}

void Launcher::run_plain_block(u64 order) {
  if (threads == 1) {
    thread = 0;
    kernel_.entry(this, 0, 1, 1);
    return;
  }
  const Shuffled s(threads, order);
  kernel_.entry(this, static_cast<u32>(s.first()), static_cast<u32>(s.step()), threads);
}

void Launcher::thread_main(void* self) {
  auto* l = static_cast<Launcher*>(self);
  const u32 t = l->thread;
  for (;;) {
    l->kernel_.entry(l, 0, 1, 1);
    l->pool_.threads[t].state = EmuThread::kDone;
    l->pool_.fibres[t].leave();
  }
}

void Launcher::resume(u32 t) {
  thread = t;
  me = (me >> kBlockShift << kBlockShift) | (epoch_ & 0x3fff) << kEpochShift | (warp_epoch_[t / kWarpSize] & 0xfff) << kWarpEpochShift |
       u64(t) << kThreadShift;
  slot = &pool_.threads[t].slot;
  pool_.fibres[t].resume();
}

void Launcher::run_fibre_block(u64 order) {
  epoch_ = 0;
  std::fill(warp_epoch_.begin(), warp_epoch_.end(), 0);
  for (u32 t = 0; t < threads; ++t) {
    pool_.threads[t].state = EmuThread::kReady;
    pool_.threads[t].copies.clear();
    pool_.threads[t].group = 0;
  }
  const u64 warps = warp_epoch_.size();
  for (;;) {
    const Shuffled s(warps, order == 0 ? 0 : order + epoch_);
    for (u64 w = 0; w < warps; ++w)
      if (!run_warp(static_cast<u32>(s[w]), order)) return;
    const EmuThread& lead = pool_.threads[0];
    for (u32 t = 1; t < threads; ++t) {
      const EmuThread& other = pool_.threads[t];
      if (other.state == lead.state && (lead.state == EmuThread::kDone || other.line == lead.line)) continue;
      add_report(EmuFault::kDivergentBarrier,
                 cat("thread ", lead.state == EmuThread::kDone ? t : 0, " waits at the barrier of line ",
                     lead.state == EmuThread::kDone ? other.line : lead.line, ", thread ", lead.state == EmuThread::kDone ? 0 : t,
                     lead.state == other.state ? " at another" : " has ended", "; block ", task));
      given_up_ = true;
      return;
    }
    if (lead.state == EmuThread::kDone) return;
    ++epoch_;
    std::fill(warp_epoch_.begin(), warp_epoch_.end(), 0);
    for (u32 t = 0; t < threads; ++t) pool_.threads[t].state = EmuThread::kReady;
  }
}

bool Launcher::run_warp(u32 warp, u64 order) {
  const u32 base = warp * kWarpSize, count = std::min(kWarpSize, threads - base);
  for (u64 round = 0;; ++round) {
    const u64 start = order == 0 ? 0 : mix64(order + round) % count;
    for (u32 i = 0; i < count; ++i) {
      const u32 t = base + static_cast<u32>((start + i) % count);
      if (pool_.threads[t].state == EmuThread::kReady) resume(t);
    }
    const EmuThread& lead = pool_.threads[base];
    u32 odd = 0;  // a lane that is not where the first is
    for (u32 i = 1; i < count && odd == 0; ++i) {
      const EmuThread& t = pool_.threads[base + i];
      if (t.state != lead.state || (lead.state == EmuThread::kWaiting && (t.kind != lead.kind || t.line != lead.line))) odd = i;
    }
    if (odd != 0) {
      const EmuThread& other = pool_.threads[base + odd];
      const EmuThread& waiting = lead.state == EmuThread::kWaiting &&
                                         (lead.kind != kBlockBarrier || other.state == EmuThread::kDone || other.kind == kBlockBarrier)
                                     ? lead
                                     : other;
      const u32 absent = &waiting == &lead ? odd : 0;
      const bool barrier = waiting.kind == kBlockBarrier;
      add_report(barrier ? EmuFault::kDivergentBarrier : EmuFault::kWarpMask,
                 cat(barrier ? "a barrier" : "a warp operation that names all lanes", " at line ", waiting.line,
                     " is not reached by thread ", base + absent, "; block ", task));
      given_up_ = true;
      return false;
    }
    if (lead.state == EmuThread::kDone || lead.kind == kBlockBarrier) return true;
    if (count < kWarpSize)
      add_report(EmuFault::kWarpMask, cat("a warp operation at line ", lead.line, " names all 32 lanes, but the last warp has ", count));
    exchange(warp, lead.kind);
    for (u32 i = 0; i < count; ++i) pool_.threads[base + i].state = EmuThread::kReady;
  }
}

void Launcher::meet(u32 kind, u32 line) {
  EmuThread& t = current();
  t.state = EmuThread::kWaiting;
  t.kind = kind;
  t.line = line;
  pool_.fibres[thread].leave();
}

void Launcher::exchange(u32 warp, u32 kind) {
  const u32 base = warp * kWarpSize, count = std::min(kWarpSize, threads - base);
  nnc_slot* lanes[kWarpSize];
  for (u32 i = 0; i < kWarpSize; ++i) lanes[i] = &pool_.threads[base + (i < count ? i : 0)].slot;
  if (kind == kWarpBarrier) {
    ++warp_epoch_[warp];
    return;
  }
  if (kind == kMma) {
    if (count == kWarpSize) warp_mma(lanes, lanes[0]->types);
    return;
  }
  if (kind >= kBallot) {
    u64 votes = 0;
    for (u32 i = 0; i < count; ++i) votes |= u64((lanes[i]->value[0] & 0xffffffff) != 0) << i;
    const u64 all = count == kWarpSize ? 0xffffffff : (u64(1) << count) - 1;
    for (u32 i = 0; i < count; ++i) lanes[i]->value[0] = kind == kBallot ? votes : kind == kAny ? votes != 0 : votes == all;
    return;
  }
  u64 values[kWarpSize][8];
  const size_t bytes = lanes[0]->bytes;
  for (u32 i = 0; i < count; ++i) std::memcpy(values[i], lanes[i]->value, bytes);
  for (u32 i = 0; i < count; ++i) {
    const i64 by = lanes[i]->by, l = i;
    i64 from = by & 31;
    if (kind == kShflXor) from = l ^ from;
    if (kind == kShflUp) from = by >= 0 && by <= l ? l - by : l;
    if (kind == kShflDown) from = by >= 0 && by < 32 ? l + by : l;
    std::memcpy(lanes[i]->value, values[from < count ? from : l], bytes);
  }
}

// ---- asynchronous copies

void Launcher::start_copy(const nnc_ref& to, i64 to_index, const nnc_ref& from, i64 from_index, u32 bytes, bool on) {
  const i64 n = bytes / to.elem;
  const auto outside = [&](const nnc_ref& r, i64 i) { return static_cast<u64>(i) >= static_cast<u64>(r.count) || i + n > r.count; };
  const auto at = [](const nnc_ref& r, i64 i) { return reinterpret_cast<uintptr_t>(r.data) + static_cast<uintptr_t>(i * r.elem); };
  if (outside(to, to_index)) return fault(kOutOfBounds, &to, to_index, static_cast<u64>(n) | u64(1) << 32);
  if (on && outside(from, from_index)) return fault(kOutOfBounds, &from, from_index, static_cast<u64>(n));
  if (at(to, to_index) % bytes != 0) fault(kMisaligned, &to, to_index, bytes);
  if (on && at(from, from_index) % bytes != 0) fault(kMisaligned, &from, from_index, bytes);
  if (to.words) {
    u64 bad = 0;
    nnc_word* w = to.words + (to_index * to.elem >> to.shift);
    for (u32 k = 0; k < bytes >> to.shift; ++k) bad |= nnc_write_word<true>(w[k], me, 0, kPending);
    if (bad) fault(kRace, &to, to_index, bad | kWriteMark);
  }
  EmuThread& t = current();
  t.copies.push_back({to, from, to_index, from_index, bytes, t.group, !on});
}

void Launcher::land(const PendingCopy& c) {
  auto* to = static_cast<std::byte*>(c.to.data) + c.to_index * c.to.elem;
  if (c.off) {
    std::memset(to, 0, c.bytes);
  } else {
    const i64 at = c.from_index * c.from.elem;
    std::memcpy(to, static_cast<const std::byte*>(c.from.data) + at, c.bytes);
    u32 kind = kRace;
    u64 bad = 0;
    if (c.from.words)
      for (u32 k = 0; k < c.bytes >> c.from.shift; ++k)
        bad |= nnc_read_word<false>(c.from.words[(at >> c.from.shift) + k], me, first, &kind);
    if (bad) fault(kind, &c.from, c.from_index, bad);
    if (c.from.written)
      for (i64 b = at; b < at + c.bytes; ++b)
        if (!(c.from.written[b >> 6] >> (b & 63) & 1)) {
          fault(kUninitialised, &c.from, c.from_index, 0);
          break;
        }
  }
  if (c.to.words)
    for (u32 k = 0; k < c.bytes >> c.to.shift; ++k) c.to.words[(c.to_index * c.to.elem >> c.to.shift) + k].writer = me;
}

void Launcher::land_copies(u32 pending) {
  EmuThread& t = current();
  size_t kept = 0;
  for (size_t i = 0; i < t.copies.size(); ++i) {
    if (t.copies[i].group + pending >= t.group)
      t.copies[kept++] = t.copies[i];
    else
      land(t.copies[i]);
  }
  t.copies.resize(kept);
}

// ---- reports

void Launcher::add_report(EmuFault fault, std::string text, u32 buffer) {
  const std::pair<EmuFault, u32> key{fault, buffer};
  if (reports.size() >= options_.max_reports || std::find(reported_.begin(), reported_.end(), key) != reported_.end()) return;
  reported_.push_back(key);
  reports.push_back({fault, cat(emu_fault_name(fault), " in kernel ", kernel_.shape.name, ": ", text)});
}

std::string Launcher::buffer_text(const nnc_ref& r) const {
  if (r.number >= 2 * kSharedNumber) return "a local array";
  const size_t n = r.number < kSharedNumber ? r.number : kernel_.info->params + (r.number - kSharedNumber);
  return cat(r.shared ? "shared " : "", "'", n < kernel_.names.size() ? kernel_.names[n] : std::to_string(n), "'");
}

std::string Launcher::thread_text(u64 record) const {
  const u64 number = record >> kBlockShift;
  const std::string t = cat("thread ", static_cast<u32>((record >> kThreadShift) & 1023));
  return number == me >> kBlockShift ? t : cat(t, " of block ", number >= first ? static_cast<int64_t>(blocks_[number - first]) : -1);
}

void Launcher::fault(u32 kind, const nnc_ref* r, i64 index, u64 other) {
  if (std::find(reported_.begin(), reported_.end(), std::pair<EmuFault, u32>(static_cast<EmuFault>(kind), r->number)) != reported_.end())
    return;
  const std::string by = cat("thread ", thread, " of block ", task);
  const auto f = static_cast<EmuFault>(kind);
  switch (f) {
    case EmuFault::kOutOfBounds:
      return add_report(f,
                        cat(other >> 32 ? "write" : "read", " of ", static_cast<u32>(other), " elements at ", index, " of ",
                            buffer_text(*r), ", which has ", r->count, "; ", by),
                        r->number);
    case EmuFault::kMisaligned:
      return add_report(f, cat(static_cast<u32>(other), " bytes at element ", index, " of ", buffer_text(*r), "; ", by), r->number);
    case EmuFault::kUninitialised: return add_report(f, cat("element ", index, " of ", buffer_text(*r), "; ", by), r->number);
    case EmuFault::kEarlyRead:
      return add_report(f, cat("element ", index, " of ", buffer_text(*r), "; ", by, ", the copy is of ", thread_text(other)), r->number);
    case EmuFault::kRace:
      return add_report(f,
                        cat("element ", index, " of ", buffer_text(*r), other & kWriteMark ? " written by " : " read by ", by,
                            " and accessed by ", thread_text(other), " with no barrier between"),
                        r->number);
    case EmuFault::kExtent: return add_report(f, cat(buffer_text(*r), " has ", r->count, " elements, the kernel wants ", index), r->number);
    default: return add_report(f, by, r->number);
  }
}

}  // namespace emu
}  // namespace nnc
