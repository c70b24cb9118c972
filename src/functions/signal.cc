// Windows, short-time Fourier transforms, convolution, cosine and Hadamard transforms (weft/signal.h).
#include "weft/signal.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "core/checked.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "core/windows.h"
#include "functions/host_sequence.h"
#include "graph/graph.h"
#include "kernels/fft/plan.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/range_scale.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/linalg.h"
#include "weft/resampling.h"

namespace weft {
namespace {

void require_single(std::string_view function, const Tensor& x) {
  if (x.dtype() != DType::f64) return;
  throw TypeError("{}: x is {}, whose transform has no complex type; cast it to f32", function, to_string(x.type()));
}

// ---- Windows

constexpr std::string_view kSizeMeaning = "how many elements there are";
constexpr std::string_view kPeriodicMeaning =
    "N = n, as transforms take windows; else N = n - 1, and the last element is the first one, as filters take them";
constexpr std::string_view kTypeMeaning = "the type of the result";

struct WindowAttributes {
  std::int64_t n = 0;
  bool periodic = true;
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    v("n", n, kSizeMeaning);
    v("periodic", periodic, true, kPeriodicMeaning);
    v("dtype", dtype, DType::f32, kTypeMeaning);
  }
};

// `element` gives element k for N.
template <class F>
Tensor window_of(std::string_view function, const WindowAttributes& a, const F& element) {
  const std::int64_t n = a.n;
  return host_sequence(function, "n", n, a.dtype, [&](std::int64_t k) {
    return n == 1 ? 1 : element(static_cast<double>(k), static_cast<double>(a.periodic ? n : n - 1));
  });
}

// Σ (-1)^i coefficients[i] cos(2πik / N).
Tensor cosine_window(std::string_view function, const WindowAttributes& a, std::initializer_list<double> coefficients) {
  return window_of(function, a, [&](double k, double length) {
    double sum = 0, turns = 0, sign = 1;
    for (const double c : coefficients) {
      sum += sign * c * std::cos(2 * std::numbers::pi * turns * k / length);
      turns += 1;
      sign = -sign;
    }
    return sum;
  });
}

void require_finite(std::string_view function, std::string_view parameter, double value, bool in_range = true) {
  if (!std::isfinite(value) || !in_range) throw InvalidArgument("{}: {} is {}", function, parameter, value);
}

// exp(-x) I0(x) for x >= 0: by its power series, whose terms are all positive, or for large x by the asymptotic one.
double scaled_bessel_i0(double x) {
  const bool large = x > 30;
  double term = large ? 1 / std::sqrt(2 * std::numbers::pi * x) : std::exp(-x), sum = term;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= large ? (2.0 * k - 1) * (2.0 * k - 1) / (8 * x * k) : x * x / (4.0 * k * k);
    sum += term;
  }
  return sum;
}

// ---- Short-time Fourier transforms

struct FrameAttributes {
  std::int64_t n_fft = 0, hop_length = 0, window_length = 0;
  bool center = true, normalized = false;
  std::optional<bool> onesided = {};
};

// What the attributes of stft() and istft() say of frames.
struct Frames {
  std::int64_t size, hop;
  Tensor given;                 // the window; undefined: ones
  std::int64_t length, before;  // its elements, and zeros in front of it
  Tensor window;                // f32 [size, 1]; undefined: ones
  FftNorm norm;
};

Frames frames_of(std::string_view function, const FrameAttributes& a, Tensor window) {
  const std::int64_t n_fft = a.n_fft;
  if (n_fft < 1) throw InvalidArgument("{}: n_fft is {}; expected at least 1", function, n_fft);
  const std::int64_t hop = a.hop_length == 0 ? std::max<std::int64_t>(n_fft / 4, 1) : a.hop_length;
  if (hop < 1) throw InvalidArgument("{}: hop_length is {}; expected at least 1", function, hop);
  if (window.defined() && !is_floating(window.dtype())) {
    throw TypeError("{}: the window is {}; expected a floating type", function, to_string(window.type()));
  }
  if (window.defined() && window.rank() != 1) {
    throw ShapeError("{}: the window is {}; expected rank 1", function, to_string(window.type()));
  }
  const std::int64_t length = a.window_length != 0 ? a.window_length : window.defined() ? window.size() : n_fft;
  if (length < 1 || length > n_fft) {
    throw InvalidArgument("{}: the window's length is {}; expected 1 to n_fft, which is {}", function, length, n_fft);
  }
  if (window.defined() && window.size() != length) {
    throw ShapeError("{}: the window is {}; expected window_length, which is {}", function, to_string(window.type()),
                     length);
  }
  const std::int64_t before = (n_fft - length) / 2;
  const Tensor given = window;
  if (!window.defined() && length < n_fft) window = broadcast_to(Graph::scalar(1, DType::f32), {length});
  if (window.defined()) {
    window = cast(window, DType::f32);
    if (length < n_fft) window = pad(window, std::array{before}, std::array{n_fft - length - before});
    window = reshape(window, {n_fft, 1});
  }
  return {n_fft, hop, given, length, before, window, a.normalized ? FftNorm::ortho : FftNorm::backward};
}

