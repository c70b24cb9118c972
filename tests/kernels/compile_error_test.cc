// Kernels that do not compile: an error in Weft, which says what to report.
#include <gmock/gmock.h>

#include "kernels/source.h"
#include "support/kernel_test.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/resize.h"
#include "weft/kernels/softmax.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CompileError : public testing::TestWithParam<std::string> {
 protected:
  // A device without compiled kernels.
  static gpu::Device fresh() {
    gpu::DeviceOptions options = like(test::device(GetParam()));
    options.minimum = test::device(GetParam()).capabilities().minimum;
    options.cache_dir = "off";
    return gpu::Device::open(options);
  }
  gpu::Device device = fresh();
  Rng rng{1};
};

// Tint refuses the text.
TEST_P(CompileError, NamesKernelVariantAndOperands) {
  const View x = to_device(device, random_view(rng, {3, 33}, DType::u8)),
             y = to_device(device, random_view(rng, {3, 5}, DType::u8));
  const auto shrink = [&](const View& to) {
    gpu::Encoder encoder(device);
    kernels::resize(encoder, x, to, {.mode = kernels::ResizeMode::linear, .antialias = true});
    encoder.submit().get();
  };
  {
    const kernels::ReplacedSource broken(
        "resize_sum", "@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }  // wrong on purpose");
    EXPECT_THAT(
        thrown_by([&] { shrink(y); }),
        AllOf(StartsWith("InternalError: resize: a kernel does not compile, which is an error in Weft"),
              HasSubstr("Please report it, with this message and the shader that WEFT_DUMP_WGSL=DIRECTORY"),
              HasSubstr("Kernel resize_sum of x u8 [3, 33], "), HasSubstr("y u8 [3, 5], on "),
              HasSubstr(device.adapter().name), HasSubstr("The compiler says: "), HasSubstr("let x: u32 = 1.5;")));
  }
  // The library works on, and nothing remembers the text.
  shrink(to_device(device, random_view(rng, {3, 7}, DType::u8)));
}

// The text is valid, but no pipeline can be made of it.
TEST_P(CompileError, OfAPipeline) {
  const View x = to_device(device, random_view(rng, {3, 33}, DType::f32)),
             y = to_device(device, random_view(rng, {3, 33}, DType::f32));
  const kernels::ReplacedSource broken("softmax", "@compute @workgroup_size(1) fn other() {}");
  const kernels::ReplacedSource too("softmax_split", "@compute @workgroup_size(1) fn other() {}");
  EXPECT_THAT(thrown_by([&] {
                gpu::Encoder encoder(device);
                kernels::softmax(encoder, x, y, -1);
                encoder.submit().get();
              }),
              AllOf(StartsWith("InternalError: softmax: a kernel does not compile"), HasSubstr(", variant "),
                    HasSubstr(" of x f32 [3, 33]"), HasSubstr("main")));
}

INSTANTIATE_TEST_SUITE_P(Devices, CompileError, testing::ValuesIn(device_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::test
