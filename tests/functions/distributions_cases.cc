#include <gtest/gtest.h>

#include "functions/named_cases.h"
#include "weft/graph.h"
#include "weft/random.h"

namespace weft::test {
namespace {

using std::nullopt;

void add_distribution_cases(NamedCases& c) {
  const Tensor key = random::key(7), none, real = c.floats({5}), positive = abs(real) + 0.5, share = abs(real) / 2;
  const Tensor counted = c.integers({5}), wrong = cast(real, DType::c64);
  const AttributeMap plain = {{"shape", std::vector<std::int64_t>{3, 5}}}, own = {};
  AttributeMap half = plain, bytes = plain;
  half["dtype"] = "f16";
  bytes["dtype"] = "i8";
  const Shape shape = {3, 5};
  constexpr DType kF16 = DType::f16, kF32 = DType::f32;

  c.same("random::truncated_normal", {-1, real + 2, 0.5, positive, key}, half,
         random::truncated_normal(shape, -1, real + 2, 0.5, positive, kF16, key));
  c.same("random::truncated_normal", {-1, 2, none, none, key}, plain,
         random::truncated_normal(shape, -1, 2, 0, 1, kF32, key));
  c.refused("random::truncated_normal", {2, 1, none, none, key}, plain,
            [&] { random::truncated_normal(shape, 2, 1, 0, 1, kF32, key); });

  c.same("random::gumbel", {real, 2, key}, half, random::gumbel(shape, real, 2, kF16, key));
  c.same("random::gumbel", {none, none, key}, plain, random::gumbel(shape, 0, 1, kF32, key));
  c.same("random::gumbel", {real, 2, key}, own, random::gumbel(nullopt, real, 2, kF32, key));
  c.same("random::laplace", {real, positive, key}, half, random::laplace(shape, real, positive, kF16, key));
  c.same("random::cauchy", {real, positive, key}, half, random::cauchy(shape, real, positive, kF16, key));
  c.same("random::logistic", {1, positive, key}, half, random::logistic(shape, 1, positive, kF16, key));
  c.same("random::exponential", {positive, key}, half, random::exponential(shape, positive, kF16, key));
  c.same("random::exponential", {none, key}, plain, random::exponential(shape, 1, kF32, key));
  c.refused("random::gumbel", {0, -1, key}, plain, [&] { random::gumbel(shape, 0, -1, kF32, key); });
  c.refused("random::laplace", {wrong, 1, key}, plain, [&] { random::laplace(shape, wrong, 1, kF32, key); });
  c.refused("random::cauchy", {0, 1, real}, plain, [&] { random::cauchy(shape, 0, 1, kF32, real); });
  // What a caller of the C++ function gives is not left out.
  EXPECT_THROW(random::logistic(shape, none, 1, kF32, key), InvalidArgument);
  EXPECT_THROW(random::exponential(shape, none, kF32, key), InvalidArgument);

  c.same("random::gamma", {positive, 3, key}, half, random::gamma(shape, positive, 3, kF16, key));
  c.same("random::gamma", {positive, none, key}, own, random::gamma(nullopt, positive, 1, kF32, key));
  c.same("random::log_gamma", {positive, key}, half, random::log_gamma(shape, positive, kF16, key));
  c.same("random::beta", {positive, 2, key}, half, random::beta(shape, positive, 2, kF16, key));
  AttributeMap batch = half;
  batch["shape"] = std::vector<std::int64_t>{3};
  c.same("random::dirichlet", {positive, key}, batch, random::dirichlet({3}, positive, kF16, key));
  c.same("random::chi_square", {positive, key}, half, random::chi_square(shape, positive, kF16, key));
  c.same("random::student_t", {positive, 1, 2, key}, half, random::student_t(shape, positive, 1, 2, kF16, key));
  c.same("random::student_t", {positive, none, none, key}, own, random::student_t(nullopt, positive, 0, 1, kF32, key));
  const Tensor covariance = c.positive_definite({5, 5});
  c.same("random::multivariate_normal", {real, covariance, key}, batch,
         random::multivariate_normal({3}, real, covariance, kF16, key));
  c.same("random::orthogonal", {key}, {{"n", Number(4)}, {"batch", std::vector<std::int64_t>{2}}, {"dtype", "f16"}},
         random::orthogonal(4, {2}, kF16, key));
  c.refused("random::log_gamma", {-1, key}, plain, [&] { random::log_gamma(shape, -1, kF32, key); });
  c.refused("random::multivariate_normal", {covariance, real, key}, plain,
            [&] { random::multivariate_normal(shape, covariance, real, kF32, key); });
  c.refused("random::orthogonal", {key}, {{"n", Number(-1)}}, [&] { random::orthogonal(-1, {}, kF32, key); });

  c.same("random::poisson", {positive * 8, key}, bytes, random::poisson(shape, positive * 8, DType::i8, key));
  c.same("random::poisson", {3, key}, plain, random::poisson(shape, 3, DType::i32, key));
  c.same("random::binomial", {counted, share, key}, bytes, random::binomial(shape, counted, share, DType::i8, key));
  c.same("random::geometric", {0.25, key}, bytes, random::geometric(shape, 0.25, DType::i8, key));
  c.refused("random::poisson", {-1, key}, plain, [&] { random::poisson(shape, -1, DType::i32, key); });
  c.refused("random::binomial", {1.5, 0.5, key}, plain, [&] { random::binomial(shape, 1.5, 0.5, DType::i32, key); });

  const Tensor logits = c.floats({4, 5});
  c.same("random::categorical", {logits, key}, {{"shape", std::vector<std::int64_t>{3, 5}}, {"axis", Number(0)}},
         random::categorical(shape, logits, 0, key));
  c.same("random::categorical", {logits, key}, own, random::categorical(nullopt, logits, -1, key));
  c.same("random::multinomial", {20, positive, key}, {{"shape", std::vector<std::int64_t>{3}}},
         random::multinomial({3}, 20, positive, key));
  const std::vector<std::int64_t> few = {2, 2};
  c.same("random::choice", {none, none, key}, {{"n", Number(9)}, {"shape", few}}, random::choice(9, {2, 2}, {}, key));
  c.same("random::choice", {logits, positive, key}, {{"shape", few}, {"axis", Number(1)}, {"replace", Number(0)}},
         random::choice(logits, {2, 2}, {.replace = false, .weights = positive, .axis = 1}, key));
  c.refused("random::categorical", {logits, key}, {{"axis", Number(9)}},
            [&] { random::categorical(nullopt, logits, 9, key); });
  c.refused("random::choice", {none, none, key}, {{"n", Number(3)}, {"shape", few}, {"replace", Number(0)}},
            [&] { random::choice(3, {2, 2}, {.replace = false}, key); });
  EXPECT_THROW(call("random::choice", {none, none, key}, {{"shape", few}}), InvalidArgument);
  EXPECT_THROW(call("random::choice", {logits, none, key}, {{"n", Number(4)}, {"shape", few}}), InvalidArgument);
}
const bool added = named_cases(add_distribution_cases);

}  // namespace
}  // namespace weft::test
