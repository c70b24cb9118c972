{#
  options:
    threads: number
    vec_y: flag
    value_dim: number
    v4: number
    columns: number
    log_sums: flag
#}
// Combines the results of the splits of the keys (attention_common.wgsl, partial_at). A workgroup takes up to
// {{ columns }} vectors of one row; its threads lie along them and divide the splits.

const threads = {{ threads }}u;
const columns = {{ columns }}u;                      // vectors of a block
const shares = {{ threads // columns }}u;            // threads that take splits of the same column

var<workgroup> highest: array<f32, {{ threads }}>;
var<workgroup> sums: array<vec4<f32>, {{ threads }}>;
var<workgroup> totals: array<f32, {{ threads }}>;

@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let block = group_index(wg, groups);
  if (block >= p.blocks) { return; }
  let row = block / p.column_blocks;
  let start = p.partial_o + row * p.kv_splits * {{ v4 + 1 }}u;

  var m = partial_buf[start + {{ v4 }}u].x;
  for (var i = t; i < p.kv_splits; i += threads) { m = max(m, partial_buf[start + i * {{ v4 + 1 }}u + {{ v4 }}u].x); }
  highest[t] = m;
  workgroupBarrier();
  for (var i = 0u; i < min(threads, p.kv_splits); i++) { m = max(m, highest[i]); }

  // A NaN or an infinity among the scores gave a NaN among the sums of weights, which stays.
  let column = t % columns;
  let d = block % p.column_blocks * columns + column;
  var o = vec4<f32>();
  var l = 0.0;
  if (t < shares * columns && d < {{ v4 }}u) {
    for (var i = t / columns; i < p.kv_splits; i += shares) {
      let at = start + i * {{ v4 + 1 }}u;
      let part = partial_buf[at + {{ v4 }}u];
      let weight = exp(part.x - m);
      o += partial_buf[at + d] * weight;
      l += part.y * weight;
    }
  }
  sums[t] = o;
  totals[t] = l;
  workgroupBarrier();
  if (t >= columns || d >= {{ v4 }}u) { return; }
  for (var i = 1u; i < shares; i++) {
    o += sums[i * columns + t];
    l += totals[i * columns + t];
  }
  let f = select(1.0 / l, p.empty, l == 0.0);    // no key seen: zeros or NaN
  let batch = row / p.queries / p.heads;
  let head = row / p.queries % p.heads;
{% if log_sums %}
  if (d == 0u) {
    store_log_sums(batch * p.log_sums_b + head * p.log_sums_h + row % p.queries * p.log_sums_i, select(m + log(l), p.hidden, l == 0.0));
  }
{% endif %}
  let y = batch * p.y_b + head * p.y_h + row % p.queries * p.y_i;
{% if vec_y %}
  store4_y(y + d * 4u, o * f);
{% else %}
{% for j in range(4) %}
  if (d * 4u + {{ j }}u < {{ value_dim }}u) { store_y(y + (d * 4u + {{ j }}u) * p.y_d, o[{{ j }}] * f); }
{% endfor %}
{% endif %}
}
