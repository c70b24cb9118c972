#include "core/host_load.h"

#include <algorithm>

namespace weft {

double HostLoad::others() const {
  const ProcessorTimes now = processor_times();
  if (!(now.total > begin_.total)) return 0;
  const double others = (now.busy - begin_.busy) - (now.own - begin_.own);
  return std::clamp(others / (now.total - begin_.total), 0.0, 1.0);
}

}  // namespace weft
