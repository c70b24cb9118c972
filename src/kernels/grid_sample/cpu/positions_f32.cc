// Compiled without contraction of products and sums (CMakeLists.txt).
#include "kernels/grid_sample/cpu/positions_loops.h"

namespace weft::kernels {

template class SamplePlaces<float>;

}  // namespace weft::kernels
