{# Mean and sum of squared deviations of a row of floats, in one pass: each thread merges exact moments of small groups
   (the pairwise update of Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983) of x less a
   first estimate of the mean, so that a large mean costs no digits. After float_rows.wgsl and
   a team_function called team_sum; `value` is a macro that says what x has at a step. #}
{% macro pilot_mean(value) %}
{% set per_step = 4 if width == 4 and not across else 1 %}
  // Any value near the mean will do; an outlier at the row's start must not make it far.
  let pilot_steps = min(p.steps, {{ 8 * team }}u);
  var pilot = state_t(0);
  for (var i = member; i < pilot_steps; i += {{ team }}u) { pilot += sum_of({{ value("i") }}); }
  let shift = team_sum(pilot, tid) / f32(pilot_steps * {{ per_step }}u);
{% endmacro %}
{# Of the steps first, first + team, … before `end`: count, and mean less `shift`, and sum of squared deviations from it. #}
{% macro gather_moments(first, end, value) %}
{% set per_step = 4 if width == 4 and not across else 1 %}
  var count = 0f;
  var mean = state_t(0);
  var squares = state_t(0);   // of deviations from `mean`
  var k = {{ first }};
  for (; k + {{ 3 * team }}u < {{ end }}; k += {{ 4 * team }}u) {
{% for i in range(4) %}
    var v{{ i }} = {{ value("k + " ~ i * team ~ "u") }} - shift;
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
  for (; k < {{ end }}; k += {{ team }}u) {
    let v = {{ value("k") }} - shift;
    let group_mean = sum_of(v) * {{ 1.0 / per_step }}f;
    let step = group_mean - mean;
    let joined = count + {{ per_step }}f;
    mean += step * ({{ per_step }}f / joined);
    squares += sum_of((v - group_mean) * (v - group_mean)) + step * step * (count * ({{ per_step }}f / joined));
    count = joined;
  }
{% endmacro %}
