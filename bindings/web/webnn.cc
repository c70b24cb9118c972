// WebNN for api/ml.js, which has WebIDL's conversions; what the specification checks is checked here, by weft/webnn.h.
#include "weft/webnn.h"

#include <emscripten.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exports.h"
#include "functions.h"
#include "weft/device.h"
#include "weft/small_float.h"

namespace weft::web {
namespace {

using webnn::ArgumentKind;

// The names of ArgumentKind's values.
constexpr std::string_view kKinds[] = {"operand", "operands", "boolean", "size",   "integer", "sizes",    "splits",
                                       "number",  "real",     "reals",   "choice", "choices", "data_type"};

json names_of(TypeSet types) {
  json names = json::array();
  for (int i = 0; i < kDTypeCount; ++i) {
    if (const auto type = static_cast<DType>(i); types.contains(type)) names.push_back(webnn::data_type_name(type));
  }
  return names;
}

template <class T>
const T& object_at(const json& address) {
  return *reinterpret_cast<const T*>(address.get<std::uintptr_t>());
}

json described(DType type, const webnn::Sizes& shape) {
  return {{"dataType", webnn::data_type_name(type)}, {"shape", shape}};
}

// Handles for JavaScript, which releases them.
json given_away(webnn::Operand operand) {
  json result = described(operand.data_type(), operand.shape());
  result["address"] = address_of(new webnn::Operand(std::move(operand)));
  return result;
}
json given_away(webnn::Tensor tensor) {
  json result = described(tensor.data_type(), tensor.shape());
  result.update({{"readable", tensor.readable()}, {"writable", tensor.writable()}, {"constant", tensor.constant()}});
  result["address"] = address_of(new webnn::Tensor(std::move(tensor)));
  return result;
}

// What JavaScript has checked to be a name.
DType data_type(const json& name) { return *webnn::data_type_from_name(name.get<std::string>()); }

webnn::OperandDescriptor operand_descriptor(const char* text) {
  const json d = json::parse(text);
  return {data_type(d.at("dataType")), d.at("shape").get<webnn::Sizes>()};
}
webnn::TensorDescriptor tensor_descriptor(const char* text) {
  const json d = json::parse(text);
  return {data_type(d.at("dataType")), d.at("shape").get<webnn::Sizes>(), d.at("readable").get<bool>(),
          d.at("writable").get<bool>()};
}

template <class T>
webnn::BufferSource elements(std::span<const std::byte> bytes) {
  return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
}
// Bytes of a typed array, by the type of its elements; of no type where they are good for every data type.
webnn::BufferSource source(std::string_view type, std::span<const std::byte> bytes) {
  if (type == "float32") return elements<float>(bytes);
  if (type == "float16") return elements<float16>(bytes);
  if (type == "int32") return elements<std::int32_t>(bytes);
  if (type == "uint32") return elements<std::uint32_t>(bytes);
  if (type == "int64") return elements<std::int64_t>(bytes);
  if (type == "uint64") return elements<std::uint64_t>(bytes);
  if (type == "int8") return elements<std::int8_t>(bytes);
  if (type == "uint16") return elements<std::uint16_t>(bytes);
  return bytes;
}

webnn::Value value_of(ArgumentKind kind, const json& value) {
  switch (kind) {
    case ArgumentKind::operand:
      return object_at<webnn::Operand>(value);
    case ArgumentKind::operands: {
      std::vector<webnn::Operand> list;
      for (const json& o : value) list.push_back(object_at<webnn::Operand>(o));
      return list;
    }
    case ArgumentKind::boolean:
      return value.get<bool>();
    case ArgumentKind::size:
    case ArgumentKind::integer:
    case ArgumentKind::number:
    case ArgumentKind::real:
      return number(value);
    case ArgumentKind::splits:
      if (!value.is_array()) return number(value);
      [[fallthrough]];
    case ArgumentKind::sizes:
      return value.get<webnn::Sizes>();
    case ArgumentKind::reals:
      return value.get<std::vector<double>>();
    case ArgumentKind::choices:
      return value.get<std::vector<std::string>>();
    case ArgumentKind::choice:
    case ArgumentKind::data_type:
      break;
  }
  return value.get<std::string>();
}

template <class T>
std::vector<std::pair<std::string, T>> named(const char* text) {
  std::vector<std::pair<std::string, T>> list;
  for (const json& entry : json::parse(text)) {
    list.emplace_back(entry.at(0).get<std::string>(), object_at<T>(entry.at(1)));
  }
  return list;
}

json described(const webnn::TensorLimits& limits) {
  return {{"dataTypes", names_of(limits.data_types)},
          {"rankRange", {{"min", limits.rank_range.min}, {"max", limits.rank_range.max}}}};
}

}  // namespace
}  // namespace weft::web

