#include "weft/random.h"

#include <mutex>
#include <random>

#include "core/format.h"
#include "ops/function_row.h"
#include "tensor/random_key.h"
#include "tensor/tracing.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft::random {
namespace {

struct Generator {
  std::mutex mutex;
  std::uint64_t seed = 0;
  std::uint64_t drawn = 0;
  bool seeded = false;
};
Generator& generator() {
  static auto& g = *new Generator;
  return g;
}

// Of rank 0 constants, which evaluation gives as numbers: another key is no other executable.
Tensor key_of(std::uint32_t first, std::uint32_t second) {
  return select(arange(2) == 0, Graph::scalar(first, DType::u32), Graph::scalar(second, DType::u32));
}

// One step of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): distinct
// inputs have distinct, well mixed results.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// 64 bits: of 2^20 numbers two are equal, and so stay in order, once in 2^25 times.
Tensor random_order(std::int64_t n, const Tensor& key) {
  return argsort(random_bits(key_or_next(key), DType::u64, {n}), 0);
}

// ---- Keys

struct SeedAttributes {
  Number seed = 0;
  void fields(AttributeVisitor& v) { v("seed", seed, "an integer from 0 to 2^64 - 1"); }
};
struct SplitAttributes {
  std::int64_t count = 2;
  void fields(AttributeVisitor& v) { v("count", count, 2, "how many keys"); }
};
struct KeyAttributes {
  std::int64_t i = 0;
  void fields(AttributeVisitor& v) { v("i", i, "which of the keys, from 0 on"); }
};

constexpr FunctionResult kOneKey = {"y", "[2]", "u32"};

constexpr Function kKey = {{.name = "random::key",
                            .results = {kOneKey},
                            .formula = "y = [seed mod 2^32, seed / 2^32]",
                            .summary = "the key of a seed: its low word, then its high one"},
                           [](const SeedAttributes& a) {
                             const auto bits = a.seed.integer();
                             if (!a.seed.integral() || !bits || a.seed.value() < 0) {
                               throw InvalidArgument("seed is {}, expected an integer from 0 to 2^64 - 1",
                                                     to_string(a.seed));
                             }
                             return key_of(static_cast<std::uint32_t>(*bits), static_cast<std::uint32_t>(*bits >> 32));
                           }};
constexpr Function kSplit = {{.name = "random::split",
                              .operands = {{.name = "key", .types = DType::u32, .shape = "[2]"}},
                              .results = {{"keys", "[count, 2]", "u32"}},
                              .formula = "keys = random_bits(key)",
                              .summary = "keys of independent streams"},
                             [](const Tensor& key, const SplitAttributes& a) {
                               if (a.count < 0) throw ShapeError("{} keys, expected 0 or more", a.count);
                               return random_bits(key, DType::u32, {a.count, 2});
                             }};
constexpr Function kKeyAt = {{.name = "random::key_at",
                              .operands = {{.name = "keys", .shape = "[count, 2]"}},
                              .results = {kOneKey},
                              .formula = "y = keys[i]",
                              .summary = "one of the keys that random::split gives"},
                             [](const Tensor& keys, const KeyAttributes& a) {
                               if (keys.rank() != 2)
                                 throw ShapeError("the keys are {}, expected [count, 2]", to_string(keys.type()));
                               if (a.i < 0 || a.i >= keys.shape()[0]) {
                                 throw IndexError("key {} of {}, expected 0 to {}", a.i, to_string(keys.type()),
                                                  keys.shape()[0] - 1);
                               }
                               return squeeze(slice(keys, 0, a.i, a.i + 1), 0);
                             }};

// ---- Numbers

struct UniformAttributes {
  Shape shape = {};
  double low = 0, high = 1;
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    v("shape", shape, "of the result");
    v("low", low, 0, "the least number");
    v("high", high, 1, "the end, which no number is");
    v("dtype", dtype, DType::f32, "of the result");
  }
};
struct NormalAttributes {
  Shape shape = {};
  double mean = 0, deviation = 1;
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    v("shape", shape, "of the result");
    v("mean", mean, 0, "the distribution's mean");
    v("deviation", deviation, 1, "its standard deviation");
    v("dtype", dtype, DType::f32, "of the result");
  }
};
struct IntegersAttributes {
  Shape shape = {};
  Number low = 0, high = 0;
  DType dtype = DType::i32;
  void fields(AttributeVisitor& v) {
    v("shape", shape, "of the result");
    v("low", low, "the least number");
    v("high", high, "the end, which no number is");
    v("dtype", dtype, DType::i32, "of the result");
  }
};
struct BernoulliAttributes {
  Shape shape = {};
  Number probability = 0.5;
  void fields(AttributeVisitor& v) {
    v("shape", shape, "of the result");
    v("probability", probability, 0.5, "that of true, from 0 to 1, where the operand does not say it");
  }
};
struct PermutationAttributes {
  std::optional<std::int64_t> n = {};
  int axis = 0;
  void fields(AttributeVisitor& v) {
    v("n", n, {}, "how many numbers, where x is not given");
    v("axis", axis, 0, "the axis of x along which its slices move");
  }
};

constexpr std::string_view kShape = "shape", kDtype = "dtype";

constexpr Function kUniform = {{.name = "random::uniform",
                                .operands = {kKeyOperand},
                                .results = {{"y", kShape, kDtype}},
                                .formula = "low ≤ y < high",
                                .summary = "numbers distributed evenly between two bounds"},
                               [](const Tensor& key, const UniformAttributes& a) {
                                 return random_uniform(key_or_next(key), a.dtype, a.shape, a.low, a.high);
                               }};
