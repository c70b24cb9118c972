// Wrong graphs: every op with random operands, axes and numbers, most of which do not fit. Building throws
// InvalidArgument or Unsupported with the reason; graphs that can be built compile and run, or are Unsupported.
#include <cmath>
#include <random>
#include <set>

#include "graph/graph.h"
#include "weft/compile.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/distributions.h"
#include "weft/error.h"
#include "weft/fft.h"
#include "weft/linalg.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/quantized_weights.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"
#include "weft/signal.h"

namespace weft {
namespace {

constexpr DType kTypes[] = {DType::f32,     DType::f32, DType::f32, DType::f16, DType::bf16,   DType::f64,   DType::i8,
                            DType::u8,      DType::i16, DType::i32, DType::i32, DType::i64,    DType::u64,   DType::u32,
                            DType::boolean, DType::c64, DType::i4,  DType::u2,  DType::f8e4m3, DType::f8e5m2};
constexpr std::int64_t kNumbers[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     5,
                                     -1,
                                     -2,
                                     -3,
                                     -9,
                                     7,
                                     8,
                                     100,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     std::int64_t{1} << 40,
                                     -(std::int64_t{1} << 40)};

class Attempt {
 public:
  explicit Attempt(unsigned seed) : random_(seed) {}

  Graph graph;

  Tensor build() {
    if (below(3) == 0) return spatial();
    if (below(8) == 0) return algebra();
    const Tensor x = value(), y = value(), z = value();
    const auto maybe = [&](const Tensor& v) { return below(2) ? v : Tensor(); };
    const auto key = [&] { return below(4) ? add(DType::u32, {2}) : x; };
    switch (below(50)) {
      case 0:
        return reshape(x, shape());
      case 1:
        return permute(x, axes());
      case 2:
        return broadcast_to(x, shape());
      case 3:
        return slice(x, axis(), number(), number(), number());
      case 4: {
        const std::vector<Tensor> parts = split(x, several(), axis());
        return parts.empty() ? x : parts[0];
      }
      case 5:
        return expand_dims(x, axis());
      case 6:
        return squeeze(x, axis());
      case 7:
        return gather(x, y, axis());
      case 8:
        return gather_elements(x, y, axis());
      case 9:
        return gather_nd(x, y, axis());
      case 10:
        return scatter(scatter_op(), x, y, z, axis());
      case 11:
        return scatter_elements(scatter_op(), x, y, z, axis());
      case 12:
        return scatter_nd(scatter_op(), x, y, z, axis());
      case 13:
        return concat(std::array{x, y}, axis());
      case 14:
        return pad(x, several(), several(), static_cast<PadMode>(below(5)), 1);
      case 15:
        return tile(x, several());
      case 16:
        return repeat(x, number(), axis());
      case 17:
        return roll(x, several());
      case 18:
        return triangle(x, static_cast<Triangle>(below(2)), number());
      case 19:
        return one_hot(x, number(), type(), axis());
      case 20:
        return scan(static_cast<ScanKind>(below(5)), x, axis(), {below(2) == 0, below(2) == 0});
      case 21:
        return reduce(static_cast<ReduceKind>(below(15)), x, axes(), below(2));
      case 22:
        return argmax(x, {axis()}, below(2));
      case 23:
        return softmax(x, axis());
      case 24:
        return log_softmax(x, axis());
      case 25:
        return layer_norm(x, maybe(y), maybe(z), 1e-5, axis());
      case 26:
        return matmul(x, y, below(2) ? std::optional(type()) : std::nullopt);
      case 27:
        return rms_norm(x, maybe(y), 1e-5);
      case 28:
        return group_norm(x, maybe(y), maybe(z), number(), 1e-5, axis());
      case 29:
        return instance_norm(x, maybe(y), maybe(z), 1e-5, axis());
      case 30:
        return batch_norm(x, y, z, maybe(value()), maybe(value()), 1e-5, axis());
      case 31:
        return random_bits(x, type(), shape());
      case 32:
        return random_integers(x, type(), shape(), number(), number());
      case 33:
        return sort(x, axis(), below(2));
      case 34:
        return top_k(x, number(), axis(), below(2)).indices;
      case 35:
        return attention(x, y, z, maybe(value()),
                         {.scale = 1, .causal = below(2) == 0, .window_left = number(), .window_right = number()},
                         maybe(value()), maybe(value()));
      case 36:
        return arange(static_cast<double>(count()), static_cast<double>(below(100)),
                      1.0 + static_cast<double>(below(7)), type());
      case 37:
        return eye(count(), count(), type(), number());
      case 38:
        return binary(static_cast<ScalarOp>(below(kScalarOpCount)), x, y);
      case 39:
        return unary(static_cast<ScalarOp>(below(kScalarOpCount)), x);
      case 40:
      case 41:
        return transform(below(2) ? x : floats(1));
      case 42:
        return stft(below(2) ? x : floats(1), number(),
                    {.hop_length = number(),
                     .window_length = below(2) ? 0 : number(),
                     .window = maybe(y),
                     .center = below(2) == 0,
                     .padding = static_cast<PadMode>(below(5))});
      case 43:
        return istft(x, number(), {.hop_length = number(), .window = maybe(y), .center = below(2) == 0},
                     below(2) ? std::nullopt : std::optional(number()), below(4) == 0);
      case 44:
        return random_gamma(key(), y, shape(), type(), below(2));
      case 45:
        return below(2) ? random_poisson(key(), y, shape()) : random_geometric(key(), y, shape());
      case 46:
        return random_binomial(key(), y, z, shape());
      case 47:
        return random_categorical(key(), y, axis());
      case 48:
        return below(2) ? random_gamma_gradient(x, y, below(2)) : random_signed_uniform(key(), shape());
      default:
        return cast(x, type());
    }
  }

