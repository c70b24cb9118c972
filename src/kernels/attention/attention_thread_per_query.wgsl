{#
  Attention with a lane for each query: each thread holds {{ rows }} queries and their accumulators in registers and
  iterates over the keys, which all lanes read at the same address: broadcast from workgroup memory (staged), or as
  uniform loads without barriers, which is fastest where the adapter is a CPU. With splits > 1 the keys are divided
  among that many groups of lanes, whose partial results are merged at the end. With threads_per_row > 1 so many
  adjacent threads share a query: thread `side` has groups of four columns side, side + threads_per_row, …, and the
  scores are summed by subgroup shuffles.

  options:
    vec_y: flag
    v4_all: number
    rows: 1, 2
    d4: number
    v4: number
    bounded: flag
    staged: flag
    splits: 1, 2, 4, 8
    threads_per_row: 1, 2, 4
    chunk: number
    tile: number
    v_rows: number
#}
{% set own_d4 = d4 // threads_per_row %}
{% set own_v4 = v4 // threads_per_row %}
{# The thread's group of four number d of a head. #}
{% macro four(d) %}{% if threads_per_row > 1 %}({{ d * threads_per_row }}u + side){% else %}{{ d }}u{% endif %}{% endmacro %}
{% macro column(d) %}{% if threads_per_row > 1 %}{{ four(d) }} * 4u{% else %}{{ d * 4 }}u{% endif %}{% endmacro %}
const threads = {{ threads }}u;
const lanes = {{ threads // splits // threads_per_row }}u;      // threads that work on different rows
const block_rows = {{ threads // splits // threads_per_row * rows }}u;
{% if staged %}
const tile = {{ tile }}u;                    // keys in workgroup memory

var<workgroup> k_tile: array<array<vec4<f32>, {{ d4 }}>, {{ tile }}>;
var<workgroup> v_tile: array<array<vec4<f32>, {{ v4 }}>, {{ v_rows }}>;
{% if mask == "keys" %}
var<workgroup> mask_tile: array<f32, {{ tile }}>;
{% endif %}
{% if splits > 1 %}
var<workgroup> handed: array<vec2<f32>, {{ threads // 2 * rows }}>;  // maximum and sum of a row
{% endif %}
{% endif %}

{# Where a row's mask begins. #}
{% macro mask_start(r) %}{% if mask == "keys" %}mask_start{% else %}mask{{ r }}{% endif %}{% endmacro %}
{# Processes the keys j…j+count-1: of the tile, or of all keys. #}
{% macro take_keys(count) %}
{% for c in range(count) %}
{% if staged %}
      let k{{ c }} = &k_tile[j + {{ c }}u];
      let v{{ c }} = &v_tile[j + {{ c }}u];
{% else %}
      let key{{ c }} = j + {{ c }}u;
      let k{{ c }} = k_start + key{{ c }} * p.k_i;
      let v{{ c }} = v_start + key{{ c }} * p.v_i;
{% endif %}
{% for r in range(rows) %}
      var s{{ r }}_{{ c }} = 0.0;
{% endfor %}
{% endfor %}
{% for d in range(own_d4) %}
{% for c in range(count) %}
      {
        let e = {% if staged %}(*k{{ c }})[{{ four(d) }}]{% else %}k_at(k{{ c }}, {{ d * 4 }}u){% endif %};
{% for r in range(rows) %}
        s{{ r }}_{{ c }} = fma(q{{ r }}_{{ d }}.w, e.w, fma(q{{ r }}_{{ d }}.z, e.z, fma(q{{ r }}_{{ d }}.y, e.y, fma(q{{ r }}_{{ d }}.x, e.x, s{{ r }}_{{ c }}))));
{% endfor %}
      }
{% endfor %}
{% endfor %}
{{ add_up_scores(threads_per_row) }}
{% for c in range(count) %}
{% if mask == "keys" %}
      let mask_of{{ c }} = {% if staged %}mask_tile[j + {{ c }}u]{% else %}mask_at(mask_start + key{{ c }} * p.mask_k){% endif %};
{% endif %}
{% for r in range(rows) %}
{% if mask == "keys" %}
      s{{ r }}_{{ c }} = masked(s{{ r }}_{{ c }}, mask_of{{ c }});
{% elif mask == "rows" %}
      s{{ r }}_{{ c }} = masked(s{{ r }}_{{ c }}, mask_at(mask{{ r }} + {% if staged %}min(base + j + {{ c }}u, last_key(lengths)){% else %}key{{ c }}{% endif %} * p.mask_k));
{% endif %}
{% if bounded %}
      s{{ r }}_{{ c }} = select(p.hidden, s{{ r }}_{{ c }}, {{ "base + " if staged else "" }}j + {{ c }}u - first{{ r }} < count{{ r }});
{% endif %}
{% if selects and not staged %}
      let sees{{ r }}_{{ c }} = {{ sees(r, "key" ~ c, mask_start(r), bounded) }};
{% endif %}
{% endfor %}
{% endfor %}
{% for r in range(rows) %}
      let n{{ r }} = {% for c in range(count) %}max({% endfor %}m{{ r }}{% for c in range(count) %}, s{{ r }}_{{ c }}){% endfor %};
      let shrink{{ r }} = exp(m{{ r }} - n{{ r }});
      m{{ r }} = n{{ r }};
{% for c in range(count) %}
      s{{ r }}_{{ c }} = exp(s{{ r }}_{{ c }} - n{{ r }});
{% endfor %}
      l{{ r }} = l{{ r }} * shrink{{ r }}{% for c in range(count) %} + s{{ r }}_{{ c }}{% endfor %};
{% for d in range(own_v4) %}
      o{{ r }}_{{ d }} *= shrink{{ r }};
{% endfor %}
{% endfor %}
{% for d in range(own_v4) %}
{% for c in range(count) %}
      {
        let e = {% if staged %}(*v{{ c }})[{{ four(d) }}]{% else %}v_at(v{{ c }}, {{ d * 4 }}u){% endif %};
{% for r in range(rows) %}
        o{{ r }}_{{ d }} = {{ "select(o" ~ r ~ "_" ~ d ~ ", " if selects and not staged }}fma(vec4<f32>(s{{ r }}_{{ c }}), e, o{{ r }}_{{ d }}){{ ", sees" ~ r ~ "_" ~ c ~ ")" if selects and not staged }};
{% endfor %}
      }
{% endfor %}
{% endfor %}
{% endmacro %}

@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
{% if threads_per_row > 1 %}
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_invocation_id) place: u32) {
  let t = subgroup * subgroup_size + place;
  let side = t % {{ threads_per_row }}u;
{% else %}
        @builtin(local_invocation_index) t: u32) {
{% endif %}
  let block = group_index(wg, groups);
  if (block >= p.blocks) { return; }
{{ place("block", "block_rows", "part", false) }}
{{ read_lengths(shared_lengths and staged) }}
  let keys = {{ keys_of("min(first_row + block_rows, p.rows) - 1u", "part", chunk * splits ~ "u") }};
  let lane = t{{ " / " ~ threads_per_row ~ "u" if threads_per_row > 1 }} % lanes;
{% if splits > 1 %}
  let split = t / lanes;
{% endif %}
{% if mask == "keys" %}
  let mask_start = row_start(batch, kv_head, first_row, p.mask_b, p.mask_h, 0u);
{% endif %}
{% for r in range(rows) %}
  // Lanes past the last row compute it again and store nothing.
  let row{{ r }} = min(first_row + lane + {{ r }}u * lanes, p.rows - 1u);
  let q{{ r }} = row_start(batch, kv_head, row{{ r }}, p.q_b, p.q_h, p.q_i);
{% for d in range(own_d4) %}
  let q{{ r }}_{{ d }} = q_at(q{{ r }}, {{ column(d) }}) * p.scale;
{% endfor %}
{% if mask == "rows" %}
  let mask{{ r }} = row_start(batch, kv_head, row{{ r }}, p.mask_b, p.mask_h, p.mask_i);
{% endif %}
{% if bounded %}
{{ keys_of_row(r, kv_splits) }}
{% endif %}
  var m{{ r }} = lowest;
  var l{{ r }} = 0.0;
{% for d in range(own_v4) %}
  var o{{ r }}_{{ d }} = vec4<f32>();
{% endfor %}
{% endfor %}

{% if staged %}
{% if selects %}
  if (t == 0u) { atomicStore(&infinite[0], 0u); }
{% endif %}
  for (var base = keys.x; base < keys.y; base += tile) {
    let count = min(tile, (keys.y - base + {{ chunk - 1 }}u) / {{ chunk }}u * {{ chunk }}u);
    workgroupBarrier();
    for (var i = t; i < count * {{ d4 }}u; i += threads) {
      let key = min(base + i / {{ d4 }}u, last_key(lengths));
      k_tile[i / {{ d4 }}u][i % {{ d4 }}u] = k_at(k_start + key * p.k_i, i % {{ d4 }}u * 4u);
    }
    for (var i = t; i < count * {{ v4 }}u; i += threads) {
      let key = base + i / {{ v4 }}u;
      {{ "var" if selects else "let" }} e = v_at(v_start + min(key, last_key(lengths)) * p.v_i, i % {{ v4 }}u * 4u);
{% if selects %}
      if (some_infinite(e)) {
        atomicStore(&infinite[0], 1u);
        e = finite_of(e);
      }
{% endif %}
      // Zeros past the last key: weight 0 times infinity would be NaN.
      v_tile[i / {{ v4 }}u][i % {{ v4 }}u] = {{ "select(vec4<f32>(), e, key < keys.y)" if bounded else "e" }};
    }
{% if mask == "keys" %}
    for (var i = t; i < count; i += threads) {
      mask_tile[i] = mask_at(mask_start + min(base + i, last_key(lengths)) * p.mask_k);
    }
{% endif %}
    workgroupBarrier();
    for (var j = {{ "split * " ~ chunk ~ "u" if splits > 1 else "0u" }}; j < count; j += {{ splits * chunk }}u) {
{{ take_keys(chunk) }}
    }
  }
{% else %}
  var j = keys.x;
  for (; j + {{ chunk }}u <= keys.y; j += {{ chunk }}u) {
{{ take_keys(chunk) }}
  }
{% if bounded and chunk > 1 %}
  for (; j < keys.y; j++) {
{{ take_keys(1) }}
  }
{% endif %}
{% endif %}
{% if splits > 1 %}

  // The upper half of the splits passes its results to the lower half, until one split is left.
  for (var half = {{ splits // 2 }}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (split >= half && split < 2u * half) {
{% for r in range(rows) %}
      {
        let slot = ((split - half) * {{ rows }}u + {{ r }}u) * lanes + lane;
        handed[slot] = vec2<f32>(m{{ r }}, l{{ r }});
{% for d in range(own_v4) %}
        v_tile[slot][{{ d }}] = o{{ r }}_{{ d }};
{% endfor %}
      }
{% endfor %}
    }
    workgroupBarrier();
    if (split < half) {
{% for r in range(rows) %}
      {
        let slot = (split * {{ rows }}u + {{ r }}u) * lanes + lane;
        let other = handed[slot];
        let n = max(m{{ r }}, other.x);
        let mine = exp(m{{ r }} - n);
        let theirs = exp(other.x - n);
        m{{ r }} = n;
        l{{ r }} = l{{ r }} * mine + other.y * theirs;
{% for d in range(own_v4) %}
        o{{ r }}_{{ d }} = o{{ r }}_{{ d }} * mine + v_tile[slot][{{ d }}] * theirs;
{% endfor %}
      }
{% endfor %}
    }
  }
{% endif %}

{% if selects and staged %}
  workgroupBarrier();
  if (atomicLoad(&infinite[0]) != 0u) {
    for (var key = keys.x; key < keys.y; key++) {
{% for r in range(rows) %}
      let sees{{ r }} = {{ sees(r, "key", mask_start(r), bounded) }};
{% endfor %}
{% for d in range(own_v4) %}
      {
        let e = infinite_of(v_at(v_start + key * p.v_i, {{ column(d) }}));
{% for r in range(rows) %}
        if (sees{{ r }}) { o{{ r }}_{{ d }} += e; }
{% endfor %}
      }
{% endfor %}
    }
  }
{% endif %}
{% for r in range(rows) %}
  if ({{ "split == 0u && " if splits > 1 }}first_row + lane + {{ r }}u * lanes < p.rows) {
{% if kv_splits %}
    let to = partial_at(batch, kv_head, row{{ r }}, part);
{% for d in range(own_v4) %}
    partial_buf[to + {{ four(d) }}] = o{{ r }}_{{ d }};
{% endfor %}
    {{ "if (side == 0u) { " if threads_per_row > 1 }}partial_buf[to + {{ v4 }}u] = vec4<f32>(m{{ r }}, l{{ r }}, 0.0, 0.0);{{ " }" if threads_per_row > 1 }}
{% else %}
    let y = row_start(batch, kv_head, row{{ r }}, p.y_b, p.y_h, p.y_i);
    let f = select(1.0 / l{{ r }}, p.empty, l{{ r }} == 0.0);  // no key seen: zeros or NaN
{% if log_sums %}
    {{ "if (side == 0u) { " if threads_per_row > 1 }}store_log_sum(batch, kv_head, row{{ r }}, m{{ r }}, l{{ r }});{{ " }" if threads_per_row > 1 }}
{% endif %}
{% for d in range(own_v4) %}
{% if vec_y %}
    store4_y(y + {{ column(d) }}, o{{ r }}_{{ d }} * f);
{% else %}
{% for j in range(4) %}
{% if threads_per_row > 1 %}
    store_y(y + ({{ column(d) }} + {{ j }}u) * p.y_d, o{{ r }}_{{ d }}[{{ j }}] * f);
{% elif d * 4 + j < value_dim %}
    store_y(y + {{ d * 4 + j }}u * p.y_d, o{{ r }}_{{ d }}[{{ j }}] * f);
{% endif %}
{% endfor %}
{% endif %}
{% endfor %}
{% endif %}
  }
{% endfor %}
}
