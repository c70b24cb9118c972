{#
  outputs = expression(inputs). A group is {{ width }} adjacent elements along the last axis, computed four at a time
  (`fours`); elementwise.cc explains the operands' modes. A thread takes `unroll` groups, a workgroup's size apart, and
  loads all of them before it computes. `exact`: all groups are whole; `full`: no group is past the end. `fast_path`: a
  thread's elements are tested together for a function's slow path; `sums`: and for NaN; `store_how`: the rounding of
  stores of elements that need neither (accessors.cc). `row_misalignment`: each row of the output begins at its own
  offset between multiples of four elements; "words": words that two rows share are merged. `one_row`: a workgroup's
  groups are all in one row, so that what does not change along it is computed and loaded once.

  options:
    inputs: list of vec, each, splat, ramp, constant
    virtual_types: list of f32, i32, u32, vec2<u32>, ''
    outputs: list of vec, each
    rows: flag
    one_row: flag
    width: 1, 4, 8, 16
    fours: 1, 2, 4
    exact: flag
    row_misalignment: words, fours, ''
    full: flag
    fast_path: flag
    store_how: exact, no_ties, no_nan, ''
    sums: flag
    unroll: 1, 2, 3, 4
    workgroup: number
#}
{% set partial = width == 4 and not exact %}
{# The position of group u of the thread. Groups past the end repeat the first one and are not stored. #}
{% macro place(u) %}
{% if u == 0 and (one_row or full) %}
  let block = group_index(wg, n);
  if (block >= p.blocks) { return; }
{% endif %}
{% if one_row %}
{% if u == 0 %}
  let row0 = block / p.row_blocks;
{% endif %}
  let g{{ u }} = (block - row0 * p.row_blocks) * {{ workgroup * unroll }}u + lane + {{ u * workgroup }}u;
{% elif u == 0 %}
  let group0 = {{ "block" if full else "group_index(wg, n)" }} * {{ workgroup * unroll }}u + lane;
{% if not full %}
  if (group0 >= p.groups) { return; }
{% endif %}
{% if rows %}
  let row0 = group0 / p.row_groups;
  let g0 = group0 - row0 * p.row_groups;
{% else %}
  let g0 = group0;
{% endif %}
{% else %}
{% if not full %}
  let live{{ u }} = group0 + {{ u * workgroup }}u < p.groups;
{% endif %}
{% if rows %}
  let next{{ u }} = g{{ u - 1 }} + p.stride_groups;
  let wraps{{ u }} = next{{ u }} >= p.row_groups;
{% if full %}
  let g{{ u }} = select(next{{ u }}, next{{ u }} - p.row_groups, wraps{{ u }});
  let row{{ u }} = row{{ u - 1 }} + p.stride_rows + select(0u, 1u, wraps{{ u }});
{% else %}
  let g{{ u }} = select(g0, select(next{{ u }}, next{{ u }} - p.row_groups, wraps{{ u }}), live{{ u }});
  let row{{ u }} = select(row0, row{{ u - 1 }} + p.stride_rows + select(0u, 1u, wraps{{ u }}), live{{ u }});
{% endif %}
{% elif full %}
  let g{{ u }} = group0 + {{ u * workgroup }}u;
{% else %}
  let g{{ u }} = select(g0, group0 + {{ u * workgroup }}u, live{{ u }});
{% endif %}
{% endif %}
{% if u == 0 or not one_row %}
  let c{{ u }} = coords({{ "row" ~ u if rows else "0u" }});
{% else %}
  let c{{ u }} = c0;
{% endif %}
{{ lanes(u) }}
{% endmacro %}
{# The elements of its row that the group contains. #}
{% macro lanes(u) %}
{% if partial %}
  // Lanes first…last-1 are in the row; lane 0 is element i of the row, which may be negative.
{% if row_misalignment %}
  let misalignment{{ u }} = (p.misalignment + at_y0(c{{ u }})) % 4u;
  // The last group of a row may be past its end: it repeats the first one, without lanes.
  let over{{ u }} = g{{ u }} * 4u >= p.length + misalignment{{ u }};
  let i{{ u }} = select(g{{ u }} * 4u, 0u, over{{ u }}) - misalignment{{ u }};
  let first{{ u }} = select(0u, misalignment{{ u }}, g{{ u }} == 0u || over{{ u }});
  let last{{ u }} = select(min(4u, p.length - i{{ u }}), 0u, over{{ u }});
{% else %}
  let i{{ u }} = g{{ u }} * 4u - p.misalignment;
  let first{{ u }} = select(0u, p.misalignment, g{{ u }} == 0u);
  let last{{ u }} = min(4u, p.length - i{{ u }});
{% endif %}
  let whole{{ u }} = first{{ u }} == 0u && last{{ u }} == 4u;
{% elif width > 1 %}
  let i{{ u }} = g{{ u }} * {{ width }}u;
{% endif %}
{% if width == 4 and ("each" in inputs or "each" in outputs) %}
{% for l in range(4) %}
  let e{{ u }}_{{ l }} = i{{ u }} + {% if partial %}clamp({{ l }}u, first{{ u }}, {{ "max(last" ~ u ~ ", first" ~ u ~ " + 1u)" if row_misalignment else "last" ~ u }} - 1u){% else %}{{ l }}u{% endif %};
{% endfor %}
{% endif %}
{% endmacro %}
{% macro load(u) %}
{% for mode in inputs %}
{% set k = loop.index0 %}
{% set x = "x" ~ k %}
{% set type = virtual_types[k] %}
{% if fours > 1 and mode == "vec" %}
  let words{{ u }}_{{ k }} = words_{{ x }}(at_{{ x }}(c{{ u }}) + i{{ u }});
{% endif %}
{% for f in range(fours) %}
{% set v = "v" ~ u ~ "_" ~ f ~ "_" ~ k %}
{% if mode == "splat" and f > 0 %}
  let {{ v }} = v{{ u }}_0_{{ k }};
{% elif one_row and 0 < u and u < unroll and mode == "splat" %}
  let {{ v }} = v0_0_{{ k }};
{% elif width == 1 %}
{% if mode == "constant" %}
  let {{ v }} = {{ "vec2<u32>(p." ~ x ~ "_value, p." ~ x ~ "_high)" if type == "vec2<u32>" else "bitcast<" ~ type ~ ">(p." ~ x ~ "_value)" }};
{% elif mode == "ramp" %}
  let {{ v }} = bitcast<{{ type }}>(p.{{ x }}_value + at_{{ x }}(c{{ u }}) + g{{ u }} * p.{{ x }}_inner);
{% else %}
  let {{ v }} = load_{{ x }}(at_{{ x }}(c{{ u }}) + g{{ u }} * p.{{ x }}_inner);
{% endif %}
{% elif mode == "constant" %}
  let {{ v }} = vec4<{{ type }}>(bitcast<{{ type }}>(p.{{ x }}_value));
{% elif mode == "ramp" %}
  let {{ v }} = bitcast<vec4<{{ type }}>>(p.{{ x }}_value + at_{{ x }}(c{{ u }}) + (vec4<u32>(i{{ u }}) + vec4<u32>({{ 4 * f }}u, {{ 4 * f + 1 }}u, {{ 4 * f + 2 }}u, {{ 4 * f + 3 }}u)) * p.{{ x }}_inner);
{% elif mode == "vec" %}
  let {{ v }} = {{ "four" ~ f ~ "_" ~ x ~ "(words" ~ u ~ "_" ~ k ~ ")" if fours > 1 else "load4_" ~ x ~ "(at_" ~ x ~ "(c" ~ u ~ ") + i" ~ u ~ ")" }};
{% elif mode == "splat" %}
  let {{ v }} = vec4<{{ x }}_t>(load_{{ x }}(at_{{ x }}(c{{ u }})));
{% else %}
  let {{ v }}_at = at_{{ x }}(c{{ u }});
  let {{ v }} = vec4<{{ x }}_t>(
{%- for l in range(4) -%}
load_{{ x }}({{ v }}_at + e{{ u }}_{{ l }} * p.{{ x }}_inner){% if not loop.last %}, {% endif %}
{%- endfor -%}
);
{% endif %}
{% endfor %}
{% endfor %}
{% endmacro %}
{% macro store(u, how) %}
{% for mode in outputs %}
{% set y = "y" ~ loop.index0 %}
{% set member = "" if outputs | length == 1 else "." ~ y %}
{% set value = "r" ~ u ~ "_0" ~ member %}
{% if fours > 1 %}
  store_wide{{ how }}_{{ y }}(at_{{ y }}(c{{ u }}) + i{{ u }}{% for f in range(fours) %}, r{{ u }}_{{ f }}{{ member }}{% endfor %});
{% elif width == 1 %}
  store_{{ y }}(at_{{ y }}(c{{ u }}) + g{{ u }} * p.{{ y }}_inner, {{ value }});
{% elif mode == "vec" %}
{% if partial %}
  if (whole{{ u }}) { store4_{{ y }}(at_{{ y }}(c{{ u }}) + i{{ u }}, {{ value }}); }
{% if row_misalignment == "words" %}
  else {
    let lanes = vec4<u32>(0u, 1u, 2u, 3u);
    store4_edge_{{ y }}(at_{{ y }}(c{{ u }}) + i{{ u }}, {{ value }}, (lanes >= vec4<u32>(first{{ u }})) & (lanes < vec4<u32>(last{{ u }})));
  }
{% else %}
  else { store4_part_{{ y }}(at_{{ y }}(c{{ u }}) + i{{ u }}, {{ value }}, first{{ u }}, last{{ u }}); }
{% endif %}
{% else %}
  store4{{ how }}_{{ y }}(at_{{ y }}(c{{ u }}) + i{{ u }}, {{ value }});
{% endif %}
{% else %}
  for (var l = {{ "first" ~ u if partial else "0u" }}; l < {{ "last" ~ u if partial else "4u" }}; l++) { store_{{ y }}(at_{{ y }}(c{{ u }}) + (i{{ u }} + l) * p.{{ y }}_inner, {{ value }}[l]); }
{% endif %}
{% endfor %}
{% endmacro %}
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
{% for u in range(unroll) %}
{{ place(u) }}
{% endfor %}
{% for u in range(unroll) %}
{{ load(u) }}
{% endfor %}
{% macro compute(u) %}
{% for f in range(fours) %}
  let r{{ u }}_{{ f }} = expression({{ arguments(u, f) }});
{% endfor %}
{% endmacro %}
{% macro arguments(u, f) -%}
{% for mode in inputs %}{% if not loop.first %}, {% endif %}v{{ u }}_{{ f }}_{{ loop.index0 }}{% endfor %}
{%- endmacro %}
{% macro store_all(how) %}
{% for u in range(unroll) %}
{% if u > 0 and not full %}
  if (live{{ u }}) {
{{ store(u, how) }}
  }
{% else %}
{{ store(u, how) }}
{% endif %}
{% endfor %}
{% endmacro %}
{% if fast_path or sums %}
  var far = false;
{% if sums %}
  var sum = vec4<f32>();
{% endif %}
{% for u in range(unroll) %}
{% for f in range(fours) %}
{% if fast_path %}
  let r{{ u }}_{{ f }} = expression_fast({{ arguments(u, f) }}, &far);
{% else %}
  let r{{ u }}_{{ f }} = expression({{ arguments(u, f) }});
{% endif %}
{% if sums %}
  sum += r{{ u }}_{{ f }};
{% endif %}
{% endfor %}
{% endfor %}
{% if sums %}
  // A sum is NaN if an element is NaN, or for infinities of both signs.
  far = far | ((bitcast<u32>((sum.x + sum.y) + (sum.z + sum.w)) & 0x7fffffffu) > 0x7f800000u);
{% endif %}
  if (!far) {
{{ store_all("_" ~ store_how if store_how else "") }}
    return;
  }
  // The slow path: a loop that begins at an opaque zero and loads again, so that compilers neither unroll it nor hold
  // operands for it.
{% set u = unroll %}
  for (var again = p.opaque_start; again < {{ unroll }}u; again++) {
{% if one_row %}
    let g{{ u }} = g0 + again * {{ workgroup }}u;
    let c{{ u }} = c0;
{% else %}
    let group = group0 + again * {{ workgroup }}u;
{% if not full %}
    if (group >= p.groups) { break; }
{% endif %}
{% if rows %}
    let row = group / p.row_groups;
    let g{{ u }} = group - row * p.row_groups;
{% else %}
    let g{{ u }} = group;
{% endif %}
    let c{{ u }} = coords({{ "row" if rows else "0u" }});
{% endif %}
{{ lanes(u) }}
{{ load(u) }}
{{ compute(u) }}
{{ store(u, "") }}
  }
{% else %}
{% for u in range(unroll) %}
{{ compute(u) }}
{% endfor %}
{{ store_all("_" ~ store_how if store_how else "") }}
{% endif %}
}
