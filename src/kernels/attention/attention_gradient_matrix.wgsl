{#
  The gradient of attention on cooperative-matrix units. A workgroup computes a block of its own items, a pass each:
    queries   own queries over tiles of keys: dq
    keys      own keys over tiles of queries: dk and dv
  Its subgroups are {{ pairs }} pairs, of {{ sub_rows }} own items each. Of a pair, subgroup 0 has what belongs to q and k,
  subgroup 1 what belongs to v and g: own items a (0: q or k, 1: g or v) stay in matrices, and the other ones are the
  same for all pairs, in workgroup memory. For a tile, 0 computes the scores and 1 the weights' cotangents; both go
  through workgroup memory, because nothing else gives access to single elements, and return as f16: the weights, and
  the scores' cotangents but for p.scale. Then of keys 0 adds to dk and 1 to dv; of queries each adds to half of dq's
  columns.

  stores_slopes: the pass of keys also stores the scores' cotangents but for p.scale, f16 [heads of keys, keys, rows], in
  the buffer of the stats: a matrix product then makes dq of them. It visits all queries (not `bounded`), whose number
  is a multiple of 8.

  columns: head sizes padded to whole matrices; what is loaded is 0 past dim and value_dim, and not stored there.
  What each row's stats are attention_gradient_stats.wgsl says. Every variable in workgroup memory is a multiple of 16
  bytes long (attention_subgroup_matrix.wgsl says why).

  options:
    pairs: number
    sub_rows: number
    tile: number
    pitch_w: number
    stores_slopes: flag
    columns: number
    unit_m: number
    unit_n: number
    unit_k: number
    pass: queries, keys
    bounded: flag
#}
{% set keys_own = pass == "keys" %}
{% set hides = bounded or mask != "none" %}
{# NaN and infinities of a key must not meet the rows that do not see it: it has zeros in their places, and rows that do see
   it become NaN at the end #}
{% set marks = not keys_own and selects %}
{% set block = pairs * sub_rows %}
{% set threads_per_row = threads // block %}
{% set own = tile // threads_per_row %}
{# others of a tile that a thread has of its row #}
{% set halves = 1 if keys_own else 2 %}
{# of the others' columns, each in an array of its own: the offsets of matrices in it are constants, without which
   NVIDIA's compiler loads the elements of a matrix one by one #}
{% set half_columns = columns // halves %}
{% set pitch = half_columns + 8 %}
{% set pitch_s = tile + 4 %}
{% set weight_sides = 2 if keys_own else 1 %}
{# what goes back to the matrices: ds, and of keys the weights #}
{% set row_units = sub_rows // unit_m %}
{% set tile_units = tile // unit_n %}
{% set depth = columns // unit_k %}
{% set sum_columns = columns if keys_own else columns // 2 %}
{# columns of a gradient that a subgroup sums #}
{% set sum_units = sum_columns // unit_n %}
{% if keys_own %}
{% set names = ["k", "v", "q", "g"] %}
{% set results = ["dk", "dv"] %}
{% else %}
{% set names = ["q", "g", "k", "v"] %}
{% set results = ["dq", "dq"] %}
{% endif %}
{# own items of both subgroups, the others, and what each subgroup sums #}
{% set left_type = "subgroup_matrix_left<f16, " ~ unit_k ~ ", " ~ unit_m ~ ">" %}
{% set right_type = "subgroup_matrix_right<f16, " ~ unit_n ~ ", " ~ unit_k ~ ">" %}
{% set result_type = "subgroup_matrix_result<f32, " ~ unit_n ~ ", " ~ unit_m ~ ">" %}
const threads = {{ threads }}u;
const block = {{ block }}u;
const tile = {{ tile }}u;

var<workgroup> others_tile: array<array<f16, {{ tile * pitch }}>, {{ 4 * halves }}>;    // of both subgroups, in two buffers
var<workgroup> scores: array<array<f32, {{ sub_rows * pitch_s }}>, {{ pairs * 2 }}>;
var<workgroup> weights: array<array<f16, {{ sub_rows * pitch_w }}>, {{ pairs * weight_sides }}>;
{% if keys_own %}
// Of the tile's queries, in two buffers.
var<workgroup> log_sums_tile: array<array<f32, {{ tile }}>, 2>;
var<workgroup> delta_tile: array<array<f32, {{ tile }}>, 2>;
{% if bounded %}
var<workgroup> first_tile: array<array<u32, {{ tile }}>, 2>;
var<workgroup> count_tile: array<array<u32, {{ tile }}>, 2>;
{% endif %}
{% endif %}
{% if bounded %}
var<workgroup> range: array<atomic<u32>, 4>;    // of the others that matter to any own item; only two are used
{% endif %}
{% if keys_own and hides %}
var<workgroup> blind: array<atomic<u32>, 4>;    // [0]: set if some query sees no key
{% endif %}

{% macro four(type, name, i) -%}
vec4<{{ type }}>({{ name }}[{{ i }}], {{ name }}[{{ i }} + 1u], {{ name }}[{{ i }} + 2u], {{ name }}[{{ i }} + 3u])
{%- endmacro %}
{# Loads what the pass of keys needs of each of the others that fetch() loads next. Every thread does, always: a register
   that may also keep its old value would be copied, and so waited for, right away. #}
{% macro fetch_stats() %}
      next_stats = stats_buf[p.stats_o + (batch * p.kv_heads * p.group + next_head) * p.queries + min(next_other + t % tile, others.y - 1u)];
{% endmacro %}
{# Loads the others from `next_other` on into registers. Nothing here may wait for what is loaded: it is used at the next
   stage(), after products. #}
{% macro fetch() %}
      fetched = next_other;
{% if keys_own %}
      fetched_stats = p.stats_o + (batch * p.kv_heads * p.group + next_head) * p.queries;
{% endif %}
{% for x in [names[2], names[3]] %}
{% set size = dim if x == "q" or x == "k" else value_dim %}
{% for i in range((tile * size // 8 + threads - 1) // threads) %}
      {
        let read = min(next_other + (t + {{ i * threads }}u) / {{ size // 8 }}u, others.y - 1u);
        next_{{ x }}{{ i }} = {{ x }}_buf[(p.{{ x }}_o * 8u + batch * p.{{ x }}_b + {{ "next_head" if keys_own else "kv_head" }} * p.{{ x }}_h + read * p.{{ x }}_i) / 8u + (t + {{ i * threads }}u) % {{ size // 8 }}u];
      }
{% endfor %}
{% endfor %}
      next_other += tile;
{% if keys_own %}
      if (next_other >= others.y) {
        next_other = others.x;
        next_head++;
      }
{% endif %}
{% endmacro %}
{# Stores these to workgroup memory, zeros past the last one. What sees no key is not used, whatever it is. #}
{% macro stage(buffer) %}
{% set all = [names[2], names[3]] %}
      if (fetched + tile > others.y) {
{% for x in all %}
{% set size = dim if x == "q" or x == "k" else value_dim %}
{% for i in range((tile * size // 8 + threads - 1) // threads) %}
        if (fetched + (t + {{ i * threads }}u) / {{ size // 8 }}u >= others.y) { next_{{ x }}{{ i }} = vec4<u32>(); }
{% endfor %}
{% endfor %}
{% if keys_own %}
        if (fetched + t >= others.y) { next_stats = vec4<u32>(bitcast<u32>(-p.hidden), 0u, 0u, 0u); }
{% endif %}
      }
{% if keys_own and hides %}
      if (some_blind) {
{% for x in all %}
{% set size = dim if x == "q" or x == "k" else value_dim %}
{% for i in range((tile * size // 8 + threads - 1) // threads) %}
        {
          let seen = stats_buf[fetched_stats + min(fetched + (t + {{ i * threads }}u) / {{ size // 8 }}u, others.y - 1u)].zw;
          if (seen.y <= seen.x) { next_{{ x }}{{ i }} = vec4<u32>(); }
        }
{% endfor %}
{% endfor %}
      }
{% endif %}
{% if marks %}
{% for i in range((tile * dim // 8 + threads - 1) // threads) %}
      if (some_infinite_halves(next_k{{ i }})) {
        atomicStore(&infinite[0], 1u);
        next_k{{ i }} = finite_halves(next_k{{ i }});
      }
{% endfor %}
{% endif %}
{% for x in all %}
{% set size = dim if x == "q" or x == "k" else value_dim %}
{% set count = tile * size // 8 %}
{% for i in range((count + threads - 1) // threads) %}
      {{ "if (t + " ~ i * threads ~ "u < " ~ count ~ "u) " if (i + 1) * threads > count else "" }}{
        let chunk = (t + {{ i * threads }}u) % {{ size // 8 }}u;
        let to = (t + {{ i * threads }}u) / {{ size // 8 }}u * {{ pitch }}u + chunk{{ " % " ~ half_columns // 8 ~ "u" if halves > 1 }} * 8u;
{{ store_f16("next_" ~ x ~ i, 4, "others_tile[((" ~ buffer ~ ") * 2u + " ~ (0 if x == names[2] else 1) ~ "u)" ~ (" * 2u + chunk / " ~ half_columns // 8 ~ "u" if halves > 1 else "") ~ "][to", 0) }}
      }
{% endfor %}
{% endfor %}
{% if keys_own %}
      if (t < tile) {
        log_sums_tile[{{ buffer }}][t] = bitcast<f32>(next_stats.x);
        delta_tile[{{ buffer }}][t] = bitcast<f32>(next_stats.y);
{% if bounded %}
        first_tile[{{ buffer }}][t] = next_stats.z;
        count_tile[{{ buffer }}][t] = next_stats.w - next_stats.z;
{% endif %}
      }
{% endif %}
{% endmacro %}

{# The scores and the weights' cotangents of the tile in buffer `next`, to workgroup memory; and, unless `current` is "",
   what the tile in that buffer adds to the sums: in turns, because they do not depend on each other. #}
{% macro products(current, next) %}
    {
{% for i in range(row_units) %}
{% for j in range(tile_units) %}
      var s{{ i }}_{{ j }} = {{ result_type }}();    // a declaration alone does not clear it in a loop
{% endfor %}
{% if current %}
{% for k in range(tile // unit_k) %}
      let left{{ i }}_{{ k }} = subgroupMatrixLoad<{{ left_type }}, row_major>(&weights[{{ "own_matrix" if keys_own else "pair" }}], {{ i * unit_m * pitch_w + k * unit_k }}u, {{ pitch_w }}u);
{% endfor %}
{% endif %}
{% endfor %}
{% for k in range(depth) %}
{% for j in range(tile_units) %}
      {
        let right = subgroupMatrixLoad<{{ right_type }}, col_major>(&others_tile[(({{ next }}) * 2u + side){{ " * 2u + " ~ k * unit_k // half_columns ~ "u" if halves > 1 }}], {{ j * unit_n * pitch + k * unit_k % half_columns }}u, {{ pitch }}u);
{% for i in range(row_units) %}
        s{{ i }}_{{ j }} = subgroupMatrixMultiplyAccumulate(a{{ i }}_{{ k }}, right, s{{ i }}_{{ j }});
{% endfor %}
      }
{% endfor %}
{% if current %}
{% set steps = tile // unit_k * sum_units %}
{% for step in range(k * steps // depth, (k + 1) * steps // depth) %}
{% set at_k = step // sum_units %}
{% set j = step % sum_units %}
      {
{% if keys_own %}
        let right = subgroupMatrixLoad<{{ right_type }}, row_major>(&others_tile[{{ current }} * 2u + side], {{ at_k * unit_k * pitch + j * unit_n }}u, {{ pitch }}u);
{% else %}
        let right = subgroupMatrixLoad<{{ right_type }}, row_major>(&others_tile[{{ current }} * 4u + side], {{ at_k * unit_k * pitch + j * unit_n }}u, {{ pitch }}u);
{% endif %}
{% for i in range(row_units) %}
        sum{{ i }}_{{ j }} = subgroupMatrixMultiplyAccumulate(left{{ i }}_{{ at_k }}, right, sum{{ i }}_{{ j }});
{% endfor %}
      }
{% endfor %}
{% endif %}
{% endfor %}
{% for i in range(row_units) %}
{% for j in range(tile_units) %}
      subgroupMatrixStore<row_major>(&scores[own_matrix], {{ i * unit_m * pitch_s + j * unit_n }}u, s{{ i }}_{{ j }}, {{ pitch_s }}u);
{% endfor %}
{% endfor %}
    }
{% endmacro %}

{# A branch by side is uniform in each subgroup. #}
@diagnostic(off, chromium.subgroup_matrix_uniformity)
@compute @workgroup_size(threads)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) subgroup: u32) {
  let at = group_index(wg, grid);
  if (at >= p.blocks) { return; }
{% if keys_own %}
  let first_own = at % p.own_blocks * block;
{% else %}
  let first_own = (p.own_blocks - 1u - at % p.own_blocks) * block;    // causal: those that see the most keys first
{% endif %}
  let head_of_keys = at / p.own_blocks;    // counted through the batch
  let batch = head_of_keys / p.kv_heads;
  let kv_head = head_of_keys % p.kv_heads;
  let pair = subgroup / 2u % {{ pairs }}u;
  let side = subgroup % 2u;
  let own_matrix = pair * 2u + side;

  // This thread's own item, which it shares with {{ threads_per_row - 1 }} others.
  let row = t / {{ threads_per_row }}u;
  let part = t % {{ threads_per_row }}u;
  let in_rows = row % {{ sub_rows }}u;    // within its pair
  let row_matrix = row / {{ sub_rows }}u * 2u;
  let row_weights = row / {{ sub_rows }}u * {{ weight_sides }}u;
{% if keys_own %}
  let own_item = min(first_own + row, p.keys - 1u);
{% for x in ["k", "v"] %}
  let {{ x }}_start = batch * p.{{ x }}_b + kv_head * p.{{ x }}_h + own_item * p.{{ x }}_i;
{% endfor %}
{% else %}
  let own_item = min(first_own + row, p.rows - 1u);
  let stats = stats_buf[p.stats_o + head_of_keys * p.rows + own_item];
  let log_sum = bitcast<f32>(stats.x);
  let delta = bitcast<f32>(stats.y);
{% for x in ["q", "g"] %}
  let {{ x }}_start = row_start(batch, kv_head, own_item, p.{{ x }}_b, p.{{ x }}_h, p.{{ x }}_i);
{% endfor %}
{% if mask != "none" %}
  let mask_start = row_start(batch, kv_head, own_item, p.mask_b, p.mask_h, p.mask_i);
{% endif %}
{% endif %}
{% if marks %}
  if (t == 0u) { atomicStore(&infinite[0], 0u); }
{% endif %}
{% set looks = bounded or keys_own and hides %}
{% if looks %}
  if (t == 0u) {
{% if bounded %}
    atomicStore(&range[0], 0xffffffffu);
    atomicStore(&range[1], 0u);
{% endif %}
{% if keys_own %}
    atomicStore(&blind[0], 0u);
{% endif %}
  }
  workgroupBarrier();
{% if keys_own %}
  {
    var all = vec2<u32>(0xffffffffu, 0u);
    var any_blind = false;
    for (var i = t; i < p.rows; i += threads) {
      let seen = stats_buf[p.stats_o + head_of_keys * p.rows + i].zw;
      any_blind |= seen.y <= seen.x;
      if (seen.y > max(seen.x, first_own) && seen.x < first_own + block) {
        all = vec2<u32>(min(all.x, i % p.queries), max(all.y, i % p.queries + 1u));
      }
    }
    if (any_blind) { atomicStore(&blind[0], 1u); }
{% if bounded %}
    if (all.y > 0u) {
      atomicMin(&range[0], all.x);
      atomicMax(&range[1], all.y);
    }
{% endif %}
  }
{% else %}
  if (stats.w > stats.z) {
    atomicMin(&range[0], stats.z);
    atomicMax(&range[1], stats.w);
  }
{% endif %}
  workgroupBarrier();
{% if keys_own %}
  let some_blind = workgroupUniformLoad(&blind[0]) != 0u;
{% endif %}
{% endif %}
{% if bounded %}
  let last_other = workgroupUniformLoad(&range[1]);
  let others = vec2<u32>(min(workgroupUniformLoad(&range[0]), last_other), last_other);
{% else %}
  let others = vec2<u32>(0u, {{ "p.queries" if keys_own else "p.keys" }});
{% endif %}
{% if keys_own %}
  let tiles_of_head = (others.y - others.x + tile - 1u) / tile;
  let tiles = tiles_of_head * p.group;
{% if stores_slopes %}
  let own_slopes = p.slopes_o + (head_of_keys * p.keys + first_own + row) * (p.rows / 8u);    // in units of eight
  let stores = first_own + row < p.keys;
{% endif %}
{% else %}
  let tiles = (others.y - others.x + tile - 1u) / tile;
{% endif %}

{# Own items, through the workgroup memory of the weights: those of one side after those of the other. #}
{% for i in range(row_units) %}
{% for k in range(depth) %}
  var a{{ i }}_{{ k }}: {{ left_type }};
{% endfor %}
{% for j in range(sum_units) %}
  var sum{{ i }}_{{ j }}: {{ result_type }};
{% endfor %}
{% endfor %}
{% for c in range(columns // tile) %}
{% for of_side in [0, 1] %}
{% set x = names[of_side] %}
{% set size = dim if x == "q" or x == "k" else value_dim %}
{% for e in range(own // 8) %}
  {
    let d = part * {{ own }}u + {{ e * 8 }}u;
    var words = vec4<u32>();
    if ({{ c * tile }}u + d < {{ size }}u) { words = {{ x }}_buf[(p.{{ x }}_o * 8u + {{ x }}_start + {{ c * tile }}u + d) / 8u]; }
    let to = in_rows * {{ pitch_w }}u + d;
{{ store_f16("words", 4, "weights[row_weights][to", 0) }}
  }
{% endfor %}
  workgroupBarrier();
  if (side == {{ of_side }}u) {
{% for i in range(row_units) %}
{% for k in range(tile // unit_k) %}
    a{{ i }}_{{ c * tile // unit_k + k }} = subgroupMatrixLoad<{{ left_type }}, row_major>(&weights[pair * {{ weight_sides }}u], {{ i * unit_m * pitch_w + k * unit_k }}u, {{ pitch_w }}u);
{% endfor %}
{% endfor %}
  }
  workgroupBarrier();
{% endfor %}
{% endfor %}

{# What is past dim and value_dim stays 0 in both buffers. #}
{% for side in [0, 1] %}
{% set size = dim if side == 0 else value_dim %}
{% if columns > size %}
  for (var i = t; i < {{ 2 * tile * (columns - size) }}u; i += threads) {
    let in_tile = i % {{ tile * (columns - size) }}u;
    let column = {{ size }}u + in_tile % {{ columns - size }}u;
    others_tile[(i / {{ tile * (columns - size) }}u * 2u + {{ side }}u){{ " * 2u + column / " ~ half_columns ~ "u" if halves > 1 }}][in_tile / {{ columns - size }}u * {{ pitch }}u + column{{ " % " ~ half_columns ~ "u" if halves > 1 }}] = 0.0h;
  }
{% endif %}
{% endfor %}
{% for x in [names[2], names[3]] %}
{% set size = dim if x == "q" or x == "k" else value_dim %}
{% for i in range((tile * size // 8 + threads - 1) // threads) %}
  var next_{{ x }}{{ i }}: vec4<u32>;
{% endfor %}
{% endfor %}
  var next_other = others.x;
  var fetched = 0u;    // the first of those in registers
{% if keys_own %}
  var next_stats: vec4<u32>;
  var fetched_stats = 0u;
  var next_head = kv_head * p.group;
{% endif %}
{% if keys_own and (mask != "none" or stores_slopes) %}
  // Where the loop is: a tile of a head of the group.
  var head = 0u;
  var in_head = 0u;
{% endif %}
  if (tiles > 0u) {
{{ fetch_stats() if keys_own }}
{{ fetch() }}
{{ stage("0u") }}
    workgroupBarrier();
{{ fetch_stats() if keys_own }}
    if (tiles > 1u) {
{{ fetch() }}
    }
{{ products("", "0u") }}
    workgroupBarrier();
  }
  // Between two barriers the matrix units have this tile's sums and the next one's scores; after the last tile those of
  // whatever is there, which nothing reads.
  for (var n = 0u; n < tiles; n++) {
    let buffer = n % 2u;
{% if mask != "none" or stores_slopes or not keys_own %}
    let base = others.x + {{ "in_head" if keys_own else "n" }} * tile + part * {{ own }}u;    // this thread's first other
{% endif %}
{% if keys_own and mask != "none" %}
    let mask_start = batch * p.mask_b + (kv_head * p.group + head) * p.mask_h + own_item * p.mask_k;
{% endif %}
{% if stores_slopes %}
    var first_slopes: vec2<u32>;    // the first four of eight
{% endif %}
{% for j in range(own // 4) %}
    {
      let start = in_rows * {{ pitch_s }}u + part * {{ own }}u + {{ 4 * j }}u;
{% if keys_own %}
      let at_other = part * {{ own }}u + {{ 4 * j }}u;
      let log_sum = {{ four("f32", "log_sums_tile[buffer]", "at_other") }};
      let delta = {{ four("f32", "delta_tile[buffer]", "at_other") }};
{% endif %}
      var s = {{ four("f32", "scores[row_matrix]", "start") }} * p.scale;
      let dw = {{ four("f32", "scores[row_matrix + 1u]", "start") }};
{% if mask != "none" %}
{% for e in range(4) %}
      s[{{ e }}] = masked(s[{{ e }}], mask_at(mask_start + min(base + {{ 4 * j + e }}u, others.y - 1u) * p.{{ "mask_i" if keys_own else "mask_k" }}));
{% endfor %}
{% endif %}
      var w = exp(s - log_sum);
{% if keys_own and bounded %}
      w = select(vec4<f32>(), w, vec4<u32>(own_item) - {{ four("u32", "first_tile[buffer]", "at_other") }} < {{ four("u32", "count_tile[buffer]", "at_other") }});
{% elif not keys_own %}
      let key = vec4<u32>(base) + vec4<u32>({{ 4 * j }}u, {{ 4 * j + 1 }}u, {{ 4 * j + 2 }}u, {{ 4 * j + 3 }}u);
{% if bounded %}
      w = select(vec4<f32>(), w, key - vec4<u32>(stats.z) < vec4<u32>(stats.w - stats.z));
{% else %}
      if (n + 1u == tiles) { w = select(vec4<f32>(), w, key < vec4<u32>(p.keys)); }
{% endif %}
{% endif %}
{% if hides %}
      let ds = vec4<f16>(select(w * (dw - delta), vec4<f32>(), w == vec4<f32>()));
{% else %}
      let ds = vec4<f16>(w * (dw - delta));
{% endif %}
      let to = in_rows * {{ pitch_w }}u + part * {{ own }}u + {{ 4 * j }}u;
      {
        let words = bitcast<vec2<u32>>(ds);
{{ store_f16("words", 2, "weights[row_weights][to", 0) }}
{% if stores_slopes %}
{% if j % 2 == 0 %}
        first_slopes = words;
{% else %}
        let query = base + {{ 4 * (j - 1) }}u;
        if (stores && query < p.queries) { stats_buf[own_slopes + (head * p.queries + query) / 8u] = vec4<u32>(first_slopes, words); }
{% endif %}
{% endif %}
      }
{% if keys_own %}
      {
        let words = bitcast<vec2<u32>>(vec4<f16>(w));
{{ store_f16("words", 2, "weights[row_weights + 1u][to", 0) }}
      }
{% endif %}
    }
{% endfor %}
    if (n + 1u < tiles) {
{{ stage("(n + 1u) % 2u") }}
    }
    workgroupBarrier();
{{ fetch_stats() if keys_own }}
    if (n + 2u < tiles) {
{{ fetch() }}
    }
{{ products("buffer", "(n + 1u) % 2u") }}
    workgroupBarrier();
{% if keys_own and (mask != "none" or stores_slopes) %}
    in_head++;
    if (in_head == tiles_of_head) {
      in_head = 0u;
      head++;
    }
{% endif %}
  }

  // Results, through the workgroup memory of the scores.
  let is_there = first_own + row < {{ "p.keys" if keys_own else "p.rows" }};
{% if keys_own %}
  let dk = batch * p.dk_b + kv_head * p.dk_h + own_item * p.dk_i;
  let dv = batch * p.dv_b + kv_head * p.dv_h + own_item * p.dv_i;
{% else %}
  let dq = row_start(batch, kv_head, own_item, p.dq_b, p.dq_h, p.dq_i);
{% if marks %}
  var factor = p.scale;
  if (atomicLoad(&infinite[0]) != 0u) {
    for (var key = stats.z; key < stats.w; key++) {
{% if mask != "none" %}
      if (hides(mask_at(mask_start + key * p.mask_k))) { continue; }
{% endif %}
      for (var d = 0u; d < {{ dim }}u; d += 8u) {
        if (some_infinite_halves(k_buf[(p.k_o * 8u + batch * p.k_b + kv_head * p.k_h + key * p.k_i + d) / 8u])) { factor = p.hidden - p.hidden; }    // NaN
      }
    }
  }
{% endif %}
{% endif %}
{% for c in range(sum_columns // tile) %}
  workgroupBarrier();
{% for i in range(row_units) %}
{% for j in range(tile_units) %}
  subgroupMatrixStore<row_major>(&scores[own_matrix], {{ i * unit_m * pitch_s + j * unit_n }}u, sum{{ i }}_{{ c * tile_units + j }}, {{ pitch_s }}u);
{% endfor %}
{% endfor %}
  workgroupBarrier();
  if (is_there) {
{% for side in [0, 1] %}
{% set x = results[side] %}
{% set size = value_dim if x == "dv" else dim %}
{% set first = side * sum_columns if x == "dq" else 0 %}
{% for e in range(own // 4) %}
    {
      let column = {{ first + c * tile + e * 4 }}u + part * {{ own }}u;
      let start = in_rows * {{ pitch_s }}u + part * {{ own }}u + {{ e * 4 }}u;
      {{ "if (column < " ~ size ~ "u) " if columns > size }}{ store4_{{ x }}({{ x }} + column, {{ four("f32", "scores[row_matrix + " ~ side ~ "u]", "start") }}{{ (" * factor" if marks else " * p.scale") if x != "dv" }}); }
    }
{% endfor %}
{% endfor %}
  }
{% endfor %}
}
