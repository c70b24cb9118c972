// What MLX itself does not compute on GPUs, kernels in Metal's and CUDA's languages, and distributed arrays: an error
// of MLX's kind, never the CPU in silence. Gated delta updates are made of other primitives, which run on the GPU.
#include "mlx/distributed/primitives.h"
#include "mlx/fast_primitives.h"
#include "mlx/primitives.h"

#define WEFT_MISSING(Primitive)                                                    \
  void Primitive::eval_gpu(const std::vector<array>&, array&) {                    \
    throw std::runtime_error("[" #Primitive "::eval_gpu] Not supported by Weft."); \
  }
#define WEFT_MISSING_MULTI(Primitive)                                              \
  void Primitive::eval_gpu(const std::vector<array>&, std::vector<array>&) {       \
    throw std::runtime_error("[" #Primitive "::eval_gpu] Not supported by Weft."); \
  }

namespace mlx::core {

WEFT_MISSING(Cholesky)
WEFT_MISSING_MULTI(Eig)
WEFT_MISSING_MULTI(Eigh)
WEFT_MISSING(Inverse)
WEFT_MISSING_MULTI(LUF)
WEFT_MISSING_MULTI(QRF)
WEFT_MISSING_MULTI(SVD)

namespace fast {

bool GatedDeltaUpdate::use_fallback(int, int, int, int, bool, Stream) { return true; }
bool GatedDeltaUpdateVJP::use_fallback(int, int, int, int, Stream) { return true; }

WEFT_MISSING_MULTI(CustomKernel)
WEFT_MISSING_MULTI(GatedDeltaUpdate)
WEFT_MISSING_MULTI(GatedDeltaUpdateVJP)

}  // namespace fast

namespace distributed {

WEFT_MISSING_MULTI(AllGather)
WEFT_MISSING_MULTI(AllReduce)
WEFT_MISSING_MULTI(Recv)
WEFT_MISSING_MULTI(ReduceScatter)
WEFT_MISSING_MULTI(Send)

}  // namespace distributed
}  // namespace mlx::core
