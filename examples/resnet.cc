// Classifies pictures with ResNet-50 or MobileNet-v3: resnet --weights FILE.safetensors --image FILE.png.
// vision/networks.cc has the networks; this file gives them weights, compiles them and runs them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "vision/networks.h"
#include "vision/pictures.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/safetensors.h"

using namespace weft;

namespace {

struct Options {
  std::string network = "resnet50", weights, image, classes, check, device, precision = "f32";
  bool random = false;
  std::int64_t batch = 1, size = 224;
  double width = 1;
  int repeat = 0;
};

struct NetworkInfo {
  vision::Network* build;
  const char* last_layer;  // its weights have a row for each class
};
const std::map<std::string, NetworkInfo> kNetworks = {
    {"resnet50", {vision::resnet50, "fc.weight"}},
    {"mobilenet_v3_large", {vision::mobilenet_v3_large, "classifier.3.weight"}},
};

// ---- Weights

// Those of a safetensors file, memory-mapped: the compiler reads each once, and no copy is made for the cpu.
class FileWeights {
 public:
  FileWeights(const std::string& path, const NetworkInfo& network) : file_(SafeTensors::open(path)) {
    classes_ = file_.at(network.last_layer).shape[0];
  }
  std::int64_t classes() const { return classes_; }

  Tensor get(const std::string& name, const Shape& shape) {
    used_.insert(name);
    const TensorData& data = file_.at(name, shape);
    if (!is_floating(data.dtype)) {
      throw FormatError(file_.source() + ": tensor " + name + " is " + std::string(weft::name(data.dtype)) +
                        ", expected floats");
    }
    return Graph::constant(data, name).cast(DType::f32);
  }

  // A weight that the network did not ask for says that the file is another network's.
  void require_all_used(const std::string& network) const {
    for (const std::string& name : file_.names()) {
      if (used_.contains(name) || name.ends_with(".num_batches_tracked")) continue;
      throw FormatError(file_.source() + ": tensor " + name + " is none of " + network + "'s " +
                        std::to_string(used_.size()) + " weights");
    }
  }

 private:
  SafeTensors file_;
  std::int64_t classes_ = 0;
  std::set<std::string> used_;
};

// Random weights of a size that keeps activations near 1.
Tensor random_weight(std::mt19937& generator, const std::string& name, const Shape& shape) {
  float low = 0, high = 0;  // of biases and means
  if (name.ends_with("running_var"))
    low = 0.5f, high = 1.5f;
  else if (shape.rank() == 1 && name.ends_with(".weight"))
    low = 0.4f, high = 0.8f;
  else if (shape.rank() > 1)
    high = std::sqrt(6 / static_cast<float>(element_count(shape) / shape[0])), low = -high;
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& v : values) v = low + (high - low) * static_cast<float>(generator() >> 8) * 0x1p-24f;
  return Graph::constant(TensorData::of<float>(shape, values), name);
}

// ---- Input and output

// Normalised images and the scores that they should give.
struct Expected {
  Tensor images;
  std::vector<float> scores;
};

Expected read_expected(const std::string& path, std::int64_t classes) {
  const SafeTensors file = SafeTensors::open(path);
  const TensorData &input = file.at("input"), &output = file.at("output");
  if (input.dtype != DType::f32 || input.shape.rank() != 4 || input.shape[1] != 3 || input.shape[2] != input.shape[3]) {
    throw FormatError(path + ": tensor input is " + to_string(TensorType{input.dtype, input.shape}) +
                      ", expected f32 [n, 3, size, size]");
  }
  if (output.dtype != DType::f32 || output.shape != Shape{input.shape[0], classes}) {
    throw FormatError(path + ": tensor output is " + to_string(TensorType{output.dtype, output.shape}) + ", expected " +
                      to_string(TensorType{DType::f32, {input.shape[0], classes}}));
  }
  return {tensor(input), tensor(output).read<float>()};
}

