// Operations on images, quantised numbers and sequences in random graphs.
#include <cmath>

#include "support/random_graph_values.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/quantized_weights.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

double scale_of(std::int64_t terms) { return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 1))); }

// [batch, channels] and one to three spatial axes that are not empty.
bool is_image(const Tensor& x) {
  if (x.rank() < 3 || x.rank() > 5) return false;
  for (int d = 2; d < x.rank(); ++d) {
    if (x.shape()[d] == 0) return false;
  }
  return true;
}

Shape image_shape(RandomGraphValues& g) {
  Shape s{1 + g.up_to(1), g.pick(std::vector<std::int64_t>{1, 2, 3, 4, 6, 8})};
  const int spatial = 1 + (g.up_to(3) ? g.up_to(1) : 2);
  for (int d = 0; d < spatial; ++d) s.push_back(1 + g.up_to(spatial == 3 ? 3 : 6));
  return s;
}

Dims sizes_of(const Tensor& x) {
  Dims sizes;
  for (int d = 2; d < x.rank(); ++d) sizes.push_back(x.shape()[d]);
  return sizes;
}

// Windows that fit x's spatial axes.
struct Windows {
  Dims window, strides, dilations, padding;
  std::int64_t elements = 1;
};
Windows windows(RandomGraphValues& g, const Dims& sizes) {
  Windows w;
  for (const std::int64_t n : sizes) {
    const std::int64_t window = 1 + g.up_to(static_cast<int>(std::min<std::int64_t>(n, 3)) - 1);
    w.window.push_back(window);
    w.dilations.push_back((window - 1) * 2 < n && g.up_to(2) == 0 ? 2 : 1);
    w.strides.push_back(1 + g.up_to(1));
    w.padding.push_back(window > 1 ? g.up_to(1) : 0);
    w.elements *= window;
  }
  return w;
}

Tensor convolution(RandomGraphValues& g, const Tensor& x) {
  const Windows w = windows(g, sizes_of(x));
  const std::int64_t channels = x.shape()[1];
  std::int64_t groups = 1;
  if (channels > 1 && g.up_to(2) == 0) groups = channels % 2 == 0 && g.up_to(1) ? 2 : channels;
  const std::int64_t of_group = 1 + g.up_to(3);
  const ConvOptions o{.strides = w.strides, .dilations = w.dilations, .padding = w.padding, .groups = groups};
  const auto filter = [&](std::int64_t first, std::int64_t second) {
    Shape s{first, second};
    for (const std::int64_t n : w.window) s.push_back(n);
    return g.leaf(s);
  };
  const auto bias = [&] { return g.up_to(1) ? Operand(g.leaf({of_group * groups})) : Operand(); };
  switch (g.up_to(4)) {
    case 0: {
      ConvTransposeOptions t{o};
      return conv_transpose(x * scale_of(channels * w.elements), filter(channels, of_group), bias(), t);
    }
    case 1: {  // the gradients of a convolution
      const Tensor f = filter(of_group * groups, channels / groups), y = conv(x, f, {}, o);
      const double scale = scale_of(y.size() / std::max<std::int64_t>(y.shape()[1], 1));
      const Tensor df = conv_filter_gradient(x, tanh(y) * scale, w.window, o);
      ConvTransposeOptions t{o};
      t.output_sizes = sizes_of(x);
      return conv_transpose(tanh(y) * scale_of(of_group * w.elements), f + df * 0.125, {}, t);
    }
    case 2: {  // channels last
      std::vector<int> last{0}, back{0, x.rank() - 1};
      for (int d = 2; d < x.rank(); ++d) last.push_back(d), back.push_back(d - 1);
      last.push_back(1);
      ConvOptions c = o;
      c.channels_last = true;
      const Tensor y = conv(permute(x, last) * scale_of(channels / groups * w.elements),
                            filter(of_group * groups, channels / groups), bias(), c);
      return g.up_to(1) ? y : permute(y, back);
    }
    default:
      return conv(x, filter(of_group * groups, channels / groups), bias(), o) *
             scale_of(channels / groups * w.elements);
  }
}

