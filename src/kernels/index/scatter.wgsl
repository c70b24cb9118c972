{# y at the indices, combined with updates, {{ width }} neighbours along the last axis a thread; `each`: four, with an index
   of their own. In `words` elements are
   changed by compare-exchange on the word that they lie in, which other threads may change too. #}
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

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n) * {{ workgroup }}u + lane;
  if (group >= p.groups) { return; }
  let row = group / p.row_groups;
  let c = coords(row);
  let g = (group - row * p.row_groups) * {{ 4 if each else width }}u;
  let tuple = at_indices(c) + g * p.indices_inner;
  var to = at_y(c) + g * p.y_inner;
  let source = at_updates(c) + g * p.updates_inner;
{% if each %}
  let index = load4_indices(tuple);
  let v = load4_updates(source);
{% for k in range(4) %}
  if (index_inside(index[{{ k }}], p.size0)) {
    {{ "update" if words else "store_y" }}(to + {{ k }}u * p.y_inner + index_clamped(index[{{ k }}], p.size0) * p.stride0, v[{{ k }}]);
  }
{% endfor %}
{% else %}
{% for k in range(components) %}
  let index{{ k }} = load_indices(tuple + {{ k }}u * p.component_stride);
  if (!index_inside(index{{ k }}, p.size{{ k }})) { return; }
{% if windowed %}
  let place{{ k }} = index_clamped(index{{ k }}, p.size{{ k }}) - p.first{{ k }};
  if (place{{ k }} >= p.count{{ k }}) { return; }
  to += place{{ k }} * p.stride{{ k }};
{% else %}
  to += index_clamped(index{{ k }}, p.size{{ k }}) * p.stride{{ k }};
{% endif %}
{% endfor %}
{% if width == 4 %}
  store4_y(to, load4_updates(source));
{% elif words %}
  update(to, load_updates(source));
{% else %}
  store_y(to, load_updates(source));
{% endif %}
{% endif %}
}
