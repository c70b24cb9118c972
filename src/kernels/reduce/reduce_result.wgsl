{# What becomes of a row's result: y, or what `after` makes of it and of the row's operands. #}
{% macro result_access() %}
{{ row_access("y") }}
{% for operand in operands %}
{{ row_access(operand) }}
{% endfor %}
{% endmacro %}
{% macro store_result(row, v) %}
{% if after %}
  store_y(y_row({{ row }}), after({{ v }}{% for operand in operands %}, load_{{ operand }}({{ operand }}_row({{ row }})){% endfor %}));
{% else %}
  store_y(y_row({{ row }}), {{ v }});
{% endif %}
{% endmacro %}
