{#
  y = exp(x - max) / sum(exp(x - max)) along rows, or, if `logarithm`, x - max - log(sum(exp(x - max))). Rows that fit
  are read once and stay in registers. Longer ones are read twice: first for maximum and sum, in one pass that rescales
  the sum when the maximum grows (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). The
  maximum starts at the lowest finite value, so that a row of -inf becomes 0 · (1 / 0) = NaN, and rescaling never
  computes inf - inf. Registers hold long 16-bit rows as words of two elements (`packed`), half the registers, which
  are widened at each use.

  options:
    logarithm: flag
    packed: flag
    rounds: flag
    one_step: flag
#}
{{ operand_access() }}
{{ row_reduction("row_max", "state_t", "larger") }}
{{ row_reduction("row_sum", "state_t", "add") }}
{% macro result(v) %}{% if logarithm %}({{ v }} - row_top) - less{% else %}exp_below({{ v }}, row_top) * scale{% endif %}{% endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
{{ operand_starts() }}
{% if register_steps %}
{% set end = register_steps - 1 %}
{{ row_steps() }}
{{ first_places() if unaligned }}
{% macro spot(operand, i, inside) %}{{ register_place(operand, i, inside) if unaligned else row_place(operand, i, inside) }}{% endmacro %}
{% if packed %}
{% for i in range(register_steps) %}
  var v{{ i }} = words4_x({{ spot("x", i, "whole" if i == end else "") }});
{% endfor %}
  var top = state_t(lowest);
{% for i in range(register_steps) %}
  top = max(top, largest_of({{ in_step("value_t(lowest)", "widen4_x(v" ~ i ~ ")", i) }}));
{% endfor %}
  top = row_max(top, tid);
{{ forget_values() }}
  var total = value_t(0);
{% for i in range(register_steps) %}
  total += {{ in_step("value_t(0)", "exp(widen4_x(v" ~ i ~ ") - top)", i) }};
{% endfor %}
{{ forget_values() }}
{% else %}
{{ take_row("lowest", spot) }}
  var top = max(state_t(lowest), largest_of(v0));
{% for i in range(1, register_steps) %}
  top = max(top, largest_of(v{{ i }}));
{% endfor %}
  top = row_max(top, tid);
{% for i in range(register_steps) %}
{% if logarithm %}
  v{{ i }} -= top;
{% endif %}
  let e{{ i }} = {{ in_step("value_t(0)", "exp(v" ~ i ~ ")" if logarithm else "exp_below(v" ~ i ~ ", top)", i) }};
{% endfor %}
  var total = e0;
{% for i in range(1, register_steps) %}
  total += e{{ i }};
{% endfor %}
{% endif %}
  let row_total = row_sum(sum_of(total), tid);
{% if logarithm %}
  let less = {{ log_of("row_total") }};
{% else %}
  let scale = {{ "select(row_total, 1 / row_total, row_total == row_total)" if one_step else "1 / row_total" }};
{% endif %}
  if (!live) { return; }
{% for i in range(register_steps) %}
{{ take_operands("r" ~ i ~ "_", spot, i, "" if i < end else "whole") }}
{% endfor %}
{% macro put_row(how) %}
{% for i in range(register_steps) %}
  {{ "if (whole) {" if i == end else "{" }}
{% if packed %}
{% set v = "widen4_x(v" ~ i ~ ")" %}
{{ put("r" ~ i ~ "_", spot, i, "(" ~ v ~ " - top) - less" if logarithm else "exp_below(" ~ v ~ ", top) * scale", how) }}
{% else %}
{{ put("r" ~ i ~ "_", spot, i, ("v" ~ i ~ " - less") if logarithm else ("e" ~ i ~ " * scale"), how) }}
{% endif %}
  }
{% endfor %}
{% endmacro %}
{% if rounds and width == 4 %}
  if ({{ "all_positive_f32" if state == "vec4" else "is_positive_f32" }}(row_total)) {
{{ put_row(quick_store) }}
    return;
  }
{% endif %}
{{ put_row("") }}
{% else %}
  var top = state_t(lowest);
  var total = state_t(0);
  var k = lane;
  for (; k + {{ 3 * threads_per_row }}u < p.steps; k += {{ 4 * threads_per_row }}u) {
{% for i in range(4) %}
    let v{{ i }} = {{ x_step("k + " ~ i * threads_per_row ~ "u") }};
{% endfor %}
    let next = max(top, largest_of(max(max(v0, v1), max(v2, v3))));
    total = total * exp(top - next) + sum_of((exp(v0 - next) + exp(v1 - next)) + (exp(v2 - next) + exp(v3 - next)));
    top = next;
  }
  for (; k < p.steps; k += {{ threads_per_row }}u) {
    let v = {{ x_step("k") }};
    let next = max(top, largest_of(v));
    total = total * exp(top - next) + sum_of(exp(v - next));
    top = next;
  }
  let row_top = row_max(top, tid);
  let row_total = row_sum(total * exp(top - row_top), tid);
{% if logarithm %}
  let less = {{ log_of("row_total") }};
{% else %}
  let scale = 1 / row_total;
{% endif %}
  if (!live) { return; }
{{ steps_left() }}
  for (; left >= 4u; left -= 4u) {
    let last = lane + (left - 1u) * {{ threads_per_row }}u;
{% for i in range(4) %}
    let made{{ i }} = {{ made(loop_place, "last - " ~ i * threads_per_row ~ "u", "") }};
{{ take_operands("r" ~ i ~ "_", loop_place, "last - " ~ i * threads_per_row ~ "u", "") }}
{% endfor %}
{% for i in range(4) %}
{{ put_extra_outputs("made" ~ i, loop_place, "last - " ~ i * threads_per_row ~ "u") }}
{{ put("r" ~ i ~ "_", loop_place, "last - " ~ i * threads_per_row ~ "u", result("made" ~ i ~ x_of)) }}
{% endfor %}
  }
  for (; left > 0u; left--) {
    let last = lane + (left - 1u) * {{ threads_per_row }}u;
    let made = {{ made(loop_place, "last", "") }};
{{ take_operands("r_", loop_place, "last", "") }}
{{ put_extra_outputs("made", loop_place, "last") }}
{{ put("r_", loop_place, "last", result("made" ~ x_of)) }}
  }
{% endif %}
}
