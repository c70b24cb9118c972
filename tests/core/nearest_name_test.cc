// What messages say of names that are not there.
#include "core/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::test {
namespace {

using Names = std::vector<std::string_view>;

TEST(NearestName, IsTheOneOfFewestEdits) {
  const Names names{"library", "queries", "mask"};
  EXPECT_EQ(nearest_name("query", names), "queries");
  EXPECT_EQ(nearest_name("querys", names), "queries");
  EXPECT_EQ(nearest_name("libary", names), "library");
  EXPECT_EQ(nearest_name("maks", names), "mask");
  EXPECT_EQ(nearest_name("embedding", names), std::nullopt);
  EXPECT_EQ(nearest_name("a", Names{"b", "c"}), "b");
  EXPECT_EQ(nearest_name("a", {}), std::nullopt);
}

TEST(NearestName, ListsWhatThereIs) {
  EXPECT_EQ(names_there_are("x", {}), "; it has none");
  EXPECT_EQ(names_there_are("x", Names{"y"}), "; it has \"y\"");
  EXPECT_EQ(names_there_are("maks", Names{"library", "mask"}),
            "; it has \"library\", \"mask\"; the nearest name is \"mask\"");
  EXPECT_EQ(names_there_are("embedding", Names{"library", "mask"}), "; it has \"library\", \"mask\"");
  const Names many{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b10"};
  EXPECT_EQ(names_there_are("b1", many),
            "; it has \"a1\", \"a2\", \"a3\", \"a4\", \"a5\", \"a6\", \"a7\", \"a8\" and 2 more; the nearest name is "
            "\"a1\"");
}

}  // namespace
}  // namespace weft::test
