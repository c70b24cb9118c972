// Functions of weft/signal.h: values and gradients on every device against SciPy's and PyTorch's
// (tests/reference/signals.py), round trips, and what they refuse.
#include "weft/signal.h"

#include <gmock/gmock.h>

#include <cmath>
#include <format>
#include <map>

#include "support/gradient_cases.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using kernels::PadMode;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

DType dtype_of_case(const json& o) { return *dtype_from_name(o.at("dtype").get<std::string>()); }

using Window = std::function<Tensor(const json&)>;
const std::map<std::string, Window>& windows() {
  static const std::map<std::string, Window> all = [] {
    std::map<std::string, Window> table;
    const std::pair<const char*, decltype(&hann_window)> plain[] = {{"hann_window", hann_window},
                                                                    {"hamming_window", hamming_window},
                                                                    {"blackman_window", blackman_window},
                                                                    {"blackman_harris_window", blackman_harris_window},
                                                                    {"bartlett_window", bartlett_window}};
    for (const auto& [name, f] : plain) {
      table[name] = [f](const json& o) { return f(o.at("n"), o.at("periodic"), dtype_of_case(o)); };
    }
    table["kaiser_window"] = [](const json& o) {
      return kaiser_window(o.at("n"), o.at("beta"), o.at("periodic"), dtype_of_case(o));
    };
    table["gaussian_window"] = [](const json& o) {
      return gaussian_window(o.at("n"), o.at("deviation"), o.at("periodic"), dtype_of_case(o));
    };
    table["tukey_window"] = [](const json& o) {
      return tukey_window(o.at("n"), o.at("alpha"), o.at("periodic"), dtype_of_case(o));
    };
    return table;
  }();
  return all;
}

StftOptions stft_options(const json& o, const Tensor& window) {
  static const std::map<std::string, PadMode> kModes{
      {"constant", PadMode::constant}, {"edge", PadMode::edge}, {"reflect", PadMode::reflect}, {"wrap", PadMode::wrap}};
  return {.hop_length = o.value("hop_length", std::int64_t{0}),
          .window_length = o.value("window_length", std::int64_t{0}),
          .window = window,
          .center = o.value("center", true),
          .padding = kModes.at(o.value("padding", "reflect")),
          .normalized = o.value("normalized", false),
          .onesided = o.contains("onesided") ? std::optional(o.at("onesided").get<bool>()) : std::nullopt};
}

std::optional<std::int64_t> optional_of(const json& o, const char* name) {
  return o.contains(name) ? std::optional(o.at(name).get<std::int64_t>()) : std::nullopt;
}

using Values = std::vector<Tensor>;
using Function = Tensor (*)(const Values& x, const json& options);
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, FftNorm> kNorms{
      {"backward", FftNorm::backward}, {"ortho", FftNorm::ortho}, {"forward", FftNorm::forward}};
  static const std::map<std::string, ConvolveMode> kModes{
      {"full", ConvolveMode::full}, {"same", ConvolveMode::same}, {"valid", ConvolveMode::valid}};
  static const std::map<std::string, Function> all{
      {"stft", [](const Values& x, const json& o) { return stft(x[0], o.at("n_fft"), stft_options(o, x[1])); }},
      {"istft",
       [](const Values& x, const json& o) {
         return istft(x[0], o.at("n_fft"), stft_options(o, x[1]), optional_of(o, "length"), o.value("complex", false));
       }},
      {"fft_convolve",
       [](const Values& x, const json& o) {
         return fft_convolve(x[0], x[1], kModes.at(o.at("mode")), o.value("axis", -1));
       }},
      {"dct",
       [](const Values& x, const json& o) {
         return dct(x[0], o.at("type"), optional_of(o, "n"), o.value("axis", -1),
                    kNorms.at(o.value("norm", "backward")));
       }},
      {"idct", [](const Values& x, const json& o) {
         return idct(x[0], o.at("type"), optional_of(o, "n"), o.value("axis", -1),
                     kNorms.at(o.value("norm", "backward")));
       }}};
  return all;
}

