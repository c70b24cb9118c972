#include "cpu/onednn.h"

// There if oneDNN runs on OpenMP; the setting is the calling thread's own.
extern "C" {
__attribute__((weak)) void omp_set_num_threads(int);
__attribute__((weak)) int omp_get_max_threads();
}

namespace weft::cpu {

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

OneThread::OneThread() : before_(omp_get_max_threads ? omp_get_max_threads() : 0) {
  if (before_ > 1 && omp_set_num_threads) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ > 1 && omp_set_num_threads) omp_set_num_threads(before_);
}

}  // namespace weft::cpu
