{#
  options:
    index_kind: i32, u32, i64, u64
#}
// Indices from data: negative ones count from the end.
fn index_inside(index: indices_t, size: u32) -> bool {
{% if index_kind == "u32" %}
  return index < size;
{% elif index_kind == "u64" %}
  return index.y == 0u && index.x < size;
{% elif index_kind == "i32" %}
  return select(0u - u32(index) <= size, u32(index) < size, index >= 0);
{% else %}
  let back = neg_64(index);
  return select(back.y == 0u && back.x <= size, index.y == 0u && index.x < size, (index.y >> 31u) == 0u);
{% endif %}
}

// The index of a part's beginning, clamped: negative ones do not count from the end.
fn start_clamped(index: indices_t, size: u32) -> u32 {
{% if index_kind == "i32" %}
  return select(min(u32(index), size - 1u), 0u, index < 0);
{% elif index_kind == "i64" %}
  return select(index_clamped(index, size), 0u, (index.y >> 31u) != 0u);
{% else %}
  return index_clamped(index, size);
{% endif %}
}

// The index clamped to the axis.
fn index_clamped(index: indices_t, size: u32) -> u32 {
{% if index_kind == "u32" or index_kind == "u64" %}
  return select(size - 1u, {{ "index" if index_kind == "u32" else "index.x" }}, index_inside(index, size));
{% elif index_kind == "i32" %}
  if (index >= 0) { return min(u32(index), size - 1u); }
  return select(0u, size + u32(index), index_inside(index, size));
{% else %}
  if ((index.y >> 31u) == 0u) { return select(size - 1u, index.x, index_inside(index, size)); }
  return select(0u, size + index.x, index_inside(index, size));
{% endif %}
}
