// Fourier transforms of the array API standard (weft/fft.h).
#include "weft/fft.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "graph/graph.h"
#include "ops/fft.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/range_scale.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

using kernels::FftKind;

Tensor complex_of(std::string_view function, const Tensor& x) {
  if (x.dtype() == DType::c64) return x;
  if (x.dtype() == DType::f64) {
    throw TypeError("{}: x is {}, whose transform has no complex type; cast it to f32", function, to_string(x.type()));
  }
  return cast(x, DType::c64);
}

Tensor real_of(std::string_view function, const Tensor& x) {
  const DType type = x.dtype();
  if (type == DType::f64) {
    throw TypeError("{}: x is {}, whose transform has no complex type; cast it to f32", function, to_string(x.type()));
  }
  return type == DType::f16 || type == DType::bf16 || type == DType::f32 ? x : cast(x, DType::f32);
}

double scale_of(FftNorm norm, std::int64_t n, bool inverse) {
  const auto count = static_cast<double>(n);
  if (norm == FftNorm::ortho) return 1 / std::sqrt(count);
  return (norm == FftNorm::backward) == inverse ? 1 / count : 1;
}

// Of x, which was made of what the caller gave. `inverse`: whether the norm takes it for the inverse one, which for the
// Hermitian transforms is not that of the exponent.
Tensor along(std::string_view function, FftKind kind, const Tensor& given, const Tensor& x,
             std::optional<std::int64_t> n, int axis, FftNorm norm, bool inverse) {
  axis = normalize_axis(axis, x.rank(), function);
  const std::int64_t size = x.shape()[axis];
  const std::int64_t length = n.value_or(kind == FftKind::complex_to_real ? 2 * (size - 1) : size);
  if (length < 1) {
    throw InvalidArgument("{}: the length is {}; expected at least 1, for x {} along axis {}", function, length,
                          to_string(given.type()), axis);
  }
  const kernels::FftOptions options{length, inverse, scale_of(norm, length, inverse)};
  return apply(make_op<FftOp>(FftAttributes{kind, axis, options}), {x});
}

struct Along {
  int axis;
  std::optional<std::int64_t> size;
};

std::vector<Along> axes_of(std::string_view function, const Tensor& x, const std::vector<std::int64_t>& sizes,
                           const Axes& axes) {
  std::vector<int> list = axes.of(x.rank());
  // Sizes alone are those of the last axes.
  if (axes.are_all() && !sizes.empty() && sizes.size() < list.size())
    list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(sizes.size()));
  if (!sizes.empty() && sizes.size() != list.size()) {
    throw InvalidArgument("{}: {} sizes for {} axes", function, sizes.size(), list.size());
  }
  std::vector<Along> result;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const int axis = normalize_axis(list[i], x.rank(), function);
    if (std::ranges::find(result, axis, &Along::axis) != result.end()) {
      throw InvalidArgument("{}: axis {} is named twice", function, list[i]);
    }
    result.push_back({axis, sizes.empty() ? std::optional<std::int64_t>() : sizes[i]});
  }
  return result;
}

Tensor complex_along(std::string_view function, const Tensor& given, Tensor x, std::span<const Along> axes,
                     FftNorm norm, bool inverse) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    x = along(function, FftKind::complex, given, x, axes[i].size, axes[i].axis, norm, inverse);
  }
  return x;
}

// Half the length of each axis, up or down.
Tensor shifted(std::string_view function, const Tensor& x, const Axes& axes, bool back) {
  std::vector<std::int64_t> shifts(static_cast<std::size_t>(x.rank()), 0);
  for (const int a : axes.of(x.rank())) {
    const int axis = normalize_axis(a, x.rank(), function);
    const std::int64_t n = x.shape()[axis];
    shifts[static_cast<std::size_t>(axis)] = back ? n - n / 2 : n / 2;
  }
  return roll(x, shifts);
}

// Of all n results, or of the first half.
Tensor frequencies(std::string_view function, std::int64_t n, double spacing, DType dtype, bool half) {
  if (n < 1) throw InvalidArgument("{}: n is {}; expected at least 1", function, n);
  if (!is_floating(dtype)) throw TypeError("{}: dtype is {}; expected a floating type", function, name(dtype));
  const Tensor k = arange(0, half ? n / 2 + 1 : n, 1, DType::i64);
  const Tensor turned = half ? k : select(greater(k, (n - 1) / 2), k - n, k);
  // As NumPy: the product with the distance of the frequencies, in the result's type or f32.
  const DType wide = dtype == DType::f64 ? dtype : DType::f32;
  return cast(multiplied_by(cast(turned, wide), 1 / (static_cast<double>(n) * spacing)), dtype);
}

// ---- Along one axis

constexpr std::string_view kLine = "x's shape, with n elements along the axis",
                           kHalfLine = "x's shape, with n / 2 + 1 elements along the axis",
                           kLines = "x's shape, with the sizes along the axes";
constexpr std::string_view kNormMeaning =
    "which direction is multiplied: the inverse one by 1 / n (backward), both by 1 / sqrt(n) (ortho), or the forward "
    "one by 1 / n (forward)";

