{#
  The results of large matrices in ascending order of their eigenvalues: w, info and, if `vectors`, v, of which `columns`
  [matrix, row, column] has the columns. A thread for each element of v, and one for each of w.

  options:
    vectors: flag
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / (p.lines * p.n);
  if (matrix >= p.count) { return; }
  let line = index / p.n % p.lines;
  let place = index % p.n;
  let c = coords(matrix);
  let column = min(u32(load_order(matrix * p.n + place)), p.n - 1u);
  let good = load_scales(3u * matrix) != 0.0;
  if (line == 0u) {
    let x = load_values(matrix * p.size + column) * load_scales(3u * matrix + 1u);
    store_w(at_w(c) + place * p.w_step, select(p.nan, x, good));
    if (place == 0u) { store_info(at_info(c), select(1, 0, good)); }
  }
{% if vectors %}
  if (line > 0u) {
    let x = load_columns((matrix * p.size + line - 1u) * p.size + column);
    store_v(at_v(c) + (line - 1u) * p.v_row + place * p.v_column, select({{ "vec2<f32>(p.nan)" if complex else "p.nan" }}, x, good));
  }
{% endif %}
}
