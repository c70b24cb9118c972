{#
  What the iterations of Jacobi for singular values have in common. Of two columns g and h with a = |g|², b = |h|² and
  c = gᴴ h, h is multiplied by the phase that makes c real, and then both are rotated until they are orthogonal:
  g - s (h + tau g) and h + s (g - tau h), by the smaller of the two angles. Source: Golub and Van Loan, "Matrix
  Computations", 4th edition, 8.6; the form of the sums is Rutishauser's.
#}
struct Rotation {
  s: f32,        // the sine
  tau: f32,      // s / (1 + the cosine)
  phase: value,
}
fn rotation(a: f32, b: f32, c: value) -> Rotation {
  let size = magnitude(c);
  let zeta = (b - a) / (2.0 * size);
  var t = 0.5 / zeta;  // where the square of zeta would be too large
  if (abs(zeta) < 1e8) { t = select(1.0, -1.0, zeta < 0.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta)); }
  let cosine = inverseSqrt(1.0 + t * t);
  // A step of Newton's iteration makes the sum of both squares 1 to the last digit: columns keep their norms.
  let one = cosine * cosine * (1.0 + t * t);
  let exact = cosine * (1.5 - 0.5 * one);
{% if complex %}
  let unit = vec2<f32>(c.x, -c.y) / size;
  return Rotation(t * exact, t * exact / (1.0 + exact), unit * (1.5 - 0.5 * dot(unit, unit)));
{% else %}
  return Rotation(t * exact, t * exact / (1.0 + exact), select(1.0, -1.0, c < 0.0));
{% endif %}
}
{% if complex %}
// Also where squares are too small to be numbers.
fn magnitude(c: value) -> f32 {
  let most = max(abs(c.x), abs(c.y));
  if (most == 0.0) { return 0.0; }
  return most * length(c / most);
}
{% else %}
fn magnitude(c: value) -> f32 { return abs(c); }
{% endif %}
fn square_of(a: value) -> f32 { return {{ "dot(a, a)" if complex else "a * a" }}; }
// Bits of the larger magnitude of its parts, which are ordered as the numbers are, infinity and NaN last.
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
// Round `step` of a tournament of `count` (even) players, of which each meets every other one once in count - 1 rounds:
// the players of table `table`, the lower one first.
fn players(step: u32, table: u32, count: u32) -> vec2<u32> {
  let rounds = count - 1u;
  let one = select((step + table) % rounds, rounds, table == 0u);
  let other = (step + rounds - table) % rounds;
  return vec2<u32>(min(one, other), max(one, other));
}
// Columns whose squared norm is less than this are taken for 0: matrices are scaled to elements of about 1. What
// rounding leaves of a column that depends on others gets there in two sweeps, and never would be orthogonal.
const kNothing = 1e-30;
