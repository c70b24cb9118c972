// y[…] = x at the indices, {{ width }} neighbours along the last axis a thread; `each`: four, with an index of their own.
// Windowed: of x those that are there.
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n) * {{ workgroup }}u + lane;
  if (group >= p.groups) { return; }
  let row = group / p.row_groups;
  let c = coords(row);
  let g = (group - row * p.row_groups) * {{ 4 if each else width }}u;
  let tuple = at_indices(c) + g * p.indices_inner;
  var source = at_x(c) + g * p.x_inner;
  let target_at = at_y(c) + g * p.y_inner;
{% if each %}
  let index = load4_indices(tuple);
  store4_y(target_at, vec4<y_t>(
    load_x(source + index_clamped(index.x, p.size0) * p.stride0),
    load_x(source + p.x_inner + index_clamped(index.y, p.size0) * p.stride0),
    load_x(source + 2u * p.x_inner + index_clamped(index.z, p.size0) * p.stride0),
    load_x(source + 3u * p.x_inner + index_clamped(index.w, p.size0) * p.stride0)));
{% else %}
{% for k in range(components) %}
{% if windowed %}
  let index{{ k }} = index_clamped(load_indices(tuple + {{ k }}u * p.component_stride), p.size{{ k }}) - p.first{{ k }};
  if (index{{ k }} >= p.count{{ k }}) { return; }
  source += index{{ k }} * p.stride{{ k }};
{% else %}
  source += index_clamped(load_indices(tuple + {{ k }}u * p.component_stride), p.size{{ k }}) * p.stride{{ k }};
{% endif %}
{% endfor %}
{% if width == 4 %}
  store4_y(target_at, load4_x(source));
{% else %}
  store_y(target_at, load_x(source));
{% endif %}
{% endif %}
}
