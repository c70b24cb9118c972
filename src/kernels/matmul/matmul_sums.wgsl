{# A workgroup's tile of its batch, without an order of its own. #}
{% macro begin_tile() -%}
  let group = group_index(wg, groups);
  if (group >= p.groups) { return; }
  let tile = group % (p.tiles_m * p.tiles_n);
  let c = coords(group / (p.tiles_m * p.tiles_n));
{%- endmacro %}
{# The vectors of a and b that a thread multiplies, of `rows` rows and of `columns` columns that are `distance` apart, and
   its sums. Rows and columns past the edges repeat the last ones. #}
{% macro sums_of(rows, columns, distance) -%}
  let a0 = at_a(c);
  let b0 = at_b(c);
{% for i in range(rows) %}
  let a_at{{ i }} = a0 + min(m0 + {{ i }}u, p.m - 1u) * p.a_w;
{% endfor %}
{% for j in range(columns) %}
  let b_at{{ j }} = b0 + min(n0 + {{ j * distance }}u, p.n - 1u) * p.b_w;
{% endfor %}
{% for i in range(rows) %}
{% for j in range(columns) %}
  var r{{ i }}_{{ j }} = {{ product }}(0);
{% endfor %}
{% endfor %}
{%- endmacro %}
