// weft check: conformance data against this library.

#include <algorithm>
#include <filesystem>
#include <format>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "check_report.h"
#include "command_line.h"
#include "commands.h"
#include "core/format.h"
#include "core/json_reader.h"
#include "core/mapped_file.h"
#include "core/suffix.h"
#include "onnx_check/cases.h"
#include "output.h"
#include "webnn_check/data_cases.h"
#include "webnn_check/programs.h"
#include "weft/error.h"
#include "weft/webnn.h"

namespace weft::app {
namespace {

struct CheckArguments {
  std::vector<std::string> paths;
  std::string filter, json, fallback;
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

// ---- ONNX's backend tests

constexpr const char* kOnnxFooter = R"(The folders
  A case is a folder with model.onnx and test_data_set_0, test_data_set_1, …, which have input_0.pb, … and the
  expected output_0.pb, …; a case is run where a folder is given, or is in or below one. Debian has ONNX's own:
  apt install libonnx-testdata. Cases with types that Weft lacks (strings, …) are skipped.

Examples
  weft check onnx /usr/share/libonnx-testdata/data/node
  weft check onnx --device cpu --filter test_resize /usr/share/libonnx-testdata/data/node
  weft check onnx --device gpu --fallback cpu /usr/share/libonnx-testdata/data/node
)";

void run_onnx(const CheckArguments& arguments) {
  refuse_dispatch_only("results");
  std::vector<std::filesystem::path> cases = onnx_cases(arguments.paths);
  std::erase_if(cases,
                [&](const auto& c) { return c.filename().string().find(arguments.filter) == std::string::npos; });
  if (cases.empty()) throw InvalidArgument("nothing was checked: no case's name holds '{}'", arguments.filter);
  const bool only_json = arguments.json == "-";
  std::optional<Output> json;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  const Device device = Device::open();
  Progress progress("checking", cases.size(), true, "opening the device");
  FileResult all{.path = arguments.paths[0], .cases = {}};
  Output out("-");
  progress.begin();
  const double start = seconds_now();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    progress.update(i, i);
    all.cases.push_back(run_onnx_case(cases[i], device, fallback_device(arguments.fallback)));
    if (arguments.fail_fast && !all.cases.back().failure.empty()) break;
  }
  all.seconds = seconds_now() - start;
  progress.end();
  std::map<std::string, std::size_t> skipped;
  for (const CaseResult& c : all.cases) {
    if (!c.skipped.empty()) ++skipped[c.skipped];
  }
  if (!only_json) {
    out.write(to_text(all));
    for (const auto& [why, number] : skipped) out.write(std::format("  skipped {}: {}\n", number, why));
    out.write(app::to_string(count(all)) + "\n");
  }
  out.commit();
  if (json) {
    json->write(to_json({all}, device.name()));
    json->commit();
  }
  if (count(all).failed > 0) throw Reported();
}

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
  const auto add = [&](const char* name, const char* what, const char* paths, const char* footer) {
    CLI::App* command = check->add_subcommand(name, what);
    command->add_option(paths, a->paths, "What is run, or directories of it")->required()->check(check_path);
    command->add_option("--filter", a->filter, "Only cases whose name holds this");
    command
        ->add_option("--json", a->json,
                     "Write all results to this file, too, as JSON; '-' prints them instead of the text")
        ->check(check_path);
    command->add_flag("--fail-fast", a->fail_fast, "End at the first failure");
    add_device(*command);
    command->footer(footer);
    return command;
  };
  CLI::App* webnn = add("webnn", "Run data cases and programs of the Web Neural Network API", "FILE|DIR", kFooter);
  CLI::App* onnx = add("onnx", "Run folders of ONNX's backend tests", "DIR", kOnnxFooter);
  add_fallback(*onnx, a->fallback);
  onnx->callback([a] { run_onnx(*a); });
  webnn->callback([a] { run(*a); });
}

}  // namespace weft::app
