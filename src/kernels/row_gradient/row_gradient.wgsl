{# Gradients along rows (row_gradient_result.wgsl). Rows that fit registers are read once, longer ones again for each
   sum. Sums of squares and products are of deviations from a mean, whose own rounding error `rest` is corrected
   (row_norm.wgsl). #}
{{ operand_access() }}
{{ row_reduction("row_sum", "state_t", "add") }}
{# The sums of a row's deviations, their squares, d, and d times deviations, together where a row's state is one number. #}
{% set together = norm and state == "" %}
{% if together %}
fn add_fours(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a + b; }
{{ row_reduction("row_sums", "vec4<f32>", "add_fours") }}
{% endif %}
{# Declares what results need, of the variables total, squares, d_total and products. #}
{% macro join_sums() %}
{% if together %}
  let sums = row_sums(vec4<f32>(sum_of(total), sum_of(squares), sum_of(d_total), sum_of(products)), tid) * p.inverse_length;
{% if kind == "centred" %}
  let rest = sums.x;
{% endif %}
  let square = sums.y;
  let d_mean = sums.z;
  let product = sums.w;
{% else %}
{% if kind == "centred" %}
  let rest = row_sum(sum_of(total), tid) * p.inverse_length;
{% endif %}
  let square = row_sum(sum_of(squares), tid) * p.inverse_length;
  let d_mean = row_sum(sum_of(d_total), tid) * p.inverse_length;
  let product = row_sum(sum_of(products), tid) * p.inverse_length;
{% endif %}
{% if kind == "centred" %}
  let factor = inverseSqrt(max(square - rest * rest, state_t(0)) + p.epsilon);
  let slope = (product - rest * d_mean) * factor * factor;
{% else %}
  let factor = inverseSqrt(square + p.epsilon);
  let slope = product * factor * factor;
{% endif %}
{% endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
{{ operand_starts() }}
{% if register_steps %}
{% set end = register_steps - 1 %}
{{ row_steps() }}
{{ first_places() if unaligned }}
{% macro spot(operand, i, inside) %}{{ register_place(operand, i, inside) if unaligned else row_place(operand, i, inside) }}{% endmacro %}
{{ take_row("0", spot) }}
{% for i in range(register_steps) %}
  let d{{ i }} = {{ in_step("value_t(0)", d_at(spot, i, "" if i < end else "whole"), i) }};
{% endfor %}
{% if norm %}
{% if kind == "centred" %}
  var total = v0;
{% for i in range(1, register_steps) %}
  total += v{{ i }};
{% endfor %}
  let mean = row_sum(sum_of(total), tid) * p.inverse_length;
{% for i in range(register_steps) %}
  v{{ i }} = {{ in_step("value_t(0)", "v" ~ i ~ " - mean", i) }};
{% endfor %}
  total = v0;
{% for i in range(1, register_steps) %}
  total += v{{ i }};
{% endfor %}
{% else %}
  let total = value_t(0);
{% endif %}
  var squares = v0 * v0;
  var d_total = d0;
  var products = d0 * v0;
{% for i in range(1, register_steps) %}
  squares += v{{ i }} * v{{ i }};
  d_total += d{{ i }};
  products += d{{ i }} * v{{ i }};
{% endfor %}
{{ join_sums() }}
{% else %}
  var total = {{ term("v0", "d0") }};
{% for i in range(1, register_steps) %}
  total += {{ term("v" ~ i, "d" ~ i) }};
{% endfor %}
  let row_total = row_sum(sum_of(total), tid);
{% endif %}
  if (!live) { return; }
{% for i in range(register_steps) %}
  {{ "if (whole) {" if i == end else "{" }}
{{ put("r" ~ i ~ "_", spot, i, result("v" ~ i ~ (" - rest" if kind == "centred" else ""), "d" ~ i)) }}
  }
{% endfor %}
{% else %}
{% macro x_at(k) -%}{{ x_step(k) }}{{ " - mean" if kind == "centred" }}{%- endmacro %}
{% if kind == "centred" %}
  var sum = value_t(0);
  for (var k = lane; k < p.steps; k += {{ threads_per_row }}u) {
    sum += {{ x_step("k") }};
  }
  let mean = row_sum(sum_of(sum), tid) * p.inverse_length;
{% endif %}
  var total = value_t(0);
{% if norm %}
  var squares = value_t(0);
  var d_total = value_t(0);
  var products = value_t(0);
{% endif %}
  for (var k = lane; k < p.steps; k += {{ threads_per_row }}u) {
    let d = {{ d_at(loop_place, "k", "") }};
{% if not norm %}
    total += {{ term(x_step("k"), "d") }};
{% else %}
    let v = {{ x_at("k") }};
{% if kind == "centred" %}
    total += v;
{% endif %}
    squares += v * v;
    d_total += d;
    products += d * v;
{% endif %}
  }
{% if norm %}
{{ join_sums() }}
{% else %}
  let row_total = row_sum(sum_of(total), tid);
{% endif %}
  if (!live) { return; }
{{ steps_left() }}
  for (; left > 0u; left--) {
    let last = lane + (left - 1u) * {{ threads_per_row }}u;
    let v = {{ x_at("last") }};
    let d = {{ d_at(loop_place, "last", "") }};
{{ put("r_", loop_place, "last", result("v - rest" if kind == "centred" else "v", "d")) }}
  }
{% endif %}
}
