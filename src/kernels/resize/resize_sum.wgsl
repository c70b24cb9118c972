{#
  y = x resampled along the axes of `tables`: sums of elements of x with the products of their weights. Threads follow
  each other as y's elements do in memory; each computes `lanes` adjacent ones, of which the last table chooses the
  elements if `last_resized`, and which are adjacent in x, too, if not.

  counts: for each table how many elements a row has at most, if these are few: then loops have no branch, the loads of an
  element are on their way together, and what a row lacks has no part in the sum.

  skips: the tables some of whose weights are 0: their elements do not count, even if they are infinite.

  rows: how many elements below each other a thread computes, along coordinate row_place, whose size they divide.

  place: the coordinate of each table. A row of a table is the index of its first element, how many there are, and
  their weights; it is p.pitch words long, and the table begins at p.base. integer: sums are fixed-point numbers.

  inputs: x, or with `prologue` the operands of fn expression, which makes x of them; input_modes: how the lanes load each
  (prologue.wgsl). operands: the modes of e0, e1, …, which `epilogue` takes behind the result.

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
    rows: 1, 4
    row_place: number
    integer: flag
    unrolled: flag
    counts: list of number
    skips: list of yes, ''
#}
{{ epilogue }}
{% set value = 'i32' if integer else 'f32' %}
{% set wide = lanes == 4 and not last_resized %}
{% set sum_type = 'vec4<' ~ value ~ '>' if wide else value %}
{% set outer = tables - 1 if last_resized else tables %}
{% set last = tables - 1 %}
{% set each = lanes if last_resized else 1 %}
{% set known = 'ok' ~ (outer - 1) if unrolled and outer else '' %}
{# Whether a weight of table `a` counts; `ok`: what must be so besides, or empty. #}
{% macro counts_if(a, at, ok) -%}
{{ ok }}{{ (' & ' if ok else '') ~ '((table_buf[' ~ at ~ '] << 1u) != 0u)' if skips[a] }}
{%- endmacro %}
{# x where the outer tables say; `past`: so many elements along the last one, or empty. #}
{% macro element(past) -%}
{{ sum_type }}({{ 'expression(' if prologue }}{% for input in inputs %}{{ ', ' if loop.index0 }}{{ lanes_of(input, input_modes[loop.index0], input ~ '_' ~ outer ~ (' + (' ~ past ~ ') * p.' ~ input ~ '_step' ~ last if past else '')) }}{% endfor %}{{ ')' if prologue }})
{%- endmacro %}
{% macro weight(at) -%}
{{ 'bitcast<i32>' if integer else 'bitcast<f32>' }}(table_buf[{{ at }}])
{%- endmacro %}
{# Adds w · x to the sum where `ok`; everywhere if that is empty. #}
{% macro add(sum, w, x, ok) -%}
{%- set more = sum ~ ' + ' ~ w ~ ' * ' ~ x if integer else 'fma(' ~ (sum_type ~ '(' ~ w ~ ')' if wide else w) ~ ', ' ~ x ~ ', ' ~ sum ~ ')' -%}
{{ sum }} = {{ 'select(' ~ sum ~ ', ' ~ more ~ ', ' ~ ok ~ ')' if ok else more }};
{%- endmacro %}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let first = coords(index);
{% if last_resized %}
{% for l in range(lanes) %}
  let u{{ l }} = p.table_o + p.base{{ last }} + (first[{{ place[last] }}]{{ ' * 4u + ' ~ l ~ 'u' if lanes == 4 }}) * p.pitch{{ last }};
  let m{{ l }} = table_buf[u{{ l }} + 1u];
  let s{{ l }} = {{ 'select(0u, table_buf[u' ~ l ~ '], m' ~ l ~ ' > 0u)' if unrolled else 'table_buf[u' ~ l ~ ']' }};
{% endfor %}
{% endif %}
{% if rows > 1 %}
  // Neighbours below each other have the same rows of the last table.
  for (var row = 0u; row < {{ rows }}u; row++) {
  var c = first;
  c[{{ row_place }}] = first[{{ row_place }}] * {{ rows }}u + row;
{% else %}
  let c = first;
{% endif %}
{% for input in inputs %}
  let {{ input }}_0 = at_{{ input }}(c);
{% endfor %}
{% for a in range(outer) %}
  let t{{ a }} = p.table_o + p.base{{ a }} + c[{{ place[a] }}] * p.pitch{{ a }};
  let n{{ a }} = table_buf[t{{ a }} + 1u];
{% endfor %}
{% for l in range(each) %}
  var r{{ l }} = {{ sum_type }}();
{% endfor %}
{% for a in range(outer) %}
{% if unrolled %}
  let f{{ a }} = select(0u, table_buf[t{{ a }}], n{{ a }} > 0u);
  for (var k{{ a }} = 0u; k{{ a }} < {{ counts[a] }}u; k{{ a }}++) {
    let ok{{ a }} = {{ 'ok' ~ (a - 1) ~ ' & ' if a }}{{ counts_if(a, 't' ~ a ~ ' + 2u + k' ~ a, '(k' ~ a ~ ' < n' ~ a ~ ')') }};
    let i{{ a }} = f{{ a }} + min(k{{ a }}, max(n{{ a }}, 1u) - 1u);
{% else %}
  let f{{ a }} = table_buf[t{{ a }}];
  for (var k{{ a }} = 0u; k{{ a }} < n{{ a }}; k{{ a }}++) {
{% if skips[a] %}
    if (!{{ counts_if(a, 't' ~ a ~ ' + 2u + k' ~ a, '') }}) { continue; }
{% endif %}
    let i{{ a }} = f{{ a }} + k{{ a }};
{% endif %}
    let w{{ a }} = {{ ('w' ~ (a - 1) ~ ' * ') if a }}{{ weight('t' ~ a ~ ' + 2u + k' ~ a) }};
{% for input in inputs %}
    let {{ input }}_{{ a + 1 }} = {{ input }}_{{ a }} + i{{ a }} * p.{{ input }}_step{{ a }};
{% endfor %}
{% endfor %}
{% if last_resized %}
{% for l in range(lanes) %}
  {
    var part = {{ value }}();
{% if unrolled %}
    for (var k = 0u; k < {{ counts[last] }}u; k++) {
      let at = min(k, max(m{{ l }}, 1u) - 1u);
      {{ add('part', weight('u' ~ l ~ ' + 2u + k'), element('s' ~ l ~ ' + at'), counts_if(last, 'u' ~ l ~ ' + 2u + k', '(k < m' ~ l ~ ')')) }}
    }
{% else %}
    for (var k = 0u; k < m{{ l }}; k++) {
      {{ add('part', weight('u' ~ l ~ ' + 2u + k'), element('s' ~ l ~ ' + k'), counts_if(last, 'u' ~ l ~ ' + 2u + k', '')) }}
    }
{% endif %}
{% if outer %}
    {{ add('r' ~ l, 'w' ~ (outer - 1), 'part', known) }}
{% else %}
    r{{ l }} = part;
{% endif %}
  }
{% endfor %}
{% else %}
    {{ add('r0', 'w' ~ last, element(''), known) }}
{% endif %}
{% for a in range(outer) %}
  }
{% endfor %}
{% set shifted = '(r$ + ' ~ sum_type ~ '(p.half)) >> ' ~ ('vec4<u32>(p.shift)' if wide else 'p.shift') if integer else 'r$' %}
{% for l in range(each) %}
  var v{{ l }} = {{ shifted.replace('$', l ~ '') }};
{% if outside %}
  if ({% for a in range(outer) %}{{ ' || ' if a }}n{{ a }} == 0u{% endfor %}{% if last_resized %}{{ ' || ' if outer }}m{{ l }} == 0u{% endif %}) { v{{ l }} = {{ sum_type }}(p.value); }
{% endif %}
{% if integer %}
  v{{ l }} = clamp(v{{ l }}, {{ sum_type }}(p.low), {{ sum_type }}(p.high));
{% endif %}
{% endfor %}
{% for mode in operands %}
  let e{{ loop.index0 }}_at = at_e{{ loop.index0 }}(c);
  let e{{ loop.index0 }} = {{ lanes_of('e' ~ loop.index0, mode, 'e' ~ loop.index0 ~ '_at') }};
{% endfor %}
  let r = {{ 'v0' if wide or lanes == 1 else 'vec4<' ~ value ~ '>(v0, v1, v2, v3)' }};
  store{{ '4' if lanes == 4 }}_y(at_y(c), {{ 'epilogue(' if epilogue else ('vec4<y_t>(' if lanes == 4 else 'y_t(') }}r{% for mode in operands %}, e{{ loop.index0 }}{% endfor %}));
{% if rows > 1 %}
  }
{% endif %}
}
