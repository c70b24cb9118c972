// Operations on images, quantised numbers and sequences in random programs.
#include <cmath>

#include "support/random_program_steps.h"
#include "weft/convolution.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

// [batch, channels] and one to three spatial axes, with elements.
bool is_image(const ProgramValue& v) { return rank(v) >= 3 && rank(v) <= 5 && size(v) > 0; }

Dims sizes_of(const ProgramValue& v) {
  Dims sizes;
  for (int d = 2; d < rank(v); ++d) sizes.push_back(v.type.shape[d]);
  return sizes;
}

struct Windows {
  Dims window, strides, dilations, padding;
  double elements = 1;
  std::string text() const {
    return std::format("window {}, strides {}, dilations {}, padding {}", weft::to_string(window),
                       weft::to_string(strides), weft::to_string(dilations), weft::to_string(padding));
  }
};
Windows windows(ProgramState& s, const Dims& sizes) {
  Windows w;
  for (const std::int64_t n : sizes) {
    const std::int64_t window = 1 + s.up_to(static_cast<int>(std::min<std::int64_t>(n, 3)) - 1);
    w.window.push_back(window);
    w.dilations.push_back((window - 1) * 2 < n && s.chance(3) ? 2 : 1);
    w.strides.push_back(1 + s.up_to(1));
    w.padding.push_back(window > 1 ? s.up_to(1) : 0);
    w.elements *= static_cast<double>(window);
  }
  return w;
}

// The first elements of x, as this shape.
Tensor first_elements(const Tensor& x, const Shape& shape) {
  return reshape(slice(reshape(x, {x.size()}), 0, 0, element_count(shape)), shape);
}

Maybe convolution(ProgramState& s) {
  const int a = s.value([](const ProgramValue& v) { return is_image(v) && is_number(v); });
  if (a < 0) return {};
  const ProgramValue& x = s[a];
  const Windows w = windows(s, sizes_of(x));
  const std::int64_t channels = x.type.shape[1], outputs = 1 + s.up_to(2);
  const bool transposed = s.chance(3);
  Shape shape = transposed ? Shape{channels, outputs} : Shape{outputs, channels};
  for (const std::int64_t n : w.window) shape.push_back(n);
  const int b =
      s.value([&](const ProgramValue& v) { return v.type.dtype == x.type.dtype && size(v) >= element_count(shape); });
  if (b < 0) return {};
  const ProgramValue& y = s[b];
  const double k = static_cast<double>(channels) * w.elements + 1;
  const bool exact = fits_exactly(x.grid + y.grid, k * x.top * y.top, x.type.dtype);
  const double error = k * ((x.top + y.error) * y.error + (y.top + x.error) * x.error + std::ldexp(x.top * y.top, -21));
  const ConvOptions o{.strides = w.strides, .dilations = w.dilations, .padding = w.padding};
  return step(
      transposed ? "conv_transpose" : "conv", {a, b},
      [=](Tensors& in) {
        const Tensor filter = first_elements(in[1], shape);
        return Tensors{transposed ? conv_transpose(in[0], filter, {}, {o}) : conv(in[0], filter, {}, o)};
      },
      error, exact, std::format("filter {}, {}", weft::to_string(shape), w.text()));
}

Maybe pooling(ProgramState& s) {
  const int x = s.value([](const ProgramValue& v) { return is_image(v) && is_number(v); });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const Windows w = windows(s, sizes_of(v));
  const PoolOptions o{.window = w.window,
                      .strides = w.strides,
                      .dilations = w.dilations,
                      .padding = w.padding,
                      .ceil_mode = s.chance(2)};
  const double mean_error = v.error + std::ldexp(v.top, -19);
  switch (s.up_to(4)) {
    case 0:
      return unary_step("max_pool", x, [o](const Tensor& t) { return max_pool(t, o); }, v.error, true, w.text());
    case 1:
      return unary_step(
          "average_pool", x, [o](const Tensor& t) { return average_pool(t, o); }, mean_error, false, w.text());
    case 2: {
      Dims sizes;
      for (const std::int64_t n : sizes_of(v)) sizes.push_back(1 + s.up_to(static_cast<int>(n) - 1));
      return unary_step(
          "adaptive_average_pool", x, [sizes](const Tensor& t) { return adaptive_average_pool(t, sizes); }, mean_error,
          false, weft::to_string(sizes));
    }
    case 3:
      if (!v.exact) return {};
      return step(
          "max_pool_with_indices", {x},
          [o](Tensors& in) {
            const PooledMax y = max_pool_with_indices(in[0], o);
            return Tensors{y.values, y.indices};
          },
          0, true, w.text());
    default: {
      if (!v.exact) return {};
      const Dims sizes = sizes_of(v), window = w.window;
      return unary_step(
          "max_unpool", x,
          [=](const Tensor& t) {
            const PooledMax y = max_pool_with_indices(t, {.window = window});
            return max_unpool(y.values, y.indices, sizes);
          },
          0, true, weft::to_string(window));
    }
  }
}

