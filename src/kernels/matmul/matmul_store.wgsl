{#
  Stores a product's elements, for all matmul kernels: through the epilogue's expression(v, e0, e1, …) to y.
  product: the type of the sums, f32 or i32.
  operands: the access to each one: "row": four elements at once; "column": one element for a row; "any".
  inside: set if no tile extends past m or n.
#}
{% set modes = operands.split(',') if operands else [] %}
struct Out {
  y: u32,
{% for mode in modes %}
  e{{ loop.index0 }}: u32,
{% endfor %}
}
fn outputs(c: Coords, slice: u32) -> Out {
  var out: Out;
  out.y = at_y(c){{ ' + slice * p.slice_stride' if splits else '' }};
{% for mode in modes %}
  out.e{{ loop.index0 }} = at_e{{ loop.index0 }}(c);
{% endfor %}
  return out;
}

{% if y_width == 4 %}
fn store_result(out: Out, row: u32, col: u32, v: vec4<{{ product }}>) {
{% if not inside %}
  if (row >= p.m || col >= p.n) { return; }
{% endif %}
{% for mode in modes %}
{% set e = 'e' ~ loop.index0 %}
{% set at = 'out.' ~ e ~ ' + row * p.' ~ e ~ '_m' %}
{% if mode == 'row' %}
  let {{ e }} = load4_{{ e }}({{ at }} + col);
{% elif mode == 'column' %}
  let {{ e }} = vec4<{{ e }}_t>(load_{{ e }}({{ at }}));
{% else %}
  let {{ e }}_at = {{ at }} + col * p.{{ e }}_n;
  let {{ e }} = vec4<{{ e }}_t>(load_{{ e }}({{ e }}_at), load_{{ e }}({{ e }}_at + p.{{ e }}_n), load_{{ e }}({{ e }}_at + 2u * p.{{ e }}_n), load_{{ e }}({{ e }}_at + 3u * p.{{ e }}_n));
{% endif %}
{% endfor %}
  store4_y(out.y + row * p.y_m + col, {{ 'expression(v' if fused else 'vec4<y_t>(v' }}{% for mode in modes %}, e{{ loop.index0 }}{% endfor %}));
}
{% else %}
fn store_element(out: Out, row: u32, col: u32, v: {{ product }}) {
{% if not inside %}
  if (row >= p.m || col >= p.n) { return; }
{% endif %}
{% for mode in modes %}
{% set e = 'e' ~ loop.index0 %}
  let {{ e }} = load_{{ e }}(out.{{ e }} + row * p.{{ e }}_m + col * p.{{ e }}_n);
{% endfor %}
  store_y(out.y + row * p.y_m + col * p.y_n, {{ 'expression(v' if fused else 'y_t(v' }}{% for mode in modes %}, e{{ loop.index0 }}{% endfor %}));
}
fn store_result(out: Out, row: u32, col: u32, v: vec4<{{ product }}>) {
  for (var i = 0u; i < 4u; i++) { store_element(out, row, col + i, v[i]); }
}
{% endif %}

