{#
  The rotations that make the columns of a pair of blocks more orthogonal: p.inner sweeps of two-sided Jacobi iteration
  on their Gram matrix, which the parts of gram [matrix, pair, part, i, j] add up to; a workgroup for each pair. q
  [matrix, pair, j, i]: its unitary matrix, by columns in the order of descending norms. active[matrix, pair]: whether
  there is anything to do; status[matrix, round, pair]: whether it was so much that another sweep is needed. A column is
  orthogonal to another one if their product is at most p.tolerance times their norms.

  options:
    block: number
    threads: number
#}
const kWidth = {{ 2 * block }}u;
const kThreads = {{ threads }}u;
var<workgroup> g: array<value, {{ 4 * block * block }}>;
var<workgroup> q: array<value, {{ 4 * block * block }}>;  // by columns
// Of each pair its rotation, whether the second column is the longer one then, and the squares of their norms.
var<workgroup> rotations: array<Rotation, {{ block }}>;
var<workgroup> swaps: array<u32, {{ block }}>;
var<workgroup> squares: array<vec2<f32>, {{ block }}>;
var<workgroup> order: array<u32, {{ 2 * block }}>;
var<workgroup> largest: atomic<u32>;
var<workgroup> on: u32;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let group = group_index(wg, groups);
  let live = group < p.count * p.pairs;
  let index = min(group, p.count * p.pairs - 1u);
  let matrix = index / p.pairs;
  let pair = index % p.pairs;
  if (lid == 0u) {
    on = select(0u, u32(load_go(matrix)), live);
    if (on == 0u && live) { store_active(index, 0); }
  }
  if (workgroupUniformLoad(&on) == 0u) { return; }
  let blocks = tournament(pair, p.round, 2u * p.pairs);
  for (var e = lid; e < kWidth * kWidth; e += kThreads) {
    var sum = value();
    for (var part = 0u; part < p.parts; part++) {
      sum += load_gram((index * p.parts + part) * kWidth * kWidth + e);
    }
    g[e] = sum;
    q[e] = {{ "vec2<f32>(select(0.0, 1.0, e % kWidth == e / kWidth), 0.0)" if complex else "select(0.0, 1.0, e % kWidth == e / kWidth)" }};
  }
  workgroupBarrier();
  // The largest cosine.
  for (var e = lid; e < kWidth * kWidth; e += kThreads) {
    let i = e / kWidth;
    let j = e % kWidth;
    let a = real_part(g[i * kWidth + i]);
    let b = real_part(g[j * kWidth + j]);
    if (i < j && min(a, b) >= kNothing) {
      atomicMax(&largest, bitcast<u32>(magnitude(g[e]) / (sqrt(a) * sqrt(b))) & 0x7fffffffu);
    }
  }
  workgroupBarrier();
  if (lid == 0u) {
    let cosine = bitcast<f32>(min(atomicLoad(&largest), kInfinity - 1u));
    on = select(0u, 1u, cosine > p.tolerance);
    store_active(index, i32(on));
    store_status((matrix * (2u * p.pairs - 1u) + p.round) * p.pairs + pair, select(0, 1, cosine > 4.0 * p.tolerance));
  }
  if (workgroupUniformLoad(&on) == 0u) { return; }
  // Columns that only fill a block stay behind all others.
  for (var j = lid; j < {{ block }}u; j += kThreads) {
    let k = j + {{ block }}u;
    if (blocks.x * {{ block }}u + j >= p.n) { g[j * kWidth + j] = {{ "vec2<f32>(-1.0, 0.0)" if complex else "-1.0" }}; }
    if (blocks.y * {{ block }}u + j >= p.n) { g[k * kWidth + k] = {{ "vec2<f32>(-1.0, 0.0)" if complex else "-1.0" }}; }
  }
  workgroupBarrier();
  for (var sweep = 0u; sweep < p.inner; sweep++) {
    for (var step = 0u; step < kWidth - 1u; step++) {
      for (var t = lid; t < {{ block }}u; t += kThreads) {
        let ij = tournament(t, step, kWidth);
        let a = real_part(g[ij.x * kWidth + ij.x]);
        let b = real_part(g[ij.y * kWidth + ij.y]);
        let c = g[ij.x * kWidth + ij.y];
        var r = Rotation();
        var after = vec2<f32>(a, b);
        if (min(a, b) >= kNothing && magnitude(c) > 0.5 * p.tolerance * sqrt(a) * sqrt(b)) {
          r = rotation(a, b, c);
          let change = magnitude(r.z) / (1.0 - r.d) * magnitude(c) * select(1.0, -1.0, b < a);
          after = vec2<f32>(max(a - change, 0.0), max(b + change, 0.0));
        }
        rotations[t] = r;
        swaps[t] = select(0u, 1u, a < b);
        squares[t] = select(after, after.yx, a < b);
      }
      workgroupBarrier();
      for (var e = lid; e < {{ block * block }}u; e += kThreads) {
        let left = e / {{ block }}u;
        let right = e % {{ block }}u;
        let rows = tournament(left, step, kWidth);
        let columns = tournament(right, step, kWidth);
        if (left == right) {
          let after = squares[left];
          g[rows.x * kWidth + rows.x] = {{ "vec2<f32>(after.x, 0.0)" if complex else "after.x" }};
          g[rows.y * kWidth + rows.y] = {{ "vec2<f32>(after.y, 0.0)" if complex else "after.y" }};
          g[rows.x * kWidth + rows.y] = value();
          g[rows.y * kWidth + rows.x] = value();
          continue;
        }
        let l = Rotation(conjugate(rotations[left].z), rotations[left].d);
        let r = rotations[right];
        let g00 = g[rows.x * kWidth + columns.x];
        let g01 = g[rows.x * kWidth + columns.y];
        let g10 = g[rows.y * kWidth + columns.x];
        let g11 = g[rows.y * kWidth + columns.y];
        let h00 = first_of(r, g00, g01);
        let h01 = second_of(r, g00, g01);
        let h10 = first_of(r, g10, g11);
        let h11 = second_of(r, g10, g11);
        let to_rows = select(rows, rows.yx, swaps[left] != 0u) * kWidth;
        let to_columns = select(columns, columns.yx, swaps[right] != 0u);
        g[to_rows.x + to_columns.x] = first_of(l, h00, h10);
        g[to_rows.x + to_columns.y] = first_of(l, h01, h11);
        g[to_rows.y + to_columns.x] = second_of(l, h00, h10);
        g[to_rows.y + to_columns.y] = second_of(l, h01, h11);
      }
      for (var e = lid; e < {{ 2 * block * block }}u; e += kThreads) {
        let t = e / kWidth;
        let i = e % kWidth;
        let columns = tournament(t, step, kWidth);
        let r = rotations[t];
        let u = q[columns.x * kWidth + i];
        let v = q[columns.y * kWidth + i];
        let to_columns = select(columns, columns.yx, swaps[t] != 0u) * kWidth;
        q[to_columns.x + i] = first_of(r, u, v);
        q[to_columns.y + i] = second_of(r, u, v);
      }
      workgroupBarrier();
    }
  }
  for (var j = lid; j < kWidth; j += kThreads) {
    let own = real_part(g[j * kWidth + j]);
    var place = 0u;
    for (var k = 0u; k < kWidth; k++) {
      let other = real_part(g[k * kWidth + k]);
      if (other > own || (other == own && k < j)) { place++; }
    }
    order[min(place, kWidth - 1u)] = j;
  }
  workgroupBarrier();
  for (var e = lid; e < kWidth * kWidth; e += kThreads) {
    store_q(index * kWidth * kWidth + e, q[order[e / kWidth] * kWidth + e % kWidth]);
  }
}
