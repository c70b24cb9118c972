// y[…] = x at the indices, {{ width }} neighbours along the last axis a thread. Windowed: of x those that are there.
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n) * {{ workgroup }}u + lane;
  if (group >= p.groups) { return; }
  let c = coords(group / p.row_groups);
  let g = group % p.row_groups;
  let tuple = at_indices(c) + g * {{ width }}u * p.indices_inner;
  var source = at_x(c) + g * {{ width }}u * p.x_inner;
{% for k in range(components) %}
{% if windowed %}
  let index{{ k }} = index_clamped(load_indices(tuple + {{ k }}u * p.component_stride), p.size{{ k }}) - p.first{{ k }};
  if (index{{ k }} >= p.count{{ k }}) { return; }
  source += index{{ k }} * p.stride{{ k }};
{% else %}
  source += index_clamped(load_indices(tuple + {{ k }}u * p.component_stride), p.size{{ k }}) * p.stride{{ k }};
{% endif %}
{% endfor %}
  let target_at = at_y(c) + g * {{ width }}u * p.y_inner;
{% if width == 4 %}
  store4_y(target_at, load4_x(source));
{% else %}
  store_y(target_at, load_x(source));
{% endif %}
}
