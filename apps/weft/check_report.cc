#include "check_report.h"

#include <format>
#include <map>
#include <nlohmann/json.hpp>

#include "webnn/message.h"

namespace weft::app {

CheckCounts count(const FileResult& file) {
  CheckCounts counts;
  for (const CaseResult& c : file.cases) {
    ++(!c.skipped.empty() ? counts.skipped : c.passed() ? counts.passed : counts.failed);
  }
  return counts;
}

CheckCounts count(const std::vector<FileResult>& files) {
  CheckCounts all;
  for (const FileResult& file : files) {
    const CheckCounts one = count(file);
    all.passed += one.passed;
    all.failed += one.failed;
    all.skipped += one.skipped;
  }
  return all;
}

std::string to_string(const CheckCounts& counts) {
  std::string text = std::format("{} passed, {} failed", counts.passed, counts.failed);
  if (counts.skipped) text += std::format(", {} skipped", counts.skipped);
  return text;
}

std::string to_text(const FileResult& file) {
  std::string text = std::format("{}: {}\n", file.path, to_string(count(file)));
  for (const CaseResult& c : file.cases) {
    if (!c.failure.empty())
      text += std::format("  {}\n    {}\n", webnn::printable(c.name), webnn::printable(c.failure));
  }
  std::map<std::string, std::size_t> remarks;
  for (const CaseResult& c : file.cases) {
    if (c.passed() && !c.remark.empty()) ++remarks[c.remark];
  }
  for (const auto& [remark, times] : remarks) text += std::format("  passed {}: {}\n", times, webnn::printable(remark));
  return text;
}

std::string to_json(const std::vector<FileResult>& files, const std::string& device) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const FileResult& file : files) {
    Json cases = Json::array();
    for (const CaseResult& c : file.cases) {
      Json one = {{"name", c.name}, {"passed", c.passed()}};
      if (!c.failure.empty()) one["failure"] = c.failure;
      if (!c.skipped.empty()) one["skipped"] = c.skipped;
      if (!c.remark.empty()) one["remark"] = c.remark;
      cases.push_back(std::move(one));
    }
    const CheckCounts counts = count(file);
    list.push_back({{"path", file.path},
                    {"passed", counts.passed},
                    {"failed", counts.failed},
                    {"skipped", counts.skipped},
                    {"seconds", file.seconds},
                    {"cases", std::move(cases)}});
  }
  const CheckCounts counts = count(files);
  const Json all = {{"device", device},
                    {"passed", counts.passed},
                    {"failed", counts.failed},
                    {"skipped", counts.skipped},
                    {"files", std::move(list)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::app
