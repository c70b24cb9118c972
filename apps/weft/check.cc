// weft check: conformance data against this library.

#include <algorithm>
#include <filesystem>
#include <format>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command_line.h"
#include "commands.h"
#include "core/format.h"
#include "core/json_reader.h"
#include "core/mapped_file.h"
#include "core/suffix.h"
#include "output.h"
#include "webnn_check/data_cases.h"
#include "webnn_check/programs.h"
#include "webnn_check/report.h"
#include "weft/error.h"
#include "weft/webnn.h"

namespace weft::app {
namespace {

struct CheckArguments {
  std::vector<std::string> paths;
  std::string filter, json;
  bool fail_fast = false;
};

constexpr const char* kFooter = R"(The files
  A file is a list of cases; DIR stands for all *.json files in and below it. A data case is a graph with its
  inputs, and the outputs that are expected within a tolerance; on a GPU it passes only if a kernel ran there:
    {"name": …, "graph": {"inputs": {NAME: {"data", "descriptor": {"dataType", "shape"}, "constant"}},
       "operators": [{"name", "arguments": [{ARGUMENT: VALUE}, …], "outputs"}],
       "expectedOutputs": {NAME: {"data", "descriptor"}}},
     "tolerance": {"metricType": "ULP", "ATOL" or "RELATIVE", "value": …}}
  A program is a list of calls, and of what each returns or which error it throws:
    {"name": …, "steps": [{"do": METHOD, "on": ID, "args": […], "out": ID, "expect": "ok" or ERROR}, …]}
  docs/conformance.md has the rest.

Examples
  weft check webnn conformance
  weft check webnn --device cpu --filter 'float16 4D' conformance/conv2d.json
  weft check webnn --json results.json conformance; jq '.files[].cases[] | select(.passed | not)' results.json
)";

// The files that paths stand for; those in and below a directory in the order of their names.
std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (has_suffix(entry.path().string(), ".json")) inside.push_back(entry.path().string());
    }
    if (inside.empty()) throw IoError("{}: there is no *.json file in or below this directory", path);
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::string name_of(const JsonReader& test) {
  const auto variant = test.find("variant");
  return test.at("name").text() + (variant ? std::format(" [{}]", variant->text()) : "");
}

class Check {
 public:
  explicit Check(const CheckArguments& arguments)
      : arguments_(arguments), device_(Device::open()), context_(webnn::Context::create(device_)) {}

  void run(const std::vector<std::string>& files, Output& out, Progress& progress) {
    const bool only_json = arguments_.json == "-";
    // Opened before the work, so that a name that cannot be written costs no time.
    std::optional<Output> json;
    if (!arguments_.json.empty()) json.emplace(arguments_.json);
    progress.begin();
    for (std::size_t i = 0; i < files.size(); ++i) {
      progress.update(i, checked_);
      run_file(files[i], progress, i);
      if (!results_.back().cases.empty() && !only_json) {
        progress.clear();
        out.write(to_text(results_.back()));
        out.flush();
      }
      if (stopped_) break;
    }
    progress.end();
    if (!only_json) out.write(app::to_string(count(results_)) + "\n");
    out.commit();
    if (json) {
      json->write(to_json(results_, device_.name()));
      json->commit();
    }
  }

  CheckCounts counts() const { return count(results_); }

 private:
  void run_file(const std::string& path, Progress& progress, std::size_t index) {
    const nlohmann::json json = parse_json(read_file(path), path, RepeatedKeys::refused);
    FileResult result{.path = path, .cases = {}};
    const double start = seconds_now();
    for (const JsonReader& test : JsonReader(json, path).elements()) {
      const bool data = test.has("graph");
      if (!data && !test.has("steps")) test.expected("a test case, with a \"graph\" or \"steps\"");
      const std::string name = name_of(test);
      if (name.find(arguments_.filter) == std::string::npos) continue;
      result.cases.push_back(data ? run_data_case(context_, test) : run_program(device_, test));
      result.cases.back().name = name;
      progress.update(index, ++checked_);
      stopped_ = arguments_.fail_fast && !result.cases.back().passed();
      if (stopped_) break;
    }
    result.seconds = seconds_now() - start;
    results_.push_back(std::move(result));
  }

  const CheckArguments& arguments_;
  Device device_;
  webnn::Context context_;
  std::vector<FileResult> results_;
  std::size_t checked_ = 0;
  bool stopped_ = false;
};

void run(const CheckArguments& arguments) {
  refuse_dispatch_only("results");
  const std::vector<std::string> files = files_of(arguments.paths);
  Progress progress("checking", files.size(), true, "opening the device");
  Check check(arguments);
  Output out("-");
  check.run(files, out, progress);
  const CheckCounts counts = check.counts();
  if (counts.failed > 0) throw Reported();
  if (counts.passed > 0) return;
  if (arguments.filter.empty()) throw InvalidArgument("nothing was checked: there is no case in these files");
  throw InvalidArgument("nothing was checked: no case's name holds '{}'", arguments.filter);
}

}  // namespace

void add_check(CLI::App& app) {
  auto a = std::make_shared<CheckArguments>();
  CLI::App* check = app.add_subcommand("check", "Run conformance data: is what is computed here what should be?");
  check->require_subcommand(1);
  CLI::App* webnn = check->add_subcommand("webnn", "Run data cases and programs of the Web Neural Network API");
  webnn->add_option("FILE|DIR", a->paths, "Files of cases, or directories of such files")
      ->required()
      ->check(check_path);
  webnn->add_option("--filter", a->filter, "Only cases whose name holds this");
  webnn
      ->add_option("--json", a->json,
                   "Write all results to this file, too, as JSON; '-' prints them instead of the text")
      ->check(check_path);
  webnn->add_flag("--fail-fast", a->fail_fast, "End at the first failure");
  add_device(*webnn);
  webnn->footer(kFooter);
  webnn->callback([a] { run(*a); });
}

}  // namespace weft::app
