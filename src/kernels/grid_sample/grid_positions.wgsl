{#
  Positions of a grid along an axis of x, shared by grid_sample.wgsl and its gradients.

  spatial: the number of spatial axes. taps: how many elements a sample is made of along each: 1 (nearest), 2 (linear)
  or 4 (cubic). padding: zeros, border or reflection. aligned: align_corners. slopes: the weights' derivatives, too.

  options:
    spatial: 1, 2, 3
    taps: 1, 2, 4
    padding: zeros, border, reflection
    aligned: flag
    slopes: flag
    threads: number
#}
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

fn unpadded(g: f32, size: f32) -> f32 {
  let q = {{ '(g + 1.0) * 0.5 * (size - 1.0)' if aligned else '((g + 1.0) * size - 1.0) * 0.5' }};
  // Not |q| < 2^30, which also NaN is not; compilers may assume that there is none.
  return select(q, -100.0, (bitcast<u32>(q) & 0x7fffffffu) >= 0x4e800000u);
}

fn position(g: f32, size: f32) -> f32 {
  var q = unpadded(g, size);
{% if taps < 4 and padding == 'border' %}
  q = clamp(q, 0.0, size - 1.0);
{% elif taps < 4 and padding == 'reflection' %}
  q = reflected(q, size);
{% endif %}
  return q;
}

fn cubic_near(t: f32) -> f32 { return (1.25 * t - 2.25) * t * t + 1.0; }
fn cubic_far(t: f32) -> f32 { return ((-0.75 * t + 3.75) * t - 6.0) * t + 3.0; }
{% if slopes %}

fn near_slope(t: f32) -> f32 { return (3.75 * t - 4.5) * t; }
fn far_slope(t: f32) -> f32 { return (-2.25 * t + 7.5) * t - 6.0; }

// The derivative of position().
fn slope(g: f32, size: f32) -> f32 {
  let q = unpadded(g, size);
  var m = {{ '0.5 * (size - 1.0)' if aligned else '0.5 * size' }};
  if (q == -100.0) { m = 0.0; }
{% if taps < 4 and padding == 'border' %}
  if (q <= 0.0 || q >= size - 1.0) { m = 0.0; }
{% elif taps < 4 and padding == 'reflection' %}
  let r = reflected(q, size);
  if (r <= 0.0 || r >= size - 1.0) { return 0.0; }
  let from_low = q{{ '' if aligned else ' + 0.5' }};
  let flips = floor(abs(from_low) / {{ '(size - 1.0)' if aligned else 'size' }});
  if ((flips - 2.0 * floor(flips * 0.5) != 0.0) != (from_low < 0.0)) { m = -m; }
{% endif %}
  return m;
}
{% endif %}

{#
  Of axis d, at `place` of the grid: the elements i{{ d }} of x, their weights w{{ d }}, and with `slopes` the derivatives
  s{{ d }} of the weights by the grid's number; elements that are not there then are element 0 with zeros.
#}
{% macro axis_of(d) -%}
  let g{{ d }} = f32(load_grid(place + {{ spatial - 1 - d }}u * p.grid_component));
  let q{{ d }} = position(g{{ d }}, f32(p.size{{ d }}));
{% if taps == 1 %}
  var i{{ d }} = array<i32, 1>(i32(round(q{{ d }})));
  var w{{ d }} = array<f32, 1>(1.0);
{% if slopes %}
  var s{{ d }} = array<f32, 1>(0.0);
{% endif %}
{% else %}
  let f{{ d }} = floor(q{{ d }});
  let t{{ d }} = q{{ d }} - f{{ d }};
  let b{{ d }} = i32(f{{ d }});
{% if taps == 2 %}
  var i{{ d }} = array<i32, 2>(b{{ d }}, b{{ d }} + 1);
  var w{{ d }} = array<f32, 2>(1.0 - t{{ d }}, t{{ d }});
{% if slopes %}
  let m{{ d }} = slope(g{{ d }}, f32(p.size{{ d }}));
  var s{{ d }} = array<f32, 2>(-m{{ d }}, m{{ d }});
{% endif %}
{% else %}
  var i{{ d }} = array<i32, 4>(b{{ d }} - 1, b{{ d }}, b{{ d }} + 1, b{{ d }} + 2);
  var w{{ d }} = array<f32, 4>(cubic_far(t{{ d }} + 1.0), cubic_near(t{{ d }}), cubic_near(1.0 - t{{ d }}), cubic_far(2.0 - t{{ d }}));
{% if slopes %}
  let m{{ d }} = slope(g{{ d }}, f32(p.size{{ d }}));
  var s{{ d }} = array<f32, 4>(m{{ d }} * far_slope(t{{ d }} + 1.0), m{{ d }} * near_slope(t{{ d }}), -m{{ d }} * near_slope(1.0 - t{{ d }}), -m{{ d }} * far_slope(2.0 - t{{ d }}));
{% endif %}
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
    if (u32(i{{ d }}[k]) >= p.size{{ d }}) {
      w{{ d }}[k] = 0.0;
{% if slopes %}
      s{{ d }}[k] = 0.0;
      i{{ d }}[k] = 0;
{% endif %}
    }
{% endif %}
  }
{%- endmacro %}
