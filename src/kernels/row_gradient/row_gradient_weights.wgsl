{#
  Gradients of a norm's x, scale and bias (row_gradient_result.wgsl), of rows in registers that lie along memory. A slot
  is the threads of a row; it goes through p.turns rows, p.slots apart, and adds up what its rows leave for the weights
  in registers, which go to `sums`, [slots, 1 or 2, row].

  options:
    biased: flag
#}
{{ operand_access() }}
{{ row_reduction("row_sum", "f32", "add") }}
fn add_fours(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a + b; }
{{ row_reduction("row_sums", "vec4<f32>", "add_fours") }}
{% set centred = kind == "centred" %}
{% set end = register_steps - 1 %}
{% macro inside(i) -%}{{ "whole" if i == end else "" }}{%- endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{% if mixed %}
  let tid = subgroup * subgroup_size + subgroup_lane;
{% endif %}
  let lane = tid / {{ interleave }}u % {{ threads_per_row }}u;
  let slot = group_index(wg, grid) * {{ workgroup // threads_per_row }}u + {{ row_in_group() }};
{{ row_steps() }}
  let e1_start = e1_row(0u);
{% for i in range(register_steps) %}
  let w{{ i }} = {{ in_step("value_t(0)", "value_e1(" ~ row_place("e1", i, inside(i)) ~ ")", i) }};
  var of_scale{{ i }} = value_t(0);
{% if biased %}
  var of_bias{{ i }} = value_t(0);
{% endif %}
{% endfor %}
  for (var turn = 0u; turn < p.turns; turn++) {
    let wanted = turn * p.slots + slot;
    let live = wanted < p.rows;
    let row = min(wanted, p.rows - 1u);   // past the end the last one, of which nothing is stored
    let x_start = x_row(row);
    let e0_start = e0_row(row);
{% for i in range(register_steps) %}
    var v{{ i }} = {{ in_step("value_t(0)", "value_x(" ~ row_place("x", i, inside(i)) ~ ")", i) }};
    let g{{ i }} = {{ in_step("value_t(0)", "value_e0(" ~ row_place("e0", i, inside(i)) ~ ")", i) }};
{% endfor %}
    var total = value_t(0);
{% if centred %}
{% for i in range(register_steps) %}
    total += v{{ i }};
{% endfor %}
    let mean = row_sum(sum_of(total), tid) * p.inverse_length;
    total = value_t(0);
{% for i in range(register_steps) %}
    v{{ i }} = {{ in_step("value_t(0)", "v" ~ i ~ " - mean", i) }};
    total += v{{ i }};
{% endfor %}
{% endif %}
    var squares = value_t(0);
    var d_total = value_t(0);
    var products = value_t(0);
{% for i in range(register_steps) %}
    let d{{ i }} = g{{ i }} * w{{ i }};
    squares += v{{ i }} * v{{ i }};
    d_total += d{{ i }};
    products += d{{ i }} * v{{ i }};
{% endfor %}
    let sums = row_sums(vec4<f32>(sum_of(total), sum_of(squares), sum_of(d_total), sum_of(products)), tid) * p.inverse_length;
{% if centred %}
    let rest = sums.x;
    let d_mean = sums.z;
    let factor = inverseSqrt(max(sums.y - rest * rest, 0f) + p.epsilon);
    let slope = (sums.w - rest * d_mean) * factor * factor;
{% else %}
    let factor = inverseSqrt(sums.y + p.epsilon);
    let slope = sums.w * factor * factor;
{% endif %}
{% set rest = " - rest" if centred else "" %}
    if (live) {
      let y_start = y_row(row);
{% for i in range(register_steps) %}
      of_scale{{ i }} += g{{ i }} * ((v{{ i }}{{ rest }}) * factor);
{% if biased %}
      of_bias{{ i }} += g{{ i }};
{% endif %}
      {{ "if (whole) {" if i == end else "{" }}
{{ put("r" ~ i ~ "_", row_place, i, result("v" ~ i ~ rest, "d" ~ i)) }}
      }
{% endfor %}
    }
  }
{% macro put_sum(which, variable, i) %}
    store{{ "4" if width == 4 else "" }}_sums((slot * {{ 2 if biased else 1 }}u + {{ which }}u) * p.row_elements + {{ step_at("k" ~ i) }}, {{ variable }}{{ i }});
{% endmacro %}
{% for i in range(register_steps) %}
  {{ "if (whole) {" if i == end else "{" }}
{{ put_sum(0, "of_scale", i) }}
{{ put_sum(1, "of_bias", i) if biased }}
  }
{% endfor %}
}
