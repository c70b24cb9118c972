{#
  A depthwise convolution: each channel has a filter of its own, so memory is the limit. A thread computes down × across
  neighbouring places along the last two spatial axes, for four channels that are adjacent in memory (vec: 4) or for one,
  whose places along the last axis are adjacent. What several of its places read is loaded once.

  lead: the spatial axes before the last two, over whose elements of the window it loops. window0, stride0, dilation0: of
  the axis before the last (1, 1, 1 if there is none), window1 … of the last. place: where the coordinates of each spatial
  axis are. padded: windows reach past the edges of x. It is zero there, but takes no part in sums: those that are NaN,
  perhaps because elements of the window are infinite there, are computed again.

  options:
    lead: 0, 1
    two: flag
    place: list of number
    vec: 1, 4
    down: 1, 2
    across: 4
    threads: number
    window0: number
    window1: number
    stride0: number
    stride1: number
    dilation0: number
    dilation1: number
    operands: list of text
    fused: flag
    padded: flag
#}
{% set value = 'vec4<f32>' if vec == 4 else 'f32' %}
{% set four = '4' if vec == 4 else '' %}
{% set axis0 = lead %}
{% set axis1 = lead + 1 if two else lead %}
{% if padded %}
// The sum of a thread's place without padding.
fn sum_inside(c: Coords, a: u32, b: u32) -> {{ value }} {
{% for d in range(lead) %}
  let first{{ d }} = i32(c[{{ place[d] }}]) * p.stride{{ d }} - p.before{{ d }};
{% endfor %}
  let row = a * {{ stride0 }}u;
  let col = b * {{ stride1 }}u;
{% if two %}
  let row0 = i32(c[{{ place[axis0] }}] * {{ down * stride0 }}u + row) - p.before{{ axis0 }};
{% endif %}
  let col0 = i32(c[{{ place[axis1] }}] * {{ across * stride1 }}u + col) - p.before{{ axis1 }};
  let x0 = at_x(c) - p.x_before + row * p.x_row + col * p.x_col;
  let w0 = at_w(c);
  var sum = {{ value }}();
{% for d in range(lead) %}
  for (var k{{ d }} = 0u; k{{ d }} < p.window{{ d }}; k{{ d }}++) {
    if (u32(first{{ d }} + i32(k{{ d }}) * p.dilation{{ d }}) >= p.size{{ d }}) { continue; }
{% endfor %}
  let x_tap = x0{% for d in range(lead) %} + k{{ d }} * p.x_k{{ d }}{% endfor %};
  let w_tap = w0{% for d in range(lead) %} + k{{ d }} * p.w_k{{ d }}{% endfor %};
  for (var i = 0u; i < {{ window0 }}u; i++) {
{% if two %}
    if (u32(row0 + i32(i) * {{ dilation0 }}) >= p.size{{ axis0 }}) { continue; }
{% endif %}
    for (var j = 0u; j < {{ window1 }}u; j++) {
      if (u32(col0 + i32(j) * {{ dilation1 }}) >= p.size{{ axis1 }}) { continue; }
      let x = {{ value }}(load{{ four }}_x(x_tap + i * {{ dilation0 }}u * p.x_row + j * {{ dilation1 }}u * p.x_col));
      sum = fma(x, {{ value }}(load{{ four }}_w(w_tap + i * p.w_row + j * p.w_col)), sum);
    }
  }
{% for d in range(lead) %}
  }
{% endfor %}
  return sum;
}
{% endif %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let x0 = at_x(c) - p.x_before;
  let w0 = at_w(c);
{% for d in range(lead) %}
  let first{{ d }} = i32(c[{{ place[d] }}]) * p.stride{{ d }} - p.before{{ d }};
{% endfor %}
{% if two %}
  let row0 = i32(c[{{ place[axis0] }}]) * {{ down * stride0 }} - p.before{{ axis0 }};
{% endif %}
  let col0 = i32(c[{{ place[axis1] }}]) * {{ across * stride1 }} - p.before{{ axis1 }};
{% for a in range(down) %}
{% for b in range(across) %}
  var r{{ a }}_{{ b }} = {{ value }}();
{% endfor %}
{% endfor %}
{% for q in range((across - 1) * stride1 + (window1 - 1) * dilation1 + 1) %}
  let col{{ q }}_inside = u32(col0 + {{ q }}) < p.size{{ axis1 }};
{% endfor %}
{% for d in range(lead) %}
  for (var k{{ d }} = 0u; k{{ d }} < p.window{{ d }}; k{{ d }}++) {
    if (u32(first{{ d }} + i32(k{{ d }}) * p.dilation{{ d }}) >= p.size{{ d }}) { continue; }
{% endfor %}
  let x_tap = x0{% for d in range(lead) %} + k{{ d }} * p.x_k{{ d }}{% endfor %};
  let w_tap = w0{% for d in range(lead) %} + k{{ d }} * p.w_k{{ d }}{% endfor %};
{% for i in range(window0) %}
{% for j in range(window1) %}
  let w{{ i }}_{{ j }} = {{ value }}(load{{ four }}_w(w_tap + {{ i }}u * p.w_row + {{ j }}u * p.w_col));
{% endfor %}
{% endfor %}
{% for r in range((down - 1) * stride0 + (window0 - 1) * dilation0 + 1) %}
  {
    let row_inside = {{ 'u32(row0 + ' ~ r ~ ') < p.size' ~ axis0 if two else 'true' }};
{% for q in range((across - 1) * stride1 + (window1 - 1) * dilation1 + 1) %}
    {
      var x = {{ value }}();
      if (row_inside && col{{ q }}_inside) { x = {{ value }}(load{{ four }}_x(x_tap + {{ r }}u * p.x_row + {{ q }}u * p.x_col)); }
{% for a in range(down) %}
{% for b in range(across) %}
{% for i in range(window0) %}
{% for j in range(window1) %}
{% if a * stride0 + i * dilation0 == r and b * stride1 + j * dilation1 == q %}
      r{{ a }}_{{ b }} = fma(x, w{{ i }}_{{ j }}, r{{ a }}_{{ b }});
{% endif %}
{% endfor %}
{% endfor %}
{% endfor %}
{% endfor %}
    }
{% endfor %}
  }
{% endfor %}
{% for d in range(lead) %}
  }
{% endfor %}
{% if vec == 4 %}
  var sums = array<vec4<f32>, {{ down * across }}>({% for a in range(down) %}{% for b in range(across) %}r{{ a }}_{{ b }}, {% endfor %}{% endfor %});
{% else %}
  var sums = array<vec4<f32>, {{ down }}>({% for a in range(down) %}vec4<f32>(r{{ a }}_0, r{{ a }}_1, r{{ a }}_2, r{{ a }}_3), {% endfor %});
{% endif %}
  for (var a = 0u; a < {{ down }}u; a++) {
{% if two %}
    if (c[{{ place[axis0] }}] * {{ down }}u + a >= p.rows) { break; }
{% endif %}
{% if vec == 4 %}
    for (var b = 0u; b < {{ across }}u; b++) {
      if (c[{{ place[axis1] }}] * {{ across }}u + b >= p.columns) { break; }
      var v = sums[a * {{ across }}u + b];
{% if padded %}
      if (any_nan_f32(v)) { v = sum_inside(c, a, b); }
{% endif %}
{% else %}
    {
      let b = 0u;
      var v = sums[a];
{% if padded %}
      for (var i = 0u; i < 4u; i++) {
        if (is_nan_f32(v[i])) { v[i] = sum_inside(c, a, i); }
      }
{% endif %}
{% endif %}
{% for mode in operands %}
{% set e = 'e' ~ loop.index0 %}
      let {{ e }}_at = at_{{ e }}(c) + a * p.{{ e }}_row + b * p.{{ e }}_col;
      let {{ e }} = {{ 'load4_' ~ e ~ '(' ~ e ~ '_at)' if mode == 'four' else 'vec4<' ~ e ~ '_t>(load_' ~ e ~ '(' ~ e ~ '_at))' if mode == 'one' else 'vec4<' ~ e ~ '_t>(load_' ~ e ~ '(' ~ e ~ '_at), load_' ~ e ~ '(' ~ e ~ '_at + p.' ~ e ~ '_step), load_' ~ e ~ '(' ~ e ~ '_at + 2u * p.' ~ e ~ '_step), load_' ~ e ~ '(' ~ e ~ '_at + 3u * p.' ~ e ~ '_step))' }};
{% endfor %}
      store4_y(at_y(c) + a * p.y_row + b * p.y_col, {{ 'expression(v' if fused else 'vec4<y_t>(v' }}{% for mode in operands %}, e{{ loop.index0 }}{% endfor %}));
    }
  }
}
