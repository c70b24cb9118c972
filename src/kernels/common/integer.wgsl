// Integers: division, powers and shifts that are defined for all operands, and 64-bit integers as vec2<u32>, low word
// first.

fn div_u32(a: u32, b: u32) -> u32 { return select(a / max(b, 1u), 0u, b == 0u); }

fn rem_u32(a: u32, b: u32) -> u32 { return select(a % max(b, 1u), 0u, b == 0u); }

fn div_i32(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  if (b == -1) { return 0 - a; }
  return a / b;
}

fn rem_i32(a: i32, b: i32) -> i32 {
  if (b == 0 || b == -1) { return 0; }
  return a % b;
}

fn pow_u32(base: u32, exponent: u32) -> u32 {
  var result = 1u;
  var b = base;
  for (var e = exponent; e != 0u; e >>= 1u) {
    if ((e & 1u) != 0u) { result *= b; }
    b *= b;
  }
  return result;
}

fn pow_i32(base: i32, exponent: i32) -> i32 {
  if (exponent >= 0) { return bitcast<i32>(pow_u32(bitcast<u32>(base), u32(exponent))); }
  if (base == 1) { return 1; }
  if (base == -1) { return select(1, -1, (exponent & 1) != 0); }
  return 0;
}

fn shift_left_u32(a: u32, n: u32) -> u32 { return select(a << (n & 31u), 0u, n > 31u); }

fn shift_left_i32(a: i32, n: i32) -> i32 { return select(a << (u32(n) & 31u), 0, u32(n) > 31u); }

fn shift_right_u32(a: u32, n: u32) -> u32 { return select(a >> (n & 31u), 0u, n > 31u); }

fn shift_right_i32(a: i32, n: i32) -> i32 { return a >> min(u32(n), 31u); }

// Floored division: the remainder has the divisor's sign.
fn floor_divide_i32(a: i32, b: i32) -> i32 {
  let r = rem_i32(a, b);
  return div_i32(a, b) - select(0, 1, r != 0 && (r < 0) != (b < 0));
}

fn remainder_i32(a: i32, b: i32) -> i32 {
  let r = rem_i32(a, b);
  return select(r, r + b, r != 0 && (r < 0) != (b < 0));
}

fn gcd_u32(a: u32, b: u32) -> u32 {
  var x = a;
  var y = b;
  while (y != 0u) {
    let r = x % y;
    x = y;
    y = r;
  }
  return x;
}

fn lcm_u32(a: u32, b: u32) -> u32 { return div_u32(a, gcd_u32(a, b)) * b; }

fn magnitude_i32(a: i32) -> u32 { return bitcast<u32>(select(a, 0 - a, a < 0)); }

fn gcd_i32(a: i32, b: i32) -> i32 { return bitcast<i32>(gcd_u32(magnitude_i32(a), magnitude_i32(b))); }

fn lcm_i32(a: i32, b: i32) -> i32 { return bitcast<i32>(lcm_u32(magnitude_i32(a), magnitude_i32(b))); }

// ---- 64 bits

fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn neg_64(a: vec2<u32>) -> vec2<u32> {
  let low = ~a.x + 1u;
  return vec2<u32>(low, ~a.y + select(0u, 1u, low == 0u));
}

fn sub_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn mul_wide_u32(a: u32, b: u32) -> vec2<u32> {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let low = al * bl;
  let m = ah * bl + (low >> 16u);
  let n = al * bh + (m & 0xffffu);
  return vec2<u32>(a * b, ah * bh + (m >> 16u) + (n >> 16u));
}

fn mul_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let p = mul_wide_u32(a.x, b.x);
  return vec2<u32>(p.x, p.y + a.x * b.y + a.y * b.x);
}

fn less_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }

fn less_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return i32(a.y) < i32(b.y) || (a.y == b.y && a.x < b.x);
}

fn min_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, less_u64(b, a)); }

fn max_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, less_u64(a, b)); }

fn min_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, less_i64(b, a)); }

fn max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, less_i64(a, b)); }

fn is_negative_64(a: vec2<u32>) -> bool { return (a.y >> 31u) != 0u; }

fn abs_i64(a: vec2<u32>) -> vec2<u32> { return select(a, neg_64(a), is_negative_64(a)); }

fn sign_i64(a: vec2<u32>) -> vec2<u32> {
  if (is_negative_64(a)) { return vec2<u32>(0xffffffffu); }
  return vec2<u32>(min(a.x | a.y, 1u), 0u);
}

fn relu_i64(a: vec2<u32>) -> vec2<u32> { return select(a, vec2<u32>(0u), is_negative_64(a)); }

