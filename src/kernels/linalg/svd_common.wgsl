{#
  What the iterations of Jacobi for singular values have in common. Two columns g and h with a = |g|², b = |h|² and
  c = gᴴ h are orthogonal after a rotation by the smaller of two angles: g - (d g + z h) and h - (d h - conj(z) g).
  Written so, rounding neither lengthens nor shortens them on average. Source: Golub and Van Loan, "Matrix Computations",
  4th edition, 8.6.
#}
struct Rotation {
  z: value,  // the sine, with a phase
  d: f32,    // what the cosine lacks to 1
}
fn rotation(a: f32, b: f32, c: value) -> Rotation {
  let size = magnitude(c);
  let zeta = (b - a) / (2.0 * size);
  var t = 0.5 / zeta;  // where the square of zeta would be too large
  if (abs(zeta) < 1e8) { t = select(1.0, -1.0, zeta < 0.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta)); }
  // A step of Newton's iteration makes the sum of both squares 1 to the last digit.
  let near = inverseSqrt(1.0 + t * t);
  let cosine = near * (1.5 - 0.5 * near * near * (1.0 + t * t));
  let sine = t * cosine;
  return Rotation(conjugate(c) * (sine / size), sine * sine / (1.0 + cosine));
}
fn first_of(r: Rotation, g: value, h: value) -> value { return g - (r.d * g + product(r.z, h)); }
fn second_of(r: Rotation, g: value, h: value) -> value { return h - (r.d * h - product(conjugate(r.z), g)); }
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
// Columns whose squared norm is less than this are taken for 0: matrices are scaled to elements of about 1. What
// rounding leaves of a column that depends on others gets there in two sweeps, and never would be orthogonal.
const kNothing = 1e-30;
