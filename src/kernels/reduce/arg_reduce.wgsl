{#
  y = index of the greatest ordered key (common/ordered_key.wgsl) of each row, the first among equals. A lane keeps the
  first of its own best; the row's lanes agree on the best key, then on the least index that has it. A row may be
  split, as in reduce.wgsl: splits publish (key, index); with several chunks, 64-bit keys are stored separately from
  the index. x may be a chunk of longer rows, cut along `cuts` axes. `folds` 2: two adjacent rows are taken as four of
  half the length.

  options:
    by_value: flag
    may_flush: flag
    long_result: flag
    cuts: 0, 1, number
    folds: 1, 2
    batch: 4, 8, 16
    left: 0, 1, 2, number
    left_whole: 0, number
#}
{% set words = 2 if key_bits == 64 else 1 %}
{% set along4 = width == 4 and not across %}
alias value_t = {{ "vec4<u32>" if width == 4 else "u32" }};   // a word of a step's keys
alias state_t = {{ "vec4<u32>" if state == "vec4" else "u32" }};   // of a row
{{ row_access("x") }}
{{ row_access("y") }}
fn greater(a: state_t, b: state_t) -> state_t { return max(a, b); }
fn lesser(a: state_t, b: state_t) -> state_t { return min(a, b); }
{{ row_reduction("row_max", "state_t", "greater") }}
{{ row_reduction("row_min", "state_t", "lesser") }}

// The best of a thread's steps: its key, and the first index with that key.
struct Best { key: {{ "vec2<u32>" if words == 2 else "state_t" }}, at: state_t }
{# Takes the steps first, first + threads_per_row, … before `end`, in batches and then the rest together. `take` is a
   macro of a value, its step, and the test that the step is in the split, if some may not be. #}
{% macro take_steps(take, single) %}
{% set count = 1 if single else batch %}
  var k = first;
  for (; k < {{ "end" if single else "stop" }}; k += {{ count * threads_per_row }}u) {
{% for i in range(count) %}
    let v{{ i }} = {{ load_step("x", "x0", "k + " ~ i * threads_per_row ~ "u") }};
{% endfor %}
{% for i in range(count) %}
{{ take("v" ~ i, "k + " ~ i * threads_per_row ~ "u", "") }}
{% endfor %}
  }
{% if left and not single %}
  if (stop < end) {
{% for i in range(left) %}
{% set at = "k + " ~ i * threads_per_row ~ "u" %}
    let v{{ i }} = {{ load_step("x", "x0", at if i < left_whole else "min(" ~ at ~ ", end - 1u)") }};
{% endfor %}
{% for i in range(left) %}
{% set at = "k + " ~ i * threads_per_row ~ "u" %}
{{ take("v" ~ i, at, at ~ " < end" if i >= left_whole) }}
{% endfor %}
  }
{% endif %}
{% endmacro %}
{% if not partial_in %}
{% if words == 1 %}
fn keys_of(v: {{ "vec4<x_t>" if width == 4 else "x_t" }}) -> value_t {
{% if width == 4 %}
  let raw = bitcast<value_t>(v);
  return value_t(ordered_key(raw.x), ordered_key(raw.y), ordered_key(raw.z), ordered_key(raw.w));
{% else %}
  return ordered_key(bitcast<value_t>(v));
{% endif %}
}
{% endif %}
{% macro take_key(v, k, inside) %}
  {
{% if words == 2 %}
    let key = ordered_key({{ v }});
    if (less_u64(best, key){{ " && " ~ inside if inside }}) { best = key; at = {{ k }}; }
{% else %}
    let key = keys_of({{ v }});
{% set no = "vec4<bool>(false)" if width == 4 else "false" %}
    let better = {{ "select(" ~ no ~ ", key > best, " ~ inside ~ ")" if inside else "key > best" }};
    best = select(best, key, better);
    at = select(at, value_t({{ k }}), better);
{% endif %}
  }
{% endmacro %}
fn best_by_key(x0: u32, first: u32, stop: u32, end: u32) -> Best {
  // If nothing is greater than 0, the first step is the best; past the end it loses to any other.
  var best = {{ "vec2<u32>(0u)" if words == 2 else "value_t(0u)" }};
  var at = value_t(first);
{{ take_steps(take_key, by_value) }}
{% if along4 %}
  let own = max(max(best.x, best.y), max(best.z, best.w));
  let index = select(vec4<u32>(0xffffffffu), 4u * at + vec4<u32>(0u, 1u, 2u, 3u), best == vec4<u32>(own));
  return Best(own, min(min(index.x, index.y), min(index.z, index.w)));
{% else %}
  return Best(best, at);
{% endif %}
}
{% endif %}
{% if by_value %}
{# Narrow floats are loaded at twice the rate of wide ones, too fast for keys: they are compared as floats, four of a
   row at once. Keys decide where this is not enough: if a sum indicates that there may be NaN, and if the best is 0, or
   next to it on a GPU that flushes denormals to 0. #}
{% set beats = "<" if descending else ">" %}
{% set op = "min" if descending else "max" %}
alias number_t = {{ "vec4<f32>" if state == "vec4" else "f32" }};
{% macro take_value(v, k, inside) %}
  {
{% if along4 %}
    let own = {{ op }}({{ op }}({{ v }}.x, {{ v }}.y), {{ op }}({{ v }}.z, {{ v }}.w));
    let sum = ({{ v }}.x + {{ v }}.y) + ({{ v }}.z + {{ v }}.w);
{% else %}
    let own = {{ v }};
    let sum = own;
{% endif %}
{% set beats_best = "own " ~ beats ~ " best" %}
{% if inside %}
    watch += select(number_t(0), sum, {{ inside }});
    let better = select({{ "vec4<bool>(false)" if state == "vec4" else "false" }}, {{ beats_best }}, {{ inside }});
{% else %}
    watch += sum;
    let better = {{ beats_best }};
{% endif %}
    best = select(best, own, better);
    at = select(at, state_t({{ k }}), better);
  }
{% endmacro %}
fn best_by_value(x0: u32, first: u32, stop: u32, end: u32) -> Best {
  var best = number_t(f32_from_bits({{ "0x7f800000u" if descending else "0xff800000u" }}));
  var at = state_t(first);
  var watch = number_t(0);
{{ take_steps(take_value, false) }}
  let sum = bitcast<state_t>(watch) & state_t(0x7fffffffu);
  if (any(sum > state_t(0x7f800000u))) { return best_by_key(x0, first, stop, end); }
{% if may_flush %}
  let magnitude = bitcast<state_t>(best) & state_t(0x7fffffffu);
  if (any(magnitude < state_t(0x800000u))) { return best_by_key(x0, first, stop, end); }
{% endif %}
{% if along4 %}
  let v = {{ load_step("x", "x0", "min(at, p.steps - 1u)") }};
  let component = select(select(select(3u, 2u, v.z == best), 1u, v.y == best), 0u, v.x == best);
  return Best(ordered_key(bitcast<u32>(best)), 4u * at + component);
{% else %}
  return Best(keys_of(best), at);
{% endif %}
}
{% endif %}

// The index in the row of a chunk's element i.
fn in_row(i: u32) -> u32 {
  var at = i;
{% for c in range(cuts) %}
  at = at / p.run{{ c }} * p.step{{ c }} + p.begin{{ c }} + at % p.run{{ c }};
{% endfor %}
  return at;
}

{# The best of a row's lanes, as <prefix>key (64 bits: <prefix>low and <prefix>high) and <prefix>at. #}
{% macro best_of_row(best, prefix) %}
{% if words == 2 %}
  let {{ prefix }}high = row_max({{ best }}.key.y, tid);
  let {{ prefix }}low = row_max(select(0u, {{ best }}.key.x, {{ best }}.key.y == {{ prefix }}high), tid);
  let {{ prefix }}at = row_min(select(0xffffffffu, {{ best }}.at, all({{ best }}.key == vec2<u32>({{ prefix }}low, {{ prefix }}high))), tid);
{% else %}
  let {{ prefix }}key = row_max({{ best }}.key, tid);
  let {{ prefix }}at = row_min(select(state_t(0xffffffffu), {{ best }}.at, {{ best }}.key == {{ prefix }}key), tid);
{% endif %}
{% endmacro %}
{% macro join_split(k) %}
{% if words == 2 %}
      let key = vec2<u32>(left0_{{ k }}, left1_{{ k }});
      if (less_u64(of_splits.key, key) || (all(of_splits.key == key) && left2_{{ k }} < of_splits.at)) {
        of_splits = Best(key, left2_{{ k }});
      }
{% else %}
      let better = (left0_{{ k }} > of_splits.key) | ((left0_{{ k }} == of_splits.key) & (left1_{{ k }} < of_splits.at));
      of_splits = Best(select(of_splits.key, left0_{{ k }}, better), select(of_splits.at, left1_{{ k }}, better));
{% endif %}
{% endmacro %}
{% macro best_word(w, component) -%}
{%- if words == 2 -%}{{ ["low", "high", "in_row(at)"][w] }}
{%- else -%}{{ ["key" ~ component, "in_row(at" ~ component ~ ")"][w] }}
{%- endif -%}
{%- endmacro %}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{{ split_place() }}
  let x0 = x_row(row);
  let begin = split * p.split_steps;
  let end = min(begin + p.split_steps, p.steps);
  let first = begin + lane;
{% if partial_in %}
  var own = Best({{ "vec2<u32>(0u)" if words == 2 else "0u" }}, 0xffffffffu);
  for (var k = first; k < end; k += {{ threads_per_row }}u) {
    let v = load_x(x0 + {{ words }}u * k);
{% if words == 2 %}
    let at = load_x(x0 + 2u * k + 1u).x;
    if (less_u64(own.key, v) || (all(own.key == v) && at < own.at)) { own = Best(v, at); }
{% else %}
    if (v.x > own.key || (v.x == own.key && v.y < own.at)) { own = Best(v.x, v.y); }
{% endif %}
  }
{% else %}
  let stop = end - (end - begin) % {{ batch * threads_per_row }}u;
  let own = best_by_{{ "value" if by_value else "key" }}(x0, first, stop, end);
{% endif %}
{{ best_of_row("own", "") }}
{% if joins %}
{{ publish_split(best_word) }}
  var of_splits = Best({{ "vec2<u32>(0u)" if words == 2 else "state_t(0u)" }}, state_t(0xffffffffu));
{{ join_splits(join_split) }}
{{ best_of_row("of_splits", "joined_") }}
{% endif %}
{% set at = "joined_at" if joins else "at" %}
  if (!live || lane != 0u) { return; }
{% if folds == 2 %}
  // Lanes 0 and 2 have every other element of one row, 1 and 3 those of the other.
{% set key = "joined_key" if joins else "key" %}
  let own_at = 2u * {{ at }} + vec4<u32>(0u, 0u, 1u, 1u);
  let other_at = own_at.zwxy;
  let other_key = {{ key }}.zwxy;
  let folded_at = select(own_at, other_at, (other_key > {{ key }}) | ((other_key == {{ key }}) & (other_at < own_at)));
{% set at = "folded_at" %}
{% endif %}
{% for i in range(rows_per_thread // folds) %}
{% set component = "[" ~ i ~ "]" if rows_per_thread == 4 else "" %}
{% if partial_out and words == 2 %}
  let slot = y_row(row) + 2u * split;
  store_y(slot, vec2<u32>(low, high));
  store_y(slot + 1u, vec2<u32>(in_row(at), 0u));
{% elif partial_out %}
  store_y(y_row(row + {{ i }}u) + split, vec2<u32>(key{{ component }}, in_row(at{{ component }})));
{% elif long_result %}
  store_y(y_row(row + {{ i }}u), vec2<u32>({{ at }}{{ component }}, 0u));
{% else %}
  store_y(y_row(row + {{ i }}u), y_t({{ at }}{{ component }}));
{% endif %}
{% endfor %}
}
