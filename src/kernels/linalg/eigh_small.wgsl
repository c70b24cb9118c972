{#
  The eigenvalues, and if `vectors` eigenvectors, of Hermitian matrices that fit workgroup memory, a workgroup for each,
  by Jacobi's iteration. The lower triangle of a is read; conjugates: its elements are conjugated first.

  options:
    conjugates: flag
#}
var<workgroup> largest: atomic<u32>;
var<workgroup> squares: array<f32, {{ threads }}>;
var<workgroup> order: array<u32, {{ size }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  let c = coords(min(matrix, p.count - 1u));
  let a0 = at_a(c);
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    if (j <= i) {
      var x = load_a(a0 + i * p.a_row + j * p.a_column);
{% if conjugates %}
      x = conjugate(x);
{% endif %}
      if (i == j) { x = of_real(real_part(x)); }
      atomicMax(&largest, magnitude_bits(x));
      s[i * kPitch + j] = x;
    }
  }
  workgroupBarrier();
  let most = atomicLoad(&largest);
  let finite = most < kInfinity;
  let scale = scale_of(most);
  var sum = 0.0;
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    if (j <= i) {
      let x = s[i * kPitch + j] * scale;
      s[i * kPitch + j] = x;
      s[j * kPitch + i] = conjugate(x);
      sum += square_of(x) * select(2.0, 1.0, i == j);
    }
{% if vectors %}
    v[i * kPitch + j] = of_real(select(0.0, 1.0, i == j));
{% endif %}
  }
  squares[lid] = sum;
  workgroupBarrier();
  for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
    if (lid < step) { squares[lid] += squares[lid + step]; }
    workgroupBarrier();
  }
  let threshold = negligible(squares[0], p.n);
  let players = p.n + p.n % 2u;
  var left = 0u;
  for (var sweep = 0u; sweep < p.sweeps; sweep++) {
    for (var round = 0u; round < players - 1u; round++) {
      workgroupBarrier();
      for (var k = lid; k < players / 2u; k += {{ threads }}u) {
        choose_turn(k, tournament(k, round, players), select(0u, p.n, finite), threshold);
      }
      workgroupBarrier();
      apply_turns(lid, players / 2u, p.n);
    }
    if (lid == 0u) { state = atomicExchange(&rotated, 0u); }
    left = workgroupUniformLoad(&state);
    if (left < 2u) { break; }
  }
  // The order of the eigenvalues; of equal ones that of their columns.
  for (var i = lid; i < p.n; i += {{ threads }}u) {
    let own = real_part(s[i * kPitch + i]);
    var rank = 0u;
    for (var j = 0u; j < p.n; j++) {
      let other = real_part(s[j * kPitch + j]);
      rank += select(0u, 1u, other < own || (other == own && j < i));
    }
    order[select(i, min(rank, p.n - 1u), finite)] = i;
  }
  workgroupBarrier();
  if (matrix >= p.count) { return; }
  let good = finite && left < 3u;
  let w0 = at_w(c);
  for (var i = lid; i < p.n; i += {{ threads }}u) {
    let at = order[i];
    store_w(w0 + i * p.w_step, select(p.nan, real_part(s[at * kPitch + at]) * scale_back(most), good));
  }
{% if vectors %}
  let v0 = at_v(c);
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let i = e / p.n;
    let j = e % p.n;
    store_v(v0 + i * p.v_row + j * p.v_column, select({{ "vec2<f32>(p.nan)" if complex else "p.nan" }}, v[i * kPitch + order[j]], good));
  }
{% endif %}
  if (lid == 0u) { store_info(at_info(c), select(1, 0, good)); }
}
