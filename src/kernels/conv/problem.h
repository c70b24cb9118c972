// A convolution in the normal form that all kernels of the family start from.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cpu/executor.h"
#include "kernels/common/moved_axis.h"
#include "weft/kernels/conv.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {

struct MatmulVariant;  // kernels/matmul/variants.h

// y[g, n, o, i…] = epilogue(Σ_c Σ_k x[g, n, c, i · stride + k · dilation − before] · w[g, o, c, k…], operands[g, n, o,
// i…]), x being zero outside of its edges. Groups are an axis of their own; a transposed convolution is one of these
// for each remainder of y's positions by the strides, and a filter's gradient is one whose filter is y and whose batch
// are the channels: so these are all that kernels compute.
struct ConvProblem {
  View x, w, y;
  std::vector<View> operands;
  Dims strides, dilations, before;  // one to three, one for each spatial axis

  static constexpr int kGroup = 0, kBatch = 1, kSpatial = 3;  // axes of x and y; channels are axis 2
  int spatial() const { return strides.rank(); }
  std::int64_t groups() const { return y.shape()[0]; }
  std::int64_t batch() const { return y.shape()[1]; }
  std::int64_t outputs() const { return y.shape()[2]; }       // channels of y in a group
  std::int64_t channels() const { return w.shape()[2]; }      // channels of x in a group
  std::int64_t taps() const;                                  // elements of a filter's window
  std::int64_t depth() const { return channels() * taps(); }  // products of a sum
  DType sum_type() const { return product_type(x.dtype, w.dtype); }
  // The place along a spatial axis of x that output i reads at element k of the window; outside of x: padding.
  std::int64_t position(int axis, std::int64_t i, std::int64_t k) const {
    return i * strides[axis] + k * dilations[axis] - before[axis];
  }
  // Whether any window reaches past x along the axis.
  bool reaches_out(int axis) const;
  bool reaches_out() const;  // along any axis
};

// The problems of each function. Throw InvalidArgument.
ConvProblem conv_problem(const View& x, const View& w, const View& y, const ConvOptions& options,
                         const Epilogue& epilogue);
std::vector<ConvProblem> conv_transpose_problems(const View& x, const View& w, const View& y,
                                                 const ConvOptions& options, const Epilogue& epilogue);
ConvProblem conv_filter_gradient_problem(const View& x, const View& y, const View& w, const ConvOptions& options);

// The part [begin, begin + size) along an axis of y.
ConvProblem part(const ConvProblem& problem, int axis, std::int64_t begin, std::int64_t size);
// The sums over some channels of x alone, or over some elements of the window along a spatial axis.
ConvProblem part_of_channels(const ConvProblem& problem, std::int64_t begin, std::int64_t size);
ConvProblem part_of_window(const ConvProblem& problem, int spatial_axis, std::int64_t begin, std::int64_t size);

// On the executor's cores.
void conv_cpu(cpu::Executor& executor, const ConvProblem& problem, const Expression* epilogue);

// The forms of a GPU. direct: a thread computes some elements by loops over window and channels. product: a matrix
// product that reads windows, by a variant of kind tile or subgroup_matrix; if it is null, by the one that suits it,
// which a software device has not. What exceeds a binding is cut. Throw Unsupported.
void conv_direct(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue);
void conv_product(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue,
                  const MatmulVariant* variant = nullptr);
// depthwise: of one channel and one output a group, with small windows and elements that lie by fours.
bool is_depthwise(const ConvProblem& problem);
void conv_depthwise(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue);
// unfolded: a matrix product of windows that are copied to scratch. Software devices have fast products of matrices in
// memory, and no workgroup memory in which tiles of windows could be gathered.
bool suits_unfolded(gpu::Commands& commands, const ConvProblem& problem);
void conv_unfolded(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue);
// Their launches of problems that fit bindings.
void record_unfolded(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue);
void record_depthwise(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue);
void record_direct(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue);
void record_product(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue,
                    const MatmulVariant* variant);

// Throws Unsupported if places of x that windows reach, and `more` outputs further, are not counted in 32 bits.
void check_reach(const ConvProblem& problem, int more);
// The view with its channels (axis 2) last.
inline View channels_last(const View& view) { return moved_axis(view, 2, view.rank() - 1); }

}  // namespace weft::kernels
