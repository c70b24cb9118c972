#include "profile_output.h"

#include <cstdio>

#include "command_line.h"
#include "weft/calibration.h"
#include "weft/error.h"
#include "weft/profile_report.h"

namespace weft::app {
namespace {

std::string is_file(const std::string& path) {
  return path == "-" ? "'-' is where the table or the JSON goes; name a file" : "";
}

// Returns nothing, with a warning, if calibration needs more than the device has: the profile is useful without it.
Calibration limits_of(const Device& device) {
  try {
    return Calibration::load_or_measure(device);
  } catch (const Error& e) {
    std::fprintf(stderr, "weft: the profile is without limits, since the device could not be measured: %s\n", e.what());
    return {};
  }
}

}  // namespace

void add_report_options(CLI::App& command, ReportArguments& a) {
  command.add_option("--trace", a.trace, "Write a trace for ui.perfetto.dev or chrome://tracing to this file")
      ->check(check_path)
      ->check(is_file);
  command.add_option("--html", a.html, "Write a page with timeline, roofline and memory to this file")
      ->check(check_path)
      ->check(is_file);
  command.add_flag("--json", a.json, "Write JSON instead of the table");
  command.add_flag("--dispatches", a.dispatches,
                   "List every dispatch of a run, too: grid, bytes, operations, form and why");
  command.add_flag("--all", a.all, "All rows, not the 30 that take most time");
}

void write_report(const ReportArguments& a, ReportFiles& files, Profile profile, const Device& device,
                  std::string title, std::optional<CompileReport> compiled, std::uint64_t constant_bytes) {
  ProfileReport r = make_report(std::move(profile), limits_of(device), std::move(title), a.runs);
  r.constant_bytes = compiled ? compiled->constant_bytes : constant_bytes;
  r.compiled = std::move(compiled);
  r.dispatches = a.dispatches;
  Output out("-");
  out.write(a.json ? profile_json(r) : profile_table(r, a.all ? 0 : 30));
  out.commit();
  const auto write = [](std::optional<Output>& file, const std::string& path, auto&& text) {
    if (!file) return;
    file->write(text());
    file->commit();
    std::fprintf(stderr, "weft: %s written\n", path.c_str());
  };
  write(files.trace, a.trace, [&] { return chrome_trace(r.profile); });
  write(files.page, a.html, [&] { return profile_page(r); });
}

}  // namespace weft::app
