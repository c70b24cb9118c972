#include "compiler/memory_plan.h"

#include "compiler/plan_check.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

// Step s writes item s and reads the given items.
struct Chain {
  std::vector<PlanItem> items;
  std::vector<PlanStep> steps;

  void step(std::uint64_t bytes, std::vector<int> reads) {
    const int s = static_cast<int>(steps.size());
    items.push_back({bytes, s, s});
    for (const int r : reads) items[r].last = s;
    steps.push_back({std::move(reads), {s}});
  }
};

TEST(MemoryPlan, AChainTakesTwoBuffers) {
  Chain c;
  c.step(1024, {});
  for (int i = 0; i < 9; ++i) c.step(1024, {i});
  const MemoryPlan plan = plan_memory(c.items, c.steps, kNoLimit);
  test::check_plan(plan, c.items, c.steps, kNoLimit);
  EXPECT_EQ(plan.buffers.size(), 2u);
  EXPECT_EQ(plan.bytes(), 2048u);
  EXPECT_EQ(liveness_bound(c.items, c.steps.size()), 2048u);
}

// The shape of a transformer: long-lived residuals, a wide product, a wider feed-forward.
Chain encoder(int layers, std::uint64_t row) {
  Chain c;
  c.step(row, {});
  int x = 0;
  for (int i = 0; i < layers; ++i) {
    const auto next = [&] { return static_cast<int>(c.steps.size()); };
    const int qkv = next();
    c.step(3 * row, {x});
    const int attention = next();
    c.step(row, {qkv});
    const int projected = next();
    c.step(row, {attention, x});
    const int normed = next();
    c.step(row, {projected});
    const int inner = next();
    c.step(4 * row, {normed});
    const int outer = next();
    c.step(row, {inner, normed});
    x = next();
    c.step(row, {outer});
  }
  return c;
}

TEST(MemoryPlan, AnEncoderComesCloseToTheBound) {
  for (const std::uint64_t row : {384u * 4u, 1000u * 4u, 768u * 4u * 128u}) {
    const Chain c = encoder(12, row);
    const MemoryPlan plan = plan_memory(c.items, c.steps, kNoLimit);
    test::check_plan(plan, c.items, c.steps, kNoLimit);
    const std::uint64_t bound = liveness_bound(c.items, c.steps.size());
    EXPECT_LE(static_cast<double>(plan.bytes()), 1.1 * static_cast<double>(bound)) << row;
  }
}

TEST(MemoryPlan, RespectsTheLargestBuffer) {
  Chain c;
  for (int i = 0; i < 8; ++i) c.step(4096, {});
  c.step(4096, {0, 1, 2, 3, 4, 5, 6, 7});
  const MemoryPlan plan = plan_memory(c.items, c.steps, 8192);
  test::check_plan(plan, c.items, c.steps, 8192);
  EXPECT_GE(plan.buffers.size(), 5u);
  EXPECT_THROW(plan_memory(c.items, c.steps, 1024), OutOfMemory);
}

TEST(MemoryPlan, NothingToPlan) {
  const MemoryPlan plan = plan_memory({}, {}, kNoLimit);
  EXPECT_EQ(plan.bytes(), 0u);
  EXPECT_EQ(liveness_bound({}, 0), 0u);
}

TEST(MemoryPlan, RandomGraphsKeepTheRules) {
  std::vector<double> ratios;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](int n) { return std::uniform_int_distribution<int>(0, n)(random); };
    Chain c;
    const int steps = 1 + up_to(60);
    for (int s = 0; s < steps; ++s) {
      std::vector<int> reads;
      for (int k = up_to(3); k > 0 && s > 0; --k) {
        const int r = std::max(0, s - 1 - up_to(up_to(10)));
        if (std::ranges::find(reads, r) == reads.end()) reads.push_back(r);
      }
      c.step(1 + static_cast<std::uint64_t>(up_to(5000)) * (1 + static_cast<std::uint64_t>(up_to(30))), reads);
      if (up_to(5) == 0) {  // scratch
        const int id = static_cast<int>(c.items.size());
        c.items.push_back({static_cast<std::uint64_t>(1 + up_to(10000)), s, s});
        c.steps.back().writes.push_back(id);
        break;  // item ids equal steps only up to the first scratch
      }
    }
    const std::uint64_t limit = up_to(1) ? kNoLimit : 200000;
    const MemoryPlan plan = plan_memory(c.items, c.steps, limit);
    test::check_plan(plan, c.items, c.steps, limit);
    if (limit != kNoLimit) continue;
    ratios.push_back(static_cast<double>(plan.bytes()) / static_cast<double>(test::least_bytes(c.items, c.steps)));
  }
  // Many items of odd sizes and overlapping lives, harder than real networks.
  EXPECT_LE(*std::ranges::max_element(ratios), 1.3);
  EXPECT_GE(std::ranges::count_if(ratios, [](double r) { return r <= 1.1; }), std::ssize(ratios) * 4 / 5);
}

}  // namespace
}  // namespace weft::compiler
