#include "compiler/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <random>

#include "core/bytes_text.h"
#include "core/format.h"
#include "core/visits.h"
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
// Comparisons of two placements, over all placements that are tried: bounds the time of a compilation.
constexpr std::size_t kMaxComparisons = 5'000'000;

std::uint64_t aligned(std::uint64_t bytes) {
  return std::max<std::uint64_t>((bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment, kPlanAlignment);
}

class Planner {
 public:
  Planner(std::span<const PlanItem> items, std::span<const PlanStep> steps, std::uint64_t max_buffer)
      : items_(items), max_buffer_(max_buffer), conflicts_(items.size()), together_(items.size()) {
    for (const PlanStep& step : steps) {
      for (std::size_t w = 0; w < step.writes.size(); ++w) {
        for (const int r : step.reads) add_conflict(step.writes[w], r);
        for (std::size_t k = 0; k < w; ++k) add_conflict(step.writes[w], step.writes[k]);
      }
    }
    for (const PlanItem& item : items) sizes_.push_back(aligned(item.bytes));
    by_time_.resize(items.size());
    std::iota(by_time_.begin(), by_time_.end(), 0);
    std::ranges::stable_sort(by_time_, {}, [&](int i) { return items[i].first; });
    // How many begin while others are alive.
    std::vector<int> ends;
    for (const PlanItem& item : items) ends.push_back(item.last);
    std::ranges::sort(ends);
    for (std::size_t begun = 0, ended = 0; begun < by_time_.size(); ++begun) {
      while (ends[ended] < items[by_time_[begun]].first) ++ended;
      overlaps_ += begun - ended;
    }
    if (too_many()) return;
    // In the order in which they begin, each with those that are still alive then.
    std::vector<int> alive;
    for (const int i : by_time_) {
      std::erase_if(alive, [&](int k) { return items[k].last < items[i].first; });
      for (const int k : alive) {
        together_[i].push_back(k);
        together_[k].push_back(i);
      }
      alive.push_back(i);
    }
    count_visits(overlaps_);
  }

  // In the order in which they begin.
  const std::vector<int>& by_time() const { return by_time_; }
  // Pairs of items that are alive at once, which assign() compares.
  std::size_t overlaps() const { return overlaps_; }
  // True if there are too many of them for assign().
  bool too_many() const { return overlaps_ > kMaxComparisons; }

  // Places items in the order in which they begin, each where one of about its size has ended, or else behind all that
  // its buffer has. In time that grows with the items alone.
  MemoryPlan assign_by_time() {
    MemoryPlan plan;
    plan.locations.resize(items_.size());
    std::vector<std::uint64_t> slots(items_.size());                // the size of what each item lies in
    std::vector<std::multimap<std::uint64_t, std::uint64_t>> free;  // of each buffer: offsets by size
    std::vector<int> forbidden_for;                                 // of each buffer: the last such item
    using Ending = std::pair<int, int>;                             // the last step, the item
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
    for (const int item : by_time_) {
      for (; !alive.empty() && alive.top().first < items_[item].first; alive.pop()) {
        const int ended = alive.top().second;
        free[plan.locations[ended].buffer].emplace(slots[ended], plan.locations[ended].offset);
      }
      for (const int other : conflicts_[item]) {
        count_visits();
        if (plan.locations[other].buffer >= 0) forbidden_for[plan.locations[other].buffer] = item;
      }
      const std::uint64_t size = sizes_[item];
      Location best, behind;
      for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
        count_visits();
        if (forbidden_for[b] == item) continue;
        const auto slot = free[b].lower_bound(size);
        if (slot != free[b].end() && slot->first <= 2 * size && (best.buffer < 0 || slot->first < slots[item])) {
          best = {b, slot->second};
          slots[item] = slot->first;
        }
        if (plan.buffers[b] + size <= max_buffer_ && (behind.buffer < 0 || plan.buffers[b] < behind.offset)) {
          behind = {b, plan.buffers[b]};
        }
      }
      if (best.buffer >= 0) {
        auto& slots_of = free[best.buffer];
        slots_of.erase(std::ranges::find(slots_of.lower_bound(slots[item]), slots_of.end(), best.offset,
                                         [](const auto& s) { return s.second; }));
      } else {
        best = behind;
        if (best.buffer < 0) {
          best = {static_cast<int>(plan.buffers.size()), 0};
          plan.buffers.push_back(0);
          free.emplace_back();
          forbidden_for.push_back(-1);
        }
        slots[item] = size;
        plan.buffers[best.buffer] += size;
      }
      plan.locations[item] = best;
      alive.emplace(items_[item].last, item);
    }
    return plan;
  }

  // Places items one after the other where they increase the plan least.
  MemoryPlan assign(std::span<const int> order) {
    MemoryPlan plan;
    plan.locations.resize(items_.size());
    for (const int item : order) {
      find_gaps(plan, item);
      Location best;
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
      plan.locations[item] = best;
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

  void add_conflict(int a, int b) {
    if (a == b) return;
    conflicts_[a].push_back(b);
    conflicts_[b].push_back(a);
  }

  void find_gaps(const MemoryPlan& plan, int item) {
    gaps_.assign(plan.buffers.size() + 1, {});
    for (const int other : conflicts_[item]) {
      if (plan.locations[other].buffer >= 0) gaps_[plan.locations[other].buffer].forbidden = true;
    }
    taken_.clear();
    for (const int other : together_[item]) {
      const Location& p = plan.locations[other];
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
  std::vector<std::vector<int>> conflicts_, together_;
  std::vector<int> by_time_;
  std::size_t overlaps_ = 0;
  std::vector<Gap> gaps_;  // of find_gaps
  std::vector<Taken> taken_;
};

}  // namespace

std::uint64_t MemoryPlan::bytes() const { return std::accumulate(buffers.begin(), buffers.end(), std::uint64_t{0}); }

std::uint64_t liveness_bound(std::span<const PlanItem> items, std::size_t steps) {
  const std::vector<std::uint64_t> alive = live_bytes(items, steps, true);
  return alive.empty() ? 0 : *std::ranges::max_element(alive);
}

std::vector<std::uint64_t> live_bytes(std::span<const PlanItem> items, std::size_t steps, bool aligned_sizes) {
  // What begins with each step, less what ended before it.
  std::vector<std::uint64_t> alive(steps + 1, 0);
  for (const PlanItem& item : items) {
    const std::uint64_t bytes = aligned_sizes ? aligned(item.bytes) : item.bytes;
    alive[static_cast<std::size_t>(item.first)] += bytes;
    alive[static_cast<std::size_t>(item.last) + 1] -= bytes;
  }
  std::partial_sum(alive.begin(), alive.end(), alive.begin());
  alive.pop_back();
  return alive;
}

MemoryPlan plan_memory(std::span<const PlanItem> items, std::span<const PlanStep> steps, std::uint64_t max_buffer) {
  for (const PlanItem& item : items) {
    if (aligned(item.bytes) > max_buffer) {
      throw OutOfMemory("an intermediate of {} is past this device's largest buffer of {}", bytes_text(item.bytes),
                        max_buffer);
    }
  }
  Planner planner(items, steps, max_buffer);
  const std::uint64_t bound = liveness_bound(items, steps.size());
  if (planner.too_many()) return planner.assign_by_time();
  const std::vector<int>& by_time = planner.by_time();
  std::vector<int> by_size = by_time;
  std::ranges::stable_sort(by_size, std::ranges::greater(), [&](int i) { return items[i].bytes; });

  MemoryPlan best;
  std::vector<int> best_order;
  const auto consider = [&](std::vector<int> order) {
    MemoryPlan plan = planner.assign(order);
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
  const std::size_t placements = kMaxComparisons / std::max<std::size_t>(planner.overlaps(), 1);
  for (std::size_t i = 0; i < std::min<std::size_t>(kShuffles, placements) && !good(kGoodEnough); ++i) {
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
      if (from < to)
        std::rotate(first, first + 1, last + 1);
      else
        std::rotate(first, last, last + 1);
    }
    MemoryPlan plan = planner.assign(next);
    const double tolerated = 1 + kTolerance * (moves - i) / moves;
    if (static_cast<double>(plan.bytes()) > tolerated * static_cast<double>(bytes)) continue;
    order = std::move(next);
    bytes = plan.bytes();
    if (bytes < best.bytes()) best = std::move(plan);
  }
  return best;
}

}  // namespace weft::compiler
