{#
  Attention on cooperative-matrix units. A workgroup computes block_rows rows of y. Its subgroups form a grid of
  subgroups_m × subgroups_n: each has sub_rows rows, tile / subgroups_n keys of the scores, and value_dim / subgroups_n
  columns of y. q and the sums of y stay in matrices; scores go through workgroup memory, because nothing else gives
  access to single elements, and return as f16 weights.

  The sums are not rescaled each time that a row's maximum grows, which would take them through workgroup memory too:
  weights refer to an older maximum until the current one exceeds it by so much (kGrowth) that they could leave f16's
  range.

  Every variable in workgroup memory is a multiple of 16 bytes long, so that each is 16-byte aligned wherever it is
  placed: Vulkan requires this of matrices, and NVIDIA's driver (580.159) gives wrong results otherwise, since Tint does
  not declare the alignment.

  q_dim, o_dim: head sizes padded to whole matrices. q and keys are 0 past dim; y is not stored past value_dim. q_round,
  o_round: columns of q loaded, and of y stored, at once.

  buffers: 0: matrices of keys and values are loaded directly from storage; 1: a tile's keys, then its values, use the
  same workgroup memory; 2: each have their own, with fewer barriers.

  options:
    v4_all: number
    subgroups_m: number
    subgroups_n: 1, 2
    sub_rows: number
    tile: number
    buffers: 0, 1, 2
    unit_m: number
    unit_n: number
    unit_k: number
    q_dim: number
    o_dim: number
    q_round: number
    o_round: number
#}
{% set block_rows = subgroups_m * sub_rows %}
{% set threads_per_row = threads // block_rows %}
{# threads of a row #}
{% set own = tile // threads_per_row %}
{# keys of a tile that a thread has #}
{% set share = tile // subgroups_n %}
{# keys of a tile that a subgroup has #}
{% set columns = o_dim // subgroups_n %}
{# columns of y that a subgroup has #}
{% set pitch_s = share + 4 %}
{% set pitch_w = tile + 8 %}
{% set pitch_k = q_dim + 8 %}
{% set pitch_v = columns + 8 %}
{% set k_block = share * pitch_k %}
{% set v_block = tile * pitch_v %}
{% if buffers == 1 and k_block < v_block %}{% set k_block = v_block %}{% endif %}
{% set v_tile = "keys_tile" if buffers == 1 else "values_tile" %}
{% set row_units = sub_rows // unit_m %}
{# matrices along a subgroup's rows #}
{% set key_units = tile // subgroups_n // unit_n %}
{% set q_cols = q_dim // unit_k %}
{% set o_cols = o_dim // subgroups_n // unit_n %}
{% set o_share = o_round // subgroups_n %}
{% set beyond = "base < by_all.x || base + tile > by_all.y" %}
{% set partly_seen = beyond if mask == "none" else "true" %}
{# a tile of which some rows may not see all keys #}
const threads = {{ threads }}u;
const tile = {{ tile }}u;
const kGrowth = 5.0;    // e^5 = 148, and f16 ends at 65,504

{% if buffers > 0 %}
var<workgroup> keys_tile: array<array<f16, {{ k_block }}>, {{ subgroups_n }}>;
{% endif %}
{% if buffers == 2 %}
var<workgroup> values_tile: array<array<f16, {{ v_block }}>, {{ subgroups_n }}>;
{% endif %}
var<workgroup> scores: array<array<f32, {{ sub_rows * pitch_s + 16 }}>, {{ subgroups_m * subgroups_n }}>;
var<workgroup> weights: array<array<f16, {{ sub_rows * pitch_w }}>, {{ subgroups_m }}>;
var<workgroup> shrinks: array<f32, {{ block_rows }}>;
var<workgroup> grown: array<atomic<u32>, 4>;    // only [0] is used; 16 bytes, see above
{% if threads_per_row > 1 %}
var<workgroup> tops: array<f32, {{ threads }}>;
{% endif %}
{% if mask == "keys" %}
var<workgroup> mask_tile: array<f32, {{ tile }}>;
{% endif %}
{% set left_type = "subgroup_matrix_left<f16, " ~ unit_k ~ ", " ~ unit_m ~ ">" %}
{% set right_type = "subgroup_matrix_right<f16, " ~ unit_n ~ ", " ~ unit_k ~ ">" %}
{% set result_type = "subgroup_matrix_result<f32, " ~ unit_n ~ ", " ~ unit_m ~ ">" %}

{# Loads a tile's keys or values into registers (fetch), and stores these to workgroup memory (stage). #}
{% macro fetch(x, size, from) %}
{% for i in range((tile * size // 8 + threads - 1) // threads) %}
{% set id = "t + " ~ i * threads ~ "u" %}
    next_{{ x }}{{ i }} = {{ x }}_buf[(p.{{ x }}_o * 8u + {{ x }}_start + min({{ from }} + ({{ id }}) / {{ size // 8 }}u, last_key(lengths)) * p.{{ x }}_i) / 8u + ({{ id }}) % {{ size // 8 }}u];
{% endfor %}
{% endmacro %}
{% macro stage(x) %}
{% set size = dim if x == "k" else value_dim %}
{% set name = "keys_tile" if x == "k" else v_tile %}
{% set count = tile * size // 8 %}
{% for i in range((count + threads - 1) // threads) %}
    {{ "if (t + " ~ i * threads ~ "u < " ~ count ~ "u) " if (i + 1) * threads > count else "" }}{
      let key = (t + {{ i * threads }}u) / {{ size // 8 }}u;
      let column = (t + {{ i * threads }}u) % {{ size // 8 }}u * 8u;
{% if x == "k" %}
      let in_block = key / {{ share }}u;
      let to = key % {{ share }}u * {{ pitch_k }}u + column;
{% else %}
      let in_block = column / {{ columns }}u;
      let to = key * {{ pitch_v }}u + column % {{ columns }}u;
{% endif %}
{{ store_f16("next_" ~ x ~ i, 4, name ~ "[in_block][to", 0) }}
    }
{% endfor %}
{% if x == "k" and q_dim > dim %}
{% set chunks = (q_dim - dim) // 8 %}
{% for i in range((tile * chunks + threads - 1) // threads) %}
    {{ "if (t + " ~ i * threads ~ "u < " ~ tile * chunks ~ "u) " if (i + 1) * threads > tile * chunks else "" }}{
      let key = (t + {{ i * threads }}u) / {{ chunks }}u;
      let to = key % {{ share }}u * {{ pitch_k }}u + {{ dim }}u + (t + {{ i * threads }}u) % {{ chunks }}u * 8u;
{% for j in range(8) %}
      {{ name }}[key / {{ share }}u][to + {{ j }}u] = 0.0h;
{% endfor %}
    }
{% endfor %}
{% endif %}
{% endmacro %}
{% macro four(name, i) -%}
vec4<f32>({{ name }}[{{ i }}], {{ name }}[{{ i }} + 1u], {{ name }}[{{ i }} + 2u], {{ name }}[{{ i }} + 3u])
{%- endmacro %}
{# Updates the row's reference maximum and old sums, given the highest score so far, `top`. #}
{% macro follow() %}
    var shrink = 1.0;
    if (begun && top > m + kGrowth) {
      shrink = exp(m - top);
      m = top;
      l *= shrink;
{% if threads_per_row == 1 %}
      atomicStore(&grown[0], 1u);
{% endif %}
    }
    if (!begun && top > p.hidden) {
      m = top;
      begun = true;
    }
    if (part == 0u) { shrinks[row] = shrink; }
{% endmacro %}
{# Stores slice c of the subgroup's sums of y to the workgroup memory of the scores. #}
{% macro store_sums(c) %}
{% for i in range(row_units) %}
{% for j in range(o_share // unit_n) %}
      subgroupMatrixStore<row_major>(&scores[at_m * {{ subgroups_n }}u + at_n], {{ i * unit_m * pitch_s + j * unit_n }}u, o{{ i }}_{{ c * o_share // unit_n + j }}, {{ pitch_s }}u);
{% endfor %}
{% endfor %}
{% endmacro %}
{# Rescales the sums of y through the workgroup memory of the scores, which are no longer needed. #}
{% macro rescale() %}
{% for c in range(o_dim // o_round) %}
{{ store_sums(c) }}
      workgroupBarrier();
      for (var i = 0u; i < {{ o_round // threads_per_row }}u; i++) { scores[own_scores][in_rows * {{ pitch_s }}u + part * {{ o_round // threads_per_row }}u % {{ o_share }}u + i] *= shrinks[row]; }
      workgroupBarrier();
{% for i in range(row_units) %}
{% for j in range(o_share // unit_n) %}
      o{{ i }}_{{ c * o_share // unit_n + j }} = subgroupMatrixLoad<{{ result_type }}, row_major>(&scores[at_m * {{ subgroups_n }}u + at_n], {{ i * unit_m * pitch_s + j * unit_n }}u, {{ pitch_s }}u);
{% endfor %}
{% endfor %}
      workgroupBarrier();
{% endfor %}
{% endmacro %}

@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) subgroup: u32) {
  let block = group_index(wg, groups);
  if (block >= p.blocks) { return; }
{{ place("block", block_rows ~ "u", "key_part", right) }}
{{ read_lengths(shared_lengths) }}
  let last_row = min(first_row + {{ block_rows }}u, p.rows) - 1u;
  let keys = {{ keys_of("last_row", "key_part", "tile") }};
{% if kv_splits %}
  let by_all = min(seen_by_all(first_row, last_row, lengths), vec2<u32>(0xffffffffu, keys.y));
{% else %}
  let by_all = seen_by_all(first_row, last_row, lengths);
{% endif %}
  let at_m = subgroup / {{ subgroups_n }}u % {{ subgroups_m }}u;
  let at_n = subgroup % {{ subgroups_n }}u;

  // This thread's row, which it shares with `threads_per_row` - 1 others.
  let row = t / {{ threads_per_row }}u;
  let part = t % {{ threads_per_row }}u;
  let in_rows = row % {{ sub_rows }}u;    // within its subgroups
  let own_scores = row / {{ sub_rows }}u * {{ subgroups_n }}u + part / {{ threads_per_row // subgroups_n }}u;
  let own_row = min(first_row + row, p.rows - 1u);
  let seen = seen_by_row(own_row, lengths);
  let count = {% if kv_splits %}max(min(seen.y, keys.y), seen.x){% else %}seen.y{% endif %} - seen.x;
  var m = lowest;
  var l = 0.0;                // of this thread's keys
  var begun = false;          // true once some key was seen
{% if mask == "rows" %}
  let mask_start = row_start(batch, kv_head, own_row, p.mask_b, p.mask_h, p.mask_i);
{% elif mask == "keys" %}
  let mask_start = row_start(batch, kv_head, first_row, p.mask_b, p.mask_h, 0u);
{% endif %}
  if (t == 0u) {
    atomicStore(&grown[0], 0u);
{% if selects %}
    atomicStore(&infinite[0], 0u);
{% endif %}
  }

{% for i in range(row_units) %}
{% for k in range(q_cols) %}
  var q{{ i }}_{{ k }}: {{ left_type }};
{% endfor %}
{% for j in range(o_cols) %}
  var o{{ i }}_{{ j }}: {{ result_type }};
{% endfor %}
{% endfor %}
  let q_start = row_start(batch, kv_head, own_row, p.q_b, p.q_h, p.q_i);
{% for c in range(q_dim // q_round) %}
{% for e in range(q_round // threads_per_row // 8) %}
  {
    let d = part * {{ q_round // threads_per_row }}u + {{ e * 8 }}u;
    let column = {{ c * q_round }}u + d;
{% if q_dim > dim %}
    var words = vec4<u32>();
    if (column < {{ dim }}u) { words = q_buf[(p.q_o * 8u + q_start + column) / 8u]; }
{% else %}
    let words = q_buf[(p.q_o * 8u + q_start + column) / 8u];
{% endif %}
    let to = in_rows * {{ pitch_w }}u + d;
{{ store_f16("words", 4, "weights[row / " ~ sub_rows ~ "u][to", 0) }}
  }
{% endfor %}
  workgroupBarrier();
{% for i in range(row_units) %}
{% for k in range(q_round // unit_k) %}
  q{{ i }}_{{ c * q_round // unit_k + k }} = subgroupMatrixLoad<{{ left_type }}, row_major>(&weights[at_m], {{ i * unit_m * pitch_w + k * unit_k }}u, {{ pitch_w }}u);
{% endfor %}
{% endfor %}
  workgroupBarrier();
{% endfor %}

{% if buffers > 0 %}
{% for i in range((tile * dim // 8 + threads - 1) // threads) %}
  var next_k{{ i }}: vec4<u32>;
{% endfor %}
{% for i in range((tile * value_dim // 8 + threads - 1) // threads) %}
  var next_v{{ i }}: vec4<u32>;
{% endfor %}
  if (keys.x < keys.y) {
{{ fetch("k", dim, "keys.x") }}
  }
{% if buffers == 2 %}
{{ stage("k") }}
  workgroupBarrier();
{% endif %}
{% endif %}
  for (var base = keys.x; base < keys.y; base += tile) {
{% if buffers == 1 %}
{{ stage("k") }}
    workgroupBarrier();
{% endif %}
{% if buffers > 0 %}
{{ fetch("v", value_dim, "base") }}
    if (base + tile > keys.y) {   // zeros past the last key: weight 0 times infinity would be NaN
{% for i in range((tile * value_dim // 8 + threads - 1) // threads) %}
      if (base + (t + {{ i * threads }}u) / {{ value_dim // 8 }}u >= keys.y) { next_v{{ i }} = vec4<u32>(); }
{% endfor %}
    }
{% endif %}
{% if buffers == 2 %}
    if (base + tile < keys.y) {
{{ fetch("k", dim, "base + tile") }}
    }
{% endif %}
{% if mask == "keys" %}
    for (var i = t; i < tile; i += threads) { mask_tile[i] = mask_at(mask_start + min(base + i, last_key(lengths)) * p.mask_k); }
{% endif %}
    {
{% for i in range(row_units) %}
{% for j in range(key_units) %}
      var s{{ i }}_{{ j }} = {{ result_type }}();    // a declaration alone does not clear it in a loop
{% endfor %}
{% endfor %}
{% for k in range(q_cols) %}
{% for j in range(key_units) %}
      {
{% if buffers == 0 %}
        let key = at_n * {{ share }}u + {{ j * unit_n }}u;
        let right = subgroupMatrixLoad<{{ right_type }}, col_major>(&k_buf, p.k_o + k_start + (base + key) * p.k_i + {{ k * unit_k }}u, p.k_i);
{% else %}
        let right = subgroupMatrixLoad<{{ right_type }}, col_major>(&keys_tile[at_n], {{ j * unit_n * pitch_k + k * unit_k }}u, {{ pitch_k }}u);
{% endif %}
{% for i in range(row_units) %}
        s{{ i }}_{{ j }} = subgroupMatrixMultiplyAccumulate(q{{ i }}_{{ k }}, right, s{{ i }}_{{ j }});
{% endfor %}
      }
{% endfor %}
{% endfor %}
{% for i in range(row_units) %}
{% for j in range(key_units) %}
      subgroupMatrixStore<row_major>(&scores[at_m * {{ subgroups_n }}u + at_n], {{ i * unit_m * pitch_s + j * unit_n }}u, s{{ i }}_{{ j }}, {{ pitch_s }}u);
{% endfor %}
{% endfor %}
    }
    workgroupBarrier();

    // The thread's scores.
    let own_key = part * {{ own }}u;
{% for j in range(own // 4) %}
    var s{{ j }} = {{ four("scores[own_scores]", "in_rows * " ~ pitch_s ~ "u + own_key % " ~ share ~ "u + " ~ 4 * j ~ "u") }} * p.scale;
{% if mask == "keys" %}
    s{{ j }} = masked4(s{{ j }}, {{ four("mask_tile", "own_key + " ~ 4 * j ~ "u") }});
{% endif %}
{% endfor %}
{% if mask == "rows" %}
{% for j in range(own) %}
    s{{ j // 4 }}[{{ j % 4 }}] = masked(s{{ j // 4 }}[{{ j % 4 }}], mask_at(mask_start + min(base + own_key + {{ j }}u, last_key(lengths)) * p.mask_k));
{% endfor %}
{% endif %}
    if ({{ beyond }}) {    // some rows do not see the whole tile
{% for j in range(own // 4) %}
      {
        let key = vec4<u32>(base + own_key) + vec4<u32>({{ 4 * j }}u, {{ 4 * j + 1 }}u, {{ 4 * j + 2 }}u, {{ 4 * j + 3 }}u);
        s{{ j }} = select(vec4<f32>(p.hidden), s{{ j }}, key - vec4<u32>(seen.x) < vec4<u32>(count));
      }
{% endfor %}
    }
    let tops4 = {% for j in range(own // 4 - 1) %}max({% endfor %}s0{% for j in range(own // 4 - 1) %}, s{{ j + 1 }}){% endfor %};
    var top = max(max(tops4.x, tops4.y), max(tops4.z, tops4.w));
{% if threads_per_row > 1 %}
    tops[t] = top;
    if (top > select(p.hidden, m + kGrowth, begun)) { atomicStore(&grown[0], 1u); }
    if (workgroupUniformLoad(&grown[0]) != 0u) {
      top = {% for i in range(threads_per_row - 1) %}max({% endfor %}tops[row * {{ threads_per_row }}u]{% for i in range(threads_per_row - 1) %}, tops[row * {{ threads_per_row }}u + {{ i + 1 }}u]){% endfor %};
{{ follow() }}
      if (base > keys.x) {
{{ rescale() }}
      }
      if (t == 0u) { atomicStore(&grown[0], 0u); }
    }
{% else %}
{{ follow() }}
{% endif %}
{% for j in range(own // 4) %}
    s{{ j }} = exp(s{{ j }} - m);
    let w{{ j }} = vec4<f16>(s{{ j }});
{% endfor %}
    let sum4 = s0{% for j in range(own // 4 - 1) %} + s{{ j + 1 }}{% endfor %};
    l += (sum4.x + sum4.y) + (sum4.z + sum4.w);
{% for j in range(own) %}
    weights[row / {{ sub_rows }}u][in_rows * {{ pitch_w }}u + own_key + {{ j }}u] = w{{ j // 4 }}[{{ j % 4 }}];
{% endfor %}
{% if selects %}
    if ({{ partly_seen }}) {
{% for i in range((tile * value_dim // 8 + threads - 1) // threads) %}
      if (some_infinite_halves(next_v{{ i }})) {
        next_v{{ i }} = finite_halves(next_v{{ i }});
        atomicStore(&infinite[0], 1u);
      }
{% endfor %}
    }
{% endif %}
{% if buffers > 0 %}
{{ stage("v") }}
{% endif %}
{% if buffers == 2 %}
    if (base + tile < keys.y) {
{{ stage("k") }}
    }
{% endif %}
{% if threads_per_row > 1 %}
    workgroupBarrier();
{% else %}
    if (workgroupUniformLoad(&grown[0]) != 0u) {
{{ rescale() }}
      if (t == 0u) { atomicStore(&grown[0], 0u); }
    }
{% endif %}
{% if buffers == 1 %}
    if (base + tile < keys.y) {
{{ fetch("k", dim, "base + tile") }}
    }
{% endif %}
{% for k in range(tile // unit_k) %}
    {
{% for i in range(row_units) %}
      let left{{ i }} = subgroupMatrixLoad<{{ left_type }}, row_major>(&weights[at_m], {{ i * unit_m * pitch_w + k * unit_k }}u, {{ pitch_w }}u);
{% endfor %}
{% for j in range(o_cols) %}
      {
{% if buffers == 0 %}
        let column = at_n * {{ columns }}u + {{ j * unit_n }}u;
        let right = subgroupMatrixLoad<{{ right_type }}, row_major>(&v_buf, p.v_o + v_start + (base + {{ k * unit_k }}u) * p.v_i + column, p.v_i);
{% else %}
        let right = subgroupMatrixLoad<{{ right_type }}, row_major>(&{{ v_tile }}[at_n], {{ k * unit_k * pitch_v + j * unit_n }}u, {{ pitch_v }}u);
{% endif %}
{% for i in range(row_units) %}
        o{{ i }}_{{ j }} = subgroupMatrixMultiplyAccumulate(left{{ i }}, right, o{{ i }}_{{ j }});
{% endfor %}
      }
{% endfor %}
    }
{% endfor %}
{% if buffers == 1 %}
    workgroupBarrier();
{% endif %}
  }

  workgroupBarrier();
{% if threads_per_row > 1 %}
  tops[t] = l;
  workgroupBarrier();
  l = {% for i in range(threads_per_row) %}{{ " + " if i else "" }}tops[row * {{ threads_per_row }}u + {{ i }}u]{% endfor %};
  workgroupBarrier();
{% endif %}
{% if kv_splits %}
  let to = partial_at(batch, kv_head, own_row, key_part);
  if (part == 0u && first_row + row < p.rows) { partial_buf[to + {{ v4_all }}u] = vec4<f32>(m, l, 0.0, 0.0); }
{% else %}
  let f = select(1.0 / l, p.empty, l == 0.0);    // no key seen: zeros or NaN
{% if log_sums %}
  if (part == 0u && first_row + row < p.rows) { store_log_sum(batch, kv_head, own_row, m, l); }
{% endif %}
  let y = row_start(batch, kv_head, own_row, p.y_b, p.y_h, p.y_i);
{% endif %}
{% if selects %}
  let some_are_infinite = atomicLoad(&infinite[0]) != 0u;
{% endif %}
{% for c in range(o_dim // o_round) %}
{{ store_sums(c) }}
  workgroupBarrier();
  if (first_row + row < p.rows) {
{% if selects %}
    if (some_are_infinite) {
      for (var key = keys.x; key < keys.y; key++) {
        if (key - seen.x < count{{ " && !hides(mask_at(mask_start + key * p.mask_k))" if mask != "none" }}) {
          for (var i = 0u; i < {{ o_round // threads_per_row }}u; i++) {
            let x = part * {{ o_round // threads_per_row }}u + i;
            let column = x / {{ o_share }}u * {{ columns }}u + {{ c * o_share }}u + x % {{ o_share }}u;
            if (column < {{ value_dim }}u) {
              let half = v_buf[(p.v_o * 8u + v_start + key * p.v_i + column) / 8u][column % 8u / 2u] >> (column % 2u * 16u);
              if ((half & 0x7c00u) == 0x7c00u) { scores[own_scores][in_rows * {{ pitch_s }}u + x % {{ o_share }}u] += unpack2x16float(half).x; }
            }
          }
        }
      }
    }
{% endif %}
{% for e in range(o_round // threads_per_row // 4) %}
    {
      let x = part * {{ o_round // threads_per_row }}u + {{ e * 4 }}u;
      let start = in_rows * {{ pitch_s }}u + x % {{ o_share }}u;
      let column = x / {{ o_share }}u * {{ columns }}u + {{ c * o_share }}u + x % {{ o_share }}u;
      let sum = {{ four("scores[own_scores]", "start") }};
{% set guard = "if (column < " ~ value_dim ~ "u) " if o_dim > value_dim else "" %}
{% if kv_splits %}
      {{ guard }}{ partial_buf[to + column / 4u] = sum; }
{% else %}
      {{ guard }}{ store4_y(y + column, sum * f); }
{% endif %}
    }
{% endfor %}
  }
  workgroupBarrier();
{% endfor %}
}