// Sometimes with elementwise work, for the kernel that reads it.
Tensor worked(RandomGraphValues& g, const Tensor& x) {
  Shape channels = Shape::filled(x.rank() - 1, 1);
  channels[0] = x.shape()[1];
  switch (g.up_to(4)) {
    case 0:
      return relu(x * g.leaf(channels) + g.leaf(channels));
    case 1:
      return (x - g.leaf(g.up_to(1) ? x.shape() : channels)) * 0.5;
    case 2:
      return abs(x) * g.leaf(channels) - 0.25;
    default:
      return x;
  }
}

Tensor pooling(RandomGraphValues& g, const Tensor& given) {
  const Tensor x = worked(g, given);
  const Dims sizes = sizes_of(x);
  const Windows w = windows(g, sizes);
  const PoolOptions o{.window = w.window,
                      .strides = w.strides,
                      .dilations = w.dilations,
                      .padding = w.padding,
                      .ceil_mode = g.up_to(1) == 0,
                      .count_padding = g.up_to(1) == 0};
  Dims fewer;
  for (const std::int64_t n : sizes) fewer.push_back(1 + g.up_to(static_cast<int>(n) - 1));
  // Which element is the greatest must not depend on rounding.
  const auto greatest = [&] { return max_pool_with_indices(g.exact(x.shape()), o); };
  switch (g.up_to(8)) {
    case 0:
    case 1:
      return max_pool(x, o);
    case 2:
    case 3:
      return average_pool(x, o);
    case 4:
      return lp_pool(abs(x) + 0.5, g.up_to(1) ? 2 : 3, o) * scale_of(w.elements);
    case 5:
      return g.up_to(1) ? adaptive_average_pool(x, fewer) : adaptive_max_pool(x, fewer);
    case 6: {
      const PooledMax y = greatest();
      return y.values + cast(y.indices, g.dtype()) * 0.125;
    }
    case 7: {
      const PooledMax y = greatest();
      return g.up_to(1) ? x + max_pool_gradient(tanh(y.values), y.indices, sizes, o)
                        : average_pool_gradient(average_pool(x, o), sizes, o);
    }
    default: {  // windows that do not overlap: an element is taken once
      const PooledMax y = max_pool_with_indices(g.exact(x.shape()), {.window = w.window});
      return max_unpool(y.values, y.indices, sizes) + x;
    }
  }
}

Tensor resampling(RandomGraphValues& g, const Tensor& given) {
  const Tensor x = worked(g, given);
  Dims other;
  for (int d = 2; d < x.rank(); ++d) other.push_back(1 + g.up_to(x.rank() == 5 ? 4 : 8));
  UpsampleOptions o{
      .mode = g.pick(std::vector{ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic, ResizeMode::area})};
  if (o.mode == ResizeMode::nearest) o.exact = g.up_to(1);
  if (o.mode == ResizeMode::linear || o.mode == ResizeMode::cubic)
    (g.up_to(1) ? o.align_corners : o.antialias) = g.up_to(1);
  const Tensor y = upsample(x, other, o);
  if (g.up_to(3) || o.mode == ResizeMode::area || o.antialias) return y;
  ResizeOptions r{.mode = o.mode};
  return resize_gradient(tanh(y), x.shape(), r);
}

Tensor sampling(RandomGraphValues& g, const Tensor& x) {
  const int spatial = x.rank() - 2;
  Shape s{x.shape()[0]};
  for (int d = 0; d < spatial; ++d) s.push_back(1 + g.up_to(spatial == 3 ? 2 : 4));
  s.push_back(spatial);
  GridSampleOptions o{.mode = g.pick(std::vector{SampleMode::linear, SampleMode::nearest, SampleMode::cubic}),
                      .padding = static_cast<SamplePadding>(g.up_to(2)),
                      .align_corners = g.up_to(1) == 0};
  // Mirroring divides, which may move a position over the middle between two elements.
  if (o.mode == SampleMode::nearest && o.padding == SamplePadding::reflection) o.padding = SamplePadding::border;
  return grid_sample(x, g.exact(s), o);
}

