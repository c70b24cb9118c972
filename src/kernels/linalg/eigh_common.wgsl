{# What templates of the Hermitian eigenproblem share. #}
fn real_part(a: value) -> f32 { return a{{ ".x" if complex }}; }
fn of_real(a: f32) -> value { return {{ "vec2<f32>(a, 0.0)" if complex else "a" }}; }
fn square_of(a: value) -> f32 { return {{ "dot(a, a)" if complex else "a * a" }}; }
// Magnitudes by their bits, which are ordered as they are; NaN and infinity are the largest.
fn magnitude_bits(a: value) -> u32 {
{% if complex %}
  let bits = bitcast<vec2<u32>>(a) & vec2<u32>(0x7fffffffu);
  return max(bits.x, bits.y);
{% else %}
  return bitcast<u32>(a) & 0x7fffffffu;
{% endif %}
}
const kInfinity = 0x7f800000u;
// The power of two that brings the largest magnitude to about 1, and its inverse.
fn scale_of(bits: u32) -> f32 { return bitcast<f32>((254u - clamp(bits >> 23u, 1u, 253u)) << 23u); }
fn scale_back(bits: u32) -> f32 { return bitcast<f32>(clamp(bits >> 23u, 1u, 253u) << 23u); }
// Off-diagonal elements up to this are left: 2^-23 times the root mean square of the eigenvalues, of which `squares` is
// the sum of squares.
fn negligible(squares: f32, n: u32) -> f32 { return 1.1920929e-7 * sqrt(squares / f32(n)); }
// Pair k of a round of a tournament of an even number of players: in players - 1 rounds each meets each other one once.
fn tournament(k: u32, round: u32, players: u32) -> vec2<u32> {
  let others = players - 1u;
  let a = select((round + k) % others, others, k == 0u);
  let b = (round + others - k) % others;
  return vec2<u32>(min(a, b), max(a, b));
}
