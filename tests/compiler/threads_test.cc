// Several threads at once, on devices of their own and on one device.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "cpu/executor.h"
#include "support/kernel_test.h"
#include "support/random_graph.h"
#include "weft/compile.h"
#include "weft/kernels.h"

namespace weft {
namespace {

using test::Bound;

// Runs f(i) on threads; an exception in one fails the test.
template <class F>
void on_threads(int count, F&& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&f, i] {
      try {
        f(i);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "thread " << i << ": " << e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// Compiles a graph of its own, and one that all threads compile.
void compile_and_run(const Device& device, int thread) {
  for (const unsigned seed : {900u + static_cast<unsigned>(thread), 7u}) {
    const test::RandomGraph g = test::random_graph(seed);
    const auto expected = compiler::evaluate(g.graph, g.inputs);
    Executable exe = compile(g.graph, device);
    const Bound bound(device, g.graph, g.inputs);
    for (int run = 0; run < 3; ++run) bound.run(exe);
    bound.compare(expected, std::format("seed {} on {}", seed, device.name()));
  }
}

TEST(Threads, GraphsOnTheCpu) {
  on_threads(4, [](int thread) {
    for (int i = 0; i < 5; ++i) compile_and_run(Device::cpu(), thread);
  });
}

TEST(Threads, KernelsOnTheCpu) {
  const auto run = [](int first) {
    cpu::Executor executor;
    std::vector<double> values(64 * 1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i % 17) / 8;
    const auto zeros = [](const Shape& shape) {
      return test::host_view(DType::f32, shape, std::vector<double>(static_cast<std::size_t>(element_count(shape))));
    };
    const View x = test::host_view(DType::f32, {64, 1000}, values), y = zeros({64, 1000}), z = zeros({64, 64}),
               sorted = zeros({64, 64});
    kernels::softmax(executor, x, y, 1);
    kernels::matmul(executor, y, x.permuted(std::array{1, 0}), z);
    kernels::sort(executor, z, sorted, {}, {});
    return test::values(sorted);
  };
  const std::vector<double> alone[] = {run(0), run(1), run(2), run(3)};
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(run(thread), alone[thread]);
  });
}

// Devices opened in parallel, each used by the thread that opened it.
TEST(Threads, EachItsOwnGpu) {
  if (test::devices().empty()) GTEST_SKIP() << "no adapter here";
  const int adapter = test::devices()[0].device.adapter().index;
  on_threads(3, [&](int thread) {
    gpu::DeviceOptions options;
    options.adapter = std::to_string(adapter);
    options.minimum = thread == 1;
    compile_and_run(Device(gpu::Device::open(options)), thread);
  });
}

class ThreadsOnOneDevice : public testing::TestWithParam<std::string> {
 protected:
  Device device = test::device_named(GetParam());
  Tensor vector(const std::vector<float>& values) const {
    Tensor t(device, DType::f32, {static_cast<std::int64_t>(values.size())});
    t.write(std::as_bytes(std::span(values)));
    return t;
  }
  static std::vector<float> filled(std::size_t n, float v) { return std::vector<float>(n, v); }
};

INSTANTIATE_TEST_SUITE_P(Devices, ThreadsOnOneDevice, testing::ValuesIn(test::all_devices()),
                         [](const auto& i) { return i.param; });

// How often threads run: fewer under a sanitizer.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kFewer = 10;
#else
constexpr int kFewer = 1;
#endif

TEST_P(ThreadsOnOneDevice, GraphsOfTheirOwn) {
  constexpr int kThreads = 8;
  const int runs = 10'000 / kThreads / kFewer;
  on_threads(kThreads, [&](int thread) {
    Graph graph;
    const std::int64_t n = 100 + 7 * thread;
    const Tensor x = graph.input("x", DType::f32, {n}), rate = graph.number("rate");
    graph.output("y", softmax(x * rate, 0) + reduce(ReduceKind::sum, x, {0}, true));
    Executable exe = compile(graph, device);
    const Tensor in = vector(filled(static_cast<std::size_t>(n), 0.5f)), out = vector(filled(in.shape()[0], 0));
    for (int i = 0; i < runs; ++i) {
      exe.run({{"x", in}}, {{"y", out}}, {{"rate", static_cast<float>(i)}});
      if (i % 100 != thread) continue;
      const std::vector<float> got = out.async_read<float>().get();
      const float expected = 1.0f / static_cast<float>(n) + 0.5f * static_cast<float>(n);
      for (const float v : got) ASSERT_NEAR(v, expected, 1e-3) << "thread " << thread << ", run " << i;
    }
  });
}

// One executable with 200 steps that share intermediates: an encoder submits them in parts, and each run must have them
// for itself.
TEST_P(ThreadsOnOneDevice, OneExecutable) {
  Graph graph;
  constexpr std::int64_t n = 48;
  const Tensor x = graph.input("x", DType::f32, {n, n}), w = graph.input("w", DType::f32, {n, n});
  Tensor y = x;
  for (int i = 0; i < 200; ++i) y = matmul(y, w);
  graph.output("y", y + graph.number("more"));
  Executable exe = compile(graph, device);
  ASSERT_GE(exe.report().dispatches.size(), 200u);
  std::vector<float> turn(n * n, 0);  // moves each row by one place
  for (std::int64_t i = 0; i < n; ++i) turn[static_cast<std::size_t>(i * n + (i + 1) % n)] = 1;
  Tensor weights(device, DType::f32, {n, n});
  weights.write(std::as_bytes(std::span(turn)));
  on_threads(2, [&](int thread) {
    std::vector<float> values(n * n);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(thread * 10'000 + static_cast<int>(i));
    Tensor in(device, DType::f32, {n, n}), out(device, DType::f32, {n, n});
    in.write(std::as_bytes(std::span(values)));
    for (int run = 0; run < 40 / kFewer + 2; ++run) {
      exe.run({{"x", in}, {"w", weights}}, {{"y", out}}, {{"more", run}});
      const std::vector<float> got = out.read<float>();
      for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t c = 0; c < n; ++c) {
          ASSERT_EQ(got[r * n + (c + 200) % n], values[r * n + c] + static_cast<float>(run)) << "thread " << thread;
        }
      }
    }
  });
}

// Executables of one store, recorded into encoders that threads submit when they like.
TEST_P(ThreadsOnOneDevice, OneStoreManyEncoders) {
  const auto store = make_constant_store(device);
  on_threads(4, [&](int thread) {
    const std::int64_t n = 64 << thread;  // each needs larger scratch than the one before
    Graph graph;
    const Tensor x = graph.input("x", DType::f32, {n, 4});
    const TensorData rows = test::numbers({4, 16});
    graph.output("y", matmul(exp(matmul(x, Graph::constant(rows)) * 0.0), Graph::constant(test::numbers({16, 3}))));
    CompileOptions options{.constants = store};
    Executable exe = compile(graph, device, options);
    Tensor in(device, DType::f32, {n, 4}), first(device, DType::f32, {n, 3}), second(device, DType::f32, {n, 3});
    const std::vector<float> ones = filled(static_cast<std::size_t>(n * 4), 1);
    in.write(std::as_bytes(std::span(ones)));
    for (int run = 0; run < 50 / kFewer + 2; ++run) {
      if (device.is_gpu()) {
        gpu::Encoder encoder(device.gpu());
        exe.record(encoder, {{"x", in}}, {{"y", first}});
        exe.record(encoder, {{"x", in}}, {{"y", second}});
        encoder.submit().get();
      } else {
        exe.run({{"x", in}}, {{"y", first}});
        exe.run({{"x", in}}, {{"y", second}}).get();
      }
      for (const Tensor& y : {first, second}) {
        const std::vector<float> got = y.read<float>();
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(got[i], 16.0f * 22.5f + 16.0f * static_cast<float>(i % 3));
      }
    }
  });
}

// Kernels that nobody called before, called by all at once.
TEST_P(ThreadsOnOneDevice, Kernels) {
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 12; ++i) {
      const std::int64_t n = 5 + i % 6 * 17;
      std::vector<float> values(static_cast<std::size_t>(n));
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>((k * 7 + 3) % values.size());
      const Tensor x = vector(values), y = vector(filled(values.size(), 0)), z = vector({0});
      if (device.is_gpu()) {
        gpu::Encoder encoder(device.gpu());
        kernels::sort(encoder, x.view(), y.view(), {}, {});
        kernels::reduce(encoder, ReduceKind::sum, y.view(), z.view(), std::array{0});
        encoder.submit();
      } else {
        cpu::Executor executor;
        kernels::sort(executor, x.view(), y.view(), {}, {});
        kernels::reduce(executor, ReduceKind::sum, y.view(), z.view(), std::array{0});
      }
      std::ranges::sort(values);
      ASSERT_EQ(y.read<float>(), values) << thread;
      ASSERT_EQ(z.read<float>()[0], static_cast<float>(n * (n - 1) / 2));
    }
  });
}

