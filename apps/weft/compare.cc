#include "compare.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <format>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "command_line.h"
#include "core/format.h"
#include "core/mapped_file.h"
#include "signals.h"
#include "tensor_summary.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/files.h"
#include "weft/graph.h"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

// What another implementation computed, by the values' names, and what it is called.
struct Reference {
  std::string name;
  std::map<std::string, Tensor, std::less<>> values;
};

// Runs ONNX Runtime on the model with the wanted values as more outputs: messages that are appended to a file in
// Protocol Buffers' format are merged with what is there. No node is fused or left out.
constexpr const char* kScript = R"(import json, os, sys
import numpy as np
import onnxruntime as ort

def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])

def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value

path, given, wanted, results = sys.argv[1:]
names = json.load(open(wanted))
options = ort.SessionOptions()
options.log_severity_level = 3
plain = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
known = [o.name for o in plain.get_outputs()]
options = ort.SessionOptions()
options.log_severity_level = 3
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.path.dirname(os.path.abspath(path)))
more = b"".join(field(12, field(1, name.encode())) for name in names["values"] if name not in known)
session = ort.InferenceSession(open(path, "rb").read() + field(7, more), options, providers=["CPUExecutionProvider"])
arrays = np.load(given)
feeds = {name: arrays[f"v{i}"] for i, name in enumerate(names["inputs"])}
values = session.run(names["values"], feeds)
kept = {f"v{i}": v for i, v in enumerate(values) if isinstance(v, np.ndarray) and v.dtype.kind in "fiubc"}
np.savez(results, version=np.frombuffer(ort.__version__.encode(), np.uint8), **kept)
)";

// Runs a program with its errors in a file; whether it ended well.
bool run_program(const std::vector<std::string>& program, const fs::path& errors) {
  std::vector<char*> words;
  for (const std::string& word : program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

fs::path temporary(const char* what) {
  return fs::temp_directory_path() / std::format("weft-compare-{}-{}", getpid(), what);
}

// A program that is no Python ends well, too, but writes nothing.
bool has_onnxruntime(const std::string& python) {
  const TemporaryFile errors(temporary("errors.txt")), found(temporary("found.txt"));
  constexpr const char* kFinds = "import sys, onnxruntime; open(sys.argv[1], 'w').close()";
  std::error_code ignored;
  return run_program({python, "-c", kFinds, found.path().string()}, errors.path()) && fs::exists(found.path(), ignored);
}

Reference run_onnxruntime(const std::string& path, const std::vector<onnx::NamedValue>& inputs,
                          const std::vector<std::string>& names, const std::string& python) {
  const TemporaryFile given(temporary("inputs.npz")), wanted(temporary("names.json")), results(temporary("values.npz")),
      errors(temporary("errors.txt"));
  nlohmann::json all = {{"inputs", nlohmann::json::array()}, {"values", names}};
  TensorMap tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].value.tensor.defined())
      throw InvalidArgument("input '{}' is no tensor, which ONNX Runtime could be given", inputs[i].name);
    all["inputs"].push_back(inputs[i].name);
    tensors.insert_or_assign(std::format("v{}", i), inputs[i].value.tensor);
  }
  save(given.path(), tensors);
  Output list(wanted.path().string());
  list.write(all.dump());
  list.commit();
  if (!run_program(
          {python, "-c", kScript, path, given.path().string(), wanted.path().string(), results.path().string()},
          errors.path())) {
    std::string text = read_file(errors.path());
    while (text.ends_with('\n')) text.pop_back();
    const std::size_t last = text.rfind('\n');
    throw Error("ONNX Runtime could not run the model: {}", last == text.npos ? text : text.substr(last + 1));
  }
  if (std::error_code ignored; !fs::exists(results.path(), ignored))
    throw Error("ONNX Runtime computed nothing: {} ended, and wrote no results", python);
  Reference reference;
  const TensorMap values = load_all(results.path());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const auto it = values.find(std::format("v{}", i)); it != values.end())
      reference.values.emplace(names[i], it->second);
  }
  const std::vector<std::uint8_t> version = values.at("version").to_vector<std::uint8_t>();
  reference.name = "ONNX Runtime " + std::string(version.begin(), version.end());
  return reference;
}

