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

// ---- Functions of complex numbers, with the branch cuts and special values of C's Annex G. Results are accurate in
// relation to their magnitude; a part that is small beside the other may have fewer digits.

fn is_zero_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0u; }
// i z and -i z.
fn turned_c64(z: vec2<f32>) -> vec2<f32> { return vec2<f32>(bitcast<f32>(bitcast<u32>(z.y) ^ 0x80000000u), z.x); }
fn turned_back_c64(z: vec2<f32>) -> vec2<f32> { return vec2<f32>(z.y, bitcast<f32>(bitcast<u32>(z.x) ^ 0x80000000u)); }

// The larger and the smaller magnitude of the parts, in the order of their bits: NaN is the largest.
fn larger_part_c64(z: vec2<f32>) -> f32 {
  return bitcast<f32>(max(bitcast<u32>(z.x) & 0x7fffffffu, bitcast<u32>(z.y) & 0x7fffffffu));
}
fn smaller_part_c64(z: vec2<f32>) -> f32 {
  return bitcast<f32>(min(bitcast<u32>(z.x) & 0x7fffffffu, bitcast<u32>(z.y) & 0x7fffffffu));
}

// ln |z|, as the logarithm of the larger part and that of sqrt(1 + r²), r being the quotient of the parts: no square
// overflows. Where the two cancel, the angle is not small.
fn log_magnitude_c64(z: vec2<f32>) -> f32 {
  let larger = larger_part_c64(z);
  let smaller = smaller_part_c64(z);
  if (is_inf_f32(larger) || is_inf_f32(smaller)) { return f32_from_bits(0x7f800000u); }
  let scale = select(1.0, 0x1p64, larger < 0x1p-60);
  let r = select(div_f32(smaller * scale, larger * scale), 0.0, is_zero_f32(larger * scale));
  return log_f32(larger) + 0.5 * log1p_unit_f32(r * r);
}

fn log_c64(z: vec2<f32>) -> vec2<f32> { return vec2<f32>(log_magnitude_c64(z), atan2_f32(z.y, z.x)); }
fn log2_c64(z: vec2<f32>) -> vec2<f32> { return log_c64(z) * 1.44269504; }
fn log10_c64(z: vec2<f32>) -> vec2<f32> { return log_c64(z) * 0.43429448; }

// Of small z from |1 + z|² - 1, which loses nothing of z.
fn log1p_c64(z: vec2<f32>) -> vec2<f32> {
  let above = 1.0 + z.x;
  let angle = atan2_f32(z.y, above);
  if (less_f32(larger_part_c64(z), 0.5)) {
    return vec2<f32>(0.5 * log1p_f32(z.x * (2.0 + z.x) + z.y * z.y), angle);
  }
  return vec2<f32>(log_magnitude_c64(vec2<f32>(above, z.y)), angle);
}

// exp(x) cos y - 1 = (exp(x) - 1) cos y - 2 sin(y/2)².
fn expm1_c64(z: vec2<f32>) -> vec2<f32> {
  if (is_zero_f32(z.y)) { return vec2<f32>(expm1_f32(z.x), z.y); }
  let e = exp_c64(z);
  if (not_finite_f32(z.y)) { return vec2<f32>(e.x - 1.0, e.y); }
  let s = sin_f32(0.5 * z.y);
  return vec2<f32>(expm1_f32(z.x) * cos_f32(z.y) - 2.0 * (s * s), e.y);
}

// A magnitude times 2^n; denormal ones are 0.
fn scaled_magnitude_f32(x: f32, n: i32) -> f32 {
  return select(scale_f32(x, n), 0.0, bitcast<u32>(x) < 0x800000u);
}

// With w = sqrt((|z| + |x|) / 2) the parts are w and |y| / 2w (Kahan, "Branch cuts for complex elementary functions",
// 1987), of z scaled by a power of 4 where it is so large or small that a sum or square would leave f32's range.
fn sqrt_c64(z: vec2<f32>) -> vec2<f32> {
  let infinity = f32_from_bits(0x7f800000u);
  let a = abs_f32(z.x);
  let b = abs_f32(z.y);
  if (is_inf_f32(b)) { return vec2<f32>(infinity, z.y); }
  let negative = (bitcast<u32>(z.x) & 0x80000000u) != 0u;
  if (is_inf_f32(a)) {
    let other = select(0.0, nan_f32(), is_nan_f32(b));
    if (negative) { return vec2<f32>(other, copysign_f32(infinity, z.y)); }
    return vec2<f32>(infinity, copysign_f32(other, z.y));
  }
  if (is_nan_f32(a) || is_nan_f32(b)) { return vec2<f32>(nan_f32(), nan_f32()); }
  let larger = larger_part_c64(z);
  if (bitcast<u32>(larger) < 0x800000u) { return vec2<f32>(0.0, copysign_f32(0.0, z.y)); }
  let n = select(select(0, 40, larger < 0x1p-60), -4, larger >= 0x1p100);
  let x = scaled_magnitude_f32(a, 2 * n);
  let y = scaled_magnitude_f32(b, 2 * n);
  let w = sqrt_f32(0.5 * (hypot_f32(x, y) + x));
  let first = scaled_magnitude_f32(w, -n);
  let second = scaled_magnitude_f32(div_f32(0.5 * y, w), -n);
  return vec2<f32>(select(first, second, negative), copysign_f32(select(second, first, negative), z.y));
}

