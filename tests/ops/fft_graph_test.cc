// Functions of weft/fft.h: values against NumPy's and gradients against PyTorch's (tests/reference/fft.py) on every
// device, batches against loops, special values, what they refuse, and the op by its name.
#include "weft/fft.h"

#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <limits>
#include <map>

#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Single = std::complex<float>;

constexpr std::int64_t kHuge[] = {0, -1, INT64_MIN, INT64_MAX, std::int64_t{1} << 62, (std::int64_t{1} << 62) + 1};

FftNorm norm_of(const json& o) {
  static const std::map<std::string, FftNorm> kNames{
      {"backward", FftNorm::backward}, {"ortho", FftNorm::ortho}, {"forward", FftNorm::forward}};
  return kNames.at(o.value("norm", "backward"));
}
template <class T>
std::optional<T> optional_of(const json& o, const char* name) {
  return o.contains(name) ? std::optional(o.at(name).get<T>()) : std::nullopt;
}

using Function = std::function<Tensor(const Tensor&, const json&)>;
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = [] {
    std::map<std::string, Function> table;
    const std::pair<const char*, decltype(&fft)> one[] = {{"fft", fft},     {"ifft", ifft}, {"rfft", rfft},
                                                          {"irfft", irfft}, {"hfft", hfft}, {"ihfft", ihfft}};
    for (const auto& [name, f] : one) {
      table[name] = [f](const Tensor& x, const json& o) {
        return f(x, optional_of<std::int64_t>(o, "n"), o.value("axis", -1), norm_of(o));
      };
    }
    const auto axes_of = [](const json& o) {
      return o.contains("axes") ? Axes(o.at("axes").get<std::vector<int>>()) : Axes();
    };
    const std::pair<const char*, decltype(&fftn)> several[] = {
        {"fftn", fftn}, {"ifftn", ifftn}, {"rfftn", rfftn}, {"irfftn", irfftn}};
    for (const auto& [name, f] : several) {
      table[name] = [=](const Tensor& x, const json& o) {
        return f(x, o.value("sizes", std::vector<std::int64_t>()), axes_of(o), norm_of(o));
      };
    }
    table["fftshift"] = [=](const Tensor& x, const json& o) { return fftshift(x, axes_of(o)); };
    table["ifftshift"] = [=](const Tensor& x, const json& o) { return ifftshift(x, axes_of(o)); };
    const std::pair<const char*, decltype(&fftfreq)> frequencies[] = {{"fftfreq", fftfreq}, {"rfftfreq", rfftfreq}};
    for (const auto& [name, f] : frequencies) {
      table[name] = [f](const Tensor&, const json& o) {
        return f(o.at("n"), o.at("spacing"), *dtype_from_name(o.at("dtype").get<std::string>()));
      };
    }
    return table;
  }();
  return all;
}

class FftFunctions : public OnDevice {
 protected:
  ReferenceCases data{"fft"};
  // A software GPU spends most of its time on compiling shaders: it takes some of each function's cases.
  bool left_out(const std::string& name, std::size_t share) {
    return (device.is_gpu() && seen_[name]++ % share != 0) || leave_out_problem();
  }

