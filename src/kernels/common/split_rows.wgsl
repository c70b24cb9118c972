{# Rows in parts: the WGSL half of common/split_rows.h. A kernel declares tile_of(…); its entry point begins with
   split_head(). Then, if the dispatch `gathers`, a thread leaves the part's statistics by publish_partials(); if it
   `finishes`, it gets those of all parts, `in_order` those of the parts before it, and between split_joined() and
   split_end() it stores results, without barriers unless it is in_order. What it does with a tile stands between
   tiles_begin() and tiles_end(), since `multi_tile` parts have several. Dispatches that do both wait; before the entry point
   they declare by finish_function() how the tiles are finished that were given up. The last of a block's workgroups, the
   tiles of the same rows, does that, and lays their words to rest. #}
{% set block = workgroup // threads_per_row * rows_per_thread %}
{% set words_per_partial = 2 if pairs else 1 %}
{# Of what waits there are no more; `known_splits`: how many a row has, for quotients by a number. #}
{% set splits = known_splits ~ "u" if known_splits else "p.splits" %}
{% set all_splits = known_splits ~ "u" if known_splits else "p.all_splits" %}
// Where a word of part q of the tile's rows stands; slot: the row's place in the tile. A tile of this window is a part
// of the whole row.
fn partial_at(tile: u32, q: u32, word: u32, slot: u32) -> u32 {
  return ((tile / {{ splits }} * {{ all_splits }} + q) * {{ words }}u + word) * {{ block }}u + slot;
}
fn split_of(tile: u32) -> u32 { return p.first_split + tile % {{ splits }}; }

{% if look_back %}
alias partials_t = {{ "vec2<f32>" if pairs else "u32" if packed_partials else "f32" }};
const kUnset = 0xffffffffu;   // no statistics have these bits, and words that rest do
// Why the tile is given up: 1, that its results need the long way; 2, that it waited in vain.
var<workgroup> fallback_reason: atomic<u32>;
var<workgroup> broadcast: u32;
// Whether part q of a block's rows gave up.
fn flag_at(block: u32, q: u32) -> u32 { return p.partials_o + p.flags + block * {{ splits }} + q; }
// Whether any tile waited in vain, so that nobody need wait for long.
fn abort_flag_at() -> u32 { return p.partials_o + p.flags + p.tiles; }
// How many of the block's workgroups have left it, and in the upper half of how many of these the tile was given up.
fn counter_at(block: u32) -> u32 { return abort_flag_at() + 1u + block; }
const fallback = 0x10000u;
{% if in_order %}
// What was where the thread left words: known only when these are there.
var<private> replaced: u32;
{% endif %}
{% if late %}
// For a test: words are left when the workgroup has been counted already, the first part's long after it, so that all
// give up and the last one must wait.
var<private> late_words: array<vec2<u32>, 64>;
var<private> late_count = 0u;
fn leave_late_words(split: u32) {
  if (split == 0u) {
    for (var n = 0u; n < 0x200000u; n++) { atomicAdd(&partials_buf[abort_flag_at()], p.opaque_zero); }
  }
  for (var k = 0u; k < late_count; k++) { atomicExchange(&partials_buf[p.partials_o + late_words[k].x], late_words[k].y); }
}
{% endif %}
// By an exchange: a store would wait behind the results that other workgroups of the core are storing (a tenth of all
// time). Where not all workgroups look for it, it must be there before this one is counted.
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
// Counts the workgroup as one that needs the block's words no more, and returns what has been counted.
fn release_block(tile: u32, why: u32) -> u32 {
  var one = 1u;
  if (why != 0u) {
    // WGSL has no other order between two atomics than that one needs the other's result.
    one += fallback + (atomicExchange(&partials_buf[p.partials_o + p.flags + tile], 0u) & p.opaque_zero);
    if (why == 2u) { one += atomicExchange(&partials_buf[abort_flag_at()], 0u) & p.opaque_zero; }
  }
  return atomicAdd(&partials_buf[counter_at(tile / {{ splits }})], one) + one + 1u;
}
fn first_of(block: u32) -> u32 { return p.partials_o + {{ words_per_partial }}u * partial_at(block * {{ splits }}, 0u, 0u, 0u); }
const block_words = {{ words_per_partial * words * block }}u;
// Waits until all that was left is there, which it may not be yet for who did not look for it. However long that takes:
// each word was on its way before its workgroup was counted, and comes without anybody's progress. Who went on without
// one would store wrong results, and lay words to rest which the late one then spoils for the next dispatch.
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
// `finished`: that tiles were given up, and are no more.
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
{# The thread's part leaves what it found. #}
{% macro publish_partials(i, v) %}
{{ "publish" if look_back else "store" }}_partials({{ i }}, {{ v }});
{% endmacro %}
{# Declares fn <name>(<arguments>) -> <type>, what was found at `count` places; place(k), a macro, says where. Where other
   workgroups are still to leave statistics they are waited for, but not for ever, nor for long once a workgroup has
   waited in vain. #}
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
{# The statistics of part q, of each of the team's rows. #}
{% macro place_in_split(k) %}partial_at(tile, q, {{ k // rows_per_thread }}u, slot + {{ k % rows_per_thread }}u){% endmacro %}
{{ load_partials_function("load_partials_of", "Partials", "tile: u32, q: u32, slot: u32", words * rows_per_thread, place_in_split) }}
{% endif %}

{# Declares the thread's place: member of its team, the team's first row, its slot among the tile's; and the first step
   of its tile. #}
{% macro split_place() %}
  let lane = tid / {{ interleave }}u % {{ threads_per_row }}u;
  let slot = {{ row_in_group() }} * {{ rows_per_thread }}u;
  let wanted = tile / {{ splits }} * {{ block }}u + slot;
  let live = wanted < p.rows;
  let row = min(wanted, p.rows - {{ rows_per_thread }}u);   // teams past the end repeat the last row and store nothing
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
{# Of `balanced` parts, in steps of a member: where part q begins. It has `register_steps` of them, or one less. #}
{% macro rounds_before(q) %}({{ q }} * p.rounds / {{ splits }}){% endmacro %}
{# Declares elements_of(q), of part q of the window. #}
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
{# Whether step i is in the tile and in its row, where it may not be. #}
{% macro tile_inside(i) -%}
{% if not exact and (not balanced or i + 2 >= register_steps) %}{{ tile_step(i) }} < {{ "tile_end" if balanced else "p.steps" }}{% endif %}
{%- endmacro %}
{# The step i of the thread's tile: `threads_per_row` apart, or, with `runs`, four after another. #}
{% macro tile_step(i) %}first + {{ (i // 4) * 4 * threads_per_row + i % 4 if runs else i * threads_per_row }}u{% endmacro %}
{# Where an operand, whose row starts at <operand>_start, has the thread's first step, for operands of tiles that know a
   way from step to step; and the step i: `inside`, if given, says whether it is in the row; else a place is taken that
   is. #}
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
{# `packed`: what is kept of types of 16 bits are their words, half as many registers. #}
{% set packed = look_back and pairs_of_x %}
{# What is read of a tile: `step`, a macro, says what of type `type` step i of the operands is. #}
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
{# Declares inside0, …, whether the row has the tile's steps, and what it has there, or `outside`, if they are `packed`
   the words `outside_words`; then tile_value(i) is the value. #}
{% macro tile_values(outside, outside_words) %}
{% for i in range(register_steps) %}
{% if tile_inside(i) %}
  let inside{{ i }} = {{ tile_inside(i) }};
{% endif %}
  var v{{ i }} = {{ masked("vec2<u32>(" ~ outside_words ~ ")" if packed else "value_t(" ~ outside ~ ")", "loaded.v" ~ i ~ x_of, i) }};
{% endfor %}
{% endmacro %}
{# `value` at step i, or `other` where the tile has no such step; `exact`: tiles end where rows do. #}
{% macro masked(other, value, i) -%}
{{ "select(" ~ other ~ ", " ~ value ~ ", inside" ~ i ~ ")" if tile_inside(i) else value }}
{%- endmacro %}
{% macro if_inside(i) -%}
{{ "if (" ~ tile_inside(i) ~ ") {" if tile_inside(i) else "{" }}
{%- endmacro %}
{% macro tile_value(i) -%}
{{ "widen4_x(v" ~ i ~ ")" if packed else "v" ~ i if gathers else "loaded.v" ~ i ~ x_of }}
{%- endmacro %}

{# The part's word, of each of the team's rows. #}
{% macro publish_rows(word, v) %}
{% for i in range(rows_per_thread) %}
{% set component = "[" ~ i ~ "]" if rows_per_thread == 4 else "" %}
  {{ publish_partials("partial_at(tile, split_of(tile), " ~ word ~ "u, slot + " ~ i ~ "u)", v ~ component) }}
{% endfor %}
{% endmacro %}
{# A word of what load_partials_of gave as `f`, of the row or of four rows. #}
{% macro statistic(word) -%}
state_t(
{%- for i in range(rows_per_thread) -%}
{{ ", " if i else "" }}f.f{{ word * rows_per_thread + i }}
{%- endfor -%}
)
{%- endmacro %}

{# The entry point's head: the tile and the thread's place; and what it loaded. #}
{% macro split_begin() %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{% if mixed %}
  let tid = subgroup * subgroup_size + subgroup_lane;
{% endif %}
  let tile = group_index(wg, grid);
  if (tile >= p.tiles) { return; }   // others would count it
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
{# Around what is done with each tile of a part. #}
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
{# Goes on to split_end() if some statistics were not found: the tile is given up. #}
{% macro split_joined() %}
{% if look_back %}
{% if in_order %}
  if (replaced != 0u) { atomicMax(&fallback_reason, 2u); }   // never
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
  leave_late_words(tile % {{ splits }});
{% endif %}
  if (why == 0u{{ " && live" if not in_order and not exact }}) {
{% elif not in_order %}
  if (!live) { return; }
{% endif %}
{% endmacro %}
{% macro split_end() %}
{% if look_back %}
  }
  let thread = tid + p.opaque_zero;   // as compilers cannot know: else they keep registers for what is rarely asked
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
{# Declares how a block's tiles are finished that were given up; `body`, a macro: that of one of them, all of whose
   statistics are known. #}
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
