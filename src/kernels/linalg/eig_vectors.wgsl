{#
  The eigenvectors x [matrix, row, k] of triangles t, up to a factor, by substitution: a thread for each. Where the
  eigenvalues w are equal, a perturbation in the last place makes their difference. conjugates: those with a negative
  imaginary part are the conjugates of the ones before, and left 0.

  options:
    conjugates: flag
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / p.n;
  if (matrix >= p.count) { return; }
  let base = matrix * p.n * p.n;
  let k = index % p.n;
  let w = load_w(matrix * p.n + k);
  for (var i = k + 1u; i < p.n; i++) { store_x(base + i * p.n + k, vec2<f32>()); }
{% if conjugates %}
  if (w.y < 0.0) {
    for (var i = 0u; i <= k; i++) { store_x(base + i * p.n + k, vec2<f32>()); }
    return;
  }
{% endif %}
  let least = max(5.9604645e-8 * (abs(w.x) + abs(w.y)), 8.6736174e-19);
  store_x(base + k * p.n + k, vec2<f32>(1.0, 0.0));
  for (var step = 0u; step < k; step++) {
    let i = k - 1u - step;
    var sum = vec2<f32>();
    for (var j = i + 1u; j <= k; j++) { sum += mul_c64(load_t(base + i * p.n + j), load_x(base + j * p.n + k)); }
    var gap = load_t(base + i * p.n + i) - w;
    if (abs(gap.x) + abs(gap.y) < least) { gap = vec2<f32>(least, 0.0); }
    var x = -div_c64(sum, gap);
    let bits = max(bitcast<u32>(x.x) & 0x7fffffffu, bitcast<u32>(x.y) & 0x7fffffffu);
    if (bits > 0x53800000u) {  // 2^40
      let scale = bitcast<f32>((254u - min(bits >> 23u, 253u)) << 23u);
      x *= scale;
      for (var j = i + 1u; j <= k; j++) { store_x(base + j * p.n + k, load_x(base + j * p.n + k) * scale); }
    }
    store_x(base + i * p.n + k, x);
  }
}
