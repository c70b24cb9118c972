#include "gpu/quiet_stderr.h"

#include <cstdio>
#include <string>
#include <string_view>

#include "core/format.h"
#include "core/system.h"
#include "weft/log.h"

namespace weft::gpu {
namespace {

bool is_drivers(std::string_view line) {
  for (const std::string_view start :
       {"Warning: ", "Error: ", "    at ", " - While ", "libEGL ", "MESA", "ERROR: [", "WARNING: ", "INFO: "}) {
    if (line.starts_with(start)) return true;
  }
  return line.empty();
}

void sort_out(std::string_view rest) {
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    if (!is_drivers(line))
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    else if (!line.empty())
      log(LogLevel::debug, "driver: {}", line);
  }
}

}  // namespace

void quiet_stderr(const std::function<void()>& look) { capture_stderr(look, sort_out); }

}  // namespace weft::gpu
