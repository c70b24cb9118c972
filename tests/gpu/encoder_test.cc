#include "gpu/kernel.h"
#include "weft/error.h"

namespace weft::test {
namespace {

class EncoderTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
};

TEST_P(EncoderTest, DispatchesRunInOrder) {
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3}), b = device.allocate(12), c = device.allocate(12);
  gpu::Encoder encoder(device);
  affine(encoder, a, b, {3, 10, 1});
  affine(encoder, b, c, {3, 2, 0});
  affine(encoder, c, b, {3, 1, 5});
  gpu::Readback rb = encoder.read(b, 0, 12), rc = encoder.read(c, 0, 12);
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(rb.get()), (std::vector<std::uint32_t>{27, 47, 67}));
  EXPECT_EQ(as<std::uint32_t>(rc.get()), (std::vector<std::uint32_t>{22, 42, 62}));
}

TEST_P(EncoderTest, CopiesLieBetweenDispatches) {
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4}), b = device.allocate(16), c = device.allocate(16);
  gpu::Encoder encoder(device);
  affine(encoder, a, b, {4, 3, 0});
  encoder.copy(b, 4, c, 0, 12);
  encoder.copy(a, 0, c, 12, 4);
  affine(encoder, c, b, {4, 1, 100});
  gpu::Readback read = encoder.read(b, 0, 16);
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{106, 109, 112, 101}));
}

TEST_P(EncoderTest, RecordingReplaysWithSubstitutes) {
  Buffer in = Buffer::placeholder(16), out = Buffer::placeholder(16), mid = device.allocate(16);
  gpu::Recording recording(device);
  affine(recording, in, mid, {4, 2, 1});
  affine(recording, mid, out, {4, 1, 7});
  EXPECT_EQ(recording.size(), 2u);
  gpu::Encoder encoder(device);
  for (std::uint32_t round = 0; round < 3; ++round) {
    Buffer a = upload<std::uint32_t>(device, {round, round + 1, round + 2, round + 3}), b = device.allocate(16);
    const gpu::Substitution substitutions[] = {{in, a}, {out, b}};
    encoder.replay(recording, substitutions);
    gpu::Readback read = encoder.read(b, 0, 16);
    encoder.submit();
    EXPECT_EQ(as<std::uint32_t>(read.get()),
              (std::vector<std::uint32_t>{2 * round + 8, 2 * round + 10, 2 * round + 12, 2 * round + 14}));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EncoderTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
