// Every public function on tensors of 10^5 elements, as many as fit a core's caches, so that what a function does
// besides reading and writing shows.
#include <format>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/evaluate.h"
#include "weft/fft.h"
#include "weft/indexing.h"
#include "weft/linalg.h"
#include "weft/losses.h"
#include "weft/numeric.h"
#include "weft/pooling.h"
#include "weft/random.h"
#include "weft/resampling.h"
#include "weft/segments.h"
#include "weft/sets.h"
#include "weft/signal.h"
#include "weft/special.h"
#include "weft/statistics.h"

namespace weft::bench {
namespace {

class FunctionsBench {
 public:
  FunctionsBench(const Device& device, const Options& options, Report& report)
      : device_(device), options_(options), report_(report), n_(options.elements / 400 * 400) {
    set_default_device(device);
    random::seed(7);
    wake(device_);
    x = random::normal({n_});
    y = random::normal({n_});
    p = random::uniform({n_}, 0.01, 0.99);
    q = random::uniform({n_}, 0.1, 10);
    gaps = select(p < 0.02, std::numeric_limits<float>::quiet_NaN(), x);
    numbers = random::integers({n_}, 0, 100);
    long_numbers = cast(numbers, DType::i64);
    others = random::integers({n_}, 1, 1000);
    mask = x > 0;
    other_mask = y > 0;
    z = complex(x, y);
    rows = reshape(x, {n_ / 100, 100});
    columns = reshape(x, {100, n_ / 100});
    eval({x, y, p, q, gaps, numbers, long_numbers, others, mask, other_mask, z, rows, columns});
  }

  void elementwise_functions() {
    for (const char* name :
         {"neg",        "abs",        "sign",      "square", "reciprocal", "ceil",        "floor",     "trunc",
          "round",      "exp",        "exp2",      "expm1",  "sin",        "cos",         "tan",       "atan",
          "sinh",       "cosh",       "tanh",      "asinh",  "erf",        "erfc",        "cbrt",      "sigmoid",
          "logsigmoid", "softplus",   "mish",      "relu",   "silu",       "gelu_erf",    "gelu_tanh", "relu6",
          "hardtanh",   "leaky_relu", "elu",       "selu",   "celu",       "hardsigmoid", "hardswish", "softsign",
          "hardshrink", "softshrink", "threshold", "is_nan", "is_inf",     "is_finite",   "signbit"}) {
      measure(name, [&, name] { return elementwise(name, {x}); });
    }
    for (const char* name : {"sqrt", "rsqrt", "log", "log2", "log10", "log1p", "lgamma", "digamma"}) {
      measure(name, [&, name] { return elementwise(name, {q}); });
    }
    for (const char* name : {"asin", "acos", "atanh", "erfinv"}) {
      measure(name, [&, name] { return elementwise(name, {p}); });
    }
    measure("acosh", [&] { return acosh(q + 1); });
    for (const char* name : {"add", "sub", "mul", "div", "rem", "remainder", "floor_divide", "min", "max", "fmin",
                             "fmax", "atan2", "hypot", "copysign", "nextafter", "logaddexp", "equal", "less"}) {
      measure(name, [&, name] { return elementwise(name, {x, y}); });
    }
    measure("pow", [&] { return pow(q, y); });
    measure("clamp", [&] { return clamp(x, -1, 1); });
    measure("fma", [&] { return fma(x, y, p); });
    measure("lerp", [&] { return lerp(x, y, p); });
    measure("select", [&] { return select(mask, x, y); });
    measure("logical_and", [&] { return logical_and(mask, other_mask); });
    measure("logical_not", [&] { return logical_not(mask); });
    for (const char* name :
         {"add", "mul", "div", "floor_divide", "remainder", "min", "less", "gcd", "lcm", "bitwise_and", "shift_left"}) {
      measure(std::format("{} i32", name), [&, name] { return elementwise(name, {numbers, others}); });
    }
    measure("add i64", [&] { return long_numbers + long_numbers; });
    measure("bitwise_not i32", [&] { return bitwise_not(numbers); });
    measure("popcount i32", [&] { return popcount(numbers); });
    measure("cast i32 to f32", [&] { return cast(numbers, DType::f32); });
    measure("cast f32 to i32", [&] { return cast(x, DType::i32); });
    measure("cast f32 to f64", [&] { return cast(x, DType::f64); });
    measure("cast f32 to f16", [&] { return cast(x, DType::f16); });
    measure("cast i32 to i64", [&] { return cast(numbers, DType::i64); });
    measure("cast bool to f32", [&] { return cast(mask, DType::f32); });
    measure("cast f32 to bool", [&] { return cast(x, DType::boolean); });
    measure("complex", [&] { return complex(x, y); });
    measure("real", [&] { return real(z); });
    measure("angle", [&] { return angle(z); });
    measure("abs c64", [&] { return abs(z); });
    measure("conj", [&] { return conj(z); });
    measure("add c64", [&] { return z + z; });
    measure("mul c64", [&] { return z * z; });
    measure("div c64", [&] { return z / z; });
    measure("exp c64", [&] { return exp(z); });
    const Tensor wide = cast(x, DType::f64), half = cast(x, DType::f16);
    eval({wide, half});
    measure("add f64", [&] { return wide + wide; });
    measure("exp f64", [&] { return exp(wide); });
    measure("sin f64", [&] { return sin(wide); });
    measure("add f16", [&] { return half + half; });
    measure("exp f16", [&] { return exp(half); });
    measure("sum f64", [&] { return sum(wide); });
    measure("sum f16", [&] { return sum(half); });
    measure("sort f64", [&] { return sort(wide); });
  }

