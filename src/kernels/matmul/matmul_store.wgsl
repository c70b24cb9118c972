{#
  Stores a product's elements, for all matmul kernels: through the epilogue's expression(v, e0, e1, …) to y.
  product: the type of the sums, f32 or i32.
  operands: the access to each one: "row": four elements at once; "column": one element for a row; "any".
  inside: set if no tile extends past m or n.
  padded: the operand, if one is, whose rows are windows that reach into padding (conv/conv_windows.wgsl). Padding takes
  no part in a sum, but a product with its zeros is NaN if the other factor is infinite or NaN: so sums that are NaN are
  computed again without it. window: the same, if the kernel reads windows from what they lie on.

  options:
    operands: text
    y_width: 1, 4
    fused: flag
    padded: a, b, ''
    splits: flag
    product: f32, i32
#}
{% set modes = operands.split(',') if operands else [] %}
struct Out {
  y: u32,
{% for mode in modes %}
  e{{ loop.index0 }}: u32,
{% endfor %}
{% if padded %}
  c: Coords,
  slice: u32,
{% endif %}
}
fn outputs(c: Coords, slice: u32) -> Out {
  var out: Out;
  out.y = at_y(c){{ ' + slice * p.slice_stride' if splits else '' }};
{% for mode in modes %}
  out.e{{ loop.index0 }} = at_e{{ loop.index0 }}(c);
{% endfor %}
{% if padded %}
  out.c = c;
  out.slice = slice;
{% endif %}
  return out;
}

{% if padded %}
{% set widths = {'a': a_width, 'b': b_width} %}
{% for x in ['a', 'b'] %}
{% if widths[x] == 8 %}
fn element_{{ x }}(i: u32) -> f32 {
  let k = p.{{ x }}_o * 8u + i;
  return unpack2x16float({{ x }}_buf[k / 8u][k % 8u / 2u] >> (k % 2u * 16u)).x;
}
{% else %}
fn element_{{ x }}(i: u32) -> f32 { return load_{{ x }}(i); }
{% endif %}
{% endfor %}
// A sum of products without those of padding.
fn sum_inside(out: Out, row: u32, col: u32) -> f32 {
  let place = place_of(out.c, {{ 'row' if padded == 'a' else 'col' }});
{% for x in ['a', 'b'] %}
{% if x != window %}
  let {{ x }}_at = at_{{ x }}(out.c) + {{ 'row' if x == 'a' else 'col' }} * p.{{ x }}_w;
{% endif %}
{% endfor %}
  var sum = 0.0;
{% if splits %}
  let end = min((out.slice + 1u) * p.slice_k, p.k);
  for (var k = out.slice * p.slice_k; k < end; k++) {
{% else %}
  for (var k = 0u; k < p.k; k++) {
{% endif %}
    let tap = tap_of(k);
    if (!is_inside(place, tap)) { continue; }
{% for x in ['a', 'b'] %}
    let {{ x }} = element_{{ x }}({{ 'place.at + tap.at' if x == window else x ~ '_at + k * p.' ~ x ~ '_k' }});
{% endfor %}
    sum = fma(a, b, sum);
  }
  return sum;
}
{% endif %}

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
fn store_element(out: Out, row: u32, col: u32, {{ 'given' if padded and not sites else 'v' }}: {{ product }}) {
{% if not inside %}
  if (row >= p.m || col >= p.n) { return; }
{% endif %}
{% if padded and not sites %}
  var v = given;
  if (is_nan_f32(v)) { v = sum_inside(out, row, col); }
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
{# Stores result number `site` of a thread's `sites`; those that are NaN wait for store_spoiled(), whose text is long. #}
{% macro put(site, row, col, v) -%}
{{ 'put_result(' ~ site ~ ', out' if padded else 'store_result(out' }}, {{ row }}, {{ col }}, {{ v }});
{%- endmacro %}
{% if padded and sites %}
var<private> spoiled: array<u32, {{ (sites + 31) // 32 }}>;
fn put_result(site: u32, out: Out, row: u32, col: u32, v: vec4<f32>) {
  if (any_nan_f32(v)) {
    spoiled[site / 32u] |= 1u << (site % 32u);
  } else {
    store_result(out, row, col, v);
  }
}
{% endif %}
{% macro store_spoiled(row, col) %}
{% if padded %}
  for (var word = 0u; word < {{ (sites + 31) // 32 }}u; word++) {
    for (var left = spoiled[word]; left != 0u; left &= left - 1u) {
      let site = word * 32u + firstTrailingBit(left);
      let row = {{ row }};
      let col = {{ col }};
      if (row >= p.m || col >= p.n) { continue; }
      var v: vec4<f32>;
      for (var i = 0u; i < min(4u, p.n - col); i++) { v[i] = sum_inside(out, row, col + i); }
      store_result(out, row, col, v);
    }
  }
{% endif %}
{% endmacro %}