  Tensor transform(const Tensor& x) {
    const auto norm = static_cast<FftNorm>(below(3));
    const std::optional<std::int64_t> n = below(3) ? std::nullopt : std::optional(number());
    switch (below(11)) {
      case 0:
        return fft(x, n, axis(), norm);
      case 1:
        return rfft(x, n, axis(), norm);
      case 2:
        return irfft(x, n, axis(), norm);
      case 3:
        return hfft(x, n, axis(), norm);
      case 4:
        return ihfft(x, n, axis(), norm);
      case 5:
        return below(2) ? rfftn(x, several(), axes(), norm) : irfftn(x, several(), axes(), norm);
      case 6:
        return below(2) ? fftshift(x, axes()) : fftfreq(count(), real(), type());
      case 7:
        return fft_convolve(x, value(), static_cast<ConvolveMode>(below(3)), axis());
      case 8: {
        const Tensor b = below(2) ? floats(1) : value(), a = below(2) ? floats(1) : value();
        return below(2) ? lfilter(b, a, x, axis()) : lfilter(b, a, x, below(2) ? Tensor() : value(), axis()).state;
      }
      case 9: {
        const Tensor sections = below(2) ? ones({count(), 6}) : value();
        return below(2) ? sosfilt(sections, x, axis()) : sosfilt(sections, x, below(2) ? Tensor() : value(), axis()).y;
      }
      default:
        return below(2) ? dct(x, 2 + static_cast<int>(below(2)), n, axis(), norm) : idct(x, 2, n, axis(), norm);
    }
  }

