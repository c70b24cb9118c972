{#
  Steps p.first to p.last - 1 of those that make h Hessenberg, a workgroup for each matrix: a reflection makes what is
  below the subdiagonal of a column 0, and is applied to the other columns, to the rows, and if `vectors` to z.

  options:
    vectors: flag
#}
var<workgroup> largest: atomic<u32>;
var<workgroup> sums: array<f32, {{ threads }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  if (common_word(lid, select(0u, 1u, matrix < p.count)) == 0u) { return; }
  let base = matrix * p.n * p.n;
  let words = matrix * (p.n + 6u) + p.n;
  let last = min(common_word(lid, u32(load_state(words + 5u))), p.n);
  let first = common_word(lid, u32(load_state(words + 1u)));
  for (var k = max(first, p.first); k + 2u < last && k < p.last; k++) {
    if (lid == 0u) { atomicStore(&largest, 0u); }
    storageBarrier();
    workgroupBarrier();
    for (var i = k + 2u + lid; i < last; i += {{ threads }}u) {
      atomicMax(&largest, magnitude_bits(load_h(base + i * p.n + k)));
    }
    workgroupBarrier();
    let beside = common_word(lid, atomicLoad(&largest));
    if (beside == 0u) { continue; }
    let top = load_h(base + (k + 1u) * p.n + k);
    let bits = max(beside, magnitude_bits(top));
    var own = 0.0;
    for (var i = k + 2u + lid; i < last; i += {{ threads }}u) {
      own += square_of(load_h(base + i * p.n + k) * scale_of(bits));
    }
    sums[lid] = own;
    workgroupBarrier();
    for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
      if (lid < step) { sums[lid] += sums[lid + step]; }
      workgroupBarrier();
    }
    // v = (1, column / tip) and 2 / |v|².
    let x = top * scale_of(bits);
    let size = sqrt(square_of(x));
    let norm = sqrt(square_of(x) + sums[0]);
    var phase = of_real(1.0);
    if (size > 0.0) { phase = x / size; }
    let tip = phase * (size + norm);
    storageBarrier();
    own = 0.0;
    for (var i = k + 2u + lid; i < last; i += {{ threads }}u) {
      let v = quotient(load_h(base + i * p.n + k) * scale_of(bits), tip);
      own += square_of(v);
      store_h(base + i * p.n + k, v);
    }
    workgroupBarrier();
    sums[lid] = own;
    storageBarrier();
    workgroupBarrier();
    for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
      if (lid < step) { sums[lid] += sums[lid + step]; }
      workgroupBarrier();
    }
    let factor = two_over(1.0 + sums[0]);
    for (var j = k + 1u + lid; j < p.n; j += {{ threads }}u) {
      var sum = load_h(base + (k + 1u) * p.n + j);
      for (var i = k + 2u; i < last; i++) {
        sum += product(conjugate(load_h(base + i * p.n + k)), load_h(base + i * p.n + j));
      }
      sum *= factor;
      store_h(base + (k + 1u) * p.n + j, load_h(base + (k + 1u) * p.n + j) - sum);
      for (var i = k + 2u; i < last; i++) {
        store_h(base + i * p.n + j, load_h(base + i * p.n + j) - product(load_h(base + i * p.n + k), sum));
      }
    }
    storageBarrier();
    for (var i = lid; i < last; i += {{ threads }}u) {
      var sum = load_h(base + i * p.n + k + 1u);
      for (var j = k + 2u; j < last; j++) {
        sum += product(load_h(base + i * p.n + j), load_h(base + j * p.n + k));
      }
      sum *= factor;
      store_h(base + i * p.n + k + 1u, load_h(base + i * p.n + k + 1u) - sum);
      for (var j = k + 2u; j < last; j++) {
        store_h(base + i * p.n + j, load_h(base + i * p.n + j) - product(sum, conjugate(load_h(base + j * p.n + k))));
      }
    }
{% if vectors %}
    for (var i = lid; i < p.n; i += {{ threads }}u) {
      var sum = load_z(base + (k + 1u) * p.n + i);
      for (var j = k + 2u; j < last; j++) {
        sum += product(load_z(base + j * p.n + i), load_h(base + j * p.n + k));
      }
      sum *= factor;
      store_z(base + (k + 1u) * p.n + i, load_z(base + (k + 1u) * p.n + i) - sum);
      for (var j = k + 2u; j < last; j++) {
        store_z(base + j * p.n + i, load_z(base + j * p.n + i) - product(sum, conjugate(load_h(base + j * p.n + k))));
      }
    }
{% endif %}
    storageBarrier();
    for (var i = k + 2u + lid; i < last; i += {{ threads }}u) { store_h(base + i * p.n + k, value()); }
    if (lid == 0u) { store_h(base + (k + 1u) * p.n + k, -(phase * norm) * scale_back(bits)); }
  }
}
