#include "ops/resize.h"

#include <algorithm>
#include <cmath>

#include "core/checked.h"
#include "core/format.h"
#include "graph/graph.h"
#include "ops/function_row.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/resampling.h"

namespace weft {
namespace {

void check_defined(std::string_view op, const Operand& x) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", op);
}

std::string text_of(const Tensor& x) { return to_string(x.type()); }

// How many spatial axes x has; the batch's and the channels' come beside.
int spatial_axes(std::string_view op, const Tensor& x, int most) {
  if (x.rank() < 3 || x.rank() > 2 + most) {
    throw ShapeError("{}: x is {}, expected [batch, channels] and one to {} spatial axes", op, text_of(x), most);
  }
  return x.rank() - 2;
}

// The sizes of both functions between depth and space, and the order of their axes.
struct Blocks {
  int spatial, first;     // of x's spatial axes
  std::int64_t channels;  // in space
};

Blocks blocks(std::string_view op, const Tensor& x, std::int64_t block, bool channels_last, bool to_space) {
  Blocks b{spatial_axes(op, x, 3), channels_last ? 1 : 2, x.shape()[channels_last ? -1 : 1]};
  if (block < 1) throw InvalidArgument("{}: blocks of {} pixels, expected one or more", op, block);
  for (int d = 0; d < b.spatial; ++d) {
    std::int64_t& divided = b.channels;
    if (to_space ? divided % block != 0 : x.shape()[b.first + d] % block != 0) {
      throw ShapeError("{}: x is {}, whose {} blocks of {} do not divide", op, text_of(x),
                       to_space ? "channels" : "sizes", block);
    }
    if (to_space)
      divided /= block;
    else if (multiply_overflows(divided, block, divided))
      throw ShapeError("{}: x is {}, blocks of {}", op, text_of(x), block);
  }
  return b;
}

}  // namespace

void ResizeAttributes::fields(AttributeVisitor& v) {
  v("shape", shape, "the shape of the result");
  options.fields(v);
}

std::vector<TensorType> ResizeOp::infer(std::span<const TensorType> in) const {
  const TensorType& given = in[0];
  const kernels::ResizeOptions& o = a.options;
  const DType type = infer_dtype(name(), {&given});
  const Shape& x = a.gradient ? a.shape : given.shape;
  const Shape& y = a.gradient ? given.shape : a.shape;
  if (given.shape.rank() != a.shape.rank()) {
    throw ShapeError("{}: {} to the shape {}, expected one rank", name(), weft::to_string(given),
                     weft::to_string(a.shape));
  }
  for (int d = 0; d < x.rank(); ++d) {
    if (a.shape[d] < 0) throw ShapeError("{}: the shape is {}", name(), weft::to_string(a.shape));
    if (x[d] == 0 && y[d] > 0) {
      throw ShapeError("{}: axis {} of {} is empty, there is nothing to make {} of", name(), d, weft::to_string(x),
                       weft::to_string(y));
    }
  }
  if (o.mode != ResizeMode::nearest && !is_floating(type) && type != DType::i8 && type != DType::u8) {
    throw TypeError("{}: x is {}; expected floats, i8 or u8 for mode {}", name(), weft::to_string(given),
                    kernels::kResizeModes[static_cast<int>(o.mode)]);
  }
  kernels::check_resize(name(), o, x, y);
  return {{type, a.shape}};
}

double ResizeOp::neighbours(double x, double y) const {
  switch (a.options.mode) {
    case ResizeMode::nearest:
      return 1;
    case ResizeMode::area:
      return std::ceil(x / y);
    case ResizeMode::linear:
    case ResizeMode::cubic:
      break;
  }
  const double of_mode = a.options.mode == ResizeMode::cubic ? 4 : 2;
  return a.options.antialias ? of_mode * std::max(x / y, 1.0) : of_mode;
}

double ResizeOp::reads(const Shape& given) const {
  double reads = 1;
  for (int d = 0; d < a.shape.rank(); ++d) {
    if (given[d] == a.shape[d]) continue;
    const auto from = static_cast<double>(given[d]), to = static_cast<double>(a.shape[d]);
    reads *= a.gradient ? neighbours(to, from) : neighbours(from, to) * to / from;
  }
  return reads;
}