  // Images, quantised numbers and sequences. Half of the operands and options would fit alone.
  Tensor spatial() {
    const bool image = below(2) == 0;
    const Tensor x = image ? floats(3) : value(), y = image && below(2) ? floats(3) : value(), z = value();
    const auto maybe = [&](const Tensor& v) { return below(3) ? Operand() : Operand(v); };
    const ConvOptions conv_options{.strides = option(),
                                   .dilations = option(),
                                   .padding = option(),
                                   .padding_after = option(),
                                   .groups = few(),
                                   .channels_last = below(4) == 0};
    const PoolOptions pool_options{.window = below(2) ? Dims{2, 1} : dims(),
                                   .strides = option(),
                                   .dilations = option(),
                                   .padding = option(),
                                   .padding_after = option(),
                                   .ceil_mode = below(2) == 0,
                                   .channels_last = below(4) == 0,
                                   .count_padding = below(2) == 0,
                                   .divisor = below(4) ? 0 : number()};
    const WindowOptions window_options{
        .strides = option(), .dilations = option(), .padding = option(), .padding_after = option()};
    const GridSampleOptions sample_options{.mode = static_cast<SampleMode>(below(3)),
                                           .padding = static_cast<SamplePadding>(below(3)),
                                           .align_corners = below(2) == 0,
                                           .channels_last = below(4) == 0};
    switch (below(30)) {
      case 0:
        return conv(x, y, maybe(z), conv_options);
      case 1: {
        ConvTransposeOptions o{conv_options};
        (below(2) ? o.output_padding : o.output_sizes) = dims();
        return conv_transpose(x, y, maybe(z), o);
      }
      case 2:
        return conv_filter_gradient(x, y, dims(), conv_options);
      case 3:
        return max_pool(x, pool_options);
      case 4:
        return max_pool_with_indices(x, pool_options).indices;
      case 5:
        return average_pool(x, pool_options);
      case 6:
        return lp_pool(x, real(), pool_options);
      case 7:
        return below(2) ? adaptive_average_pool(x, dims()) : adaptive_max_pool_with_indices(x, dims()).values;
      case 8:
        return max_pool_gradient(x, y, dims(), pool_options);
      case 9:
        return average_pool_gradient(x, dims(), pool_options);
      case 10:
        return lp_pool_gradient(x, y, z, real(), pool_options);
      case 11:
        return max_unpool(x, below(2) ? y : graph.input("indices", DType::i32, x.shape()), dims());
      case 12:
        return below(2) ? global_lp_pool(x, real()) : global_max_pool(x, below(2) == 0);
      case 13:
      case 14: {
        ResizeOptions o{.mode = static_cast<ResizeMode>(below(4)),
                        .coordinates = static_cast<ResizeCoordinates>(below(6)),
                        .rounding = static_cast<ResizeRounding>(below(4)),
                        .cubic_a = real(),
                        .antialias = below(2) == 0,
                        .exclude_outside = below(2) == 0};
        if (below(3) == 0) o.scales = reals();
        if (below(3) == 0) o.starts = reals(), o.ends = reals();
        if (below(3) == 0) return resize_gradient(x, shape(), o);
        return below(2) ? resize(x, shape(), o) : resize_by(x, reals(), o);
      }
      case 15: {
        const UpsampleOptions o{.mode = static_cast<ResizeMode>(below(4)),
                                .align_corners = below(2) == 0,
                                .antialias = below(2) == 0,
                                .exact = below(2) == 0,
                                .channels_last = below(4) == 0};
        return upsample(x, dims(), o);
      }
      case 16:
        return grid_sample(x, y, sample_options);
      case 17:
        return grid_sample_gradient(x, y, dims(), sample_options);
      case 18:
        return grid_sample_grid_gradient(x, y, z, sample_options);
      case 19:
        return affine_grid(x, dims(), below(2) == 0);
      case 20:
        return below(2) ? unfold(x, dims(), window_options) : fold(x, dims(), dims(), window_options);
      case 21:
        return below(2) ? depth_to_space(x, number()) : space_to_depth(x, number(), BlockOrder::column_row_depth);
      case 22: {
        const QuantizeOptions o{.dtype = type(), .axis = axis(), .block = below(2) ? 0 : number()};
        return quantize(x, scale(y), zero(z), o);
      }
      case 23:
        return dequantize(x, scale(y), zero(z), {.axis = axis(), .block = below(2) ? 0 : number()});
      case 24:
        return fake_quantize(x, scale(y), zero(z), {number(), number(), axis(), below(2) ? 0 : number()});
      case 25:
        return dynamic_quantize(x, {.dtype = type(), .axes = axes(), .symmetric = below(2) == 0}).values;
      case 26:
        return below(2) ? matmul_integer(x, y, maybe(z)) : conv_integer(x, y, maybe(z), maybe(z), conv_options);
      case 27:
        return requantize(x, scale(y), zero(z), {.dtype = type(), .axis = axis()});
      case 28: {
        const QuantizedFormat format{static_cast<QuantizedScheme>(below(std::size(kernels::kQuantizedSchemes))),
                                     static_cast<int>(below(3) ? below(9) : number()), below(2) ? 0 : number(),
                                     below(2) ? 1 : number(), below(2) ? 0 : number()};
        const auto maybe_type = [&] { return below(3) ? std::optional<DType>() : type(); };
        const QuantizedWeights w = below(3) == 0
                                       ? quantize_weights(x, format, {maybe_type(), maybe_type(), below(3) == 0})
                                       : QuantizedWeights{format, y, maybe(z), maybe(value()), maybe(value())};
        if (below(3) == 0) return dequantize_weights(w, type());
        if (below(3) == 0) return quantized_embedding(w, x);
        return quantized_matmul(x, w, {.transposed = below(2) == 0, .chosen = maybe(value())});
      }
      default:
        return recurrent(x, y, z);
    }
  }

