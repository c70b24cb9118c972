// Devices, tensors and functions of tensors, for api/index.js.
#include <emscripten.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exports.h"
#include "functions.h"
#include "weft/call.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/device.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/expression.h"
#include "weft/graph.h"
#include "weft/print.h"
#include "weft/random.h"
#include "weft/traced.h"

namespace weft::web {
namespace {

// Tensors that JavaScript has handles of, and the bytes of their elements.
struct {
  std::int64_t tensors = 0;
  std::uint64_t bytes = 0;
} held;

}  // namespace

json given_away(Tensor tensor) {
  ++held.tensors;
  held.bytes += byte_size(tensor.type());
  const std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  json type = {{"dtype", name(tensor.dtype())}, {"shape", shape}};
  type["address"] = address_of(new Tensor(std::move(tensor)));
  return type;
}

namespace {

using Tensors = std::vector<Tensor>;
using web::given_away;

json given_away(Tensors tensors) {
  json list = json::array();
  for (Tensor& t : tensors) list.push_back(t.defined() ? given_away(std::move(t)) : json());
  return list;
}
json given_away(const Device& device) {
  return {{"address", address_of(new Device(device))},
          {"name", device.name()},
          {"gpu", device.is_gpu()},
          {"reason", device.reason()}};
}

// Tensors as JavaScript gives them: addresses, null for one that is left out.
Tensor tensor_of(const json& address) {
  return address.is_null() ? Tensor() : *reinterpret_cast<const Tensor*>(address.get<std::uintptr_t>());
}
Tensors tensors_of(const json& addresses) {
  Tensors list;
  for (const json& address : addresses) list.push_back(tensor_of(address));
  return list;
}
Tensors tensors_of(const char* text) { return tensors_of(json::parse(text)); }

// Operands: also numbers, {"number": 2.5}.
std::vector<TensorLike> operands_of(const char* text) {
  std::vector<TensorLike> list;
  for (const json& o : json::parse(text)) {
    if (o.is_object())
      list.push_back(number_operand(o));
    else
      list.emplace_back(tensor_of(o));
  }
  return list;
}

extern "C" {
// Of imports.js: calls the function with tensors (JSON), which it releases, and a text; returns the addresses of its
// results as JSON, in memory that the caller frees. Null if it threw.
char* weft_apply(int function, const char* tensors, const char* text);
}

// What it returned, with numbers for its tensors, and the tensors.
using Applied = std::pair<std::string, Tensors>;

Applied apply(int function, const Tensors& arguments, const std::string& text = {}) {
  char* results = weft_apply(function, given_away(arguments).dump().c_str(), text.c_str());
  if (!results) throw ThrownByFunction();
  const std::unique_ptr<char, decltype(&std::free)> owner(results, std::free);
  const json returned = json::parse(results);
  return {returned.at("form").get<std::string>(), tensors_of(returned.at("tensors"))};
}
json given_away(Applied applied) {
  return {{"form", std::move(applied.first)}, {"tensors", given_away(std::move(applied.second))}};
}

auto compiled(int function) {
  return compile([function](Tensors tensors, const std::string& text) { return apply(function, tensors, text); });
}
using CompiledFunction = decltype(compiled(0));

}  // namespace
}  // namespace weft::web

using namespace weft;
using namespace weft::web;

