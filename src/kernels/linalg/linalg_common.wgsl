{#
  The numbers of matrices, real or `complex`, shared by the templates of this family.

  options:
    complex: flag
#}
alias value = {{ "vec2<f32>" if complex else "f32" }};
fn conjugate(a: value) -> value { return {{ "vec2<f32>(a.x, -a.y)" if complex else "a" }}; }
fn product(a: value, b: value) -> value { return {{ "mul_c64(a, b)" if complex else "a * b" }}; }
fn quotient(a: value, b: value) -> value { return {{ "div_c64(a, b)" if complex else "a / b" }}; }
fn real_part(a: value) -> f32 { return a{{ ".x" if complex }}; }
fn square_of(a: value) -> f32 { return {{ "dot(a, a)" if complex else "a * a" }}; }
// The bits of a magnitude, of a complex number that of its larger part: in the order of the numbers, with infinity and
// NaN above all.
fn magnitude_bits(a: value) -> u32 {
{% if complex %}
  let bits = bitcast<vec2<u32>>(a) & vec2<u32>(0x7fffffffu);
  return max(bits.x, bits.y);
{% else %}
  return bitcast<u32>(a) & 0x7fffffffu;
{% endif %}
}
const kInfinity = 0x7f800000u;
// The power of two that brings numbers of that magnitude to about 1, and its inverse.
fn scale_of(bits: u32) -> f32 { return bitcast<f32>((254u - clamp(bits >> 23u, 1u, 253u)) << 23u); }
fn scale_back(bits: u32) -> f32 { return bitcast<f32>(clamp(bits >> 23u, 1u, 253u) << 23u); }
// Pair k of a round of a tournament of an even number of players, the lower one first: in players - 1 rounds each meets
// each other one once.
fn tournament(k: u32, round: u32, players: u32) -> vec2<u32> {
  let others = players - 1u;
  let a = select((round + k) % others, others, k == 0u);
  let b = (round + others - k) % others;
  return vec2<u32>(min(a, b), max(a, b));
}
// By which pivots are chosen, as in LAPACK.
fn size_of(a: value) -> f32 { return {{ "abs(a.x) + abs(a.y)" if complex else "abs(a)" }}; }
// Of a pivot; of 0, below which a column is 0 and stays so, 0.
fn inverse(a: value) -> value {
  if (size_of(a) == 0.0) { return value(); }
  return {{ "div_c64(vec2<f32>(1.0, 0.0), a)" if complex else "1.0 / a" }};
}
