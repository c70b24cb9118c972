{# y = log(sum(exp(x))) along rows, by a running maximum and the sum of exponentials below it. A maximum of +inf counts
   itself as exp(0), so that such rows come to +inf; a row of -inf comes to log(0). A row may be cut into parts, as in
   reduce.wgsl: they leave (maximum, sum). #}
{{ work_access() }}
{{ result_access() }}
{{ team_function("team_max", "state_t", "larger") }}
{{ team_function("team_sum", "state_t", "add") }}

fn below(v: value_t, top: state_t) -> value_t { return select(exp(v - top), value_t(1), v == value_t(top)); }
fn rescale(top: state_t, next: state_t) -> state_t { return select(exp(top - next), state_t(1), top == next); }

{# The next `count` steps of a thread, of which all but the first `whole` may lie behind `end`; `goes_on`: others come. #}
{% macro take_batch(count, whole, goes_on) %}
{% for i in range(count) %}
{% set at = "k + " ~ i * team ~ "u" %}
{% if i >= whole %}
    let in{{ i }} = {{ at }} < end;
{% endif %}
{{ take_ahead(i, at, "in" ~ i if i >= whole else "") }}
{% if goes_on %}
    ahead{{ i }} = {{ step_ahead(i, "k + " ~ (batch + i) * team ~ "u") }};
{% endif %}
{% endfor %}
    var next = top;
    var sum = value_t(0);
{% for i in range(count) %}
    next = max(next, {{ "select(state_t(lowest), largest_of(v" ~ i ~ "), in" ~ i ~ ")" if i >= whole else "largest_of(v" ~ i ~ ")" }});
{% endfor %}
{% for i in range(count) %}
    sum += {{ "select(value_t(0), below(v" ~ i ~ ", next), in" ~ i ~ ")" if i >= whole else "below(v" ~ i ~ ", next)" }};
{% endfor %}
    total = total * rescale(top, next) + sum_of(sum);
    top = next;
{% endmacro %}
{% macro part_word(w, lane) -%}
bitcast<u32>({{ ["part_top", "part_total"][w] ~ lane }})
{%- endmacro %}
{% macro result(lane) %}row_top{{ lane }} + log_f32(row_total{{ lane }}){% endmacro %}
{% macro join_part(k) %}
      let top_of_part = bitcast<state_t>(left0_{{ k }});
      let next = max(top, top_of_part);
      total = total * rescale(top, next) + bitcast<state_t>(left1_{{ k }}) * rescale(top_of_part, next);
      top = next;
{% endmacro %}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
{{ parts_place() }}
{{ work_starts() }}
  var top = state_t(lowest);
  var total = state_t(0);
  let begin = part * p.part_steps;
  let end = min(begin + p.part_steps, p.steps);
  var k = begin + member;
{% if partial_in %}
  for (; k < end; k += {{ team }}u) {
    let v = {{ x_step("k") }};
    let next = max(top, v.x);
    total = total * rescale(top, next) + v.y * rescale(v.x, next);
    top = next;
  }
{% else %}
{{ batches_end(batch) }}
{{ load_ahead(batch) }}
{% if loops %}
  for (; k < stop; k += {{ batch * team }}u) {
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
  let part_top = team_max(top, tid);
  let part_total = team_sum(total * rescale(top, part_top), tid);
{{ leave_parts(part_word) }}
  top = state_t(lowest);
  total = state_t(0);
{{ join_parts(join_part) }}
{% endif %}
  let row_top = team_max(top, tid);
  let row_total = team_sum(total * rescale(top, row_top), tid);
  if (!live || member != 0u) { return; }
{% if partial_out %}
{% for i in range(rows_per_team) %}
{% set lane = "[" ~ i ~ "]" if rows_per_team == 4 else "" %}
  store_y(y_row(row + {{ i }}u) + part, vec2<f32>(row_top{{ lane }}, row_total{{ lane }}));
{% endfor %}
{% else %}
{{ store_results(result) }}
{% endif %}
}