// A resampling that only moves elements has any type, of which a GPU computes with those up to 32 bits.
FusionSpec ResizeOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                                 std::span<const TensorType>) const {
  const TensorType& x = in[0];
  const bool moves = a.options.mode == ResizeMode::nearest && !a.gradient;
  FusionSpec spec{.narrow_operands = false};
  if (x.shape == a.shape || element_count(x.shape) == 0 || (device && bits(x.dtype) > 32)) return spec;
  // On the CPU both are evaluated for a row at a time, which short rows are not worth.
  constexpr std::int64_t kShortRow = 32;
  const bool read_rows = device || x.shape[-1] >= kShortRow, made_rows = device || a.shape[-1] >= kShortRow;
  const DType sum = !is_floating(x.dtype) ? DType::i32 : x.dtype == DType::f64 ? DType::f64 : DType::f32;
  spec.prologue = read_rows;
  spec.prologue_passes = static_cast<int>(std::clamp(std::ceil(reads(x.shape) - 0.05), 1.0, 1e6));
  spec.epilogue_outputs = made_rows ? 1 : 0;
  spec.epilogue_input = moves ? x.dtype : sum;
  return spec;
}

void ResizeOp::lower(const Launch& call) const {
  (a.gradient ? kernels::resize_gradient : kernels::resize)(call.stream, call.inputs[0], call.outputs[0], a.options,
                                                            call.fusion);
}

std::optional<OwnWork> ResizeOp::own_work(std::span<const View> in, std::span<const View> out) const {
  // Each element of the longer side takes part in a few products along each axis.
  const Shape &given = in[0].shape(), &made = out[0].shape();
  double products = a.options.mode == ResizeMode::nearest && !a.gradient ? 0 : 2;
  for (int d = 0; d < made.rank(); ++d) {
    if (given[d] != made[d]) products *= a.options.mode == ResizeMode::cubic ? 4 : 2;
  }
  return OwnWork{{products, 0}, static_cast<double>(std::max(in[0].count(), out[0].count()))};
}

std::string ResizeOp::label(std::span<const TensorType>) const {
  return std::string(name()) + "_" + std::string(kernels::kResizeModes[static_cast<int>(a.options.mode)]);
}

// ---- Derivatives: both functions are linear but for the number outside of x, and each is the other's transpose.

namespace {

Tensor resized(ResizeAttributes attributes, const Tensor& x) {
  // The gradient's kernel has no complex numbers, of which a result moves both parts alike.
  if (attributes.gradient && x.dtype() == DType::c64) {
    return complex(resized(attributes, real(x)), resized(attributes, imag(x)));
  }
  return apply(make_op<ResizeOp>(std::move(attributes)), {x});
}

ResizeAttributes without_number(ResizeAttributes attributes) {
  attributes.options.value = 0;
  return attributes;
}

}  // namespace

Derivatives ResizeOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  ResizeAttributes transposed = without_number(a);
  transposed.gradient = !a.gradient;
  transposed.shape = node.inputs[0].shape();
  return std::vector{resized(std::move(transposed), g[0])};
}

Derivatives ResizeOp::jvp(const Differentiated&, std::span<const Tensor> t) const {
  return std::vector{resized(without_number(a), t[0])};
}

std::optional<Batched> ResizeOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const Tensor x = batch_first(in[0], axes[0], 0);
  ResizeAttributes of_batch = a;
  of_batch.shape.insert(0, x.shape()[0]);
  kernels::ResizeOptions& o = of_batch.options;
  // The batch's axis stays as it is.
  if (!o.scales.empty()) o.scales.insert(o.scales.begin(), 1);
  if (!o.starts.empty()) o.starts.insert(o.starts.begin(), 0);
  if (!o.ends.empty()) o.ends.insert(o.ends.begin(), 1);
  return batched(apply(make_op<ResizeOp>(std::move(of_batch)), {x}));
}

Tensor resize(const Operand& x, const Shape& shape, const ResizeOptions& options) {
  check_defined("resize", x);
  return apply(make_op<ResizeOp>(ResizeAttributes{false, shape, options}), {x});
}

Tensor resize_gradient(const Operand& dy, const Shape& shape, const ResizeOptions& options) {
  check_defined("resize_gradient", dy);
  return apply(make_op<ResizeOp>(ResizeAttributes{true, shape, options}), {dy});
}

