// What the rows of networks, of quantisation and of com.microsoft share.
#include "onnx/network.h"

#include <algorithm>
#include <limits>

#include "core/windows.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft::onnx {

// ---- Tensors

Tensor constant(const Shape& shape, std::span<const double> values, DType dtype) {
  const auto width = static_cast<std::size_t>(bits(dtype) / 8);
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * width);
  for (const double value : values) {
    const std::uint64_t element = Number(value).bits(dtype);
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(element >> (8 * i)));
  }
  return Graph::constant(TensorData::copy_of(dtype, shape, bytes));
}

Tensor as(const Tensor& x, DType dtype) { return x.defined() ? cast(x, dtype) : x; }

Tensors results(const Node& n, Tensors all) {
  if (all.size() > n.results()) all.resize(n.results());
  return all;
}

Dims sizes_from(const Shape& shape, int first, int count) {
  Dims sizes;
  for (int d = 0; d < count; ++d) sizes.push_back(shape[first + d]);
  return sizes;
}

Tensor steps_along(int axis, int rank, std::int64_t count, std::int64_t start, std::int64_t step, DType type) {
  Shape shape = Shape::filled(rank, 1);
  shape[axis] = count;
  return reshape(cast(arange(count), type) * step + start, shape);
}

// ---- Windows

Dims axis_numbers(const Node& n, std::string_view name, int count, std::int64_t otherwise, std::int64_t least) {
  const Ints given = n.integers(name);
  if (given.empty()) return Dims::filled(count, otherwise);
  if (static_cast<int>(given.size()) != count) {
    n.fail("{} has {} numbers, expected one for each of {} spatial axes", name, given.size(), count);
  }
  for (const std::int64_t i : given) {
    if (i < least) n.fail("{} has {}, expected numbers of {} or more", name, i, least);
  }
  return Dims(given);
}

int spatial_axes(const Node& n, const Shape& x) {
  const int count = x.rank() - 2;
  if (count < 1) n.fail("X is {}, expected batch, channels and spatial axes", to_string(x));
  if (count > 3) n.lacks("X is {}, of {} spatial axes; there are kernels for one to three", to_string(x), count);
  return count;
}

std::string padding_mode(const Node& n) {
  const std::string mode = n.text("auto_pad", "NOTSET");
  for (const std::string_view known : {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}) {
    if (mode == known) return mode;
  }
  n.fail("auto_pad is {}, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode);
}

Dims kernel_shape(const Node& n, int count) {
  if (!n.attribute("kernel_shape")) n.fail("kernel_shape is missing");
  return axis_numbers(n, "kernel_shape", count, 1, 1);
}

Windows windows_of(const Node& n, const Dims& sizes, const Dims& window) {
  const int count = sizes.rank();
  const std::string mode = padding_mode(n);
  Windows w{.strides = axis_numbers(n, "strides", count, 1, 1),
            .dilations = axis_numbers(n, "dilations", count, 1, 1),
            .before = Dims::filled(count, 0),
            .after = Dims::filled(count, 0),
            .automatic = mode != "NOTSET"};
  if (mode == "NOTSET") {
    const Ints pads = n.integers("pads");
    if (!pads.empty() && static_cast<int>(pads.size()) != 2 * count) {
      n.fail("pads has {} numbers, expected two for each of {} spatial axes", pads.size(), count);
    }
    for (int d = 0; d < count && !pads.empty(); ++d) {
      w.before[d] = pads[static_cast<std::size_t>(d)];
      w.after[d] = pads[static_cast<std::size_t>(d + count)];
    }
  } else if (mode != "VALID") {
    for (int d = 0; d < count; ++d) {
      const std::int64_t windows = sizes[d] / w.strides[d] + (sizes[d] % w.strides[d] != 0);
      const std::int64_t all = std::max<std::int64_t>(extent_of(n, w, d, windows, window[d]) - sizes[d], 0);
      w.before[d] = mode == "SAME_UPPER" ? all / 2 : all - all / 2;
      w.after[d] = all - w.before[d];
    }
  }
  return w;
}

std::int64_t extent_of(const Node& n, const Windows& w, int d, std::int64_t count, std::int64_t window) {
  if (const auto extent = windows_extent(count, w.strides[d], window, w.dilations[d])) return *extent;
  n.fail("{} windows of {} elements, {} apart, at every element {} along spatial axis {} pass 2^63", count, window,
         w.dilations[d], w.strides[d], d);
}

ConvOptions conv_options(const Node& n, const Shape& x, const Dims& window, bool channels_last) {
  const int count = spatial_axes(n, x);
  if (window.rank() != count) {
    n.fail("X is {} and the filter has {} spatial axes, expected as many", to_string(x), window.rank());
  }
  if (const Dims named = axis_numbers(n, "kernel_shape", count, 0, 1); n.attribute("kernel_shape") && named != window) {
    n.fail("kernel_shape is {}, and the filter has {}", to_string(named), to_string(window));
  }
  const Windows w = windows_of(n, sizes_from(x, channels_last ? 1 : 2, count), window);
  return {.strides = w.strides,
          .dilations = w.dilations,
          .padding = w.before,
          .padding_after = w.after,
          .groups = n.integer("group", 1),
          .channels_last = channels_last};
}

Tensor conv_of(const Node& n, const Tensor& x, const Tensor& w, const Tensor& bias) {
  return weft::conv(x, w, bias, conv_options(n, x.shape(), sizes_from(w.shape(), 2, std::max(w.rank() - 2, 0))));
}

PoolOptions pool_options(const Node& n, const Shape& x, bool channels_last) {
  const int count = spatial_axes(n, x);
  const Dims window = kernel_shape(n, count), sizes = sizes_from(x, channels_last ? 1 : 2, count);
  const Windows w = windows_of(n, sizes, window);
  // Automatic padding says how many windows there are, so that nothing is left to round.
  const bool up = n.integer("ceil_mode", 0) != 0 && !w.automatic;
  PoolOptions o{.window = window,
                .strides = w.strides,
                .dilations = w.dilations,
                .padding = w.before,
                .padding_after = w.after,
                .channels_last = channels_last,
                .count_padding = n.integer("count_include_pad", 0) != 0};
  for (int d = 0; d < count; ++d) {
    const auto fit = fit_windows(sizes[d], window[d], w.strides[d], w.dilations[d], w.before[d], w.after[d]);
    if (!fit) {
      n.fail("a window of {} elements, {} apart, or {} elements with a padding of {} and {}, pass 2^63", window[d],
             w.dilations[d], sizes[d], w.before[d], w.after[d]);
    }
    if (fit->count == 0) {
      n.fail("a window reaches over {} elements along spatial axis {}, of which there are {} with the padding",
             fit->reach, d, fit->padded);
    }
    o.output_sizes.push_back(up ? windows_rounded_up(*fit, w.strides[d], sizes[d] + w.before[d]) : fit->count);
  }
  return o;
}

}  // namespace weft::onnx
