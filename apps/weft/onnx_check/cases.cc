#include "onnx_check/cases.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <optional>

#include "core/format.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/onnx.h"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

struct Bounds {
  double relative = 1e-3, absolute = 1e-5;
};
Bounds bounds_of(DType type) {
  switch (type) {
    case DType::f16:
    case DType::bf16:
      return {1e-2, 1e-3};
    case DType::f8e4m3:
    case DType::f8e5m2:
      return {0.125, 1e-3};
    default:
      return {};
  }
}

// The first thing in which they differ; empty if they do not.
std::string difference(const Tensor& actual, const Tensor& expected) {
  if (!actual.defined()) return "no value, expected a tensor";
  if (actual.type() != expected.type())
    return std::format("{}, expected {}", to_string(actual.type()), to_string(expected.type()));
  if (actual.dtype() == DType::c64) {
    const std::string real_part = difference(real(actual), real(expected));
    return real_part.empty() ? difference(imag(actual), imag(expected)) : real_part;
  }
  const auto numbers = [](const Tensor& x) { return cast(to(x, Device::cpu()), DType::f64).read<double>(); };
  const std::vector<double> a = numbers(actual), e = numbers(expected);
  const Bounds b = is_floating(actual.dtype()) ? bounds_of(actual.dtype()) : Bounds{0, 0};
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    if (std::abs(a[i] - e[i]) <= b.absolute + b.relative * std::abs(e[i])) continue;
    if (wrong++ == 0) first = i;
  }
  if (!wrong) return "";
  return std::format("{} of {} elements of {} differ; element {} is {}, expected {}", wrong, a.size(),
                     to_string(actual.type()), first, a[first], e[first]);
}

std::string difference(const onnx::PortValue& actual, const onnx::PortValue& expected) {
  if (!expected.sequence) {
    if (expected.tensor.defined()) return difference(actual.tensor, expected.tensor);
    return actual.tensor.defined() || actual.sequence ? "a value, expected none" : "";
  }
  if (!actual.sequence) return "no sequence";
  if (actual.sequence->size() != expected.sequence->size()) {
    return std::format("a sequence of {}, expected {}", actual.sequence->size(), expected.sequence->size());
  }
  for (std::size_t i = 0; i < expected.sequence->size(); ++i) {
    const std::string what = difference((*actual.sequence)[i], (*expected.sequence)[i]);
    if (!what.empty()) return std::format("element {} of the sequence: {}", i, what);
  }
  return "";
}

// Of values that are other ones in each run: type and shape.
std::string difference_in_type(const onnx::PortValue& actual, const onnx::PortValue& expected) {
  if (expected.sequence || !expected.tensor.defined() || !actual.tensor.defined()) return difference(actual, expected);
  if (actual.tensor.type() == expected.tensor.type()) return "";
  return std::format("{}, expected {}", to_string(actual.tensor.type()), to_string(expected.tensor.type()));
}

// `remark` as in CaseResult.
std::string run_set(const onnx::Model& model, const fs::path& folder, std::string& remark) {
  std::vector<onnx::NamedValue> inputs;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const fs::path path = folder / std::format("input_{}.pb", i);
    if (fs::exists(path)) inputs.push_back({model.inputs()[i].name, onnx::load_value(path, model.inputs()[i].type)});
  }
  const std::vector<onnx::PortValue> outputs = model.run_values(inputs);
  std::optional<std::vector<onnx::PortValue>> again;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const fs::path path = folder / std::format("output_{}.pb", i);
    if (!fs::exists(path)) continue;
    const onnx::Port& port = model.outputs()[i];
    const onnx::PortValue expected = onnx::load_value(path, port.type);
    std::string what = difference(outputs[i], expected);
    if (!what.empty()) {
      // Random numbers are other ones in the next run.
      if (!again) again = model.run_values(inputs);
      if (!difference((*again)[i], outputs[i]).empty()) {
        remark = "random numbers, of which types and shapes are compared";
        what = difference_in_type(outputs[i], expected);
      }
    }
    if (!what.empty()) return std::format("{}: output '{}': {}", folder.filename().string(), port.name, what);
  }
  return "";
}

}  // namespace

std::vector<fs::path> onnx_cases(const std::vector<std::string>& folders) {
  std::vector<fs::path> cases;
  const auto add = [&](const fs::path& folder) {
    if (fs::exists(folder / "model.onnx") && fs::exists(folder / "test_data_set_0")) cases.push_back(folder);
  };
  for (const std::string& folder : folders) {
    const std::size_t before = cases.size();
    if (!fs::is_directory(folder)) throw IoError("{}: no directory", folder);
    add(folder);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_directory()) add(entry.path());
    }
    if (cases.size() == before)
      throw IoError("{}: no folder in or below it has a model.onnx and a test_data_set_0", folder);
  }
  std::ranges::sort(cases);
  return cases;
}

namespace {

// Why a model is none that Weft means to run; empty if it is one.
std::string out_of_scope(const onnx::Description& d) {
  for (const onnx::OperatorUse& use : d.operators) {
    if (use.supported) continue;
    if (use.domain.ends_with("training")) return "operators for training";
    if (use.domain == "ai.onnx.ml") return "operators of ai.onnx.ml";
    if (use.name == "ImageDecoder") return "files of images";
  }
  for (const auto* ports : {&d.inputs, &d.outputs}) {
    for (const onnx::Port& port : *ports) {
      const std::size_t at = port.type.rfind("tensor(");
      if (at == std::string::npos || port.dtype) continue;
      const std::string element = port.type.substr(at + 7, port.type.find(')', at) - at - 7);
      if (port.type.starts_with("tensor") || element == "string") return std::format("values of {}", element);
    }
  }
  return "";
}

}  // namespace

CaseResult run_onnx_case(const fs::path& folder, const Device& device, const std::optional<Device>& fallback) {
  CaseResult result{.name = folder.filename().string()};
  try {
    result.skipped = out_of_scope(onnx::describe(folder / "model.onnx"));
    if (!result.skipped.empty()) return result;
    const onnx::Model model = onnx::Model::load(folder / "model.onnx", {.device = device, .fallback = fallback});
    for (int set = 0; result.failure.empty(); ++set) {
      const fs::path data = folder / std::format("test_data_set_{}", set);
      if (!fs::exists(data)) break;
      result.failure = run_set(model, data, result.remark);
    }
  } catch (const Unsupported& e) {
    // A type that Weft does not have is none that it computes wrongly.
    const std::string_view what = e.what();
    const std::size_t lacks = what.find(", a type that Weft lacks"), is = what.rfind(' ', lacks - 1);
    if (lacks != what.npos)
      result.skipped = std::format("values of {}", what.substr(is + 1, lacks - is - 1));
    else
      result.failure = what;
  } catch (const Error& e) {
    result.failure = e.what();
  }
  return result;
}

}  // namespace weft::app
