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
{# The same of the steps from `begin` to `end`, loaded ahead (row_work.wgsl): what comes first is the estimate, too. #}
{% macro gather_moments_ahead() %}
{% set per_step = 4 if width == 4 and not across else 1 %}
{{ batches_end(batch) }}
  var k = begin + member;
{{ load_ahead(batch) }}
  // Any value near the mean will do; an outlier at the row's start must not make it far.
  let shift = team_sum(sum_of({% for i in range(batch) %}{{ " + " if i }}{{ "widen4_x(ahead" ~ i ~ ")" if loads_words else "ahead" ~ i }}{% endfor %}), tid) * {{ 1.0 / (batch * team * per_step) }}f;
  var count = 0f;
  var mean = state_t(0);
  var squares = state_t(0);   // of deviations from `mean`
{% if loops %}
  for (; k < stop; k += {{ batch * team }}u) {
{% for first in range(0, batch, 4) %}
{% set size = 4 if first + 4 <= batch else batch - first %}
{% for i in range(first, first + size) %}
{{ take_ahead(i, "k + " ~ i * team ~ "u", "") }}
      ahead{{ i }} = {{ step_ahead(i, "k + " ~ (batch + i) * team ~ "u") }};
      let d{{ i }} = v{{ i }} - shift;
{% endfor %}
      let mean{{ first }} = sum_of({% for i in range(first, first + size) %}{{ " + " if i > first }}d{{ i }}{% endfor %}) * {{ 1.0 / (size * per_step) }}f;
{% for i in range(first, first + size) %}
      let e{{ i }} = d{{ i }} - mean{{ first }};
{% endfor %}
      let step{{ first }} = mean{{ first }} - mean;
      let joined{{ first }} = count + {{ size * per_step }}f;
      mean += step{{ first }} * ({{ size * per_step }}f / joined{{ first }});
      squares += sum_of({% for i in range(first, first + size) %}{{ " + " if i > first }}e{{ i }} * e{{ i }}{% endfor %}) + step{{ first }} * step{{ first }} * (count * ({{ size * per_step }}f / joined{{ first }}));
      count = joined{{ first }};
{% endfor %}
  }
{% endif %}
{% if left %}
  {
    var some = 0f;
    var total = value_t(0);
{% for i in range(left) %}
{% set at = "k + " ~ i * team ~ "u" %}
{{ take_ahead(i, at, "") }}
{% if i >= left_whole %}
    let is_in{{ i }} = {{ at }} < end;
    let d{{ i }} = select(value_t(0), v{{ i }} - shift, is_in{{ i }});
    some += select(0f, {{ per_step }}f, is_in{{ i }});
{% else %}
    let d{{ i }} = v{{ i }} - shift;
    some += {{ per_step }}f;
{% endif %}
    total += d{{ i }};
{% endfor %}
    let group_mean = sum_of(total) / max(some, 1f);
    var group_squares = value_t(0);
{% for i in range(left) %}
{% if i >= left_whole %}
    let e{{ i }} = select(value_t(0), d{{ i }} - group_mean, is_in{{ i }});
{% else %}
    let e{{ i }} = d{{ i }} - group_mean;
{% endif %}
    group_squares += e{{ i }} * e{{ i }};
{% endfor %}
    let step = group_mean - mean;
    let share = some / max(count + some, 1f);
    mean += step * share;
    squares += sum_of(group_squares) + step * step * (count * share);
    count += some;
  }
{% else %}
  squares = state_t(bitcast<f32>(0x7fc00000u | p.nothing));   // there are no steps
{% endif %}
{% endmacro %}
