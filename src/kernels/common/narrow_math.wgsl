// Scalar functions whose results are rounded to a float narrower than f32: within 2^-14 of the result, by the device's
// exp2 and log2, which take a few instructions. Arguments far out, infinities and NaN take the slow path
// (scalar_math.wgsl), as they would in f32. …_fast is for all others, within …_reach, for kernels that test many
// arguments together.

const exp_reach = 80.0;
fn exp_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, exp_reach)) { return exp_f32(x); }
  return exp_fast(x);
}
fn exp_fast(x: f32) -> f32 {
  return exp2(x * 1.44269504);
}

const exp2_reach = 120.0;
fn exp2_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, exp2_reach)) { return exp2_f32(x); }
  return exp2_fast(x);
}
fn exp2_fast(x: f32) -> f32 {
  return exp2(x);
}

const sigmoid_reach = 80.0;
fn sigmoid_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, sigmoid_reach)) { return sigmoid_f32(x); }
  return sigmoid_fast(x);
}
fn sigmoid_fast(x: f32) -> f32 {
  return 1.0 / (1.0 + exp2(x * -1.44269504));
}

const silu_reach = 80.0;
fn silu_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, silu_reach)) { return silu_f32(x); }
  return silu_fast(x);
}
fn silu_fast(x: f32) -> f32 {
  return x * (1.0 / (1.0 + exp2(x * -1.44269504)));
}

fn silu_bf16(x: f32) -> f32 { return silu_narrow(x); }

const gelu_quick_reach = 40.0;
fn gelu_quick_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, gelu_quick_reach)) { return gelu_quick_f32(x); }
  return gelu_quick_fast(x);
}
fn gelu_quick_fast(x: f32) -> f32 {
  return x * (1.0 / (1.0 + exp2(x * -2.45546696)));
}

fn gelu_quick_bf16(x: f32) -> f32 { return gelu_quick_narrow(x); }

const gelu_tanh_reach = 8.0;
fn gelu_tanh_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, gelu_tanh_reach)) { return gelu_tanh_f32(x); }
  return gelu_tanh_fast(x);
}
fn gelu_tanh_fast(x: f32) -> f32 {
  return x * (1.0 / (1.0 + exp2(x * (-2.3022082 - 0.10294324 * (x * x)))));
}

fn gelu_tanh_bf16(x: f32) -> f32 { return gelu_tanh_narrow(x); }

// x minus the tail, |x| ½ erfc(|x|/√2) = |x| exp(-x²/2) P(1 / (1 + |x|/4)).
const gelu_erf_reach = 8.0;
fn gelu_erf_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, gelu_erf_reach)) { return gelu_erf_f32(x); }
  return gelu_erf_fast(x);
}
fn gelu_erf_fast(x: f32) -> f32 {
  let tail = abs(x) * gelu_tail_narrow(abs(x)) * exp2(x * x * -0.72134752);
  return select(-tail, x - tail, x >= 0.0);
}

// For bf16, whose range exceeds that of the short form.
fn gelu_erf_bf16(x: f32) -> f32 { return gelu_erf_narrow(x); }

// Within 2^-20: of f16 results the f32 functions round as many the other way, those next to the middle of two.
fn gelu_tail_narrow(a: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.25 * a);
  var q = -0.100178435;
  q = q * t + 0.3825634;
  q = q * t - 0.3487612;
  q = q * t + 0.36933854;
  q = q * t - 0.030409481;
  q = q * t + 0.13216501;
  q = q * t + 0.09498269;
  q = q * t + 0.00029944736;
  return q;
}

const tanh_reach = 9.0;
fn tanh_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, tanh_reach)) { return tanh_f32(x); }
  return tanh_fast(x);
}
fn tanh_fast(x: f32) -> f32 {
  let z = x * x;
  let small = x * (1.0 - z * (0.33333333 - 0.13333333 * z));
  return select(1.0 - 2.0 * (1.0 / (1.0 + exp2(x * 2.88539008))), small, z < 0.04);
}

// log(1 + e^-|x|) loses precision in the sum where e^-|x| is small.
const softplus_reach = 80.0;
fn softplus_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, softplus_reach)) { return softplus_f32(x); }
  return softplus_fast(x);
}
fn softplus_fast(x: f32) -> f32 {
  let u = exp2(abs(x) * -1.44269504);
  let small = u * (1.0 - u * (0.5 - u * 0.33333333));
  return max(x, 0.0) + select(0.69314718 * log2(1.0 + u), small, u < 0.03);
}

const mish_reach = 20.0;
fn mish_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, mish_reach)) { return mish_f32(x); }
  return mish_fast(x);
}
fn mish_fast(x: f32) -> f32 {
  let e = exp2(x * 1.44269504);
  let n = e * (e + 2.0);
  return x * (n * (1.0 / (n + 2.0)));
}

// Their only short forms use the device's own functions (device_narrow_math.wgsl).
fn log_narrow(x: f32) -> f32 { return log_f32(x); }
fn log2_narrow(x: f32) -> f32 { return log2_f32(x); }
fn log10_narrow(x: f32) -> f32 { return log10_f32(x); }
fn log1p_narrow(x: f32) -> f32 { return log1p_f32(x); }
fn expm1_narrow(x: f32) -> f32 { return expm1_f32(x); }
fn sin_narrow(x: f32) -> f32 { return sin_f32(x); }
fn cos_narrow(x: f32) -> f32 { return cos_f32(x); }
fn tan_narrow(x: f32) -> f32 { return tan_f32(x); }
fn asin_narrow(x: f32) -> f32 { return asin_f32(x); }
fn acos_narrow(x: f32) -> f32 { return acos_f32(x); }
fn atan_narrow(x: f32) -> f32 { return atan_f32(x); }
fn sinh_narrow(x: f32) -> f32 { return sinh_f32(x); }
fn cosh_narrow(x: f32) -> f32 { return cosh_f32(x); }
fn asinh_narrow(x: f32) -> f32 { return asinh_f32(x); }
fn acosh_narrow(x: f32) -> f32 { return acosh_f32(x); }
fn atanh_narrow(x: f32) -> f32 { return atanh_f32(x); }
fn erf_narrow(x: f32) -> f32 { return erf_f32(x); }
fn erfc_narrow(x: f32) -> f32 { return erfc_f32(x); }
fn erfinv_narrow(x: f32) -> f32 { return erfinv_f32(x); }
fn cbrt_narrow(x: f32) -> f32 { return cbrt_f32(x); }
fn hypot_narrow(x: f32, y: f32) -> f32 { return hypot_f32(x, y); }
fn pow_narrow(x: f32, y: f32) -> f32 { return pow_f32(x, y); }

// For arguments with all of f32's range.
fn sin_wide(x: f32) -> f32 { return sin_f32(x); }
fn cos_wide(x: f32) -> f32 { return cos_f32(x); }
fn tan_wide(x: f32) -> f32 { return tan_f32(x); }
fn sinh_wide(x: f32) -> f32 { return sinh_f32(x); }
fn cosh_wide(x: f32) -> f32 { return cosh_f32(x); }
fn asinh_wide(x: f32) -> f32 { return asinh_f32(x); }
fn acosh_wide(x: f32) -> f32 { return acosh_f32(x); }
fn erfinv_wide(x: f32) -> f32 { return erfinv_f32(x); }
fn mish_wide(x: f32) -> f32 { return mish_f32(x); }
fn hypot_wide(x: f32, y: f32) -> f32 { return hypot_f32(x, y); }
