// Bit-exact conversions between f32 and the narrow floats: round to nearest even, NaN kept, denormals kept.
// `e` exponent bits and `m` mantissa bits; the pattern is returned in the low bits. Overflow becomes infinity, or NaN
// for E4M3, which has no infinity.

fn narrow_f16(value: f32) -> u32 {
  let b = bitcast<u32>(value);
  let a = b & 0x7fffffffu;
  // Adding ½ puts a denormal's rounded bits at the bottom of the sum.
  let denormal = bitcast<u32>(bitcast<f32>(a) + 0.5) - 0x3f000000u;
  let normal = (a + 0xfffu + ((a >> 13u) & 1u) - 0x38000000u) >> 13u;
  var r = select(normal, denormal, a < 0x38800000u);
  r = select(r, 0x7c00u, a >= 0x477ff000u);
  r = select(r, 0x7e00u | ((a >> 13u) & 0x3ffu), a > 0x7f800000u);
  return r | ((b >> 16u) & 0x8000u);
}

// Two f16 in a word.
fn narrow_f16x2(low: f32, high: f32) -> u32 { return narrow_f16(low) | (narrow_f16(high) << 16u); }

fn narrow_bf16(value: f32) -> u32 {
  let b = bitcast<u32>(value);
  return select((b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u, (b >> 16u) | 0x40u, (b & 0x7fffffffu) > 0x7f800000u);
}

// Four bf16 in two words. NaN is rare; the test is on the sum, which is NaN if one of them is (and for infinities of
// both signs).
fn narrow_bf16x4(v: vec4<f32>) -> vec2<u32> {
  if ((bitcast<u32>((v.x + v.y) + (v.z + v.w)) & 0x7fffffffu) > 0x7f800000u) {
    return vec2<u32>(narrow_bf16(v.x) | (narrow_bf16(v.y) << 16u), narrow_bf16(v.z) | (narrow_bf16(v.w) << 16u));
  }
  return no_nan_bf16x4(v);
}

// The same for values without NaN.
fn no_nan_bf16x4(v: vec4<f32>) -> vec2<u32> {
  let b = bitcast<vec4<u32>>(v);
  let r = b + vec4<u32>(0x7fffu) + ((b >> vec4<u32>(16u)) & vec4<u32>(1u));
  return upper_halves(r);
}

// The same for values of which none is NaN or halfway between two bf16.
fn no_ties_bf16x4(v: vec4<f32>) -> vec2<u32> {
  let r = bitcast<vec4<u32>>(v) + vec4<u32>(0x8000u);
  return upper_halves(r);
}

// For values that are bf16 already.
fn exact_bf16x4(v: vec4<f32>) -> vec2<u32> { return upper_halves(bitcast<vec4<u32>>(v)); }

fn upper_halves(b: vec4<u32>) -> vec2<u32> {
  return (b.xz >> vec2<u32>(16u)) | (b.yw & vec2<u32>(0xffff0000u));
}

// True if v is not ±0, by its bits. `zero` is a 0 that compilers do not know: LLVM, behind Mesa's software device,
// turns a comparison of masked bits with 0 into one of floats, for which the device flushes denormals to 0.
fn is_not_zero_f32(v: f32, zero: u32) -> bool { return ((bitcast<u32>(v) ^ zero) & 0x7fffffffu) != 0u; }

// True if v is positive and finite, by its bits, so that NaN needs no comparison.
fn is_positive_f32(v: f32) -> bool { return bitcast<u32>(v) - 1u < 0x7f7fffffu; }
fn all_positive_f32(v: vec4<f32>) -> bool {
  return is_positive_f32(v.x) && is_positive_f32(v.y) && is_positive_f32(v.z) && is_positive_f32(v.w);
}

fn narrow_bits(value: f32, e: u32, m: u32, finite_only: bool) -> u32 {
  let f = bitcast<u32>(value);
  let sign = (f >> 31u) << (e + m);
  let magnitude = f & 0x7fffffffu;
  let infinity = ((1u << e) - 1u) << m;
  let all_ones = (1u << (e + m)) - 1u;
  let nan = select(infinity | (1u << (m - 1u)), all_ones, finite_only);
  if (magnitude > 0x7f800000u) {
    return sign | nan | select((magnitude >> (23u - m)) & ((1u << m) - 1u), 0u, finite_only);
  }
  if (magnitude == 0x7f800000u) {
    return sign | select(infinity, nan, finite_only);
  }
  let exponent = max(i32(magnitude >> 23u), 1);                  // a denormal's as if it were normal
  var mantissa = magnitude & 0x7fffffu;
  if (magnitude >= 0x800000u) { mantissa |= 0x800000u; }
  let biased = exponent - 127 + i32((1u << (e - 1u)) - 1u);
  var shift = 23u - m;
  var pattern = 0u;
  if (biased < 1) {
    shift += u32(1 - biased);
  } else {
    pattern = u32(biased - 1) << m;                              // the hidden bit adds the missing 1
  }
  if (shift > 25u) { return sign; }
  let rest = mantissa & ((1u << shift) - 1u);
  let half = (1u << shift) >> 1u;
  var kept = mantissa >> shift;
  if (rest > half || (rest == half && rest != 0u && (kept & 1u) == 1u)) { kept += 1u; }
  pattern += kept;
  let overflow = select(infinity, all_ones, finite_only);
  if (pattern >= overflow) { pattern = select(infinity, nan, finite_only); }
  return sign | pattern;
}

fn widen_bits(bits: u32, e: u32, m: u32, finite_only: bool) -> f32 {
  let sign = ((bits >> (e + m)) & 1u) << 31u;
  let magnitude = bits & ((1u << (e + m)) - 1u);
  let exponent = magnitude >> m;
  let mantissa = magnitude & ((1u << m) - 1u);
  if (finite_only) {
    if (magnitude == (1u << (e + m)) - 1u) { return bitcast<f32>(sign | 0x7fc00000u); }
  } else if (exponent == (1u << e) - 1u) {
    return bitcast<f32>(sign | 0x7f800000u | (mantissa << (23u - m)));
  }
  let bias = (1u << (e - 1u)) - 1u;
  if (exponent == 0u) {
    if (mantissa == 0u) { return bitcast<f32>(sign); }
    let lead = firstLeadingBit(mantissa);
    let fraction = (mantissa << (m - lead)) & ((1u << m) - 1u);
    return bitcast<f32>(sign | ((128u - bias - m + lead) << 23u) | (fraction << (23u - m)));
  }
  return bitcast<f32>(sign | ((exponent + 127u - bias) << 23u) | (mantissa << (23u - m)));
}

// ---- Conversions between floats and integers of 32 bits: towards zero, saturating, NaN to 0.

fn i32_from_f32(x: f32) -> i32 {
  if (is_nan_f32(x)) { return 0; }
  if (x >= 2147483648.0) { return 2147483647; }
  if (x <= -2147483648.0) { return i32(-2147483648); }
  return i32(x);
}

fn u32_from_f32(x: f32) -> u32 {
  if (is_nan_f32(x) || x <= 0.0) { return 0u; }
  if (x >= 4294967296.0) { return 4294967295u; }
  return u32(x);
}