// The sizes of all axes but the last `count`, and others behind them.
Shape with_last(const Shape& shape, int count, std::initializer_list<std::int64_t> sizes) {
  Shape result;
  for (int d = 0; d < shape.rank() - count; ++d) result.push_back(shape[d]);
  for (const std::int64_t n : sizes) result.push_back(n);
  return result;
}

std::int64_t batch_of(const Shape& shape, int count) { return element_count(with_last(shape, count, {})); }

// Frames [batch, size, frames] added where they overlap, [batch, size + hop · (frames - 1)].
Tensor overlap_added(const Tensor& x, std::int64_t hop, std::int64_t total) {
  if (x.dtype() == DType::c64) {
    return complex(overlap_added(real(x), hop, total), overlap_added(imag(x), hop, total));
  }
  return reshape(fold(x, {total}, {x.shape()[1]}, {.strides = {hop}}), {x.shape()[0], total});
}

// Throws if the sum of the squares of windows at 0, hop, 2 · hop, … is 0 somewhere from `begin` to `end`.
void require_cover(const Frames& f, std::int64_t frames, std::int64_t begin, std::int64_t end) {
  std::vector<double> sums = host_list<double>(f.size, 0);
  const auto at = [&](std::int64_t j) -> double& { return sums[static_cast<std::size_t>(j)]; };
  const std::vector<double> given = f.given.defined() ? f.given.to_vector<double>() : host_list<double>(f.length, 1);
  std::ranges::copy(given, sums.begin() + f.before);
  // The sum over every hop-th element up to this one.
  for (std::int64_t j = 0; j < f.size; ++j) at(j) = at(j) * at(j) + (j < f.hop ? 0 : at(j - f.hop));
  for (std::int64_t i = begin; i < end; ++i) {
    // In the middle each hop is like the one before.
    if (i == begin + f.size + f.hop) i = std::max(i, end - f.size - f.hop);
    // Of the windows' elements that lie here, the first and the last.
    const std::int64_t first = std::max<std::int64_t>(0, i / f.hop - (frames - 1)) * f.hop + i % f.hop;
    const std::int64_t last = i - std::max<std::int64_t>(0, (i - f.size + f.hop) / f.hop) * f.hop;
    const double sum = first > last ? 0 : at(last) - (first < f.hop ? 0 : at(first - f.hop));
    if (sum >= 1e-11) continue;
    throw InvalidArgument(
        "istft: the sum of the windows' squares, by which the signal is divided, is {} at element {} of {}; expected "
        "at least 1e-11",
        sum, i - begin, end - begin);
  }
}

// ---- Cosine transforms

// 0, 1, … to count - 1 along that axis of tensors of this rank.
Tensor counted(std::int64_t count, int axis, int rank) {
  Shape shape = Shape::filled(rank, 1);
  shape[axis] = count;
  return reshape(arange(0, count, 1, DType::f32), shape);
}

// exp(∓πik / 2n) for k to n / 2, along the axis.
Tensor quarter_turn(std::int64_t n, int axis, int rank, double sign) {
  const Tensor angle = counted(n / 2 + 1, axis, rank) * (std::numbers::pi / (2 * static_cast<double>(n)));
  return complex(cos(angle), sin(angle) * sign);
}

// Type 2 by a real transform of as many elements, those at even places and then those at odd ones backwards. Source:
// Makhoul, "A Fast Cosine Transform in One and Two Dimensions", 1980.
Tensor dct2(const Tensor& x, int axis) {
  const std::int64_t n = x.shape()[axis];
  const Tensor even = slice(x, axis, 0, n, 2), odd = flip(slice(x, axis, 1, n, 2), {axis});
  const Tensor half = rfft(concat(std::array{even, odd}, axis), {}, axis) * quarter_turn(n, axis, x.rank(), -1) * 2;
  // Element n - k is the negative imaginary part of element k.
  const Tensor rest = neg(flip(slice(imag(half), axis, 1, (n + 1) / 2), {axis}));
  return concat(std::array{real(half), rest}, axis);
}

