{#
  Which column each eigenvalue is of, in ascending order: order [matrix, place] of values [matrix, column], a thread each.
  Where flags [matrix, pair], the last sweep's, say that the iteration did not converge, the matrix' scale becomes 0, as
  that of one with NaN is.

  options:
    threads: number
#}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / p.n;
  if (matrix >= p.count) { return; }
  let i = index % p.n;
  if (i == 0u) {
    var far = false;
    for (var k = 0u; k < p.pairs; k++) { far = far || load_flags(matrix * p.pairs + k) == 3; }
    if (far) { store_scales(3u * matrix, 0.0); }
  }
  let own = load_values(matrix * p.size + i);
  var rank = 0u;
  for (var j = 0u; j < p.n; j++) {
    let other = load_values(matrix * p.size + j);
    rank += select(0u, 1u, other < own || (other == own && j < i));
  }
  store_order(matrix * p.n + min(rank, p.n - 1u), i32(i));
}
