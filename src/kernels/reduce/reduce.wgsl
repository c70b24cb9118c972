{# y = x reduced along rows. A member of a team folds its steps four at a time, the team folds its members. `lift` turns an element into an accumulator, `combine` joins two, `finish` turns the last into the result.
   A row may be cut into parts for more threads: then `partial_out` stores accumulators, and a second call with
   `partial_in` folds them. 64-bit integers compute as vec2<u32>, low word first. #}
{% set logic = op == "any" or op == "all" or op == "count" %}
{% set wide_integer = kind == "long" or kind == "ulong" %}
{% set integer_64 = "i64" if kind == "long" else "u64" %}
{% set scalar = "u32" if logic else {"float": "f32", "int": "i32", "uint": "u32", "long": "vec2<u32>", "ulong": "vec2<u32>"}[kind] %}
alias value_t = {{ "vec4<" + scalar + ">" if wide == "vec4" else scalar }};   // of a step
alias state_t = {{ "vec4<" + scalar + ">" if state == "vec4" else scalar }};  // of a team
{% if before %}
alias x_t = {{ x_type }};
{% for mode in inputs %}
{{ row_access("x" ~ loop.index0) }}
{% endfor %}
{% else %}
{{ row_access("x") }}
{% endif %}
{{ row_access("y") }}
{% for e in operands %}
{{ row_access(e) }}
{% endfor %}
{# Where the row starts in each input, and what step k of it holds: the input's elements, or what is made of them. #}
{% macro start_row() %}
{% if before %}
{% for mode in inputs %}
  let start{{ loop.index0 }} = x{{ loop.index0 }}_row(row);
{% endfor %}
{% else %}
  let start = x_row(row);
{% endif %}
{% endmacro %}
{% macro step(k) -%}
{%- if before -%}
expression(
{%- for mode in inputs -%}
{%- set x = "x" ~ loop.index0 -%}
{%- set start = "start" ~ loop.index0 -%}
{%- if not loop.first -%}, {% endif -%}
{%- if mode == "splat" -%}vec4<{{ x }}_t>(load_{{ x }}({{ start }} + {{ x }}_at({{ step_at(k) }})))
{%- else -%}{{ load_step(x, start, k) }}
{%- endif -%}
{%- endfor -%}
)
{%- else -%}
{{ load_step("x", "start", k) }}
{%- endif -%}
{%- endmacro %}

{# min and max let NaN win. It is told by its bits, since WGSL's own min, max and comparisons may ignore it. #}
{% macro combine_function(name, type, lanes) %}
fn {{ name }}(a: {{ type }}, b: {{ type }}) -> {{ type }} {
{% if op == "any" %}
  return a | b;
{% elif op == "all" %}
  return a & b;
{% elif op == "prod" %}
  return {{ "mul_64(a, b)" if wide_integer else "a * b" }};
{% elif op != "min" and op != "max" %}
  return {{ "add_64(a, b)" if wide_integer and not logic else "a + b" }};
{% elif kind == "float" %}
{% set bits = "vec4<u32>" if lanes == 4 else "u32" %}
  let a_nan = (bitcast<{{ bits }}>(a) & {{ bits }}(0x7fffffffu)) > {{ bits }}(0x7f800000u);
  let b_nan = (bitcast<{{ bits }}>(b) & {{ bits }}(0x7fffffffu)) > {{ bits }}(0x7f800000u);
  return select(select({{ op }}(a, b), b, b_nan), a, a_nan);
{% elif wide_integer %}
  return {{ op }}_{{ integer_64 }}(a, b);
{% else %}
  return {{ op }}(a, b);
{% endif %}
}
{% endmacro %}
{{ combine_function("combine", "state_t", 4 if state == "vec4" else 1) }}
{# A thread looks for NaN beside its minimum or maximum: the greatest magnitude, as bits, tells in the end. #}
{% set nan_apart = kind == "float" and (op == "min" or op == "max") and not partial_in %}
{% if nan_apart %}
alias bits_t = {{ "vec4<u32>" if wide == "vec4" else "u32" }};
fn combine_steps(a: value_t, b: value_t) -> value_t { return {{ op }}(a, b); }
fn greater_magnitude(seen: bits_t, v: value_t) -> bits_t { return max(seen, bitcast<bits_t>(v) & bits_t(0x7fffffffu)); }
{% else %}
{{ combine_function("combine_steps", "value_t", width) }}
{% endif %}
{{ team_function("team_combine", "state_t", "combine") }}

fn lift(v: {{ "vec4<x_t>" if wide == "vec4" else "x_t" }}) -> value_t {
{% if partial_in %}
  return v;
{% elif logic %}
{% if wide_integer %}
  return select(0u, 1u, any(v != vec2<u32>(0u)));
{% elif kind == "float" %}
  return select(value_t(0u), value_t(1u), (bitcast<value_t>(v) & value_t(0x7fffffffu)) != value_t(0u));
{% else %}
  return select(value_t(0u), value_t(1u), v != {{ "vec4<x_t>" if wide == "vec4" else "x_t" }}(0));
{% endif %}
{% elif op == "sum_squares" or op == "l2" %}
  return {{ "mul_64(v, v)" if wide_integer else "v * v" }};
{% elif op == "l1" and kind == "long" %}
  return abs_i64(v);
{% elif op == "l1" and (kind == "int" or kind == "float") %}
  return abs(v);
{% else %}
  return v;
{% endif %}
}
fn fold(v: value_t) -> state_t {
{% if width == 4 and not across %}
  return combine(combine(v.x, v.y), combine(v.z, v.w));
{% else %}
  return v;
{% endif %}
}
fn finish(v: state_t) -> state_t {
{% if partial_out %}
  return v;
{% elif op == "mean" %}
  return v / p.length;
{% elif op == "l2" %}
  return sqrt(v);
{% elif op == "log_sum" %}
  return log(v);
{% else %}
  return v;
{% endif %}
}

{{ after }}
fn put(row: u32, part: u32, v: {{ scalar }}) {
{% if after and not partial_out %}
{% for e in operands %}
  let {{ e }} = load_{{ e }}({{ e }}_row(row));
{% endfor %}
  store_y(y_row(row), after(v{% for e in operands %}, {{ e }}{% endfor %}));
{% elif op == "count" and not partial_out %}
  store_y(y_row(row), {{ "vec2<u32>(v, 0u)" if long_result else "y_t(v)" }});
{% else %}
  store_y(y_row(row) + part, v);
{% endif %}
}

{# The next `count` steps of the thread, folded into a0 … a3. #}
{% macro fold_steps(count) %}
{% for i in range(count) %}
      let v{{ i }} = {{ step("k + " ~ i * team ~ "u") }};
{% endfor %}
{% for i in range(count) %}
      a{{ i % 4 }} = combine_steps(a{{ i % 4 }}, lift(v{{ i }}));
{% if nan_apart %}
      seen = greater_magnitude(seen, v{{ i }});
{% endif %}
{% endfor %}
{% endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  let group = group_index(wg, grid);
  let part = group % p.parts;
  {{ thread_place("(group / p.parts)") }}
{{ start_row() }}
{% if wide_integer %}
  let identity = {{ "p.identity_low" if scalar == "u32" else "vec2<u32>(p.identity_low, p.identity_high)" }};
{% else %}
  let identity = value_t(bitcast<{{ scalar }}>(p.identity_low));
{% endif %}
  var total = identity;
{% if nan_apart %}
  var seen = bits_t(0u);
{% endif %}
  let end = min((part + 1u) * p.part_steps, p.steps);
  var k = part * p.part_steps + member;
{% if blocks %}
  // In blocks, so that long sums lose few digits: what is small is added to what is small.
  while (k + {{ (batch - 1) * team }}u < end) {
    let stop = min(end, k + {{ 256 * team }}u);
{% else %}
  {
    let stop = end;
{% endif %}
    var a0 = identity;
    var a1 = identity;
    var a2 = identity;
    var a3 = identity;
    for (; k + {{ (batch - 1) * team }}u < stop; k += {{ batch * team }}u) {
{{ fold_steps(batch) }}
    }
    total = combine_steps(total, combine_steps(combine_steps(a0, a1), combine_steps(a2, a3)));
  }
{% if batch > 4 %}
  for (; k + {{ 3 * team }}u < end; k += {{ 4 * team }}u) {
    var a0 = total;
    var a1 = identity;
    var a2 = identity;
    var a3 = identity;
{{ fold_steps(4) }}
    total = combine_steps(combine_steps(a0, a1), combine_steps(a2, a3));
  }
{% endif %}
  for (; k < end; k += {{ team }}u) {
    let v = {{ step("k") }};
    total = combine_steps(total, lift(v));
{% if nan_apart %}
    seen = greater_magnitude(seen, v);
{% endif %}
  }
{% if nan_apart %}
  total = select(total, value_t(f32_from_bits(0x7fc00000u)), seen > bits_t(0x7f800000u));
{% endif %}
  let all = team_combine(fold(total), tid);
  if (!live || member != 0u) { return; }
  let y = finish(all);
{% if rows_per_team == 4 %}
{% for i in range(4) %}
  put(row + {{ i }}u, part, y[{{ i }}]);
{% endfor %}
{% else %}
  put(row, part, y);
{% endif %}
}
