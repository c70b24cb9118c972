// Several threads at once. One device belongs to one thread at a time; devices, graphs and executables of different
// threads are independent.
#include <thread>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "support/kernel_test.h"
#include "support/random_graph.h"
#include "weft/compile.h"
#include "weft/cpu.h"
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

}  // namespace
}  // namespace weft
