#include "weft/shape.h"

#include <random>

#include "weft/error.h"
#include "weft/view.h"

namespace weft {
namespace {

// The element offsets that a layout visits in row-major order.
std::vector<std::int64_t> offsets(const Layout& l) {
  std::vector<std::int64_t> result{0};
  for (int d = 0; d < l.rank(); ++d) {
    std::vector<std::int64_t> next;
    for (auto o : result) {
      for (std::int64_t i = 0; i < l.shape[d]; ++i) next.push_back(o + i * l.strides[d]);
    }
    result = next;
  }
  return result;
}

TEST(Dims, InsertEraseAndNegativeIndices) {
  Dims d{2, 3, 5};
  EXPECT_EQ(d[-1], 5);
  EXPECT_EQ(d[-3], 2);
  d.insert(1, 7);
  EXPECT_EQ(d, (Dims{2, 7, 3, 5}));
  d.erase(0);
  d.pop_back();
  EXPECT_EQ(d, (Dims{7, 3}));
  EXPECT_EQ(to_string(d), "[7, 3]");
  EXPECT_EQ(to_string(Dims{}), "[]");
  EXPECT_THROW((Dims{1, 2, 3, 4, 5, 6, 7, 8, 9}), InvalidArgument);
}

TEST(Shape, Count) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 4}), 0);
  EXPECT_EQ(element_count({std::int64_t{1} << 62, 0, 4}), 0);
  EXPECT_THROW(element_count({-1, 2}), InvalidArgument);
  EXPECT_THROW(element_count({std::int64_t{1} << 40, std::int64_t{1} << 40}), InvalidArgument);
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(broadcast({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({0}, {1}), Shape{0});
  EXPECT_THROW(broadcast({3}, {4}), InvalidArgument);
  EXPECT_THROW(broadcast({0}, {2}), InvalidArgument);
  EXPECT_TRUE(broadcasts_to({3, 1}, {2, 3, 4}));
  EXPECT_FALSE(broadcasts_to({2, 3}, {3}));
  EXPECT_FALSE(broadcasts_to({3}, {1}));
}

TEST(Shape, Axes) {
  EXPECT_EQ(normalize_axis(-1, 3, "test"), 2);
  EXPECT_EQ(normalize_axis(0, 3, "test"), 0);
  EXPECT_THROW(normalize_axis(3, 3, "test"), InvalidArgument);
  EXPECT_THROW(normalize_axis(-4, 3, "test"), InvalidArgument);
  EXPECT_THROW(normalize_axis(0, 0, "test"), InvalidArgument);
}

TEST(Layout, DenseAndRange) {
  EXPECT_TRUE(Layout::dense({2, 3, 4}).is_dense());
  EXPECT_TRUE((Layout{{2, 1, 4}, {4, 99, 1}}.is_dense()));
  EXPECT_FALSE((Layout{{2, 3}, {1, 2}}.is_dense()));
  EXPECT_FALSE((Layout{{2, 3}, {0, 1}}.is_dense()));
  EXPECT_TRUE((Layout{{0, 3}, {5, 7}}.is_dense()));
  EXPECT_EQ((Layout{{3, 4}, {-4, 1}}.offset_range()), (std::array<std::int64_t, 2>{-8, 3}));
  EXPECT_EQ((Layout{{3, 0}, {-4, 1}}.offset_range()), (std::array<std::int64_t, 2>{0, 0}));
}

// Products and sums past 63 bits throw instead of wrapping to something small.
TEST(Layout, HugeSizesAndStrides) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_THROW(dense_strides({2, kHuge, 4}), InvalidArgument);
  EXPECT_THROW(dense_strides({0, kHuge, kHuge}), InvalidArgument);
  EXPECT_THROW((Layout{{5, 2}, {kHuge, 1}}.offset_range()), InvalidArgument);
  EXPECT_THROW((Layout{{2, 3, 2}, {kHuge, kHuge / 2, 1}}.offset_range()), InvalidArgument);
  EXPECT_THROW((Layout{{5}, {INT64_MIN}}.offset_range()), InvalidArgument);
  const Buffer buffer = Buffer::host(64);
  EXPECT_THROW(View(buffer, 0, DType::f32, {kHuge}), InvalidArgument);
  EXPECT_THROW(View(buffer, 0, DType::f32, {5, 3}, {kHuge, 1}), InvalidArgument);
  EXPECT_THROW(View(buffer, 0, DType::f64, {2}, {kHuge}), InvalidArgument);
  EXPECT_THROW(View(buffer, ~std::uint64_t{63}, DType::f32, {1}), InvalidArgument);
  EXPECT_THROW(View(buffer, 0, DType::u8, {2}, {-1}), InvalidArgument);
  EXPECT_THROW(View(buffer, 60, DType::f32, {2}), InvalidArgument);
  EXPECT_NO_THROW(View(buffer, 60, DType::f32, {kHuge}, {0}));
  EXPECT_THROW((Shape{1, 2, 3, 4, 5, 6, 7, 8, 9}), InvalidArgument);
}

