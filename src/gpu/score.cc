#include "gpu/score.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>

#include "core/format.h"
#include "gpu/open.h"
#include "gpu/wait.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"

namespace weft::gpu {

namespace {

std::string scale_wgsl() {
  return R"(
@group(0) @binding(1) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> result: array<vec4<f32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>,
                                     @builtin(num_workgroups) groups: vec3<u32>) {
  for (var i = id.x; i < arrayLength(&source); i += groups.x * 64u) { result[i] = source[i] * 1.5; }
}
)";
}

double measure(const FoundAdapter& adapter) {
  DeviceOptions options;
  options.minimum = false;
  const Device device = Device(open_adapter(adapter, adapter.info.name + ": to be measured", options).get());
  const std::uint64_t bytes = std::min<std::uint64_t>(64 << 20, device.capabilities().max_binding / 16 * 16);
  const Buffer source = device.allocate(bytes), result = device.allocate(bytes);
  const Binding bindings[] = {{source, 0, bytes, Access::read}, {result, 0, bytes, Access::read_write}};
  Encoder encoder(device);
  constexpr int kDispatches = 4;
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < 6; ++run) {  // the first compiles and warms up
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kDispatches; ++i) {
      encoder.dispatch(
          {.key = "weft.score", .make_wgsl = scale_wgsl, .bindings = bindings, .workgroups = {8192, 1, 1}});
    }
    encoder.submit();
    device.wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (run > 0) best = std::min(best, took.count());
  }
  return 2e-9 * static_cast<double>(bytes) * kDispatches / best;
}

}  // namespace

double measured_score(const FoundAdapter& adapter) {
  constexpr std::string_view kKey = "score: GB/s of a scaling kernel";
  const auto key = std::as_bytes(std::span(kKey));
  DiskCache* cache = disk_cache_of(adapter.info, flag_text(Flag::cache_dir));
  double score = 0;
  if (cache) {
    if (const auto stored = cache->load(key); stored.size() == sizeof score) {
      std::memcpy(&score, stored.data(), sizeof score);
      return score;
    }
  }
  if (!may_wait()) return 0;
  try {
    score = measure(adapter);
  } catch (const Error& e) {
    log(LogLevel::debug, "measuring {}: {}", adapter.info.name, e.what());
    return 0;
  }
  if (cache) cache->store(key, std::as_bytes(std::span(&score, 1)));
  return score;
}

void order_by_score(std::vector<FoundAdapter>& adapters, const std::function<double(const FoundAdapter&)>& score) {
  const auto alike = [](const AdapterInfo& a, const AdapterInfo& b) {
    return !a.software() && a.type == b.type && a.backend == b.backend;
  };
  for (std::size_t first = 0, last = 0; first < adapters.size(); first = last) {
    for (last = first + 1; last < adapters.size() && alike(adapters[first].info, adapters[last].info);) ++last;
    // Adapters of one model are equal: one measurement is enough for all of them.
    std::map<std::string, double> scores;
    for (std::size_t i = first; i < last; ++i) scores.emplace(adapters[i].info.name, 0);
    if (scores.size() < 2) continue;
    for (std::size_t i = first; i < last; ++i) {
      double& s = scores[adapters[i].info.name];
      if (s == 0) s = score(adapters[i]);
    }
    std::stable_sort(
        adapters.begin() + static_cast<std::ptrdiff_t>(first), adapters.begin() + static_cast<std::ptrdiff_t>(last),
        [&](const FoundAdapter& a, const FoundAdapter& b) { return scores[a.info.name] > scores[b.info.name]; });
  }
}

}  // namespace weft::gpu
