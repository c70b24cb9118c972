// oneDNN as the CPU device uses it: primitives run on one core each, and the executor's threads run many of them. So
// the cores are shared out in one place, whatever threading oneDNN was built with.
#pragma once

#include <dnnl.hpp>

#include "weft/dtype.h"

namespace weft::cpu {

const dnnl::engine& onednn_engine();
// One for each thread.
dnnl::stream& onednn_stream();

// While it lives, primitives made or run by this thread use this thread only.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace weft::cpu
