{#
  exp(v - top), of elements and of a row's maxima. For f32 results it is `compensated`: at -80 the rounding error of the
  difference is 30 units in the last place of the exponential, and that of its product with log2 e 20.

  options:
    compensated: flag
#}
{% macro exp_below_function(name, type, of_four) %}
fn {{ name }}(v: {{ type }}, top: state_t) -> {{ type }} {
{% if not compensated %}
  return exp(v - top);
{% elif of_four %}
  let t = {{ type }}(top);
  return {{ type }}(exp_below_f32(v.x, t.x), exp_below_f32(v.y, t.y), exp_below_f32(v.z, t.z), exp_below_f32(v.w, t.w));
{% else %}
  return exp_below_f32(v, top);
{% endif %}
}
{% endmacro %}
{{ exp_below_function("exp_below", "value_t", wide == "vec4") }}
{{ exp_below_function("exp_of_top_below", "state_t", state == "vec4") }}
