#include "core/host_load.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

namespace weft {
namespace {

TEST(HostLoad, SeesOtherPrograms) {
  if (!std::filesystem::exists("/proc/stat")) GTEST_SKIP() << "no /proc/stat here";
  const HostLoad load;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (volatile unsigned i = 0;; i = i + 1) {
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const double others = load.others();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  // It had a processor, or a part of one that others had the rest of; the system counts in hundredths of a second.
  EXPECT_GE(others, 0.5 / std::thread::hardware_concurrency());
  EXPECT_LE(others, 1);
}

}  // namespace
}  // namespace weft
