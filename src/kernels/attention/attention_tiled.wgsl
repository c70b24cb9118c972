{#
  options:
    vec_y: flag
    v4_all: number
    rows: 1, 2, number
    slices: 1…8
    bounded: flag
#}
// Attention for heads that are too wide for one thread's registers: {{ threads }} threads, 8 along the keys and the
// columns of v, the others along the rows, {{ rows }} rows each. Both products run over slices of 32 columns in
// workgroup memory; a workgroup computes at most 256 columns of y.

const threads = {{ threads }}u;
const block_rows = {{ threads // 8 * rows }}u;
const tile = 32u;    // keys

// Rows of 8 vectors, padded to 9 so that lanes that read a column access different banks.
var<workgroup> q_tile: array<array<vec4<f32>, 9>, {{ threads // 8 * rows }}>;
var<workgroup> kv_tile: array<array<vec4<f32>, 9>, 32>;
var<workgroup> weights: array<array<vec4<f32>, 9>, {{ threads // 8 * rows }}>;
var<workgroup> sums: array<array<f32, 8>, {{ threads // 8 * rows }}>;

@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let group = group_index(wg, groups);
  if (group >= p.blocks) { return; }
  let first_column = group % p.column_blocks * 256u;
{{ place("group / p.column_blocks", "block_rows", "part", false) }}
{{ read_lengths(shared_lengths) }}
  let keys = {{ keys_of("min(first_row + block_rows, p.rows) - 1u", "part", "tile") }};
  let x = t % 8u;
  let own = t / 8u * {{ rows }}u;    // the first of this thread's rows within the block
{% for r in range(rows) %}
  let row{{ r }} = min(first_row + own + {{ r }}u, p.rows - 1u);
{% if mask != "none" %}
  let mask{{ r }} = row_start(batch, kv_head, row{{ r }}, p.mask_b, p.mask_h, p.mask_i);
{% endif %}
{% if bounded %}
{{ keys_of_row(r, kv_splits) }}
{% endif %}
  var m{{ r }} = lowest;
  var l{{ r }} = 0.0;                // of the keys of this thread
{% for i in range(slices) %}
  var o{{ r }}_{{ i }} = vec4<f32>();
{% endfor %}
{% endfor %}

{% if selects %}
  if (t == 0u) { atomicStore(&infinite[0], 0u); }
{% endif %}
  for (var base = keys.x; base < keys.y; base += tile) {
    // Scores of keys 4x…4x+3 of the tile.
{% for r in range(rows) %}
    var s{{ r }} = vec4<f32>();
{% endfor %}
    for (var d0 = 0u; d0 < {{ dim }}u; d0 += 32u) {
      workgroupBarrier();
      for (var i = t; i < block_rows * 8u; i += threads) {
        let d = d0 + i % 8u * 4u;
        var e = vec4<f32>();
        if (d < {{ dim }}u) {
          let row = min(first_row + i / 8u, p.rows - 1u);
          e = q_at(row_start(batch, kv_head, row, p.q_b, p.q_h, p.q_i), d) * p.scale;
        }
        q_tile[i / 8u][i % 8u] = e;
      }
      for (var i = t; i < tile * 8u; i += threads) {
        let d = d0 + i % 8u * 4u;
        let key = i / 8u;
        var e = vec4<f32>();
        if (d < {{ dim }}u) { e = k_at(k_start + min(base + key, last_key(lengths)) * p.k_i, d); }
        kv_tile[key % 4u * 8u + key / 4u][i % 8u] = e;    // adjacent lanes read adjacent rows
      }
      workgroupBarrier();
      for (var d = 0u; d < 8u; d++) {
{% for r in range(rows) %}
        let q{{ r }} = q_tile[own + {{ r }}u][d];
{% endfor %}
{% for j in range(4) %}
        {
          let e = kv_tile[{{ j * 8 }}u + x][d];
{% for r in range(rows) %}
          s{{ r }}[{{ j }}] = fma(q{{ r }}.w, e.w, fma(q{{ r }}.z, e.z, fma(q{{ r }}.y, e.y, fma(q{{ r }}.x, e.x, s{{ r }}[{{ j }}]))));
{% endfor %}
        }
{% endfor %}
      }
    }
{% for r in range(rows) %}
{% for j in range(4) %}
{% if mask != "none" %}
    s{{ r }}[{{ j }}] = masked(s{{ r }}[{{ j }}], mask_at(mask{{ r }} + min(base + x * 4u + {{ j }}u, last_key(lengths)) * p.mask_k));
{% endif %}
{% if bounded %}
    s{{ r }}[{{ j }}] = select(p.hidden, s{{ r }}[{{ j }}], base + x * 4u + {{ j }}u - first{{ r }} < count{{ r }});
{% endif %}
{% endfor %}
    sums[own + {{ r }}u][x] = max(max(s{{ r }}.x, s{{ r }}.y), max(s{{ r }}.z, s{{ r }}.w));
{% endfor %}
    workgroupBarrier();
{% for r in range(rows) %}
    var n{{ r }} = m{{ r }};
    for (var i = 0u; i < 8u; i++) { n{{ r }} = max(n{{ r }}, sums[own + {{ r }}u][i]); }
    let shrink{{ r }} = exp(m{{ r }} - n{{ r }});
    m{{ r }} = n{{ r }};
    s{{ r }} = exp(s{{ r }} - n{{ r }});
    l{{ r }} = l{{ r }} * shrink{{ r }} + s{{ r }}.x + s{{ r }}.y + s{{ r }}.z + s{{ r }}.w;
    weights[own + {{ r }}u][x] = s{{ r }};
{% for i in range(slices) %}
    o{{ r }}_{{ i }} *= shrink{{ r }};
{% endfor %}
{% endfor %}
{% for i in range(slices) %}
    {
      workgroupBarrier();
      for (var i = t; i < tile * 8u; i += threads) {
        let d = first_column + {{ i * 32 }}u + i % 8u * 4u;
        var e = vec4<f32>();
        // Zeros past the last key: weight 0 times infinity would be NaN.
        if (d < {{ value_dim }}u && base + i / 8u < keys.y) { e = v_at(v_start + (base + i / 8u) * p.v_i, d); }
{% if selects %}
        if (some_infinite(e)) {
          atomicStore(&infinite[0], 1u);
          e = finite_of(e);
        }
{% endif %}
        kv_tile[i / 8u][i % 8u] = e;
      }
      workgroupBarrier();
      for (var j = 0u; j < 8u; j++) {
{% for r in range(rows) %}
        let w{{ r }} = weights[own + {{ r }}u][j];
{% endfor %}
{% for c in range(4) %}
        {
          let e = kv_tile[j * 4u + {{ c }}u][x];
{% for r in range(rows) %}
          o{{ r }}_{{ i }} = fma(vec4<f32>(w{{ r }}[{{ c }}]), e, o{{ r }}_{{ i }});
{% endfor %}
        }
{% endfor %}
      }
    }
{% endfor %}
  }

  workgroupBarrier();
{% if selects %}
  if (atomicLoad(&infinite[0]) != 0u) {
    for (var key = keys.x; key < keys.y; key++) {
{% for i in range(slices) %}
      {
        let d = first_column + {{ i * 32 }}u + x * 4u;
        if (d < {{ value_dim }}u) {
          let e = infinite_of(v_at(v_start + key * p.v_i, d));
{% for r in range(rows) %}
          if ({{ sees(r, "key", "mask" ~ r, bounded) }}) { o{{ r }}_{{ i }} += e; }
{% endfor %}
        }
      }
{% endfor %}
    }
  }
{% endif %}
{% for r in range(rows) %}
  sums[own + {{ r }}u][x] = l{{ r }};
{% endfor %}
  workgroupBarrier();
{% for r in range(rows) %}
  if (first_row + own + {{ r }}u < p.rows) {
    var l = 0.0;
    for (var i = 0u; i < 8u; i++) { l += sums[own + {{ r }}u][i]; }
{% if kv_splits %}
    let to = partial_at(batch, kv_head, row{{ r }}, part);
{% for i in range(slices) %}
    {
      let d = first_column / 4u + {{ i * 8 }}u + x;
      if (d < {{ v4_all }}u) { partial_buf[to + d] = o{{ r }}_{{ i }}; }
    }
{% endfor %}
    if (x == 0u) { partial_buf[to + {{ v4_all }}u] = vec4<f32>(m{{ r }}, l, 0.0, 0.0); }
{% else %}
    let f = select(1.0 / l, p.empty, l == 0.0);    // no key seen: zeros or NaN
{% if log_sums %}
    if (x == 0u && first_column == 0u) { store_log_sum(batch, kv_head, row{{ r }}, m{{ r }}, l); }
{% endif %}
    let y = row_start(batch, kv_head, row{{ r }}, p.y_b, p.y_h, p.y_i);
{% for i in range(slices) %}
    {
      let d = first_column + {{ i * 32 }}u + x * 4u;
{% if vec_y %}
      if (d < {{ value_dim }}u) { store4_y(y + d, o{{ r }}_{{ i }} * f); }
{% else %}
{% for j in range(4) %}
      if (d + {{ j }}u < {{ value_dim }}u) { store_y(y + (d + {{ j }}u) * p.y_d, o{{ r }}_{{ i }}[{{ j }}] * f); }
{% endfor %}
{% endif %}
    }
{% endfor %}
{% endif %}
  }
{% endfor %}
}