Tensor unfolding(RandomGraphValues& g, const Tensor& x) {
  const Windows w = windows(g, sizes_of(x));
  const WindowOptions o{.strides = w.strides, .dilations = w.dilations, .padding = w.padding};
  const Tensor columns = unfold(x, w.window, o);
  if (g.up_to(1)) return columns;
  return fold(g.up_to(1) ? tanh(columns) : columns, sizes_of(x), w.window, o) * scale_of(w.elements);
}

}  // namespace

Tensor random_image(RandomGraphValues& g, const Tensor& given) {
  const Tensor x = is_image(given) && g.up_to(3) ? given : g.leaf(image_shape(g));
  switch (g.up_to(6)) {
    case 0:
    case 1:
      return convolution(g, x);
    case 2:
    case 3:
      return pooling(g, x);
    case 4:
      return resampling(g, x);
    case 5:
      return sampling(g, x);
    default:
      return unfolding(g, x);
  }
}

Tensor random_quantized(RandomGraphValues& g) {
  const DType type = g.pick(std::vector<DType>{DType::i8, DType::u8, DType::i4, DType::u4, DType::i16});
  const bool narrow = type == DType::i4 || type == DType::u4;
  Shape shape = g.shape(1 + g.up_to(2));
  const int axis = g.up_to(shape.rank() - 1);
  std::int64_t block = 0;
  // Scales of powers of two and their multiples by 3: what is halfway between two integers is so on every device.
  Shape scales;
  switch (g.up_to(2)) {
    case 0:
      break;
    case 1:
      scales = {shape[axis]};
      break;
    default:
      if (shape[axis] == 0) break;
      block = shape[axis] % 2 == 0 ? 2 : 1 + g.up_to(2);
      scales = shape;
      scales[axis] = (shape[axis] + block - 1) / block;
  }
  const Tensor scale = cast(g.leaf(scales, DType::i32, 3), g.dtype()) * 0.125 + 0.125;
  const Tensor zero = g.up_to(1) ? cast(g.leaf(scales, DType::i32, narrow ? 5 : 40), type) : Tensor();
  const auto random = [&](const Shape& s) { return cast(g.leaf(s, DType::i32, narrow ? 8 : 100), type); };
  const QuantizeOptions into{.dtype = type, .axis = axis, .block = block};
  const DequantizeOptions out{.axis = axis, .block = block};
  switch (g.up_to(6)) {
    case 6: {  // weights that a kernel dequantises as it reads them
      const std::int64_t rows = 1 + g.up_to(8), k = 32 * (1 + g.up_to(1));
      QuantizedWeights w{{QuantizedScheme::affine, g.pick(std::vector<int>{2, 3, 4, 8}), 32}};
      w.values = cast(g.leaf({rows, k * w.format.bits / 32}, DType::i32, 100000), DType::u32);
      w.scales = cast(g.leaf({rows, k / 32}, DType::i32, 3), g.dtype()) * 0.0009765625 + 0.0009765625;
      w.zeros = cast(g.leaf({rows, k / 32}, DType::i32, 3), g.dtype()) * 0.0625;
      return g.up_to(1) ? matmul(g.leaf({1 + g.up_to(3), k}), dequantize_weights(w, DType::f32).T()) * scale_of(k)
                        : quantized_matmul(g.leaf({1 + g.up_to(3), rows}), w, {.transposed = false}) * scale_of(rows);
    }
    case 0:
      return dequantize(random(shape), scale, zero, out) * 0.125;
    case 1:
      return dequantize(quantize(g.exact(shape), scale, zero, into), scale, zero, out);
    case 2:
      return fake_quantize(g.exact(shape), scale, {}, {.low = -4, .high = 3, .axis = axis, .block = block});
    case 3: {  // a product with quantised weights
      if (shape.rank() != 2) return dequantize(random(shape), scale, zero, out) * 0.125;
      const Tensor w = dequantize(random(shape), scale, zero, out) * (0.125 * scale_of(shape[1]));
      return matmul(g.leaf({1 + g.up_to(3), shape[1]}), w.T());
    }
    case 4: {
      const auto bytes = [&](const Shape& s) {
        return cast(g.leaf(s, DType::i32, 100), g.up_to(1) ? DType::i8 : DType::u8);
      };
      const std::int64_t m = 1 + g.up_to(4), k = 1 + g.up_to(8), n = 1 + g.up_to(8);
      const Tensor a = bytes({m, k}), b = bytes({k, n});
      const Tensor a_zero = cast(g.leaf({}, DType::i32, 9), a.dtype()),
                   b_zero = cast(g.leaf({n}, DType::i32, 9), b.dtype());
      const Tensor sums =
          matmul_integer(a, b, g.up_to(1) ? Operand(a_zero) : Operand(), g.up_to(1) ? Operand(b_zero) : Operand());
      // Few enough for f32, and a power of two.
      const Tensor y = requantize(sums, 0.0009765625, {}, {.dtype = DType::i8});
      return cast(y, g.dtype()) * 0.015625;
    }
    default: {
      const Shape s = image_shape(g);
      Shape w{1 + g.up_to(3), s[1]};
      for (int d = 2; d < s.rank(); ++d)
        w.push_back(1 + g.up_to(static_cast<int>(std::min<std::int64_t>(s[d], 3)) - 1));
      const Tensor x = cast(g.leaf(s, DType::i32, 100), DType::u8), f = cast(g.leaf(w, DType::i32, 100), DType::i8);
      const Tensor x_zero = cast(g.leaf({}, DType::i32, 9), DType::u8);
      const Tensor y = conv_integer(x, f, g.up_to(1) ? Operand(x_zero) : Operand());
      return cast(requantize(y, 0.0009765625, {}, {.dtype = DType::i8}), g.dtype()) * 0.015625;
    }
  }
}

