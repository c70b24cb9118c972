{#
  Random numbers of a key and an element's index, as specified in include/weft/kernels/random.h. A thread makes `width`
  of them; with four, y is dense.

  options:
    form: bits, uniform, normal, integers, signed_uniform
    width: 1, 4
    workgroup: number
    y_bits: 8, 16, 32, 64
    wide: flag
    unit: flag
#}
// Words 2·block and 2·block + 1 of the key's stream.
fn words(key: vec2<u32>, block: u32) -> vec2<u32> { return threefry(key, vec2<u32>(block, 0u)); }

{% if form == "uniform" and unit %}
fn uniform_of(w: u32) -> f32 { return f32(w >> 8u) * 0x1p-24f; }
{% elif form == "uniform" %}
// The product is rounded before the sum, on every device: the xor with 0 prevents compilers from fusing the two.
fn uniform_of(w: u32) -> f32 {
  let product = (f32(w >> 8u) * 0x1p-24f) * p.factor;
  return min(bitcast<f32>(bitcast<u32>(product) ^ p.zero) + p.offset, p.largest);
}
{% elif form == "normal" %}
fn normal_pair(w: vec2<u32>) -> vec2<f32> {
  // Bits that f32 cannot hold are dropped, so that no conversion rounds.
  let u = max(f32(w.x & (0xffffff00u >> (countLeadingZeros(w.x) & 31u))), 0.5);
  // -2 ln(u / 2^32), with u as a power of two times 1 + f.
  let b = bitcast<i32>(u) - 0x4f3504f3;
  let k = b >> 23u;
  let f = bitcast<f32>(0x3f3504f3 + (b & 0x7fffff)) - 1.0;
  let square = -2.0 * (f32(k) * 0.693147181 + (f + log1p_rest_f32(f)));
  // The angle in half turns: w.y's upper bit, rounded, is the sign, the rest is t, in units of π/2, with 25 bits.
  let half = w.y << 1u;
  let t = f32(bitcast<i32>(half) >> 7u) * 0x1p-24;
  let r = bitcast<f32>(bitcast<u32>(p.factor * (square * inverseSqrt(square))) ^ ((w.y ^ half) & 0x80000000u));
  // sin and cos, with their zeros as factors.
  let z = t * t;
  var s = 0.00015148513;
  s = s * z - 0.0046737664;
  s = s * z + 0.07968968;
  s = s * z - 0.6459637;
  s = s * z + 1.5707964;
  var c = 2.3587985e-05;
  c = c * z - 0.00089350995;
  c = c * z + 0.01996859;
  c = c * z - 0.2337005;
  c = c * z + 1.0;
  return p.offset + r * vec2<f32>(fma(-t, t, 1.0) * c, t * s);
}
{% elif form == "signed_uniform" %}
// Bits that f32 cannot hold are dropped, so that no conversion rounds.
fn signed_of(w: u32) -> f32 {
  let half = w << 1u;
  let u = max(f32(half & (0xffffff00u >> (countLeadingZeros(half) & 31u))), 0.5) * 0x1p-32;
  return bitcast<f32>(bitcast<u32>(u) | (w & 0x80000000u));
}
{% elif form == "integers" and wide %}
// The upper half of v · range + rest.
fn scaled(v: vec2<u32>, range: vec2<u32>, rest: vec2<u32>) -> vec2<u32> {
  let a = mul_wide_u32(v.x, range.x);
  let b = mul_wide_u32(v.x, range.y);
  let c = mul_wide_u32(v.y, range.x);
  let sum = add_64(a, rest);
  var middle = add_64(vec2<u32>(sum.y, select(0u, 1u, less_u64(sum, a))), vec2<u32>(b.x, 0u));
  middle = add_64(middle, vec2<u32>(c.x, 0u));
  var upper = add_64(mul_wide_u32(v.y, range.y), vec2<u32>(b.y, 0u));
  upper = add_64(upper, vec2<u32>(c.y, 0u));
  return add_64(upper, vec2<u32>(middle.y, 0u));
}
fn integer_at(key: vec2<u32>, i: u32) -> y_t {
  let range = vec2<u32>(p.range, p.range_high);
  let upper = words(key, i);
  let lower = threefry(key, vec2<u32>(i, 0x80000000u));
  let v = select(scaled(upper, range, scaled(lower, range, vec2<u32>(0u))), upper, (range.x | range.y) == 0u);
  return bitcast<y_t>(add_64(vec2<u32>(p.low, p.low_high), v));
}
{% elif form == "integers" %}
fn integer_at(key: vec2<u32>, i: u32) -> y_t {
  let w = words(key, i);
  let low = mul_wide_u32(w.x, p.range);
  let high = mul_wide_u32(w.y, p.range);
  let carry = select(0u, 1u, high.x + low.y < low.y);
  let v = select(high.y + carry, w.y, p.range == 0u);
{% if y_bits == 64 %}
  return add_64(vec2<u32>(p.low, p.low_high), vec2<u32>(v, 0u));
{% else %}
  return bitcast<y_t>(p.low + v);
{% endif %}
}
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let key = vec2<u32>(load_key(0u), load_key(p.key_step));
  let g = group_index(wg, n) * {{ workgroup }}u + lane;
  if (g >= p.groups) { return; }
  let i = p.first + g;   // in the key's stream
{% if width == 4 %}
{% if form == "integers" %}
  store4_y(4u * g, vec4<y_t>(integer_at(key, 4u * i), integer_at(key, 4u * i + 1u), integer_at(key, 4u * i + 2u),
                             integer_at(key, 4u * i + 3u)));
{% else %}
  let a = words(key, 2u * i);
  let b = words(key, 2u * i + 1u);
{% if form == "bits" %}
  store4_y(4u * g, vec4<u32>(a, b));
{% elif form == "signed_uniform" %}
  store4_y(4u * g, vec4<f32>(signed_of(a.x), signed_of(a.y), signed_of(b.x), signed_of(b.y)));
{% elif form == "uniform" %}
  store4_y(4u * g, vec4<f32>(uniform_of(a.x), uniform_of(a.y), uniform_of(b.x), uniform_of(b.y)));
{% else %}
  store4_y(4u * g, vec4<f32>(normal_pair(a), normal_pair(b)));
{% endif %}
{% endif %}
{% else %}
  let target_at = at_y(coords(g));
{% if form == "integers" %}
  store_y(target_at, integer_at(key, i));
{% elif form == "bits" and y_bits == 64 %}
  store_y(target_at, words(key, i));
{% elif form == "bits" %}
  let w = i / {{ 32 // y_bits }}u;
  let pair = words(key, w / 2u);
  let word = select(pair.x, pair.y, w % 2u == 1u);
  store_y(target_at, word >> (i % {{ 32 // y_bits }}u * {{ y_bits }}u));
{% else %}
  let pair = words(key, i / 2u);
{% if form == "uniform" %}
  store_y(target_at, uniform_of(select(pair.x, pair.y, i % 2u == 1u)));
{% elif form == "signed_uniform" %}
  store_y(target_at, signed_of(select(pair.x, pair.y, i % 2u == 1u)));
{% else %}
  let point = normal_pair(pair);
  store_y(target_at, select(point.x, point.y, i % 2u == 1u));
{% endif %}
{% endif %}
{% endif %}
}
