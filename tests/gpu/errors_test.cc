#include "gpu/kernel.h"
#include "weft/error.h"

namespace weft::test {
namespace {

class ErrorsTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4}), b = device.allocate(16);

  void TearDown() override {
    // After any error the device still works.
    gpu::Encoder encoder(device);
    affine(encoder, a, b, {4, 2, 0});
    gpu::Readback read = encoder.read(b, 0, 16);
    encoder.submit();
    EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{2, 4, 6, 8}));
  }

  gpu::Dispatch dispatch(
      std::span<const gpu::Binding> bindings, std::string_view key = "test.errors",
      std::function<std::string()> wgsl = [] {
        return std::string(
            "@group(0) @binding(1) var<storage, read_write> x: array<u32>;\n"
            "@compute @workgroup_size(1) fn main() { x[0] = 1; }");
      }) {
    return {.key = key, .make_wgsl = std::move(wgsl), .bindings = bindings, .label = "errors"};
  }

  template <class E>
  void refuses(const gpu::Dispatch& d, std::string_view words) {
    gpu::Encoder encoder(device);
    try {
      encoder.dispatch(d);
      encoder.submit();
      device.wait();  // a browser tells of errors later
      FAIL() << "expected: " << words;
    } catch (const E& e) {
      EXPECT_THAT(std::string(e.what()), testing::HasSubstr(std::string(words)));
    }
  }
};

constexpr auto kWrite = gpu::Access::read_write;

TEST_P(ErrorsTest, ABadShaderNamesKernelAndLine) {
  const gpu::Binding bindings[] = {{b, 0, 16, kWrite}};
  const auto bad = [] { return std::string("\n\n@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }"); };
  refuses<ValidationError>(dispatch(bindings, "test.bad", bad), "compiling errors, kernel 'test.bad'");
  refuses<ValidationError>(dispatch(bindings, "test.bad", bad), ":3:");
  // Dawn tells it at once, a browser when the recording needs the pipeline.
  gpu::Recording recording(device);
  const auto record = [&] {
    recording.dispatch(dispatch(bindings, "test.bad", bad));
    recording.finish();
  };
  EXPECT_THROW(record(), ValidationError);
}

TEST_P(ErrorsTest, AShaderThatDoesNotFitItsBindings) {
  // Valid WGSL; the pipeline is rejected, in a recording asynchronously.
  const gpu::Binding bindings[] = {{b, 0, 16, gpu::Access::read}};
  refuses<ValidationError>(dispatch(bindings, "test.access"), "'test.access'");
  gpu::Recording recording(device);
  recording.dispatch(dispatch(bindings, "test.access2"));
  EXPECT_THROW(recording.finish(), ValidationError);
  EXPECT_THROW(recording.finish(), ValidationError) << "again";
  gpu::Encoder encoder(device);
  EXPECT_THROW(encoder.replay(recording), ValidationError);
}

TEST_P(ErrorsTest, NoEntryPoint) {
  const gpu::Binding bindings[] = {{b, 0, 16, kWrite}};
  refuses<ValidationError>(dispatch(bindings, "test.noentry", [] { return std::string("fn other() {}"); }), "main");
}

TEST_P(ErrorsTest, OneKeyForTwoLayouts) {
  const gpu::Binding one[] = {{b, 0, 16, kWrite}}, two[] = {{b, 0, 16, kWrite}, {a, 0, 16}};
  gpu::Encoder encoder(device);
  encoder.dispatch(dispatch(one));
  EXPECT_THROW(encoder.dispatch(dispatch(two)), InvalidArgument);
}

TEST_P(ErrorsTest, GridBeyondTheLimit) {
  const gpu::Binding bindings[] = {{b, 0, 16, kWrite}};
  gpu::Dispatch d = dispatch(bindings);
  d.workgroups = {1, device.capabilities().max_workgroups + 1, 1};
  refuses<InvalidArgument>(d, std::to_string(device.capabilities().max_workgroups));
  d.workgroups = {0, 1, 1};  // nothing to do is fine
  gpu::Encoder encoder(device);
  encoder.dispatch(d);
}

