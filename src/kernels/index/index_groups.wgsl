{#
  Group u of a thread, shared by gather.wgsl and scatter.wgsl: whether it exists, its position, its indices.

  options:
    components: 1, 2, 3, number
    width: 1, 4
    workgroup: number
    each: flag
    windowed: flag
    starts: flag
    unroll: 1…4
#}
{% macro group_of(u) -%}
  let live{{ u }} = first + {{ u * workgroup }}u < p.groups;
  let group{{ u }} = select(0u, first + {{ u * workgroup }}u, live{{ u }});
  let row{{ u }} = group{{ u }} / p.row_groups;
  let c{{ u }} = coords(row{{ u }});
  let g{{ u }} = (group{{ u }} - row{{ u }} * p.row_groups) * {{ 4 if each else width }}u;
  let tuple{{ u }} = at_indices(c{{ u }}) + g{{ u }} * p.indices_inner;
{% if each %}
  let index{{ u }} = load4_indices(tuple{{ u }});
{% else %}
{% for k in range(components) %}
  let index{{ u }}_{{ k }} = load_indices(tuple{{ u }} + {{ k }}u * p.component_stride);
{% endfor %}
{% endif %}
{%- endmacro %}
