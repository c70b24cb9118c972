// Convolutions, pooling, resizing and sampling.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/windows.h"
#include "onnx/network.h"
#include "onnx/write.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/resampling.h"

namespace weft::onnx {

namespace {

// ---- Convolutions

Tensors conv(const Node& n) { return {conv_of(n, n.in(0), n.in(1), n.maybe(2))}; }

Tensors conv_transpose(const Node& n) {
  const Tensor x = n.in(0), w = n.in(1);
  const int count = spatial_axes(n, x.shape());
  if (w.rank() != x.rank()) {
    n.fail("X is {} and W {}, expected one rank", to_string(x.shape()), to_string(w.shape()));
  }
  const Dims sizes = sizes_from(x.shape(), 2, count), window = sizes_from(w.shape(), 2, count);
  const std::string mode = padding_mode(n);
  const Windows given = windows_of(n, sizes, window);
  const Dims more = axis_numbers(n, "output_padding", count, 0, 0);
  Ints wanted = n.integers("output_shape");
  if (static_cast<int>(wanted.size()) == count + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && static_cast<int>(wanted.size()) != count) {
    n.fail("output_shape has {} numbers, expected one for each of {} spatial axes", wanted.size(), count);
  }
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  ConvTransposeOptions o;
  o.strides = given.strides, o.dilations = given.dilations, o.groups = n.integer("group", 1);
  for (int d = 0; d < count; ++d) {
    const std::int64_t stride = given.strides[d];
    const std::int64_t all = extent_of(n, given, d, sizes[d], window[d]) + more[d];
    if (wanted.empty() && !same) {
      o.padding.push_back(given.before[d]);
      o.output_sizes.push_back(all - given.before[d] - given.after[d]);
      continue;
    }
    const std::int64_t size = wanted.empty() ? sizes[d] * stride : wanted[static_cast<std::size_t>(d)];
    const std::int64_t padding = std::max<std::int64_t>(all - size, 0);
    o.padding.push_back(mode == "SAME_UPPER" ? padding / 2 : padding - padding / 2);
    o.output_sizes.push_back(size);
  }
  return {weft::conv_transpose(x, w, n.maybe(2), o)};
}

// The samples of all windows, by grid_sample(), times the filter: a convolution by windows of one element.
Tensors deform_conv(const Node& n) {
  const Tensor x = n.in(0), w = n.in(1), offset = n.in(2);
  const int count = spatial_axes(n, x.shape());
  const DType type = wide(x.dtype());
  if (w.rank() != x.rank() || offset.rank() != x.rank()) {
    n.fail("X is {}, W {} and offset {}, expected one rank", to_string(x.shape()), to_string(w.shape()),
           to_string(offset.shape()));
  }
  const Dims sizes = sizes_from(x.shape(), 2, count), window = sizes_from(w.shape(), 2, count);
  const Windows at = windows_of(n, sizes, window);
  const std::int64_t groups = n.integer("offset_group", 1), batch = x.shape()[0], channels = x.shape()[1];
  const std::int64_t elements = element_count(window);
  if (groups < 1 || channels % groups != 0 || offset.shape()[1] != groups * elements * count) {
    n.fail("offset is {}; expected {} groups, of {} elements and {} axes, in axis 1", to_string(offset.shape()), groups,
           elements, count);
  }
  const Dims places = sizes_from(offset.shape(), 2, count);
  Shape by_axis = {batch * groups, elements, count}, by_element = {batch * groups}, rows = {batch * groups};
  for (const std::int64_t size : window) by_element.push_back(size);
  for (int d = 0; d < count; ++d) {
    by_axis.push_back(places[d]), by_element.push_back(places[d]);
    rows.push_back(d == 0 ? elements * places[0] : places[d]);
  }
  const Tensor moves = reshape(cast(offset, type), by_axis);
  Tensors grid;
  for (int d = count - 1; d >= 0; --d) {
    const int rank = by_element.rank();
    const Tensor position = reshape(squeeze(slice(moves, 2, d, d + 1), 2), by_element) +
                            steps_along(1 + d, rank, window[d], -at.before[d], at.dilations[d], type) +
                            steps_along(1 + count + d, rank, places[d], 0, at.strides[d], type);
    grid.push_back(expand_dims(reshape((position * 2 + 1) / sizes[d] - 1, rows), -1));
  }
  Shape images = x.shape();
  images[0] = batch * groups, images[1] = channels / groups;
  Tensor samples = grid_sample(reshape(x, images), concat(grid, -1));
  if (n.has(4)) {
    rows.insert(1, 1);
    samples = samples * reshape(n.in(4), rows);
  }
  Shape columns = {batch, channels * elements};
  for (const std::int64_t size : places) columns.push_back(size);
  Shape filter = Shape::filled(w.rank(), 1);
  filter[0] = w.shape()[0], filter[1] = w.shape()[1] * elements;
  return {weft::conv(cast(reshape(samples, columns), x.dtype()), reshape(w, filter), n.maybe(3),
                     {.groups = n.integer("group", 1)})};
}

// ---- Pooling

Tensors max_pool(const Node& n) {
  const Tensor x = n.in(0);
  const PoolOptions o = pool_options(n, x.shape());
  if (!n.wants(1)) return {weft::max_pool(x, o)};
  const PooledMax found = weft::max_pool_with_indices(x, o);
  const Dims sizes = sizes_from(x.shape(), 2, x.rank() - 2);
  Tensor place = cast(found.indices, DType::i64);
  if (n.integer("storage_order", 0) != 0) {
    // Along the first spatial axis elements are neighbours.
    Tensor left = place, columns;
    for (int d = sizes.rank() - 1; d >= 0; --d) {
      const std::int64_t before = std::accumulate(sizes.begin(), sizes.begin() + d, std::int64_t{1}, std::multiplies());
      const Tensor part = (d == 0 ? left : left % sizes[d]) * before;
      columns = columns.defined() ? columns + part : part;
      left = left / sizes[d];
    }
    place = columns;
  }
  // Positions are those in all of x.
  const std::int64_t images = x.shape()[0] * x.shape()[1], size = element_count(sizes);
  Shape planes = Shape::filled(x.rank(), 1);
  planes[0] = x.shape()[0], planes[1] = x.shape()[1];
  return {found.values, place + reshape(arange(0, images, 1, DType::i64) * size, planes)};
}

Tensors average_pool(const Node& n) { return {weft::average_pool(n.in(0), pool_options(n, n.in(0).shape()))}; }

Tensors lp_pool(const Node& n) {
  return {weft::lp_pool(n.in(0), static_cast<double>(n.integer("p", 2)), pool_options(n, n.in(0).shape()))};
}

template <Tensor (*pool)(const Operand&, bool)>
Tensors global_pool(const Node& n) {
  return {pool(n.in(0), false)};
}
Tensors global_lp_pool(const Node& n) {
  return {weft::global_lp_pool(n.in(0), static_cast<double>(n.integer("p", 2)))};
}

Tensors max_unpool(const Node& n) {
  const Tensor x = n.in(0);
  const int count = spatial_axes(n, x.shape());
  const Dims window = kernel_shape(n, count);
  const Windows w = windows_of(n, sizes_from(x.shape(), 2, count), window);
  Dims sizes;
  for (int d = 0; d < count; ++d) {
    sizes.push_back(extent_of(n, w, d, x.shape()[2 + d], window[d]) - w.before[d] - w.after[d]);
  }
  Tensor y = weft::max_unpool(x, cast(n.in(1) % element_count(sizes), DType::i32), sizes);
  if (!n.has(2)) return {y};
  // Positions are those in what the attributes give, to which elements are added behind.
  const Ints wanted = n.integers_of(2);
  if (static_cast<int>(wanted.size()) != x.rank()) {
    n.fail("output_shape has {} numbers, expected {}", wanted.size(), x.rank());
  }
  Ints after;
  for (int d = 0; d < x.rank(); ++d) after.push_back(wanted[static_cast<std::size_t>(d)] - y.shape()[d]);
  return {pad(y, Ints(after.size()), after)};
}

// ---- Resizing

ResizeMode resize_mode(const Node& n) {
  const std::string mode = n.text("mode", "nearest");
  if (mode == "nearest") return ResizeMode::nearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMode::linear;
  if (mode == "cubic") return ResizeMode::cubic;
  n.fail("mode is {}, expected nearest, linear or cubic", mode);
}

// Of any type: numbers that resize() does not take pass through a float.
Tensor resized(const Tensor& x, const Shape& shape, const ResizeOptions& o) {
  const DType type = x.dtype();
  if (o.mode == ResizeMode::nearest || is_floating(type) || type == DType::i8 || type == DType::u8) {
    return resize(x, shape, o);
  }
  return cast(resize(cast(x, DType::f32), shape, o), type);
}

std::int64_t scaled_size(const Node& n, std::int64_t size, double scale) {
  const double scaled = std::floor(static_cast<double>(size) * scale);
  if (!(scale > 0) || !(scaled < 0x1p31)) n.fail("an axis of {} elements has the scale {}", size, scale);
  return static_cast<std::int64_t>(scaled);
}

// Upsample, and the first Resize: positions are i / scale; the nearest element is the one before, where y is smaller
// the one after.
Tensor resize_by_scales(const Node& n, const Tensor& x, const std::vector<double>& scales) {
  if (static_cast<int>(scales.size()) != x.rank()) {
    n.fail("scales has {} numbers, expected {}", scales.size(), x.rank());
  }
  Tensor y = x;
  const ResizeMode mode = resize_mode(n);
  for (const bool smaller : {false, true}) {
    Shape shape = y.shape();
    ResizeOptions o{.mode = mode,
                    .coordinates = ResizeCoordinates::asymmetric,
                    .rounding = smaller ? ResizeRounding::ceil : ResizeRounding::floor};
    for (int d = 0; d < x.rank(); ++d) {
      const double scale = scales[static_cast<std::size_t>(d)];
      const bool now = (scale < 1) == smaller && scale != 1;
      shape[d] = now ? scaled_size(n, shape[d], scale) : shape[d];
      o.scales.push_back(now ? scale : 1);
    }
    if (shape != y.shape()) y = resized(y, shape, o);
  }
  return y;
}

Tensors upsample_7(const Node& n) { return {resize_by_scales(n, n.in(0), n.numbers("scales"))}; }
Tensors upsample_9(const Node& n) { return {resize_by_scales(n, n.in(0), n.numbers_of(1))}; }

// Options by the names of attributes.
ResizeOptions resize_options(const Node& n) {
  ResizeOptions o{.mode = resize_mode(n),
                  .cubic_a = n.number("cubic_coeff_a", -0.75),
                  .antialias = n.integer("antialias", 0) != 0,
                  .exclude_outside = n.integer("exclude_outside", 0) != 0,
                  .value = n.number("extrapolation_value", 0)};
  const std::string rounding = n.text("nearest_mode", "round_prefer_floor");
  if (rounding == "round_prefer_floor")
    o.rounding = ResizeRounding::prefer_floor;
  else if (rounding == "round_prefer_ceil")
    o.rounding = ResizeRounding::prefer_ceil;
  else if (rounding == "floor")
    o.rounding = ResizeRounding::floor;
  else if (rounding == "ceil")
    o.rounding = ResizeRounding::ceil;
  else
    n.fail("nearest_mode is {}", rounding);
  const std::string coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "tf_half_pixel_for_nn") {
    // (i + 0.5) / scale, half an element further than half_pixel.
    if (o.mode == ResizeMode::nearest && o.rounding == ResizeRounding::floor) {
      o.rounding = ResizeRounding::prefer_ceil;
    } else if (o.mode == ResizeMode::nearest && o.rounding == ResizeRounding::prefer_floor) {
      o.rounding = ResizeRounding::ceil;
    } else {
      n.lacks("{} with mode {} and nearest_mode {}", coordinates, n.text("mode", "nearest"), rounding);
    }
    return o;
  }
  constexpr std::pair<std::string_view, ResizeCoordinates> kNames[] = {
      {"half_pixel", ResizeCoordinates::half_pixel},
      {"half_pixel_symmetric", ResizeCoordinates::half_pixel_symmetric},
      {"pytorch_half_pixel", ResizeCoordinates::pytorch_half_pixel},
      {"align_corners", ResizeCoordinates::align_corners},
      {"asymmetric", ResizeCoordinates::asymmetric},
      {"tf_crop_and_resize", ResizeCoordinates::crop}};
  for (const auto& [name, value] : kNames) {
    if (coordinates == name) return o.coordinates = value, o;
  }
  n.fail("coordinate_transformation_mode is {}", coordinates);
}

Tensors resize_11(const Node& n) {
  const Tensor x = n.in(0);
  const int rank = x.rank();
  ResizeOptions o = resize_options(n);
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (n.attribute("axes")) axes = axes_of(n, n.integers("axes"), rank);
  const auto expect = [&](std::string_view name, std::size_t count, std::size_t of) {
    if (count != of) n.fail("{} has {} numbers, expected {}", name, count, of);
  };
  const bool crop = o.coordinates == ResizeCoordinates::crop;
  if (crop) {
    o.starts.assign(static_cast<std::size_t>(rank), 0), o.ends.assign(static_cast<std::size_t>(rank), 1);
    const std::vector<double> roi = n.numbers_of(1);
    expect("roi", roi.size(), 2 * axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      o.starts[static_cast<std::size_t>(axes[i])] = roi[i];
      o.ends[static_cast<std::size_t>(axes[i])] = roi[i + axes.size()];
    }
  }
  Shape shape = x.shape();
  std::vector<double> scales(static_cast<std::size_t>(rank), 1.0);
  if (n.has(3) && n.in(3).size() != 0) {
    const Ints sizes = n.integers_of(3);
    expect("sizes", sizes.size(), axes.size());
    const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
      n.fail("keep_aspect_ratio_policy is {}, expected stretch, not_larger or not_smaller", policy);
    }
    double common = policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double scale = static_cast<double>(sizes[i]) / static_cast<double>(x.shape()[axes[i]]);
      common = policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
      shape[axes[i]] = sizes[i];
    }
    if (policy != "stretch") {
      for (const int axis : axes) {
        const double size = std::floor(common * static_cast<double>(x.shape()[axis]) + 0.5);
        if (!(size >= 0 && size < 0x1p31)) n.fail("an axis of {} elements has the scale {}", x.shape()[axis], common);
        shape[axis] = static_cast<std::int64_t>(size);
        scales[static_cast<std::size_t>(axis)] = common;
      }
      o.scales = scales;
    }
  } else {
    const std::vector<double> given = n.numbers_of(2);
    expect("scales", given.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(axes[i]);
      scales[axis] = given[i];
      shape[axes[i]] = scaled_size(n, x.shape()[axes[i]], given[i] * (crop ? o.ends[axis] - o.starts[axis] : 1));
    }
    o.scales = scales;
  }
  if (crop) o.scales.clear();  // positions do not depend on them
  // Corners meet at the size that the scale says, which may be a fraction.
  if (o.coordinates == ResizeCoordinates::align_corners && !o.scales.empty()) {
    std::vector<double> ends(static_cast<std::size_t>(rank), 1.0);
    bool whole = true;
    for (int d = 0; d < rank; ++d) {
      const auto at = static_cast<std::size_t>(d);
      const double size = static_cast<double>(x.shape()[d]) * scales[at];
      if (std::abs(size - static_cast<double>(shape[d])) < 1e-5 * size) continue;
      whole = false;
      ends[at] = shape[d] == 1 ? 0 : static_cast<double>(shape[d] - 1) / (size - 1);
    }
    if (!whole) {
      o.coordinates = ResizeCoordinates::crop, o.scales.clear();
      o.starts.assign(static_cast<std::size_t>(rank), 0.0), o.ends = ends;
    }
  }
  return {resized(x, shape, o)};
}