  void special_functions() {
    measure("sinc", [&] { return sinc(x); });
    measure("xlogy", [&] { return xlogy(q, p); });
    measure("xlog1py", [&] { return xlog1py(q, p); });
    measure("entr", [&] { return entr(q); });
    measure("logit", [&] { return logit(p); });
    measure("ndtr", [&] { return ndtr(x); });
    measure("log_ndtr", [&] { return log_ndtr(x); });
    measure("ndtri", [&] { return ndtri(p); });
    measure("polygamma 1", [&] { return polygamma(1, q); });
    measure("polygamma 3", [&] { return polygamma(3, q); });
    measure("gammainc", [&] { return gammainc(q, abs(x) * 5); });
    measure("gammaincc", [&] { return gammaincc(q, abs(x) * 5); });
    measure("betainc", [&] { return betainc(q, 2, p); });
    measure("gammaincinv", [&] { return gammaincinv(q, p); });
    measure("betaincinv", [&] { return betaincinv(q, 2, p); });
    measure("j0", [&] { return j0(x); });
    measure("k0", [&] { return k0(abs(x)); });
    measure("i0", [&] { return i0(x); });
    measure("i0e", [&] { return i0e(x); });
    measure("i1", [&] { return i1(x); });
    measure("i1e", [&] { return i1e(x); });
  }

