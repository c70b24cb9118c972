{#
  What the kernels of gradients along rows have in common (kernels/row_gradient/row_gradient.h): x is softmax's result y,
  or the norm's operand; e0 is the cotangent g, e1 the norm's scale.

  options:
    kind: softmax, log_softmax, centred, rms
    scaled: flag
#}
{% set norm = kind == "centred" or kind == "rms" %}
{# d, the cotangent of the normalised x; of softmax g. #}
{% macro d_at(place, k, inside) -%}
value_e0({{ place("e0", k, inside) }}){% if scaled %} * value_e1({{ place("e1", k, inside) }}){% endif %}
{%- endmacro %}
{# A step's term of the sum along a row of softmax. #}
{% macro term(x, d) -%}{{ d ~ " * " ~ x if kind == "softmax" else d }}{%- endmacro %}
{# The result of x, of a norm its deviation from the row's mean, and d. #}
{% macro result(x, d) -%}
{% if kind == "softmax" -%}
{{ x }} * ({{ d }} - row_total)
{%- elif kind == "log_softmax" -%}
{{ d }} - exp({{ x }}) * row_total
{%- elif kind == "centred" -%}
(({{ d }} - d_mean) - ({{ x }}) * slope) * factor
{%- else -%}
({{ d }} - {{ x }} * slope) * factor
{%- endif %}
{%- endmacro %}
{# Stores what the gradients of weights need of a segment of a row. #}
{% macro leave_segment(segment, mean, rest, variance, g_total, product) %}
{% for number in [mean, rest, variance, g_total, product] %}
    store_sums({{ segment }} * 5u + {{ loop.index0 }}u, {{ number }});
{% endfor %}
{% endmacro %}
