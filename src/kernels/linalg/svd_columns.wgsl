{#
  A workgroup for each column of x [matrix, p.columns, p.rows], of which p.n by p.n elements are a matrix. step:
  "measure": bits[matrix, column] = those of the largest magnitude of the column;
  "scale": multiplies the column by the power of two for the largest of its matrix, and with `vectors` sets the rows from
  p.n on to those of the identity;
  "norms": norms[matrix, column] of the first p.n rows; -1 of the columns from p.n on, which only fill blocks.

  options:
    vectors: flag
    step: measure, scale, norms
    threads: number
#}
var<workgroup> sums: array<f32, {{ threads }}>;
var<workgroup> most: array<u32, {{ threads }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let live = group < p.count * p.columns;
  let column = min(group, p.count * p.columns - 1u);
  let first = column * p.rows;
  let matrix = column / p.columns;
{% if step == "measure" %}
  var bits = 0u;
  for (var i = lid; i < p.n; i += {{ threads }}u) { bits = max(bits, magnitude_bits(load_x(first + i))); }
  most[lid] = bits;
{% elif step == "scale" %}
  var bits = 0u;
  for (var j = lid; j < p.columns; j += {{ threads }}u) { bits = max(bits, load_bits(matrix * p.columns + j)); }
  most[lid] = bits;
{% else %}
  var sum = 0.0;
  for (var i = lid; i < p.n; i += {{ threads }}u) { sum += square_of(load_x(first + i)); }
  sums[lid] = sum;
{% endif %}
  workgroupBarrier();
  for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
{% if step == "norms" %}
    if (lid < step) { sums[lid] += sums[lid + step]; }
{% else %}
    if (lid < step) { most[lid] = max(most[lid], most[lid + step]); }
{% endif %}
    workgroupBarrier();
  }
  if (!live) { return; }
{% if step == "measure" %}
  if (lid == 0u) { store_bits(column, most[0]); }
{% elif step == "scale" %}
  let scale = scale_of(most[0]);
  for (var i = lid; i < p.n; i += {{ threads }}u) { store_x(first + i, load_x(first + i) * scale); }
{% if vectors %}
  let j = column % p.columns;
  if (lid == 0u && j < p.n) { store_x(first + p.n + j, {{ "vec2<f32>(1.0, 0.0)" if complex else "1.0" }}); }
{% endif %}
{% else %}
  if (lid == 0u) { store_norms(column, select(-1.0, sqrt(sums[0]), column % p.columns < p.n)); }
{% endif %}
}
