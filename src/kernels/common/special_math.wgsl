// More scalar functions of f32, with the same precision as scalar_math.wgsl: roots, inverse trigonometric and
// hyperbolic functions, error functions, gamma functions, and functions of two numbers.

// a / b within about 1 ULP with one division, for b and quotients far from the ends of f32's range.
fn quotient_f32(a: f32, b: f32) -> f32 {
  let inverse = 1.0 / b;
  let h = high_part_f32(a * inverse);
  let bh = high_part_f32(b);
  return h - ((h * bh - a) + h * (b - bh)) * inverse;  // -0 / b stays -0
}

// The square root within about 1 ULP, whatever the precision of the device's own; v >= 0 and far from the ends of f32's
// range.
fn root_f32(v: f32) -> f32 {
  let s = sqrt(v);
  let h = high_part_f32(s);
  return h + (v - h * h) / max(s + h, 1e-18);
}

fn copysign_f32(x: f32, sign: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}

// r with x's sign, for r that is NaN, has that sign already, or is not below 0. Where a function is x itself for some
// arguments, select between magnitudes first: from "x, or copysign_f32(r, x)" LLVM 21 makes a masked vpternlog with its
// operands mixed up, if the processor has AVX-512 (llvm/llvm-project issue 157929; Mesa's drivers gave wrong asinh and
// atan2 of eight-bit floats).
fn signed_f32(r: f32, x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(r) | (bitcast<u32>(x) & 0x80000000u)); }

fn nan_f32() -> f32 { return f32_from_bits(0x7fc00000u); }

fn infinity_f32() -> f32 { return f32_from_bits(0x7f800000u); }

// True below 2^-12: functions of the form x (1 + c x²) are x there, also for denormals and zeros of both signs.
fn is_tiny_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x39800000u; }

fn fmin_f32(a: f32, b: f32) -> f32 {
  if (is_nan_f32(a)) { return b; }
  if (is_nan_f32(b)) { return a; }
  return min_f32(a, b);
}

fn fmax_f32(a: f32, b: f32) -> f32 {
  if (is_nan_f32(a)) { return b; }
  if (is_nan_f32(b)) { return a; }
  return max_f32(a, b);
}

// The pattern next to x in the direction of y, for numbers as sign and magnitude; `sign` is the sign bit. No NaN.
fn next_pattern(x: u32, y: u32, sign: u32) -> u32 {
  if (x == y || ((x | y) & ~sign) == 0u) { return y; }
  if ((x & ~sign) == 0u) { return (y & sign) | 1u; }
  let grows = ((x ^ y) & sign) == 0u && (y & ~sign) > (x & ~sign);
  return select(x - 1u, x + 1u, grows);
}

fn nextafter_f32(x: f32, y: f32) -> f32 {
  if (is_nan_f32(x)) { return x; }
  if (is_nan_f32(y)) { return y; }
  return bitcast<f32>(next_pattern(bitcast<u32>(x), bitcast<u32>(y), 0x80000000u));
}

fn nextafter_bf16(x: f32, y: f32) -> f32 {
  let next = bitcast<f32>(next_pattern(bitcast<u32>(x) >> 16u, bitcast<u32>(y) >> 16u, 0x8000u) << 16u);
  return select(select(next, y, is_nan_f32(y)), x, is_nan_f32(x));
}

fn nextafter_f16(x: f32, y: f32) -> f32 {
  let next = unpack2x16float(next_pattern(narrow_f16(x), narrow_f16(y), 0x8000u)).x;
  return select(select(next, y, is_nan_f32(y)), x, is_nan_f32(x));
}

// For the float with e exponent and m mantissa bits (as in narrow_bits).
fn nextafter_narrow(x: f32, y: f32, e: u32, m: u32, finite_only: bool) -> f32 {
  if (is_nan_f32(x)) { return x; }
  if (is_nan_f32(y)) { return y; }
  let start = narrow_bits(x, e, m, finite_only);
  return widen_bits(next_pattern(start, narrow_bits(y, e, m, finite_only), 1u << (e + m)), e, m, finite_only);
}

// The remainder of the floored quotient: it has the divisor's sign.
fn remainder_f32(a: f32, b: f32) -> f32 { return remainder_whole_f32(a, b); }

