{#
  The eigenvalues w [matrix, k] of h, whose blocks of 2 by 2, if it is real, have the diagonal (a, a) and the eigenvalues
  a ± i sqrt(-b c), that of the positive imaginary part first. vectors: a unitary matrix makes the blocks triangular; t is
  the triangle, and q [matrix, column, row] are the vectors of which t's are made. A thread for each element.

  options:
    vectors: flag
    threads: number
#}
{% if not complex %}
// The first one of k's block, or k, and the length of the block.
fn block_of(base: u32, k: u32) -> vec2<u32> {
  if (k > 0u && load_h(base + k * p.n + k - 1u) != 0.0) { return vec2<u32>(k - 1u, 2u); }
  if (k + 1u < p.n && load_h(base + (k + 1u) * p.n + k) != 0.0) { return vec2<u32>(k, 2u); }
  return vec2<u32>(k, 1u);
}
// The imaginary part, and cosine and sine of the unitary matrix (cosine, i sine; i sine, cosine).
fn part_of(base: u32, block: vec2<u32>) -> vec3<f32> {
  if (block.y == 1u) { return vec3<f32>(0.0, 1.0, 0.0); }
  let b = load_h(base + block.x * p.n + block.x + 1u);
  let c = load_h(base + (block.x + 1u) * p.n + block.x);
  let part = sqrt(abs(b)) * sqrt(abs(c));
  let longer = max(abs(b), part);
  let x = vec2<f32>(b / longer, part / longer);
  let unit = x / sqrt(dot(x, x));
  return vec3<f32>(part, unit * (1.5 - 0.5 * dot(unit, unit)));
}
{% endif %}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / {{ "(p.n * p.n)" if vectors and not complex else "p.n" }};
  if (matrix >= p.count) { return; }
  let base = matrix * p.n * p.n;
  let i = index % p.n;
{% if complex %}
  store_w(matrix * p.n + i, load_h(base + i * p.n + i));
{% else %}
  let of_i = block_of(base, i);
  let turn_i = part_of(base, of_i);
  let value_i = vec2<f32>(load_h(base + i * p.n + i), select(turn_i.x, -turn_i.x, i > of_i.x));
{% if vectors %}
  let j = index / p.n % p.n;  // a column
  let of_j = block_of(base, j);
  let turn_j = part_of(base, of_j);
  var x = vec2<f32>();
  if (j == i) { store_w(matrix * p.n + i, value_i); }
  // Row i of the block's matrix on the left has the cosine at i, and -i sine at the other; so its columns on the right.
  let other_i = 2u * of_i.x + 1u - i;
  let other_j = 2u * of_j.x + 1u - j;
  if (j >= i) {
    x = value_i;
    if (j > i) {
      x = vec2<f32>(turn_i.y * turn_j.y * load_h(base + i * p.n + j), 0.0);
      if (of_i.y == 2u) { x.y -= turn_i.z * turn_j.y * load_h(base + other_i * p.n + j); }
      if (of_j.y == 2u) { x.y += turn_i.y * turn_j.z * load_h(base + i * p.n + other_j); }
      if (of_i.y == 2u && of_j.y == 2u) { x.x += turn_i.z * turn_j.z * load_h(base + other_i * p.n + other_j); }
    }
  }
  store_t(base + i * p.n + j, x);
  // Element i of the vector j.
  var y = vec2<f32>(turn_j.y * load_z(base + j * p.n + i), 0.0);
  if (of_j.y == 2u) { y.y = turn_j.z * load_z(base + other_j * p.n + i); }
  store_q(base + j * p.n + i, y);
{% else %}
  store_w(matrix * p.n + i, value_i);
{% endif %}
{% endif %}
}
