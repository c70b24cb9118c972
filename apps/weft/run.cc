// weft run: a model of ONNX, or a graph in a file, on given or random inputs.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <format>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "command_line.h"
#include "commands.h"
#include "compare.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "core/suffix.h"
#include "model_inputs.h"
#include "output.h"
#include "pictures.h"
#include "profile_output.h"
#include "tensor_summary.h"
#include "weft/dynamic_executable.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/files.h"
#include "weft/graph_file.h"
#include "weft/onnx.h"
#include "weft/profile.h"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

struct RunArguments : InputArguments {
  std::string model, output, labels, fallback;
  int repeat = 1, top = 5;
  bool profile = false;
  CompareArguments compare;
  ReportArguments report;
};

constexpr const char* kFooter = R"(
Outputs
  Each is told by its type, its range, mean and standard deviation; of the scores of one example, or with --labels of as
  many classes as there are labels, the largest. -o DIR writes each as NAME.npy, and what looks like a picture (one, three or
  four channels, or a map of at least 8 × 8) as NAME.png, too; -o FILE.npz writes all into one file, -o FILE.npy or FILE.png
  the only one. Characters of a name that files cannot have are "_", and of two that would be one file the second is NAME~2.

Examples
  weft run digits.onnx -i digits.npy
  weft run resnet50.onnx -i photo.jpg --normalize imagenet --fit crop --labels classes.txt
  weft run depth.onnx -i image=street.png --size 384,512 -o results
  weft run speech.onnx -i audio=hello.wav --rate 16000
  weft run encoder.onnx --text 'How do I get there?' --text 'Where is it?' --tokenizer tokenizer.json -o vectors.npz
  weft run encoder.onnx --shape input_ids=1,128 -i attention_mask=1
  weft run detector.onnx --shape batch=8 --repeat 20 --precision f16 --device gpu
  weft run detector.onnx -i photo.jpg --profile --html profile.html
  weft run detector.onnx -i photo.jpg --compare --device gpu
  weft run encoder.safetensors --shape x=8,200,384

Graphs
  A graph in a file runs at other shapes than it was recorded with where these are no part of it: those of --shape, or of
  the files that are given. Its numbers are inputs of one element.
)";

void say(const std::string& what) { std::fprintf(stderr, "weft: %s\n", what.c_str()); }

// A name of an output as that of a file.
std::string file_name(std::string name) {
  std::ranges::replace_if(name, [](char c) { return c == '/' || c == '\\' || c == ':'; }, '_');
  return name.starts_with('.') ? "_" + name : name;
}

// Names of files, none twice.
class FileNames {
 public:
  std::string own(const std::string& name, const char* ending) {
    std::string file = name + ending;
    for (int i = 2; !used_.insert(file).second; ++i) file = std::format("{}~{}{}", name, i, ending);
    return file;
  }

 private:
  std::set<std::string> used_;
};

bool is_one_file(const std::string& path) { return has_suffix(path, ".npy") || has_suffix(path, ".png"); }
[[noreturn]] void refuse_several(const std::string& path, std::size_t outputs) {
  throw InvalidArgument("{} takes one output, and the model has {}: name a directory, or FILE.npz", path, outputs);
}

// Before a run, which may take long, what cannot be written after it.
void check_output(const std::string& path, const std::vector<onnx::Port>& ports) {
  const bool are_tensors =
      std::ranges::all_of(ports, [](const onnx::Port& port) { return port.type.starts_with("tensor"); });
  if (is_one_file(path) && are_tensors && ports.size() != 1) refuse_several(path, ports.size());
  if (is_one_file(path) || has_suffix(path, ".npz")) return;
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_directory(path, ignored))
    throw InvalidArgument("-o {}: it is a file; outputs go into a directory, or FILE.npz, FILE.npy or FILE.png", path);
  constexpr std::size_t kLongest = 255 - std::string_view("-99999.npy").size();  // of POSIX's file systems
  for (const onnx::Port& port : ports) {
    if (port.name.size() <= kLongest) continue;
    throw InvalidArgument("-o {}: output {} has a name of {} bytes, and a file's has {}: -o FILE.npz takes it", path,
                          in_quotes(port.name), port.name.size(), kLongest);
  }
}