fn remainder_whole_f32(a: f32, b: f32) -> f32 {
  let r = rem_f32(a, b);
  if (is_nan_f32(r)) { return r; }
  if ((bitcast<u32>(r) & 0x7fffffffu) == 0u) { return bitcast<f32>(bitcast<u32>(b) & 0x80000000u); }
  if (((bitcast<u32>(r) ^ bitcast<u32>(b)) & 0x80000000u) == 0u) { return r; }
  // With a small divisor r may be denormal, which a sum may flush to 0.
  if (!is_beyond_f32(b, 0x1p-60)) { return (scaled_up_f32(r) + scaled_up_f32(b)) * 0x1p-64; }
  return r + b;
}

// x · 2^64 for |x| below 2^60, exactly, also for denormals.
fn scaled_up_f32(x: f32) -> f32 {
  let a = bitcast<u32>(x) & 0x7fffffffu;
  let v = select(bitcast<f32>(a + (64u << 23u)), f32(a) * 0x1p-85, a < 0x800000u);
  return bitcast<f32>(bitcast<u32>(v) | (bitcast<u32>(x) & 0x80000000u));
}

fn floor_divide_f32(x: f32, y: f32) -> f32 { return floor_divide_whole_f32(x, y); }

fn floor_divide_whole_f32(x: f32, y: f32) -> f32 {
  if ((bitcast<u32>(y) & 0x7fffffffu) == 0u) { return div_f32(x, y); }
  // Scaled away from denormals, which a difference may flush to 0.
  let scale = select(1.0, 1.8446744e19, abs_f32(x) < 1e18 && abs_f32(y) < 1e-18);
  let a = x * scale;
  let b = y * scale;
  let r = rem_f32(a, b);
  if (is_nan_f32(r)) { return r; }
  let multiple = a - r;
  let down = (bitcast<u32>(r) & 0x7fffffffu) != 0u && ((bitcast<u32>(r) ^ bitcast<u32>(b)) & 0x80000000u) != 0u;
  if ((bitcast<u32>(multiple) & 0x7fffffffu) == 0u) {
    let zero = bitcast<f32>((bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u);
    return select(zero, -1.0, down);
  }
  return round(div_f32(multiple, b)) - select(0.0, 1.0, down);
}

// Two equal forms, each exact at one end, and one for a distance past the range.
fn lerp_f32(a: f32, b: f32, t: f32) -> f32 {
  let d = b - a;
  let near = select(a + t * d, b - d * (1.0 - t), t >= 0.5);
  return select(a * (1.0 - t) + b * t, near, (bitcast<u32>(d) & 0x7fffffffu) < 0x7f800000u);
}

fn hypot_f32(a: f32, b: f32) -> f32 {
  if (is_inf_f32(a) || is_inf_f32(b)) { return infinity_f32(); }
  if (is_nan_f32(a)) { return a; }
  if (is_nan_f32(b)) { return b; }
  let x = max_f32(abs_f32(a), abs_f32(b));
  let y = min_f32(abs_f32(a), abs_f32(b));
  let e = bitcast<u32>(x) >> 23u;
  if (e == 0u) { return x; }
  // Scaled by a power of two, to about 1.
  let exponent = min(e, 253u);
  let scale = bitcast<f32>((254u - exponent) << 23u);
  let u = x * scale;
  let v = y * scale;
  return root_f32(u * u + v * v) * bitcast<f32>(exponent << 23u);
}

// An estimate from the bits, one Halley step and one Newton step.
fn cbrt_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  let s = split_f32(bitcast<f32>(b));
  let k = (s.exponent + 300) / 3 - 100;
  let m = (1.0 + s.fraction) * f32(1u << u32(s.exponent - 3 * k));
  var t = bitcast<f32>(bitcast<u32>(m) / 3u + 0x2a5119f2u);
  let c = t * t * t;
  t = t * ((c + 2.0 * m) / (2.0 * c + m));
  let z = t * t;
  t = t - (z * t - m) / (3.0 * z);
  return signed_f32(f32_from_bits(select(bitcast<u32>(scale_f32(t, k)), b, b == 0u || b >= 0x7f800000u)), x);
}

// One path for all arguments; below 2^-25 it is x, so that zeros keep their sign.
fn expm1_f32(x: f32) -> f32 {
  let c = clamp(x, -18.0, 89.0);
  let n = round(c * 1.44269504);
  let r = (c - n * 0.693145751953125) - n * 1.42860682e-6;
  let p = r + r * r * exp_rest_f32(r);
  // 2^n p + (2^n - 1), halved: 2^128 would be infinite.
  let s = bitcast<f32>(u32(i32(n) + 126) << 23u);
  return select(2.0 * (s * p + (s - 0.5)), x, (bitcast<u32>(x) & 0x7fffffffu) - 0x33000000u > 0x4c800000u);
}

