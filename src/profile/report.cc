#include "weft/profile_report.h"

#include <algorithm>
#include <format>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "kernels/family.h"
#include "profile/page.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

// The width of a cell is counted in characters, not bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(std::string text, std::size_t width, bool right) {
  const std::size_t have = width_of(text);
  if (have >= width) return text;
  return right ? std::string(width - have, ' ') + text : text + std::string(width - have, ' ');
}

std::string shortened(const std::string& text, std::size_t most) {
  if (width_of(text) <= most) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size() && width_of(out) + 1 < most + ((text[i] & 0xC0) == 0x80); ++i) out += text[i];
  return out + "…";
}

std::string time_text(double seconds) {
  if (seconds >= 1) return std::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return std::format("{:.3f} ms", seconds * 1e3);
  return std::format("{:.1f} µs", seconds * 1e6);
}

ordered_json to_json(const ProfileRow& r) {
  return {{"step", r.step},
          {"kernel", r.kernel},
          {"family", kernels::kernel_family(r.kernel)},
          {"variant", r.variant},
          {"why", r.why},
          {"calls", r.calls},
          {"seconds", r.seconds},
          {"share", r.share},
          {"bytes", r.work.bytes},
          {"flops", r.work.flops},
          {"bytes_per_second", rate(static_cast<double>(r.work.bytes), r.seconds)},
          {"flops_per_second", rate(r.work.flops, r.seconds)},
          {"of_limit", r.of_limit}};
}

std::span<const KernelRun> first_run(const ProfileReport& r) {
  return std::span(r.profile.runs).first(r.profile.runs.size() / static_cast<std::size_t>(r.repeats));
}

ordered_json dispatches_json(const ProfileReport& r) {
  ordered_json list = ordered_json::array();
  for (const KernelRun& d : first_run(r)) {
    list.push_back({{"step", d.step},
                    {"kernel", d.kernel},
                    {"variant", d.variant},
                    {"why", d.why},
                    {"workgroups", d.workgroups},
                    {"bytes", d.work.bytes},
                    {"flops", d.work.flops},
                    {"seconds", d.seconds}});
  }
  return list;
}

ordered_json summary(const ProfileReport& r) {
  ordered_json json{{"title", r.title},
                    {"device", r.profile.device},
                    {"driver", r.profile.driver},
                    {"timing", r.profile.method},
                    {"repeats", r.repeats},
                    {"seconds", r.profile.seconds},
                    {"kernel_seconds", r.kernel_seconds},
                    {"dispatches", r.profile.runs.size()},
                    {"bytes", r.work.bytes},
                    {"flops", r.work.flops},
                    {"calibration", ordered_json::parse(to_json(r.limits))}};
  if (r.constant_bytes) json["constant_bytes"] = r.constant_bytes;
  if (r.compiled) {
    json["planned_memory"] = {{"intermediates", r.compiled->planned_bytes},
                              {"alive_at_once", r.compiled->liveness_bound},
                              {"constants", r.compiled->constant_bytes}};
  }
  if (r.dispatches) json["dispatch_report"] = dispatches_json(r);
  return json;
}

}  // namespace

ProfileReport make_report(Profile profile, const Calibration& limits, std::string title, int repeats) {
  ProfileReport report;
  report.limits = limits;
  report.title = std::move(title);
  report.repeats = repeats;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  std::vector<std::size_t> row_of;
  std::vector<ProfileRow> rows;
  for (const KernelRun& run : profile.runs) {
    // Layers whose steps differ in their labels only share a row.
    const std::string step = run.step.empty() ? run.kernel : run.step.substr(0, run.step.find(" \""));
    const auto [it, fresh] = index.emplace(std::tuple(step, run.kernel, run.variant), rows.size());
    if (fresh) rows.push_back({step, run.kernel, run.variant, run.why});
    ProfileRow& row = rows[it->second];
    ++row.calls;
    row.seconds += run.seconds;
    row.work.bytes += run.work.bytes;
    row.work.flops += run.work.flops;
    row.work.arithmetic = run.work.arithmetic;
    row.of_limit += limits.limit_seconds(run.work);
    row_of.push_back(it->second);
    report.kernel_seconds += run.seconds;
    report.work.bytes += run.work.bytes;
    report.work.flops += run.work.flops;
  }
  std::vector<std::size_t> order(rows.size()), place(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return rows[i].seconds; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    ProfileRow& row = report.rows.emplace_back(std::move(rows[order[i]]));
    row.of_limit = rate(row.of_limit, row.seconds);
    row.share = rate(row.seconds, report.kernel_seconds);
  }
  for (const std::size_t i : row_of) report.row_of.push_back(place[i]);
  report.profile = std::move(profile);
  return report;
}

