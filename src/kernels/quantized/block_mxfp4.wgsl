fn factors_w(i: u32) -> vec2<f32> {
  let e = byte_w(i / 32u * 17u);
  return vec2<f32>(bitcast<f32>(select(max(e, 1u) << 23u, 0x7fc00000u, e == 255u)), select(1.0, 0.5, e == 0u));
}
fn codes4_w(i: u32) -> vec4<f32> {
  let j = i % 32u;
  let c = bytes_of((bytes4_w(i / 32u * 17u + 1u + j % 16u) >> (j / 16u * 4u)) & 0x0f0f0f0fu);
  // Integers, so that there is no -0.
  let doubled = vec4<i32>((vec4<u32>(0xc8643210u) >> (c % 8u * 4u)) & vec4<u32>(15u));
  return vec4<f32>(select(doubled, -doubled, c >= vec4<u32>(8u))) * 0.5;
}
{% if run_scales %}
{% set run_words = 5 %}
fn run_at(i: u32) -> u32 { return i / 32u * 17u + 1u + p.w_byte; }
fn run_word_at(i: u32, v: u32) -> u32 { return run_at(i) / 4u + v; }
// Halves of bytes 2^14 times smaller: their bits where f16 has sign, exponent and mantissa.
fn pair_of(low: u32, high: u32) -> vec2<f32> { return unpack2x16float((low & 0x80008000u) | (high & 0x0e000e00u)); }
fn run_four(low: u32, high: u32, i: u32, half: u32) -> vec4<f32> {
  let w = from_bit(low, high, run_at(i) % 4u * 8u) >> half;
  let even = pair_of(w << 12u, w << 9u);
  let odd = pair_of(w << 4u, w << 1u);
  return vec4<f32>(even.x, odd.x, even.y, odd.y) * 16384.0;
}
{% macro run_quad(name, i, q) %}run_four({{ name }}_{{ q % 4 }}, {{ name }}_{{ q % 4 + 1 }}, {{ i }}, {{ 4 if q >= 4 else 0 }}u){% endmacro %}
{% endif %}
