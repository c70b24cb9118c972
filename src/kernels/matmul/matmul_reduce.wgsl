{#
  Sums the partial products of a split k, in the order of the slices, and stores the result; with no slices, zeros.

  options:
    partial_width: 1, 4
    threads: number
    slices: flag
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let i = group_index(wg, groups) * {{ threads }}u + lid;
  if (i >= p.count) { return; }
  let rest = i / p.quads_n;
  let row = rest % p.m;
  let col = i % p.quads_n * 4u;
  var v = vec4<{{ product }}>();
{% if slices %}
  let at = rest * p.n + col;
  for (var s = 0u; s < p.slices; s++) {
{% if partial_width == 4 %}
    v += load4_partial(at + s * p.slice_stride);
{% else %}
    for (var j = 0u; j < min(4u, p.n - col); j++) { v[j] += load_partial(at + s * p.slice_stride + j); }
{% endif %}
  }
{% endif %}
  store_result(outputs(coords(rest / p.m), 0u), row, col, v);
}
