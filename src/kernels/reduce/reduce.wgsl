{#
  y = x reduced along rows. A lane folds its steps four at a time, then the row's lanes are folded. `lift` converts an
  element to an accumulator, `combine` combines two, `finish` converts the last one to the result. A row may be split
  for more threads: then `partial_out` stores accumulators, and a second call with `partial_in` folds them. 64-bit
  integers compute as vec2<u32>, low word first; f64 is only tested for 0.

  options:
    op: sum, mean, prod, min, max, sum_squares, l1, log_sum, any, all, count
    kind: complex, double, float, long, ulong, int, uint
    x_type: f32, i32, u32, vec2<u32>, vec2<f32>
    long_result: flag
    sums: 2, 4
    batch: 1, 2, number
    left: 0, 1, 2, number
    left_whole: 0, number
    edges: 0, 1, 2, 3
    loops: flag
    blocks: flag
    loads_pairs: flag
#}
{% set logic = op == "any" or op == "all" or op == "count" %}
{% set wide_integer = kind == "long" or kind == "ulong" or kind == "double" %}
{% set integer_64 = "i64" if kind == "long" else "u64" %}
{% set along4 = width == 4 and not across %}
{% set extreme = op == "min" or op == "max" %}
{% set numbers = {"float": "f32", "int": "i32", "uint": "u32", "long": "vec2<u32>", "ulong": "vec2<u32>",
                  "complex": "vec2<f32>"} %}
{% set number = "u32" if logic else numbers[kind] %}
{# A thread's minimum or maximum of floats is converted to an integer of the same order, in which NaN is past all
   numbers: these are combined by a single instruction. #}
{% set ordered = extreme and kind == "float" %}
{% set scalar = "i32" if ordered else number %}
{% set given = scalar if partial_in else number %}
{% macro of(shape, type) %}{{ "vec4<" ~ type ~ ">" if shape == "vec4" else type }}{% endmacro %}
alias value_t = {{ of(wide, given) }};   // of a step
alias own_t = {{ of(state, given) }};    // of a thread's steps
alias state_t = {{ of(state, scalar) }};  // of a row
alias result_t = {{ of(state, scalar if partial_out else number) }};
{% if prologue %}
alias x_t = {{ x_type }};
{% endif %}
{{ operand_access() }}
{{ result_access() }}

{% macro combined(a, b) -%}
{%- if op == "any" -%}({{ a }} | {{ b }})
{%- elif op == "all" -%}({{ a }} & {{ b }})
{%- elif extreme -%}{{ op ~ "_" ~ integer_64 if wide_integer else op }}({{ a }}, {{ b }})
{%- elif wide_integer and not logic -%}{{ "mul" if op == "prod" else "add" }}_64({{ a }}, {{ b }})
{%- elif kind == "complex" and op == "prod" -%}mul_c64({{ a }}, {{ b }})
{%- else -%}({{ a }} {{ "*" if op == "prod" else "+" }} {{ b }})
{%- endif -%}
{%- endmacro %}
fn combine(a: state_t, b: state_t) -> state_t { return {{ combined("a", "b") }}; }
{{ row_reduction("row_combine", "state_t", "combine") }}
{% if ordered %}
// Converts a float's bits to an integer of the same order and back; -0 is before 0.
fn in_order(b: state_t) -> state_t { return b ^ ((b >> {{ of(state, "u32") }}(31u)) & state_t(0x7fffffff)); }
{% endif %}
{# WGSL's min, max and comparisons may ignore NaN, so a thread also computes the greatest magnitude, as bits. (A sum
   that is NaN where a value is takes fewer instructions, but a fifth more time down columns, on an H200.) #}
{% set watches = ordered and not partial_in %}
{% if watches %}
alias bits_t = {{ of(wide, "u32") }};
{% endif %}

fn lift(v: {{ "vec4<x_t>" if wide == "vec4" else "x_t" }}) -> value_t {
{% if partial_in %}
  return v;
{% elif logic %}
{% if kind == "double" %}
  return select(0u, 1u, any((v & vec2<u32>(0xffffffffu, 0x7fffffffu)) != vec2<u32>(0u)));
{% elif kind == "complex" %}
  return u32(is_not_zero_f32(v.x, p.opaque_zero) || is_not_zero_f32(v.y, p.opaque_zero));
{% elif wide_integer %}
  return select(0u, 1u, any(v != vec2<u32>(0u)));
{% elif kind == "float" %}
{# Like is_not_zero_f32(). #}
  return select(value_t(0u), value_t(1u), ((bitcast<value_t>(v) ^ value_t(p.opaque_zero)) & value_t(0x7fffffffu)) != value_t(0u));
{% else %}
  return select(value_t(0u), value_t(1u), v != {{ "vec4<x_t>" if wide == "vec4" else "x_t" }}(0));
{% endif %}
{% elif op == "sum_squares" %}
  return {{ "mul_64(v, v)" if wide_integer else "v * v" }};
{% elif op == "l1" and kind == "long" %}
  return abs_i64(v);
{% elif op == "l1" and (kind == "int" or kind == "float") %}
  return abs(v);
{% else %}
  return v;
{% endif %}
}
fn fold(v: value_t) -> own_t {
  return {{ combined(combined("v.x", "v.y"), combined("v.z", "v.w")) if along4 else "v" }};
}
fn finish(v: state_t) -> result_t {
{% if partial_out %}
  return v;
{% elif ordered %}
  return bitcast<result_t>(in_order(v));
{% elif op == "mean" %}
  return v / p.length;
{% elif op == "log_sum" %}
  return {{ log_of("v") }};
{% else %}
  return v;
{% endif %}
}

{# Combines value `v` of a step with the accumulator `a`; `inside`, if given, says which of its elements are in the
   row. #}
{% macro take(v, a, inside) %}
      {{ a }} = {{ combined(a, "select(identity, lift(" ~ v ~ "), " ~ inside ~ ")" if inside else "lift(" ~ v ~ ")") }};
{% if watches %}
{% set bits = "bitcast<bits_t>(" ~ v ~ ") & bits_t(0x7fffffffu)" %}
      magnitude = max(magnitude, {{ "select(bits_t(0u), " ~ bits ~ ", " ~ inside ~ ")" if inside else bits }});
{% endif %}
{% endmacro %}
{% set joined = combined(combined("a0", "a1"), combined("a2", "a3")) if sums == 4 else combined("a0", "a1") %}
{% macro accumulator_word(w, component) -%}
bitcast<u32>(all{{ component }}{{ "[" ~ w ~ "]" if split_words == 2 }})
{%- endmacro %}
{% macro join_split(k) %}
{% set left = "vec2<u32>(left0_" ~ k ~ ", left1_" ~ k ~ ")" if split_words == 2 else "left0_" ~ k %}
      of_splits = combine(of_splits, bitcast<state_t>({{ left }}));
{% endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{{ split_place() }}
{{ operand_starts() }}
{% if wide_integer %}
  let identity = {{ "value_t(p.identity_low)" if scalar == "u32" else "vec2<u32>(p.identity_low, p.identity_high)" }};
{% elif given == "vec2<f32>" %}
  let identity = vec2<f32>(bitcast<f32>(p.identity_low), bitcast<f32>(p.identity_high));
{% else %}
  let identity = value_t(bitcast<{{ given }}>(p.identity_low));
{% endif %}
  var total = identity;
{% if watches %}
  var magnitude = bits_t(0u);
{% endif %}
{% if unaligned %}
  // In one split: in several, sums of f16 are a third slower. All steps between a lane's first one and its last two are
  // in the row.
  let begin = {{ threads_per_row }}u;
  let end = (1u + p.between) * {{ threads_per_row }}u;
{% else %}
  let begin = split * p.split_steps;
  let end = min(begin + p.split_steps, p.steps);
{% endif %}
{{ batches_end(batch) }}
  var k = begin + lane;
{{ load_ahead(batch) }}
{% if loops %}
{% if blocks %}
  // In blocks, so that long sums lose few digits: small terms are added to small sums.
  while (k < stop) {
    let block = min(stop, k + {{ 256 * threads_per_row }}u);
{% else %}
  {
    let block = stop;
{% endif %}
{% for i in range(sums) %}
    var a{{ i }} = identity;
{% endfor %}
    for (; k < block; k += {{ batch * threads_per_row }}u) {
{% for i in range(batch) %}
{{ take_ahead(i, "k + " ~ i * threads_per_row ~ "u", "") }}
{{ take("v" ~ i, "a" ~ (i % sums), "") }}
      ahead{{ i }} = {{ step_ahead(i, "k + " ~ (batch + i) * threads_per_row ~ "u") }};
{% endfor %}
    }
    total = {{ combined("total", joined) }};
  }
{% endif %}
{% if left or unaligned %}
  {
{% for i in range(edges) %}
    let at{{ i }} = lane{% if i %} + (p.between + {{ i }}u) * {{ threads_per_row }}u{% endif %};
    let edge{{ i }} = {{ x_step("at" ~ i if alignment_unit == 2 else "min(at" ~ i ~ ", (misalignment + p.row_length - 1u) / 4u)") }};
    let in_edge{{ i }} = in_row(4u * at{{ i }}{{ " - 2u * lane" if alignment_unit == 2 }} - misalignment);
{% endfor %}
{% for i in range(left) %}
{% set at = "k + " ~ i * threads_per_row ~ "u" %}
{% set inside = at ~ " < end" if i >= left_whole else "" %}
{{ take_ahead(i, at, inside) }}
{{ take("v" ~ i, "total", inside) }}
{% endfor %}
{% for i in range(edges) %}
{{ take("edge" ~ i, "total", "in_edge" ~ i) }}
{% endfor %}
  }
{% endif %}
{% if watches %}
  let greatest = {{ "max(max(magnitude.x, magnitude.y), max(magnitude.z, magnitude.w))" if along4 else "magnitude" }};
  // NaN in that order: before -inf, or after inf.
  let nan = state_t({{ "bitcast<i32>(0x803fffffu)" if op == "min" else "0x7fc00000" }});
  let ordered = select(in_order(bitcast<state_t>(fold(total))), nan, greatest > {{ of(state, "u32") }}(0x7f800000u));
  let all = row_combine(ordered, tid);
{% else %}
  let all = row_combine(fold(total), tid);
{% endif %}
{% if joins %}
{{ publish_split(accumulator_word) }}
{% if scalar == "vec2<u32>" %}
  var of_splits = state_t(p.joined_low, p.joined_high);
{% elif scalar == "vec2<f32>" %}
  var of_splits = state_t(bitcast<f32>(p.joined_low), bitcast<f32>(p.joined_high));
{% else %}
  var of_splits = state_t(bitcast<{{ scalar }}>(p.joined_low));
{% endif %}
{{ join_splits(join_split) }}
  let joined = row_combine(of_splits, tid);
{% endif %}
  if (!live || lane != 0u) { return; }
{% set of_rows = "joined" if joins else "all" %}
  let y = finish({{ "combine(" ~ of_rows ~ ", " ~ of_rows ~ ".zwxy)" if folds == 2 else of_rows }});
{% macro result(component) -%}
{% if op == "count" and not epilogue %}{{ "vec2<u32>(y" ~ component ~ ", 0u)" if long_result else "y_t(y" ~ component ~ ")" }}
{%- elif wide_integer and not long_result and not logic %}y_t(y.x)
{%- else %}y{{ component }}{% endif %}
{%- endmacro %}
{% if partial_out %}
{% for i in range(rows_per_thread) %}
  store_y(y_row(row + {{ i }}u) + split, y{{ "[" ~ i ~ "]" if rows_per_thread == 4 }});
{% endfor %}
{% else %}
{{ store_results(result) }}
{% endif %}
}