constexpr Function kNormal = {{.name = "random::normal",
                               .operands = {kKeyOperand},
                               .results = {{"y", kShape, kDtype}},
                               .formula = "y ~ exp(-((y - mean) / deviation)² / 2)",
                               .summary = "normally distributed numbers"},
                              [](const Tensor& key, const NormalAttributes& a) {
                                return random_normal(key_or_next(key), a.dtype, a.shape, a.mean, a.deviation);
                              }};
constexpr Function kIntegers = {{.name = "random::integers",
                                 .operands = {kKeyOperand},
                                 .results = {{"y", kShape, kDtype}},
                                 .formula = "low ≤ y < high",
                                 .summary = "integers between two bounds, of which each is equally likely"},
                                [](const Tensor& key, const IntegersAttributes& a) {
                                  return random_integers(key_or_next(key), a.dtype, a.shape, a.low, a.high);
                                }};
constexpr Function kBernoulli = {
    {.name = "random::bernoulli",
     .operands = {kKeyOperand,
                  {.name = "probabilities", .arity = Arity::optional, .shape = "one that broadcasts to the shape"}},
     .results = {{"y", kShape, "bool"}},
     .formula = "y = random::uniform(shape) < probability",
     .summary = "true with a probability, one for all or one for each"},
    [](const Tensor& key, const Tensor& probabilities, const BernoulliAttributes& a) {
      const double p = a.probability.value();
      if (!probabilities.defined() && !(p >= 0 && p <= 1)) {
        throw InvalidArgument("the probability is {}, expected 0 to 1", p);
      }
      const Tensor x = uniform(a.shape, 0, 1, DType::f32, key);
      return broadcast_to(probabilities.defined() ? x < probabilities : x < a.probability, a.shape);
    }};
constexpr Function kPermutation = {
    {.name = "random::permutation",
     .operands = {kKeyOperand, {.name = "x", .arity = Arity::optional, .shape = "rank 1 or more"}},
     .results = {{"y", "[n], or x's shape", "i32; i64 from 2^31 numbers on; of x its type"}},
     .formula = "y = [0, 1, …, n - 1], or x, in random order",
     .summary = "the first numbers in random order, or x with its slices along an axis in such an order"},
    [](const Tensor& key, const Tensor& x, const PermutationAttributes& a) {
      if (!x.defined()) {
        if (!a.n) throw InvalidArgument("neither x nor n is given");
        if (*a.n < 0) throw InvalidArgument("of {} numbers", *a.n);
        return random_order(*a.n, key);
      }
      if (a.n) throw InvalidArgument("both x and n are given, expected one of them");
      const int along = normalize_axis(a.axis, x.rank(), "random::permutation");
      return gather(x, random_order(x.shape()[along], key), along);
    }};

}  // namespace

// ---- The functions

void seed(std::uint64_t seed) {
  Generator& g = generator();
  const std::lock_guard lock(g.mutex);
  g.seed = seed;
  g.drawn = 0;
  g.seeded = true;
}

Tensor next_key() {
  if (tracing()) {
    throw InvalidArgument(
        "random: a traced function took a key of the default generator, which would be the same in "
        "each call; give the function a key as an argument");
  }
  Generator& g = generator();
  std::uint64_t bits = 0;
  {
    const std::lock_guard lock(g.mutex);
    if (!g.seeded) {
      std::random_device device;
      g.seed = (std::uint64_t{device()} << 32) | device();
      g.seeded = true;
    }
    bits = mixed(mixed(g.seed) + g.drawn++);
  }
  return key_of(static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32));
}

Tensor key(std::uint64_t seed) { return kKey({seed}); }
Tensor split(const Tensor& key, std::int64_t count) { return kSplit(key, {count}); }
Tensor key_at(const Tensor& keys, std::int64_t i) { return kKeyAt(keys, {i}); }

Tensor uniform(const Shape& shape, double low, double high, DType dtype, const Tensor& key) {
  return kUniform(key, {shape, low, high, dtype});
}
Tensor normal(const Shape& shape, double mean, double deviation, DType dtype, const Tensor& key) {
  return kNormal(key, {shape, mean, deviation, dtype});
}
Tensor integers(const Shape& shape, Number low, Number high, DType dtype, const Tensor& key) {
  return kIntegers(key, {shape, low, high, dtype});
}
Tensor bernoulli(const Shape& shape, const TensorLike& probability, const Tensor& key) {
  const Tensor* each = probability.tensor();
  if (!each) return kBernoulli(key, {}, {shape, probability.number()});
  if (!each->defined()) throw InvalidArgument("random::bernoulli: probability is an undefined Tensor");
  return kBernoulli(key, *each, {shape});
}
Tensor permutation(std::int64_t n, const Tensor& key) { return kPermutation(key, {}, {n}); }
Tensor permutation(const Tensor& x, int axis, const Tensor& key) {
  if (!x.defined()) throw InvalidArgument("random::permutation: the operand is an undefined Tensor");
  return kPermutation(key, x, {{}, axis});
}

}  // namespace weft::random

namespace weft {

void add_random_functions(FunctionRows& rows) {
  using namespace random;
  rows.add(kKey, kSplit, kKeyAt, kUniform, kNormal, kIntegers, kBernoulli, kPermutation);
}

}  // namespace weft