fn shift_left_64(a: vec2<u32>, count: vec2<u32>) -> vec2<u32> {
  let n = count.x;
  if (count.y != 0u || n > 63u) { return vec2<u32>(0u); }
  if (n == 0u) { return a; }
  if (n > 31u) { return vec2<u32>(0u, a.x << (n - 32u)); }
  return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

fn shift_right_u64(a: vec2<u32>, count: vec2<u32>) -> vec2<u32> {
  let n = count.x;
  if (count.y != 0u || n > 63u) { return vec2<u32>(0u); }
  if (n == 0u) { return a; }
  if (n > 31u) { return vec2<u32>(a.y >> (n - 32u), 0u); }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

fn shift_right_i64(a: vec2<u32>, count: vec2<u32>) -> vec2<u32> {
  let fill = bitcast<u32>(bitcast<i32>(a.y) >> 31u);
  let n = count.x;
  if (count.y != 0u || n > 63u) { return vec2<u32>(fill); }
  if (n == 0u) { return a; }
  if (n > 31u) { return vec2<u32>(bitcast<u32>(bitcast<i32>(a.y) >> (n - 32u)), fill); }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), bitcast<u32>(bitcast<i32>(a.y) >> n));
}

// Quotient and remainder by long division; both 0 if the divisor is 0.
struct Divided64 { quotient: vec2<u32>, remainder: vec2<u32> }

fn divide_u64(a: vec2<u32>, b: vec2<u32>) -> Divided64 {
  if ((b.x | b.y) == 0u) { return Divided64(vec2<u32>(0u), vec2<u32>(0u)); }
  if ((a.y | b.y) == 0u) { return Divided64(vec2<u32>(a.x / b.x, 0u), vec2<u32>(a.x % b.x, 0u)); }
  var q = vec2<u32>(0u);
  var r = vec2<u32>(0u);
  for (var i = 63i; i >= 0; i--) {
    let carry = r.y >> 31u;
    r = vec2<u32>((r.x << 1u) | (shift_right_u64(a, vec2<u32>(u32(i), 0u)).x & 1u), (r.y << 1u) | (r.x >> 31u));
    if (carry != 0u || !less_u64(r, b)) {
      r = sub_64(r, b);
      if (i > 31) { q.y |= 1u << u32(i - 32); } else { q.x |= 1u << u32(i); }
    }
  }
  return Divided64(q, r);
}

fn div_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return divide_u64(a, b).quotient; }

fn rem_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return divide_u64(a, b).remainder; }

fn div_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let q = divide_u64(abs_i64(a), abs_i64(b)).quotient;
  return select(q, neg_64(q), is_negative_64(a) != is_negative_64(b));
}

fn rem_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = divide_u64(abs_i64(a), abs_i64(b)).remainder;
  return select(r, neg_64(r), is_negative_64(a));
}

fn floor_divide_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let d = divide_u64(abs_i64(a), abs_i64(b));
  if (is_negative_64(a) == is_negative_64(b)) { return d.quotient; }
  let exact = (d.remainder.x | d.remainder.y) == 0u;
  return sub_64(neg_64(d.quotient), vec2<u32>(select(1u, 0u, exact), 0u));
}

fn remainder_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = rem_i64(a, b);
  if ((r.x | r.y) == 0u || is_negative_64(r) == is_negative_64(b)) { return r; }
  return add_64(r, b);
}

fn trailing_zeros_64(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(select(countTrailingZeros(a.x), 32u + countTrailingZeros(a.y), a.x == 0u), 0u);
}

// Stein's method: shifts and differences.
fn gcd_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if ((a.x | a.y) == 0u) { return b; }
  if ((b.x | b.y) == 0u) { return a; }
  let twos = trailing_zeros_64(a | b);
  var x = shift_right_u64(a, trailing_zeros_64(a));
  var y = b;
  while ((y.x | y.y) != 0u) {
    y = shift_right_u64(y, trailing_zeros_64(y));
    let low = min_u64(x, y);
    y = sub_64(max_u64(x, y), low);
    x = low;
  }
  return shift_left_64(x, twos);
}

fn lcm_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return mul_64(div_u64(a, gcd_u64(a, b)), b); }

fn gcd_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return gcd_u64(abs_i64(a), abs_i64(b)); }

fn lcm_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return lcm_u64(abs_i64(a), abs_i64(b)); }

fn popcount_64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(countOneBits(a.x) + countOneBits(a.y), 0u); }

fn clz_64(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u), 0u);
}

