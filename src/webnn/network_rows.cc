// Products, convolutions, pooling and resampling.
#include <algorithm>
#include <cmath>
#include <format>

#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/row_checks.h"
#include "weft/convolution.h"
#include "weft/pooling.h"
#include "weft/resampling.h"

namespace weft::webnn {

namespace {

using Tensors = std::vector<weft::Tensor>;

Tensors matmul(const Call& c) {
  const Sizes &a = c.shape("a"), &b = c.shape("b");
  if (a.back() != b[b.size() - 2]) {
    c.fail("a is {} and b {}; expected as many rows of b as columns of a", describe(c, "a"), describe(c, "b"));
  }
  auto shape = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) {
    c.fail("a is {} and b {}; expected axes before the last two that broadcast", describe(c, "a"), describe(c, "b"));
  }
  shape->insert(shape->end(), {a[a.size() - 2], b.back()});
  checked_shape(c, *shape);
  return {weft::matmul(c.operand("a"), c.operand("b"))};
}

// The sums, their multiples and c are added in float32, and rounded once.
Tensors gemm(const Call& c) {
  auto a = c.operand("a"), b = c.operand("b");
  const DType type = a.dtype();
  if (c.boolean("aTranspose")) a = weft::permute(a, {1, 0});
  if (c.boolean("bTranspose")) b = weft::permute(b, {1, 0});
  if (a.shape()[1] != b.shape()[0]) {
    c.fail("a is {}{} and b {}{}; expected as many rows of b as columns of a", describe(c, "a"),
           c.boolean("aTranspose") ? ", transposed," : "", describe(c, "b"),
           c.boolean("bTranspose") ? ", transposed" : "");
  }
  const Sizes shape = {a.shape()[0], b.shape()[1]};
  checked_shape(c, shape);
  if (c.has("c") && !broadcasts_to(c.shape("c"), shape)) {
    c.fail("c is {}, which does not broadcast to {}", describe(c, "c"), to_string(shape));
  }
  // The option as a number of the operands' type.
  const auto times = [&](const weft::Tensor& x, std::string_view option) {
    const double factor = c.real(option);
    return factor == 1 ? x : x * weft::cast(weft::Graph::scalar(cast_number(factor, type), type), DType::f32);
  };
  auto y = times(weft::matmul(a, b, DType::f32), "alpha");
  if (c.has("c")) y = y + times(weft::cast(c.operand("c"), DType::f32), "beta");
  return {weft::cast(y, type)};
}

// ---- Windows over the two spatial axes: of convolutions and pooling.
constexpr std::string_view kAxisNames[] = {"height", "width"};

struct Windows {
  Dims strides, dilations, before, after;
};

// Checks the options that convolutions and pooling share.
Windows windows(const Call& c) {
  const Sizes padding = c.sizes("padding", 4, 0), strides = c.sizes("strides", 2, 1);
  const Sizes dilations = c.sizes("dilations", 2, 1);
  check_positive(c, "strides", strides);
  check_positive(c, "dilations", dilations);
  return {.strides = to_shape(strides),
          .dilations = to_shape(dilations),
          .before = {padding[0], padding[2]},
          .after = {padding[1], padding[3]}};
}

bool channels_last(const Call& c, std::string_view option) { return c.choice(option) == "nhwc"; }

// The input's sizes: height, width; and how many channels it has.
struct Image {
  Dims sizes;
  std::int64_t batch, channels;
};
Image image_of(const Call& c, std::string_view layout) {
  const Sizes& s = c.shape("input");
  return channels_last(c, layout) ? Image{{s[1], s[2]}, s[0], s[3]} : Image{{s[2], s[3]}, s[0], s[1]};
}
Sizes shape_of(const Image& image, bool last) {
  return last ? Sizes{image.batch, image.sizes[0], image.sizes[1], image.channels}
              : Sizes{image.batch, image.channels, image.sizes[0], image.sizes[1]};
}

// From the first element of a window to behind its last one, at most 2⁶².
std::int64_t reach(std::int64_t window, std::int64_t dilation) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  return window - 1 > kMost / dilation ? kMost : (window - 1) * dilation + 1;
}

