#include <nlohmann/json.hpp>

#include "weft/profile.h"

namespace weft {

namespace {

using nlohmann::ordered_json;

constexpr int kProcess = 1, kHostTrack = 1, kDeviceTrack = 2;

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
    events.push_back({{"ph", "X"}, {"name", s.name}, {"cat", "host"}, {"pid", kProcess}, {"tid", kHostTrack},
                      {"ts", microseconds(s.start)}, {"dur", microseconds(s.seconds)}});
  }
  for (const KernelRun& r : profile.runs) {
    const std::string grid = std::format("{} x {} x {}", r.workgroups[0], r.workgroups[1], r.workgroups[2]);
    events.push_back({{"ph", "X"}, {"name", r.step.empty() ? r.kernel : r.step}, {"cat", "kernel"}, {"pid", kProcess},
                      {"tid", kDeviceTrack}, {"ts", microseconds(r.start)}, {"dur", microseconds(r.seconds)},
                      {"args", {{"kernel", r.kernel}, {"variant", r.variant}, {"why", r.why}, {"workgroups", grid},
                                {"bytes", r.work.bytes}, {"flops", r.work.flops}}}});
    events.push_back({{"ph", "C"}, {"name", "intermediates"}, {"pid", kProcess}, {"ts", microseconds(r.start)},
                      {"args", {{"bytes", r.live_bytes}}}});
  }
  for (const MemorySample& m : profile.memory) {
    events.push_back({{"ph", "C"}, {"name", "GPU memory in use"}, {"pid", kProcess}, {"ts", microseconds(m.at)},
                      {"args", {{"bytes", m.live}}}});
  }
  const ordered_json about = {{"device", profile.device}, {"driver", profile.driver}, {"timing", profile.method}};
  return ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ns"}, {"otherData", about}}.dump() + "\n";
}

}  // namespace weft
