{#
  y = x at the positions of a grid. A thread computes `outs` channels of a place, or four adjacent ones if `wide`; threads
  follow each other as y's elements do in memory.

  spatial: the number of spatial axes. channel: the coordinate of the channels. Others: grid_positions.wgsl.

  options:
    wide: flag
    outs: 1…8
    channel: number
#}
{% set value = 'vec4<f32>' if wide else 'f32' %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let place = at_grid(c);
{% for d in range(spatial) %}
{{ axis_of(d) }}
{% endfor %}
  let x0 = at_x(c);
{% if not wide %}
  let left = p.channels - c[{{ channel }}] * {{ outs }}u;
{% for j in range(outs) %}
  let c{{ j }} = {{ 'min(' ~ j ~ 'u, left - 1u) * p.x_channel' if j else '0u' }};
{% endfor %}
{% endif %}
{% for j in range(outs) %}
  var r{{ j }} = {{ value }}();
{% endfor %}
{% for d in range(spatial) %}
  for (var k{{ d }} = 0u; k{{ d }} < {{ taps }}u; k{{ d }}++) {
    let v{{ d }} = {{ 'v' ~ (d - 1) ~ ' * ' if d }}w{{ d }}[k{{ d }}];
    if (v{{ d }} == 0.0) { continue; }
    let x{{ d + 1 }} = x{{ d }} + u32(i{{ d }}[k{{ d }}]) * p.step{{ d }};
{% endfor %}
{% for j in range(outs) %}
{% if wide %}
    r{{ j }} = fma(vec4<f32>(v{{ spatial - 1 }}), load4_x(x{{ spatial }}), r{{ j }});
{% else %}
    r{{ j }} = fma(v{{ spatial - 1 }}, load_x(x{{ spatial }} + c{{ j }}), r{{ j }});
{% endif %}
{% endfor %}
{% for d in range(spatial) %}
  }
{% endfor %}
  let to = at_y(c);
{% for j in range(outs) %}
{% if wide %}
  store4_y(to, r{{ j }});
{% else %}
  {{ 'if (' ~ j ~ 'u < left) ' if j }}{ store_y(to + {{ j }}u * p.y_channel, r{{ j }}); }
{% endif %}
{% endfor %}
}
