#include <gtest/gtest.h>

#include "functions/named_cases.h"
#include "weft/graph.h"
#include "weft/random.h"

namespace weft::test {
namespace {

using Integers = std::vector<std::int64_t>;

void add_random_cases(NamedCases& c) {
  const Tensor key = random::key(7), keys = random::split(key, 3), f = c.floats({2, 3}), none;
  const Integers shape = {3, 5};
  c.same("random::key", {}, {{"seed", Number(std::uint64_t{1} << 63 | 5)}}, random::key(std::uint64_t{1} << 63 | 5));
  c.same("random::split", {key}, {{"count", Number(3)}}, keys);
  c.same("random::split", {key}, {}, random::split(key, 2));
  c.same("random::key_at", {keys}, {{"i", Number(1)}}, random::key_at(keys, 1));
  c.refused("random::split", {key}, {{"count", Number(-2)}}, [&] { random::split(key, -2); });
  c.refused("random::split", {f}, {}, [&] { random::split(f, 2); });
  c.refused("random::key_at", {keys}, {{"i", Number(3)}}, [&] { random::key_at(keys, 3); });
  for (const Number seed : {Number(-1), Number(1.5), Number(0x1p64)}) {
    EXPECT_THROW(call("random::key", std::vector<Tensor>(), {{"seed", seed}}), InvalidArgument);
  }

  c.same("random::uniform", {key}, {{"shape", shape}, {"low", Number(-1)}, {"high", Number(2.5)}, {"dtype", "f16"}},
         random::uniform({3, 5}, -1, 2.5, DType::f16, key));
  c.same("random::normal", {key},
         {{"shape", shape}, {"mean", Number(3)}, {"deviation", Number(0.5)}, {"dtype", "bf16"}},
         random::normal({3, 5}, 3, 0.5, DType::bf16, key));
  c.same("random::integers", {key}, {{"shape", shape}, {"low", Number(-3)}, {"high", Number(4)}, {"dtype", "i8"}},
         random::integers({3, 5}, -3, 4, DType::i8, key));
  c.same("random::bernoulli", {key}, {{"shape", shape}, {"probability", Number(0.25)}},
         random::bernoulli({3, 5}, 0.25, key));
  c.same("random::bernoulli", {key}, {{"shape", shape}}, random::bernoulli({3, 5}, 0.5, key));
  const Tensor probabilities = c.floats({5});
  c.same("random::bernoulli", {key, probabilities}, {{"shape", shape}}, random::bernoulli({3, 5}, probabilities, key));
  c.same("random::permutation", {key}, {{"n", Number(9)}}, random::permutation(9, key));
  c.same("random::permutation", {key, f}, {{"axis", Number(1)}}, random::permutation(f, 1, key));
  c.refused("random::uniform", {f}, {{"shape", shape}}, [&] { random::uniform({3, 5}, 0, 1, DType::f32, f); });
  c.refused("random::normal", {key}, {{"shape", shape}, {"deviation", Number(-1)}},
            [&] { random::normal({3, 5}, 0, -1, DType::f32, key); });
  c.refused("random::bernoulli", {key}, {{"shape", shape}, {"probability", Number(2)}},
            [&] { random::bernoulli({3, 5}, 2, key); });
  c.refused("random::permutation", {key}, {{"n", Number(-1)}}, [&] { random::permutation(-1, key); });
  c.refused("random::permutation", {key, f}, {{"axis", Number(2)}}, [&] { random::permutation(f, 2, key); });
  EXPECT_THROW(call("random::permutation", {key}), InvalidArgument);
  EXPECT_THROW(call("random::permutation", {key, f}, {{"n", Number(2)}}), InvalidArgument);
  EXPECT_THROW(random::bernoulli({2}, none, key), InvalidArgument);

  // Without a key it is the next one of the generator, as in C++.
  random::seed(3);
  const Tensor first = random::uniform({4}), second = random::uniform({4});
  random::seed(3);
  const Tensor named = call("random::uniform", std::vector<Tensor>(), {{"shape", Integers{4}}})[0];
  const std::vector<float> found = named.to_vector<float>();
  EXPECT_EQ(found, first.to_vector<float>());
  EXPECT_NE(found, second.to_vector<float>());
  c.same("random::uniform", {}, {{"shape", Integers{4}}}, second);
}
const bool added = named_cases(add_random_cases);

}  // namespace
}  // namespace weft::test
