// Samplers of distributions with parameters, and categories: the same bits on every device, whatever the layouts and
// chunks. Their values are in tests/reference/distributions.py, their distributions in tensor/distributions_test.cc.
#include "kernels/random/sampler.h"

#include <gtest/gtest.h>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/random.h"

namespace weft::test {
namespace {

View key_of(std::uint32_t a, std::uint32_t b) {
  const double words[] = {static_cast<double>(a), static_cast<double>(b)};
  return host_view(DType::u32, {2}, words);
}

enum class Sampler { gamma, log_gamma, poisson, binomial, geometric };
constexpr std::string_view kNames[] = {"gamma", "log_gamma", "poisson", "binomial", "geometric"};
constexpr Sampler kSamplers[] = {Sampler::gamma, Sampler::log_gamma, Sampler::poisson, Sampler::binomial,
                                 Sampler::geometric};
bool gives_floats(Sampler s) { return s == Sampler::gamma || s == Sampler::log_gamma; }

KernelCall call_of(Sampler sampler) {
  return [sampler](Stream& s, auto in, auto out) {
    switch (sampler) {
      case Sampler::gamma:
        return kernels::random_gamma(s, in[0], in[1], out[0]);
      case Sampler::log_gamma:
        return kernels::random_gamma(s, in[0], in[1], out[0], true);
      case Sampler::poisson:
        return kernels::random_poisson(s, in[0], in[1], out[0]);
      case Sampler::binomial:
        return kernels::random_binomial(s, in[0], in[1], in[2], out[0]);
      case Sampler::geometric:
        return kernels::random_geometric(s, in[0], in[1], out[0]);
    }
  };
}

// Parameters of every size, few of them without a distribution; without denormal numbers.
double parameter(Sampler sampler, Rng& rng) {
  constexpr double kOdd[] = {0, -0.0, 1, -1, NAN, INFINITY, 2.5e9};
  if (rng() % 12 == 0) return kOdd[rng() % std::size(kOdd)];
  const double unit = static_cast<double>(rng() % 10000) / 10000;
  if (sampler == Sampler::binomial || sampler == Sampler::geometric) {
    return rng() % 2 ? unit : std::pow(10.0, -4 * unit);
  }
  return std::pow(10.0, 7 * unit - 3);
}
void fill_parameters(const View& v, Sampler sampler, Rng& rng) {
  set_values(v, [&](std::int64_t) { return parameter(sampler, rng); });
}
void fill_trials(const View& v, Rng& rng) {
  constexpr int kMost[] = {3, 100, 100000, 2000000000};
  set_values(v, [&](std::int64_t) {
    return rng() % 16 == 0 ? -1 : static_cast<double>(rng() % static_cast<unsigned>(kMost[rng() % 4]));
  });
}

// The key, the number of trials if it is binomial, and the parameter.
std::vector<View> inputs_of(Sampler sampler, const View& key, const View& a, const std::function<View()>& trials) {
  if (sampler == Sampler::binomial) return {key, trials(), a};
  return {key, a};
}

const bool samplers_registered = [] {
  const auto problem = [](Sampler sampler) {
    return [sampler](Rng& rng) {
      constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
      Rng& numbers = rng.details();
      Problem p;
      const Shape shape = random_shape(rng);
      const View key = random_view(rng, {2}, DType::u32, Kind::dense, Values::special);
      const View a = random_view(rng, random_broadcast(rng, shape), pick(rng, kFloats), random_input_kind(rng));
      fill_parameters(a, sampler, numbers);
      p.inputs = inputs_of(sampler, key, a, [&] {
        const View n = random_view(rng, random_broadcast(rng, shape), DType::i32, random_input_kind(rng));
        fill_trials(n, numbers);
        return n;
      });
      p.outputs = {
          random_view(rng, shape, gives_floats(sampler) ? pick(rng, kFloats) : DType::i32, random_output_kind(rng))};
      p.tolerance = {};
      p.what = std::format("{} of {}", kNames[static_cast<int>(sampler)], to_string(p.inputs.back()));
      p.call = call_of(sampler);
      return p;
    };
  };
  for (const Sampler s : kSamplers) {
    if (s == Sampler::log_gamma) continue;
    differential(std::format("random_{}", kNames[static_cast<int>(s)]), [s, problem](Rng& rng) {
      return problem(s == Sampler::gamma && rng() % 2 ? Sampler::log_gamma : s)(rng);
    });
  }
  differential("random_gamma_gradient", [](Rng& rng) {
    constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
    Problem p;
    const bool logarithm = rng() % 2;
    const Shape shape = random_shape(rng);
    const View a = random_view(rng, random_broadcast(rng, shape), pick(rng, kFloats), random_input_kind(rng)),
               x = random_view(rng, random_broadcast(rng, shape), pick(rng, kFloats), random_input_kind(rng));
    fill_parameters(a, Sampler::gamma, rng.details());
    // Samples that are likely for some of the concentrations.
    set_values(x, [&](std::int64_t) {
      const double power = static_cast<double>(rng.details()() % 1000) / 200 - 2.5;
      return logarithm ? power : std::exp(power);
    });
    p.inputs = {a, x};
    p.outputs = {random_view(rng, shape, x.dtype, random_output_kind(rng))};
    p.tolerance = {.ulp = 1, .absolute = 1e-6, .relative = 1e-3};
    p.what = std::format("gradient of gamma {}, logarithm {}", to_string(p.inputs[1]), logarithm);
    p.call = [logarithm](Stream& s, auto in, auto out) {
      kernels::random_gamma_gradient(s, in[0], in[1], out[0], logarithm);
    };
    return p;
  });
  differential("random_categorical", [](Rng& rng) {
    constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
    Problem p;
    Shape shape = random_shape(rng, 1);
    const int axis = random_int(rng, 0, shape.rank() - 1);
    if (shape[axis] == 0) shape[axis] = 1;
    p.inputs = {random_view(rng, {2}, DType::u32, Kind::dense, Values::special),
                random_view(rng, shape, pick(rng, kFloats), random_input_kind(rng),
                            rng() % 4 ? Values::ordinary : Values::special)};
    shape.erase(axis);
    p.outputs = {random_view(rng, shape, DType::i32, random_output_kind(rng))};
    p.what = std::format("categorical of {}, axis {}", to_string(p.inputs[1]), axis);
    p.call = [axis](Stream& s, auto in, auto out) { kernels::random_categorical(s, in[0], in[1], out[0], axis); };
    return p;
  });
  return true;
}();

class SamplerTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, SamplerTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

// Many numbers of parameters of every size: one decision that differs would be seen.
TEST_P(SamplerTest, SameBitsAsOnTheCpu) {
  Rng rng(7);
  for (const Sampler sampler : kSamplers) {
    const View a = output(DType::f32, {300}), n = output(DType::i32, {200, 1});
    fill_parameters(a, sampler, rng);
    fill_trials(n, rng);
    const std::vector<View> inputs = inputs_of(sampler, key_of(5, 6), a, [&] { return n; });
    const View y = output(gives_floats(sampler) ? DType::f32 : DType::i32, {200, 300});
    run_both(device, inputs, std::array{y}, call_of(sampler), {}, std::string(kNames[static_cast<int>(sampler)]));
  }
  for (const std::int64_t n : {1, 2, 3, 8, 9, 30, 1000, 4097}) {
    const View logits = random_view(rng, {100000 / n / 5, n, 5}, DType::f32);
    const View y = output(DType::i32, {logits.shape()[0], 5});
    run_both(
        device, std::array{key_of(1, 2), logits}, std::array{y},
        [](Stream& s, auto in, auto out) { kernels::random_categorical(s, in[0], in[1], out[0], 1); }, kSameBits);
  }
}

using SamplerChunks = ChunksTest;

TEST_F(SamplerChunks, SameNumbers) {
  for (const Kind kind : {Kind::dense, Kind::transposed, Kind::sliced}) {
    for (const Sampler sampler : kSamplers) {
      const View a = random_view(rng, {101, 401}, DType::f32, kind), n = random_view(rng, {1, 401}, DType::i32);
      fill_parameters(a, sampler, rng);
      fill_trials(n, rng);
      both(inputs_of(sampler, key_of(5, 6), a, [&] { return n; }),
           {random_view(rng, {101, 401}, gives_floats(sampler) ? DType::f32 : DType::i32, kind)}, call_of(sampler), {});
    }
    both(
        {key_of(1, 2), random_view(rng, {1, 300, 121}, DType::f32, kind)},
        {random_view(rng, {1, 300}, DType::i32, kind)},
        [](Stream& s, auto in, auto out) { kernels::random_categorical(s, in[0], in[1], out[0]); }, kSameBits);
  }
}

// A draw does not depend on how many there are.
TEST(Sampler, NumbersAreThoseOfTheElement) {
  cpu::Executor cpu;
  const View rate = host_view(DType::f32, {1}, std::vector<double>{30});
  const View many = output(DType::i32, {40, 50}), few = output(DType::i32, {7});
  kernels::random_poisson(cpu, key_of(1, 2), rate, many);
  kernels::random_poisson(cpu, key_of(1, 2), rate, few);
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_EQ(value(few, i), value(many, i));
}

TEST(Sampler, ArgumentsAreChecked) {
  cpu::Executor cpu;
  const View key = key_of(1, 2), f = output(DType::f32, {4}), i = output(DType::i32, {4});
  EXPECT_THROW(kernels::random_gamma(cpu, output(DType::u32, {3}), f, output(DType::f32, {4})), InvalidArgument);
  EXPECT_THROW(kernels::random_gamma(cpu, f, f, output(DType::f32, {4})), InvalidArgument);
  EXPECT_THROW(kernels::random_gamma(cpu, key, f, i), InvalidArgument);
  EXPECT_THROW(kernels::random_gamma(cpu, key, f, output(DType::f32, {5})), InvalidArgument);
  EXPECT_THROW(kernels::random_gamma(cpu, key, f, f), InvalidArgument) << "in place";
  EXPECT_THROW(kernels::random_gamma_gradient(cpu, f, output(DType::f16, {4}), output(DType::f32, {4})),
               InvalidArgument);
  EXPECT_THROW(kernels::random_poisson(cpu, key, output(DType::f32, {2, 4}), i), InvalidArgument);
  EXPECT_THROW(kernels::random_poisson(cpu, key, f, f), InvalidArgument);
  EXPECT_THROW(kernels::random_binomial(cpu, key, f, f, i), InvalidArgument);
  EXPECT_THROW(kernels::random_geometric(cpu, key, i, output(DType::i32, {4})), InvalidArgument);
  EXPECT_THROW(kernels::random_categorical(cpu, key, f, output(DType::i32, {4})), InvalidArgument);
  EXPECT_THROW(kernels::random_categorical(cpu, key, f, output(DType::i32, {}), 1), InvalidArgument);
  EXPECT_THROW(kernels::random_categorical(cpu, key, output(DType::f32, {3, 0}), output(DType::i32, {3})),
               InvalidArgument);
  EXPECT_NO_THROW(kernels::random_categorical(cpu, key, output(DType::f32, {0, 3}), output(DType::i32, {0})));
}

}  // namespace
}  // namespace weft::test