Maybe resampling(ProgramState& s) {
  const int x = s.value(is_image);
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  Shape sizes;
  for (int d = 2; d < rank(v); ++d) sizes.push_back(1 + s.up_to(5));
  UpsampleOptions o{.mode = s.pick(std::vector{ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic})};
  if (o.mode == ResizeMode::nearest) {
    o.exact = s.chance(2);
  } else {
    if (!is_float(v) && !v.exact) return {};
    (s.chance(2) ? o.align_corners : o.antialias) = s.chance(2);
  }
  const bool same = o.mode == ResizeMode::nearest;
  // A cubic's weights sum to 1, with negative ones to at most 1.5 for each axis.
  return unary_step(
      "upsample", x, [=](const Tensor& t) { return upsample(t, sizes, o); },
      same ? v.error : 4 * v.error + std::ldexp(v.top, -17), same || !is_float(v),
      std::format("{}, mode {}", weft::to_string(sizes), static_cast<int>(o.mode)));
}

Maybe sampling(ProgramState& s) {
  const int x = s.value([](const ProgramValue& v) { return is_image(v) && is_float(v); });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const int spatial = rank(v) - 2;
  Shape shape{v.type.shape[0]};
  for (int d = 0; d < spatial; ++d) shape.push_back(1 + s.up_to(2));
  shape.push_back(spatial);
  std::vector<int> positions(static_cast<std::size_t>(element_count(shape)));
  for (int& p : positions) p = s.up_to(40) - 20;
  GridSampleOptions o{.mode = s.pick(std::vector{SampleMode::linear, SampleMode::nearest, SampleMode::cubic}),
                      .padding = static_cast<SamplePadding>(s.up_to(2)),
                      .align_corners = s.chance(2)};
  // Mirroring divides, which may move a position over the middle between two elements.
  if (o.mode == SampleMode::nearest && o.padding == SamplePadding::reflection) o.padding = SamplePadding::border;
  const bool same = o.mode == SampleMode::nearest;
  return unary_step(
      "grid_sample", x,
      [=](const Tensor& t) {
        return grid_sample(t, reshape(integers_of(positions).cast(DType::f32) * 0.0625, shape), o);
      },
      same ? v.error : 4 * v.error + std::ldexp(v.top, -16), same,
      std::format("{} / 16, mode {}, padding {}, align_corners {}", list(positions), static_cast<int>(o.mode),
                  static_cast<int>(o.padding), o.align_corners));
}

Maybe unfolding(ProgramState& s) {
  const int x = s.value(is_image);
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const Dims sizes = sizes_of(v);
  const Windows w = windows(s, sizes);
  const WindowOptions o{.strides = w.strides, .dilations = w.dilations, .padding = w.padding};
  if (s.chance(2) || !is_number(v)) {
    return unary_step("unfold", x, [=](const Tensor& t) { return unfold(t, w.window, o); }, v.error, true, w.text());
  }
  return unary_step(
      "fold", x, [=](const Tensor& t) { return fold(unfold(t, w.window, o), sizes, w.window, o); },
      w.elements * (v.error + std::ldexp(v.top, -21)), fits_exactly(v.grid, w.elements * v.top, v.type.dtype),
      w.text());
}

