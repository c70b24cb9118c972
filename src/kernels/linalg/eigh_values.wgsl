{#
  The eigenvalues, which are the Rayleigh quotients of v's columns: w [matrix, column] is the sum of conj(v) · x over the
  p.size rows of v and x = a v. A workgroup takes 16 columns of a matrix.

  options:
    threads: number
#}
var<workgroup> sums: array<f32, {{ threads }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let tiles = p.size / 16u;
  let matrix = min(group / tiles, p.count - 1u);
  let column = group % tiles * 16u + lid % 16u;
  var sum = 0.0;
  for (var i = lid / 16u; i < p.size; i += {{ threads // 16 }}u) {
    let at = (matrix * p.size + i) * p.size + column;
    let a = load_v(at);
    let b = load_x(at);
    sum += {{ "dot(a, b)" if complex else "a * b" }};
  }
  sums[lid] = sum;
  workgroupBarrier();
  for (var step = {{ threads // 2 }}u; step >= 16u; step /= 2u) {
    if (lid < step) { sums[lid] += sums[lid + step]; }
    workgroupBarrier();
  }
  if (lid < 16u && group / tiles < p.count) { store_w(matrix * p.size + column, sums[lid]); }
}
