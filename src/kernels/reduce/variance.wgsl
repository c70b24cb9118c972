{# y = sum of squared deviations from the row's mean / divisor, or its square root. A row may be cut into parts, as in
   reduce.wgsl: they leave (mean, what its rounding left out, squares, elements), which join by the mean of all and then
   by deviations from it, as distances from the first mean, so that a large mean costs no digits. Whole rows that fit
   stay in registers, as in row_norm.wgsl. #}
{{ work_access() }}
{{ result_access() }}
{{ team_function("team_sum", "state_t", "add") }}

{% macro part_word(w, lane) -%}
bitcast<u32>({{ "elements" if w == 3 else ["part_mean", "part_rest", "part_squares"][w] ~ lane }})
{%- endmacro %}
{% macro join_part(k) %}
      if (some == 0f) { reference = bitcast<state_t>(left0_{{ k }}); }
      let apart = ((bitcast<state_t>(left0_{{ k }}) - reference) + bitcast<state_t>(left1_{{ k }})) - mean_of_parts;
      let n = bitcast<f32>(left3_{{ k }}{{ ".x" if rows_per_team == 4 }});
      let share = n / max(some + n, 1f);
      mean_of_parts += apart * share;
      squares_of_parts += bitcast<state_t>(left2_{{ k }}) + apart * (apart * (some * share));
      some += n;
{% endmacro %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{{ parts_place() }}
{{ work_starts() }}
{% if partial_in %}
  let reference = load_x(x_start).x;
  var total = 0f;
  for (var i = member; i < p.steps; i += {{ team }}u) {
    let part_mean = load_x(x_start + x_at(i));
    total += ((part_mean.x - reference) + part_mean.y) * load_x(x_start + x_at(i) + 1u).y;
  }
  let row_mean = team_sum(total, tid) / p.length;
  var squares = 0f;
  for (var i = member; i < p.steps; i += {{ team }}u) {
    let part_mean = load_x(x_start + x_at(i));
    let part_squares = load_x(x_start + x_at(i) + 1u);
    let step = ((part_mean.x - reference) + part_mean.y) - row_mean;
    squares += part_squares.x + step * step * part_squares.y;
  }
  let row_squares = team_sum(squares, tid);
{% elif kept %}
{% set end = kept - 1 %}
{{ kept_steps() }}
{{ take_row("0", row_place) }}
  var total = v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
{% endfor %}
  let mean = team_sum(sum_of(total), tid) / p.length;
{% for i in range(kept) %}
  v{{ i }} -= mean;
{% endfor %}
  v{{ end }} = select(value_t(0), v{{ end }}, whole);
  total = v0;
  var squares = v0 * v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
  squares += v{{ i }} * v{{ i }};
{% endfor %}
  // The deviations' own sum takes out the mean's rounding error.
  let rest = team_sum(sum_of(total), tid);
  let row_squares = team_sum(sum_of(squares), tid) - rest * (rest / p.length);   // here as below perhaps just below 0
{% else %}
  let begin = min(part * p.part_steps, p.steps);
  let end = min(begin + p.part_steps, p.steps);
{{ gather_moments() }}
  let elements = f32((end - begin) * {{ 4 if width == 4 and not across else 1 }}u);
{% set of = "part" if joins else "row" %}
{{ join_team(of ~ "_mean", of ~ "_rest", of ~ "_squares", "elements") }}
{% if joins %}
{{ leave_parts(part_word) }}
{# A member's first part, of which there are few more, tells what the others are distances from. #}
  var reference = state_t(0);
  var some = 0f;
  var mean_of_parts = state_t(0);   // less `reference`
  var squares_of_parts = state_t(0);
{{ join_parts(join_part) }}
{# Those of the first member, which has a part. #}
  let first_mean = team_sum(select(state_t(0), reference, member == 0u), tid);
  let from_first = (reference - first_mean) + mean_of_parts;
  let row_mean = team_sum(select(state_t(0), from_first * some, some > 0f), tid) / p.length;
  let apart = from_first - row_mean;
  let row_squares = team_sum(select(state_t(0), squares_of_parts + apart * (apart * some), some > 0f), tid);
{% endif %}
{% endif %}
  if (!live || member != 0u) { return; }
{% macro result(lane) -%}
{% set variance = "relu_f32(row_squares" ~ lane ~ ") / p.divisor" %}
{{- "sqrt(" ~ variance ~ ")" if op == "deviation" else variance }}
{%- endmacro %}
{% if partial_out %}
{% for i in range(rows_per_team) %}
{% set lane = "[" ~ i ~ "]" if rows_per_team == 4 else "" %}
  store_y(y_row(row + {{ i }}u) + 2u * part, vec2<f32>(row_mean{{ lane }}, row_rest{{ lane }}));
  store_y(y_row(row + {{ i }}u) + 2u * part + 1u, vec2<f32>(row_squares{{ lane }}, elements));
{% endfor %}
{% else %}
{{ store_results(result) }}
{% endif %}
}
