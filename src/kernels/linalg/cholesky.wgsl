{#
  l = the Cholesky factor of a block of up to `size` rows, a workgroup for each matrix. Columns are left unscaled until
  the end, so that a column takes one barrier: element (i, j) loses s(i, k) conj(s(j, k)) / s(k, k) in step k.

  in_place: a is l. inverse: w is the conjugate transpose of the factor's inverse, for the product that makes the rows
  below of the same columns. What a step takes from row i it also takes from that row of the inverse, whose element
  (i, j) is held in (j, i).
  complex: elements are vec2<f32>. first: info is not read.

  options:
    in_place: flag
    inverse: flag
    first: flag
    size: number
    threads: number
    width: number
#}
const kPitch = {{ size + 1 }}u;
var<workgroup> s: array<value, {{ size * (size + 1) }}>;
// By its bits, since compilers may take it for granted that nothing is NaN.
fn is_positive(a: f32) -> bool { return bitcast<u32>(a) - 1u < 0x7f7fffffu; }

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let c = coords(min(matrix, p.count - 1u));
  let l0 = at_l(c);
{% if not in_place %}
  let a0 = at_a(c);
{% endif %}
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    if (j <= i) {
{% if in_place %}
      s[i * kPitch + j] = load_l(l0 + i * p.l_row + j * p.l_column);
{% else %}
      s[i * kPitch + j] = load_a(a0 + i * p.a_row + j * p.a_column);
{% endif %}
    }
  }
  let tx = lid % {{ width }}u;
  let ty = lid / {{ width }}u;
  var failed = 0u;
  for (var k = 0u; k < p.n; k++) {
    workgroupBarrier();
    let pivot = real_part(s[k * kPitch + k]);
    let good = is_positive(pivot);
    if (!good && failed == 0u) { failed = k + 1u; }
    let r = select(p.nan, 1.0 / pivot, good);
    for (var i = k + 1u + ty; i < p.n; i += {{ threads // width }}u) {
      let x = s[i * kPitch + k] * r;
      for (var j = k + 1u + tx; j <= i; j += {{ width }}u) {
        s[i * kPitch + j] -= product(x, conjugate(s[j * kPitch + k]));
      }
{% if inverse %}
      for (var j = tx; j <= k; j += {{ width }}u) {
        if (j == k) { s[k * kPitch + i] = -x; } else { s[j * kPitch + i] -= product(x, s[j * kPitch + k]); }
      }
{% endif %}
    }
  }
  workgroupBarrier();
  if (matrix >= p.count) { return; }
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    var v = value();
    if (j <= i) {
      let pivot = real_part(s[j * kPitch + j]);
      let good = is_positive(pivot);
      if (i == j) {
        let root = select(p.nan, sqrt(pivot), good);
        v = {{ "vec2<f32>(root, select(p.nan, 0.0, good))" if complex else "root" }};
      } else {
        v = s[i * kPitch + j] * select(p.nan, 1.0 / sqrt(pivot), good);
      }
    }
    store_l(l0 + i * p.l_row + j * p.l_column, v);
{% if inverse %}
    // w(i, j) is the conjugate of the inverse's (j, i).
    var w = value();
    if (j >= i) {
      let pivot = real_part(s[j * kPitch + j]);
      let scale = select(p.nan, 1.0 / sqrt(pivot), is_positive(pivot));
      if (i == j) { w = {{ "vec2<f32>(scale, 0.0)" if complex else "scale" }}; } else { w = conjugate(s[i * kPitch + j]) * scale; }
    }
    store_w((matrix * p.n + i) * p.n + j, w);
{% endif %}
  }
  if (lid == 0u) {
    let at = at_info(c);
{% if first %}
    store_info(at, i32(failed));
{% else %}
    if (failed != 0u && load_info(at) == 0) { store_info(at, i32(p.row + failed)); }
{% endif %}
  }
}
