// Functions of f32 by the device's exp2, for devices whose exp2, fma, reciprocal and comparisons passed a test
// (kernels/device_math.h): they replace those of the same names in scalar_math.wgsl. Within 4 ULP like those (lgamma
// and digamma below 0, where their terms cancel: within 4 ULP of at least 1). Arguments far out, infinities and NaN
// take the slow path there. Functions whose names end in _fast leave the test for the slow path to the caller, for
// kernels that test many arguments together.

// True if |x| is not below the limit, or NaN.
fn is_beyond_f32(x: f32, limit: f32) -> bool { return !(abs(x) < limit); }

// n from the bits of n + 1.5 · 2^23, where |n| is below 2^22; infinities and NaN remain such. Sets bits that are set
// already, because compilers replace (n + shift) - shift by n.
fn unshifted_f32(b: u32) -> f32 { return bitcast<f32>(b | 0x4b000000u) - 12582912.0; }

// NaN is neither greater nor less.
fn min_f32(x: f32, y: f32) -> f32 { return select(min(x, y), x + y, !(x >= y) & !(x < y)); }
fn max_f32(x: f32, y: f32) -> f32 { return select(max(x, y), x + y, !(x >= y) & !(x < y)); }

// Limits are constants mostly, whose tests compilers evaluate.
fn clamp_f32(x: f32, low: f32, high: f32) -> f32 {
  let y = select(min(max(x, low), high), low + high, is_nan_f32(low) | is_nan_f32(high));
  return select(y, x, is_nan_f32(x));
}

// Negative numbers give NaN; 0 and infinity, for which the correction is undefined, give themselves. The root is not
// taken as x · inverseSqrt(x), because NVIDIA's compiler simplifies the square of that to x, and the correction to 0.
fn sqrt_f32(x: f32) -> f32 {
  let s = sqrt(x);
  let b = bitcast<u32>(x);
  return select(fma(0.5 / s, fma(-s, s, x), s), x, (b & 0x7fffffffu) < 0x800000u || b == 0x7f800000u);
}

fn root_f32(v: f32) -> f32 { return sqrt_f32(v); }

// The device's quotient, corrected by its remainder: what divides without one is exact. Where the correction is no
// number, or 0, which may take -0's sign, the quotient stays. Huge divisors are divided by four first, since devices
// may take the reciprocal of them for 0.
fn div_f32(a: f32, b: f32) -> f32 {
  let s = select(1.0, 0.25, (bitcast<u32>(b) & 0x7fffffffu) >= 0x7e000000u);
  let n = a * s;
  let d = b * s;
  let q = n / d;
  let rest = fma(-d, q, n);
  let better = fma(rest, 1.0 / d, q);
  return select(q, better, (bitcast<u32>(rest) << 1u) != 0u && (bitcast<u32>(better) & 0x7fffffffu) < 0x7f800000u);
}

fn quotient_f32(a: f32, b: f32) -> f32 {
  let r = 1.0 / b;
  let q = a * r;
  return fma(-fma(q, b, -a), r, q);        // -0 / b stays -0
}

// By a reciprocal after a Newton step and two corrections of the quotient, as processors with a fused multiply-add divide
// (Markstein, Computation of elementary functions on the IBM RISC System/6000, 1990).
fn div_rn_f32(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  // From 2^-60 to 2^60, or a dividend of zero: no step overflows or becomes denormal.
  if (y - 0x21800000u >= 0x3c000000u || (x != 0u && x - 0x21800000u >= 0x3c000000u)) { return div_rn_whole_f32(a, b); }
  let r = 1.0 / b;
  let s = fma(fma(-b, r, 1.0), r, r);
  let q = a * s;
  let p = fma(fma(-b, q, a), s, q);
  return signed_f32(fma(fma(-b, p, a), s, p), bitcast<f32>(bitcast<u32>(a) ^ bitcast<u32>(b)));
}

// By the device's exp2 and log2, whatever their precision, and one Newton step. Small numbers are multiplied by 2^96
// first, so that no difference becomes denormal.
fn cbrt_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  let small = b < 0x20000000u;
  let a = bitcast<f32>(b) * select(1.0, 0x1p96, small);
  let t = exp2(log2(a) * 0.33333333);
  let z = t * t;
  let r = (t - fma(z, t, -a) * (0.33333333 / z)) * select(1.0, 0x1p-32, small);
  return signed_f32(f32_from_bits(select(bitcast<u32>(r), b, b == 0u || b >= 0x7f800000u)), x);
}

