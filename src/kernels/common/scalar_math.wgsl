// Scalar functions of f32, accurate to 4 ULP on all finite arguments, with NaN and infinities as in IEEE 754 (tested by
// their bits: WGSL allows implementations to assume that they do not occur). Methods: range reduction by constants
// split so that products are exact, then minimax polynomials (made by tests/reference/scalar_polynomials.py). No step
// relies on a fused multiply-add, and none breaks if the compiler fuses one: every product whose error matters is exact
// because its factors were cut to 12 bits. Where a device's exp2 passed a test, shorter forms in device_math.wgsl
// replace some of these functions and leave far arguments to functions named …_whole_f32.

fn f32_from_bits(b: u32) -> f32 { return bitcast<f32>(b); }

// Also for divisors so large that WGSL guarantees nothing (past 2^126 the reciprocal would be denormal).
fn div_f32(a: f32, b: f32) -> f32 {
  let s = select(1.0, 0.25, (bitcast<u32>(b) & 0x7fffffffu) >= 0x7e000000u);
  return (a * s) / (b * s);
}

// a / b, rounded to nearest even.
fn div_rn_f32(a: f32, b: f32) -> f32 { return div_rn_whole_f32(a, b); }

// By digits of the quotient, eight at a time, and what is left after the last one; in integers, because devices may
// flush denormals.
fn div_rn_whole_f32(a: f32, b: f32) -> f32 {
  let sign = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if (x > 0x7f800000u || y > 0x7f800000u || (x == y && (x == 0u || x == 0x7f800000u))) { return nan_f32(); }
  if (x == 0u || y == 0x7f800000u) { return f32_from_bits(sign); }
  if (y == 0u || x == 0x7f800000u) { return f32_from_bits(sign | 0x7f800000u); }
  // Mantissas with their highest bit at 23, also of denormals.
  let x_shift = select(0u, countLeadingZeros(x) - 8u, x < 0x800000u);
  let y_shift = select(0u, countLeadingZeros(y) - 8u, y < 0x800000u);
  var rest = ((x << x_shift) & 0x7fffffu) | 0x800000u;
  let divisor = ((y << y_shift) & 0x7fffffu) | 0x800000u;
  var exponent = i32(max(x >> 23u, 1u)) - i32(x_shift) - i32(max(y >> 23u, 1u)) + i32(y_shift) + 127;
  if (rest < divisor) {
    rest <<= 1u;
    exponent--;
  }
  // 25 digits: the mantissa, and one to round by.
  var digits = 1u;
  rest -= divisor;
  for (var i = 0u; i < 3u; i++) {
    let digit = (rest << 8u) / divisor;
    rest = (rest << 8u) - digit * divisor;
    digits = (digits << 8u) | digit;
  }
  if (exponent > 254) { return f32_from_bits(sign | 0x7f800000u); }
  let normal = exponent > 0;
  let dropped = u32(clamp(2 - exponent, 1, 26));
  let kept = digits >> dropped;
  let half = (digits >> (dropped - 1u)) & 1u;
  let below = (digits & ((1u << (dropped - 1u)) - 1u)) | rest;
  let up = half & (kept | u32(below != 0u));
  return f32_from_bits(sign | (select(kept, (kept & 0x7fffffu) | (u32(exponent) << 23u), normal) + up));
}

fn is_nan_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn any_nan_f32(v: vec4<f32>) -> bool {
  let magnitude = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
  return max(max(magnitude.x, magnitude.y), max(magnitude.z, magnitude.w)) > 0x7f800000u;
}

// True if |x| is not below the limit, or NaN.
fn is_beyond_f32(x: f32, limit: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) >= bitcast<u32>(limit); }

fn is_inf_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }

fn abs_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); }

// Rounded to 12 bits: the product of two such numbers is exact.
fn high_part_f32(x: f32) -> f32 { return bitcast<f32>((bitcast<u32>(x) + 0x800u) & 0xfffff000u); }

// An integer in the order of the numbers; the same for -0 and +0.
fn order_f32(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  return select(b, -(b & 0x7fffffff), b < 0);
}

// The same with -0 before +0.
fn total_order_f32(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  return b ^ ((b >> 31u) & 0x7fffffff);
}

