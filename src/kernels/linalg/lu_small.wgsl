{#
  The LU factors with partial pivoting of matrices that fit workgroup memory, a workgroup for each. Columns of l are left
  unscaled until the end. Pivots have the largest magnitude (the sum of both parts' of complex numbers, as in LAPACK),
  of equal ones the first. complex: elements are vec2<f32>. in_place: a is lu.

  options:
    in_place: flag
    rows: number
    pitch: number
    threads: number
    scanners: number
    width: number
#}
const kPitch = {{ pitch }}u;
var<workgroup> s: array<value, {{ rows * pitch }}>;
var<workgroup> order: array<u32, {{ rows }}>;
var<workgroup> best: array<Pivot, {{ scanners }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let c = coords(min(matrix, p.count - 1u));
  let lu0 = at_lu(c);
{% if not in_place %}
  let a0 = at_a(c);
{% endif %}
  for (var e = lid; e < p.m * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    s[i * kPitch + j] = {{ "load_lu(lu0 + i * p.lu_row + j * p.lu_column)" if in_place else "load_a(a0 + i * p.a_row + j * p.a_column)" }};
  }
  for (var i = lid; i < p.m; i += {{ threads }}u) { order[i] = i; }
  let tx = lid % {{ width }}u;
  let ty = lid / {{ width }}u;
  let last = matrix < p.count;
  var zero = 0u;
  for (var k = 0u; k < p.steps; k++) {
    workgroupBarrier();
    if (lid < {{ scanners }}u) {
      var own = Pivot(-1.0, k);
      for (var i = k + lid; i < p.m; i += {{ scanners }}u) {
        own = larger_pivot(own, Pivot(size_of(s[i * kPitch + k]), i));
      }
      best[lid] = own;
    }
    workgroupBarrier();
    var chosen = Pivot(-1.0, k);
    for (var t = 0u; t < {{ scanners }}u; t++) { chosen = larger_pivot(chosen, best[t]); }
    let pivot = chosen.row;
    if (pivot != k) {
      for (var j = lid; j < p.n; j += {{ threads }}u) {
        let upper = s[k * kPitch + j];
        s[k * kPitch + j] = s[pivot * kPitch + j];
        s[pivot * kPitch + j] = upper;
      }
      if (lid == 0u) {
        let upper = order[k];
        order[k] = order[pivot];
        order[pivot] = upper;
      }
    }
    if (lid == 0u && last) { store_pivots(at_pivots(c) + k * p.pivots_step, i32(pivot)); }
    workgroupBarrier();
    let r = pivot_factor(s[k * kPitch + k], k, &zero);
    for (var i = k + 1u + ty; i < p.m; i += {{ threads // width }}u) {
      let x = product(s[i * kPitch + k], r);
      for (var j = k + 1u + tx; j < p.n; j += {{ width }}u) { s[i * kPitch + j] -= product(x, s[k * kPitch + j]); }
    }
  }
  workgroupBarrier();
  if (!last) { return; }
  for (var e = lid; e < p.m * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    var v = s[i * kPitch + j];
    if (j < i) { v = product(v, inverse(s[j * kPitch + j])); }
    store_lu(lu0 + i * p.lu_row + j * p.lu_column, v);
  }
  for (var i = lid; i < p.m; i += {{ threads }}u) { store_order(at_order(c) + i * p.order_step, i32(order[i])); }
  if (lid == 0u) { store_info(at_info(c), i32(zero)); }
}
