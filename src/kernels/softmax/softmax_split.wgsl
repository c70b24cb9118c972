{#
  Softmax, or log softmax, of split rows (common/split_rows.h). A split's statistics are its maximum and its sum of
  exponentials below that, which combine as in softmax.wgsl. With look-back, registers hold the exponentials below the
  thread's maximum, or, if `packed`, words of x. Then, where y has 16 bits too, division by the sum is a subtraction in
  the exponent: an operation less and a rounding more.

  options:
    logarithm: flag
    rounds: flag
    x_is_f16: flag
    narrow_y: flag
#}
{% set keeps_exponentials = gathers and finishes and not logarithm and not packed %}
{# `checked`: rows whose sum is not a positive number take the fallback, so that all other results are known not to be
   NaN, which saves a fifth of the time by a shorter rounding to bf16 (H200). #}
{% set checked = packed and rounds %}
{# Where a tile's rows are columns, lanes are combined column by column: one thread for each four lanes, then one for
   all. #}
{% set by_columns = state == "vec4" and threads_per_row % 4 == 0 %}
{{ operand_access() }}
{% if by_columns %}
{% if gathers %}
var<workgroup> lane_tops: array<vec4<f32>, {{ workgroup }}>;
var<workgroup> lane_sums: array<vec4<f32>, {{ workgroup }}>;
var<workgroup> gathered_tops: array<f32, {{ workgroup }}>;
var<workgroup> gathered_sums: array<f32, {{ workgroup }}>;
{% endif %}
{% if finishes %}
var<workgroup> joined_tops: array<f32, {{ workgroup }}>;
var<workgroup> joined_sums: array<f32, {{ workgroup }}>;
{% macro place_in_splits(k) -%}
partial_at(tile, min(q + {{ k // 2 * (threads_per_row // 4) }}u, p.all_splits - 1u), {{ k % 2 }}u, column)
{%- endmacro %}
{{ load_partials_function("load_partials_of_four", "PartialsOfFour", "tile: u32, q: u32, column: u32", 8, place_in_splits) }}
{% endif %}
{% else %}
{{ row_reduction("row_max", "state_t", "larger") }}
{{ row_reduction("row_sum", "state_t", "add") }}
{% endif %}
{% macro fall_back_unless(positive) %}
{% if checked %}
  if (!{{ positive }}) { atomicMax(&fallback_reason, 1u); }
{% endif %}
{% endmacro %}
{# Combines the results of `count` threads for column tid in `tops` and `sums` as `top` and `sum`. #}
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

{# Combines the statistics of all splits; for columns in two steps, the second behind a barrier. #}
{% macro join_columns() %}
  var joined_top = lowest;
  var joined_sum = 0f;
  for (var q = share; q < p.all_splits; q += {{ threads_per_row }}u) {
    let f = load_partials_of_four(tile, q, column);
    let next = max(joined_top, max(max(f.f0, f.f2), max(f.f4, f.f6)));
    joined_sum = joined_sum * exp(joined_top - next) + f.f1 * exp(f.f0 - next);
{% for k in range(1, 4) %}
    joined_sum += select(0f, f.f{{ 2 * k + 1 }} * exp(f.f{{ 2 * k }} - next), q + {{ k * (threads_per_row // 4) }}u < p.all_splits);
{% endfor %}
    joined_top = next;
  }
  joined_tops[tid] = joined_top;
  joined_sums[tid] = joined_sum;
  workgroupBarrier();
  if (tid < {{ block }}u) {
{{ join_column("top", "sum", "joined_tops", "joined_sums", threads_per_row // 4) }}
    joined_tops[tid] = top;
    joined_sums[tid] = sum;
{{ fall_back_unless("is_positive_f32(sum)") }}
  }
{% endmacro %}
{% macro column_values() %}
  let row_top = vec4<f32>(joined_tops[slot], joined_tops[slot + 1u], joined_tops[slot + 2u], joined_tops[slot + 3u]);
  let row_total = vec4<f32>(joined_sums[slot], joined_sums[slot + 1u], joined_sums[slot + 2u], joined_sums[slot + 3u]);
{% endmacro %}
{# For rows: each lane takes a split (`together`), or each thread takes all. #}
{% macro join_rows(together) %}
  var split_top = state_t(lowest);
  var split_total = state_t(0);
  for (var q = {{ "lane" if together else "0u" }}; q < p.all_splits; q += {{ threads_per_row if together else 1 }}u) {
    let f = load_partials_of(tile, q, slot);
    let a = {{ statistic(0) }};
    let b = {{ statistic(1) }};
    let next = max(split_top, a);
    split_total = split_total * exp(split_top - next) + b * exp(a - next);
    split_top = next;
  }
{% if together %}
  let row_top = row_max(split_top, tid);
  let row_total = row_sum(split_total * exp(split_top - row_top), tid);
{{ fall_back_unless("all_positive_f32(row_total)" if state == "vec4" else "is_positive_f32(row_total)") }}
{% else %}
  let row_top = split_top;
  let row_total = split_total;
{% endif %}
{% endmacro %}
{% macro usual_result(value) -%}
{{ "(" ~ value ~ " - row_top) - less" if logarithm else "exp_below(" ~ value ~ ", row_top) * scale" }}
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
{{ split_head() }}
{% if by_columns %}
  let column = tid % {{ block }}u;
  let share = tid / {{ block }}u;
{% endif %}
{% if gathers %}
{# Words of -infinity, whose exponentials are 0. #}
  var own_top = state_t(lowest);
  var total = value_t(0);
{{ tiles_begin() }}
{{ tile_values("lowest", "0xfc00fc00u" if x_is_f16 else "0xff80ff80u") }}
{% if multi_tile %}
  let previous_top = own_top;
{% endif %}
{% for i in range(register_steps) %}
  own_top = max(own_top, largest_of({{ tile_value(i) }}));
{% endfor %}
{% if multi_tile %}
  total *= exp(previous_top - own_top);
{% endif %}
{{ forget_values() }}
{% for i in range(register_steps) %}
{% set below_top = ("exp_below(" ~ tile_value(i) ~ ", own_top)") if keeps_exponentials else "exp(" ~ tile_value(i) ~ " - own_top)" %}
  {{ "v" ~ i ~ " =" if keeps_exponentials else "let e" ~ i ~ " =" }} {{ below_top if packed else masked("value_t(0)", below_top, i) }};
  total += {{ "v" if keeps_exponentials else "e" }}{{ i }};
{% endfor %}
{{ tiles_end() }}
{% if by_columns %}
  let at = lane * {{ block // 4 }}u + slot / 4u;
  lane_tops[at] = own_top;
  lane_sums[at] = total;
  workgroupBarrier();
  var gathered_sum = 0f;
{% for k in range(4) %}
  let at{{ k }} = (4u * share + {{ k }}u) * {{ block // 4 }}u + column / 4u;
  let top{{ k }} = lane_tops[at{{ k }}][column % 4u];
{% endfor %}
  let gathered_top = max(max(top0, top1), max(top2, top3));
{% for k in range(4) %}
  gathered_sum += lane_sums[at{{ k }}][column % 4u] * exp(top{{ k }} - gathered_top);
{% endfor %}
{% if threads_per_row == 4 %}
  {{ publish_partials("partial_at(tile, split_of(tile), 0u, column)", "gathered_top") }}
  {{ publish_partials("partial_at(tile, split_of(tile), 1u, column)", "gathered_sum") }}
{% else %}
  gathered_tops[tid] = gathered_top;
  gathered_sums[tid] = gathered_sum;
  workgroupBarrier();
  if (tid < {{ block }}u) {
{{ join_column("top", "sum", "gathered_tops", "gathered_sums", threads_per_row // 4) }}
    {{ publish_partials("partial_at(tile, split_of(tile), 0u, column)", "top") }}
    {{ publish_partials("partial_at(tile, split_of(tile), 1u, column)", "sum") }}
  }
{% endif %}
{% else %}
  let top = row_max(own_top, tid);
  let sum = row_sum(sum_of(total) * exp(own_top - top), tid);
  if (lane == 0u) {   // also for rows past the end, which others wait for
{{ publish_rows(0, "top") }}
{{ publish_rows(1, "sum") }}
  }
{% endif %}
{% endif %}
{% if finishes %}
{% if by_columns %}
{{ join_columns() }}
{% if not look_back %}
  workgroupBarrier();
{% endif %}
{{ split_joined() }}
{{ column_values() }}
{% else %}
{{ join_rows(true) }}
{{ split_joined() }}
{% endif %}
{% if logarithm %}
  let less = {{ log_of("row_total") }};
{% elif packed and narrow_y %}
  let less = log2(row_total);
{% elif keeps_exponentials %}
  let scale = exp_of_top_below(own_top, row_top) / row_total;
{% else %}
  let scale = 1 / row_total;
{% endif %}
{{ tiles_begin() }}
{{ tile_starts() }}
{{ forget_values() }}
{% macro result(i) -%}
{% if packed and narrow_y and not logarithm %}exp2(fma(({{ tile_value(i) }} - row_top), value_t(1.44269504), value_t(-less)))
{%- elif keeps_exponentials %}v{{ i }} * scale
{%- else %}{{ usual_result(tile_value(i)) }}
{%- endif %}
{%- endmacro %}
{% for i in range(register_steps) %}
{{ store_tile(i, result(i)) }}
{% endfor %}
{{ tiles_end() }}
{% endif %}
{{ split_end() }}
