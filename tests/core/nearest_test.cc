#include "core/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

TEST(Nearest, Distances) {
  struct Case {
    const char *a, *b;
    std::size_t distance;
  };
  constexpr Case kCases[] = {
      {"", "", 0},           {"", "abc", 3},         {"model", "model", 0}, {"MODEL", "model", 0},
      {"modle", "model", 1},  // neighbours that changed places
      {"mdel", "model", 1},  {"moddel", "model", 1}, {"modal", "model", 1}, {"kitten", "sitting", 3},
      {"ca", "abc", 3},  // restricted: no letter moves twice
  };
  for (const auto& [a, b, distance] : kCases) {
    EXPECT_EQ(edit_distance(a, b), distance) << a << " " << b;
    EXPECT_EQ(edit_distance(b, a), distance) << b << " " << a;
  }
}

TEST(Nearest, IsAdviceOrNothing) {
  const std::vector<std::string> names = {"model", "batch", "output", "quiet"};
  EXPECT_EQ(nearest("modle", names), "model");
  EXPECT_EQ(nearest("Bacth", names), "batch");
  EXPECT_EQ(nearest("quantum", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("c", std::vector<std::string>{"a", "b"}), "") << "no letter in common";
  EXPECT_EQ(nearest("id", std::vector<std::string>{"ids", "lengths"}), "ids");
  EXPECT_EQ(nearest("bat", std::vector<std::string>{"cat", "bar"}), "bar") << "the first in the alphabet";
  EXPECT_EQ(nearest("x", std::vector<std::string>{}), "");
}

TEST(Nearest, AsText) {
  EXPECT_EQ(nearest_text("model"), "; the nearest name is 'model'");
  EXPECT_EQ(nearest_text("", "; there is none"), "; there is none");
}

TEST(Nearest, ListsWhatThereIs) {
  EXPECT_EQ(names_there_are("x", {}), "; it has none");
  EXPECT_EQ(names_there_are("x", std::vector<std::string_view>{"y"}), "; it has \"y\"");
  EXPECT_EQ(names_there_are("maks", std::vector<std::string_view>{"library", "mask"}),
            "; it has \"library\", \"mask\"; the nearest name is \"mask\"");
  EXPECT_EQ(names_there_are("embedding", std::vector<std::string_view>{"library", "mask"}),
            "; it has \"library\", \"mask\"");
  const std::vector<std::string_view> many{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b10"};
  EXPECT_EQ(names_there_are("b1", many),
            "; it has \"a1\", \"a2\", \"a3\", \"a4\", \"a5\", \"a6\", \"a7\", \"a8\" and 2 more; the nearest name is "
            "\"a1\"");
}

}  // namespace
}  // namespace weft
