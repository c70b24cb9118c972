{#
  The tile of y that a workgroup computes. Consecutive workgroups cover `rows_per_band` tile rows before they move to
  the next tile column, so that their operands stay in the cache.

  options:
    rows_per_band: number
    tile_m: number
    tile_n: number
    a_along_k: flag
    b_along_k: flag
    ranged: flag
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
{# How a workgroup's tiles of a and of b lie in memory, and how they are loaded (weft::kernels::LoadForm). #}
{% set side = {'a': {'along_k': a_along_k, 'width': a_width, 'tile': tile_m, 'origin': 'at.m0', 'extent': 'p.m'},
               'b': {'along_k': b_along_k, 'width': b_width, 'tile': tile_n, 'origin': 'at.n0', 'extent': 'p.n'}} %}
{# The last row or column from which a load may start. #}
{% macro last_start(x) %}{{ side[x].extent ~ ' - 1u' if side[x].along_k or side[x].width == 1 else '(' ~ side[x].extent ~ ' - 1u) / ' ~ side[x].width ~ 'u * ' ~ side[x].width ~ 'u' }}{% endmacro %}
{# The workgroup's place, and its part of k: first … k_end - 1. #}
{% macro begin(first) -%}
  let group = group_index(wg, groups);
  if (group >= p.groups) { return; }
  let at = place(group);
  let c = coords(at.batch);
{% if ranged %}
  if (lid == 0u) { range_read = vec4<u32>(range_of(c), 0u, 0u); }
  let range = workgroupUniformLoad(&range_read);
  let {{ first }} = range.x;
  let k_end = range.y;
{% elif splits %}
  let {{ first }} = min(at.slice * p.slice_k, p.k);
  let k_end = min({{ first }} + p.slice_k, p.k);
{% else %}
  let {{ first }} = 0u;
  let k_end = p.k;
{% endif %}
{%- endmacro %}
