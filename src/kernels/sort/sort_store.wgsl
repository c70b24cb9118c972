{#
  Stores element `j` of a row's result, which is element `place` of x.

  options:
    has_values: flag
    has_indices: flag
    long_indices: flag
#}
fn store_result(c: Coords, j: u32, place: u32) {
{% if has_values %}
  store_values(at_values(c) + j * p.values_step, load_x(at_x(c) + place * p.x_step));
{% endif %}
{% if has_indices %}
  store_indices(at_indices(c) + j * p.indices_step, {{ "vec2<u32>(p.first_place + place, 0u)" if long_indices else "indices_t(p.first_place + place)" }});
{% endif %}
}
