// Detection of views that share memory, compared with the bytes that their elements take.
#include "kernels/common/memory.h"

#include <set>

#include "cpu/executor.h"
#include "kernels/cpu_loops.h"
#include "support/differential.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using test::pick;
using test::random_int;
using test::Rng;

// A few elements in any order within a buffer of 64 bytes, or nothing if they do not fit there.
std::optional<View> scattered(Rng& rng, const Buffer& buffer) {
  constexpr DType kTypes[] = {DType::u8, DType::f16, DType::f32, DType::f64, DType::u4};
  Layout layout;
  for (int d = random_int(rng, 0, 3); d > 0; --d) {
    layout.shape.push_back(random_int(rng, 1, 4));
    layout.strides.push_back(random_int(rng, -7, 7));
  }
  const DType type = pick(rng, kTypes);
  const auto offset =
      static_cast<std::uint64_t>(random_int(rng, 0, 15)) * static_cast<std::uint64_t>(std::max(bits(type) / 8, 1));
  try {
    return View(buffer, offset, type, layout.shape, layout.strides);
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

std::vector<std::int64_t> bits_taken(const View& v) {
  std::vector<std::int64_t> taken;
  for (std::int64_t i = 0; i < v.count(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(v.offset) * 8 + offset_of(v.layout, i) * bits(v.dtype);
    for (int k = 0; k < bits(v.dtype); ++k) taken.push_back(first + k);
  }
  return taken;
}

TEST(Memory, OverlapIsThatOfTheElements) {
  const Buffer buffer = Buffer::host(64);
  Rng rng(3);
  int overlapping = 0, apart = 0, folded = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto a = scattered(rng, buffer), b = scattered(rng, buffer);
    if (!a || !b) continue;
    const std::vector<std::int64_t> of_a = bits_taken(*a), of_b = bits_taken(*b);
    const std::set<std::int64_t> distinct(of_a.begin(), of_a.end());
    const bool meet = std::ranges::any_of(of_b, [&](std::int64_t bit) { return distinct.contains(bit); });
    ASSERT_EQ(overlap(*a, *b), meet) << to_string(*a) << " at " << a->offset << ", " << to_string(*b) << " at "
                                     << b->offset;
    ASSERT_EQ(overlaps_itself(*a), distinct.size() != of_a.size()) << to_string(*a);
    ++(meet ? overlapping : apart);
    folded += distinct.size() != of_a.size();
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_GT(apart, 1000);
  EXPECT_GT(folded, 1000);
}

TEST(Memory, SaysWhatIsWrong) {
  cpu::Executor cpu;
  const Buffer buffer = Buffer::host(256), other = Buffer::host(256);
  const View x(buffer, 0, DType::f32, {4, 4}), shifted(buffer, 4, DType::f32, {4, 4}), y(other, 0, DType::f32, {4, 4});
  const auto message = [&](const View& in, const View& out, Sharing sharing = Sharing::same_view) -> std::string {
    try {
      check_memory(cpu, "kernel", {in}, {out}, sharing);
      return "";
    } catch (const InvalidArgument& e) {
      return e.what();
    }
  };
  EXPECT_EQ(message(x, y), "");
  EXPECT_EQ(message(x, x), "");
  // Columns of one matrix.
  EXPECT_EQ(message(View(buffer, 0, DType::f32, {4, 2}, {4, 1}), View(buffer, 8, DType::f32, {4, 2}, {4, 1})), "");
  EXPECT_EQ(message(x, x, Sharing::none),
            "kernel: output f32 [4, 4] shares memory with input f32 [4, 4], which it would overwrite while it is read");
  EXPECT_EQ(message(x, shifted),
            "kernel: output f32 [4, 4] shares memory with input f32 [4, 4], which it would overwrite while it is read; "
            "only the very same view may be both");
  EXPECT_EQ(message(View(), y), "kernel: input f32 [] has no buffer");
  EXPECT_EQ(message(x, View(other, 0, DType::f32, {4, 4}, {0, 1})),
            "kernel: output f32 [4, 4] strides [0, 1] overlaps itself");
  View past = y;
  past.offset = 240;
  EXPECT_EQ(message(x, past), "view: f32 [4, 4] at byte 240 reaches bytes 240 to 304 of a buffer of 256");
}

}  // namespace
}  // namespace weft::kernels