  void reductions() {
    measure("sum", [&] { return sum(x); });
    measure("prod", [&] { return prod(x); });
    measure("mean", [&] { return mean(x); });
    measure("reduce max", [&] { return max(x); });
    measure("reduce min", [&] { return min(x); });
    measure("variance", [&] { return variance(x); });
    measure("deviation", [&] { return deviation(x); });
    measure("any", [&] { return any(mask & !mask); });
    measure("all", [&] { return all(mask | !mask); });
    measure("count_nonzero", [&] { return count_nonzero(x); });
    measure("argmax", [&] { return argmax(x); });
    measure("argmin", [&] { return argmin(x); });
    measure("log_sum_exp", [&] { return reduce(ReduceKind::log_sum_exp, x, {0}); });
    measure("sum i32", [&] { return sum(numbers); });
    measure("sum bool", [&] { return sum(mask); });
    measure("sum c64", [&] { return sum(z); });
    measure("max i32", [&] { return max(numbers); });
    measure("sum of rows", [&] { return sum(rows, {-1}); });
    measure("sum of columns", [&] { return sum(rows, {0}); });
    measure("max of rows", [&] { return max(rows, {-1}); });
    measure("max of columns", [&] { return max(rows, {0}); });
    measure("variance of rows", [&] { return variance(rows, {-1}); });
    measure("argmax of rows", [&] { return argmax(rows, {-1}); });
    measure("argmax of columns", [&] { return argmax(rows, {0}); });
    measure("nansum", [&] { return nansum(gaps); });
    measure("nanprod", [&] { return nanprod(gaps); });
    measure("nanmin", [&] { return nanmin(gaps); });
    measure("nanmax", [&] { return nanmax(gaps); });
    measure("nanmean", [&] { return nanmean(gaps); });
    measure("nanvar", [&] { return nanvar(gaps); });
    measure("nanstd", [&] { return nanstd(gaps); });
    measure("nanargmin", [&] { return nanargmin(gaps); });
    measure("nanargmax", [&] { return nanargmax(gaps); });
    measure("nancumsum", [&] { return nancumsum(gaps); });
    measure("nancumprod", [&] { return nancumprod(gaps); });
    measure("nan_to_num", [&] { return nan_to_num(gaps); });
    measure("ptp", [&] { return ptp(x); });
    measure("average", [&] { return average(x, q); });
    measure("vector_norm", [&] { return vector_norm(x); });
    measure("vector_norm 1", [&] { return vector_norm(x, 1); });
    measure("vector_norm 3", [&] { return vector_norm(x, 3); });
    measure("vector_norm inf", [&] { return vector_norm(x, std::numeric_limits<double>::infinity()); });
    measure("matrix_norm", [&] { return matrix_norm(rows); });
    measure("median", [&] { return median(x); });
    measure("quantile", [&] { return quantile(x, {0.1, 0.5, 0.9}); });
    measure("nanmedian", [&] { return nanmedian(gaps); });
    measure("nanquantile", [&] { return nanquantile(gaps, 0.3); });
    measure("median of rows", [&] { return median(rows, {-1}); });
    measure("mode", [&] { return mode(numbers).values; });
    measure("cov", [&] { return cov(columns); });
    measure("corrcoef", [&] { return corrcoef(columns); });
    measure("histogram 10", [&] { return histogram(x).counts; });
    measure("histogram 1000", [&] { return histogram(x, 1000).counts; });
    const Tensor edges = linspace(-3, 3, 61), uneven = sort(random::normal({61}));
    eval({edges, uneven});
    measure("histogram of edges", [&] { return histogram(x, uneven).counts; });
    measure("digitize", [&] { return digitize(x, edges); });
    measure("bincount", [&] { return bincount(numbers); });
    measure("bincount with weights", [&] { return bincount(numbers, x); });
  }

  void scans() {
    measure("cumsum", [&] { return cumulative_sum(x); });
    measure("cumprod", [&] { return cumulative_prod(p + 0.5); });
    measure("cumsum of rows", [&] { return cumsum(rows, -1); });
    measure("cumsum of columns", [&] { return cumsum(rows, 0); });
    measure("cumsum i32", [&] { return cumulative_sum(numbers); });
    measure("cummax", [&] { return cummax(x, 0).values; });
    measure("logcumsumexp", [&] { return weft::scan(ScanKind::log_sum_exp, x, 0); });
    measure("diff", [&] { return diff(x); });
    measure("trapezoid", [&] { return trapezoid(x); });
    measure("trapezoid of x", [&] { return trapezoid(x, y); });
    measure("cumulative_trapezoid", [&] { return cumulative_trapezoid(x); });
    measure("gradient", [&] { return gradient(x, 0); });
    measure("unwrap", [&] { return unwrap(q); });
    const Tensor points = sort(random::normal({1000})), values = random::normal({1000});
    const Tensor coefficients = random::normal({6}), window = random::normal({32}),
                 long_window = random::normal({2000});
    eval({points, values, coefficients, window, long_window});
    measure("interp", [&] { return interp(x, points, values); });
    measure("polyval", [&] { return polyval(coefficients, x); });
    measure("convolve 32", [&] { return convolve(x, window); });
    measure("convolve 2000", [&] { return convolve(x, long_window); });
    measure("fft_convolve", [&] { return fft_convolve(x, long_window); });
    measure("correlate 32", [&] { return correlate(x, window); });
  }