std::string profile_table(const ProfileReport& r, std::size_t most) {
  struct Column {
    const char* head;
    bool right;
  };
  constexpr Column kColumns[] = {{"step", false}, {"calls", true}, {"time a run", true},
                                 {"share", true}, {"GB/s", true},  {"GFLOP/s", true},
                                 {"limit", true}, {"form", false}, {"why", false}};
  constexpr std::size_t kCount = std::size(kColumns);
  std::vector<std::array<std::string, kCount>> lines;
  const std::size_t shown = most == 0 ? r.rows.size() : std::min(most, r.rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ProfileRow& row = r.rows[i];
    lines.push_back({shortened(row.step, 52), std::format("{:.4g}", static_cast<double>(row.calls) / r.repeats),
                     time_text(row.seconds / r.repeats), std::format("{:.1f}%", row.share * 100),
                     std::format("{:.1f}", rate(static_cast<double>(row.work.bytes), row.seconds) * 1e-9),
                     row.work.flops > 0 ? std::format("{:.1f}", rate(row.work.flops, row.seconds) * 1e-9) : "",
                     r.limits.copy_bandwidth > 0 ? std::format("{:.0f}%", row.of_limit * 100) : "",
                     shortened(row.variant, 40), row.why});
  }
  std::array<std::size_t, kCount> widths{};
  for (std::size_t c = 0; c < kCount; ++c) {
    widths[c] = width_of(kColumns[c].head);
    for (const auto& line : lines) widths[c] = std::max(widths[c], width_of(line[c]));
  }
  std::string text;
  if (r.dispatches) {
    std::size_t i = 0;
    for (const KernelRun& d : first_run(r)) {
      text += std::format("{:4}  {} · {}", i++, d.step, d.kernel);
      const auto [x, y, z] = d.workgroups;
      if (x) text += std::format(" · {} × {} × {} workgroups", x, y, z);
      text += std::format(" · {} bytes · {:.4g} FLOP", d.work.bytes, d.work.flops);
      if (!d.variant.empty()) text += std::format(" · {} ({})", d.variant, d.why);
      text += "\n";
    }
    text += "\n";
  }
  text += std::format("{}\n{}{}\ntimed by {}\n\n", r.title, r.profile.device,
                      r.profile.driver.empty() ? "" : " · " + r.profile.driver, r.profile.method);
  const auto add = [&](const std::array<std::string, kCount>& cells) {
    std::string line;
    for (std::size_t c = 0; c < kCount; ++c) line += (c ? "  " : "") + padded(cells[c], widths[c], kColumns[c].right);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  std::array<std::string, kCount> head;
  for (std::size_t c = 0; c < kCount; ++c) head[c] = kColumns[c].head;
  add(head);
  for (const auto& line : lines) add(line);
  if (shown < r.rows.size()) text += std::format("… {} more (--all)\n", r.rows.size() - shown);
  const Calibration& l = r.limits;
  text += std::format(
      "\nkernels {} of {} a run · {} dispatches a run · {:.1f} GB/s, {:.1f} GFLOP/s in kernels\n"
      "{}\n",
      time_text(r.kernel_seconds / r.repeats), time_text(r.profile.seconds / r.repeats),
      r.profile.runs.size() / static_cast<std::size_t>(r.repeats),
      rate(static_cast<double>(r.work.bytes), r.kernel_seconds) * 1e-9, rate(r.work.flops, r.kernel_seconds) * 1e-9,
      l.copy_bandwidth > 0
          ? std::format("limit: the time by this device's calibration over the time taken ({:.0f} GB/s "
                        "copying{}, {:.0f} GFLOP/s f32, {:.0f} f16, {:.0f} cooperative)",
                        l.copy_bandwidth * 1e-9,
                        l.cache_bytes > 0 ? std::format(", {:.0f} in the caches", l.cache_bandwidth * 1e-9) : "",
                        l.f32_rate * 1e-9, l.f16_rate * 1e-9, l.matrix_rate * 1e-9)
          : "no limits: the device was not measured");
  if (r.compiled) {
    const auto mebibytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    text += std::format("memory: intermediates {:.2f} MiB, of which {:.2f} are alive at once; constants {:.2f} MiB\n",
                        mebibytes(r.compiled->planned_bytes), mebibytes(r.compiled->liveness_bound),
                        mebibytes(r.compiled->constant_bytes));
  } else if (r.constant_bytes) {
    text += std::format("memory: constants {:.2f} MiB\n", static_cast<double>(r.constant_bytes) / (1 << 20));
  }
  // A tenth more may be noise, and rows that take almost no time always are.
  constexpr double kPast = 1.2, kShare = 0.05;
  if (std::ranges::any_of(r.rows, [](const ProfileRow& row) { return row.of_limit > kPast && row.share > kShare; })) {
    text +=
        "past 100%: faster than the copies and products of the calibration; the machine may have been busy then: "
        "weft devices --calibrate --again measures it anew\n";
  }
  return text;
}

std::string profile_json(const ProfileReport& r) {
  ordered_json json = summary(r);
  json["rows"] = ordered_json::array();
  for (const ProfileRow& row : r.rows) json["rows"].push_back(to_json(row));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

namespace {

struct Window {
  double start, end;
  double seconds() const { return end - start; }
};

// From the first to the last of what host and device did in each run, as far as its dispatches are among the first
// `shown`. One window of everything where the runs cannot be told apart.
std::vector<Window> windows_of(const ProfileReport& r, std::size_t shown) {
  const Profile& p = r.profile;
  const auto repeats = static_cast<std::size_t>(r.repeats);
  const auto window = [&](std::span<const KernelRun> runs, std::span<const HostSpan> host) {
    Window w{std::numeric_limits<double>::infinity(), 0};
    const auto add = [&](const auto& span) {
      w.start = std::min(w.start, span.start);
      w.end = std::max(w.end, span.start + span.seconds);
    };
    for (const KernelRun& run : runs) add(run);
    for (const HostSpan& span : host) add(span);
    return w;
  };
  const std::span<const KernelRun> runs = p.runs;
  const std::span<const HostSpan> host = p.host;
  const std::size_t calls = runs.size() / repeats, spans = host.size() / repeats;
  std::vector<Window> windows;
  if (calls * repeats == runs.size() && spans * repeats == host.size() && calls + spans > 0) {
    for (std::size_t i = 0; i < repeats && (i + 1) * calls <= shown; ++i) {
      windows.push_back(window(runs.subspan(i * calls, calls), host.subspan(i * spans, spans)));
    }
  }
  if (windows.empty()) {
    // Where dispatches are left out, what the host did after the last one that is drawn is, too.
    const bool whole = shown == runs.size();
    Window all = window(runs.first(shown), whole ? host : host.first(0));
    if (whole) all.end = std::max(all.end, p.seconds);
    windows.push_back({std::min(all.start, 0.0), all.end});
  }
  return windows;
}

// The window of the median length.
std::size_t median(std::span<const Window> windows) {
  std::vector<std::size_t> order(windows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2), {},
                           [&](std::size_t i) { return windows[i].seconds(); });
  return order[order.size() / 2];
}

}  // namespace

std::string profile_page(const ProfileReport& r) {
  // A browser draws tens of thousands of spans smoothly, but not millions.
  constexpr std::size_t kMaxRuns = 20000;
  ordered_json json = summary(r);
  json["rows"] = ordered_json::array();
  for (const ProfileRow& row : r.rows) json["rows"].push_back(to_json(row));
  // [row, start, seconds, live bytes], times in microseconds.
  json["runs"] = ordered_json::array();
  const std::size_t shown = std::min(r.profile.runs.size(), kMaxRuns);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRun& run = r.profile.runs[i];
    json["runs"].push_back({r.row_of[i], run.start * 1e6, run.seconds * 1e6, run.live_bytes});
  }
  json["runs_left_out"] = r.profile.runs.size() - shown;
  const std::vector<Window> windows = windows_of(r, shown);
  json["windows"] = ordered_json::array();
  for (const Window& w : windows) json["windows"].push_back({w.start * 1e6, w.end * 1e6});
  json["shown_run"] = median(windows);
  json["families"] = kernels::kernel_families();
  json["host"] = ordered_json::array();
  for (const HostSpan& s : r.profile.host) json["host"].push_back({s.name, s.start * 1e6, s.seconds * 1e6});
  json["memory"] = ordered_json::array();
  for (const MemorySample& m : r.profile.memory) json["memory"].push_back({m.at * 1e6, m.live});
  return html_page(kProfilePage, json.dump(-1, ' ', false, ordered_json::error_handler_t::replace),
                   kernels::family_colours(false), kernels::family_colours(true));
}

ProfileReport profile::Scope::report() {
  return make_report(finish(), Calibration::load(device_).value_or(Calibration()), name_, 1);
}

}  // namespace weft
