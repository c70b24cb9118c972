{#
  row_norm.wgsl for split rows (common/split_rows.h). A split's statistics are its mean, the mean's rounding error, the
  sum of squared deviations from it, and, if `counted` because splits may be in other chunks, its number of elements.
  They combine by the pairwise update of common/moments.wgsl, as distances from one split's mean, so that a large mean
  costs no digits. Not `centred`: the sum of squares.

  options:
    centred: flag
    narrow_y: flag
    rounds: flag
    counted: flag
#}
{% set short = packed and centred and narrow_y %}
{# `checked` (norm_weights.wgsl): rows that fail the check take the fallback; for weights that do, a thread stores its
   results a second time. #}
{% set checked = packed and rounds %}
{{ operand_access() }}
{{ weight_access() }}
{{ row_reduction("row_sum", "state_t", "add") }}
{% set together = gathers and centred and state == "" %}
{{ "" if not together else row_sums_function() }}
{{ tile_of_inputs() }}

{% macro put_moments() %}
  if (lane == 0u) {   // also for rows past the end, which others wait for
{{ publish_rows(0, "split_mean") }}
{{ publish_rows(1, "rest") }}
{{ publish_rows(2, "deviations") }}
{% if counted %}
{{ publish_rows(3, "state_t(split_elements)") }}
{% endif %}
  }
{% endmacro %}
{% if centred %}
{{ elements_function() }}
{% endif %}

{% macro first_mean() %}
  let f = load_partials_of(tile, 0u, slot);
  let reference = {{ statistic(0) }};
{% endmacro %}
{# Combines the statistics of all splits, as distances from `reference`: each lane takes a split (`together`), or each
   thread takes all. #}
{% macro join_partials(together) %}
{% macro of_row(v) %}{{ "row_sum(" ~ v ~ ", tid)" if together else "(" ~ v ~ ")" }}{% endmacro %}
{% set splits_of_thread = "var q = " ~ ("lane" if together else "0u") ~ "; q < p.all_splits; q += " ~ (threads_per_row if together else 1) ~ "u" %}
{% if centred %}
  var count = 0f;
  var mean = state_t(0);      // relative to `reference`
  var squares = state_t(0);   // of deviations from the mean
  for ({{ splits_of_thread }}) {
    let f = load_partials_of(tile, q, slot);
    let n = {{ statistic(3) ~ ("[0]" if rows_per_thread == 4 else "") if counted else "elements_of(q)" }};
    let step = (({{ statistic(0) }} - reference) + {{ statistic(1) }}) - mean;
    let joined = count + n;
    mean += step * (n / joined);
    squares += {{ statistic(2) }} + step * step * (count * (n / joined));
    count = joined;
  }
  let row_mean = {{ of_row("mean * count") }} * p.inverse_length;
  let off = mean - row_mean;
  let variance = {{ of_row("squares + off * off * count") }} * p.inverse_length;
{% else %}
  var squares = state_t(0);
  for ({{ splits_of_thread }}) {
    let f = load_partials_of(tile, q, slot);
    squares += {{ statistic(0) }};
  }
  let variance = {{ of_row("squares") }} * p.inverse_length;
{% endif %}
{% endmacro %}
{% macro finished(value) -%}
{{ weighted("((" ~ value ~ " - reference) - row_mean) * factor" if centred else value ~ " * factor", "w_") }}
{%- endmacro %}
{% macro finish_tile() %}
{{ first_mean() if centred }}
{{ join_partials(packed) }}  {# fewer registers in compiled code #}
  let factor = inverseSqrt({{ "max(variance, state_t(0))" if centred else "variance" }} + p.epsilon);
{{ weight_rows() }}
{{ finish_steps(finished, load_weights("w_", "k")) }}
{% endmacro %}
{{ finish_function(finish_tile) }}
{% if checked %}
{% set once_more = finish_steps(finished, load_weights("w_", "k")) %}
{% set store_how = quick_store %}
{% endif %}
{{ split_head() }}
{% if gathers and centred %}
  let split_elements = elements_of(tile % p.splits);
  let split_inverse = 1.0 / split_elements;
{% endif %}
{% if gathers and multi_tile and centred %}
{# Each thread combines its tiles' means, relative to the first one's, and deviations. #}
  var count = 0f;
  var base = value_t(0);
  var mean = value_t(0);
  var squares = value_t(0);
{{ tiles_begin() }}
{{ tile_values("0", "0u") }}
    let n = f32(min((max(p.steps, first) - first + {{ threads_per_row - 1 }}u) / {{ threads_per_row }}u, {{ register_steps }}u));
    var total = {{ tile_value(0) }};
{% for i in range(1, register_steps) %}
    total += {{ tile_value(i) }};
{% endfor %}
    let tile_mean = total / max(n, 1);
    total = value_t(0);
    var tile_squares = value_t(0);
{% for i in range(register_steps) %}
    let d{{ i }} = {{ masked("value_t(0)", tile_value(i) ~ " - tile_mean", i) }};
    total += d{{ i }};
    tile_squares += d{{ i }} * d{{ i }};
{% endfor %}
    let rest_of_mean = total / max(n, 1);
    if (tile_in_split == 0u) { base = tile_mean; }
    let step = ((tile_mean - base) + rest_of_mean) - mean;
    let share = n / max(count + n, 1);
    mean += step * share;
    squares += (tile_squares - rest_of_mean * total) + step * step * (count * share);
    count += n;
{{ tiles_end() }}
  let split_mean = row_sum(sum_of(base + mean) * count, tid) * split_inverse;
  let off = (base - split_mean) + mean;
  let rest = row_sum(sum_of(off) * count, tid) * split_inverse;
  let deviations = row_sum(sum_of(squares + off * off * count), tid) - rest * rest / split_inverse;
{{ put_moments() }}
{% elif gathers and centred %}
{{ tile_values("0", "0u") }}
  var total = {{ tile_value(0) }};
{% for i in range(1, register_steps) %}
  total += {{ tile_value(i) }};
{% endfor %}
  let split_mean = row_sum(sum_of(total), tid) * split_inverse;
{{ forget_values() }}
  total = value_t(0);
  var split_squares = value_t(0);
{% for i in range(register_steps) %}
  let d{{ i }} = {{ masked("value_t(0)", tile_value(i) ~ " - split_mean", i) }};
  total += d{{ i }};
  split_squares += d{{ i }} * d{{ i }};
{% if not packed %}
  v{{ i }} = d{{ i }};
{% endif %}
{% endfor %}
{% if together %}
  let sums = row_sums(vec2<f32>(sum_of(total), sum_of(split_squares)), tid);
  let rest = sums.x * split_inverse;
  let deviations = sums.y - rest * sums.x;
{% else %}
  let sum = row_sum(sum_of(total), tid);
  let rest = sum * split_inverse;
  let deviations = row_sum(sum_of(split_squares), tid) - rest * sum;
{% endif %}
{{ put_moments() }}
{% elif gathers %}
  var split_squares = value_t(0);
{{ tiles_begin() }}
{{ tile_values("0", "0u") }}
{% for i in range(register_steps) %}
  let d{{ i }} = {{ tile_value(i) }};
  split_squares += d{{ i }} * d{{ i }};
{% endfor %}
{{ tiles_end() }}
  let sum = row_sum(sum_of(split_squares), tid);
  if (lane == 0u) {   // also for rows past the end, which others wait for
{{ publish_rows(0, "sum") }}
  }
{% endif %}
{% if finishes %}
{% if centred and gathers %}
  let reference = split_mean;
{% elif centred %}
{{ first_mean() }}
{% endif %}
{{ join_partials(true) }}
{% if checked %}
  let factor = inverseSqrt({{ "max(variance, state_t(0))" if centred else "variance" }} + p.epsilon);
  if (!{{ is_ordinary("variance", "factor") }}) { atomicMax(&fallback_reason, 1u); }
{{ split_joined() }}
{% else %}
{{ split_joined() }}
  let factor = inverseSqrt({{ "max(variance, state_t(0))" if centred else "variance" }} + p.epsilon);
{% endif %}
{{ tiles_begin() }}
{{ tile_starts() }}
{{ weight_rows() }}
{% if scaled %}
{{ tile_first("scale") }}
{% endif %}
{% if biased %}
{{ tile_first("bias") }}
{% endif %}
{{ forget_values() }}
{% if short %}
{{ short_terms("reference + row_mean") }}
{% endif %}
{% if checked and (scaled or biased) %}
  var all_weights = value_t(0);
{% endif %}
{% for i in range(register_steps) %}
{{ step_weights(i, tile_spot, tile_inside(i)) }}
{% set w = "w" ~ i ~ "_" %}
{{ sum_weights(i) if checked }}
{% set deviation = ("(v" ~ i ~ " - row_mean)" if gathers and not packed else "((" ~ tile_value(i) ~ " - reference) - row_mean)") if centred else tile_value(i) %}
{{ store_tile(i, short_weighted(tile_value(i), w) if short else weighted(deviation ~ " * factor", w)) }}
{% endfor %}
{% if checked and (scaled or biased) %}
  if (!({{ weights_are_finite() }})) {
{{ once_more }}
  }
{% endif %}
{{ tiles_end() }}
{% endif %}
{{ split_end() }}
