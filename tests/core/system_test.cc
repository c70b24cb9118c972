#include "core/system.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/compiler.h"
#include "support/temp_dir.h"
#include "weft/error.h"

namespace weft {
namespace {

TEST(System, MemoryAndProcessesHaveNumbers) {
  EXPECT_GT(physical_memory(), std::uint64_t{64} << 20);
  EXPECT_NE(process_id(), 0u);
  EXPECT_EQ(process_id(), process_id());
}

TEST(System, FilesAreMappedWhole) {
  if (!WEFT_POSIX) GTEST_SKIP() << "files are read, not mapped";
  const test::TempDir directory;
  const auto path = directory.path() / "file";
  std::ofstream(path) << "twelve bytes";
  std::optional<MappedBytes> mapped = map_file(path);
  ASSERT_TRUE(mapped);
  prefetch(mapped->bytes);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->bytes.data()), mapped->bytes.size()), "twelve bytes");
  std::ofstream(path, std::ios::trunc).close();
  mapped = map_file(path);
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(mapped->bytes.empty());
  EXPECT_THROW(map_file(directory.path() / "absent"), IoError);
}

TEST(System, StandardErrorIsHeardAndGivenBack) {
  if (!WEFT_POSIX) GTEST_SKIP() << "standard error is shown as it is";
  std::string heard;
  testing::internal::CaptureStderr();
  capture_stderr([] { std::fputs("within", stderr); }, [&](const std::string& text) { heard = text; });
  std::fputs("after", stderr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "after");
  EXPECT_EQ(heard, "within");
  const auto fails = [] {
    std::fputs("before", stderr);
    throw IoError("fails");
  };
  EXPECT_THROW(capture_stderr(fails, [&](const std::string& text) { heard = text; }), IoError);
  EXPECT_EQ(heard, "before");
}

TEST(System, VariablesThatAreSetStay) {
  if (!WEFT_POSIX) GTEST_SKIP() << "no variable is set";
  set_environment_default("TEST_SYSTEM_VARIABLE", "first");
  set_environment_default("TEST_SYSTEM_VARIABLE", "second");
  EXPECT_STREQ(std::getenv("TEST_SYSTEM_VARIABLE"), "first");
}

}  // namespace
}  // namespace weft
