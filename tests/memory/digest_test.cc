// Digests of content, by which an upload of bytes that are there already is left out.
#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "weft/view.h"

namespace weft {
namespace {

Buffer::Digest digest_of_text(std::string_view text) { return digest_of(std::as_bytes(std::span(text))); }

// XXH128 with seed 0, as `xxhsum -H2` prints it (high half first).
TEST(Digest, IsXxh3Of128Bits) {
  EXPECT_EQ(digest_of_text(""), (Buffer::Digest{0, 0x6001c324468d497full, 0x99aa06d3014798d8ull}));
  EXPECT_EQ(digest_of_text("a"), (Buffer::Digest{1, 0xe6c632b61e964e1full, 0xa96faf705af16834ull}));
  EXPECT_EQ(digest_of_text("abc"), (Buffer::Digest{3, 0x78af5f94892f3950ull, 0x06b05ab6733a6185ull}));
}

TEST(Digest, TellsBytesApart) {
  std::vector<std::byte> bytes(100);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  const auto fresh = [&](std::span<const std::byte> b) {
    const Buffer::Digest d = digest_of(b);
    EXPECT_EQ(d, digest_of(b));
    return seen.emplace(d.low, d.high).second;
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<std::byte>(1 << bit);
      EXPECT_TRUE(fresh(bytes)) << i << ", " << bit;
    }
    bytes[i] = std::byte{};
  }
  for (const std::size_t swapped : {8, 32, 64}) {
    bytes[0] = std::byte{1}, bytes[swapped] = std::byte{2};
    EXPECT_TRUE(fresh(bytes));
    bytes[0] = std::byte{2}, bytes[swapped] = std::byte{1};
    EXPECT_TRUE(fresh(bytes));
    bytes[0] = bytes[swapped] = std::byte{};
  }
  EXPECT_NE(digest_of(std::span(bytes).first(50)), digest_of(std::span(bytes).first(51))) << "zeros of two lengths";
}

}  // namespace
}  // namespace weft
