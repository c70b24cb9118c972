{#
  Sums and maxima of rows of floats, for softmax, layer norm and log-sum-exp.

  options:
    ties: flag
#}
alias value_t = {{ "vec4<f32>" if wide == "vec4" else "f32" }};   // of a step
alias state_t = {{ "vec4<f32>" if state == "vec4" else "f32" }};  // of a row
const lowest = -0x1.fffffep+127f;                                 // the lowest finite f32

{% if width == 4 and not across %}
fn largest_of(v: value_t) -> state_t { return max(max(v.x, v.y), max(v.z, v.w)); }
fn sum_of(v: value_t) -> state_t { return (v.x + v.y) + (v.z + v.w); }
{% else %}
fn largest_of(v: value_t) -> state_t { return v; }
fn sum_of(v: value_t) -> state_t { return v; }
{% endif %}
fn add(a: state_t, b: state_t) -> state_t { return a + b; }
fn larger(a: state_t, b: state_t) -> state_t { return max(a, b); }

{# The rounding of bf16 results if none is NaN, as for a softmax whose sum is a positive number: fast, with ties between
   two bf16 rounded away from zero, which is as near, unless such `ties` are likely. #}
{% set quick_store = "_no_nan" if ties else "_no_ties" %}

{# Makes the packed values opaque to compilers, so that they widen them again instead of holding the widened values in
   registers. #}
{% macro forget_values() %}
{% for i in range(register_steps if packed else 0) %}
  v{{ i }} += vec2<u32>(p.opaque_zero);
{% endfor %}
{% endmacro %}