// ---- Sampling

Tensors grid_sample(const Node& n) {
  const Tensor x = n.in(0);
  spatial_axes(n, x.shape());
  const std::string mode = n.text("mode", n.version() < 20 ? "bilinear" : "linear");
  const std::string padding = n.text("padding_mode", "zeros");
  GridSampleOptions o{.align_corners = n.integer("align_corners", 0) != 0};
  if (mode == "linear" || mode == "bilinear")
    o.mode = SampleMode::linear;
  else if (mode == "nearest")
    o.mode = SampleMode::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    o.mode = SampleMode::cubic;
  else
    n.fail("mode is {}, expected linear, nearest or cubic", mode);
  if (padding == "zeros")
    o.padding = SamplePadding::zeros;
  else if (padding == "border")
    o.padding = SamplePadding::border;
  else if (padding == "reflection")
    o.padding = SamplePadding::reflection;
  else
    n.fail("padding_mode is {}, expected zeros, border or reflection", padding);
  const bool floats = is_floating(x.dtype());
  const Tensor y = weft::grid_sample(floats ? x : cast(x, DType::f32), n.in(1), o);
  return {floats ? y : cast(y, x.dtype())};
}

Tensors affine_grid(const Node& n) {
  const Ints size = n.integers_of(1);
  if (size.size() < 3) n.fail("size has {} numbers, expected batch, channels and spatial axes", size.size());
  return {weft::affine_grid(n.in(0), Shape(std::span(size).subspan(2)), n.integer("align_corners", 0) != 0)};
}

