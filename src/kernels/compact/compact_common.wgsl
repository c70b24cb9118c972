{#
  Shared by compact.wgsl and compact_runs.wgsl.

  options:
    mask_kind: f64, complex, float, pair, integer
    bits: 2, 4, 8, 16, 32, 64
    form: compress, expand, indices, count
    rounds: number
    carried: flag
    workgroup: number
#}
// True if the mask's element is not zero, by its bits.
fn is_true(v: mask_t) -> bool {
{% if mask_kind == "float" %}
  return is_not_zero_f32(v, p.opaque_zero);
{% elif mask_kind == "f64" %}
  return (v.x | (v.y & 0x7fffffffu)) != 0u;
{% elif mask_kind == "pair" %}
  return any(v != vec2<u32>(0u));
{% elif mask_kind == "complex" %}
  return is_not_zero_f32(v.x, p.opaque_zero) || is_not_zero_f32(v.y, p.opaque_zero);
{% else %}
  return v != mask_t(0);
{% endif %}
}

{# Stores `value`, word w of the workgroup's result, to y, which starts at y's element `start`: of the words' elements
   misalignment … end - 1 are this workgroup's. The first and the last word may be shared with other workgroups. #}
{% macro put_word() -%}
    var mask = 0xffffffffu;
    if (w == 0u) { mask <<= misalignment * {{ bits }}u; }
    if (end - w * {{ per }}u < {{ per }}u) { mask &= (1u << ((end - w * {{ per }}u) * {{ bits }}u)) - 1u; }
    if (mask == 0xffffffffu) {
      atomicStore(&y_buf[start / {{ per }}u + w], value);
    } else {
      atomicAnd(&y_buf[start / {{ per }}u + w], ~mask);
      atomicOr(&y_buf[start / {{ per }}u + w], value & mask);
    }
{%- endmacro %}