// 1 / sqrt z, as the quotient is.
fn rsqrt_c64(z: vec2<f32>) -> vec2<f32> {
  if (is_zero_f32(z.x) && is_zero_f32(z.y)) { return vec2<f32>(f32_from_bits(0x7f800000u), nan_f32()); }
  return div_c64(vec2<f32>(1.0, 0.0), sqrt_c64(z));
}

// sinh x cos y + i cosh x sin y. Where a part of z is 0 the other is all there is.
fn sinh_c64(z: vec2<f32>) -> vec2<f32> {
  if (is_zero_f32(z.y)) { return vec2<f32>(sinh_f32(z.x), z.y); }
  let c = cos_f32(z.y);
  let s = sin_f32(z.y);
  if (is_zero_f32(z.x)) { return vec2<f32>(bitcast<f32>(bitcast<u32>(z.x) ^ (bitcast<u32>(c) & 0x80000000u)), s); }
  if (not_finite_f32(z.y)) { return vec2<f32>(select(nan_f32(), z.x, is_inf_f32(z.x)), nan_f32()); }
  return vec2<f32>(sinh_f32(z.x) * c, cosh_f32(z.x) * s);
}

// cosh x cos y + i sinh x sin y.
fn cosh_c64(z: vec2<f32>) -> vec2<f32> {
  let sign = bitcast<u32>(z.x) & 0x80000000u;
  if (is_zero_f32(z.y)) { return vec2<f32>(cosh_f32(z.x), bitcast<f32>(bitcast<u32>(z.y) ^ sign)); }
  let c = cos_f32(z.y);
  let s = sin_f32(z.y);
  if (is_zero_f32(z.x)) { return vec2<f32>(c, bitcast<f32>((bitcast<u32>(s) & 0x80000000u) ^ sign)); }
  if (not_finite_f32(z.y)) { return vec2<f32>(select(nan_f32(), abs_f32(z.x), is_inf_f32(z.x)), nan_f32()); }
  return vec2<f32>(cosh_f32(z.x) * c, sinh_f32(z.x) * s);
}

fn sin_c64(z: vec2<f32>) -> vec2<f32> { return turned_back_c64(sinh_c64(turned_c64(z))); }
fn cos_c64(z: vec2<f32>) -> vec2<f32> { return cosh_c64(turned_c64(z)); }

// By tan y and sinh x, of whose squares nothing is subtracted (Kahan, 1987).
fn tanh_c64(z: vec2<f32>) -> vec2<f32> {
  if (is_zero_f32(z.y)) { return vec2<f32>(tanh_f32(z.x), z.y); }
  let s = sin_f32(z.y);
  let c = cos_f32(z.y);
  if (is_beyond_f32(z.x, 10.0) && !is_nan_f32(z.x)) {
    let product = select(s * c, z.y, not_finite_f32(z.y));
    let rest = select(4.0 * abs_f32(product) * exp_f32(-2.0 * abs_f32(z.x)), 0.0, is_inf_f32(z.x));
    let finite = vec2<f32>(copysign_f32(1.0, z.x), copysign_f32(rest, product));
    return select(finite, vec2<f32>(nan_f32(), nan_f32()), not_finite_f32(z.y) && !is_inf_f32(z.x));
  }
  if (is_zero_f32(z.x)) { return vec2<f32>(z.x, tan_f32(z.y)); }
  if (not_finite_f32(z.y) || is_nan_f32(z.x)) { return vec2<f32>(nan_f32(), nan_f32()); }
  let t = tan_f32(z.y);
  let h = sinh_f32(z.x);
  let b = 1.0 + t * t;
  let d = 1.0 + b * (h * h);
  return vec2<f32>(div_f32(b * (cosh_f32(z.x) * h), d), div_f32(t, d));
}

fn tan_c64(z: vec2<f32>) -> vec2<f32> { return turned_back_c64(tanh_c64(turned_c64(z))); }

// sqrt(1 - z) and sqrt(1 + z), from whose parts Kahan (1987) has the inverse functions without cancellation.
fn root_below_c64(z: vec2<f32>) -> vec2<f32> {
  return sqrt_c64(vec2<f32>(1.0 - z.x, bitcast<f32>(bitcast<u32>(z.y) ^ 0x80000000u)));
}
fn root_above_c64(z: vec2<f32>) -> vec2<f32> { return sqrt_c64(vec2<f32>(1.0 + z.x, z.y)); }

// ln |2z|, what inverse functions of large z are.
fn log_of_double_c64(z: vec2<f32>) -> f32 { return log_magnitude_c64(z) + 0.69314718; }

