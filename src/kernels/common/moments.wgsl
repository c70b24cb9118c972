{#
  Mean and sum of squared deviations of a row of floats, in one pass. Processes the steps from `begin` to `end`, loaded
  ahead (row_fusion.wgsl), and declares for each lane: `count`, the thread's number of elements; `mean`, their mean
  minus `base`, an element near the row's start, so that a large mean costs no precision; and `squares`, the sum of
  squared deviations. A few steps at a time are summed as distances from the first of them, and as the squares of
  these, which loses few digits, since the first one is among them; the sums are merged by the pairwise update of Chan,
  Golub and LeVeque, "Algorithms for computing the sample variance", 1983. Include after float_rows.wgsl and a
  row_reduction called row_sum.

  options:
    batch: 0, 1, 2, number
    left: 0, 1, 2, number
    left_whole: 0, number
    loops: flag
    blocks: flag
#}
{% macro gather_moments() %}
{% if not left %}
  let base = value_t(0);
  let count = 0f;
  let mean = value_t(0);
  let squares = value_t(bitcast<f32>(0x7fc00000u | p.opaque_zero));   // there are no steps
{% else %}
{{ batches_end(batch) }}
  var k = begin + lane;
{{ load_ahead(batch) }}
{% if batch > 2 %}
  // The median of three, so that an outlier at the row's start is not the base.
  let base0 = {{ ahead_value(0) }};
  let base1 = {{ ahead_value(1) }};
  let base = max(min(base0, base1), min(max(base0, base1), {{ ahead_value(2) }}));
{% else %}
  let base = {{ ahead_value(0) }};
{% endif %}
  var count = 0f;
  var mean = value_t(0);
  var squares = value_t(0);
{% if loops %}
{% set sums = "block_" if blocks else "" %}
{% if blocks %}
  // In blocks, so that long sums lose few digits: small terms are added to small sums.
  while (k < stop) {
    let block = min(stop, k + {{ 256 * threads_per_row }}u);
    var block_count = 0f;
    var block_mean = value_t(0);
    var block_squares = value_t(0);
{% else %}
  {
    let block = stop;
{% endif %}
    for (; k < block; k += {{ batch * threads_per_row }}u) {
{% for first in range(0, batch, 8) %}
{% set size = 8 if first + 8 <= batch else batch - first %}
      let b{{ first }} = {{ ahead_value(first) }};
      ahead{{ first }} = {{ step_ahead(first, "k + " ~ (batch + first) * threads_per_row ~ "u") }};
      var total{{ first }} = value_t(0);
      var squares{{ first }} = value_t(0);
{% for i in range(first + 1, first + size) %}
      let d{{ i }} = {{ ahead_value(i) }} - b{{ first }};
      ahead{{ i }} = {{ step_ahead(i, "k + " ~ (batch + i) * threads_per_row ~ "u") }};
      total{{ first }} += d{{ i }};
      squares{{ first }} = fma(d{{ i }}, d{{ i }}, squares{{ first }});
{% endfor %}
{{ join_distances(sums, size ~ "f", "b" ~ first, "total" ~ first, "squares" ~ first) }}
{% endfor %}
    }
{% if blocks %}
{{ join_moments("", "block_count", "block_mean", "block_squares") }}
{% endif %}
  }
{% endif %}
  {
    let b = {{ ahead_value(0) }};
    var some = {{ "1f" if left_whole else "select(0f, 1f, k < end)" }};
    var total = value_t(0);
    var some_squares = value_t(0);
{% for i in range(1, left) %}
    {
      let d = {{ ahead_value(i) }} - b;
{% if i >= left_whole %}
      let inside = k + {{ i * threads_per_row }}u < end;
      total += select(value_t(0), d, inside);
      some_squares += select(value_t(0), d * d, inside);
      some += select(0f, 1f, inside);
{% else %}
      total += d;
      some_squares += d * d;
      some += 1f;
{% endif %}
    }
{% endfor %}
{{ join_distances("", "some", "b", "total", "some_squares") }}
  }
{% endif %}
{% endmacro %}
{# join_moments: merges `size` elements with that mean, relative to base, and those squares into <to>count, <to>mean and
   <to>squares. join_distances: the same for elements given by the sums of their distances from `b` and of the squares
   of these. #}
{% macro join_moments(to, size, mean, squares) %}
    {
      let step = {{ mean }} - {{ to }}mean;
      let joined = {{ to }}count + {{ size }};
      let share = {{ size }} / max(joined, 1f);
      {{ to }}mean = fma(step, value_t(share), {{ to }}mean);
      {{ to }}squares += {{ squares }} + step * (step * ({{ to }}count * share));
      {{ to }}count = joined;
    }
{% endmacro %}
{% macro join_distances(to, size, b, total, squares) %}
    {
      let own = {{ total }} / max({{ size }}, 1f);
      // Squares that overflow f32 stay infinite: a difference would be NaN.
      let deviations = select(fma(-own, {{ total }}, {{ squares }}), {{ squares }}, {{ squares }} > value_t(0x1.fffffep+127f));
{{ join_moments(to, size, "(" ~ b ~ " - base) + own", "deviations") }}
    }
{% endmacro %}
{# Combines the lanes' moments: the mean `mean_of`, its rounding error `rest_of` and `squares_of`, of `elements`
   elements. The squares are corrected for the rounding error. #}
{% macro join_lanes(mean_of, rest_of, squares_of, elements) %}
  let {{ mean_of }} = row_sum(sum_of((base + mean) * (count / max({{ elements }}, 1f))), tid);
  let off = (base - {{ mean_of }}) + mean;
  let {{ rest_of }} = row_sum(sum_of(off * count), tid) / max({{ elements }}, 1f);
  let {{ squares_of }} = row_sum(sum_of(squares + off * (off * count)), tid) - {{ rest_of }} * ({{ rest_of }} * {{ elements }});
{% endmacro %}
