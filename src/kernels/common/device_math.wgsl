// Functions of f32 by the device's exp2, for devices where exp2, fma and the reciprocal have proved themselves
// (kernels/device_math.h): they take the place of those of the same names in scalar_math.wgsl. Within 4 ULP as those;
// arguments far out, infinite or NaN go the long way there.

// Negative numbers give NaN; 0 and infinity, for which the correction has no value, themselves.
fn sqrt_f32(x: f32) -> f32 {
  let r = inverseSqrt(x);
  let s = x * r;
  let b = bitcast<u32>(x);
  return select(fma(0.5 * r, fma(-s, s, x), s), x, (b & 0x7fffffffu) < 0x800000u || b == 0x7f800000u);
}

fn root_f32(v: f32) -> f32 { return sqrt_f32(v); }

fn quotient_f32(a: f32, b: f32) -> f32 {
  let r = 1.0 / b;
  let q = a * r;
  return fma(fma(-q, b, a), r, q);
}

// By the device's exp2 and log2, however rough, and a step of Newton's, which small numbers take multiplied by 2^96 so
// that no difference becomes denormal.
fn cbrt_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  let small = b < 0x20000000u;
  let a = bitcast<f32>(b) * select(1.0, 0x1p96, small);
  let t = exp2(log2(a) * 0.33333333);
  let z = t * t;
  let r = (t - fma(z, t, -a) * (0.33333333 / z)) * select(1.0, 0x1p-32, small);
  return select(copysign_f32(r, x), x, b == 0u || b >= 0x7f800000u);
}

// exp2(x · factor), whose rounding the difference from the exact product corrects. `factor` is rounded; `rest` is what
// it lacks times ln 2. The result is far from the ends of f32's range.
fn exp2_of_product_f32(x: f32, factor: f32, rest: f32) -> f32 {
  let h = x * factor;
  let e = exp2(h);
  return fma(e, fma(fma(x, factor, -h), 0.69314718, x * rest), e);
}

fn exp_f32(x: f32) -> f32 {
  if (is_beyond_f32(x, 87.0)) { return exp_sum_f32(x, 0.0, 0); }
  return exp2_of_product_f32(x, 1.44269502, 1.33497583e-8);
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

// x / (1 + 2^-(x w)) with w = 2.3022… + 0.1029… x²; w's rounding error comes back by differences that are exact,
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
  let z = x * x;
  var q = 0.0022834947;
  q = q * z - 0.008336379;
  q = q * z + 0.021766843;
  q = q * z - 0.05395904;
  q = q * z + 0.13333303;
  q = q * z - 0.33333334;
  return select(copysign_f32(large, x), x + x * (z * q), abs(x) < 0.625);
}

// As pow_whole_f32: log2|x| as a sum of two numbers, lh + ll, by log2(m) = 2/ln2 · (q + q³/3 + …), q = (m - 1)/(m + 1).
fn pow_f32(x: f32, y: f32) -> f32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (b - 0x800000u >= 0x7f000000u || not_finite_f32(y)) { return pow_whole_f32(x, y); }
  let s = split_normal_f32(bitcast<f32>(b));
  let f = s.fraction;
  // Bits and clamps keep compilers from putting together what was parted.
  let d = high_part_f32(f + 2.0);
  let inverse = 1.0 / d;
  let dl = f - clamp(d - 2.0, -1.0, 1.0);
  let q = f * (inverse - dl * inverse * inverse);
  let ql = fma(-q, dl, fma(-q, d, f)) * inverse;
  let z = q * q;
  var p = 0.3368017;
  p = p * z + 0.41189316;
  p = p * z + 0.57707983;
  p = p * z + 0.9617967;
  let k = f32(s.exponent);
  let th = 2.88539004 * q;
  let tl = fma(z * fma(3.0, ql, q), p, fma(2.88539004, q, -th) + fma(3.85192607e-8, q, 2.88539004 * ql));
  let lh = bitcast<f32>(bitcast<u32>((k + th) + tl) & 0xfffffff8u);
  let ll = (clamp(k - lh, -1.0, 1.0) + th) + tl;
  let h = y * lh;
  if (is_beyond_f32(h, 126.0)) { return pow_whole_f32(x, y); }
  let e = exp2(h);
  let r = fma(e, 0.69314718 * fma(y, ll, fma(y, lh, -h)), e);
  // Of a negative x: y's parity.
  let whole = floor(y) == y;
  let odd = whole && floor(0.5 * y) != 0.5 * y;
  if (bitcast<u32>(x) != b) { return select(f32_from_bits(0x7fc00000u), select(r, -r, odd), whole); }
  return r;
}

// ---- For results that are rounded to a float narrower than f32, as in narrow_math.wgsl, without branches: what is
// infinite or not a number goes through the device's operations to the right end.

fn exp_narrow(x: f32) -> f32 { return exp2(x * 1.44269504); }

fn exp2_narrow(x: f32) -> f32 { return exp2(x); }

fn sigmoid_narrow(x: f32) -> f32 { return 1.0 / (1.0 + exp2(x * -1.44269504)); }

fn gelu_erf_narrow(x: f32) -> f32 {
  let a = abs(x);
  let t = 1.0 / (1.0 + 0.25 * a);
  var q = 0.23871383;
  q = q * t - 0.09068089;
  q = q * t + 0.15926093;
  q = q * t + 0.09585741;
  q = q * t + 0.09622001;
  q = q * t + 0.000637892;
  return max(x, 0.0) - min(a, 14.0) * q * exp2(x * x * -0.72134752);
}

fn tanh_narrow(x: f32) -> f32 {
  let z = x * x;
  let small = x - x * z * (0.33333333 - 0.13333333 * z);
  return select(1.0 - 2.0 * (1.0 / (1.0 + exp2(x * 2.88539008))), small, z < 0.04);
}
