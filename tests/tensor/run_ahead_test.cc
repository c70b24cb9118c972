#include "tensor/run_ahead.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "weft/error.h"

namespace weft::test {
namespace {

// Counts who waits for it.
class Counted : public Completion {
 public:
  explicit Counted(int* waits) : waits_(waits) {}
  bool ready() override { return false; }
  void wait() override { ++*waits_; }
  void when_ready(std::function<void()> callback) override { callback(); }

 private:
  int* waits_;
};

TEST(RunAheadTest, WaitsForRunsOfLongAgo) {
  constexpr int kRuns = 5 * RunAhead::kRuns;
  RunAhead ahead;
  int waits[kRuns] = {};
  for (int i = 0; i < kRuns; ++i) {
    ahead.submitted(Future<void>(std::make_shared<Counted>(&waits[i]), [] {}));
    const int checkpoint = i - RunAhead::kRuns;  // submitted 32 runs before
    for (int k = 0; k <= i; ++k) {
      const bool waited = (k + 1) % RunAhead::kRuns == 0 && k <= checkpoint;
      ASSERT_EQ(waits[k], waited) << "run " << k << " after " << i;
    }
  }
}

// The failure of an earlier run reaches the thread that waits for it, and the next runs work.
TEST(RunAheadTest, PassesFailuresOn) {
  RunAhead ahead;
  for (int i = 0; i < RunAhead::kRuns; ++i) {
    ahead.submitted(Future<void>({}, [] { throw DeviceLost("gone"); }));
  }
  for (int i = 1; i < RunAhead::kRuns; ++i) ahead.submitted(Future<void>({}, [] {}));
  EXPECT_THROW(ahead.submitted(Future<void>({}, [] {})), DeviceLost);
  for (int i = 0; i < 2 * RunAhead::kRuns; ++i) EXPECT_NO_THROW(ahead.submitted(Future<void>({}, [] {})));
}

}  // namespace
}  // namespace weft::test
