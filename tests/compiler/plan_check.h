// Checks a memory plan by its definition, not by how it was made.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "compiler/memory_plan.h"

namespace weft::test {

// What no plan goes below, whatever its buffers and offsets: the larger of
//   the sum of the items alive at once, at any step, since they do not overlap;
//   M + ΣK − max K, where M is the largest item of all, and K are items that lie in different buffers, each pair of
//   them for the sake of some step.
// Proof of the second. The items of K lie in |K| buffers, each at least as large as its item. M lies in some buffer. If
// that holds the item j of K, it has at least M bytes, and all of them M + ΣK − K[j] ≥ M + ΣK − max K. If it holds none
// of K, they have M + ΣK. Nothing here depends on time, so no other order of the steps helps either.
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
  for (std::size_t i = 0; i < items.size(); ++i) largest = std::max(largest, size(i));
  // All K, each in ascending order.
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
  ASSERT_EQ(plan.places.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const compiler::Place& p = plan.places[i];
    ASSERT_GE(p.buffer, 0);
    ASSERT_LT(p.buffer, static_cast<int>(plan.buffers.size()));
    EXPECT_EQ(p.offset % 256, 0u);
    EXPECT_LE(p.offset + items[i].bytes, plan.buffers[p.buffer]) << "item " << i << " leaves its buffer";
    for (std::size_t k = 0; k < i; ++k) {
      const compiler::Place& q = plan.places[k];
      const bool apart_in_time = items[i].last < items[k].first || items[k].last < items[i].first;
      const bool apart_in_memory =
          p.buffer != q.buffer || p.offset + items[i].bytes <= q.offset || q.offset + items[k].bytes <= p.offset;
      EXPECT_TRUE(apart_in_time || apart_in_memory) << "items " << i << " and " << k << " overlap";
    }
  }
  for (const std::uint64_t size : plan.buffers) EXPECT_LE(size, max_buffer);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (std::size_t w = 0; w < steps[s].writes.size(); ++w) {
      const int written = plan.places[steps[s].writes[w]].buffer;
      for (const int r : steps[s].reads) {
        if (r == steps[s].writes[w]) continue;  // in place
        EXPECT_NE(plan.places[r].buffer, written) << "step " << s << " reads and writes buffer " << written;
      }
      for (std::size_t k = 0; k < w; ++k) {
        EXPECT_NE(plan.places[steps[s].writes[k]].buffer, written) << "step " << s << " writes one buffer twice";
      }
    }
  }
}

}  // namespace weft::test
