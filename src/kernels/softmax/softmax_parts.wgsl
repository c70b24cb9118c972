{# Softmax, or its logarithm, of rows in parts (common/row_parts.h). A part's statistics are its maximum and its sum of
   exponentials below that, which join as in softmax.wgsl. What waits keeps the exponentials, unless it keeps words:
   then, where y has 16 bits too, the sum is taken off in the exponent, an operation less and a rounding more. #}
{% set keeps_exponentials = gathers and finishes and not logarithm and not packed %}
{{ work_access() }}
{{ team_function("team_max", "state_t", "larger") }}
{{ team_function("team_sum", "state_t", "add") }}

{{ tile_of_inputs() }}
{{ parts_head() }}
{% if gathers %}
{# Words of infinities, whose exponentials are 0. #}
{{ tile_values("lowest", "0xfc00fc00u" if x_is_f16 else "0xff80ff80u") }}
  var top = max(state_t(lowest), largest_of({{ tile_value(0) }}));
{% for i in range(1, kept) %}
  top = max(top, largest_of({{ tile_value(i) }}));
{% endfor %}
  top = team_max(top, tid);
{{ forget_values() }}
  var total = value_t(0);
{% for i in range(kept) %}
{% set below_top = "exp(" ~ tile_value(i) ~ " - top)" %}
  {{ "v" ~ i ~ " =" if keeps_exponentials else "let e" ~ i ~ " =" }} {{ below_top if packed else masked("value_t(0)", below_top, i) }};
  total += {{ "v" if keeps_exponentials else "e" }}{{ i }};
{% endfor %}
  let sum = team_sum(sum_of(total), tid);
  if (live && member == 0u) {
{{ put_found(0, "top") }}
{{ put_found(1, "sum") }}
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
{{ tile_starts() }}
{% if logarithm %}
{% if state == "vec4" %}
  let less = state_t(log_f32(row_total.x), log_f32(row_total.y), log_f32(row_total.z), log_f32(row_total.w));
{% else %}
  let less = log_f32(row_total);
{% endif %}
{% elif packed and narrow_y %}
  let less = log2(row_total);
{% elif keeps_exponentials %}
  let scale = exp(top - row_top) / row_total;
{% else %}
  let scale = 1 / row_total;
{% endif %}
{{ forget_values() }}
{% macro result(i) -%}
{% set below = "(" ~ tile_value(i) ~ " - row_top)" -%}
{% if logarithm %}{{ below }} - less
{%- elif packed and narrow_y %}exp2(fma({{ below }}, value_t(1.44269504), value_t(-less)))
{%- elif keeps_exponentials %}v{{ i }} * scale
{%- else %}exp{{ below }} * scale
{%- endif %}
{%- endmacro %}
{% for i in range(kept) %}
{{ store_tile(i, result(i)) }}
{% endfor %}
{% endif %}
{{ parts_end() }}
