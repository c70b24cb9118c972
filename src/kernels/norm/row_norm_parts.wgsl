{# row_norm.wgsl's of rows in parts (common/row_parts.h). A part's statistics are its mean, what the mean's rounding left
   out, and the sum of squared deviations from it; they join by the pairwise update of common/moments.wgsl, as distances
   from the first part's mean, so that a large mean costs no digits. Not `centred`: the sum of squares. #}
{{ row_access("x") }}
{{ row_access("y") }}
{{ weight_access() }}
{{ team_function("team_sum", "state_t", "add") }}
{{ tile_of("x") }}

{% if centred %}
// Of a part; all windows but the last have rows of one length.
fn elements_of(q: u32) -> f32 {
  let window = q / p.window_parts;
  let length = select(p.window_length, p.last_length, window == p.last_window);
  return f32(min(p.part_elements, length - (q - window * p.window_parts) * p.part_elements));
}
{% endif %}

{{ parts_head() }}
{% if not finish %}
{{ tile_values("0") }}
{% if centred %}
  let n = elements_of(part_of(tile));
  var total = v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
{% endfor %}
  let mean = team_sum(sum_of(total), tid) / n;
{% for i in range(kept) %}
  let d{{ i }} = select(value_t(0), v{{ i }} - mean, inside{{ i }});
{% endfor %}
  total = d0;
{% for i in range(1, kept) %}
  total += d{{ i }};
{% endfor %}
  let rest = team_sum(sum_of(total), tid) / n;
  var squares = d0 * d0;
{% for i in range(1, kept) %}
  squares += d{{ i }} * d{{ i }};
{% endfor %}
  let deviations = team_sum(sum_of(squares), tid) - rest * rest * n;
  if (live && member == 0u) {
{{ put(0, "mean") }}
{{ put(1, "rest") }}
{{ put(2, "deviations") }}
  }
{% else %}
  var squares = v0 * v0;
{% for i in range(1, kept) %}
  squares += v{{ i }} * v{{ i }};
{% endfor %}
  let sum = team_sum(sum_of(squares), tid);
  if (live && member == 0u) {
{{ put(0, "sum") }}
  }
{% endif %}
{% else %}
{% if centred %}
  let reference = {{ get("0u", 0) }};
  var count = 0f;
  var mean = state_t(0);      // less `reference`
  var squares = state_t(0);   // of deviations from the mean
  for (var q = member; q < p.all_parts; q += {{ team }}u) {
    let n = elements_of(q);
    let step = (({{ get("q", 0) }} - reference) + {{ get("q", 1) }}) - mean;
    let joined = count + n;
    mean += step * (n / joined);
    squares += {{ get("q", 2) }} + step * step * (count * (n / joined));
    count = joined;
  }
  let row_mean = team_sum(mean * count, tid) * p.inverse_length;
  let off = mean - row_mean;
  let variance = max(team_sum(squares + off * off * count, tid) * p.inverse_length, state_t(0));
{% else %}
  var squares = state_t(0);
  for (var q = member; q < p.all_parts; q += {{ team }}u) {
    squares += {{ get("q", 0) }};
  }
  let variance = team_sum(squares, tid) * p.inverse_length;
{% endif %}
  if (!live) { return; }
  let factor = inverseSqrt(variance + p.epsilon);
  let y0 = y_row(row);
{{ weight_rows() }}
{% for i in range(kept) %}
  if ({{ tile_step(i) }} < p.steps) {
{{ load_weights("w_", tile_step(i)) }}
{% set deviation = "((loaded.v" ~ i ~ " - reference) - row_mean)" if centred else "loaded.v" ~ i %}
    {{ store_step("y", "y0", tile_step(i), weighted(deviation ~ " * factor", "w_")) }};
  }
{% endfor %}
{% endif %}
}