fn equal_f32(a: f32, b: f32) -> bool { return !is_nan_f32(a) && order_f32(a) == order_f32(b); }

fn less_f32(a: f32, b: f32) -> bool { return !is_nan_f32(a) && !is_nan_f32(b) && order_f32(a) < order_f32(b); }

fn less_equal_f32(a: f32, b: f32) -> bool { return !is_nan_f32(a) && !is_nan_f32(b) && order_f32(a) <= order_f32(b); }

// True if x's bits are among `count` from `first` on: an interval of numbers of one sign.
fn is_among_f32(x: f32, first: u32, count: u32) -> bool { return bitcast<u32>(x) - first < count; }

fn min_f32(a: f32, b: f32) -> f32 {
  if (is_nan_f32(a)) { return a; }
  if (is_nan_f32(b)) { return b; }
  return select(a, b, total_order_f32(b) < total_order_f32(a));
}

fn max_f32(a: f32, b: f32) -> f32 {
  if (is_nan_f32(a)) { return a; }
  if (is_nan_f32(b)) { return b; }
  return select(a, b, total_order_f32(b) > total_order_f32(a));
}

fn clamp_f32(x: f32, low: f32, high: f32) -> f32 { return min_f32(max_f32(x, low), high); }

fn sign_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  return signed_f32(f32_from_bits(select(select(0u, 0x3f800000u, b != 0u), b, b > 0x7f800000u)), select(x, 0.0, b == 0u));
}

// Negative numbers, -0 and -inf give 0; NaN stays NaN.
fn relu_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  return select(x, 0.0, b >= 0x80000000u && b <= 0xff800000u);
}

// v · 2^n for positive v, by adding to the exponent's bits: a compiler could reorder a product, which would then
// overflow. Denormal results become 0.
fn scale_f32(v: f32, n: i32) -> f32 {
  let b = bitcast<i32>(v);
  let e = (b >> 23u) + n;
  let r = select(b + (n << 23u), 0x7f800000, e > 254);
  return bitcast<f32>(select(r, 0, e < 1));
}

// (exp(r) - 1 - r) / r² for |r| <= ½ ln 2.
fn exp_rest_f32(r: f32) -> f32 {
  var q = 0.00019908909;
  q = q * r + 0.0013934544;
  q = q * r + 0.008333284;
  q = q * r + 0.041666456;
  q = q * r + 0.16666667;
  q = q * r + 0.5;
  return q;
}

// 2^k · exp(x + tail): a sum, for arguments that need more precision than f32 has.
fn exp_sum_f32(argument: f32, tail: f32, k: i32) -> f32 {
  let x = clamp(argument, -250.0, 250.0);  // far beyond f32's range on both sides
  let n = round((x + tail) * 1.44269504);
  let r = ((x - n * 0.693145751953125) - n * 1.42860682e-6) + tail;
  return select(scale_f32(1.0 + (r + r * r * exp_rest_f32(r)), i32(n) + k), argument, is_nan_f32(argument));
}

// What the rounding of d = x - y lost (Dekker, "A floating-point technique for extending the available precision", 1971).
fn lost_f32(x: f32, y: f32, d: f32) -> f32 {
  let y_is_larger = abs(y) >= abs(x);
  return select(-y, x, y_is_larger) - (d - select(x, -y, y_is_larger));
}

// exp(x - y) for x up to y, to 4 ULP also where the difference is rounded; of -infinity nothing is lost.
fn exp_below_f32(x: f32, y: f32) -> f32 {
  let d = x - y;
  return exp_sum_f32(d, select(0.0, lost_f32(x, y, d), d > -104.0), 0);
}

fn sqrt_f32(x: f32) -> f32 { return sqrt(x); }

fn exp_f32(x: f32) -> f32 { return exp_sum_f32(x, 0.0, 0); }

// 2^(x + tail) for x in [-152, 129].
fn exp2_sum_f32(x: f32, tail: f32) -> f32 {
  let n = round(x + tail);
  let r = (x - n) + tail;
  var q = 1.5311238e-05;
  q = q * r + 0.00015462613;
  q = q * r + 0.0013333451;
  q = q * r + 0.009618054;
  q = q * r + 0.05550411;
  q = q * r + 0.2402265;
  q = q * r + 0.6931472;
  return scale_f32(1.0 + r * q, i32(n));
}