  void order() {
    const Tensor set = random::integers({1000}, 0, 2000), floats = random::normal({1000}),
                 sorted = sort(random::normal({n_}));
    eval({set, floats, sorted});
    measure("sort", [&] { return sort(x); });
    measure("sort i32", [&] { return sort(others); });
    measure("sort of rows", [&] { return sort(rows); });
    measure("sort of columns", [&] { return sort(rows, 0); });
    measure("argsort", [&] { return argsort(x); });
    measure("argsort of rows", [&] { return argsort(rows); });
    measure("lexsort", [&] { return lexsort({x, numbers}); });
    measure("partition", [&] { return partition(x, n_ / 2); });
    measure("partition 100", [&] { return partition(x, 100); });
    measure("partition of rows", [&] { return partition(rows, 50); });
    measure("argpartition", [&] { return argpartition(x, n_ / 2); });
    measure("argpartition 100", [&] { return argpartition(x, 100); });
    measure("top_k 10", [&] { return top_k(x, 10).values; });
    measure("top_k 1000", [&] { return top_k(x, std::min<std::int64_t>(n_, 1000)).values; });
    measure("top_k of rows", [&] { return top_k(rows, 5).values; });
    measure("searchsorted", [&] { return searchsorted(sorted, y); });
    measure("unique", [&] { return unique(numbers).values; });
    measure("unique f32", [&] { return unique(x).values; });
    measure("isin", [&] { return isin(others, set); });
    measure("isin f32", [&] { return isin(x, floats); });
    measure("isin 10", [&] { return isin(others, slice(set, 0, 0, 10)); });
    measure("intersect1d", [&] { return intersect1d(numbers, others); });
    measure("union1d", [&] { return union1d(numbers, others); });
    measure("setdiff1d", [&] { return setdiff1d(others, numbers); });
    measure("setxor1d", [&] { return setxor1d(numbers, others); });
    measure("nonzero", [&] { return nonzero(mask)[0]; });
    measure("compress", [&] { return compress(mask, x); });
  }

  void moves() {
    const Tensor at = random::integers({n_}, 0, n_), some = random::integers({1000}, 0, n_),
                 each = random::integers({n_ / 100, 100}, 0, 100), ids = sort(numbers);
    eval({at, some, each, ids});
    measure("full", [&] { return full({n_}, 3.0) + 0; });
    measure("arange", [&] { return arange(0, n_); });
    measure("linspace", [&] { return linspace(0, 1, n_); });
    measure("eye", [&] { return eye(316); });
    measure("tril", [&] { return tril(rows); });
    measure("concat", [&] { return concat({x, y}); });
    measure("stack", [&] { return stack({x, y}, 1); });
    measure("transpose", [&] { return contiguous(rows.T()); });
    measure("flip", [&] { return contiguous(flip(x)); });
    measure("roll", [&] { return roll(x, 1000); });
    measure("tile", [&] { return tile(slice(x, 0, 0, n_ / 4), {4}); });
    measure("repeat", [&] { return repeat(slice(x, 0, 0, n_ / 4), 4); });
    measure("pad", [&] { return pad(x, std::array<std::int64_t, 1>{100}, std::array<std::int64_t, 1>{100}); });
    measure("pad reflect", [&] {
      return pad(x, std::array<std::int64_t, 1>{100}, std::array<std::int64_t, 1>{100}, PadMode::reflect);
    });
    measure("gather", [&] { return gather(x, at); });
    measure("gather_elements", [&] { return gather_elements(rows, each, 1); });
    measure("scatter_elements", [&] { return scatter_elements(ScatterKind::assign, x, at, y, 0); });
    measure("scatter add", [&] { return at_add(x, {at}, y); });
    measure("one_hot", [&] { return one_hot(slice(numbers, 0, 0, n_ / 100), 100); });
    measure("segment_sum", [&] { return segment_sum(x, ids, 100); });
    measure("segment_sum unordered", [&] { return segment_sum(x, numbers, 100); });
    measure("segment_mean", [&] { return segment_mean(x, numbers, 100); });
    measure("segment_max", [&] { return segment_max(x, numbers, 100); });
    measure("segment_softmax", [&] { return segment_softmax(x, numbers, 100); });
    measure("outer", [&] { return outer(slice(x, 0, 0, n_ / 100), slice(y, 0, 0, 100)); });
    measure("diagonal", [&] { return contiguous(diagonal(rows)); });
    measure("vander", [&] { return vander(slice(p, 0, 0, n_ / 10), 10); });
    measure("meshgrid", [&] { return contiguous(meshgrid({slice(x, 0, 0, 316), slice(y, 0, 0, 316)})[0]); });
  }

