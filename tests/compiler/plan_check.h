// Checks a memory plan by its definition, independently of the planner.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "compiler/memory_plan.h"

namespace weft::test {

// Ignoring offsets: the minimum, over all ways to distribute items over buffers such that each pair of `apart` is in
// different ones, of the sum of each buffer's bytes at its fullest step. Exhaustive; nothing if that takes too long.
class LeastBuffers {
 public:
  LeastBuffers(std::vector<std::uint64_t> sizes, std::span<const compiler::PlanItem> items, std::size_t steps,
               const std::vector<std::vector<bool>>& apart)
      : sizes_(std::move(sizes)), items_(items), steps_(steps), conflicts_(apart) {
    for (std::size_t i = 0; i < items.size(); ++i) order_.push_back(i);
    std::ranges::stable_sort(order_, std::ranges::greater(), [&](std::size_t i) { return sizes_[i]; });
  }
  std::optional<std::uint64_t> operator()() {
    extend(0, 0);
    return visited_ > kMax ? std::nullopt : std::optional(least_);
  }

 private:
  struct Buffer {
    std::vector<std::size_t> items;
    std::vector<std::uint64_t> held;  // at each step
    std::uint64_t bytes = 0;
  };
  void extend(std::size_t next, std::uint64_t sum) {
    if (sum >= least_ || ++visited_ > kMax) return;
    if (next == order_.size()) {
      least_ = sum;
      return;
    }
    const std::size_t item = order_[next];
    for (std::size_t b = 0; b <= buffers_.size(); ++b) {
      if (b == buffers_.size()) buffers_.push_back({{}, std::vector<std::uint64_t>(steps_, 0), 0});
      if (std::ranges::any_of(buffers_[b].items, [&](std::size_t other) { return conflicts_[item][other]; })) continue;
      const Buffer before = buffers_[b];
      Buffer& buffer = buffers_[b];
      buffer.items.push_back(item);
      for (int s = items_[item].first; s <= items_[item].last; ++s) {
        buffer.bytes = std::max(buffer.bytes, buffer.held[static_cast<std::size_t>(s)] += sizes_[item]);
      }
      const std::uint64_t grown = sum + buffer.bytes - before.bytes;
      extend(next + 1, grown);
      buffers_[b] = before;
      if (before.items.empty()) {
        buffers_.resize(b);
        break;
      }
    }
  }

  static constexpr std::size_t kMax = 300'000;
  std::vector<std::uint64_t> sizes_;
  std::span<const compiler::PlanItem> items_;
  std::size_t steps_, visited_ = 0;
  const std::vector<std::vector<bool>>& conflicts_;
  std::vector<std::size_t> order_;
  std::vector<Buffer> buffers_;
  std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max();
};

// A lower bound of every plan, whatever its buffers and offsets: LeastBuffers; if that takes too long, the larger of
//   the sum of the items alive at once, at any step, since they do not overlap;
//   M + ΣK − max K, where M is the largest item of all, and K are items that must be in different buffers, each pair of
//   them because of some step.
// Proof of the second. The items of K are in |K| buffers, each at least as large as its item. M is in some buffer. If
// that holds the item j of K, it has at least M bytes, and all of them M + ΣK − K[j] ≥ M + ΣK − max K. If it holds none
// of K, they have M + ΣK. Nothing here depends on time, so another order of the steps does not help either.
inline std::uint64_t least_bytes(std::span<const compiler::PlanItem> items, std::span<const compiler::PlanStep> steps) {
  const auto size = [&](std::size_t i) { return std::max<std::uint64_t>((items[i].bytes + 255) / 256 * 256, 256); };
  std::uint64_t least = 0, largest = 0;
  std::vector<std::vector<bool>> apart(items.size(), std::vector<bool>(items.size(), false));
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::uint64_t alive = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].first <= static_cast<int>(s) && static_cast<int>(s) <= items[i].last) alive += size(i);
    }
    least = std::max(least, alive);
    std::vector<int> others = steps[s].reads;
    for (const int w : steps[s].writes) {
      for (const int o : others) {
        if (o != w) apart[w][o] = apart[o][w] = true;
      }
      others.push_back(w);
    }
  }
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < items.size(); ++i) sizes.push_back(size(i));
  if (const auto exact = LeastBuffers(sizes, items, steps.size(), apart)()) return *exact;
  for (const std::uint64_t s : sizes) largest = std::max(largest, s);
  // All sets K, each in ascending order.
  std::vector<std::size_t> k;
  const std::function<void(std::size_t, std::uint64_t, std::uint64_t)> extend = [&](std::size_t from, std::uint64_t sum,
                                                                                    std::uint64_t most) {
    if (!k.empty()) least = std::max(least, largest + sum - most);
    for (std::size_t i = from; i < items.size(); ++i) {
      if (!std::ranges::all_of(k, [&](std::size_t o) { return apart[i][o]; })) continue;
      k.push_back(i);
      extend(i + 1, sum + size(i), std::max(most, size(i)));
      k.pop_back();
    }
  };
  extend(0, 0, 0);
  return least;
}

inline void check_plan(const compiler::MemoryPlan& plan, std::span<const compiler::PlanItem> items,
                       std::span<const compiler::PlanStep> steps, std::uint64_t max_buffer) {
  ASSERT_EQ(plan.locations.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const compiler::Location& p = plan.locations[i];
    ASSERT_GE(p.buffer, 0);
    ASSERT_LT(p.buffer, static_cast<int>(plan.buffers.size()));
    EXPECT_EQ(p.offset % 256, 0u);
    EXPECT_LE(p.offset + items[i].bytes, plan.buffers[p.buffer]) << "item " << i << " leaves its buffer";
    for (std::size_t k = 0; k < i; ++k) {
      const compiler::Location& q = plan.locations[k];
      const bool apart_in_time = items[i].last < items[k].first || items[k].last < items[i].first;
      const bool apart_in_memory =
          p.buffer != q.buffer || p.offset + items[i].bytes <= q.offset || q.offset + items[k].bytes <= p.offset;
      EXPECT_TRUE(apart_in_time || apart_in_memory) << "items " << i << " and " << k << " overlap";
    }
  }
  for (const std::uint64_t size : plan.buffers) EXPECT_LE(size, max_buffer);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (std::size_t w = 0; w < steps[s].writes.size(); ++w) {
      const int written = plan.locations[steps[s].writes[w]].buffer;
      for (const int r : steps[s].reads) {
        if (r == steps[s].writes[w]) continue;  // in place
        EXPECT_NE(plan.locations[r].buffer, written) << "step " << s << " reads and writes buffer " << written;
      }
      for (std::size_t k = 0; k < w; ++k) {
        EXPECT_NE(plan.locations[steps[s].writes[k]].buffer, written) << "step " << s << " writes one buffer twice";
      }
    }
  }
}

}  // namespace weft::test
