fn factors_w(i: u32) -> vec2<f32> { return vec2<f32>(half_w(i / 32u * 34u), 0.0); }
fn codes4_w(i: u32) -> vec4<f32> { return vec4<f32>(signed_bytes_of(bytes4_w(i / 32u * 34u + 2u + i % 32u))); }
{% if run_scales %}
{% set run_words = 9 %}
fn run_at(i: u32) -> u32 { return i / 32u * 34u + 2u + p.w_byte; }
fn run_word_at(i: u32, v: u32) -> u32 { return run_at(i) / 4u + v; }
fn word_of(low: u32, high: u32, i: u32) -> u32 { return from_bit(low, high, run_at(i) % 4u * 8u) ^ 0x80808080u; }
{% macro run_quad(name, i, q) %}{{ four_codes('word_of(' ~ name ~ '_' ~ q ~ ', ' ~ name ~ '_' ~ (q + 1) ~ ', ' ~ i ~ ')', 0, 8) }}{% endmacro %}
{% endif %}
