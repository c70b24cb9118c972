fn factors_w(i: u32) -> vec2<f32> {
  let block = i / 256u * 210u;
  let scale = f32_of(byte_w(block + 192u + i % 256u / 16u) ^ 128u) - 128.0;
  return vec2<f32>(half_w(block + 208u) * scale, 0.0);
}
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let block = i / 256u * 210u;
  let run = e % 128u / 32u;
  let low = (bytes4_w(block + e / 128u * 64u + run % 2u * 32u + e % 32u) >> (run / 2u * 4u)) & 0x0f0f0f0fu;
  let high = (bytes4_w(block + 128u + e / 128u * 32u + e % 32u) >> (run * 2u)) & 0x03030303u;
  return vec4<f32>(bytes_of(low | (high << 4u))) - 32.0;
}
{% if run_scales %}
{# Eight bytes of each half of the low bits, and eight of high bits: a thread's elements are eight of four runs. #}
{% set run_words = 9 %}
fn run_at(i: u32) -> u32 { return i / 256u * 210u + i % 32u + p.w_byte; }
fn run_word_at(i: u32, v: u32) -> u32 {
  let n = i % 256u / 128u;
  return (run_at(i) + select(n * 64u + v / 3u * 32u, 128u + n * 32u, v >= 6u)) / 4u + v % 3u;
}
fn word_of(low0: u32, low1: u32, high0: u32, high1: u32, i: u32, r: u32) -> u32 {
  let s = run_at(i) % 4u * 8u;
  let low = (from_bit(low0, low1, s) >> (r / 2u * 4u)) & 0x0f0f0f0fu;
  let high = (from_bit(high0, high1, s) >> (r * 2u)) & 0x03030303u;
  return low | (high << 4u);
}
{% macro run_quad(name, i, q) %}
{%- set at = q // 2 % 2 * 3 + q % 2 -%}
{{ four_codes('word_of(' ~ name ~ '_' ~ at ~ ', ' ~ name ~ '_' ~ (at + 1) ~ ', ' ~ name ~ '_' ~ (6 + q % 2) ~ ', ' ~ name ~ '_' ~ (7 + q % 2) ~ ', ' ~ i ~ ', ' ~ q // 2 ~ 'u)', 0, 8) }}
{%- endmacro %}
{% endif %}
