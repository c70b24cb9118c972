{#
  A Householder reflection H = 1 - factor u uᴴ with u = x - beta e, where x is a column from its element alpha on and u's
  first element is `tip`. beta is real, and Hᴴ x = beta e. As LAPACK's larfg.
#}
struct Reflection { beta: f32, tip: value, factor: value }
// sigma: the sum of the squares of x's other elements. Columns are scaled so that their largest element is about 1:
// what is less than 2^-50 of that is left as it is, before squares underflow.
fn reflection(alpha: value, sigma: f32) -> Reflection {
  let re = real_part(alpha);
  let squares = sigma + square_of(alpha);
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