namespace {

// ---- Rows of functions that have no op of their name

constexpr std::string_view kSame = "x's type";
constexpr FunctionOperand kImage = {.name = "x", .shape = "[n, C, spatial…]"};

// options.scales are the scales.
struct ResizeByAttributes {
  ResizeOptions options = {};
  void fields(AttributeVisitor& v) {
    using kernels::kResizeCoordinates, kernels::kResizeModes, kernels::kResizeRoundings;
    v("scales", options.scales, "the result's sizes by x's, for each axis");
    v("mode", options.mode, ResizeMode::nearest, kResizeModes,
      "what an element is made of: the nearest to its position; or the two around it by their distance (linear), four "
      "by a cubic convolution, or the mean of those that it covers (area)");
    v("coordinates", options.coordinates, ResizeCoordinates::half_pixel, kResizeCoordinates,
      "where an element is in x, as resize has it");
    v("rounding", options.rounding, ResizeRounding::prefer_floor, kResizeRoundings,
      "which element is nearest: between two the first (prefer_floor) or the last (prefer_ceil); always the one "
      "before (floor) or after (ceil)");
    v("cubic_a", options.cubic_a, -0.75, "the coefficient of cubic convolutions");
    v("antialias", options.antialias, false, "where y is smaller, all elements of x count");
    v("exclude_outside", options.exclude_outside, false,
      "elements outside of x do not count; else they are the nearest ones");
    v("starts", options.starts, {}, "where in x y begins, for each axis, from 0 to 1; none: 0");
    v("ends", options.ends, {}, "where in x y ends, for each axis, from 0 to 1; none: 1");
    v("value", options.value, 0, "the number for positions outside of x, of coordinates crop");
  }
};

[[noreturn]] void refuse_scales(std::size_t scales, std::size_t among_options, const Tensor& x) {
  throw InvalidArgument("resize_by: {} scales and {} among the options for {}, expected one for each axis, and none",
                        scales, among_options, text_of(x));
}

constexpr Function kResizeBy = {
    {.name = "resize_by",
     .operands = {{"x"}},
     .results = {{"y", "x's sizes times the scales, rounded down", kSame}},
     .formula = "y[i] = Σ_j w(i, j) · x[j], along each axis",
     .summary = "x resampled to its sizes times the scales"},
    [](const Tensor& x, const ResizeByAttributes& a) {
      const std::vector<double>& scales = a.options.scales;
      if (static_cast<int>(scales.size()) != x.rank()) refuse_scales(scales.size(), 0, x);
      Shape shape = x.shape();
      for (int d = 0; d < x.rank(); ++d) {
        const double s = scales[static_cast<std::size_t>(d)], size = static_cast<double>(shape[d]) * s;
        if (!(s > 0) || !(size < 0x1p53)) {
          throw InvalidArgument("resize_by: scale {} of axis {} of {}", s, d, text_of(x));
        }
        // A product that a scale's rounding to f32 moves off an integer is that integer.
        const double near = std::round(size);
        shape[d] = static_cast<std::int64_t>(std::abs(size - near) <= near * 0x1p-22 ? near : std::floor(size));
      }
      return resize(x, shape, a.options);
    }};

struct UpsampleAttributes {
  Shape sizes = {};
  UpsampleOptions options = {};
  void fields(AttributeVisitor& v) {
    v("sizes", sizes, "the sizes of the result's spatial axes");
    v("mode", options.mode, ResizeMode::nearest, kernels::kResizeModes,
      "what an element is made of: the nearest to its position; or the two around it by their distance (linear), four "
      "by a cubic convolution, or the mean of those that it covers (area)");
    v("align_corners", options.align_corners, false,
      "of linear and cubic: the centres of the first and last elements meet, not their edges");
    v("antialias", options.antialias, false, "of linear and cubic: where y is smaller, all of x counts");
    v("exact", options.exact, false,
      "of nearest: elements are intervals, as in the other modes; else element i is at i · n / m, rounded down");
    v("channels_last", options.channels_last, false, "the channels are the last axis of x and the result");
  }
};
constexpr Function kUpsample = {
    {.name = "upsample",
     .operands = {kImage},
     .results = {{"y", "x's shape with sizes for its spatial axes", kSame}},
     .formula = "y[i] = Σ_j w(i, j) · x[j], along each spatial axis",
     .summary = "images of other sizes, as PyTorch's interpolate makes them"},
    [](const Tensor& x, const UpsampleAttributes& a) {
      const UpsampleOptions& o = a.options;
      const int spatial = spatial_axes("upsample", x, kMaxRank - 2);
      if (a.sizes.rank() != spatial) {
        throw ShapeError("upsample: {} sizes for the {} spatial axes of {}", a.sizes.rank(), spatial, text_of(x));
      }
      if (std::ranges::any_of(a.sizes, [](std::int64_t n) { return n < 0; })) {
        throw ShapeError("upsample: the sizes are {}, expected 0 or more", to_string(a.sizes));
      }
      const bool interpolates = o.mode == ResizeMode::linear || o.mode == ResizeMode::cubic;
      if (!interpolates && (o.align_corners || o.antialias)) {
        throw InvalidArgument("upsample: align_corners and antialias are for the modes linear and cubic");
      }
      if (o.exact && o.mode != ResizeMode::nearest) throw InvalidArgument("upsample: exact is for the mode nearest");
      Shape shape = x.shape();
      for (int d = 0; d < spatial; ++d) shape[(o.channels_last ? 1 : 2) + d] = a.sizes[d];
      ResizeOptions r{.mode = o.mode, .antialias = o.antialias, .exclude_outside = o.antialias};
      if (o.align_corners) r.coordinates = ResizeCoordinates::align_corners;
      if (o.antialias && o.mode == ResizeMode::cubic) r.cubic_a = -0.5;
      if (o.mode == ResizeMode::nearest) {
        if (!o.exact) r.coordinates = ResizeCoordinates::asymmetric;
        r.rounding = o.exact ? ResizeRounding::prefer_ceil : ResizeRounding::floor;
      }
      return resize(x, shape, r);
    }};

constexpr std::string_view kBlockOrders[] = {"depth_column_row", "column_row_depth"};
struct BlockAttributes {
  std::int64_t block = 1;
  BlockOrder order = BlockOrder::depth_column_row;
  bool channels_last = false;
  void fields(AttributeVisitor& v) {
    v("block", block, "how many pixels a block has along each spatial axis");
    v("order", order, BlockOrder::depth_column_row, kBlockOrders,
      "which channels make a block: those far apart (depth_column_row), or neighbours (column_row_depth)");
    v("channels_last", channels_last, false, "the channels are the last axis of x and the result");
  }
};
constexpr Function kDepthToSpace = {
    {.name = "depth_to_space",
     .operands = {kImage},
     .results = {{"y", "[n, C / block^d, sizes · block…]", kSame}},
     .formula = "y[n, c, i · block + k] = x[n, k · C + c, i], or x[n, c · blocks + k, i]",
     .summary = "channels as blocks of pixels"},
    [](const Tensor& x, const BlockAttributes& a) {
      const bool channels_last = a.channels_last;
      const Blocks b = blocks("depth_to_space", x, a.block, channels_last, true);
      // [n, spatial…, (block…), C, (block…)] or [n, (block…), C, (block…), spatial…] with one group of blocks.
      const bool blocks_first = a.order == BlockOrder::depth_column_row;
      Shape split{x.shape()[0]}, result{x.shape()[0]};
      const int channels = (channels_last ? 1 + b.spatial : 1) + (blocks_first ? b.spatial : 0);
      const int block_axis = (channels_last ? 1 + b.spatial : 1) + (blocks_first ? 0 : 1);
      const int size_axis = channels_last ? 1 : 2 + b.spatial;
      const auto push_sizes = [&] {
        for (int d = 0; d < b.spatial; ++d) split.push_back(x.shape()[b.first + d]);
      };
      if (channels_last) push_sizes();
      if (!blocks_first) split.push_back(b.channels);
      for (int d = 0; d < b.spatial; ++d) split.push_back(a.block);
      if (blocks_first) split.push_back(b.channels);
      if (!channels_last) push_sizes();
      std::vector<int> axes{0};
      if (!channels_last) axes.push_back(channels), result.push_back(b.channels);
      for (int d = 0; d < b.spatial; ++d) {
        axes.push_back(size_axis + d);
        axes.push_back(block_axis + d);
        result.push_back(x.shape()[b.first + d] * a.block);
      }
      if (channels_last) axes.push_back(channels), result.push_back(b.channels);
      return reshape(permute(reshape(x, split), axes), result);
    }};
constexpr Function kSpaceToDepth = {
    {.name = "space_to_depth",
     .operands = {kImage},
     .results = {{"y", "[n, C · block^d, sizes / block…]", kSame}},
     .formula = "y[n, k · C + c, i] = x[n, c, i · block + k], or y[n, c · blocks + k, i]",
     .summary = "blocks of pixels as channels"},
    [](const Tensor& x, const BlockAttributes& a) {
      const bool channels_last = a.channels_last;
      const Blocks b = blocks("space_to_depth", x, a.block, channels_last, false);
      const std::int64_t channels = x.shape()[channels_last ? -1 : 1];
      Shape split{x.shape()[0]}, result{x.shape()[0]};
      if (!channels_last) split.push_back(channels), result.push_back(b.channels);
      std::vector<int> sizes, places;
      for (int d = 0; d < b.spatial; ++d) {
        const std::int64_t size = x.shape()[b.first + d] / a.block;
        sizes.push_back(split.rank());
        split.push_back(size);
        places.push_back(split.rank());
        split.push_back(a.block);
        result.push_back(size);
      }
      if (channels_last) split.push_back(channels), result.push_back(b.channels);
      const std::vector<int> channel_axis{channels_last ? split.rank() - 1 : 1};
      std::vector<int> axes{0};
      const auto add = [&](const std::vector<int>& more) { axes.insert(axes.end(), more.begin(), more.end()); };
      const bool blocks_first = a.order == BlockOrder::depth_column_row;
      if (channels_last) add(sizes);
      add(blocks_first ? places : channel_axis);
      add(blocks_first ? channel_axis : places);
      if (!channels_last) add(sizes);
      return reshape(permute(reshape(x, split), axes), result);
    }};

struct PixelAttributes {
  std::int64_t factor = 1;
  bool channels_last = false;
  void fields(AttributeVisitor& v) {
    v("factor", factor, "how many pixels a block has along each spatial axis");
    v("channels_last", channels_last, false, "the channels are the last axis of x and the result");
  }
};
constexpr Function kPixelShuffle = {{.name = "pixel_shuffle",
                                     .operands = {kImage},
                                     .results = {{"y", "[n, C / factor^d, sizes · factor…]", kSame}},
                                     .formula = "y[n, c, i · factor + k] = x[n, c · blocks + k, i]",
                                     .summary = "neighbouring channels as blocks of pixels"},
                                    [](const Tensor& x, const PixelAttributes& a) {
                                      return depth_to_space(x, a.factor, BlockOrder::column_row_depth, a.channels_last);
                                    }};
constexpr Function kPixelUnshuffle = {{.name = "pixel_unshuffle",
                                       .operands = {kImage},
                                       .results = {{"y", "[n, C · factor^d, sizes / factor…]", kSame}},
                                       .formula = "y[n, c · blocks + k, i] = x[n, c, i · factor + k]",
                                       .summary = "blocks of pixels as neighbouring channels"},
                                      [](const Tensor& x, const PixelAttributes& a) {
                                        return space_to_depth(x, a.factor, BlockOrder::column_row_depth,
                                                              a.channels_last);
                                      }};

}  // namespace