using namespace weft;
using namespace weft::web;

extern "C" {

// [{"name", "list": whether it gives a list, "arguments": [{"name", "kind", "required", "choices"}, …]}, …]
EMSCRIPTEN_KEEPALIVE const char* weft_ml_ops() {
  return guarded([&] {
    json ops = json::array();
    for (const webnn::OpSchema& schema : webnn::ops()) {
      json arguments = json::array();
      for (const webnn::ArgumentSchema& a : schema.arguments) {
        arguments.push_back({{"name", a.name},
                             {"kind", kKinds[static_cast<std::size_t>(a.kind)]},
                             {"required", a.required},
                             {"choices", a.choices}});
      }
      const bool list = schema.outputs.size() > 1 || schema.outputs.front().kind == ArgumentKind::operands;
      ops.push_back({{"name", schema.name}, {"list", list}, {"arguments", std::move(arguments)}});
    }
    return returned(ops.dump());
  });
}

// ---- Contexts
EMSCRIPTEN_KEEPALIVE webnn::Context* weft_ml_context(const Device* device) {
  return guarded([&] { return new webnn::Context(webnn::Context::create(*device)); });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_release_context(webnn::Context* context) { delete context; }

EMSCRIPTEN_KEEPALIVE void weft_ml_lost(const webnn::Context* context, int promise) {
  guarded([&] {
    settle(context->lost(), promise, [promise](const webnn::ContextLostInfo& info) {
      weft_resolve(promise, json{{"message", info.message}}.dump().c_str());
    });
  });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_destroy_context(webnn::Context* context) {
  guarded([&] { context->destroy(); });
}

EMSCRIPTEN_KEEPALIVE const char* weft_ml_limits(const webnn::Context* context) {
  return guarded([&] {
    const webnn::OpSupportLimits limits = context->op_support_limits();
    json all = {
        {"preferredInputLayout", webnn::kInputOperandLayouts[static_cast<std::size_t>(limits.preferred_input_layout)]},
        {"maxTensorByteLength", limits.max_tensor_byte_length},
        {"input", described(limits.input)},
        {"constant", described(limits.constant)},
        {"output", described(limits.output)},
    };
    for (const auto& [op, operands] : limits.ops) {
      for (const auto& [name, operand] : operands) all[op][name] = described(operand);
    }
    return returned(all.dump());
  });
}

// ---- Tensors
// Ready when the device has made it: there may be no memory for it.
EMSCRIPTEN_KEEPALIVE void weft_ml_create_tensor(webnn::Context* context, const char* descriptor, int exportable,
                                                int promise) {
  guarded([&] {
    const webnn::TensorDescriptor d = tensor_descriptor(descriptor);
    webnn::Tensor tensor = exportable ? context->create_exportable_tensor(d) : context->create_tensor(d);
    settle(context->device().async_wait(), promise,
           [promise, tensor] { weft_resolve(promise, given_away(tensor).dump().c_str()); });
  });
}
EMSCRIPTEN_KEEPALIVE const char* weft_ml_create_constant_tensor(webnn::Context* context, const char* descriptor,
                                                                const char* type, const std::byte* bytes,
                                                                std::size_t size) {
  return guarded([&] {
    return returned(
        given_away(context->create_constant_tensor(operand_descriptor(descriptor), source(type, {bytes, size})))
            .dump());
  });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_destroy_tensor(webnn::Tensor* tensor) {
  guarded([&] { tensor->destroy(); });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_release_tensor(webnn::Tensor* tensor) { delete tensor; }

EMSCRIPTEN_KEEPALIVE void weft_ml_write(webnn::Context* context, const webnn::Tensor* tensor, const std::byte* bytes,
                                        std::size_t size) {
  guarded([&] { context->write_tensor(*tensor, std::span(bytes, size)); });
}

// `size`: of the buffer into which JavaScript copies the bytes; negative if there is none.
EMSCRIPTEN_KEEPALIVE void weft_ml_read(webnn::Context* context, const webnn::Tensor* tensor, double size, int promise) {
  guarded([&] {
    Future<gpu::ReadBytes> read = context->read_tensor(*tensor);
    if (const std::uint64_t least = tensor->byte_length(); size >= 0 && size < static_cast<double>(least)) {
      throw webnn::TypeError("read tensor: the memory is " + std::to_string(static_cast<std::uint64_t>(size)) +
                             " bytes, expected at least " + std::to_string(least));
    }
    settle(std::move(read), promise, [promise](const gpu::ReadBytes& bytes) {
      weft_resolve_bytes(promise, bytes.span().data(), bytes.span().size());
    });
  });
}

// Of webgpu.cc.
int gpu_buffer(WGPUBuffer buffer);

// The number of the GPUBuffer, in webgpu.js.
EMSCRIPTEN_KEEPALIVE int weft_ml_export(webnn::Context* context, const webnn::Tensor* tensor) {
  return guarded([&] { return gpu_buffer(context->export_to_gpu(*tensor).Get()); });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_return(webnn::Context* context, const webnn::Tensor* tensor) {
  guarded([&] { context->return_from_gpu(*tensor); });
}

// ---- Graphs. Inputs and outputs are lists of [name, address].
EMSCRIPTEN_KEEPALIVE void weft_ml_dispatch(webnn::Context* context, const webnn::Graph* graph, const char* inputs,
                                           const char* outputs) {
  guarded([&] { context->dispatch(*graph, named<webnn::Tensor>(inputs), named<webnn::Tensor>(outputs)); });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_destroy_graph(webnn::Graph* graph) {
  guarded([&] { graph->destroy(); });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_release_graph(webnn::Graph* graph) { delete graph; }

EMSCRIPTEN_KEEPALIVE webnn::GraphBuilder* weft_ml_builder(const webnn::Context* context) {
  return guarded([&] { return new webnn::GraphBuilder(*context); });
}
EMSCRIPTEN_KEEPALIVE void weft_ml_release_builder(webnn::GraphBuilder* builder) { delete builder; }
EMSCRIPTEN_KEEPALIVE void weft_ml_release_operand(webnn::Operand* operand) { delete operand; }

// `name` is JSON, since it may have any characters.
EMSCRIPTEN_KEEPALIVE const char* weft_ml_input(webnn::GraphBuilder* builder, const char* name, const char* descriptor) {
  return guarded([&] {
    return returned(
        given_away(builder->input(json::parse(name).get<std::string>(), operand_descriptor(descriptor))).dump());
  });
}
EMSCRIPTEN_KEEPALIVE const char* weft_ml_constant(webnn::GraphBuilder* builder, const char* descriptor,
                                                  const char* type, const std::byte* bytes, std::size_t size) {
  return guarded([&] {
    return returned(given_away(builder->constant(operand_descriptor(descriptor), source(type, {bytes, size}))).dump());
  });
}
EMSCRIPTEN_KEEPALIVE const char* weft_ml_scalar(webnn::GraphBuilder* builder, const char* type, const char* value) {
  return guarded(
      [&] { return returned(given_away(builder->constant(data_type(type), number(json::parse(value)))).dump()); });
}
EMSCRIPTEN_KEEPALIVE const char* weft_ml_constant_of(webnn::GraphBuilder* builder, const webnn::Tensor* tensor) {
  return guarded([&] { return returned(given_away(builder->constant(*tensor)).dump()); });
}

// The results of an operation, whose arguments are an object of what is given.
EMSCRIPTEN_KEEPALIVE const char* weft_ml_op(webnn::GraphBuilder* builder, const char* op, const char* arguments) {
  return guarded([&] {
    const webnn::OpSchema& schema = *webnn::find_op(op);
    webnn::Arguments given;
    const json all = json::parse(arguments);
    for (const auto& [name, value] : all.items()) {
      const webnn::ArgumentSchema* argument = schema.argument(name);
      given.emplace_back(name, argument ? value_of(argument->kind, value) : value.get<std::string>());  // the label
    }
    json results = json::array();
    for (webnn::Operand& result : builder->call(op, given)) results.push_back(given_away(std::move(result)));
    return returned(results.dump());
  });
}

EMSCRIPTEN_KEEPALIVE void weft_ml_build(webnn::GraphBuilder* builder, const char* outputs, int constant_folding,
                                        int promise) {
  guarded([&] {
    settle(builder->build_async(named<webnn::Operand>(outputs),
                                {.constant_folding = constant_folding != 0, .precision = Precision::strict}),
           promise, [promise](webnn::Graph graph) {
             const json result = {{"address", address_of(new webnn::Graph(std::move(graph)))}};
             weft_resolve(promise, result.dump().c_str());
           });
  });
}

}  // extern "C"
