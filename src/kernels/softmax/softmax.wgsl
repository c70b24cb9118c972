{# y = exp(x - max) / sum(exp(x - max)) along rows. Rows that fit are read once and kept in registers; longer ones are
   read twice, maximum and sum being gathered in one pass that rescales the sum when the maximum grows (Milakov and
   Gimelshein, "Online normalizer calculation for softmax", 2018). The maximum starts at the least finite value, so that
   a row of -inf comes to 0 · (1 / 0), NaN, and no rescaling meets inf - inf. #}
{{ row_access("x") }}
{{ row_access("y") }}
{{ team_function("team_max", "state_t", "larger") }}
{{ team_function("team_sum", "state_t", "add") }}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
  let x0 = x_row(row);
  let y0 = y_row(row);
{% if kept %}
{% set end = kept - 1 %}
{% for i in range(kept) %}
  let k{{ i }} = member + {{ i * team }}u;
{% endfor %}
  let whole = k{{ end }} < p.steps;   // only the last step can lie past the row's end
{% for i in range(end) %}
  var v{{ i }} = {{ load_step("x", "x0", "k" ~ i) }};
{% endfor %}
  var v{{ end }} = select(value_t(lowest), {{ load_step("x", "x0", "min(k" ~ end ~ ", p.steps - 1u)") }}, whole);
  var top = max(state_t(lowest), largest_of(v0));
{% for i in range(1, kept) %}
  top = max(top, largest_of(v{{ i }}));
{% endfor %}
  top = team_max(top, tid);
{% for i in range(kept) %}
  v{{ i }} = exp(v{{ i }} - top);
{% endfor %}
  v{{ end }} = select(value_t(0), v{{ end }}, whole);
  var total = v0;
{% for i in range(1, kept) %}
  total += v{{ i }};
{% endfor %}
  let scale = 1 / team_sum(sum_of(total), tid);
  if (!live) { return; }
{% for i in range(end) %}
  {{ store_step("y", "y0", "k" ~ i, "v" ~ i ~ " * scale") }};
{% endfor %}
  if (whole) { {{ store_step("y", "y0", "k" ~ end, "v" ~ end ~ " * scale") }}; }
{% else %}
  var top = state_t(lowest);
  var total = state_t(0);
  var k = member;
  for (; k + {{ 3 * team }}u < p.steps; k += {{ 4 * team }}u) {
{% for i in range(4) %}
    let v{{ i }} = {{ load_step("x", "x0", "k + " ~ i * team ~ "u") }};
{% endfor %}
    let next = max(top, largest_of(max(max(v0, v1), max(v2, v3))));
    total = total * exp(top - next) + sum_of((exp(v0 - next) + exp(v1 - next)) + (exp(v2 - next) + exp(v3 - next)));
    top = next;
  }
  for (; k < p.steps; k += {{ team }}u) {
    let v = {{ load_step("x", "x0", "k") }};
    let next = max(top, largest_of(v));
    total = total * exp(top - next) + sum_of(exp(v - next));
    top = next;
  }
  let row_top = team_max(top, tid);
  let scale = 1 / team_sum(total * exp(top - row_top), tid);
  if (!live) { return; }
  // Backwards: what was read last is the likeliest to be in a cache still.
  var left = (p.steps - member + {{ team - 1 }}u) / {{ team }}u;
  if (member >= p.steps) { left = 0u; }
  for (; left >= 4u; left -= 4u) {
    let last = member + (left - 1u) * {{ team }}u;
{% for i in range(4) %}
    let v{{ i }} = {{ load_step("x", "x0", "last - " ~ i * team ~ "u") }};
{% endfor %}
{% for i in range(4) %}
    {{ store_step("y", "y0", "last - " ~ i * team ~ "u", "exp(v" ~ i ~ " - row_top) * scale") }};
{% endfor %}
  }
  for (; left > 0u; left--) {
    let last = member + (left - 1u) * {{ team }}u;
    {{ store_step("y", "y0", "last", "exp(" ~ load_step("x", "x0", "last") ~ " - row_top) * scale") }};
  }
{% endif %}
}
