{#
  Declares fn ordered_key(raw), the unsigned integer of a value's order: common/ordered_key.h. 64-bit elements, low
  word first, have 64-bit keys; narrower ones have keys of their own width, in a u32.

  options:
    key_kind: unsigned, signed, floating, boolean
    key_bits: 2, 4, 8, 16, 32, 64
    descending: flag
    key_sign: number
    key_mask: number
    key_infinity: number
#}
{% if key_bits == 64 %}
alias ordered_key_t = vec2<u32>;
fn ordered_key(raw: vec2<u32>) -> vec2<u32> {
{% if key_kind == "floating" %}
  let magnitude = vec2<u32>(raw.x, raw.y & 0x7fffffffu);
  if (less_u64(vec2<u32>(0u, {{ key_infinity }}u), magnitude)) { return vec2<u32>(0xffffffffu); }
  let zero = vec2<u32>(0u, 0x80000000u);
  let key = select(raw | zero, sub_64(zero, magnitude), (raw.y >> 31u) != 0u);
{% elif key_kind == "signed" %}
  let key = raw ^ vec2<u32>(0u, 0x80000000u);
{% else %}
  let key = raw;
{% endif %}
  return {{ "~key" if descending else "key" }};
}
{% else %}
alias ordered_key_t = u32;
fn ordered_key(raw: u32) -> u32 {
{% if key_kind == "floating" %}
  let magnitude = raw & {{ key_sign - 1 }}u;
  if (magnitude > {{ key_infinity }}u) { return {{ key_mask }}u; }
  let key = select({{ key_sign }}u + magnitude, {{ key_sign }}u - magnitude, (raw & {{ key_sign }}u) != 0u);
{% elif key_kind == "signed" %}
  let key = raw ^ {{ key_sign }}u;
{% elif key_kind == "boolean" %}
  let key = select(0u, 1u, raw != 0u);
{% else %}
  let key = raw;
{% endif %}
  return {{ "key ^ " ~ key_mask ~ "u" if descending else "key" }};
}
{% endif %}
