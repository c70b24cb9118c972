{#
  Combines y at the indices with updates. A group is `width` adjacent elements along the last axis; `each`: four
  elements, each with its own index. A thread takes `unroll` groups, a workgroup's size apart, so that adjacent threads
  store to adjacent elements where the indices are adjacent. `words`: elements are changed by compare-exchange on the
  words that contain them, which other threads may change too.

  options:
    words: flag
    op: assign, add, mul, min, max
    floats: flag
    formula: text
    per_word: 0, 1, 2, 4, 8, 16
    mask: number
#}
{% if words %}
fn combine(a: y_t, b: y_t) -> y_t {
  return {{ formula }};
}
fn update(i: u32, v: y_t) {
  let k = p.y_o + i;
{% if per_word == 1 and op == "assign" %}
  atomicStore(&y_buf[k], narrow_y(v));
{% elif per_word == 1 and op == "add" and not floats %}
  atomicAdd(&y_buf[k], narrow_y(v));
{% else %}
  let s = k % {{ per_word }}u * {{ 32 // per_word }}u;
  let mask = {{ mask }}u << s;
  var old = atomicLoad(&y_buf[k / {{ per_word }}u]);
  loop {
    let next = (old & ~mask) | (narrow_y(combine(widen_y(old >> s), v)) << s);
    if (next == old) { break; }
    let r = atomicCompareExchangeWeak(&y_buf[k / {{ per_word }}u], old, next);
    if (r.exchanged) { break; }
    old = r.old_value;
  }
{% endif %}
}
{% endif %}

{% set clamped = "start_clamped" if starts else "index_clamped" %}
@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let first = group_index(wg, n) * {{ workgroup * unroll }}u + lane;
{% for u in range(unroll) %}
{{ group_of(u) }}
  let v{{ u }} = {{ "load4_updates" if width == 4 or each else "load_updates" }}(at_updates(c{{ u }}) + g{{ u }} * p.updates_inner);
{% endfor %}
{% for u in range(unroll) %}
  var to{{ u }} = at_y(c{{ u }}) + g{{ u }} * p.y_inner;
{% if each %}
{% for k in range(4) %}
  if (live{{ u }} && index_inside(index{{ u }}[{{ k }}], p.size0)) {
    {{ "update" if words else "store_y" }}(to{{ u }} + {{ k }}u * p.y_inner + index_clamped(index{{ u }}[{{ k }}], p.size0) * p.stride0, v{{ u }}[{{ k }}]);
  }
{% endfor %}
{% else %}
  var there{{ u }} = live{{ u }};
{% for k in range(components) %}
{% set index = "index" ~ u ~ "_" ~ k %}
{% if not starts %}
  there{{ u }} = there{{ u }} && index_inside({{ index }}, p.size{{ k }});
{% endif %}
{% if windowed %}
  let place{{ u }}_{{ k }} = {{ clamped }}({{ index }}, p.size{{ k }}) - p.first{{ k }};
  there{{ u }} = there{{ u }} && place{{ u }}_{{ k }} < p.count{{ k }};
  to{{ u }} += place{{ u }}_{{ k }} * p.stride{{ k }};
{% else %}
  to{{ u }} += {{ clamped }}({{ index }}, p.size{{ k }}) * p.stride{{ k }};
{% endif %}
{% endfor %}
  if (there{{ u }}) { {{ "store4_y" if width == 4 else "update" if words else "store_y" }}(to{{ u }}, v{{ u }}); }
{% endif %}
{% endfor %}
}
