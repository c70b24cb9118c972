// Every kernel and op has a family, the same that its schema has, and a colour.
#include "core/kernel_family.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "weft/kernels/table.h"
#include "weft/schema.h"

namespace weft::test {
namespace {

// The families of the schemas, in those of the pictures.
const std::map<std::string, std::string_view> kPictured = {
    {"matmul", "matmul"},  {"attention", "attention"}, {"norm", "norm"},          {"softmax", "softmax"},
    {"reduce", "reduce"},  {"index", "index"},         {"compact", "index"},      {"copy", "copy"},
    {"pad", "copy"},       {"sort", "sort and scan"},  {"scan", "sort and scan"}, {"random", "other"},
    {"generate", "other"}, {"custom", "other"},        {"conv", "conv"},          {"pool", "pool and resize"},
    {"resize", "pool and resize"}, {"grid_sample", "pool and resize"}, {"fold", "pool and resize"},
    {"rnn", "recurrent"}};

TEST(KernelFamily, FollowsTheSchemas) {
  std::set<std::string> seen;
  const auto check = [&](const Schema& schema) {
    const auto it = kPictured.find(schema.family);
    if (it == kPictured.end()) return;  // elementwise ones run as "map" or "elementwise"; views and leaves do not run
    seen.insert(schema.family);
    EXPECT_EQ(kernel_family(schema.name), it->second) << schema.name;
  };
  for (const kernels::KernelInfo& kernel : kernels::table()) check(kernel);
  for (const Schema& schema : op_schemas()) check(schema);
  EXPECT_EQ(seen.size(), kPictured.size());
  for (const char* name : {"map", "elementwise"}) EXPECT_EQ(kernel_family(name), "elementwise");
}

TEST(KernelFamily, KnowsDispatchesThatArePartsOfKernels) {
  const std::pair<const char*, const char*> dispatches[] = {
      {"matmul_reduce", "matmul"},        {"attention_combine", "attention"},
      {"radix_scatter", "sort and scan"}, {"sort_short", "sort and scan"},
      {"transpose_tiles", "copy"},        {"remap_words", "copy"},
      {"scatter_chain", "index"},         {"compact_runs", "index"},
      {"sum_squares", "reduce"},          {"max", "reduce"},
      {"log_sum_exp", "reduce"},          {"argmax", "reduce"},
      {"my_own_kernel", "other"},         {"", "other"}};
  for (const auto& [name, family] : dispatches) EXPECT_EQ(kernel_family(name), family) << name;
}

TEST(KernelFamily, HasColoursOfItsOwn) {
  for (const bool dark : {false, true}) {
    std::set<std::string_view> colours;
    for (const std::string_view family : kKernelFamilies) colours.insert(family_colour(family, dark));
    EXPECT_EQ(colours.size(), kKernelFamilies.size());
  }
  EXPECT_TRUE(family_colours(false).starts_with("--f0: #2a6fdb; --f1: #"));
}

}  // namespace
}  // namespace weft::test
