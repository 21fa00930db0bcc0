// One planted fault of each kind, and its clean twin: the detector finds the one and has nothing to say about the other, in every order of
// blocks and threads.

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "ir/base/kernel_builder.h"
#include "tests/unit/codegen/cuda_emulate.h"

namespace nnc {
namespace {

using test::EmuRun;

constexpr int kThreads = 64;
constexpr int64_t kBlocks = 3;

struct Bench {
  KernelBuilder k;
  BufId x, y;
  explicit Bench(int64_t elements = kBlocks * kThreads, DType t = DType::kF32)
      : k("planted", kThreads), x(k.param("x", t, elements, Access::kRead)), y(k.param("y", t, elements, Access::kWrite)) {
    k.grid(kBlocks);
  }
  Expr id() { return k.add(k.mul(k.task(0), k.index(kThreads)), k.thread()); }
  Expr i(int64_t v) { return k.index(v); }
};

struct Planted {
  const char* name;
  EmuFault fault;
  std::function<void(Bench&, bool faulty)> build;
  bool hides_input = false;   // the faulty run gets an input of which half was never written
  bool shifts_input = false;  // the faulty run gets an input that begins one element late
};

void neighbour_through_shared(Bench& b, bool barrier) {
  const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
  b.k.store(s, b.k.thread(), b.k.load(b.x, b.id(), 1));
  if (barrier) b.k.barrier();
  b.k.store(b.y, b.id(), b.k.load(s, b.k.sub(b.i(kThreads - 1), b.k.thread()), 1));
}

const std::vector<Planted>& planted() {
  static const std::vector<Planted> all = {
      {"missing barrier", EmuFault::kRace, [](Bench& b, bool faulty) { neighbour_through_shared(b, !faulty); }},
      {"missing barrier before shared memory is used again", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         const VarId sum = b.k.mut("sum", b.k.constant(DType::kF32, 0));
         b.k.for_("r", b.i(0), b.i(3), 1, [&](Expr) {
           b.k.store(s, b.k.thread(), b.k.load(b.x, b.id(), 1));
           b.k.barrier();
           b.k.set(sum, b.k.add(b.k.var(sum), b.k.load(s, b.k.sub(b.i(kThreads - 1), b.k.thread()), 1)));
           if (!faulty) b.k.barrier();
         });
         b.k.store(b.y, b.id(), b.k.var(sum));
       }},
      {"shared race", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         b.k.store(s, faulty ? b.k.floordiv(b.k.thread(), b.i(2)) : b.k.thread(), b.k.load(b.x, b.id(), 1));
         b.k.store(b.y, b.id(), b.k.constant(DType::kF32, 1));
       }},
      {"global race between threads of a block", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         b.k.store(b.y, faulty ? b.k.add(b.k.mul(b.k.task(0), b.i(kThreads)), b.k.floordiv(b.k.thread(), b.i(2))) : b.id(),
                   b.k.load(b.x, b.id(), 1));
       }},
      {"two blocks on one word", EmuFault::kRace,
       [](Bench& b, bool faulty) { b.k.store(b.y, faulty ? b.k.thread() : b.id(), b.k.load(b.x, b.id(), 1)); }},
      {"two blocks, one reads what the other writes", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         const BufId z = b.k.param("z", DType::kF32, kBlocks * kThreads, Access::kReadWrite);
         b.k.store(z, b.id(), b.k.load(b.x, b.id(), 1));
         const Expr other = b.k.floormod(b.k.add(b.id(), b.i(kThreads)), b.i(kBlocks * kThreads));
         b.k.store(b.y, b.id(), b.k.load(z, faulty ? other : b.id(), 1));
       }},
      {"divergent barrier", EmuFault::kDivergentBarrier,
       [](Bench& b, bool faulty) {
         if (faulty)
           b.k.if_(b.k.lt(b.k.thread(), b.i(32)), [&] { b.k.barrier(); });
         else
           b.k.barrier();
         b.k.store(b.y, b.id(), b.k.load(b.x, b.id(), 1));
       }},
      {"divergent barrier within a warp", EmuFault::kDivergentBarrier,
       [](Bench& b, bool faulty) {
         if (faulty)
           b.k.if_(b.k.lt(b.k.lane(), b.i(7)), [&] { b.k.barrier(); });
         else
           b.k.barrier();
         b.k.store(b.y, b.id(), b.k.load(b.x, b.id(), 1));
       }},
      {"one past the end", EmuFault::kOutOfBounds,
       [](Bench& b, bool faulty) { b.k.store(b.y, b.id(), b.k.load(b.x, b.k.add(b.id(), b.i(faulty)), 1)); }},
      {"one before the start", EmuFault::kOutOfBounds,
       [](Bench& b, bool faulty) { b.k.store(b.y, b.k.sub(b.id(), b.i(faulty)), b.k.load(b.x, b.id(), 1)); }},
      {"past the end of a shared array", EmuFault::kOutOfBounds,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         b.k.store(s, b.k.add(b.k.thread(), b.i(faulty)), b.k.load(b.x, b.id(), 1));
         b.k.store(b.y, b.id(), b.k.constant(DType::kF32, 1));
       }},
      {"uninitialised shared", EmuFault::kUninitialised,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         b.k.if_(faulty ? b.k.lt(b.k.thread(), b.i(kThreads - 1)) : b.k.mask_const(true),
                 [&] { b.k.store(s, b.k.thread(), b.k.load(b.x, b.id(), 1)); });
         b.k.barrier();
         b.k.store(b.y, b.id(), b.k.load(s, b.k.sub(b.i(kThreads - 1), b.k.thread()), 1));
       }},
      {"uninitialised global", EmuFault::kUninitialised, [](Bench& b, bool) { b.k.store(b.y, b.id(), b.k.load(b.x, b.id(), 1)); }, true},
      {"misaligned vector", EmuFault::kMisaligned,
       [](Bench& b, bool) {
         const Expr at = b.k.mul(b.k.floordiv(b.id(), b.i(4)), b.i(4));
         b.k.store(b.y, b.id(), b.k.hreduce(ExprOp::kReduceAdd, b.k.load(b.x, at, 4)));
       },
       false, true},
      {"shuffle without all lanes", EmuFault::kWarpMask,
       [](Bench& b, bool faulty) {
         const Expr v = b.k.load(b.x, b.id(), 1);
         const VarId r = b.k.mut("r", v);
         const auto shuffle = [&] { b.k.set(r, b.k.warp(WarpOp::kShflXor, v, b.i(1))); };
         if (faulty)
           b.k.if_(b.k.lt(b.k.lane(), b.i(16)), shuffle);
         else
           shuffle();
         b.k.store(b.y, b.id(), b.k.var(r));
       }},
      {"early read of an asynchronous copy", EmuFault::kEarlyRead,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         b.k.copy_async(s, b.k.thread(), b.x, b.id(), 4);
         b.k.copy_commit();
         b.k.copy_wait(faulty ? 1 : 0);
         b.k.barrier();
         b.k.store(b.y, b.id(), b.k.load(s, b.k.sub(b.i(kThreads - 1), b.k.thread()), 1));
       }},
      {"asynchronous copy waited for, but only by its own thread", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         b.k.copy_async(s, b.k.thread(), b.x, b.id(), 4);
         b.k.copy_commit();
         b.k.copy_wait(0);
         if (!faulty) b.k.barrier();
         b.k.if_(b.k.lt(b.k.thread(), b.i(1)), [&] { b.k.store(b.y, b.id(), b.k.load(s, b.i(1), 1)); });
       }},
      {"neighbours in a warp without a warp barrier", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         b.k.store(s, b.k.thread(), b.k.load(b.x, b.id(), 1));
         if (!faulty) b.k.barrier(Scope::kWarp);
         const Expr other =
             b.k.add(b.k.mul(b.k.floordiv(b.k.thread(), b.i(32)), b.i(32)), b.k.floormod(b.k.add(b.k.thread(), b.i(1)), b.i(32)));
         b.k.store(b.y, b.id(), b.k.load(s, other, 1));
       }},
      {"a warp barrier where a block barrier is needed", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kF32, kThreads, Space::kShared);
         b.k.store(s, b.k.thread(), b.k.load(b.x, b.id(), 1));
         b.k.barrier(faulty ? Scope::kWarp : Scope::kBlock);
         b.k.store(b.y, b.id(), b.k.load(s, b.k.sub(b.i(kThreads - 1), b.k.thread()), 1));
       }},
      {"an atomic sum that one thread reads at once", EmuFault::kRace,
       [](Bench& b, bool faulty) {
         const BufId s = b.k.alloc("s", DType::kI32, 1, Space::kShared);
         b.k.if_(b.k.eq(b.k.thread(), b.i(0)), [&] { b.k.store(s, b.i(0), b.k.constant(DType::kI32, 0)); });
         b.k.barrier();
         b.k.atomic(AtomicOp::kAdd, s, b.i(0), b.k.constant(DType::kI32, 1));
         if (!faulty) b.k.barrier();
         b.k.if_(b.k.eq(b.k.thread(), b.i(5)), [&] { b.k.store(b.y, b.id(), b.k.convert(b.k.load(s, b.i(0), 1), DType::kF32)); });
       }},
  };
  return all;
}