fn exp2_f32(x: f32) -> f32 { return exp2_whole_f32(x); }

fn exp2_whole_f32(x: f32) -> f32 {
  if (is_nan_f32(x)) { return x; }
  if (x >= 128.0) { return f32_from_bits(0x7f800000u); }
  if (x < -151.0) { return 0.0; }
  return exp2_sum_f32(x, 0.0);
}

// x = 2^exponent · (1 + fraction) with 1 + fraction in [√½, √2). x is positive and finite.
struct SplitF32 { exponent: i32, fraction: f32 }

fn split_f32(x: f32) -> SplitF32 {
  let denormal = bitcast<u32>(x) < 0x800000u;    // b · 2^-149
  let s = split_normal_f32(select(x, f32(bitcast<u32>(x)), denormal));
  return SplitF32(s.exponent - select(0, 149, denormal), s.fraction);
}

fn split_normal_f32(x: f32) -> SplitF32 {
  let b = bitcast<i32>(x);
  let shift = (b - 0x3f3504f3) >> 23u;
  return SplitF32(shift, bitcast<f32>(b - (shift << 23u)) - 1.0);
}

// log(1 + f) - f for f in [√½ - 1, √2 - 1].
fn log1p_rest_f32(f: f32) -> f32 {
  var q = 0.06735517;
  q = q * f - 0.11680325;
  q = q * f + 0.11895417;
  q = q * f - 0.1240544;
  q = q * f + 0.14218633;
  q = q * f - 0.16667967;
  q = q * f + 0.20002158;
  q = q * f - 0.25000012;
  q = q * f + 0.33333313;
  return f * f * (f * q - 0.5);
}

// `ordinary`, or the logarithm of a special x. Without branches, because threads seldom agree.
fn log_or_special_f32(x: f32, ordinary: f32) -> f32 {
  let b = bitcast<u32>(x);
  var special = select(x, f32_from_bits(0x7fc00000u), b > 0x80000000u);
  special = select(special, f32_from_bits(0xff800000u), (b & 0x7fffffffu) == 0u);
  return select(ordinary, special, b - 1u >= 0x7f7fffffu);
}

fn log_f32(x: f32) -> f32 {
  let s = split_f32(x);
  let k = f32(s.exponent);
  return log_or_special_f32(x, k * 0.693145751953125 + (s.fraction + (log1p_rest_f32(s.fraction) + k * 1.42860682e-6)));
}

fn log2_f32(x: f32) -> f32 {
  let s = split_f32(x);
  let y = log1p_rest_f32(s.fraction);
  // (fraction + y) · log2(e) with log2(e) = 1 + 0.44269504, small terms first.
  return log_or_special_f32(x, f32(s.exponent) + (s.fraction + (y + (y * 0.44269504 + s.fraction * 0.44269504))));
}

// log(1 + u) for u in [0, 1].
fn log1p_unit_f32(u: f32) -> f32 {
  // 1 + u = 2 (1 + f) in the upper part, so that one polynomial serves both.
  let upper = u > 0.4142;
  let f = select(u, 0.5 * u - 0.5, upper);
  return select(0.0, 0.693145751953125, upper) + (f + (log1p_rest_f32(f) + select(0.0, 1.42860682e-6, upper)));
}

fn softplus_f32(x: f32) -> f32 {
  if (is_nan_f32(x)) { return x; }
  let rest = log1p_unit_f32(exp_f32(-abs_f32(x)));
  return select(rest, x + rest, x > 0.0);
}

fn sigmoid_f32(x: f32) -> f32 { return sigmoid_whole_f32(x); }

fn sigmoid_whole_f32(x: f32) -> f32 {
  let e = exp_f32(-abs_f32(x));
  let r = 1.0 / (1.0 + e);
  return select(r, e * r, x < 0.0);
}

