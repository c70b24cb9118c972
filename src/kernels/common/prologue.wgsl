{# Operands of a thread with one lane or four: the WGSL half of common/prologue.h. A mode is what lane_mode() says. #}
{% macro lanes_of(operand, mode, at) -%}
{% if mode == "one" -%}
load_{{ operand }}({{ at }})
{%- elif mode == "four" -%}
load4_{{ operand }}({{ at }})
{%- elif mode == "same" -%}
vec4<{{ operand }}_t>(load_{{ operand }}({{ at }}))
{%- else -%}
vec4<{{ operand }}_t>(load_{{ operand }}({{ at }}), load_{{ operand }}({{ at }} + p.{{ operand }}_next), load_{{ operand }}({{ at }} + 2u * p.{{ operand }}_next), load_{{ operand }}({{ at }} + 3u * p.{{ operand }}_next))
{%- endif %}
{%- endmacro %}
