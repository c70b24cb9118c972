{# y = the scan of x along rows. In each round the lanes of a row take four steps each, combine them, scan the lanes'
   totals, and prepend the total of earlier rounds. Along a row a lane's four steps are threads_per_row apart, and their
   totals are scanned in parallel; across rows they are adjacent. #}
@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
  let x0 = x_row(row);
  let y0 = y_row(row);
  var before = {{ "no_state()" if across else "none()" }};
  for (var at = 0u; at < p.steps; at += {{ 4 * threads_per_row }}u) {
{% for i in range(4) %}
    let k{{ i }} = at + {{ "lane * 4u + " ~ i ~ "u" if across else i * threads_per_row ~ "u + lane" }};
    let inside{{ i }} = k{{ i }} < p.steps;
    let e{{ i }} = {{ load_step("x", "x0", physical("min(k" ~ i ~ ", p.steps - 1u)")) }};
{% endfor %}
{{ lift_round() }}
{{ store_round("subgroup_lane" if mixed else "0u") }}
  }
}
