{#
  Runs of 32 elements of quantised weights, for matmul_read_gemv.wgsl: words of memory, the codes in them less or more a
  number, and what becomes of sums of products with these.

  run_span: how many runs of adjacent elements are read together, as many threads reading a part of each: where a byte
  has codes of elements 32 apart, no thread then loads codes that it does not use. run_scales: how many scales a
  thread's elements have. run_bits: those of codes that are unsigned and not yet numbers; 0: others. coarse: they are
  read as 2^run_bits + code, whose mantissas they are: this takes fewer instructions, and has some times the rounding
  error in sums, which the other operand, of 16 bits, has anyway.
  sums_x: sums of the other operand's elements are needed. run_words: words that a run is loaded as, which come from a
  block format's piece, with run_at(i) where its bytes begin, and run_quad(name, i, q); else it has none.

  options:
    run_span: 1, 2, 4
    run_words: 0
    run_bits: 0, number
    run_range: number
    coarse: flag
    block_zero: number
    sums_x: flag
#}
{% set of_rows = packing == 'along_rows' %}
{% set less_half = of_rows and run_bits and zero != 'none' and not coarse %}
{% set run_offset = run_range + block_zero if coarse else -half if less_half else 0 %}
{% if of_rows %}
{% set run_words = bits // 4 if wide else bits %}
{% endif %}
{% set run_word = 'vec4<u32>' if wide else 'u32' %}
{# Variables name_0, … for the words of a run, their loads, and another run's words as constants. #}
{% macro run_variables(name) %}
{% for v in range(run_words) %}
  var {{ name }}_{{ v }} = {{ run_word }}();
{% endfor %}
{% endmacro %}
{% macro load_run(name, i) %}
{% if of_rows and wide %}
{% for v in range(run_words) %}
      {{ name }}_{{ v }} = w_buf[p.w_o + {{ i }} / 32u * {{ run_words }}u + {{ v }}u];
{% endfor %}
{% elif of_rows %}
{% for v in range(run_words) %}
      {{ name }}_{{ v }} = word_w({{ i }} / 32u * {{ run_words }}u + {{ v }}u);
{% endfor %}
{% elif wide %}
{% for v in range(run_words) %}
      {{ name }}_{{ v }} = w_buf[p.w_o + run_word_at({{ i }}, 0u) / 4u + {{ v }}u];
{% endfor %}
{% else %}
{% for v in range(run_words) %}
      {{ name }}_{{ v }} = word_w(run_word_at({{ i }}, {{ v }}u));
{% endfor %}
{% endif %}
{% endmacro %}
{% macro copy_run(name, from) %}
{% for v in range(run_words) %}
      let {{ name }}_{{ v }} = {{ from }}_{{ v }};
{% endfor %}
{% endmacro %}
{% macro word_of_run(name, k) %}{{ name ~ '_' ~ k // 4 ~ '[' ~ k % 4 ~ ']' if wide else name ~ '_' ~ k }}{% endmacro %}
{# Quad q of a run of thread elements that begin at i. #}
{% macro run_code(name, i, q) %}
{%- if not of_rows -%}
{{ run_quad(name, i, q) if run_words else 'codes4_w(' ~ i ~ ' + ' ~ q * 4 ~ 'u)' }}
{%- elif code == 'e2m1' -%}
{{ 'high' if q % 2 else 'low' }}_four({{ word_of_run(name, q // 2) }})
{%- else -%}
{%- set bit = q * 4 * bits -%}
{%- set word = bit // 32 -%}
{%- set shift = bit % 32 -%}
{%- set straddles = shift + 4 * bits > 32 -%}
{%- set joined = '((' ~ word_of_run(name, word) ~ ' >> ' ~ shift ~ 'u) | (' ~ word_of_run(name, word + 1) ~ ' << ' ~ (32 - shift) ~ 'u))' if straddles else word_of_run(name, word) -%}
{{ four_codes(joined, 0 if straddles else shift, bits) if run_bits else 'run_numbers(' ~ (joined if straddles else joined ~ ' >> ' ~ shift ~ 'u') ~ ')' }}
{%- endif -%}
{% endmacro %}
{% if of_rows and code != 'e2m1' and not run_bits %}
fn run_numbers(word: u32) -> vec4<f32> {
  return numbers_of((vec4<u32>(word) >> vec4<u32>(0u, {{ bits }}u, {{ bits * 2 }}u, {{ bits * 3 }}u)) & vec4<u32>({{ mask }}u));
}
{% endif %}
// The sum of a's elements times weights: t is that of their products with codes, x that of a's elements.
fn run_sum(t: f32, x: f32, f: Factors) -> f32 {
{% if halved %}
  return t * {{ '16384.0 * ' if of_rows and code == 'e2m1' }}f.zero * f.scale;
{% elif adds %}
  return fma(f.scale, t, {{ '(f.zero - ' ~ run_offset ~ '.0 * f.scale)' if run_offset else 'f.zero' }} * x);
{% elif sums_x %}
  return (t - {{ '(f.zero + ' ~ run_offset ~ '.0)' if run_offset else 'f.zero' }} * x) * f.scale;
{% else %}
  return t * {{ '16384.0 * ' if of_rows and code == 'e2m1' }}f.scale;
{% endif %}
}