fn log1p_f32(x: f32) -> f32 { return log1p_whole_f32(x); }

// 1 + x = 2^k (1 + f); f is computed from x, not from the rounded sum, unless x is so large that they are equal.
fn log1p_whole_f32(x: f32) -> f32 {
  let sum = 1.0 + x;
  let k = (bitcast<i32>(sum) - 0x3f3504f3) >> 23u;
  let scale = bitcast<f32>(u32(127 - k) << 23u);
  let f = select(x * scale + (scale - 1.0), bitcast<f32>(bitcast<i32>(sum) - (k << 23u)) - 1.0, x > 1e9);
  let n = f32(k);
  let r = log_or_special_f32(sum, n * 0.693145751953125 + (f + (log1p_rest_f32(f) + n * 1.42860682e-6)));
  return select(r, x, (bitcast<u32>(x) & 0x7fffffffu) < 0x33000000u);
}

fn log10_f32(x: f32) -> f32 {
  let s = split_f32(x);
  let n = f32(s.exponent);
  let y = log1p_rest_f32(s.fraction);
  return log_or_special_f32(x, n * 0.301025390625 + ((s.fraction + y) * 0.43429448 + n * 4.6050389812e-6));
}

fn logaddexp_f32(a: f32, b: f32) -> f32 {
  if (is_nan_f32(a)) { return a; }
  if (is_nan_f32(b)) { return b; }
  if (equal_f32(a, b)) { return a + 0.69314718; }
  let high = max_f32(a, b);
  let low = min_f32(a, b);
  // Near 0 the other term is the result: it uses the unrounded difference.
  let near = abs_f32(high) < 1.0;
  return high + log1p_unit_f32(exp_sum_f32(select(low - high, low, near), select(0.0, -high, near), 0));
}

// ---- Inverse trigonometric functions

// asin(x) / x - 1 in z = x², for |x| <= ½.
fn asin_rest_f32(z: f32) -> f32 {
  var q = 0.038337518;
  q = q * z + 0.0264293;
  q = q * z + 0.045020767;
  q = q * z + 0.07498759;
  q = q * z + 0.16666673;
  return q * z;
}

// asin(a) = π/2 - 2 asin(√((1-a)/2)): the second term without its sign; a in [½, 1].
fn asin_complement_f32(a: f32) -> f32 {
  let z = 0.5 - 0.5 * a;
  let s = root_f32(z);
  return 2.0 * (s + s * asin_rest_f32(z));
}

fn asin_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (bitcast<u32>(a) > 0x3f800000u) { return nan_f32(); }
  if (a < 0.5) { return x + x * asin_rest_f32(x * x); }
  return copysign_f32(1.57079637 - (asin_complement_f32(a) + 4.37113900e-8), x);
}

fn acos_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (bitcast<u32>(a) > 0x3f800000u) { return nan_f32(); }
  if (a < 0.5) { return 1.57079637 - (x + (x * asin_rest_f32(x * x) + 4.37113900e-8)); }
  let r = asin_complement_f32(a);
  return select(r, 3.14159274 - (r + 8.74227800e-8), x < 0.0);
}

fn atan_unit_f32(t: f32) -> f32 {          // atan of |t| <= 1
  let z = t * t;
  var q = -0.0017889235;
  q = q * z + 0.010894826;
  q = q * z - 0.03114335;
  q = q * z + 0.05792539;
  q = q * z - 0.08401715;
  q = q * z + 0.10951644;
  q = q * z - 0.14264148;
  q = q * z + 0.1999854;
  q = q * z - 0.333333;
  return t + t * (z * q);
}

fn atan_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  let beyond = a > 1.0;
  let r = atan_unit_f32(select(a, 1.0 / min(a, 1e9), beyond));
  let y = select(r, 1.57079637 - (r + 4.37113900e-8), beyond);
  return signed_f32(f32_from_bits(select(bitcast<u32>(y), bitcast<u32>(a), is_nan_f32(x))), x);
}

