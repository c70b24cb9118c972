// Gradients and second derivatives on every device are PyTorch's, also at points without a derivative, at ties, zeros,
// infinities and NaN (tests/reference/derivatives.py).
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <set>

#include "kernels/elementwise/scalar_ops.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/linalg.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

using Values = std::vector<Tensor>;
using Parameters = std::vector<double>;
using X = const Values&;
using P = const Parameters&;
using Function = std::function<Tensor(X x, P p)>;

std::int64_t whole(double v) { return static_cast<std::int64_t>(v); }
Dims dims(P p, std::size_t begin, std::size_t count) {
  Dims d;
  for (std::size_t i = begin; i < begin + count; ++i) d.push_back(whole(p[i]));
  return d;
}
Tensor joined(std::initializer_list<Tensor> results) {
  Values flat;
  for (const Tensor& r : results) flat.push_back(flatten(r));
  return concat(flat, 0);
}

Function reduced(ReduceKind kind) {
  return [kind](X x, P) { return reduce(kind, x[0], {1}); };
}
Function scanned(ScanKind kind) {
  return [kind](X x, P) { return scan(kind, x[0], 1); };
}
Function scattered(ScatterKind kind, bool of_sine) {
  return [kind, of_sine](X x, P) {
    const Tensor y = scatter_elements(kind, x[0], x[1], x[2], 1);
    return of_sine ? sin(y) : y;
  };
}
Function attends(kernels::AttentionOptions options) {
  options.scale = 0.6f;
  return [options](X x, P) { return attention(x[0], x[1], x[2], x.size() > 3 ? x[3] : Tensor(), options); };
}
Function plain_rnn(RnnFunction activation) {
  return [activation](X x, P) {
    const bool two = x[1].shape()[0] == 2;
    const auto r =
        rnn(x[0], x[2], x[3], {.bias = x[4], .recurrent_bias = x[5], .initial_h = x[1]},
            {.direction = two ? RnnDirection::bidirectional : RnnDirection::forward, .activation = activation});
    return joined({r.y, r.h});
  };
}

Tensor definite(const Tensor& x) {
  return matmul(x, x.dtype() == DType::c64 ? conj(x.T()) : x.T()) + eye(x.shape()[-1], x.dtype());
}

// Those of EINSUMS in the script.
constexpr const char* kEinsums[] = {"ij,jk->ik",  "bij,bkj->bik",    "ii->i",          "ii",           "ij->j",
                                    "i,j,k->ijk", "bhqd,bhkd->bhqk", "...i,...i->...", "ijk,kl,lj->il"};
// Those of RESIZES in the script.
struct Resizing {
  UpsampleOptions options;
  Shape sizes = {7, 3};
};
const Resizing kResizes[] = {{{.mode = ResizeMode::nearest}},
                             {{.mode = ResizeMode::nearest, .exact = true}},
                             {{.mode = ResizeMode::linear}},
                             {{.mode = ResizeMode::linear, .align_corners = true}},
                             {{.mode = ResizeMode::cubic}},
                             {{.mode = ResizeMode::cubic, .align_corners = true}},
                             {{.mode = ResizeMode::linear, .antialias = true}, {2, 3}},
                             {{.mode = ResizeMode::cubic, .antialias = true}, {2, 3}}};

