{#
  options:
    vec_g: flag
    vec_dq: flag
    vec_dk: flag
    vec_dv: flag
    rows: 1, 2, number
    columns: number
    q_slices: 1…8
    v_slices: 0…8
    pass: queries, keys
    bounded: flag
#}
// The gradient of attention, by tiles in workgroup memory, for heads of any size. A pass computes for its own items,
// {{ threads // 8 * rows }} a workgroup, sums over tiles of 32 others:
//   queries   own queries over keys: dq
//   keys      own keys over queries: dk and dv
// {{ threads }} threads: 8 along the others and along columns, the rest along the own items, {{ rows }} items each.
// What each row's stats are attention_gradient_stats.wgsl says.

const threads = {{ threads }}u;
const block = {{ threads // 8 * rows }}u;
const tile = 32u;

// Rows of 8 vectors, padded to 9 so that lanes that read a column access different banks.
var<workgroup> own_tile: array<array<vec4<f32>, 9>, {{ threads // 8 * rows }}>;
var<workgroup> other_tile: array<array<vec4<f32>, 9>, 32>;
var<workgroup> weights: array<array<vec4<f32>, 9>, {{ threads // 8 * rows }}>;
var<workgroup> stats_tile: array<vec4<u32>, {{ 32 if pass == "keys" else threads // 8 * rows }}>;
var<workgroup> bounds: vec4<u32>;
{{ loader("g", vec_g, value_dim) }}
{% set keys_own = pass == "keys" %}

{# Four columns from d on of an item of an operand: rows from `first`, of which `last` is the last, or keys. #}
{% macro of_rows(x, row) -%}
{{ x }}_at(row_start(batch, kv_head, {{ row }}, p.{{ x }}_b, p.{{ x }}_h, p.{{ x }}_i), d)
{%- endmacro %}
{% macro of_keys(x, key) -%}
{{ x }}_at(batch * p.{{ x }}_b + kv_head * p.{{ x }}_h + ({{ key }}) * p.{{ x }}_i, d)
{%- endmacro %}
{# Others of the tile as vectors e; zeros past their end, and of queries that see no key. #}
{% macro load_other(x, size, to) %}
      for (var i = t; i < tile * 8u; i += threads) {
        let d = {{ to }} + i % 8u * 4u;
        let other = i / 8u;
        var e = vec4<f32>();
{% if keys_own %}
        if (d < {{ size }}u && stats_tile[other].w > stats_tile[other].z) { e = {{ of_rows(x, "base + other") }}; }
{% else %}
        if (d < {{ size }}u && base + other < others.y) { e = {{ of_keys(x, "base + other") }}; }
{% endif %}
{% endmacro %}
{# {{ into }}r[j] += own · other over all columns: of own items r and others 4x + j. #}
{% macro product(into, own, other, size) %}
{% for r in range(rows) %}
    var {{ into }}{{ r }} = vec4<f32>();
{% endfor %}
    for (var d0 = 0u; d0 < {{ size }}u; d0 += 32u) {
      workgroupBarrier();
      for (var i = t; i < block * 8u; i += threads) {
        let d = d0 + i % 8u * 4u;
        var e = vec4<f32>();
{% if keys_own %}
        if (d < {{ size }}u) { e = {{ of_keys(own, "min(first_own + i / 8u, p.keys - 1u)") }}; }
{% else %}
        if (d < {{ size }}u) { e = {{ of_rows(own, "min(first_own + i / 8u, p.rows - 1u)") }}; }
{% endif %}
        own_tile[i / 8u][i % 8u] = e;
      }
{{ load_other(other, size, "d0") }}
        other_tile[other % 4u * 8u + other / 4u][i % 8u] = e;    // adjacent lanes read adjacent rows
      }
      workgroupBarrier();
      for (var d = 0u; d < 8u; d++) {
{% for r in range(rows) %}
        let own{{ r }} = own_tile[own + {{ r }}u][d];
{% endfor %}
{% for j in range(4) %}
        {
          let e = other_tile[{{ j * 8 }}u + x][d];
{% for r in range(rows) %}
          {{ into }}{{ r }}[{{ j }}] = fma(own{{ r }}.w, e.w, fma(own{{ r }}.z, e.z, fma(own{{ r }}.y, e.y, fma(own{{ r }}.x, e.x, {{ into }}{{ r }}[{{ j }}]))));
{% endfor %}
        }
{% endfor %}
      }
    }
{% endmacro %}
{# {{ into }}r_i += weights · other, for the slices of columns of this workgroup. Keys have zeros in the place of NaN and
   infinities, which rows that do not see them must not meet: to a row that does, the score of such a key gives NaN. #}
{% macro accumulate(into, other, size, slices) %}
{% for i in range(slices) %}
    {
      workgroupBarrier();
{{ load_other(other, size, "first_column + " ~ i * 32 ~ "u") }}
        other_tile[other][i % 8u] = {{ "finite_of(e)" if selects and other == "k" else "e" }};
      }
      workgroupBarrier();
      for (var j = 0u; j < 8u; j++) {
{% for r in range(rows) %}
        let w{{ r }} = weights[own + {{ r }}u][j];
{% endfor %}
{% for c in range(4) %}
        {
          let e = other_tile[j * 4u + {{ c }}u][x];
{% for r in range(rows) %}
          {{ into }}{{ r }}_{{ i }} = fma(vec4<f32>(w{{ r }}[{{ c }}]), e, {{ into }}{{ r }}_{{ i }});
{% endfor %}
        }
{% endfor %}
      }
    }
{% endfor %}
{% endmacro %}
{% macro zeros(into, slices) %}
{% for r in range(rows) %}
{% for i in range(slices) %}
  var {{ into }}{{ r }}_{{ i }} = vec4<f32>();
{% endfor %}
{% endfor %}
{% endmacro %}
{# Stores the sums of item r, whose vector starts at `at`. #}
{% macro store(into, r, at, size, slices, vectorised) %}
    {
      let at = {{ at }};
{% for i in range(slices) %}
      {
        let d = first_column + {{ i * 32 }}u + x * 4u;
{% if vectorised %}
        if (d < {{ size }}u) { store4_{{ into }}(at + d, {{ into }}{{ r }}_{{ i }}); }
{% else %}
{% for j in range(4) %}
        if (d + {{ j }}u < {{ size }}u) { store_{{ into }}(at + (d + {{ j }}u) * p.{{ into }}_d, {{ into }}{{ r }}_{{ i }}[{{ j }}]); }
{% endfor %}
{% endif %}
      }
{% endfor %}
    }
{% endmacro %}

@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let group = group_index(wg, groups);
  if (group >= p.blocks) { return; }
  let first_column = group % p.column_blocks * {{ columns }}u;
  let at = group / p.column_blocks;
  let first_own = at % p.own_blocks * block;
  let head = at / p.own_blocks;    // of keys, counted through the batch
  let batch = head / p.kv_heads;
  let kv_head = head % p.kv_heads;
  let x = t % 8u;
  let own = t / 8u * {{ rows }}u;    // the first of this thread's items within the block

{% if pass == "queries" %}
  for (var i = t; i < block; i += threads) {
    var e = vec4<u32>();
    if (first_own + i < p.rows) { e = stats_buf[p.stats_o + head * p.rows + first_own + i]; }
    stats_tile[i] = e;
  }
  workgroupBarrier();
  // The keys that any of the rows sees.
  if (t == 0u) {
    var all = vec2<u32>(p.keys, 0u);
    for (var i = 0u; i < block; i++) {
      let e = stats_tile[i];
      if (e.w > e.z) { all = vec2<u32>(min(all.x, e.z), max(all.y, e.w)); }
    }
    bounds = vec4<u32>(all, 0u, 0u);
  }
  let others = workgroupUniformLoad(&bounds).xy;
{% for r in range(rows) %}
  let row{{ r }} = min(first_own + own + {{ r }}u, p.rows - 1u);
{% if mask != "none" %}
  let mask{{ r }} = row_start(batch, kv_head, row{{ r }}, p.mask_b, p.mask_h, p.mask_i);
{% endif %}
  let stats{{ r }} = stats_tile[own + {{ r }}u];
  let log_sum{{ r }} = bitcast<f32>(stats{{ r }}.x);
  let delta{{ r }} = bitcast<f32>(stats{{ r }}.y);
{% endfor %}
{{ zeros("dq", q_slices) }}
  for (var base = others.x; base < others.y; base += tile) {
{{ product("s", "q", "k", dim) }}
{{ product("dp", "g", "v", value_dim) }}
{% for r in range(rows) %}
{% for j in range(4) %}
    {
      let key = base + x * 4u + {{ j }}u;
{% if mask != "none" %}
      let s = masked(s{{ r }}[{{ j }}] * p.scale, mask_at(mask{{ r }} + min(key, others.y - 1u) * p.mask_k));
{% else %}
      let s = s{{ r }}[{{ j }}] * p.scale;
{% endif %}
      let w = exp(s - log_sum{{ r }});
      let ds = w * (dp{{ r }}[{{ j }}] - delta{{ r }}) * p.scale;
      s{{ r }}[{{ j }}] = select(0.0, {{ "select(ds, 0.0, w == 0.0)" if mask != "none" else "ds" }}, key - stats{{ r }}.z < stats{{ r }}.w - stats{{ r }}.z);
    }
{% endfor %}
    weights[own + {{ r }}u][x] = s{{ r }};
{% endfor %}
{{ accumulate("dq", "k", dim, q_slices) }}
  }
{% for r in range(rows) %}
  if (first_own + own + {{ r }}u < p.rows) {
{{ store("dq", r, "row_start(batch, kv_head, row" ~ r ~ ", p.dq_b, p.dq_h, p.dq_i)", dim, q_slices, vec_dq) }}
  }
{% endfor %}

{% else %}
{{ zeros("dk", q_slices) }}
{{ zeros("dv", v_slices) }}
  for (var base = 0u; base < p.rows; base += tile) {
    workgroupBarrier();
    for (var i = t; i < tile; i += threads) {
      var e = vec4<u32>();
      if (base + i < p.rows) { e = stats_buf[p.stats_o + head * p.rows + base + i]; }
      stats_tile[i] = e;
    }
{% if bounded %}
    workgroupBarrier();
    // Tiles of queries that see none of the keys are passed over.
    if (t == 0u) {
      var any = 0u;
      for (var i = 0u; i < tile; i++) {
        let e = stats_tile[i];
        any |= select(0u, 1u, e.w > max(e.z, first_own) && e.z < first_own + block);
      }
      bounds = vec4<u32>(any, 0u, 0u, 0u);
    }
    if (workgroupUniformLoad(&bounds).x == 0u) { continue; }
{% else %}
    workgroupBarrier();
{% endif %}
{{ product("s", "k", "q", dim) }}
{{ product("dp", "v", "g", value_dim) }}
{% for r in range(rows) %}
{% for j in range(4) %}
    {
      let key = first_own + own + {{ r }}u;
      let stats = stats_tile[x * 4u + {{ j }}u];
{% if mask != "none" %}
      let row = min(base + x * 4u + {{ j }}u, p.rows - 1u);
{% endif %}
{% if mask != "none" %}
      let mask_start = row_start(batch, kv_head, row, p.mask_b, p.mask_h, p.mask_i);
      let s = masked(s{{ r }}[{{ j }}] * p.scale, mask_at(mask_start + min(key, p.keys - 1u) * p.mask_k));
{% else %}
      let s = s{{ r }}[{{ j }}] * p.scale;
{% endif %}
      let w = select(0.0, exp(s - bitcast<f32>(stats.x)), key - stats.z < stats.w - stats.z);
      s{{ r }}[{{ j }}] = w;
      let ds = w * (dp{{ r }}[{{ j }}] - bitcast<f32>(stats.y)) * p.scale;
      dp{{ r }}[{{ j }}] = select(0.0, {{ "select(ds, 0.0, w == 0.0)" if mask != "none" else "ds" }}, key - stats.z < stats.w - stats.z);
    }
{% endfor %}
    weights[own + {{ r }}u][x] = s{{ r }};
{% endfor %}
{{ accumulate("dv", "g", value_dim, v_slices) }}
    workgroupBarrier();
{% for r in range(rows) %}
    weights[own + {{ r }}u][x] = dp{{ r }};
{% endfor %}
{{ accumulate("dk", "q", dim, q_slices) }}
  }
{% for r in range(rows) %}
  if (first_own + own + {{ r }}u < p.keys) {
    let key = first_own + own + {{ r }}u;
{{ store("dk", r, "batch * p.dk_b + kv_head * p.dk_h + key * p.dk_i", dim, q_slices, vec_dk) }}
{{ store("dv", r, "batch * p.dv_b + kv_head * p.dv_h + key * p.dv_i", value_dim, v_slices, vec_dv) }}
  }
{% endfor %}
{% endif %}
}