void write_pictures(const fs::path& folder, const std::string& name, const Tensor& x, FileNames& names) {
  constexpr std::size_t kMost = 16;
  const std::vector<Picture> all = pictures_in(x);
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
    const std::string file = names.own(all.size() == 1 ? name : std::format("{}-{}", name, i), ".png");
    write_png((folder / file).string(), all[i]);
  }
}

// Writes the outputs as the name says.
void write_outputs(const std::string& path, const std::vector<onnx::Port>& ports,
                   const std::vector<onnx::PortValue>& outputs) {
  const char* const ending = has_suffix(path, ".npz") ? "" : ".npy";
  FileNames names;
  std::vector<std::pair<std::string, Tensor>> tensors;  // with the files' names
  const auto add = [&](const std::string& name, const Tensor& x) {
    const std::string plain = file_name(name), own = names.own(plain, ending);
    if (own != plain + ending) say(std::format("output '{}' is written as {}", name, own));
    tensors.emplace_back(own, x);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].tensor.defined()) add(ports[i].name, outputs[i].tensor);
    if (!outputs[i].sequence) continue;
    for (std::size_t k = 0; k < outputs[i].sequence->size(); ++k)
      add(std::format("{}-{}", ports[i].name, k), (*outputs[i].sequence)[k]);
  }
  if (has_suffix(path, ".npz")) {
    TensorMap map;
    for (const auto& [name, x] : tensors) map.insert_or_assign(name, x);
    save(path, map);
    return;
  }
  if (is_one_file(path)) {
    if (tensors.size() != 1) refuse_several(path, tensors.size());
    if (has_suffix(path, ".npy")) return save(path, tensors[0].second);
    const std::vector<Picture> all = pictures_in(tensors[0].second);
    if (all.size() != 1)
      throw InvalidArgument("{}: output '{}', {}, is no picture", path, fs::path(tensors[0].first).stem().string(),
                            to_string(tensors[0].second.type()));
    return write_png(path, all[0]);
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw IoError("{}: the directory cannot be made: {}", path, error.message());
  for (const auto& [name, x] : tensors) {
    save(fs::path(path) / name, x);
    write_pictures(path, name.substr(0, name.size() - std::string_view(ending).size()), x, names);
  }
}

std::string percentiles(std::vector<double> times) {
  std::ranges::sort(times);
  const auto at = [&](double q) {
    return times[static_cast<std::size_t>(std::ceil(q * static_cast<double>(times.size()))) - (q > 0 ? 1 : 0)];
  };
  return std::format("; {} more: least {:.3f} ms, median {:.3f}, 90 % {:.3f}, 99 % {:.3f}, most {:.3f}", times.size(),
                     times[0], at(0.5), at(0.9), at(0.99), times.back());
}

// What is run: a model of ONNX, or a graph in a file, at whatever shapes its inputs have.
struct Runnable {
  std::vector<onnx::Port> inputs, outputs;
  std::function<std::vector<onnx::PortValue>(const std::vector<onnx::NamedValue>&)> run;
  std::optional<onnx::Model> model = {};
  std::uint64_t weight_bytes = 0;
};

Runnable model_of(const RunArguments& a, const Device& device) {
  const auto model = onnx::Model::load(a.model, {.device = device, .fallback = fallback_device(a.fallback)});
  return {.inputs = model.inputs(),
          .outputs = model.outputs(),
          .run = [model](const std::vector<onnx::NamedValue>& inputs) { return model.run_values(inputs); },
          .model = model,
          .weight_bytes = model.description().weight_bytes};
}

