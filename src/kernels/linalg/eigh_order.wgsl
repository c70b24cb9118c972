{# Which column each eigenvalue is of, in ascending order: order [matrix, place] of w [matrix, column], a thread each. #}
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / p.n;
  if (matrix >= p.count) { return; }
  let i = index % p.n;
  let own = load_values(matrix * p.size + i);
  var rank = 0u;
  for (var j = 0u; j < p.n; j++) {
    let other = load_values(matrix * p.size + j);
    rank += select(0u, 1u, other < own || (other == own && j < i));
  }
  store_order(matrix * p.n + min(rank, p.n - 1u), i32(i));
}
