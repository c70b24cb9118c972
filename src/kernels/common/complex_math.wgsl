// Complex numbers as vec2<f32>, the real part first. Products and quotients are the plain formulas, infinities
// included: an infinite part times a zero is NaN.

fn mul_c64(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Smith's method: the larger part of the divisor is divided out first, so that its square cannot overflow. Without
// branches: of a divisor that decides one, Mesa's OpenGL makes a constant, and of a quotient by 0 then 0.
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

// Of a real number: that one, infinite or not. Where no angle is given an infinite exponent still says 0 or infinity.
fn exp_c64(a: vec2<f32>) -> vec2<f32> {
  let e = exp_f32(a.x);
  if ((bitcast<u32>(a.y) & 0x7fffffffu) == 0u) { return vec2<f32>(e, a.y); }
  if (not_finite_f32(a.y) && is_inf_f32(a.x)) { return vec2<f32>(e, select(nan_f32(), 0.0, a.x < 0.0)); }
  return vec2<f32>(e * cos_f32(a.y), e * sin_f32(a.y));
}

fn equal_c64(a: vec2<f32>, b: vec2<f32>) -> bool { return equal_f32(a.x, b.x) && equal_f32(a.y, b.y); }
