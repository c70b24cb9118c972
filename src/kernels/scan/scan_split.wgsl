{# scan.wgsl for split rows (common/split_rows.h). A split's statistics are its elements' total. Before a tile come the
   totals of the splits before it, combined in an order that depends only on their positions. #}
alias value_t = {{ "vec4<x_t>" if wide == "vec4" else "x_t" }};
{% macro step_of_x(i) -%}
{{ load_step("x", "x_start", physical("min(" ~ tile_step(i) ~ ", p.steps - 1u)")) }}
{%- endmacro %}
{{ tile_of(["x"], "value_t", step_of_x) }}
{% macro tile_round(r) %}
{% for i in range(4) %}
    let k{{ i }} = {{ tile_step(4 * r + i) }};
    let inside{{ i }} = k{{ i }} < p.steps;
    let e{{ i }} = loaded.v{{ 4 * r + i }};
{% endfor %}
{{ lift_round() }}
{% endmacro %}
{% set subgroup_lane = "subgroup_lane" if mixed else "0u" %}
{% set states = components if across else 1 %}

{# Computes `before`, the total of the row before the tile, and then the tile's results. #}
{% macro join_before() %}
  var sum = no_state();
  for (var q = lane; q < split_of(tile); q += {{ threads_per_row }}u) {
    let f = load_partials_of(tile, q, slot);
{% for i in range(states) %}
    sum.v{{ i }} = join(sum.v{{ i }}, f.f{{ i }});
{% endfor %}
  }
  var before = row_scan(sum, tid, {{ subgroup_lane }}).all{{ "" if across else ".v0" }};
{% endmacro %}
{% macro scan_tile() %}
  let y0 = y_row(row);
{{ tiles_begin() }}
{% for r in range(register_steps // 4) %}
  {
{{ tile_round(r) }}
{{ store_round(subgroup_lane) }}
  }
{% endfor %}
{{ tiles_end() }}
{% endmacro %}
{% macro finish_tile() %}
  let loaded = load_tile(tile, 0u, tid);
{{ join_before() }}
{{ scan_tile() }}
{% endmacro %}
{{ finish_function(finish_tile) }}

{{ split_head() }}
{% if gathers %}
  var own = no_state();
{{ tiles_begin() }}
{% for r in range(register_steps // 4) %}
  {
{{ tile_round(r) }}
    own = combine(own, t);
  }
{% endfor %}
{{ tiles_end() }}
  let all = row_scan(own, tid, {{ subgroup_lane }}).all;
  if (lane == 0u) {   // also for rows past the end, which others wait for
{% for i in range(states) %}
{% set total = "all.v" ~ i if across else "join(join(all.v0, all.v1), join(all.v2, all.v3))" %}
    {{ publish_partials("partial_at(tile, split_of(tile), 0u, slot + " ~ i ~ "u)", total) }}
{% endfor %}
  }
{% endif %}
{% if finishes %}
{{ join_before() }}
{{ split_joined() }}
{{ scan_tile() }}
{% endif %}
{{ split_end() }}