// Type 3: the transpose of the steps of type 2.
Tensor dct3(const Tensor& x, int axis) {
  const std::int64_t n = x.shape()[axis];
  std::vector<std::int64_t> before(static_cast<std::size_t>(x.rank()), 0), after = before;
  before[static_cast<std::size_t>(axis)] = 1;
  const Tensor mirrored = pad(flip(slice(x, axis, n - n / 2, n), {axis}), before, after);
  const Tensor half = complex(slice(x, axis, 0, n / 2 + 1), neg(mirrored)) * quarter_turn(n, axis, x.rank(), 1);
  const Tensor y = irfft(half, n, axis, FftNorm::forward);
  const Tensor even = slice(y, axis, 0, (n + 1) / 2);
  Tensor odd = flip(slice(y, axis, (n + 1) / 2, n), {axis});
  before[static_cast<std::size_t>(axis)] = 0;
  after[static_cast<std::size_t>(axis)] = n % 2;
  if (n % 2 != 0) odd = pad(odd, before, after);
  Shape joined = x.shape();
  joined[axis] = n + n % 2;
  return slice(reshape(stack({even, odd}, axis + 1), joined), axis, 0, n);
}

struct CosineAttributes {
  int type = 2;
  std::optional<std::int64_t> n = {};
  int axis = -1;
  FftNorm norm = FftNorm::backward;
  void fields(AttributeVisitor& v) {
    v("type", type, 2, "the type of the transform: 2 or 3");
    v("n", n, {}, "the length of the signal, to which x is cut or filled up with zeros; without it x's own");
    v("axis", axis, -1, "the axis along which it transforms");
    v("norm", norm, FftNorm::backward, kFftNorms,
      "which direction is multiplied: the inverse one by 1 / 2n (backward), both by 1 / sqrt(2n), and so that the "
      "transform is orthogonal (ortho), or the forward one by 1 / 2n (forward)");
  }
};

Tensor cosine_transform(std::string_view function, const Tensor& x, const CosineAttributes& a, bool inverse) {
  if (a.type != 2 && a.type != 3) throw InvalidArgument("{}: the type is {}; expected 2 or 3", function, a.type);
  if (x.dtype() == DType::c64 || x.dtype() == DType::f64) {
    throw TypeError("{}: x is {}; expected real numbers of at most 32 bits", function, to_string(x.type()));
  }
  const int axis = normalize_axis(a.axis, x.rank(), function);
  const std::int64_t size = x.shape()[axis], n = a.n.value_or(size);
  if (n < 1) {
    throw InvalidArgument("{}: the length is {}; expected at least 1, for x {} along axis {}", function, n,
                          to_string(x.type()), axis);
  }
  std::vector<std::int64_t> before(static_cast<std::size_t>(x.rank()), 0), after = before;
  after[static_cast<std::size_t>(axis)] = n - size;
  Tensor y = cast(n == size ? x : pad(x, before, after), DType::f32);
  const bool second = (a.type == 2) != inverse;
  const double whole = 2 * static_cast<double>(n);
  double scale = a.norm == FftNorm::ortho                   ? 1 / std::sqrt(whole)
                 : (a.norm == FftNorm::backward) == inverse ? 1 / whole
                                                            : 1;
  // The first row of the matrix, or column of its transpose, is longer than the others, or shorter.
  const auto scaled = [&](const Tensor& t, double first) {
    if (a.norm != FftNorm::ortho) return scale == 1 ? t : t * scale;
    return t *
           select(equal(counted(n, axis, x.rank()), 0), static_cast<float>(first * scale), static_cast<float>(scale));
  };
  y = second ? scaled(dct2(y, axis), std::numbers::sqrt2 / 2) : dct3(scaled(y, std::numbers::sqrt2), axis);
  return is_floating(x.dtype()) ? cast(y, x.dtype()) : y;
}

// ---- Windows

struct KaiserAttributes : WindowAttributes {
  double beta = 12;
  void fields(AttributeVisitor& v) {
    v("n", n, kSizeMeaning);
    v("beta", beta, 12, "how narrow the window is");
    v("periodic", periodic, true, kPeriodicMeaning);
    v("dtype", dtype, DType::f32, kTypeMeaning);
  }
};
struct GaussianAttributes : WindowAttributes {
  double deviation = 1;
  void fields(AttributeVisitor& v) {
    v("n", n, kSizeMeaning);
    v("deviation", deviation, "the standard deviation, in elements; greater than 0");
    v("periodic", periodic, true, kPeriodicMeaning);
    v("dtype", dtype, DType::f32, kTypeMeaning);
  }
};
struct TukeyAttributes : WindowAttributes {
  double alpha = 0.5;
  void fields(AttributeVisitor& v) {
    v("n", n, kSizeMeaning);
    v("alpha", alpha, 0.5, "from 0, a rectangle, to 1, a Hann window: the part that falls, half at each end");
    v("periodic", periodic, true, kPeriodicMeaning);
    v("dtype", dtype, DType::f32, kTypeMeaning);
  }
};

