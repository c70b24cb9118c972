// How busy other programs keep the machine.
#pragma once

namespace weft {

// Counts from its construction on.
class HostLoad {
 public:
  HostLoad();
  // The part of the time of all processors that other programs used since then: 0 to 1; 0 where the system does not
  // tell (it is Linux's /proc/stat).
  double others() const;

 private:
  double busy_ = 0, total_ = 0, own_ = 0;  // processor seconds
};

}  // namespace weft
