{#
  The results for large matrices, of columns x [matrix, column, row] that are orthogonal and norms [matrix, column]; a
  workgroup for each column. vectors: `sorted` [matrix, place, row] gets the first p.n rows of the columns by descending
  norm, `right` [n, n] the conjugates of the rows below. go: not 0 where the iteration did not converge.

  options:
    vectors: flag
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let matrix = group / p.n;
  let j = group % p.n;
  if (matrix >= p.count) { return; }
  let c = coords(matrix);
  let first = matrix * p.columns;
  var bits = 0u;
  for (var k = 0u; k < p.columns; k++) { bits = max(bits, load_bits(first + k)); }
  let finite = bits < kInfinity;
  let own = load_norms(first + j);
  var place = 0u;
  for (var k = 0u; k < p.n; k++) {
    let other = load_norms(first + k);
    if (other > own || (other == own && k < j)) { place++; }
  }
  if (!finite) { place = j; }
  if (lid == 0u) {
    store_s(at_s(c) + place * p.s_step, select(p.nan, own * scale_back(bits), finite));
    if (j == 0u) { store_info(at_info(c), select(0, 1, !finite || load_go(matrix) != 0)); }
  }
{% if vectors %}
  let column = (first + j) * p.rows;
  let right = at_right(c) + place * p.right_column;
  for (var i = lid; i < p.n; i += {{ threads }}u) {
    var above = load_x(column + i);
    var below = load_x(column + p.n + i);
    if (!finite) {
      above = {{ "vec2<f32>(p.nan)" if complex else "p.nan" }};
      below = above;
    }
    store_sorted((matrix * p.n + place) * p.n + i, above);
    store_right(right + i * p.right_row, conjugate(below));
  }
{% endif %}
}
