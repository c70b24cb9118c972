// Whether the thread is in a function that compile() traces (weft/traced.h).
#pragma once

namespace weft {

bool tracing();

class TracingScope {
 public:
  TracingScope();
  ~TracingScope();
  TracingScope(const TracingScope&) = delete;
  TracingScope& operator=(const TracingScope&) = delete;
};

}  // namespace weft