constexpr std::string_view kWindowSummary = "a window; N = n, or n - 1 if not periodic";
constexpr FunctionResult kWindow = {"y", "[n]", "dtype"};

constexpr Function kHannWindow = {
    {.name = "hann_window",
     .results = {kWindow},
     .formula = "y[k] = (1 - cos(2πk / N)) / 2",
     .summary = kWindowSummary},
    [](const WindowAttributes& a) { return cosine_window("hann_window", a, {0.5, 0.5}); }};
constexpr Function kHammingWindow = {
    {.name = "hamming_window",
     .results = {kWindow},
     .formula = "y[k] = 0.54 - 0.46 cos(2πk / N)",
     .summary = kWindowSummary},
    [](const WindowAttributes& a) { return cosine_window("hamming_window", a, {0.54, 0.46}); }};
constexpr Function kBlackmanWindow = {
    {.name = "blackman_window",
     .results = {kWindow},
     .formula = "y[k] = 0.42 - 0.5 cos(2πk / N) + 0.08 cos(4πk / N)",
     .summary = kWindowSummary},
    [](const WindowAttributes& a) { return cosine_window("blackman_window", a, {0.42, 0.5, 0.08}); }};
constexpr Function kBlackmanHarrisWindow = {
    {.name = "blackman_harris_window",
     .results = {kWindow},
     .formula = "y[k] = 0.35875 - 0.48829 cos(2πk / N) + 0.14128 cos(4πk / N) - 0.01168 cos(6πk / N)",
     .summary = kWindowSummary},
    [](const WindowAttributes& a) {
      return cosine_window("blackman_harris_window", a, {0.35875, 0.48829, 0.14128, 0.01168});
    }};
constexpr Function kBartlettWindow = {
    {.name = "bartlett_window", .results = {kWindow}, .formula = "y[k] = 1 - |2k / N - 1|", .summary = kWindowSummary},
    [](const WindowAttributes& a) {
      return window_of("bartlett_window", a, [](double k, double length) { return 1 - std::abs(2 * k / length - 1); });
    }};
constexpr Function kKaiserWindow = {
    {.name = "kaiser_window",
     .results = {kWindow},
     .formula = "y[k] = I0(beta · sqrt(1 - (2k / N - 1)²)) / I0(beta)",
     .summary = kWindowSummary},
    [](const KaiserAttributes& a) {
      require_finite("kaiser_window", "beta", a.beta);
      const double largest = std::abs(a.beta), whole = scaled_bessel_i0(largest);
      return window_of("kaiser_window", a, [&](double k, double length) {
        const double x = 2 * k / length - 1, root = std::sqrt(std::max(0.0, (1 - x) * (1 + x)));
        // root - 1 without cancellation.
        return scaled_bessel_i0(largest * root) / whole * std::exp(-largest * x * x / (1 + root));
      });
    }};
constexpr Function kGaussianWindow = {{.name = "gaussian_window",
                                       .results = {kWindow},
                                       .formula = "y[k] = exp(-((k - N / 2) / deviation)² / 2)",
                                       .summary = kWindowSummary},
                                      [](const GaussianAttributes& a) {
                                        require_finite("gaussian_window", "deviation", a.deviation, a.deviation > 0);
                                        return window_of("gaussian_window", a, [&](double k, double length) {
                                          const double x = (k - length / 2) / a.deviation;
                                          return std::exp(-x * x / 2);
                                        });
                                      }};
constexpr Function kTukeyWindow = {{.name = "tukey_window",
                                    .results = {kWindow},
                                    .formula = "y[k] = (1 - cos(π min(1, u / alpha))) / 2, u = 1 - |2k / N - 1|",
                                    .summary = kWindowSummary},
                                   [](const TukeyAttributes& a) {
                                     require_finite("tukey_window", "alpha", a.alpha, a.alpha >= 0 && a.alpha <= 1);
                                     return window_of("tukey_window", a, [&](double k, double length) {
                                       const double x = std::min(k, length - k) / length *
                                                        2;  // from 0 at the ends to 1 in the middle
                                       return x >= a.alpha ? 1 : (1 - std::cos(std::numbers::pi * x / a.alpha)) / 2;
                                     });
                                   }};

// ---- Short-time Fourier transforms

constexpr std::string_view kHopMeaning = "elements from one frame to the next; 0: a quarter of n_fft";
constexpr std::string_view kWindowLengthMeaning = "at most n_fft; 0: as many elements as the window has, or n_fft";
constexpr std::string_view kNormalizedMeaning = "multiply by 1 / sqrt(n_fft)";
constexpr FunctionOperand kWindowOperand = {.name = "window", .arity = Arity::optional, .shape = "[window_length]"};

