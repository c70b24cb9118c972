#include "weft/random.h"

#include <mutex>
#include <random>

#include "core/error_context.h"
#include "core/format.h"
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

Tensor key_or_next(const Tensor& key) { return key.defined() ? key : next_key(); }

}  // namespace

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

Tensor key(std::uint64_t seed) {
  return key_of(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

Tensor split(const Tensor& key, std::int64_t count) {
  if (count < 0) throw ShapeError("random::split: {} keys, expected 0 or more", count);
  return in_function("random::split", [&] { return random_bits(key, DType::u32, {count, 2}); });
}

Tensor key_at(const Tensor& keys, std::int64_t i) {
  constexpr std::string_view kName = "random::key_at";
  if (!keys.defined()) throw InvalidArgument("{}: the keys are an undefined Tensor", kName);
  if (keys.rank() != 2) throw ShapeError("{}: the keys are {}, expected [count, 2]", kName, to_string(keys.type()));
  if (i < 0 || i >= keys.shape()[0]) {
    throw IndexError("{}: key {} of {}, expected 0 to {}", kName, i, to_string(keys.type()), keys.shape()[0] - 1);
  }
  return squeeze(slice(keys, 0, i, i + 1), 0);
}

Tensor uniform(const Shape& shape, double low, double high, DType dtype, const Tensor& key) try {
  return random_uniform(key_or_next(key), dtype, shape, low, high);
} catch (const Error& e) {
  throw_in_function(e, "random::uniform");
}

Tensor normal(const Shape& shape, double mean, double deviation, DType dtype, const Tensor& key) try {
  return random_normal(key_or_next(key), dtype, shape, mean, deviation);
} catch (const Error& e) {
  throw_in_function(e, "random::normal");
}

Tensor integers(const Shape& shape, Number low, Number high, DType dtype, const Tensor& key) try {
  return random_integers(key_or_next(key), dtype, shape, low, high);
} catch (const Error& e) {
  throw_in_function(e, "random::integers");
}

Tensor bernoulli(const Shape& shape, const TensorLike& probability, const Tensor& key) try {
  if (!probability.tensor()) {
    const double p = probability.number().value();
    if (!(p >= 0 && p <= 1)) throw InvalidArgument("random::bernoulli: the probability is {}, expected 0 to 1", p);
  }
  return broadcast_to(uniform(shape, 0, 1, DType::f32, key) < probability, shape);
} catch (const Error& e) {
  throw_in_function(e, "random::bernoulli");
}

Tensor permutation(std::int64_t n, const Tensor& key) try {
  if (n < 0) throw InvalidArgument("random::permutation: of {} numbers", n);
  // 64 bits: of 2^20 numbers two are equal, and so stay in order, once in 2^25 times.
  return argsort(random_bits(key_or_next(key), DType::u64, {n}), 0);
} catch (const Error& e) {
  throw_in_function(e, "random::permutation");
}

Tensor permutation(const Tensor& x, int axis, const Tensor& key) try {
  if (!x.defined()) throw InvalidArgument("random::permutation: the operand is an undefined Tensor");
  const int along = normalize_axis(axis, x.rank(), "random::permutation");
  return gather(x, permutation(x.shape()[along], key), along);
} catch (const Error& e) {
  throw_in_function(e, "random::permutation");
}

}  // namespace weft::random
