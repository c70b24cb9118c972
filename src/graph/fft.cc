// Fourier transforms of the array API standard (weft/fft.h).
#include "weft/fft.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/ops/fft.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

using kernels::FftKind;

Tensor complex_of(std::string_view function, const Tensor& x) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", function);
  if (x.dtype() == DType::c64) return x;
  if (x.dtype() == DType::f64) {
    throw TypeError("{}: x is {}, whose transform has no complex type; cast it to f32", function, to_string(x.type()));
  }
  return cast(x, DType::c64);
}

Tensor real_of(std::string_view function, const Tensor& x) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", function);
  const DType type = x.dtype();
  if (type == DType::c64) throw TypeError("{}: x is {}, expected real numbers", function, to_string(x.type()));
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
                           const Axes& axes, bool all) {
  std::vector<int> list = axes.of(x.rank());
  // Sizes alone are those of the last axes.
  if (all && !sizes.empty() && sizes.size() < list.size())
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

// True if `axes` were not given.
bool is_every(const Axes& axes) { return axes.of(1) == std::vector<int>{0} && axes.of(2) == std::vector<int>{0, 1}; }

Tensor complex_along(std::string_view function, const Tensor& given, Tensor x, std::span<const Along> axes,
                     FftNorm norm, bool inverse) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    x = along(function, FftKind::complex, given, x, axes[i].size, axes[i].axis, norm, inverse);
  }
  return x;
}

// Half the length of each axis, up or down.
Tensor shifted(std::string_view function, const Tensor& x, const Axes& axes, bool back) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", function);
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
  return cast(cast(turned, wide) * (1 / (static_cast<double>(n) * spacing)), dtype);
}

}  // namespace

Tensor fft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return in_function("fft",
                     [&] { return along("fft", FftKind::complex, x, complex_of("fft", x), n, axis, norm, false); });
}
Tensor ifft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return in_function("ifft",
                     [&] { return along("ifft", FftKind::complex, x, complex_of("ifft", x), n, axis, norm, true); });
}
Tensor rfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return in_function(
      "rfft", [&] { return along("rfft", FftKind::real_to_complex, x, real_of("rfft", x), n, axis, norm, false); });
}
Tensor irfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return in_function("irfft", [&] {
    return along("irfft", FftKind::complex_to_real, x, complex_of("irfft", x), n, axis, norm, true);
  });
}
Tensor hfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return in_function(
      "hfft", [&] { return along("hfft", FftKind::complex_to_real, x, complex_of("hfft", x), n, axis, norm, false); });
}
Tensor ihfft(const Operand& x, std::optional<std::int64_t> n, int axis, FftNorm norm) {
  return in_function(
      "ihfft", [&] { return along("ihfft", FftKind::real_to_complex, x, real_of("ihfft", x), n, axis, norm, true); });
}

Tensor fftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return in_function("fftn", [&] {
    const Tensor c = complex_of("fftn", x);
    return complex_along("fftn", x, c, axes_of("fftn", c, sizes, axes, is_every(axes)), norm, false);
  });
}
Tensor ifftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return in_function("ifftn", [&] {
    const Tensor c = complex_of("ifftn", x);
    return complex_along("ifftn", x, c, axes_of("ifftn", c, sizes, axes, is_every(axes)), norm, true);
  });
}
Tensor rfftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return in_function("rfftn", [&] {
    const Tensor real = real_of("rfftn", x);
    std::vector<Along> list = axes_of("rfftn", real, sizes, axes, is_every(axes));
    if (list.empty()) throw InvalidArgument("rfftn: there is no axis to transform along");
    const Along last = list.back();
    list.pop_back();
    const Tensor half = along("rfftn", FftKind::real_to_complex, x, real, last.size, last.axis, norm, false);
    return complex_along("rfftn", x, half, list, norm, false);
  });
}
Tensor irfftn(const Operand& x, const std::vector<std::int64_t>& sizes, const Axes& axes, FftNorm norm) {
  return in_function("irfftn", [&] {
    const Tensor c = complex_of("irfftn", x);
    std::vector<Along> list = axes_of("irfftn", c, sizes, axes, is_every(axes));
    if (list.empty()) throw InvalidArgument("irfftn: there is no axis to transform along");
    const Along last = list.back();
    list.pop_back();
    return along("irfftn", FftKind::complex_to_real, x, complex_along("irfftn", x, c, list, norm, true), last.size,
                 last.axis, norm, true);
  });
}

Tensor fftfreq(std::int64_t n, double spacing, DType dtype) { return frequencies("fftfreq", n, spacing, dtype, false); }
Tensor rfftfreq(std::int64_t n, double spacing, DType dtype) {
  return frequencies("rfftfreq", n, spacing, dtype, true);
}
Tensor fftshift(const Operand& x, const Axes& axes) {
  return in_function("fftshift", [&] { return shifted("fftshift", x, axes, false); });
}
Tensor ifftshift(const Operand& x, const Axes& axes) {
  return in_function("ifftshift", [&] { return shifted("ifftshift", x, axes, true); });
}

}  // namespace weft
