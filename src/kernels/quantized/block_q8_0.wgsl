fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 32u * 34u), 0.0); }
fn codes4_w(i: u32) -> vec4<f32> { return vec4<f32>(signed_bytes_of(bytes4_w(i / 32u * 34u + 2u + i % 32u))); }
{% if run_scales %}
{% set run_words = 9 %}
fn run_at(i: u32) -> u32 { return i / 32u * 34u + 2u + p.w_byte; }
fn run_word_at(i: u32, v: u32) -> u32 { return run_at(i) / 4u + v; }
fn run_four(low: u32, high: u32, i: u32) -> vec4<f32> {
  let word = from_bit(low, high, run_at(i) % 4u * 8u) ^ 0x80808080u;
  return bitcast<vec4<f32>>(bytes_of(word) | vec4<u32>(0x4b000000u)) - 8388736.0;
}
{% macro run_quad(name, i, q) %}run_four({{ name }}_{{ q }}, {{ name }}_{{ q + 1 }}, {{ i }}){% endmacro %}
{% endif %}