struct LineAttributes {
  std::optional<std::int64_t> n = {};
  int axis = -1;
  FftNorm norm = FftNorm::backward;
  void fields(AttributeVisitor& v) {
    v("n", n, {}, "the length of the signal, to which x is cut or filled up with zeros; without it x's own");
    v("axis", axis, -1, "the axis along which it transforms");
    v("norm", norm, FftNorm::backward, kFftNorms, kNormMeaning);
  }
};

constexpr Function kFft = {{.name = "fft",
                            .operands = {{"x"}},
                            .results = {{"y", kLine, "c64"}},
                            .formula = "y[k] = Σ x[j] · exp(-2πi jk / n)",
                            .summary = "the discrete Fourier transform along an axis"},
                           [](const Tensor& x, const LineAttributes& a) {
                             return along("fft", FftKind::complex, x, complex_of("fft", x), a.n, a.axis, a.norm, false);
                           }};
constexpr Function kIfft = {{.name = "ifft",
                             .operands = {{"x"}},
                             .results = {{"y", kLine, "c64"}},
                             .formula = "y[j] = 1/n Σ x[k] · exp(2πi jk / n)",
                             .summary = "the inverse of fft"},
                            [](const Tensor& x, const LineAttributes& a) {
                              return along("ifft", FftKind::complex, x, complex_of("ifft", x), a.n, a.axis, a.norm,
                                           true);
                            }};
constexpr Function kRfft = {{.name = "rfft",
                             .operands = {{"x", types::real}},
                             .results = {{"y", kHalfLine, "c64"}},
                             .formula = "y[k] = Σ x[j] · exp(-2πi jk / n), k ≤ n / 2",
                             .summary = "the first half of the transform of real numbers"},
                            [](const Tensor& x, const LineAttributes& a) {
                              return along("rfft", FftKind::real_to_complex, x, real_of("rfft", x), a.n, a.axis, a.norm,
                                           false);
                            }};
constexpr Function kIrfft = {{.name = "irfft",
                              .operands = {{"x"}},
                              .results = {{"y", kLine, "f32"}},
                              .formula = "y[j] = 1/n Σ x[k] · exp(2πi jk / n), x[n - k] = conj(x[k])",
                              .summary = "the inverse of rfft"},
                             [](const Tensor& x, const LineAttributes& a) {
                               return along("irfft", FftKind::complex_to_real, x, complex_of("irfft", x), a.n, a.axis,
                                            a.norm, true);
                             }};
constexpr Function kHfft = {
    {.name = "hfft",
     .operands = {{"x"}},
     .results = {{"y", kLine, "f32"}},
     .formula = "y[k] = Σ x[j] · exp(-2πi jk / n), x[n - j] = conj(x[j])",
     .summary = "the transform of a signal of which x is the first half and its conjugate the second"},
    [](const Tensor& x, const LineAttributes& a) {
      return along("hfft", FftKind::complex_to_real, x, complex_of("hfft", x), a.n, a.axis, a.norm, false);
    }};
constexpr Function kIhfft = {{.name = "ihfft",
                              .operands = {{"x", types::real}},
                              .results = {{"y", kHalfLine, "c64"}},
                              .formula = "y[j] = 1/n Σ x[k] · exp(2πi jk / n), j ≤ n / 2",
                              .summary = "the inverse of hfft"},
                             [](const Tensor& x, const LineAttributes& a) {
                               return along("ihfft", FftKind::real_to_complex, x, real_of("ihfft", x), a.n, a.axis,
                                            a.norm, true);
                             }};

// ---- Along several axes

struct LinesAttributes {
  std::vector<std::int64_t> sizes = {};
  Axes axes = {};
  FftNorm norm = FftNorm::backward;
  void fields(AttributeVisitor& v) {
    v("sizes", sizes, {}, "the length of the signal along each of the axes; without them x's own");
    v("axes", axes, {}, "the axes along which it transforms; without them all, or as many of the last ones as sizes");
    v("norm", norm, FftNorm::backward, kFftNorms, kNormMeaning);
  }
};

constexpr Function kFftn = {{.name = "fftn",
                             .operands = {{"x"}},
                             .results = {{"y", kLines, "c64"}},
                             .formula = "y = fft(x) along each of the axes",
                             .summary = "the Fourier transform in several dimensions"},
                            [](const Tensor& x, const LinesAttributes& a) {
                              const Tensor c = complex_of("fftn", x);
                              const std::vector<Along> list = axes_of("fftn", c, a.sizes, a.axes);
                              return complex_along("fftn", x, c, list, a.norm, false);
                            }};
constexpr Function kIfftn = {{.name = "ifftn",
                              .operands = {{"x"}},
                              .results = {{"y", kLines, "c64"}},
                              .formula = "y = ifft(x) along each of the axes",
                              .summary = "the inverse of fftn"},
                             [](const Tensor& x, const LinesAttributes& a) {
                               const Tensor c = complex_of("ifftn", x);
                               const std::vector<Along> list = axes_of("ifftn", c, a.sizes, a.axes);
                               return complex_along("ifftn", x, c, list, a.norm, true);
                             }};