Maybe quantising(ProgramState& s) {
  const bool back = s.chance(3);
  const int x = s.value([&](const ProgramValue& v) {
    return back ? v.type.dtype == DType::i8 || v.type.dtype == DType::u8 : is_float(v) && v.exact && rank(v) > 0;
  });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const double scale = s.pick<double>({0.5, 0.25, 0.75, 0.1});
  const int zero = s.up_to(5);
  const std::string arguments = std::format("{}, {}", scale, zero);
  if (back) {
    return unary_step(
        "dequantize", x, [=](const Tensor& t) { return dequantize(t, scale, zero); }, std::ldexp(v.top + 8, -20),
        scale != 0.1, arguments);
  }
  const DType type = s.pick(std::vector<DType>{DType::i8, DType::u8, DType::i16});
  switch (s.up_to(3)) {
    case 0:
      return unary_step(
          "quantize", x, [=](const Tensor& t) { return quantize(t, scale, zero, {.dtype = type}); }, 0, true,
          std::format("{}, {}", arguments, name(type)));
    case 1:
      return unary_step(
          "fake_quantize", x, [=](const Tensor& t) { return fake_quantize(t, scale, zero); },
          std::ldexp(v.top + 128 * scale, -significand_bits(v.type.dtype)), false, arguments);
    case 2: {  // packed integers of a scale for each index of an axis
      const int axis = any_axis(s, rank(v));
      const auto n = static_cast<std::size_t>(v.type.shape[axis]);
      std::vector<int> scales(n);
      for (int& k : scales) k = 1 + s.up_to(3);
      const DType packed = s.chance(2) ? DType::i4 : DType::u4;
      return unary_step(
          "quantize packed", x,
          [=](const Tensor& t) {
            const Tensor by = integers_of(scales).cast(t.dtype()) * 0.25;
            return dequantize(quantize(t, by, {}, {.dtype = packed, .axis = axis}), by, {}, {.axis = axis});
          },
          0, true, std::format("{} / 4, axis {}, {}", list(scales), axis, name(packed)));
    }
    default: {  // the range is rounded, and so where numbers lie between two integers
      const double range = 2 * v.top;
      return unary_step(
          "dynamic_quantize", x,
          [](const Tensor& t) {
            const Quantized q = dynamic_quantize(t);
            return dequantize(q.values, q.scale, q.zero_point);
          },
          range / 100, false);
    }
  }
}

Maybe recurrent(ProgramState& s) {
  const auto usable = [](const ProgramValue& v) { return v.type.dtype == DType::f32 && v.exact && size(v) > 0; };
  const int a = s.value([&](const ProgramValue& v) { return usable(v) && rank(v) == 3 && v.type.shape[0] <= 5; });
  if (a < 0) return {};
  const ProgramValue& x = s[a];
  const int kind = s.up_to(2);
  const std::int64_t gates = kind == 0 ? 4 : kind == 1 ? 3 : 1, hidden = 1 + s.up_to(2), inputs = x.type.shape[2];
  const int b = s.value([&](const ProgramValue& v) { return usable(v) && size(v) >= gates * hidden; });
  if (b < 0) return {};
  // Each step may enlarge an error by a few times.
  const double sums = static_cast<double>(inputs) * (x.top + 1);
  const double error = std::pow(4, static_cast<double>(x.type.shape[0])) * std::ldexp(sums + 4, -20);
  constexpr std::string_view kNames[] = {"lstm", "gru", "rnn"};
  return step(
      kNames[kind], {a, b},
      [=](Tensors& in) {
        // Weights of at most 1/2, all made of as many elements as there are.
        const Tensor some = tanh(first_elements(in[1], {gates * hidden, 1})) * 0.5;
        const Tensor w = broadcast_to(some, {gates * hidden, inputs}), r = broadcast_to(some, {gates * hidden, hidden});
        if (kind == 0) {
          const LstmResult y = lstm(in[0], w, r);
          return Tensors{y.y, y.h, y.c};
        }
        const RecurrentResult y = kind == 1 ? gru(in[0], w, r) : rnn(in[0], w, r);
        return Tensors{y.y, y.h};
      },
      error, false, std::format("{} gates of {}", gates, hidden));
}

}  // namespace

Maybe random_image(ProgramState& s) {
  using Maker = Maybe (*)(ProgramState&);
  static constexpr Maker kMakers[] = {convolution, convolution, pooling,    pooling,    resampling,
                                      sampling,    unfolding,   quantising, quantising, recurrent};
  return kMakers[s.up_to(static_cast<int>(std::size(kMakers)) - 1)](s);
}

}  // namespace weft::test
