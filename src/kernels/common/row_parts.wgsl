{# Rows in parts: the WGSL half of common/row_parts.h. A kernel declares tile_of("x"); its entry point begins with
   parts_head(). Then a thread puts the part's statistics, or, `finish`, gets those of all parts and stores results. #}
{% set block = workgroup // team * rows_per_team %}
// Where a word of part q of the tile's rows stands; slot: the row's place in the tile. A tile of this window is a part
// of the whole row.
fn found_at(tile: u32, q: u32, word: u32, slot: u32) -> u32 {
  return ((tile / p.parts * p.all_parts + q) * {{ words }}u + word) * {{ block }}u + slot;
}
fn part_of(tile: u32) -> u32 { return p.first_part + tile % p.parts; }

{# Declares the thread's place: member of its team, the team's first row, its slot among the tile's, the first step. #}
{% macro tile_place() %}
  let member = tid / {{ interleave }}u % {{ team }}u;
  let slot = (tid / {{ team * interleave }}u * {{ interleave }}u + tid % {{ interleave }}u) * {{ rows_per_team }}u;
  let wanted = tile / p.parts * {{ block }}u + slot;
  let live = wanted < p.rows;
  let row = min(wanted, p.rows - {{ rows_per_team }}u);   // teams past the end repeat the last row and store nothing
  let first = tile % p.parts * {{ kept * team }}u + {{ "member * 4u" if runs else "member" }};
{% endmacro %}
{# The step i of the thread's tile: `team` apart, or, with `runs`, four after another. #}
{% macro tile_step(i) %}first + {{ (i // 4) * 4 * team + i % 4 if runs else i * team }}u{% endmacro %}
{# `place`: a macro that says where in memory's order a step stands. #}
{% macro same_place(k) %}{{ k }}{% endmacro %}
{% macro tile_of(operand, place=same_place) %}
struct Tile { {% for i in range(kept) %}v{{ i }}: value_t, {% endfor %} }
fn load_tile(tile: u32, tid: u32) -> Tile {
{{ tile_place() }}
  let start = {{ operand }}_row(row);
  return Tile(
{% for i in range(kept) %}
    {{ load_step(operand, "start", place("min(" ~ tile_step(i) ~ ", p.steps - 1u)")) }},
{% endfor %}
  );
}
{% endmacro %}
{# Declares inside0, …, whether the row has the tile's steps, and v0, …, what it has there, or `outside`. #}
{% macro tile_values(outside) %}
{% for i in range(kept) %}
  let inside{{ i }} = {{ tile_step(i) }} < p.steps;
  let v{{ i }} = select(value_t({{ outside }}), loaded.v{{ i }}, inside{{ i }});
{% endfor %}
{% endmacro %}
{# The part's word, of each of the team's rows. #}
{% macro put(word, v) %}
{% for i in range(rows_per_team) %}
{% set lane = "[" ~ i ~ "]" if rows_per_team == 4 else "" %}
  store_found(found_at(tile, part_of(tile), {{ word }}u, slot + {{ i }}u), {{ v }}{{ lane }});
{% endfor %}
{% endmacro %}
{# A word of part q of the row, or of four rows. #}
{% macro get(q, word) -%}
state_t(
{%- for i in range(rows_per_team) -%}
{{ ", " if i else "" }}load_found(found_at(tile, {{ q }}, {{ word }}u, slot + {{ i }}u))
{%- endfor -%}
)
{%- endmacro %}

{# The entry point's head: the tile, the thread, and what it loaded. #}
{% macro parts_head() %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{% if mixed %}
  let tid = subgroup * subgroup_size + lane;
{% endif %}
  let tile = group_index(wg, grid);
  if (tile >= p.tiles) { return; }
{{ tile_place() }}
  let loaded = load_tile(tile, tid);
{% endmacro %}
