// A kernel for the tests of the GPU layer: target[i] = source[i] * scale + bias, on 32-bit unsigned integers.
#pragma once

#include <cstring>

#include "support/devices.h"

namespace weft::test {

struct AffineParams {
  std::uint32_t count, scale, bias, padding = 0;
};

inline std::string affine_wgsl() {
  return R"(
struct Params { count: u32, scale: u32, bias: u32, padding: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.count) { result[id.x] = source[id.x] * params.scale + params.bias; }
}
)";
}

inline void affine(gpu::Commands& commands, const Buffer& source, const Buffer& target, const AffineParams& params) {
  const std::uint64_t bytes = std::uint64_t{params.count} * 4;
  const gpu::Binding bindings[] = {{source, 0, bytes, gpu::Access::read}, {target, 0, bytes, gpu::Access::read_write}};
  commands.dispatch({.key = "test.affine",
                     .make_wgsl = affine_wgsl,
                     .bindings = bindings,
                     .params = std::as_bytes(std::span(&params, 1)),
                     .workgroups = {(params.count + 63) / 64, 1, 1},
                     .label = "affine"});
}

template <class T>
Buffer upload(gpu::Device& device, const std::vector<T>& values) {
  Buffer buffer = device.allocate(values.size() * sizeof(T));
  device.upload(buffer, 0, std::as_bytes(std::span(values)));
  return buffer;
}

template <class T>
std::vector<T> as(const std::vector<std::byte>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace weft::test
