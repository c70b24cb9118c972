{# Softmax, or its logarithm, of rows in parts (common/row_parts.h). A part's statistics are its maximum and its sum of
   exponentials below that, which join as in softmax.wgsl. What waits keeps the exponentials, unless it keeps words. #}
{% set keeps_exponentials = gathers and finishes and not logarithm and not packed %}
{{ row_access("x") }}
{{ row_access("y") }}
{{ team_function("team_max", "state_t", "larger") }}
{{ team_function("team_sum", "state_t", "add") }}

{{ tile_of("x") }}

{{ parts_head() }}
{% if gathers %}
{{ tile_values("lowest") }}
{% macro value_or(other, i) %}{{ masked("value_t(" ~ other ~ ")", tile_value(i), i) if packed else tile_value(i) }}{% endmacro %}
  var top = max(state_t(lowest), largest_of({{ value_or("lowest", 0) }}));
{% for i in range(1, kept) %}
  top = max(top, largest_of({{ value_or("lowest", i) }}));
{% endfor %}
  top = team_max(top, tid);
{{ forget_values() }}
  var total = value_t(0);
{% for i in range(kept) %}
  {{ "v" ~ i ~ " =" if keeps_exponentials else "let e" ~ i ~ " =" }} {{ masked("value_t(0)", "exp(" ~ tile_value(i) ~ " - top)", i) }};
  total += {{ "v" if keeps_exponentials else "e" }}{{ i }};
{% endfor %}
  let sum = team_sum(sum_of(total), tid);
  if (live && member == 0u) {
{{ put(0, "top") }}
{{ put(1, "sum") }}
  }
{% endif %}
{% if finishes %}
  var part_top = state_t(lowest);
  var part_total = state_t(0);
  for (var q = member; q < p.all_parts; q += {{ team }}u) {
    let f = load_found_of(tile, q, slot);
    let a = {{ got(0) }};
    let b = {{ got(1) }};
    let next = max(part_top, a);
    part_total = part_total * exp(part_top - next) + b * exp(a - next);
    part_top = next;
  }
  let row_top = team_max(part_top, tid);
  let row_total = team_sum(part_total * exp(part_top - row_top), tid);
{{ parts_found() }}
  let y0 = y_row(row);
{{ tile_first("y", "y0") }}
{% if logarithm %}
{% if state == "vec4" %}
  let less = state_t(log_f32(row_total.x), log_f32(row_total.y), log_f32(row_total.z), log_f32(row_total.w));
{% else %}
  let less = log_f32(row_total);
{% endif %}
{% elif keeps_exponentials %}
  let scale = exp(top - row_top) / row_total;
{% else %}
  let scale = 1 / row_total;
{% endif %}
{{ forget_values() if gathers else "" }}
{% for i in range(kept) %}
{% set below = "(" ~ tile_value(i) ~ " - row_top)" %}
  {{ if_inside(i) }}
    {{ store_tile("y", "y0", i, below ~ " - less" if logarithm else "v" ~ i ~ " * scale" if keeps_exponentials else "exp" ~ below ~ " * scale") }};
  }
{% endfor %}
{% endif %}
{{ parts_end() }}
