{#
  A Householder reflection H = 1 - factor u uᴴ with u = x - beta e, where x is a column from its element alpha on and u's
  first element is `tip`. beta is real, and Hᴴ x = beta e. As LAPACK's larfg.
#}
struct Reflection { beta: f32, tip: value, factor: value }
fn real_part(a: value) -> f32 { return a{{ ".x" if complex }}; }
// sigma: the sum of the squares of x's other elements. Columns are scaled so that their largest element is about 1:
// what is less than 2^-50 of that is left as it is, before squares underflow.
fn reflection(alpha: value, sigma: f32) -> Reflection {
  let re = real_part(alpha);
  let squares = sigma + {{ "dot(alpha, alpha)" if complex else "alpha * alpha" }};
  if ((sigma == 0.0{{ " && alpha.y == 0.0" if complex }}) || squares < 7.8886091e-31) { return Reflection(re, value(), value()); }
  let root = sqrt(squares);
  let beta = select(-root, root, (bitcast<u32>(re) >> 31u) != 0u);
{% if complex %}
  let tip = vec2<f32>(re - beta, alpha.y);
  return Reflection(beta, tip, div_c64(vec2<f32>(-1.0 / beta, 0.0), conjugate(tip)));
{% else %}
  let tip = re - beta;
  return Reflection(beta, tip, -1.0 / beta / tip);
{% endif %}
}
// The bits of |a|, of a complex number those of its larger part: in the order of the numbers, and NaN above all.
fn magnitude_bits(a: value) -> u32 {
  return {{ "max(bitcast<u32>(a.x) & 0x7fffffffu, bitcast<u32>(a.y) & 0x7fffffffu)" if complex else "bitcast<u32>(a) & 0x7fffffffu" }};
}
fn is_finite_bits(bits: u32) -> bool { return bits < 0x7f800000u; }
// The power of two that brings such a number to [1, 4), and its inverse.
fn scale_of(bits: u32) -> f32 { return bitcast<f32>(clamp(254u - min(bits >> 23u, 254u), 1u, 253u) << 23u); }
fn unscale_of(bits: u32) -> f32 { return bitcast<f32>((254u - clamp(254u - min(bits >> 23u, 254u), 1u, 253u)) << 23u); }
