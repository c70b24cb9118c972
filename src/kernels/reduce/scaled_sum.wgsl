{#
  y = log(sum(exp(x))) or sqrt(sum(x²)) along rows, by the greatest so far, the top, and the sum of what is below it,
  so that no number leaves the range of f32. A row may be split, as in reduce.wgsl: splits publish (top, sum).
  Of log_sum_exp the top is the maximum. One of +inf counts itself as exp(0), so that such rows become +inf; a row of
  -inf becomes log(0). Of l2 it is the power of two of the greatest magnitude, down to 2^-126 and up to 2^126, by which
  numbers are divided without rounding; of NaN and infinities the sum is NaN or infinite.

  options:
    op: l2, log_sum_exp
    batch: 1, 2, number
    left: 0, 1, 2, number
    left_whole: 0, number
    loops: flag
    loads_pairs: flag
#}
{% set norm = op == "l2" %}
{{ operand_access() }}
{{ result_access() }}
{{ row_reduction("row_max", "state_t", "larger") }}
{{ row_reduction("row_sum", "state_t", "add") }}

{% if norm %}
alias bits_t = {{ "vec4<u32>" if state == "vec4" else "u32" }};
const no_top = 0x1p-126f;
fn top_of(v: value_t) -> state_t {
  let bits = bitcast<bits_t>(largest_of(abs(v))) & bits_t(0x7f800000u);
  return bitcast<state_t>(clamp(bits, bits_t(0x00800000u), bits_t(0x7e800000u)));
}
fn inverse(top: state_t) -> state_t { return bitcast<state_t>(bits_t(0x7f000000u) - bitcast<bits_t>(top)); }
fn below(v: value_t, top: state_t) -> value_t {
  let share = v * inverse(top);
  return share * share;
}
fn rescale(top: state_t, next: state_t) -> state_t {
  let share = top * inverse(next);
  return share * share;
}
{% else %}
const no_top = lowest;
fn top_of(v: value_t) -> state_t { return largest_of(v); }
fn below(v: value_t, top: state_t) -> value_t { return select(exp(v - top), value_t(1), v == value_t(top)); }
fn rescale(top: state_t, next: state_t) -> state_t { return select(exp(top - next), state_t(1), top == next); }
{% endif %}

{# Takes the next `count` steps of a thread, of which all but the first `whole` may be past `end`; `goes_on`: others
   follow. #}
{% macro take_batch(count, whole, goes_on) %}
{% for i in range(count) %}
{% set at = "k + " ~ i * threads_per_row ~ "u" %}
{% if i >= whole %}
    let in{{ i }} = {{ at }} < end;
{% endif %}
{{ take_ahead(i, at, "in" ~ i if i >= whole else "") }}
{% if goes_on %}
    ahead{{ i }} = {{ step_ahead(i, "k + " ~ (batch + i) * threads_per_row ~ "u") }};
{% endif %}
{% endfor %}
    var next = top;
    var sum = value_t(0);
{% for i in range(count) %}
    next = max(next, {{ "select(state_t(no_top), top_of(v" ~ i ~ "), in" ~ i ~ ")" if i >= whole else "top_of(v" ~ i ~ ")" }});
{% endfor %}
{% for i in range(count) %}
    sum += {{ "select(value_t(0), below(v" ~ i ~ ", next), in" ~ i ~ ")" if i >= whole else "below(v" ~ i ~ ", next)" }};
{% endfor %}
    total = total * rescale(top, next) + sum_of(sum);
    top = next;
{% endmacro %}
{% macro split_word(w, component) -%}
bitcast<u32>({{ ["split_top", "split_total"][w] ~ component }})
{%- endmacro %}
{% macro result(component) -%}
{{ "sqrt(row_total" ~ component ~ ") * row_top" ~ component if norm else "row_top" ~ component ~ " + log_f32(row_total" ~ component ~ ")" }}
{%- endmacro %}
{% macro join_split(k) %}
      let top_of_split = bitcast<state_t>(left0_{{ k }});
      let next = max(top, top_of_split);
      total = total * rescale(top, next) + bitcast<state_t>(left1_{{ k }}) * rescale(top_of_split, next);
      top = next;
{% endmacro %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{{ split_place() }}
{{ operand_starts() }}
  var top = state_t(no_top);
  var total = state_t(0);
  let begin = split * p.split_steps;
  let end = min(begin + p.split_steps, p.steps);
  var k = begin + lane;
{% if partial_in %}
  for (; k < end; k += {{ threads_per_row }}u) {
    let v = {{ x_step("k") }};
    let next = max(top, v.x);
    total = total * rescale(top, next) + v.y * rescale(v.x, next);
    top = next;
  }
{% else %}
{{ batches_end(batch) }}
{{ load_ahead(batch) }}
{% if loops %}
  for (; k < stop; k += {{ batch * threads_per_row }}u) {
{{ take_batch(batch, batch, true) }}
  }
{% endif %}
{% if left %}
  {
{{ take_batch(left, left_whole, false) }}
  }
{% endif %}
{% endif %}
{% if joins %}
  let split_top = row_max(top, tid);
  let split_total = row_sum(total * rescale(top, split_top), tid);
{{ publish_split(split_word) }}
  top = state_t(no_top);
  total = state_t(0);
{{ join_splits(join_split) }}
{% endif %}
  let row_top = row_max(top, tid);
  let row_total = row_sum(total * rescale(top, row_top), tid);
  if (!live || lane != 0u) { return; }
{% if partial_out %}
{% for i in range(rows_per_thread) %}
{% set component = "[" ~ i ~ "]" if rows_per_thread == 4 else "" %}
  store_y(y_row(row + {{ i }}u) + split, vec2<f32>(row_top{{ component }}, row_total{{ component }}));
{% endfor %}
{% else %}
{{ store_results(result) }}
{% endif %}
}
