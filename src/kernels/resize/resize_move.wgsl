{#
  y = elements of x that tables choose along their axes. Threads follow each other as y's elements do in memory; each
  moves `lanes` adjacent ones, for which the last table has a row each if `last_resized`, and which are adjacent in x,
  too, if not. place: the coordinate of each table. A row of a table is an index, or ~0 for p.value.

  inputs: x, or with `prologue` the operands of fn expression, which makes x of them; input_modes: how the lanes load each
  (prologue.wgsl). operands: the modes of e0, e1, …, which `epilogue` takes behind the element. moved: what an element
  computes in; pairs: it has 64 bits.

  options:
    tables: number
    place: list of number
    lanes: 1, 4
    last_resized: flag
    outside: flag
    threads: number
    inputs: list of text
    input_modes: list of one, four, each, same
    operands: list of one, four, each, same
    prologue: flag
    epilogue: text
    moved: f32, i32, u32, vec2<u32>, vec2<f32>
    pairs: flag
#}
{{ epilogue }}
{% set outer = tables - 1 if last_resized else tables %}
{% set last = tables - 1 %}
{% set value = 'bitcast<' ~ moved ~ '>(' ~ ('vec2<u32>(p.value_low, p.value_high)' if pairs else 'p.value_low') ~ ')' %}
{# x where the outer tables say; `past`: along the last one, or empty. #}
{% macro element(past) -%}
{{ 'expression(' if prologue }}{% for input in inputs %}{{ ', ' if loop.index0 }}{{ lanes_of(input, input_modes[loop.index0], input ~ '_at' ~ (' + ' ~ past ~ ' * p.' ~ input ~ '_step' ~ last if past else '')) }}{% endfor %}{{ ')' if prologue }}
{%- endmacro %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
{% for input in inputs %}
  var {{ input }}_at = at_{{ input }}(c);
{% endfor %}
{% if outside %}
  var inside = true;
{% endif %}
{% for a in range(outer) %}
  let i{{ a }} = table_buf[p.table_o + p.base{{ a }} + c[{{ place[a] }}]];
{% if outside %}
  inside = inside && i{{ a }} != 0xffffffffu;
{% endif %}
{% for input in inputs %}
  {{ input }}_at += i{{ a }} * p.{{ input }}_step{{ a }};
{% endfor %}
{% endfor %}
{% if last_resized %}
{% for l in range(lanes) %}
  let j{{ l }} = table_buf[p.table_o + p.base{{ last }} + c[{{ place[last] }}]{{ ' * 4u + ' ~ l ~ 'u' if lanes == 4 }}];
  var v{{ l }} = {{ value }};
  {{ 'if (inside && j' ~ l ~ ' != 0xffffffffu) ' if outside }}{ v{{ l }} = {{ element('j' ~ l) }}; }
{% endfor %}
{% if lanes == 4 %}
  let v = vec4<{{ moved }}>(v0, v1, v2, v3);
{% else %}
  let v = v0;
{% endif %}
{% else %}
  var v = {{ 'vec4<' ~ moved ~ '>(' ~ value ~ ')' if lanes == 4 else value }};
  {{ 'if (inside) ' if outside }}{ v = {{ element('') }}; }
{% endif %}
{% for mode in operands %}
  let e{{ loop.index0 }}_at = at_e{{ loop.index0 }}(c);
  let e{{ loop.index0 }} = {{ lanes_of('e' ~ loop.index0, mode, 'e' ~ loop.index0 ~ '_at') }};
{% endfor %}
  store{{ '4' if lanes == 4 }}_y(at_y(c), {{ 'epilogue(' if epilogue }}v{% for mode in operands %}, e{{ loop.index0 }}{% endfor %}{{ ')' if epilogue }});
}
