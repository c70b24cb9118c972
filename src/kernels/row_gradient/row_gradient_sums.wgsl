{# Of rows with one scale, in registers that lie along memory (row_gradient_result.wgsl). A row that is one of the norm
   gets its result, and `sums`, [rows, 2], what it leaves for the weights. A row that is a segment of one leaves its
   mean, the mean's rounding error, its variance, the sum of g, and that of g times deviations in `sums`, [rows, 5]. #}
{{ operand_access() }}
{{ row_reduction("row_sum", "f32", "add") }}
fn add_fours(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a + b; }
{{ row_reduction("row_sums", "vec4<f32>", "add_fours") }}
{% set end = register_steps - 1 %}
{% macro inside(i) -%}{{ "whole" if i == end else "" }}{%- endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
{{ operand_starts() }}
{{ row_steps() }}
{% for i in range(register_steps) %}
  var v{{ i }} = {{ in_step("value_t(0)", "value_x(" ~ row_place("x", i, inside(i)) ~ ")", i) }};
  let g{{ i }} = {{ in_step("value_t(0)", "value_e0(" ~ row_place("e0", i, inside(i)) ~ ")", i) }};
{% endfor %}
  var total = value_t(0);
{% for i in range(register_steps) %}
  total += v{{ i }};
{% endfor %}
  let mean = row_sum(sum_of(total), tid) * p.inverse_length;
  total = value_t(0);
  var squares = value_t(0);
  var g_total = value_t(0);
  var products = value_t(0);
{% for i in range(register_steps) %}
  v{{ i }} = {{ in_step("value_t(0)", "v" ~ i ~ " - mean", i) }};
  total += v{{ i }};
  squares += v{{ i }} * v{{ i }};
  g_total += g{{ i }};
  products += g{{ i }} * v{{ i }};
{% endfor %}
  let sums = row_sums(vec4<f32>(sum_of(total), sum_of(squares), sum_of(g_total), sum_of(products)), tid);
  let rest = sums.x * p.inverse_length;
  let variance = max(sums.y * p.inverse_length - rest * rest, 0f);
  let product = sums.w - rest * sums.z;
  if (!live) { return; }
{% if results %}
  let factor = inverseSqrt(variance + p.epsilon);
  let scale = load_e1(e1_start);
  let d_mean = sums.z * p.inverse_length * scale;
  let slope = product * p.inverse_length * scale * factor * factor;
{% for i in range(register_steps) %}
  {{ "if (whole) {" if i == end else "{" }}
{{ put("r" ~ i ~ "_", row_place, i, result("v" ~ i ~ " - rest", "g" ~ i ~ " * scale")) }}
  }
{% endfor %}
  if (lane == 0u) {
    store_sums(row * 2u, product * factor);
    store_sums(row * 2u + 1u, sums.z);
  }
{% else %}
  if (lane == 0u) {
{{ leave_segment("row", "mean", "rest", "variance", "sums.z", "product") }}
  }
{% endif %}
}
