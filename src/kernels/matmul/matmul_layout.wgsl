{#
  The tile of y that a workgroup computes. Consecutive workgroups cover `rows_per_band` tile rows before they move to
  the next tile column, so that their operands stay in the cache.
#}
struct Place {
  slice: u32,  // of a split k
  batch: u32,
  m0: u32,
  n0: u32,
}
fn place(group: u32) -> Place {
  let per_batch = p.tiles_m * p.tiles_n;
  let tile = group % per_batch;
  let band = tile / ({{ rows_per_band }}u * p.tiles_n);
  let band_rows = min({{ rows_per_band }}u, p.tiles_m - band * {{ rows_per_band }}u);
  let in_band = tile % ({{ rows_per_band }}u * p.tiles_n);
  var at: Place;
{% if splits %}
  at.slice = group / (per_batch * p.batches);
  at.batch = (group / per_batch) % p.batches;
{% else %}
  at.batch = group / per_batch;
{% endif %}
  at.m0 = (band * {{ rows_per_band }}u + in_band % band_rows) * {{ tile_m }}u;
  at.n0 = in_band / band_rows * {{ tile_n }}u;
  return at;
}
{# The part of k of the workgroup at `at`: first … k_end - 1. #}
{% macro range_of_k(first) -%}
{% if splits %}
  let {{ first }} = min(at.slice * p.slice_k, p.k);
  let k_end = min({{ first }} + p.slice_k, p.k);
{% else %}
  let {{ first }} = 0u;
  let k_end = p.k;
{% endif %}
{%- endmacro %}