// The largest difference, relative to the largest expected value; NaN if a score is NaN.
double relative_difference(const std::vector<float>& got, const std::vector<float>& expected) {
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double d = std::abs(double{got[i]} - expected[i]);
    if (std::isnan(d)) return d;
    difference = std::max(difference, d);
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return difference / largest;
}

std::vector<std::string> read_classes(const std::string& path, std::int64_t classes) {
  std::ifstream file(path);
  if (!file) throw IoError(path + ": cannot be read");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) names.push_back(line);
  if (static_cast<std::int64_t>(names.size()) != classes) {
    throw InvalidArgument(path + ": " + std::to_string(names.size()) + " lines; the network has " +
                          std::to_string(classes) + " classes");
  }
  return names;
}

void print_best(const Tensor& scores, const std::vector<std::string>& names) {
  const auto [values, indices] = top_k(softmax(scores), std::min<std::int64_t>(5, scores.shape()[1]));
  const auto probability = values.read<float>();
  const auto index = indices.read<std::int32_t>();
  const auto best = static_cast<std::size_t>(values.shape()[1]);
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (i % best == 0 && index.size() > best) std::printf("image %zu\n", i / best);
    const std::string label =
        names.empty() ? "class " + std::to_string(index[i]) : names[static_cast<std::size_t>(index[i])];
    std::printf("  %5.1f %%  %s\n", 100 * probability[i], label.c_str());
  }
}

// ---- Running