struct StftAttributes : FrameAttributes {
  PadMode padding = PadMode::reflect;
  void fields(AttributeVisitor& v) {
    v("n_fft", n_fft, "the elements of a frame");
    v("hop_length", hop_length, 0, kHopMeaning);
    v("window_length", window_length, 0, kWindowLengthMeaning);
    v("center", center, true, "frame t is around x[t · hop_length], and x is padded by n_fft / 2 at both ends");
    v("padding", padding, PadMode::reflect, kernels::kPadModes, "how, as the mode of pad");
    v("normalized", normalized, false, kNormalizedMeaning);
    v("onesided", onesided, {},
      "1: of the frequencies only the first n_fft / 2 + 1; 0: all; without it 1 for real numbers, 0 for complex ones");
  }
};
constexpr Function kStft = {
    {.name = "stft",
     .operands = {{.name = "x", .shape = "[…, n]"}, kWindowOperand},
     .results = {{"y", "[…, frequencies, frames]", "c64"}},
     .formula = "y[…, k, t] = Σ window[j] · x[t · hop_length + j] · exp(-2πi jk / n_fft)",
     .summary = "the transforms of overlapping frames of a signal"},
    [](const Tensor& x, const Tensor& window, const StftAttributes& a) {
      require_single("stft", x);
      if (x.rank() == 0) throw ShapeError("stft: x is {}; expected an axis of time", to_string(x.type()));
      const Frames f = frames_of("stft", a, window);
      const bool onesided = a.onesided.value_or(x.dtype() != DType::c64);
      if (onesided && x.dtype() == DType::c64) {
        throw InvalidArgument("stft: x is {}, of which the transform has no second half that could be left out",
                              to_string(x.type()));
      }
      const std::int64_t n = x.shape()[-1], half = a.center ? a.n_fft / 2 : 0;
      if (a.padding == PadMode::reflect && half > 0 && half >= n) {
        throw ShapeError("stft: x is {}; expected more elements along its last axis than the {} that are reflected",
                         to_string(x.type()), half);
      }
      Tensor signal = reshape(x, {batch_of(x.shape(), 1), 1, n});
      if (half > 0)
        signal = pad(signal, std::array{std::int64_t{0}, std::int64_t{0}, half},
                     std::array{std::int64_t{0}, std::int64_t{0}, half}, a.padding);
      if (signal.shape()[2] < a.n_fft) {
        throw ShapeError("stft: x is {}; expected at least n_fft elements along its last axis, which is {}",
                         to_string(x.type()), a.n_fft);
      }
      // Past the signal's length, at which there is one frame, all are alike.
      Tensor frames = unfold(signal, {a.n_fft}, {.strides = {std::min(f.hop, signal.shape()[2])}});
      if (f.window.defined()) frames = frames * f.window;
      const Tensor y = onesided ? rfft(frames, {}, 1, f.norm) : fft(frames, {}, 1, f.norm);
      return reshape(y, with_last(x.shape(), 1, {y.shape()[1], y.shape()[2]}));
    }};