struct Difference {
  std::string text;  // empty: they agree
  double worst = 0;  // the largest difference, as the tolerance counts it
};

Difference difference(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    return {std::format("it is {} here, and {} there", to_string(actual.type()), to_string(expected.type())), INFINITY};
  }
  if (actual.dtype() == DType::c64) {
    const Difference first = difference(real(actual), real(expected), tolerance);
    return first.text.empty() ? difference(imag(actual), imag(expected), tolerance) : first;
  }
  const DefaultDeviceScope host(Device::cpu());
  const auto numbers = [](const Tensor& x) { return cast(to(x, Device::cpu()), DType::f64).read<double>(); };
  const std::vector<double> a = numbers(actual), e = numbers(expected);
  double squares = 0, count = 0;
  for (const double v : e) {
    if (!std::isfinite(v)) continue;
    squares += v * v;
    ++count;
  }
  const double scale = std::sqrt(squares / std::max(count, 1.0));
  const bool floats = is_floating(actual.dtype()),
             bytes = bits(actual.dtype()) <= 8 && actual.dtype() != DType::boolean;
  Difference result;
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    double off = std::abs(a[i] - e[i]);
    if (floats) {
      off /= std::max({std::abs(e[i]), scale, 1e-30});
    } else if (bytes && off <= 1) {
      continue;  // rounded to the other side
    }
    if (std::isnan(off)) off = INFINITY;
    result.worst = std::max(result.worst, off);
    if (floats && off <= tolerance) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong) {
    result.text =
        std::format("{} of {} elements of {} differ; at {} it is {:.9g} here, and {:.9g} there", wrong, a.size(),
                    to_string(actual.type()), place_text(actual.shape(), first), a[first], e[first]);
  }
  return result;
}

// Whose results are others in each run; Dropout's where it trains.
bool is_random(const onnx::NodeValue& v) {
  constexpr std::string_view kRandom[] = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
                                          "Multinomial",  "Bernoulli",        "Dropout"};
  return std::ranges::find(kRandom, v.op) != std::end(kRandom);
}

std::string in_words(const onnx::NodeValue& v) {
  return v.node.empty() ? std::format("the {} that gives '{}'", v.op, v.name)
                        : std::format("'{}' ({}), whose result is '{}'", v.node, v.op, v.name);
}

}  // namespace

void add_compare_options(CLI::App& command, CompareArguments& a) {
  command
      .add_flag(
          "--compare{auto}", a.with,
          "Compute node by node on the operands of another implementation, and name the first node that differs: with "
          "ONNX Runtime, where Python finds it, else with the cpu; --compare=ort and --compare=cpu say with which")
      ->check([](const std::string& text) {
        return text == "auto" || text == "ort" || text == "cpu" ? "" : std::format("'{}' is none of ort and cpu", text);
      });
  command
      .add_option(
          "--tolerance", a.tolerance,
          "By how much floats may differ for --compare: this part of their magnitude, or of their root mean square")
      ->check([](const std::string& text) {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_whole = error == std::errc() && end == text.data() + text.size();
        return is_whole && number >= 0 && std::isfinite(number)
                   ? std::string()
                   : std::format("'{}' is no tolerance, expected a number of 0 or more, such as 0.001", text);
      })
      ->capture_default_str();
  command.add_option("--python", a.python, "The Python that has ONNX Runtime")
      ->check(check_path)
      ->capture_default_str();
}

