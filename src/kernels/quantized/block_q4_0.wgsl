fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 32u * 18u), 0.0); }
fn codes4_w(i: u32) -> vec4<f32> {
  let j = i % 32u;
  return vec4<f32>(bytes_of((bytes4_w(i / 32u * 18u + 2u + j % 16u) >> (j / 16u * 4u)) & 0x0f0f0f0fu)) - 8.0;
}
{% if run_scales %}
{% set run_words = 5 %}
fn run_at(i: u32) -> u32 { return i / 32u * 18u + 2u + p.w_byte; }
fn run_word_at(i: u32, v: u32) -> u32 { return run_at(i) / 4u + v; }
fn word_of(low: u32, high: u32, i: u32) -> u32 { return from_bit(low, high, run_at(i) % 4u * 8u); }
{% macro run_quad(name, i, q) %}{{ four_codes('word_of(' ~ name ~ '_' ~ q % 4 ~ ', ' ~ name ~ '_' ~ (q % 4 + 1) ~ ', ' ~ i ~ ')', q // 4 * 4, 8) }}{% endmacro %}
{% endif %}
