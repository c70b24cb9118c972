{#
  Reads a matrix of quantised weights (quantized/reader.h): load_{{ operand }}(i) and load4_{{ operand }}(i) give elements,
  counted along rows that lie one behind the other, and words8_{{ operand }}(held8_{{ operand }}(k)) elements 8k…8k+7 as f16.

  A block format's own piece has codes4_w(i), of four elements from a multiple of four on, and factors_w(i), a scale and
  what is added.
  packing, code, zero, scales: as the enumerations of formats.h. fours: elements are read four at a time.
  in_order: the scale of element i is number i / group. group: elements of a row that share a scale; 0: p.w_group.
  per_column: each column has a scale. several: there are several matrices. rows_say: groups of rows are in memory.
  p.w_row: how many rows of the first row's group come before it.
  adds: something is added to the product of scale and code. rounds: the product is rounded first, to product_type.
  halved: Factors.zero is a factor of the code instead, 0.5 where the scale, 2^-127, would be a denormal number.
  zero_more: a zero point is so much more than what is packed. mask: the bits of a code. half: the code in the middle. wide: words are bound four at a time. shifted, whole_words:
  values do not begin with a word; blocks do, and are whole words. even_bytes: blocks begin at even bytes. Of runs: quantized_runs.wgsl.

  options:
    even_bytes: flag
    wide: flag
    whole_words: flag
    operand: a, b, x
    packing: along_rows, awq, down_columns, blocks
    code: unsigned_integer, signed_integer, e2m1, e4m3, e5m2
    bits: 0…8
    mask: number
    half: number
    shifted: flag
    fours: flag
    zero: none, constant, numbers, bias, codes, bytes, columns, awq
    zero_more: 0, 1
    run_scales: 0, 1, 2, 4
    adds: flag
    halved: flag
    rounds: flag
    product_type: f32, f16, bf16, ''
    scales: numbers, e8m0
    per_column: flag
    in_order: flag
    halves_held: f16, bf16, ''
    group: 0, number
    several: flag
    rows_say: flag
#}
{% set w_factor = 'vec4<f32>' if per_column and fours else 'f32' %}
{% set w_value = 'vec4<f32>' if fours else 'f32' %}
{% set w_words = 'vec4<u32>' if fours else 'u32' %}
{% if wide %}
fn word_w(k: u32) -> u32 { return w_buf[p.w_o + k / 4u][k % 4u]; }
{% else %}
fn word_w(k: u32) -> u32 { return w_buf[p.w_o + k]; }
{% endif %}
// Numbers below 2^23, by adding them to it: conversions of integers take four times as long as other instructions.
fn f32_of(c: u32) -> f32 { return bitcast<f32>(c | 0x4b000000u) - 8388608.0; }
fn f32s_of(c: vec4<u32>) -> vec4<f32> { return bitcast<vec4<f32>>(c | vec4<u32>(0x4b000000u)) - 8388608.0; }
// The 32 bits that begin at bit s of a word.
fn from_bit(low: u32, high: u32, s: u32) -> u32 { return (low >> s) | ((high << 1u) << (31u - s)); }

{% macro moved_by(word, by) %}{{ word ~ ' << ' ~ by ~ 'u' if by > 0 else word ~ ' >> ' ~ -by ~ 'u' if by < 0 else word }}{% endmacro %}
{# Four codes of a word that begin at bits first, first + distance, …, of `width` bits, in the mantissas of numbers from
   2^width on. One of two constants is opaque, so that one instruction can do both. #}
{% macro mantissas(word, first, distance, range, width) %}
{%- set to = 23 - width - first -%}
bitcast<vec4<f32>>((vec4<u32>({{ moved_by(word, to) }}, {{ moved_by(word, to - distance) }}, {{ moved_by(word, to - 2 * distance) }}, {{ moved_by(word, to - 3 * distance) }}) & vec4<u32>({{ (range - 1) * (8388608 // range) }}u)) | vec4<u32>({{ (127 + width) * 8388608 }}u | p.opaque_zero))
{%- endmacro %}
{% macro four_mantissas(word, first) %}{{ mantissas(word, first, bits, mask + 1, bits) }}{% endmacro %}
{% if run_scales %}
{# The same of runs, as they are read. #}
{% macro four_codes(word, first, distance) %}
{%- if coarse -%}
{{ mantissas(word, first, distance, run_range, run_bits) }}
{%- else -%}
codes_of(vec4<u32>({{ moved_by(word, -first) }}, {{ moved_by(word, -first - distance) }}, {{ moved_by(word, -first - 2 * distance) }}, {{ moved_by(word, -first - 3 * distance) }}))
{%- endif -%}
{%- endmacro %}
{% if run_bits and not coarse %}
{% set middle = block_zero if packing == 'blocks' else half if zero != 'none' else 0 %}
fn codes_of(c: vec4<u32>) -> vec4<f32> { return bitcast<vec4<f32>>((c & vec4<u32>({{ run_range - 1 }}u)) | vec4<u32>(0x4b000000u)) - {{ 8388608 + middle }}.0; }
{% endif %}
{% endif %}

{% if packing == 'blocks' %}
fn byte_w(at: u32) -> u32 {
  let b = at + p.w_byte;
  return (word_w(b / 4u) >> (b % 4u * 8u)) & 255u;
}
fn bytes4_w(at: u32) -> u32 {
{% if whole_words %}
  return word_w(at / 4u);
{% else %}
  let b = at + p.w_byte;
  return from_bit(word_w(b / 4u), word_w(b / 4u + 1u), b % 4u * 8u);
{% endif %}
}
{% if even_bytes %}
fn half_w(at: u32) -> f32 {
  let b = at + p.w_byte;
  return unpack2x16float(word_w(b / 4u) >> (b % 4u * 8u)).x;
}
{% else %}
fn half_w(at: u32) -> f32 { return unpack2x16float(bytes4_w(at)).x; }
{% endif %}
fn bytes_of(word: u32) -> vec4<u32> {
  return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
}
fn signed_bytes_of(word: u32) -> vec4<i32> { return vec4<i32>(vec4<u32>(word) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u); }
// The low four bits, each in a byte of its own.
fn four_bits(word: u32) -> u32 { return ((word & 15u) * 0x00204081u) & 0x01010101u; }

{% else %}
{% if code == 'unsigned_integer' %}
fn number_of(c: u32) -> f32 { return f32_of(c); }
fn numbers_of(c: vec4<u32>) -> vec4<f32> { return f32s_of(c); }
{% elif code == 'signed_integer' %}
fn number_of(c: u32) -> f32 { return f32_of(c ^ {{ half }}u) - {{ half }}.0; }
fn numbers_of(c: vec4<u32>) -> vec4<f32> { return f32s_of(c ^ vec4<u32>({{ half }}u)) - {{ half }}.0; }
{% elif code == 'e2m1' %}
// Elements j and j + 4 of a word times 2^-14: their bits where f16 has sign, exponent and mantissa.
fn pair_of(low: u32, high: u32) -> vec2<f32> { return unpack2x16float((low & 0x80008000u) | (high & 0x0e000e00u)); }
fn low_four(w: u32) -> vec4<f32> {
  return vec4<f32>(pair_of(w << 12u, w << 9u).x, pair_of(w << 8u, w << 5u).x, pair_of(w << 4u, w << 1u).x, pair_of(w, w >> 3u).x);
}
fn high_four(w: u32) -> vec4<f32> {
  return vec4<f32>(pair_of(w << 12u, w << 9u).y, pair_of(w << 8u, w << 5u).y, pair_of(w << 4u, w << 1u).y, pair_of(w, w >> 3u).y);
}
fn numbers_of(c: vec4<u32>) -> vec4<f32> {
  // Twice the magnitudes, in half bytes.
  let magnitude = f32s_of((vec4<u32>(0xc8643210u) >> (c % 8u * 4u)) & vec4<u32>(15u)) * 0.5;
  return select(magnitude, -magnitude, c >= vec4<u32>(8u));
}
{% else %}
fn number_of(c: u32) -> f32 { return widen_bits(c, {{ '4u, 3u, true' if code == 'e4m3' else '5u, 2u, false' }}); }
fn numbers_of(c: vec4<u32>) -> vec4<f32> { return vec4<f32>(number_of(c.x), number_of(c.y), number_of(c.z), number_of(c.w)); }
{% endif %}
{% if packing == 'down_columns' %}
fn code_w(row: u32, column: u32) -> u32 {
  let bit = row % 32u * {{ bits }}u;
  let at = (row / 32u * {{ bits }}u + bit / 32u) * p.w_columns + column;
{% if bits == 3 %}
  return from_bit(word_w(at), word_w(at + p.w_columns), bit % 32u) & {{ mask }}u;
{% else %}
  return (word_w(at) >> (bit % 32u)) & {{ mask }}u;
{% endif %}
}
{% elif packing == 'awq' %}
// The bit at which element e of eight lies.
fn awq_bit(e: u32) -> u32 { return e % 2u * 16u + e / 2u * 4u; }
fn awq_bits(e: u32) -> vec4<u32> { return vec4<u32>(0u, 16u, 4u, 20u) + e * 2u; }
fn code_w(i: u32) -> u32 { return (word_w(i / 8u) >> awq_bit(i % 8u)) & 15u; }
{% else %}
// The bits from element i on: of four elements at least, if i is a multiple of four.
fn bits_w(i: u32) -> u32 {
{% if shifted or 32 % bits != 0 %}
  let bit = i % 32u * {{ bits }}u + p.w_byte * 8u;
  let at = i / 32u * {{ bits }}u + bit / 32u;
  return from_bit(word_w(at), word_w(at + 1u), bit % 32u);
{% else %}
  return word_w(i / {{ 32 // bits }}u) >> (i % {{ 32 // bits }}u * {{ bits }}u);
{% endif %}
}
{% endif %}
{% if fours %}
fn codes4_w(i: u32) -> vec4<f32> {
{% if packing == 'down_columns' %}
  let row = i / p.w_columns;
  let column = i - row * p.w_columns;
  return numbers_of(vec4<u32>(code_w(row, column), code_w(row, column + 1u), code_w(row, column + 2u), code_w(row, column + 3u)));
{% elif packing == 'awq' %}
  return numbers_of((vec4<u32>(word_w(i / 8u)) >> awq_bits(i % 8u)) & vec4<u32>(15u));
{% else %}
  return numbers_of((vec4<u32>(bits_w(i)) >> vec4<u32>(0u, {{ bits }}u, {{ bits * 2 }}u, {{ bits * 3 }}u)) & vec4<u32>({{ mask }}u));
{% endif %}
}
{% else %}
fn codes1_w(i: u32) -> f32 {
{% if packing == 'down_columns' %}
  let row = i / p.w_columns;
  return number_of(code_w(row, i - row * p.w_columns));
{% elif packing == 'awq' %}
  return number_of(code_w(i));
{% else %}
  return number_of(bits_w(i) & {{ mask }}u);
{% endif %}
}
{% endif %}
{% endif %}

struct Factors {
  scale: {{ w_factor }},
  zero: {{ w_factor }},
}
{% if packing == 'blocks' %}
fn factors_of(i: u32) -> Factors {
  let f = factors_w(i);
  return Factors(f.x, f.y);
}
{% else %}
{% macro four(f) %}vec4<f32>({{ f }}s), {{ f }}s + 1u), {{ f }}s + 2u), {{ f }}s + 3u)){% endmacro %}
{% if scales == 'e8m0' %}
fn scale_at(s: u32) -> f32 {
  let e = load_w_scales(s);
  return bitcast<f32>(select(max(e, 1u) << 23u, 0x7fc00000u, e == 255u));
}
{% else %}
fn scale_at(s: u32) -> f32 { return load_w_scales(s); }
{% endif %}
fn factors_of(i: u32) -> Factors {
{% if in_order %}
  let s = i / {{ group ~ 'u' if group else 'p.w_group' }};
{% else %}
  let row = i / p.w_columns;
  let column = i - row * p.w_columns;
{% if several %}
  let matrix = row / p.w_rows;
  let first_group = matrix * p.w_scale_rows;
{% else %}
  let first_group = 0u;
{% endif %}
{% if rows_say %}
  let group_row = first_group + min(u32(load_w_groups(row)), p.w_scale_rows - 1u);
{% else %}
  let group_row = first_group + (row{{ ' - matrix * p.w_rows' if several }} + p.w_row) / p.w_group_rows;
{% endif %}
  let group_column = {{ 'column' if per_column else 'column / ' ~ (group ~ 'u' if group else 'p.w_group') }};
  let s = group_row * p.w_scale_columns + group_column;
{% endif %}
  var f: Factors;
  f.scale = {{ four('scale_at(') if w_factor != 'f32' else 'scale_at(s)' }};
{% if scales == 'e8m0' %}
  f.zero = select(1.0, 0.5, load_w_scales(s) == 0u);
{% elif zero == 'constant' %}
  f.zero = {{ w_factor }}({{ half }}.0);
{% elif zero in ['numbers', 'bias'] %}
  f.zero = {{ four('load_w_zeros(') if w_factor != 'f32' else 'load_w_zeros(s)' }};
{% elif zero == 'codes' %}
  f.zero = {% if w_factor != 'f32' %}vec4<f32>(f32(load_w_zeros(s)), f32(load_w_zeros(s + 1u)), f32(load_w_zeros(s + 2u)), f32(load_w_zeros(s + 3u))){% else %}f32(load_w_zeros(s)){% endif %};
{% elif zero == 'bytes' %}
  let bit = s % p.w_scale_columns * {{ bits }}u;
  let byte = s / p.w_scale_columns * p.w_zero_row + bit / 8u;
  f.zero = f32(((load_w_zeros(byte){{ ' | (load_w_zeros(byte + 1u) << 8u)' if 8 % bits != 0 }}) >> (bit % 8u)) & {{ mask }}u);
{% elif zero == 'columns' %}
  let bit = group_column % 32u * {{ bits }}u;
  let at = p.w_zeros_o + group_row * p.w_zero_row + group_column / 32u * {{ bits }}u + bit / 32u;
  let zeros = {{ 'from_bit(w_zeros_buf[at], w_zeros_buf[at + 1u], bit % 32u)' if bits == 3 else 'w_zeros_buf[at] >> (bit % 32u)' }};
{% if fours %}
  f.zero = vec4<f32>((vec4<u32>(zeros) >> vec4<u32>(0u, {{ bits }}u, {{ bits * 2 }}u, {{ bits * 3 }}u)) & vec4<u32>({{ mask }}u)) + {{ zero_more }}.0;
{% else %}
  f.zero = f32(zeros & {{ mask }}u) + {{ zero_more }}.0;
{% endif %}
{% elif zero == 'awq' %}
  let zeros = w_zeros_buf[p.w_zeros_o + group_row * p.w_zero_row + group_column / 8u];
{% if fours %}
  f.zero = vec4<f32>((vec4<u32>(zeros) >> awq_bits(group_column % 8u)) & vec4<u32>(15u));
{% else %}
  f.zero = f32((zeros >> awq_bit(group_column % 8u)) & 15u);
{% endif %}
{% endif %}
  return f;
}
{% endif %}

{# Factors as they are in memory, where that is known, so that nothing waits for their loads. #}
{% if halves_held %}
{% macro half_of(word) %}{{ 'unpack2x16float(' ~ word ~ ').x' if halves_held == 'f16' else 'bitcast<f32>((' ~ word ~ ') << 16u)' }}{% endmacro %}
struct HeldFactors {
  scale: u32,
  zero: u32,
  at: u32,
}
fn held_factors(i: u32) -> HeldFactors {
  let s = i / {{ group ~ 'u' if group else 'p.w_group' }};
  return HeldFactors(word_w_scales(s), {{ 'word_w_zeros(s)' if zero == 'bias' else '0u' }}, s);
}
fn factors_of_held(h: HeldFactors) -> Factors {
{% if zero == 'bias' %}
  let zero = {{ half_of('h.zero >> ((p.w_zeros_o + h.at) % 2u * 16u)') }};
{% else %}
  let zero = {{ half ~ '.0' if zero == 'constant' else '0.0' }};
{% endif %}
  return Factors({{ half_of('h.scale >> ((p.w_scales_o + h.at) % 2u * 16u)') }}, zero);
}
{% else %}
alias HeldFactors = Factors;
fn held_factors(i: u32) -> HeldFactors { return factors_of(i); }
fn factors_of_held(h: HeldFactors) -> Factors { return h; }
{% endif %}

{% if rounds %}
fn rounded_product(v: {{ w_value }}) -> {{ w_value }} {
{% if product_type == 'f16' %}
  // NVIDIA's compiler (580) takes unpacking for the inverse of packing.
  let low = unpack2x16float(narrow_f16x2(v.x, v.y) ^ p.opaque_zero);
  let high = unpack2x16float(narrow_f16x2(v.z, v.w) ^ p.opaque_zero);
  return vec4<f32>(low, high);
{% elif product_type == 'bf16' %}
  let words = narrow_bf16x4(v);
  return bitcast<vec4<f32>>(vec4<u32>(words.x << 16u, words.x & 0xffff0000u, words.y << 16u, words.y & 0xffff0000u));
{% else %}
  return bitcast<{{ w_value }}>(bitcast<{{ w_words }}>(v) ^ {{ w_words }}(p.opaque_zero));
{% endif %}
}
{% endif %}
fn dequantized(code: {{ w_value }}, f: Factors) -> {{ w_value }} {
{% set w_scaled = 'rounded_product(code * f.scale)' if rounds else 'code * f.scale' %}
{% if halved %}
  return code * f.zero * f.scale;
{% elif adds %}
  return {{ w_scaled }} + f.zero;
{% elif zero != 'none' %}
  return (code - f.zero) * f.scale;
{% else %}
  return code * f.scale;
{% endif %}
}

alias {{ operand }}_t = f32;
{% if fours %}
fn load4_{{ operand }}(element: u32) -> vec4<f32> {
  let i = element + p.w_first;
  return dequantized(codes4_w(i), factors_of(i));
}
fn load_{{ operand }}(i: u32) -> f32 { return load4_{{ operand }}(i - i % 4u)[i % 4u]; }
fn as_words8(low: vec4<f32>, high: vec4<f32>) -> vec4<u32> {
  return vec4<u32>(narrow_f16x2(low.x, low.y), narrow_f16x2(low.z, low.w), narrow_f16x2(high.x, high.y), narrow_f16x2(high.z, high.w));
}
{% set whole_words8 = bits in [4, 8] and not shifted %}
{% if packing == 'along_rows' and not per_column and not rounds %}
struct Held8 {
  codes: vec2<u32>,
  factors: HeldFactors,
}
fn held8_{{ operand }}(k: u32) -> Held8 {
  let i = k * 8u + p.w_first;
  var h: Held8;
{% if whole_words8 and bits == 4 %}
  h.codes.x = word_w(i / 8u);
{% elif whole_words8 %}
  h.codes = vec2<u32>(word_w(i / 4u), word_w(i / 4u + 1u));
{% else %}
  h.codes = vec2<u32>(bits_w(i), bits_w(i + 4u));
{% endif %}
  h.factors = held_factors(i);
  return h;
}
fn words8_{{ operand }}(h: Held8) -> vec4<u32> {
  let f = factors_of_held(h.factors);
{% if code == 'unsigned_integer' and not halved %}
  // Codes are the mantissas of numbers from 2^{{ bits }} on, which come off what is added.
  let scale = vec4<f32>(f.scale);
  let added = vec4<f32>({{ 'f.zero - ' ~ mask + 1 ~ '.0 * f.scale' if adds else '-(f.zero + ' ~ mask + 1 ~ '.0) * f.scale' }});
  let low = {{ four_mantissas('h.codes.x', 0) }};
  let high = {{ four_mantissas('h.codes.x', 16) if whole_words8 and bits == 4 else four_mantissas('h.codes.y', 0) }};
  return as_words8(fma(low, scale, added), fma(high, scale, added));
{% elif code == 'e2m1' and whole_words8 %}
  return as_words8(dequantized(low_four(h.codes.x) * 16384.0, f), dequantized(high_four(h.codes.x) * 16384.0, f));
{% else %}
  let shifts = vec4<u32>(0u, {{ bits }}u, {{ bits * 2 }}u, {{ bits * 3 }}u);
  let high = {{ 'vec4<u32>(h.codes.x) >> (shifts + 16u)' if whole_words8 and bits == 4 else 'vec4<u32>(h.codes.y) >> shifts' }};
  return as_words8(dequantized(numbers_of((vec4<u32>(h.codes.x) >> shifts) & vec4<u32>({{ mask }}u)), f), dequantized(numbers_of(high & vec4<u32>({{ mask }}u)), f));
{% endif %}
}
{% else %}
struct Held8 {
  words: vec4<u32>,
}
fn held8_{{ operand }}(k: u32) -> Held8 {
  return Held8(as_words8(load4_{{ operand }}(k * 8u), load4_{{ operand }}(k * 8u + 4u)));
}
fn words8_{{ operand }}(h: Held8) -> vec4<u32> { return h.words; }
{% endif %}
{% else %}
fn load_{{ operand }}(element: u32) -> f32 {
  let i = element + p.w_first;
  return dequantized(codes1_w(i), factors_of(i));
}
{% endif %}
