// Checks a memory plan by its definition, not by how it was made.
#pragma once

#include <gtest/gtest.h>

#include "compiler/memory_plan.h"

namespace weft::test {

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
        EXPECT_NE(plan.places[r].buffer, written) << "step " << s << " reads and writes buffer " << written;
      }
      for (std::size_t k = 0; k < w; ++k) {
        EXPECT_NE(plan.places[steps[s].writes[k]].buffer, written) << "step " << s << " writes one buffer twice";
      }
    }
  }
}

}  // namespace weft::test
