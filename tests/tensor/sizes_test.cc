// What is said of sizes that no number of 64 bits counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "core/bytes_text.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/device.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

TEST(Sizes, ThoseThatCannotBeCountedAreNotNumbers) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text((std::uint64_t{1} << 63) - 1), "9223372036854775807 bytes");
  EXPECT_EQ(bytes_text(std::uint64_t{1} << 63), "more than 2^63 bytes");
  EXPECT_EQ(bytes_text(UINT64_MAX), "more than 2^63 bytes");
  const Device before = default_device();
  set_default_device(Device::cpu());
  const Tensor x = broadcast_to(zeros({1}) + 1, {std::int64_t{1} << 31, std::int64_t{1} << 30});
  const std::string said = message_of([&] { eval(exp(x)); });
  set_default_device(before);
  EXPECT_THAT(said, testing::HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("18446744073709551615")));
}

}  // namespace
}  // namespace weft::test
