{#
  Elements of a radix pass: raw bits and their digit. `first_pass` reads x itself, later passes read the results of the
  previous one.

  options:
    first_pass: flag
    workgroup: number
    tile: number
#}
alias raw_t = {{ "vec2<u32>" if key_bits == 64 else "u32" }};
fn digit_of(raw: raw_t) -> u32 {
  let key = ordered_key(raw);
{% if key_bits == 64 %}
  return (select(key.x, key.y, p.shift > 31u) >> (p.shift & 31u)) & 0xffu;
{% else %}
  return (key >> p.shift) & 0xffu;
{% endif %}
}
{% if first_pass %}
{% macro load_raw(row, j) %}load_x(at_x(coords({{ row }})) + ({{ j }}) * p.x_step){% endmacro %}
{% else %}
{% macro load_raw(row, j) %}load_keys_in({{ row }} * p.length + {{ j }}){% endmacro %}
{% endif %}