// x / (1 + exp(-(z + tail))), where z has x's sign; -0 in the limit of -infinity. exp(z) could be denormal where the
// result is not, so it carries a factor of 2^32, which is removed at the end.
fn gated_f32(x: f32, z: f32, tail: f32) -> f32 {
  let negative = z < 0.0;
  let big = exp_sum_f32(-abs_f32(z), select(-tail, tail, negative), 32);
  let r = 1.0 / (1.0 + big * 2.3283064365386963e-10);
  let v = select(x * r, (x * big) * r, negative);
  let b = bitcast<u32>(v);
  let e = (b >> 23u) & 0xffu;
  if (!negative || e == 255u) { return bitcast<f32>(select(b, 0x80000000u, z < -200.0)); }
  return bitcast<f32>(select(b - (32u << 23u), b & 0x80000000u, e < 33u));
}

fn silu_f32(x: f32) -> f32 { return gated_f32(x, x, 0.0); }

fn gelu_quick_f32(x: f32) -> f32 { return gelu_quick_whole_f32(x); }

fn gelu_quick_whole_f32(x: f32) -> f32 {         // x · sigmoid(1.702 x)
  if (is_beyond_f32(x, 100.0)) { return signed_f32(relu_f32(x), x); }
  let h = high_part_f32(x);
  return gated_f32(x, h * 1.7021484375, h * -0.0001484375 + (x - h) * 1.702);
}

// x · ½ (1 + tanh(√(2/π) (x + 0.044715 x³))) = x · sigmoid(x (a + b x²)), with the argument in two parts.
fn gelu_tanh_f32(x: f32) -> f32 { return gelu_tanh_whole_f32(x); }

fn gelu_tanh_whole_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 20.0)) { return signed_f32(relu_f32(x), x); }
  let xh = high_part_f32(x);
  let xl = x - xh;
  let s = xh * xh;
  let sl = xl * (x + xh);
  let th = high_part_f32(s + sl);
  let tl = (s - th) + sl;
  let w = high_part_f32(1.5957691 + 0.071354816 * th);
  // The first sum is below 2^-8; the clamp keeps compilers from adding its constant to the second's.
  let wl = clamp((0.07135009765625 * th - w) + 1.595703125, -1.0, 1.0) +
           (6.599660573e-5 + (0.071354816 * tl + 4.71861635e-6 * th));
  return gated_f32(x, xh * w, xh * wl + xl * (w + wl));
}

// Upper tail of the normal distribution, ½ erfc(x/√2), for x >= 0, is exp(-x²/2) · P(u) / (x+3) with
// u = (x-3)/(x+3).
fn normal_tail_polynomial_f32(u: f32) -> f32 {
  var q = 5.4463417e-05;
  q = q * u + 0.00013127265;
  q = q * u - 0.00024474852;
  q = q * u - 0.0010325362;
  q = q * u + 0.0010247766;
  q = q * u + 0.0069693043;
  q = q * u - 0.010462519;
  q = q * u - 0.047262687;
  q = q * u + 0.2300177;
  q = q * u - 0.509332;
  q = q * u + 0.7290837;
  return q;
}

fn erf_unit_f32(x: f32) -> f32 {           // erf of |x| <= 1
  let z = x * x;
  var q = 7.856474e-05;
  q = q * z - 0.00080118416;
  q = q * z + 0.005188613;
  q = q * z - 0.026854014;
  q = q * z + 0.112835914;
  q = q * z - 0.37612626;
  q = q * z + 0.12837917;
  return x + x * q;
}

// w · exp(x + tail) for x in [-105, 0], with fewer roundings than a product of the two; 0 where that is denormal.
fn times_exp_f32(w: f32, x: f32, tail: f32) -> f32 {
  let n = round((x + tail) * 1.44269504);
  let r = ((x - n * 0.693145751953125) - n * 1.42860682e-6) + tail;
  let scale = bitcast<f32>(u32(max(i32(n), -127) + 127) << 23u);
  return (w + w * (r + r * r * exp_rest_f32(r))) * scale;
}

// x · ½ (1 + erf(x/√2)), without cancellation for negative x: max(x, 0) - |x| ½ erfc(|x|/√2).
fn gelu_erf_f32(x: f32) -> f32 { return gelu_erf_whole_f32(x); }