struct IstftAttributes : FrameAttributes {
  std::optional<std::int64_t> length = {};
  bool complex = false;
  void fields(AttributeVisitor& v) {
    v("n_fft", n_fft, "the elements of a frame");
    v("hop_length", hop_length, 0, kHopMeaning);
    v("window_length", window_length, 0, kWindowLengthMeaning);
    v("center", center, true, "frame t is around y[t · hop_length]");
    v("normalized", normalized, false, kNormalizedMeaning);
    v("onesided", onesided, {}, "1: x has the first n_fft / 2 + 1 frequencies; 0: all; without it what x has");
    v("length", length, {}, "the signal's; without it what the frames cover");
    v("complex", complex, false, "the signal is complex");
  }
};
constexpr Function kIstft = {
    {.name = "istft",
     .operands = {{.name = "x", .shape = "[…, frequencies, frames]"}, kWindowOperand},
     .results = {{"y", "[…, length]", "f32; c64 if complex"}},
     .formula = "y = Σ window · ifft(x[…, t]) at t · hop_length / Σ window²",
     .summary = "the signal whose stft comes nearest to x"},
    [](const Tensor& x, const Tensor& window, const IstftAttributes& a) {
      require_single("istft", x);
      if (x.rank() < 2 || x.shape()[-1] == 0) {
        throw ShapeError("istft: x is {}; expected [..., frequencies, frames], and a frame", to_string(x.type()));
      }
      const Frames f = frames_of("istft", a, window);
      const std::int64_t n_fft = a.n_fft;
      const std::int64_t bins = x.shape()[-2], frames = x.shape()[-1];
      const bool onesided = a.onesided.value_or(bins != n_fft);
      if (bins != (onesided ? n_fft / 2 + 1 : n_fft)) {
        throw ShapeError("istft: x is {}; expected {} frequencies of {}onesided transforms of {} elements",
                         to_string(x.type()), onesided ? n_fft / 2 + 1 : n_fft, onesided ? "" : "not ", n_fft);
      }
      if (onesided && a.complex) throw InvalidArgument("istft: a complex signal has no onesided transform");
      std::int64_t end = 0;
      const std::int64_t begin = a.center ? n_fft / 2 : 0;
      if (a.length && *a.length < 0) throw InvalidArgument("istft: the length is {}; expected at least 0", *a.length);
      const auto extent = windows_extent(frames, f.hop, n_fft);
      if (!extent || add_overflows(begin, a.length.value_or(0), end)) {
        throw ShapeError("istft: {} frames, {} apart, for a length of {}: they pass 2^63", frames, f.hop,
                         a.length.value_or(0));
      }
      const std::int64_t total = *extent;
      if (!a.length) end = total - begin;
      const std::int64_t covered = std::max(begin, std::min(end, total));
      if (!f.given.defined() || f.given.on_host()) {
        in_host_memory("istft", [&] { require_cover(f, frames, begin, covered); });
      }

      const Tensor spectra = reshape(x, {batch_of(x.shape(), 2), bins, frames});
      Tensor pieces = a.complex ? ifft(spectra, {}, 1, f.norm) : irfft(spectra, n_fft, 1, f.norm);
      if (f.window.defined()) pieces = pieces * f.window;
      const Tensor squares =
          f.window.defined() ? square(f.window) : broadcast_to(Graph::scalar(1, DType::f32), {n_fft, 1});
      const Tensor weights = overlap_added(broadcast_to(squares, {1, n_fft, frames}), f.hop, total);
      Tensor y = slice(overlap_added(pieces, f.hop, total), 1, begin, covered) / slice(weights, 1, begin, covered);
      if (end > covered)
        y = pad(y, std::array{std::int64_t{0}, std::int64_t{0}}, std::array{std::int64_t{0}, end - covered});
      return reshape(y, with_last(x.shape(), 2, {y.shape()[1]}));
    }};

// ---- Convolution

struct FftConvolveAttributes {
  ConvolveMode mode = ConvolveMode::full;
  int axis = -1;
  void fields(AttributeVisitor& v) {
    v("mode", mode, ConvolveMode::full, kConvolveModes,
      "which places are computed: all at which the signals overlap (full), the middle of these, as many as a has "
      "(same), or those at which they overlap in full (valid)");
    v("axis", axis, -1, "the axis of the signals");
  }
};
constexpr Function kFftConvolve = {
    {.name = "fft_convolve",
     .operands = {{"a"}, {"b"}},
     .results = {{"y", "the operands' common shape, along the axis n + m - 1; same: n; valid: the difference + 1",
                  "the operands' common type; f32 of integers"}},
     .formula = "y[k] = Σ a[j] · b[k - j]",
     .summary = "the convolution along an axis, by Fourier transforms"},
    [](const Tensor& a, const Tensor& b, const FftConvolveAttributes& options) {
      for (const auto& [operand, x] : {std::pair("a", &a), {"b", &b}}) {
        if (x->dtype() != DType::f64) continue;
        throw TypeError("fft_convolve: {} is {}, whose transform has no complex type; cast it to f32", operand,
                        to_string(x->type()));
      }
      const int own = normalize_axis(options.axis, a.rank(), "fft_convolve"),
                other = normalize_axis(options.axis, b.rank(), "fft_convolve");
      const std::int64_t n = a.shape()[own], m = b.shape()[other];
      if (a.rank() - own != b.rank() - other || n == 0 || m == 0) {
        throw ShapeError("fft_convolve: {} with {} along axis {}; expected elements along one axis from the end",
                         to_string(a.type()), to_string(b.type()), options.axis);
      }
      constexpr std::int64_t kLongest = std::int64_t{1} << 56;  // of more elements no memory has enough
      if (n > kLongest || m > kLongest) {
        throw ShapeError("fft_convolve: {} with {}: the result has {} + {} - 1 elements along axis {}",
                         to_string(a.type()), to_string(b.type()), n, m, options.axis);
      }
      const int from_end = own - a.rank();
      const std::int64_t fast = kernels::smooth_length(n + m - 1);
      const bool is_complex = a.dtype() == DType::c64 || b.dtype() == DType::c64;
      const auto transformed = [&](const Tensor& x) {
        return is_complex ? fft(x, fast, from_end) : rfft(x, fast, from_end);
      };
      const Tensor product = transformed(a) * transformed(b);
      const Tensor y = is_complex ? ifft(product, fast, from_end) : irfft(product, fast, from_end);
      const std::int64_t least = std::min(n, m);
      const auto [begin, count] = options.mode == ConvolveMode::full ? std::pair(std::int64_t{0}, n + m - 1)
                                  : options.mode == ConvolveMode::same
                                      ? std::pair((m - 1) / 2, n)
                                      : std::pair(least - 1, std::max(n, m) - least + 1);
      const DType common = result_type(a.dtype(), b.dtype());
      const Tensor part = slice(y, from_end, begin, begin + count);
      return is_floating(common) ? cast(part, common) : part;
    }};