// Milliseconds of a run: the median of `repeat` samples. On a GPU a sample is as many runs in a row as take 20 ms, so
// that the device seldom waits for the host.
double time_runs(Executable& executable, const Tensor& images, const Tensor& scores, int repeat) {
  using Clock = std::chrono::steady_clock;
  const auto sample = [&](int runs) {
    const auto start = Clock::now();
    for (int k = 0; k < runs; ++k) executable.run({{"images", images}}, {{"scores", scores}});
    executable.device().wait();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count() / runs;
  };
  sample(1);
  // A GPU that waited while kernels were compiled runs at its idle clock, and takes up to a second of work to leave it.
  const auto start = Clock::now();
  while (executable.device().is_gpu() && Clock::now() - start < std::chrono::seconds(1)) sample(1);
  const int runs = executable.device().is_gpu() ? std::clamp(static_cast<int>(20 / sample(1)), 1, 1000) : 1;
  std::vector<double> samples;
  for (int i = 0; i < repeat; ++i) samples.push_back(sample(runs));
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

int run(const Options& o) {
  const Device device = Device::open(o.device);
  set_default_device(device);  // where pictures are resized
  const NetworkInfo& network = kNetworks.at(o.network);

  // Weights by name: of the file, or random.
  std::optional<FileWeights> file;
  if (!o.random) file.emplace(o.weights, network);
  std::mt19937 generator(1);
  const vision::Weights weights = [&](const std::string& name, const Shape& shape) {
    return file ? file->get(name, shape) : random_weight(generator, name, shape);
  };
  const std::int64_t classes = file ? file->classes() : 1000;
  const auto names = o.classes.empty() ? std::vector<std::string>() : read_classes(o.classes, classes);

  std::optional<Expected> expected;
  if (!o.check.empty()) expected = read_expected(o.check, classes);
  Tensor images;
  if (expected) {
    images = expected->images;
  } else if (!o.image.empty()) {
    // The same picture for each image of a batch.
    const Tensor picture = vision::normalised(vision::read_png(o.image), o.size);
    images = gather(picture, zeros({o.batch}, DType::i32), 0);
  } else {
    images = vision::test_pattern(o.batch, o.size);
  }
  eval(images);

  // The graph is built once, compiled once and run as often as one likes.
  Graph graph(o.network);
  const Tensor x = graph.input("images", DType::f32, images.shape());
  const Tensor y = network.build(x, weights, {.classes = classes, .width = o.width});
  graph.output("scores", y);
  if (file) file->require_all_used(o.network);
  Executable executable =
      compile(graph, device, {.precision = o.precision == "f16" ? Precision::f16 : Precision::strict});
  const Tensor scores(device, DType::f32, y.shape());
  executable.run({{"images", images}}, {{"scores", scores}});

  std::printf("%s, %s, on %s: %zu steps\n", o.network.c_str(), o.precision.c_str(), device.name().c_str(),
              executable.report().steps.size());
  print_best(scores, names);
  if (o.repeat > 0) {
    const double ms = time_runs(executable, images, scores, o.repeat);
    std::printf("%s %s batch %lld: %.3f ms, %.1f images/s\n", o.network.c_str(), o.precision.c_str(),
                static_cast<long long>(images.shape()[0]), ms, static_cast<double>(images.shape()[0]) / ms * 1e3);
  }
  if (expected) {
    const double bound = o.precision == "f16" ? 1e-2 : 1e-4;
    const double difference = relative_difference(scores.read<float>(), expected->scores);
    std::printf("largest relative difference %.2g, the bound is %g\n", difference, bound);
    if (!(difference <= bound)) {
      std::fprintf(stderr, "resnet: the scores are not those of %s\n", o.check.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  Options o;
  CLI::App app("Classifies a picture with ResNet-50 or MobileNet-v3 and prints the five most probable classes.",
               "resnet");
  app.get_formatter()->enable_footer_formatting(false);  // keeps the line breaks
  app.footer(
      "Weights are those of torchvision, saved in Python:\n"
      "  weights = torchvision.models.resnet50(weights=\"DEFAULT\").state_dict()\n"
      "  safetensors.torch.save_file(weights, \"resnet50.safetensors\")\n\n"
      "Examples:\n"
      "  resnet --weights resnet50.safetensors --image cat.png --classes imagenet.txt\n"
      "  resnet --weights mobilenet.safetensors --network mobilenet_v3_large --device cpu\n"
      "  resnet --random --repeat 20 --batch 32 --precision f16       how fast it is, without any file");
  app.add_option("--network", o.network, "resnet50 or mobilenet_v3_large")
      ->check(CLI::IsMember({"resnet50", "mobilenet_v3_large"}))
      ->capture_default_str();
  auto* weights =
      app.add_option("--weights", o.weights, "Safetensors file with torchvision's names and shapes")->type_name("FILE");
  app.add_flag("--random", o.random, "Random weights instead, for timing")->excludes(weights);
  auto* image =
      app.add_option("--image", o.image, "PNG file of any size; without it a pattern of waves")->type_name("FILE");
  app.add_option("--classes", o.classes, "Text file with the name of a class on each line")->type_name("FILE");
  app.add_option("--precision", o.precision, "f32, or f16: weights and intermediate results are stored so")
      ->check(CLI::IsMember({"f32", "f16"}))
      ->capture_default_str();
  app.add_option("--device", o.device, "cpu, gpu, or part of a GPU's name; else $WEFT_DEVICE or the best one");
  auto* batch =
      app.add_option("--batch", o.batch, "Images in a run")->check(CLI::Range(1, 1024))->capture_default_str();
  auto* size = app.add_option("--size", o.size, "Pixels along each side of what the network sees")
                   ->check(CLI::Range(32, 1024))
                   ->capture_default_str();
  app.add_option("--width", o.width, "Channels, as a fraction of the published network's")
      ->check(CLI::Range(1.0 / 64, 8.0))
      ->capture_default_str();
  app.add_option("--repeat", o.repeat, "Times this many runs: milliseconds of the median, images per second")
      ->check(CLI::Range(1, 1000000));
  app.add_option(
         "--check", o.check,
         "Safetensors file with an input [n, 3, size, size] and the output [n, classes] to expect; fails if the "
         "largest difference is more than 1e-4 (f16: 1e-2) of the largest output")
      ->excludes(image)
      ->excludes(batch)
      ->excludes(size);
  try {
    app.parse(argc, argv);
    if (o.weights.empty() && !o.random) throw CLI::RequiredError("--weights FILE or --random");
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return run(o);
} catch (const std::exception& e) {
  std::fprintf(stderr, "resnet: %s\n", e.what());
  return 1;
}