// Threads that ask for one executable wait for one compilation; equal graphs are one.
TEST_P(ThreadsOnOneDevice, OneCache) {
  ExecutableCache cache(device);
  std::atomic<int> built = 0;
  on_threads(6, [&](int thread) {
    for (int i = 0; i < 4; ++i) {
      const std::int64_t n = 10 + i;
      const auto build = [&] {
        Graph graph;
        graph.output("y", graph.input("x", DType::f32, {n}) * 3.0);
        return graph;
      };
      Executable by_key = cache.get(std::to_string(n), [&] {
        ++built;
        return build();
      });
      Executable by_structure = cache.get(build());
      const Tensor x = vector(filled(static_cast<std::size_t>(n), static_cast<float>(thread)));
      for (Executable* exe : {&by_key, &by_structure}) {
        const Tensor y = vector(filled(static_cast<std::size_t>(n), 0));
        exe->run({{"x", x}}, {{"y", y}});
        ASSERT_EQ(y.read<float>(), filled(static_cast<std::size_t>(n), 3.0f * static_cast<float>(thread)));
      }
    }
  });
  EXPECT_EQ(built, 4);
  EXPECT_EQ(cache.size(), 8u);
}

// Structure finds what names and data leave open: other tensors with data are the same executable.
TEST_P(ThreadsOnOneDevice, StructureFindsOtherData) {
  ExecutableCache cache(device);
  const auto run = [&](const Tensor& a, const Tensor& b, const Tensor& y) {
    Graph graph;
    graph.output("y", a * 2.0 + b);
    cache.get(graph).run({}, {{"y", y}});
    return y.read<float>();
  };
  const Tensor a = vector({1, 2}), b = vector({3, 4}), y = vector({0, 0});
  using testing::ElementsAre;
  EXPECT_THAT(run(a, b, y), ElementsAre(5, 8));
  EXPECT_THAT(run(b, a, y), ElementsAre(7, 10));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_THAT(run(a, a, y), ElementsAre(3, 6)) << "one tensor twice is another graph";
  EXPECT_EQ(cache.size(), 2u);
}