class Signal : public OnDevice {
 protected:
  ReferenceCases data{"signal"};
};
INSTANTIATE_TEST_SUITE_P(Devices, Signal, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(Signal, WindowsAreSciPys) {
  std::map<std::string, int> called;
  for (const json& c : data.list("windows.json")) {
    const std::string name = c.at("function");
    ++called[name];
    const View expected = data.operands(c, "outputs")[0];
    const Tensor w = windows().at(name)(c.at("attributes"));
    ASSERT_EQ(w.type(), (TensorType{expected.dtype, expected.shape()})) << c.dump();
    expect_close(read_view(contiguous(w)), expected, ReferenceCases::tolerance(c), c.dump());
  }
  for (const auto& [name, f] : windows()) {
    EXPECT_GT(called[name], 0) << name << " has no case";
    json o{{"n", 0}, {"periodic", true}, {"dtype", "f32"}, {"beta", 1}, {"deviation", 1}, {"alpha", 0.5}};
    EXPECT_EQ(f(o).shape(), Shape{0}) << name;
    o["n"] = -1;
    EXPECT_THROW(f(o), InvalidArgument) << name;
    o["n"] = std::int64_t{1} << 62;
    EXPECT_THROW(f(o), Error) << name;
    o["n"] = 4, o["dtype"] = "i32";
    EXPECT_THROW(f(o), TypeError) << name;
  }
}

TEST_P(Signal, ValuesAndGradients) {
  std::map<std::string, std::size_t> called;
  for (const json& c : data.list("cases.json")) {
    const std::string name = c.at("function");
    const std::size_t own = called[name]++;
    // A software GPU spends most of its time on compiling shaders: it takes some of each function's cases.
    if ((device.is_gpu() && own % 15 != 0) || leave_out_problem()) continue;
    const auto inputs = data.operands(c, "inputs"), expected = data.operands(c, "outputs");
    const json options = c.value("attributes", json::object());
    expect_values_and_gradients(
        data, c, [](const Tensor& t) { return t.defined(); },
        [&](const Values& x) { return functions().at(name)(x, options); });
  }
  for (const auto& [name, f] : functions()) EXPECT_GT(called[name], 0u) << name << " has no case";
}

Tensor some(const Shape& shape, double shift = 0) {
  return sin(arange(0, element_count(shape), 1, DType::f32) * 1.7f + shift).reshape(shape);
}
float largest(const Tensor& x) { return max(abs(x)).item<float>(); }

TEST_P(Signal, RoundTrips) {
  const Tensor x = some({2, 1000});
  const StftOptions options{.hop_length = 16, .window = hann_window(64)};
  EXPECT_LT(largest(istft(stft(x, 64, options), 64, options, 1000) - x), 1e-5);
  const Tensor z = complex(x, some({2, 1000}, 1));
  EXPECT_LT(largest(istft(stft(z, 64, options), 64, options, 1000, true) - z), 1e-5);
  for (const int type : {2, 3}) EXPECT_LT(largest(idct(dct(x, type), type) - x), 1e-5);
}

// In one compiled function, where windows are constants of it, and mapped.
TEST_P(Signal, CompiledAndMapped) {
  const auto f = [](const Tensor& x) {
    const StftOptions options{.hop_length = 8, .window = hann_window(32)};
    const Tensor y = stft(x, 32, options);
    return istft(y * 0.5f, 32, options, x.shape()[-1]) + fft_convolve(x, gaussian_window(9, 2), ConvolveMode::same) +
           dct(x);
  };
  const Tensor x = some({3, 100});
  EXPECT_LT(largest(compile(f)(x) - f(x)), 1e-4);
  EXPECT_LT(largest(vmap(f)(x) - f(x)), 1e-4);
  const auto gradient = grad([&](const Tensor& t) { return sum(square(f(t))); });
  EXPECT_LT(largest(compile(gradient)(x) - gradient(x)), 1e-2);
}

TEST_P(Signal, WindowsThatLeaveGapsAreRefused) {
  const Tensor x = cast(ones({9, 8}), DType::c64);
  const auto refused = [&](const StftOptions& o, std::optional<std::int64_t> length = {}) {
    return refused_by([&] { istft(x, 16, o, length); });
  };
  // The first element of a Hann window is 0, and no other frame is there.
  EXPECT_THAT(refused({.window = hann_window(16), .center = false}), HasSubstr("is 0 at element 0 of 44"));
  EXPECT_EQ(refused({.window = hann_window(16)}), "nothing");
  EXPECT_THAT(refused({.hop_length = 16, .window = hann_window(16)}), HasSubstr("at element 8 of 112"));
  EXPECT_THAT(refused({.hop_length = 20}), HasSubstr("at element 8 of 140"));
  EXPECT_THAT(refused({.hop_length = 12, .window_length = 10}), HasSubstr("at element 5 of 84"));
  EXPECT_EQ(refused({.hop_length = 12, .window_length = 10}, 5), "nothing");
  EXPECT_EQ(refused({.hop_length = 16, .window = hann_window(16, false)}, 7), "nothing");
  EXPECT_THAT(refused({.hop_length = 16, .window = hann_window(16, false)}, 8), HasSubstr("at element 7 of 8"));
  EXPECT_THAT(refused({.hop_length = 10, .window_length = 10}, 85), HasSubstr("at element 75 of 78"));
  EXPECT_EQ(refused({.window = cast(ones({16}), DType::f16), .center = false}), "nothing");
  // In a trace the window is known, too.
  EXPECT_THROW(compile([](const Tensor& t) { return istft(t, 16, {.window = hann_window(16), .center = false}); })(x),
               InvalidArgument);
}

TEST(SignalErrors, AreTyped) {
  const Tensor x = ones({2, 40}), z = cast(x, DType::c64), y = cast(ones({2, 9, 5}), DType::c64);
  constexpr std::int64_t kBad[] = {-1, INT64_MIN, INT64_MAX, std::int64_t{1} << 62};
  EXPECT_THROW(stft({}, 16), InvalidArgument);
  EXPECT_THROW(stft(ones({}), 16), ShapeError);
  EXPECT_THROW(stft(x, 0), InvalidArgument);
  for (const std::int64_t n : kBad) {
    EXPECT_THROW(stft(x, n), InvalidArgument) << n;
    EXPECT_THROW(stft(x, n, {.center = false}), InvalidArgument) << n;
    EXPECT_THROW(istft(y, n), InvalidArgument) << n;
    EXPECT_THROW(stft(x, 16, {.window_length = n}), InvalidArgument) << n;
    if (n < 0) {
      EXPECT_THROW(stft(x, 16, {.hop_length = n}), InvalidArgument) << n;
    }
    EXPECT_THROW(istft(y, 16, {.hop_length = n}), InvalidArgument) << n;
    if (n != std::int64_t{1} << 62) {
      EXPECT_THROW(istft(y, 16, {}, n), InvalidArgument) << n;
    }
    EXPECT_THROW(eval(istft(y, 16, {}, n)), Error) << n;
    EXPECT_THROW(eval(dct(x, 2, n)), Error) << n;
    EXPECT_THROW(eval(idct(x, 3, n)), Error) << n;
  }
  EXPECT_EQ(stft(x, 16, {.hop_length = INT64_MAX}).shape(), (Shape{2, 9, 1}));
  EXPECT_THROW(stft(x, 128), ShapeError);
  EXPECT_THROW(stft(x, 80), ShapeError);
  EXPECT_THROW(stft(x, 41, {.center = false}), ShapeError);
  EXPECT_THROW(stft(x, 16, {.window = ones({17})}), InvalidArgument);
  EXPECT_THROW(stft(x, 16, {.window = ones({0})}), InvalidArgument);
  EXPECT_THROW(stft(x, 16, {.window_length = 8, .window = ones({16})}), ShapeError);
  EXPECT_THROW(stft(x, 16, {.window = ones({1, 16})}), ShapeError);
  EXPECT_THROW(stft(x, 16, {.window = ones({16}, DType::i32)}), TypeError);
  EXPECT_THROW(stft(cast(x, DType::f64), 16), TypeError);
  EXPECT_THROW(stft(z, 16, {.onesided = true}), InvalidArgument);
  EXPECT_THROW(istft({}, 16), InvalidArgument);
  EXPECT_THROW(istft(ones({9}), 16), ShapeError);
  EXPECT_THROW(istft(ones({9, 0}), 16), ShapeError);
  EXPECT_THROW(istft(y, 32), ShapeError);
  EXPECT_THROW(istft(y, 16, {.onesided = false}), ShapeError);
  EXPECT_THROW(istft(y, 16, {}, {}, true), InvalidArgument);

  EXPECT_THROW(fft_convolve({}, x), InvalidArgument);
  EXPECT_THROW(fft_convolve(x, {}), InvalidArgument);
  EXPECT_THROW(fft_convolve(x, ones({3}), ConvolveMode::full, 0), ShapeError);
  EXPECT_THROW(fft_convolve(x, ones({3}), ConvolveMode::full, -2), InvalidArgument);
  EXPECT_THROW(fft_convolve(x, ones({3, 5})), ShapeError);
  EXPECT_THROW(fft_convolve(x, ones({0})), ShapeError);
  const auto refused_type = [](const Tensor& a, const Tensor& b) -> std::string {
    try {
      fft_convolve(a, b);
    } catch (const TypeError& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_THAT(refused_type(x, ones({3}, DType::f64)), testing::HasSubstr("fft_convolve: b is f64 [3]"));
  EXPECT_THAT(refused_type(ones({4}, DType::f64), x), testing::HasSubstr("fft_convolve: a is f64 [4]"));

  for (const auto& f : {dct, idct}) {
    const auto call = [&](const Operand& t, int type = 2, std::optional<std::int64_t> n = {}, int axis = -1) {
      return f(t, type, n, axis, FftNorm::backward);
    };
    EXPECT_THROW(call({}), InvalidArgument);
    EXPECT_THROW(call(x, 1), InvalidArgument);
    EXPECT_THROW(call(x, 2, 0), InvalidArgument);
    EXPECT_THROW(call(x, 2, {}, 2), InvalidArgument);
    EXPECT_THROW(call(ones({2, 0})), InvalidArgument);
    EXPECT_THROW(call(ones({})), InvalidArgument);
    EXPECT_THROW(call(z), TypeError);
    EXPECT_THROW(call(cast(x, DType::f64)), TypeError);
  }
  EXPECT_THROW(kaiser_window(4, NAN), InvalidArgument);
  EXPECT_THROW(kaiser_window(4, INFINITY), InvalidArgument);
  EXPECT_THROW(gaussian_window(4, 0), InvalidArgument);
  EXPECT_THROW(gaussian_window(4, NAN), InvalidArgument);
  EXPECT_THROW(tukey_window(4, 1.5), InvalidArgument);
  EXPECT_THROW(tukey_window(4, NAN), InvalidArgument);
  EXPECT_THAT(gaussian_window(3, 1e-300).to_vector<float>(), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace weft::test
