// y[…] = x at the index, {{ width }} neighbours along the last axis a thread. Indices below zero count from the end; all
// are clamped to the axis.
fn clamped(index: indices_t) -> u32 {
{% if index_kind == "u32" %}
  return min(index, p.axis_size - 1u);
{% elif index_kind == "u64" %}
  return select(min(index.x, p.axis_size - 1u), p.axis_size - 1u, index.y != 0u);
{% elif index_kind == "i32" %}
  if (index >= 0) { return min(u32(index), p.axis_size - 1u); }
  let back = 0u - u32(index);
  return select(p.axis_size - back, 0u, back > p.axis_size);
{% else %}
  if ((index.y >> 31u) == 0u) { return select(min(index.x, p.axis_size - 1u), p.axis_size - 1u, index.y != 0u); }
  let back = neg_64(index);
  return select(p.axis_size - back.x, 0u, back.y != 0u || back.x > p.axis_size);
{% endif %}
}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n) * {{ workgroup }}u + lane;
  if (group >= p.groups) { return; }
  let c = coords(group / p.row_groups);
  let g = group % p.row_groups;
  let index = clamped(load_indices(at_indices(c) + g * {{ width }}u * p.indices_inner));
  let source = at_x(c) + index * p.axis_stride + g * {{ width }}u * p.x_inner;
  let target_at = at_y(c) + g * {{ width }}u * p.y_inner;
{% if width == 4 %}
  store4_y(target_at, load4_x(source));
{% else %}
  store_y(target_at, load_x(source));
{% endif %}
}
