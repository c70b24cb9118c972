#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench.h"
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

struct Report::Result {
  std::string name, unit;
  double value;
  bool larger_is_better;
  ordered_json json;
};

Report::Report(const Options& options) : options_(options) {
  if (options.compare.empty()) return;
  std::ifstream file(options.compare);
  if (!file) throw IoError("{}: cannot be read", options.compare);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] != '{') continue;
    const auto json = ordered_json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.contains("name") || !json.contains("value")) {
      throw IoError("{}: line {} is not a result of weft_bench --json or of torch_kernels.py", options.compare, number);
    }
    before_.push_back({json["name"], json.value("unit", ""), json["value"], true, json});
  }
}

Report::~Report() = default;

void Report::add(const std::string& name, double value, const std::string& unit, bool larger_is_better,
                 const ordered_json& details, const std::string& text) {
  ordered_json json = {{"name", name}, {"value", value}, {"unit", unit}};
  json.update(details);
  std::string line = options_.json ? json.dump() : text;
  const auto before = std::ranges::find_if(before_, [&](const Result& r) { return r.name == name && r.unit == unit; });
  if (before != before_.end() && !options_.json) {
    const double ratio = larger_is_better ? value / before->value : before->value / value;
    line += std::format("   {:.2f}x of {:.4g}", ratio, before->value);
  }
  results_.push_back({name, unit, value, larger_is_better, json});
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Report::write() const {
  if (!options_.output.empty()) {
    std::ofstream file(options_.output);
    for (const Result& r : results_) file << r.json.dump() << '\n';
    if (!file.flush()) throw IoError("{}: cannot be written", options_.output);
  }
  if (options_.plot.empty()) return;
  // Bars, a scale for each unit; a thin line marks the result compared with.
  constexpr int kRow = 22, kLeft = 330, kBar = 480, kTop = 34;
  std::ofstream svg(options_.plot);
  svg << std::format("<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' font-size='12'>\n"
                     "<style>text{{fill:#222}} .b{{fill:#3b7dd8}} .p{{fill:#e07b39}} rect.g{{fill:#fff}}"
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
    svg << std::format("<text x='{}' y='{}' text-anchor='end'>{}</text><rect class='b' x='{}' y='{}' width='{:.1f}' height='14'/>"
                       "<text x='{:.1f}' y='{}'>{:.4g} {}</text>",
                       kLeft - 8, y + 11, escaped(r.name), kLeft, y, kBar * r.value / largest,
                       kLeft + kBar * r.value / largest + 6, y + 11, r.value, escaped(r.unit));
    if (before) svg << std::format("<rect class='p' x='{:.1f}' y='{}' width='3' height='18'/>", kLeft + kBar * before->value / largest - 1, y - 2);
    svg << '\n';
    y += kRow;
  }
  svg << "</svg>\n";
  if (!svg.flush()) throw IoError("{}: cannot be written", options_.plot);
}

}  // namespace weft::bench
