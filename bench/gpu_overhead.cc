// The overhead of the GPU layer itself: opening, compiling, recording, submitting, uploading, reading back.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <format>
#include <random>

#include "gpu/device_impl.h"
#include "weft/gpu.h"

using namespace weft;
using namespace weft::gpu;

namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Median of `n` runs, in microseconds.
template <class F>
double median(int n, F&& run) {
  std::vector<double> times;
  for (int i = 0; i < n; ++i) {
    const double start = now_us();
    run();
    times.push_back(now_us() - start);
  }
  std::ranges::nth_element(times, times.begin() + n / 2);
  return times[static_cast<std::size_t>(n) / 2];
}

struct Params {
  std::uint32_t count, scale, bias, padding = 0;
};

std::string affine_wgsl(int variant) {
  return std::format(R"(
struct Params {{ count: u32, scale: u32, bias: u32, padding: u32 }}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> result: array<u32>;
var<workgroup> tile: array<u32, 64>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32) {{
  tile[l] = source[min(id.x, params.count - 1)] + {}u;
  workgroupBarrier();
  var sum = 0u;
  for (var i = 0u; i < 64u; i++) {{ sum += tile[(l + i) % 64u] * params.scale; }}
  if (id.x < params.count) {{ result[id.x] = sum + params.bias; }}
}}
)",
                     variant);
}

void affine(Commands& commands, const Buffer& source, const Buffer& target, std::uint32_t bias, int variant = 0) {
  const Params params{64, 1, bias};
  const Binding bindings[] = {{source, 0, 256, Access::read}, {target, 0, 256, Access::read_write}};
  commands.dispatch({.key = variant ? std::format("bench.affine{}", variant) : "bench.affine",
                     .make_wgsl = [variant] { return affine_wgsl(variant); },
                     .bindings = bindings,
                     .params = std::as_bytes(std::span(&params, 1)),
                     .label = "affine"});
}

void pipelines(const DeviceOptions& options) {
  const auto directory = std::filesystem::temp_directory_path() / std::format("weft-bench-{}", std::random_device{}());
  constexpr int kMany = 40;
  for (const char* run : {"cold", "warm"}) {
    for (const bool parallel : {false, true}) {
      DeviceOptions o = options;
      o.cache_dir = (directory / (parallel ? "parallel" : "serial")).string();
      const Device device = Device::open(o);
      Buffer a = device.allocate(256), b = device.allocate(256);
      const double start = now_us();
      Encoder encoder(device);
      Recording recording(device);
      for (int i = 1; i <= kMany; ++i) affine(parallel ? static_cast<Commands&>(recording) : encoder, a, b, 0, i);
      recording.finish();
      std::printf("%d pipelines, %s, %s: %.1f ms\n", kMany, run, parallel ? "side by side" : "one by one",
                  (now_us() - start) / 1e3);
    }
  }
  std::filesystem::remove_all(directory);
}

void dispatches(const char* what, const DeviceOptions& options) {
  Device device = Device::open(options);
  Buffer a = device.allocate(256), b = device.allocate(256);
  const int kMany = 100;
  Encoder encoder(device);
  Recording recording(device);
  for (int i = 0; i < kMany; ++i) affine(recording, i % 2 ? a : b, i % 2 ? b : a, i);
  encoder.replay(recording);
  encoder.submit();
  double record = 0, submit = 0, replay = 0, submit2 = 0;
  const int kRuns = 100;
  for (int r = -10; r < kRuns; ++r) {
    if (r == 0) record = submit = replay = submit2 = 0;
    double t = now_us();
    for (int i = 0; i < kMany; ++i) affine(encoder, i % 2 ? a : b, i % 2 ? b : a, i);
    record += now_us() - t;
    t = now_us();
    encoder.submit();
    submit += now_us() - t;
    device.wait();
    t = now_us();
    encoder.replay(recording);
    replay += now_us() - t;
    t = now_us();
    encoder.submit();
    submit2 += now_us() - t;
    device.wait();
  }
  const double n = double(kRuns) * kMany;
  std::printf("%s: a dispatch costs %.2f us to record, %.2f to submit; replayed %.2f and %.2f\n", what, record / n,
              submit / n, replay / n, submit2 / n);
}