// The cases' functions that are no elementwise functions of their name.
const std::map<std::string, Function>& functions_of_cases() {
  static const std::map<std::string, Function> table = {
      {"clamp_numbers", [](X x, P) { return clamp(x[0], -1, 1); }},
      {"harmless_root", [](X x, P) { return where(x[0] > 0, sqrt(where(x[0] > 0, x[0], 1)), 0); }},
      {"pow_number", [](X x, P) { return pow(x[0], 3); }},
      {"pow_of_number", [](X x, P) { return pow(2, x[0]); }},
      {"shared", [](X x, P) { return exp(x[0] * sin(x[0]) + x[0]) * x[0]; }},
      {"broadcast", [](X x, P) { return tanh(x[0] * x[1] + x[2]) * x[0]; }},

      {"reduce_sum", reduced(ReduceKind::sum)},
      {"reduce_mean", reduced(ReduceKind::mean)},
      {"reduce_prod", reduced(ReduceKind::prod)},
      {"reduce_sum_squares", reduced(ReduceKind::sum_squares)},
      {"reduce_max", reduced(ReduceKind::max)},
      {"reduce_min", reduced(ReduceKind::min)},
      {"reduce_l1", reduced(ReduceKind::l1)},
      {"reduce_l2", reduced(ReduceKind::l2)},
      {"reduce_log_sum", reduced(ReduceKind::log_sum)},
      {"reduce_log_sum_exp", reduced(ReduceKind::log_sum_exp)},
      {"prod_of_all", [](X x, P) { return prod(x[0]); }},
      {"softmax", [](X x, P) { return softmax(x[0], 1); }},
      {"softmax_first", [](X x, P) { return softmax(x[0], 0); }},
      {"log_softmax", [](X x, P) { return log_softmax(x[0], 1); }},
      {"variance", [](X x, P p) { return variance(x[0], {1}, p[0]); }},
      {"deviation", [](X x, P p) { return deviation(x[0], {1}, p[0]); }},
      {"cumprod", scanned(ScanKind::prod)},
      {"cumsum", scanned(ScanKind::sum)},
      {"cummax", scanned(ScanKind::max)},
      {"cummin", scanned(ScanKind::min)},
      {"log_cum_sum_exp", scanned(ScanKind::log_sum_exp)},
      {"sort", [](X x, P) { return sort(x[0], 1); }},
      {"sort_descending", [](X x, P) { return sort(x[0], 1, true); }},
      {"top_k", [](X x, P) { return top_k(x[0], 3, 1).values; }},
      {"top_k_least", [](X x, P) { return top_k(x[0], 2, 0, false).values; }},

      {"index_select", [](X x, P) { return x[0].dtype() == DType::c64 ? square(gather(x[0], x[1])) : sin(x[0][{x[1]}]); }},
      {"gather_elements", [](X x, P) { return sin(gather_elements(x[0], x[1], 1)); }},
      {"gather_pairs", [](X x, P) { return sin(gather_nd(x[0], x[1])); }},
      {"index_add", [](X x, P) { return sin(at_add(x[0], {x[1]}, x[2])); }},
      {"index_set", [](X x, P) { return sin(at_set(x[0], {x[1]}, x[2])); }},
      {"scatter_set", scattered(ScatterKind::assign, true)},
      {"scatter_add", scattered(ScatterKind::add, true)},
      {"scatter_max", scattered(ScatterKind::max, false)},
      {"scatter_min", scattered(ScatterKind::min, false)},
      {"scatter_mul", scattered(ScatterKind::mul, false)},
      {"masked", [](X x, P) { return sin(x[0][{x[1]}]); }},
      {"masked_set", [](X x, P) { return sin(at_set(x[0], {x[1]}, x[2])); }},
      {"sliced_set", [](X x, P) { return sin(at_set(x[0], {slice(1, 3), slice(none, none, 2)}, x[1])); }},
      {"sliced", [](X x, P) { return sin(x[0][{slice(1, 3), slice(none, none, 2)}]); }},
      {"views",
       [](X x, P) {
         const Tensor rows = broadcast_to(reshape(x[0].T(), {2, 6})[{newaxis}], {3, 2, 6});
         return square(flip(rows, {1}))[{all, 0}];
       }},
      {"overlapping", [](X x, P) { return slice(x[0], 0, 0, 4) * slice(x[0], 0, 1, 5) * slice(x[0], 0, 2, 6); }},
      {"diagonal", [](X x, P) { return sin(diagonal(x[0], 1)); }},
      {"triangle", [](X x, P) { return sin(tril(x[0], 1) * triu(x[0], -1)); }},
      {"roll", [](X x, P) { return roll(x[0], {1, -4}, {0, 1}) * x[0]; }},
      {"repeated", [](X x, P) { return sin(repeat(x[0], x[1], 0)); }},
      {"joined", [](X x, P) { return sin(concat({x[0], x[1], x[0]}, 1)); }},
      {"stacked", [](X x, P) { return sin(stack({x[0], x[1], x[0]}, 1)); }},
      {"difference", [](X x, P) { return square(diff(x[0], 1, 2)); }},
      {"pad",
       [](X x, P p) {
         constexpr PadMode kModes[] = {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::wrap};
         const std::int64_t before[] = {0, 0, 1, 2}, after[] = {0, 0, 2, 1};
         return sin(pad(x[0], before, after, kModes[whole(p[0])], p[0] == 0 ? 3 : 0));
       }},
      {"crop",
       [](X x, P) {
         const std::int64_t before[] = {0, 0, 0, -1}, after[] = {0, 0, -1, 2};
         return sin(pad(x[0], before, after));
       }},
      {"no_elements", [](X x, P) { return exp(sum(x[0], {0})) * 2; }},

      {"matmul", [](X x, P) { return matmul(x[0], x[1]); }},
      {"einsum", [](X x, P p) { return einsum(kEinsums[whole(p[0])], x); }},
      {"outer", [](X x, P) { return outer(x[0], x[1]); }},
      {"tensordot", [](X x, P) { return tensordot(x[0], x[1], 2); }},
      {"vecdot", [](X x, P) { return vecdot(x[0], x[1]); }},

      {"layer_norm", [](X x, P) { return layer_norm(x[0], x[1], x[2], 1e-5); }},
      {"layer_norm_plain", [](X x, P) { return layer_norm(x[0], {}, {}, 0.125); }},
      {"layer_norm_axes", [](X x, P) { return layer_norm(x[0], x[1], {}, 1e-3); }},
      {"rms_norm", [](X x, P) { return rms_norm(x[0], x[1], 1e-5); }},
      {"rms_norm_plain", [](X x, P) { return rms_norm(x[0], {}, 0.125); }},
      {"group_norm", [](X x, P) { return group_norm(x[0], x[1], x[2], 2, 1e-3); }},
      {"instance_norm", [](X x, P) { return instance_norm(x[0], x[1], x[2], 1e-3); }},
      {"batch_norm", [](X x, P) { return batch_norm(x[0], x[1], x[2], x[3], x[4], 1e-3); }},
      {"batch_norm_training",
       [](X x, P) { return batch_norm(x[0], mean(x[0], {0, 2}), variance(x[0], {0, 2}), x[1], x[2], 1e-3); }},
      {"cross_entropy", [](X x, P) { return -mean(sum(x[1] * log(softmax(x[0], 1)), {1})); }},
      {"cross_entropy_of_logits",
       [](X x, P) { return -mean(gather_elements(log_softmax(x[0], 1), reshape(x[1], {3, 1}), 1)); }},
      {"attend", [](X x, P) { return matmul(softmax(matmul(x[0], permute(x[1], {0, 2, 1})) * 0.5, -1), x[2]); }},
      {"attention", attends({})},
      {"attention_causal", attends({.causal = true, .top_left = true})},
      {"attention_mask", attends({})},

      // strides, dilations and padding of each axis, groups
      {"conv",
       [](X x, P p) {
         const std::size_t n = p.size() / 3;
         ConvOptions o{.strides = dims(p, 0, n), .groups = whole(p.back())};
         if (n == 1) {
           o.padding = dims(p, 1, 1);
         } else if (n == 2) {
           o.padding = dims(p, 2, 2), o.dilations = dims(p, 4, 2);
         }
         return conv(x[0], x[1], x[2], o);
       }},
      {"conv_transpose",
       [](X x, P) {
         return conv_transpose(x[0], x[1], x[2], {{.strides = {2, 1}, .padding = {1, 0}, .groups = 2}, {1, 0}, {}});
       }},
      {"conv_pool", [](X x, P) { return max_pool(conv(x[0], x[1], {}, {.padding = {1, 1}}), {.window = {2, 2}}); }},
      {"max_pool",
       [](X x, P p) {
         const auto two = [](double v) { return Dims{whole(v), whole(v)}; };
         const bool image = x[0].rank() == 4;
         const Tensor y = max_pool(image ? x[0] : x[0][{newaxis}], {.window = two(p[0]),
                                                                   .strides = two(p[1]),
                                                                   .dilations = two(p[3]),
                                                                   .padding = two(p[2])});
         return image ? y : y[{0}];
       }},
      {"average_pool",
       [](X x, P p) {
         return square(average_pool(x[0], {.window = {3, 3},
                                           .strides = {2, 2},
                                           .padding = {1, 1},
                                           .ceil_mode = p[2] == 1,
                                           .count_padding = p[0] == 1,
                                           .divisor = whole(p[1])}));
       }},
      {"lp_pool", [](X x, P p) { return lp_pool(x[0], p[0], {.window = {3}, .strides = {2}}); }},
      {"adaptive_average_pool", [](X x, P) { return square(adaptive_average_pool(x[0], {3, 2})); }},
      {"adaptive_max_pool", [](X x, P) { return adaptive_max_pool(x[0], {3, 2}); }},
      {"unfold",
       [](X x, P) {
         return square(unfold(x[0], {2, 2}, {.strides = {2, 1}, .dilations = {1, 2}, .padding = {1, 0}}));
       }},
      {"fold",
       [](X x, P) {
         return square(fold(x[0], {5, 4}, {2, 2}, {.strides = {2, 1}, .dilations = {1, 2}, .padding = {1, 0}}));
       }},
      {"pixel_shuffle", [](X x, P) { return square(pixel_shuffle(x[0], 2)); }},
      {"upsample",
       [](X x, P p) {
         const Resizing& r = kResizes[whole(p[0])];
         return square(upsample(x[0], r.sizes, r.options));
       }},
      {"affine_grid", [](X x, P) { return square(affine_grid(x[0], {3, 4})); }},
      {"grid_sample",
       [](X x, P p) {
         constexpr SampleMode kModes[] = {SampleMode::nearest, SampleMode::linear, SampleMode::cubic};
         constexpr SamplePadding kPaddings[] = {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection};
         return grid_sample(
             x[0], x[1], {.mode = kModes[whole(p[0])], .padding = kPaddings[whole(p[1])], .align_corners = p[2] == 1});
       }},
      {"fake_quantize", [](X x, P) { return fake_quantize(x[0], 0.25, 2, {.low = -8, .high = 7}) * x[0]; }},

      {"lstm",
       [](X x, P) {
         const bool two = x[1].shape()[0] == 2;
         const auto r =
             lstm(x[0], x[3], x[4], {.bias = x[5], .recurrent_bias = x[6], .initial_h = x[1], .initial_c = x[2]},
                  {.direction = two ? RnnDirection::bidirectional : RnnDirection::forward});
         return joined({r.y, r.h, r.c});
       }},
      {"gru",
       [](X x, P) {
         const bool two = x[1].shape()[0] == 2;
         const auto r = gru(x[0], x[2], x[3], {.bias = x[4], .recurrent_bias = x[5], .initial_h = x[1]},
                            {.direction = two ? RnnDirection::bidirectional : RnnDirection::forward});
         return joined({r.y, r.h});
       }},
      {"rnn_tanh", plain_rnn(RnnFunction::tanh)},
      {"rnn_relu", plain_rnn(RnnFunction::relu)},

      {"conj", [](X x, P) { return conj(x[0]) * conj(x[0]); }},
      {"real", [](X x, P) { return square(real(x[0])); }},
      {"imag", [](X x, P) { return square(imag(x[0])); }},
      {"real_loss",
       [](X x, P) { return sum(square(abs(x[0] * x[1]))) + sum(real(x[0] * conj(x[0]))); }},

      {"cholesky", [](X x, P p) { return cholesky(definite(x[0]), p[0] == 1); }},
      {"cholesky_solve",
       [](X x, P p) { return cholesky_solve(x[1], cholesky(definite(x[0]), p[0] == 1), p[0] == 1); }},
      {"cholesky_inverse", [](X x, P) { return cholesky_inverse(cholesky(definite(x[0]))); }},
      {"solve_triangular",
       [](X x, P p) {
         const Tensor a = x[0] + 3 * eye(x[0].shape()[-1], x[0].dtype());
         return solve_triangular(a, x[1], {.upper = p[0] == 1, .adjoint = p[1] == 1, .unit = p[2] == 1});
       }},
      {"vector_norm",
       [](X x, P p) {
         // The script's infinities are 1e300.
         const double order = std::abs(p[0]) < 1e300 ? p[0] : p[0] * std::numeric_limits<double>::infinity();
         return vector_norm(x[0], order, 1);
       }},
      {"matrix_norm",
       [](X x, P p) {
         constexpr MatrixNorm kOrders[] = {MatrixNorm::fro, MatrixNorm::one, MatrixNorm::inf, MatrixNorm::minus_one,
                                           MatrixNorm::minus_inf, MatrixNorm::two, MatrixNorm::minus_two, MatrixNorm::nuc};
         return matrix_norm(x[0], kOrders[whole(p[0])]);
       }},
      {"inner", [](X x, P) { return inner(x[0], x[1]); }},
      {"cross", [](X x, P) { return cross(x[0], x[1]); }},
      {"kron", [](X x, P) { return kron(x[0], x[1]); }},
      {"trace", [](X x, P) { return trace(x[0]); }},
      {"matrix_power", [](X x, P p) { return matrix_power(x[0], whole(p[0])); }},
      {"multi_dot", [](X x, P) { return multi_dot(x); }},
      {"diag", [](X x, P p) { return diag(x[0], whole(p[0])); }},
      {"vander", [](X x, P p) { return vander(x[0], whole(p[0]), true); }},
      {"qr",
       [](X x, P p) {
         const auto [q, r] = qr(x[0], p[0] == 1 ? QrMode::complete : QrMode::reduced);
         return p[1] == 0 ? q : p[1] == 1 ? r : joined({q, r});
       }},
      // Parts of tests/reference/svd.py, which do not depend on the phases of vectors.
      {"svd",
       [](X x, P p) {
         const auto [u, s, vh] = svd(x[0], false);
         const DType type = u.dtype();
         const auto adjoint = [](const Tensor& y) { return y.dtype() == DType::c64 ? conj(y.T()) : y.T(); };
         const Tensor weights = cast(arange(1, s.shape()[-1] + 1), type);
         const std::vector<Tensor> parts{s, matmul(u * weights, adjoint(u)), matmul(adjoint(vh) * weights, vh),
                                         matmul(u, vh)};
         return p[0] < 4 ? parts[static_cast<std::size_t>(p[0])]
                         : joined({cast(s, type), parts[1], parts[2], parts[3]});
       }},
      {"svdvals", [](X x, P) { return svdvals(x[0]); }},
      {"pinv", [](X x, P p) { return pinv(x[0], p.empty() ? std::nullopt : std::optional(p[0])); }},
      {"cond", [](X x, P p) { return condition_number(x[0], p[0] == 2 ? MatrixNorm::two : MatrixNorm::minus_two); }},
      {"lstsq", [](X x, P) { return lstsq(x[0], x[1]).solution; }},
      {"lstsq_svd",
       [](X x, P p) {
         return lstsq_svd(x[0], x[1], p.empty() ? std::nullopt : std::optional(p[0])).solution;
       }},
  };
  return table;
}

