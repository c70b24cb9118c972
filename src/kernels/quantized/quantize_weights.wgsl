{#
  Stores weights x in a scheme (weft/kernels/quantized.h), step by step as encode_cpu.cc does, each step rounded to f32:
  a thread takes `pack` adjacent groups (whose zero points fill whole bytes), or (together) a workgroup takes a group.

  rule, bits, least, most, shifts: of Encoding. half, steps: 2^(bits - 1) and 2^bits - 1.
  scales, zero, code: as the enumerations of formats.h. scale_type: of numbers that are scales.
  run: elements that are stored without others between; `step` units of `unit` bits hold `step_elements` of them.
  block: a run has its scale before its codes. padded: rows may end before their last group.

  options:
    rule: affine, micro, integers, floats, largest, bounds, magnitude, power
    bits: 1…8
    shifts: flag
    least: number
    most: number
    half: number
    steps: number
    scales: none, numbers, e8m0, e4m3
    zero: none, constant, numbers, bias, codes, bytes
    code: unsigned_integer, signed_integer, e2m1, e4m3, e5m2
    scale_type: none, f32, f16, bf16, u8, f8e4m3
    run: number
    unit: 2, 4, 8, 32
    step: number
    step_elements: number
    block: flag
    padded: flag
    pack: 1, 2, 4, 8
    together: flag
    threads: number
    last_axis: number
    least_magnitude: number
    least_affine_scale: text
#}
{% set numbers = scales == 'numbers' %}
{% set packed = zero == 'bytes' %}
{% if code in ['e4m3', 'e5m2'] %}{% set float_bits = '4u, 3u, true' if code == 'e4m3' else '5u, 2u, false' %}{% endif %}

fn not_minus_zero(x: f32) -> f32 { return select(x, 0.0, bitcast<u32>(x) == 0x80000000u); }
// x / s; 0 of x's sign where s is 0.
fn quotient(x: f32, s: f32) -> f32 {
  if (s == 0.0) { return bitcast<f32>(bitcast<u32>(x) & 0x80000000u); }
  return div_rn_f32(x, s);
}
fn reciprocal(s: f32) -> f32 {
  if (magnitude_bits(s) == p.opaque_zero) { return 0.0; }
  return div_rn_f32(rounded(1.0), s);
}

// ---- The ends of a group, in the order of numbers where -0 is before 0 and NaN outside of the infinities
struct Range {
  least: i32,
  most: i32,
  first_largest: f32,
}
fn flipped(b: i32) -> i32 { return b ^ ((b >> 31u) & 0x7fffffff); }
fn take(r: ptr<function, Range>, v: f32) {
  let key = flipped(bitcast<i32>(v));
  (*r).least = min((*r).least, key);
  (*r).most = max((*r).most, key);
{% if rule == 'largest' %}
  if (magnitude_bits(v) > magnitude_bits((*r).first_largest)) { (*r).first_largest = v; }
{% endif %}
}

struct GroupScale {
  valid: bool,
  scale: f32,
  code: u32,
  zero: f32,
  factor: f32,
}
{% if numbers %}
fn rounded_to_scales(s: f32) -> f32 {
{% if scale_type == 'f16' %}
  return unpack2x16float(narrow_f16(s) ^ p.opaque_zero).x;
{% elif scale_type == 'bf16' %}
  return bitcast<f32>(narrow_bf16(s) << 16u);
{% else %}
  return s;
{% endif %}
}
{% endif %}
fn is_finite(x: f32) -> bool { return magnitude_bits(x) < 0x7f800000u; }

fn scale_of(range: Range) -> GroupScale {
  var low = bitcast<f32>(flipped(range.least));
  var high = bitcast<f32>(flipped(range.most));
  let magnitude = max(magnitude_bits(low), magnitude_bits(high));
  let zeros = magnitude < {{ least_magnitude }}u;
  low = select(low, 0.0, zeros);
  high = select(high, 0.0, zeros);
  let largest = bitcast<f32>(select(magnitude, 0u, zeros));
  let difference = rounded(high - low);
  var s = GroupScale(magnitude < 0x7f800000u, 0.0, 0u, 0.0, 0.0);
{% if rule == 'affine' %}
  s.valid = s.valid && is_finite(difference);
  s.factor = max(div_rn_f32(difference, rounded({{ steps }}.0)), {{ least_affine_scale }});
{% if bits == 1 %}
  s.zero = not_minus_zero(low);
{% else %}
  let below = magnitude_bits(low) > magnitude_bits(high);
  s.factor = select(-s.factor, s.factor, below);
  let edge = select(high, low, below);
  let code = round(div_rn_f32(edge, s.factor));
  if (code != 0.0) {
    s.factor = div_rn_f32(edge, code);
    s.zero = edge;
  }
{% endif %}
  s.scale = s.factor;
{% elif rule == 'micro' %}
  let scale = div_rn_f32(largest, rounded({{ most }}.0));
{% if scales == 'e8m0' %}
  // The least power of two that is not below it.
  let power = (bitcast<u32>(scale) + 0x7fffffu) >> 23u;
  s.code = select(select(power, 127u, zeros), 255u, !s.valid);
  s.factor = bitcast<f32>(s.code << 23u);
{% else %}
  s.code = select(narrow_bits(min(scale, 448.0), 4u, 3u, true), 0x7fu, !s.valid);
  s.factor = widen_bits(s.code, 4u, 3u, true);
{% endif %}
{% elif rule == 'integers' %}
{% if shifts %}
  s.valid = s.valid && is_finite(difference);
  s.scale = div_rn_f32(difference, rounded({{ steps }}.0));
  s.zero = round(clamp(quotient(-low, s.scale), 0.0, {{ steps }}.0)) + f32({{ least }});
{% else %}
  s.scale = div_rn_f32(select(low, high, magnitude_bits(high) > magnitude_bits(low)), rounded(-{{ half }}.0));
  s.zero = f32({{ least + half }});
{% endif %}
  s.factor = rounded_to_scales(s.scale);
{% elif rule == 'floats' %}
  s.scale = div_rn_f32(largest, rounded({{ most }}.0));
  s.factor = rounded_to_scales(s.scale);
{% elif rule == 'largest' %}
  s.scale = div_rn_f32(select(range.first_largest, 0.0, zeros), rounded(-{{ half }}.0));
  s.factor = reciprocal(s.scale);
{% elif rule == 'bounds' %}
  s.valid = s.valid && is_finite(difference);
  s.scale = div_rn_f32(difference, rounded({{ steps }}.0));
  s.zero = not_minus_zero(low);
  s.factor = reciprocal(s.scale);
{% elif rule == 'magnitude' %}
  s.scale = div_rn_f32(largest, rounded({{ most }}.0));
  s.factor = reciprocal(s.scale);
{% else %}
  let power = (magnitude >> 23u) - 2u;
  s.code = select(select(power, 0u, zeros), 255u, !s.valid);
  s.factor = bitcast<f32>(select(power << 23u, 0u, zeros));
{% endif %}
  s.scale = select(s.scale, nan_f32(), !s.valid);
  s.zero = select(s.zero, 0.0, !s.valid);
  return s;
}

// ---- Codes
{% if rule == 'power' or (rule == 'micro' and bits == 4) %}
// The nearest code of E2M1: of two as near, the even one; of ggml, the smaller magnitude, where what becomes 0 has no sign.
fn e2m1_code(x: f32) -> u32 {
  let a = abs(x);
{% set at_least = '>' if rule == 'power' else '>=' %}
  let code = u32(a > 0.25) + u32(a {{ at_least }} 0.75) + u32(a > 1.25) + u32(a {{ at_least }} 1.75) + u32(a > 2.5) + u32(a {{ at_least }} 3.5) +
             u32(a > 5.0);
  let sign = (bitcast<u32>(x) >> 31u) << 3u;
  return {{ 'select(code | sign, 0u, code == 0u)' if rule == 'power' else 'code | sign' }};
}
{% endif %}
{% if rule not in ['power', 'micro', 'floats'] %}
fn integer(c: f32) -> u32 { return u32(i32(clamp(c, f32({{ least }}), f32({{ most }})))) & {{ steps }}u; }
{% endif %}
fn code_of(s: GroupScale, v: f32) -> u32 {
  if (!s.valid) { return 0u; }
{% if rule == 'affine' %}
  return integer(round(div_rn_f32(rounded(v - s.zero), s.factor)));
{% elif rule == 'power' or (rule == 'micro' and bits == 4) %}
  return e2m1_code(quotient(v, s.factor));
{% elif rule in ['micro', 'floats'] %}
  return narrow_bits(clamp(quotient(v, s.factor), f32({{ least }}), f32({{ most }})), {{ float_bits }});
{% elif rule == 'integers' %}
  return integer(round(quotient(v, s.factor)) + s.zero);
{% elif rule == 'largest' %}
  return integer(floor(rounded(v * s.factor) + {{ half }}.5));
{% elif rule == 'bounds' %}
  return integer(floor(rounded(rounded(v - s.zero) * s.factor) + 0.5));
{% else %}
  let product = rounded(v * s.factor);
  let a = abs(product);
  let whole = floor(a);
  let nearest = select(whole, whole + 1.0, a - whole >= 0.5);
  return integer(select(nearest, -nearest, product < 0.0));
{% endif %}
}

// ---- Stores of at most 8 bits one after the other, as units of {{ unit }} bits or, of packed zero points, of bytes
{% macro stream(name, unit) %}
var<private> {{ name }}_at: u32;
var<private> {{ name }}_word: u32;
var<private> {{ name }}_used: u32;
fn begin_{{ name }}(at: u32) {
  {{ name }}_at = at;
  {{ name }}_word = 0u;
  {{ name }}_used = 0u;
}
fn put_{{ name }}(v: u32, bits: u32) {
  {{ name }}_word |= v << {{ name }}_used;
  let end = {{ name }}_used + bits;
  if (end < {{ unit }}u) {
    {{ name }}_used = end;
    return;
  }
  store_{{ name }}({{ name }}_at, {{ name }}_word);
  {{ name }}_at += 1u;
  {{ name }}_word = v >> (bits - (end - {{ unit }}u));
  {{ name }}_used = end - {{ unit }}u;
}
{% endmacro %}
{{ stream('values', unit) }}
{% if packed %}{{ stream('zeros', 8) }}{% endif %}

{% if block %}
fn put_half(x: f32, valid: bool) {
  let h = select(0x7e00u, narrow_f16(x), valid);
  put_values(h & 255u, 8u);
  put_values((h >> 8u) & 255u, 8u);
}
{% endif %}

// Where x and the values of a group begin.
struct Place {
  x: u32,
  row: u32,
  column: u32,
  columns: u32,
}
fn element(place: Place, row: u32, column: u32) -> f32 {
{% if padded %}
  if (place.column + column >= p.x_columns) { return 0.0; }
{% endif %}
  return load_x(place.x + row * p.x_down + (place.column + column) * p.x_along);
}
fn put_run(s: GroupScale, place: Place, row: u32, column: u32, count: u32) {
  begin_values(((place.row + row) * p.columns + place.column + column) / {{ step_elements }}u * {{ step }}u);
{% if block %}
{% if rule == 'power' %}
  put_values(s.code, 8u);
{% else %}
  put_half(s.scale, s.valid);
{% endif %}
{% if rule == 'bounds' %}
  put_half(s.zero, true);
{% endif %}
  var codes: array<u32, 32>;
  for (var i = 0u; i < 32u; i++) { codes[i] = code_of(s, element(place, row, column + i)); }
{% if bits == 5 %}
  for (var i = 0u; i < 32u; i++) { put_values(codes[i] >> 4u, 1u); }
{% endif %}
{% if bits == 8 %}
  for (var i = 0u; i < 32u; i++) { put_values(codes[i], 8u); }
{% else %}
  for (var i = 0u; i < 16u; i++) { put_values((codes[i] & 15u) | ((codes[i + 16u] & 15u) << 4u), 8u); }
{% endif %}
{% else %}
  for (var i = 0u; i < count; i++) { put_values(code_of(s, element(place, row, column + i)), {{ bits }}u); }
{% endif %}
}

{% if together %}
var<workgroup> least_of_all: atomic<i32>;
var<workgroup> most_of_all: atomic<i32>;
{% endif %}

fn put_group(place: Place, rows: u32, group: u32, lane: u32) -> GroupScale {
{% if together and pack > 1 %}
  workgroupBarrier();
  atomicStore(&least_of_all, 0);
  atomicStore(&most_of_all, 0);
  workgroupBarrier();
{% endif %}
  let across = (place.columns + {{ run - 1 }}u) / {{ run }}u;
{% if rule in ['affine', 'bounds'] %}
  var range = Range(0x7fffffff, i32(-2147483648), 0.0);
{% else %}
  var range = Range(0, 0, 0.0);
{% endif %}
  for (var r = lane; r < across * rows; r += {{ threads if together else 1 }}u) {
    let row = r / across;
    let column = (r - row * across) * {{ run }}u;
    let count = min({{ run }}u, place.columns - column);
    for (var i = 0u; i < count; i++) { take(&range, element(place, row, column + i)); }
  }
{% if together %}
  // Both begin as 0, which is in the range anyhow. (No rule that is for ranges without it has groups as large.)
  atomicMin(&least_of_all, range.least);
  atomicMax(&most_of_all, range.most);
  workgroupBarrier();
  range.least = atomicLoad(&least_of_all);
  range.most = atomicLoad(&most_of_all);
{% endif %}
  let s = scale_of(range);
{% if not block %}
  if (lane == 0u) {
    store_scales(group, {{ 's.scale' if numbers else 's.code' }});
{% if zero in ['bias', 'numbers'] %}
    store_zeros(group, s.zero);
{% elif zero == 'codes' %}
    store_zeros(group, zeros_t(i32(s.zero)));
{% endif %}
  }
{% endif %}
  for (var r = lane; r < across * rows; r += {{ threads if together else 1 }}u) {
    let row = r / across;
    let column = (r - row * across) * {{ run }}u;
    put_run(s, place, row, column, min({{ run }}u, place.columns - column));
  }
  return s;
}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
{% if together %}
  let t = group_index(wg, groups);
  let lane = lid;
{% else %}
  let t = group_index(wg, groups) * {{ threads }}u + lid;
  let lane = 0u;
{% endif %}
  if (t >= p.count) { return; }
  let outer = t / p.packs;
  let first = (t - outer * p.packs) * {{ pack }}u;
  let c = coords(outer);
  let rows = min(p.group_rows, p.rows - c[{{ last_axis }}] * p.group_rows);
  let group_row = at_group_row(c);
{% if packed %}
  begin_zeros(group_row * p.zero_row + first * {{ bits }}u / 8u);
{% endif %}
{% if pack > 1 %}
  for (var g = first; g < min(first + {{ pack }}u, p.groups); g++) {
{% else %}
  {
    let g = first;
{% endif %}
    let column = g * p.group;
    let place = Place(at_x(c), at_row(c), column, min(p.group, p.columns - column));
    let s = put_group(place, rows, group_row * p.groups + g, lane);
{% if packed %}
    if (lane == 0u) { put_zeros(u32(s.zero), {{ bits }}u); }
{% endif %}
  }
{% if packed %}
  // The rest of the last byte.
  for (; zeros_used > 0u;) {
    let bits = min({{ bits }}u, 8u - zeros_used);
    put_zeros({{ half }}u & ((1u << bits) - 1u), bits);
  }
{% endif %}
}
