{#
  A convolution by loops: over the window, and in it over the channels. A thread computes `pixels` neighbours along the
  last spatial axis × `outs` channels of y. Threads follow each other as y's elements do in memory.

  spatial: the number of spatial axes; place: where their, and last the channels', coordinates are. wide: 4 if four
  channels of x and of w are loaded at once. checked: the spatial axes along which windows may leave x.

  options:
    spatial: 1…3
    place: list of number
    checked: list of yes, ''
    pixels: 1, 4
    outs: 1…4
    wide: 1, 4
    threads: number
    product: f32, i32
    operands: number
    fused: flag
#}
{% set last = spatial - 1 %}
{% set value = 'vec4<' ~ product ~ '>' if wide == 4 else product %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let x0 = at_x(c) - p.x_before;
  let w0 = at_w(c);
{% for d in range(spatial) %}
  let first{{ d }} = i32(c[{{ place[d] }}]{{ ' * ' ~ pixels ~ 'u' if d == last and pixels > 1 else '' }}) * p.stride{{ d }} - p.before{{ d }};
{% endfor %}
{% for j in range(outs) %}
  let w_at{{ j }} = w0 + {{ 'min(' ~ j ~ 'u, p.outputs - 1u - c[' ~ place[spatial] ~ '] * ' ~ outs ~ 'u) * p.w_out' if j else '0u' }};
{% endfor %}
{% for i in range(pixels) %}
{% for j in range(outs) %}
  var r{{ i }}_{{ j }} = {{ value }}();
{% endfor %}
{% endfor %}
{% for d in range(spatial) %}
  for (var k{{ d }} = 0u; k{{ d }} < p.window{{ d }}; k{{ d }}++) {
{% if checked[d] and (d < last or pixels == 1) %}
    if (u32(first{{ d }} + i32(k{{ d }}) * p.dilation{{ d }}) >= p.size{{ d }}) { continue; }
{% endif %}
{% endfor %}
    let x_tap = x0{% for d in range(spatial) %} + k{{ d }} * p.x_k{{ d }}{% endfor %};
    let w_tap = 0u{% for d in range(spatial) %} + k{{ d }} * p.w_k{{ d }}{% endfor %};
{% for i in range(pixels) %}
{% if checked[last] and pixels > 1 %}
    let inside{{ i }} = u32(first{{ last }} + {{ i }} * p.stride{{ last }} + i32(k{{ last }}) * p.dilation{{ last }}) < p.size{{ last }};
{% elif i %}
    let inside{{ i }} = c[{{ place[last] }}] * {{ pixels }}u + {{ i }}u < p.length;
{% endif %}
{% endfor %}
    for (var ch = 0u; ch < p.channels; ch += {{ wide }}u) {
{% for j in range(outs) %}
      let w{{ j }} = {{ value }}({{ 'load4_w' if wide == 4 else 'load_w' }}(w_at{{ j }} + w_tap + ch * p.w_c));
{% endfor %}
{% for i in range(pixels) %}
      {{ 'if (inside' ~ i ~ ') ' if pixels > 1 and (checked[last] or i) }}{
        let x = {{ value }}({{ 'load4_x' if wide == 4 else 'load_x' }}(x_tap + {{ i }}u * p.x_pixel + ch * p.x_c));
{% for j in range(outs) %}
        r{{ i }}_{{ j }} = {{ 'fma(x, w' ~ j ~ ', r' ~ i ~ '_' ~ j ~ ')' if product == 'f32' else 'x * w' ~ j ~ ' + r' ~ i ~ '_' ~ j }};
{% endfor %}
      }
{% endfor %}
    }
{% for d in range(spatial) %}
  }
{% endfor %}
  // A loop, because the epilogue's text is long.
  var sums = array<{{ product }}, {{ pixels * outs }}>({% for i in range(pixels) %}{% for j in range(outs) %}{% set r = 'r' ~ i ~ '_' ~ j %}{{ '(' ~ r ~ '.x + ' ~ r ~ '.y) + (' ~ r ~ '.z + ' ~ r ~ '.w)' if wide == 4 else r }}, {% endfor %}{% endfor %});
  for (var e = 0u; e < {{ pixels * outs }}u; e++) {
    let i = e / {{ outs }}u;
    let j = e % {{ outs }}u;
{% if pixels > 1 %}
    if (c[{{ place[last] }}] * {{ pixels }}u + i >= p.length) { break; }
{% endif %}
{% if outs > 1 %}
    if (c[{{ place[spatial] }}] * {{ outs }}u + j >= p.outputs) { continue; }
{% endif %}
{% for k in range(operands) %}
    let e{{ k }} = load_e{{ k }}(at_e{{ k }}(c) + i * p.e{{ k }}_pixel + j * p.e{{ k }}_out);
{% endfor %}
    store_y(at_y(c) + i * p.y_pixel + j * p.y_out, {{ 'expression(sums[e]' if fused else 'y_t(sums[e]' }}{% for k in range(operands) %}, e{{ k }}{% endfor %}));
  }
}
