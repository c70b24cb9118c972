{#
  y = x at the positions of a grid. A thread computes `outs` channels of a place, or four adjacent ones if `wide`; threads
  follow each other as y's elements do in memory.

  spatial: the number of spatial axes. taps: how many elements a sample is made of along each: 1 (nearest), 2 (linear)
  or 4 (cubic). padding: zeros, border or reflection. channel: the coordinate of the channels.
#}
{% set value = 'vec4<f32>' if wide else 'f32' %}
fn reflected(q: f32, size: f32) -> f32 {
{% if aligned %}
  let span = size - 1.0;
  if (span == 0.0) { return 0.0; }
  let d = abs(q);
{% else %}
  let span = size;
  let d = abs(q + 0.5);
{% endif %}
  let flips = floor(d / span);
  let rest = d - flips * span;
  let odd = flips - 2.0 * floor(flips * 0.5) != 0.0;
  return clamp(select(rest, span - rest, odd){{ '' if aligned else ' - 0.5' }}, 0.0, size - 1.0);
}

fn position(g: f32, size: f32) -> f32 {
  var q = {{ '(g + 1.0) * 0.5 * (size - 1.0)' if aligned else '((g + 1.0) * size - 1.0) * 0.5' }};
  // Not |q| < 2^30, which also NaN is not; compilers may assume that there is none.
  if ((bitcast<u32>(q) & 0x7fffffffu) >= 0x4e800000u) { q = -100.0; }
{% if taps < 4 and padding == 'border' %}
  q = clamp(q, 0.0, size - 1.0);
{% elif taps < 4 and padding == 'reflection' %}
  q = reflected(q, size);
{% endif %}
  return q;
}

fn cubic_near(t: f32) -> f32 { return (1.25 * t - 2.25) * t * t + 1.0; }
fn cubic_far(t: f32) -> f32 { return ((-0.75 * t + 3.75) * t - 6.0) * t + 3.0; }

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let place = at_grid(c);
{% for d in range(spatial) %}
  let q{{ d }} = position(f32(load_grid(place + {{ spatial - 1 - d }}u * p.grid_number)), f32(p.size{{ d }}));
{% if taps == 1 %}
  var i{{ d }} = array<i32, 1>(i32(round(q{{ d }})));
  var w{{ d }} = array<f32, 1>(1.0);
{% else %}
  let f{{ d }} = floor(q{{ d }});
  let t{{ d }} = q{{ d }} - f{{ d }};
  let b{{ d }} = i32(f{{ d }});
{% if taps == 2 %}
  var i{{ d }} = array<i32, 2>(b{{ d }}, b{{ d }} + 1);
  var w{{ d }} = array<f32, 2>(1.0 - t{{ d }}, t{{ d }});
{% else %}
  var i{{ d }} = array<i32, 4>(b{{ d }} - 1, b{{ d }}, b{{ d }} + 1, b{{ d }} + 2);
  var w{{ d }} = array<f32, 4>(cubic_far(t{{ d }} + 1.0), cubic_near(t{{ d }}), cubic_near(1.0 - t{{ d }}), cubic_far(2.0 - t{{ d }}));
{% endif %}
{% endif %}
  for (var k = 0u; k < {{ taps }}u; k++) {
{% if padding == 'border' %}
    i{{ d }}[k] = clamp(i{{ d }}[k], 0, i32(p.size{{ d }}) - 1);
{% elif padding == 'reflection' and taps == 4 %}
    i{{ d }}[k] = i32(reflected(f32(i{{ d }}[k]), f32(p.size{{ d }})));
{% endif %}
{% if padding != 'border' %}
    // Beyond what is mirrored there are elements of weight 0 alone.
    if (u32(i{{ d }}[k]) >= p.size{{ d }}) { w{{ d }}[k] = 0.0; }
{% endif %}
  }
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
