// What weft.js calls: functions of C, whose tensors are pointers. What fails leaves its message in weft_error(), and
// returns null. Lists and attributes are JSON.
#include <emscripten.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "weft/call.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/tensor.h"

namespace weft::web {
namespace {

using nlohmann::json;

std::string error, text;  // what is returned lives until the next call

// The function's result; if it throws, the message is kept, and the result is a default one.
template <class F>
auto guarded(F f) -> decltype(f()) {
  error.clear();
  try {
    return f();
  } catch (const std::exception& e) {
    error = *e.what() ? e.what() : "an error without a message";
    return decltype(f())();
  }
}

const char* returned(std::string json) {
  text = std::move(json);
  return text.c_str();
}

Number number(const json& value) {
  if (value.is_boolean()) return Number(value.get<bool>() ? 1 : 0);
  if (value.is_number_integer()) return Number(value.get<std::int64_t>());
  return Number(value.get<double>());
}

AttributeValue attribute(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return number(value);
  for (const json& v : value) {
    if (v.is_number_float()) return value.get<std::vector<double>>();
  }
  return value.get<std::vector<std::int64_t>>();
}

}  // namespace
}  // namespace weft::web

using namespace weft;
using namespace weft::web;

extern "C" {

// Of reads.js: settles the promise of a read; `message` is null if the bytes are good.
void weft_read_done(int promise, const std::byte* bytes, std::size_t size, const char* message);

// Empty: the last call did not fail.
EMSCRIPTEN_KEEPALIVE const char* weft_error() { return error.c_str(); }

// A copy of the elements' bytes.
EMSCRIPTEN_KEEPALIVE Tensor* weft_tensor(const char* dtype, const char* shape, const std::byte* bytes,
                                         std::size_t size) {
  return guarded([&] {
    const auto type = dtype_from_name(dtype);
    if (!type) throw InvalidArgument(std::string("tensor: there is no data type '") + dtype + "'");
    const auto dims = json::parse(shape).get<std::vector<std::int64_t>>();
    return new Tensor(tensor(TensorData::copy_of(*type, Shape(std::span<const std::int64_t>(dims)), {bytes, size})));
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release(Tensor* tensor) { delete tensor; }

// {"dtype": "f32", "shape": [2, 3]}
EMSCRIPTEN_KEEPALIVE const char* weft_type(const Tensor* tensor) {
  return guarded([&] {
    const TensorType& type = tensor->type();
    return returned(
        json{{"dtype", name(type.dtype)}, {"shape", std::vector<std::int64_t>(type.shape.begin(), type.shape.end())}}
            .dump());
  });
}

// The results' pointers. Null for an operand: it is left out.
EMSCRIPTEN_KEEPALIVE const char* weft_call(const char* op, Tensor* const* operands, int count, const char* attributes) {
  return guarded([&] {
    std::vector<Tensor> list;
    for (const Tensor* t : std::span(operands, static_cast<std::size_t>(count))) list.push_back(t ? *t : Tensor());
    AttributeMap map;
    const json given = json::parse(attributes);
    for (const auto& [key, value] : given.items()) map.emplace(key, attribute(value));
    json results = json::array();
    for (Tensor& t : call(op, list, map)) {
      results.push_back(reinterpret_cast<std::uintptr_t>(new Tensor(std::move(t))));
    }
    return returned(results.dump());
  });
}

EMSCRIPTEN_KEEPALIVE void weft_read(const Tensor* tensor, int promise) {
  guarded([&] {
    tensor->async_read_bytes().then([promise](Future<std::vector<std::byte>> done) {
      try {
        const std::vector<std::byte> bytes = done.get();
        weft_read_done(promise, bytes.data(), bytes.size(), nullptr);
      } catch (const std::exception& e) {
        weft_read_done(promise, nullptr, 0, e.what());
      }
    });
  });
}

}  // extern "C"
