// A GPU that is lost in the middle of work: whoever evaluates or reads is told so, in every thread, nobody waits for
// ever, and the CPU goes on. A program of its own, since the GPU does not come back.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../device.h"
#include "mlx/mlx.h"

namespace mx = mlx::core;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "lost_device: %s\n", what);
  ++failures;
}

// Whether f throws an error that says that the GPU was lost.
template <class F>
bool tells_loss(F f) {
  try {
    f();
    return false;
  } catch (const std::exception& e) {
    if (std::string(e.what()).find("lost") != std::string::npos) return true;
    std::fprintf(stderr, "lost_device: the error is: %s\n", e.what());
    return false;
  }
}

}  // namespace

int main() {
  if (!mx::webgpu::available()) {
    std::puts("lost_device: skipped, there is no GPU");
    return 0;
  }
  alarm(120);  // what waits for ever is ended
  mx::set_default_device(mx::Device::gpu);
  mx::array known = mx::add(mx::ones({1000}), mx::array(1.0f));
  mx::eval(known);
  expect(known.data<float>()[999] == 2, "the GPU does not compute");
  mx::array unread = mx::multiply(known, mx::array(3.0f));
  mx::eval(unread);
  // Recorded when it is lost, and submitted by the thread of nobody.
  mx::array started = mx::multiply(known, mx::array(2.0f));
  mx::async_eval(started);
  mx::webgpu::device().webgpu().ForceLoss(wgpu::DeviceLostReason::Unknown, "by this test");

  std::vector<char> told(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < told.size(); ++i) {
    threads.emplace_back([&, i] {
      told[i] = tells_loss([&] {
        mx::array y = mx::add(known, mx::array(float(i)), mx::Device::gpu);
        mx::eval(y);
        static_cast<void>(y.data<float>());
      });
    });
  }
  for (std::thread& t : threads) t.join();
  for (const char each : told) expect(each, "a thread that computed was not told");
  expect(tells_loss([&] { static_cast<void>(started.data<float>()[0]); }), "who reads what was started was not told");
  expect(tells_loss([&] { static_cast<void>(unread.data<float>()[0]); }), "who reads what was computed was not told");
  mx::array on_cpu = mx::add(known, mx::array(1.0f), mx::Device::cpu);
  mx::eval(on_cpu);
  expect(on_cpu.data<float>()[0] == 3, "the CPU does not compute what the host has");
  if (failures == 0) std::puts("lost_device: passed");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
