{#
  y = elements of x that tables choose along their axes. Threads follow each other as y's elements do in memory; each
  moves `lanes` adjacent ones, for which the last table has a row each if `last_resized`, and which are adjacent in x,
  too, if not. place: the coordinate of each table. A row of a table is an index, or ~0 for p.value.
#}
{% set outer = tables - 1 if last_resized else tables %}
{% set last = tables - 1 %}
{% set value = 'vec2<u32>(p.value_low, p.value_high)' if pairs else 'x_t(p.value_low)' %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  var source = at_x(c);
{% if outside %}
  var inside = true;
{% endif %}
{% for a in range(outer) %}
  let i{{ a }} = table_buf[p.table_o + p.base{{ a }} + c[{{ place[a] }}]];
{% if outside %}
  inside = inside && i{{ a }} != 0xffffffffu;
{% endif %}
  source += i{{ a }} * p.step{{ a }};
{% endfor %}
{% if last_resized %}
{% for l in range(lanes) %}
  let j{{ l }} = table_buf[p.table_o + p.base{{ last }} + c[{{ place[last] }}]{{ ' * 4u + ' ~ l ~ 'u' if lanes == 4 }}];
  var v{{ l }} = {{ value }};
  {{ 'if (inside && j' ~ l ~ ' != 0xffffffffu) ' if outside }}{ v{{ l }} = load_x(source + j{{ l }} * p.step{{ last }}); }
{% endfor %}
{% if lanes == 4 %}
  store4_y(at_y(c), vec4<x_t>(v0, v1, v2, v3));
{% else %}
  store_y(at_y(c), v0);
{% endif %}
{% elif lanes == 4 %}
  var v = vec4<x_t>({{ value }});
  {{ 'if (inside) ' if outside }}{ v = {{ 'load4_x(source)' if x_wide else 'vec4<x_t>(load_x(source), load_x(source + p.x_next), load_x(source + 2u * p.x_next), load_x(source + 3u * p.x_next))' }}; }
  store4_y(at_y(c), v);
{% else %}
  var v = {{ value }};
  {{ 'if (inside) ' if outside }}{ v = load_x(source); }
  store_y(at_y(c), v);
{% endif %}
}
