{#
  The gradient of grid_sample for the grid. A thread has a place: it adds the products of dy and x over the channels, for
  each element that the place's samples are made of. `wide`: four adjacent channels at a time. Others:
  grid_positions.wgsl.

  options:
    wide: flag
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let place = at_grid(c);
  let from_dy = at_dy(c);
{% for d in range(spatial) %}
{{ axis_of(d) }}
{% endfor %}
  let x0 = at_x(c);
{% for d in range(spatial) %}
  var r{{ d }} = 0.0;
{% endfor %}
{% for d in range(spatial) %}
  for (var k{{ d }} = 0u; k{{ d }} < {{ taps }}u; k{{ d }}++) {
    if (w{{ d }}[k{{ d }}] == 0.0 && s{{ d }}[k{{ d }}] == 0.0) { continue; }
    let x{{ d + 1 }} = x{{ d }} + u32(i{{ d }}[k{{ d }}]) * p.step{{ d }};
{% endfor %}
{% for d in range(spatial) %}
    let slope{{ d }} = s{{ d }}[k{{ d }}]{% for e in range(spatial) if e != d %} * w{{ e }}[k{{ e }}]{% endfor %};
{% endfor %}
    if ({% for d in range(spatial) %}{{ ' && ' if d }}slope{{ d }} == 0.0{% endfor %}) { continue; }
    var sum = 0.0;
{% if wide %}
    for (var k = 0u; k < p.channels; k += 4u) { sum += dot(load4_dy(from_dy + k), load4_x(x{{ spatial }} + k)); }
{% else %}
    for (var k = 0u; k < p.channels; k++) {
      sum = fma(load_dy(from_dy + k * p.dy_channel), load_x(x{{ spatial }} + k * p.x_channel), sum);
    }
{% endif %}
{% for d in range(spatial) %}
    r{{ d }} = fma(slope{{ d }}, sum, r{{ d }});
{% endfor %}
{% for d in range(spatial) %}
  }
{% endfor %}
  let to = at_dgrid(c);
{% for d in range(spatial) %}
  store_dgrid(to + {{ spatial - 1 - d }}u * p.dgrid_component, r{{ d }});
{% endfor %}
}
