{# y = (x - mean) / sqrt(variance + epsilon) · scale + bias along rows; not `centred`: about zero, with the mean of
   squares for the variance.
   Rows that fit are read once: the mean, then sums of deviations from it; the deviations' own sum takes out the mean's
   rounding error (the corrected two-pass algorithm: Chan, Golub and LeVeque, "Algorithms for computing the sample
   variance", 1983). Longer rows are read twice: their moments first (common/moments.wgsl). #}
{{ row_access("x") }}
{{ row_access("y") }}
{{ weight_access() }}
{{ team_function("team_sum", "state_t", "add") }}
{% set together = kept and centred and state == "" %}
{% if together %}
fn add_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return a + b; }
{{ team_function("team_sums", "vec2<f32>", "add_pairs") }}
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
  let x0 = x_row(row);
  let y0 = y_row(row);
{{ weight_rows() }}
{% if kept %}
{% set end = kept - 1 %}
{{ kept_steps() }}
{{ first_place("x", "x0") }}
{{ first_place("y", "y0") }}
{% if scaled %}
{{ first_place("scale", "scale0") }}
{% endif %}
{% if biased %}
{{ first_place("bias", "bias0") }}
{% endif %}
{% for i in range(end) %}
  var v{{ i }} = {{ load_kept("x", i, "") }};
{% endfor %}
  var v{{ end }} = select(value_t(0), {{ load_kept("x", end, "whole") }}, whole);
{# Few weights are loaded before the sums, so as to be there in time. #}
{% set early = kept * width <= 16 %}
{% if early %}
{% for i in range(kept) %}
{{ load_kept_weights("w" ~ i ~ "_", i, "" if i < end else "whole") }}
{% endfor %}
{% endif %}
{% if centred %}
  var total = v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
{% endfor %}
  let mean = team_sum(sum_of(total), tid) * p.inverse_length;
{% for i in range(kept) %}
  v{{ i }} -= mean;
{% endfor %}
  v{{ end }} = select(value_t(0), v{{ end }}, whole);
  total = v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
{% endfor %}
{% endif %}
  var squares = v0 * v0;
{% for i in range(1, kept) %}
  squares += v{{ i }} * v{{ i }};
{% endfor %}
{% if together %}
  let sums = team_sums(vec2<f32>(sum_of(total), sum_of(squares)), tid) * p.inverse_length;
  let rest = sums.x;
  let variance = sums.y - rest * rest;
{% elif centred %}
  let rest = team_sum(sum_of(total), tid) * p.inverse_length;
  let variance = team_sum(sum_of(squares), tid) * p.inverse_length - rest * rest;
{% else %}
  let variance = team_sum(sum_of(squares), tid) * p.inverse_length;
{% endif %}
  let factor = inverseSqrt({{ "max(variance, state_t(0))" if centred else "variance" }} + p.epsilon);
  if (!live) { return; }
{% for i in range(kept) %}
  {{ "if (whole) {" if i == end else "{" }}
{% if not early %}
{{ load_kept_weights("w" ~ i ~ "_", i, "") }}
{% endif %}
    {{ store_kept("y", i, weighted(("(v" ~ i ~ " - rest) * factor") if centred else ("v" ~ i ~ " * factor"), "w" ~ i ~ "_")) }};
  }
{% endfor %}
{% else %}
{% if centred %}
{{ pilot_mean() }}
{{ gather_moments("member", "p.steps") }}
  let row_mean = team_sum(mean * count, tid) * p.inverse_length;
  let step = mean - row_mean;
  let variance = team_sum(squares + step * step * count, tid) * p.inverse_length;
{% else %}
  var squares = state_t(0);
  var k = member;
  for (; k + {{ 3 * team }}u < p.steps; k += {{ 4 * team }}u) {
{% for i in range(4) %}
    let v{{ i }} = {{ load_step("x", "x0", "k + " ~ i * team ~ "u") }};
{% endfor %}
    squares += sum_of((v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3));
  }
  for (; k < p.steps; k += {{ team }}u) {
    let v = {{ load_step("x", "x0", "k") }};
    squares += sum_of(v * v);
  }
  let variance = team_sum(squares, tid) * p.inverse_length;
{% endif %}
  let factor = inverseSqrt(variance + p.epsilon);
  if (!live) { return; }
{% macro normal(v) %}{% if centred %}(({{ v }} - shift) - row_mean) * factor{% else %}{{ v }} * factor{% endif %}{% endmacro %}
{{ steps_left() }}
  for (; left >= 4u; left -= 4u) {
    let last = member + (left - 1u) * {{ team }}u;
{% for i in range(4) %}
    let v{{ i }} = {{ load_step("x", "x0", "last - " ~ i * team ~ "u") }};
{{ load_weights("w" ~ i ~ "_", "last - " ~ i * team ~ "u") }}
{% endfor %}
{% for i in range(4) %}
    {{ store_step("y", "y0", "last - " ~ i * team ~ "u", weighted(normal("v" ~ i), "w" ~ i ~ "_")) }};
{% endfor %}
  }
  for (; left > 0u; left--) {
    let last = member + (left - 1u) * {{ team }}u;
    let v = {{ load_step("x", "x0", "last") }};
{{ load_weights("w_", "last") }}
    {{ store_step("y", "y0", "last", weighted(normal("v"), "w_")) }};
  }
{% endif %}
}
