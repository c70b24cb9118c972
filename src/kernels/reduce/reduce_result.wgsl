{#
  Stores a row's result: y, or the epilogue's result from it and the row's operands. `stores_fours`: four rows' results
  are a vector of four in y.

  options:
    folds: 1, 2
    stores_fours: flag
#}
{% set result_count = 4 // folds if rows_per_thread == 4 else 1 %}
{% macro result_access() %}
{{ row_access("y") }}
{% for operand in operands %}
{{ row_access(operand) }}
{% endfor %}
{% endmacro %}
{% macro result_of(row, v) -%}
{% if epilogue %}epilogue({{ v }}{% for operand in operands %}, load_{{ operand }}({{ operand }}_row({{ row }})){% endfor %}){% else %}{{ v }}{% endif %}
{%- endmacro %}
{# Stores the results of the thread's rows; value(component), a macro, gives each, with [i] for row i of several. #}
{% macro store_results(value) %}
{% if stores_fours %}
  store4_y(y_row(row), vec4<y_t>(
{%- for i in range(4) %}{{ ", " if i }}{{ result_of("row + " ~ i ~ "u", value("[" ~ i ~ "]")) }}{% endfor -%}
  ));
{% else %}
{% for i in range(result_count) %}
  store_y(y_row(row + {{ i }}u), {{ result_of("row + " ~ i ~ "u", value("[" ~ i ~ "]" if rows_per_thread == 4 else "")) }});
{% endfor %}
{% endif %}
{% endmacro %}