  // Matrices, most of which fit.
  Tensor algebra() {
    constexpr DType kMatrices[] = {DType::f32, DType::f32, DType::c64, DType::f64};
    const auto size = [&] { return below(8) ? 1 + static_cast<std::int64_t>(below(4)) : 0; };
    Shape square = Shape::filled(2, size());
    const Shape sides{square[0], size()};
    if (below(3) == 0) square.insert(0, size());
    const Tensor a = below(4) ? add(kMatrices[below(4)], square) : value();
    const Tensor b = below(4) ? add(a.dtype(), sides) : value();
    const bool upper = below(2) == 0;
    if (below(12) == 0) return below(2) ? eig(a).vectors : below(2) ? expm(a) : eigvals(value());
    if (below(12) == 0) return below(2) ? eigh(a, upper).vectors : eigvalsh(below(2) ? a : value(), upper);
    switch (below(29)) {
      case 0:
        return cholesky(a, upper);
      case 1:
        return cholesky_ex(a, upper).info;
      case 2:
      case 3:
        return solve_triangular(a, b, {upper, below(2) == 0, below(2) == 0});
      case 4:
        return cholesky_solve(b, a, upper);
      case 5:
        return cholesky_inverse(a, upper);
      case 6:
        return vector_norm(below(2) ? a : value(), real(), axes(), below(2) == 0);
      case 7:
        return matrix_norm(a, static_cast<MatrixNorm>(below(8)), below(2) == 0);
      case 8:
        return inner(a, below(2) ? a : b);
      case 9:
        return cross(value(), value(), axis());
      case 10:
        return kron(a, b);
      case 11:
        return matrix_power(a, below(2) ? static_cast<std::int64_t>(below(9)) : number());
      case 12:
        return multi_dot({a, a, b});
      case 13:
        return matrix_transpose(a);
      case 14:
        return trace(a, number(), below(2) ? std::optional(type()) : std::nullopt);
      case 15:
        return diag(below(2) ? a : value(), number());
      case 16:
        return below(2) ? qr(a, static_cast<QrMode>(below(3))).q : qr(value(), QrMode::complete).r;
      case 17:
        if (below(2)) return below(2) ? lstsq_svd(a, b, real()).solution : lstsq_svd(value(), b).residuals;
        return below(2) ? lstsq(a, b, real()).solution : lstsq(value(), b).residuals;
      case 18:
        return solve(a, b);
      case 19:
        return inv_ex(a).info;
      case 20:
        return det(a);
      case 21:
        return slogdet(a).logabsdet;
      case 22:
        return lu(below(2) ? a : b).l;
      case 23:
        return lu_solve(lu_factor(below(2) ? a : value()), b, upper);
      case 24:
        return inv(a);
      case 25:
        return below(2) ? svd(below(2) ? a : value(), upper).vh : svd(a, upper).u;
      case 26:
        return below(2) ? svdvals(below(2) ? a : value()) : condition_number(a, static_cast<MatrixNorm>(below(8)));
      case 27:
        return below(2) ? pinv(a, real()) : matrix_rank(a, below(2) ? std::optional(real()) : std::nullopt);
      default:
        return vander(value(), below(2) ? std::optional(number()) : std::nullopt, upper);
    }
  }

