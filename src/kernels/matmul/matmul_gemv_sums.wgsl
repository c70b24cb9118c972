{# The sums of a workgroup whose threads share k, r<i>_<j> of tile_m × tile_n elements, added in workgroup memory and
   stored. tile_m · tile_n divides the number of threads. #}
{% set values = tile_m * tile_n %}
{% set parts = threads // values %}
{% set pitch = threads + 1 %}
{# Padded to one column more than there are threads: writing a column and reading a row then both use all banks. #}
var<workgroup> partial: array<{{ product }}, {{ values * pitch }}>;
{% if parts > 1 %}
var<workgroup> sums: array<{{ product }}, {{ threads }}>;
{% endif %}

{% macro store_sums() -%}
{% for i in range(tile_m) %}
{% for j in range(tile_n) %}
  partial[{{ (i * tile_n + j) * pitch }}u + lid] = r{{ i }}_{{ j }};
{% endfor %}
{% endfor %}
  workgroupBarrier();
  let value = lid % {{ values }}u;
  let first = value * {{ pitch }}u + lid / {{ values }}u * {{ values }}u;
  var sum = partial[first];
  for (var i = 1u; i < {{ values }}u; i++) { sum += partial[first + i]; }
{% if parts > 1 %}
  sums[lid] = sum;
  workgroupBarrier();
  if (lid >= {{ values }}u) { return; }
  for (var i = 1u; i < {{ parts }}u; i++) { sum += sums[lid + i * {{ values }}u]; }
{% endif %}
  store_element(outputs(c, 0u), m0 + value / {{ tile_n }}u, n0 + value % {{ tile_n }}u, sum);
{%- endmacro %}
