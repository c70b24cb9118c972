// What the attention kernels share. A workgroup serves one batch and one head of keys and values; its rows are the
// queries of all heads that share those: row r is query r % queries of head group·kv_head + r / queries.

{% macro loader(x, vectorised, dim) %}
// Elements d…d+3 of the vector of {{ x }} that starts at i, zero past its end.
fn {{ x }}_at(i: u32, d: u32) -> vec4<f32> {
{% if vectorised %}
  return load4_{{ x }}(i + d);
{% else %}
  var e = vec4<f32>();
{% for j in range(4) %}
  if (d + {{ j }}u < {{ dim }}u) { e[{{ j }}] = load_{{ x }}(i + (d + {{ j }}u) * p.{{ x }}_d); }
{% endfor %}
  return e;
{% endif %}
}
{% endmacro %}
{{ loader("q", vec_q, dim) }}
{{ loader("k", vec_k, dim) }}
{{ loader("v", vec_v, value_dim) }}
// Where the vector of a row starts, given the strides of batch, head and query.
fn row_start(batch: u32, kv_head: u32, row: u32, of_batch: u32, of_head: u32, of_query: u32) -> u32 {
  return batch * of_batch + (kv_head * p.group + row / p.queries) * of_head + (row % p.queries) * of_query;
}

// How many keys a row sees: the first so many.
fn visible_keys(row: u32) -> u32 {
{% if causal %}
  return u32(clamp(i32(row % p.queries) + 1 + i32(p.keys) - i32(p.queries), 0, i32(p.keys)));
{% else %}
  return p.keys;
{% endif %}
}

// How many keys the rows first…last see at most.
fn visible_to_any(first: u32, last: u32) -> u32 {
{% if causal %}
  return visible_keys(select(last, p.queries - 1u, first / p.queries != last / p.queries));
{% else %}
  return p.keys;
{% endif %}
}

{% if mask != "none" %}
// What the mask adds to a score; p.hidden is -inf, which WGSL has no literal for.
fn bias(i: u32) -> f32 {
{% if mask_is_boolean %}
  return select(p.hidden, 0.0, load_mask(i) != 0u);
{% else %}
  return load_mask(i);
{% endif %}
}
{% endif %}

// Below every finite score, and finite itself: -inf minus this is -inf and no NaN, so that the weight of a hidden key
// is exp(-inf) = 0 even while a row has seen no other.
const lowest = -0x1.fffffep+127f;
