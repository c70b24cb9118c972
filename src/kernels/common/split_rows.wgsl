{#
  Split rows: the WGSL half of common/split_rows.h. A kernel declares tile_of(…); its entry point begins with
  split_head(). If the dispatch `gathers`, it publishes the split's partial statistics by publish_partials(); if it
  `finishes`, it loads those of all splits (`in_order`: of the splits before its own), and stores results between
  split_joined() and split_end(), where only kernels that are in_order may use barriers. What is done with a tile goes
  between tiles_begin() and tiles_end(), since a split may have several (`multi_tile`). Dispatches that do both look
  back (`look_back`); they declare before the entry point, by finish_function(), how tiles of the fallback are
  finished. A block is the tiles of the same rows; the last of its workgroups to arrive does the fallback and resets
  the block's flags.

  options:
    words: 1…6
    runs: flag
    balanced: flag
    multi_tile: flag
    look_back: flag
    gathers: flag
    finishes: flag
    late: flag
    exact: flag
    pairs: flag
    known_splits: 0, number
    in_order: flag
    packed_partials: flag
    pairs_of_x: flag
#}
{% set block = workgroup // threads_per_row * rows_per_thread %}
{% set words_per_partial = 2 if pairs else 1 %}
{# `known_splits`: the number of a row's splits as a constant, for kernels that look back, so that quotients are by a
   constant. #}
{% set splits = known_splits ~ "u" if known_splits else "p.splits" %}
{% set all_splits = known_splits ~ "u" if known_splits else "p.all_splits" %}
// The index of a word of split q of the tile's rows; slot: the row's place in the tile. Splits are counted over all
// chunks of a row.
fn partial_at(tile: u32, q: u32, word: u32, slot: u32) -> u32 {
  return ((tile / {{ splits }} * {{ all_splits }} + q) * {{ words }}u + word) * {{ block }}u + slot;
}
fn split_of(tile: u32) -> u32 { return p.first_split + tile % {{ splits }}; }

{% if look_back %}
alias partials_t = {{ "vec2<f32>" if pairs else "u32" if packed_partials else "f32" }};
const kUnset = 0xffffffffu;   // the bits of a flag between dispatches; no statistics have them
// Why the tile is left to the fallback: 1: its results need the slow path; 2: it reached the spin limit.
var<workgroup> fallback_reason: atomic<u32>;
var<workgroup> broadcast: u32;
// The flag that split q of a block is left to the fallback.
fn flag_at(block: u32, q: u32) -> u32 { return p.partials_o + p.flags + block * {{ splits }} + q; }
// The flag that some tile reached the spin limit, after which others stop waiting early.
fn abort_flag_at() -> u32 { return p.partials_o + p.flags + p.tiles; }
// The number of workgroups of the block that have arrived; in the upper half, how many of them left their tile to the
// fallback.
fn counter_at(block: u32) -> u32 { return abort_flag_at() + 1u + block; }
const fallback = 0x10000u;
{% if in_order %}
// Depends on the results of the thread's exchanges, and so on their completion.
var<private> replaced: u32;
{% endif %}
{% if late %}
// For a test: partial results are published after the workgroup was counted, those of the first split long after, so
// that every waiting workgroup falls back and the last one must wait.
var<private> late_words: array<vec2<u32>, 64>;
var<private> late_count = 0u;
fn publish_late_words(split: u32) {
  if (split == 0u) {
    for (var n = 0u; n < 0x200000u; n++) { atomicAdd(&partials_buf[abort_flag_at()], p.opaque_zero); }
  }
  for (var k = 0u; k < late_count; k++) { atomicExchange(&partials_buf[p.partials_o + late_words[k].x], late_words[k].y); }
}
{% endif %}
// An exchange, because a store waits behind the results that other workgroups of the core are storing (a tenth of the
// time on an H200). Where not all workgroups read the word, it must be there before this workgroup is counted.
fn publish_word(i: u32, w: u32) {
{% if late %}
  late_words[late_count] = vec2<u32>(i, w);
  late_count++;
{% else %}
  {{ "replaced |= ~" if in_order else "_ = " }}atomicExchange(&partials_buf[p.partials_o + i], w);
{% endif %}
}
{% if packed_partials %}
fn publish_partials(i: u32, v: partials_t) { publish_word(i, v); }
{% else %}
fn publish_number(i: u32, v: f32) {
  let w = bitcast<u32>(v);
  publish_word(i, select(w, 0x7fc00000u, w == kUnset));
}
fn publish_partials(i: u32, v: partials_t) {
{% for h in range(words_per_partial) %}
  publish_number({{ words_per_partial }}u * i + {{ h }}u, v{{ "[" ~ h ~ "]" if pairs }});
{% endfor %}
}
{% endif %}
// Counts the workgroup as arrived: it no longer needs the block's words. Returns the count.
fn release_block(tile: u32, why: u32) -> u32 {
  var one = 1u;
  if (why != 0u) {
    // WGSL orders two atomics only if one needs the other's result.
    one += fallback + (atomicExchange(&partials_buf[p.partials_o + p.flags + tile], 0u) & p.opaque_zero);
    if (why == 2u) { one += atomicExchange(&partials_buf[abort_flag_at()], 0u) & p.opaque_zero; }
  }
  return atomicAdd(&partials_buf[counter_at(tile / {{ splits }})], one) + one + 1u;
}
fn first_of(block: u32) -> u32 { return p.partials_o + {{ words_per_partial }}u * partial_at(block * {{ splits }}, 0u, 0u, 0u); }
const block_words = {{ words_per_partial * words * block }}u;
// Waits until all partial results are visible to this workgroup, which may not have read all of them. The wait has no
// limit: each word was on its way before its workgroup was counted, and arrives without anybody's progress. To go on
// without one would store wrong results and reset flags that the late word then spoils for the next dispatch.
fn wait_for_all(block: u32, tid: u32) {
  let first = first_of(block);
  for (var i = first + tid; i < first + {{ all_splits }} * block_words; i += {{ workgroup }}u) {
    loop {
      if (atomicLoad(&partials_buf[i]) != kUnset) { break; }
    }
  }
  storageBarrier();
  workgroupBarrier();
}
fn is_fallback(block: u32, q: u32, tid: u32) -> bool {
  workgroupBarrier();   // Mesa's GLSL compiler loads what workgroupUniformLoad() does only behind its barriers
  if (tid == 0u) { broadcast = atomicLoad(&partials_buf[flag_at(block, q)]); }
  return workgroupUniformLoad(&broadcast) != kUnset;
}
// `finished`: the fallback has finished tiles of the block.
fn reset_flags(block: u32, finished: bool, tid: u32) {
  let first = first_of(block);
  for (var i = first + tid; i < first + {{ all_splits }} * block_words; i += {{ workgroup }}u) {
    atomicStore(&partials_buf[i], kUnset);
  }
  if (tid == 0u) { atomicStore(&partials_buf[counter_at(block)], kUnset); }
  if (finished) {
    for (var q = tid; q < {{ splits }}; q += {{ workgroup }}u) { atomicStore(&partials_buf[flag_at(block, q)], kUnset); }
    if (tid == 0u) { atomicStore(&partials_buf[abort_flag_at()], kUnset); }
  }
}
{% endif %}
{# Publishes the split's value v. #}
{% macro publish_partials(i, v) %}
{{ "publish" if look_back else "store" }}_partials({{ i }}, {{ v }});
{% endmacro %}
{# Declares fn <name>(<arguments>) -> <type>, the partial statistics at `count` indices; place(k), a macro, gives the
   index. Polls those that other workgroups have not published yet, up to the spin limit, or less once the abort flag is
   set. #}
{% macro load_partials_function(name, type, arguments, count, place) %}
struct {{ type }} { {% for k in range(count) %}f{{ k }}: partials_t, {% endfor %} }
fn {{ name }}({{ arguments }}) -> {{ type }} {
{% for k in range(count) %}
  let i{{ k }} = {{ place(k) }};
{% endfor %}
{% if look_back %}
{% macro partial_value(k) %}bitcast<partials_t>({% if pairs %}vec2<u32>(w{{ k }}_0, w{{ k }}_1){% else %}w{{ k }}_0{% endif %}){% endmacro %}
{% for k in range(count) %}{% for h in range(words_per_partial) %}
  var w{{ k }}_{{ h }} = kUnset;
{% endfor %}{% endfor %}
  var missing = true;
  for (var n = 0u; missing; n++) {
{% for k in range(count) %}{% for h in range(words_per_partial) %}
    w{{ k }}_{{ h }} = atomicLoad(&partials_buf[p.partials_o + {{ words_per_partial }}u * i{{ k }} + {{ h }}u]);
{% endfor %}{% endfor %}
    missing = {% for k in range(count) %}{% for h in range(words_per_partial) %}{{ " | " if k or h }}(w{{ k }}_{{ h }} == kUnset){% endfor %}{% endfor %};
    if (n >= p.spin_limit || (n % 64u == 63u && atomicLoad(&partials_buf[abort_flag_at()]) != kUnset)) { break; }
  }
  if (missing) { atomicMax(&fallback_reason, 2u); }
  return {{ type }}({% for k in range(count) %}{{ ", " if k }}{{ partial_value(k) }}{% endfor %});
{% else %}
  return {{ type }}({% for k in range(count) %}{{ ", " if k }}load_partials(i{{ k }}){% endfor %});
{% endif %}
}
{% endmacro %}
{% if finishes %}
{# The statistics of split q, of each of the thread's rows. #}
{% macro place_in_split(k) %}partial_at(tile, q, {{ k // rows_per_thread }}u, slot + {{ k % rows_per_thread }}u){% endmacro %}
{{ load_partials_function("load_partials_of", "Partials", "tile: u32, q: u32, slot: u32", words * rows_per_thread, place_in_split) }}
{% endif %}

{# Declares the thread's place: its lane, its (first) row, its slot among the tile's rows; and the first step of its
   tile. #}
{% macro split_place() %}
  let lane = tid / {{ interleave }}u % {{ threads_per_row }}u;
  let slot = {{ row_in_group() }} * {{ rows_per_thread }}u;
  let wanted = tile / {{ splits }} * {{ block }}u + slot;
  let live = wanted < p.rows;
  // Threads past the end repeat the last row and store nothing.
  let row = min(wanted, p.rows - {{ rows_per_thread }}u);
{% endmacro %}
{% macro tile_place() %}
{% if multi_tile %}
  let begin = (tile % {{ splits }} * p.tiles_per_split + tile_in_split) * {{ register_steps * threads_per_row }}u;
  let first = begin + {{ "lane * 4u" if runs else "lane" }};
{% elif balanced %}
  let first = {{ rounds_before("tile % " ~ splits) }} * {{ threads_per_row }}u + lane;
  let tile_end = min({{ rounds_before("(tile % " ~ splits ~ " + 1u)") }} * {{ threads_per_row }}u, p.steps);
{% else %}
  let first = tile % {{ splits }} * {{ register_steps * threads_per_row }}u + {{ "lane * 4u" if runs else "lane" }};
{% endif %}
{% endmacro %}
{# The first step of each lane of split q, for `balanced` splits, which have `register_steps` of them or one less. #}
{% macro rounds_before(q) %}({{ q }} * p.rounds / {{ splits }}){% endmacro %}
{# Declares elements_of(q), the number of elements of split q of the chunk. #}
{% macro elements_function() %}
fn elements_of(q: u32) -> f32 {
{% if balanced %}
  let first = {{ rounds_before("q") }} * {{ threads_per_row }}u;
  let end = {{ rounds_before("(q + 1u)") }} * {{ threads_per_row }}u;
{% else %}
  let split_steps = {{ register_steps * threads_per_row }}u{{ " * p.tiles_per_split" if multi_tile else "" }};
  let first = q * split_steps;
  let end = first + split_steps;
{% endif %}
  return f32((min(end, p.steps) - first) * {{ 1 if across else width }}u);
}
{% endmacro %}
{# The test that step i is in the tile and in its row; empty where it always is. #}
{% macro tile_inside(i) -%}
{% if not exact and (not balanced or i + 2 >= register_steps) %}{{ tile_step(i) }} < {{ "tile_end" if balanced else "p.steps" }}{% endif %}
{%- endmacro %}
{# Step i of the thread's tile: threads_per_row apart, or, with `runs`, in groups of four adjacent ones. #}
{% macro tile_step(i) %}first + {{ (i // 4) * 4 * threads_per_row + i % 4 if runs else i * threads_per_row }}u{% endmacro %}
{# An operand's index of the thread's first step (its row starts at <operand>_start), for tiles with a constant stride
   from step to step; and of step i. `inside`, if given, says whether the step is in the row; if it is not, the index is
   one that is. #}
{% macro tile_first(operand) %}
{% if tile_way != "none" %}
  let {{ operand }}_first = {{ operand }}_start + {{ operand }}_at({{ step_at("min(first, p.steps - 1u)") }});
{% endif %}
{% endmacro %}
{% macro tile_spot(operand, i, inside) -%}
{%- if tile_way == "none" -%}
{{ operand }}_start + {{ operand }}_at({{ step_at("min(" ~ tile_step(i) ~ ", p.steps - 1u)" if inside else tile_step(i)) }})
{%- else -%}
{%- set jump = "p." ~ operand ~ "_jump" -%}
{%- set way = i ~ "u * " ~ jump if tile_way == "even" else run_way(operand, i) -%}
{{ operand }}_first + {{ "select(0u, " ~ way ~ ", " ~ inside ~ ")" if inside else "(" ~ way ~ ")" }}
{%- endif -%}
{%- endmacro %}
{# `packed`: registers hold words of two 16-bit elements, half as many registers. #}
{% set packed = look_back and pairs_of_x %}
{# Declares load_tile(); `step`, a macro, loads step i of the operands as a `type`. #}
{% macro tile_of(operands, type, step) %}
struct Tile { {% for i in range(register_steps) %}v{{ i }}: {{ type }}, {% endfor %} }
fn load_tile(tile: u32, tile_in_split: u32, tid: u32) -> Tile {
{{ split_place() }}
{{ tile_place() }}
{% for operand in operands %}
  let {{ operand }}_start = {{ operand }}_row(row);
{% if tile_way %}
{{ tile_first(operand) }}
{% endif %}
{% endfor %}
  return Tile(
{% for i in range(register_steps) %}
    {{ step(i) }},
{% endfor %}
  );
}
{% endmacro %}
{# Declares inside0, …, whether the tile's steps are in the row, and v0, …, their values, or `outside` past the row's
   end (if `packed`, words and `outside_words`); tile_value(i) is the value. #}
{% macro tile_values(outside, outside_words) %}
{% for i in range(register_steps) %}
{% if tile_inside(i) %}
  let inside{{ i }} = {{ tile_inside(i) }};
{% endif %}
  var v{{ i }} = {{ masked("vec2<u32>(" ~ outside_words ~ ")" if packed else "value_t(" ~ outside ~ ")", "loaded.v" ~ i ~ x_of, i) }};
{% endfor %}
{% endmacro %}
{# `value` at step i, or `other` if that is not in the tile; `exact`: tiles end where rows do. #}
{% macro masked(other, value, i) -%}
{{ "select(" ~ other ~ ", " ~ value ~ ", inside" ~ i ~ ")" if tile_inside(i) else value }}
{%- endmacro %}
{% macro if_inside(i) -%}
{{ "if (" ~ tile_inside(i) ~ ") {" if tile_inside(i) else "{" }}
{%- endmacro %}
{% macro tile_value(i) -%}
{{ "widen4_x(v" ~ i ~ ")" if packed else "v" ~ i if gathers else "loaded.v" ~ i ~ x_of }}
{%- endmacro %}

{# Publishes a word of the split, for each of the thread's rows. #}
{% macro publish_rows(word, v) %}
{% for i in range(rows_per_thread) %}
{% set component = "[" ~ i ~ "]" if rows_per_thread == 4 else "" %}
  {{ publish_partials("partial_at(tile, split_of(tile), " ~ word ~ "u, slot + " ~ i ~ "u)", v ~ component) }}
{% endfor %}
{% endmacro %}
{# A word of load_partials_of()'s result `f`, of the row or of four rows. #}
{% macro statistic(word) -%}
state_t(
{%- for i in range(rows_per_thread) -%}
{{ ", " if i else "" }}f.f{{ word * rows_per_thread + i }}
{%- endfor -%}
)
{%- endmacro %}

{# The entry point's head: the tile, the thread's place, and (split_head) the loaded tile. #}
{% macro split_begin() %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{% if mixed %}
  let tid = subgroup * subgroup_size + subgroup_lane;
{% endif %}
  let tile = group_index(wg, grid);
  if (tile >= p.tiles) { return; }   // it would be counted as arrived
{{ split_place() }}
{% if not multi_tile %}
{{ tile_place() }}
{% endif %}
{% endmacro %}
{% macro split_head() %}
{{ split_begin() }}
{% if not multi_tile %}
  let loaded = load_tile(tile, 0u, tid);
{% endif %}
{% endmacro %}
{# Around the code for each tile of a split. #}
{% macro tiles_begin() %}
{% if multi_tile %}
  for (var tile_in_split = 0u; tile_in_split < p.tiles_per_split; tile_in_split++) {
{{ tile_place() }}
    if (begin >= p.steps) { break; }
    let loaded = load_tile(tile, tile_in_split, tid);
{% endif %}
{% endmacro %}
{% macro tiles_end() %}
{% if multi_tile %}
  }
{% endif %}
{% endmacro %}
{# Counts the workgroup as arrived, and skips to split_end() if the tile is left to the fallback. #}
{% macro split_joined() %}
{% if look_back %}
{% if in_order %}
  if (replaced != 0u) { atomicMax(&fallback_reason, 2u); }   // never happens; makes the exchanges complete first
{% endif %}
  workgroupBarrier();
{% if in_order %}
  if (tid == 0u) { broadcast = atomicLoad(&fallback_reason); }
  let why = workgroupUniformLoad(&broadcast);
{% else %}
  let why = atomicLoad(&fallback_reason);
{% endif %}
  var released = 0u;
  if (tid == 0u) { released = release_block(tile, why); }
{% if late %}
  publish_late_words(tile % {{ splits }});
{% endif %}
  if (why == 0u{{ " && live" if not in_order and not exact }}) {
{% elif not in_order %}
  if (!live) { return; }
{% endif %}
{% endmacro %}
{% macro split_end() %}
{% if look_back %}
  }
  let thread = tid + p.opaque_zero;   // opaque, or compilers hold registers for the fallback
  let own_block = (tile + p.opaque_zero) / {{ splits }};
{% if in_order %}
  workgroupBarrier();   // as in is_fallback()
{% endif %}
  if (tid == 0u) { broadcast = select(0u, released, released % fallback == {{ splits }}); }
  let ending = workgroupUniformLoad(&broadcast);
  if (ending == 0u) { return; }
  if (ending >= fallback) {
    wait_for_all(own_block, thread);
    finish_fallback(own_block, thread{{ ", subgroup_lane" if mixed }});
    workgroupBarrier();
  }
  reset_flags(own_block, ending >= fallback, thread);
{% endif %}
}
{% endmacro %}
{# Declares how the fallback finishes a block's marked tiles; `body`, a macro, finishes one, all partial statistics
   being known. #}
{% macro finish_function(body) %}
{% if look_back %}
fn finish_fallback(block: u32, tid: u32{{ ", subgroup_lane: u32" if mixed }}) {
  for (var q_of_tile = 0u; q_of_tile < p.splits; q_of_tile++) {
    if (!is_fallback(block, q_of_tile, tid)) { continue; }
    let tile = block * {{ splits }} + q_of_tile;
{{ split_place() }}
{{ tile_place() }}
{{ body() }}
  }
}
{% endif %}
{% endmacro %}
