{# Softmax, or its logarithm, of rows in parts (common/row_parts.h). A part's statistics are its maximum and its sum of
   exponentials below that, which join as in softmax.wgsl. #}
{{ row_access("x") }}
{{ row_access("y") }}
{{ team_function("team_max", "state_t", "larger") }}
{{ team_function("team_sum", "state_t", "add") }}

{{ tile_of("x") }}

{{ parts_head() }}
{% if not finish %}
{{ tile_values("lowest") }}
  var top = max(state_t(lowest), largest_of(v0));
{% for i in range(1, kept) %}
  top = max(top, largest_of(v{{ i }}));
{% endfor %}
  top = team_max(top, tid);
  var total = select(value_t(0), exp(v0 - top), inside0);
{% for i in range(1, kept) %}
  total += select(value_t(0), exp(v{{ i }} - top), inside{{ i }});
{% endfor %}
  let sum = team_sum(sum_of(total), tid);
  if (live && member == 0u) {
{{ put(0, "top") }}
{{ put(1, "sum") }}
  }
{% else %}
  var top = state_t(lowest);
  var total = state_t(0);
  for (var q = member; q < p.all_parts; q += {{ team }}u) {
    let a = {{ get("q", 0) }};
    let b = {{ get("q", 1) }};
    let next = max(top, a);
    total = total * exp(top - next) + b * exp(a - next);
    top = next;
  }
  let row_top = team_max(top, tid);
  let row_total = team_sum(total * exp(top - row_top), tid);
  if (!live) { return; }
  let y0 = y_row(row);
{% if logarithm %}
{% if state == "vec4" %}
  let less = state_t(log_f32(row_total.x), log_f32(row_total.y), log_f32(row_total.z), log_f32(row_total.w));
{% else %}
  let less = log_f32(row_total);
{% endif %}
{% else %}
  let scale = 1 / row_total;
{% endif %}
{% for i in range(kept) %}
{% set below = "(loaded.v" ~ i ~ " - row_top)" %}
  if ({{ tile_step(i) }} < p.steps) {
    {{ store_step("y", "y0", tile_step(i), below ~ " - less" if logarithm else "exp" ~ below ~ " * scale") }};
  }
{% endfor %}
{% endif %}
}
