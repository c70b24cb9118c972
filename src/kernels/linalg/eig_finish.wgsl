{#
  The results in the order of the eigenvalues, by their real parts and equal ones by the imaginary part: w, of which
  `values` [matrix, k] are a multiple, info and, if `vectors`, v: rows of `columns` [matrix, row, k] times their factors,
  in their places, of norm 1 with a largest element that is real and positive. A thread for each eigenvalue. conjugates:
  of a real matrix, where the vector of an eigenvalue with a negative imaginary part is the conjugate of the one before,
  and that of a real one real.

  options:
    vectors: flag
    conjugates: flag
    threads: number
#}
{% if vectors %}
fn scaled(base: u32, factors: u32, i: u32, k: u32, scale: f32) -> vec2<f32> {
  return load_columns(base + i * p.n + k) * load_factors(factors + i) * scale;
}
{% endif %}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let index = group_index(wg, groups) * {{ threads }}u + lid;
  let matrix = index / p.n;
  if (matrix >= p.count) { return; }
  let k = index % p.n;
  let base = matrix * p.n * p.n;
  let factors = matrix * (p.n + 1u);
  let places = matrix * (p.n + 6u);
  let c = coords(matrix);
  let good = load_state(places + p.n + 4u) == 0;
  let own = load_values(matrix * p.n + k);
  var rank = 0u;
  for (var j = 0u; j < p.n; j++) {
    let other = load_values(matrix * p.n + j);
    let before = other.x < own.x || (other.x == own.x && (other.y < own.y || (other.y == own.y && j < k)));
    rank += select(0u, 1u, before);
  }
  rank = select(k, min(rank, p.n - 1u), good);
  store_w(at_w(c) + rank * p.w_step, select(vec2<f32>(p.nan), own * load_factors(factors + p.n), good));
  if (k == 0u) { store_info(at_info(c), select(1, 0, good)); }
{% if vectors %}
  let v0 = at_v(c) + rank * p.v_column;
  if (!good) {
    for (var i = 0u; i < p.n; i++) { store_v(v0 + i * p.v_row, vec2<f32>(p.nan)); }
    return;
  }
{% if conjugates %}
  let conjugated = own.y < 0.0 && k > 0u;
  let column = select(k, k - 1u, conjugated);
  let real = own.y == 0.0;
{% else %}
  let column = k;
{% endif %}
  var most = 0u;
  for (var i = 0u; i < p.n; i++) {
    let x = bitcast<vec2<u32>>(scaled(base, factors, i, column, 1.0)) & vec2<u32>(0x7fffffffu);
    most = max(most, max(x.x, x.y));
  }
  let scale = bitcast<f32>((254u - clamp(most >> 23u, 1u, 253u)) << 23u);
  var phase = vec2<f32>(1.0, 0.0);
{% if conjugates %}
  if (real) {
    // The phase with which the real part is longest: half of that of the sum of squares.
    var squares = vec2<f32>();
    for (var i = 0u; i < p.n; i++) {
      let x = scaled(base, factors, i, column, scale);
      squares += mul_c64(x, x);
    }
    let size = sqrt(dot(squares, squares));
    if (size > 0.0) {
      let cosine = sqrt(max(0.0, 0.5 + 0.5 * (squares.x / size)));
      let sine = sqrt(max(0.0, 0.5 - 0.5 * (squares.x / size)));
      phase = vec2<f32>(cosine, select(-sine, sine, squares.y < 0.0));
    }
  }
{% endif %}
  var sum = 0.0;
  var largest = -1.0;
  var at = 0u;
  for (var i = 0u; i < p.n; i++) {
    var x = mul_c64(scaled(base, factors, i, column, scale), phase);
{% if conjugates %}
    if (real) { x.y = 0.0; }
{% endif %}
    let square = dot(x, x);
    sum += square;
    if (square > largest) {
      largest = square;
      at = i;
    }
  }
  var peak = mul_c64(scaled(base, factors, at, column, scale), phase);
{% if conjugates %}
  if (real) { peak.y = 0.0; }
{% endif %}
  let turn = vec2<f32>(peak.x, -peak.y) / sqrt(dot(peak, peak));
  for (var i = 0u; i < p.n; i++) {
    var x = mul_c64(scaled(base, factors, i, column, scale), phase);
{% if conjugates %}
    if (real) { x.y = 0.0; }
{% endif %}
    x = mul_c64(x, turn) / sqrt(sum);
    if (i == at) { x.y = 0.0; }
{% if conjugates %}
    if (conjugated) { x.y = -x.y; }
{% endif %}
    store_v(v0 + u32(load_state(places + i)) * p.v_row, x);
  }
{% endif %}
}