  void fourier() {
    const Tensor power = slice(x, 0, 0, std::min<std::int64_t>(n_, 65536)), z_power = slice(z, 0, 0, power.size());
    const Tensor half = rfft(x), image = reshape(slice(x, 0, 0, n_), {-1, 200}), window = hann_window(512);
    const Tensor z_rows = reshape(z, {-1, 100}), frames = stft(x, 512, {.window = window});
    eval({power, z_power, half, image, window, z_rows, frames});
    measure("fft", [&] { return fft(z); });
    measure("fft of real numbers", [&] { return fft(x); });
    measure("ifft", [&] { return ifft(z); });
    measure("rfft", [&] { return rfft(x); });
    measure("irfft", [&] { return irfft(half, n_); });
    measure("fft 2^16", [&] { return fft(z_power); });
    measure("rfft 2^16", [&] { return rfft(power); });
    measure("fft of a prime", [&] { return fft(slice(z, 0, 0, n_ >= 99991 ? 99991 : 97)); });
    measure("fft of rows of 100", [&] { return fft(z_rows); });
    measure("rfft of rows of 100", [&] { return rfft(rows); });
    measure("fft of columns", [&] { return fft(z_rows, {}, 0); });
    measure("fftn", [&] { return fftn(image); });
    measure("rfftn", [&] { return rfftn(image); });
    measure("irfftn", [&] { return irfftn(rfftn(image)); });
    measure("fftshift", [&] { return contiguous(fftshift(x)); });
    measure("dct", [&] { return dct(x); });
    measure("dct 3", [&] { return dct(x, 3); });
    measure("idct", [&] { return idct(x); });
    measure("dct of rows of 100", [&] { return dct(rows); });
    measure("stft", [&] { return stft(x, 512, {.window = window}); });
    measure("istft", [&] { return istft(frames, 512, {.window = window}); });
  }

  void layers() {
    const Tensor weight = random::normal({100}), bias = random::normal({100}), square = random::normal({316, 316});
    const Tensor labels = random::integers({n_ / 100}, 0, 100);
    const Tensor images = reshape(x, {1, 10, -1, 10}), kernel = random::normal({10, 10, 3, 3});
    eval({weight, bias, square, labels, images, kernel});
    measure("softmax of rows", [&] { return softmax(rows, -1); });
    measure("softmax of columns", [&] { return softmax(rows, 0); });
    measure("log_softmax of rows", [&] { return log_softmax(rows, -1); });
    measure("layer_norm", [&] { return layer_norm(rows, weight, bias, 1e-5); });
    measure("rms_norm", [&] { return rms_norm(rows, weight, 1e-5); });
    measure("cross_entropy", [&] { return cross_entropy(rows, labels); });
    measure("binary_cross_entropy_with_logits", [&] { return binary_cross_entropy_with_logits(x, p); });
    measure("mse_loss", [&] { return mse_loss(x, y); });
    measure("l1_loss", [&] { return l1_loss(x, y); });
    measure("huber_loss", [&] { return huber_loss(x, y); });
    measure("smooth_l1_loss", [&] { return smooth_l1_loss(x, y); });
    measure("kl_div", [&] { return kl_div(x, p); });
    measure("matmul 316", [&] { return matmul(square, square); });
    measure("matrix by vector", [&] { return matmul(rows, weight); });
    measure("vecdot", [&] { return vecdot(x, y); });
    measure("inner", [&] { return inner(rows, rows); });
    measure("cross", [&] {
      return cross(reshape(slice(x, 0, 0, n_ / 3 * 3), {-1, 3}), reshape(slice(y, 0, 0, n_ / 3 * 3), {-1, 3}));
    });
    measure("kron", [&] { return kron(slice(square, 0, 0, 17), slice(square, 0, 0, 1)); });
    measure("einsum", [&] { return einsum("ij,ij->i", {rows, rows}); });
    measure("trace", [&] { return trace(square); });
    measure("max_pool", [&] { return max_pool(images, {.window = {2, 2}, .strides = {2, 2}}); });
    measure("average_pool", [&] { return average_pool(images, {.window = {2, 2}, .strides = {2, 2}}); });
    measure("conv", [&] { return conv(images, kernel, {}, {.padding = {1, 1}}); });
    measure("upsample", [&] {
      return upsample(images, {images.shape()[2] * 2, images.shape()[3] * 2}, {.mode = ResizeMode::linear});
    });
    measure("random uniform", [&] { return random::uniform({n_}); });
    measure("random normal", [&] { return random::normal({n_}); });
    measure("random integers", [&] { return random::integers({n_}, 0, 100); });
    measure("random exponential", [&] { return random::exponential({n_}); });
    measure("random gamma", [&] { return random::gamma({n_}, 2.5); });
    measure("random poisson", [&] { return random::poisson({n_}, 4.0); });
    measure("random binomial", [&] { return random::binomial({n_}, 20, 0.3); });
    measure("permutation", [&] { return random::permutation(n_); });
  }

