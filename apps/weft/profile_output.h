// What weft profile and weft run --profile tell of a profile: a table or JSON, a trace, a page.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "output.h"
#include "weft/compile.h"
#include "weft/profile.h"

namespace weft::app {

struct ReportArguments {
  std::string trace, html;
  int runs = 10;
  bool json = false, all = false, dispatches = false;
};

// --trace, --html, --json, --dispatches and --all.
void add_report_options(CLI::App& command, ReportArguments& arguments);

// The requested files, opened before the work, so that a name that cannot be written costs no time.
struct ReportFiles {
  explicit ReportFiles(const ReportArguments& a) {
    if (!a.trace.empty()) trace.emplace(a.trace);
    if (!a.html.empty()) page.emplace(a.html);
  }
  std::optional<Output> trace, page;
};

// Writes what was asked for; the table or the JSON to standard output.
void write_report(const ReportArguments& arguments, ReportFiles& files, Profile profile, const Device& device,
                  std::string title, std::optional<CompileReport> compiled = {}, std::uint64_t constant_bytes = 0);

}  // namespace weft::app
