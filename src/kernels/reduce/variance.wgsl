{#
  y = sum of squared deviations from the row's mean / divisor, or its square root. A row may be split, as in
  reduce.wgsl: splits publish (mean, the mean's rounding error, squares, elements), which combine by the mean of all
  and then by deviations from it, as distances from the first mean, so that a large mean costs no digits. Whole rows
  that fit stay in registers, as in row_norm.wgsl.

  options:
    op: variance, deviation
    loads_pairs: flag
#}
{{ operand_access() }}
{{ result_access() }}
{{ row_reduction("row_sum", "state_t", "add") }}

{% macro split_word(w, component) -%}
bitcast<u32>({{ "elements" if w == 3 else ["split_mean", "split_rest", "split_squares"][w] ~ component }})
{%- endmacro %}
{% macro join_split(k) %}
      if (some == 0f) { reference = bitcast<state_t>(left0_{{ k }}); }
      let apart = ((bitcast<state_t>(left0_{{ k }}) - reference) + bitcast<state_t>(left1_{{ k }})) - mean_of_splits;
      let n = bitcast<f32>(left3_{{ k }}{{ ".x" if rows_per_thread == 4 }});
      let share = n / max(some + n, 1f);
      mean_of_splits += apart * share;
      squares_of_splits += bitcast<state_t>(left2_{{ k }}) + apart * (apart * (some * share));
      some += n;
{% endmacro %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{{ split_place() }}
{{ operand_starts() }}
{% if partial_in %}
  let reference = load_x(x_start).x;
  var total = 0f;
  for (var i = lane; i < p.steps; i += {{ threads_per_row }}u) {
    let split_mean = load_x(x_start + x_at(i));
    total += ((split_mean.x - reference) + split_mean.y) * load_x(x_start + x_at(i) + 1u).y;
  }
  let row_mean = row_sum(total, tid) / p.length;
  var squares = 0f;
  for (var i = lane; i < p.steps; i += {{ threads_per_row }}u) {
    let split_mean = load_x(x_start + x_at(i));
    let split_squares = load_x(x_start + x_at(i) + 1u);
    let step = ((split_mean.x - reference) + split_mean.y) - row_mean;
    squares += split_squares.x + step * step * split_squares.y;
  }
  let row_squares = row_sum(squares, tid);
{% elif register_steps %}
{% set end = register_steps - 1 %}
{{ row_steps() }}
{{ take_row("0", row_place) }}
  var total = v0;
{% for i in range(1, register_steps) %}
  total += v{{ i }};
{% endfor %}
  let mean = row_sum(sum_of(total), tid) / p.length;
{% for i in range(register_steps) %}
  v{{ i }} -= mean;
{% endfor %}
  v{{ end }} = select(value_t(0), v{{ end }}, whole);
  total = v0;
  var squares = v0 * v0;
{% for i in range(1, register_steps) %}
  total += v{{ i }};
  squares += v{{ i }} * v{{ i }};
{% endfor %}
  // The deviations' own sum takes out the mean's rounding error.
  let rest = row_sum(sum_of(total), tid);
  let row_squares = row_sum(sum_of(squares), tid) - rest * (rest / p.length);   // here as below perhaps just below 0
{% else %}
  let begin = min(split * p.split_steps, p.steps);
  let end = min(begin + p.split_steps, p.steps);
{{ gather_moments() }}
  let elements = f32((end - begin) * {{ 4 if width == 4 and not across else 1 }}u);
{% set of = "split" if joins else "row" %}
{{ join_lanes(of ~ "_mean", of ~ "_rest", of ~ "_squares", "elements") }}
{% if joins %}
{{ publish_split(split_word) }}
{# A lane's few splits are combined as distances from its first one. #}
  var reference = state_t(0);
  var some = 0f;
  var mean_of_splits = state_t(0);   // less `reference`
  var squares_of_splits = state_t(0);
{{ join_splits(join_split) }}
{# Distances from those of the first lane, which always has a split. #}
  let first_mean = row_sum(select(state_t(0), reference, lane == 0u), tid);
  let from_first = (reference - first_mean) + mean_of_splits;
  let row_mean = row_sum(select(state_t(0), from_first * some, some > 0f), tid) / p.length;
  let apart = from_first - row_mean;
  let row_squares = row_sum(select(state_t(0), squares_of_splits + apart * (apart * some), some > 0f), tid);
{% endif %}
{% endif %}
  if (!live || lane != 0u) { return; }
{% macro result(component) -%}
{% set variance = "relu_f32(row_squares" ~ component ~ ") / p.divisor" %}
{{- "sqrt(" ~ variance ~ ")" if op == "deviation" else variance }}
{%- endmacro %}
{% if partial_out %}
{% for i in range(rows_per_thread) %}
{% set component = "[" ~ i ~ "]" if rows_per_thread == 4 else "" %}
  store_y(y_row(row + {{ i }}u) + 2u * split, vec2<f32>(row_mean{{ component }}, row_rest{{ component }}));
  store_y(y_row(row + {{ i }}u) + 2u * split + 1u, vec2<f32>(row_squares{{ component }}, elements));
{% endfor %}
{% else %}
{{ store_results(result) }}
{% endif %}
}
