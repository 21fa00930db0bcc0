#include "ir/base/plan_unpack.h"

#include <gtest/gtest.h>

#include "ir/base/plan_verify.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

const std::string kHash(64, '0');

// Element (m, k, n) of matrices [matrices][rows][columns].
double element(int64_t m, int64_t k, int64_t n) { return static_cast<double>(m * 500 + k * 50 + n); }

Tensor panels(DType t, int64_t matrices, int64_t rows, int64_t columns) {
  const int64_t count = (columns + 15) / 16;
  Tensor out(t, {matrices, count, rows, 16});
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t p = 0; p < count; ++p)
      for (int64_t k = 0; k < rows; ++k)
        for (int64_t c = 0; c < 16; ++c)  // what fills the last panel must not come out
          store_f64(t, out.data(), ((m * count + p) * rows + k) * 16 + c, p * 16 + c < columns ? element(m, k, p * 16 + c) : -1);
  return out;
}

TEST(PlanUnpack, PanelsBecomeRows) {
  for (DType t : {DType::kF16, DType::kF32, DType::kF64})
    for (int64_t columns : {1, 4, 15, 16, 17, 40})
      for (int64_t matrices : {1, 3}) {
        constexpr int64_t kRows = 6;
        const Tensor stored = panels(t, matrices, kRows, columns);
        // The rows may be split, as those of a convolution's weights are.
        for (const std::vector<int64_t>& dims :
             {std::vector<int64_t>{matrices, kRows, columns}, {matrices * 2, 3, 1, columns}, {matrices * kRows, columns}}) {
          const PlanConstant c{kHash, t, dims, std::string(kUnpackPanels)};
          ASSERT_TRUE(check_stored(c, t, stored.dims()).ok());
          auto dense = unpack_stored(c, stored);
          ASSERT_TRUE(dense.ok()) << dense.error().str();
          ASSERT_EQ(dense->dims(), dims);
          for (int64_t i = 0; i < dense->count(); ++i)
            ASSERT_EQ(dense->f64(i), element(i / columns / kRows, i / columns % kRows, i % columns)) << i;
        }
      }
}

TEST(PlanUnpack, AsStoredSharesTheBytes) {
  const Tensor stored = panels(DType::kF32, 1, 4, 16);
  const PlanConstant c{kHash, DType::kF32, stored.dims(), ""};
  EXPECT_TRUE(check_stored(c, DType::kF32, stored.dims()).ok());
  const auto same = unpack_stored(c, stored);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->data(), stored.data());
}

TEST(PlanUnpack, RefusesWhatDoesNotFit) {
  struct Case {
    const char* what;
    DType dtype;
    std::vector<int64_t> wanted, stored;
    std::string unpack = std::string(kUnpackPanels);
  };
  constexpr DType kF32 = DType::kF32;
  const std::vector<Case> cases = {
      {"other extents as stored", kF32, {4, 16}, {16, 4}, ""},
      {"too few panels", kF32, {6, 33}, {2, 6, 16}},
      {"a panel too many", kF32, {6, 32}, {3, 6, 16}},
      {"fewer rows", kF32, {5, 20}, {2, 6, 16}},
      {"more rows", kF32, {7, 20}, {2, 6, 16}},
      {"another width", kF32, {6, 20}, {2, 6, 8}},
      {"no panels", kF32, {6, 16}, {6, 16}},
      {"no rows", kF32, {0, 16}, {1, 0, 16}},
      {"no columns", kF32, {6, 0}, {0, 6, 16}},
      {"a scalar", kF32, {}, {1, 1, 16}},
      {"another matrix count", kF32, {3, 6, 20}, {2, 2, 6, 16}},
      {"negative", kF32, {-6, 20}, {2, 6, 16}},
      {"overflow", kF32, {int64_t(1) << 62, 16}, {1, int64_t(1) << 62, 16}},
      {"half bytes", DType::kI4, {6, 16}, {1, 6, 16}},
      {"an unknown form", kF32, {6, 16}, {1, 6, 16}, "panel8"},
  };
  for (const Case& k : cases) {
    const PlanConstant c{kHash, k.dtype, k.wanted, k.unpack};
    const Status s = check_stored(c, k.dtype, k.stored);
    EXPECT_FALSE(s.ok()) << k.what;
  }
  const PlanConstant c{kHash, kF32, {6, 20}, std::string(kUnpackPanels)};
  EXPECT_FALSE(check_stored(c, DType::kF64, std::vector<int64_t>{2, 6, 16}).ok());
  Program p;
  p.target = "cuda:sm_80";
  p.constants = {c};
  EXPECT_TRUE(verify_program(p).ok());
  p.constants[0].unpack = "panel8";
  EXPECT_FALSE(verify_program(p).ok());
}

}  // namespace
}  // namespace nnc
