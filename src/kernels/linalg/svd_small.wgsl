{#
  The singular values of square matrices of up to `size` columns, a workgroup for each, by one-sided Jacobi iteration:
  the columns x of a are rotated in pairs until all are orthogonal, and below them those of the identity with them. A
  round has p.pairs disjoint pairs, `lanes` threads each.

  vectors: `left` gets the columns over their norms, by descending norm, `right` the conjugates of the rotations. good:
  how many columns of left are not 0.

  options:
    vectors: flag
    size: number
    pitch: number
    lanes: 1, 2, 4, 8
    threads: number
#}
const kPitch = {{ pitch }}u;
var<workgroup> x: array<value, {{ size * pitch }}>;
var<workgroup> sums: array<vec4<f32>, {{ threads }}>;
var<workgroup> norms: array<vec2<f32>, {{ size }}>;  // of the columns of x, and below
var<workgroup> order: array<u32, {{ size }}>;
var<workgroup> dirty: array<u32, {{ size // 2 }}>;
var<workgroup> go: u32;
var<workgroup> largest: atomic<u32>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let c = coords(min(matrix, p.count - 1u));
  let a0 = at_a(c);
  let rows = p.n{{ " * 2u" if vectors }};
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = select(e % p.n, e / p.n, p.by_rows != 0u);
    let j = select(e / p.n, e % p.n, p.by_rows != 0u);
    let v = load_a(a0 + i * p.a_row + j * p.a_column);
    x[j * kPitch + i] = v;
    atomicMax(&largest, magnitude_bits(v));
  }
{% if vectors %}
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e % p.n;
    let j = e / p.n;
    x[j * kPitch + p.n + i] = {{ "vec2<f32>(select(0.0, 1.0, i == j), 0.0)" if complex else "select(0.0, 1.0, i == j)" }};
  }
{% endif %}
  workgroupBarrier();
  let bits = atomicLoad(&largest);
  let finite = bits < kInfinity;
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) { x[e / p.n * kPitch + e % p.n] *= scale_of(bits); }
  workgroupBarrier();

  let slot = lid / {{ lanes }}u;
  let lane = lid % {{ lanes }}u;
  let first = slot * {{ lanes }}u;
  var failed = !finite;
  for (var sweep = 0u; sweep < p.sweeps; sweep++) {
    var rotated = 0u;
    for (var step = 0u; step < 2u * p.pairs - 1u; step++) {
      let pair = tournament(min(slot, p.pairs - 1u), step, 2u * p.pairs);
      let in_use = slot < p.pairs && pair.y < p.n && finite;
      let g = pair.x * kPitch;
      let h = pair.y * kPitch;
      var sum = vec4<f32>();
      if (in_use) {
        for (var i = lane; i < p.n; i += {{ lanes }}u) {
          let u = x[g + i];
          let v = x[h + i];
{% if complex %}
          sum += vec4<f32>(dot(u, u), dot(v, v), dot(u, v), u.x * v.y - u.y * v.x);
{% else %}
          sum += vec4<f32>(u * u, v * v, u * v, 0.0);
{% endif %}
        }
      }
      sums[lid] = sum;
      workgroupBarrier();
      if (in_use) {
        sum = sums[first];
        for (var k = 1u; k < {{ lanes }}u; k++) { sum += sums[first + k]; }
        let product_of = {{ "sum.zw" if complex else "sum.z" }};
        let size = magnitude(product_of);
        let both = sqrt(sum.x) * sqrt(sum.y);
        let rotates = size > p.tolerance * both && min(sum.x, sum.y) >= kNothing;
        let swaps = sum.x < sum.y;
        if (rotates && size > 4.0 * p.tolerance * both) { rotated = 1u; }
        if (rotates || swaps) {
          var r = Rotation();
          if (rotates) { r = rotation(sum.x, sum.y, product_of); }
          for (var i = lane; i < rows; i += {{ lanes }}u) {
            let u = x[g + i];
            let v = x[h + i];
            let new_u = first_of(r, u, v);
            let new_v = second_of(r, u, v);
            if (swaps) {
              x[g + i] = new_v;
              x[h + i] = new_u;
            } else {
              x[g + i] = new_u;
              x[h + i] = new_v;
            }
          }
        }
      }
      workgroupBarrier();
    }
    if (lane == 0u && slot < p.pairs) { dirty[slot] = rotated; }
    workgroupBarrier();
    if (lid == 0u) {
      var any = 0u;
      for (var k = 0u; k < p.pairs; k++) { any |= dirty[k]; }
      go = any;
    }
    if (workgroupUniformLoad(&go) == 0u) { break; }
    if (sweep == p.sweeps - 1u) { failed = true; }
  }

  // The norms, whose places by size are those of the columns.
  var sum = vec4<f32>();
  let one = slot * 2u;
  for (var i = lane; i < rows; i += {{ lanes }}u) {
    var both = vec2<f32>();
    if (one < p.n) { both.x = square_of(x[one * kPitch + i]); }
    if (one + 1u < p.n) { both.y = square_of(x[(one + 1u) * kPitch + i]); }
    if (i < p.n) { sum += vec4<f32>(both, 0.0, 0.0); } else { sum += vec4<f32>(0.0, 0.0, both); }
  }
  sums[lid] = sum;
  workgroupBarrier();
  if (lane < 2u || {{ lanes }}u == 1u) {
    for (var k = 1u; k < {{ lanes }}u; k++) {
      let other = first + (lane + k) % {{ lanes }}u;
      sum += sums[other];
    }
    let roots = sqrt(sum);
    if (lane == 0u && one < p.n) { norms[one] = roots.xz; }
    if (lane == {{ 0 if lanes == 1 else 1 }}u && one + 1u < p.n) { norms[one + 1u] = roots.yw; }
  }
  workgroupBarrier();
  for (var j = lid; j < p.n; j += {{ threads }}u) {
    let own = value_of(j);
    var place = 0u;
    for (var k = 0u; k < p.n; k++) {
      let other = value_of(k);
      if (other > own || (other == own && k < j)) { place++; }
    }
    order[select(j, place, finite)] = j;
  }
  workgroupBarrier();
  if (matrix >= p.count) { return; }
  for (var j = lid; j < p.n; j += {{ threads }}u) {
    store_s(at_s(c) + j * p.s_step, select(p.nan, value_of(order[j]) * scale_back(bits), finite));
  }
  if (lid == 0u) { store_info(at_info(c), select(0, 1, failed)); }
{% if vectors %}
  let left = at_left(c);
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let place = e % p.n;
    let j = order[place];
    let norm = norms[j].x;
    var v = value();
    if (norm * norm >= kNothing) { v = x[j * kPitch + i] / norm; }
    if (!finite) { v = {{ "vec2<f32>(p.nan)" if complex else "p.nan" }}; }
    store_left(left + i * p.left_row + place * p.left_column, v);
  }
  let right = at_right(c);
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let place = e % p.n;
    let j = order[place];
    var v = x[j * kPitch + p.n + i] / norms[j].y;
    if (!finite) { v = {{ "vec2<f32>(p.nan)" if complex else "p.nan" }}; }
    store_right(right + i * p.right_row + place * p.right_column, conjugate(v));
  }
  if (lid == 0u) {
    var good = 0;
    for (var j = 0u; j < p.n; j++) { good += select(0, 1, norms[j].x * norms[j].x >= kNothing); }
    store_good(matrix, select(i32(p.n), good, finite));
  }
{% endif %}
}
// Rotations that are not unitary to the last digit have lengthened the columns below as well.
fn value_of(j: u32) -> f32 { return norms[j].x{{ " / norms[j].y" if vectors }}; }
