{#
  Operands, prologue and epilogue of a kernel of rows: the WGSL half of common/row_fusion.h. x is an operand, or result
  0 of the prologue, fn expression of `inputs`, whose further results are stored to `extra_outputs`. `results` are the
  kernel's result, or what `epilogue` makes of it and of `operands`. The argument `place` of the macros below is a
  macro that gives a step's index: loop_place(operand, k) in a loop, row_place(operand, i) of the register step k<i>,
  register_place(operand, i) of the same by its distance from the lane's first step. Its last argument, if not empty,
  says whether the step is in the row. `store_how`: the rounding of stores of four bf16, by accessors.cc's names.

  options:
    prologue: flag
    epilogue: text
    several: flag
    reads: list of text
    modes: list of step, splat, each
    inputs: list of text
    operands: list of text
    stores: list of text
    results: list of text
    extra_outputs: list of text
    misalignment_of: text
#}
{% set store_how = "" %}
{% macro loop_place(operand, k, inside) -%}
{{ operand }}_start + {{ operand }}_at({{ step_at(k) }})
{%- endmacro %}
{% macro row_place(operand, i, inside) -%}
{{ operand }}_start + {{ operand }}_at({{ step_at("min(k" ~ i ~ ", p.steps - 1u)") if inside else step_at("k" ~ i) }})
{%- endmacro %}

{% macro operand_access() %}
{% for operand in reads %}
{% set mode = modes[loop.index0] %}
{{ row_access(operand) }}
{% if width == 1 %}
fn value_{{ operand }}(i: u32) -> {{ operand }}_t { return load_{{ operand }}(i); }
{% elif mode == "step" %}
fn value_{{ operand }}(i: u32) -> vec4<{{ operand }}_t> { return load4_{{ operand }}(i); }
{% elif mode == "splat" %}
fn value_{{ operand }}(i: u32) -> vec4<{{ operand }}_t> { return vec4<{{ operand }}_t>(load_{{ operand }}(i)); }
{% else %}
fn value_{{ operand }}(i: u32) -> vec4<{{ operand }}_t> {
  let s = p.{{ operand }}_{{ "outer" ~ (outer_rank - 1) if across else "inner" ~ (inner_rank - 1) }};
  return {{ load_each(operand) }};
}
{% endif %}
{% endfor %}
{% for operand in stores %}
{{ row_access(operand) }}
{% endfor %}
{{ epilogue }}
{% endmacro %}

{# Where the row (of unaligned rows its first aligned access) starts in each operand; and, for register_place, the
   lane's first step. #}
{% macro row_start(operand) -%}
{{ operand }}_row(row){{ " - misalignment * p." ~ operand ~ "_inner0" if unaligned }}
{%- endmacro %}
{% macro operand_starts() %}
{% if unaligned %}
  let misalignment = (p.{{ misalignment_of }}_o + {{ misalignment_of }}_row(row)) % {{ alignment_unit }}u;
{% endif %}
{% for operand in reads %}
  let {{ operand }}_start = {{ row_start(operand) }};
{% endfor %}
{% for operand in stores %}
  let {{ operand }}_start = {{ row_start(operand) }};
{% endfor %}
{% endmacro %}
{% macro first_places() %}
{% for operand in reads %}
{{ first_place(operand, operand ~ "_start") }}
{% endfor %}
{% for operand in stores %}
{{ first_place(operand, operand ~ "_start") }}
{% endfor %}
{% endmacro %}

{# The prologue's result at a step: x, or a struct of x (y0) and the extra outputs (y1, …). #}
{% macro made(place, k, inside) -%}
{%- if prologue -%}expression({%- endif -%}
{%- for x in inputs -%}{{ "" if loop.first else ", " }}value_{{ x }}({{ place(x, k, inside) }}){%- endfor -%}
{%- if prologue -%}){%- endif -%}
{%- endmacro %}
{% set x_of = ".y0" if extra_outputs else "" %}
{% macro x_step(k) -%}{{ made(loop_place, k, "") }}{{ x_of }}{%- endmacro %}
{# Rows that are read once, in batches of a thread's steps. A batch is in flight as ahead0, …; each step that is
   consumed loads one of the next batch. (Given loads at the top of a loop, NVIDIA's compiler alternates loads and sums
   where that takes fewer registers, which takes half as long again.) All but the first `left_whole` of the last batch
   may be past `end`: then a step within the row is loaded instead. `loads_pairs`: words of two 16-bit elements are in
   flight. #}
{% macro step_ahead(i, k) -%}
{%- set place = k if i < left_whole else "min(" ~ k ~ ", end - 1u)" -%}
{{ "words4_x(" ~ loop_place("x", place, "") ~ ")" if loads_pairs else made(loop_place, place, "") }}
{%- endmacro %}
{# Where the whole batches of the steps from `begin` to `end` end; their number is the same for all lanes. The rest is a
   batch at most. #}
{% macro batches_end(batch) %}
  let stop = end - min(end - begin, (end - begin - 1u) % {{ batch * threads_per_row }}u + 1u);
{% endmacro %}
{% macro load_ahead(count) %}
{% for i in range(count) %}
  var ahead{{ i }} = {{ step_ahead(i, "k + " ~ i * threads_per_row ~ "u") }};
{% endfor %}
{% endmacro %}
{% macro ahead_value(i) -%}
{{ "widen4_x(ahead" ~ i ~ ")" if loads_pairs else "ahead" ~ i ~ x_of }}
{%- endmacro %}
{# Declares step i of the batch, which is step k of the row, as v<i>, and stores its extra outputs. #}
{% macro take_ahead(i, k, inside) %}
      let v{{ i }} = {{ ahead_value(i) }};
{% if extra_outputs %}
      if ({{ "live && " ~ inside if inside else "live" }}) {
{{ put_extra_outputs("ahead" ~ i, loop_place, k) }}
      }
{% endif %}
{% endmacro %}
{# Stores the extra outputs in the variable `of`. #}
{% macro put_extra_outputs(of, place, k) %}
{% for operand in extra_outputs %}
    {{ store(operand, "", place(operand, k, ""), of ~ ".y" ~ (loop.index0 + 1), k) }}
{% endfor %}
{% endmacro %}
{# Stores step k's value; of unaligned rows, those elements of it that are in the row. #}
{% macro store(operand, how, place, value, k) -%}
{% set edge = unaligned and is_edge(k) -%}
store{{ "4" if width == 4 else "" }}{{ "_edge" if edge else how }}_{{ operand }}({{ place }}, {{ value }}{{ ", in" ~ k if edge }});
{%- endmacro %}
{# Rows in registers: declares x as v0, v1, …, `fill` past the row's end, and stores the extra outputs. #}
{% macro take_row(fill, place) %}
{% for i in range(register_steps) %}
  let made{{ i }} = {{ made(place, i, "" if i < register_steps - 1 else "whole") }};
{% endfor %}
{% if extra_outputs %}
  if (live) {
{% for i in range(register_steps - 1) %}
{{ put_extra_outputs("made" ~ i, place, i) }}
{% endfor %}
    if (whole) {
{{ put_extra_outputs("made" ~ (register_steps - 1), place, register_steps - 1) }}
    }
  }
{% endif %}
{% for i in range(register_steps) %}
  var v{{ i }} = {{ in_step("value_t(" ~ fill ~ ")", "made" ~ i ~ x_of, i) }};
{% endfor %}
{% endmacro %}

{# The epilogue's operands at a step as <prefix><operand>; and its results from them and `v`, stored. #}
{% macro take_operands(prefix, place, k, inside) %}
{% for operand in operands %}
  let {{ prefix }}{{ operand }} = value_{{ operand }}({{ place(operand, k, inside) }});
{% endfor %}
{% endmacro %}
{% macro put(prefix, place, k, v, how="") %}
{% if epilogue %}
    let {{ prefix }}done = epilogue({{ v }}{% for operand in operands %}, {{ prefix }}{{ operand }}{% endfor %});
{% else %}
    let {{ prefix }}done = {{ v }};
{% endif %}
{% for operand in results %}
{% set done = prefix ~ "done" ~ (".y" ~ loop.index0 if several else "") %}
    {{ store(operand, how or store_how, place(operand, k, ""), done, k) }}
{% endfor %}
{% endmacro %}
