// Tensors, evaluations, compiled graphs and functions on a device on which nothing was done before: what does not say
// that it waits does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/device_impl.h"
#include "gpu/wait.h"
#include "support/devices.h"
#include "support/temp_dir.h"
#include "weft/weft.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

class TensorsWithoutWaitingTest : public testing::TestWithParam<std::string> {
 protected:
  TensorsWithoutWaitingTest() { set_default_device(device); }
  ~TensorsWithoutWaitingTest() override { set_default_device(before_); }
  Device before_ = default_device();
  Device device = gpu::Device::open(like(test::device(GetParam())));
};

#define WEFT_EXPECT_NO_WAIT(guard) EXPECT_THAT((guard).places(), testing::IsEmpty())

TEST_P(TensorsWithoutWaitingTest, ValuesOfEveryKindOfWork) {
  std::vector<Future<std::vector<float>>> values;
  Future<float> item;
  Future<std::string> text;
  Future<void> saved, evaluated;
  Future<Tensor> moved;
  TempDir directory;
  {
    const gpu::NoWaiting guard;
    const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), ones_ = ones({64, 64}), eye_ = eye(64);
    Tensor written(device, DType::f32, {4});
    const std::vector<float> four{1, 2, 3, 4};
    written.write(std::as_bytes(std::span(four)));
    const Tensor y = exp(log(x)) * 2 + 1;
    eval(y);
    eval({matmul(ones_, eye_), softmax(ones_), sort(x, 1), cumulative_sum(x, 1)});
    values.push_back(y.async_read<float>());
    values.push_back(matmul(ones_, ones_).async_read<float>());
    values.push_back((written + written).async_read<float>());
    values.push_back(inv(eye_ * 2).async_read<float>());
    values.push_back(x.async_to_vector<float>());
    item = x.sum().async_item<float>();
    text = async_to_string(x * 2);
    saved = async_save(directory.path() / "x.safetensors", {{"x", x * 3}});
    const Tensor z = tanh(x);
    evaluated = async_eval(z);
    moved = async_to(x + 1, Device::cpu());
    WEFT_EXPECT_NO_WAIT(guard);
  }
  EXPECT_THAT(values[0].get(), testing::Pointwise(FloatNear(1e-5f), std::vector<float>{3, 5, 7, 9, 11, 13}));
  EXPECT_THAT(values[1].get(), Each(64));
  EXPECT_THAT(values[2].get(), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(values[3].get()[65], 0.5f);
  EXPECT_THAT(values[4].get(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(item.get(), 21);
  EXPECT_THAT(text.get(), testing::HasSubstr("12"));
  saved.get();
  evaluated.get();
  EXPECT_THAT(moved.get().read<float>(), ElementsAre(2, 3, 4, 5, 6, 7));
}

// Loops that never read. (Where nothing may wait they may run far ahead of the device.)
TEST_P(TensorsWithoutWaitingTest, Loops) {
  Tensor x = ones({8, 8}), inverse = eye(8);
  {
    const gpu::NoWaiting guard;
    for (int i = 0; i < 300; ++i) {
      x = x + 1;
      eval(x);
    }
    // Each may find a matrix that has no inverse.
    for (int i = 0; i < 100; ++i) {
      inverse = inv(inverse);
      eval(inverse);
    }
    WEFT_EXPECT_NO_WAIT(guard);
  }
  EXPECT_THAT(x.read<float>(), Each(301));
  EXPECT_EQ(inverse.sum().item<float>(), 8);
  {
    const gpu::NoWaiting guard;
    Tensor singular = zeros({8, 8});
    for (int i = 0; i < 100; ++i) {
      singular = inv(singular) * 0;
      eval(singular);
    }
    WEFT_EXPECT_NO_WAIT(guard);
    inverse = singular;
  }
  EXPECT_THROW(inverse.read<float>(), LinAlgError);
}

TEST_P(TensorsWithoutWaitingTest, GraphsAndFunctions) {
  Graph graph("test");
  const Tensor a = graph.input("a", DType::f32, {4, 4});
  graph.output("y", matmul(a, a) + softmax(a));
  Graph looping("turns");
  {
    const Tensor b = looping.input("b", DType::f32, {4});
    looping.output("y", fori_loop(0, 100, [](const Tensor&, const Tensor& s) { return s + 1; }, b));
  }
  const Tensor x = contiguous(ones({4, 4})), v = contiguous(ones({4}));
  Future<Executable> compiled, compiled_loop;
  Future<void> done;
  Future<std::vector<float>> of_function, of_gradient;
  const Tensor y(device, DType::f32, {4, 4}), later(device, DType::f32, {4, 4}), z(device, DType::f32, {4});
  const auto f = compile([](const Tensor& t) { return sum(t * t); });
  const auto slope = grad([](const Tensor& t) { return sum(t * t * t); });
  {
    const gpu::NoWaiting guard;
    eval({x, v});
    Executable now = compile(graph, device);
    done = now.run(std::vector{x}, std::vector{y});
    compiled = compile_async(graph, device);
    compiled_loop = compile_async(looping, device);
    of_function = f(x).async_read<float>();
    of_gradient = slope(x).async_read<float>();
    WEFT_EXPECT_NO_WAIT(guard);
  }
  done.get();
  EXPECT_THAT(y.read<float>(), Each(4.25f));
  EXPECT_THAT(of_function.get(), ElementsAre(16));
  EXPECT_THAT(of_gradient.get(), Each(3));
  // A chain, of which only the end is waited for.
  Future<std::vector<float>> chain = std::move(compiled).and_then([&](Executable e) {
    const gpu::NoWaiting guard;
    e.run(std::vector{x}, std::vector{later});
    Future<std::vector<float>> read = later.async_read<float>();
    WEFT_EXPECT_NO_WAIT(guard);
    return read;
  });
  EXPECT_THAT(chain.get(), Each(4.25f));
  bool called = false;
  std::move(compiled_loop).then([&](Future<Executable> e) {
    const gpu::NoWaiting guard;
    e.get().run(std::vector{v}, std::vector{z});
    WEFT_EXPECT_NO_WAIT(guard);
    called = true;
  });
  for (int i = 0; i < 20'000 && !called; ++i) device.gpu().poll();
  if (!called) device.wait();
  ASSERT_TRUE(called);
  EXPECT_THAT(z.read<float>(), Each(101));
}

// What waits for a condition says so, and works where it may.
TEST_P(TensorsWithoutWaitingTest, ConditionsOfTheDeviceAreRefused) {
  const Tensor x = ones({4});
  const auto doubled = [&] {
    return while_loop([](const Tensor& s) { return sum(s) < 100.0f; }, [](const Tensor& s) { return s * 2; }, x);
  };
  {
    const gpu::NoWaiting guard;
    EXPECT_THROW(eval(doubled()), Unsupported);
    EXPECT_THAT(guard.places(), ElementsAre("a condition of the graph"));
  }
  EXPECT_THAT(doubled().read<float>(), Each(32));
}

TEST_P(TensorsWithoutWaitingTest, OpensADevice) {
  Future<gpu::Device> opened;
  {
    const gpu::NoWaiting guard;
    opened = gpu::Device::open_async(like(device.gpu()));
    WEFT_EXPECT_NO_WAIT(guard);
  }
  const Device other = opened.get();
  EXPECT_EQ(other.name(), device.name());
  EXPECT_THROW(gpu::Device::open_async({.adapter = "no such adapter"}).get(), Error);
  EXPECT_EQ(Device::open_async("cpu").get().name(), "cpu");
  Future<void> idle = other.async_wait();
  idle.get();
}

INSTANTIATE_TEST_SUITE_P(Devices, TensorsWithoutWaitingTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