Tensor resize_by(const Operand& x, std::span<const double> scales, const ResizeOptions& options) {
  ResizeOptions all = options;
  if (!options.scales.empty() && x.defined()) refuse_scales(scales.size(), options.scales.size(), x);
  all.scales.assign(scales.begin(), scales.end());
  return kResizeBy(x, {std::move(all)});
}

Tensor upsample(const Operand& x, const Shape& sizes, const UpsampleOptions& o) { return kUpsample(x, {sizes, o}); }

Tensor depth_to_space(const Operand& x, std::int64_t block, BlockOrder order, bool channels_last) {
  return kDepthToSpace(x, {block, order, channels_last});
}

Tensor space_to_depth(const Operand& x, std::int64_t block, BlockOrder order, bool channels_last) {
  return kSpaceToDepth(x, {block, order, channels_last});
}

Tensor pixel_shuffle(const Operand& x, std::int64_t factor, bool channels_last) {
  return kPixelShuffle(x, {factor, channels_last});
}

Tensor pixel_unshuffle(const Operand& x, std::int64_t factor, bool channels_last) {
  return kPixelUnshuffle(x, {factor, channels_last});
}

void add_resize_functions(FunctionRows& rows) {
  rows.add(kResizeBy, kUpsample, kDepthToSpace, kSpaceToDepth, kPixelShuffle, kPixelUnshuffle);
}

void add_resize_ops(OpRows& rows) {
  for (const bool gradient : {false, true}) {
    const char* name = gradient ? "resize_gradient" : "resize";
    rows.push_back(op_row<ResizeOp>(schema_of_kernel(name, "shape"), {.gradient = gradient}));
  }
}

}  // namespace weft
