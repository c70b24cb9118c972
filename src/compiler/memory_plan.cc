#include "compiler/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "weft/error.h"

namespace weft::compiler {
namespace {

// Orders of placement that are tried beyond the two natural ones. The sizes of real networks settle at once; a graph of
// many odd sizes gains from shuffles, and then from moves of single items, as long as there is more than this to gain.
constexpr int kShuffles = 24;
constexpr int kMoves = 1500;
constexpr double kGoodEnough = 1.02;
// Placements compared with one another, over all moves: what a compilation may spend.
constexpr std::size_t kMostComparisons = 20'000'000;

std::uint64_t aligned(std::uint64_t bytes) {
  return std::max<std::uint64_t>((bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment, kPlanAlignment);
}

class Planner {
 public:
  Planner(std::span<const PlanItem> items, std::span<const PlanStep> steps, std::uint64_t max_buffer)
      : items_(items), max_buffer_(max_buffer), apart_(items.size()) {
    for (const PlanStep& step : steps) {
      for (std::size_t w = 0; w < step.writes.size(); ++w) {
        for (const int r : step.reads) keep_apart(step.writes[w], r);
        for (std::size_t k = 0; k < w; ++k) keep_apart(step.writes[w], step.writes[k]);
      }
    }
  }

  // Places items one after the other where they make the plan grow least.
  MemoryPlan place(std::span<const int> order) const {
    MemoryPlan plan;
    plan.places.resize(items_.size());
    for (const int item : order) {
      Place best;
      std::uint64_t best_growth = 0;
      // The last candidate is a new buffer.
      for (int b = 0; b <= static_cast<int>(plan.buffers.size()); ++b) {
        if (std::ranges::any_of(apart_[item], [&](int other) { return plan.places[other].buffer == b; })) continue;
        const std::uint64_t size = b < static_cast<int>(plan.buffers.size()) ? plan.buffers[b] : 0;
        const std::uint64_t offset = free_offset(plan, b, item);
        const std::uint64_t end = offset + aligned(items_[item].bytes);
        if (end > max_buffer_ && offset > 0) continue;
        const std::uint64_t growth = end > size ? end - size : 0;
        if (best.buffer < 0 || growth < best_growth) {
          best = {b, offset};
          best_growth = growth;
        }
      }
      plan.places[item] = best;
      plan.buffers.resize(std::max<std::size_t>(plan.buffers.size(), best.buffer + 1));
      plan.buffers[best.buffer] = std::max(plan.buffers[best.buffer], best.offset + aligned(items_[item].bytes));
    }
    return plan;
  }

 private:
  void keep_apart(int a, int b) {
    if (a == b) return;
    apart_[a].push_back(b);
    apart_[b].push_back(a);
  }

  bool together(int a, int b) const { return items_[a].first <= items_[b].last && items_[b].first <= items_[a].last; }

  // The first gap in the buffer that is wide enough for all of the item's life.
  std::uint64_t free_offset(const MemoryPlan& plan, int buffer, int item) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (plan.places[i].buffer == buffer && together(static_cast<int>(i), item)) {
        taken.emplace_back(plan.places[i].offset, plan.places[i].offset + aligned(items_[i].bytes));
      }
    }
    std::ranges::sort(taken);
    std::uint64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= at + aligned(items_[item].bytes)) break;
      at = std::max(at, end);
    }
    return at;
  }

  std::span<const PlanItem> items_;
  std::uint64_t max_buffer_;
  std::vector<std::vector<int>> apart_;
};

}  // namespace

std::uint64_t MemoryPlan::bytes() const { return std::accumulate(buffers.begin(), buffers.end(), std::uint64_t{0}); }

std::uint64_t liveness_bound(std::span<const PlanItem> items, std::size_t steps) {
  std::vector<std::uint64_t> alive(steps, 0);
  for (const PlanItem& item : items) {
    for (int s = item.first; s <= item.last; ++s) alive[s] += aligned(item.bytes);
  }
  return alive.empty() ? 0 : *std::ranges::max_element(alive);
}

MemoryPlan plan_memory(std::span<const PlanItem> items, std::span<const PlanStep> steps, std::uint64_t max_buffer) {
  for (const PlanItem& item : items) {
    if (aligned(item.bytes) > max_buffer) {
      throw OutOfMemory("an intermediate of {} bytes is past this device's largest buffer of {}", item.bytes, max_buffer);
    }
  }
  const Planner planner(items, steps, max_buffer);
  const std::uint64_t bound = liveness_bound(items, steps.size());
  std::vector<int> by_time(items.size());
  std::iota(by_time.begin(), by_time.end(), 0);
  std::ranges::stable_sort(by_time, {}, [&](int i) { return items[i].first; });
  std::vector<int> by_size = by_time;
  std::ranges::stable_sort(by_size, std::ranges::greater(), [&](int i) { return items[i].bytes; });

  MemoryPlan best;
  std::vector<int> best_order;
  const auto consider = [&](std::vector<int> order) {
    MemoryPlan plan = planner.place(order);
    if (!best_order.empty() && plan.bytes() > best.bytes()) return;
    best = std::move(plan);
    best_order = std::move(order);
  };
  const auto good = [&](double factor) {
    return static_cast<double>(best.bytes()) <= factor * static_cast<double>(bound);
  };
  if (items.empty()) return {};
  consider(by_size);
  consider(by_time);
  // Deterministic: one graph has one plan.
  std::mt19937 random(1);
  for (int i = 0; i < kShuffles && !good(1); ++i) {
    // Large items first, in an order that is a little off.
    std::vector<std::pair<double, int>> keyed;
    std::uniform_real_distribution<double> noise(0.5, 1.5);
    for (const int item : by_time) keyed.emplace_back(-noise(random) * static_cast<double>(items[item].bytes), item);
    std::ranges::stable_sort(keyed);
    std::vector<int> order;
    for (const auto& k : keyed) order.push_back(k.second);
    consider(std::move(order));
  }
  // Sideways steps are taken too: they lead out of corners.
  const std::size_t affordable = kMostComparisons / (items.size() * items.size());
  const int moves = static_cast<int>(std::min<std::size_t>(kMoves, affordable));
  std::uniform_int_distribution<std::size_t> any(0, items.size() - 1);
  for (int i = 0; i < moves && !good(kGoodEnough); ++i) {
    std::vector<int> order = best_order;
    const std::size_t from = any(random), to = any(random);
    const int item = order[from];
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), item);
    consider(std::move(order));
  }
  return best;
}

}  // namespace weft::compiler