struct Compiled {
  std::vector<Kernel> kernels;  // clean, faulty, clean, ...
  std::unique_ptr<EmuModule> module;
};

const Compiled& compiled() {
  static const Compiled c = [] {
    Compiled out;
    for (const Planted& p : planted())
      for (bool faulty : {false, true}) {
        Bench b;
        p.build(b, faulty);
        out.kernels.push_back(b.k.raw());
      }
    auto module = test::compile_emulated(out.kernels);
    EXPECT_TRUE(module.ok()) << module.error().str();
    if (module.ok()) out.module = std::move(*module);
    return out;
  }();
  return c;
}

TEST(CudaDetector, FindsEachPlantedFaultAndNothingElse) {
  const Compiled& c = compiled();
  ASSERT_NE(c.module, nullptr);
  for (size_t p = 0; p < planted().size(); ++p) {
    const Planted& plant = planted()[p];
    for (bool faulty : {false, true}) {
      const size_t n = p * 2 + faulty;
      for (uint64_t seed : {0, 1, 2, 3, 4}) {
        alignas(64) static float x[kBlocks * kThreads + 1], y[kBlocks * kThreads], z[kBlocks * kThreads];
        std::iota(std::begin(x), std::end(x), 1.0f);
        uint64_t written[kBlocks * kThreads * 4 / 64];
        for (uint64_t& w : written) w = faulty && plant.hides_input ? 0x00000000ffffffff : ~uint64_t(0);
        const int shift = faulty && plant.shifts_input ? 1 : 0;
        std::vector<EmuBuffer> buffers = {{x + shift, kBlocks * kThreads * 4, shift ? nullptr : written}, {y, sizeof y, nullptr}};
        if (c.kernels[n].param_count == 3) buffers.push_back({z, sizeof z, nullptr});
        const EmuRun run = test::run_emulated(c.module->kernel(n), c.kernels[n], buffers, {}, {.seed = seed});
        if (!faulty) {
          EXPECT_TRUE(run.reports.empty()) << "clean twin of: " << plant.name << "\n" << run.text();
        } else {
          EXPECT_TRUE(run.found(plant.fault)) << plant.name << " was not found; seed " << seed << "\n" << run.text();
          // Where threads race for shared memory, some orders read it first.
          for (const EmuReport& r : run.reports)
            EXPECT_TRUE(r.fault == plant.fault || (plant.fault == EmuFault::kRace && r.fault == EmuFault::kUninitialised))
                << plant.name << ": " << r.text;
        }
      }
    }
  }
}

