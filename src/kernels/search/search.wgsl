{# y = how many elements of a sorted list come before each value, by ordered keys (common/ordered_key.wgsl); `right`:
   also those that equal it. A thread halves what is left of the list until one element is, with the same comparisons
   as the CPU's. `adds`: to what y holds.
   options:
     threads: number
     right: flag
     adds: flag
     long_result: flag
#}
fn comes_before(i: u32, value: ordered_key_t) -> bool {
  let key = ordered_key(load_sorted(i * p.step));
{% if key_bits == 64 %}
  return {{ "!less_u64(value, key)" if right else "less_u64(key, value)" }};
{% else %}
  return key {{ "<=" if right else "<" }} value;
{% endif %}
}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  if (index >= p.count) { return; }
  let c = coords(index);
  let value = ordered_key(load_values(at_values(c)));
  var found = 0u;
  var left = p.length;
  while (left > 1u) {
    let half = left / 2u;
    found += select(0u, half, comes_before(found + half - 1u, value));
    left -= half;
  }
  found += select(0u, 1u, comes_before(found, value));
  let at = at_y(c);
{% if long_result %}
  store_y(at, {{ "add_64(load_y(at), vec2<u32>(found, 0u))" if adds else "vec2<u32>(found, 0u)" }});
{% else %}
  store_y(at, {{ "load_y(at) + y_t(found)" if adds else "y_t(found)" }});
{% endif %}
}
