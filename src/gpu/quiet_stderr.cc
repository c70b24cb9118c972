#include "gpu/quiet_stderr.h"

#include <cstdio>
#include <string>
#include <string_view>

#include "weft/log.h"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace weft::gpu {

#if defined(__unix__) || defined(__APPLE__)

namespace {

bool is_drivers(std::string_view line) {
  for (const std::string_view start : {"Warning: ", "Error: ", "    at ", " - While ", "libEGL ", "MESA", "ERROR: [",
                                       "WARNING: ", "INFO: "}) {
    if (line.starts_with(start)) return true;
  }
  return line.empty();
}

void sort_out(std::FILE* file) {
  std::string text;
  char chunk[4096];
  std::rewind(file);
  while (const std::size_t n = std::fread(chunk, 1, sizeof chunk, file)) text.append(chunk, n);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    if (!is_drivers(line)) std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    else if (!line.empty()) log(LogLevel::debug, "driver: {}", line);
  }
}

}  // namespace

void quiet_stderr(const std::function<void()>& look) {
  std::fflush(stderr);
  std::FILE* aside = std::tmpfile();
  const int real = aside ? dup(STDERR_FILENO) : -1;
  if (real < 0) {
    if (aside) std::fclose(aside);
    return look();
  }
  dup2(fileno(aside), STDERR_FILENO);
  const auto restore = [&] {
    std::fflush(stderr);
    dup2(real, STDERR_FILENO);
    close(real);
    sort_out(aside);
    std::fclose(aside);
  };
  try {
    look();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

#else

void quiet_stderr(const std::function<void()>& look) { look(); }

#endif

}  // namespace weft::gpu