  Tensor recurrent(const Tensor& x, const Tensor& y, const Tensor& z) {
    const auto maybe = [&] { return below(4) ? Operand() : Operand(below(2) ? y : z); };
    const std::int64_t hidden = 1 + static_cast<std::int64_t>(below(3)), gates = std::array{1, 3, 4}[below(3)];
    const bool fits = x.rank() == 3 && below(3);
    const std::string own = std::format("{}", shapes_.size());
    const Tensor w = fits ? graph.input("w" + own, x.dtype(), {1, gates * hidden, x.shape()[2]}) : y;
    const Tensor r = fits ? graph.input("r" + own, x.dtype(), {1, gates * hidden, hidden}) : z;
    const Operand lengths =
        x.rank() == 3 && below(2) ? Operand(graph.input("n" + own, DType::i32, {x.shape()[1]})) : maybe();
    const RecurrentOperands operands{.bias = maybe(),
                                     .recurrent_bias = maybe(),
                                     .initial_h = maybe(),
                                     .initial_c = maybe(),
                                     .peephole = maybe(),
                                     .lengths = lengths,
                                     .batch_first = below(4) == 0};
    const auto direction = below(2) ? RnnDirection::forward : static_cast<RnnDirection>(below(3));
    const std::optional<double> clip = below(3) ? std::nullopt : std::optional(real());
    switch (fits ? gates : std::array{1, 3, 4}[below(3)]) {
      case 4:
        return lstm(x, w, r, operands, {.direction = direction, .clip = clip, .coupled = below(2) == 0}).c;
      case 3:
        return gru(x, w, r, operands, {.direction = direction, .clip = clip, .reset_after = below(2) == 0}).y;
      default:
        return rnn(x, w, r, operands, {.direction = direction, .clip = clip}).h;
    }
  }

