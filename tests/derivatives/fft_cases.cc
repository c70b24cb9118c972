#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/fft.h"
#include "weft/graph.h"
#include "weft/signal.h"

namespace weft::test {

// Results that are complex are given as their parts. There is no f64: differences are of f32.
void add_fft_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f) {
    cases.push_back({.name = std::move(name),
                     .shapes = std::move(shapes),
                     .function =
                         [f](Operands x) {
                           const Tensor y = f(x);
                           return y.dtype() == DType::c64 ? std::vector{real(y), imag(y)} : std::vector{y};
                         },
                     .on_f64 = false});
  };
  add("fft", {{2, 6}, {2, 6}}, [](Operands x) { return fft(complex(x[0], x[1])); });
  add("fft_first_axis", {{5, 2}, {5, 2}}, [](Operands x) { return fft(complex(x[0], x[1]), 7, 0, FftNorm::ortho); });
  add("ifft_cut", {{9}, {9}}, [](Operands x) { return ifft(complex(x[0], x[1]), 4) * 3; });
  add("fft_squared", {{8}, {8}}, [](Operands x) {
    const Tensor y = fft(complex(x[0], x[1]), {}, -1, FftNorm::ortho);
    return y * y;
  });
  add("rfft_even", {{2, 8}}, [](Operands x) { return rfft(x[0]); });
  add("rfft_odd", {{3, 7}}, [](Operands x) { return rfft(x[0], {}, -1, FftNorm::ortho); });
  add("rfft_filled", {{4, 3}}, [](Operands x) { return rfft(x[0], 9, 0); });
  add("rfft_power", {{6}}, [](Operands x) { return square(abs(rfft(x[0]))); });
  add("ihfft_cut", {{7, 2}}, [](Operands x) { return ihfft(x[0], 4, 0) * 4; });
  add("irfft_even", {{2, 5}, {2, 5}}, [](Operands x) { return irfft(complex(x[0], x[1]), 8) * 4; });
  add("irfft_odd", {{2, 5}, {2, 5}}, [](Operands x) { return irfft(complex(x[0], x[1]), 9) * 4; });
  add("irfft_squared", {{5}, {5}}, [](Operands x) { return square(irfft(complex(x[0], x[1]))); });
  add("hfft_cut", {{6}, {6}}, [](Operands x) { return hfft(complex(x[0], x[1]), 5); });
  add("hfft_filled", {{3, 2}, {3, 2}}, [](Operands x) { return hfft(complex(x[0], x[1]), 8, 0, FftNorm::ortho); });
  add("fft_of_one", {{3, 1}}, [](Operands x) { return irfft(rfft(x[0] * x[0]), 1); });
  add("fft_bluestein", {{37}}, [](Operands x) { return rfft(x[0], {}, -1, FftNorm::ortho); });
  add("fftn", {{3, 4}, {3, 4}}, [](Operands x) { return fftn(complex(x[0], x[1]), {}, {}, FftNorm::ortho); });
  add("irfftn_of_rfftn", {{3, 4, 5}}, [](Operands x) {
    const Tensor y = rfftn(x[0], {}, {2, 0});
    return irfftn(y * y, {5, 3}, {2, 0});
  });
  add("fftshift", {{5, 2}}, [](Operands x) { return square(fftshift(x[0])) + ifftshift(x[0]); });
  add("stft", {{20}, {8}},
      [](Operands x) { return stft(x[0], 8, {.hop_length = 3, .window = x[1], .normalized = true}); });
  add("istft", {{5, 6}, {5, 6}, {8}},
      [](Operands x) { return istft(complex(x[0], x[1]), 8, {.hop_length = 3, .window = square(x[2]) + 1}, 20); });
  add("fft_convolve", {{2, 9}, {4}}, [](Operands x) { return fft_convolve(x[0], x[1]); });
  add("fft_convolve_same", {{3, 5}, {2, 5}},
      [](Operands x) { return fft_convolve(x[0], x[1], ConvolveMode::same, 0); });
  add("dct", {{2, 7}}, [](Operands x) { return dct(x[0]) + idct(x[0], 3, {}, -1, FftNorm::ortho); });
  add("idct", {{6, 2}}, [](Operands x) { return idct(x[0], 2, 8, 0) * dct(x[0], 3, 8, 0, FftNorm::ortho); });
}

}  // namespace weft::test
