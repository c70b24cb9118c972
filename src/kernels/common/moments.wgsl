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
{# The same of the steps from `begin` to `end`, loaded ahead (row_work.wgsl): `count` of the thread's elements, of each
   lane, their `mean` less `base`, the first of them, and `squares`, sums of squared deviations. A few steps at a time are
   summed up as distances from the first of them and as the squares of these, which loses few digits, since the first one
   is among them. #}
{% macro gather_moments_ahead() %}
{{ batches_end(batch) }}
  var k = begin + member;
{{ load_ahead(batch) }}
  let base = {{ ahead_value(0) }};
  var count = 0f;
  var mean = value_t(0);
  var squares = value_t(0);
{% if loops %}
  for (; k < stop; k += {{ batch * team }}u) {
{% for first in range(0, batch, 8) %}
{% set size = 8 if first + 8 <= batch else batch - first %}
    let b{{ first }} = {{ ahead_value(first) }};
    ahead{{ first }} = {{ step_ahead(first, "k + " ~ (batch + first) * team ~ "u") }};
    var total{{ first }} = value_t(0);
    var squares{{ first }} = value_t(0);
{% for i in range(first + 1, first + size) %}
    let d{{ i }} = {{ ahead_value(i) }} - b{{ first }};
    ahead{{ i }} = {{ step_ahead(i, "k + " ~ (batch + i) * team ~ "u") }};
    total{{ first }} += d{{ i }};
    squares{{ first }} = fma(d{{ i }}, d{{ i }}, squares{{ first }});
{% endfor %}
{{ join_moments(size ~ "f", "b" ~ first, "total" ~ first, "squares" ~ first) }}
{% endfor %}
  }
{% endif %}
{% if left %}
  {
    let b = {{ ahead_value(0) }};
    var some = {{ "1f" if left_whole else "select(0f, 1f, k < end)" }};
    var total = value_t(0);
    var some_squares = value_t(0);
{% for i in range(1, left) %}
    {
      let d = {{ ahead_value(i) }} - b;
{% if i >= left_whole %}
      let inside = k + {{ i * team }}u < end;
      total += select(value_t(0), d, inside);
      some_squares += select(value_t(0), d * d, inside);
      some += select(0f, 1f, inside);
{% else %}
      total += d;
      some_squares += d * d;
      some += 1f;
{% endif %}
    }
{% endfor %}
{{ join_moments("some", "b", "total", "some_squares") }}
  }
{% else %}
  squares = value_t(bitcast<f32>(0x7fc00000u | p.nothing));   // there are no steps
{% endif %}
{% endmacro %}
{# Joins moments of `size` elements, sums of distances from `b` and of their squares, to the thread's. #}
{% macro join_moments(size, b, total, squares) %}
    {
      let own = {{ total }} / max({{ size }}, 1f);
      let step = (({{ b }} - base) + own) - mean;
      let joined = count + {{ size }};
      let share = {{ size }} / max(joined, 1f);
      mean = fma(step, value_t(share), mean);
      squares += fma(-own, {{ total }}, {{ squares }}) + step * step * (count * share);
      count = joined;
    }
{% endmacro %}
{# Joins the team's as `mean_of`, what its rounding left out, `rest_of`, and `squares_of`, all of `elements`. The rest is
   taken out of the squares, too. #}
{% macro join_team(mean_of, rest_of, squares_of, elements) %}
  let {{ mean_of }} = team_sum(sum_of((base + mean) * (count / max({{ elements }}, 1f))), tid);
  let off = (base - {{ mean_of }}) + mean;
  let {{ rest_of }} = team_sum(sum_of(off * count), tid) / max({{ elements }}, 1f);
  let {{ squares_of }} = team_sum(sum_of(squares + off * off * count), tid) - {{ rest_of }} * ({{ rest_of }} * {{ elements }});
{% endmacro %}
