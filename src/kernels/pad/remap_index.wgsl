{#
  options:
    mode: constant, keep, edge, wrap, reflect, symmetric, repeat
    rank: 1…8
    mapped: list of yes, ''
    modulus: list of once, mask, divide, ''
    lanes: 1, 4, 8, 16
    workgroup: number
#}
// The index of x for an index of y on each axis, shared by remap.wgsl and remap_words.wgsl.
{% macro modulo(d) -%}
{% if modulus[d] == "once" %}select(s, s - p.period{{ d }}, s >= p.period{{ d }}){% elif modulus[d] == "mask" %}s & (p.period{{ d }} - 1u){% else %}s % p.period{{ d }}{% endif %}
{%- endmacro %}
{% macro inside(d, u) -%}
{% if mapped[d] and (mode == "constant" or mode == "keep") %}({{ u }} < p.m{{ d }}){% else %}true{% endif %}
{%- endmacro %}
{% for d in range(rank) %}
fn index{{ d }}(c: u32) -> u32 {
{% if not mapped[d] %}
  return c;
{% elif mode == "constant" or mode == "keep" %}
  return c + p.shift{{ d }};
{% elif mode == "edge" %}
  return u32(clamp(bitcast<i32>(c + p.shift{{ d }}), 0, bitcast<i32>(p.m{{ d }}) - 1));
{% elif mode == "repeat" %}
  return (c + p.shift{{ d }}) / p.period{{ d }};
{% else %}
  let s = c + p.shift{{ d }};
  let u = {{ modulo(d) }};
  return {{ {"wrap": "u", "reflect": "min(u, p.period" ~ d ~ " - u)", "symmetric": "min(u, p.period" ~ d ~ " - 1u - u)"}[mode] }};
{% endif %}
}
{% endfor %}

{# The start, relative to `first`, of the row of x from which y's row of `c` is read, and whether it is inside of x. #}
{% macro row_of(first) %}
struct Row { at: u32, inside: bool }
fn row_of(c: Coords) -> Row {
  var row = Row({{ first }}, true);
{% for d in range(rank - 1) %}
  let i{{ d }} = index{{ d }}(c[{{ d }}]);
  row.at += i{{ d }} * p.x_s{{ d }};
  row.inside = row.inside && {{ inside(d, "i" ~ d) }};
{% endfor %}
  return row;
}
{% endmacro %}

{# The `lanes` elements of y of a thread: first…end-1 of those from `start` on, beginning in y's row of c. #}
{% macro thread_place() -%}
  let group = group_index(wg, n) * {{ workgroup }}u + lane;
  if (group >= p.groups) { return; }
  let first = select(0u, p.misalignment, group == 0u);
  let start = group * {{ lanes }}u - p.misalignment;     // negative in the first group
  let end = min({{ lanes }}u, p.count - start);
  let c = coords(start + first);
  let row = row_of(c);
{%- endmacro %}
