// weft run: a model of ONNX on given or random inputs; weft info: what is in one.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <format>
#include <map>
#include <memory>
#include <numeric>

#include "command_line.h"
#include "commands.h"
#include "core/format.h"
#include "core/suffix.h"
#include "output.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/files.h"
#include "weft/graph.h"
#include "weft/onnx.h"
#include "weft/random.h"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  std::string model, output;
  std::vector<std::string> inputs, shapes;
  int repeat = 1, top = 5, seed = 0;
};

constexpr const char* kRunFooter = R"(Inputs
  NAME=FILE.npy, NAME=FILE.npz (its array NAME), NAME=FILE.pb (as ONNX's test data), NAME=random, NAME=zeros, or
  NAME=NUMBER, which every element gets. Inputs that are not given are random: floats of the normal distribution,
  integers 0 and 1. Sizes that the model leaves open are 1 unless --shape gives them.

Examples
  weft run resnet50.onnx -i x=image.npy
  weft run encoder.onnx --shape input_ids=1,128 --shape attention_mask=1,128 -i attention_mask=1
  weft run detector.onnx -i images=photo.npy -o results --repeat 20
)";
constexpr const char* kInfoFooter = R"(Examples
  weft info resnet50.onnx
)";

std::string to_text(const onnx::Port& port) {
  std::string text = std::format("{} {}", port.name, port.dtype ? std::string(name(*port.dtype)) : port.type);
  if (!port.shape) return text;
  text += " [";
  for (std::size_t i = 0; i < port.shape->size(); ++i) {
    const onnx::Dimension& d = (*port.shape)[i];
    text += std::format("{}{}", i ? ", " : "", d.size ? std::to_string(*d.size) : d.name.empty() ? "?" : d.name);
  }
  return text + "]";
}

std::pair<std::string, std::string> name_and_value(const std::string& text, const char* what) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0) throw InvalidArgument("'{}' is no {}: NAME=VALUE", text, what);
  return {text.substr(0, at), text.substr(at + 1)};
}

Shape shape_of(const std::string& text) {
  Shape shape;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0 || (next != end && *next != ',')) throw InvalidArgument("'{}' is no shape, such as 1,3,224,224", text);
    shape.push_back(size);
    at = next == end ? end : next + 1;
  }
  return shape;
}

Shape open_shape(const onnx::Port& port) {
  Shape shape;
  if (port.shape) {
    for (const onnx::Dimension& d : *port.shape) shape.push_back(d.size.value_or(1));
  }
  return shape;
}

Tensor input_of(const onnx::Port& port, const std::string& value, const Shape& shape, int seed) {
  if (has_suffix(value, ".npy")) return load(value);
  if (has_suffix(value, ".npz")) return load(value, port.name);
  if (has_suffix(value, ".pb")) return onnx::load_value(value).tensor;
  if (!port.dtype) throw InvalidArgument("input '{}' is a {}; weft run takes tensors", port.name, port.type);
  const DType type = *port.dtype;
  if (value == "random") {
    const Tensor key = random::key(static_cast<std::uint64_t>(seed));
    return is_floating(type) ? cast(random::normal(shape, 0, 1, DType::f32, key), type)
                             : cast(random::integers(shape, 0, 2, DType::i32, key), type);
  }
  if (value == "zeros") return zeros(shape, type);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    throw InvalidArgument("input '{}': '{}' is no FILE.npy, FILE.npz, FILE.pb, random, zeros or number", port.name, value);
  }
  return full(shape, number, type);
}

// A line or two of what a tensor holds.
std::string summary(const std::string& called, const Tensor& x, int top) {
  std::string text = std::format("{} {}", called, to_string(x.type()));
  if (x.size() == 0 || x.dtype() == DType::c64) return text + "\n";
  const std::vector<double> all = cast(to(x, Device::cpu()), DType::f64).read<double>();
  std::vector<double> finite;
  std::ranges::copy_if(all, std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  if (finite.size() < all.size()) text += std::format(", {} of {} not finite", all.size() - finite.size(), all.size());
  if (!finite.empty()) {
    const auto [least, most] = std::ranges::minmax(finite);
    const double mean = std::accumulate(finite.begin(), finite.end(), 0.0) / static_cast<double>(finite.size());
    double squares = 0;
    for (const double v : finite) squares += (v - mean) * (v - mean);
    text += std::format(": {:.6g} to {:.6g}, mean {:.6g}, deviation {:.6g}", least, most, mean,
                        std::sqrt(squares / static_cast<double>(finite.size())));
  }
  text += "\n";
  // Scores of one example: the largest.
  const bool scores = is_floating(x.dtype()) && x.rank() >= 1 && x.shape().back() == x.size() && x.size() > 1;
  if (scores && top > 0) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), 0);
    const auto count = std::min<std::size_t>(order.size(), static_cast<std::size_t>(top));
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), std::greater(), [&](std::size_t i) {
      return std::isnan(all[i]) ? -INFINITY : all[i];
    });
    text += "  largest:";
    for (std::size_t i = 0; i < count; ++i) text += std::format("{} {} ({:.6g})", i ? "," : "", order[i], all[order[i]]);
    text += "\n";
  }
  return text;
}

