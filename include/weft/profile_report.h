// A profile to be read, as `weft profile` writes it: the calls of one step by one form of a kernel are added up, and
// shown as a table, JSON or a page. (For a timeline in Perfetto see chrome_trace() in weft/profile.h.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/calibration.h"
#include "weft/compile.h"
#include "weft/profile.h"

namespace weft {

// All calls of one step by one form of a kernel.
struct ProfileRow {
  std::string step, kernel, variant, why;
  std::int64_t calls = 0;
  double seconds = 0;
  Work work;            // of all calls
  double share = 0;     // of all kernels' time
  double of_limit = 0;  // the least time by the calibration, divided by the time taken
};

struct ProfileReport {
  Profile profile;
  Calibration limits;
  std::string title;                // what was profiled
  int repeats = 1;                  // of the profiled work
  std::vector<ProfileRow> rows;     // most time first
  std::vector<std::size_t> row_of;  // of each run
  double kernel_seconds = 0;
  Work work;
  std::optional<CompileReport> compiled;  // of the graph, if one was profiled
  std::uint64_t constant_bytes = 0;       // of the weights, where they are known
  bool dispatches = false;                // whether each one is listed
};

// `repeats`: how often the profiled work ran; the table shows times of one run. Without limits, Calibration(), nothing
// is compared with what the device can do.
ProfileReport make_report(Profile profile, const Calibration& limits, std::string title, int repeats);

// At most `rows` lines; 0: all. The dispatches of the first run come first, if they are listed.
std::string profile_table(const ProfileReport& report, std::size_t rows);
// The whole report as a JSON object.
std::string profile_json(const ProfileReport& report);
// One self-contained HTML page: timeline, roofline, memory over time, table.
std::string profile_page(const ProfileReport& report);

}  // namespace weft
