#include "core/host_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace weft {
namespace {

struct Times {
  double busy = 0, total = 0;  // seconds of all processors
};

// The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal …", in ticks.
Times host_times() {
  std::ifstream stat("/proc/stat");
  std::string name;
  double fields[8] = {};
  if (!(stat >> name) || name != "cpu") return {};
  for (double& field : fields) {
    if (!(stat >> field)) return {};
  }
  Times t;
  for (const double field : fields) t.total += field;
  t.busy = t.total - fields[3] - fields[4];
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {t.busy / ticks, t.total / ticks};
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

HostLoad::HostLoad() : own_(own_seconds()) {
  const Times now = host_times();
  busy_ = now.busy;
  total_ = now.total;
}

double HostLoad::others() const {
  const Times now = host_times();
  if (!(now.total > total_)) return 0;
  return std::clamp((now.busy - busy_ - (own_seconds() - own_)) / (now.total - total_), 0.0, 1.0);
}

}  // namespace weft