TEST(CudaDetector, ReportsNameBufferElementAndThreads) {
  const Compiled& c = compiled();
  ASSERT_NE(c.module, nullptr);
  alignas(64) static float x[kBlocks * kThreads], y[kBlocks * kThreads];
  const std::vector<EmuBuffer> buffers = {{x, sizeof x, nullptr}, {y, sizeof y, nullptr}};
  const EmuRun race = test::run_emulated(c.module->kernel(1), c.kernels[1], buffers, {}, {.seed = 0});
  ASSERT_FALSE(race.reports.empty());
  EXPECT_EQ(race.reports[0].text,
            "read of memory that nothing was written to in kernel k1: element 63 of shared 's_2'; thread 0 of block 0");
  ASSERT_EQ(race.reports.size(), 2u);
  EXPECT_EQ(race.reports[1].text,
            "data race in kernel k1: element 32 of shared 's_2' written by thread 32 of block 0 and accessed by thread 31 with no barrier "
            "between");
}

TEST(CudaDetector, LeavesOutWhatIsSwitchedOff) {
  const Compiled& c = compiled();
  ASSERT_NE(c.module, nullptr);
  alignas(64) static float x[kBlocks * kThreads], y[kBlocks * kThreads];
  const EmuRun run =
      test::run_emulated(c.module->kernel(1), c.kernels[1], {{x, sizeof x, nullptr}, {y, sizeof y, nullptr}}, {}, {.races = false});
  EXPECT_TRUE(run.reports.empty()) << run.text();
}

}  // namespace
}  // namespace nnc