constexpr OperatorRow kRows[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"DeformConv", deform_conv, 19},
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"LpPool", lp_pool, 2},
    {"GlobalMaxPool", global_pool<weft::global_max_pool>},
    {"GlobalAveragePool", global_pool<weft::global_average_pool>},
    {"GlobalLpPool", global_lp_pool, 2},
    {"MaxUnpool", max_unpool, 9},
    {"Upsample", upsample_7, 7},
    {"Upsample", upsample_9, 9},
    {"Resize", upsample_9, 10},
    {"Resize", resize_11, 11, "tf_half_pixel_for_nn: nearest_mode floor and round_prefer_floor"},
    {"GridSample", grid_sample, 16},
    {"AffineGrid", affine_grid, 20},
};

// ---- Read backwards

// The attribute's number for each spatial axis, or `otherwise` for all.
Ints axis_numbers(const Written& w, std::string_view name, int count, std::int64_t otherwise) {
  Ints all = w.integers(name);
  if (all.empty()) all.assign(static_cast<std::size_t>(count), otherwise);
  return all;
}
Ints joined(Ints a, const Ints& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Ints spatial(const Shape& shape, bool channels_last) {
  return {shape.begin() + (channels_last ? 1 : 2), shape.end() - (channels_last ? 1 : 0)};
}
// x with the channels as axis 1, and back.
std::string channels_first(const Written& w, const std::string& x) {
  Ints order{0, w.rank() - 1};
  for (int d = 1; d < w.rank() - 1; ++d) order.push_back(d);
  return w.flag("channels_last") ? w.transpose(x, order) : x;
}
std::string channels_back(const Written& w, const std::string& y) {
  Ints order{0};
  for (int d = 2; d < w.rank(); ++d) order.push_back(d);
  order.push_back(1);
  return w.flag("channels_last") ? w.transpose(y, order) : y;
}
// What is negative crops x, and padding stays.
std::string cropped(const Written& w, const std::string& x, Ints& before, Ints& after) {
  const bool crops = std::ranges::any_of(joined(before, after), [](std::int64_t n) { return n < 0; });
  if (!crops) return x;
  Ints pads(static_cast<std::size_t>(2 * (before.size() + 2)));
  for (std::size_t d = 0; d < before.size(); ++d) {
    pads[2 + d] = std::min<std::int64_t>(before[d], 0);
    pads[before.size() + 4 + d] = std::min<std::int64_t>(after[d], 0);
    before[d] = std::max<std::int64_t>(before[d], 0), after[d] = std::max<std::int64_t>(after[d], 0);
  }
  return w.node("Pad", {x, w.constant(pads)});
}
// The types that ONNX convolves in: the result's, but what is narrower than f16, and mixed, in f32.
DType conv_type(const Written& w) {
  const DType type = w.result().dtype;
  if (!is_floating(type)) w.lacks("of {} and {}", name(w.dtype(0)), name(w.dtype(1)));
  return w.dtype(0) == type && w.dtype(1) == type && bits(type) >= 16 ? type : bits(type) > 32 ? type : DType::f32;
}

// An integer of up to 16 bits as bytes without signs: the sum of (part - zero) · factor.
struct ByteParts {
  std::string part;
  int zero = 0, factor = 1;
};
std::vector<ByteParts> byte_parts(const Written& w, const std::string& x, DType type) {
  if (bits(type) > 16) w.lacks("of {} and {}", name(w.dtype(0)), name(w.dtype(1)));
  const std::string wide = w.cast(x, type, DType::i32);
  const int zero = is_signed(type) ? 128 : 0;
  const auto with_zero = [&](const std::string& v) {
    return w.cast(zero ? w.node("Add", {v, w.scalar(zero, DType::i32)}) : v, DType::i32, DType::u8);
  };
  if (bits(type) <= 8) return {{with_zero(wide), zero, 1}};
  const std::string byte = w.scalar(256, DType::i32), low = w.node("Mod", {wide, byte});
  return {{w.cast(low, DType::i32, DType::u8), 0, 1},
          {with_zero(w.node("Div", {w.node("Sub", {wide, low}), byte})), zero, 256}};
}

std::string conv_node(const Written& w) {
  const int count = w.rank() - 2;
  const bool floats = is_floating(w.result().dtype);
  Ints before = axis_numbers(w, "padding", count, 0);
  Ints after = w.integers("padding_after").empty() ? before : w.integers("padding_after");
  const auto attributes = [&]() -> WrittenAttributes {
    return {{"strides", axis_numbers(w, "strides", count, 1)},
            {"dilations", axis_numbers(w, "dilations", count, 1)},
            {"pads", joined(before, after)},
            {"group", w.has("groups") ? w.integer("groups") : 1}};
  };
  const std::string x = cropped(w, channels_first(w, w.in(0)), before, after);
  if (floats) {
    const DType type = conv_type(w);
    const std::string y =
        w.node("Conv", {w.cast(x, w.dtype(0), type), w.cast(w.in(1), w.dtype(1), type)}, attributes());
    return channels_back(w, w.cast(y, type, w.result().dtype));
  }
  std::string sum;
  for (const ByteParts& a : byte_parts(w, x, w.dtype(0))) {
    for (const ByteParts& b : byte_parts(w, w.in(1), w.dtype(1))) {
      std::string y = w.node("ConvInteger", {a.part, b.part, w.scalar(a.zero, DType::u8), w.scalar(b.zero, DType::u8)},
                             attributes());
      const int factor = a.factor * b.factor;
      if (factor != 1) y = w.node("Mul", {y, w.scalar(factor, DType::i32)});
      sum = sum.empty() ? y : w.node("Add", {sum, y});
    }
  }
  return channels_back(w, w.cast(sum, DType::i32, w.result().dtype));
}
// windows_extent() of the operation's windows.
std::int64_t extent_of(const Written& w, std::int64_t count, std::int64_t stride, std::int64_t window,
                       std::int64_t dilation) {
  if (const auto extent = windows_extent(count, stride, window, dilation)) return *extent;
  w.lacks("windows that pass 2^63");
}

ValueNames conv_written(const Written& w) {
  const DType type = w.result().dtype;
  const bool plain = !w.flag("channels_last") && w.dtype(0) == w.dtype(1) && w.dtype(0) == type && is_floating(type) &&
                     bits(type) >= 16;
  const Ints all = joined(w.integers("padding"), w.integers("padding_after"));
  const bool crops = std::ranges::any_of(all, [](std::int64_t n) { return n < 0; });
  return plain && !crops ? ValueNames{conv_node(w)} : w.function(written<conv_node>);
}

std::string conv_transpose_written(const Written& w) {
  const int count = w.rank() - 2;
  const DType type = conv_type(w);
  const bool last = w.flag("channels_last");
  const Ints sizes = spatial(w.shape(0), last), out = spatial(w.result().shape, last),
             window = spatial(w.shape(1), false);
  const Ints strides = axis_numbers(w, "strides", count, 1), dilations = axis_numbers(w, "dilations", count, 1);
  const Ints given = axis_numbers(w, "padding", count, 0);
  Ints before, after, more(window.size(), 0), pads(2 * (window.size() + 2), 0);
  bool pads_more = false;
  for (std::size_t d = 0; d < window.size(); ++d) {
    const std::int64_t all = extent_of(w, sizes[d], strides[d], window[d], dilations[d]);
    // All that is there is computed; what is left out or missing around it comes off or is added, as zeros.
    before.push_back(std::clamp<std::int64_t>(given[d], 0, all));
    const std::int64_t behind = all - given[d] - out[d];
    after.push_back(std::clamp<std::int64_t>(behind, 0, all - 1 - std::min(before[d], all - 1)));
    pads[2 + d] = before[d] - given[d];
    pads[window.size() + 4 + d] = after[d] - behind;
    pads_more |= pads[2 + d] != 0 || pads[window.size() + 4 + d] != 0;
  }
  const std::string x = channels_first(w, w.cast(w.in(0), w.dtype(0), type));
  std::string y = w.node("ConvTranspose", {x, w.cast(w.in(1), w.dtype(1), type)},
                         {{"strides", strides},
                          {"dilations", dilations},
                          {"pads", joined(before, after)},
                          {"group", w.has("groups") ? w.integer("groups") : 1}});
  if (pads_more) y = w.node("Pad", {y, w.constant(pads)});
  return channels_back(w, w.cast(y, type, w.result().dtype));
}

// A convolution of the batch: strides and dilations change places.
std::string filter_gradient_written(const Written& w) {
  const int count = w.rank() - 2;
  const DType type = conv_type(w);
  if (w.has("groups") && w.integer("groups") != 1) w.lacks("the gradient of a filter in groups");
  Ints before = axis_numbers(w, "padding", count, 0);
  Ints after = w.integers("padding_after").empty() ? before : w.integers("padding_after");
  Ints order{1, 0};
  for (int d = 2; d < w.rank(); ++d) order.push_back(d);
  std::string x = channels_first(w, w.cast(w.in(0), w.dtype(0), type));
  x = cropped(w, x, before, after);
  const std::string dy = channels_first(w, w.cast(w.in(1), w.dtype(1), type));
  std::string y = w.node("Conv", {w.transpose(x, order), w.transpose(dy, order)},
                         {{"strides", axis_numbers(w, "dilations", count, 1)},
                          {"dilations", axis_numbers(w, "strides", count, 1)},
                          {"pads", joined(before, after)}});
  const Ints window = w.integers("window");
  for (std::size_t d = 0; d < window.size(); ++d) y = w.slice(y, static_cast<std::int64_t>(d) + 2, 0, window[d]);
  return w.cast(w.transpose(y, order), type, w.result().dtype);
}

// ---- Pools

struct PoolWindows {
  Ints window, strides, dilations, before, after;
  bool ceil = false;
  bool counts_more = false;  // windows reach past the padding, whose elements count
};
PoolWindows pool_windows(const Written& w) {
  const int count = w.rank() - 2;
  const bool last = w.flag("channels_last");
  const Ints sizes = spatial(w.shape(0), last), out = spatial(w.result().shape, last);
  PoolWindows p;
  if (w.flag("adaptive")) {
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (out[d] == 0 || sizes[d] % out[d] != 0)
        w.lacks("{} windows of {} elements, which differ in size", out[d], sizes[d]);
      p.window.push_back(sizes[d] / out[d]);
    }
    p.strides = p.window;
    p.dilations.assign(p.window.size(), 1);
    p.before.assign(p.window.size(), 0);
    p.after = p.before;
    return p;
  }
  p.window = w.integers("window");
  p.strides = w.integers("strides").empty() ? p.window : w.integers("strides");
  p.dilations = axis_numbers(w, "dilations", count, 1);
  p.before = axis_numbers(w, "padding", count, 0);
  const Ints given = w.integers("padding_after").empty() ? p.before : w.integers("padding_after");
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::int64_t reaches = extent_of(w, 1, 1, p.window[d], p.dilations[d]);
    const std::int64_t behind =
        extent_of(w, out[d], p.strides[d], p.window[d], p.dilations[d]) - sizes[d] - p.before[d];
    p.counts_more |= behind > given[d];
    const std::int64_t after = std::max<std::int64_t>(behind, 0);
    const auto fit = fit_windows(sizes[d], p.window[d], p.strides[d], p.dilations[d], p.before[d], after);
    if (out[d] == 0 || p.before[d] < 0 || p.before[d] >= reaches || after >= reaches || !fit || fit->count != out[d]) {
      w.lacks("windows outside of the operand");
    }
    p.after.push_back(behind > given[d] ? after
                                        : std::min(std::max(after, std::int64_t{0}), std::max(given[d], after)));
  }
  return p;
}
WrittenAttributes pool_attributes(const PoolWindows& p) {
  return {{"kernel_shape", p.window},
          {"strides", p.strides},
          {"dilations", p.dilations},
          {"pads", joined(p.before, p.after)}};
}
template <class F>
std::string pooled(const Written& w, const F& f) {
  const DType type = w.result().dtype;
  const DType in = w.dtype() == type && bits(type) >= 16     ? type
                   : is_floating(type) && type != DType::f64 ? DType::f32
                                                             : type;
  const std::string x = channels_first(w, w.cast(w.in(0), w.dtype(), in));
  return channels_back(w, w.cast(f(x, in), in, type));
}
std::string max_pool_node(const Written& w) {
  return pooled(w,
                [&](const std::string& x, DType) { return w.node("MaxPool", {x}, pool_attributes(pool_windows(w))); });
}
std::string average_pool_node(const Written& w) {
  const PoolWindows p = pool_windows(w);
  const bool counts = w.flag("adaptive") || !w.has("count_padding") || w.flag("count_padding");
  const std::int64_t divisor = w.integer("divisor");
  if (p.counts_more && (counts || divisor)) w.lacks("windows past the padding, which counts");
  WrittenAttributes attributes = pool_attributes(p);
  attributes.push_back({"count_include_pad", std::int64_t{counts || divisor}});
  return pooled(w, [&](const std::string& x, DType type) {
    const std::string y = w.node("AveragePool", {x}, attributes);
    if (divisor == 0) return y;
    const std::int64_t elements = std::accumulate(p.window.begin(), p.window.end(), std::int64_t{1}, std::multiplies());
    return w.node("Mul", {y, w.scalar(static_cast<double>(elements) / static_cast<double>(divisor), type)});
  });
}
std::string lp_pool_node(const Written& w) {
  const double p = w.number("p");
  if (p != std::floor(p)) w.lacks("the norm of exponent {}", p);
  WrittenAttributes attributes = pool_attributes(pool_windows(w));
  attributes.push_back({"p", static_cast<std::int64_t>(p)});
  return pooled(w, [&](const std::string& x, DType) { return w.node("LpPool", {x}, attributes); });
}
template <std::string (*f)(const Written&)>
ValueNames pool_written(const Written& w) {
  const bool plain =
      !w.flag("channels_last") && !w.flag("adaptive") && w.dtype() == w.result().dtype && w.integer("divisor") == 0;
  return plain ? ValueNames{f(w)} : w.function(written<f>);
}
ValueNames max_pool_with_indices_written(const Written& w) {
  const std::string x = channels_first(w, w.in(0));
  const ValueNames both = w.nodes("MaxPool", std::span(&x, 1), 2, pool_attributes(pool_windows(w)));
  const Ints sizes = spatial(w.shape(0), w.flag("channels_last"));
  const std::int64_t plane = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies());
  const std::string at = w.node("Mod", {both[1], w.scalar(plane, DType::i64)});
  return {channels_back(w, both[0]), channels_back(w, w.cast(at, DType::i64, w.result(1).dtype))};
}

