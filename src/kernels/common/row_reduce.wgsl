{#
  How threads share rows: the WGSL half of common/rows.h, which explains the variables.

  options:
    across: flag
    width: 1, 4
    threads_per_row: 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024
    interleave: 1, 2, 4, 8, 16, 32, 64
    workgroup: number
    cluster: 1, 4, 8, 16, 32
    register_steps: 0, 1, 2, number
    outer_rank: 0, 1, 2, number
    inner_rank: 0, 1, 2, number
    unaligned: flag
    alignment_unit: 2, 4
    flat: list of text
    even: flag
    aligned: flag
    per_run: 1, 2, number
    tile_way: even, aligned, none, ''
    still: list of text
#}
{% set mixed = cluster > 1 %}

{# Index functions of an operand: <name>_row(i), where row i starts, and <name>_at(j), element j from there. #}
{% macro offset_function(function, operand, space, rank) %}
fn {{ function }}(i: u32) -> u32 {
{% if rank == 0 %}
  return 0u;
{% elif rank == 1 %}
  return i * p.{{ operand }}_{{ space }}0;
{% elif space == "inner" and operand in flat %}
  return i * p.{{ operand }}_{{ space }}{{ rank - 1 }};
{% else %}
  var r = i;
  var o = 0u;
{% for back in range(rank - 1) %}
{% set d = rank - 1 - back %}
  o += (r % p.{{ space }}_n{{ d }}) * p.{{ operand }}_{{ space }}{{ d }};
  r /= p.{{ space }}_n{{ d }};
{% endfor %}
  return o + r * p.{{ operand }}_{{ space }}0;
{% endif %}
}
{% endmacro %}
{% macro row_access(operand) %}
{{ offset_function(operand + "_row", operand, "outer", outer_rank) }}
{{ offset_function(operand + "_at", operand, "inner", inner_rank) }}
{% endmacro %}

{# The type of a step (`wide`) and of a row's result (`state`: one row's, or four rows'). #}
{% set wide = "vec4" if width == 4 else "" %}
{% set state = "vec4" if width == 4 and across else "" %}
{% set rows_per_thread = 4 if width == 4 and across else 1 %}
{# The logarithm of a variable of type state_t. #}
{% macro log_of(v) -%}
{% if state == "vec4" %}state_t(log_f32({{ v }}.x), log_f32({{ v }}.y), log_f32({{ v }}.z), log_f32({{ v }}.w)){% else %}log_f32({{ v }}){% endif %}
{%- endmacro %}
{# The index along a row of step k; of unaligned rows, of the lane's step k. #}
{% macro step_at(k) %}{% if width == 4 and not across %}4u * ({{ k }}){{ " - 2u * lane" if unaligned and alignment_unit == 2 }}{% else %}{{ k }}{% endif %}{% endmacro %}
{# Step k of the row that starts at `start`. #}
{% macro load_step(operand, start, k) -%}
load{{ "4" if width == 4 else "" }}_{{ operand }}({{ start }} + {{ operand }}_at({{ step_at(k) }}))
{%- endmacro %}
{% macro store_step(operand, start, k, value) -%}
store{{ "4" if width == 4 else "" }}_{{ operand }}({{ start }} + {{ operand }}_at({{ step_at(k) }}), {{ value }})
{%- endmacro %}

{# The index of the lane's register step i, which is step k<i> of the row, after first_place(operand, start). `inside`,
   if given, says whether the step is in the row; if it is not, the index is one that is. #}
{% macro first_place(operand, start) %}
{% if even or aligned %}
  let {{ operand }}_first = {{ start }} + {{ operand }}_at({{ "2u * min(lane, p.row_length / 2u)" if unaligned else step_at("min(lane, p.steps - 1u)") }});
{% else %}
  let {{ operand }}_first = {{ start }};
{% endif %}
{% endmacro %}
{# Along runs of the fastest axis, `per_run` steps each. #}
{% macro run_way(operand, i) -%}
({{ i % per_run }}u * p.{{ operand }}_jump + {{ i // per_run }}u * p.{{ operand }}_wrap)
{%- endmacro %}
{% macro register_place(operand, i, inside) -%}
{%- if even or aligned -%}
{%- set jump = "p." ~ operand ~ "_jump" -%}
{%- set way = run_way(operand, i) if aligned else i ~ "u * " ~ jump -%}
{{ operand }}_first + {% if inside %}select(0u, {{ way }}, {{ inside }}){% else %}{{ way }}{% endif %}
{%- else -%}
{{ operand }}_first + {{ operand }}_at({{ step_at("min(k" ~ i ~ ", p.steps - 1u)") if inside else step_at("k" ~ i) }})
{%- endif -%}
{%- endmacro %}

{# Declares fn <name>(value, tid) -> type: `combine` over the threads that share the thread's row. All of them get the
   same result, the same in every run. Uses shuffles within clusters of threads, and workgroup memory between clusters,
   up to 32 values a round. All threads of the workgroup must call it together. #}
{% macro row_reduction(name, type, combine) %}
{% set shuffled = cluster // interleave if cluster > interleave else 1 %}
{% if shuffled > threads_per_row %}{% set shuffled = threads_per_row %}{% endif %}
{% if threads_per_row > shuffled %}
var<workgroup> {{ name }}_slots: array<{{ type }}, {{ workgroup // shuffled }}>;
{% endif %}
fn {{ name }}(value: {{ type }}, tid: u32) -> {{ type }} {
  var v = value;
{% for k in [1, 2, 4, 8, 16, 32] %}
{% if k < shuffled %}
  v = {{ combine }}(v, subgroupShuffleXor(v, {{ k * interleave }}u));
{% endif %}
{% endfor %}
{% if threads_per_row > shuffled %}
  let column = tid % {{ interleave }}u;
  let lane = tid / {{ interleave }}u;     // continues over the rows that follow one another
  for (var span = {{ shuffled }}u; span < {{ threads_per_row }}u; span *= 32u) {
    let radix = min(32u, {{ threads_per_row }}u / span);
    workgroupBarrier();
    if (lane % span == 0u) { {{ name }}_slots[lane / span * {{ interleave }}u + column] = v; }
    workgroupBarrier();
    let first = lane / (span * radix) * radix;
    v = {{ name }}_slots[first * {{ interleave }}u + column];
    for (var i = 1u; i < radix; i++) { v = {{ combine }}(v, {{ name }}_slots[(first + i) * {{ interleave }}u + column]); }
  }
{% endif %}
  return v;
}
{% endmacro %}

{# The entry point's arguments, and the thread's place: its lane and its (first) row. #}
{% macro thread_arguments() -%}
@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>,
{%- if mixed %} @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32, @builtin(subgroup_invocation_id) subgroup_lane: u32
{%- else %} @builtin(local_invocation_index) tid: u32{% endif -%}
{%- endmacro %}
{# Which of the workgroup's rows (or groups of four rows) is the thread's. #}
{% macro row_in_group() -%}
(tid / {{ threads_per_row * interleave }}u * {{ interleave }}u + tid % {{ interleave }}u)
{%- endmacro %}
{% macro thread_place(group) %}
{% if mixed %}
  let tid = subgroup * subgroup_size + subgroup_lane;
{% endif %}
  let lane = tid / {{ interleave }}u % {{ threads_per_row }}u;
  let wanted = ({{ group }} * {{ workgroup // threads_per_row }}u + {{ row_in_group() }}) * {{ rows_per_thread }}u;
  let live = wanted < p.rows;
  // Threads past the end repeat the last row and store nothing.
  let row = min(wanted, p.rows - {{ rows_per_thread }}u);
{% endmacro %}
{# Unaligned rows: the register steps of which a part may be outside of the row. #}
{% macro is_edge(i) -%}{{ "yes" if unaligned and (i == 0 or i + 2 >= register_steps) }}{%- endmacro %}
{# Offsets of a step's four elements along the row, in strides; and a load of each of them by itself. #}
{% set step_offsets = [0, 1, 2 * threads_per_row, 2 * threads_per_row + 1] if unaligned and alignment_unit == 2 else [0, 1, 2, 3] %}
{% macro load_each(operand) -%}
vec4<{{ operand }}_t>({% for l in step_offsets %}{{ ", " if l }}load_{{ operand }}(i + {{ l }}u * s){% endfor %})
{%- endmacro %}
{% if unaligned %}
// Which elements of a step are in the row, if its first one is element i of it.
fn in_row(i: u32) -> vec4<bool> {
  return vec4<u32>(i) + vec4<u32>({{ step_offsets | join("u, ") }}u) < vec4<u32>(p.row_length);
}
{% endif %}
{# Declares the register steps k0, k1, … and `whole`, whether the last of them is in the row; of unaligned rows also
   in0, …, which elements of the head and the tail are. #}
{% macro row_steps() -%}
{% for i in range(register_steps) %}
  let k{{ i }} = lane + {{ i * threads_per_row }}u;
{% if is_edge(i) %}
  let in{{ i }} = in_row(2u * lane + {{ 4 * threads_per_row * i }}u - misalignment);
{% endif %}
{% endfor %}
{% if unaligned %}
  let whole = 2u * lane + {{ 4 * threads_per_row * (register_steps - 1) }}u < misalignment + p.row_length;
{% else %}
  let whole = k{{ register_steps - 1 }} < p.steps;   // only the last step can lie past the row's end
{% endif %}
{%- endmacro %}
{# `value` of register step i, or `other` where that is not in the row. #}
{% macro in_step(other, value, i) -%}
{% if is_edge(i) %}select({{ other }}, {{ value }}, in{{ i }}){% elif i == register_steps - 1 %}select({{ other }}, {{ value }}, whole){% else %}{{ value }}{% endif %}
{%- endmacro %}
{# Declares the number of the lane's steps, for a second reading of the row, which goes backwards because what was read
   last is the likeliest to be in a cache. #}
{% macro steps_left() %}
  var left = 0u;
  if (lane < p.steps) { left = (p.steps - lane + {{ threads_per_row - 1 }}u) / {{ threads_per_row }}u; }
{% endmacro %}
