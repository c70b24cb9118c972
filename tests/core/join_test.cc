// One future of several.
#include "core/join.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace weft {
namespace {

// Work that ends when the test says so, and counts how often it was waited for.
struct Work final : Completion {
  bool done = false;
  int waits = 0;
  std::function<void()> callback;
  bool ready() override { return done; }
  void wait() override {
    ++waits;
    done = true;
  }
  void when_ready(std::function<void()> call) override {
    if (done) return call();
    callback = std::move(call);
  }
  void finish() {
    done = true;
    if (callback) std::exchange(callback, nullptr)();
  }
};

std::vector<Future<int>> parts_of(const std::vector<std::shared_ptr<Work>>& works) {
  std::vector<Future<int>> parts;
  for (std::size_t i = 0; i < works.size(); ++i) {
    parts.emplace_back(works[i], [i] { return static_cast<int>(10 * i); });
  }
  return parts;
}

TEST(Join, IsReadyWhenAllAre) {
  const std::vector works = {std::make_shared<Work>(), std::make_shared<Work>(), std::make_shared<Work>()};
  Future<std::vector<int>> all = join(parts_of(works));
  for (const auto& work : works) {
    EXPECT_FALSE(all.ready());
    work->finish();
  }
  EXPECT_TRUE(all.ready());
  EXPECT_EQ(all.get(), (std::vector{0, 10, 20}));
  EXPECT_FALSE(all.valid());
}

TEST(Join, GetWaitsForEach) {
  const std::vector works = {std::make_shared<Work>(), std::make_shared<Work>()};
  Future<std::vector<int>> all = join(parts_of(works));
  EXPECT_EQ(works[0]->waits + works[1]->waits, 0) << "joining does not wait";
  EXPECT_EQ(all.get(), (std::vector{0, 10}));
  EXPECT_EQ(works[0]->waits, 1);
  EXPECT_EQ(works[1]->waits, 1);
}

TEST(Join, CallsBackOnceAfterTheLast) {
  for (const bool reversed : {false, true}) {
    const std::vector works = {std::make_shared<Work>(), std::make_shared<Work>()};
    std::vector<Future<int>> parts = parts_of(works);
    parts.push_back(Future<int>({}, [] { return 7; }));  // ready from the start
    std::optional<std::vector<int>> result;
    int calls = 0;
    join(std::move(parts)).then([&](Future<std::vector<int>> done) {
      ++calls;
      result = done.get();
    });
    works[reversed ? 1 : 0]->finish();
    EXPECT_EQ(calls, 0);
    works[reversed ? 0 : 1]->finish();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(result, (std::vector{0, 10, 7}));
    EXPECT_EQ(works[0]->waits + works[1]->waits, 2) << "get() of a ready future asks once more";
  }
}

TEST(Join, ThrowsWhatAPartThrows) {
  const auto work = std::make_shared<Work>();
  std::vector<Future<int>> parts;
  parts.emplace_back(work, [] { return 1; });
  parts.emplace_back(nullptr, []() -> int { throw DeviceLost("gone"); });
  Future<std::vector<int>> all = join(std::move(parts));
  EXPECT_THROW((void)all.get(), DeviceLost);
  EXPECT_EQ(work->waits, 1);
}

TEST(Join, NothingIsReady) {
  Future<std::vector<int>> none = join(std::vector<Future<int>>());
  EXPECT_TRUE(none.ready());
  EXPECT_TRUE(none.get().empty());
}

}  // namespace
}  // namespace weft