// exp2(x · factor), corrected by the product's rounding error. `factor` is rounded; `rest` is its rounding error times
// ln 2. The result must be far from the ends of f32's range.
fn exp2_of_product_f32(x: f32, factor: f32, rest: f32) -> f32 {
  let h = x * factor;
  let e = exp2(h);
  return fma(e, fma(fma(x, factor, -h), 0.69314718, x * rest), e);
}

fn exp_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 87.0)) { return exp_sum_f32(x, 0.0, 0); }
  return exp2_of_product_f32(x, 1.44269502, 1.33497583e-8);
}

// Of -infinity the correction would be NaN.
fn exp_below_f32(x: f32, y: f32) -> f32 {
  let d = x - y;
  let h = d * 1.44269502;
  let e = exp2(h);
  let rest = fma(fma(d, 1.44269502, -h), 0.69314718, fma(d, 1.33497583e-8, lost_f32(x, y, d)));
  return select(e, fma(e, rest, e), d > -104.0);
}

fn exp2_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 126.0)) { return exp2_whole_f32(x); }
  return exp2(x);
}

fn sigmoid_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 80.0)) { return sigmoid_whole_f32(x); }
  return quotient_f32(1.0, 1.0 + exp2_of_product_f32(x, -1.44269502, -1.33497583e-8));
}

fn silu_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 80.0)) { return gated_f32(x, x, 0.0); }
  return quotient_f32(x, 1.0 + exp2_of_product_f32(x, -1.44269502, -1.33497583e-8));
}

fn gelu_quick_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 46.0)) { return gelu_quick_whole_f32(x); }
  return quotient_f32(x, 1.0 + exp2_of_product_f32(x, -2.45546699, 1.80977256e-08));
}

// x / (1 + 2^-(x w)) with w = 2.3022… + 0.1029… x². w's rounding error is computed by differences that are exact,
// because the first constant has no bits below 2^-20.
fn gelu_tanh_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 9.0)) { return gelu_tanh_whole_f32(x); }
  let s = x * x;
  let w = fma(0.102943242, s, 2.30220795);
  let low = fma(0.102943242, fma(x, x, -s), fma(-2.01619832e-9, s, 2.5136697e-7));
  let rest = fma(0.102943242, s, 2.30220795 - w) + low;
  let h = x * w;
  let e = exp2(-h);
  return quotient_f32(x, 1.0 + fma(e, fma(x, w, -h) * -0.69314718 - x * rest * 0.69314718, e));
}

fn tanh_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 9.1)) { return tanh_whole_f32(x); }
  let large = 1.0 - 2.0 * (1.0 / (1.0 + exp2(abs(x) * 2.88539008)));
  return select(copysign_f32(large, x), tanh_near_f32(x), abs(x) < 0.625);
}

// 2^(factor · (s + low)), between 2^-126 and 2^127, as scale (1 + rest). The device's exp2 is not precise enough here.
struct ExpPartsF32 { scale: f32, rest: f32 }

fn exp_parts_f32(s: f32, low: f32, factor: f32) -> ExpPartsF32 {
  // 1.5 · 2^23 + 127: the last bits are the power's exponent. Taken as bits, because a compiler may simplify the sum.
  let shifted = bitcast<u32>(fma(s, factor, 12583039.0));
  let r = fma(low, factor, fma(s, factor, f32(0x4b40007f - bitcast<i32>(shifted))));
  var q = 0.00015470266;
  q = fma(q, r, 0.0013391327);
  q = fma(q, r, 0.009618029);
  q = fma(q, r, 0.055503562);
  q = fma(q, r, 0.2402265);
  q = fma(q, r, 0.6931472);
  return ExpPartsF32(bitcast<f32>(shifted << 23u), q * r);
}

