#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/signal.h"

namespace weft::test {
namespace {

void add_signal_cases(NamedCases& c) {
  const AttributeMap symmetric = {{"n", Number(8)}, {"periodic", Number(0)}, {"dtype", "f16"}};
  const auto with = [&](std::string_view name, double value) {
    AttributeMap all = symmetric;
    all.emplace(name, Number(value));
    return all;
  };
  c.same("hann_window", {}, symmetric, hann_window(8, false, DType::f16));
  c.same("hann_window", {}, {{"n", Number(8)}}, hann_window(8));
  c.same("hamming_window", {}, symmetric, hamming_window(8, false, DType::f16));
  c.same("blackman_window", {}, symmetric, blackman_window(8, false, DType::f16));
  c.same("blackman_harris_window", {}, symmetric, blackman_harris_window(8, false, DType::f16));
  c.same("bartlett_window", {}, symmetric, bartlett_window(8, false, DType::f16));
  c.same("kaiser_window", {}, with("beta", 5), kaiser_window(8, 5, false, DType::f16));
  c.same("gaussian_window", {}, with("deviation", 2), gaussian_window(8, 2, false, DType::f16));
  c.same("tukey_window", {}, with("alpha", 0.25), tukey_window(8, 0.25, false, DType::f16));
  c.refused("hann_window", {}, {{"n", Number(-1)}}, [] { hann_window(-1); });
  c.refused("hann_window", {}, {{"n", Number(4)}, {"dtype", "i32"}}, [] { hann_window(4, true, DType::i32); });
  c.refused("kaiser_window", {}, with("beta", INFINITY), [] { kaiser_window(8, INFINITY); });

  const Tensor x = c.floats({2, 40}), window = hann_window(12);
  const AttributeMap frames = {{"n_fft", Number(16)},
                               {"hop_length", Number(3)},
                               {"window_length", Number(12)},
                               {"normalized", Number(1)},
                               {"onesided", Number(0)}};
  const StftOptions options{.hop_length = 3,
                            .window_length = 12,
                            .window = window,
                            .padding = PadMode::edge,
                            .normalized = true,
                            .onesided = false};
  AttributeMap padded = frames, cut = frames;
  padded["padding"] = "edge";
  c.same("stft", {x, window}, padded, stft(x, 16, options));
  c.same("stft", {x}, {{"n_fft", Number(16)}, {"center", Number(0)}}, stft(x, 16, {.center = false}));
  const Tensor spectrum = stft(x, 16, options), half = stft(x, 16, {.center = false});
  cut["length"] = Number(30);
  cut["complex"] = Number(1);
  c.same("istft", {spectrum, window}, cut, istft(spectrum, 16, options, 30, true));
  c.same("istft", {half}, {{"n_fft", Number(16)}, {"center", Number(0)}}, istft(half, 16, {.center = false}));
  c.refused("stft", {x}, {{"n_fft", Number(0)}}, [&] { stft(x, 0); });
  const Tensor whole = c.integers({16});
  c.refused("stft", {x, whole}, {{"n_fft", Number(16)}}, [&] { stft(x, 16, {.window = whole}); });
  c.refused("istft", {half}, {{"n_fft", Number(32)}}, [&] { istft(half, 32); });

  const Tensor a = c.floats({6, 2}), b = c.floats({3, 2}), odd = c.floats({2, 6});
  c.same("fft_convolve", {a, b}, {{"mode", "same"}, {"axis", Number(0)}}, fft_convolve(a, b, ConvolveMode::same, 0));
  c.refused("fft_convolve", {a, b}, {{"axis", Number(2)}}, [&] { fft_convolve(a, b, ConvolveMode::full, 2); });

  const Tensor coefficients = tensor({2.0f, 0.5f, -0.25f}), state = c.floats({2, 2});
  const AttributeMap first = {{"axis", Number(0)}};
  c.same("lfilter", {b[{all, 0}], coefficients, a}, first, lfilter(b[{all, 0}], coefficients, a, 0));
  c.same("lfilter_state", {coefficients, coefficients, a, state}, first,
         lfilter(coefficients, coefficients, a, state, 0));
  c.same("lfilter_state", {coefficients, coefficients, x}, {}, lfilter(coefficients, coefficients, x, Tensor()));
  c.refused("lfilter", {coefficients, zeros({0}), a}, {}, [&] { lfilter(coefficients, zeros({0}), a); });
  c.refused("lfilter_state", {coefficients, coefficients, x, state[{0}]}, {},
            [&] { lfilter(coefficients, coefficients, x, state[{0}]); });
  const Tensor sections = tensor({{0.25f, 0.5f, 0.25f, 1.0f, -0.5f, 0.25f}, {1.0f, 1.0f, 0.0f, 2.0f, 1.0f, 0.0f}});
  const Tensor states = c.floats({2, 2, 2});
  c.same("sosfilt", {sections, a}, first, sosfilt(sections, a, 0));
  c.same("sosfilt_state", {sections, a, states}, first, sosfilt(sections, a, states, 0));
  c.same("sosfilt_state", {sections, x}, {}, sosfilt(sections, x, Tensor()));
  c.refused("sosfilt", {x, a}, {}, [&] { sosfilt(x, a); });
  c.refused("sosfilt_state", {sections, x, state}, {}, [&] { sosfilt(sections, x, state); });

  const AttributeMap line = {{"type", Number(3)}, {"n", Number(5)}, {"axis", Number(0)}, {"norm", "ortho"}};
  c.same("dct", {a}, line, dct(a, 3, 5, 0, FftNorm::ortho));
  c.same("idct", {a}, line, idct(a, 3, 5, 0, FftNorm::ortho));
  const Tensor rows = c.floats({2, 24});
  c.same("hadamard_transform", {rows}, {{"scale", Number(0.5)}}, hadamard_transform(rows, 0.5));
  c.same("hadamard_transform", {rows}, {}, hadamard_transform(rows));
  c.refused("hadamard_transform", {odd}, {}, [&] { hadamard_transform(odd); });
  c.refused("dct", {a}, {{"type", Number(1)}}, [&] { dct(a, 1); });
  c.refused("idct", {cast(a, DType::c64)}, {}, [&] { idct(cast(a, DType::c64)); });
}
const bool added = named_cases(add_signal_cases);

}  // namespace
}  // namespace weft::test