// ---- Cosine transforms

constexpr FunctionResult kCosines = {"y", "x's shape, with n elements along the axis", "x's type; f32 of integers"};

constexpr Function kDct = {
    {.name = "dct",
     .operands = {{"x"}},
     .results = {kCosines},
     .formula = "y[k] = 2 Σ x[j] cos(π k (2j + 1) / 2n); type 3: its transpose",
     .summary = "the cosine transform along an axis"},
    [](const Tensor& x, const CosineAttributes& a) { return cosine_transform("dct", x, a, false); }};
constexpr Function kIdct = {
    {.name = "idct",
     .operands = {{"x"}},
     .results = {kCosines},
     .formula = "x = dct(y)",
     .summary = "the inverse of dct"},
    [](const Tensor& x, const CosineAttributes& a) { return cosine_transform("idct", x, a, true); }};

// ---- Hadamard transforms

constexpr std::int64_t kOtherSizes[] = {12, 20, 28};

// The matrix of a power of two, whose element (i, j) is -1 to the number of bits that i and j have in common: an
// expression of counters, so that nothing is uploaded.
Tensor sylvester(std::int64_t size) {
  const Tensor steps = arange(0, size, 1, DType::i32);
  const Tensor odd = bitwise_and(popcount(bitwise_and(reshape(steps, {size, 1}), steps)), 1);
  return cast(1 - 2 * odd, DType::f32);
}

// Row i of a circulant matrix is this one moved i places to the right; '+' is 1, '-' is -1 and '0' is 0.
int circulant(std::string_view row, std::int64_t i, std::int64_t j) {
  const auto n = static_cast<std::int64_t>(row.size());
  const char c = row[static_cast<std::size_t>((j - i + n) % n)];
  return c == '+' ? 1 : c == '-' ? -1 : 0;
}

// Of order 12 from quadratic residues of 5 (Paley, "On Orthogonal Matrices", 1933): the symmetric conference matrix of
// order 6 with each 1 as [1 1; 1 -1], each -1 as its negative and each 0 as [1 -1; -1 -1].
int paley(std::int64_t i, std::int64_t j) {
  const std::int64_t row = i / 2, column = j / 2;
  const bool low = i % 2 != 0, right = j % 2 != 0;
  if (row == column) return low || right ? -1 : 1;
  const int sign = row == 0 || column == 0 ? 1 : circulant("0+--+", row - 1, column - 1);
  return low && right ? -sign : sign;
}

// Of orders 20 and 28: four blocks by four of symmetric circulant matrices whose squares add up to a multiple of the
// unit matrix (Williamson, "Hadamard's Determinant Theorem and the Sum of Four Squares", 1944).
int williamson(std::int64_t size, std::int64_t i, std::int64_t j) {
  constexpr std::string_view kOf20[] = {"+----", "+----", "++--+", "+-++-"};
  constexpr std::string_view kOf28[] = {"+------", "++----+", "+-+--+-", "+--++--"};
  constexpr int kBlocks[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  constexpr int kSigns[4][4] = {{1, 1, 1, 1}, {-1, 1, -1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}};
  const std::int64_t block = size / 4, row = i / block, column = j / block;
  const auto& rows = size == 20 ? kOf20 : kOf28;
  return kSigns[row][column] * circulant(rows[kBlocks[row][column]], i % block, j % block);
}

Tensor other_hadamard(std::int64_t size) {
  std::vector<float> elements;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      elements.push_back(static_cast<float>(size == 12 ? paley(i, j) : williamson(size, i, j)));
    }
  }
  return Graph::constant(TensorData::copy_of(DType::f32, {size, size}, std::as_bytes(std::span(elements))));
}

struct HadamardAttributes {
  std::optional<double> scale = {};
  void fields(AttributeVisitor& v) { v("scale", scale, {}, "what the sums are multiplied by; without it 1 / sqrt(n)"); }
};