extern "C" {

// ---- Devices
EMSCRIPTEN_KEEPALIVE void weft_open(const char* name, int promise) {
  guarded([&] {
    settle(Device::open_async(name), promise,
           [promise](const Device& device) { weft_resolve(promise, given_away(device).dump().c_str()); });
  });
}

// Of webgpu.cc.
WGPUDevice gpu_adopt_device(int id);

// On a GPUDevice of the page's, by its number in webgpu.js.
EMSCRIPTEN_KEEPALIVE const char* weft_adopt(int gpu_device) {
  return guarded([&] {
    return returned(given_away(Device(gpu::Device::adopt(wgpu::Device::Acquire(gpu_adopt_device(gpu_device))))).dump());
  });
}

// Whoever waits for the device's loss is told of it.
EMSCRIPTEN_KEEPALIVE void weft_poll(const Device* device) {
  guarded([&] { device->gpu().poll(); });
}

EMSCRIPTEN_KEEPALIVE void weft_release_device(Device* device) { delete device; }
EMSCRIPTEN_KEEPALIVE void weft_use(const Device* device) {
  guarded([&] { set_default_device(*device); });
}

EMSCRIPTEN_KEEPALIVE void weft_wait(const Device* device, int promise) {
  guarded([&] { settle(device->async_wait(), promise, [promise] { weft_resolve(promise, "null"); }); });
}

// ---- Tensors, on the default device
EMSCRIPTEN_KEEPALIVE const char* weft_tensor(const char* dtype, const char* shape, const std::byte* bytes,
                                             std::size_t size) {
  return guarded([&] {
    return returned(given_away(tensor(dtype_named(dtype), shape_of(json::parse(shape)), {bytes, size})).dump());
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_tensor(Tensor* tensor) {
  --held.tensors;
  held.bytes -= byte_size(tensor->type());
  delete tensor;
}

// {"numTensors", "numBytes", "gpu"}: the last of the default device, unless that is the cpu.
EMSCRIPTEN_KEEPALIVE const char* weft_memory() {
  return guarded([&] {
    json figures = {{"numTensors", held.tensors}, {"numBytes", held.bytes}};
    if (const Device device = default_device(); device.is_gpu()) {
      const MemoryFigures gpu = device.gpu().memory();
      figures["gpu"] = {{"live", gpu.live}, {"peak", gpu.peak}, {"cached", gpu.cached}};
    }
    return returned(figures.dump());
  });
}

// `value` is a number as JSON.
EMSCRIPTEN_KEEPALIVE void weft_seed(const char* value) {
  guarded([&] { random::seed(seed(json::parse(value), "random.seed: the seed")); });
}

// The results of an operation.
EMSCRIPTEN_KEEPALIVE const char* weft_call(const char* op, const char* operands, const char* attributes) {
  return guarded(
      [&] { return returned(given_away(call_function(op, operands_of(operands), json::parse(attributes))).dump()); });
}

// described_functions().
EMSCRIPTEN_KEEPALIVE const char* weft_ops() {
  return guarded([&] { return returned(described_functions().dump()); });
}

EMSCRIPTEN_KEEPALIVE void weft_read(const Tensor* tensor, int promise) {
  guarded([&] {
    settle(tensor->async_read_bytes(), promise,
           [promise](const std::vector<std::byte>& bytes) { weft_resolve_bytes(promise, bytes.data(), bytes.size()); });
  });
}

EMSCRIPTEN_KEEPALIVE void weft_text(const Tensor* tensor, int promise) {
  guarded([&] {
    settle(async_to_string(*tensor), promise,
           [promise](const std::string& text) { weft_resolve(promise, json(text).dump().c_str()); });
  });
}

EMSCRIPTEN_KEEPALIVE void weft_eval(const char* tensors, int promise) {
  guarded([&] { settle(async_eval(tensors_of(tensors)), promise, [promise] { weft_resolve(promise, "null"); }); });
}

EMSCRIPTEN_KEEPALIVE void weft_to(const Tensor* tensor, const Device* device, int promise) {
  guarded([&] {
    settle(async_to(*tensor, *device), promise,
           [promise](const Tensor& moved) { weft_resolve(promise, given_away(moved).dump().c_str()); });
  });
}

// ---- Functions of JavaScript, by their numbers in index.js
EMSCRIPTEN_KEEPALIVE CompiledFunction* weft_compile(int function) {
  return guarded([&] { return new CompiledFunction(compiled(function)); });
}

EMSCRIPTEN_KEEPALIVE const char* weft_call_compiled(const CompiledFunction* f, const char* tensors, const char* text) {
  return guarded([&] {
    const CompiledFunction held = *f;  // JavaScript may release it meanwhile
    return returned(given_away(held(tensors_of(tensors), std::string(text))).dump());
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_compiled(CompiledFunction* f) { delete f; }

// The value, then the gradients, null for tensors of integers.
EMSCRIPTEN_KEEPALIVE const char* weft_value_and_grad(int function, const char* variables) {
  return guarded([&] {
    const auto f = [&](const Tensors& tensors) {
      const Tensors results = apply(function, tensors).second;
      if (results.size() != 1) {
        throw InvalidArgument("grad: the function returned " + std::to_string(results.size()) +
                              " tensors, expected one");
      }
      return results[0];
    };
    auto [value, gradients] = value_and_grad(f)(tensors_of(variables));
    gradients.insert(gradients.begin(), value);
    return returned(given_away(std::move(gradients)).dump());
  });
}

EMSCRIPTEN_KEEPALIVE const char* weft_vmap(int function, const char* batches) {
  return guarded([&] {
    const auto f = [&](const Tensors& tensors) { return apply(function, tensors); };
    return returned(given_away(vmap(f)(tensors_of(batches))).dump());
  });
}

}  // extern "C"
