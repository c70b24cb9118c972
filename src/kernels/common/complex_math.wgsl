// Complex numbers as vec2<f32>, the real part first. Products and quotients are the plain formulas, also for
// infinities: an infinite part times zero is NaN.

fn mul_c64(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Smith's method: divides by the larger part of the divisor first, so that its square cannot overflow. Without
// branches: if a branch tests the divisor, Mesa's OpenGL replaces the divisor by a constant there, and a quotient by 0
// becomes 0.
fn div_c64(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let c = abs_f32(b.x);
  let d = abs_f32(b.y);
  let swap = less_f32(c, d);
  let larger = select(b.x, b.y, swap);
  let u = select(a, a.yx, swap);
  let r = div_f32(select(b.y, b.x, swap), larger);
  let s = larger + select(b.y, b.x, swap) * r;
  let quotient = vec2<f32>(div_f32(u.x + u.y * r, s), div_f32(select(u.y - u.x * r, u.x * r - u.y, swap), s));
  let zero = ((bitcast<u32>(c) | bitcast<u32>(d)) & 0x7fffffffu) == 0u;
  return select(quotient, vec2<f32>(div_f32(a.x, c), div_f32(a.y, c)), zero);
}

// A real argument gives the real exponential, infinite or not. For an infinite exponent and an undefined angle the
// result is still 0 or infinite.
fn exp_c64(a: vec2<f32>) -> vec2<f32> {
  let e = exp_f32(a.x);
  if ((bitcast<u32>(a.y) & 0x7fffffffu) == 0u) { return vec2<f32>(e, a.y); }
  if (not_finite_f32(a.y) && is_inf_f32(a.x)) { return vec2<f32>(e, select(nan_f32(), 0.0, a.x < 0.0)); }
  return vec2<f32>(e * cos_f32(a.y), e * sin_f32(a.y));
}

fn equal_c64(a: vec2<f32>, b: vec2<f32>) -> bool { return equal_f32(a.x, b.x) && equal_f32(a.y, b.y); }
