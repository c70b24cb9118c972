// Processes that end, or are forked, while threads of theirs compute.
#include "weft/process.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "compiler/bound.h"
#include "support/devices.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/random.h"

#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace weft::test {
namespace {

class ProcessTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testing::internal::GetArgvs()[0])) {
      GTEST_SKIP() << "a bundle's launcher cannot start a second process";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, ProcessTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

std::atomic<int> turns = 0;

// Ends a process whose other threads compute without end.
[[noreturn]] void end_at_work(const std::string& device) {
  set_default_device(device_named(device));
  end_before_static_objects();
  at_process_end([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a turn whose values were there already ends
    const int before = turns;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::fputs(turns == before ? "all are still" : "threads go on", stderr);
  });
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      const Tensor x = random::normal({64, 64});
      for (Tensor y = x;; ++turns) {
        y = tanh(matmul(y, x));
        async_eval(y).get();
      }
    }).detach();
  }
  while (turns < 10) std::this_thread::yield();
  std::exit(3);
}

TEST_P(ProcessTest, EndsWhileThreadsCompute) {
  EXPECT_EXIT(end_at_work(GetParam()), testing::ExitedWithCode(3), "all are still");
}

TEST_P(ProcessTest, AForkedChildIsTold) {
#if __has_include(<sys/wait.h>)
  EXPECT_EXIT(
      {
        set_default_device(device_named(GetParam()));
        end_before_static_objects();
        const Tensor x = random::normal({8, 8});
        eval(x);
        const auto parent_exits = [] { std::fputs("this is the parent's", stderr); };
        std::atexit(parent_exits);
        const pid_t child = fork();
        if (child == 0) {
          try {
            eval(x + 1);
          } catch (const Unsupported& e) {
            std::exit(is_forked() && std::string(e.what()).find("forked") != std::string::npos ? 7 : 2);
          }
          std::exit(1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        eval(x + 1);
        std::exit(!is_forked() && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
      },
      testing::ExitedWithCode(7), "^this is the parent's$");
#endif
}

}  // namespace
}  // namespace weft::test
