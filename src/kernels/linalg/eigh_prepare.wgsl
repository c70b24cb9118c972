{#
  The whole Hermitian matrix h [matrix, row, column] of which a holds the lower triangle, scaled, with zeros in the rows
  and columns from p.n on that fill it up to p.size. vectors: v is the identity. Of a matrix with NaN or an infinity h
  is 0.

  options:
    conjugates: flag
    vectors: flag
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / (p.size * p.size);
  if (matrix >= p.count) { return; }
  let i = index / p.size % p.size;
  let j = index % p.size;
  var x = value();
  let scale = load_scales(3u * matrix);
  if (max(i, j) < p.n && scale != 0.0) {
    x = load_a(at_a(coords(matrix)) + max(i, j) * p.a_row + min(i, j) * p.a_column) * scale;
    if (i == j) { x = of_real(real_part(x)); }
    if ({{ "j <= i" if conjugates else "j > i" }}) { x = conjugate(x); }
  }
  store_h(index, x);
{% if vectors %}
  store_v(index, of_real(select(0.0, 1.0, i == j)));
{% endif %}
}
