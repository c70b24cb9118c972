#include "weft/log.h"

#include <algorithm>
#include <chrono>
#include <format>
#include <fstream>
#include <sstream>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <set>

#include "core/nearest.h"
#include "weft/flags.h"

namespace weft {
namespace {

constexpr std::string_view kTopics[] = {"schedule", "passes", "precision", "calibration", "start"};

struct Settings {
  LogLevel level = LogLevel::warning;
  std::set<std::string, std::less<>> topics;
  std::shared_ptr<spdlog::logger> logger;
};

const Settings& settings() {
  static const Settings s = [] {
    Settings r;
    r.logger = spdlog::stderr_color_mt("weft");
    r.logger->set_pattern("%n %^%l%$: %v");
    r.logger->set_level(spdlog::level::trace);
    const std::string text = flag_text(Flag::log);
    std::string_view rest = text, unknown;
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      const std::string_view word = rest.substr(0, comma);
      rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
      if (word == "debug")
        r.level = LogLevel::debug;
      else if (word == "info")
        r.level = LogLevel::info;
      else if (word == "warn" || word == "warning")
        r.level = LogLevel::warning;
      else if (word == "off")
        r.level = LogLevel::off;
      else if (std::ranges::find(kTopics, word) != std::end(kTopics))
        r.topics.emplace(word);
      else if (!word.empty())
        unknown = word;
    }
    if (!unknown.empty() && r.level <= LogLevel::warning) {
      std::vector<std::string_view> known = {"off", "warn", "info", "debug"};
      known.insert(known.end(), std::begin(kTopics), std::end(kTopics));
      r.logger->warn("WEFT_LOG (--log): there is no topic '{}'{}; levels are off, warn, info and debug, topics {}",
                     unknown, nearest_text(nearest(unknown, known)),
                     "schedule, passes, precision, calibration and start");
    }
    return r;
  }();
  return s;
}

}  // namespace

bool log_enabled(LogLevel level) { return level >= settings().level && level != LogLevel::off; }

bool log_topic(std::string_view topic) {
  return settings().level == LogLevel::debug || settings().topics.contains(topic);
}

void log_message(LogLevel level, std::string_view message) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                   spdlog::level::off};
  settings().logger->log(kLevels[static_cast<int>(level)], "{}", message);
}

void log_mark(std::string_view what) {
  static const bool wanted = log_topic("start");
  if (!wanted) return;
  // Includes the time before main(), with the resolution of 10 ms that Linux records.
  static const auto [first, age] = [] {
    double began = 0, now = 0;
    std::ifstream stat("/proc/self/stat"), uptime("/proc/uptime");
    std::string text;
    std::getline(stat, text);
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
    for (int i = 0; i < 19; ++i) fields >> text;
    fields >> began;
    uptime >> now;
    return std::pair(std::chrono::steady_clock::now(), began > 0 ? now - began / 100 : 0);
  }();
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - first;
  log_message(LogLevel::info, std::format("{:7.1f} ms  {}", (age + since.count()) * 1e3, what));
}

}  // namespace weft
