// Messages speak of what the caller gave: functions that are made of others are called with operands of every type and
// rank, and whatever is refused names the function that was called, and no other types than those of its operands.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/distributions.h"
#include "weft/error.h"
#include "weft/fft.h"
#include "weft/indexing.h"
#include "weft/linalg.h"
#include "weft/losses.h"
#include "weft/numeric.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/random.h"
#include "weft/resampling.h"
#include "weft/segments.h"
#include "weft/sets.h"
#include "weft/signal.h"
#include "weft/special.h"
#include "weft/statistics.h"

namespace weft {
namespace {

struct Function {
  std::string name;
  int operands;
  std::function<void(const Tensor&, const Tensor&)> call;
};

#define WEFT_UNARY(name, ...)                                                                  \
  Function {                                                                                   \
    #name, 1, [](const Tensor& x, const Tensor&) { (void)name(x __VA_OPT__(, ) __VA_ARGS__); } \
  }
#define WEFT_BINARY(name, ...)                                                                      \
  Function {                                                                                        \
    #name, 2, [](const Tensor& a, const Tensor& b) { (void)name(a, b __VA_OPT__(, ) __VA_ARGS__); } \
  }

std::vector<Function> all_functions() {
  std::vector<Function> all = {
      // ---- Elementwise
      WEFT_UNARY(neg),
      WEFT_UNARY(abs),
      WEFT_UNARY(sign),
      WEFT_UNARY(square),
      WEFT_UNARY(reciprocal),
      WEFT_UNARY(floor),
      WEFT_UNARY(sqrt),
      WEFT_UNARY(exp),
      WEFT_UNARY(sin),
      WEFT_UNARY(lgamma),
      WEFT_UNARY(sigmoid),
      WEFT_UNARY(softplus),
      WEFT_UNARY(relu),
      WEFT_UNARY(relu6),
      WEFT_UNARY(elu),
      WEFT_UNARY(is_nan),
      WEFT_UNARY(signbit),
      WEFT_UNARY(logical_not),
      WEFT_UNARY(bitwise_not),
      WEFT_UNARY(popcount),
      WEFT_UNARY(real),
      WEFT_UNARY(angle),
      WEFT_BINARY(divide),
      WEFT_BINARY(div_rn),
      WEFT_BINARY(pow),
      Function{"min", 2, [](const Tensor& a, const Tensor& b) { minimum(a, b); }},  // the operation's name
      WEFT_BINARY(floor_divide),
      WEFT_BINARY(remainder),
      WEFT_BINARY(atan2),
      WEFT_BINARY(logaddexp),
      WEFT_BINARY(gcd),
      WEFT_BINARY(less),
      WEFT_BINARY(bitwise_and),
      WEFT_BINARY(shift_left),
      WEFT_BINARY(complex),
      WEFT_BINARY(nextafter),
      // ---- Reductions and statistics
      WEFT_UNARY(sum, {1}),
      WEFT_UNARY(prod, {1}),
      WEFT_UNARY(mean, {1}),
      WEFT_UNARY(max, {1}),
      WEFT_UNARY(min, {1}),
      WEFT_UNARY(any, {1}),
      WEFT_UNARY(count_nonzero, {1}),
      WEFT_UNARY(variance, {1}),
      WEFT_UNARY(deviation, {1}),
      WEFT_UNARY(argmax, {1}),
      WEFT_UNARY(argmin),
      WEFT_UNARY(cumulative_sum, 1),
      WEFT_UNARY(cumulative_prod, 1),
      WEFT_UNARY(cumsum, 1),
      WEFT_UNARY(diff),
      WEFT_UNARY(median, {1}),
      WEFT_UNARY(quantile, 0.3, {1}),
      WEFT_UNARY(nanmedian, {1}),
      WEFT_UNARY(nanquantile, 0.3, {1}),
      WEFT_UNARY(mode, {1}),
      WEFT_UNARY(nansum, {1}),
      WEFT_UNARY(nanprod, {1}),
      WEFT_UNARY(nanmin, {1}),
      WEFT_UNARY(nanmax, {1}),
      WEFT_UNARY(nanmean, {1}),
      WEFT_UNARY(nanvar, {1}),
      WEFT_UNARY(nanstd, {1}),
      WEFT_UNARY(nanargmin),
      WEFT_UNARY(nanargmax, {1}),
      WEFT_UNARY(nancumsum, 1),
      WEFT_UNARY(nancumprod, 1),
      WEFT_UNARY(nan_to_num),
      WEFT_UNARY(ptp, {1}),
      WEFT_BINARY(average, {1}),
      WEFT_UNARY(cov),
      Function{"cov", 2, [](const Tensor& a, const Tensor& b) { cov(a, 1, b); }},
      WEFT_UNARY(corrcoef),
      WEFT_UNARY(histogram, 4),
      WEFT_BINARY(histogram),
      WEFT_BINARY(digitize),
      // ---- Segments and orders
      WEFT_BINARY(segment_sum, 3),
      WEFT_BINARY(segment_prod, 3),
      WEFT_BINARY(segment_mean, 3),
      WEFT_BINARY(segment_max, 3),
      WEFT_BINARY(segment_min, 3),
      WEFT_BINARY(segment_softmax, 3),
      WEFT_UNARY(cummax, 1),
      WEFT_UNARY(cummin, 1),
      WEFT_UNARY(partition, 2),
      WEFT_UNARY(argpartition, 2),
      Function{"lexsort", 2, [](const Tensor& a, const Tensor& b) { lexsort({a, b}); }},
      WEFT_UNARY(sort),
      WEFT_UNARY(argsort),
      WEFT_UNARY(top_k, 2),
      WEFT_BINARY(searchsorted),
      WEFT_BINARY(isin),
      // ---- Numerical functions
      Function{"interp", 2, [](const Tensor& a, const Tensor& b) { interp(a, b, b); }},
      WEFT_UNARY(trapezoid),
      WEFT_BINARY(trapezoid),
      WEFT_UNARY(cumulative_trapezoid),
      WEFT_BINARY(cumulative_trapezoid),
      WEFT_UNARY(gradient),
      Function{"gradient", 2, [](const Tensor& a, const Tensor& b) { gradient(a, 0, b); }},
      WEFT_UNARY(unwrap),
      WEFT_BINARY(convolve),
      WEFT_BINARY(correlate),
      WEFT_BINARY(polyval),
      WEFT_BINARY(polyfit, 1),
      WEFT_BINARY(isclose),
      WEFT_BINARY(allclose),
      WEFT_BINARY(histogram2d),
      // ---- Special functions
      WEFT_UNARY(sinc),
      WEFT_BINARY(xlogy),
      WEFT_BINARY(xlog1py),
      WEFT_UNARY(entr),
      WEFT_UNARY(logit),
      WEFT_UNARY(ndtr),
      WEFT_UNARY(log_ndtr),
      WEFT_UNARY(ndtri),
      Function{"polygamma", 1, [](const Tensor& x, const Tensor&) { polygamma(2, x); }},
      Function{"polygamma", 1, [](const Tensor& x, const Tensor&) { polygamma(0, x); }},
      WEFT_BINARY(gammainc),
      WEFT_BINARY(gammaincc),
      Function{"betainc", 2, [](const Tensor& a, const Tensor& b) { betainc(a, a, b); }},
      WEFT_BINARY(gammaincinv),
      WEFT_BINARY(gammainccinv),
      Function{"betaincinv", 2, [](const Tensor& a, const Tensor& b) { betaincinv(a, a, b); }},
      WEFT_UNARY(j0),
      WEFT_UNARY(j1),
      WEFT_UNARY(y0),
      WEFT_UNARY(y1),
      WEFT_UNARY(k0),
      WEFT_UNARY(k0e),
      WEFT_UNARY(k1),
      WEFT_UNARY(k1e),
      WEFT_UNARY(i0),
      WEFT_UNARY(i1e),
      // ---- Linear algebra
      WEFT_UNARY(cholesky),
      WEFT_UNARY(cholesky_ex),
      WEFT_BINARY(cholesky_solve),
      WEFT_UNARY(cholesky_inverse),
      WEFT_BINARY(solve_triangular),
      WEFT_BINARY(solve),
      WEFT_BINARY(solve_ex),
      WEFT_UNARY(inv),
      WEFT_UNARY(inv_ex),
      WEFT_UNARY(det),
      WEFT_UNARY(slogdet),
      WEFT_UNARY(lu_factor),
      WEFT_UNARY(lu),
      WEFT_UNARY(qr),
      WEFT_BINARY(lstsq),
      WEFT_BINARY(lstsq_svd),
      WEFT_UNARY(eigh),
      WEFT_UNARY(eigh_ex),
      WEFT_UNARY(eigvalsh),
      WEFT_UNARY(eig),
      WEFT_UNARY(eigvals),
      WEFT_UNARY(expm),
      WEFT_UNARY(svd),
      WEFT_UNARY(svdvals),
      WEFT_UNARY(pinv),
      WEFT_UNARY(matrix_rank),
      WEFT_UNARY(condition_number),
      WEFT_UNARY(condition_number, MatrixNorm::one),
      WEFT_UNARY(vector_norm),
      WEFT_UNARY(vector_norm, 3),
      WEFT_UNARY(vector_norm, 0),
      WEFT_UNARY(matrix_norm),
      WEFT_UNARY(matrix_norm, MatrixNorm::two),
      WEFT_UNARY(matrix_norm, MatrixNorm::one),
      WEFT_BINARY(matmul),
      WEFT_BINARY(inner),
      WEFT_BINARY(outer),
      WEFT_BINARY(vecdot),
      WEFT_BINARY(cross),
      WEFT_BINARY(kron),
      WEFT_BINARY(tensordot, 1),
      WEFT_UNARY(matrix_power, 3),
      WEFT_UNARY(matrix_power, -3),
      Function{"multi_dot", 2, [](const Tensor& a, const Tensor& b) { multi_dot({a, b, a}); }},
      WEFT_UNARY(matrix_transpose),
      WEFT_UNARY(trace),
      WEFT_UNARY(diag),
      WEFT_UNARY(vander),
      // ---- Transforms
      WEFT_UNARY(fft),
      WEFT_UNARY(fft, 0),
      WEFT_UNARY(fft, 4, 5),
      WEFT_UNARY(ifft),
      WEFT_UNARY(ifft, -1),
      WEFT_UNARY(rfft),
      WEFT_UNARY(rfft, 0),
      WEFT_UNARY(irfft),
      WEFT_UNARY(irfft, 0),
      WEFT_UNARY(hfft),
      WEFT_UNARY(hfft, 0),
      WEFT_UNARY(ihfft),
      WEFT_UNARY(ihfft, 0),
      WEFT_UNARY(fftn),
      WEFT_UNARY(fftn, {4, 0}),
      WEFT_UNARY(ifftn, {0, 4}),
      WEFT_UNARY(rfftn),
      WEFT_UNARY(rfftn, {4, 0}),
      WEFT_UNARY(irfftn, {0, 4}),
      WEFT_UNARY(irfftn),
      WEFT_UNARY(fftshift),
      WEFT_UNARY(dct),
      WEFT_UNARY(dct, 2, 0),
      WEFT_UNARY(idct, 3),
      WEFT_UNARY(stft, 4),
      WEFT_UNARY(istft, 4),
      WEFT_BINARY(fft_convolve),
      Function{"lfilter", 2, [](const Tensor& a, const Tensor& b) { lfilter(a, a, b); }},
      Function{"lfilter", 2, [](const Tensor& a, const Tensor& b) { lfilter(a, b, b, Tensor()); }},
      WEFT_BINARY(sosfilt),
      Function{"sosfilt", 2, [](const Tensor& a, const Tensor& b) { sosfilt(a, b, Tensor()); }},
      // ---- Losses and norms
      WEFT_BINARY(cross_entropy),
      WEFT_BINARY(nll_loss),
      WEFT_BINARY(binary_cross_entropy_with_logits),
      WEFT_BINARY(kl_div),
      WEFT_BINARY(mse_loss),
      WEFT_BINARY(l1_loss),
      WEFT_BINARY(huber_loss),
      WEFT_BINARY(smooth_l1_loss),
      WEFT_BINARY(smooth_l1_loss, 0),
      WEFT_UNARY(softmax, 1),
      WEFT_UNARY(log_softmax, 1),
      Function{"layer_norm", 2, [](const Tensor& a, const Tensor& b) { layer_norm(a, b, b, 1e-5); }},
      Function{"rms_norm", 2, [](const Tensor& a, const Tensor& b) { rms_norm(a, b, 1e-5); }},
      Function{"group_norm", 2, [](const Tensor& a, const Tensor& b) { group_norm(a, b, b, 1, 1e-5); }},
      Function{"instance_norm", 2, [](const Tensor& a, const Tensor& b) { instance_norm(a, b, b, 1e-5); }},
      Function{"batch_norm", 2, [](const Tensor& a, const Tensor& b) { batch_norm(a, b, b, b, b, 1e-5); }},
      // ---- Images and quantisation
      WEFT_BINARY(conv),
      WEFT_BINARY(conv_transpose),
      WEFT_UNARY(max_pool, {.window = {2, 2}}),
      WEFT_UNARY(average_pool, {.window = {2, 2}}),
      WEFT_UNARY(lp_pool, 3, {.window = {2, 2}}),
      WEFT_UNARY(l2_pool, {.window = {2, 2}}),
      WEFT_UNARY(adaptive_average_pool, {2, 2}),
      WEFT_UNARY(adaptive_max_pool, {2, 2}),
      WEFT_UNARY(global_average_pool),
      WEFT_UNARY(global_max_pool),
      WEFT_UNARY(global_lp_pool),
      WEFT_UNARY(resize, {2, 3}),
      WEFT_UNARY(upsample, {2, 2}),
      WEFT_BINARY(grid_sample),
      WEFT_UNARY(affine_grid, {2, 2}),
      WEFT_UNARY(unfold, {2, 2}),
      WEFT_UNARY(fold, {4, 4}, {2, 2}),
      WEFT_UNARY(pixel_shuffle, 2),
      WEFT_BINARY(quantize),
      WEFT_BINARY(dequantize),
      WEFT_BINARY(requantize),
      WEFT_BINARY(fake_quantize),
      WEFT_UNARY(dynamic_quantize),
      WEFT_BINARY(matmul_integer),
      WEFT_BINARY(conv_integer),
      // ---- Movement
      WEFT_UNARY(squeeze, {0}),
      WEFT_UNARY(flip, {1}),
      WEFT_UNARY(moveaxis, 0, 1),
      WEFT_UNARY(tril),
      WEFT_UNARY(diagonal),
      WEFT_UNARY(one_hot, 3),
      WEFT_BINARY(gather),
      WEFT_BINARY(gather_elements, 1),
      WEFT_BINARY(gather_nd),
      Function{"concat", 2, [](const Tensor& a, const Tensor& b) { concat({a, b}); }},
      Function{"stack", 2, [](const Tensor& a, const Tensor& b) { stack({a, b}); }},
      Function{"select", 2, [](const Tensor& a, const Tensor& b) { select(a, b, b); }},
      // ---- Random numbers
      Function{"random::gumbel", 2,
               [](const Tensor& a, const Tensor& b) { random::gumbel({5, 7}, a, 1, DType::f32, b); }},
      Function{"random::gamma", 2,
               [](const Tensor& a, const Tensor& b) { random::gamma({5, 7}, a, 1, DType::f32, b); }},
      Function{"random::poisson", 2,
               [](const Tensor& a, const Tensor& b) { random::poisson({5, 7}, a, DType::i64, b); }},
      Function{"random::binomial", 2, [](const Tensor& a, const Tensor& b) { random::binomial({5, 7}, a, b); }},
      Function{"random::geometric", 2,
               [](const Tensor& a, const Tensor& b) { random::geometric({5, 7}, a, DType::f32, b); }},
      Function{"random::categorical", 2, [](const Tensor& a, const Tensor& b) { random::categorical({5}, a, 0, b); }},
      Function{"random::multinomial", 2, [](const Tensor& a, const Tensor& b) { random::multinomial({5}, a, b); }},
      Function{"random::dirichlet", 1, [](const Tensor& a, const Tensor&) { random::dirichlet({5}, a); }},
      Function{"random::student_t", 2, [](const Tensor& a, const Tensor& b) { random::student_t({5, 7}, a, b); }},
      Function{"random::truncated_normal", 2,
               [](const Tensor& a, const Tensor& b) { random::truncated_normal({5, 7}, a, b); }},
      Function{"random::multivariate_normal", 2,
               [](const Tensor& a, const Tensor& b) { random::multivariate_normal({5}, a, b); }},
      Function{"random::choice", 2, [](const Tensor& a, const Tensor& b) { random::choice(a, {3}, {.weights = b}); }},
      Function{"random::bernoulli", 1, [](const Tensor& a, const Tensor&) { random::bernoulli({5, 7}, a); }},
      Function{"random::permutation", 1, [](const Tensor& a, const Tensor&) { random::permutation(a, 1); }},
  };
  for (const DType type : {DType::i32, DType::boolean, DType::c64, DType::f64, DType::f32}) {
    const std::string name(weft::name(type));
    const auto add = [&](std::string function, const std::function<void(DType)>& call) {
      all.push_back({std::move(function), 0, [=](const Tensor&, const Tensor&) { call(type); }});
    };
    add("random::normal", [](DType t) { random::normal({3}, 0, 1, t); });
    add("random::uniform", [](DType t) { random::uniform({3}, 0, 1, t); });
    add("random::integers", [](DType t) { random::integers({3}, 0, 9, t); });
    add("random::gumbel", [](DType t) { random::gumbel({3}, 0, 1, t); });
    add("random::poisson", [](DType t) { random::poisson({3}, 1, t); });
    add("random::orthogonal", [](DType t) { random::orthogonal(3, {}, t); });
    add("linspace", [](DType t) { linspace(0, 1, 3, t); });
    add("arange", [](DType t) { arange(0, 3, 1, t); });
    add("eye", [](DType t) { eye(3, t); });
    add("hann_window", [](DType t) { hann_window(3, true, t); });
    add("fftfreq", [](DType t) { fftfreq(3, 1, t); });
  }
  return all;
}

TEST(ErrorOperands, AreTheCallers) {
  Graph g;
  std::vector<Tensor> operands{Tensor()};
  const DType types[] = {DType::f32, DType::f64, DType::f16, DType::f8e4m3, DType::i32,    DType::i8,
                         DType::u64, DType::i64, DType::i4,  DType::c64,    DType::boolean};
  for (const DType type : types) {
    for (const Shape& shape : {Shape{5, 7}, Shape{6}, Shape{}, Shape{0, 7}, Shape{1, 4, 5, 5}, Shape{3, 3}}) {
      operands.push_back(g.input(std::to_string(operands.size()), type, shape));
    }
  }
  std::string any_type;
  for (int t = 0; t < kDTypeCount; ++t) any_type += (t ? "|" : "") + std::string(name(static_cast<DType>(t)));
  const std::regex typed("\\b(" + any_type + ") \\[[0-9, ]*\\]");
  int calls = 0, refused = 0;
  for (const Function& f : all_functions()) {
    std::vector<std::pair<Tensor, Tensor>> given;
    if (f.operands == 0) given.push_back({});
    if (f.operands == 1) {
      for (const Tensor& a : operands) given.push_back({a, {}});
    }
    if (f.operands == 2) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        for (std::size_t j = i % 7; j < operands.size(); j += 7) given.push_back({operands[i], operands[j]});
      }
    }
    int told = 0;
    for (const auto& [a, b] : given) {
      ++calls;
      std::string message;
      try {
        f.call(a, b);
        continue;
      } catch (const Error& e) {
        message = e.what();
      }
      ++refused;
      const auto text = [](const Tensor& t) { return t.defined() ? to_string(t.type()) : std::string("nothing"); };
      std::string wrong;
      if (!message.starts_with(f.name + ": ") && !message.starts_with(f.name + " takes ")) {
        wrong = "names another function";
      }
      const std::string said = message.substr(0, message.find("expected"));
      for (auto it = std::sregex_iterator(said.begin(), said.end(), typed); it != std::sregex_iterator(); ++it) {
        if (it->str() != text(a) && it->str() != text(b)) wrong = "has " + it->str() + ", which was not given";
      }
      if (wrong.empty() || ++told > 2) continue;
      ADD_FAILURE() << f.name << " of " << text(a) << " and " << text(b) << " " << wrong << ": " << message;
    }
  }
  RecordProperty("calls", calls);
  RecordProperty("refused", refused);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace weft