fn asin_c64(z: vec2<f32>) -> vec2<f32> {
  if (is_zero_f32(z.x) && is_nan_f32(z.y)) { return z; }
  if (is_beyond_f32(larger_part_c64(z), 0x1p50)) {
    return vec2<f32>(atan2_f32(z.x, abs_f32(z.y)), copysign_f32(log_of_double_c64(z), z.y));
  }
  let a = root_below_c64(z);
  let b = root_above_c64(z);
  return vec2<f32>(atan2_f32(z.x, max(a.x * b.x - a.y * b.y, 0.0)),
                   copysign_f32(asinh_f32(a.x * b.y - a.y * b.x), z.y));
}

fn acos_c64(z: vec2<f32>) -> vec2<f32> {
  let opposite = bitcast<f32>(bitcast<u32>(z.y) ^ 0x80000000u);
  if (is_zero_f32(z.x) && is_nan_f32(z.y)) { return vec2<f32>(1.57079633, z.y); }
  if (is_beyond_f32(larger_part_c64(z), 0x1p50)) {
    return vec2<f32>(atan2_f32(abs_f32(z.y), z.x), copysign_f32(log_of_double_c64(z), opposite));
  }
  let a = root_below_c64(z);
  let b = root_above_c64(z);
  return vec2<f32>(2.0 * atan2_f32(a.x, b.x), copysign_f32(asinh_f32(b.x * a.y - b.y * a.x), opposite));
}

fn asinh_c64(z: vec2<f32>) -> vec2<f32> { return turned_back_c64(asin_c64(turned_c64(z))); }

fn acosh_c64(z: vec2<f32>) -> vec2<f32> {
  let w = acos_c64(z);
  return vec2<f32>(abs_f32(w.y), copysign_f32(w.x, z.y));
}

// In the first quadrant ln(|1 + z| / |1 - z|) / 2 and the mean of the angles of 1 + z and 1 / (1 - z).
fn atanh_c64(z: vec2<f32>) -> vec2<f32> {
  let x = abs_f32(z.x);
  let y = abs_f32(z.y);
  if (is_nan_f32(y)) {
    return vec2<f32>(select(nan_f32(), copysign_f32(0.0, z.x), is_zero_f32(x) || is_inf_f32(x)), z.y);
  }
  if (is_nan_f32(x) && !is_inf_f32(y)) { return vec2<f32>(nan_f32(), nan_f32()); }
  var w = vec2<f32>(0.0, 1.57079633);
  if (is_inf_f32(x) || is_inf_f32(y)) {
    // The limits.
  } else if (is_beyond_f32(larger_part_c64(z), 0x1p50)) {
    w.x = div_c64(vec2<f32>(1.0, 0.0), vec2<f32>(x, y)).x;
  } else if (bitcast<u32>(x) == 0x3f800000u) {
    let infinite = is_zero_f32(y);
    w = vec2<f32>(select(0.5 * (log_f32(hypot_f32(2.0, y)) - log_f32(y)), f32_from_bits(0x7f800000u), infinite),
                  select(0.5 * (1.57079633 + atan_f32(0.5 * y)), 0.0, infinite));
  } else {
    let below = 1.0 - x;
    w = vec2<f32>(0.25 * log1p_f32(div_f32(4.0 * x, below * below + y * y)),
                  0.5 * atan2_f32(2.0 * y, below * (1.0 + x) - y * y));
  }
  return vec2<f32>(copysign_f32(w.x, z.x), copysign_f32(w.y, z.y));
}

fn atan_c64(z: vec2<f32>) -> vec2<f32> { return turned_back_c64(atanh_c64(turned_c64(z))); }

// exp(w ln z); powers to integers of up to 64, where they are neither infinite nor denormal, are products. 0^w is 0 if
// the real part of w is positive, 1 if w is 0, and else NaN.
fn pow_c64(z: vec2<f32>, w: vec2<f32>) -> vec2<f32> {
  let real_exponent = is_zero_f32(w.y);
  if (real_exponent && is_zero_f32(w.x)) { return vec2<f32>(1.0, 0.0); }
  if (is_zero_f32(z.x) && is_zero_f32(z.y)) {
    let zero = less_f32(0.0, w.x) && !not_finite_f32(w.y);
    return select(vec2<f32>(nan_f32(), nan_f32()), vec2<f32>(0.0, 0.0), zero);
  }
  let l = log_c64(z);
  let e = select(mul_c64(w, l), vec2<f32>(w.x * l.x, w.x * l.y), real_exponent);
  let steps = abs_f32(w.x);
  let whole = real_exponent && less_f32(steps, 64.5) && round(w.x) == w.x;
  if (!whole || !less_f32(abs_f32(e.x), 80.0)) { return exp_c64(e); }
  var base = z;
  if (w.x < 0.0) { base = div_c64(vec2<f32>(1.0, 0.0), z); }
  var result = vec2<f32>(1.0, 0.0);
  for (var n = u32(steps); n > 0u; n >>= 1u) {
    if ((n & 1u) != 0u) { result = mul_c64(result, base); }
    if (n > 1u) { base = mul_c64(base, base); }
  }
  return result;
}