 private:
  std::map<std::string, std::size_t> seen_;
};
INSTANTIATE_TEST_SUITE_P(Devices, FftFunctions, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(FftFunctions, ValuesAreNumPys) {
  std::map<std::string, int> called;
  for (const json& c : data.list("functions.json")) {
    const std::string name = c.at("function");
    ++called[name];
    if (left_out(name, 20)) continue;
    const auto inputs = data.operands(c, "inputs"), expected = data.operands(c, "outputs");
    const Tensor x = inputs.empty() ? Tensor() : tensor_of(inputs[0]);
    const Tensor y = functions().at(name)(x, c.value("attributes", json::object()));
    ASSERT_EQ(y.type(), (TensorType{expected[0].dtype, expected[0].shape()})) << c.dump();
    expect_close(read_view(contiguous(y)), expected[0], ReferenceCases::tolerance(c), c.dump());
  }
  for (const auto& [name, f] : functions()) EXPECT_GT(called[name], 0) << name << " has no case";
}

TEST_P(FftFunctions, GradientsArePyTorchs) {
  for (const json& c : data.list("gradients.json")) {
    const std::string name = c.at("function");
    if (left_out(name, 20)) continue;
    const auto inputs = data.operands(c, "inputs"), expected = data.operands(c, "outputs");
    const json options = c.value("attributes", json::object());
    const auto [y, pull] = vjp([&](const Tensor& x) { return functions().at(name)(x, options); })(tensor_of(inputs[0]));
    const Tensor g = pull(tensor_of(inputs[1]));
    ASSERT_EQ(g.type(), (TensorType{expected[1].dtype, expected[1].shape()})) << c.dump();
    expect_close(read_view(contiguous(y)), expected[0], ReferenceCases::tolerance(c), c.dump());
    expect_close(read_view(contiguous(g)), expected[1], ReferenceCases::tolerance(c), c.dump() + ", gradient");
  }
}

Tensor some(const Shape& shape, double shift = 0) {
  return sin(arange(0, element_count(shape), 1, DType::f32) * 1.7f + shift).reshape(shape);
}

// A map over any axis is the transform of each entry, and so is the map of a derivative.
TEST_P(FftFunctions, BatchesAreLoops) {
  const Tensor re = some({3, 4, 10}), im = some({3, 4, 10}, 0.5), z = complex(re, im);
  for (const char* name : {"fft", "ifft", "rfft", "irfft", "hfft", "ihfft"}) {
    const bool is_real = std::string_view(name) == "rfft" || std::string_view(name) == "ihfft";
    for (const int axis : {0, 1}) {
      for (const json& o : {json::object(), json{{"n", 7}, {"axis", 0}, {"norm", "ortho"}}}) {
        if (leave_out_problem() || (device.is_gpu() && (axis == 0) == o.empty())) continue;
        const auto f = [&](const Tensor& x) { return functions().at(name)(x, o); };
        const auto gradient = [&](const Tensor& x) {
          const auto [y, pull] = vjp(f)(x);
          return pull(y);
        };
        for (const std::function<Tensor(const Tensor&)>& g :
             {std::function<Tensor(const Tensor&)>(f), std::function<Tensor(const Tensor&)>(gradient)}) {
          const Tensor x = is_real ? re : z, all = vmap([&](const Tensor& e) { return g(e); }, BatchAxes{{axis}})(x);
          std::vector<Tensor> each;
          for (std::int64_t i = 0; i < x.shape()[axis]; ++i) each.push_back(g(squeeze(slice(x, axis, i, i + 1), axis)));
          ASSERT_EQ(all.shape(), stack(each).shape()) << name;
          EXPECT_LT(max(abs(all - stack(each))).item<float>(), 2e-5) << name << " over axis " << axis << o;
        }
      }
    }
  }
}

// A row with NaN or an infinity is not finite; others stay as they are.
TEST_P(FftFunctions, NanAndInfinityStayInTheirRow) {
  const float nan = std::nanf(""), inf = INFINITY;
  for (const int n : device.is_gpu() ? std::vector{8, 17} : std::vector{8, 15, 17, 97}) {
    for (const float bad : {nan, inf, -inf}) {
      std::vector<float> values(static_cast<std::size_t>(3 * n));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
      values[static_cast<std::size_t>(n + 3)] = bad;
      const Tensor x = tensor({3, n}, values);
      for (const Tensor& y : {fft(x), ifft(x), rfft(x), irfft(x, n), hfft(x, n), ihfft(x), fftn(x, {}, {1})}) {
        const Tensor finite = y.dtype() == DType::c64 ? is_finite(real(y)) & is_finite(imag(y)) : is_finite(y);
        const auto each = reduce(ReduceKind::all, finite, {1}).to_vector<int>(),
                   some_of = reduce(ReduceKind::any, finite, {1}).to_vector<int>();
        EXPECT_THAT(each, testing::ElementsAre(1, 0, 1)) << n << " with " << bad;
        // A real result can be the sum of the others, where the factor of the one is 0, as NumPy's and PyTorch's is.
        if (y.dtype() == DType::c64) {
          EXPECT_THAT(some_of, testing::ElementsAre(1, 0, 1)) << n << " with " << bad;
        }
      }
    }
  }
}

TEST_P(FftFunctions, StridedAndSharedOperandsAndCompiledGraphs) {
  const Tensor x = some({6, 10});
  const auto f = [](const Tensor& a) {
    const Tensor y = rfft(a * 2 + 1);
    return irfft(y * conj(y), 10) + a;
  };
  const Tensor plain = f(x);
  for (const Tensor& given : {contiguous(x.T()).T(), flip(flip(x, 1), 1), slice(repeat(x, 2, 1), 1, 0, 20, 2)}) {
    EXPECT_LT(max(abs(f(given) - plain)).item<float>(), 1e-4);
    EXPECT_LT(max(abs(compile(f)(contiguous(given)) - plain)).item<float>(), 1e-4);
  }
  const Tensor row = broadcast_to(some({1, 10}), {6, 10});
  EXPECT_LT(max(abs(fft(row) - fft(contiguous(row)))).item<float>(), 1e-5);
}

TEST(FftFunctionErrors, AreTyped) {
  const Tensor x = ones({2, 6}), z = cast(x, DType::c64), scalar = ones({});
  const json plain = json::object();
  for (const auto& [name, f] : functions()) {
    if (name == "fftfreq" || name == "rfftfreq") continue;
    EXPECT_THROW(f({}, plain), InvalidArgument) << name;
    const bool shifts = name.ends_with("shift"), several = name.ends_with("n");
    if (several || shifts) {
      EXPECT_THROW(f(x, {{"axes", {2}}}), InvalidArgument) << name;
    } else {
      EXPECT_THROW(f(scalar, plain), InvalidArgument) << name;
      EXPECT_THROW(f(x, {{"axis", 2}}), InvalidArgument) << name;
      EXPECT_THROW(f(x, {{"axis", INT32_MIN}}), InvalidArgument) << name;
    }
    if (shifts) continue;
    EXPECT_THROW(f(cast(x, DType::f64), plain), TypeError) << name;
    if (several) {
      EXPECT_THROW(f(x, {{"axes", {0, 0}}}), InvalidArgument) << name;
      EXPECT_THROW(f(x, {{"axes", {0, -2}}}), InvalidArgument) << name;
      EXPECT_THROW(f(x, {{"axes", {0}}, {"sizes", {2, 2}}}), InvalidArgument) << name;
      EXPECT_THROW(f(x, {{"sizes", {2, 2, 2}}}), InvalidArgument) << name;
      EXPECT_THROW(f(x, {{"sizes", {2, 0}}}), InvalidArgument) << name;
    } else {
      EXPECT_THAT(refused_by([&] { f(ones({2, 0}), plain); }), HasSubstr(name + ": the length is ")) << name;
    }
  }
  for (const auto& f : {rfft, ihfft}) EXPECT_THROW(f(z, {}, -1, FftNorm::backward), TypeError);
  EXPECT_THROW(rfftn(z), TypeError);
  EXPECT_THROW(rfftn(scalar), InvalidArgument);
  EXPECT_THROW(irfftn(scalar), InvalidArgument);
  EXPECT_THROW(fftfreq(0), InvalidArgument);
  EXPECT_THROW(rfftfreq(INT64_MIN), InvalidArgument);
  EXPECT_THROW(fftfreq(4, 1, DType::i32), TypeError);
}

// Lengths that no memory has are refused before or while they are computed, by name.
TEST_P(FftFunctions, HugeLengths) {
  const Tensor x = ones({2, 6});
  for (const char* name : {"fft", "ifft", "rfft", "irfft", "hfft", "ihfft"}) {
    for (const std::int64_t n : kHuge) {
      EXPECT_THROW(eval(functions().at(name)(x, {{"n", n}})), Error) << name << " " << n;
    }
  }
  for (const char* name : {"fft_complex", "fft_real_to_complex", "fft_complex_to_real"}) {
    const Tensor operand = std::string_view(name) == "fft_real_to_complex" ? x : cast(x, DType::c64);
    for (const std::int64_t n : kHuge) {
      EXPECT_THROW(eval(call(name, {operand}, {{"length", Number(n)}})), Error) << name << " " << n;
    }
    EXPECT_THROW(call(name, {operand}), InvalidArgument);
    EXPECT_THROW(call(name, {operand}, {{"length", Number(4)}, {"axis", Number(2)}}), InvalidArgument);
  }
}

TEST_P(FftFunctions, ByName) {
  const Tensor x = some({3, 10}), z = complex(x, some({3, 10}, 1));
  const auto same = [](const Tensor& a, const Tensor& b) { return max(abs(a - b)).item<float>() == 0; };
  const AttributeMap options{{"length", Number(12)}, {"axis", Number(0)}};
  EXPECT_TRUE(same(call("fft_complex", {z}, options)[0], fft(z, 12, 0)));
  EXPECT_TRUE(same(call("fft_real_to_complex", {x}, options)[0], rfft(x, 12, 0)));
  EXPECT_TRUE(same(call("fft_complex_to_real", {z}, options)[0], hfft(z, 12, 0)));
}

}  // namespace
}  // namespace weft::test