fn pow_u64(base: vec2<u32>, exponent: vec2<u32>) -> vec2<u32> {
  var result = vec2<u32>(1u, 0u);
  var b = base;
  for (var e = exponent; (e.x | e.y) != 0u; e = shift_right_u64(e, vec2<u32>(1u, 0u))) {
    if ((e.x & 1u) != 0u) { result = mul_64(result, b); }
    b = mul_64(b, b);
  }
  return result;
}

fn pow_i64(base: vec2<u32>, exponent: vec2<u32>) -> vec2<u32> {
  if (!is_negative_64(exponent)) { return pow_u64(base, exponent); }
  if (all(base == vec2<u32>(1u, 0u))) { return base; }
  if (all(base == vec2<u32>(0xffffffffu))) {
    return select(vec2<u32>(1u, 0u), base, (exponent.x & 1u) != 0u);
  }
  return vec2<u32>(0u);
}

// ---- Conversions between floats and 64-bit integers: to nearest even; towards zero, saturating, NaN to 0.

fn f32_from_u64(a: vec2<u32>) -> f32 {
  if (a.y == 0u && a.x < 0x1000000u) { return f32(a.x); }
  let zeros = select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
  let n = shift_left_64(a, vec2<u32>(zeros, 0u));          // leading bit at 63
  var m = n.y >> 8u;
  let rest = n.y & 0xffu;
  if (rest > 0x80u || (rest == 0x80u && (n.x != 0u || (m & 1u) != 0u))) { m += 1u; }
  return bitcast<f32>(((190u - zeros - 1u) << 23u) + m);    // the hidden bit adds the missing 1
}

fn f32_from_i64(a: vec2<u32>) -> f32 {
  let f = f32_from_u64(abs_i64(a));
  return select(f, -f, is_negative_64(a));
}

// Rounded to odd, so that a second rounding, to a narrower float, gives the result of a single one.
fn odd_f32_from_u32(a: u32) -> f32 {
  let below = (1u << (8u - min(countLeadingZeros(a), 8u))) - 1u;   // the bits that f32 cannot hold
  return f32((a & ~below) | select(0u, below + 1u, (a & below) != 0u));
}

fn odd_f32_from_i32(a: i32) -> f32 {
  let f = odd_f32_from_u32(bitcast<u32>(abs(a)));
  return select(f, -f, a < 0);
}

fn odd_f32_from_u64(a: vec2<u32>) -> f32 {
  if (a.y == 0u) { return odd_f32_from_u32(a.x); }
  let zeros = countLeadingZeros(a.y);
  let n = shift_left_64(a, vec2<u32>(zeros, 0u));          // leading bit at 63
  let odd = (n.y >> 8u) | select(0u, 1u, ((n.y & 0xffu) | n.x) != 0u);
  return bitcast<f32>(((190u - zeros - 1u) << 23u) + odd);
}

fn odd_f32_from_i64(a: vec2<u32>) -> f32 {
  let f = odd_f32_from_u64(abs_i64(a));
  return select(f, -f, is_negative_64(a));
}

fn u64_from_f32(x: f32) -> vec2<u32> {
  let b = bitcast<u32>(x);
  if (b >= 0x80000000u || b > 0x7f800000u) { return vec2<u32>(0u); }
  let e = i32(b >> 23u) - 150;                             // x = m · 2^e
  let m = (b & 0x7fffffu) | 0x800000u;
  if (e < -23) { return vec2<u32>(0u); }
  if (e <= 0) { return vec2<u32>(m >> u32(-e), 0u); }
  if (e > 40) { return vec2<u32>(0xffffffffu); }
  return shift_left_64(vec2<u32>(m, 0u), vec2<u32>(u32(e), 0u));
}

fn i64_from_f32(x: f32) -> vec2<u32> {
  let b = bitcast<u32>(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) { return vec2<u32>(0u); }
  let negative = b >= 0x80000000u;
  if ((b & 0x7fffffffu) >= 0x5f000000u) {                  // 2^63 or more
    return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
  }
  let a = u64_from_f32(bitcast<f32>(b & 0x7fffffffu));
  return select(a, neg_64(a), negative);
}

// ---- f64 as bits, low word first

fn f64_from_f32(x: f32) -> vec2<u32> {
  let b = bitcast<u32>(x);
  let a = b & 0x7fffffffu;
  var e = a >> 23u;
  var m = a & 0x7fffffu;
  if (e == 0u) {                                           // a denormal, as if it were normal
    let shift = countLeadingZeros(m) - 8u;
    m = (m << (shift & 31u)) & 0x7fffffu;
    e = 1u - shift;
  }
  let exponent = select(select(e + 896u, 0x7ffu, e == 255u), 0u, a == 0u);
  return vec2<u32>(m << 29u, (b & 0x80000000u) | (exponent << 20u) | (m >> 3u));
}

