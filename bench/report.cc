#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench.h"
#include "core/format.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

using nlohmann::ordered_json;

std::string escaped(const std::string& text) {
  std::string s;
  for (char c : text) s += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return s;
}

}  // namespace

void add_report_options(CLI::App& app, Options& o) {
  app.add_option("--device", o.device, "cpu, gpu, or an adapter's number, backend or part of its name; none: the best");
  add_seconds_option(app, o.timing);
  app.add_flag("--json", o.json, "A JSON line a result");
  app.add_option("--output", o.output, "Write the results there too, a JSON line each");
  app.add_option("--compare", o.compare, "Results to compare with: --output of another run, or torch_kernels.py's")
      ->check(CLI::ExistingFile);
  app.add_option("--plot", o.plot, "Draw the results there, as SVG");
}

Report::Report(const Options& options) : options_(options) {
  if (!options.compare.empty()) read_before();
  if (!options.output.empty()) {
    output_.open(options.output);
    if (!output_) throw IoError("{}: cannot be written", options.output);
  }
  if (!options.plot.empty() && !std::ofstream(options.plot, std::ios::app)) {
    throw IoError("{}: cannot be written", options.plot);
  }
}

void Report::read_before() {
  std::ifstream file(options_.compare);
  if (!file) throw IoError("{}: cannot be read", options_.compare);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] != '{') continue;
    const auto json = ordered_json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("name") || !json.contains("value") || !json["name"].is_string() ||
        !json["value"].is_number()) {
      throw FormatError("{}: line {} is not a result of weft_bench --json or of torch_kernels.py", options_.compare,
                        number);
    }
    before_.push_back({json["name"], json.value("unit", ""), json["value"]});
  }
  if (before_.empty()) {
    throw FormatError("{}: no line of it is a result of weft_bench --json or of torch_kernels.py", options_.compare);
  }
}

void Report::add(const std::string& name, double value, const std::string& unit, bool larger_is_better,
                 const ordered_json& details, const std::string& text) {
  ordered_json json = {{"name", name}, {"value", value}, {"unit", unit}};
  json.update(details);
  std::string line = text;
  const auto before = std::ranges::find_if(before_, [&](const Result& r) { return r.name == name && r.unit == unit; });
  if (before != before_.end()) {
    const double ratio = larger_is_better ? value / before->value : before->value / value;
    line += std::format("   {:.2f}x of {:.4g}", ratio, before->value);
    json["before"] = before->value;
    json["ratio"] = ratio;  // above 1: faster than the other
  }
  results_.push_back({name, unit, value});
  std::printf("%s\n", options_.json ? json.dump().c_str() : line.c_str());
  std::fflush(stdout);
  if (output_.is_open() && !(output_ << json.dump() << '\n' << std::flush)) {
    throw IoError("{}: cannot be written", options_.output);
  }
}

void Report::draw() const {
  if (options_.plot.empty()) return;
  // Bars, with a scale for each unit; a thin line marks the result compared with.
  constexpr int kRow = 22, kLeft = 330, kBar = 480, kTop = 34;
  std::ofstream svg(options_.plot);
  svg << std::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' "
      "font-size='12'>\n<style>text{{fill:#222}} .b{{fill:#3b7dd8}} .p{{fill:#e07b39}} rect.g{{fill:#fff}}"
      "@media(prefers-color-scheme:dark){{text{{fill:#ddd}} rect.g{{fill:#161616}}}}</style>\n"
      "<rect class='g' width='100%' height='100%'/>\n<text x='10' y='20' font-size='14'>{}</text>\n",
      kLeft + kBar + 110, kTop + kRow * static_cast<int>(results_.size()) + 10,
      before_.empty() ? "weft_bench" : "weft_bench; the mark is " + escaped(options_.compare));
  int y = kTop;
  for (const Result& r : results_) {
    double largest = 0;
    const Result* before = nullptr;
    for (const Result& other : results_) {
      if (other.unit == r.unit) largest = std::max(largest, other.value);
    }
    for (const Result& other : before_) {
      if (other.unit == r.unit) largest = std::max(largest, other.value);
      if (other.unit == r.unit && other.name == r.name) before = &other;
    }
    const auto length = [&](double value) { return largest > 0 ? kBar * value / largest : 0; };
    svg << std::format(
        "<text x='{}' y='{}' text-anchor='end'>{}</text>"
        "<rect class='b' x='{}' y='{}' width='{:.1f}' height='14'/>"
        "<text x='{:.1f}' y='{}'>{:.4g} {}</text>",
        kLeft - 8, y + 11, escaped(r.name), kLeft, y, length(r.value), kLeft + length(r.value) + 6, y + 11, r.value,
        escaped(r.unit));
    if (before) {
      svg << std::format("<rect class='p' x='{:.1f}' y='{}' width='3' height='18'/>", kLeft + length(before->value) - 1,
                         y - 2);
    }
    svg << '\n';
    y += kRow;
  }
  svg << "</svg>\n";
  if (!svg.flush()) throw IoError("{}: cannot be written", options_.plot);
}

}  // namespace weft::bench