// ---- Resampling

std::string resize_written(const Written& w) {
  const std::string mode = w.text("mode"), coordinates = w.text("coordinates"), rounding = w.text("rounding");
  const Shape &in = w.shape(0), &out = w.result().shape;
  const int rank = in.rank();
  const DType type = w.result().dtype;
  if (mode == "area") w.lacks("mode area");
  std::vector<double> scales = w.numbers("scales"), starts = w.numbers("starts"), ends = w.numbers("ends");
  WrittenAttributes attributes{
      {"mode", mode},
      {"coordinate_transformation_mode", coordinates == "crop" ? std::string("tf_crop_and_resize") : coordinates}};
  if (mode == "nearest") {
    const std::string name = rounding.empty() ? "prefer_floor" : rounding;
    attributes.push_back({"nearest_mode", name.starts_with("prefer") ? "round_" + name : name});
  }
  if (mode == "cubic") attributes.push_back({"cubic_coeff_a", w.has("cubic_a") ? w.number("cubic_a") : -0.75});
  if (w.flag("antialias")) attributes.push_back({"antialias", std::int64_t{1}});
  if (w.flag("exclude_outside")) attributes.push_back({"exclude_outside", std::int64_t{1}});
  std::string roi;
  if (coordinates == "crop") {
    attributes.push_back({"extrapolation_value", w.number("value")});
    starts.resize(static_cast<std::size_t>(rank), 0.0);
    if (ends.empty()) ends.assign(static_cast<std::size_t>(rank), 1.0);
    std::vector<float> all(starts.begin(), starts.end());
    all.insert(all.end(), ends.begin(), ends.end());
    roi = w.constant(TensorData::of<float>(Shape{2 * rank}, std::span<const float>(all)));
  }
  const DType wide = is_floating(type) && bits(type) < 16 ? DType::f32 : type;
  const std::string x = w.cast(w.in(0), w.dtype(), wide);
  bool by_sizes = scales.empty();
  std::vector<float> narrow(scales.begin(), scales.end());
  for (std::size_t d = 0; d < narrow.size(); ++d) {
    const auto size = static_cast<float>(in[static_cast<int>(d)]);
    if (static_cast<std::int64_t>(std::floor(size * narrow[d])) != out[static_cast<int>(d)]) {
      w.lacks("the scale {} of {} elements to {}", scales[d], in[static_cast<int>(d)], out[static_cast<int>(d)]);
    }
  }
  std::string y;
  if (by_sizes) {
    y = w.node("Resize", {x, roi, "", w.constant(Ints(out.begin(), out.end()))}, std::move(attributes));
  } else {
    const std::string list = w.constant(TensorData::of<float>(Shape{rank}, std::span<const float>(narrow)));
    y = w.node("Resize", {x, roi, list}, std::move(attributes));
  }
  return w.cast(y, wide, type);
}