fn gelu_erf_whole_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (is_beyond_f32(x, 14.5)) { return signed_f32(relu_f32(x), x); }
  if (a < 0.5) { return 0.5 * x * (1.0 + erf_unit_f32(x * 0.70710678)); }
  let v = a / (a + 3.0);
  let h = high_part_f32(a);
  let tail = times_exp_f32(v * normal_tail_polynomial_f32(2.0 * v - 1.0), -0.5 * h * h, -0.5 * (a - h) * (a + h));
  return max(x, 0.0) - tail;
}

fn erf_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (is_nan_f32(x)) { return x; }
  if (a >= 1.0) {
    if (a > 4.0) { return select(1.0, -1.0, x < 0.0); }
    let t = 1.0 / (a * 1.41421356 + 3.0);
    let r = 1.0 - 2.0 * exp_f32(-a * a) * (t * normal_tail_polynomial_f32(1.0 - 6.0 * t));
    return select(r, -r, x < 0.0);
  }
  return erf_unit_f32(x);
}

fn tanh_f32(x: f32) -> f32 { return tanh_whole_f32(x); }

fn tanh_whole_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (a >= 0.625) {
    let r = 1.0 - 2.0 / (exp_f32(2.0 * min(a, 20.0)) + 1.0);
    return select(select(r, -r, x < 0.0), x, is_nan_f32(x));
  }
  return tanh_near_f32(x);
}

fn tanh_near_f32(x: f32) -> f32 {          // tanh of |x| < 0.625
  let z = x * x;
  var q = 0.0022834947;
  q = q * z - 0.008336379;
  q = q * z + 0.021766843;
  q = q * z - 0.05395904;
  q = q * z + 0.13333303;
  q = q * z - 0.33333334;
  return x * (1.0 + z * q);                // -0 for -0, which the sum of x and a rest would not give
}

// x = quadrant · π/2 + rest (mod 2π), |rest| <= π/4. Below 402 by three constants whose products with the quadrant's
// number are exact; above by the method of Payne and Hanek: 96 bits of 2/π times the 24-bit mantissa.
struct AngleF32 { quadrant: u32, rest: f32 }

const kTwoOverPi = array<u32, 9>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
                                 0xfe5163abu, 0xdebbc561u);

fn two_over_pi_word(bit: u32) -> u32 {
  let w = bit >> 5u;
  let s = bit & 31u;
  let high = kTwoOverPi[w] << s;
  return select(high | (kTwoOverPi[w + 1u] >> (32u - s)), high, s == 0u);
}

fn reduce_angle_f32(x: f32) -> AngleF32 {
  let a = abs_f32(x);
  if (a < 402.0) {
    let n = round(x * 0.63661977);
    let y = x - n * 1.57080078125;
    return AngleF32(u32(i32(n)), (y - n * -4.4543994590640068e-6) - n * -5.5644316761872885e-11);
  }
  let b = bitcast<u32>(a);
  if (b >= 0x7f800000u) { return AngleF32(0u, f32_from_bits(0x7fc00000u)); }
  let m = (b & 0x7fffffu) | 0x800000u;
  // x = m · 2^e; skips bits of 2/π that only give multiples of 4. 30: the table's leading zero word, minus two bits.
  let start = u32(i32(b >> 23u) - 150 + 30);
  let p2 = mul_wide_u32(m, two_over_pi_word(start + 64u));
  let p1 = mul_wide_u32(m, two_over_pi_word(start + 32u));
  let middle = p1.x + p2.y;
  let carry = select(0u, 1u, middle < p1.x);
  let high = m * two_over_pi_word(start) + p1.y + carry;
  // high:middle is the angle in quadrants, with 2 bits before the binary point. Round to the nearest quadrant.
  let quadrant = (high + 0x20000000u) >> 30u;
  var fraction = vec2<u32>(middle << 2u, (high << 2u) | (middle >> 30u));
  let negative = (fraction.y & 0x80000000u) != 0u;
  if (negative) { fraction = neg_64(fraction); }
  // Times π/2 · 2^-64, in two parts; the first one's product is exact.
  let v = f32_from_u64(fraction);
  let h = high_part_f32(v);
  var r = h * 8.5153280978658881e-20 + ((v - h) * 8.51530395e-20 - h * 2.41476495e-25);
  r = select(r, -r, negative);
  if (x < 0.0) { return AngleF32(0u - quadrant, -r); }
  return AngleF32(quadrant, r);
}

