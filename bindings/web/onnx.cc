// Models in ONNX's format, for api/onnx.js.
#include "weft/onnx.h"

#include <emscripten.h>

#include <string>
#include <vector>

#include "exports.h"
#include "weft/device.h"
#include "weft/error.h"

namespace weft::web {
namespace {

json described(const onnx::Port& port) {
  json p = {{"name", port.name}, {"type", port.type}, {"dtype", nullptr}, {"shape", nullptr}};
  if (port.dtype) p["dtype"] = name(*port.dtype);
  if (!port.shape) return p;
  p["shape"] = json::array();
  for (const onnx::Dimension& d : *port.shape) {
    p["shape"].push_back(d.size ? json(*d.size) : d.name.empty() ? json() : json(d.name));
  }
  return p;
}
json described(const std::vector<onnx::Port>& ports) {
  json list = json::array();
  for (const onnx::Port& port : ports) list.push_back(described(port));
  return list;
}

Tensor tensor_at(const json& address) { return *reinterpret_cast<const Tensor*>(address.get<std::uintptr_t>()); }

onnx::Options options_of(const Device* device, const json& given) {
  onnx::Options options;
  if (device) options.device = *device;
  if (given.contains("fallback")) options.fallback = Device::cpu();
  if (given.contains("forms")) options.forms = given["forms"].get<std::size_t>();
  if (given.contains("precision")) {
    const auto named = given["precision"].get<std::string>();
    if (named == "strict")
      options.precision = Precision::strict;
    else if (named == "f16")
      options.precision = Precision::f16;
    else if (named == "automatic")
      options.precision = Precision::automatic;
    else
      throw InvalidArgument("onnx.load: precision is '" + named + "', expected 'strict', 'f16' or 'automatic'");
  }
  return options;
}

}  // namespace
}  // namespace weft::web

using namespace weft;
using namespace weft::web;

extern "C" {

// Begins to load a model. `device`: null for the default one. `options`: {"source", "precision", "forms", "fallback"};
// `source` is what errors call the model.
EMSCRIPTEN_KEEPALIVE onnx::Loader* weft_onnx_loader(const Device* device, const char* options) {
  return guarded([&] {
    const json given = json::parse(options);
    return new onnx::Loader(options_of(device, given), given.at("source").get<std::string>());
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_onnx_loader(onnx::Loader* loader) { delete loader; }

// The next bytes of the model's file.
EMSCRIPTEN_KEEPALIVE void weft_onnx_take(onnx::Loader* loader, const std::byte* bytes, std::size_t size) {
  guarded([&] { loader->take({bytes, size}); });
}

// The model's file is whole: the names of the files beside it.
EMSCRIPTEN_KEEPALIVE const char* weft_onnx_files(onnx::Loader* loader) {
  return guarded([&] { return returned(json(loader->files()).dump()); });
}

// The next bytes of one of them.
EMSCRIPTEN_KEEPALIVE void weft_onnx_take_file(onnx::Loader* loader, const char* file, const std::byte* bytes,
                                              std::size_t size) {
  guarded([&] { loader->take(file, {bytes, size}); });
}

// Done when the device has what was handed over.
EMSCRIPTEN_KEEPALIVE void weft_onnx_wait(const onnx::Loader* loader, int promise) {
  guarded([&] { settle(loader->device().async_wait(), promise, [promise] { weft_resolve(promise, "null"); }); });
}

// The model: {"address", "inputs", "outputs", "name", "producer", "opsets", "metadata", "parameters", "gpu"}.
EMSCRIPTEN_KEEPALIVE const char* weft_onnx_finish(onnx::Loader* loader) {
  return guarded([&] {
    auto model = std::make_unique<onnx::Model>(loader->finish());
    const onnx::Description& d = model->description();
    json made = {{"inputs", described(d.inputs)}, {"outputs", described(d.outputs)}, {"name", d.name},
                 {"producer", d.producer},        {"parameters", d.parameters},      {"gpu", model->device().is_gpu()},
                 {"opsets", json::object()},      {"metadata", json::object()}};
    for (const auto& [domain, version] : d.opsets) made["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
    for (const auto& [key, value] : d.metadata) made["metadata"][key] = value;
    made["address"] = address_of(model.release());
    return returned(made.dump());
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_onnx_model(onnx::Model* model) { delete model; }

// Begins a run. `inputs`: [{"name", "tensor": address}, {"name", "sequence": [address, …]}, {"name"}, …].
EMSCRIPTEN_KEEPALIVE onnx::RunSteps* weft_onnx_run(const onnx::Model* model, const char* inputs) {
  return guarded([&] {
    std::vector<onnx::NamedValue> values;
    for (const json& given : json::parse(inputs)) {
      onnx::NamedValue& value = values.emplace_back();
      value.name = given.at("name").get<std::string>();
      if (given.contains("tensor")) value.value.tensor = tensor_at(given["tensor"]);
      if (!given.contains("sequence")) continue;
      value.value.sequence.emplace();
      for (const json& address : given["sequence"]) value.value.sequence->push_back(tensor_at(address));
    }
    return new onnx::RunSteps(model->run_steps(values));
  });
}

EMSCRIPTEN_KEEPALIVE void weft_release_onnx_run(onnx::RunSteps* run) { delete run; }

// The next step; gives whether it was the last.
EMSCRIPTEN_KEEPALIVE void weft_onnx_next(onnx::RunSteps* run, int promise) {
  guarded([&] {
    const onnx::RunSteps steps = *run;
    settle(run->next(), promise, [steps, promise] { weft_resolve(promise, steps.done() ? "true" : "false"); });
  });
}

// For each output a tensor, a list of them, or null.
EMSCRIPTEN_KEEPALIVE const char* weft_onnx_results(const onnx::RunSteps* run) {
  return guarded([&] {
    json list = json::array();
    for (const onnx::PortValue& value : run->results()) {
      if (value.sequence) {
        json all = json::array();
        for (const Tensor& t : *value.sequence) all.push_back(given_away(t));
        list.push_back(all);
      } else {
        list.push_back(value.tensor.defined() ? given_away(value.tensor) : json());
      }
    }
    return returned(list.dump());
  });
}

// {"compilations", "readbacks", "onFallback"} since it was loaded.
EMSCRIPTEN_KEEPALIVE const char* weft_onnx_counts(const onnx::Model* model) {
  return guarded([&] {
    json counts = {
        {"compilations", model->compilations()}, {"readbacks", json::array()}, {"onFallback", json::array()}};
    for (const onnx::Readback& r : model->readbacks()) {
      counts["readbacks"].push_back(
          {{"value", r.value}, {"node", r.node}, {"op", r.op}, {"bytes", r.bytes}, {"count", r.count}});
    }
    for (const onnx::FallbackNode& n : model->on_fallback()) {
      counts["onFallback"].push_back({{"node", n.node}, {"op", n.op}, {"reason", n.reason}});
    }
    return returned(counts.dump());
  });
}

}  // extern "C"