std::string grid_sample_written(const Written& w) {
  const DType type = w.dtype() == DType::f64 ? DType::f64 : DType::f32;
  std::string x = w.cast(w.in(0), w.dtype(), type), grid = w.cast(w.in(1), w.dtype(1), type);
  const Shape &image = w.shape(0), &places = w.shape(1);
  if (w.rank() == 3) {  // an image of one row, sampled in its middle
    x = w.reshape(x, {image[0], image[1], 1, image[2]});
    grid = w.concat(
        ValueNames{grid, w.node("Expand", {w.scalar(0, type), w.constant(Ints(places.begin(), places.end()))})}, 2);
    grid = w.reshape(grid, {places[0], 1, places[1], 2});
  }
  std::string y = w.node("GridSample", {x, grid},
                         {{"mode", w.text("mode")},
                          {"padding_mode", w.text("padding")},
                          {"align_corners", std::int64_t{w.flag("align_corners")}}});
  if (w.rank() == 3) y = w.reshape(y, w.result().shape);
  return w.cast(y, type, w.result().dtype);
}

// [n, C, window…, places…] as ONNX's [n, C · window, places]. (With one axis as an image of one row: ONNX Runtime 1.32
// takes no other dilations than 1 there.)
std::string fold_written(const Written& w) {
  const Ints given = w.integers("sizes");
  const int count = static_cast<int>(given.size());
  const DType type = is_floating(w.dtype()) && w.dtype() != DType::f64 ? DType::f32 : w.dtype();
  const Shape& result = w.result().shape;
  if (element_count(w.shape()) == 0 || element_count(result) == 0) {
    return w.node("Expand", {w.scalar(0, w.result().dtype), w.constant(Ints(result.begin(), result.end()))});
  }
  Ints strides = axis_numbers(w, "strides", count, 1), dilations = axis_numbers(w, "dilations", count, 1),
       before = axis_numbers(w, "before", count, 0), sizes = given;
  Ints window, after;
  std::int64_t elements = 1, places = 1;
  for (int d = 0; d < count; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t n = w.shape()[2 + d], k = w.shape()[2 + count + d];
    window.push_back(n);
    elements *= n, places *= k;
    after.push_back(extent_of(w, k, strides[at], n, dilations[at]) - before[at] - sizes[at]);
    // What windows do not reach, fewer elements than a step, is left over.
    if (before[at] < 0 || after[at] <= -strides[at]) w.lacks("windows that are not those of the whole");
    after[at] = std::max<std::int64_t>(after[at], 0);
  }
  if (count == 1) {
    for (Ints* list : {&strides, &dilations, &sizes, &window}) list->insert(list->begin(), 1);
    for (Ints* list : {&before, &after}) list->insert(list->begin(), 0);
  }
  const std::string columns =
      w.reshape(w.cast(w.in(0), w.dtype(), type), {w.shape()[0], w.shape()[1] * elements, places});
  const std::string y = w.node("Col2Im", {columns, w.constant(sizes), w.constant(window)},
                               {{"strides", strides}, {"dilations", dilations}, {"pads", joined(before, after)}});
  return w.cast(count == 1 ? w.reshape(y, result) : y, type, w.result().dtype);
}

constexpr WriteRow kWritten[] = {
    by("conv", conv_written),
    as_function("conv_transpose", written<conv_transpose_written>),
    as_function("conv_filter_gradient", written<filter_gradient_written>),
    by("max_pool", pool_written<max_pool_node>),
    by("average_pool", pool_written<average_pool_node>),
    as_function("lp_pool", written<lp_pool_node>),
    as_function("max_pool_with_indices", max_pool_with_indices_written),
    as_function("resize", written<resize_written>),
    as_function("grid_sample", written<grid_sample_written>),
    as_function("fold", written<fold_written>),
};

}  // namespace

OperatorRows network_rows() { return {"", kRows, kWritten}; }

}  // namespace weft::onnx