// How many windows there are along each axis: (input - window + padding) / stride + 1, rounded down or up.
Dims window_counts(const Windows& w, const Dims& input, const Dims& window, bool up) {
  Dims counts;
  for (int d = 0; d < 2; ++d) {
    const std::int64_t room = input[d] + w.before[d] + w.after[d] - reach(window[d], w.dilations[d]);
    const std::int64_t whole = room + (up ? w.strides[d] - 1 : 0);
    counts.push_back(whole < 0 ? 0 : whole / w.strides[d] + 1);
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

// A filter as `order`, "oihw", of the layout that the option names.
weft::Tensor filter_in(const Call& c, std::string_view order) {
  const std::string_view layout = c.choice("filterLayout");
  std::vector<int> axes;
  for (const char axis : order) axes.push_back(static_cast<int>(layout.find(axis)));
  return weft::permute(c.operand("filter"), axes);
}

std::int64_t checked_groups(const Call& c) {
  const std::int64_t groups = c.size("groups");
  if (groups == 0) c.fail("groups is 0, expected 1 or more");
  return groups;
}

Tensors conv2d(const Call& c) {
  Windows w = windows(c);
  const std::int64_t groups = checked_groups(c);
  const Image input = image_of(c, "inputLayout");
  const auto filter = filter_in(c, "oihw");
  const auto outputs = filter.shape()[0];
  if (input.channels % groups != 0 || input.channels / groups != filter.shape()[1] || outputs % groups != 0) {
    c.fail(
        "filter is {} in layout {}, of {} output and {} input channels; expected {} input channels of input, {}, in {} "
        "groups of as many, and outputs that the groups divide",
        describe(c, "filter"), c.choice("filterLayout"), outputs, filter.shape()[1], input.channels,
        describe(c, "input"), groups);
  }
  expect_shape(c, "bias", {outputs});
  const Dims window = {filter.shape()[2], filter.shape()[3]};
  const Image output = {window_counts(w, input.sizes, window, false), input.batch, outputs};
  check_counts(c, w, input.sizes, window, output.sizes);
  const bool last = channels_last(c, "inputLayout");
  checked_shape(c, shape_of(output, last));
  shorten(c, w, input.sizes, window, output.sizes);
  // conv() counts windows by the padding, of which there is as much as the last one reaches over; less than none cuts
  // off elements that no window reaches.
  for (int d = 0; d < 2; ++d) {
    const std::int64_t end = (output.sizes[d] - 1) * w.strides[d] + reach(window[d], w.dilations[d]);
    w.after[d] = end - input.sizes[d] - w.before[d];
  }
  ConvOptions o;
  o.strides = w.strides, o.dilations = w.dilations, o.padding = w.before, o.padding_after = w.after;
  o.groups = groups, o.channels_last = last;
  return {weft::conv(c.operand("input"), filter, c.operand("bias"), o)};
}

Tensors conv_transpose2d(const Call& c) {
  Windows w = windows(c);
  const Sizes more = c.sizes("outputPadding", 2, 0);
  const bool sized = c.has("outputSizes");
  const Sizes wanted = c.sizes("outputSizes", 2, 0);
  const std::int64_t groups = checked_groups(c);
  const Image input = image_of(c, "inputLayout");
  const auto filter = filter_in(c, "iohw");
  if (input.channels != filter.shape()[0]) {
    c.fail("filter is {} in layout {}, of {} input channels; expected those of input, {}, which are {}",
           describe(c, "filter"), c.choice("filterLayout"), filter.shape()[0], describe(c, "input"), input.channels);
  }
  Image output = {{}, input.batch, filter.shape()[1] * groups};
  if (output.channels > kMostSize) {
    c.fail("{} groups of {} output channels are {}, expected at most {}", groups, filter.shape()[1], output.channels,
           kMostSize);
  }
  expect_shape(c, "bias", {output.channels});
  const Dims window = {filter.shape()[2], filter.shape()[3]};
  for (int d = 0; d < 2; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t least =
        (input.sizes[d] - 1) * w.strides[d] + reach(window[d], w.dilations[d]) - w.before[d] - w.after[d];
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
  const bool last = channels_last(c, "inputLayout");
  const Shape shape = checked_shape(c, shape_of(output, last));
  if (input.channels % groups != 0) {
    return {c.unbuildable(shape,
                          std::format("input is {} in layout {}, of {} channels; expected as many as {} groups divide",
                                      describe(c, "input"), c.choice("inputLayout"), input.channels, groups))};
  }
  shorten(c, w, output.sizes, window, input.sizes);
  ConvTransposeOptions o;
  o.strides = w.strides, o.dilations = w.dilations, o.padding = w.before, o.padding_after = w.after;
  o.groups = groups, o.channels_last = last, o.output_sizes = output.sizes;
  return {weft::conv_transpose(c.operand("input"), filter, c.operand("bias"), o)};
}

// The windows of a pooling; none if one holds all of the input, and nothing else.
std::optional<PoolOptions> pool_options(const Call& c) {
  const Image input = image_of(c, "layout");
  Sizes given = to_sizes(input.sizes);
  if (c.has("windowDimensions")) given = c.sizes("windowDimensions", 2, 0);
  check_positive(c, "windowDimensions", given);
  Dims window = to_shape(given);
  Windows w = windows(c);
  const Dims down = window_counts(w, input.sizes, window, false), up = window_counts(w, input.sizes, window, true);
  const bool sized = c.has("outputSizes");
  Image output = {sized || c.choice("outputShapeRounding") == "ceil" ? up : down, input.batch, input.channels};
  check_counts(c, w, input.sizes, window, output.sizes);
  if (sized) {
    output.sizes = to_shape(c.sizes("outputSizes", 2, 0));
    const bool either = down != up && down[0] > 0 && down[1] > 0;
    if (output.sizes != up && !(either && output.sizes == down)) {
      c.fail("outputSizes are {}; expected {}{}", to_string(to_sizes(output.sizes)),
             either ? to_string(to_sizes(down)) + " or " : "", to_string(to_sizes(up)));
    }
  }
  const bool last = channels_last(c, "layout");
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

Tensors average_pool2d(const Call& c) {
  const auto o = pool_options(c);
  const auto x = c.operand("input");
  return {o ? weft::average_pool(x, *o) : weft::global_average_pool(x, channels_last(c, "layout"))};
}
Tensors l2_pool2d(const Call& c) {
  const auto o = pool_options(c);
  const auto x = c.operand("input");
  return {o ? weft::l2_pool(x, *o) : weft::global_lp_pool(x, 2, channels_last(c, "layout"))};
}
Tensors max_pool2d(const Call& c) {
  const auto o = pool_options(c);
  const auto x = c.operand("input");
  return {o ? weft::max_pool(x, *o) : weft::global_max_pool(x, channels_last(c, "layout"))};
}

Tensors resample2d(const Call& c) {
  std::vector<int> axes = {2, 3};
  if (c.has("axes")) {
    c.sizes("axes", 2, 0);  // two of them
    axes = c.axes("axes", 4);
  }
  std::vector<double> scales = {1, 1};
  if (c.has("scales")) scales = c.reals("scales");
  if (scales.size() != 2) c.fail("scales are {} numbers, expected 2", scales.size());
  for (double& scale : scales) {
    scale = static_cast<float>(scale);  // as WebIDL converts them
    if (!(scale > 0)) c.fail("scales have {}, expected numbers above 0", scale);
  }
  Sizes shape = c.shape("input");
  const Sizes sizes = c.sizes("sizes", 2, 1);
  check_positive(c, "sizes", sizes);
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& size = shape[static_cast<std::size_t>(axes[i])];
    const double scaled = std::floor(static_cast<double>(size) * scales[i]);
    if (c.has("sizes"))
      size = sizes[i];
    else if (scaled >= 1 && scaled <= static_cast<double>(kMostSize))
      size = static_cast<std::int64_t>(scaled);
    else
      c.fail("the output would have a size of {} along axis {}, expected one from 1 to {}", scaled, axes[i], kMostSize);
  }
  const ResizeOptions o{.mode = c.choice("mode") == "linear" ? ResizeMode::linear : ResizeMode::nearest};
  return {weft::resize(c.operand("input"), checked_shape(c, shape), o)};
}

}  // namespace

void add_network_rows(std::vector<Op>& rows) {
  using Kind = ArgumentKind;
  const ArgumentSchema input = operand("input", kFloatTypes, 4, 4);

  rows.push_back({{.name = "matmul",
                   .section = "#api-mlgraphbuilder-matmul",
                   .arguments = {operand("a", kFloatTypes, 2), operand_as("b", "a", 2)},
                   .outputs = {result_as("a", 2)}},
                  matmul});
  rows.push_back(
      {{.name = "gemm",
        .section = "#api-mlgraphbuilder-gemm",
        .arguments = {operand("a", kFloatTypes, 2, 2), operand_as("b", "a", 2, 2), optional(operand_as("c", "a", 0, 2)),
                      option("alpha", Kind::real, "1"), option("beta", Kind::real, "1"),
                      option("aTranspose", Kind::boolean, "false"), option("bTranspose", Kind::boolean, "false")},
        .outputs = {result_as("a", 2, 2)}},
       gemm});

  const auto convolution = [&](std::string name, std::string section, std::vector<std::string> filters,
                               std::vector<ArgumentSchema> own, Map map) {
    OpSchema schema{
        .name = std::move(name),
        .section = std::move(section),
        .arguments = {input, operand_as("filter", "input", 4, 4), option("padding", Kind::sizes, "[0, 0, 0, 0]"),
                      option("strides", Kind::sizes, "[1, 1]"), option("dilations", Kind::sizes, "[1, 1]")},
        .outputs = {result_as("input", 4, 4)}};
    for (ArgumentSchema& argument : own) schema.arguments.push_back(std::move(argument));
    for (ArgumentSchema& argument :
         std::vector{option("groups", Kind::size, "1"), option("inputLayout", {"nchw", "nhwc"}),
                     option("filterLayout", std::move(filters)), optional(operand_as("bias", "input", 1, 1))}) {
      schema.arguments.push_back(std::move(argument));
    }
    rows.push_back({std::move(schema), map});
  };
  convolution("conv2d", "#api-mlgraphbuilder-conv2d", {"oihw", "hwio", "ohwi", "ihwo"}, {}, conv2d);
  convolution("convTranspose2d", "#api-mlgraphbuilder-convtranspose2d", {"iohw", "hwoi", "ohwi"},
              {option("outputPadding", Kind::sizes, "[0, 0]"), option("outputSizes", Kind::sizes)}, conv_transpose2d);

  const auto pool = [&](std::string name, std::string section, TypeSet types, Map map) {
    rows.push_back(
        {{.name = std::move(name),
          .section = std::move(section),
          .arguments = {operand("input", types, 4, 4), option("windowDimensions", Kind::sizes),
                        option("padding", Kind::sizes, "[0, 0, 0, 0]"), option("strides", Kind::sizes, "[1, 1]"),
                        option("dilations", Kind::sizes, "[1, 1]"), option("layout", {"nchw", "nhwc"}),
                        option("outputShapeRounding", {"floor", "ceil"}), option("outputSizes", Kind::sizes)},
          .outputs = {result_as("input", 4, 4)}},
         map});
  };
  pool("averagePool2d", "#api-mlgraphbuilder-pool2d-average", kFloatTypes, average_pool2d);
  pool("l2Pool2d", "#api-mlgraphbuilder-pool2d-l2", kFloatTypes, l2_pool2d);
  pool("maxPool2d", "#api-mlgraphbuilder-pool2d-max", kDataTypes, max_pool2d);

  rows.push_back(
      {{.name = "resample2d",
        .section = "#api-mlgraphbuilder-resample2d-method",
        .arguments = {operand("input", {DType::f32, DType::f16, DType::u8, DType::i8}, 4, 4),
                      option("mode", {"nearest-neighbor", "linear"}), option("scales", Kind::reals, "[1, 1]"),
                      option("sizes", Kind::sizes), option("axes", Kind::sizes, "[2, 3]")},
        .outputs = {result_as("input", 4, 4)}},
       resample2d});
}

}  // namespace weft::webnn