fn atan2_f32(y: f32, x: f32) -> f32 {
  let bx = bitcast<u32>(x) & 0x7fffffffu;
  let by = bitcast<u32>(y) & 0x7fffffffu;
  let low = min(bx, by);
  let high = max(bx, by);
  var q = 0.0;
  if (low == high) {
    q = select(1.0, 0.0, low == 0u);
  } else if (low != 0u && high < 0x7f800000u) {
    let n = split_f32(bitcast<f32>(low));
    let d = split_f32(bitcast<f32>(high));
    q = scale_f32(quotient_f32(1.0 + n.fraction, 1.0 + d.fraction), n.exponent - d.exponent);
  }
  var r = atan_unit_f32(q);
  if (by > bx) { r = 1.57079637 - (r + 4.37113900e-8); }
  if ((bitcast<u32>(x) >> 31u) != 0u) { r = 3.14159274 - (r + 8.74227800e-8); }
  return signed_f32(f32_from_bits(select(bitcast<u32>(r), 0x7fc00000u, high > 0x7f800000u)), y);
}

// ---- Hyperbolic functions and their inverses

// One path for all arguments, like atanh_f32.
fn sinh_f32(x: f32) -> f32 { return sinh_whole_f32(x); }

fn sinh_whole_f32(x: f32) -> f32 {
  let z = x * x;
  var q = 2.8063516e-06;
  q = q * z + 0.00019838092;
  q = q * z + 0.008333339;
  q = q * z + 0.16666667;
  let h = exp_sum_f32(abs_f32(x), 0.0, -1);  // half of e^|x|
  return select(copysign_f32(h - 0.25 / min(h, 1e30), x), x + x * (z * q), abs_f32(x) < 1.0);
}

fn cosh_f32(x: f32) -> f32 {
  let h = exp_sum_f32(abs_f32(x), 0.0, -1);
  return select(h + 0.25 / min(h, 1e30), x, is_nan_f32(x));
}

fn asinh_f32(x: f32) -> f32 { return asinh_whole_f32(x); }

// For large a the result is log(2a), computed as log(a) + log(2).
fn asinh_whole_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  let far = a > 4096.0;
  let z = min(a * a, 16777216.0);
  let r = log1p_f32(select(a + z / (1.0 + sqrt_f32(1.0 + z)), a - 1.0, far)) + select(0.0, 0.69314718, far);
  return signed_f32(f32_from_bits(select(bitcast<u32>(r), bitcast<u32>(a), is_tiny_f32(x) || not_finite_f32(x))), x);
}

fn acosh_f32(x: f32) -> f32 { return acosh_whole_f32(x); }

fn acosh_whole_f32(x: f32) -> f32 {
  if (is_nan_f32(x) || bitcast<u32>(x) == 0x7f800000u) { return x; }
  if (x < 1.0) { return nan_f32(); }
  if (x > 4096.0) { return log_f32(x) + 0.69314718; }
  let t = x - 1.0;
  return log1p_f32(t + root_f32(t * (t + 2.0)));
}

fn atanh_f32(x: f32) -> f32 { return atanh_whole_f32(x); }

fn atanh_whole_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  let a = min(bitcast<f32>(b), 0.99999994);
  let r = 0.5 * log1p_f32(quotient_f32(2.0 * a, 1.0 - a));
  let edge = select(0x7fc00000u, 0x7f800000u, b == 0x3f800000u);
  let bits = select(edge, bitcast<u32>(r), b < 0x3f800000u);
  return signed_f32(f32_from_bits(select(bits, b, is_tiny_f32(x))), x);
}

// ---- Error functions

fn erfc_f32(x: f32) -> f32 { return erfc_whole_f32(x); }

fn erfc_whole_f32(x: f32) -> f32 {
  let a = min(abs_f32(x), 11.0);                           // the result is 0 or 2 there
  // exp(-x²) P(u) / (x+2) with u = (x-2)/(x+2)
  let t = 1.0 / (a + 2.0);
  let u = (a - 2.0) * t;
  var q = 0.00011664525;
  q = q * u - 0.00054234295;
  q = q * u - 0.00089218665;
  q = q * u + 0.0030530167;
  q = q * u + 0.006493079;
  q = q * u - 0.021505808;
  q = q * u - 0.03644357;
  q = q * u + 0.27947187;
  q = q * u - 0.6871607;
  q = q * u + 1.0215827;
  let h = high_part_f32(a);
  let r = times_exp_f32(t * q, -h * h, -(a - h) * (a + h));
  let far = select(r, 2.0 - r, x < 0.0);
  return select(select(far, 1.0 - erf_unit_f32(x), a < 0.75), x, is_nan_f32(x));
}