Tensor random_recurrent(RandomGraphValues& g, const Tensor& given) {
  const bool usable = given.rank() == 3 && given.size() > 0 && given.shape()[0] <= 5 && g.up_to(2);
  const Tensor x = usable ? given : g.leaf({1 + g.up_to(4), 1 + g.up_to(2), 1 + g.up_to(5)});
  const std::int64_t steps = x.shape()[0], batch = x.shape()[1], inputs = x.shape()[2], hidden = 1 + g.up_to(4);
  const std::int64_t directions = 1 + g.up_to(1);
  const auto direction =
      directions == 2 ? RnnDirection::bidirectional : g.pick(std::vector{RnnDirection::forward, RnnDirection::reverse});
  const int kind = g.up_to(2);
  const std::int64_t gates = kind == 0 ? 4 : kind == 1 ? 3 : 1;
  const auto weights = [&](const Shape& s) { return g.leaf(s) * scale_of(s[-1]); };
  const auto maybe = [&](const Shape& s) { return g.up_to(1) ? Operand(g.leaf(s)) : Operand(); };
  const Tensor w = weights({directions, gates * hidden, inputs}), r = weights({directions, gates * hidden, hidden});
  const auto lengths = [&] {
    return g.up_to(2) ? Operand() : Operand(g.leaf({batch}, DType::i32, static_cast<int>(steps) + 1));
  };
  const RecurrentOperands operands{.bias = maybe({directions, gates * hidden}),
                                   .recurrent_bias = maybe({directions, gates * hidden}),
                                   .initial_h = maybe({directions, batch, hidden}),
                                   .initial_c = kind == 0 ? maybe({directions, batch, hidden}) : Operand(),
                                   .peephole = kind == 0 ? maybe({directions, 3 * hidden}) : Operand(),
                                   .lengths = lengths()};
  switch (kind) {
    case 0: {
      const LstmResult y = lstm(x, w, r, operands, {.direction = direction, .coupled = g.up_to(3) == 0});
      return g.up_to(1) ? y.y : y.h + y.c;
    }
    case 1: {
      const RecurrentResult y = gru(x, w, r, operands, {.direction = direction, .reset_after = g.up_to(1) == 0});
      return g.up_to(1) ? y.y : y.h;
    }
    default: {
      const RecurrentResult y = rnn(x, w, r, operands, {.direction = direction});
      return g.up_to(2) ? y.y : y.h;
    }
  }
}

}  // namespace weft::test
