// What a run of conformance data found, and how it is told.
#pragma once

#include <string>
#include <vector>

namespace weft::app {

struct CaseResult {
  std::string name;
  std::string failure = {};  // the first thing that was not as expected
  std::string skipped = {};  // why it was not run
  std::string remark = {};   // what of it was not compared, if it passed
  bool passed() const { return failure.empty() && skipped.empty(); }
};

struct FileResult {
  std::string path;
  std::vector<CaseResult> cases;
  double seconds = 0;
};

struct CheckCounts {
  std::size_t passed = 0, failed = 0, skipped = 0;
};
CheckCounts count(const FileResult& file);
CheckCounts count(const std::vector<FileResult>& files);
std::string to_string(const CheckCounts& counts);  // "12 passed, 3 failed", ", 1 skipped" if any was

// A line for the file, and one for each failure.
std::string to_text(const FileResult& file);
// Everything, as JSON.
std::string to_json(const std::vector<FileResult>& files, const std::string& device);

}  // namespace weft::app