fn erfinv_f32(x: f32) -> f32 { return erfinv_whole_f32(x); }

fn erfinv_whole_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (b >= 0x3f800000u) { return copysign_f32(select(nan_f32(), infinity_f32(), b == 0x3f800000u), x); }
  let a = bitcast<f32>(b);
  if (a < 0.5) {
    let z = x * x;
    var q = 0.098229855;
    q = q * z + 0.029296365;
    q = q * z + 0.06912666;
    q = q * z + 0.086166404;
    q = q * z + 0.12757294;
    q = q * z + 0.23201339;
    return x * 0.88622695 + x * (z * q);
  }
  let s = root_f32(-log_f32(1.0 - a));
  let u = (s - 1.0) / (s + 1.0);
  var q = -0.0004737886;
  q = q * u + 0.0505101;
  q = q * u - 0.15704297;
  q = q * u + 0.12128846;
  q = q * u + 0.1282987;
  q = q * u - 0.25774798;
  q = q * u - 0.20250703;
  q = q * u + 0.6826032;
  q = q * u + 0.6367161;
  return copysign_f32(s * q, x);
}

// ---- Gamma functions

// lgamma(2 + y) for y in [-1, 1]; y1 is y + 1. Both factors with zeros are exact, so that it is precise near its zeros,
// which are +0.
fn lgamma_near_two_f32(y: f32, y1: f32) -> f32 {
  var q = 1.9320421e-05;
  q = q * y - 3.874393e-05;
  q = q * y + 2.0215384e-05;
  q = q * y - 5.239282e-05;
  q = q * y + 0.00019583633;
  q = q * y - 0.00042559786;
  q = q * y + 0.0009104881;
  q = q * y - 0.00210205;
  q = q * y + 0.0049994844;
  q = q * y - 0.012384977;
  q = q * y + 0.032964945;
  q = q * y - 0.10031727;
  q = q * y + 0.42278433;
  return select(y * y1 * q, 0.0, y1 == 0.0);
}

fn lgamma_positive_f32(x: f32) -> f32 {
  if (x < 1.0) { return lgamma_near_two_f32(x - 1.0, x) - log_f32(x); }
  if (x <= 3.0) { return lgamma_near_two_f32(x - 2.0, x - 1.0); }
  if (x < 8.0) {
    var product = 1.0;
    var t = x;
    while (t > 3.0) {
      t -= 1.0;
      product *= t;
    }
    return lgamma_near_two_f32(t - 2.0, t - 1.0) + log_f32(product);
  }
  // Stirling's series
  let w = 1.0 / min(x, 1e18);
  let z = w * w;
  let tail = w * ((0.0007798481 * z - 0.0027776964) * z + 0.083333336);
  return (x - 0.5) * (log_f32(x) - 1.0) + (tail + 0.418938533);
}

// sin(πr) for |r| <= ½.
fn sin_pi_f32(r: f32) -> f32 {
  let a = abs_f32(r);
  if (a <= 0.25) { return sin_kernel_f32(3.14159274 * r); }
  return copysign_f32(cos_kernel_f32(3.14159274 * (0.5 - a)), r);
}

fn lgamma_f32(x: f32) -> f32 { return lgamma_whole_f32(x); }

fn lgamma_whole_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (b > 0x7f800000u) { return x; }
  if (b == 0u || b == 0x7f800000u) { return infinity_f32(); }
  if (bitcast<u32>(x) == b) { return lgamma_positive_f32(x); }
  let a = bitcast<f32>(b);
  let r = a - round(a);
  if (a >= 8388608.0 || (a >= 1.0 && r == 0.0)) { return infinity_f32(); }
  if (a < 12.0) {
    // Moves x to [1, 2] by Γ(x+1) = x Γ(x).
    var product = 1.0;
    var t = x;
    while (t < 1.0) {
      product *= t;
      t += 1.0;
    }
    return lgamma_near_two_f32(t - 2.0, t - 1.0) - log_f32(abs_f32(product));
  }
  return log_f32(3.14159274 / (a * abs_f32(sin_pi_f32(r)))) - lgamma_positive_f32(a);
}

