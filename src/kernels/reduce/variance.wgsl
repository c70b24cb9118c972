{# y = sum of squared deviations from the row's mean / divisor, or its square root. A row may be cut into parts: then
   `partial_out` stores (mean less a first estimate that all parts of a row share, squares) and a second call with
   `partial_in` joins them, by the first mean and then by deviations from it. Whole rows that fit stay in registers, as in
   row_norm.wgsl. #}
{{ row_access("x") }}
{{ row_access("y") }}
{{ team_function("team_sum", "state_t", "add") }}
{% macro x_step(k) -%}{{ load_step("x", "x0", k) }}{%- endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  let group = group_index(wg, grid);
  let part = group % p.parts;
  {{ thread_place("(group / p.parts)") }}
  let x0 = x_row(row);
{% if partial_in %}
  var total = 0f;
  for (var i = member; i < p.steps; i += {{ team }}u) {
    total += {{ load_step("x", "x0", "i") }}.x * f32(min(p.part_elements, p.length - i * p.part_elements));
  }
  let row_mean = team_sum(total, tid) / f32(p.length);
  var squares = 0f;
  for (var i = member; i < p.steps; i += {{ team }}u) {
    let v = {{ load_step("x", "x0", "i") }};
    let n = f32(min(p.part_elements, p.length - i * p.part_elements));
    squares += v.y + (v.x - row_mean) * (v.x - row_mean) * n;
  }
  let row_squares = team_sum(squares, tid);
{% elif kept %}
{% set end = kept - 1 %}
{{ kept_steps() }}
{{ kept_row("0") }}
  var total = v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
{% endfor %}
  let mean = team_sum(sum_of(total), tid) / f32(p.length);
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
  let row_squares = team_sum(sum_of(squares), tid) - rest * (rest / f32(p.length));   // perhaps just below 0
{% else %}
{{ pilot_mean(x_step) }}
  let end = min((part + 1u) * p.part_steps, p.steps);
{{ gather_moments("part * p.part_steps + member", "end", x_step) }}
  let row_mean = team_sum(mean * count, tid) / f32(min(p.part_elements, p.length - part * p.part_elements));
  let step = mean - row_mean;
  let row_squares = team_sum(squares + step * step * count, tid);
{% endif %}
  if (!live || member != 0u) { return; }
{% for i in range(rows_per_team) %}
{% set lane = "[" ~ i ~ "]" if rows_per_team == 4 else "" %}
{% set result = ("relu_f32(row_squares" ~ lane ~ ")" if kept else "row_squares" ~ lane) ~ " / p.divisor" %}
{% if partial_out %}
  store_y(y_row(row + {{ i }}u) + part, vec2<f32>(row_mean{{ lane }}, row_squares{{ lane }}));
{% elif op == "deviation" %}
  store_y(y_row(row + {{ i }}u) + part, sqrt({{ result }}));
{% else %}
  store_y(y_row(row + {{ i }}u) + part, {{ result }});
{% endif %}
{% endfor %}
}