// max(x, 0) minus the tail, |x| ½ erfc(|x|/√2) = exp(-x²/2) |x| t P(t) with t = 1 / (2.925 + |x|). t's relative error,
// `missing`, causes an error of 1.2 to 2.3 times that in t P(t); the correction uses 1.6, the value in the middle. P
// compensates the rounding of exp2's factor. The result has the sign of x; devices may choose which zero max(x, -0) is.
fn gelu_erf_f32(x: f32) -> f32 {
  let a = abs(x);
  let t = 1.0 / (a + 2.925);
  let missing = fma(-t, a, fma(-2.925, t, 1.0));
  var q = -431.58218;
  q = fma(q, t, 773.7322);
  q = fma(q, t, -509.0595);
  q = fma(q, t, 126.85403);
  q = fma(q, t, -9.851087);
  q = fma(q, t, 8.467382);
  q = fma(q, t, 2.891637);
  q = fma(q, t, 1.1711811);
  q = fma(q, t, 0.3988773);
  let s = a * a;
  let e = exp_parts_f32(s, fma(a, a, -s), -0.7213475);
  let p = t * q;
  let w = a * p;
  let rest = fma(w, fma(missing, 1.6, e.rest), fma(a, p, -w));
  let above = max(x, 0.0);
  let y = fma(-(w + rest), e.scale, above);
  return signed_f32(select(y, above, a >= 13.15), x);
}

// exp(-x²) t P(t) with t = 1 / (2.06 + |x|).
fn erfc_f32(x: f32) -> f32 {
  let a = abs(x);
  let t = 1.0 / (a + 2.06);
  let missing = fma(-t, a, fma(-2.06, t, 1.0));
  let u = fma(t, missing, t);
  var q = -37.643528;
  q = fma(q, u, 94.71925);
  q = fma(q, u, -87.339386);
  q = fma(q, u, 30.329206);
  q = fma(q, u, -3.2667239);
  q = fma(q, u, 4.1302686);
  q = fma(q, u, 2.0301518);
  q = fma(q, u, 1.16626);
  q = fma(q, u, 0.564103);
  let s = a * a;
  let e = exp_parts_f32(s, fma(a, a, -s), -1.442695);
  let w = t * q;
  let rest = fma(w, missing + e.rest, fma(t, q, -w));
  let y = select((w + rest) * e.scale, 0.0, a >= 9.2);
  return select(y, 2.0 - y, x < 0.0);
}

// 1 - exp(-x²) t P(t) with t = 1 / (1 + |x|/2) where |x| is above 1.
fn erf_f32(x: f32) -> f32 {
  let a = abs(x);
  let t = 1.0 / (1.0 + 0.5 * a);
  var q = -0.050691813;
  q = fma(q, t, -0.054632474);
  q = fma(q, t, 0.38237473);
  q = fma(q, t, 0.13069266);
  q = fma(q, t, 0.3128434);
  q = fma(q, t, 0.2788983);
  let far = copysign_f32(1.0 - exp2(x * x * -1.442695) * (t * q), x);
  return select(far, erf_unit_f32(x), a < 1.0);
}

// x n / (n + 2) with n = e^x (e^x + 2); the last factor e^x is the unrounded one.
fn mish_f32(x: f32) -> f32 {
  if (is_beyond_f32(x + 33.0, 53.0)) { return mish_whole_f32(x); }
  let p = exp_parts_f32(x, x * 1.33497583e-8, 1.442695);
  let e = fma(p.scale, p.rest, p.scale);
  let d = e + 2.0;
  let q = quotient_f32(x * d, fma(e, d, 2.0));
  return fma(q, p.rest, q) * p.scale;
}

// x P(-log2(1 - x²)): 1 - x² is precise, and near 1, where the logarithm's absolute error matters, P is nearly
// constant.
fn erfinv_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 0.9944)) { return erfinv_whole_f32(x); }
  let w = -log2(fma(-x, x, 1.0));
  var q = -3.6310915e-10;
  q = fma(q, w, 1.2901585e-08);
  q = fma(q, w, -1.6560823e-07);
  q = fma(q, w, 5.3120016e-07);
  q = fma(q, w, 6.7903575e-06);
  q = fma(q, w, -2.866877e-05);
  q = fma(q, w, -0.00077832676);
  q = fma(q, w, 0.0055491803);
  q = fma(q, w, 0.16081958);
  q = fma(q, w, 0.88622695);
  return x * q;
}

