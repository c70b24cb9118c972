{# Norms down 16-bit columns in splits that look back (common/column_pairs.wgsl), with weights that are constant along a
   column. A thread sums its elements' differences from its first one, and their squares, which loses no digits because
   the first one is one of them. Means and squared deviations then combine pairwise (common/moments.wgsl). A mean is
   published with its rounding error, since results near zero depend on it where the mean is large. #}
{% set shares = workgroup // block %}
{{ operand_access() }}
{{ weight_access() }}
{{ column_pairs_functions() }}
{{ elements_function() }}
var<workgroup> lane_bases: array<vec2<u32>, {{ workgroup }}>;
var<workgroup> lane_means: array<vec4<f32>, {{ workgroup }}>;   // relative to the bases
var<workgroup> lane_squares: array<vec4<f32>, {{ workgroup }}>;
var<workgroup> joined_means: array<f32, {{ workgroup }}>;
var<workgroup> joined_rests: array<f32, {{ workgroup }}>;
var<workgroup> joined_squares: array<f32, {{ workgroup }}>;
var<workgroup> joined_counts: array<f32, {{ workgroup }}>;
var<workgroup> row_means: array<f32, {{ block }}>;
var<workgroup> row_rests: array<f32, {{ block }}>;
var<workgroup> row_factors: array<f32, {{ block }}>;

{% if rounds %}
// Like quick_store (common/float_rows.wgsl).
fn narrow4(v: vec4<f32>) -> vec2<u32> { return {{ quick_store[1:] }}_bf16x4(v); }
{% else %}
fn narrow4(v: vec4<f32>) -> vec2<u32> { return vec2<u32>(narrow_f16x2(v.x, v.y), narrow_f16x2(v.z, v.w)); }
{% endif %}
// The rounded value of a sum: drivers that treat floats as real numbers would simplify (a + b) - a - b to 0.
fn rounded(v: f32) -> f32 { return bitcast<f32>(bitcast<u32>(v) + p.opaque_zero); }
// A number of elements, their mean as a distance from another number, and the sum of squared deviations from the mean.
struct Moments { count: f32, mean: f32, squares: f32 }
fn join(a: Moments, count: f32, mean: f32, squares: f32) -> Moments {
  let all = a.count + count;
  let share = count / max(all, 1f);
  let step = mean - a.mean;
  return Moments(all, a.mean + step * share, a.squares + squares + step * step * (a.count * share));
}
{% macro look_at(k) -%}partial_at(tile, {{ looked_split(k // 3, shares) }}, {{ k % 3 }}u, column){%- endmacro %}
{{ load_partials_function("load_partials_of_some", "PartialsOfSome", "tile: u32, q: u32, column: u32", 3 * looks, look_at) }}
{# Combines the statistics of all splits into row_means and row_factors, which may be in use until the barrier
   before. #}
{% macro join_splits() %}
  let column = tid % {{ block }}u;
  var joined = Moments();
  var joined_base = 0f;
  for (var q = tid / {{ block }}u; q < {{ known_splits }}u; q += {{ looks * shares }}u) {
    let f = load_partials_of_some(tile, q, column);
    if (joined.count == 0f) { joined_base = f.f0; }
{% for k in range(looks) %}
    joined = join(joined, {{ looked(k, shares, "elements_of(" ~ looked_split(k, shares) ~ ")") }}, (f.f{{ 3 * k }} - joined_base) + f.f{{ 3 * k + 1 }}, {{ looked(k, shares, "f.f" ~ (3 * k + 2)) }});
{% endfor %}
  }
  let joined_mean = rounded(joined_base + joined.mean);
  joined_means[tid] = joined_mean;
  joined_rests[tid] = (joined_base - joined_mean) + joined.mean;
  joined_squares[tid] = joined.squares;
  joined_counts[tid] = joined.count;
  workgroupBarrier();
  if (tid < {{ block }}u) {
    let base = joined_means[tid];
    var all = Moments(joined_counts[tid], joined_rests[tid], joined_squares[tid]);
    for (var at = {{ block }}u; at < {{ workgroup }}u; at += {{ block }}u) {
      all = join(all, joined_counts[tid + at], (joined_means[tid + at] - base) + joined_rests[tid + at], joined_squares[tid + at]);
    }
    let variance = all.squares * p.inverse_length;
    let factor = inverseSqrt(select(variance, 0f, variance < 0f) + p.epsilon);   // max() may hide NaN
    let mean = rounded(base + all.mean);
    row_means[tid] = mean;
    row_rests[tid] = (base - mean) + all.mean;
    row_factors[tid] = factor;
  }
{% endmacro %}
{% macro row_values() %}
  let middle = vec4<f32>(row_means[slot], row_means[slot + 1u], row_means[slot + 2u], row_means[slot + 3u]);
  let factor = vec4<f32>(row_factors[slot], row_factors[slot + 1u], row_factors[slot + 2u], row_factors[slot + 3u]){{ " * w_scale" if scaled }};
  let rest = vec4<f32>(row_rests[slot], row_rests[slot + 1u], row_rests[slot + 2u], row_rests[slot + 3u]);
  let added = select(fma(-rest, factor, w_bias), w_bias, abs(factor) > vec4<f32>(3.4e38));   // infinite scales
{% endmacro %}
{% macro take_weights() %}
{{ weight_rows() }}
{{ load_weights("row_", "0u") }}
{% if scaled %}
  let w_scale = vec4<f32>(row_scale);
{% endif %}
  let w_bias = vec4<f32>({{ "row_bias" if biased else "0" }});
{% endmacro %}
{% macro result(value) -%}fma({{ value }} - middle, factor, added){%- endmacro %}

{% macro finish_tile() %}
{{ take_weights() }}
{{ join_splits() }}
  workgroupBarrier();
{{ row_values() }}
{{ finish_steps(result) }}
{% endmacro %}
{{ finish_function(finish_tile) }}

{{ split_begin() }}
{{ take_words("0u") }}
  let base = widen4_x(v0);
  var total = vec4<f32>(0);
  var squares = vec4<f32>(0);
  var count = 1f;
{% for i in range(1, register_steps) %}
  let d{{ i }} = {{ masked("vec4<f32>(0)", "widen4_x(v" ~ i ~ ") - base", i) }};
  total += d{{ i }};
  squares = fma(d{{ i }}, d{{ i }}, squares);
  count += {{ masked("0f", "1f", i) }};
{% endfor %}
{% if tile_inside(0) %}
  count = select(0f, count, inside0);
{% endif %}
  let mean = total / max(count, 1f);
  lane_bases[lane * {{ block // 4 }}u + slot / 4u] = v0;
  lane_means[lane * {{ block // 4 }}u + slot / 4u] = mean;
  lane_squares[lane * {{ block // 4 }}u + slot / 4u] = select(vec4<f32>(0), squares - mean * total, count > 0f);
  if (slot == 0u) { joined_counts[lane] = count; }
  workgroupBarrier();
  if (tid < {{ block }}u) {
    let split_base = widen4_x(lane_bases[tid / 4u])[tid % 4u];
    var split = Moments();
    for (var k = 0u; k < {{ threads_per_row }}u; k++) {
      let at = k * {{ block // 4 }}u + tid / 4u;
      let n = joined_counts[k];
      let mean = (widen4_x(lane_bases[at])[tid % 4u] - split_base) + lane_means[at][tid % 4u];
      split = join(split, n, select(0f, mean, n > 0f), lane_squares[at][tid % 4u]);
    }
    let mean = rounded(split_base + split.mean);
    {{ publish_partials("partial_at(tile, split_of(tile), 0u, tid)", "mean") }}
    {{ publish_partials("partial_at(tile, split_of(tile), 1u, tid)", "(split_base - mean) + split.mean") }}
    {{ publish_partials("partial_at(tile, split_of(tile), 2u, tid)", "split.squares") }}
  }
{{ take_weights() }}
  workgroupBarrier();   // joined_counts is reused below
{{ join_splits() }}
{% if rounds %}
  workgroupBarrier();
{{ row_values() }}
{# The fast store requires that no value is NaN. #}
  if (not_finite_f32(dot(factor, vec4<f32>(1)) + dot(added, vec4<f32>(1)))) { atomicMax(&fallback_reason, 1u); }
{{ split_joined() }}
{% else %}
{{ split_joined() }}
{{ row_values() }}
{% endif %}
{{ results_begin() }}
{% for i in range(register_steps) %}
  v{{ i }} += vec2<u32>(p.opaque_zero);
{{ store_words(i, "narrow4(" ~ result("widen4_x(v" ~ i ~ ")") ~ ")") }}
{% endfor %}
{{ split_end() }}