fn f64_from_u64(a: vec2<u32>) -> vec2<u32> {
  if (all(a == vec2<u32>(0u))) { return a; }
  let zeros = clz_64(a);
  let n = shift_left_64(a, zeros);                         // leading bit at 63
  var m = shift_right_u64(n, vec2<u32>(11u, 0u));
  let rest = n.x & 0x7ffu;
  if (rest > 0x400u || (rest == 0x400u && (m.x & 1u) != 0u)) { m = add_64(m, vec2<u32>(1u, 0u)); }
  return add_64(m, vec2<u32>(0u, (1085u - zeros.x) << 20u));  // the hidden bit adds the missing 1
}

fn f64_from_i64(a: vec2<u32>) -> vec2<u32> {
  let f = f64_from_u64(abs_i64(a));
  return vec2<u32>(f.x, f.y | (a.y & 0x80000000u));
}

// To nearest even; or to odd, so that a second rounding gives the result of a single one.
fn f32_from_f64(x: vec2<u32>, odd: bool) -> f32 {
  let sign = x.y & 0x80000000u;
  let a = vec2<u32>(x.x, x.y & 0x7fffffffu);
  if (a.y >= 0x7ff00000u) {
    return bitcast<f32>(sign | select(0x7fc00000u, 0x7f800000u, a.y == 0x7ff00000u && a.x == 0u));
  }
  let exponent = i32(a.y >> 20u) - 896;                    // biased as in f32
  if (exponent > 254) { return bitcast<f32>(sign | select(0x7f800000u, 0x7f7fffffu, odd)); }
  // The 24 bits that f32 keeps, and those below them.
  var m = 0x800000u | ((a.y & 0xfffffu) << 3u) | (a.x >> 29u);
  var below = a.x << 3u;
  var pattern = 0u;
  if (exponent > 0) {
    pattern = (u32(exponent - 1) << 23u) + m;              // the hidden bit adds the missing 1
  } else if (exponent >= -24) {
    let shift = u32(1 - exponent);
    below = (m << (32u - shift)) | (below >> shift) | select(0u, 1u, (below << (32u - shift)) != 0u);
    pattern = m >> shift;
  } else {
    below = select(0u, 1u, (a.x | a.y) != 0u);
  }
  let is_odd = (pattern & 1u) != 0u;
  let nearest = below > 0x80000000u || (below == 0x80000000u && is_odd);
  let up = select(nearest, below != 0u && !is_odd, odd);
  return bitcast<f32>(sign | (pattern + select(0u, 1u, up)));
}

// To integers towards zero, saturating, NaN to 0.
fn u64_from_f64(x: vec2<u32>) -> vec2<u32> {
  let e = i32(x.y >> 20u) - 1075;                          // x = m · 2^e
  if (x.y >= 0x80000000u || x.y > 0x7ff00000u || (x.y == 0x7ff00000u && x.x != 0u)) { return vec2<u32>(0u); }
  let m = vec2<u32>(x.x, (x.y & 0xfffffu) | 0x100000u);
  if (e < 0) { return shift_right_u64(m, vec2<u32>(u32(-e), 0u)); }
  if (e > 11) { return vec2<u32>(0xffffffffu); }
  return shift_left_64(m, vec2<u32>(u32(e), 0u));
}

fn i64_from_f64(x: vec2<u32>) -> vec2<u32> {
  let a = vec2<u32>(x.x, x.y & 0x7fffffffu);
  if (a.y > 0x7ff00000u || (a.y == 0x7ff00000u && a.x != 0u)) { return vec2<u32>(0u); }
  let negative = x.y >= 0x80000000u;
  if (a.y >= 0x43e00000u) {                                // 2^63 or more
    return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
  }
  let magnitude = u64_from_f64(a);
  return select(magnitude, neg_64(magnitude), negative);
}

fn i32_from_f64(x: vec2<u32>) -> i32 {
  let low = vec2<u32>(0x80000000u, 0xffffffffu);
  return bitcast<i32>(max_i64(min_i64(i64_from_f64(x), vec2<u32>(0x7fffffffu, 0u)), low).x);
}

fn u32_from_f64(x: vec2<u32>) -> u32 {
  let v = u64_from_f64(x);
  return select(v.x, 0xffffffffu, v.y != 0u);
}

// Four 16-bit elements from element k of the three words that contain them.
fn halves_at(words: vec3<u32>, k: u32) -> vec2<u32> {
  return select(words.xy, (words.xy >> vec2<u32>(16u)) | (words.yz << vec2<u32>(16u)), (k & 1u) != 0u);
}
