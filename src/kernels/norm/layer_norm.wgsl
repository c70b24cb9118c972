{# y = (x - mean) / sqrt(variance + epsilon) · scale + bias along rows.
   Rows that fit are read once: the mean, then sums of deviations from it; the deviations' own sum takes out the mean's
   rounding error (the corrected two-pass algorithm: Chan, Golub and LeVeque, "Algorithms for computing the sample
   variance", 1983). Longer rows are read twice: each thread merges exact moments of small groups (the same paper's
   pairwise update) of x less a first estimate of the mean, so that a large mean costs no digits. #}
{{ row_access("x") }}
{{ row_access("y") }}
{% if scaled %}
{{ row_access("scale") }}
{% endif %}
{% if biased %}
{{ row_access("bias") }}
{% endif %}
{{ team_function("team_sum", "state_t", "add") }}

{# An operand of the row's own shape, at step k. #}
{% macro weight(operand, k) -%}
load{{ "4" if width == 4 and not across else "" }}_{{ operand }}({{ operand }}_at({{ step_at(k) }}))
{%- endmacro %}
{# The last of it: scale and bias of step k, loaded as <prefix>scale and <prefix>bias, and the result with them. #}
{% macro load_weights(prefix, k) %}
{% if scaled %}
  let {{ prefix }}scale = {{ weight("scale", k) }};
{% endif %}
{% if biased %}
  let {{ prefix }}bias = {{ weight("bias", k) }};
{% endif %}
{% endmacro %}
{% macro weighted(normal, prefix) -%}
({{ normal }}){% if scaled %} * {{ prefix }}scale{% endif %}{% if biased %} + {{ prefix }}bias{% endif %}
{%- endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
  let x0 = x_row(row);
  let y0 = y_row(row);
{% if kept %}
{% set end = kept - 1 %}
{% for i in range(kept) %}
  let k{{ i }} = member + {{ i * team }}u;
{% endfor %}
  let whole = k{{ end }} < p.steps;   // only the last step can lie past the row's end
{% for i in range(end) %}
  var v{{ i }} = {{ load_step("x", "x0", "k" ~ i) }};
{% endfor %}
  var v{{ end }} = select(value_t(0), {{ load_step("x", "x0", "min(k" ~ end ~ ", p.steps - 1u)") }}, whole);
{# Few weights are loaded before the sums, so as to be there in time. #}
{% set early = kept * width <= 16 %}
{% if early %}
{% for i in range(kept) %}
{{ load_weights("w" ~ i ~ "_", "k" ~ i if i < end else "min(k" ~ i ~ ", p.steps - 1u)") }}
{% endfor %}
{% endif %}
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
  var squares = v0 * v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
  squares += v{{ i }} * v{{ i }};
{% endfor %}
  let rest = team_sum(sum_of(total), tid) * p.inverse_length;
  let variance = team_sum(sum_of(squares), tid) * p.inverse_length - rest * rest;
  let factor = inverseSqrt(max(variance, state_t(0)) + p.epsilon);
  if (!live) { return; }
{% for i in range(kept) %}
  {{ "if (whole) {" if i == end else "{" }}
{% if not early %}
{{ load_weights("w" ~ i ~ "_", "k" ~ i) }}
{% endif %}
    {{ store_step("y", "y0", "k" ~ i, weighted("(v" ~ i ~ " - rest) * factor", "w" ~ i ~ "_")) }};
  }
{% endfor %}
{% else %}
{% set per_step = 4 if width == 4 and not across else 1 %}
  // Any value near the mean will do; an outlier at the row's start must not make it far.
  let pilot_steps = min(p.steps, {{ 8 * team }}u);
  var pilot = state_t(0);
  for (var i = member; i < pilot_steps; i += {{ team }}u) { pilot += sum_of({{ load_step("x", "x0", "i") }}); }
  let shift = team_sum(pilot, tid) / f32(pilot_steps * {{ per_step }}u);
  var count = 0f;
  var mean = state_t(0);
  var squares = state_t(0);   // of deviations from `mean`
  var k = member;
  for (; k + {{ 3 * team }}u < p.steps; k += {{ 4 * team }}u) {
{% for i in range(4) %}
    var v{{ i }} = {{ load_step("x", "x0", "k + " ~ i * team ~ "u") }} - shift;
{% endfor %}
    let group_mean = sum_of((v0 + v1) + (v2 + v3)) * {{ 1.0 / (4 * per_step) }}f;
{% for i in range(4) %}
    v{{ i }} -= group_mean;
{% endfor %}
    let step = group_mean - mean;
    let joined = count + {{ 4 * per_step }}f;
    mean += step * ({{ 4 * per_step }}f / joined);
    squares += sum_of((v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3)) + step * step * (count * ({{ 4 * per_step }}f / joined));
    count = joined;
  }
  for (; k < p.steps; k += {{ team }}u) {
    let v = {{ load_step("x", "x0", "k") }} - shift;
    let group_mean = sum_of(v) * {{ 1.0 / per_step }}f;
    let step = group_mean - mean;
    let joined = count + {{ per_step }}f;
    mean += step * ({{ per_step }}f / joined);
    squares += sum_of((v - group_mean) * (v - group_mean)) + step * step * (count * ({{ per_step }}f / joined));
    count = joined;
  }
  let row_mean = team_sum(mean * count, tid) * p.inverse_length;
  let step = mean - row_mean;
  let variance = team_sum(squares + step * step * count, tid) * p.inverse_length;
  let factor = inverseSqrt(variance + p.epsilon);
  if (!live) { return; }
  // Backwards: what was read last is the likeliest to be in a cache still.
  var left = 0u;
  if (member < p.steps) { left = (p.steps - member + {{ team - 1 }}u) / {{ team }}u; }
  for (; left > 0u; left--) {
    let last = member + (left - 1u) * {{ team }}u;
    let normal = (({{ load_step("x", "x0", "last") }} - shift) - row_mean) * factor;
{{ load_weights("w_", "last") }}
    {{ store_step("y", "y0", "last", weighted("normal", "w_")) }};
  }
{% endif %}
}