// ψ on [1, 3]: t ψ(t) = (t - root) P(t - 2). The bound keeps compilers from adding the root's two parts.
fn digamma_near_two_f32(t: f32) -> f32 {
  let y = t - 2.0;
  var q = 1.0852027e-05;
  q = q * y - 3.0665084e-05;
  q = q * y + 6.880569e-05;
  q = q * y - 0.00022709012;
  q = q * y + 0.00077280984;
  q = q * y - 0.0026589187;
  q = q * y + 0.009897319;
  q = q * y - 0.042738803;
  q = q * y + 0.26382965;
  q = q * y + 1.570615;
  return quotient_f32((max(t - 1.46163213, -2.0) - 1.24381499e-8) * q, t);
}

fn digamma_positive_f32(x: f32) -> f32 {
  if (x < 1.0) { return quotient_f32(x * digamma_near_two_f32(1.0 + x) - 1.0, x); }
  if (x <= 3.0) { return digamma_near_two_f32(x); }
  let w = 1.0 / min(x, 1e18);
  let z = w * w;
  var q = 0.0041175084;
  q = q * z - 0.003888172;
  q = q * z + 0.0039581866;
  q = q * z - 0.0083332015;
  q = q * z + 0.083333336;
  return log_f32(x) - (0.5 * w + z * q);
}

// πr cot(πr) for |r| <= ½.
fn scaled_cot_pi_f32(r: f32) -> f32 {
  let z = r * r;
  var q = -5.5776443;
  q = q * z - 0.42510328;
  q = q * z - 2.3208463;
  q = q * z - 1.9753374;
  q = q * z - 2.03634;
  q = q * z - 2.1646123;
  q = q * z - 3.2898684;
  return 1.0 + z * q;
}

fn digamma_f32(x: f32) -> f32 { return digamma_whole_f32(x); }

fn digamma_whole_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (b > 0x7f800000u || bitcast<u32>(x) == 0x7f800000u) { return x; }
  let a = bitcast<f32>(b);
  if (b < 0x0d800000u) {                                   // below 2^-100
    return copysign_f32(select(1.0 / max(a, 1.17549435e-38), infinity_f32(), b < 0x00800000u), -x);
  }
  if (bitcast<u32>(x) == b) { return digamma_positive_f32(x); }
  let r = a - round(a);
  if (a >= 8388608.0 || r == 0.0) { return nan_f32(); }
  return digamma_positive_f32(1.0 + a) + quotient_f32(scaled_cot_pi_f32(r), r);     // ψ(1 + a) + π cot(πa)
}

// x tanh(log(1 + e^x))
fn mish_f32(x: f32) -> f32 { return mish_whole_f32(x); }

fn mish_whole_f32(x: f32) -> f32 {
  if (is_nan_f32(x) || x > 20.0) { return x; }
  if (x < -20.0) {
    // x e^x, scaled by 2^32 in between: e^x may be denormal where the result is not.
    let c = max(x, -200.0);
    return -scale_f32(-c * exp_sum_f32(c, 0.0, 32), -32);
  }
  // e = e^x = scale (1 + p). Below 0, where e's rounding would matter, the result uses 1 + p as a sum.
  let k = round(x * 1.44269504);
  let r = (x - k * 0.693145751953125) - k * 1.42860682e-6;
  let p = r + r * r * exp_rest_f32(r);
  let scale = bitcast<f32>(u32(i32(k) + 127) << 23u);
  let e = scale + scale * p;
  let w = quotient_f32(x * (2.0 + e), e * (2.0 + e) + 2.0);
  return select(w * e, (w + w * p) * scale, x < 0.0);
}

// ---- Bessel functions. J and Y of less than 2.5 by polynomials, those of Y beside 2/π log(x) J. From there on they are
// √(2/(πx)) m cos θ and √(2/(πx)) m sin θ with θ = x - (order + ½) π/2 + φ (Abramowitz and Stegun 9.2.17): φ is added to the angle that is left of x without a quarter of its turns, so that the error is a few ULP of the amplitude,
// also at the zeros. K up to 1 by polynomials, those beside log(x) I, and from there on √x exp(x) K by one of 1 / x.

struct BesselWaveF32 { amplitude: f32, rest: f32, quadrant: u32 }