constexpr Function kRfftn = {{.name = "rfftn",
                              .operands = {{"x", types::real}},
                              .results = {{"y", kLines, "c64"}},
                              .formula = "y = fft(rfft(x))",
                              .summary = "rfft along the last of the axes, fft along the others"},
                             [](const Tensor& x, const LinesAttributes& a) {
                               const Tensor real = real_of("rfftn", x);
                               std::vector<Along> list = axes_of("rfftn", real, a.sizes, a.axes);
                               if (list.empty()) throw InvalidArgument("rfftn: there is no axis to transform along");
                               const Along last = list.back();
                               list.pop_back();
                               const Tensor half = along("rfftn", FftKind::real_to_complex, x, real, last.size,
                                                         last.axis, a.norm, false);
                               return complex_along("rfftn", x, half, list, a.norm, false);
                             }};
constexpr Function kIrfftn = {{.name = "irfftn",
                               .operands = {{"x"}},
                               .results = {{"y", kLines, "f32"}},
                               .formula = "y = irfft(ifft(x))",
                               .summary = "the inverse of rfftn"},
                              [](const Tensor& x, const LinesAttributes& a) {
                                const Tensor c = complex_of("irfftn", x);
                                std::vector<Along> list = axes_of("irfftn", c, a.sizes, a.axes);
                                if (list.empty()) throw InvalidArgument("irfftn: there is no axis to transform along");
                                const Along last = list.back();
                                list.pop_back();
                                return along("irfftn", FftKind::complex_to_real, x,
                                             complex_along("irfftn", x, c, list, a.norm, true), last.size, last.axis,
                                             a.norm, true);
                              }};

// ---- Frequencies

struct FrequencyAttributes {
  std::int64_t n = 0;
  double spacing = 1;
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    v("n", n, "the length of the signal");
    v("spacing", spacing, 1, "from one of its elements to the next");
    v("dtype", dtype, DType::f32, "the type of the result");
  }
};
constexpr Function kFftfreq = {
    {.name = "fftfreq",
     .results = {{"y", "[n]", "dtype"}},
     .formula = "y = [0, 1, …, -2, -1] / (n · spacing)",
     .summary = "the frequencies of the results of fft"},
    [](const FrequencyAttributes& a) { return frequencies("fftfreq", a.n, a.spacing, a.dtype, false); }};
constexpr Function kRfftfreq = {
    {.name = "rfftfreq",
     .results = {{"y", "[n / 2 + 1]", "dtype"}},
     .formula = "y = [0, 1, …, n / 2] / (n · spacing)",
     .summary = "the frequencies of the results of rfft"},
    [](const FrequencyAttributes& a) { return frequencies("rfftfreq", a.n, a.spacing, a.dtype, true); }};

struct ShiftAttributes {
  Axes axes = {};
  void fields(AttributeVisitor& v) { v("axes", axes, {}, "the axes of frequencies; without them all"); }
};
constexpr Function kFftshift = {
    {.name = "fftshift",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y[(k + n / 2) mod n] = x[k]",
     .summary = "the frequency 0 in the middle of the axes"},
    [](const Tensor& x, const ShiftAttributes& a) { return shifted("fftshift", x, a.axes, false); }};
constexpr Function kIfftshift = {
    {.name = "ifftshift",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y[k] = x[(k + n / 2) mod n]",
     .summary = "the inverse of fftshift"},
    [](const Tensor& x, const ShiftAttributes& a) { return shifted("ifftshift", x, a.axes, true); }};

}  // namespace

void add_fft_functions(FunctionRows& rows) {
  rows.add(kFft, kIfft, kRfft, kIrfft, kHfft, kIhfft, kFftn, kIfftn, kRfftn, kIrfftn);
  rows.add(kFftfreq, kRfftfreq, kFftshift, kIfftshift);
}

// ---- The functions

Tensor fft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) { return kFft(x, {n, axis, norm}); }
Tensor ifft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return kIfft(x, {n, axis, norm});
}
Tensor rfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return kRfft(x, {n, axis, norm});
}
Tensor irfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return kIrfft(x, {n, axis, norm});
}
Tensor hfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return kHfft(x, {n, axis, norm});
}
Tensor ihfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return kIhfft(x, {n, axis, norm});
}

Tensor fftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return kFftn(x, {sizes, axes, norm});
}
Tensor ifftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return kIfftn(x, {sizes, axes, norm});
}
Tensor rfftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return kRfftn(x, {sizes, axes, norm});
}
Tensor irfftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return kIrfftn(x, {sizes, axes, norm});
}

Tensor fftfreq(std::int64_t n, double spacing, DType dtype) { return kFftfreq({n, spacing, dtype}); }
Tensor rfftfreq(std::int64_t n, double spacing, DType dtype) { return kRfftfreq({n, spacing, dtype}); }
Tensor fftshift(const Operand& x, const Axes& axes) { return kFftshift(x, {axes}); }
Tensor ifftshift(const Operand& x, const Axes& axes) { return kIfftshift(x, {axes}); }

}  // namespace weft