// log(1 + u) for u in (-1, 2^62).
fn log1p_ordinary_f32(u: f32) -> f32 {
  let k = (bitcast<i32>(1.0 + u) - 0x3f3504f3) >> 23u;
  let scale = bitcast<f32>(0x3f800000u - (u32(k) << 23u));
  let f = fma(u, scale, scale - 1.0);
  let n = f32(k);
  return fma(n, 0.693145751953125, f + fma(n, 1.42860682e-6, log1p_rest_f32(f)));
}

// Keeps the sign of a zero.
fn log1p_f32(x: f32) -> f32 {
  var far = false;
  let r = log1p_fast(x, &far);
  if (far) { return log1p_whole_f32(x); }
  return r;
}

fn log1p_fast(x: f32, far: ptr<function, bool>) -> f32 {
  *far = *far | !(x > -1.0) | !(x < 0x1p62);
  return select(log1p_ordinary_f32(x), x, x == 0.0);
}

// From ½ on asin(a) = π/2 - 2 asin(√((1-a)/2)). The root's argument must not be 0; past 1 it is negative, which gives
// NaN.
struct AsinF32 { small: bool, part: f32 }

fn asin_part_f32(a: f32) -> AsinF32 {
  let small = a < 0.5;
  let z = select(fma(a, -0.5, 0.5), a * a, small);
  let r = inverseSqrt(z + 1e-30);
  let s = z * r;
  let t = select(fma(0.5 * r, fma(-s, s, z), s), a, small);
  return AsinF32(small, fma(t, asin_rest_f32(z), t));
}

fn asin_f32(x: f32) -> f32 {
  let p = asin_part_f32(abs(x));
  return copysign_f32(select(1.57079637 - fma(2.0, p.part, 4.371139e-8), p.part, p.small), x);
}

// 0, π/2 or π minus the signed part; the low-order part of each of these constants is the same fraction of it.
fn acos_f32(x: f32) -> f32 {
  let p = asin_part_f32(abs(x));
  let v = bitcast<f32>(bitcast<u32>(select(-2.0 * p.part, p.part, p.small)) ^ (bitcast<u32>(x) & 0x80000000u));
  let base = select(select(0.0, 3.14159274, x < 0.0), 1.57079637, p.small);
  return base - fma(base, 2.7827534e-8, v);
}

fn sinh_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 87.0)) { return sinh_whole_f32(x); }
  let a = abs(x);
  let z = x * x;
  let small = fma(x, z * fma(z, fma(z, fma(z, 2.8063516e-06, 0.00019838092), 0.008333339), 0.16666667), x);
  let e = exp_parts_f32(a, a * 1.33497583e-8, 1.442695);
  let h = 0.5 * fma(e.scale, e.rest, e.scale);
  return select(copysign_f32(fma(-0.25, 1.0 / h, h), x), small, a < 1.0);
}

fn tan_f32(x: f32) -> f32 {
  var far = false;
  let t = tan_fast(x, &far);
  if (far) { return tan_whole_f32(x); }
  return t;
}

// The remainder of the angle by π/2, which is a sum of three constants; the first difference is exact.
fn tan_fast(x: f32, far: ptr<function, bool>) -> f32 {
  let a = abs(x);
  *far = *far | !(a < 402.0);
  let shifted = bitcast<u32>(fma(a, 0.63661977, 12582912.0));
  let n = unshifted_f32(shifted);
  let r = fma(n, 1.7151245e-15, fma(n, 4.371139e-8, fma(n, -1.57079637, a)));
  let s = sin_kernel_f32(r);
  let c = cos_kernel_f32(r);
  let odd = (shifted & 1u) != 0u;
  let t = quotient_f32(select(s, -c, odd), select(c, s, odd));
  return bitcast<f32>(bitcast<u32>(t) ^ (bitcast<u32>(x) & 0x80000000u));
}

fn asinh_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 0x1p60)) { return asinh_whole_f32(x); }
  let a = abs(x);
  let z = a * a;
  let w = 1.0 + z;
  return signed_f32(log1p_ordinary_f32(fma(z, 1.0 / fma(w, inverseSqrt(w), 1.0), a)), x);
}

