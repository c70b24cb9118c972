{#
  Combines y at the indices with updates, for elements that no atomic operation can hold. Tuples of indices are
  numbered from 1. `links` holds, for each place of y that a tuple can refer to, the last tuple linked to it (0: none),
  followed by, for each tuple, the one linked before it. Stage `link` builds these chains; in stage `fold` the thread
  of a chain's last tuple, one for each `width` elements of the row, folds the chain. `sorts`: instead, stage `link`
  gives the number of each tuple's place (head_count: none), and `fold` finds these sorted, with the tuples in their
  order: the threads of a place's first tuple take them one after the other.

  options:
    components: 1, 2, 3, number
    windowed: flag
    link: flag
    sorts: flag
    op: assign, add, mul, min, max
    formula: text
    workgroup: number
    width: 1, 4
#}
{% set load = "load4" if width == 4 else "load" %}
{% set combined = "vec4<y_t>(combine(sum.x, v.x), combine(sum.y, v.y), combine(sum.z, v.z), combine(sum.w, v.w))" if width == 4 else "combine(sum, v)" %}
fn place_of(t: u32) -> vec2<u32> {   // x: the number of t's place; y: 1 if it is inside
  let c = coords(t * p.row);
  let tuple = at_indices(c);
  var at = at_heads(c);
{% for k in range(components) %}
  let index{{ k }} = load_indices(tuple + {{ k }}u * p.component_stride);
  if (!index_inside(index{{ k }}, p.size{{ k }})) { return vec2<u32>(0u); }
  let place{{ k }} = index_clamped(index{{ k }}, p.size{{ k }}){{ " - p.first" ~ k if windowed else "" }};
{% if windowed %}
  if (place{{ k }} >= p.count{{ k }}) { return vec2<u32>(0u); }
{% endif %}
  at += place{{ k }} * p.heads{{ k }};
{% endfor %}
  return vec2<u32>(at, 1u);
}
{% if not link %}
fn target_of(c: Coords, t: u32) -> u32 {
  let tuple = at_indices(c);
  var to = at_y(c);
{% for k in range(components) %}
  to += (index_clamped(load_indices(tuple + {{ k }}u * p.component_stride), p.size{{ k }}){{ " - p.first" ~ k if windowed else "" }}) * p.stride{{ k }};
{% endfor %}
  return to;
}
fn combine(a: y_t, b: y_t) -> y_t {
  return {{ formula }};
}
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = group_index(wg, n) * {{ workgroup }}u + lane;
  if (i >= p.threads) { return; }
{% if link %}
  let at = place_of(i);
{% if sorts %}
  links_buf[p.links_o + i] = select(p.head_count, at.x, at.y != 0u);
{% else %}
  if (at.y == 0u) { return; }
  atomicStore(&links_buf[p.links_o + p.head_count + i], atomicExchange(&links_buf[p.links_o + at.x], i + 1u));
{% endif %}
{% elif sorts %}
  let at = i / p.row_groups;
  let place = links_buf[p.links_o + at];
  if (place == p.head_count || (at > 0u && links_buf[p.links_o + at - 1u] == place)) { return; }
  let first = order_buf[p.order_o + at];
  let element = (i - at * p.row_groups) * {{ width }}u;
  let to = target_of(coords(first * p.row + element), first);
  var sum = {{ load }}_y(to);
  for (var u = at; u < p.tuples; u++) {
    if (links_buf[p.links_o + u] != place) { break; }
    let v = {{ load }}_updates(at_updates(coords(order_buf[p.order_o + u] * p.row + element)));
    sum = {{ combined }};
  }
  {{ "store4" if width == 4 else "store" }}_y(to, sum);
{% else %}
  let t = i / p.row_groups;
  let at = place_of(t);
  if (at.y == 0u || links_buf[p.links_o + at.x] != t + 1u) { return; }
  let element = (i - t * p.row_groups) * {{ width }}u;
  let to = target_of(coords(t * p.row + element), t);
{% if op == "assign" %}
  var newest = t;
  for (var u = t + 1u; u != 0u; u = links_buf[p.links_o + p.head_count + u - 1u]) { newest = max(newest, u - 1u); }
  store_y(to, load_updates(at_updates(coords(newest * p.row + element))));
{% else %}
  var sum = {{ load }}_y(to);
  for (var u = t + 1u; u != 0u; u = links_buf[p.links_o + p.head_count + u - 1u]) {
    let v = {{ load }}_updates(at_updates(coords((u - 1u) * p.row + element)));
    sum = {{ combined }};
  }
  {{ "store4" if width == 4 else "store" }}_y(to, sum);
{% endif %}
{% endif %}
}