// sin and cos of |r| <= π/4.
fn sin_kernel_f32(r: f32) -> f32 {
  let z = r * r;
  var q = 2.724386e-06;
  q = q * z - 0.00019840039;
  q = q * z + 0.008333332;
  q = q * z - 0.16666667;
  return r + r * (z * q);
}

fn cos_kernel_f32(r: f32) -> f32 {
  let z = r * r;
  var q = -2.7295889e-07;
  q = q * z + 2.4800562e-05;
  q = q * z - 0.0013888888;
  q = q * z + 0.041666668;
  return 1.0 - (0.5 * z - z * z * q);
}

fn sin_quadrant_f32(r: f32, quadrant: u32) -> f32 {
  let s = select(sin_kernel_f32(r), cos_kernel_f32(r), (quadrant & 1u) != 0u);
  return bitcast<f32>(bitcast<u32>(s) ^ ((quadrant & 2u) << 30u));
}

fn not_finite_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) >= 0x7f800000u; }

fn sin_f32(x: f32) -> f32 {
  let a = reduce_angle_f32(x);
  return select(sin_quadrant_f32(a.rest, a.quadrant), x, is_tiny_f32(x));
}

fn cos_f32(x: f32) -> f32 {
  let a = reduce_angle_f32(x);
  return sin_quadrant_f32(a.rest, a.quadrant + 1u);
}

fn tan_f32(x: f32) -> f32 { return tan_whole_f32(x); }

fn tan_whole_f32(x: f32) -> f32 {
  if (is_tiny_f32(x)) { return x; }
  let a = reduce_angle_f32(x);
  let s = sin_kernel_f32(a.rest);
  let c = cos_kernel_f32(a.rest);
  if ((a.quadrant & 1u) == 0u) { return quotient_f32(s, c); }
  return quotient_f32(-c, s);
}

// |x|^y where y is an integer from 2 to 15 and f32 can represent the power, else r. Only then can a power of a number
// that is no power of two be exact: 3^16 has more than 24 bits. The powers of x's odd part are right while they are below
// 2^24, and the largest one tells whether they are.
fn exact_power_f32(x: f32, y: f32, r: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (bitcast<u32>(y) - 0x40000000u > 0x01700000u || b - 0x800000u >= 0x7f000000u) { return r; }
  let n = u32(y);
  if (f32(n) != y) { return r; }
  let mantissa = (b & 0x7fffffu) | 0x800000u;
  let zeros = countTrailingZeros(mantissa);
  let odd = f32(mantissa >> zeros);
  let square = odd * odd;
  let fourth = square * square;
  var power = select(1.0, odd, (n & 1u) != 0u);
  power = select(power, power * square, (n & 2u) != 0u);
  power = select(power, power * fourth, (n & 4u) != 0u);
  power = select(power, power * (fourth * fourth), (n & 8u) != 0u);
  if (power > 16777216.0) { return r; }
  return scale_f32(power, (i32(b >> 23u) + i32(zeros) - 150) * i32(n));
}

// IEEE 754's pow. log2|x| is the sum of a 12-bit number and the rest, so that its product with y keeps 2^-30 of it.
fn pow_f32(x: f32, y: f32) -> f32 { return pow_whole_f32(x, y); }

