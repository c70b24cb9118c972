// Tables of what is made once for a key.
#include "compiler/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft::compiler {
namespace {

using Table = Forms<std::string, MadeOnce<int>>;

TEST(FormsTable, TheOneUsedLongestAgoIsDropped) {
  Table table(3);
  int made = 0;
  const auto make = [&] { return ++made; };
  EXPECT_EQ(table.get("a", make), 1);
  EXPECT_EQ(table.get("b", make), 2);
  EXPECT_EQ(table.get("c", make), 3);
  EXPECT_EQ(table.get("a", make), 1);
  EXPECT_EQ(table.get("d", make), 4);  // in place of b
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.get("a", make), 1);
  EXPECT_EQ(table.get("c", make), 3);
  EXPECT_EQ(table.get("b", make), 5);  // in place of d
  EXPECT_EQ(table.get("d", make), 6);  // in place of a
  EXPECT_EQ(table.get("a", make), 7);
  EXPECT_EQ(table.size(), 3u);
}

TEST(FormsTable, KeepsOneAtLeast) {
  Table table(0);
  EXPECT_EQ(table.get("a", [] { return 1; }), 1);
  EXPECT_EQ(table.get("a", [] { return 2; }), 1);
  EXPECT_EQ(table.size(), 1u);
}

TEST(FormsTable, WhatFailsIsMadeByTheNextOne) {
  Table table(2);
  EXPECT_THROW(table.get("a", []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.get("a", [] { return 1; }), 1);
  EXPECT_EQ(table.size(), 1u);
}

TEST(FormsTable, WhatIsNotValidIsMadeAgain) {
  MadeOnce<int> number;
  EXPECT_FALSE(number.is_made());
  const auto is_even = [](int n) { return n % 2 == 0; };
  EXPECT_EQ(number.get(is_even, [] { return 1; }), 1);
  EXPECT_TRUE(number.is_made());
  EXPECT_EQ(number.get(is_even, [] { return 2; }), 2);
  EXPECT_EQ(number.get(is_even, [] { return 4; }), 2);
  const auto never = [](int) { return false; };
  EXPECT_THROW(number.get(never, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_FALSE(number.is_made());
}

// An entry that was dropped lives as long as somebody has it.
TEST(FormsTable, DroppedEntriesLiveOn) {
  Forms<int, std::string> table(1);
  const auto first = table.find(1, [] { return std::make_shared<std::string>("one"); });
  const auto second = table.find(2, [] { return std::make_shared<std::string>("two"); });
  EXPECT_EQ(*first, "one");
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_EQ(second.use_count(), 2);
  EXPECT_EQ(table.count_if([](const std::string& s) { return s == "two"; }), 1u);
  table.drop_if([](int key, const std::string&) { return key == 3; });
  EXPECT_EQ(table.size(), 1u);
  table.clear();
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(second.use_count(), 1);
  EXPECT_THROW(table.find(1, []() -> std::shared_ptr<std::string> { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(table.size(), 0u);
}

TEST(FormsTable, ThreadsWaitForTheOneThatMakesIt) {
  Table table(4);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 4; ++turn) {
        const int value = table.get(std::to_string(turn), [&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          ++made;
          return turn;
        });
        EXPECT_EQ(value, turn);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(made, 4);
}

// Of threads that wait for one that fails the next one makes it.
TEST(FormsTable, ThreadsGoOnAfterAFailure) {
  Table table(4);
  std::atomic<int> calls = 0, failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      try {
        EXPECT_EQ(table.get("a",
                            [&]() -> int {
                              std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              if (++calls <= 3) throw std::runtime_error("no");
                              return 7;
                            }),
                  7);
      } catch (const std::runtime_error&) {
        ++failures;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(table.get("a", [] { return 7; }), 7);
}

}  // namespace
}  // namespace weft::compiler