fn acosh_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 0x1p60) || x < 1.0) { return acosh_whole_f32(x); }
  let t = x - 1.0;
  let v = t * (t + 2.0);
  let r = inverseSqrt(max(v, 1e-30));
  let s = v * r;
  return log1p_ordinary_f32(t + fma(0.5 * r, fma(-s, s, v), s));
}

fn atanh_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 1.0)) { return atanh_whole_f32(x); }
  let a = abs(x);
  return signed_f32(0.5 * log1p_ordinary_f32(quotient_f32(2.0 * a, 1.0 - a)), x);
}

// For x in (-2, 3). From ½ on lgamma(x); below, the argument is moved to [1, 2], and the logarithm of x, of |x (x + 1)|
// or of |x (x + 1) (x + 2)| subtracted. The device's logarithm is precise enough for that below ½. lgamma(t) is (t - 1)
// (t - 2) times the sum of about a half and a rational function, so that rounding errors of the latter weigh less. The
// factors of both products are differences that are exact near their zeros. The logarithm of 0 is infinite, as
// lgamma(-1) is.
fn lgamma_f32(x: f32) -> f32 {
  var far = false;
  let r = lgamma_fast(x, &far);
  if (far) { return lgamma_whole_f32(x); }
  return r;
}

fn lgamma_fast(x: f32, far: ptr<function, bool>) -> f32 {
  let above = x >= 0.5;
  let negative = x < 0.0;
  let below = x < -1.0;
  let y = x + 1.0;
  let v = select(x, abs(x * select(y, fma(y, y, y), below)), negative);
  *far = *far | is_beyond_f32(x - 0.5, 2.5) | (abs(x) < 0x1p-100);
  let t = x + select(select(select(1.0, 2.0, negative), 3.0, below), 0.0, above);
  var n = -0.8550098;
  n = fma(n, t, -5.529075);
  n = fma(n, t, 1.5966768);
  n = fma(n, t, 8.65761);
  n = fma(n, t, 1.4892876);
  var d = 1.7755408;
  d = fma(d, t, 19.917358);
  d = fma(d, t, 39.710354);
  d = fma(d, t, 16.168184);
  d = fma(d, t, 0.91477036);
  let middle = t - 1.5;
  let core = fma(middle, middle, -0.25) * fma(n, 1.0 / d, 0.5089299);
  return select(fma(log2(v), -0.69314718, core), core, above);
}

// The same for the derivative ψ(x). Below ½ (here 0.48) it is ψ(1 - x) - π / tan(πr), with r the distance to the next
// integer and the second term 1/r times a polynomial; 0.48, so that the rounding of 1 - x matters only where ψ is below
// -2. ψ(t) is (t - root) times the sum of about ¾ and a rational function; the rounding error of the root is corrected
// at the end. At a pole below 0 the result is NaN.
fn digamma_f32(x: f32) -> f32 {
  var far = false;
  let r = digamma_fast(x, &far);
  if (far) { return digamma_whole_f32(x); }
  return r;
}

fn digamma_fast(x: f32, far: ptr<function, bool>) -> f32 {
  let above = x >= 0.48;
  let t = select(1.0 - x, x, above);
  var n = -0.55219537;
  n = fma(n, t, -5.48709);
  n = fma(n, t, -1.3588036);
  n = fma(n, t, 24.733637);
  n = fma(n, t, 15.614642);
  var d = 0.7493988;
  d = fma(d, t, 10.927432);
  d = fma(d, t, 32.728306);
  d = fma(d, t, 22.822403);
  let core = fma(t - 1.46163213, fma(n, 1.0 / (d * t), 0.7602508), -1.2036052e-8);
  let r = x - round(x);
  let below = select(fma(-1.0 / r, scaled_cot_pi_f32(r), core), nan_f32(), r == 0.0);
  *far = *far | is_beyond_f32(x - 0.5, 2.5) | (abs(x) < 0x1p-90);
  return select(below, core, above);
}

