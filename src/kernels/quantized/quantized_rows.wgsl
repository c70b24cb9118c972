{#
  y = the weights, which read_quantized() reads: rows of y in any layout, `width` elements a thread.

  options:
    width: 1, 4
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let i = group_index(wg, groups) * {{ threads }}u + lid;
  if (i >= p.count) { return; }
  let outer = i / p.across;
  let column = (i - outer * p.across) * {{ width }}u;
  let c = coords(outer);
{% if width == 4 %}
  store4_y(at_y(c) + column, load4_x(at_row(c) + column));
{% else %}
  store_y(at_y(c) + column * p.y_along, load_x(at_row(c) + column));
{% endif %}
}
