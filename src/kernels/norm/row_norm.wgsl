{#
  y = (x - mean) / sqrt(variance + epsilon) · scale + bias along rows; if not `centred`, the mean is 0 and the variance
  is the mean of squares. Rows that fit registers are read once: the mean, then sums of deviations from it; the
  deviations' own sum corrects the mean's rounding error (the corrected two-pass algorithm: Chan, Golub and LeVeque,
  "Algorithms for computing the sample variance", 1983). Longer rows are read twice: their moments first
  (common/moments.wgsl).

  options:
    centred: flag
    narrow_y: flag
    pairs_of_x: flag
    rounds: flag
#}
{# `packed`: registers hold words of two 16-bit elements, half as many registers. #}
{% set packed = pairs_of_x and register_steps > 4 %}
{% set short = packed and centred and narrow_y %}
{# `checked` (norm_weights.wgsl): for rows and weights that fail the check, a thread stores its results a second
   time. #}
{% set checked = rounds and register_steps and width == 4 and not unaligned %}
{% if packed and unaligned %}
// The bits of two words of 16-bit elements that are in the row.
fn words_in(inside: vec4<bool>) -> vec2<u32> {
  return select(vec2<u32>(0u), vec2<u32>(0xffffu), inside.xz) | select(vec2<u32>(0u), vec2<u32>(0xffff0000u), inside.yw);
}
{% endif %}
{{ operand_access() }}
{{ weight_access() }}
{{ row_reduction("row_sum", "state_t", "add") }}
{% set together = register_steps and centred and state == "" %}
{{ "" if not together else row_sums_function() }}

@compute @workgroup_size({{ workgroup }})
fn main({{ thread_arguments() }}) {
  {{ thread_place("group_index(wg, grid)") }}
{{ operand_starts() }}
{{ weight_rows() }}
{% if register_steps %}
{% set end = register_steps - 1 %}
{{ row_steps() }}
{{ first_places() }}
{% if scaled %}
{{ first_place("scale", "scale_start") }}
{% endif %}
{% if biased %}
{{ first_place("bias", "bias_start") }}
{% endif %}
{% macro kept_value(i) %}{{ "widen4_x(v" ~ i ~ ")" if packed else "v" ~ i }}{% endmacro %}
{% if packed %}
{% for i in range(register_steps) %}
{% set words = "words4_x(" ~ register_place("x", i, "" if i < end else "whole") ~ ")" %}
  var v{{ i }} = {{ words ~ " & words_in(in" ~ i ~ ")" if is_edge(i) else in_step("vec2<u32>(0u)", words, i) }};
{% endfor %}
{% else %}
{{ take_row("0", register_place) }}
{% endif %}
{# A few weights are loaded before the sums, so that they arrive in time. #}
{% set early = register_steps * width <= 16 %}
{% macro load_kept_operands() %}
{% for i in range(register_steps) %}
{{ take_operands("w" ~ i ~ "_", register_place, i, "" if i < register_steps - 1 else "whole") }}
{% endfor %}
{% endmacro %}
{% if early %}
{% for i in range(register_steps) %}
{{ step_weights(i, register_place, "" if i < end else "whole") }}
{% endfor %}
{{ load_kept_operands() }}
{% endif %}
{% if centred %}
  var total = {{ kept_value(0) }};
{% for i in range(1, register_steps) %}
  total += {{ kept_value(i) }};
{% endfor %}
  let mean = row_sum(sum_of(total), tid) * p.inverse_length;
{{ forget_values() }}
  total = value_t(0);
{% endif %}
  var squares = value_t(0);
{% for i in range(register_steps) %}
{% if centred %}
  let d{{ i }} = {{ in_step("value_t(0)", kept_value(i) ~ " - mean", i) }};
  total += d{{ i }};
{% if not packed %}
  v{{ i }} = d{{ i }};
{% endif %}
{% else %}
  let d{{ i }} = {{ kept_value(i) }};
{% endif %}
  squares += d{{ i }} * d{{ i }};
{% endfor %}
{% if together %}
  let sums = row_sums(vec2<f32>(sum_of(total), sum_of(squares)), tid) * p.inverse_length;
  let rest = sums.x;
  let variance = sums.y - rest * rest;
{% elif centred %}
  let rest = row_sum(sum_of(total), tid) * p.inverse_length;
  let variance = row_sum(sum_of(squares), tid) * p.inverse_length - rest * rest;
{% else %}
  let variance = row_sum(sum_of(squares), tid) * p.inverse_length;
{% endif %}
  let factor = inverseSqrt({{ "max(variance, state_t(0))" if centred else "variance" }} + p.epsilon);
  if (!live) { return; }
{% if not early %}
{{ load_kept_operands() }}
{% endif %}
{% macro once_more() %}
    for (var i = p.opaque_start; i < {{ register_steps }}u; i++) {
      let k = lane + i * {{ threads_per_row }}u;
      if (k < p.steps) {
        let made = {{ made(loop_place, "k", "") }};
{{ load_weights("r_", "k") }}
{{ put("r_", loop_place, "k", weighted("((made - mean) - rest) * factor" if centred else "made * factor", "r_")) }}
      }
    }
{% endmacro %}
{% if checked %}
  if (!{{ is_ordinary("variance", "factor") }}) {
{{ once_more() }}
    return;
  }
{% if scaled or biased %}
  var all_weights = value_t(0);
{% endif %}
{% endif %}
{{ forget_values() }}
{% if short %}
{{ short_terms("mean + rest") }}
{% endif %}
{% for i in range(register_steps) %}
{% if not early %}
{{ step_weights(i, register_place, "" if i < end else "whole") }}
{% endif %}
{{ sum_weights(i) if checked }}
  {{ "if (whole) {" if i == end else "{" }}
{% set deviation = ("((" ~ kept_value(i) ~ " - mean) - rest) * factor" if packed else "(v" ~ i ~ " - rest) * factor") if centred else kept_value(i) ~ " * factor" %}
{% set w = "w" ~ i ~ "_" %}
{% set result = short_weighted(kept_value(i), w) if short else weighted(deviation, w) %}
{{ put(w, register_place, i, result, quick_store if checked else "") }}
  }
{% endfor %}
{% if checked and (scaled or biased) %}
  if (!({{ weights_are_finite() }})) {
{{ once_more() }}
  }
{% endif %}
{% else %}
{% if centred %}
  let begin = 0u;
  let end = p.steps;
{{ gather_moments() }}
{{ join_lanes("row_mean", "rest", "row_squares", "f32(p.steps * " ~ (4 if width == 4 and not across else 1) ~ "u)") }}
  let over_length = row_squares * p.inverse_length;
  let variance = select(over_length, state_t(0), over_length < state_t(0));   // max() may hide NaN
{% else %}
  var squares = state_t(0);
  var k = lane;
  for (; k + {{ 3 * threads_per_row }}u < p.steps; k += {{ 4 * threads_per_row }}u) {
{% for i in range(4) %}
    let v{{ i }} = {{ x_step("k + " ~ i * threads_per_row ~ "u") }};
{% endfor %}
    squares += sum_of((v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3));
  }
  for (; k < p.steps; k += {{ threads_per_row }}u) {
    let v = {{ x_step("k") }};
    squares += sum_of(v * v);
  }
  let variance = row_sum(squares, tid) * p.inverse_length;
{% endif %}
  let factor = inverseSqrt(variance + p.epsilon);
  if (!live) { return; }
{% macro normal(v) %}{% if centred %}(({{ v }} - row_mean) - rest) * factor{% else %}{{ v }} * factor{% endif %}{% endmacro %}
{{ steps_left() }}
  for (; left >= 4u; left -= 4u) {
    let last = lane + (left - 1u) * {{ threads_per_row }}u;
{% for i in range(4) %}
    let made{{ i }} = {{ made(loop_place, "last - " ~ i * threads_per_row ~ "u", "") }};
{{ load_weights("w" ~ i ~ "_", "last - " ~ i * threads_per_row ~ "u") }}
{{ take_operands("w" ~ i ~ "_", loop_place, "last - " ~ i * threads_per_row ~ "u", "") }}
{% endfor %}
{% for i in range(4) %}
{{ put_extra_outputs("made" ~ i, loop_place, "last - " ~ i * threads_per_row ~ "u") }}
{{ put("w" ~ i ~ "_", loop_place, "last - " ~ i * threads_per_row ~ "u", weighted(normal("made" ~ i ~ x_of), "w" ~ i ~ "_")) }}
{% endfor %}
  }
  for (; left > 0u; left--) {
    let last = lane + (left - 1u) * {{ threads_per_row }}u;
    let made = {{ made(loop_place, "last", "") }};
{{ load_weights("w_", "last") }}
{{ take_operands("w_", loop_place, "last", "") }}
{{ put_extra_outputs("made", loop_place, "last") }}
{{ put("w_", loop_place, "last", weighted(normal("made" ~ x_of), "w_")) }}
  }
{% endif %}
}
