// The demo: embeds the sentences of a text file on every available device, and shows the nearest ones for a few
// queries, how closely the devices agree, and how fast each is.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "weft/error.h"
#include "weft/gpu.h"
#include "weft/models.h"

namespace {

using namespace weft;

const std::vector<std::string> kQueries = {
    "How do I bake a loaf that rises?",
    "a goal just before the final whistle",
    "My computer crashed because it had no RAM left.",
    "creatures that live in the ocean",
    "Money loses its value over time.",
};

struct Run {
  std::string device;
  std::vector<float> sentences, queries;  // [n, dimension]
  double milliseconds = 0;                // all sentences, text in, vectors out; median
};

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw IoError(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

float cosine(std::span<const float> a, std::span<const float> b) {
  double sum = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return static_cast<float>(sum / std::sqrt(aa * bb));
}

std::span<const float> row(const std::vector<float>& matrix, std::size_t i, std::size_t dimension) {
  return std::span(matrix).subspan(i * dimension, dimension);
}

Run embed_on(const Device& device, const std::string& model, const std::vector<std::string>& sentences) {
  using Clock = std::chrono::steady_clock;
  auto encoder = models::load(model, device);
  Run run{.device = device.name(), .sentences = {}, .queries = encoder.embed(kQueries).read<float>()};
  run.sentences = encoder.embed(sentences).read<float>();  // everything is compiled now
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < 3 || (Clock::now() - begin < std::chrono::seconds(1) && times.size() < 50)) {
    const auto start = Clock::now();
    run.sentences = encoder.embed(sentences).read<float>();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::ranges::sort(times);
  run.milliseconds = times[times.size() / 2];
  return run;
}

// Every adapter once, whatever its backend: hardware GPUs, the first software one, then the cpu.
std::vector<Device> devices_at_hand() {
  std::vector<Device> devices;
  std::vector<std::string> seen;
  bool software = false;
  for (const gpu::AdapterInfo& adapter : gpu::adapters()) {
    if (adapter.software() ? software : std::ranges::find(seen, adapter.name) != seen.end()) continue;
    seen.push_back(adapter.name);
    software |= adapter.software();
    devices.push_back(Device::open(std::to_string(adapter.index)));
  }
  devices.push_back(Device::cpu());
  return devices;
}

void show_nearest(const Run& run, const std::vector<std::string>& sentences, std::size_t dimension) {
  for (std::size_t q = 0; q < kQueries.size(); ++q) {
    std::printf("\n  “%s”\n", kQueries[q].c_str());
    std::vector<std::pair<float, std::size_t>> scores;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      scores.emplace_back(cosine(row(run.queries, q, dimension), row(run.sentences, i, dimension)), i);
    }
    std::ranges::partial_sort(scores, scores.begin() + 3, std::ranges::greater());
    for (int k = 0; k < 3; ++k) std::printf("    %.3f  %s\n", scores[k].first, sentences[scores[k].second].c_str());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string model, file = WEFT_DEMO_SENTENCES;
  CLI::App app("Embeds the sentences of a text file on every device at hand and compares them");
  app.add_option("--model", model, "Directory of the model in Hugging Face's layout")->required();
  app.add_option("FILE", file, "Sentences, a line each")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const std::vector<std::string> sentences = read_lines(file);
  if (sentences.size() < 3) {
    throw InvalidArgument(file + ": " + std::to_string(sentences.size()) + " sentences; the demo needs at least 3");
  }

  std::vector<Run> runs;
  for (const Device& device : devices_at_hand()) {
    std::printf("%s: embedding %zu sentences…\n", device.name().c_str(), sentences.size());
    std::fflush(stdout);
    runs.push_back(embed_on(device, model, sentences));
  }
  const Run& cpu = runs.back();
  const std::size_t dimension = cpu.sentences.size() / sentences.size();

  std::printf("\nNearest sentences, from %s", runs.front().device.c_str());
  show_nearest(runs.front(), sentences, dimension);

  std::printf("\n%-44s %10s %14s %18s %14s\n", "device", "ms", "sentences/s", "smallest cosine", "largest error");
  bool agree = true;
  for (const Run& run : runs) {
    float worst = 1, error = 0;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      worst = std::min(worst, cosine(row(run.sentences, i, dimension), row(cpu.sentences, i, dimension)));
    }
    for (std::size_t i = 0; i < cpu.sentences.size(); ++i) {
      error = std::max(error, std::abs(run.sentences[i] - cpu.sentences[i]));
    }
    agree &= worst >= 0.99999f;
    std::printf("%-44s %10.1f %14.0f %18.7f %14.1e\n", run.device.c_str(), run.milliseconds,
                1e3 * static_cast<double>(sentences.size()) / run.milliseconds, worst, error);
  }
  std::printf("Cosine and error compare each device's vectors with the cpu's.\n");
  if (!agree) std::fprintf(stderr, "weft-demo: the devices disagree: a cosine is below 0.99999\n");
  return agree ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "weft-demo: %s\n", e.what());
  return 1;
}
