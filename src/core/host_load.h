// How busy other programs keep the machine.
#pragma once

#include "core/system.h"

namespace weft {

// Counts from its construction on.
class HostLoad {
 public:
  // The part of the time of all processors that other programs used since then: 0 to 1; 0 where the system does not
  // tell.
  double others() const;

 private:
  ProcessorTimes begin_ = processor_times();
};

}  // namespace weft
