{# Norms down columns of 16 bits in parts that wait for each other (common/column_words.wgsl), with weights that lie
   still along a column. A thread sums up what its elements are above its first one, and the squares of that, which
   loses no digits, as the first one is among them; means and squared deviations from them then join pairwise
   (common/moments.wgsl). A mean is told as a number and what its rounding left out, since where a mean is large it is
   the latter that results near zero come from. #}
{% set shares = workgroup // block %}
{{ work_access() }}
{{ weight_access() }}
{{ column_words_functions() }}
{{ elements_function() }}
var<workgroup> member_bases: array<vec2<u32>, {{ workgroup }}>;
var<workgroup> member_means: array<vec4<f32>, {{ workgroup }}>;   // less the bases
var<workgroup> member_squares: array<vec4<f32>, {{ workgroup }}>;
var<workgroup> found_means: array<f32, {{ workgroup }}>;
var<workgroup> found_rests: array<f32, {{ workgroup }}>;
var<workgroup> found_squares: array<f32, {{ workgroup }}>;
var<workgroup> found_counts: array<f32, {{ workgroup }}>;
var<workgroup> row_means: array<f32, {{ block }}>;
var<workgroup> row_rests: array<f32, {{ block }}>;
var<workgroup> row_factors: array<f32, {{ block }}>;

{% if rounds %}
// As quick_store (common/float_rows.wgsl).
fn narrow4(v: vec4<f32>) -> vec2<u32> { return {{ quick_store[1:] }}_bf16x4(v); }
{% else %}
fn narrow4(v: vec4<f32>) -> vec2<u32> { return vec2<u32>(narrow_f16x2(v.x, v.y), narrow_f16x2(v.z, v.w)); }
{% endif %}
// What a sum was rounded to: drivers compute as with real numbers otherwise, where nothing is left of it, (a + b) - a - b.
fn rounded(v: f32) -> f32 { return bitcast<f32>(bitcast<u32>(v) + p.nothing); }
// Elements, their mean as a distance from another number, and the squares of their distances from the mean.
struct Moments { count: f32, mean: f32, squares: f32 }
fn join(a: Moments, count: f32, mean: f32, squares: f32) -> Moments {
  let all = a.count + count;
  let share = count / max(all, 1f);
  let step = mean - a.mean;
  return Moments(all, a.mean + step * share, a.squares + squares + step * step * (a.count * share));
}
{% macro look_at(k) -%}found_at(tile, {{ looked_part(k // 3, shares) }}, {{ k % 3 }}u, column){%- endmacro %}
{{ load_found_function("load_found_of_some", "FoundOfSome", "tile: u32, q: u32, column: u32", 3 * looks, look_at) }}
{# Joins what all parts found as row_means and row_factors, of which there are others before until a barrier. #}
{% macro join_parts() %}
  let column = tid % {{ block }}u;
  var found = Moments();
  var found_base = 0f;
  for (var q = tid / {{ block }}u; q < {{ known_parts }}u; q += {{ looks * shares }}u) {
    let f = load_found_of_some(tile, q, column);
    if (found.count == 0f) { found_base = f.f0; }
{% for k in range(looks) %}
    found = join(found, {{ looked(k, shares, "elements_of(" ~ looked_part(k, shares) ~ ")") }}, (f.f{{ 3 * k }} - found_base) + f.f{{ 3 * k + 1 }}, {{ looked(k, shares, "f.f" ~ (3 * k + 2)) }});
{% endfor %}
  }
  let found_mean = rounded(found_base + found.mean);
  found_means[tid] = found_mean;
  found_rests[tid] = (found_base - found_mean) + found.mean;
  found_squares[tid] = found.squares;
  found_counts[tid] = found.count;
  workgroupBarrier();
  if (tid < {{ block }}u) {
    let base = found_means[tid];
    var all = Moments(found_counts[tid], found_rests[tid], found_squares[tid]);
    for (var at = {{ block }}u; at < {{ workgroup }}u; at += {{ block }}u) {
      all = join(all, found_counts[tid + at], (found_means[tid + at] - base) + found_rests[tid + at], found_squares[tid + at]);
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
  let added = select(fma(-rest, factor, w_bias), w_bias, abs(factor) > vec4<f32>(3.4e38));   // infinite, of scales
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
{{ join_parts() }}
  workgroupBarrier();
{{ row_values() }}
{{ finish_steps(result) }}
{% endmacro %}
{{ finish_function(finish_tile) }}

{{ parts_begin() }}
{{ take_words("0u") }}
  let base = widen4_x(v0);
  var total = vec4<f32>(0);
  var squares = vec4<f32>(0);
  var count = 1f;
{% for i in range(1, kept) %}
  let d{{ i }} = {{ masked("vec4<f32>(0)", "widen4_x(v" ~ i ~ ") - base", i) }};
  total += d{{ i }};
  squares = fma(d{{ i }}, d{{ i }}, squares);
  count += {{ masked("0f", "1f", i) }};
{% endfor %}
{% if tile_inside(0) %}
  count = select(0f, count, inside0);
{% endif %}
  let mean = total / max(count, 1f);
  member_bases[member * {{ block // 4 }}u + slot / 4u] = v0;
  member_means[member * {{ block // 4 }}u + slot / 4u] = mean;
  member_squares[member * {{ block // 4 }}u + slot / 4u] = select(vec4<f32>(0), squares - mean * total, count > 0f);
  if (slot == 0u) { found_counts[member] = count; }
  workgroupBarrier();
  if (tid < {{ block }}u) {
    let part_base = widen4_x(member_bases[tid / 4u])[tid % 4u];
    var part = Moments();
    for (var k = 0u; k < {{ team }}u; k++) {
      let at = k * {{ block // 4 }}u + tid / 4u;
      let n = found_counts[k];
      let mean = (widen4_x(member_bases[at])[tid % 4u] - part_base) + member_means[at][tid % 4u];
      part = join(part, n, select(0f, mean, n > 0f), member_squares[at][tid % 4u]);
    }
    let mean = rounded(part_base + part.mean);
    {{ leave_found("found_at(tile, part_of(tile), 0u, tid)", "mean") }}
    {{ leave_found("found_at(tile, part_of(tile), 1u, tid)", "(part_base - mean) + part.mean") }}
    {{ leave_found("found_at(tile, part_of(tile), 2u, tid)", "part.squares") }}
  }
{{ take_weights() }}
  workgroupBarrier();   // counts are found where members left theirs
{{ join_parts() }}
{% if rounds %}
  workgroupBarrier();
{{ row_values() }}
{# What is stored at once has no NaN. #}
  if (not_finite_f32(dot(factor, vec4<f32>(1)) + dot(added, vec4<f32>(1)))) { atomicMax(&gave_up, 1u); }
{{ parts_found() }}
{% else %}
{{ parts_found() }}
{{ row_values() }}
{% endif %}
{{ results_begin() }}
{% for i in range(kept) %}
  v{{ i }} += vec2<u32>(p.nothing);
{{ store_words(i, "narrow4(" ~ result("widen4_x(v" ~ i ~ ")") ~ ")") }}
{% endfor %}
{{ parts_end() }}
