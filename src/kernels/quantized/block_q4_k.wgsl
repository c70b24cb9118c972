fn factors_w(i: u32) -> vec2<f32> { return k_factors(i / 256u * 144u, i % 256u / 32u); }
fn codes4_w(i: u32) -> vec4<f32> {
  let e = i % 256u;
  let word = bytes4_w(i / 256u * 144u + 16u + e / 64u * 32u + e % 32u);
  return vec4<f32>(bytes_of((word >> (e / 32u % 2u * 4u)) & 0x0f0f0f0fu));
}
{% if run_scales %}
{# Sixteen bytes: elements 0 … 15 of a thread are their low halves, those 32 further on the high ones. #}
{% set run_words = 1 if wide else 4 if whole_words else 5 %}
fn run_at(i: u32) -> u32 { return i / 256u * 144u + 16u + i % 256u / 64u * 32u + i % 32u{{ '' if whole_words else ' + p.w_byte' }}; }
fn run_word_at(i: u32, v: u32) -> u32 { return run_at(i) / 4u + v; }
fn word_of(low: u32, high: u32, i: u32) -> u32 { return from_bit(low, high, run_at(i) % 4u * 8u); }
{% macro run_quad(name, i, q) %}
{%- set word = name ~ '_' ~ q % 4 -%}
{{ four_codes(name ~ '_0[' ~ q % 4 ~ ']' if wide else word if whole_words else 'word_of(' ~ word ~ ', ' ~ name ~ '_' ~ (q % 4 + 1) ~ ', ' ~ i ~ ')', q // 4 * 4, 8) }}
{%- endmacro %}
{% endif %}