// θ + order · π/2 = quadrant · π/2 + rest, |rest| up to a little more than π/4; x is finite.
fn bessel_wave_f32(x: f32, order: i32) -> BesselWaveF32 {
  let w = 1.0 / min(x, 1e18);
  let z = w * w;
  var m = 0.0;
  var p = 0.0;
  if (order == 0) {
    m = 10.626412;
    m = m * z - 6.9263916;
    m = m * z + 2.052864;
    m = m * z - 0.42475912;
    m = m * z + 0.10132051;
    m = m * z - 0.06248308;
    p = 4.397578;
    p = p * z - 2.7613108;
    p = p * z + 0.8125514;
    p = p * z - 0.18592173;
    p = p * z + 0.0647575;
    p = p * z - 0.12499844;
  } else {
    m = -14.543613;
    m = m * z + 9.60738;
    m = m * z - 2.9306295;
    m = m * z + 0.65289515;
    m = m * z - 0.19049378;
    m = m * z + 0.18747774;
    p = -6.3956537;
    p = p * z + 4.110859;
    p = p * z - 1.2779924;
    p = p * z + 0.33898938;
    p = p * z - 0.16358866;
    p = p * z + 0.37499785;
  }
  let angle = reduce_angle_f32(x);
  // π/4 is 0.785398185 - 2.18556941e-8.
  let negative = angle.rest < 0.0;
  let near = angle.rest + select(-0.785398185, 0.785398185, negative);
  let rest = near + (w * p + select(2.18556941e-8, -2.18556941e-8, negative));
  let amplitude = quotient_f32(0.39894228 + 0.39894228 * (z * m), root_f32(0.25 * x));
  return BesselWaveF32(amplitude, rest, angle.quadrant - u32(negative));
}

// J0, and J1 / x, of |x| < 2.5 by z = x².
fn j0_near_f32(z: f32) -> f32 {
  var q = 4.1019857e-10;
  q = q * z - 6.721531e-08;
  q = q * z + 6.7789083e-06;
  q = q * z - 0.00043402196;
  q = q * z + 0.015624995;
  q = q * z - 0.25;
  return 1.0 + z * q;
}

fn j1_ratio_f32(z: f32) -> f32 {
  var q = 2.9814182e-11;
  q = q * z - 5.6134284e-09;
  q = q * z + 6.7799294e-07;
  q = q * z - 5.4253105e-05;
  q = q * z + 0.0026041663;
  q = q * z - 0.0625;
  return 0.5 + z * q;
}

fn j0_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (not_finite_f32(x)) { return select(0.0, x, is_nan_f32(x)); }
  if (a < 2.5) { return j0_near_f32(a * a); }
  let wave = bessel_wave_f32(a, 0);
  return wave.amplitude * sin_quadrant_f32(wave.rest, wave.quadrant + 1u);
}

fn j1_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (not_finite_f32(x)) { return select(copysign_f32(0.0, x), x, is_nan_f32(x)); }
  if (a < 2.5) { return x * j1_ratio_f32(a * a); }
  let wave = bessel_wave_f32(a, 1);
  let y = wave.amplitude * sin_quadrant_f32(wave.rest, wave.quadrant);
  return bitcast<f32>(bitcast<u32>(y) ^ (bitcast<u32>(x) & 0x80000000u));
}

// What Y and K are of x that is not positive and finite: infinite of 0 and 0 of infinity, and NaN.
fn bessel_end_f32(x: f32, at_zero: f32) -> f32 {
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u) { return at_zero; }
  return select(nan_f32(), 0.0, bitcast<u32>(x) == 0x7f800000u);
}

fn y0_f32(x: f32) -> f32 {
  if (!is_positive_f32(x)) { return bessel_end_f32(x, f32_from_bits(0xff800000u)); }
  if (x < 2.5) {
    let z = x * x;
    var q = -6.4853684e-10;
    q = q * z + 1.02129235e-07;
    q = q * z - 9.486192e-06;
    q = q * z + 0.0005385751;
    q = q * z - 0.016073927;
    q = q * z + 0.17760599;
    q = q * z - 0.0738043;
    return 0.63661977 * (log_f32(x) * j0_near_f32(z)) + q;
  }
  let wave = bessel_wave_f32(x, 0);
  return wave.amplitude * sin_quadrant_f32(wave.rest, wave.quadrant);
}

// c / x by quotient_f32, for x up to 2.5, also of the least: x is scaled up, because what the quotient takes apart would
// be denormal.
fn pole_f32(c: f32, x: f32) -> f32 { return quotient_f32(c, x * 0x1p64) * 0x1p64; }