// Corrects the rounded quotient by its remainder, which is exact.
fn floor_divide_f32(x: f32, y: f32) -> f32 {
  let bx = bitcast<u32>(x) & 0x7fffffffu;
  let by = bitcast<u32>(y) & 0x7fffffffu;
  let quotient = x * (1.0 / y);
  if (is_beyond_f32(quotient, 0x1p21) || by - 0x21800000u >= 0x3c000000u || bx - 1u < 0x0d7fffffu) {
    return floor_divide_whole_f32(x, y);
  }
  let q = floor(quotient);
  // The remainder's sign as if the divisor were positive. If |x| is below the divisor, the quotient, 0 or -1, is right
  // already.
  let r = bitcast<f32>(bitcast<u32>(fma(-q, y, x)) ^ (bitcast<u32>(y) & 0x80000000u));
  return select(select(q, q + 1.0, r >= bitcast<f32>(by) && bx >= by), q - 1.0, r < 0.0);
}

// By the nearest quotient: its remainder is exact and at most half of the divisor.
fn rem_f32(x: f32, y: f32) -> f32 {
  var far = false;
  let r = rem_fast(x, y, &far);
  if (far) { return rem_whole_f32(x, y); }
  return r;
}

fn rem_fast(x: f32, y: f32, far: ptr<function, bool>) -> f32 {
  let a = abs(x);
  let b = abs(y);
  let q = round(a * (1.0 / b));
  *far = *far | !(q < 0x1p20) | (bitcast<u32>(b) - 0x21800000u >= 0x3c000000u);
  let r = fma(-q, b, a);
  return signed_f32(select(r, r + b, r < 0.0), x);
}

fn remainder_f32(x: f32, y: f32) -> f32 {
  var far = false;
  let r = remainder_fast(x, y, &far);
  if (far) { return remainder_whole_f32(x, y); }
  return r;
}

fn remainder_fast(x: f32, y: f32, far: ptr<function, bool>) -> f32 {
  let q = round(x * (1.0 / y));
  *far = *far | is_beyond_f32(q, 0x1p20) | (bitcast<u32>(abs(y)) - 0x21800000u >= 0x3c000000u);
  let r = fma(-q, y, x);
  let opposite = ((bitcast<u32>(r) ^ bitcast<u32>(y)) & 0x80000000u) != 0u;
  return select(select(r, r + y, opposite), copysign_f32(r, y), r == 0.0);
}

// log2|x| as a sum of two numbers, lh + ll, by log2(m) = 2/ln2 · (q + q³/3 + …), q = f / (2 + f), f = m - 1, with q's
// rounding error.
fn pow_f32(x: f32, y: f32) -> f32 {
  var far = false;
  let r = pow_fast(x, y, &far);
  if (far) { return pow_whole_f32(x, y); }
  return r;
}

fn pow_fast(x: f32, y: f32, far: ptr<function, bool>) -> f32 {
  let s = split_normal_f32(bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu));
  let f = s.fraction;
  let inverse = 1.0 / (f + 2.0);
  let q = f * inverse;
  let ql = fma(-q, f, fma(-2.0, q, f)) * inverse;
  let z = q * q;
  var p = 0.3368017;
  p = fma(p, z, 0.41189316);
  p = fma(p, z, 0.57707983);
  p = fma(p, z, 0.9617967);
  let w = fma(p, z, 3.85192607e-8);        // 2/ln2 is 2.88539004 plus this
  let rest = fma(q, w, ql * fma(3.0, w, 2.88539004));
  let k = f32(s.exponent);
  // Masks bits, so that compilers cannot simplify the sum.
  let lh = bitcast<f32>(bitcast<u32>(fma(2.88539004, q, k) + rest) & 0xfffffff8u);
  let ll = fma(2.88539004, q, k - lh) + rest;
  let h = y * lh;
  *far = *far | is_beyond_f32(k, 126.0) | is_beyond_f32(h, 126.0) | is_beyond_f32(y, 0x1p22);
  let e = exp2(h);
  return signed_power_f32(x, y, exact_power_f32(x, y, fma(e, 0.69314718 * fma(y, ll, fma(y, lh, -h)), e)));
}

// For negative x, y must be an integer, whose last bit gives the sign. |y| must be below 2^22.
fn signed_power_f32(x: f32, y: f32, r: f32) -> f32 {
  let odd = bitcast<u32>(y + 0x1.8p23) << 31u;
  let signed = bitcast<f32>(bitcast<u32>(r) | (bitcast<u32>(x) & odd));
  return select(signed, nan_f32(), (x < 0.0) & (floor(y) != y));
}
