{#
  Attention of few rows over many keys, which is bound by reading keys and values: {{ lanes_per_key }} lanes share a key, each some
  of its elements, and all rows of a workgroup use what is read. Each group of lanes keeps a running maximum of its own, so
  only partial scores are exchanged, by subgroup shuffles; the groups' results are combined at the end.

  x_unit: elements of a load: 8 of 16 bits in 16 bytes (x_buf is then an array of vec4<u32>), or 4.
  x_per: loads of a lane for one key.

  options:
    vec_y: flag
    v4_all: number
    rows: 1…8
    k_unit: 4, 8
    k_per: number
    k_type: f32, f16, bf16
    v_unit: 4, 8
    v_per: number
    v_type: f32, f16, bf16
    lanes_per_key: 2, 4, 8, 16
    chunk: number
#}
{% set key_groups = threads // lanes_per_key %}
{# rows of a workgroup that may see different ones of the keys that it reads #}
{% set by_rows = shifts or mask == "rows" %}
const threads = {{ threads }}u;

{% if key_groups > 1 %}
var<workgroup> group_highest: array<vec2<f32>, {{ key_groups * rows }}>;    // maximum and sum of weights
var<workgroup> group_sums: array<vec4<f32>, {{ threads }}>;
{% endif %}

{# The first or second four elements of what was loaded. #}
{% macro four(x, name, half) -%}
{% if x == "k" %}{% set unit = k_unit %}{% set type = k_type %}{% else %}{% set unit = v_unit %}{% set type = v_type %}{% endif %}
{% set a = name ~ "." ~ ("z" if half else "x") %}
{% set b = name ~ "." ~ ("w" if half else "y") %}
{% if unit == 4 -%}
{{ name }}
{%- elif type == "f16" -%}
vec4<f32>(unpack2x16float({{ a }}), unpack2x16float({{ b }}))
{%- else -%}
bitcast<vec4<f32>>(vec4<u32>({{ a }} << 16u, {{ a }} & 0xffff0000u, {{ b }} << 16u, {{ b }} & 0xffff0000u))
{%- endif %}
{%- endmacro %}
{% if k_unit == 8 %}
fn k_words(i: u32, d: u32) -> vec4<u32> {
{% if dim % (lanes_per_key * 8) != 0 %}
  if (d >= {{ dim }}u) { return vec4<u32>(); }
{% endif %}
  return k_buf[(p.k_o * 8u + i + d) / 8u];
}
{% endif %}
{% if v_unit == 8 %}
fn v_words(i: u32, d: u32) -> vec4<u32> {
{% if value_dim % (lanes_per_key * 8) != 0 %}
  if (d >= {{ value_dim }}u) { return vec4<u32>(); }
{% endif %}
  return v_buf[(p.v_o * 8u + i + d) / 8u];
}
{% endif %}
{% macro load(x, unit, size, i, s) -%}
{% set d = "(" ~ s * lanes_per_key ~ "u + lane) * " ~ unit ~ "u" %}
{% if unit == 8 -%}
{{ x }}_words({{ i }}, {{ d }})
{%- elif size % (lanes_per_key * 4) == 0 -%}
{{ x }}_at({{ i }}, {{ d }})
{%- else -%}
{{ x }}_inside({{ i }}, {{ d }})
{%- endif %}
{%- endmacro %}
{% if k_unit == 4 and dim % (lanes_per_key * 4) != 0 %}
fn k_inside(i: u32, d: u32) -> vec4<f32> {
  if (d >= {{ dim }}u) { return vec4<f32>(); }
  return k_at(i, d);
}
{% endif %}
{% if v_unit == 4 and value_dim % (lanes_per_key * 4) != 0 %}
fn v_inside(i: u32, d: u32) -> vec4<f32> {
  if (d >= {{ value_dim }}u) { return vec4<f32>(); }
  return v_at(i, d);
}
{% endif %}

@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let block = group_index(wg, groups);
  if (block >= p.blocks) { return; }
{{ place("block", rows ~ "u", "part", false) }}
  let lane = t % {{ lanes_per_key }}u;
  let key_group = t / {{ lanes_per_key }}u;
{{ read_lengths(shared_lengths) }}
  let keys = {{ keys_of("min(first_row + " ~ rows ~ "u, p.rows) - 1u", "part", key_groups * chunk ~ "u") }};
{% if mask == "keys" %}
  let mask_start = row_start(batch, kv_head, first_row, p.mask_b, p.mask_h, 0u);
{% endif %}
{% for r in range(rows) %}
  let row{{ r }} = min(first_row + {{ r }}u, p.rows - 1u);
  let q{{ r }} = row_start(batch, kv_head, row{{ r }}, p.q_b, p.q_h, p.q_i);
{% for s in range(k_per) %}
{% for h in range(k_unit // 4) %}
  let d{{ r }}_{{ s }}_{{ h }} = ({{ s * lanes_per_key }}u + lane) * {{ k_unit }}u + {{ h * 4 }}u;
  var q{{ r }}_{{ s }}_{{ h }} = vec4<f32>();
  if (d{{ r }}_{{ s }}_{{ h }} < {{ dim }}u) { q{{ r }}_{{ s }}_{{ h }} = q_at(q{{ r }}, d{{ r }}_{{ s }}_{{ h }}) * p.scale; }
{% endfor %}
{% endfor %}
{% if mask == "rows" %}
  let mask{{ r }} = row_start(batch, kv_head, row{{ r }}, p.mask_b, p.mask_h, p.mask_i);
{% endif %}
{{ keys_of_row(r, true) }}
  var m{{ r }} = lowest;
  var l{{ r }} = 0.0;
{% for s in range(v_per) %}
{% for h in range(v_unit // 4) %}
  var o{{ r }}_{{ s }}_{{ h }} = vec4<f32>();
{% endfor %}
{% endfor %}
{% endfor %}

  for (var base = keys.x; base < keys.y; base += {{ key_groups * chunk }}u) {
{% for c in range(chunk) %}
    let key{{ c }} = base + {{ c * key_groups }}u + key_group;
    let read{{ c }} = min(key{{ c }}, keys.y - 1u);
{% for s in range(k_per) %}
    let k{{ c }}_{{ s }} = {{ load("k", k_unit, dim, "k_start + read" ~ c ~ " * p.k_i", s) }};
{% endfor %}
{% endfor %}
{% for c in range(chunk) %}
{% for s in range(v_per) %}
    let v{{ c }}_{{ s }} = {{ load("v", v_unit, value_dim, "v_start + read" ~ c ~ " * p.v_i", s) }};
{% endfor %}
{% endfor %}
{% for c in range(chunk) %}
{% for r in range(rows) %}
    var s{{ r }}_{{ c }} = 0.0;
{% endfor %}
{% for s in range(k_per) %}
{% for h in range(k_unit // 4) %}
    {
      let e = {{ four("k", "k" ~ c ~ "_" ~ s, h) }};
{% for r in range(rows) %}
      s{{ r }}_{{ c }} += dot(q{{ r }}_{{ s }}_{{ h }}, e);
{% endfor %}
    }
{% endfor %}
{% endfor %}
{% endfor %}
{{ add_up_scores(lanes_per_key) }}
{% for c in range(chunk) %}
{% if mask == "keys" %}
    let mask_of{{ c }} = mask_at(mask_start + read{{ c }} * p.mask_k);
{% endif %}
{% for r in range(rows) %}
{% if mask == "keys" %}
    s{{ r }}_{{ c }} = masked(s{{ r }}_{{ c }}, mask_of{{ c }});
{% elif mask == "rows" %}
    let mask{{ r }}_{{ c }} = mask_at(mask{{ r }} + read{{ c }} * p.mask_k);
    s{{ r }}_{{ c }} = masked(s{{ r }}_{{ c }}, mask{{ r }}_{{ c }});
{% endif %}
{% endfor %}
{% endfor %}
{% for c in range(chunk) %}
{% for r in range(rows) %}
    let sees{{ r }}_{{ c }} = {{ "!hides(mask" ~ r ~ "_" ~ c ~ ") && " if mask == "rows" }}key{{ c }} - first{{ r }} < count{{ r }};
    s{{ r }}_{{ c }} = select(p.hidden, s{{ r }}_{{ c }}, sees{{ r }}_{{ c }});
{% endfor %}
{% endfor %}
{% for r in range(rows) %}
    let n{{ r }} = {% for c in range(chunk) %}max({% endfor %}m{{ r }}{% for c in range(chunk) %}, s{{ r }}_{{ c }}){% endfor %};
    {
      let shrink = exp(m{{ r }} - n{{ r }});
      m{{ r }} = n{{ r }};
      l{{ r }} *= shrink;
{% for s in range(v_per) %}
{% for h in range(v_unit // 4) %}
      o{{ r }}_{{ s }}_{{ h }} *= shrink;
{% endfor %}
{% endfor %}
    }
{% for c in range(chunk) %}
    s{{ r }}_{{ c }} = exp(s{{ r }}_{{ c }} - n{{ r }});
{% endfor %}
    l{{ r }} = l{{ r }}{% for c in range(chunk) %} + s{{ r }}_{{ c }}{% endfor %};
{% endfor %}
{% for c in range(chunk) %}
{% for s in range(v_per) %}
{% for h in range(v_unit // 4) %}
    {   // zeros for what no row sees: a weight of 0 times an infinite value would be NaN
      let e = select(vec4<f32>(), {{ four("v", "v" ~ c ~ "_" ~ s, h) }}, key{{ c }} < keys.y{{ " && !hides(mask_of" ~ c ~ ")" if mask == "keys" }});
{% for r in range(rows) %}
      o{{ r }}_{{ s }}_{{ h }} = {{ "select(o" ~ r ~ "_" ~ s ~ "_" ~ h ~ ", " if by_rows }}fma(vec4<f32>(s{{ r }}_{{ c }}), e, o{{ r }}_{{ s }}_{{ h }}){{ ", sees" ~ r ~ "_" ~ c ~ ")" if by_rows }};
{% endfor %}
    }
{% endfor %}
{% endfor %}
{% endfor %}
  }

{% if key_groups > 1 %}
  // The groups' results, scaled to the highest maximum and summed by the first group.
  if (lane == 0u) {
{% for r in range(rows) %}
    group_highest[key_group * {{ rows }}u + {{ r }}u] = vec2<f32>(m{{ r }}, l{{ r }});
{% endfor %}
  }
  workgroupBarrier();
{% for r in range(rows) %}
  {
    var n = m{{ r }};
    for (var i = 0u; i < {{ key_groups }}u; i++) { n = max(n, group_highest[i * {{ rows }}u + {{ r }}u].x); }
    l{{ r }} = 0.0;
    for (var i = 0u; i < {{ key_groups }}u; i++) {
      let other = group_highest[i * {{ rows }}u + {{ r }}u];
      l{{ r }} += other.y * exp(other.x - n);
    }
    let shrink = exp(m{{ r }} - n);
    m{{ r }} = n;
{% for s in range(v_per) %}
{% for h in range(v_unit // 4) %}
    group_sums[t] = o{{ r }}_{{ s }}_{{ h }} * shrink;
    workgroupBarrier();
    if (key_group == 0u) {
      o{{ r }}_{{ s }}_{{ h }} = group_sums[t];
      for (var i = 1u; i < {{ key_groups }}u; i++) { o{{ r }}_{{ s }}_{{ h }} += group_sums[i * {{ lanes_per_key }}u + t]; }
    }
    workgroupBarrier();
{% endfor %}
{% endfor %}
  }
{% endfor %}
  if (key_group != 0u) { return; }
{% endif %}
{% for r in range(rows) %}
  if (first_row + {{ r }}u < p.rows) {
{% if kv_splits %}
    let to = partial_at(batch, kv_head, row{{ r }}, part);
    if (lane == 0u) { partial_buf[to + {{ v4_all }}u] = vec4<f32>(m{{ r }}, l{{ r }}, 0.0, 0.0); }
{% else %}
    let y = row_start(batch, kv_head, row{{ r }}, p.y_b, p.y_h, p.y_i);
    let f = select(1.0 / l{{ r }}, p.empty, l{{ r }} == 0.0);  // no key seen: zeros or NaN
{% if log_sums %}
    if (lane == 0u) { store_log_sum(batch, kv_head, row{{ r }}, m{{ r }}, l{{ r }}); }
{% endif %}
{% endif %}
{% for s in range(v_per) %}
{% for h in range(v_unit // 4) %}
    {
      let d = ({{ s * lanes_per_key }}u + lane) * {{ v_unit }}u + {{ h * 4 }}u;
{% if kv_splits %}
      if (d < {{ value_dim }}u) { partial_buf[to + d / 4u] = o{{ r }}_{{ s }}_{{ h }}; }
{% elif vec_y %}
      if (d < {{ value_dim }}u) { store4_y(y + d, o{{ r }}_{{ s }}_{{ h }} * f); }
{% else %}
{% for j in range(4) %}
      if (d + {{ j }}u < {{ value_dim }}u) { store_y(y + (d + {{ j }}u) * p.y_d, o{{ r }}_{{ s }}_{{ h }}[{{ j }}] * f); }
{% endfor %}
{% endif %}
    }
{% endfor %}
{% endfor %}
  }
{% endfor %}
}
