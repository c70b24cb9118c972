// Functions whose results are rounded to a float narrower than f32, as in narrow_math.wgsl, by the device's exp2, log2,
// reciprocal and inverse root, for devices on which these passed the tests that device_math.wgsl needs, and those at
// the ends of their ranges (kernels/device_math.h). Without branches: the device's operations give the right results
// for infinities and NaN.

fn exp_narrow(x: f32) -> f32 { return exp2(x * 1.44269504); }

fn exp2_narrow(x: f32) -> f32 { return exp2(x); }

fn sigmoid_narrow(x: f32) -> f32 { return 1.0 / (1.0 + exp2(x * -1.44269504)); }

// x is limited, because -infinity times 0 would be NaN.
fn silu_narrow(x: f32) -> f32 { return max(x, -1e5) * (1.0 / (1.0 + exp2(x * -1.44269504))); }

fn gelu_quick_narrow(x: f32) -> f32 { return max(x, -1e5) * (1.0 / (1.0 + exp2(x * -2.45546696))); }

fn gelu_tanh_narrow(x: f32) -> f32 {
  return max(x, -1e5) * (1.0 / (1.0 + exp2(x * (-2.3022082 - 0.10294324 * (x * x)))));
}

fn gelu_erf_narrow(x: f32) -> f32 {
  return signed_f32(max(x, 0.0) - min(abs(x), 14.0) * gelu_tail_narrow(abs(x)) * exp2(x * x * -0.72134752), x);
}

// Near 0, where the difference is not precise, x itself.
fn tanh_narrow(x: f32) -> f32 {
  return select(1.0 - 2.0 * (1.0 / (1.0 + exp2(x * 2.88539008))), x, abs(x) < 0.01);
}

// log(1 + t) for |t| below 1/16, where 1 + t loses t's low digits.
fn log1p_small_narrow(t: f32) -> f32 {
  return t * fma(t, fma(t, fma(t, -0.2508329, 0.33393246), -0.49999934), 1.0);
}

fn log_narrow(x: f32) -> f32 {
  let t = x - 1.0;
  return select(0.69314718 * log2(x), log1p_small_narrow(t), abs(t) < 0.0625);
}

fn log2_narrow(x: f32) -> f32 {
  let t = x - 1.0;
  return select(log2(x), 1.44269504 * log1p_small_narrow(t), abs(t) < 0.0625);
}

fn log10_narrow(x: f32) -> f32 {
  let t = x - 1.0;
  return select(0.30103 * log2(x), 0.43429448 * log1p_small_narrow(t), abs(t) < 0.0625);
}

fn log1p_narrow(x: f32) -> f32 {
  return select(0.69314718 * log2(1.0 + x), log1p_small_narrow(x), abs(x) < 0.0625);
}

fn expm1_narrow(x: f32) -> f32 {
  let small = x * fma(x, fma(x, fma(x, 0.041694347, 0.16676632), 0.4999999), 1.0);
  return select(exp2(x * 1.44269504) - 1.0, small, abs(x) < 0.125);
}

// sin(r) for |r| up to π/2.
fn sin_rest_narrow(r: f32) -> f32 {
  let z = r * r;
  return r * fma(z, fma(z, fma(z, -0.00018570514, 0.00831529), -0.16665936), 1.0);
}

// Subtracts the nearest multiple of π, a product without a rounding error of its own; infinities give NaN.
fn sin_narrow(x: f32) -> f32 {
  let a = abs(x);
  let shifted = bitcast<u32>(fma(a, 0.31830989, 12582912.0));
  let n = unshifted_f32(shifted);
  let s = sin_rest_narrow(fma(n, 8.742278e-8, fma(n, -3.14159274, a)));
  return bitcast<f32>(bitcast<u32>(s) ^ (bitcast<u32>(x) & 0x80000000u) ^ (shifted << 31u));
}

// Subtracts the nearest zero of cos.
fn cos_narrow(x: f32) -> f32 {
  let n = floor(x * 0.31830989);
  let m = n + 0.5;
  let s = sin_rest_narrow(fma(m, -8.742278e-8, fma(m, 3.14159274, -x)));
  return bitcast<f32>(bitcast<u32>(s) ^ (bitcast<u32>(i32(n)) << 31u));
}

fn tan_narrow(x: f32) -> f32 {
  let a = abs(x);
  let n = round(a * 0.63661977);
  let r = fma(n, 4.371139e-8, fma(n, -1.57079637, a));
  let z = r * r;
  let t = r * fma(z, fma(z, fma(z, fma(z, 0.043582812, 0.040832926), 0.13626008), 0.33313528), 1.0);
  return bitcast<f32>(bitcast<u32>(select(t, -1.0 / t, (i32(n) & 1) != 0)) ^ (bitcast<u32>(x) & 0x80000000u));
}

