// The parts of a device, each in its own file.
#pragma once

#include <unordered_map>

#include "gpu/bind_groups.h"
#include "gpu/buffer_pool.h"
#include "gpu/context.h"
#include "gpu/disk_cache.h"
#include "gpu/dispatch_timer.h"
#include "gpu/params.h"
#include "gpu/pipeline_cache.h"
#include "gpu/readback.h"
#include "gpu/upload.h"

namespace weft::gpu {

// When an encoder submits by itself. A submit costs about 10 µs of CPU time, and the GPU is idle while dispatches wait
// for one: so the first submit comes early, and later ones hold more. Measured by bench/gpu_overhead on an H200: 80
// dependent dispatches took 257 µs this way and 319 µs in one submit, 1000 took 2.46 ms and 4.23 ms.
struct FlushPolicy {
  std::uint32_t first = 32, later = 64;  // dispatches
};

struct Device::Impl : std::enable_shared_from_this<Device::Impl> {
  Impl(std::shared_ptr<Context> context, AdapterInfo adapter, std::string reason,
       std::optional<std::uint64_t> memory_limit);
  ~Impl();

  std::shared_ptr<Context> context;
  AdapterInfo adapter;
  std::string reason;
  bool debug_labels = false;
  DiskCache* cache = nullptr;                           // of compiled shaders and verdicts; null: none
  std::unordered_map<std::string, bool> verdicts;       // of self-tests
  std::optional<bool> every_verdict;                    // for tests that only plan: taken for that of every self-test
  std::unordered_map<std::string, Future<bool>> tests;  // under way; each is there until its verdict is
  std::shared_ptr<BufferPool> pool;
  std::shared_ptr<StagingPool> staging;
  Buffer sync_flags;  // gpu/sync_flags.h
  PipelineCache pipelines;
  BindGroupCache bind_groups;
  ParamPages pages;
  UploadRing uploads;
  // Bytes of an upload from which the ring is faster than the queue: 9.6 against 6.4 GB/s at 1 MiB on an H200.
  std::uint64_t ring_from = 1 << 20;
  FlushPolicy flush;
  std::shared_ptr<DispatchTimer> timer;  // while the device is profiled
  std::shared_ptr<void> plans;           // of kernel calls (kernels/plan_cache.h)
  std::mutex planning;                   // of `plans`
};

KernelRun run_of(const Dispatch& dispatch, std::string_view step, std::uint64_t live_bytes);
KernelRun run_of(const PreparedDispatch& dispatch, std::string_view step, std::uint64_t live_bytes);

// Throws InvalidArgument if the dispatch breaks the contract or this device's limits.
void check_dispatch(const Context& context, const Dispatch& dispatch);
// The part of check_dispatch() that depends on the real buffers. `label` names the dispatch.
void check_ranges(const Context& context, std::string_view label, std::span<const BoundRange> ranges,
                  std::uint32_t writes);

}  // namespace weft::gpu
