{#
  row_gradient.wgsl for split rows (common/split_rows.h). A split's statistics are the sum of softmax's terms; of RMS
  norm the sums of squares and of d x; of other norms its mean, the mean's rounding error, the sum of squared deviations
  from it, the sum of d, that of d times deviations, and, if `counted` because splits may be in other chunks, its number
  of elements. These combine as distances from one split's mean, so that a large mean costs no digits
  (row_norm_split.wgsl); where the mean moves by m, a sum of d times deviations loses m times the sum of d. With
  `leaves`, of tiles whose elements have one scale, each also leaves what the gradients of weights need of a segment
  (row_gradient_sums.wgsl); then d is without the scale, which comes to sums and results.

  options:
    counted: flag
    leaves: flag
#}
{% set centred = kind == "centred" %}
{{ operand_access() }}
{{ row_reduction("row_sum", "state_t", "add") }}
{# A split's last sums, together where a row's state is one number. #}
{% set together = gathers and centred and state == "" %}
{% if together %}
fn add_fours(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a + b; }
{{ row_reduction("row_sums", "vec4<f32>", "add_fours") }}
{% endif %}
struct Step { x: value_t, d: value_t }
{% macro step_of_tile(i) -%}
Step({{ made(tile_spot, i, tile_inside(i)) }}, {{ "value_e0(" ~ tile_spot("e0", i, tile_inside(i)) ~ ")" if leaves else d_at(tile_spot, i, tile_inside(i)) }})
{%- endmacro %}
{{ tile_of(inputs + operands, "Step", step_of_tile) }}
{{ elements_function() if centred }}

{# Declares what results need, of the statistics of all splits: each lane takes a split (`each`), or each thread all. #}
{% macro join_partials(each) %}
{% macro of_row(v) %}{{ "row_sum(" ~ v ~ ", tid)" if each else "(" ~ v ~ ")" }}{% endmacro %}
{% set splits_of_thread = "var q = " ~ ("lane" if each else "0u") ~ "; q < p.all_splits; q += " ~ (threads_per_row if each else 1) ~ "u" %}
{% if not norm %}
  var total = state_t(0);
  for ({{ splits_of_thread }}) {
    let f = load_partials_of(tile, q, slot);
    total += {{ statistic(0) }};
  }
  let row_total = {{ of_row("total") }};
{% elif centred %}
  var count = 0f;
  var mean = state_t(0);      // relative to `reference`
  var squares = state_t(0);   // of deviations from the mean
  var d_total = state_t(0);
  var products = state_t(0);  // of d and deviations
  for ({{ splits_of_thread }}) {
    let f = load_partials_of(tile, q, slot);
    let n = {{ statistic(5) ~ ("[0]" if rows_per_thread == 4 else "") if counted else "elements_of(q)" }};
    let step = (({{ statistic(0) }} - reference) + {{ statistic(1) }}) - mean;
    let joined = count + n;
    let share = n / joined;
    let of_split = {{ statistic(3) }};
    products += {{ statistic(4) }} + step * (of_split * (1 - share) - d_total * share);
    d_total += of_split;
    mean += step * share;
    squares += {{ statistic(2) }} + step * step * (count * share);
    count = joined;
  }
  let row_mean = {{ of_row("mean * count") }} * p.inverse_length;
  let off = mean - row_mean;
  let variance = {{ of_row("squares + off * off * count") }} * p.inverse_length;
  let d_mean = {{ of_row("d_total") }} * p.inverse_length;
  let product = {{ of_row("products + off * d_total") }} * p.inverse_length;
  let factor = inverseSqrt(max(variance, state_t(0)) + p.epsilon);
  let slope = product * factor * factor;
{% else %}
  var squares = state_t(0);
  var products = state_t(0);
  for ({{ splits_of_thread }}) {
    let f = load_partials_of(tile, q, slot);
    squares += {{ statistic(0) }};
    products += {{ statistic(1) }};
  }
  let factor = inverseSqrt({{ of_row("squares") }} * p.inverse_length + p.epsilon);
  let slope = {{ of_row("products") }} * p.inverse_length * factor * factor;
{% endif %}
{% endmacro %}
{% macro first_mean() %}
  let first_split = load_partials_of(tile, 0u, slot);
  let reference = state_t({% for i in range(rows_per_thread) %}{{ ", " if i }}first_split.f{{ i }}{% endfor %});
{% endmacro %}
{# x, or its deviation. #}
{% macro deviation(x) -%}{{ "(" ~ x ~ " - reference) - row_mean" if centred else x }}{%- endmacro %}

{% macro finished(value) -%}{{ result(deviation(value), "(r_e0 * r_e1)" if scaled else "r_e0") }}{%- endmacro %}
{% macro finish_tile() %}
{{ first_mean() if centred }}
{{ join_partials(false) }}
{{ finish_steps(finished) }}
{% endmacro %}
{{ finish_function(finish_tile) }}

{# Declares the tile's values v0, d0, …, zeros past the row's end. #}
{% macro take_tile() %}
{% for i in range(register_steps) %}
{% if tile_inside(i) %}
  let inside{{ i }} = {{ tile_inside(i) }};
{% endif %}
  var v{{ i }} = {{ masked("value_t(0)", "loaded.v" ~ i ~ ".x", i) }};
  let d{{ i }} = {{ masked("value_t(0)", "loaded.v" ~ i ~ ".d", i) }};
{% endfor %}
{% endmacro %}
{% macro sum_up(variable, value) %}
{% for i in range(register_steps) %}
  {{ variable }} += {{ value(i) }};
{% endfor %}
{% endmacro %}
{% macro term_at(i) -%}{{ term("v" ~ i, "d" ~ i) }}{%- endmacro %}
{% macro v_at(i) -%}v{{ i }}{%- endmacro %}
{% macro square_at(i) -%}v{{ i }} * v{{ i }}{%- endmacro %}
{% macro d_of(i) -%}d{{ i }}{%- endmacro %}
{% macro product_at(i) -%}d{{ i }} * v{{ i }}{%- endmacro %}

{{ split_head() }}
{% if gathers and centred %}
  let split_elements = elements_of(tile % p.splits);
  let split_inverse = 1.0 / split_elements;
{% if multi_tile %}
{# Each thread combines its tiles' means, relative to the first one's, with the sums of what deviates from them. #}
  var tiles_count = 0f;
  var base = value_t(0);
  var tiles_mean = value_t(0);
  var tiles_squares = value_t(0);
  var tiles_d = value_t(0);
  var tiles_products = value_t(0);
{{ tiles_begin() }}
{{ take_tile() }}
    let n = f32(min((max(p.steps, first) - first + {{ threads_per_row - 1 }}u) / {{ threads_per_row }}u, {{ register_steps }}u));
    var tile_mean = value_t(0);
{{ sum_up("tile_mean", v_at) }}
    tile_mean /= max(n, 1);
{% for i in range(register_steps) %}
    v{{ i }} = {{ masked("value_t(0)", "v" ~ i ~ " - tile_mean", i) }};
{% endfor %}
    var tile_total = value_t(0);
    var tile_squares = value_t(0);
    var tile_d = value_t(0);
    var tile_products = value_t(0);
{{ sum_up("tile_total", v_at) }}
{{ sum_up("tile_squares", square_at) }}
{{ sum_up("tile_d", d_of) }}
{{ sum_up("tile_products", product_at) }}
    let tile_rest = tile_total / max(n, 1);
    if (tile_in_split == 0u) { base = tile_mean; }
    let step = ((tile_mean - base) + tile_rest) - tiles_mean;
    let share = n / max(tiles_count + n, 1);
    tiles_products += tile_products + (tile_d * (step * (1 - share) - tile_rest) - tiles_d * (step * share));
    tiles_d += tile_d;
    tiles_mean += step * share;
    tiles_squares += (tile_squares - tile_rest * tile_total) + step * step * (tiles_count * share);
    tiles_count += n;
{{ tiles_end() }}
  let split_mean = row_sum(sum_of(base + tiles_mean) * tiles_count, tid) * split_inverse;
  let apart = (base - split_mean) + tiles_mean;
  let rest = row_sum(sum_of(apart) * tiles_count, tid) * split_inverse;
  let deviations = row_sum(sum_of(tiles_squares + apart * apart * tiles_count), tid) - rest * rest * split_elements;
  let split_d = row_sum(sum_of(tiles_d), tid);
  let split_products = row_sum(sum_of(tiles_products + apart * tiles_d), tid) - rest * split_d;
{% else %}
{{ take_tile() }}
  var tile_total = value_t(0);
{{ sum_up("tile_total", v_at) }}
  let split_mean = row_sum(sum_of(tile_total), tid) * split_inverse;
{% for i in range(register_steps) %}
  v{{ i }} = {{ masked("value_t(0)", "v" ~ i ~ " - split_mean", i) }};
{% endfor %}
  tile_total = value_t(0);
  var tile_squares = value_t(0);
  var tile_d = value_t(0);
  var tile_products = value_t(0);
{{ sum_up("tile_total", v_at) }}
{{ sum_up("tile_squares", square_at) }}
{{ sum_up("tile_d", d_of) }}
{{ sum_up("tile_products", product_at) }}
{% if together %}
  let sums = row_sums(vec4<f32>(sum_of(tile_total), sum_of(tile_squares), sum_of(tile_d), sum_of(tile_products)), tid);
  let split_total = sums.x;
  let split_squares = sums.y;
  let {{ "split_g" if leaves else "split_d" }} = sums.z;
  let all_products = sums.w;
{% else %}
  let split_total = row_sum(sum_of(tile_total), tid);
  let split_squares = row_sum(sum_of(tile_squares), tid);
  let split_d = row_sum(sum_of(tile_d), tid);
  let all_products = row_sum(sum_of(tile_products), tid);
{% endif %}
  let rest = split_total * split_inverse;
  let deviations = split_squares - rest * split_total;
{% if leaves %}
  let g_products = all_products - rest * split_g;
  if (lane == 0u && live) {
{{ leave_segment("(row * p.splits + tile % p.splits)", "split_mean", "rest", "deviations * split_inverse", "split_g", "g_products") }}
  }
  let scale = load_e1(e1_row(row) + e1_at({{ step_at("first - lane") }}));
  let split_d = split_g * scale;
  let split_products = g_products * scale;
{% else %}
  let split_products = all_products - rest * split_d;
{% endif %}
{% endif %}
  if (lane == 0u) {   // also for rows past the end, which others wait for
{{ publish_rows(0, "split_mean") }}
{{ publish_rows(1, "rest") }}
{{ publish_rows(2, "deviations") }}
{{ publish_rows(3, "split_d") }}
{{ publish_rows(4, "split_products") }}
{% if counted %}
{{ publish_rows(5, "state_t(split_elements)") }}
{% endif %}
  }
{% elif gathers %}
  var first_sum = value_t(0);
{% if norm %}
  var second_sum = value_t(0);
{% endif %}
{{ tiles_begin() }}
{{ take_tile() }}
{{ sum_up("first_sum", square_at if norm else term_at) }}
{% if norm %}
{{ sum_up("second_sum", product_at) }}
{% endif %}
{{ tiles_end() }}
  let sum0 = row_sum(sum_of(first_sum), tid);
{% if norm %}
  let sum1 = row_sum(sum_of(second_sum), tid);
{% endif %}
  if (lane == 0u) {   // also for rows past the end, which others wait for
{{ publish_rows(0, "sum0") }}
{% if norm %}
{{ publish_rows(1, "sum1") }}
{% endif %}
  }
{% endif %}
{% if finishes %}
{% if centred and gathers %}
  let reference = split_mean;
{% elif centred %}
{{ first_mean() }}
{% endif %}
{{ join_partials(true) }}
{{ split_joined() }}
{{ tiles_begin() }}
{# Row starts behind an opaque zero: otherwise compilers hold each step's address in registers from load to store. #}
{% for operand in stores %}
  let {{ operand }}_start = {{ operand }}_row(row){{ " + p.opaque_zero" if gathers }};
{{ tile_first(operand) }}
{% endfor %}
{% for i in range(register_steps) %}
  {{ if_inside(i) }}
{% set x = ("v" ~ i ~ " - row_mean" if centred else "v" ~ i) if gathers else deviation("loaded.v" ~ i ~ ".x") %}
{% set d = ("d" ~ i ~ (" * scale" if leaves else "")) if gathers else "loaded.v" ~ i ~ ".d" %}
{{ put("r" ~ i ~ "_", tile_spot, i, result(x, d)) }}
  }
{% endfor %}
{{ tiles_end() }}
{% endif %}
{{ split_end() }}