Runnable graph_of(const RunArguments& a, const Device& device) {
  const Graph graph = load_graph(a.model);
  const DynamicExecutable executable(graph, device);
  const std::vector<Graph::Port> ports = graph.inputs();
  const std::size_t count = ports.size();
  std::vector<onnx::Port> outputs;
  for (const Graph::Port& port : graph.outputs()) outputs.push_back(port_of(port));
  return {
      .inputs = ports_of(graph), .outputs = std::move(outputs), .run = [=](const std::vector<onnx::NamedValue>& given) {
        std::vector<Tensor> tensors;
        std::vector<Number> numbers;
        bool differs = false;
        for (std::size_t i = 0; i < given.size(); ++i) {
          const Tensor& x = given[i].value.tensor;
          if (i < count) {
            differs |= x.shape() != ports[i].type.shape;
            tensors.push_back(to(x, device));
          } else if (is_integer(x.dtype()) || x.dtype() == DType::boolean) {
            numbers.emplace_back(cast(x, DType::i64).item<std::int64_t>());
          } else {
            numbers.emplace_back(cast(x, DType::f32).item<double>());
          }
        }
        if (differs && executable.compilations() == 0) {
          say("the graph was recorded for other shapes: sizes that it has as numbers, such as the lengths of Fourier "
              "transforms and counts that it divides by, stay as they were");
        }
        std::vector<onnx::PortValue> all;
        for (const Tensor& y : executable.run(tensors, numbers)) all.push_back({.tensor = y});
        return all;
      }};
}

void tell_fallback(const onnx::Model& model) {
  const std::vector<onnx::FallbackNode> nodes = model.on_fallback();
  if (nodes.empty()) return;
  say(std::format("{} of the model's nodes ran on the cpu, since {} cannot compute them:", nodes.size(),
                  model.device().name()));
  for (const onnx::FallbackNode& n : nodes)
    std::fprintf(stderr, "  '%s' (%s): %s\n", n.node.c_str(), n.op.c_str(), n.reason.c_str());
}

void tell_readbacks(const onnx::Model& model) {
  const std::vector<onnx::Readback> all = model.readbacks();
  if (all.empty()) return;
  say(std::format("{} values were read on the way, since the graph depends on them:", model.reads()));
  for (const onnx::Readback& r : all) {
    std::fprintf(stderr, "  '%s' for '%s' (%s): %zu bytes, %zu times\n", r.value.c_str(), r.node.c_str(), r.op.c_str(),
                 r.bytes, r.count);
  }
}