// One executable twice in one submit: each has its own numbers.
TEST_P(ThreadsOnOneDevice, TwoNumbersInOneSubmit) {
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {3}) * graph.number("rate"));
  Executable exe = compile(graph, device);
  const Tensor x = vector({1, 2, 3}), first = vector({0, 0, 0}), second = vector({0, 0, 0});
  std::optional<gpu::Encoder> encoder;
  cpu::Executor executor;
  if (device.is_gpu()) encoder.emplace(device.gpu());
  Stream& stream = device.is_gpu() ? static_cast<Stream&>(*encoder) : executor;
  exe.record(stream, {{"x", x}}, {{"y", first}}, {{"rate", 2}});
  exe.record(stream, {{"x", x}}, {{"y", second}}, {{"rate", 5}});
  if (encoder) {
    Future<void> done = encoder->submit();
    done.get();
    EXPECT_FALSE(done.valid());
  }
  using testing::ElementsAre;
  EXPECT_THAT(first.read<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(second.read<float>(), ElementsAre(5, 10, 15));
}

// A future of a submit can be polled, waited for from another thread, and calls back.
TEST_P(ThreadsOnOneDevice, Futures) {
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {1000}) + 1.0);
  Executable exe = compile(graph, device);
  const Tensor x = vector(filled(1000, 1)), y = vector(filled(1000, 0));
  Future<void> done = exe.run({{"x", x}}, {{"y", y}});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done.ready() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ASSERT_TRUE(done.ready());
  done.get();
  std::atomic<bool> called = false;
  exe.run({{"x", x}}, {{"y", y}}).then([&](Future<void> f) {
    f.get();
    called = true;
  });
  device.wait();
  EXPECT_TRUE(called);
  Future<std::vector<float>> values = y.async_read<float>();
  std::thread other([&] { EXPECT_EQ(values.get(), filled(1000, 2)); });
  other.join();
  EXPECT_EQ(y.async_read_bytes().get().size(), 4000u);
}

// A callback may use what its caller holds a lock of: it comes when that is free. One that comes too late is called,
// too.
TEST_P(ThreadsOnOneDevice, CallbacksComeWithoutLocks) {
  if (!device.is_gpu()) GTEST_SKIP() << "nothing is lost there";
  gpu::DeviceOptions options;
  options.adapter = std::to_string(device.gpu().adapter().index);
  Device lost(gpu::Device::open(options));
  Graph graph;
  graph.output("y", exp(graph.input("x", DType::f32, {4})));
  Executable exe = compile(graph, lost);
  const Tensor x(lost, DType::f32, {4}), y(lost, DType::f32, {4});
  int restored = 0;
  const auto handle = lost.gpu().on_lost([&](const std::string&) {
    exe.restore(device);
    ++restored;
  });
  lost.gpu().webgpu().ForceLoss(wgpu::DeviceLostReason::Unknown, "pulled out for the test");
  EXPECT_THROW(exe.run({{"x", x}}, {{"y", y}}), DeviceLost);
  EXPECT_EQ(restored, 1);
  EXPECT_THROW(exe.run({{"x", x}}, {{"y", y}}), InvalidArgument) << "tensors of the lost device";
  const Tensor in = vector({0, 0, 0, 0}), out = vector({0, 0, 0, 0});
  exe.run({{"x", in}}, {{"y", out}}).get();
  EXPECT_EQ(out.read<float>(), filled(4, 1));

  std::optional<gpu::Device> closing = gpu::Device::open(options);
  const Buffer b = closing->allocate(16);
  closing->upload(b, 0, std::vector<std::byte>(16));
  gpu::ReadBytes bytes = closing->read(b, 0, 16).get();
  gpu::Readback late = closing->read(b, 0, 16);
  closing.reset();
  EXPECT_EQ(bytes, std::vector<std::byte>(16)) << "what was read is there while somebody has it";
  bytes = {};
  bool called = false;
  late.then([&](gpu::Readback read) {
    called = true;
    try {
      read.get();
    } catch (const DeviceLost&) {
    }
  });
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace weft
