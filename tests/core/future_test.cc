// Chains of futures.
#include "weft/future.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weft::test {
namespace {

// Happens when the test says so, or when somebody waits.
class Switch final : public Completion {
 public:
  bool ready() override { return on_; }
  void wait() override {
    if (on_) return;
    ++waits;
    turn_on();
  }
  void when_ready(std::function<void()> callback) override {
    if (on_) return callback();
    callbacks_.push_back(std::move(callback));
  }
  void turn_on() {
    on_ = true;
    for (const auto& callback : std::exchange(callbacks_, {})) callback();
  }
  int waits = 0;

 private:
  bool on_ = false;
  std::vector<std::function<void()>> callbacks_;
};

Future<int> number(const std::shared_ptr<Switch>& when, int value) {
  return Future<int>(when, [value] { return value; });
}

Future<int> failing(const std::shared_ptr<Switch>& when) {
  return Future<int>(when, []() -> int { throw OutOfMemory("no memory"); });
}

TEST(FutureTest, NextFuturesAreMadeOfResults) {
  const auto first = std::make_shared<Switch>(), second = std::make_shared<Switch>();
  int made = 0;
  Future<std::string> text = number(first, 7)
                                 .and_then([&](int n) {
                                   ++made;
                                   return number(second, n + 1);
                                 })
                                 .map([](int n) { return std::to_string(n); });
  EXPECT_FALSE(text.ready());
  EXPECT_EQ(made, 0);
  first->turn_on();
  EXPECT_FALSE(text.ready());
  EXPECT_EQ(made, 1);
  second->turn_on();
  EXPECT_TRUE(text.ready());
  EXPECT_EQ(text.get(), "8");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(first->waits + second->waits, 0);
  EXPECT_FALSE(text.valid());
}

TEST(FutureTest, GetWaitsForEach) {
  const auto first = std::make_shared<Switch>(), second = std::make_shared<Switch>();
  Future<int> n = number(first, 7).and_then([&](int of) { return number(second, of * 2); });
  EXPECT_EQ(n.get(), 14);
  EXPECT_EQ(first->waits, 1);
  EXPECT_EQ(second->waits, 1);
}

TEST(FutureTest, CallsBackWhenTheLastIsThere) {
  const auto first = std::make_shared<Switch>(), second = std::make_shared<Switch>();
  int got = 0;
  number(first, 7).and_then([&](int of) { return number(second, of * 2); }).then([&](Future<int> done) {
    got = done.get();
  });
  second->turn_on();
  EXPECT_EQ(got, 0);
  first->turn_on();
  EXPECT_EQ(got, 14);
  // Those that are ready call back at once.
  number(first, 1).and_then([&](int of) { return number(second, of); }).then([&](Future<int> done) {
    got = done.get();
  });
  EXPECT_EQ(got, 1);
  Future<void>({}, [] {}).and_then([] { return Future<void>({}, [] {}); }).then([&](Future<void> done) {
    done.get();
    got = 2;
  });
  EXPECT_EQ(got, 2);
  EXPECT_EQ(first->waits + second->waits, 0);
}

TEST(FutureTest, FailuresEndTheChain) {
  const auto when = std::make_shared<Switch>();
  int called = 0;
  Future<int> n = failing(when).and_then([&](int of) {
    ++called;
    return number(when, of);
  });
  Future<int> m = number(when, 1).and_then([&](int) -> Future<int> { throw InvalidArgument("not so"); });
  when->turn_on();
  EXPECT_TRUE(n.ready());
  EXPECT_THROW(n.get(), OutOfMemory);
  EXPECT_THROW(m.get(), InvalidArgument);
  EXPECT_EQ(called, 0);
  EXPECT_THROW(weft::future_of([]() -> int { throw OutOfMemory("no memory"); }).get(), OutOfMemory);
  EXPECT_EQ(weft::future_of([] { return std::make_unique<int>(3); }).map([](auto p) { return *p; }).get(), 3);
}

TEST(FutureTest, AllOfThem) {
  const auto first = std::make_shared<Switch>(), second = std::make_shared<Switch>();
  const auto both = [&] {
    std::vector<Future<int>> two;
    two.push_back(number(first, 1));
    two.push_back(number(second, 2));
    return when_all(std::move(two));
  };
  std::vector<int> got;
  both().then([&](Future<std::vector<int>> done) { got = done.get(); });
  Future<std::vector<int>> polled = both();
  second->turn_on();
  EXPECT_FALSE(polled.ready());
  EXPECT_TRUE(got.empty());
  first->turn_on();
  EXPECT_TRUE(polled.ready());
  EXPECT_THAT(got, testing::ElementsAre(1, 2));
  EXPECT_THAT(polled.get(), testing::ElementsAre(1, 2));
  EXPECT_TRUE(when_all(std::vector<Future<int>>()).get().empty());
  std::vector<Future<void>> nothing;
  nothing.push_back(Future<void>({}, [] {}));
  nothing.push_back(Future<void>({}, [] { throw OutOfMemory("no memory"); }));
  EXPECT_THROW(when_all(std::move(nothing)).get(), OutOfMemory);
}

// Whatever their order, with the stack of a few calls.
TEST(FutureTest, ManyAtOnce) {
  constexpr int kMany = 200000;
  const auto on = std::make_shared<Switch>();
  std::vector<Future<int>> many;
  for (int i = 0; i < kMany; ++i) many.push_back(i % 3 ? number(on, i) : Future<int>({}, [i] { return i; }));
  std::int64_t sum = 0;
  when_all(std::move(many)).then([&](Future<std::vector<int>> done) {
    for (const int v : done.get()) sum += v;
  });
  EXPECT_EQ(sum, 0);
  on->turn_on();
  EXPECT_EQ(sum, std::int64_t{kMany} * (kMany - 1) / 2);
}

TEST(FutureTest, AFunctionThatReturnsNoResultIsAnError) {
  const auto on = std::make_shared<Switch>();
  bool called = false;
  number(on, 1).and_then([](int) { return Future<int>(); }).then([&](Future<int> done) {
    called = true;
    EXPECT_THROW(done.get(), InvalidArgument);
  });
  on->turn_on();
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace weft::test