fn pow_whole_f32(x: f32, y: f32) -> f32 {
  let bx = bitcast<u32>(x) & 0x7fffffffu;
  let by = bitcast<u32>(y) & 0x7fffffffu;
  if (by == 0u || bitcast<u32>(x) == 0x3f800000u) { return 1.0; }
  if (bx > 0x7f800000u) { return x; }
  if (by > 0x7f800000u) { return y; }
  let y_negative = (bitcast<u32>(y) >> 31u) != 0u;
  // 0: y is not an integer, 1: odd, 2: even.
  var parity = 2u;
  if (by < 0x4b800000u) {
    let fraction_bits = 150u - (by >> 23u);
    if (fraction_bits > 23u) {
      parity = select(0u, 1u, by == 0x3f800000u);
    } else {
      let m = (by & 0x7fffffu) | 0x800000u;
      let whole = (m & ((1u << fraction_bits) - 1u)) == 0u;
      parity = select(0u, select(2u, 1u, ((m >> fraction_bits) & 1u) != 0u), whole);
    }
  }
  let x_negative = (bitcast<u32>(x) >> 31u) != 0u;
  let sign = select(0u, 0x80000000u, x_negative && parity == 1u);
  if (bx == 0x3f800000u && parity != 0u) { return f32_from_bits(sign | 0x3f800000u); }
  if (by == 0x7f800000u) {
    return f32_from_bits(select(0u, 0x7f800000u, (bx > 0x3f800000u) != y_negative));
  }
  if (bx == 0u || bx == 0x7f800000u) {
    return f32_from_bits(sign | select(0u, 0x7f800000u, (bx == 0u) == y_negative));
  }
  if (x_negative && parity == 0u) { return f32_from_bits(0x7fc00000u); }

  let s = split_f32(bitcast<f32>(bx));
  let k = f32(s.exponent);
  let f = s.fraction;
  let m = 1.0 + f;
  let d = m + 1.0;
  let dh = high_part_f32(d);
  let dl = m - clamp(dh - 1.0, 0.0, 2.0);  // the clamp keeps compilers from taking d - dh, d being rounded
  let q = f / d;                           // log2(m) = 2/ln2 · (q + q³/3 + …)
  let qh = high_part_f32(q);
  let ql = ((f - qh * dh) - qh * dl) / d;
  let z = q * q;
  let zh = qh * qh;
  var p = 0.3368017;
  p = p * z + 0.41189316;
  p = p * z + 0.57707983;
  p = p * z + 0.9617967;
  let th = 2.8857421875 * qh;
  let tl = (-0.00035210572 * qh + 2.8853901 * ql) + (zh * qh + 3.0 * zh * ql) * p;
  let lh = high_part_f32(k + th + tl);
  let ll = (clamp(k - lh, -1.0, 1.0) + th) + tl;
  let product = y * (lh + ll);
  if (product > 130.0) { return f32_from_bits(sign | 0x7f800000u); }
  if (product < -152.0) { return f32_from_bits(sign); }
  let yh = high_part_f32(y);
  let r = exact_power_f32(x, y, exp2_sum_f32(yh * lh, yh * ll + (y - yh) * (lh + ll)));
  return bitcast<f32>(bitcast<u32>(r) | sign);
}

// The remainder of the truncated quotient: exact, by long division of the mantissas.
fn rem_f32(x: f32, y: f32) -> f32 { return rem_whole_f32(x, y); }

fn rem_whole_f32(x: f32, y: f32) -> f32 {
  let sign = bitcast<u32>(x) & 0x80000000u;
  var a = bitcast<u32>(x) & 0x7fffffffu;
  var b = bitcast<u32>(y) & 0x7fffffffu;
  if (a > 0x7f800000u) { return x; }
  if (b > 0x7f800000u) { return y; }
  if (a == 0x7f800000u || b == 0u) { return f32_from_bits(0x7fc00000u); }
  if (a < b) { return x; }
  var ea = i32(a >> 23u);
  var eb = i32(b >> 23u);
  // Mantissas with the leading bit at 23.
  if (ea == 0) { let s = countLeadingZeros(a) - 8u; a <<= s; ea = 1 - i32(s); } else { a = (a & 0x7fffffu) | 0x800000u; }
  if (eb == 0) { let s = countLeadingZeros(b) - 8u; b <<= s; eb = 1 - i32(s); } else { b = (b & 0x7fffffu) | 0x800000u; }
  for (var i = ea; i > eb; i--) {
    if (a >= b) { a -= b; }
    a <<= 1u;
  }
  if (a >= b) { a -= b; }
  if (a == 0u) { return f32_from_bits(sign); }
  let s = countLeadingZeros(a) - 8u;
  let e = eb - i32(s);
  if (e >= 1) { return f32_from_bits(sign | (u32(e) << 23u) | ((a << s) & 0x7fffffu)); }
  return f32_from_bits(sign | ((a << s) >> u32(1 - e)));
}