// From ½ on by asin(a) = π/2 - 2 asin(√((1-a)/2)). Roots are the inverse of inverse roots, which are defined for 0 and
// infinity and NaN for negative numbers.
fn asin_narrow(x: f32) -> f32 {
  let a = abs(x);
  let small = a < 0.5;
  let z = select(fma(a, -0.5, 0.5), a * a, small);
  let t = select(1.0 / inverseSqrt(z), a, small);
  let p = t * fma(z, fma(z, fma(z, 0.064225525, 0.07186144), 0.16680402), 1.0);
  return copysign_f32(select(fma(-2.0, p, 1.57079633), p, small), x);
}

fn acos_narrow(x: f32) -> f32 {
  let a = abs(x);
  let root = 1.0 / inverseSqrt(1.0 - a);
  let r = root * fma(a, fma(a, fma(a, fma(a, 0.008648677, -0.03575654), 0.08466669), -0.21412466), 1.5707879);
  return select(r, 3.14159265 - r, x < 0.0);
}

fn atan_narrow(x: f32) -> f32 {
  let a = abs(x);
  let above = a > 1.0;
  let t = select(a, 1.0 / a, above);
  let z = t * t;
  var q = -0.013460468;
  q = fma(q, z, 0.05743243);
  q = fma(q, z, -0.12120429);
  q = fma(q, z, 0.19562511);
  q = fma(q, z, -0.33299345);
  q = fma(q, z, 0.9999956);
  return signed_f32(select(t * q, fma(-t, q, 1.57079633), above), x);
}

fn sinh_narrow(x: f32) -> f32 {
  let h = x * 1.44269504;
  let z = x * x;
  let small = x * fma(z, fma(z, 0.008333334, 0.16666667), 1.0);
  return select(0.5 * (exp2(h) - exp2(-h)), small, abs(x) < 0.25);
}

fn cosh_narrow(x: f32) -> f32 {
  let h = x * 1.44269504;
  return 0.5 * (exp2(h) + exp2(-h));
}

fn asinh_narrow(x: f32) -> f32 {
  let a = abs(x);
  let z = a * a;
  let small = x * fma(z, fma(z, 0.075, -0.16666667), 1.0);
  let large = 0.69314718 * log2(a + 1.0 / inverseSqrt(z + 1.0));
  return select(signed_f32(large, x), small, a < 0.125);
}

// NaN below 1, from the inverse root.
fn acosh_narrow(x: f32) -> f32 {
  return 0.69314718 * log2(x + 1.0 / inverseSqrt((x - 1.0) * abs(x + 1.0)));
}

fn atanh_narrow(x: f32) -> f32 {
  let z = x * x;
  let small = x * fma(z, fma(z, 0.2, 0.33333333), 1.0);
  return select(0.34657359 * (log2(1.0 + x) - log2(1.0 - x)), small, abs(x) < 0.125);
}

// From 0.8 on 1 - exp(-a²) P(1 / (1 + 0.6 a)).
fn erf_narrow(x: f32) -> f32 {
  let a = abs(x);
  let z = x * x;
  let small = x * fma(z, fma(z, fma(z, -0.021081466, 0.11064515), -0.37585443), 1.1283739);
  let t = 1.0 / fma(a, 0.6, 1.0);
  let q = fma(t, fma(t, 0.9305951, 0.0030834128), 0.0621558);
  return select(copysign_f32(fma(-q, exp2(z * -1.44269504), 1.0), x), small, a < 0.8);
}

// exp(-x²) P(1 / (1 + |x|/2)).
fn erfc_narrow(x: f32) -> f32 {
  let t = 1.0 / fma(abs(x), 0.5, 1.0);
  var q = -0.19776915;
  q = fma(q, t, 0.5443022);
  q = fma(q, t, 0.03547486);
  q = fma(q, t, 0.34460145);
  q = fma(q, t, 0.27287316);
  q = fma(q, t, 0.0005339369);
  let tail = q * exp2(x * x * -1.44269504);
  return select(tail, 2.0 - tail, x < 0.0);
}

// x R(-log2(1 - x²)); the argument is infinite at ±1 and NaN past them.
fn erfinv_narrow(x: f32) -> f32 {
  let w = -log2(fma(-x, x, 1.0));
  let n = fma(w, 0.035886616, -0.89146113);
  let d = fma(w, fma(w, 0.00917542, 0.036560435), 1.0);
  return x * select(fma(n, 1.0 / d, fma(w, 0.09225092, 1.7776976)), w, abs(x) >= 1.0);
}

fn cbrt_narrow(x: f32) -> f32 { return signed_f32(exp2(log2(abs(x)) * 0.33333333), x); }

// n / (n + 2) as 1 / (1 + 2 / n), which does not overflow for large n.
fn mish_narrow(x: f32) -> f32 {
  let e = exp2(x * 1.44269504);
  return max(x, -1e5) * (1.0 / (1.0 + 2.0 * (1.0 / (e * (e + 2.0)))));
}

// Squares of f16 do not overflow f32.
fn hypot_narrow(x: f32, y: f32) -> f32 {
  return select(1.0 / inverseSqrt(fma(x, x, y * y)), infinity_f32(), (abs(x) > 3e38) | (abs(y) > 3e38));
}

// The logarithm as one number, from odd powers of q.
fn pow_narrow(x: f32, y: f32) -> f32 {
  var far = false;
  let r = pow_narrow_fast(x, y, &far);
  if (far) { return pow_whole_f32(x, y); }
  return r;
}

