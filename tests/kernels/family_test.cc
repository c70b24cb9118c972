// Every kernel and op has a family, the same that its schema has, and a colour.
#include "kernels/family.h"

#include <gtest/gtest.h>

#include <set>

#include "weft/kernels/table.h"
#include "weft/schema.h"

namespace weft::test {
namespace {

TEST(KernelFamily, FollowsTheSchemas) {
  for (const kernels::KernelInfo& kernel : kernels::table()) {
    // Elementwise functions run as "map" or "elementwise".
    if (kernel.family == "elementwise") continue;
    EXPECT_EQ(kernels::kernel_family(kernel.name), kernel.family) << kernel.name;
  }
  for (const char* name : {"map", "elementwise"}) EXPECT_EQ(kernels::kernel_family(name), "elementwise");
}

TEST(KernelFamily, KnowsDispatchesThatArePartsOfKernels) {
  const std::pair<const char*, const char*> dispatches[] = {
      {"matmul_reduce", "matmul"}, {"attention_combine", "attention"},
      {"radix_scatter", "sort"},   {"sort_short", "sort"},
      {"transpose_tiles", "copy"}, {"remap_words", "pad"},
      {"scatter_chain", "index"},  {"compact_runs", "compact"},
      {"sum_squares", "reduce"},   {"max", "reduce"},
      {"log_sum_exp", "reduce"},   {"argmax", "reduce"},
      {"my_own_kernel", "other"},  {"", "other"}};
  for (const auto& [name, family] : dispatches) EXPECT_EQ(kernels::kernel_family(name), family) << name;
}

TEST(KernelFamily, HasColoursOfItsOwn) {
  for (const bool dark : {false, true}) {
    std::set<std::string> colours;
    for (const std::string_view family : kernels::kernel_families()) {
      colours.insert(kernels::family_colour(family, dark));
    }
    EXPECT_EQ(colours.size(), kernels::kernel_families().size());
  }
  EXPECT_TRUE(kernels::family_colours(false).starts_with("--f0: #"));
}

}  // namespace
}  // namespace weft::test