  void matrices() {
    if (n_ < 10000) return;
    const Tensor a = random::normal({316, 316}), positive = matmul(a, a.T()) + eye(316) * 316,
                 tall = random::normal({2400, 600}), small = random::normal({1000, 10, 10}),
                 b = random::normal({316, 10}), upper = triu(a) + eye(316) * 30;
    eval({a, positive, tall, small, b, upper});
    measure("cholesky 316", [&] { return cholesky(positive); });
    measure("lu_factor 316", [&] { return lu_factor(a).lu; });
    measure("solve 316", [&] { return solve(a, b); });
    measure("solve_triangular 316", [&] { return solve_triangular(upper, b, {.upper = true}); });
    measure("inv 316", [&] { return inv(a); });
    measure("det 316", [&] { return det(a); });
    measure("qr 316", [&] { return qr(a); });
    measure("qr 2400 x 600", [&] { return qr(tall); });
    measure("qr r 2400 x 600", [&] { return qr(tall, QrMode::r).r; });
    measure("lstsq 2400 x 600", [&] { return lstsq(tall, slice(tall, 1, 0, 1)).solution; });
    measure("eigh 316", [&] { return eigh(positive); });
    measure("eigvalsh 316", [&] { return eigvalsh(positive); });
    measure("svd 316", [&] { return svd(a); });
    measure("svdvals 316", [&] { return svdvals(a); });
    measure("svd 1000 of 10", [&] { return svd(small); });
    measure("qr 1000 of 10", [&] { return qr(small); });
    measure("inv 1000 of 10", [&] { return inv(small); });
    measure("eigh 1000 of 10", [&] { return eigh(small); });
    measure("pinv 316", [&] { return pinv(a); });
  }

 private:
  using Results = std::vector<Tensor>;
  static Results listed(Tensor y) { return {std::move(y)}; }
  static Results listed(const QrResult& y) { return {y.q, y.r}; }
  static Results listed(const EighResult& y) { return {y.values, y.vectors}; }
  static Results listed(const SvdResult& y) { return {y.u, y.s, y.vh}; }

  // The least time of an evaluation among several, of make()'s results.
  template <class F>
  void measure(const char* name, const F& make) {
    measure_results(name, [&make] { return listed(make()); });
  }
  template <class F>
  void measure(const std::string& name, const F& make) {
    measure(name.c_str(), make);
  }
  void measure_results(const std::string& name, const std::function<Results()>& make) {
    if (!asked(options_, name)) return;
    double least = 1e300;
    const auto begin = Clock::now();
    for (int turn = 0; turn < 5 || seconds_since(begin) < options_.timing.seconds; ++turn) {
      const auto start = Clock::now();
      eval(make());
      device_.wait();
      least = std::min(least, seconds_since(start));
    }
    report_.add(name, least * 1e6, "µs", false, {{"device", device_.name()}},
                std::format("{:40} {:12.1f} µs", name, least * 1e6));
  }

  Device device_;
  const Options& options_;
  Report& report_;
  std::int64_t n_;
  Tensor x, y, p, q, gaps, numbers, long_numbers, others, mask, other_mask, z, rows, columns;
};

}  // namespace

void bench_functions(const Device& device, const Options& options, Report& report) {
  FunctionsBench bench(device, options, report);
  bench.elementwise_functions();
  bench.special_functions();
  bench.reductions();
  bench.scans();
  bench.order();
  bench.moves();
  bench.fourier();
  bench.layers();
  bench.matrices();
}

}  // namespace weft::bench
