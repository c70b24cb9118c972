#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/json_reader.h"
#include "weft/profile.h"

namespace weft {

namespace {

using nlohmann::ordered_json;

constexpr int kProcess = 1, kHostTrack = 1, kDeviceTrack = 2;
constexpr const char* kPoolCounter = "GPU memory in use";
constexpr std::array<std::string_view, 3> kArithmetic = {"f32", "f16", "matrix"};  // by Arithmetic

double microseconds(double seconds) { return seconds * 1e6; }

ordered_json track_name(int track, const std::string& name) {
  return {{"ph", "M"}, {"name", "thread_name"}, {"pid", kProcess}, {"tid", track}, {"args", {{"name", name}}}};
}

}  // namespace

std::string chrome_trace(const Profile& profile) {
  ordered_json events = ordered_json::array();
  events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", kProcess}, {"args", {{"name", "weft"}}}});
  events.push_back(track_name(kHostTrack, "host"));
  events.push_back(track_name(kDeviceTrack, profile.device));
  for (const HostSpan& s : profile.host) {
    events.push_back({{"ph", "X"},
                      {"name", s.name},
                      {"cat", "host"},
                      {"pid", kProcess},
                      {"tid", kHostTrack},
                      {"ts", microseconds(s.start)},
                      {"dur", microseconds(s.seconds)}});
  }
  for (const KernelRun& r : profile.runs) {
    const std::string grid = std::format("{} x {} x {}", r.workgroups[0], r.workgroups[1], r.workgroups[2]);
    events.push_back({{"ph", "X"},
                      {"name", r.step.empty() ? r.kernel : r.step},
                      {"cat", "kernel"},
                      {"pid", kProcess},
                      {"tid", kDeviceTrack},
                      {"ts", microseconds(r.start)},
                      {"dur", microseconds(r.seconds)},
                      {"args",
                       {{"step", r.step},
                        {"kernel", r.kernel},
                        {"variant", r.variant},
                        {"why", r.why},
                        {"workgroups", grid},
                        {"bytes", r.work.bytes},
                        {"flops", r.work.flops},
                        {"functions", r.work.functions},
                        {"arithmetic", kArithmetic[static_cast<std::size_t>(r.work.arithmetic)]},
                        {"live_bytes", r.live_bytes}}}});
    events.push_back({{"ph", "C"},
                      {"name", "intermediates"},
                      {"pid", kProcess},
                      {"ts", microseconds(r.start)},
                      {"args", {{"bytes", r.live_bytes}}}});
  }
  for (const MemorySample& m : profile.memory) {
    events.push_back({{"ph", "C"},
                      {"name", kPoolCounter},
                      {"pid", kProcess},
                      {"ts", microseconds(m.at)},
                      {"args", {{"bytes", m.live}}}});
  }
  const ordered_json about = {
      {"device", profile.device}, {"driver", profile.driver}, {"timing", profile.method}, {"seconds", profile.seconds}};
  return ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ns"}, {"otherData", about}}.dump(
             -1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

namespace {

KernelRun run_of(const JsonReader& event) {
  const JsonReader args = event.at("args"), arithmetic = args.at("arithmetic"), grid = args.at("workgroups");
  KernelRun run;
  run.step = args.at("step").text();
  run.kernel = args.at("kernel").text();
  run.variant = args.at("variant").text();
  run.why = args.at("why").text();
  run.work.bytes = static_cast<std::uint64_t>(args.at("bytes").integer(0));
  run.work.flops = args.at("flops").number();
  run.work.functions = args.at("functions").number();
  const auto unit = std::ranges::find(kArithmetic, arithmetic.text());
  if (unit == kArithmetic.end()) arithmetic.expected("f32, f16 or matrix");
  run.work.arithmetic = static_cast<Arithmetic>(unit - kArithmetic.begin());
  run.live_bytes = static_cast<std::uint64_t>(args.at("live_bytes").integer(0));
  if (std::sscanf(grid.text().c_str(), "%" SCNu32 " x %" SCNu32 " x %" SCNu32, &run.workgroups[0], &run.workgroups[1],
                  &run.workgroups[2]) != 3) {
    grid.expected("three numbers such as 4 x 1 x 1");
  }
  run.start = event.at("ts").number() * 1e-6;
  run.seconds = event.at("dur").number() * 1e-6;
  return run;
}

}  // namespace

Profile read_chrome_trace(std::string_view json) {
  const nlohmann::json parsed = parse_json(json, "trace");
  const JsonReader trace(parsed, "trace"), about = trace.at("otherData");
  Profile profile;
  profile.device = about.at("device").text();
  profile.driver = about.at("driver").text();
  profile.method = about.at("timing").text();
  profile.seconds = about.at("seconds").number();
  for (const JsonReader& event : trace.at("traceEvents").elements()) {
    const std::string phase = event.at("ph").text();
    if (phase == "X" && event.at("cat").text() == "kernel") {
      profile.runs.push_back(run_of(event));
    } else if (phase == "X") {
      profile.host.push_back(
          {event.at("name").text(), event.at("ts").number() * 1e-6, event.at("dur").number() * 1e-6});
    } else if (phase == "C" && event.at("name").text() == kPoolCounter) {
      profile.memory.push_back(
          {event.at("ts").number() * 1e-6, static_cast<std::uint64_t>(event.at("args").at("bytes").integer(0))});
    }
  }
  return profile;
}

}  // namespace weft
