{# Functions of f32 whose results are the same bits on every device: portable_math_cpu.h says which, in the same order. #}
// The product, which no compiler can fuse with a sum or take for a real number.
fn times(a: f32, b: f32) -> f32 { return rounded(a * b); }
// A sum that none may combine with another.
fn rounded(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ p.opaque_zero); }

fn fraction(w: u32) -> f32 {
  return max(f32(w & (0xffffff00u >> (countLeadingZeros(w) & 31u))), 0.5) * 0x1p-32;
}

fn log_core(k: f32, f: f32) -> f32 {
  let z = times(f, f);
  var y = 7.0376836292e-2;
  y = times(y, f) - 1.1514610310e-1;
  y = times(y, f) + 1.1676998740e-1;
  y = times(y, f) - 1.2420140846e-1;
  y = times(y, f) + 1.4249322787e-1;
  y = times(y, f) - 1.6668057665e-1;
  y = times(y, f) + 2.0000714765e-1;
  y = times(y, f) - 2.4999993993e-1;
  y = times(y, f) + 3.3333331174e-1;
  y = times(times(y, f), z);
  y = y + times(k, -2.12194440e-4);
  y = y - 0.5 * z;
  return (f + y) + times(k, 0.693359375);
}
// k and f.
fn log_parts(x: f32) -> vec2<f32> {
  let b = bitcast<i32>(x) - 0x3f3504f3;
  return vec2<f32>(f32(b >> 23u), bitcast<f32>(0x3f3504f3 + (b & 0x7fffff)) - 1.0);
}
fn log1p_parts(x: f32) -> vec2<f32> {
  return select(log_parts(1.0 + x), vec2<f32>(0.0, x), x > -0.29 && x < 0.41);
}
fn log1p_of(x: f32) -> f32 {
  let parts = log1p_parts(x);
  return log_core(parts.x, parts.y);
}
