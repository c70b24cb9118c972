// Errors of functions that are made of others name the function that was called, and not one inside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/error_context.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/distributions.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/label.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/random.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"

namespace weft {
namespace {

struct Wrong {
  std::string function;
  std::function<void()> call;
};

using test::message_of;

using Integers = std::vector<std::int64_t>;

std::vector<Wrong> wrong_calls() {
  Graph g;
  const Tensor none, f = g.input("f", DType::f32, {2, 3}), v = g.input("v", DType::f32, {4}),
                     s = g.input("s", DType::f32, {}), i = g.input("i", DType::i32, {2, 3}),
                     packed = g.input("p", DType::i4, {2, 3}), c = g.input("c", DType::c64, {2, 3}),
                     b = g.input("b", DType::boolean, {2, 3}), u64 = g.input("u", DType::u64, {2, 3}),
                     i64 = g.input("l", DType::i64, {2, 3}), image = g.input("x", DType::f32, {1, 4, 5, 5}),
                     bytes = g.input("y", DType::u8, {1, 4, 5, 5}), filter = g.input("w", DType::f32, {2, 4, 3, 3}),
                     key = g.input("k", DType::u32, {2}), f8 = g.input("e", DType::f8e4m3, {2, 3}),
                     steps = g.input("t", DType::f32, {3, 2, 4}), row = g.input("r", DType::i32, {5}),
                     u64_row = g.input("q", DType::u64, {3});
  const std::vector<Wrong> calls = {
      // ---- Elementwise
      {"divide", [=] { divide(none, f); }},
      {"divide", [=] { divide(f, v); }},
      {"divide", [=] { divide(u64, i64); }},
      {"divide", [=] { divide(packed, f); }},
      {"gelu", [=] { gelu(none); }},
      {"select", [=] { select(none, f, f); }},
      {"select", [=] { select(b, f, v); }},
      {"select", [=] { where(b, f, none); }},
      {"relu6", [=] { relu6(none); }},
      {"relu6", [=] { relu6(c); }},
      {"hardswish", [=] { hardswish(i); }},
      {"cast", [=] { cast(none, DType::f32); }},
      {"full_like", [=] { full_like(none, 1); }},
      {"zeros_like", [=] { zeros_like(none); }},
      {"ones_like", [=] { ones_like(none); }},
      // ---- Statistics
      {"sum", [=] { sum(none); }},
      {"sum", [=] { sum(f, {2}); }},
      {"sum", [=] { sum(f, {0, 0}); }},
      {"prod", [=] { prod(none); }},
      {"prod", [=] { prod(f, {-3}); }},
      {"mean", [=] { mean(none); }},
      {"mean", [=] { mean(f, {2}); }},
      {"max", [=] { max(none); }},
      {"max", [=] { max(f, {2}); }},
      {"max", [=] { max(c); }},
      {"min", [=] { min(none); }},
      {"min", [=] { min(f, {2}); }},
      {"any", [=] { any(none); }},
      {"any", [=] { any(f, {2}); }},
      {"all", [=] { f.all({2}); }},
      {"count_nonzero", [=] { count_nonzero(none); }},
      {"count_nonzero", [=] { count_nonzero(f, {2}); }},
      {"variance", [=] { variance(none); }},
      {"variance", [=] { variance(f, {2}); }},
      {"variance", [=] { variance(c); }},
      {"deviation", [=] { deviation(none); }},
      {"deviation", [=] { deviation(f, {2}); }},
      {"argmax", [=] { argmax(none); }},
      {"argmax", [=] { argmax(f, {2}); }},
      {"argmin", [=] { argmin(c); }},
      {"cumulative_sum", [=] { cumulative_sum(none); }},
      {"cumulative_sum", [=] { cumulative_sum(f); }},
      {"cumulative_sum", [=] { cumulative_sum(f, 2); }},
      {"cumulative_prod", [=] { cumulative_prod(none); }},
      {"diff", [=] { diff(none); }},
      {"diff", [=] { diff(f, 2); }},
      {"diff", [=] { diff(f, 0, -1); }},
      {"diff", [=] { diff(f, 0, 1, v); }},
      {"diff", [=] { diff(u64, 0, 1, i64); }},
      // ---- Manipulation
      {"meshgrid", [=] { meshgrid({v, none}); }},
      {"meshgrid", [=] { meshgrid({v, f}); }},
      {"tril", [=] { tril(none); }},
      {"tril", [=] { tril(v); }},
      {"triu", [=] { triu(v); }},
      {"broadcast_arrays", [=] { broadcast_arrays(std::array{f, none}); }},
      {"broadcast_arrays", [=] { broadcast_arrays(std::array{f, v}); }},
      {"concat", [=] { concat({f, none}); }},
      {"concat", [=] { concat({f, v}); }},
      {"concat", [=] { concat({f, f}, 2); }},
      {"concat", [=] { concat(std::array{f, v}, 0); }},
      {"concat", [=] { concat({u64, i64}); }},
      {"stack", [=] { stack({f, none}); }},
      {"stack", [=] { stack(std::vector<Tensor>()); }},
      {"stack", [=] { stack({f, v}); }},
      {"stack", [=] { stack({f, i, f}, 4); }},
      {"stack", [=] { stack({u64, i64}); }},
      {"unstack", [=] { unstack(none); }},
      {"unstack", [=] { unstack(f, 2); }},
      {"flip", [=] { flip(none); }},
      {"flip", [=] { flip(f, {2}); }},
      {"moveaxis", [=] { moveaxis(none, 0, 1); }},
      {"moveaxis", [=] { moveaxis(f, 0, 2); }},
      {"moveaxis", [=] { moveaxis(f, {0, 1}, 0); }},
      {"T", [=] { none.T(); }},
      {"T", [=] { v.T(); }},
      {"flatten", [=] { flatten(none); }},
      {"roll", [=] { roll(none, 1); }},
      {"roll", [=] { roll(f, {1, 2, 3}, {0, 1}); }},
      {"roll", [=] { roll(f, {1}, {2}); }},
      {"tile", [=] { tile(none, {2}); }},
      {"tile", [=] { tile(f, {2, -1}); }},
      {"tile", [=] { tile(f, {1, 1, 1, 1, 1, 1, 1, 1, 1}); }},
      {"tile", [=] { tile(f, std::span<const std::int64_t>(Integers{2})); }},
      {"tile", [=] { tile(f, {std::int64_t{1} << 62, 16}); }},
      {"repeat", [=] { repeat(none, 2); }},
      {"repeat", [=] { repeat(f, -2); }},
      {"repeat", [=] { repeat(f, 2, 2); }},
      {"repeat", [=] { repeat(none, i, 0); }},
      {"repeat", [=] { repeat(f, f, 0); }},
      {"diagonal", [=] { diagonal(none); }},
      {"diagonal", [=] { diagonal(v); }},
      {"split", [=] { split(none, Integers{1}, 0); }},
      {"split", [=] { split(f, Integers{1}, 0); }},
      {"expand_dims", [=] { expand_dims(none, 0); }},
      {"expand_dims", [=] { expand_dims(f, 4); }},
      {"squeeze", [=] { squeeze(f, 0); }},
      {"squeeze", [=] { squeeze(none, 0); }},
      {"slice", [=] { slice(f, 2, 0, 1); }},
      {"reshape", [=] { reshape(f, {-1, -1}); }},
      {"reshape", [=] { f.reshape({7}); }},
      {"permute", [=] { permute(f, {0}); }},
      {"broadcast_to", [=] { broadcast_to(f, {4}); }},
      {"one_hot", [=] { one_hot(none, 3); }},
      {"one_hot", [=] { one_hot(f, 3); }},
      {"one_hot", [=] { one_hot(i, -3); }},
      {"pad", [=] { pad(f, Integers{1}, Integers{1}); }},
      {"pad", [=] { pad(f, Integers{-9, 0}, Integers{0, 0}); }},
      {"dynamic_slice", [=] { dynamic_slice(f, i, {1, 1}, {0, 1}); }},
      {"dynamic_slice", [=] { dynamic_slice(f, s, {9, 1}, {0}); }},
      {"dynamic_update_slice", [=] { dynamic_update_slice(f, v, s, {0}); }},
      // ---- Products
      {"outer", [=] { outer(none, v); }},
      {"outer", [=] { outer(packed, v); }},
      {"vecdot", [=] { vecdot(none, v); }},
      {"vecdot", [=] { vecdot(f, v); }},
      {"vecdot", [=] { vecdot(f, f, 3); }},
      {"vecdot", [=] { vecdot(u64, i64); }},
      {"tensordot", [=] { tensordot(none, f); }},
      {"tensordot", [=] { tensordot(f, f, 1); }},
      {"tensordot", [=] { tensordot(f, f, 3); }},
      {"tensordot", [=] { tensordot(f, f, {0}, {0, 1}); }},
      {"tensordot", [=] { tensordot(packed, packed, 2); }},
      {"einsum", [=] { einsum("ij,jk", {f, none}); }},
      {"einsum", [=] { einsum("ij,jk", {f, f}); }},
      {"einsum", [=] { einsum("ij->iij", {f}); }},
      {"einsum", [=] { einsum("ii", {f}); }},
      {"einsum", [=] { einsum("ij,ij", {u64, i64}); }},
      {"einsum", [=] { einsum("ij", {packed}); }},
      {"matmul", [=] { matmul(none, f); }},
      {"matmul", [=] { matmul(f, f); }},
      // ---- Searching and indexing
      {"searchsorted", [=] { searchsorted(none, v); }},
      {"searchsorted", [=] { searchsorted(f, v); }},
      {"searchsorted", [=] { searchsorted(u64_row, i64); }},
      {"compress", [=] { compress(none, v); }},
      {"compress", [=] { compress(v, f, 1); }},
      {"compress", [=] { compress(v, f, 2); }},
      {"nonzero", [=] { nonzero(none); }},
      {"nonzero", [=] { nonzero(s); }},
      {"unique", [=] { unique(none); }},
      {"unique", [=] { unique(c); }},
      {"index", [=] { none[{0}]; }},
      {"index", [=] { f[{2}]; }},
      {"index", [=] { f[{0, 0, 0}]; }},
      {"index", [=] { f[{v}]; }},
      {"index", [=] { f[{i, row}]; }},
      {"at_set", [=] { at_set(none, {0}, 1); }},
      {"at_set", [=] { at_set(f, {0}, v); }},
      {"at_add", [=] { at_add(f, {row}, v); }},
      {"at_min", [=] { at_min(c, {row}, 1); }},
      // ---- Norms
      {"batch_norm", [=] { batch_norm(none, v, v, v, v, 1e-5); }},
      {"batch_norm", [=] { batch_norm(image, none, v, v, v, 1e-5); }},
      {"batch_norm", [=] { batch_norm(image, f, v, v, v, 1e-5); }},
      {"batch_norm", [=] { batch_norm(image, v, v, v, v, 1e-5, 4); }},
      {"group_norm", [=] { group_norm(none, v, v, 2, 1e-5); }},
      {"group_norm", [=] { group_norm(image, v, v, 3, 1e-5); }},
      {"group_norm", [=] { group_norm(image, f, v, 2, 1e-5); }},
      {"instance_norm", [=] { instance_norm(none, v, v, 1e-5); }},
      {"instance_norm", [=] { instance_norm(image, f, v, 1e-5); }},
      {"layer_norm", [=] { layer_norm(none, v, v, 1e-5); }},
      {"layer_norm", [=] { layer_norm(image, v, v, 1e-5); }},
      {"rms_norm", [=] { rms_norm(none, v, 1e-5); }},
      {"rms_norm", [=] { rms_norm(image, v, 1e-5); }},
      {"softmax", [=] { softmax(f, 2); }},
      {"log_softmax", [=] { log_softmax(i, 0); }},
      {"top_k", [=] { top_k(none, 1); }},
      {"top_k", [=] { top_k(f, 9); }},
      {"argsort", [=] { argsort(c); }},
      // ---- Random numbers
      {"random::uniform", [=] { random::uniform({2}, 0, 1, DType::i32, key); }},
      {"random::uniform", [=] { random::uniform({2}, 0, 1, DType::f32, f); }},
      {"random::normal", [=] { random::normal({2}, 0, -1, DType::f32, key); }},
      {"random::normal", [=] { random::normal({2}, 0, 1, DType::f32, f); }},
      {"random::integers", [=] { random::integers({2}, 5, 5, DType::i32, key); }},
      {"random::integers", [=] { random::integers({2}, 0, 5, DType::f32, key); }},
      {"random::bernoulli", [=] { random::bernoulli({2}, f, key); }},
      {"random::bernoulli", [=] { random::bernoulli({2}, 0.5, f); }},
      {"random::gumbel", [=] { random::gumbel({2}, 0, -1, DType::f32, key); }},
      {"random::laplace", [=] { random::laplace({2}, c, 1, DType::f32, key); }},
      {"random::cauchy", [=] { random::cauchy({2}, 0, 1, DType::f32, f); }},
      {"random::logistic", [=] { random::logistic({2}, none, 1, DType::f32, key); }},
      {"random::exponential", [=] { random::exponential({2}, 1, DType::i32, key); }},
      {"random::truncated_normal", [=] { random::truncated_normal({2}, 2, 1, 0, 1, DType::f32, key); }},
      {"random::gamma", [=] { random::gamma({2}, 1, 1, DType::f32, f); }},
      {"random::log_gamma", [=] { random::log_gamma({2}, -1, DType::f32, key); }},
      {"random::beta", [=] { random::beta({2}, 1, 1, DType::f32, f); }},
      {"random::dirichlet", [=] { random::dirichlet({2}, none, DType::f32, key); }},
      {"random::chi_square", [=] { random::chi_square({2}, -1, DType::f32, key); }},
      {"random::student_t", [=] { random::student_t({2}, 1, 0, 1, DType::f32, f); }},
      {"random::poisson", [=] { random::poisson({2}, 1, DType::u8, key); }},
      {"random::poisson", [=] { random::poisson({2}, 1, DType::i32, f); }},
      {"random::binomial", [=] { random::binomial({2}, 1.5, 0.5, DType::i32, key); }},
      {"random::geometric", [=] { random::geometric({2}, 2, DType::i32, key); }},
      {"random::categorical", [=] { random::categorical({2}, f, 9, key); }},
      {"random::categorical", [=] { random::categorical(std::nullopt, f, 0, f); }},
      {"random::multinomial", [=] { random::multinomial({2}, -1, f, key); }},
      {"random::multivariate_normal", [=] { random::multivariate_normal({2}, v, f, DType::f32, key); }},
      {"random::orthogonal", [=] { random::orthogonal(-1, {}, DType::f32, key); }},
      {"random::orthogonal", [=] { random::orthogonal(3, {}, DType::f32, f); }},
      {"random::choice", [=] { random::choice(-1, {2}, {}, key); }},
      {"random::choice", [=] { random::choice(f, {200}, {.replace = false}, key); }},
      {"random_gamma", [=] { random_gamma(key, none, {2}); }},
      {"random_gamma", [=] { random_gamma(key, f, {1}); }},
      {"random_gamma_gradient", [=] { random_gamma_gradient(f, c); }},
      {"random_gamma_gradient", [=] { random_gamma_gradient(zeros({3}), zeros({4})); }},
      {"random_poisson", [=] { random_poisson(f, f, {2}); }},
      {"random_binomial", [=] { random_binomial(key, f, f, {2}); }},
      {"random_geometric", [=] { random_geometric(key, i, {2}); }},
      {"random_categorical", [=] { random_categorical(key, none); }},
      {"random_categorical", [=] { random_categorical(key, f, 7); }},
      {"random_categorical", [=] { random_categorical(key, zeros({2, 0})); }},
      {"random_signed_uniform", [=] { random_signed_uniform(f, {2}); }},
      {"random::permutation", [=] { random::permutation(-1, key); }},
      {"random::permutation", [=] { random::permutation(5, f); }},
      {"random::permutation", [=] { random::permutation(none, 0, key); }},
      {"random::permutation", [=] { random::permutation(f, 2, key); }},
      {"random::split", [=] { random::split(f, 2); }},
      {"random::split", [=] { random::split(key, -2); }},
      {"random::key_at", [=] { random::key_at(v, 9); }},
      {"random::key_at", [=] { random::key_at(none, 0); }},
      // ---- Images
      {"upsample", [=] { upsample(none, {2, 2}); }},
      {"upsample", [=] { upsample(image, {2}); }},
      {"upsample", [=] { upsample(image, {-2, 2}); }},
      {"upsample", [=] { upsample(c, {}); }},
      {"resize", [=] { resize(image, {1}); }},
      {"resize_by", [=] { resize_by(none, std::vector<double>{1, 1}); }},
      {"resize_by", [=] { resize_by(image, std::vector<double>{1, 1}); }},
      {"resize_by", [=] { resize_by(image, std::vector<double>{1, 1, 1, -1}); }},
      {"affine_grid", [=] { affine_grid(none, {2, 2}); }},
      {"affine_grid", [=] { affine_grid(f, {2, 2}); }},
      {"unfold", [=] { unfold(none, {2, 2}); }},
      {"unfold", [=] { unfold(image, {2}); }},
      {"unfold", [=] { unfold(image, {9, 9}); }},
      {"fold", [=] { fold(none, {4, 4}, {2, 2}); }},
      {"fold", [=] { fold(image, {4, 4}, {2, 2}); }},
      {"depth_to_space", [=] { depth_to_space(none, 2); }},
      {"depth_to_space", [=] { depth_to_space(image, 3); }},
      {"depth_to_space", [=] { depth_to_space(image, -1); }},
      {"space_to_depth", [=] { space_to_depth(none, 2); }},
      {"space_to_depth", [=] { space_to_depth(image, 2); }},
      {"pixel_shuffle", [=] { pixel_shuffle(none, 2); }},
      {"pixel_shuffle", [=] { pixel_shuffle(image, 3); }},
      {"pixel_shuffle", [=] { pixel_shuffle(v, 2); }},
      {"pixel_unshuffle", [=] { pixel_unshuffle(none, 2); }},
      {"pixel_unshuffle", [=] { pixel_unshuffle(image, 3); }},
      {"pixel_unshuffle", [=] { pixel_unshuffle(v, 2); }},
      {"grid_sample", [=] { grid_sample(none, image); }},
      {"grid_sample", [=] { grid_sample(image, f); }},
      {"conv", [=] { conv(none, filter); }},
      {"conv", [=] { conv(image, f); }},
      {"conv_transpose", [=] { conv_transpose(image, none); }},
      {"conv_transpose", [=] { conv_transpose(image, filter); }},
      {"conv_filter_gradient", [=] { conv_filter_gradient(image, f, {3, 3}); }},
      {"max_pool", [=] { max_pool(none, {.window = {2, 2}}); }},
      {"max_pool", [=] { max_pool(image, {.window = {9, 2}}); }},
      {"max_pool_with_indices", [=] { max_pool_with_indices(none, {.window = {2, 2}}); }},
      {"max_pool_with_indices", [=] { max_pool_with_indices(image, {.window = {9, 2}}); }},
      {"average_pool", [=] { average_pool(image, {}); }},
      {"average_pool", [=] { average_pool(bytes, {.window = {2, 2}}); }},
      {"lp_pool", [=] { lp_pool(image, -1, {.window = {2, 2}}); }},
      {"l2_pool", [=] { l2_pool(none, {.window = {2, 2}}); }},
      {"l2_pool", [=] { l2_pool(image, {.window = {9, 2}}); }},
      {"l2_pool", [=] { l2_pool(bytes, {.window = {2, 2}}); }},
      {"adaptive_average_pool", [=] { adaptive_average_pool(image, {2}); }},
      {"adaptive_average_pool", [=] { adaptive_average_pool(bytes, {2, 2}); }},
      {"adaptive_max_pool", [=] { adaptive_max_pool(none, {2, 2}); }},
      {"adaptive_max_pool", [=] { adaptive_max_pool(image, {2}); }},
      {"adaptive_max_pool_with_indices", [=] { adaptive_max_pool_with_indices(image, {2}); }},
      {"adaptive_max_pool_with_indices", [=] { adaptive_max_pool_with_indices(c, {2}); }},
      {"global_average_pool", [=] { global_average_pool(none); }},
      {"global_average_pool", [=] { global_average_pool(f); }},
      {"global_average_pool", [=] { global_average_pool(bytes); }},
      {"global_max_pool", [=] { global_max_pool(f); }},
      {"global_max_pool", [=] { global_max_pool(none); }},
      {"global_lp_pool", [=] { global_lp_pool(image, 0); }},
      {"global_lp_pool", [=] { global_lp_pool(f); }},
      {"global_lp_pool", [=] { global_lp_pool(bytes); }},
      {"max_pool_gradient", [=] { max_pool_gradient(image, f, {5, 5}, {.window = {2, 2}}); }},
      {"average_pool_gradient", [=] { average_pool_gradient(f, {5, 5}, {.window = {2, 2}}); }},
      {"lp_pool_gradient", [=] { lp_pool_gradient(image, f, image, 2, {.window = {2, 2}}); }},
      {"adaptive_average_pool_gradient", [=] { adaptive_average_pool_gradient(f, {5, 5}); }},
      {"adaptive_max_pool_gradient", [=] { adaptive_max_pool_gradient(image, f, {5, 5}); }},
      {"max_unpool", [=] { max_unpool(image, f, {5, 5}); }},
      // ---- Quantisation
      {"quantize", [=] { quantize(none, 1.0); }},
      {"quantize", [=] { quantize(f, v); }},
      {"quantize", [=] { quantize(f, 1.0, 0.5); }},
      {"quantize", [=] { quantize(i, 1.0); }},
      {"dequantize", [=] { dequantize(none, 1.0); }},
      {"dequantize", [=] { dequantize(f, 1.0); }},
      {"requantize", [=] { requantize(none, 1.0); }},
      {"fake_quantize", [=] { fake_quantize(none, 1.0); }},
      {"fake_quantize", [=] { fake_quantize(i, 1.0); }},
      {"fake_quantize", [=] { fake_quantize(f, 1.0, {}, {.low = 5, .high = 4}); }},
      {"dynamic_quantize", [=] { dynamic_quantize(none); }},
      {"dynamic_quantize", [=] { dynamic_quantize(i); }},
      {"dynamic_quantize", [=] { dynamic_quantize(f, {.axes = {2}}); }},
      {"matmul_integer", [=] { matmul_integer(none, i); }},
      {"matmul_integer", [=] { matmul_integer(f, i); }},
      {"matmul_integer", [=] { matmul_integer(cast(i, DType::u8), cast(i, DType::u8)); }},
      {"matmul_integer", [=] { matmul_integer(cast(i, DType::u8), cast(i.T(), DType::u8), v); }},
      {"conv_integer", [=] { conv_integer(none, bytes); }},
      {"conv_integer", [=] { conv_integer(image, filter); }},
      {"conv_integer", [=] { conv_integer(bytes, cast(f, DType::u8)); }},
      {"conv_integer", [=] { conv_integer(bytes, bytes, {}, {}, {.groups = 3}); }},
      {"conv_integer", [=] { conv_integer(bytes, bytes, v); }},
      {"qlinear_matmul", [=] { qlinear_matmul({none, s}, {i, s}, {s}); }},
      {"qlinear_matmul", [=] { qlinear_matmul({f, s}, {i, s}, {s}); }},
      {"qlinear_matmul", [=] { qlinear_matmul({cast(i, DType::u8), s}, {cast(i, DType::u8), s}, {s}); }},
      {"qlinear_conv", [=] { qlinear_conv({none, s}, {bytes, s}, {s}); }},
      {"qlinear_conv", [=] { qlinear_conv({bytes, s}, {bytes, s}, {s}, {}, {.groups = 3}); }},
      {"qlinear_conv", [=] { qlinear_conv({bytes, s}, {bytes, s}, {s}, v); }},
      // ---- Recurrent networks
      {"lstm", [=] { lstm(none, steps, steps); }},
      {"lstm", [=] { lstm(steps, f, f); }},
      {"lstm_cell", [=] { lstm_cell(none, f, f); }},
      {"lstm_cell", [=] { lstm_cell(f, f, f); }},
      {"gru", [=] { gru(steps, f, f); }},
      {"gru_cell", [=] { gru_cell(f, f, f); }},
      {"rnn", [=] { rnn(steps, none, f); }},
      {"rnn_cell", [=] { rnn_cell(f, f, f); }},
      {"rnn_cell", [=] { rnn_cell(f, none, f); }},
      // ---- Creation
      {"arange", [=] { arange(0, 1, 0); }},
      {"linspace", [=] { linspace(0, 1, -1); }},
      {"linspace", [=] { linspace(0, 1, 2, DType::i32); }},
      {"arange", [=] { arange(0, 2, 1, DType::boolean); }},
      {"full", [=] { full({-1}, 2); }},
      {"zeros", [=] { zeros({-1}); }},
      {"ones", [=] { ones({2, -1}); }},
      {"ones", [=] { ones({std::int64_t{1} << 62, 4}); }},
      {"eye", [=] { eye(-1); }},
      {"eye", [=] { eye(2, -1, DType::f64); }},
      {"eye", [=] { eye(std::int64_t{1} << 40, std::int64_t{1} << 40); }},
      {"triangle", [=] { triangle(-1, 2, DType::f32, Triangle::lower); }},
      {"triangle", [=] { triangle(2, -1, DType::i32, Triangle::upper); }},
      {"tensor", [=] { tensor(DType::f32, {2}, std::vector<std::byte>(4)); }},
      {"cumsum", [=] { cumsum(none, 0); }},
      {"cumsum", [=] { cumsum(f, 2); }},
      {"cumsum", [=] { cumsum(packed, 0); }},
      {"scan", [=] { scan(ScanKind::max, none, 0); }},
      // ---- Reading and writing
      {"to_vector", [=] { none.to_vector<int>(); }},
      {"to_vector", [=] { zeros({std::int64_t{1} << 62}).to_vector<float>(); }},
      {"to_vector", [=] { ones({std::int64_t{1} << 40}, DType::f16).to_vector<double>(); }},
      {"read", [=] { zeros({std::int64_t{1} << 62}).read<float>(); }},
      {"read", [=] { zeros({2}).read<int>(); }},
      {"async_read", [=] { zeros({2}).async_read<int>(); }},
      {"async_read", [=] { zeros({std::int64_t{1} << 62}).async_read<float>().get(); }},
      {"async_read_bytes", [=] { zeros({std::int64_t{1} << 62}).async_read_bytes().get(); }},
      {"item", [=] { zeros({2}).item<int>(); }},
      {"read_bytes",
       [=] {
         std::byte few[4];
         zeros({2}).read_bytes(few);
       }},
      {"read_bytes",
       [=] {
         std::byte few[4];
         tensor({1, 2}).read_bytes(few);
       }},
      {"read_bytes",
       [=] {
         std::byte few[4];
         zeros({std::int64_t{1} << 62}).read_bytes(few);
       }},
      {"write", [=] { tensor({1, 2}).write(std::vector<std::byte>(4)); }},
      {"write", [=] { Tensor(zeros({2}) + 1.0).write(std::vector<std::byte>(8)); }},
  };
  return calls;
}

// Operands by the names that the functions' declarations give them, and labels in front.
TEST(ErrorNames, OperandsHaveTheirOwn) {
  Graph g;
  const Tensor f = g.input("f", DType::f32, {2, 3}), packed = g.input("p", DType::i4, {2, 3}),
               bytes = g.input("y", DType::u8, {1, 4, 5, 5}), steps = g.input("t", DType::f32, {2, 4}), none;
  const auto message = [](const std::function<void()>& call) { return message_of(call); };
  const auto write_few = [] { tensor({1, 2}).write(std::vector<std::byte>(4)); };
  EXPECT_EQ(message([&] { einsum("ij,jk", {f.T(), packed}); }),
            "einsum: operand 1 is i4 [2, 3], expected elements of 8 bits or more");
  EXPECT_EQ(message([&] { outer(f, none); }), "outer: b is an undefined Tensor");
  EXPECT_EQ(message([&] { tensordot(packed, f); }), "tensordot: a is i4 [2, 3], expected elements of 8 bits or more");
  EXPECT_EQ(message([&] { count_nonzero(f, {2}); }), "count_nonzero: axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(message([&] { stack({f, steps}); }), "stack: parts are f32 [2, 3] and f32 [2, 4], expected equal shapes");
  EXPECT_EQ(message([&] { repeat(none, 2); }), "repeat: the operand is an undefined Tensor");
  EXPECT_EQ(message([&] { pixel_shuffle(bytes, 3); }),
            "pixel_shuffle: x is u8 [1, 4, 5, 5], whose channels blocks of 3 do not divide");
  EXPECT_EQ(message([&] { conv_integer(bytes, bytes, {}, {}, {.groups = 3}); }),
            "conv_integer: x [1, 4, 5, 5] has 4 channels, which 3 groups do not divide");
  // The verb goes with the operand's name.
  EXPECT_EQ(message([&] { gather(f, f); }).substr(0, 40), "gather: indices are f32 [2, 3]; expected");
  EXPECT_EQ(message([&] { max_pool(cast(bytes, DType::boolean), {.window = {2, 2}}); }),
            "max_pool: x is bool [1, 4, 5, 5]; expected numbers but i4 u4 i2 u2");
  EXPECT_EQ(message([&] { write_few(); }), "write: 4 bytes written to i32 [2], which has 8");
  EXPECT_EQ(message([&] { random::key_at(steps, 2); }), "random::key_at: key 2 of f32 [2, 4], expected 0 to 1");
  const LabelScope scope("layers.0");
  EXPECT_EQ(message([&] { mean(f, {2}); }), "mean: axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(message([&] { global_average_pool(bytes); }),
            "\"layers.0\": global_average_pool: x is u8 [1, 4, 5, 5]; expected floats, c64");
}

// A character of several bytes is told as a whole, and a text that is no UTF-8 as its bytes.
TEST(ErrorNames, EinsumsSubscripts) {
  Graph g;
  const Tensor f = g.input("f", DType::f32, {2, 3});
  EXPECT_EQ(message_of([&] { einsum("iä", {f}); }), "einsum: \"iä\" has the character 'ä', which is no letter");
  EXPECT_EQ(message_of([&] { einsum("i𝛼->i", {f}); }), "einsum: \"i𝛼->i\" has the character '𝛼', which is no letter");
  EXPECT_THAT(message_of([&] { einsum("i\xff", {f}); }),
              testing::HasSubstr("has the character '\\xff', which is no letter"));
  EXPECT_THAT(message_of([&] { einsum("i\xc3", {f}); }),
              testing::HasSubstr("has the character '\\xc3', which is no letter"));
}

TEST(ErrorNames, AreOfTheFunctionThatWasCalled) {
  for (const Wrong& wrong : wrong_calls()) {
    const std::string message = message_of(wrong.call);
    EXPECT_TRUE(message.starts_with(wrong.function + ": ")) << wrong.function << ": " << message;
  }
}

}  // namespace
}  // namespace weft