// The matrix is a Kronecker product, and each factor a product along an axis of its own. A factor of up to 64 is one
// small matrix: its sums cost less than the memory traffic of the passes that it replaces.
constexpr Function kHadamardTransform = {
    {.name = "hadamard_transform",
     .operands = {{.name = "x", .types = {DType::f32, DType::f16, DType::bf16}, .min_rank = 1, .shape = "[..., n]"}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = scale · H x along the last axis",
     .summary = "the product with a Hadamard matrix of order n, which is a power of two, or 12, 20 or 28 times one"},
    [](const Tensor& x, const HadamardAttributes& a) {
      constexpr int kMostBits = 6;
      const std::int64_t n = x.shape()[-1];
      const auto is_power = [](std::int64_t v) { return v > 0 && (v & (v - 1)) == 0; };
      std::int64_t other = 1;
      for (const std::int64_t size : kOtherSizes) {
        if (n % size == 0 && is_power(n / size)) other = size;
      }
      if (!is_power(n / other)) {
        throw ShapeError("hadamard_transform: x is {}; expected a last axis of m · 2^k elements, m = 1, 12, 20 or 28",
                         to_string(x.type()));
      }
      const double scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(n)));
      const std::int64_t count = element_count(x.shape());
      Tensor y = cast(x, DType::f32);
      const auto multiply = [&](const Tensor& matrix, std::int64_t inner) {
        const std::int64_t size = matrix.shape()[0];
        if (inner == 1) {
          y = matmul(reshape(y, {count / size, size}), matrix_transpose(matrix));
        } else {
          y = matmul(matrix, reshape(y, {count / (size * inner), size, inner}));
        }
      };
      int bits = 0;
      while (std::int64_t{other} << bits < n) ++bits;
      std::int64_t inner = 1;
      for (int rest = bits; rest > 0;) {
        const int parts = (rest + kMostBits - 1) / kMostBits, now = (rest + parts - 1) / parts;
        multiply(sylvester(std::int64_t{1} << now), inner);
        inner <<= now;
        rest -= now;
      }
      if (other > 1) multiply(other_hadamard(other), inner);
      return cast(reshape(multiplied_by(y, scale), x.shape()), x.dtype());
    }};

FrameAttributes frames_of(std::int64_t n_fft, const StftOptions& o) {
  return {n_fft, o.hop_length, o.window_length, o.center, o.normalized, o.onesided};
}

}  // namespace

void add_signal_functions(FunctionRows& rows) {
  rows.add(kHannWindow, kHammingWindow, kBlackmanWindow, kBlackmanHarrisWindow, kBartlettWindow, kKaiserWindow,
           kGaussianWindow, kTukeyWindow);
  rows.add(kStft, kIstft, kFftConvolve, kDct, kIdct, kHadamardTransform);
}

// ---- The functions

Tensor hann_window(std::int64_t n, bool periodic, DType dtype) { return kHannWindow({n, periodic, dtype}); }
Tensor hamming_window(std::int64_t n, bool periodic, DType dtype) { return kHammingWindow({n, periodic, dtype}); }
Tensor blackman_window(std::int64_t n, bool periodic, DType dtype) { return kBlackmanWindow({n, periodic, dtype}); }
Tensor blackman_harris_window(std::int64_t n, bool periodic, DType dtype) {
  return kBlackmanHarrisWindow({n, periodic, dtype});
}
Tensor bartlett_window(std::int64_t n, bool periodic, DType dtype) { return kBartlettWindow({n, periodic, dtype}); }
Tensor kaiser_window(std::int64_t n, double beta, bool periodic, DType dtype) {
  return kKaiserWindow({{n, periodic, dtype}, beta});
}
Tensor gaussian_window(std::int64_t n, double deviation, bool periodic, DType dtype) {
  return kGaussianWindow({{n, periodic, dtype}, deviation});
}
Tensor tukey_window(std::int64_t n, double alpha, bool periodic, DType dtype) {
  return kTukeyWindow({{n, periodic, dtype}, alpha});
}

Tensor stft(const Operand& x, std::int64_t n_fft, const StftOptions& options) {
  return kStft(x, options.window, {frames_of(n_fft, options), options.padding});
}
Tensor istft(const Operand& x, std::int64_t n_fft, const StftOptions& options, std::optional<std::int64_t> length,
             bool complex) {
  return kIstft(x, options.window, {frames_of(n_fft, options), length, complex});
}

Tensor fft_convolve(const Operand& a, const Operand& b, ConvolveMode mode, int axis) {
  return kFftConvolve(a, b, {mode, axis});
}

Tensor dct(const Operand& x, int type, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return kDct(x, {type, n, axis, norm});
}
Tensor idct(const Operand& x, int type, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return kIdct(x, {type, n, axis, norm});
}

Tensor hadamard_transform(const Operand& x, std::optional<double> scale) { return kHadamardTransform(x, {scale}); }

}  // namespace weft