TEST_P(ErrorsTest, BadBindings) {
  const std::uint64_t step = device.capabilities().storage_alignment;
  const gpu::Binding host[] = {{Buffer::host(16), 0, 16, kWrite}}, none[] = {{Buffer(), 0, 16, kWrite}},
                     waiting[] = {{Buffer::placeholder(16), 0, 16, kWrite}}, odd[] = {{b, 0, 15, kWrite}},
                     empty[] = {{b, 0, 0, kWrite}}, shifted[] = {{b, step / 2, 16, kWrite}},
                     beyond[] = {{b, 0, 1 << 20, kWrite}}, far[] = {{b, std::uint64_t{1} << 62, 16, kWrite}},
                     twice[] = {{b, 0, 16, kWrite}, {b, 0, 16, gpu::Access::read}},
                     over[] = {{b, 0, 16, kWrite}, {b, 0, 8, kWrite}};
  refuses<InvalidArgument>(dispatch(host), "GPU memory");
  refuses<InvalidArgument>(dispatch(none), "GPU memory");
  refuses<InvalidArgument>(dispatch(waiting), "placeholder");
  refuses<InvalidArgument>(dispatch(odd), "multiples of 4");
  refuses<InvalidArgument>(dispatch(empty), "multiples of 4");
  refuses<InvalidArgument>(dispatch(shifted), "offset");
  refuses<InvalidArgument>(dispatch(beyond), "of a buffer of");
  refuses<InvalidArgument>(dispatch(far), "of a buffer of");
  refuses<InvalidArgument>(dispatch(twice, "test.twice"), "one buffer, and one of them writes");
  refuses<InvalidArgument>(dispatch(over, "test.over"), "one buffer, and overlap");
  std::vector<gpu::Binding> many(device.capabilities().max_storage_buffers + 1, gpu::Binding{a, 0, 16});
  refuses<InvalidArgument>(dispatch(many), "storage buffers");
}

TEST_P(ErrorsTest, ParametersTooLarge) {
  const std::vector<std::byte> params(1 << 20);
  const gpu::Binding bindings[] = {{b, 0, 16, kWrite}};
  gpu::Dispatch d = dispatch(bindings, "test.params");
  d.params = params;
  refuses<InvalidArgument>(d, "parameters");
}

TEST_P(ErrorsTest, ACallersBufferOfTheWrongUsage) {
  wgpu::BufferDescriptor descriptor;
  descriptor.size = 16;
  descriptor.usage = wgpu::BufferUsage::CopyDst;
  const gpu::Binding bindings[] = {{Buffer(device.webgpu().CreateBuffer(&descriptor)), 0, 16, kWrite}};
  refuses<ValidationError>(dispatch(bindings), "usage");
}

TEST_P(ErrorsTest, CopiesOutOfRange) {
  gpu::Encoder encoder(device);
  EXPECT_THROW(encoder.copy(a, 0, b, 2, 4), InvalidArgument);
  EXPECT_THROW(encoder.copy(a, 0, b, 0, 1 << 20), InvalidArgument);
  EXPECT_THROW(encoder.copy(a, 0, a, 8, 4), InvalidArgument) << "one buffer";
  EXPECT_THROW(encoder.copy(Buffer::host(16), 0, b, 0, 4), InvalidArgument);
}

TEST_P(ErrorsTest, AFailedSubmitFailsItsReads) {
  // A command that only Dawn rejects: the caller's buffer is destroyed before the submit.
  wgpu::BufferDescriptor descriptor;
  descriptor.size = 16;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc;
  wgpu::Buffer raw = device.webgpu().CreateBuffer(&descriptor);
  gpu::Encoder encoder(device);
  const gpu::Binding bindings[] = {{Buffer(raw), 0, 16, kWrite}};
  encoder.dispatch(dispatch(bindings));
  gpu::Readback read = encoder.read(a, 0, 4);
  raw.Destroy();
  const auto submit = [&] {
    encoder.submit();
    device.wait();
  };
  EXPECT_THROW(submit(), ValidationError);
  EXPECT_TRUE(read.ready());
  EXPECT_THROW(read.get(), ValidationError);
  // The encoder can still be used.
  affine(encoder, a, b, {4, 3, 0});
  gpu::Readback again = encoder.read(b, 0, 4);
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(again.get()), std::vector<std::uint32_t>{3});
}

TEST_P(ErrorsTest, ReplayNeedsItsSubstitutes) {
  Buffer in = Buffer::placeholder(16), unused = Buffer::placeholder(4);
  gpu::Recording recording(device);
  affine(recording, in, b, {4, 1, 0});
  gpu::Encoder encoder(device);
  EXPECT_THROW(encoder.replay(recording), InvalidArgument);
  const Buffer wide = Buffer::placeholder(16, 1 << 20);
  gpu::Recording reads_on(device);
  affine(reads_on, wide, b, {4, 1, 0});
  const gpu::Substitution short_of_that[] = {{wide, a}};
  EXPECT_THROW(encoder.replay(reads_on, short_of_that), InvalidArgument);
  const gpu::Substitution small[] = {{in, device.allocate(12)}}, host[] = {{in, Buffer::host(16)}}, alias[] = {{in, b}},
                          good[] = {{in, a}, {unused, a}};
  EXPECT_THROW(encoder.replay(recording, small), InvalidArgument);
  EXPECT_THROW(encoder.replay(recording, host), InvalidArgument);
  EXPECT_THROW(encoder.replay(recording, alias), InvalidArgument) << "reads and writes one buffer";
  encoder.replay(recording, good);
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(device.read(b, 0, 16).get()), (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

INSTANTIATE_TEST_SUITE_P(Devices, ErrorsTest, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
