{#
  The part of k that a batch sums, x … y - 1.

  options:
    shared_range: flag
#}
fn range_of(c: Coords) -> vec2<u32> {
  let at = at_indices(c);
  let all = p.k_first + p.k + 1u;
  let begin = max(start_clamped(load_indices(at), all), p.k_first) - p.k_first;
  return vec2<u32>(begin, max(max(start_clamped(load_indices(at + p.range_step), all), p.k_first) - p.k_first, begin));
}
{% if shared_range %}
// Read by one thread for the workgroup, which loops over it together; 16 bytes, so that the next variable is aligned.
var<workgroup> range_read: vec4<u32>;
{% endif %}
