{#
  Shared by the kernels of norms: two sums of a row at once; scale and bias.

  options:
    scaled: flag
    scale_wide: flag
    biased: flag
    bias_wide: flag
#}
{% macro row_sums_function() %}
fn add_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return a + b; }
{{ row_reduction("row_sums", "vec2<f32>", "add_pairs") }}
{% endmacro %}
{% macro weight_access() %}
{% if scaled %}
{{ one_weight_access("scale", scale_wide) }}
{% endif %}
{% if biased %}
{{ one_weight_access("bias", bias_wide) }}
{% endif %}
{% endmacro %}
{# Weights of unaligned rows lie as the rows do, but are not read in words. #}
{% macro one_weight_access(operand, is_wide) %}
{{ row_access(operand) }}
{% if unaligned and is_wide %}
fn load4_{{ operand }}(i: u32) -> vec4<{{ operand }}_t> {
  let s = p.{{ operand }}_inner0;
  return {{ load_each(operand) }};
}
{% endif %}
{% endmacro %}
{# The starts of the row's weights. #}
{% macro weight_rows() %}
{% if scaled %}
  let scale_start = {{ row_start("scale") }};
{% endif %}
{% if biased %}
  let bias_start = {{ row_start("bias") }};
{% endif %}
{% endmacro %}
{# A weight at step k; `wide` weights have four values a step, others one for all four. #}
{% macro weight(operand, is_wide, k) -%}
load{{ "4" if is_wide else "" }}_{{ operand }}({{ operand }}_start + {{ operand }}_at({{ step_at(k) }}))
{%- endmacro %}
{# The step that loads the weights of step i: weights with stride 0 are loaded once. #}
{% macro weight_step(operand, i) -%}
{{ i if operand not in still else 0 if even else i // per_run * per_run }}
{%- endmacro %}
{# Loads the weights of step i as w<i>_scale and w<i>_bias; `spot`, a macro, gives the index of step i of an operand.
   Weights with stride 0 are loaded at the first step that uses them. #}
{% macro step_weight(operand, is_wide, i, spot, inside) %}
{% set from = weight_step(operand, i) | int %}
  let w{{ i }}_{{ operand }} = {% if from == i %}load{{ "4" if is_wide else "" }}_{{ operand }}({{ spot(operand, i, inside) }}){% else %}w{{ from }}_{{ operand }}{% endif %};
{% endmacro %}
{% macro step_weights(i, spot, inside) %}
{% if scaled %}
{{ step_weight("scale", scale_wide, i, spot, inside) }}
{% endif %}
{% if biased %}
{{ step_weight("bias", bias_wide, i, spot, inside) }}
{% endif %}
{% endmacro %}
{# The last operation: loads scale and bias of step k as <prefix>scale and <prefix>bias, and applies them. #}
{% macro load_weights(prefix, k) %}
{% if scaled %}
  let {{ prefix }}scale = {{ weight("scale", scale_wide, k) }};
{% endif %}
{% if biased %}
  let {{ prefix }}bias = {{ weight("bias", bias_wide, k) }};
{% endif %}
{% endmacro %}
{% macro weighted(normal, prefix) -%}
({{ normal }}){% if scaled %} * {{ prefix }}scale{% endif %}{% if biased %} + {{ prefix }}bias{% endif %}
{%- endmacro %}
{# For 16-bit x and y: fewer operations, whose rounding errors are too small to matter there. #}
{% macro short_terms(mean) %}
  let middle = {{ mean }};
{% endmacro %}
{% macro short_weighted(value, prefix) -%}
{% if scaled and biased -%}
fma({{ value }} - middle, value_t(factor * {{ prefix }}scale), value_t({{ prefix }}bias))
{%- else -%}
{{ weighted("(" ~ value ~ " - middle) * factor", prefix) }}
{%- endif %}
{%- endmacro %}
{# For results that are rounded to bf16 at once (`checked`), by a fast rounding that requires that none is NaN. That is
   so if the row's variance and factor are numbers (max() may hide NaN) and all weights are finite, which a thread tests
   by their sum. #}
{% macro is_ordinary(variance, factor) -%}
{% set positive = "all_positive_f32" if state == "vec4" else "is_positive_f32" -%}
({{ positive }}({{ variance }} + p.epsilon) && {{ positive }}({{ factor }}))
{%- endmacro %}
{# Adds the weights of step i, unless they are those of an earlier step. #}
{% macro sum_weights(i) %}
{% set w = "w" ~ i ~ "_" %}
{% if scaled and biased %}
{% if weight_step("scale", i) | int == i or weight_step("bias", i) | int == i %}
  all_weights = fma(value_t(factor * {{ w }}scale), value_t({{ w }}bias), all_weights);
{% endif %}
{% elif scaled or biased %}
{% if weight_step("scale" if scaled else "bias", i) | int == i %}
  all_weights += {{ "factor * " ~ w ~ "scale" if scaled else w ~ "bias" }};
{% endif %}
{% endif %}
{% endmacro %}
{% macro weights_are_finite() -%}
!not_finite_f32({{ "dot(all_weights, vec4<f32>(1))" if wide == "vec4" else "all_weights" }})
{%- endmacro %}
