// outputs = expression(inputs), {{ width }} neighbours along the last axis a thread; see map.cc for the operands' modes.
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n) * {{ workgroup }}u + lane;
  if (group >= p.groups) { return; }
{% if rows %}
  let c = coords(group / p.row_groups);
  let g = group % p.row_groups;
{% else %}
  let c = coords(0u);
  let g = group;
{% endif %}
{% if width == 4 %}
  // Lanes first…last-1 lie in the row; lane 0 is element i of it, perhaps "before" 0.
  let i = g * 4u - p.phase;
  let first = select(0u, p.phase, g == 0u);
  let last = min(4u, p.length - i);
  let whole = first == 0u && last == 4u;
  {% if "each" in inputs or "each" in outputs %}
  let e0 = i + first;
  let e1 = i + clamp(1u, first, last - 1u);
  let e2 = i + clamp(2u, first, last - 1u);
  let e3 = i + (last - 1u);
  {% endif %}
  {% for mode in inputs %}
  {% set x = "x" ~ loop.index0 %}
  {% set type = virtual_types[loop.index0] %}
  {% if mode == "constant" %}
  let {{ x }} = vec4<{{ type }}>(bitcast<{{ type }}>(p.{{ x }}_value));
  {% elif mode == "ramp" %}
  let {{ x }} = bitcast<vec4<{{ type }}>>(p.{{ x }}_value + at_{{ x }}(c) + (vec4<u32>(i) + vec4<u32>(0u, 1u, 2u, 3u)) * p.{{ x }}_inner);
  {% else %}
  let {{ x }}_at = at_{{ x }}(c);
  {% if mode == "vec" %}
  let {{ x }} = load4_{{ x }}({{ x }}_at + i);
  {% elif mode == "splat" %}
  let {{ x }} = vec4<{{ x }}_t>(load_{{ x }}({{ x }}_at));
  {% else %}
  let {{ x }} = vec4<{{ x }}_t>(load_{{ x }}({{ x }}_at + e0 * p.{{ x }}_inner), load_{{ x }}({{ x }}_at + e1 * p.{{ x }}_inner),
    load_{{ x }}({{ x }}_at + e2 * p.{{ x }}_inner), load_{{ x }}({{ x }}_at + e3 * p.{{ x }}_inner));
  {% endif %}
  {% endif %}
  {% endfor %}
{% else %}
  {% for mode in inputs %}
  {% set x = "x" ~ loop.index0 %}
  {% set type = virtual_types[loop.index0] %}
  {% if mode == "constant" %}
  let {{ x }} = {{ "vec2<u32>(p." ~ x ~ "_value, p." ~ x ~ "_high)" if type == "vec2<u32>" else "bitcast<" ~ type ~ ">(p." ~ x ~ "_value)" }};
  {% elif mode == "ramp" %}
  let {{ x }} = bitcast<{{ type }}>(p.{{ x }}_value + at_{{ x }}(c) + g * p.{{ x }}_inner);
  {% else %}
  let x{{ loop.index0 }} = load_x{{ loop.index0 }}(at_x{{ loop.index0 }}(c) + g * p.x{{ loop.index0 }}_inner);
  {% endif %}
  {% endfor %}
{% endif %}
  let r = expression({% for mode in inputs %}{% if not loop.first %}, {% endif %}x{{ loop.index0 }}{% endfor %});
{% for mode in outputs %}
  {% set y = "y" ~ loop.index0 %}
  {% if outputs | length == 1 %}
    {% set value = "r" %}
  {% else %}
    {% set value = "r." ~ y %}
  {% endif %}
  let {{ y }}_at = at_{{ y }}(c);
  {% if width == 1 %}
  store_{{ y }}({{ y }}_at + g * p.{{ y }}_inner, {{ value }});
  {% elif mode == "vec" %}
  if (whole) { store4_{{ y }}({{ y }}_at + i, {{ value }}); } else { store4_part_{{ y }}({{ y }}_at + i, {{ value }}, first, last); }
  {% else %}
  for (var l = first; l < last; l++) { store_{{ y }}({{ y }}_at + (i + l) * p.{{ y }}_inner, {{ value }}[l]); }
  {% endif %}
{% endfor %}
}