  // Calls f and returns the message of a typed error, or nothing.
  template <class F>
  static std::optional<std::string> refusal(const std::string& what, F&& f) {
    try {
      f();
      return std::nullopt;
    } catch (const InvalidArgument& e) {
      EXPECT_GT(std::string(e.what()).size(), 12u) << what;
      return e.what();
    } catch (const Unsupported& e) {
      return e.what();
    } catch (const OutOfMemory& e) {
      return e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << what << ": " << e.what();
      return e.what();
    }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  DType type() { return kTypes[below(std::size(kTypes))]; }
  std::int64_t number() { return below(3) ? kNumbers[below(8)] : kNumbers[below(std::size(kNumbers))]; }
  // A number of elements to generate: small, or larger than any memory.
  std::int64_t count() {
    const std::int64_t n = number();
    return n == INT32_MAX ? 5 : n == INT32_MIN ? -5 : n;
  }
  int axis() {
    return below(3) ? static_cast<int>(below(5)) - 2
                    : static_cast<int>(std::array<std::int64_t, 6>{8, -9, 100, INT32_MAX, INT32_MIN, 3}[below(6)]);
  }
  std::vector<int> axes() {
    std::vector<int> list(below(4));
    for (int& a : list) a = axis();
    return list;
  }
  std::vector<std::int64_t> several() {
    std::vector<std::int64_t> list(below(4));
    for (auto& n : list) n = number();
    return list;
  }
  Shape shape() {
    if (below(2) && !shapes_.empty()) return shapes_[below(shapes_.size())];
    Shape s;
    for (std::size_t rank = below(8) ? below(5) : below(9); rank > 0; --rank) {
      s.push_back(below(20) ? 1 + static_cast<std::int64_t>(below(4)) : below(3) ? 0 : number());
    }
    return s;
  }
  // As many numbers as x's spatial axes, if it has two; most are small.
  Dims dims() {
    Dims d;
    for (std::size_t n = below(4) ? below(2) * 2 : below(4); n > 0; --n) {
      d.push_back(below(8) ? static_cast<std::int64_t>(below(3)) : number());
    }
    return d;
  }
  Dims option() { return below(3) ? Dims() : dims(); }
  std::int64_t few() { return below(3) ? 1 : number(); }
  double real() {
    constexpr double kReals[] = {1, 2, 0.5, -0.75, 0, -1, 1e-30, 1e30, INFINITY, -INFINITY, NAN};
    return kReals[below(2) ? below(4) : below(std::size(kReals))];
  }
  std::vector<double> reals() {
    std::vector<double> list(below(2) ? 4 : below(5));
    for (double& r : list) r = below(2) ? 1 : real();
    return list;
  }
  TensorLike scale(const Tensor& t) { return below(2) ? TensorLike(real()) : TensorLike(t); }
  ZeroPoint zero(const Tensor& t) {
    return below(3) == 0 ? ZeroPoint(t) : below(2) ? ZeroPoint() : ZeroPoint(number());
  }
  // A float tensor of at least that rank, most often an image with small axes.
  Tensor floats(int min_rank) {
    Shape s;
    for (std::size_t rank = static_cast<std::size_t>(min_rank) + below(2); rank > 0; --rank) {
      s.push_back(below(16) ? 1 + static_cast<std::int64_t>(below(4)) : 0);
    }
    return add(below(3) ? DType::f32 : type(), s);
  }
  ScatterKind scatter_op() { return static_cast<ScatterKind>(below(5)); }
  Tensor value() {
    const Shape s = shape();
    return add(below(2) && !shapes_.empty() ? types_.back() : type(), s);
  }
  Tensor add(DType t, const Shape& s) {
    const std::string name = std::format("x{}", shapes_.size());
    const Tensor v = graph.input(name, t, s);
    shapes_.push_back(s);
    types_.push_back(t);
    return v;
  }

  std::mt19937 random_;
  std::vector<Shape> shapes_;
  std::vector<DType> types_;
};

TEST(HostileGraph, IsRefusedOrRuns) {
  const char* text = std::getenv("WEFT_HOSTILE_GRAPHS");
  const unsigned count = text ? static_cast<unsigned>(std::atoi(text)) : 30000;
  const Device device = Device::cpu();
  int ran = 0;
  std::set<std::string> ops;  // of the graphs that ran
  for (unsigned seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) {
    const std::string what = std::format("seed {}", seed);
    Attempt attempt(seed);
    Tensor y;
    if (Attempt::refusal(what, [&] { y = attempt.build(); })) continue;
    // Small graphs run, on inputs of zero bytes; those that exceed any memory are refused.
    const auto bytes = [](const TensorType& t) {
      return byte_size(t.dtype, static_cast<std::uint64_t>(element_count(t.shape)));
    };
    std::int64_t largest = element_count(y.shape());
    for (const auto& input : attempt.graph.impl().inputs) {
      largest = std::max(largest, element_count(input.value.shape()));
    }
    for (const auto& node : attempt.graph.impl().nodes()) {
      for (const TensorType& t : node->types()) largest = std::max(largest, element_count(t.shape));
    }
    constexpr std::int64_t kSmall = 1 << 20, kHuge = std::int64_t{1} << 48;
    if (largest > kSmall && largest < kHuge) continue;
    const std::string with = what + "\n" + attempt.graph.to_string();
    const auto refused = Attempt::refusal(with, [&] {
      attempt.graph.output("y", y);
      Executable exe = compile(attempt.graph, device);
      std::vector<std::pair<std::string, Tensor>> tensors;
      for (const auto& input : attempt.graph.impl().inputs) {
        tensors.emplace_back(input.name, Tensor(device, input.value.dtype(), input.value.shape()));
        tensors.back().second.write(std::vector<std::byte>(bytes(input.value.type())));
      }
      std::vector<NamedTensor> inputs;
      for (const auto& [name, t] : tensors) inputs.push_back({name, t});
      const Tensor out(device, y.dtype(), y.shape());
      exe.run(inputs, std::array{NamedTensor{"y", out}});
    });
    EXPECT_TRUE(refused || largest <= kSmall) << with;
    ran += !refused;
    if (refused) continue;
    for (const auto& node : attempt.graph.impl().nodes()) ops.emplace(node->op().name());
  }
  EXPECT_GT(ran, static_cast<int>(count / 50));
  if (count < 30000) return;
  for (const char* op : {"conv", "conv_transpose", "max_pool", "max_pool_with_indices", "average_pool", "lp_pool",
                         "resize", "lstm", "gru", "rnn"}) {
    EXPECT_TRUE(ops.contains(op)) << op;
  }
}

}  // namespace
}  // namespace weft