TEST(Layout, PermuteAndBroadcast) {
  const Layout l = Layout::dense({2, 3, 4});
  const int order[] = {2, 0, -2};
  EXPECT_EQ(l.permuted(order), (Layout{{4, 2, 3}, {1, 12, 4}}));
  const int twice[] = {0, 0, 1};
  EXPECT_THROW(l.permuted(twice), InvalidArgument);
  EXPECT_EQ((Layout::dense({3, 1}).broadcast_to({2, 3, 4})), (Layout{{2, 3, 4}, {0, 1, 0}}));
  EXPECT_THROW(l.broadcast_to({2, 3}), InvalidArgument);
}

TEST(Layout, ReshapesViewsThatStridesCanSay) {
  Layout r;
  const Layout transposed{{4, 6}, {1, 4}};
  ASSERT_TRUE((transposed.reshaped({2, 2, 6}, r)));
  EXPECT_EQ(r, (Layout{{2, 2, 6}, {2, 1, 4}}));
  ASSERT_TRUE((transposed.reshaped({4, 1, 3, 2}, r)));
  EXPECT_EQ(offsets(r), offsets(transposed));
  EXPECT_FALSE((transposed.reshaped({24}, r)));
  EXPECT_FALSE((transposed.reshaped({8, 3}, r)));
  EXPECT_THROW(transposed.reshaped({5, 5}, r), InvalidArgument);
  ASSERT_TRUE((Layout::dense({0, 3}).reshaped({3, 0}, r)));
  ASSERT_TRUE((Layout{{1}, {7}}.reshaped({}, r)));
  ASSERT_TRUE((Layout{{}, {}}.reshaped({1, 1}, r)));
  // A broadcast axis may be split, too.
  ASSERT_TRUE((Layout{{6, 2}, {0, 1}}.reshaped({2, 3, 2}, r)));
  EXPECT_EQ(r, (Layout{{2, 3, 2}, {0, 0, 1}}));
}

// On random layouts: a reshape that succeeds visits the same offsets; one that fails needs a copy, because no strides
// reproduce the offsets.
TEST(Layout, ReshapeAndCollapseKeepTheOrder) {
  std::mt19937 rng(9);
  for (int round = 0; round < 3000; ++round) {
    Layout l;
    const int rank = static_cast<int>(rng() % 4) + 1;
    Shape sizes;
    for (int i = 0; i < rank; ++i) sizes.push_back(1 + static_cast<std::int64_t>(rng() % 4));
    l = Layout::dense(sizes);
    std::vector<int> order(rank);
    for (int i = 0; i < rank; ++i) order[i] = i;
    if (rng() % 2) std::ranges::shuffle(order, rng);
    l = l.permuted(order);
    if (rng() % 3 == 0) l.strides[static_cast<int>(rng() % rank)] *= rng() % 2 ? -1 : 2;

    const Strides other = dense_strides(l.shape);
    const Strides both[] = {l.strides, other};
    const Collapsed c = collapse(l.shape, both);
    EXPECT_EQ(offsets({c.shape, c.strides[0]}), offsets(l));
    EXPECT_EQ(offsets({c.shape, c.strides[1]}), offsets({l.shape, other}));
    for (auto n : c.shape) EXPECT_GT(n, 1);
    const Strides own[] = {l.strides};
    const Collapsed merged = collapse(l.shape, own);
    for (int i = 0; i + 1 < merged.shape.rank(); ++i) {
      EXPECT_NE(merged.strides[0][i], merged.strides[0][i + 1] * merged.shape[i + 1]) << "neighbours left apart";
    }

    // A target shape of the same count: the factors, regrouped.
    std::vector<std::int64_t> factors;
    for (auto n : l.shape) {
      while (n % 2 == 0) factors.push_back(2), n /= 2;
      if (n > 1) factors.push_back(n);
    }
    Shape target{1};
    for (auto f : factors) {
      if (rng() % 2 && target.rank() < 6)
        target.push_back(f);
      else
        target[-1] *= f;
    }
    Layout r;
    const auto want = offsets(l);
    const bool works = l.reshaped(target, r);
    if (works) {
      EXPECT_EQ(offsets(r), want) << to_string(l.shape) << to_string(l.strides) << " to " << to_string(target);
    } else {
      // Strides are determined by the offsets of the axes' second elements; they must be wrong somewhere.
      Layout guess = Layout::dense(target);
      Strides steps = guess.strides;
      for (int i = 0; i < target.rank(); ++i) {
        if (target[i] > 1) guess.strides[i] = want[static_cast<std::size_t>(steps[i])] - want[0];
      }
      EXPECT_NE(offsets(guess), want) << to_string(l.shape) << to_string(l.strides) << " to " << to_string(target);
    }
  }
}

}  // namespace
}  // namespace weft
