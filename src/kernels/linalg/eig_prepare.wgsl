{#
  h is a, scaled to about 1 and balanced, by a workgroup for each matrix: rows and columns are exchanged such that h is
  triangular but for rows and columns first to last - 1, and these are scaled by powers of two until their norms are about
  equal. z, if `vectors`, is the identity. Of a matrix with NaN or an infinity h is 0.

  factors [matrix, p.n + 1]: by what rows of vectors are multiplied, and behind that eigenvalues. state [matrix, p.n + 6]:
  which row of a each row of h is, and behind that last, first, the steps since an eigenvalue was found, all steps, 1 where
  there are no eigenvalues, and last again, which stays. Sources: Parlett and Reinsch, "Balancing a matrix for calculation
  of eigenvalues and eigenvectors", 1969; James, Langou and Lowery, "On matrix balancing and eigenvector computation", 2014.

  options:
    vectors: flag
#}
var<workgroup> largest: atomic<u32>;
var<workgroup> sums: array<vec2<f32>, {{ threads }}>;
var<workgroup> shared_sum: vec2<f32>;
const kLeast = 67u;  // exponents of factors, 2^-60 and 2^60
const kMost = 187u;

// The sum, or the largest one, of all threads'.
fn of_all(lid: u32, own: vec2<f32>, largest_one: bool) -> vec2<f32> {
  sums[lid] = own;
  workgroupBarrier();
  for (var step = {{ threads // 2 }}u; step > 0u; step /= 2u) {
    if (lid < step) {
      let other = sums[lid + step];
      sums[lid] = select(sums[lid] + other, max(sums[lid], other), largest_one);
    }
    workgroupBarrier();
  }
  if (lid == 0u) { shared_sum = sums[0]; }
  return workgroupUniformLoad(&shared_sum);
}
fn exchange(lid: u32, base: u32, places: u32, i: u32, j: u32) {
  storageBarrier();
  for (var k = lid; k < p.n; k += {{ threads }}u) {
    let x = load_h(base + i * p.n + k);
    store_h(base + i * p.n + k, load_h(base + j * p.n + k));
    store_h(base + j * p.n + k, x);
  }
  storageBarrier();
  for (var k = lid; k < p.n; k += {{ threads }}u) {
    let x = load_h(base + k * p.n + i);
    store_h(base + k * p.n + i, load_h(base + k * p.n + j));
    store_h(base + k * p.n + j, x);
  }
  if (lid == 0u) {
    let x = load_state(places + i);
    store_state(places + i, load_state(places + j));
    store_state(places + j, x);
  }
  storageBarrier();
}
// One past the last row (or the last column) between first and last that has nothing beside its diagonal; 0: none has.
fn alone(lid: u32, base: u32, first: u32, last: u32, rows: bool) -> u32 {
  if (lid == 0u) { atomicStore(&largest, 0u); }
  storageBarrier();
  workgroupBarrier();
  for (var i = first + lid; i < last; i += {{ threads }}u) {
    var nothing = true;
    for (var j = first; j < last; j++) {
      if (j != i && magnitude_bits(load_h(base + select(j * p.n + i, i * p.n + j, rows))) != 0u) {
        nothing = false;
        break;
      }
    }
    if (nothing) { atomicMax(&largest, i + 1u); }
  }
  workgroupBarrier();
  return common_word(lid, atomicLoad(&largest));
}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  if (common_word(lid, select(0u, 1u, matrix < p.count)) == 0u) { return; }
  let a0 = at_a(coords(matrix));
  let base = matrix * p.n * p.n;
  let places = matrix * (p.n + 6u);
  let factors = matrix * (p.n + 1u);
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    let x = load_a(a0 + e / p.n * p.a_row + e % p.n * p.a_column);
    atomicMax(&largest, magnitude_bits(x));
    store_h(base + e, x);
{% if vectors %}
    store_z(base + e, of_real(select(0.0, 1.0, e / p.n == e % p.n)));
{% endif %}
  }
  workgroupBarrier();
  let most = common_word(lid, atomicLoad(&largest));
  let finite = most < kInfinity;
  for (var e = lid; e < p.n * p.n; e += {{ threads }}u) {
    var x = load_h(base + e) * scale_of(most);
    if (!finite) { x = value(); }
    store_h(base + e, x);
  }
  for (var i = lid; i < p.n; i += {{ threads }}u) {
    store_state(places + i, i32(i));
    store_factors(factors + i, 1.0);
  }
  var first = 0u;
  var last = p.n;
  for (var turn = 0u; turn < p.n && last - first > 1u; turn++) {
    let row = alone(lid, base, first, last, true);
    if (row == 0u) { break; }
    last--;
    exchange(lid, base, places, row - 1u, last);
  }
  for (var turn = 0u; turn < p.n && last - first > 1u; turn++) {
    let column = alone(lid, base, first, last, false);
    if (column == 0u) { break; }
    exchange(lid, base, places, column - 1u, first);
    first++;
  }
  for (var sweep = 0u; sweep < p.sweeps; sweep++) {
    var changed = false;
    for (var i = first; i < last; i++) {
      storageBarrier();
      var own = vec2<f32>();
      for (var j = first + lid; j < last; j += {{ threads }}u) {
        own = max(own, vec2<f32>(size_of(load_h(base + j * p.n + i)), size_of(load_h(base + i * p.n + j))));
      }
      let most_of = of_all(lid, own, true);
      if (most_of.x == 0.0 || most_of.y == 0.0) { continue; }
      // Norms, of which no square is lost.
      let by = vec2<f32>(scale_of(bitcast<u32>(most_of.x)), scale_of(bitcast<u32>(most_of.y)));
      own = vec2<f32>();
      for (var j = first + lid; j < last; j += {{ threads }}u) {
        own += vec2<f32>(square_of(load_h(base + j * p.n + i) * by.x), square_of(load_h(base + i * p.n + j) * by.y));
      }
      let back = vec2<f32>(scale_back(bitcast<u32>(most_of.x)), scale_back(bitcast<u32>(most_of.y)));
      let sum = sqrt(of_all(lid, own, false)) * back;
      let half = (i32(bitcast<u32>(sum.y) >> 23u) - i32(bitcast<u32>(sum.x) >> 23u)) / 2;
      let before = common_word(lid, bitcast<u32>(load_factors(factors + i)) >> 23u);
      let after = u32(clamp(i32(before) + half, i32(kLeast), i32(kMost)));
      let up = bitcast<f32>((127u + after - before) << 23u);
      let down = bitcast<f32>((127u + before - after) << 23u);
      if (after == before || sum.x * up + sum.y * down >= 0.95 * (sum.x + sum.y)) { continue; }
      changed = true;
      for (var j = lid; j < p.n; j += {{ threads }}u) {
        if (j != i) {
          store_h(base + j * p.n + i, load_h(base + j * p.n + i) * up);
          store_h(base + i * p.n + j, load_h(base + i * p.n + j) * down);
        }
      }
      if (lid == 0u) { store_factors(factors + i, bitcast<f32>(after << 23u)); }
    }
    if (!changed) { break; }
  }
  if (lid == 0u) {
    store_factors(factors + p.n, scale_back(most));
    store_state(places + p.n, i32(last));
    store_state(places + p.n + 1u, i32(first));
    store_state(places + p.n + 2u, 1);
    store_state(places + p.n + 3u, 0);
    store_state(places + p.n + 4u, select(1, 0, finite));
    store_state(places + p.n + 5u, i32(last));
  }
}
