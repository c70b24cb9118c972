{#
  Softmax, or log softmax, down 16-bit columns in splits that look back (common/column_pairs.wgsl). The columns of a
  block are processed in two halves, the first and the second words of each group of four, and the second half is
  computed while the first waits. A split publishes its maximum and its sum (log softmax: the sum's logarithm) in one
  word.

  options:
    logarithm: flag
    x_is_f16: flag
    in_f16: flag
#}
{% set half = block // 2 %}
{% set shares = workgroup // half %}
{% set eight = 8 if threads_per_row > 8 else threads_per_row %}
{{ operand_access() }}
{% for j in range(2) %}
var<workgroup> lane_tops{{ j }}: array<vec2<f32>, {{ workgroup }}>;
var<workgroup> lane_sums{{ j }}: array<vec2<f32>, {{ workgroup }}>;
{% endfor %}
var<workgroup> joined_tops: array<f32, {{ workgroup }}>;
var<workgroup> joined_sums: array<f32, {{ workgroup }}>;
var<workgroup> row_tops: array<f32, {{ half }}>;
var<workgroup> row_less: array<f32, {{ half }}>;   // logarithms of sums, to base 2 unless they are the results'

const log2_of_e = 1.44269504f;
{{ column_pairs_functions() }}
fn widen(w: u32) -> vec2<f32> { return {{ "unpack2x16float(w)" if x_is_f16 else "vec2<f32>(bitcast<f32>(w << 16u), bitcast<f32>(w & 0xffff0000u))" }}; }
fn narrow(v: vec2<f32>) -> u32 { return {{ "no_ties_bf16x4(vec4<f32>(v, 0f, 0f)).x" if rounds else "narrow_f16x2(v.x, v.y)" }}; }
{% macro result(value, top, less, type) -%}
{% if logarithm %}({{ value }} - {{ top }}) - {{ less }}
{%- else %}exp2(fma({{ value }} - {{ top }}, {{ type }}(log2_of_e), -{{ less }}))
{%- endif %}
{%- endmacro %}
{# The sum has 13 bits, which lose at most a quarter of f16's last place. It is at least 1, from the maximum's own term,
   or 0 where all is -Inf. The sum's logarithm, all digits of which show in results near 0, has 13 bits of itself + 2^-9
   below 1, and steps of 2^-12 from there to 7.7: a relative error of 2^-13 in a split's sum, and so in results. #}
{% set floats = 9 * 4096 %}
// A split's word: the maximum, of 16 bits like x, in the upper half; the sum of exponentials below it, or its
// logarithm, in the lower.
fn split_word(top: f32, sum: f32) -> u32 {
{% if x_is_f16 %}
  let high = pack2x16float(vec2<f32>(0f, top));
{% else %}
  let high = bitcast<u32>(top) & 0xffff0000u;
{% endif %}
{% if logarithm %}
  let l = max(log_f32(sum), 0f) + 0x1p-9f;
  let steps = {{ floats }}u + u32((l - 1f) * 4096f + 0.5f);
  let word = high | select(steps, (bitcast<u32>(l) - 0x3b000000u + 0x400u) >> 11u, l < 1f);
{% else %}
  let word = high | ((bitcast<u32>(sum) - 0x3f800000u + 0x400u) >> 11u);
{% endif %}
  let odd = select({{ "0x7e000000u, 0xfc000000u" if x_is_f16 else "0x7fc00000u, 0xff800000u" }}, bitcast<u32>(sum) == 0u);   // NaN, -Inf
  return select(odd, word, is_positive_f32(sum));
}
fn top_of(word: u32) -> f32 { return {{ "unpack2x16float(word).y" if x_is_f16 else "bitcast<f32>(word & 0xffff0000u)" }}; }
// The split's sum, as one of exponentials below `top`.
fn sum_below(word: u32, top: f32) -> f32 {
{% if logarithm %}
  let code = word & 0xffffu;
  let of_steps = f32(code - {{ floats }}u) * 0x1p-12f + 1f;
  let l = select(of_steps, bitcast<f32>((code << 11u) + 0x3b000000u), code < {{ floats }}u);
  return exp2(((top_of(word) - top) + (l - 0x1p-9f)) * log2_of_e);
{% else %}
  let sum = bitcast<f32>(((word & 0xffffu) << 11u) + 0x3f800000u);
  return sum * exp2((top_of(word) - top) * log2_of_e);
{% endif %}
}
{% macro look_at(k) -%}partial_at(tile, {{ looked_split(k, shares) }}, 0u, place){%- endmacro %}
{{ load_partials_function("load_partials_of_some", "PartialsOfSome", "tile: u32, q: u32, place: u32", looks, look_at) }}
{# Combines the statistics of all splits for half j into row_tops and row_less, which need barriers before and after. #}
{% macro join_splits(j) %}
  var joined_top{{ j }} = lowest;
  var joined_sum{{ j }} = 0f;
  for (var q = tid / {{ half }}u; q < {{ known_splits }}u; q += {{ looks * shares }}u) {
    let f = load_partials_of_some(tile, q, {{ j * half }}u + tid % {{ half }}u);
    var next = joined_top{{ j }};
{% for k in range(looks) %}
    next = max(next, top_of(f.f{{ k }}));
{% endfor %}
    joined_sum{{ j }} *= exp2((joined_top{{ j }} - next) * log2_of_e);
{% for k in range(looks) %}
    joined_sum{{ j }} += {{ looked(k, shares, "sum_below(f.f" ~ k ~ ", next)") }};
{% endfor %}
    joined_top{{ j }} = next;
  }
  joined_tops[tid] = joined_top{{ j }};
  joined_sums[tid] = joined_sum{{ j }};
  workgroupBarrier();
  if (tid < {{ half }}u) {
    var top = lowest;
{% if shares > 8 %}
    for (var at = 0u; at < {{ workgroup }}u; at += {{ half }}u) { top = max(top, joined_tops[tid + at]); }
    var sum = 0f;
    for (var at = 0u; at < {{ workgroup }}u; at += {{ half }}u) {
      sum += joined_sums[tid + at] * exp2((joined_tops[tid + at] - top) * log2_of_e);
    }
{% else %}
{% for k in range(shares) %}
    top = max(top, joined_tops[tid + {{ k * half }}u]);
{% endfor %}
    var sum = 0f;
{% for k in range(shares) %}
    sum += joined_sums[tid + {{ k * half }}u] * exp2((joined_tops[tid + {{ k * half }}u] - top) * log2_of_e);
{% endfor %}
{% endif %}
    row_tops[tid] = top;
    row_less[tid] = {{ "log_f32(sum)" if logarithm else "select(nan_f32(), log2(sum), is_positive_f32(sum))" }};
{% if rounds %}
    if (!is_positive_f32(sum)) { atomicMax(&fallback_reason, 1u); }   // the fast store requires that no value is NaN
{% endif %}
  }
{% endmacro %}
{% macro row_values(j) %}
  let top{{ j }} = vec2<f32>(row_tops[slot / 2u], row_tops[slot / 2u + 1u]);
  let less{{ j }} = vec2<f32>(row_less[slot / 2u], row_less[slot / 2u + 1u]);
{% endmacro %}

{% macro finish_tile() %}
{% for j in range(2) %}
{{ join_splits(j) }}
  workgroupBarrier();
{{ row_values(j) }}
  workgroupBarrier();   // the next half uses the same memory
{% endfor %}
  let top = vec4<f32>(top0, top1);
  let less = vec4<f32>(less0, less1);
{% macro finished(value) -%}{{ result(value, "top", "less", "vec4<f32>") }}{%- endmacro %}
{{ finish_steps(finished) }}
{% endmacro %}
{{ finish_function(finish_tile) }}

{{ split_begin() }}
{{ take_words("0xfc00fc00u" if x_is_f16 else "0xff80ff80u") }}
{% for j in range(2) %}
{% if in_f16 %}
  var narrow_top{{ j }} = bitcast<vec2<f16>>(v0[{{ j }}]);
{% for i in range(1, register_steps) %}
  narrow_top{{ j }} = max(narrow_top{{ j }}, bitcast<vec2<f16>>(v{{ i }}[{{ j }}]));
{% endfor %}
  let own_top{{ j }} = max(vec2<f32>(narrow_top{{ j }}), vec2<f32>(lowest));
{% else %}
  var own_top{{ j }} = vec2<f32>(lowest);
{% for i in range(register_steps) %}
  own_top{{ j }} = max(own_top{{ j }}, widen(v{{ i }}[{{ j }}]));
{% endfor %}
{% for i in range(register_steps) %}
  v{{ i }}[{{ j }}] += p.opaque_zero;
{% endfor %}
{% endif %}
  var total{{ j }} = vec2<f32>(0);
{% for i in range(register_steps) %}
  total{{ j }} += exp2((widen(v{{ i }}[{{ j }}]) - own_top{{ j }}) * log2_of_e);
{% endfor %}
  lane_tops{{ j }}[lane * {{ block // 4 }}u + slot / 4u] = own_top{{ j }};
  lane_sums{{ j }}[lane * {{ block // 4 }}u + slot / 4u] = total{{ j }};
  workgroupBarrier();
  if (tid / {{ half }}u == {{ j }}u) {
    var top = lowest;
    var sum = 0f;
    for (var k = tid % {{ half }}u / 2u; k < {{ workgroup }}u; k += {{ eight * block // 4 }}u) {
{% for i in range(eight) %}
      let top{{ i }} = lane_tops{{ j }}[k + {{ i * block // 4 }}u][tid % 2u];
{% endfor %}
      var next = top;
{% for i in range(eight) %}
      next = max(next, top{{ i }});
{% endfor %}
      sum *= exp2((top - next) * log2_of_e);
{% for i in range(eight) %}
      sum += lane_sums{{ j }}[k + {{ i * block // 4 }}u][tid % 2u] * exp2((top{{ i }} - next) * log2_of_e);
{% endfor %}
      top = next;
    }
    {{ publish_partials("partial_at(tile, split_of(tile), 0u, tid)", "split_word(top, sum)") }}
  }
{% endfor %}
{% for j in range(2) %}
{{ join_splits(j) }}
{% if j == 0 %}
  workgroupBarrier();
{% else %}
{{ split_joined() }}
{{ results_begin() }}
{% endif %}
{{ row_values(j) }}
{# Makes the words opaque to compilers, so that they widen them again instead of holding the widened values in
   registers. #}
{% for i in range(register_steps) %}
  v{{ i }}[{{ j }}] += p.opaque_zero;
{% endfor %}
{% for i in range(register_steps) %}
  v{{ i }}[{{ j }}] = narrow({{ result("widen(v" ~ i ~ "[" ~ j ~ "])", "top" ~ j, "less" ~ j, "vec2<f32>") }});
{% if j == 1 %}
{{ store_words(i, "v" ~ i) }}
{% endif %}
{% endfor %}
{% endfor %}
{{ split_end() }}
