{# What a mask's element says, by its bits: shared by compact.wgsl and compact_runs.wgsl. #}
fn is_true(v: mask_t) -> bool {
{% if mask_kind == "float" %}
  return (bitcast<u32>(v) & 0x7fffffffu) != 0u;
{% elif mask_kind == "f64" %}
  return (v.x | (v.y & 0x7fffffffu)) != 0u;
{% elif mask_kind == "pair" %}
  return any(v != vec2<u32>(0u));
{% elif mask_kind == "complex" %}
  return any((bitcast<vec2<u32>>(v) & vec2<u32>(0x7fffffffu)) != vec2<u32>(0u));
{% else %}
  return v != mask_t(0);
{% endif %}
}
