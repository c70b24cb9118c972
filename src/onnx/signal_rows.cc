// Windows and Fourier transforms. Complex numbers are a last axis of two.
#include "weft/signal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/network.h"
#include "weft/array.h"
#include "weft/fft.h"
#include "weft/graph.h"

namespace weft::onnx {

namespace {

// The signal without its last axis: real numbers of [..., 1], complex ones of [..., 2].
Tensor signal_of(const Node& n, const Tensor& x) {
  const std::int64_t parts = x.rank() < 2 ? 0 : x.shape()[-1];
  if (parts != 1 && parts != 2) n.fail("the signal is {}, expected a last axis of 1 or 2", to_string(x.shape()));
  if (x.dtype() == DType::f64) n.lacks("the signal is f64; there are transforms of f32 and narrower floats");
  if (parts == 1) return squeeze(x, -1);
  return complex(squeeze(slice(x, -1, 0, 1), -1), squeeze(slice(x, -1, 1, 2), -1));
}
Tensor parts_of(const Tensor& x, DType type) { return cast(stack({real(x), imag(x)}, -1), type); }

// The axis, which is not the last one.
Tensors transform(const Node& n, std::int64_t given) {
  const Tensor x = n.in(0), s = signal_of(n, x);
  const int axis = axis_of(n, given, x.rank());
  if (axis == x.rank() - 1) n.fail("the axis is {}, that of complex numbers", given);
  const bool inverse = n.integer("inverse", 0) != 0, onesided = n.integer("onesided", 0) != 0;
  std::optional<std::int64_t> length;
  if (n.has(1)) length = n.integer_of(1);
  if (onesided && inverse) return {cast(expand_dims(irfft(s, length, axis), -1), x.dtype())};
  if (onesided && s.dtype() != DType::c64) return {parts_of(rfft(s, length, axis), x.dtype())};
  Tensor y = inverse ? ifft(s, length, axis) : fft(s, length, axis);
  if (onesided) y = slice(y, axis, 0, y.shape()[axis] / 2 + 1);
  return {parts_of(y, x.dtype())};
}
Tensors dft_17(const Node& n) { return transform(n, n.integer("axis", 1)); }
Tensors dft_20(const Node& n) { return transform(n, n.has(2) ? n.integer_of(2) : -2); }

Tensors stft_17(const Node& n) {
  // ONNX Runtime takes real signals without the last axis, too.
  const Tensor given = n.in(0), x = given.rank() == 2 ? expand_dims(given, 2) : given;
  const Tensor s = signal_of(n, x), window = n.maybe(2);
  if (s.rank() != 2) n.fail("the signal is {}, expected [batch, length, 1 or 2]", to_string(x.shape()));
  if (!n.has(3) && !window.defined()) n.fail("there is neither a window nor frame_length");
  const std::int64_t length = n.has(3) ? n.integer_of(3) : window.shape()[0], step = n.integer_of(1);
  if (step < 1) n.fail("frame_step is {}, expected 1 or more", step);
  const Tensor y = stft(s, length,
                        {.hop_length = step,
                         .window = window,
                         .center = false,
                         .onesided = s.dtype() != DType::c64 && n.integer("onesided", 1) != 0});
  return {parts_of(permute(y, {0, 2, 1}), x.dtype())};
}

// a - b cos(2πk / N) + c cos(4πk / N).
struct Cosines {
  double a, b, c;
};
// What is computed on the host has no more elements.
constexpr std::int64_t kMostElements = std::int64_t{1} << 26;

constexpr Cosines kHann = {0.5, 0.5, 0}, kHamming = {25.0 / 46, 21.0 / 46, 0}, kBlackman = {0.42, 0.5, 0.08};

template <const Cosines& w>
Tensors window(const Node& n) {
  const std::int64_t size = n.integer_of(0);
  if (size < 0 || size > kMostElements) n.fail("size is {}, expected 0 to 2^26", size);
  const double last = static_cast<double>(n.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> values;
  for (std::int64_t k = 0; k < size; ++k) {
    const double angle = last == 0 ? std::numbers::pi : 2 * std::numbers::pi * static_cast<double>(k) / last;
    values.push_back(w.a - w.b * std::cos(angle) + w.c * std::cos(2 * angle));
  }
  return {constant({size}, values, n.type("output_datatype", DType::f32))};
}

Tensors mel_weight_matrix(const Node& n) {
  const std::int64_t bins = n.integer_of(0), length = n.integer_of(1), rate = n.integer_of(2);
  const double low = n.number_of(3), high = n.number_of(4);
  if (bins < 1 || length < 1 || rate < 1) {
    n.fail("num_mel_bins is {}, dft_length {} and sample_rate {}, expected 1 or more", bins, length, rate);
  }
  const std::int64_t rows = length / 2 + 1;
  if (bins > kMostElements / rows) n.fail("{} bins of {} rows, expected up to 2^26 elements", bins, rows);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  // The row of each edge of a triangle.
  std::vector<std::int64_t> edges;
  const double first = mel(low), step = (mel(high) - first) / static_cast<double>(bins + 2);
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10.0, (static_cast<double>(i) * step + first) / 2595) - 1);
    const double row = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(row >= 0 && row < static_cast<double>(rows))) {
      n.fail("an edge at {} hertz lies outside of the {} rows of the spectrum", hertz, rows);
    }
    edges.push_back(static_cast<std::int64_t>(row));
  }
  std::vector<double> weights(static_cast<std::size_t>(element_count({rows, bins})), 0.0);
  for (std::int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t begin = edges[at], middle = edges[at + 1], end = edges[at + 2];
    const auto weight = [&](std::int64_t row) -> double& { return weights[static_cast<std::size_t>(row * bins + i)]; };
    if (begin == middle) weight(middle) = 1;
    for (std::int64_t row = begin; row <= middle && begin != middle; ++row) {
      weight(row) = static_cast<double>(row - begin) / static_cast<double>(middle - begin);
    }
    for (std::int64_t row = middle; row < end; ++row) {
      weight(row) = static_cast<double>(end - row) / static_cast<double>(end - middle);
    }
  }
  return {constant({rows, bins}, weights, n.type("output_datatype", DType::f32))};
}

constexpr OperatorRow kRows[] = {
    {"DFT", dft_17, 17, "not of f64"},          {"DFT", dft_20, 20, "not of f64"},
    {"STFT", stft_17, 17, "not of f64"},        {"HannWindow", window<kHann>, 17},
    {"HammingWindow", window<kHamming>, 17},    {"BlackmanWindow", window<kBlackman>, 17},
    {"MelWeightMatrix", mel_weight_matrix, 17},
};

}  // namespace

OperatorRows signal_rows() { return {"", kRows}; }

}  // namespace weft::onnx
