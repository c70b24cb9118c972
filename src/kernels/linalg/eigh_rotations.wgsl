{#
  Jacobi's iteration on a Hermitian matrix s in workgroup memory, of `size` rows, an even number: disjoint pairs of rows and
  columns are rotated at once, each so that the element where they meet becomes 0. v, if `vectors`: the product of the
  rotations, whose columns become eigenvectors.

  A rotation is given by the tangent of half of its angle, from which the sine is computed such that both columns stay
  orthonormal whatever the tangent's own error; what it adds to a column is small where the angle is, and so is its
  rounding. Sources: Rutishauser, "The Jacobi method for real symmetric matrices", 1966; Brent and Luk, "The solution of
  singular-value and symmetric eigenvalue problems on multiprocessor arrays", 1985.

  options:
    vectors: flag
    size: number
    pitch: number
    threads: number
#}
const kPitch = {{ pitch }}u;
var<workgroup> s: array<value, {{ size * pitch }}>;
{% if vectors %}
var<workgroup> v: array<value, {{ size * pitch }}>;
{% endif %}
var<workgroup> pairs: array<vec2<u32>, {{ size // 2 }}>;
var<workgroup> turns: array<vec4<f32>, {{ size // 2 }}>;  // sine, tangent of half the angle, phase
// What was rotated in a sweep. 0: nothing; 1: elements that were almost negligible, after which no other sweep is needed;
// 2: larger ones; 3: some that are far from negligible.
var<workgroup> rotated: atomic<u32>;
var<workgroup> state: u32;  // the same, for all threads

// Decides pair k's rotation, and does what it does where the two rows meet. Rows from n on are zeros, which stay.
fn choose_turn(k: u32, pair: vec2<u32>, n: u32, threshold: f32) {
  var turn = vec4<f32>(0.0, 0.0, 1.0, 0.0);
  if (pair.y < n) {
    let x = s[pair.x * kPitch + pair.y];
    let size = {{ "sqrt(dot(x, x))" if complex else "abs(x)" }};
    if (size > threshold) {
      let a = real_part(s[pair.x * kPitch + pair.x]);
      let b = real_part(s[pair.y * kPitch + pair.y]);
      let slope = (b - a) / (2.0 * size);
      let tangent = select(1.0, -1.0, slope < 0.0) / (abs(slope) + sqrt(1.0 + slope * slope));
      let half = tangent / (1.0 + sqrt(1.0 + tangent * tangent));
{% if complex %}
      let unit = x / size;
      let phase = unit * (1.5 - 0.5 * dot(unit, unit));  // of magnitude 1 to the last digit
{% else %}
      let phase = vec2<f32>(sign(x), 0.0);
{% endif %}
      turn = vec4<f32>(2.0 * half / (1.0 + half * half), half, phase);
      s[pair.x * kPitch + pair.x] = of_real(a - tangent * size);
      s[pair.y * kPitch + pair.y] = of_real(b + tangent * size);
      s[pair.x * kPitch + pair.y] = value();
      s[pair.y * kPitch + pair.x] = value();
      atomicMax(&rotated, 1u + select(0u, 1u, size > 4.0 * threshold) + select(0u, 1u, size > 64.0 * threshold));
    }
  }
  pairs[k] = pair;
  turns[k] = turn;
}
fn phase_of(turn: vec4<f32>) -> value { return turn.z{{ "w" if complex }}; }
// Elements x and y of a row, in a pair's columns; of a column, in its rows, the phase is its conjugate.
fn turned(x: value, y: value, turn: vec4<f32>, phase: value) -> array<value, 2> {
  return array<value, 2>(x - turn.x * (product(conjugate(phase), y) + turn.y * x),
                         y + turn.x * (product(phase, x) - turn.y * y));
}
// Applies the rotations of `count` pairs to s, elsewhere than where the rows of a pair meet, and to n rows of v.
fn apply_turns(lid: u32, count: u32, n: u32) {
  // Of two pairs of rows each meets the other once: k and the one `step` further.
  for (var e = lid; e < count * (count / 2u); e += {{ threads }}u) {
    let k = e % count;
    let step = 1u + e / count;
    if (2u * step == count && k >= step) { continue; }
    let l = (k + step) % count;
    let left = turns[k];
    let right = turns[l];
    let rows = pairs[k];
    let columns = pairs[l];
    if (left.x == 0.0 && right.x == 0.0) { continue; }
    let upper = turned(s[rows.x * kPitch + columns.x], s[rows.x * kPitch + columns.y], right, phase_of(right));
    let lower = turned(s[rows.y * kPitch + columns.x], s[rows.y * kPitch + columns.y], right, phase_of(right));
    let first = turned(upper[0], lower[0], left, conjugate(phase_of(left)));
    let second = turned(upper[1], lower[1], left, conjugate(phase_of(left)));
    s[rows.x * kPitch + columns.x] = first[0];
    s[rows.x * kPitch + columns.y] = second[0];
    s[rows.y * kPitch + columns.x] = first[1];
    s[rows.y * kPitch + columns.y] = second[1];
    s[columns.x * kPitch + rows.x] = conjugate(first[0]);
    s[columns.y * kPitch + rows.x] = conjugate(second[0]);
    s[columns.x * kPitch + rows.y] = conjugate(first[1]);
    s[columns.y * kPitch + rows.y] = conjugate(second[1]);
  }
{% if vectors %}
  for (var e = lid; e < count * n; e += {{ threads }}u) {
    let row = e % n * kPitch;
    let turn = turns[e / n];
    if (turn.x == 0.0) { continue; }
    let columns = pairs[e / n];
    let both = turned(v[row + columns.x], v[row + columns.y], turn, phase_of(turn));
    v[row + columns.x] = both[0];
    v[row + columns.y] = both[1];
  }
{% endif %}
}
