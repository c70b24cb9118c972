{#
  The QR factors of matrices that fit workgroup memory, a workgroup for each. Columns below the diagonal stay what they
  are reflected by until q's columns take their places, from the last one on.

  groups: rows of `width` threads, which share a sum. elements, columns, steps: no fewer than there are. q: whether it is
  wanted.

  options:
    q: flag
    elements: number
    columns: number
    steps: number
    threads: number
    width: number
    groups: number
#}
var<workgroup> s: array<value, {{ elements }}>;
var<workgroup> partial: array<value, {{ groups * columns }}>;
var<workgroup> factors: array<value, {{ steps }}>;
var<workgroup> tips: array<value, {{ steps }}>;
var<workgroup> magnitude: array<atomic<u32>, {{ columns }}>;
var<workgroup> largest: atomic<u32>;

fn total(j: u32) -> value {
  var sum = partial[j];
  for (var g = 1u; g < {{ groups }}u; g++) { sum += partial[g * {{ columns }}u + j]; }
  return sum;
}
{% if q %}
// Element i of q's column j, of the element of the reflection there.
fn column_of_q(i: u32, j: u32, x: value) -> value {
  let w = product(factors[j], conjugate(tips[j]));
  if (i == j) { return {{ "vec2<f32>(1.0, 0.0)" if complex else "1.0" }} - product(tips[j], w); }
  return -product(x, w);
}
{% endif %}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let live = matrix < p.count;
  let c = coords(min(matrix, p.count - 1u));
  let a0 = at_a(c);
  let r0 = at_r(c);
  let tx = lid % {{ width }}u;
  let ty = lid / {{ width }}u;
  for (var j = lid; j < p.n; j += {{ threads }}u) { atomicStore(&magnitude[j], 0u); }
  if (lid == 0u) { atomicStore(&largest, 0u); }
  workgroupBarrier();
  for (var j = tx; j < p.n; j += {{ width }}u) {
    var most = 0u;
    for (var i = ty; i < p.m; i += {{ groups }}u) {
      let v = load_a(a0 + i * p.a_row + j * p.a_column);
      s[i * p.pitch + j] = v;
      most = max(most, magnitude_bits(v));
    }
    atomicMax(&magnitude[j], most);
    atomicMax(&largest, most);
  }
  workgroupBarrier();
  let finite = atomicLoad(&largest) < kInfinity;
  let nan = {{ "vec2<f32>(p.nan, p.nan)" if complex else "p.nan" }};
  for (var j = tx; j < p.n; j += {{ width }}u) {
    let scale = scale_of(atomicLoad(&magnitude[j]));
    for (var i = ty; i < p.m; i += {{ groups }}u) { s[i * p.pitch + j] *= scale; }
  }
  for (var k = 0u; k < p.steps; k++) {
    workgroupBarrier();
    for (var j = k + tx; j < p.n; j += {{ width }}u) {
      var sum = value();
      for (var i = k + 1u + ty; i < p.m; i += {{ groups }}u) { sum += product(conjugate(s[i * p.pitch + k]), s[i * p.pitch + j]); }
      partial[ty * {{ columns }}u + j] = sum;
    }
    workgroupBarrier();
    let h = reflection(s[k * p.pitch + k], real_part(total(k)));
    if (lid == 0u) {
      factors[k] = h.factor;
      tips[k] = h.tip;
    }
    for (var j = k + tx; j < p.n; j += {{ width }}u) {
      var v = {{ "vec2<f32>(h.beta, 0.0)" if complex else "h.beta" }};
      if (j > k) {
        let top = s[k * p.pitch + j];
        let w = product(conjugate(h.factor), product(conjugate(h.tip), top) + total(j));
        v = top - product(h.tip, w);
        for (var i = k + 1u + ty; i < p.m; i += {{ groups }}u) { s[i * p.pitch + j] -= product(s[i * p.pitch + k], w); }
      }
      if (ty == 0u && live) {
        v = v * scale_back(atomicLoad(&magnitude[j]));
        store_r(r0 + k * p.r_row + j * p.r_column, select(nan, v, finite));
      }
    }
  }
  if (live) {
    for (var e = lid; e < p.r_rows * p.n; e += {{ threads }}u) {
      let i = e / p.n;
      let j = e % p.n;
      if (j < i) { store_r(r0 + i * p.r_row + j * p.r_column, value()); }
    }
  }
{% if q %}
  workgroupBarrier();
  for (var j = p.steps + tx; j < p.q_columns; j += {{ width }}u) {
    for (var i = ty; i < p.m; i += {{ groups }}u) {
      s[i * p.pitch + j] = select(value(), {{ "vec2<f32>(1.0, 0.0)" if complex else "1.0" }}, i == j);
    }
  }
  for (var t = 1u; t <= p.steps; t++) {
    let k = p.steps - t;
    workgroupBarrier();
    for (var j = k + 1u + tx; j < p.q_columns; j += {{ width }}u) {
      let reflected = j == k + 1u && j < p.steps;
      var sum = value();
      for (var i = k + 1u + ty; i < p.m; i += {{ groups }}u) {
        var v = s[i * p.pitch + j];
        if (reflected) {
          v = column_of_q(i, j, v);
          s[i * p.pitch + j] = v;
        }
        sum += product(conjugate(s[i * p.pitch + k]), v);
      }
      partial[ty * {{ columns }}u + j] = sum;
    }
    workgroupBarrier();
    for (var j = k + 1u + tx; j < p.q_columns; j += {{ width }}u) {
      let w = product(factors[k], total(j));
      if (ty == 0u) { s[k * p.pitch + j] = -product(tips[k], w); }
      for (var i = k + 1u + ty; i < p.m; i += {{ groups }}u) { s[i * p.pitch + j] -= product(s[i * p.pitch + k], w); }
    }
  }
  workgroupBarrier();
  if (!live) { return; }
  let q0 = at_q(c);
  for (var e = lid; e < p.m * p.q_columns; e += {{ threads }}u) {
    let i = e / p.q_columns;
    let j = e % p.q_columns;
    var v = s[i * p.pitch + j];
    if (j == 0u) { v = column_of_q(i, 0u, v); }
    store_q(q0 + i * p.q_row + j * p.q_column, select(nan, v, finite));
  }
{% endif %}
}
