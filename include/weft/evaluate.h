// Evaluation of tensors: what functions such as matmul(a, b) describe is computed when its values are wanted.
//
//   Tensor x = full({1024}, 2.0f), y = exp(x * 0.5f) + 1;   // nothing is computed
//   eval(y);                                                // one compiled graph; submitted, not waited for
//   y.read<float>();                                        // waits; would evaluate y if it were not evaluated
//
// eval() collects what is not computed yet into one graph, down to tensors with data, and compiles it or finds the
// executable of an equal one: tensors with data and constants are its inputs, and scalar constants are numbers that
// each run gives (weft/compile.h), so that the same expression on other tensors and with other numbers compiles
// nothing, and executables, of which some are kept, hold no data. Tensors that still have a handle, or
// that another expression needs, keep what was computed of them on the way.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>

#include "weft/creation.h"
#include "weft/device.h"
#include "weft/tensor.h"

namespace weft {

// Submits the computation of these tensors, and returns before it is done. A loop that never reads must not fill the
// memory with what is submitted: where a GPU is more than 32 to 64 evaluations behind, this waits; where nothing may
// wait (a browser), such a loop awaits async_eval() now and then. Does nothing for those that have data.
// Threads may evaluate at the same time. Throws InvalidArgument (tensors of two devices; an input or a number of a
// Graph is needed, which has values only in a run), Unsupported, OutOfMemory, DeviceLost, and Error if something else
// was written into a tensor since an expression that reads it was described.
void eval(std::span<const Tensor> tensors);
// The future is ready when they are computed. Throws what eval() does, when it is called or when its result is taken,
// and then LinAlgError as a read would (weft/linalg.h).
Future<void> async_eval(std::span<const Tensor> tensors);
inline Future<void> async_eval(const Tensor& tensor) { return async_eval(std::span(&tensor, 1)); }
inline Future<void> async_eval(std::initializer_list<Tensor> tensors) {
  return async_eval(std::span(tensors.begin(), tensors.size()));
}
// eval() of one tensor, of several in braces, and of several arguments.
inline void eval(const Tensor& tensor) { eval(std::span(&tensor, 1)); }
inline void eval(std::initializer_list<Tensor> tensors) { eval(std::span(tensors.begin(), tensors.size())); }
template <std::same_as<Tensor>... More>
void eval(const Tensor& first, const Tensor& second, const More&... more) {
  eval({first, second, more...});
}

// The device of the tensor's data, or where they would be computed now: that of the data which it is made of, else the
// default one. Throws as eval() does: for data of two devices, and for what has values only in a run.
Device device_of(const Tensor& x);

// The tensor on that device, evaluated: itself if it is there and no view, else a copy, which waits for its values if
// it goes through the host.
Tensor to(const Tensor& x, const Device& device);
// The same without waiting.
Future<Tensor> async_to(const Tensor& x, const Device& device);

// The same elements in memory of their own, dense; x itself if it is no view.
Tensor contiguous(const Tensor& x);

}  // namespace weft