Tensor called(const std::string& name, X x, P p) {
  const auto it = functions_of_cases().find(name);
  return it != functions_of_cases().end() ? it->second(x, p) : elementwise(name, x, p);
}

bool same(double got, double want, double relative, double size) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= relative * std::max({1.0, std::abs(want), size});
}

// Of complex numbers both parts.
std::vector<double> numbers(const Tensor& x) {
  if (x.dtype() != DType::c64) return x.to_vector<double>();
  std::vector<double> parts = real(x).to_vector<double>();
  for (const double v : imag(x).to_vector<double>()) parts.push_back(v);
  return parts;
}

class PyTorchDerivatives : public OnDevice {
 protected:
  void compare(DType type) {
    for (const char* set : {"derivatives", "qr/gradients", "svd/gradients"}) compare(ReferenceCases(set), type);
  }
  void compare(const ReferenceCases& file, DType type) {
    for (const auto& c : file.list("cases.json")) {
      if (type == DType::f64 && !c.value("f64", true)) continue;  // Weft computes it in f32 alone
      if (device.is_gpu() && leave_out_costly_problem()) continue;
      const auto name = c.at("function").get<std::string>();
      const int order = c.at("order").get<int>();
      const auto p = c.value("parameters", Parameters());
      SCOPED_TRACE(std::format("{}, order {}, {}", name, order, c.value("parameters", nlohmann::json()).dump()));
      const auto stored = [&](const View& v) {
        return v.dtype == DType::f64 ? tensor(v.dtype, v.shape(), bytes_of(v), type) : tensor_of(v);
      };
      const auto operands = [&](const char* list) {
        Values x;
        for (const View& v : file.operands(c, list)) x.push_back(stored(v));
        return x;
      };
      const Tensor w = stored(file.operand(c.at("weights")));
      const auto defined = [](const Values& all) {
        Values x;
        std::ranges::copy_if(all, std::back_inserter(x), [](const Tensor& t) { return t.defined(); });
        return x;
      };
      const auto gradients = [&](X x) { return defined(vjp([&](X at) { return called(name, at, p); })(x).second(w)); };
      const Values x = operands("operands"), expected = operands("gradients");
      const Values g = order == 1 ? gradients(x) : defined(vjp(gradients)(x).second(operands("directions")));
      ASSERT_EQ(g.size(), expected.size());
      // Accuracy in f64 is that of the numbers; in f32 of the largest one, too, of which others are differences.
      const double relative = type == DType::f64 ? c.value("relative64", 1e-9) : c.value("relative", 1e-5);
      for (std::size_t i = 0; i < g.size(); ++i) {
        ASSERT_EQ(g[i].type(), expected[i].type());
        const auto got = numbers(g[i]), want = numbers(expected[i]);
        double size = 0;
        if (order == 2 || x[0].rank() > 1) {
          for (const double v : want) size = std::isfinite(v) ? std::max(size, std::abs(v)) : size;
        }
        for (std::size_t k = 0; k < got.size(); ++k) {
          EXPECT_TRUE(same(got[k], want[k], relative, size))
              << "gradient " << i << ", element " << k << ": " << got[k] << ", PyTorch's is " << want[k];
        }
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, PyTorchDerivatives, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(PyTorchDerivatives, InF32) { compare(DType::f32); }

TEST_P(PyTorchDerivatives, InF64) {
  if (GetParam() != "cpu") GTEST_SKIP() << "f64 is computed on the cpu";
  compare(DType::f64);
}

// Functions that PyTorch lacks, or whose results have no derivative, or none for all operands (numeric_cases.cc).
constexpr std::string_view kNotPyTorchs[] = {
    "gammainc",  "gammaincc", "betainc",    "gammaincinv", "gammainccinv", "betaincinv", "j0",
    "j1",        "y0",        "y1",         "k0",          "k1",           "k0e",        "k1e",
    "cbrt",      "nextafter", "is_nan",     "is_inf",      "is_finite",    "signbit",    "equal",
    "not_equal", "less",      "less_equal", "greater",     "greater_equal"};

TEST(PyTorchDerivativesCoverage, EveryElementwiseFunctionHasItsValues) {
  std::set<std::string> seen;
  for (const auto& c : ReferenceCases("derivatives").list("cases.json"))
    seen.insert(c.at("function").get<std::string>());
  for (const FunctionInfo& f : functions()) {
    const auto op = scalar_op(f.name);
    if (op && !(kernels::info(*op).types & (kernels::kFloat | kernels::kComplex))) continue;
    if (std::ranges::find(kNotPyTorchs, f.name) != std::end(kNotPyTorchs)) continue;
    EXPECT_TRUE(seen.contains(std::string(f.name))) << f.name;
  }
}

}  // namespace
}  // namespace weft::test
