{# y[…] = x at the indices. A group is `width` adjacent elements along the last axis; `each`: four elements, each with
   its own index. A thread takes `unroll` groups, a workgroup's size apart, so that all their indices are in flight
   before the first is used. `windowed`: only elements whose indices are in the bound chunk of x are stored. #}
{% set clamped = "start_clamped" if starts else "index_clamped" %}
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let first = group_index(wg, n) * {{ workgroup * unroll }}u + lane;
{% for u in range(unroll) %}
{{ group_of(u) }}
{% endfor %}
{% for u in range(unroll) %}
  var source{{ u }} = at_x(c{{ u }}) + g{{ u }} * p.x_inner;
{% if each %}
  let v{{ u }} = vec4<y_t>(
{%- for l in range(4) -%}
load_x(source{{ u }} + {{ l }}u * p.x_inner + index_clamped(index{{ u }}[{{ l }}], p.size0) * p.stride0){{ ", " if not loop.last }}
{%- endfor -%}
);
{% else %}
{% for k in range(components) %}
{% if windowed %}
  let place{{ u }}_{{ k }} = {{ clamped }}(index{{ u }}_{{ k }}, p.size{{ k }}) - p.first{{ k }};
  let there{{ u }}_{{ k }} = place{{ u }}_{{ k }} < p.count{{ k }};
  source{{ u }} += select(0u, place{{ u }}_{{ k }}, there{{ u }}_{{ k }}) * p.stride{{ k }};
{% else %}
  source{{ u }} += {{ clamped }}(index{{ u }}_{{ k }}, p.size{{ k }}) * p.stride{{ k }};
{% endif %}
{% endfor %}
  let v{{ u }} = {{ "load4_x" if width == 4 else "load_x" }}(source{{ u }});
{% endif %}
{% endfor %}
{% for u in range(unroll) %}
  if (live{{ u }}{% if windowed %}{% for k in range(components) %} && there{{ u }}_{{ k }}{% endfor %}{% endif %}) {
    {{ "store4_y" if width == 4 or each else "store_y" }}(at_y(c{{ u }}) + g{{ u }} * p.y_inner, v{{ u }});
  }
{% endfor %}
}
