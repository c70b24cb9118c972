{# Operands, prologue and epilogue for tiles of split rows (split_rows.wgsl), as row_fusion.wgsl has them for rows. #}
{# The indices of packed results are computed from each other, so that only one is held: this saves the registers for a
   core's fifth and sixth workgroup. With unpacked values a core has three workgroups, and it is slower. #}
{% set goes_on = packed and tile_way == "even" %}
{% macro tile_place_of(operand, i, inside) -%}
{{ operand ~ "_next" if goes_on and operand in stores else tile_spot(operand, i, inside) }}
{%- endmacro %}
{% macro step_of_inputs(i) -%}
{%- set inside = tile_inside(i) -%}
{{ "words4_x(" ~ tile_spot("x", i, inside) ~ ")" if packed else made(tile_place_of, i, inside) }}
{%- endmacro %}
{% macro tile_of_inputs() %}
{{ tile_of(inputs, "vec2<u32>" if packed else "expression_results" if extra_outputs else "value_t", step_of_inputs) }}
{% endmacro %}

{# Row starts behind an opaque zero: otherwise compilers hold each step's address in registers from load to store. #}
{% macro tile_starts() %}
{% for operand in operands + stores %}
  let {{ operand }}_start = {{ operand }}_row(row){{ " + p.opaque_zero" if gathers else "" }};
{{ tile_first(operand) }}
{% if goes_on and operand in stores %}
  var {{ operand }}_next = {{ operand }}_first;
{% endif %}
{% endfor %}
{% endmacro %}
{# Stores the epilogue's results from `value`, the result at step i, and the step's extra outputs. The epilogue's
   operands are loaded for four steps at once. #}
{% macro store_tile(i, value) %}
{% if i % 4 == 0 %}
{% for k in range(i, i + 4 if i + 4 < register_steps else register_steps) %}
{{ take_operands("r" ~ k ~ "_", tile_place_of, k, tile_inside(k)) }}
{% endfor %}
{% endif %}
  {{ if_inside(i) }}
{{ put_extra_outputs("loaded.v" ~ i, tile_place_of, i) }}
{{ put("r" ~ i ~ "_", tile_place_of, i, value) }}
  }
{% for operand in stores if goes_on %}
  {{ operand }}_next += p.{{ operand }}_jump;
{% endfor %}
{% endmacro %}
{# The fallback for a tile: reads it again and stores result(value) step by step, in few registers, since few tiles need
   it. `more`: text of what a result needs at step k besides x. #}
{% macro finish_steps(result, more="") %}
{% for operand in reads + stores %}
  let {{ operand }}_start = {{ operand }}_row(row);
{% endfor %}
  for (var i = p.opaque_start; i < {{ register_steps }}u; i++) {
    let k = first + i * {{ threads_per_row }}u;
    if (live && k < {{ "tile_end" if balanced else "p.steps" }}) {
      let made = {{ made(loop_place, "k", "") }};
{{ take_operands("r_", loop_place, "k", "") }}
{{ more }}
{{ put_extra_outputs("made", loop_place, "k") }}
{{ put("r_", loop_place, "k", result("made" ~ x_of)) }}
    }
  }
{% endmacro %}
