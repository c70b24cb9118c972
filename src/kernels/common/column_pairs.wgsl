{# For kernels of columns of 16 bits in parts that wait for each other (split_rows.h), x and y in fours of columns. What a
   thread keeps are words, v0, v1, …, so many that they are nearly all of its registers: fewer and larger parts have less
   to tell each other. Of how many parts a thread asks at a time is `looks`; `looks_end`: not all times there are so
   many. #}
{% macro column_pairs_functions() %}
{% for operand in ["x", "y"] %}
// Which four of {{ operand }} is the thread's first.
fn first_four_of_{{ operand }}(tile: u32, tid: u32) -> u32 {
{{ split_place() }}
{{ tile_place() }}
  return (p.{{ operand }}_o + {{ operand }}_row(row) + {{ operand }}_at(min(first, p.steps - 1u))) >> 2u;
}
{% endfor %}
{% endmacro %}
{# Loads the words, and says as inside0, … whether they are in the row, where they may not be: then they are `outside`. #}
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
{# Where y's fours are; found again, so that compilers keep nothing to find them. #}
{% macro results_begin() %}
  let y_first = first_four_of_y(tile, tid + p.opaque_zero);
  let y_hop = bitcast<u32>(bitcast<i32>(p.y_jump) >> 2u);
{% endmacro %}
{% macro store_words(i, words) %}
  {{ if_inside(i) }} store_four_y(y_first + {{ i }}u * y_hop, {{ words }}); }
{% endmacro %}
{# Part number k of those that a thread asks at a time, from q on, which has `shares` threads to ask; and `value` if there
   is one, else 0. #}
{% macro looked_split(k, shares) -%}
{%- set q = "q + " ~ k * shares ~ "u" -%}
{{ "min(" ~ q ~ ", " ~ (known_splits - 1) ~ "u)" if looks_end else q }}
{%- endmacro %}
{% macro looked(k, shares, value) -%}
{{ "select(0f, " ~ value ~ ", q + " ~ k * shares ~ "u < " ~ known_splits ~ "u)" if k and looks_end else value }}
{%- endmacro %}
