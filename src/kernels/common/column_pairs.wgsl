{#
  For kernels of 16-bit columns in splits that look back (split_rows.h), x and y in groups of four columns. A thread
  holds packed pairs, v0, v1, …, in nearly all of its registers, because fewer and larger splits exchange less. It
  reads the partial statistics of `looks` splits at a time; `looks_end`: the last time there are fewer.

  options:
    rounds: flag
    looks: 1…6
    looks_end: flag
#}
{% macro column_pairs_functions() %}
{% for operand in ["x", "y"] %}
// The index of the thread's first group of four of {{ operand }}.
fn first_four_of_{{ operand }}(tile: u32, tid: u32) -> u32 {
{{ split_place() }}
{{ tile_place() }}
  return (p.{{ operand }}_o + {{ operand }}_row(row) + {{ operand }}_at(min(first, p.steps - 1u))) >> 2u;
}
{% endfor %}
{% endmacro %}
{# Loads the words; declares inside0, … where they may be past the row's end: there they are `outside`. #}
{% macro take_words(outside) %}
  let x_first = first_four_of_x(tile, tid);
  let x_hop = bitcast<u32>(bitcast<i32>(p.x_jump) >> 2u);   // rows may run backwards
{% for i in range(register_steps) %}
{% if tile_inside(i) %}
  let inside{{ i }} = {{ tile_inside(i) }};
  var v{{ i }} = select(vec2<u32>({{ outside }}), four_x(x_first + select(0u, {{ i }}u * x_hop, inside{{ i }})), inside{{ i }});
{% else %}
  var v{{ i }} = four_x(x_first + {{ i }}u * x_hop);
{% endif %}
{% endfor %}
{% endmacro %}
{# Indices of y's groups, computed again behind an opaque zero, so that compilers hold nothing for them. #}
{% macro results_begin() %}
  let y_first = first_four_of_y(tile, tid + p.opaque_zero);
  let y_hop = bitcast<u32>(bitcast<i32>(p.y_jump) >> 2u);
{% endmacro %}
{% macro store_words(i, words) %}
  {{ if_inside(i) }} store_four_y(y_first + {{ i }}u * y_hop, {{ words }}); }
{% endmacro %}
{# Split k of those that a thread reads at a time from q on, with `shares` threads reading; and `value` if there is such
   a split, else 0. #}
{% macro looked_split(k, shares) -%}
{%- set q = "q + " ~ k * shares ~ "u" -%}
{{ "min(" ~ q ~ ", " ~ (known_splits - 1) ~ "u)" if looks_end else q }}
{%- endmacro %}
{% macro looked(k, shares, value) -%}
{{ "select(0f, " ~ value ~ ", q + " ~ k * shares ~ "u < " ~ known_splits ~ "u)" if k and looks_end else value }}
{%- endmacro %}