void run(const RunArguments& a) {
  refuse_dispatch_only("results");
  const Device device = Device::open();
  set_default_device(device);
  const double loading = seconds_now();
  const onnx::Model model = onnx::Model::load(a.model, {.device = device});
  std::map<std::string, std::string> values;
  std::map<std::string, Shape> shapes;
  const auto known = [&](const std::string& name) {
    if (std::ranges::find(model.inputs(), name, &onnx::Port::name) != model.inputs().end()) return;
    std::string all;
    for (const onnx::Port& port : model.inputs()) all += std::format("\n  {}", to_text(port));
    throw InvalidArgument("{} has no input '{}'; it has{}", a.model, name, all);
  };
  for (const std::string& text : a.inputs) {
    const auto [name, value] = name_and_value(text, "input");
    known(name);
    values[name] = value;
  }
  for (const std::string& text : a.shapes) {
    const auto [name, value] = name_and_value(text, "shape");
    known(name);
    shapes[name] = shape_of(value);
  }
  std::vector<onnx::NamedValue> inputs;
  Output out("-");
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const onnx::Port& port = model.inputs()[i];
    const auto value = values.find(port.name);
    const auto shape = shapes.find(port.name);
    const Tensor x = input_of(port, value == values.end() ? "random" : value->second,
                              shape == shapes.end() ? open_shape(port) : shape->second, a.seed + static_cast<int>(i));
    if (value == values.end()) std::fprintf(stderr, "weft: input %s is random %s\n", port.name.c_str(), to_string(x.type()).c_str());
    inputs.push_back({port.name, {.tensor = x}});
  }
  const double start = seconds_now();
  std::vector<onnx::PortValue> outputs = model.run_values(inputs);
  device.wait();
  const double first = seconds_now() - start;
  std::vector<double> times;
  for (int i = 1; i < a.repeat; ++i) {
    const double begin = seconds_now();
    outputs = model.run_values(inputs);
    device.wait();
    times.push_back((seconds_now() - begin) * 1e3);
  }
  if (!a.output.empty()) fs::create_directories(a.output);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    if (outputs[i].sequence) {
      out.write(std::format("{}: a sequence of {}\n", name, outputs[i].sequence->size()));
      for (std::size_t k = 0; k < outputs[i].sequence->size(); ++k) {
        out.write("  " + summary(std::format("{}[{}]", name, k), (*outputs[i].sequence)[k], a.top));
      }
      continue;
    }
    if (!outputs[i].tensor.defined()) {
      out.write(std::format("{}: no value\n", name));
      continue;
    }
    out.write(summary(name, outputs[i].tensor, a.top));
    if (!a.output.empty()) {
      std::string file = name;
      std::ranges::replace_if(file, [](char c) { return c == '/' || c == '\\' || c == ':'; }, '_');
      save(fs::path(a.output) / (file + ".npy"), outputs[i].tensor);
    }
  }
  out.commit();
  std::fprintf(stderr, "weft: on %s; loaded in %.2f s, first run %.3f s", device.name().c_str(), start - loading, first);
  if (!times.empty()) {
    std::ranges::sort(times);
    const auto at = [&](double q) { return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))]; };
    std::fprintf(stderr, "; %zu more: median %.3f ms, 10%% %.3f, 90%% %.3f", times.size(), at(0.5), at(0.1), at(0.9));
  }
  std::fprintf(stderr, "\n");
  if (model.reads()) std::fprintf(stderr, "weft: %zu values were read on the way, since the graph depends on them\n", model.reads());
}

void info(const std::string& path) {
  const onnx::Description d = onnx::describe(path);
  Output out("-");
  out.write(std::format("{}{}\n", d.name.empty() ? path : d.name, d.producer.empty() ? "" : ", made by " + d.producer));
  std::string opsets;
  for (const auto& [domain, version] : d.opsets) opsets += std::format("{}{} {}", opsets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain, version);
  out.write(std::format("IR {}, opsets {}\n{} parameters, {} bytes of weights\n\nInputs\n", d.ir_version, opsets, d.parameters, d.weight_bytes));
  for (const onnx::Port& port : d.inputs) out.write("  " + to_text(port) + "\n");
  out.write("Outputs\n");
  for (const onnx::Port& port : d.outputs) out.write("  " + to_text(port) + "\n");
  out.write("Operators\n");
  std::size_t missing = 0;
  for (const onnx::OperatorUse& use : d.operators) {
    out.write(std::format("  {:5} {}{}{}{}\n", use.count, use.domain, use.domain.empty() ? "" : ".", use.name,
                          use.supported ? "" : "   not supported"));
    if (!use.supported) missing += use.count;
  }
  out.write(missing ? std::format("It does not run here: {} nodes have operators that Weft lacks.\n", missing) : "All operators are supported.\n");
  out.commit();
}

}  // namespace

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a model: FILE.onnx, on given or random inputs");
  command->add_option("MODEL", a->model, "A model in ONNX's format")->required()->check(check_path);
  command->add_option("-i,--input", a->inputs, "NAME=VALUE, see below; for each input")->allow_extra_args(false);
  command->add_option("--shape", a->shapes, "NAME=1,3,224,224: the shape of an input that is made")->allow_extra_args(false);
  command->add_option("-o,--output", a->output, "Write the outputs into this directory, as NAME.npy")->check(check_path);
  command->add_option("--repeat", a->repeat, "How often to run; tells times")->check(whole_number(1, 1000000))->capture_default_str();
  command->add_option("--top", a->top, "How many of the largest scores to list")->check(whole_number(0, 1000))->capture_default_str();
  command->add_option("--seed", a->seed, "Of random inputs")->check(whole_number(0, 1 << 30))->capture_default_str();
  add_device(*command);
  add_precision(*command);
  command->footer(kRunFooter);
  command->callback([a] { run(*a); });
}

void add_info(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("info", "What is in a model, and whether it runs here: FILE.onnx");
  command->add_option("MODEL", *path, "A model in ONNX's format")->required()->check(check_path);
  command->footer(kInfoFooter);
  command->callback([path] { info(*path); });
}

}  // namespace weft::app
