// Scalar functions whose results are rounded to a float narrower than f32: within 2^-14 of the result, by the device's
// exp2 and log2, which take a few instructions. Arguments far out, infinite or NaN, go the long way (scalar_math.wgsl),
// as they would in f32.

fn exp_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 80.0)) { return exp_f32(x); }
  return exp2(x * 1.44269504);
}

fn exp2_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 120.0)) { return exp2_f32(x); }
  return exp2(x);
}

fn sigmoid_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 80.0)) { return sigmoid_f32(x); }
  return 1.0 / (1.0 + exp2(x * -1.44269504));
}

fn silu_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 80.0)) { return silu_f32(x); }
  return x * (1.0 / (1.0 + exp2(x * -1.44269504)));
}

fn gelu_quick_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 40.0)) { return gelu_quick_f32(x); }
  return x * (1.0 / (1.0 + exp2(x * -2.45546696)));
}

fn gelu_tanh_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 8.0)) { return gelu_tanh_f32(x); }
  return x * (1.0 / (1.0 + exp2(x * (-2.3022082 - 0.10294324 * (x * x)))));
}

// x less its part in the tail, |x| ½ erfc(|x|/√2) = |x| exp(-x²/2) P(1 / (1 + |x|/4)).
fn gelu_erf_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 8.0)) { return gelu_erf_f32(x); }
  return max(x, 0.0) - abs(x) * gelu_tail_narrow(abs(x)) * exp2(x * x * -0.72134752);
}

fn gelu_tail_narrow(a: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.25 * a);
  var q = 0.23871383;
  q = q * t - 0.09068089;
  q = q * t + 0.15926093;
  q = q * t + 0.09585741;
  q = q * t + 0.09622001;
  q = q * t + 0.000637892;
  return q;
}

fn tanh_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 9.0)) { return tanh_f32(x); }
  let z = x * x;
  let small = x - x * z * (0.33333333 - 0.13333333 * z);
  return select(1.0 - 2.0 * (1.0 / (1.0 + exp2(x * 2.88539008))), small, z < 0.04);
}

// log(1 + e^-|x|) loses its digits in the sum where e^-|x| is small.
fn softplus_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 80.0)) { return softplus_f32(x); }
  let u = exp2(abs(x) * -1.44269504);
  let small = u * (1.0 - u * (0.5 - u * 0.33333333));
  return max(x, 0.0) + select(0.69314718 * log2(1.0 + u), small, u < 0.03);
}

fn mish_narrow(x: f32) -> f32 {
  if (is_beyond_f32(x, 20.0)) { return mish_f32(x); }
  let e = exp2(x * 1.44269504);
  let n = e * (e + 2.0);
  return x * (n * (1.0 / (n + 2.0)));
}
