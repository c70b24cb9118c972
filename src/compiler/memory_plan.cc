#include "compiler/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "weft/error.h"

namespace weft::compiler {
namespace {

// Orders of placement that are tried beyond the two natural ones. The sizes of real networks need none of them; a graph
// of many odd sizes gains from shuffles, and then from moves of single items, until the plan is within kGoodEnough of
// the bound.
constexpr int kShuffles = 24;
constexpr int kMoves = 3000;
constexpr double kTolerance = 0.02;  // initially, by how much a move may worsen the plan
constexpr double kGoodEnough = 1.02;
// Comparisons of two placements, over all moves: bounds the time of a compilation.
constexpr std::size_t kMaxComparisons = 20'000'000;

std::uint64_t aligned(std::uint64_t bytes) {
  return std::max<std::uint64_t>((bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment, kPlanAlignment);
}

class Planner {
 public:
  Planner(std::span<const PlanItem> items, std::span<const PlanStep> steps, std::uint64_t max_buffer)
      : items_(items), max_buffer_(max_buffer), apart_(items.size()), together_(items.size()) {
    for (const PlanStep& step : steps) {
      for (std::size_t w = 0; w < step.writes.size(); ++w) {
        for (const int r : step.reads) keep_apart(step.writes[w], r);
        for (std::size_t k = 0; k < w; ++k) keep_apart(step.writes[w], step.writes[k]);
      }
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      sizes_.push_back(aligned(items[i].bytes));
      for (std::size_t k = 0; k < items.size(); ++k) {
        if (k != i && items[i].first <= items[k].last && items[k].first <= items[i].last) {
          together_[i].push_back(static_cast<int>(k));
        }
      }
    }
  }

  // Places items one after the other where they increase the plan least.
  MemoryPlan place(std::span<const int> order) {
    MemoryPlan plan;
    plan.places.resize(items_.size());
    for (const int item : order) {
      find_gaps(plan, item);
      Place best;
      std::uint64_t best_growth = 0;
      // The last candidate is a new buffer.
      for (int b = 0; b <= static_cast<int>(plan.buffers.size()); ++b) {
        const Gap& gap = gaps_[b];
        if (gap.forbidden) continue;
        const std::uint64_t size = b < static_cast<int>(plan.buffers.size()) ? plan.buffers[b] : 0;
        const std::uint64_t end = gap.begin + sizes_[item];
        if (end > max_buffer_ && gap.begin > 0) continue;
        const std::uint64_t growth = end > size ? end - size : 0;
        if (best.buffer < 0 || growth < best_growth) {
          best = {b, gap.begin};
          best_growth = growth;
        }
      }
      plan.places[item] = best;
      plan.buffers.resize(std::max<std::size_t>(plan.buffers.size(), best.buffer + 1));
      plan.buffers[best.buffer] = std::max(plan.buffers[best.buffer], best.offset + sizes_[item]);
    }
    return plan;
  }

 private:
  struct Gap {  // of a buffer: the first gap that holds the item for all of its life
    std::uint64_t begin = 0;
    bool found = false, forbidden = false;
  };
  struct Taken {
    std::uint64_t begin, end;
    int buffer;
  };

  void keep_apart(int a, int b) {
    if (a == b) return;
    apart_[a].push_back(b);
    apart_[b].push_back(a);
  }

  void find_gaps(const MemoryPlan& plan, int item) {
    gaps_.assign(plan.buffers.size() + 1, {});
    for (const int other : apart_[item]) {
      if (plan.places[other].buffer >= 0) gaps_[plan.places[other].buffer].forbidden = true;
    }
    taken_.clear();
    for (const int other : together_[item]) {
      const Place& p = plan.places[other];
      if (p.buffer >= 0 && !gaps_[p.buffer].forbidden) taken_.push_back({p.offset, p.offset + sizes_[other], p.buffer});
    }
    std::ranges::sort(taken_, {}, &Taken::begin);
    for (const Taken& t : taken_) {
      Gap& gap = gaps_[t.buffer];
      if (gap.found) continue;
      gap.found = t.begin >= gap.begin + sizes_[item];
      if (!gap.found) gap.begin = std::max(gap.begin, t.end);
    }
  }

  std::span<const PlanItem> items_;
  std::uint64_t max_buffer_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::vector<int>> apart_, together_;
  std::vector<Gap> gaps_;      // of find_gaps
  std::vector<Taken> taken_;
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
      throw OutOfMemory("an intermediate of {} bytes is past this device's largest buffer of {}", item.bytes,
                        max_buffer);
    }
  }
  Planner planner(items, steps, max_buffer);
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
    // Large items first, with some noise in the order.
    std::vector<std::pair<double, int>> keyed;
    std::uniform_real_distribution<double> noise(0.5, 1.5);
    for (const int item : by_time) keyed.emplace_back(-noise(random) * static_cast<double>(items[item].bytes), item);
    std::ranges::stable_sort(keyed);
    std::vector<int> order;
    for (const auto& k : keyed) order.push_back(k.second);
    consider(std::move(order));
  }
  // Then simulated annealing: a single item moves within the order, or two are swapped. Moves that worsen the plan a
  // little are accepted too, less and less of them, to leave local minima.
  const std::size_t affordable = kMaxComparisons / (items.size() * items.size());
  const int moves = static_cast<int>(std::min<std::size_t>(kMoves, affordable));
  std::uniform_int_distribution<std::size_t> any(0, items.size() - 1);
  std::vector<int> order = best_order;
  std::uint64_t bytes = best.bytes();
  for (int i = 0; i < moves && !good(kGoodEnough); ++i) {
    std::vector<int> next = order;
    const std::size_t from = any(random), to = any(random);
    if (i % 2) {
      std::swap(next[from], next[to]);
    } else {
      const auto first = next.begin() + static_cast<std::ptrdiff_t>(std::min(from, to));
      const auto last = next.begin() + static_cast<std::ptrdiff_t>(std::max(from, to));
      if (from < to) std::rotate(first, first + 1, last + 1);
      else std::rotate(first, last, last + 1);
    }
    MemoryPlan plan = planner.place(next);
    const double tolerated = 1 + kTolerance * (moves - i) / moves;
    if (static_cast<double>(plan.bytes()) > tolerated * static_cast<double>(bytes)) continue;
    order = std::move(next);
    bytes = plan.bytes();
    if (bytes < best.bytes()) best = std::move(plan);
  }
  return best;
}

}  // namespace weft::compiler
