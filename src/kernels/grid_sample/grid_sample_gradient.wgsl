{#
  Adds dy to dx, where grid_sample takes its elements from. A thread has `outs` channels of a place; other threads may
  add to the same elements, so that sums are exchanged as bits. dx is f32. channel: the coordinate of the channels.
  Others: grid_positions.wgsl.

  options:
    outs: 1…8
    channel: number
#}
fn add(i: u32, v: f32) {
  let k = p.dx_o + i;
  var old = atomicLoad(&dx_buf[k]);
  loop {
    let r = atomicCompareExchangeWeak(&dx_buf[k], old, narrow_dx(widen_dx(old) + v));
    if (r.exchanged) { break; }
    old = r.old_value;
  }
}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let place = at_grid(c);
  let from_dy = at_dy(c);
  let left = p.channels - c[{{ channel }}] * {{ outs }}u;
{% for j in range(outs) %}
  let v{{ j }} = load_dy(from_dy + {{ 'min(' ~ j ~ 'u, left - 1u) * p.dy_channel' if j else '0u' }});
{% endfor %}
{% for d in range(spatial) %}
{{ axis_of(d) }}
{% endfor %}
  let x0 = at_dx(c);
{% for d in range(spatial) %}
  for (var k{{ d }} = 0u; k{{ d }} < {{ taps }}u; k{{ d }}++) {
    let weight{{ d }} = {{ 'weight' ~ (d - 1) ~ ' * ' if d }}w{{ d }}[k{{ d }}];
    if (weight{{ d }} == 0.0) { continue; }
    let x{{ d + 1 }} = x{{ d }} + u32(i{{ d }}[k{{ d }}]) * p.step{{ d }};
{% endfor %}
{% for j in range(outs) %}
    {{ 'if (' ~ j ~ 'u < left) ' if j }}{ add(x{{ spatial }} + {{ j }}u * p.dx_channel, weight{{ spatial - 1 }} * v{{ j }}); }
{% endfor %}
{% for d in range(spatial) %}
  }
{% endfor %}
}
