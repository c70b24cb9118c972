{#
  y = sums of elements of x. A row of the table is, for an element along an axis of y: how many elements of windows meet
  there, and how far each is in x; it is p.pitch words long, and the axis' table begins at p.base. place: the
  coordinate of each spatial axis. Threads follow each other as y's elements do in memory; each computes `lanes`
  adjacent ones: along the last spatial axis if last_spatial.

  options:
    spatial: 1, 2, 3
    place: list of number
    lanes: 1, 4
    last_spatial: flag
    threads: number
#}
{% set outer = spatial - 1 if last_spatial else spatial %}
{% set last = spatial - 1 %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let x0 = at_x(c);
{% for l in range(lanes) %}
  var r{{ l }} = y_t(0);
{% endfor %}
{% for a in range(outer) %}
  let t{{ a }} = p.table_o + p.base{{ a }} + c[{{ place[a] }}] * p.pitch{{ a }};
  let n{{ a }} = table_buf[t{{ a }}];
{% endfor %}
{% if last_spatial %}
{% for l in range(lanes) %}
  let u{{ l }} = p.table_o + p.base{{ last }} + (c[{{ place[last] }}] * {{ lanes }}u + {{ l }}u) * p.pitch{{ last }};
  let m{{ l }} = table_buf[u{{ l }}];
{% endfor %}
{% endif %}
{% for a in range(outer) %}
  for (var k{{ a }} = 1u; k{{ a }} <= n{{ a }}; k{{ a }}++) {
    let x{{ a + 1 }} = x{{ a }} + table_buf[t{{ a }} + k{{ a }}];
{% endfor %}
{% for l in range(lanes) %}
{% if last_spatial %}
    for (var k = 1u; k <= m{{ l }}; k++) { r{{ l }} += load_x(x{{ outer }} + table_buf[u{{ l }} + k]); }
{% else %}
    r{{ l }} += load_x(x{{ outer }}{{ ' + ' ~ l ~ 'u * p.x_next' if l }});
{% endif %}
{% endfor %}
{% for a in range(outer) %}
  }
{% endfor %}
{% if lanes == 4 %}
  store4_y(at_y(c), vec4<y_t>(r0, r1, r2, r3));
{% else %}
  store_y(at_y(c), r0);
{% endif %}
}
