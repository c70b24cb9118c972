// Products, convolutions, pooling and resampling.
#include <algorithm>
#include <cmath>
#include <format>

#include "core/windows.h"
#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/row_checks.h"
#include "weft/convolution.h"
#include "weft/pooling.h"
#include "weft/resampling.h"

namespace weft::webnn {

namespace {

Tensors matmul(const Call& c, const Operand& a, const Operand& b, const OperatorOptions&) {
  const Sizes &rows = a.shape(), &columns = b.shape();
  if (rows.back() != columns[columns.size() - 2]) {
    c.fail("a is {} and b {}; expected as many rows of b as columns of a", describe(a), describe(b));
  }
  auto shape = broadcast({rows.begin(), rows.end() - 2}, {columns.begin(), columns.end() - 2});
  if (!shape) {
    c.fail("a is {} and b {}; expected axes before the last two that broadcast", describe(a), describe(b));
  }
  shape->insert(shape->end(), {rows[rows.size() - 2], columns.back()});
  checked_shape(c, *shape);
  return {weft::matmul(tensor_of(a), tensor_of(b))};
}

// The sums, their multiples and c are added in float32, and rounded once.
Tensors gemm(const Call& c, const Operand& left, const Operand& right, const GemmOptions& o) {
  auto a = tensor_of(left), b = tensor_of(right);
  const DType type = a.dtype();
  if (o.a_transpose) a = weft::permute(a, {1, 0});
  if (o.b_transpose) b = weft::permute(b, {1, 0});
  if (a.shape()[1] != b.shape()[0]) {
    c.fail("a is {}{} and b {}{}; expected as many rows of b as columns of a", describe(left),
           o.a_transpose ? ", transposed," : "", describe(right), o.b_transpose ? ", transposed" : "");
  }
  const Sizes shape = {a.shape()[0], b.shape()[1]};
  checked_shape(c, shape);
  if (o.c && !broadcasts_to(o.c.shape(), shape)) {
    c.fail("c is {}, which does not broadcast to {}", describe(o.c), to_string(shape));
  }
  // The factor as a number of the operands' type.
  const auto times = [&](const weft::Tensor& x, double factor) {
    return factor == 1 ? x : x * weft::cast(weft::Graph::scalar(cast_number(factor, type), type), DType::f32);
  };
  auto y = times(weft::matmul(a, b, DType::f32), o.alpha);
  if (o.c) y = y + times(weft::cast(tensor_of(o.c), DType::f32), o.beta);
  return {weft::cast(y, type)};
}

// ---- Windows over the two spatial axes: of convolutions and pooling.
constexpr std::string_view kAxisNames[] = {"height", "width"};

struct Windows {
  Dims strides, dilations, before, after;
};

// Checks the options that convolutions and pooling share.
template <class Options>
Windows windows(const Call& c, const Options& o) {
  const Sizes &padding = counted(c, "padding", *o.padding, 4), &strides = counted(c, "strides", *o.strides, 2);
  const Sizes& dilations = counted(c, "dilations", *o.dilations, 2);
  check_positive(c, "strides", strides);
  check_positive(c, "dilations", dilations);
  return {.strides = to_shape(strides),
          .dilations = to_shape(dilations),
          .before = {padding[0], padding[2]},
          .after = {padding[1], padding[3]}};
}

bool channels_last(InputOperandLayout layout) { return layout == InputOperandLayout::nhwc; }

// The input's sizes: height, width; and how many channels it has.
struct Image {
  Dims sizes;
  std::int64_t batch, channels;
};
Image image_of(const Operand& input, InputOperandLayout layout) {
  const Sizes& s = input.shape();
  return channels_last(layout) ? Image{{s[1], s[2]}, s[0], s[3]} : Image{{s[2], s[3]}, s[0], s[1]};
}
Sizes shape_of(const Image& image, bool last) {
  return last ? Sizes{image.batch, image.sizes[0], image.sizes[1], image.channels}
              : Sizes{image.batch, image.channels, image.sizes[0], image.sizes[1]};
}

// From the first element of a window, or of several, to behind the last one; at most 2⁶², which is past every size.
constexpr std::int64_t kFar = std::int64_t{1} << 62;
std::int64_t reach(std::int64_t window, std::int64_t dilation) {
  return std::min(window_reach(window, dilation).value_or(kFar), kFar);
}
std::int64_t extent(std::int64_t count, std::int64_t stride, std::int64_t window, std::int64_t dilation) {
  return std::min(windows_extent(count, stride, window, dilation).value_or(kFar), kFar);
}

// How many windows there are along each axis: (input - window + padding) / stride + 1, rounded down or up.
Dims window_counts(const Windows& w, const Dims& input, const Dims& window, bool up) {
  Dims counts;
  for (int d = 0; d < 2; ++d) {
    const auto fit = fit_windows(input[d], window[d], w.strides[d], w.dilations[d], w.before[d], w.after[d]);
    counts.push_back(fit ? fit->count + (up && fit->partial) : 0);
  }
  return counts;
}

void check_counts(const Call& c, const Windows& w, const Dims& input, const Dims& window, const Dims& counts) {
  for (int d = 0; d < 2; ++d) {
    if (counts[d] > 0) continue;
    c.fail("the window reaches over {} elements along the {}, where input has {} with its padding; expected no more",
           reach(window[d], w.dilations[d]), kAxisNames[d], input[d] + w.before[d] + w.after[d]);
  }
}

// Makes numbers small whose size has no effect, so that kernels, which count with 32 bits, take them: a step that leads
// past the last element may be as short as leads there, and windows that are counted need no padding behind them.
// `extent`: sizes of the image that windows lie on; `counts`: how many windows there are.
void shorten(const Call& c, Windows& w, const Dims& extent, const Dims& window, const Dims& counts) {
  for (int d = 0; d < 2; ++d) {
    const std::int64_t past = extent[d] + w.before[d];
    if (past > kMostSize) {
      c.fail("{} elements along the {} have a padding of {} in front of them, expected at most {} together", extent[d],
             kAxisNames[d], w.before[d], kMostSize);
    }
    w.strides[d] = counts[d] == 1 ? 1 : std::min(w.strides[d], past);
    w.dilations[d] = window[d] == 1 ? 1 : std::min(w.dilations[d], past);
    w.after[d] = 0;
  }
}

// A filter as `order`, "oihw", of that layout.
weft::Tensor filter_in(const Operand& filter, std::string_view layout, std::string_view order) {
  std::vector<int> axes;
  for (const char axis : order) axes.push_back(static_cast<int>(layout.find(axis)));
  return weft::permute(tensor_of(filter), axes);
}

void check_groups(const Call& c, std::int64_t groups) {
  if (groups == 0) c.fail("groups is 0, expected 1 or more");
}

Tensors conv2d(const Call& c, const Operand& image, const Operand& weights, const Conv2dOptions& o) {
  Windows w = windows(c, o);
  const std::int64_t groups = o.groups;
  check_groups(c, groups);
  const Image input = image_of(image, o.input_layout);
  const std::string_view layout = kConv2dFilterOperandLayouts[static_cast<std::size_t>(o.filter_layout)];
  const auto filter = filter_in(weights, layout, "oihw");
  const auto outputs = filter.shape()[0];
  if (input.channels % groups != 0 || input.channels / groups != filter.shape()[1] || outputs % groups != 0) {
    c.fail(
        "filter is {} in layout {}, of {} output and {} input channels; expected {} input channels of input, {}, in {} "
        "groups of as many, and outputs that the groups divide",
        describe(weights), layout, outputs, filter.shape()[1], input.channels, describe(image), groups);
  }
  expect_shape(c, "bias", o.bias, {outputs});
  const Dims window = {filter.shape()[2], filter.shape()[3]};
  const Image output = {window_counts(w, input.sizes, window, false), input.batch, outputs};
  check_counts(c, w, input.sizes, window, output.sizes);
  const bool last = channels_last(o.input_layout);
  checked_shape(c, shape_of(output, last));
  shorten(c, w, input.sizes, window, output.sizes);
  // conv() counts windows by the padding, of which there is as much as the last one reaches over; less than none cuts
  // off elements that no window reaches.
  for (int d = 0; d < 2; ++d) {
    w.after[d] = extent(output.sizes[d], w.strides[d], window[d], w.dilations[d]) - input.sizes[d] - w.before[d];
  }
  ConvOptions options;
  options.strides = w.strides, options.dilations = w.dilations;
  options.padding = w.before, options.padding_after = w.after;
  options.groups = groups, options.channels_last = last;
  return {weft::conv(tensor_of(image), filter, tensor_of(o.bias), options)};
}

Tensors conv_transpose2d(const Call& c, const Operand& image, const Operand& weights, const ConvTranspose2dOptions& o) {
  Windows w = windows(c, o);
  const Sizes& more = counted(c, "outputPadding", *o.output_padding, 2);
  const bool sized = static_cast<bool>(o.output_sizes);
  const Sizes wanted = sized ? counted(c, "outputSizes", *o.output_sizes, 2) : Sizes();
  const std::int64_t groups = o.groups;
  check_groups(c, groups);
  const Image input = image_of(image, o.input_layout);
  const std::string_view layout = kConvTranspose2dFilterOperandLayouts[static_cast<std::size_t>(o.filter_layout)];
  const auto filter = filter_in(weights, layout, "iohw");
  if (input.channels != filter.shape()[0]) {
    c.fail("filter is {} in layout {}, of {} input channels; expected those of input, {}, which are {}",
           describe(weights), layout, filter.shape()[0], describe(image), input.channels);
  }
  Image output = {{}, input.batch, filter.shape()[1] * groups};
  if (output.channels > kMostSize) {
    c.fail("{} groups of {} output channels are {}, expected at most {}", groups, filter.shape()[1], output.channels,
           kMostSize);
  }
  expect_shape(c, "bias", o.bias, {output.channels});
  const Dims window = {filter.shape()[2], filter.shape()[3]};
  for (int d = 0; d < 2; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t least =
        extent(input.sizes[d], w.strides[d], window[d], w.dilations[d]) - w.before[d] - w.after[d];
    if (!sized && more[at] >= w.strides[d]) {
      c.fail("outputPadding is {}; expected numbers below the strides, {}", to_string(more),
             to_string(to_sizes(w.strides)));
    }
    if (sized && (wanted[at] < least || wanted[at] >= least + w.strides[d])) {
      c.fail("outputSizes are {}; expected a {} from {} to {}", to_string(wanted), kAxisNames[d], least,
             least + w.strides[d] - 1);
    }
    output.sizes.push_back(sized ? wanted[at] : least + more[at]);
  }
  const bool last = channels_last(o.input_layout);
  const Shape shape = checked_shape(c, shape_of(output, last));
  if (input.channels % groups != 0) {
    const std::string text =
        std::format("input is {} in layout {}, of {} channels; expected as many as {} groups divide", describe(image),
                    kInputOperandLayouts[static_cast<std::size_t>(o.input_layout)], input.channels, groups);
    return {c.unbuildable({image.data_type(), shape}, text)};
  }
  shorten(c, w, output.sizes, window, input.sizes);
  ConvTransposeOptions options;
  options.strides = w.strides, options.dilations = w.dilations;
  options.padding = w.before, options.padding_after = w.after;
  options.groups = groups, options.channels_last = last, options.output_sizes = output.sizes;
  return {weft::conv_transpose(tensor_of(image), filter, tensor_of(o.bias), options)};
}

// The windows of a pooling; none if one holds all of the input, and nothing else.
std::optional<PoolOptions> pool_options(const Call& c, const Operand& image, const Pool2dOptions& o) {
  const Image input = image_of(image, o.layout);
  const Sizes given =
      o.window_dimensions ? counted(c, "windowDimensions", *o.window_dimensions, 2) : to_sizes(input.sizes);
  check_positive(c, "windowDimensions", given);
  Dims window = to_shape(given);
  Windows w = windows(c, o);
  const Dims down = window_counts(w, input.sizes, window, false), up = window_counts(w, input.sizes, window, true);
  const bool sized = static_cast<bool>(o.output_sizes);
  Image output = {sized || o.output_shape_rounding == RoundingType::ceil ? up : down, input.batch, input.channels};
  check_counts(c, w, input.sizes, window, output.sizes);
  if (sized) {
    output.sizes = to_shape(counted(c, "outputSizes", *o.output_sizes, 2));
    const bool either = down != up && down[0] > 0 && down[1] > 0;
    if (output.sizes != up && !(either && output.sizes == down)) {
      c.fail("outputSizes are {}; expected {}{}", to_string(to_sizes(output.sizes)),
             either ? to_string(to_sizes(down)) + " or " : "", to_string(to_sizes(up)));
    }
  }
  const bool last = channels_last(o.layout);
  checked_shape(c, shape_of(output, last));
  shorten(c, w, input.sizes, window, output.sizes);
  // Elements of a window that no position brings into the image.
  for (int d = 0; d < 2; ++d) {
    window[d] = std::min(window[d], (input.sizes[d] + w.before[d] - 1) / w.dilations[d] + 1);
  }
  const Dims zeros = {0, 0}, ones = {1, 1};
  if (window == input.sizes && w.dilations == ones && w.before == zeros && output.sizes == ones) return {};
  return PoolOptions{.window = window,
                     .strides = w.strides,
                     .dilations = w.dilations,
                     .padding = w.before,
                     .padding_after = w.after,
                     .output_sizes = output.sizes,
                     .channels_last = last,
                     .count_padding = false};
}

Tensors average_pool2d(const Call& c, const Operand& input, const Pool2dOptions& o) {
  const auto options = pool_options(c, input, o);
  const auto x = tensor_of(input);
  return {options ? weft::average_pool(x, *options) : weft::global_average_pool(x, channels_last(o.layout))};
}
Tensors l2_pool2d(const Call& c, const Operand& input, const Pool2dOptions& o) {
  const auto options = pool_options(c, input, o);
  const auto x = tensor_of(input);
  return {options ? weft::l2_pool(x, *options) : weft::global_lp_pool(x, 2, channels_last(o.layout))};
}
Tensors max_pool2d(const Call& c, const Operand& input, const Pool2dOptions& o) {
  const auto options = pool_options(c, input, o);
  const auto x = tensor_of(input);
  return {options ? weft::max_pool(x, *options) : weft::global_max_pool(x, channels_last(o.layout))};
}

Tensors resample2d(const Call& c, const Operand& input, const Resample2dOptions& o) {
  const std::vector<int> axes = checked_axes(c, "axes", counted(c, "axes", *o.axes, 2), 4);
  std::vector<double> scales = *o.scales;
  if (scales.size() != 2) c.fail("scales are {} numbers, expected 2", scales.size());
  for (double& scale : scales) {
    scale = static_cast<float>(scale);  // as WebIDL converts them
    if (!(scale > 0)) c.fail("scales have {}, expected numbers above 0", scale);
  }
  Sizes shape = input.shape();
  if (o.sizes) check_positive(c, "sizes", counted(c, "sizes", *o.sizes, 2));
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& size = shape[static_cast<std::size_t>(axes[i])];
    const double scaled = std::floor(static_cast<double>(size) * scales[i]);
    if (o.sizes)
      size = (*o.sizes)[i];
    else if (scaled >= 1 && scaled <= static_cast<double>(kMostSize))
      size = static_cast<std::int64_t>(scaled);
    else
      c.fail("the output would have a size of {} along axis {}, expected one from 1 to {}", scaled, axes[i], kMostSize);
  }
  const auto mode = o.mode == InterpolationMode::linear ? ResizeMode::linear : ResizeMode::nearest;
  return {weft::resize(tensor_of(input), checked_shape(c, shape), {.mode = mode})};
}

}  // namespace

void add_network_rows(std::vector<Op>& rows) {
  const RowAdder add{rows};
  const ArgumentSchema image = operand("input", kFloatTypes, 4, 4), output = result_as("input", 4, 4);
  const ArgumentSchema filter = operand_as("filter", "input", 4, 4);

  add("matmul", "matmul", {operand("a", kFloatTypes, 2), operand_as("b", "a", 2)}, result_as("a", 2), matmul);
  add("gemm", "gemm", {operand("a", kFloatTypes, 2, 2), operand_as("b", "a", 2, 2)}, result_as("a", 2, 2), gemm);
  add("conv2d", "conv2d", {image, filter}, output, conv2d);
  add("convTranspose2d", "convtranspose2d", {image, filter}, output, conv_transpose2d);
  add("averagePool2d", "pool2d-average", {image}, output, average_pool2d);
  add("l2Pool2d", "pool2d-l2", {image}, output, l2_pool2d);
  add("maxPool2d", "pool2d-max", {operand("input", kDataTypes, 4, 4)}, output, max_pool2d);
  add("resample2d", "resample2d-method", {operand("input", {DType::f32, DType::f16, DType::u8, DType::i8}, 4, 4)},
      output, resample2d);
}

}  // namespace weft::webnn