void flushes(const Device& device) {
  Buffer a = device.allocate(256), b = device.allocate(256);
  const FlushPolicy before = device.impl().flush;
  for (const int many : {80, 1000}) {
    Recording recording(device);
    for (int i = 0; i < many; ++i) affine(recording, i % 2 ? a : b, i % 2 ? b : a, i);
    Encoder encoder(device);
    for (const auto& [first, later] : {std::pair(16u, 16u),
                                       {32u, 32u},
                                       {64u, 64u},
                                       {8u, 64u},
                                       {16u, 64u},
                                       {32u, 64u},
                                       {16u, 128u},
                                       {128u, 128u},
                                       {256u, 256u},
                                       {1000u, 1000u}}) {
      device.impl().flush = {first, later};
      const double t = median(50, [&] {
        encoder.replay(recording);
        encoder.submit();
        device.wait();
      });
      std::printf("%d dependent dispatches replayed, a submit after %u, then every %u: %.0f us\n", many, first, later,
                  t);
    }
  }
  device.impl().flush = before;
}

void transfers(const Device& device) {
  Buffer tiny = device.allocate(256), other = device.allocate(256);
  std::uint32_t word = 0;
  Encoder encoder(device);
  std::printf("read 4 bytes: %.1f us",
              median(200, [&] { device.read(tiny, 0, 4).get().copy_to(std::as_writable_bytes(std::span(&word, 1))); }));
  std::printf("; dispatch and read 4 bytes: %.1f us", median(200, [&] {
                affine(encoder, tiny, other, 1);
                Readback read = encoder.read(other, 0, 4);
                encoder.submit();
                read.get().copy_to(std::as_writable_bytes(std::span(&word, 1)));
              }));
  std::printf("; the same, spinning: %.1f us\n", median(200, [&] {
                affine(encoder, tiny, other, 1);
                Readback read = encoder.read(other, 0, 4);
                encoder.submit();
                while (!read.ready()) {
                }
                read.get().copy_to(std::as_writable_bytes(std::span(&word, 1)));
              }));
  std::vector<std::byte> bytes(std::size_t{1} << 30), back(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += 4096) bytes[i] = static_cast<std::byte>(i >> 12);
  const std::uint64_t most = std::min<std::uint64_t>(bytes.size(), device.adapter().software() ? 90 << 20 : 1 << 30);
  for (const std::uint64_t ring_from : {std::uint64_t{1} << 40, std::uint64_t{0}}) {
    device.impl().ring_from = ring_from;
    for (const std::uint64_t size :
         {4ull << 10, 64ull << 10, 256ull << 10, 1ull << 20, 4ull << 20, 16ull << 20, 90ull << 20, 1ull << 30}) {
      if (size > most) continue;
      device.trim();
      const Buffer target = device.allocate(size);
      const std::span<const std::byte> part(bytes.data(), size);
      double first = now_us();
      device.upload(target, 0, part);
      const double call = now_us() - first;
      device.wait();
      first = now_us() - first;
      const double later = median(size > 64 << 20 ? 5 : 30, [&] {
        device.upload(target, 0, part);
        device.wait();
      });
      const double calls = median(size > 64 << 20 ? 5 : 30, [&] { device.upload(target, 0, part); });
      device.wait();
      std::printf("upload %8llu KiB by %s: first %.0f us (call %.0f), then %.0f us = %.1f GB/s (call %.0f)\n",
                  static_cast<unsigned long long>(size >> 10), ring_from ? "queue" : "ring ", first, call, later,
                  double(size) / later / 1e3, calls);
    }
  }
  for (const std::uint64_t size : {64ull << 10, 1ull << 20, 90ull << 20}) {
    const Buffer source = device.allocate(size);
    const std::span<std::byte> part(back.data(), size);
    double first = now_us();
    device.read(source, 0, size).get().copy_to(part);
    first = now_us() - first;
    const double later = median(10, [&] { device.read(source, 0, size).get().copy_to(part); });
    std::printf("read %8llu KiB: first %.0f us, then %.0f us = %.1f GB/s\n",
                static_cast<unsigned long long>(size >> 10), first, later, double(size) / later / 1e3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  DeviceOptions options;
  if (argc > 1) options.adapter = argv[1];
  const double start = now_us();
  Device device = Device::open(options);
  std::printf("%s; opened in %.1f ms\n", device.reason().c_str(), (now_us() - start) / 1e3);
  std::printf("opened again in %.1f ms\n", median(3, [&] { Device::open(options); }) / 1e3);
  pipelines(options);
  dispatches("as it is", options);
  DeviceOptions labels = options;
  labels.debug_labels = true;
  dispatches("debug labels", labels);
  DeviceOptions trusted = options;
  trusted.validation = trusted.robustness = false;
  dispatches("no validation", trusted);
  flushes(device);
  transfers(device);
}
