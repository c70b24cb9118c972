{# Which tile a workgroup turns, shared by the transposes: tiles follow one another along a, or along b (b_first). #}
{% macro tile_place() -%}
  let group = group_index(wg, n);
  if (group >= p.groups) { return; }
{% if b_first %}
  let tile_of_a = group / p.tiles_b % p.tiles_a;
  let tile_of_b = group % p.tiles_b;
{% else %}
  let tile_of_a = group % p.tiles_a;
  let tile_of_b = group / p.tiles_a % p.tiles_b;
{% endif %}
  let c = coords(group / p.tiles_a / p.tiles_b);
{%- endmacro %}
{# Where a thread's elements start, of_a along a and of_b along b, with `tile` threads along a. #}
{% macro place_in_tile(of_a, of_b) -%}
  let a = (tile_of_a * {{ tile }}u + lane % {{ tile }}u) * {{ of_a }}u;
  let b = (tile_of_b * {{ workgroup // tile }}u + lane / {{ tile }}u) * {{ of_b }}u;
  if (a >= p.size_a || b >= p.size_b) { return; }
{%- endmacro %}