fn pow_narrow_fast(x: f32, y: f32, far: ptr<function, bool>) -> f32 {
  let s = split_normal_f32(bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu));
  let q = s.fraction * (1.0 / (s.fraction + 2.0));
  let z = q * q;
  let k = f32(s.exponent);
  *far = *far | is_beyond_f32(k, 126.0) | is_beyond_f32(y, 0x1p22);
  let r = exp2(y * fma(q, fma(z, fma(z, 0.5958736, 0.9615862), 2.8853905), k));
  return signed_power_f32(x, y, r);
}

// ---- For bf16, within 2^-12 of the result. Its range is f32's: arguments far below 0 take the slow path, and so does
// NaN, which kernels store separately.

// x / (1 + 2^-u); far below 0 it is x 2^(u + 32) 2^-32, since 2^-u overflows where the result is still representable.
// The last factor is applied to the exponent's bits: of x 2^(u/2) 2^(u/2) a compiler may multiply the last two first.
fn gated_bf16(x: f32, u: f32) -> f32 {
  let c = max(x, -1e5);
  let b = bitcast<u32>(c * exp2(u + 32.0));
  let small = bitcast<f32>(select(b - (32u << 23u), b & 0x80000000u, ((b >> 23u) & 0xffu) < 33u));
  return select(c * (1.0 / (1.0 + exp2(-u))), small, u < -110.0);
}

fn silu_bf16(x: f32) -> f32 { return gated_bf16(x, x * 1.44269504); }
fn silu_brief(x: f32) -> f32 { return x * (1.0 / (1.0 + exp2(x * -1.44269504))); }
fn silu_brief_far(x: f32) -> bool { return !(x >= -80.0); }

fn gelu_quick_bf16(x: f32) -> f32 { return gated_bf16(x, x * 2.45546696); }
fn gelu_quick_brief(x: f32) -> f32 { return x * (1.0 / (1.0 + exp2(x * -2.45546696))); }
fn gelu_quick_brief_far(x: f32) -> bool { return !(x >= -46.0); }

fn gelu_tanh_bf16(x: f32) -> f32 { return gated_bf16(x, x * (2.3022082 + 0.10294324 * (x * x))); }
fn gelu_tanh_brief(x: f32) -> f32 {
  return x * (1.0 / (1.0 + exp2(x * (-2.3022082 - 0.10294324 * (x * x)))));
}
fn gelu_tanh_brief_far(x: f32) -> bool { return !(x >= -8.0); }

fn gelu_erf_bf16(x: f32) -> f32 {
  if (bitcast<u32>(x) >= 0xc0e00000u) { return gelu_erf_f32(x); }
  return gelu_erf_narrow(x);
}

// x / (1 + 2^-(x P(|x|))), where P approximates the logarithm of the normal distribution's odds, divided by x; past 7
// it only grows.
fn gelu_erf_brief(x: f32) -> f32 {
  let a = abs(x);
  var q = 4.92941681e-06;
  q = fma(q, a, -0.000160616749);
  q = fma(q, a, 0.00209543216);
  q = fma(q, a, -0.0133265874);
  q = fma(q, a, 0.0342802839);
  q = fma(q, a, 0.0619038783);
  q = fma(q, a, 0.0244049392);
  q = fma(q, a, 2.29760707);
  return x * (1.0 / (1.0 + exp2(-x * q)));
}

fn gelu_erf_brief_far(x: f32) -> bool { return !(x >= -7.0); }

// ---- For arguments with all of f32's range, of bf16 or computed by the kernel, f16's forms are valid unless
// …_wide_far.

// f32 arguments come nearer to a multiple of π/2 than 16-bit ones do: past this limit the third part of π/2 would
// matter.
fn sin_wide_far(x: f32) -> bool { return is_beyond_f32(x, 128.0); }
fn cos_wide_far(x: f32) -> bool { return is_beyond_f32(x, 128.0); }
fn tan_wide_far(x: f32) -> bool { return is_beyond_f32(x, 128.0); }
fn sinh_wide_far(x: f32) -> bool { return is_beyond_f32(x, 88.0); }
fn cosh_wide_far(x: f32) -> bool { return is_beyond_f32(x, 88.0); }
fn asinh_wide_far(x: f32) -> bool { return is_beyond_f32(x, 0x1p60); }
fn acosh_wide_far(x: f32) -> bool { return (!(x >= 1.0005) & (bitcast<u32>(x) != 0x3f800000u)) | !(x < 0x1p60); }
fn erfinv_wide_far(x: f32) -> bool {
  return is_beyond_f32(x, 0.9996) & ((bitcast<u32>(x) & 0x7fffffffu) != 0x3f800000u);
}
fn mish_wide_far(x: f32) -> bool { return is_beyond_f32(x, 80.0); }

fn hypot_wide(x: f32, y: f32) -> f32 {
  let v = fma(x, x, y * y);
  if (!(v > 0x1p-100) || v > 0x1p120) { return hypot_f32(x, y); }
  return 1.0 / inverseSqrt(v);
}