bool compare(const std::string& path, const onnx::Model& model, const std::vector<onnx::NamedValue>& inputs,
             const CompareArguments& arguments, Output& out) {
  const bool installed = arguments.with != "cpu" && has_onnxruntime(arguments.python);
  if (arguments.with == "ort" && !installed)
    throw InvalidArgument("--compare=ort: {} finds no package onnxruntime", arguments.python);
  if (!installed && !model.device().is_gpu()) {
    throw InvalidArgument(
        "--compare: the model runs on the cpu, which would be compared with itself: --device names another, or "
        "--python a Python that has the package onnxruntime");
  }
  Reference reference;
  std::vector<onnx::NodeValue> own;
  if (installed) {
    std::vector<std::string> names;
    for (const onnx::NodeValue& v : model.node_values(inputs)) {
      if (!v.is_inside) names.push_back(v.name);
    }
    reference = run_onnxruntime(path, inputs, names, arguments.python);
    for (const auto& [name, value] : reference.values)
      own.push_back({.node = {}, .op = {}, .name = name, .value = value});
  } else {
    own = onnx::Model::load(path, {.device = Device::cpu()}).node_values(inputs);
    reference.name = "the cpu";
    for (const onnx::NodeValue& v : own) reference.values.insert_or_assign(v.name, v.value);
  }
  out.write(std::format("{} beside {}, node by node: each computes from what {} computed; tolerance {}\n",
                        model.device().name(), reference.name, reference.name, arguments.tolerance));
  std::size_t compared = 0, wrong = 0;
  std::string random;      // nodes whose results differ, as they may
  bool different = false;  // the outputs
  double worst = 0;
  std::string first, worst_place;
  for (const onnx::NodeValue& v : model.node_values(inputs, own)) {
    const auto it = reference.values.find(v.name);
    if (it == reference.values.end()) continue;
    const Difference d = difference(v.value, it->second, arguments.tolerance);
    if (is_random(v) && !d.text.empty() && v.value.type() == it->second.type()) {
      random += std::format("{} is random, and not compared\n", in_words(v));
      continue;
    }
    ++compared;
    if (d.worst > worst) {
      worst = d.worst;
      worst_place = in_words(v);
    }
    if (d.text.empty()) continue;
    if (wrong++ == 0) first = std::format("the first node that differs is {}: {}\n", in_words(v), d.text);
  }
  out.write(random);
  if (wrong)
    out.write(first + std::format("{} of {} values differ\n", wrong, compared));
  else
    out.write(std::format("all {} values agree{}\n", compared,
                          worst > 0 ? std::format("; they differ most, by {:.3g}, at {}", worst, worst_place) : ""));
  // The whole model, as it runs: fused, and on its own operands.
  const std::vector<onnx::PortValue> outputs = model.run_values(inputs);
  std::optional<std::map<std::string, Tensor>> unfused;
  const auto differs_unfused = [&](const std::string& name, const Tensor& expected) {
    if (!unfused) {
      unfused.emplace();
      for (const onnx::NodeValue& v : model.node_values(inputs)) unfused->insert_or_assign(v.name, v.value);
    }
    const auto it = unfused->find(name);
    return it != unfused->end() && !difference(it->second, expected, arguments.tolerance).text.empty();
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    const auto it = reference.values.find(name);
    if (it == reference.values.end() || !outputs[i].tensor.defined()) continue;
    const Difference d = difference(outputs[i].tensor, it->second, arguments.tolerance);
    if (d.text.empty()) {
      out.write(std::format("output '{}' of the whole model agrees, within {:.3g}\n", name, d.worst));
      continue;
    }
    if (!wrong && !random.empty()) {
      out.write(std::format("output '{}' of the whole model is another one, as numbers are random\n", name));
      continue;
    }
    const char* why = wrong ? ""
                      : differs_unfused(name, it->second)
                          ? "; so it does where no nodes are fused: differences of rounding grow on the way"
                          : "; it does not where no nodes are fused";
    out.write(std::format("output '{}' of the whole model differs: {}{}\n", name, d.text, why));
    different = true;
  }
  return wrong == 0 && !different;
}

}  // namespace weft::app
