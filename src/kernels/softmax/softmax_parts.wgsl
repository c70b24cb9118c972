{# Softmax, or its logarithm, of rows in parts (common/row_parts.h). A part's statistics are its maximum and its sum of
   exponentials below that, which join as in softmax.wgsl. What waits keeps the exponentials, below its thread's
   maximum, unless it keeps words: then, where y has 16 bits too, the sum is taken off in the exponent, an operation less
   and a rounding more. #}
{% set keeps_exponentials = gathers and finishes and not logarithm and not packed %}
{# `checked`: rows whose sum is no positive number are given up, so that what is stored at once has no NaN, which
   makes rounding to bf16 short: a fifth of the time. #}
{% set checked = packed and rounds %}
{# Where a tile's rows are columns they are joined column by column: by a thread of each four members, then by one. #}
{% set by_columns = state == "vec4" and team % 4 == 0 %}
{{ work_access() }}
{% if by_columns %}
{% if gathers %}
var<workgroup> member_tops: array<vec4<f32>, {{ workgroup }}>;
var<workgroup> member_sums: array<vec4<f32>, {{ workgroup }}>;
var<workgroup> gathered_tops: array<f32, {{ workgroup }}>;
var<workgroup> gathered_sums: array<f32, {{ workgroup }}>;
{% endif %}
{% if finishes %}
var<workgroup> found_tops: array<f32, {{ workgroup }}>;
var<workgroup> found_sums: array<f32, {{ workgroup }}>;
{% macro place_in_parts(k) -%}
found_at(tile, min(q + {{ k // 2 * (team // 4) }}u, p.all_parts - 1u), {{ k % 2 }}u, column)
{%- endmacro %}
{{ load_found_function("load_found_of_four", "FoundOfFour", "tile: u32, q: u32, column: u32", 8, place_in_parts) }}
{% endif %}
{% else %}
{{ team_function("team_max", "state_t", "larger") }}
{{ team_function("team_sum", "state_t", "add") }}
{% endif %}
{% macro give_up_unless(positive) %}
{% if checked %}
  if (!{{ positive }}) { atomicMax(&gave_up, 1u); }
{% endif %}
{% endmacro %}
{# Joins what `count` threads left of column tid in `tops` and `sums` as `top` and `sum`. #}
{% macro join_column(top, sum, tops, sums, count) %}
    var {{ top }} = {{ tops }}[tid];
{% for k in range(1, count) %}
    {{ top }} = max({{ top }}, {{ tops }}[tid + {{ k * block }}u]);
{% endfor %}
    var {{ sum }} = 0f;
{% for k in range(count) %}
    {{ sum }} += {{ sums }}[tid + {{ k * block }}u] * exp({{ tops }}[tid + {{ k * block }}u] - {{ top }});
{% endfor %}
{% endmacro %}

{# Joins what all parts found: of columns by two steps, the second behind a barrier. #}
{% macro join_columns() %}
  var found_top = lowest;
  var found_sum = 0f;
  for (var q = share; q < p.all_parts; q += {{ team }}u) {
    let f = load_found_of_four(tile, q, column);
    let next = max(found_top, max(max(f.f0, f.f2), max(f.f4, f.f6)));
    found_sum = found_sum * exp(found_top - next) + f.f1 * exp(f.f0 - next);
{% for k in range(1, 4) %}
    found_sum += select(0f, f.f{{ 2 * k + 1 }} * exp(f.f{{ 2 * k }} - next), q + {{ k * (team // 4) }}u < p.all_parts);
{% endfor %}
    found_top = next;
  }
  found_tops[tid] = found_top;
  found_sums[tid] = found_sum;
  workgroupBarrier();
  if (tid < {{ block }}u) {
{{ join_column("top", "sum", "found_tops", "found_sums", team // 4) }}
    found_tops[tid] = top;
    found_sums[tid] = sum;
{{ give_up_unless("is_positive_f32(sum)") }}
  }
{% endmacro %}
{% macro column_values() %}
  let row_top = vec4<f32>(found_tops[slot], found_tops[slot + 1u], found_tops[slot + 2u], found_tops[slot + 3u]);
  let row_total = vec4<f32>(found_sums[slot], found_sums[slot + 1u], found_sums[slot + 2u], found_sums[slot + 3u]);
{% endmacro %}
{# Of rows, a part to each member, or all to each thread. #}
{% macro join_rows(together) %}
  var part_top = state_t(lowest);
  var part_total = state_t(0);
  for (var q = {{ "member" if together else "0u" }}; q < p.all_parts; q += {{ team if together else 1 }}u) {
    let f = load_found_of(tile, q, slot);
    let a = {{ got(0) }};
    let b = {{ got(1) }};
    let next = max(part_top, a);
    part_total = part_total * exp(part_top - next) + b * exp(a - next);
    part_top = next;
  }
{% if together %}
  let row_top = team_max(part_top, tid);
  let row_total = team_sum(part_total * exp(part_top - row_top), tid);
{{ give_up_unless("all_positive_f32(row_total)" if state == "vec4" else "is_positive_f32(row_total)") }}
{% else %}
  let row_top = part_top;
  let row_total = part_total;
{% endif %}
{% endmacro %}
{% macro usual_result(value) -%}
{{ "(" ~ value ~ " - row_top) - less" if logarithm else "exp(" ~ value ~ " - row_top) * scale" }}
{%- endmacro %}
{% macro finish_tile() %}
{{ join_rows(false) }}
{% if logarithm %}
  let less = {{ log_of("row_total") }};
{% else %}
  let scale = 1 / row_total;
{% endif %}
{{ finish_steps(usual_result) }}
{% endmacro %}
{{ finish_function(finish_tile) }}
{% if checked %}
{% set store_how = quick_store %}
{% endif %}

{{ tile_of_inputs() }}
{{ parts_head() }}
{% if by_columns %}
  let column = tid % {{ block }}u;
  let share = tid / {{ block }}u;
{% endif %}
{% if gathers %}
{# Words of infinities, whose exponentials are 0. #}
  var own_top = state_t(lowest);
  var total = value_t(0);
{{ turns_begin() }}
{{ tile_values("lowest", "0xfc00fc00u" if x_is_f16 else "0xff80ff80u") }}
{% if long %}
  let before = own_top;
{% endif %}
{% for i in range(kept) %}
  own_top = max(own_top, largest_of({{ tile_value(i) }}));
{% endfor %}
{% if long %}
  total *= exp(before - own_top);
{% endif %}
{{ forget_values() }}
{% for i in range(kept) %}
{% set below_top = "exp(" ~ tile_value(i) ~ " - own_top)" %}
  {{ "v" ~ i ~ " =" if keeps_exponentials else "let e" ~ i ~ " =" }} {{ below_top if packed else masked("value_t(0)", below_top, i) }};
  total += {{ "v" if keeps_exponentials else "e" }}{{ i }};
{% endfor %}
{{ turns_end() }}
{% if by_columns %}
  let at = member * {{ block // 4 }}u + slot / 4u;
  member_tops[at] = own_top;
  member_sums[at] = total;
  workgroupBarrier();
  var gathered_sum = 0f;
{% for k in range(4) %}
  let at{{ k }} = (4u * share + {{ k }}u) * {{ block // 4 }}u + column / 4u;
  let top{{ k }} = member_tops[at{{ k }}][column % 4u];
{% endfor %}
  let gathered_top = max(max(top0, top1), max(top2, top3));
{% for k in range(4) %}
  gathered_sum += member_sums[at{{ k }}][column % 4u] * exp(top{{ k }} - gathered_top);
{% endfor %}
{% if team == 4 %}
  {{ leave_found("found_at(tile, part_of(tile), 0u, column)", "gathered_top") }}
  {{ leave_found("found_at(tile, part_of(tile), 1u, column)", "gathered_sum") }}
{% else %}
  gathered_tops[tid] = gathered_top;
  gathered_sums[tid] = gathered_sum;
  workgroupBarrier();
  if (tid < {{ block }}u) {
{{ join_column("top", "sum", "gathered_tops", "gathered_sums", team // 4) }}
    {{ leave_found("found_at(tile, part_of(tile), 0u, column)", "top") }}
    {{ leave_found("found_at(tile, part_of(tile), 1u, column)", "sum") }}
  }
{% endif %}
{% else %}
  let top = team_max(own_top, tid);
  let sum = team_sum(sum_of(total) * exp(own_top - top), tid);
  if (member == 0u) {   // teams past the end too: what they found is waited for
{{ put_found(0, "top") }}
{{ put_found(1, "sum") }}
  }
{% endif %}
{% endif %}
{% if finishes %}
{% if by_columns %}
{{ join_columns() }}
{% if not waits %}
  workgroupBarrier();
{% endif %}
{{ parts_found() }}
{{ column_values() }}
{% else %}
{{ join_rows(true) }}
{{ parts_found() }}
{% endif %}
{% if logarithm %}
  let less = {{ log_of("row_total") }};
{% elif packed and narrow_y %}
  let less = log2(row_total);
{% elif keeps_exponentials %}
  let scale = exp(own_top - row_top) / row_total;
{% else %}
  let scale = 1 / row_total;
{% endif %}
{{ turns_begin() }}
{{ tile_starts() }}
{{ forget_values() }}
{% macro result(i) -%}
{% if packed and narrow_y and not logarithm %}exp2(fma(({{ tile_value(i) }} - row_top), value_t(1.44269504), value_t(-less)))
{%- elif keeps_exponentials %}v{{ i }} * scale
{%- else %}{{ usual_result(tile_value(i)) }}
{%- endif %}
{%- endmacro %}
{% for i in range(kept) %}
{{ store_tile(i, result(i)) }}
{% endfor %}
{{ turns_end() }}
{% endif %}
{{ parts_end() }}
