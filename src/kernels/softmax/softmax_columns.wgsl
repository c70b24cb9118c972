{# Softmax, or its logarithm, down columns of 16 bits in parts that wait for each other (common/row_parts.h): memory is
   read once, and what a thread keeps are words, so many that they are nearly all of its registers. Fewer and larger
   parts have less to tell each other, and of as little as one word a column, where y has 16 bits. #}
{# `checked`: as in softmax_parts.wgsl. #}
{% set checked = packed and rounds %}
{% set store_how = ("_number" if logarithm else "_near") if checked else "" %}
{% set shares = team // 4 %}
{% set eight = 8 if team > 8 else team %}
{{ work_access() }}
{% if gathers %}
var<workgroup> member_tops: array<vec4<f32>, {{ workgroup }}>;
var<workgroup> member_sums: array<vec4<f32>, {{ workgroup }}>;
{% endif %}
var<workgroup> found_tops: array<f32, {{ workgroup }}>;
var<workgroup> found_sums: array<f32, {{ workgroup }}>;

const log2_of_e = 1.44269504f;
// By its bits, positive and finite: comparisons need not know NaN.
fn is_positive(v: f32) -> bool { return bitcast<u32>(v) - 1u < 0x7f7fffffu; }
{% if words == 1 %}
{# Of the sum, 13 bits: an eighth of what f16 rounds. It is at least 1, what the maximum adds, or 0, if all are -Inf. #}
// A part's maximum, which has 16 bits as x has, above the sum of exponentials below it, as multiples of 1.
fn part_word(top: f32, sum: f32) -> u32 {
{% if x_is_f16 %}
  let high = pack2x16float(vec2<f32>(0f, top));
{% else %}
  let high = bitcast<u32>(top) & 0xffff0000u;
{% endif %}
  let word = high | ((bitcast<u32>(sum) - 0x3f800000u + 0x400u) >> 11u);
  let odd = select({{ "0x7e000000u" if x_is_f16 else "0x7fc00000u" }}, {{ "0xfc000000u" if x_is_f16 else "0xff800000u" }}, bitcast<u32>(sum) == 0u);
  return select(odd, word, is_positive(sum));
}
fn top_of(word: u32) -> f32 { return {{ "unpack2x16float(word).y" if x_is_f16 else "bitcast<f32>(word & 0xffff0000u)" }}; }
fn sum_of_word(word: u32) -> f32 { return bitcast<f32>(((word & 0xffffu) << 11u) + 0x3f800000u); }
{% endif %}
{% macro found_top(k) -%}{{ "top_of(f.f" ~ k ~ ")" if words == 1 else "f.f" ~ 2 * k }}{%- endmacro %}
{% macro found_sum(k) -%}{{ "sum_of_word(f.f" ~ k ~ ")" if words == 1 else "f.f" ~ (2 * k + 1) }}{%- endmacro %}
{# `looks`: how many parts a thread asks for at a time; `looks_end`: not all times there are so many. #}
{% macro place_of_part(k) -%}
{%- set q = "q + " ~ k * shares ~ "u" -%}
{{ "min(" ~ q ~ ", p.all_parts - 1u)" if looks_end else q }}
{%- endmacro %}
{% macro place_in_parts(k) -%}
found_at(tile, {{ place_of_part(k // words) }}, {{ k % words }}u, column)
{%- endmacro %}
{{ load_found_function("load_found_of_some", "FoundOfSome", "tile: u32, q: u32, column: u32", looks * words, place_in_parts) }}

{{ tile_of_inputs() }}
{{ parts_head() }}
  let column = tid % {{ block }}u;
  let share = tid / {{ block }}u;
{% if gathers %}
{{ tile_values("lowest", "0xfc00fc00u" if x_is_f16 else "0xff80ff80u") }}
{% if in_f16 %}
  var narrow_top = bitcast<vec4<f16>>(v0);
{% for i in range(1, kept) %}
  narrow_top = max(narrow_top, bitcast<vec4<f16>>(v{{ i }}));
{% endfor %}
  let own_top = max(vec4<f32>(narrow_top), vec4<f32>(lowest));
{% else %}
  var own_top = vec4<f32>(lowest);
{% for i in range(kept) %}
  own_top = max(own_top, {{ tile_value(i) }});
{% endfor %}
{{ forget_values() }}
{% endif %}
  var total = vec4<f32>(0);
{% for i in range(kept) %}
  total += exp2(({{ tile_value(i) }} - own_top) * log2_of_e);
{% endfor %}
  let at = member * {{ block // 4 }}u + slot / 4u;
  member_tops[at] = own_top;
  member_sums[at] = total;
  workgroupBarrier();
  if (tid < {{ block }}u) {
    var top = lowest;
    var sum = 0f;
    for (var k = tid / 4u; k < {{ workgroup }}u; k += {{ eight * block // 4 }}u) {
{% for i in range(eight) %}
      let top{{ i }} = member_tops[k + {{ i * block // 4 }}u][tid % 4u];
{% endfor %}
      var next = top;
{% for i in range(eight) %}
      next = max(next, top{{ i }});
{% endfor %}
      sum *= exp2((top - next) * log2_of_e);
{% for i in range(eight) %}
      sum += member_sums[k + {{ i * block // 4 }}u][tid % 4u] * exp2((top{{ i }} - next) * log2_of_e);
{% endfor %}
      top = next;
    }
{% if words == 1 %}
    store_found(found_at(tile, part_of(tile), 0u, tid), part_word(top, sum));
{% else %}
    store_found(found_at(tile, part_of(tile), 0u, tid), top);
    store_found(found_at(tile, part_of(tile), 1u, tid), sum);
{% endif %}
  }
{% endif %}
  var found_top = lowest;
  var found_sum = 0f;
  for (var q = share; q < p.all_parts; q += {{ looks * shares }}u) {
    let f = load_found_of_some(tile, q, column);
    var next = found_top;
{% for k in range(looks) %}
    next = max(next, {{ found_top(k) }});
{% endfor %}
    found_sum *= exp2((found_top - next) * log2_of_e);
{% for k in range(looks) %}
    let sum{{ k }} = {{ found_sum(k) }} * exp2(({{ found_top(k) }} - next) * log2_of_e);
    found_sum += {{ "select(0f, sum" ~ k ~ ", q + " ~ k * shares ~ "u < p.all_parts)" if k and looks_end else "sum" ~ k }};
{% endfor %}
    found_top = next;
  }
{% if not gathers %}
  workgroupBarrier();   // the tile before may still be read
{% endif %}
  found_tops[tid] = found_top;
  found_sums[tid] = found_sum;
  workgroupBarrier();
  if (tid < {{ block }}u) {
    var top = found_top;
{% for k in range(1, shares) %}
    top = max(top, found_tops[tid + {{ k * block }}u]);
{% endfor %}
    var sum = 0f;
{% for k in range(shares) %}
    sum += found_sums[tid + {{ k * block }}u] * exp2((found_tops[tid + {{ k * block }}u] - top) * log2_of_e);
{% endfor %}
    found_tops[tid] = top;
    found_sums[tid] = sum;
{% if checked %}
    if (!is_positive(sum)) { atomicStore(&gave_up, 1u); }
{% endif %}
  }
{% if not gathers %}
  workgroupBarrier();
{% endif %}
{{ parts_found() }}
  let row_top = vec4<f32>(found_tops[slot], found_tops[slot + 1u], found_tops[slot + 2u], found_tops[slot + 3u]);
  let row_total = vec4<f32>(found_sums[slot], found_sums[slot + 1u], found_sums[slot + 2u], found_sums[slot + 3u]);
{% if logarithm %}
  let less = vec4<f32>(log_f32(row_total.x), log_f32(row_total.y), log_f32(row_total.z), log_f32(row_total.w));
{% elif narrow_y %}
  let less = log2(row_total);
{% else %}
  let scale = 1 / row_total;
{% endif %}
{{ tile_starts() }}
{{ forget_values() }}
{% macro result(i) -%}
{% set below = "(" ~ tile_value(i) ~ " - row_top)" -%}
{% if logarithm %}{{ below }} - less
{%- elif narrow_y %}exp2(fma({{ below }}, vec4<f32>(log2_of_e), -less))
{%- else %}exp{{ below }} * scale
{%- endif %}
{%- endmacro %}
{% for i in range(kept) %}
{{ store_tile(i, result(i)) }}
{% endfor %}
{{ parts_end() }}