void run(const RunArguments& a) {
  refuse_dispatch_only("results");
  const ReportArguments& r = a.report;
  const bool profiled = a.profile || !r.html.empty() || !r.trace.empty() || r.json || r.all || r.dispatches;
  std::optional<ReportFiles> files;
  if (profiled) files.emplace(a.report);
  const std::vector<std::string> labels = a.labels.empty() ? std::vector<std::string>() : read_labels(a.labels);
  const Device device = Device::open();
  set_default_device(device);
  const double loading = seconds_now();
  const bool is_graph = has_suffix(a.model, ".safetensors");
  if (is_graph && !a.compare.with.empty())
    throw InvalidArgument("--compare is for models of ONNX, and {} is a graph", a.model);
  if (is_graph && !a.fallback.empty())
    throw InvalidArgument("--fallback is for models of ONNX, and {} is a graph", a.model);
  const Runnable target = is_graph ? graph_of(a, device) : model_of(a, device);
  if (!a.output.empty()) check_output(a.output, target.outputs);
  std::vector<onnx::NamedValue> inputs = make_inputs(a.model, target.inputs, a, say);
  if (!a.compare.with.empty()) {
    Output out("-");
    const bool same = compare(a.model, *target.model, inputs, a.compare, out);
    out.commit();
    tell_fallback(*target.model);
    if (!same) throw Reported();
    return;
  }
  // Their way to the device is no part of a run.
  for (onnx::NamedValue& input : inputs) {
    if (input.value.tensor.defined()) input.value.tensor = to(input.value.tensor, device);
    if (!input.value.sequence) continue;
    for (Tensor& element : *input.value.sequence) element = to(element, device);
  }
  const double start = seconds_now();
  std::vector<onnx::PortValue> outputs = target.run(inputs);
  device.wait();
  const double first = seconds_now() - start;
  std::vector<double> times;
  for (int i = 1; i < a.repeat; ++i) {
    const double begin = seconds_now();
    outputs = target.run(inputs);
    device.wait();
    times.push_back((seconds_now() - begin) * 1e3);
  }
  if (!a.report.json || !profiled) {
    Output out("-");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = target.outputs[i].name;
      if (outputs[i].sequence) {
        out.write(std::format("{}: a sequence of {}\n", name, outputs[i].sequence->size()));
        for (std::size_t k = 0; k < outputs[i].sequence->size(); ++k) {
          out.write("  " + summary(std::format("{}[{}]", name, k), (*outputs[i].sequence)[k], a.top, labels));
        }
      } else if (!outputs[i].tensor.defined()) {
        out.write(std::format("{}: no value\n", name));
      } else {
        out.write(summary(name, outputs[i].tensor, a.top, labels));
      }
    }
    out.commit();
  }
  if (!a.output.empty()) write_outputs(a.output, target.outputs, outputs);
  say(std::format("on {}; loaded in {:.2f} s, first run {:.3f} s{}", device.name(), start - loading, first,
                  times.empty() ? "" : percentiles(times)));
  if (target.model) {
    tell_fallback(*target.model);
    tell_readbacks(*target.model);
  }
  if (!profiled) return;
  Profiler profiler(device);
  for (int i = 0; i < a.report.runs; ++i) {
    profiler.span("run", [&] {
      outputs = target.run(inputs);
      device.wait();
    });
  }
  write_report(a.report, *files, profiler.finish(), device, fs::path(a.model).filename().string(), {},
               target.weight_bytes);
}

}  // namespace

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand(
      "run", "Run a model of ONNX, or a graph in a file, on arrays, pictures, sounds, texts or random inputs");
  command->add_option("MODEL", a->model, "FILE.onnx, or a graph in a file: FILE.safetensors, see weft graph")
      ->required()
      ->check(check_path);
  add_input_options(*command, *a);
  command->add_option("-o,--output", a->output, "Write the outputs into this directory, or this file; see below")
      ->check(check_path);
  command->add_option("--labels", a->labels, "Names of classes: a line each, or JSON")->check(check_path);
  command->add_option("--top", a->top, "How many of the largest scores to list")
      ->check(whole_number(0, 1000))
      ->capture_default_str();
  command->add_option("--repeat", a->repeat, "How often to run; tells times")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  add_device(*command);
  add_fallback(*command, a->fallback);
  add_precision(*command);
  command->add_flag("--profile", a->profile,
                    "Profile ten more runs, and write where their time goes, as weft profile does");
  add_report_options(*command, a->report);
  add_compare_options(*command, a->compare);
  command->footer(std::string(kModelInputsHelp) + kFooter);
  command->callback([a, command] {
    for (const char* option : {"--tolerance", "--python"}) {
      if (a->compare.with.empty() && command->count(option)) throw CLI::ValidationError(option, "is for --compare");
    }
    for (const char* option :
         {"--output", "--labels", "--top", "--repeat", "--profile", "--html", "--trace", "--json"}) {
      if (!a->compare.with.empty() && command->count(option))
        throw CLI::ValidationError(option, "does not go with --compare, which tells what differs alone");
    }
    if (!a->compare.with.empty() && !a->fallback.empty()) {
      throw CLI::ValidationError("--fallback",
                                 "does not go with --compare, which computes every node on the one device that it is "
                                 "about; --device cpu computes all of them");
    }
    run(*a);
  });
}

}  // namespace weft::app
