// The rows of the kernel table for weft/kernels/fft.h.
#include "kernels/fft/fft.h"
#include "kernels/table_rows.h"

namespace weft::kernels {

std::string_view fft_name(FftKind kind) {
  constexpr std::string_view kNames[] = {"fft_complex", "fft_real_to_complex", "fft_complex_to_real"};
  return kNames[static_cast<int>(kind)];
}

void add_fft_rows(TableRows& rows) {
  const TypeSet real = DType::f32 | TypeSet(DType::f16) | DType::bf16;
  const struct {
    FftKind kind;
    std::string_view what, formula, shape;
    std::vector<TypeSignature> signatures;
    std::vector<std::string> other_names;
  } kinds[] = {
      {FftKind::complex,
       "the discrete Fourier transform along an axis",
       "y[k] = scale · Σ x[j] · exp(∓2πi jk / n), n = length",
       "x's shape, with `length` elements along the axis",
       {{types::complex, as(0)}},
       {"fft", "ifft", "dft"}},
      {FftKind::real_to_complex,
       "the first half of the Fourier transform of a real signal",
       "y[k] = scale · Σ x[j] · exp(∓2πi jk / n), k ≤ n / 2, n = length",
       "x's shape, with length / 2 + 1 elements along the axis",
       {{real, types::complex}},
       {"rfft", "ihfft"}},
      {FftKind::complex_to_real,
       "the real Fourier transform of a Hermitian signal, of which x is the first half",
       "y[k] = scale · Σ x[j] · exp(∓2πi jk / n), with x[n - j] = conj(x[j]), n = length",
       "x's shape, with `length` elements along the axis",
       {{types::complex, real}},
       {"irfft", "hfft"}},
  };
  for (const auto& k : kinds) {
    rows.push_back(row({.name = std::string(fft_name(k.kind)),
                        .family = "fft",
                        .summary = std::string(k.what),
                        .formula = std::string(k.formula),
                        .inputs = {one("x", "any")},
                        .outputs = {one("y", std::string(k.shape))},
                        .signatures = k.signatures,
                        .attributes = with(integer("axis", "the axis along which it transforms", -1), FftOptions()),
                        .other_names = k.other_names},
                       [kind = k.kind](Stream& s, const Reader& r) {
                         fft(s, kind, r.in(0), r.out(0), r.axis(), r.options<FftOptions>());
                       }));
  }
}

}  // namespace weft::kernels
