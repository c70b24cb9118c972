// The parts of a device, each in its own file.
#pragma once

#include "gpu/bind_groups.h"
#include "gpu/buffer_pool.h"
#include "gpu/context.h"
#include "gpu/params.h"
#include "gpu/pipeline_cache.h"
#include "gpu/readback.h"
#include "gpu/upload.h"

namespace weft::gpu {

struct Device::Impl {
  Impl(std::shared_ptr<Context> context, AdapterInfo adapter, std::string reason,
       std::optional<std::uint64_t> memory_limit);
  ~Impl();

  std::shared_ptr<Context> context;
  AdapterInfo adapter;
  std::string reason;
  bool debug_labels = false;
  std::shared_ptr<BufferPool> pool;
  std::shared_ptr<StagingPool> staging;
  PipelineCache pipelines;
  BindGroupCache bind_groups;
  ParamPages pages;
  UploadRing uploads;
  std::uint64_t ring_from = 1 << 20;  // bytes of an upload from which the ring is faster than the queue
  std::uint32_t flush_after = 128;    // dispatches
  // Reads whose callback waits to be called.
  std::vector<std::shared_ptr<Readback::State>> callbacks;

  void deliver_callbacks();
};

// Throws InvalidArgument if the dispatch breaks the contract or this device's limits.
void check_dispatch(const Context& context, const Dispatch& dispatch);
// The part of it that depends on the real buffers. `label` names the dispatch.
void check_ranges(const Context& context, std::string_view label, std::span<const BoundRange> ranges,
                  std::uint32_t writes);

}  // namespace weft::gpu
