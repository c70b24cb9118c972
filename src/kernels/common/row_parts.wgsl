{# Rows in parts: the WGSL half of common/row_parts.h. A kernel declares tile_of(…); its entry point begins with
   parts_head(). Then, if the dispatch `gathers`, a thread leaves the part's statistics by leave_found(); if it
   `finishes`, it gets those of all parts, `in_order` those of the parts before it, and between parts_found() and
   parts_end() it stores results, without barriers unless it is in_order. What it does with a tile stands between
   turns_begin() and turns_end(), since `long` parts have several. Dispatches that do both wait; before the entry point
   they declare by finish_function() how the tiles are finished that were given up. The last of a block's workgroups, the
   tiles of the same rows, does that, and lays their words to rest. #}
{% set block = workgroup // team * rows_per_team %}
{% set halves = 2 if pairs else 1 %}
{# Of what waits there are no more; `known_parts`: how many a row has, for quotients by a number. #}
{% set parts = known_parts ~ "u" if known_parts else "p.parts" %}
{% set all_parts = known_parts ~ "u" if known_parts else "p.all_parts" %}
// Where a word of part q of the tile's rows stands; slot: the row's place in the tile. A tile of this window is a part
// of the whole row.
fn found_at(tile: u32, q: u32, word: u32, slot: u32) -> u32 {
  return ((tile / {{ parts }} * {{ all_parts }} + q) * {{ words }}u + word) * {{ block }}u + slot;
}
fn part_of(tile: u32) -> u32 { return p.first_part + tile % {{ parts }}; }

{% if waits %}
alias found_t = {{ "vec2<f32>" if pairs else "u32" if found_words else "f32" }};
const absent = 0xffffffffu;   // no statistics have these bits, and words that rest do
// Why the tile is given up: 1, that its results need the long way; 2, that it waited in vain.
var<workgroup> gave_up: atomic<u32>;
var<workgroup> told: u32;
// Whether part q of a block's rows gave up.
fn flag_at(block: u32, q: u32) -> u32 { return p.found_o + p.flags + block * {{ parts }} + q; }
// Whether any tile waited in vain, so that nobody need wait for long.
fn hurry_at() -> u32 { return p.found_o + p.flags + p.tiles; }
// How many of the block's workgroups have left it, and in the upper half of how many of these the tile was given up.
fn counter_at(block: u32) -> u32 { return hurry_at() + 1u + block; }
const given_up = 0x10000u;
{% if in_order %}
// What was where the thread left words: known only when these are there.
var<private> replaced: u32;
{% endif %}
{% if late %}
// For a test: words are left when the workgroup has been counted already, the first part's long after it, so that all
// give up and the last one must wait.
var<private> late_words: array<vec2<u32>, 64>;
var<private> late_count = 0u;
fn leave_late_words(part: u32) {
  if (part == 0u) {
    for (var n = 0u; n < 0x200000u; n++) { atomicAdd(&found_buf[hurry_at()], p.nothing); }
  }
  for (var k = 0u; k < late_count; k++) { atomicExchange(&found_buf[p.found_o + late_words[k].x], late_words[k].y); }
}
{% endif %}
// By an exchange: a store would wait behind the results that other workgroups of the core are storing (a tenth of all
// time). Where not all workgroups look for it, it must be there before this one is counted.
fn leave_word(i: u32, w: u32) {
{% if late %}
  late_words[late_count] = vec2<u32>(i, w);
  late_count++;
{% else %}
  {{ "replaced |= ~" if in_order else "_ = " }}atomicExchange(&found_buf[p.found_o + i], w);
{% endif %}
}
{% if found_words %}
fn leave_found(i: u32, v: found_t) { leave_word(i, v); }
{% else %}
fn leave_number(i: u32, v: f32) {
  let w = bitcast<u32>(v);
  leave_word(i, select(w, 0x7fc00000u, w == absent));
}
fn leave_found(i: u32, v: found_t) {
{% for h in range(halves) %}
  leave_number({{ halves }}u * i + {{ h }}u, v{{ "[" ~ h ~ "]" if pairs }});
{% endfor %}
}
{% endif %}
// Counts the workgroup as one that needs the block's words no more, and returns what has been counted.
fn leave_block(tile: u32, why: u32) -> u32 {
  var one = 1u;
  if (why != 0u) {
    // WGSL has no other order between two atomics than that one needs the other's result.
    one += given_up + (atomicExchange(&found_buf[p.found_o + p.flags + tile], 0u) & p.nothing);
    if (why == 2u) { one += atomicExchange(&found_buf[hurry_at()], 0u) & p.nothing; }
  }
  return atomicAdd(&found_buf[counter_at(tile / {{ parts }})], one) + one + 1u;
}
fn first_of(block: u32) -> u32 { return p.found_o + {{ halves }}u * found_at(block * {{ parts }}, 0u, 0u, 0u); }
const block_words = {{ halves * words * block }}u;
// Waits until all that was left is there, which it may not be yet for who did not look for it. However long that takes:
// each word was on its way before its workgroup was counted, and comes without anybody's progress. Who went on without
// one would store wrong results, and lay words to rest which the late one then spoils for the next dispatch.
fn wait_for_all(block: u32, tid: u32) {
  let first = first_of(block);
  for (var i = first + tid; i < first + {{ all_parts }} * block_words; i += {{ workgroup }}u) {
    loop {
      if (atomicLoad(&found_buf[i]) != absent) { break; }
    }
  }
  storageBarrier();
  workgroupBarrier();
}
fn is_given_up(block: u32, q: u32, tid: u32) -> bool {
  workgroupBarrier();   // Mesa's GLSL compiler loads what workgroupUniformLoad() does only behind its barriers
  if (tid == 0u) { told = atomicLoad(&found_buf[flag_at(block, q)]); }
  return workgroupUniformLoad(&told) != absent;
}
// `finished`: that tiles were given up, and are no more.
fn lay_to_rest(block: u32, finished: bool, tid: u32) {
  let first = first_of(block);
  for (var i = first + tid; i < first + {{ all_parts }} * block_words; i += {{ workgroup }}u) {
    atomicStore(&found_buf[i], absent);
  }
  if (tid == 0u) { atomicStore(&found_buf[counter_at(block)], absent); }
  if (finished) {
    for (var q = tid; q < {{ parts }}; q += {{ workgroup }}u) { atomicStore(&found_buf[flag_at(block, q)], absent); }
    if (tid == 0u) { atomicStore(&found_buf[hurry_at()], absent); }
  }
}
{% endif %}
{# The thread's part leaves what it found. #}
{% macro leave_found(i, v) %}
{{ "leave" if waits else "store" }}_found({{ i }}, {{ v }});
{% endmacro %}
{# Declares fn <name>(<arguments>) -> <type>, what was found at `count` places; place(k), a macro, says where. Where other
   workgroups are still to leave statistics they are waited for, but not for ever, nor for long once a workgroup has
   waited in vain. #}
{% macro load_found_function(name, type, arguments, count, place) %}
struct {{ type }} { {% for k in range(count) %}f{{ k }}: found_t, {% endfor %} }
fn {{ name }}({{ arguments }}) -> {{ type }} {
{% for k in range(count) %}
  let i{{ k }} = {{ place(k) }};
{% endfor %}
{% if waits %}
{% macro found_value(k) %}bitcast<found_t>({% if pairs %}vec2<u32>(w{{ k }}_0, w{{ k }}_1){% else %}w{{ k }}_0{% endif %}){% endmacro %}
{% for k in range(count) %}{% for h in range(halves) %}
  var w{{ k }}_{{ h }} = absent;
{% endfor %}{% endfor %}
  var missing = true;
  for (var n = 0u; missing; n++) {
{% for k in range(count) %}{% for h in range(halves) %}
    w{{ k }}_{{ h }} = atomicLoad(&found_buf[p.found_o + {{ halves }}u * i{{ k }} + {{ h }}u]);
{% endfor %}{% endfor %}
    missing = {% for k in range(count) %}{% for h in range(halves) %}{{ " | " if k or h }}(w{{ k }}_{{ h }} == absent){% endfor %}{% endfor %};
    if (n >= p.patience || (n % 64u == 63u && atomicLoad(&found_buf[hurry_at()]) != absent)) { break; }
  }
  if (missing) { atomicMax(&gave_up, 2u); }
  return {{ type }}({% for k in range(count) %}{{ ", " if k }}{{ found_value(k) }}{% endfor %});
{% else %}
  return {{ type }}({% for k in range(count) %}{{ ", " if k }}load_found(i{{ k }}){% endfor %});
{% endif %}
}
{% endmacro %}
{% if finishes %}
{# The statistics of part q, of each of the team's rows. #}
{% macro place_in_part(k) %}found_at(tile, q, {{ k // rows_per_team }}u, slot + {{ k % rows_per_team }}u){% endmacro %}
{{ load_found_function("load_found_of", "Found", "tile: u32, q: u32, slot: u32", words * rows_per_team, place_in_part) }}
{% endif %}

{# Declares the thread's place: member of its team, the team's first row, its slot among the tile's; and the first step
   of its tile. #}
{% macro part_place() %}
  let member = tid / {{ interleave }}u % {{ team }}u;
  let slot = {{ team_in_group() }} * {{ rows_per_team }}u;
  let wanted = tile / {{ parts }} * {{ block }}u + slot;
  let live = wanted < p.rows;
  let row = min(wanted, p.rows - {{ rows_per_team }}u);   // teams past the end repeat the last row and store nothing
{% endmacro %}
{% macro tile_place() %}
{% if long %}
  let begin = (tile % {{ parts }} * p.turns + turn) * {{ kept * team }}u;
  let first = begin + {{ "member * 4u" if runs else "member" }};
{% elif balanced %}
  let first = {{ rounds_before("tile % " ~ parts) }} * {{ team }}u + member;
  let tile_end = min({{ rounds_before("(tile % " ~ parts ~ " + 1u)") }} * {{ team }}u, p.steps);
{% else %}
  let first = tile % {{ parts }} * {{ kept * team }}u + {{ "member * 4u" if runs else "member" }};
{% endif %}
{% endmacro %}
{# Of `balanced` parts, in steps of a member: where part q begins. It has `kept` of them, or one less. #}
{% macro rounds_before(q) %}({{ q }} * p.rounds / {{ parts }}){% endmacro %}
{# Declares elements_of(q), of part q of the window. #}
{% macro elements_function() %}
fn elements_of(q: u32) -> f32 {
{% if balanced %}
  let first = {{ rounds_before("q") }} * {{ team }}u;
  let end = {{ rounds_before("(q + 1u)") }} * {{ team }}u;
{% else %}
  let part_steps = {{ kept * team }}u{{ " * p.turns" if long else "" }};
  let first = q * part_steps;
  let end = first + part_steps;
{% endif %}
  return f32((min(end, p.steps) - first) * {{ 1 if across else width }}u);
}
{% endmacro %}
{# Whether step i is in the tile and in its row, where it may not be. #}
{% macro tile_inside(i) -%}
{% if not exact and (not balanced or i + 2 >= kept) %}{{ tile_step(i) }} < {{ "tile_end" if balanced else "p.steps" }}{% endif %}
{%- endmacro %}
{# The step i of the thread's tile: `team` apart, or, with `runs`, four after another. #}
{% macro tile_step(i) %}first + {{ (i // 4) * 4 * team + i % 4 if runs else i * team }}u{% endmacro %}
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
{% set packed = waits and words_of_x %}
{# What is read of a tile: `step`, a macro, says what of type `type` step i of the operands is. #}
{% macro tile_of(operands, type, step) %}
struct Tile { {% for i in range(kept) %}v{{ i }}: {{ type }}, {% endfor %} }
fn load_tile(tile: u32, turn: u32, tid: u32) -> Tile {
{{ part_place() }}
{{ tile_place() }}
{% for operand in operands %}
  let {{ operand }}_start = {{ operand }}_row(row);
{% if tile_way %}
{{ tile_first(operand) }}
{% endif %}
{% endfor %}
  return Tile(
{% for i in range(kept) %}
    {{ step(i) }},
{% endfor %}
  );
}
{% endmacro %}
{# Declares inside0, …, whether the row has the tile's steps, and what it has there, or `outside`, if they are `packed`
   the words `outside_words`; then tile_value(i) is the value. #}
{% macro tile_values(outside, outside_words) %}
{% for i in range(kept) %}
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
{% macro put_found(word, v) %}
{% for i in range(rows_per_team) %}
{% set lane = "[" ~ i ~ "]" if rows_per_team == 4 else "" %}
  {{ leave_found("found_at(tile, part_of(tile), " ~ word ~ "u, slot + " ~ i ~ "u)", v ~ lane) }}
{% endfor %}
{% endmacro %}
{# A word of what load_found_of gave as `f`, of the row or of four rows. #}
{% macro got(word) -%}
state_t(
{%- for i in range(rows_per_team) -%}
{{ ", " if i else "" }}f.f{{ word * rows_per_team + i }}
{%- endfor -%}
)
{%- endmacro %}

{# The entry point's head: the tile and the thread's place; and what it loaded. #}
{% macro parts_begin() %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{% if mixed %}
  let tid = subgroup * subgroup_size + lane;
{% endif %}
  let tile = group_index(wg, grid);
  if (tile >= p.tiles) { return; }   // others would count it
{{ part_place() }}
{% if not long %}
{{ tile_place() }}
{% endif %}
{% endmacro %}
{% macro parts_head() %}
{{ parts_begin() }}
{% if not long %}
  let loaded = load_tile(tile, 0u, tid);
{% endif %}
{% endmacro %}
{# Around what is done with each tile of a part. #}
{% macro turns_begin() %}
{% if long %}
  for (var turn = 0u; turn < p.turns; turn++) {
{{ tile_place() }}
    if (begin >= p.steps) { break; }
    let loaded = load_tile(tile, turn, tid);
{% endif %}
{% endmacro %}
{% macro turns_end() %}
{% if long %}
  }
{% endif %}
{% endmacro %}
{# Goes on to parts_end() if some statistics were not found: the tile is given up. #}
{% macro parts_found() %}
{% if waits %}
{% if in_order %}
  if (replaced != 0u) { atomicMax(&gave_up, 2u); }   // never
{% endif %}
  workgroupBarrier();
{% if in_order %}
  if (tid == 0u) { told = atomicLoad(&gave_up); }
  let why = workgroupUniformLoad(&told);
{% else %}
  let why = atomicLoad(&gave_up);
{% endif %}
  var have_left = 0u;
  if (tid == 0u) { have_left = leave_block(tile, why); }
{% if late %}
  leave_late_words(tile % {{ parts }});
{% endif %}
  if (why == 0u{{ " && live" if not in_order and not exact }}) {
{% elif not in_order %}
  if (!live) { return; }
{% endif %}
{% endmacro %}
{% macro parts_end() %}
{% if waits %}
  }
  let thread = tid + p.nothing;   // as compilers cannot know: else they keep registers for what is rarely asked
  let own_block = (tile + p.nothing) / {{ parts }};
{% if in_order %}
  workgroupBarrier();   // as in is_given_up()
{% endif %}
  if (tid == 0u) { told = select(0u, have_left, have_left % given_up == {{ parts }}); }
  let ending = workgroupUniformLoad(&told);
  if (ending == 0u) { return; }
  if (ending >= given_up) {
    wait_for_all(own_block, thread);
    finish_block(own_block, thread{{ ", lane" if mixed }});
    workgroupBarrier();
  }
  lay_to_rest(own_block, ending >= given_up, thread);
{% endif %}
}
{% endmacro %}
{# Declares how a block's tiles are finished that were given up; `body`, a macro: that of one of them, all of whose
   statistics are known. #}
{% macro finish_function(body) %}
{% if waits %}
fn finish_block(block: u32, tid: u32{{ ", lane: u32" if mixed }}) {
  for (var q_of_tile = 0u; q_of_tile < p.parts; q_of_tile++) {
    if (!is_given_up(block, q_of_tile, tid)) { continue; }
    let tile = block * {{ parts }} + q_of_tile;
{{ part_place() }}
{{ tile_place() }}
{{ body() }}
  }
}
{% endif %}
{% endmacro %}