fn y1_f32(x: f32) -> f32 {
  if (!is_positive_f32(x)) { return bessel_end_f32(x, f32_from_bits(0xff800000u)); }
  if (x < 1.17549435e-38) { return f32_from_bits(0xff800000u); }
  if (x < 2.5) {
    let z = x * x;
    var q = -4.8688498e-11;
    q = q * z + 8.837672e-09;
    q = q * z - 9.921026e-07;
    q = q * z + 7.16409e-05;
    q = q * z - 0.0029553026;
    q = q * z + 0.054348685;
    q = q * z - 0.1960571;
    return x * (0.63661977 * (log_f32(x) * j1_ratio_f32(z)) + q) - pole_f32(0.63661977, x);
  }
  let wave = bessel_wave_f32(x, 1);
  return wave.amplitude * sin_quadrant_f32(wave.rest, wave.quadrant + 3u);
}

// K0, and K1, of x up to 1.
fn k0_near_f32(x: f32) -> f32 {
  let z = x * x;
  var i = 6.9189573e-06;
  i = i * z + 0.00043394152;
  i = i * z + 0.015625017;
  i = i * z + 0.25;
  var q = 1.5327429e-05;
  q = q * z + 0.0008456717;
  q = q * z + 0.02524906;
  q = q * z + 0.27898285;
  q = q * z + 0.11593152;
  return q - log_f32(x) * (1.0 + z * i);
}

fn k1_near_f32(x: f32) -> f32 {
  if (x < 1.17549435e-38) { return infinity_f32(); }
  let z = x * x;
  var i = 6.8959145e-07;
  i = i * z + 5.4246295e-05;
  i = i * z + 0.0026041681;
  i = i * z + 0.0625;
  var q = -1.5948098e-06;
  q = q * z - 0.000112504815;
  q = q * z - 0.004642194;
  q = q * z - 0.08537072;
  q = q * z - 0.30796576;
  return pole_f32(1.0, x) + x * (log_f32(x) * (0.5 + z * i) + q);
}

// exp(x) K0(x), and exp(x) K1(x), from 1 on.
fn k0_far_f32(x: f32) -> f32 {
  let w = 1.0 / min(x, 1e18);
  var q = -0.008456164;
  q = q * w + 0.045374233;
  q = q * w - 0.10778736;
  q = q * w + 0.15233415;
  q = q * w - 0.14868344;
  q = q * w + 0.116011105;
  q = q * w - 0.08892546;
  q = q * w + 0.08794153;
  q = q * w - 0.15665963;
  return quotient_f32(0.626657057 + 0.5 * (w * q), root_f32(0.25 * x));
}

fn k1_far_f32(x: f32) -> f32 {
  let w = 1.0 / min(x, 1e18);
  var q = 0.010869261;
  q = q * w - 0.058002826;
  q = q * w + 0.13719195;
  q = q * w - 0.19367568;
  q = q * w + 0.1903525;
  q = q * w - 0.15246922;
  q = q * w + 0.12525567;
  q = q * w - 0.14667009;
  q = q * w + 0.46998778;
  return quotient_f32(0.626657057 + 0.5 * (w * q), root_f32(0.25 * x));
}

fn k0_f32(x: f32) -> f32 {
  if (!is_positive_f32(x)) { return bessel_end_f32(x, infinity_f32()); }
  if (x <= 1.0) { return k0_near_f32(x); }
  if (x > 105.0) { return 0.0; }
  return times_exp_f32(k0_far_f32(x), -x, 0.0);
}

fn k1_f32(x: f32) -> f32 {
  if (!is_positive_f32(x)) { return bessel_end_f32(x, infinity_f32()); }
  if (x <= 1.0) { return k1_near_f32(x); }
  if (x > 105.0) { return 0.0; }
  return times_exp_f32(k1_far_f32(x), -x, 0.0);
}

// Up to 1 by the exponential of the most digits: that of some devices has two ULP fewer.
fn k0e_f32(x: f32) -> f32 {
  if (!is_positive_f32(x)) { return bessel_end_f32(x, infinity_f32()); }
  if (x <= 1.0) { return exp_sum_f32(x, 0.0, 0) * k0_near_f32(x); }
  return k0_far_f32(x);
}

fn k1e_f32(x: f32) -> f32 {
  if (!is_positive_f32(x)) { return bessel_end_f32(x, infinity_f32()); }
  if (x <= 1.0) { return exp_sum_f32(x, 0.0, 0) * k1_near_f32(x); }
  return k1_far_f32(x);
}
