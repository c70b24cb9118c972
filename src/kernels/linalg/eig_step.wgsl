{#
  At most p.steps steps that make the Hessenberg matrix h triangular, of real numbers but for blocks of 2 by 2, a
  workgroup for each matrix; if `vectors` all of h and z take part, else only what eigenvalues depend on. A step begins
  with one shift, of real numbers with two at once; reflections of 2 rows, or 3, then make h Hessenberg again. After
  p.most steps the matrix has no eigenvalues. Sources: Francis, "The QR transformation", 1961 and 1962; Ahues and Tisseur,
  "A new deflation criterion for the QR algorithm", 1997; Golub and Van Loan, "Matrix Computations", 4th edition, 7.5.

  options:
    vectors: flag
#}
const kEpsilon = 5.9604645e-8;
var<workgroup> begin: atomic<u32>;

fn h_at(base: u32, i: u32, j: u32) -> value { return load_h(base + i * p.n + j); }

// Whether h(i, i - 1) is.
fn negligible(base: u32, i: u32, first: u32, last: u32) -> bool {
  let below = size_of(h_at(base, i, i - 1u));
  if (below == 0.0) { return true; }
  let d = h_at(base, i, i);
  let a = h_at(base, i - 1u, i - 1u);
  var around = size_of(d) + size_of(a);
  if (around == 0.0) {
    if (i > first + 1u) { around += size_of(h_at(base, i - 1u, i - 2u)); }
    if (i + 1u < last) { around += size_of(h_at(base, i + 1u, i)); }
  }
  if (below > 2.0 * kEpsilon * around) { return false; }
  let above = size_of(h_at(base, i - 1u, i));
  let more = max(below, above);
  let far = max(size_of(d), size_of(a - d));
  let near = min(size_of(d), size_of(a - d));
  return min(below, above) * (more / (far + more)) <= max(1e-36, 2.0 * kEpsilon * (near * (far / (far + more))));
}

{% if complex %}
fn root_of(x: vec2<f32>) -> vec2<f32> {
  let scale = scale_of(magnitude_bits(x));
  if (magnitude_bits(x) == 0u) { return vec2<f32>(); }
  let y = x * scale;
  let larger = sqrt((sqrt(dot(y, y)) + abs(y.x)) * 0.5);
  let smaller = abs(y.y) / (2.0 * larger);
  let root = select(vec2<f32>(smaller, larger), vec2<f32>(larger, smaller), y.x >= 0.0);
  return vec2<f32>(root.x, select(root.y, -root.y, y.y < 0.0)) * sqrt(scale_back(magnitude_bits(x)));
}
{% endif %}

// The column, up to a factor, that a step begins with. Its shifts are eigenvalues of the last block of 2 by 2, or, where
// that has gone on for a while, exceptional ones.
fn start(base: u32, first: u32, last: u32, turn: u32) -> array<value, 3> {
  var a = h_at(base, last - 2u, last - 2u);
  var b = h_at(base, last - 2u, last - 1u);
  var c = h_at(base, last - 1u, last - 2u);
  var d = h_at(base, last - 1u, last - 1u);
  let exceptional = turn % 10u == 0u;
  if (exceptional) {
    let top = turn % 20u == 10u;
    var sum = size_of(c);
    if (top) { sum = size_of(h_at(base, first + 1u, first)); }
{% if not complex %}
    let other = select(last - 2u, first + 2u, top);
    sum += size_of(h_at(base, other, other - 1u));
{% endif %}
    if (top) { d = h_at(base, first, first); }
    d += of_real(0.75 * sum);
    a = d;
    b = of_real(-0.4375 * sum);
    c = of_real(sum);
  }
  let bits = max(size_bits(a, b, c), magnitude_bits(d));
  let scale = scale_of(bits);
  a *= scale;
  b *= scale;
  c *= scale;
  d *= scale;
  let corner = h_at(base, first, first) * scale;
  let below = h_at(base, first + 1u, first) * scale;
  let half = (a - d) * 0.5;
  let square = product(half, half) + product(b, c);
{% if complex %}
  var shift = d;
  if (!exceptional) {
    var root = root_of(square);
    if (dot(half, root) < 0.0) { root = -root; }
    let sum = half + root;
    if (size_of(sum) > 0.0) { shift = d - product(b, quotient(c, sum)); }
  }
  return array<value, 3>(corner - shift, below, value());
{% else %}
  let root = sqrt(abs(square));
  let middle = (a + d) * 0.5;
  var u = middle;      // the shifts, or the real part of both
  var imaginary = root;
  if (square >= 0.0) {
    u = select(middle - root, middle + root, abs(middle + root - d) <= abs(middle - root - d));
    imaginary = 0.0;
  }
  let most = abs(corner - u) + imaginary + abs(below);
  if (most == 0.0) { return array<value, 3>(); }
  let next = below / most;
  let beside = h_at(base, first, first + 1u) * scale;
  return array<value, 3>(
      next * beside + (corner - u) * ((corner - u) / most) + imaginary * (imaginary / most),
      next * (corner + h_at(base, first + 1u, first + 1u) * scale - 2.0 * u),
      next * (h_at(base, first + 2u, first + 1u) * scale));
{% endif %}
}

{% if not complex %}
struct Block {
  a: f32,
  b: f32,
  c: f32,
  d: f32,
  cosine: f32,
  sine: f32,
}
fn sign_of(x: f32) -> f32 { return select(1.0, -1.0, x < 0.0); }
fn turned_block(a: f32, b: f32, c: f32, d: f32) -> Block {
  if (c == 0.0) { return Block(a, b, c, d, 1.0, 0.0); }
  if (b == 0.0) { return Block(d, -c, 0.0, a, 0.0, 1.0); }
  if (a == d && (b < 0.0) != (c < 0.0)) { return Block(a, b, c, d, 1.0, 0.0); }
  let half = (a - d) * 0.5;
  let most = max(abs(b), abs(c));
  let least = min(abs(b), abs(c)) * sign_of(b) * sign_of(c);
  let scale = max(abs(half), most);
  let under_root = half / scale * half + most / scale * least;
  if (under_root >= 8.0 * kEpsilon) {
    let z = half + sign_of(half) * sqrt(scale) * sqrt(under_root);
    let longer = max(abs(c), abs(z));
    let x = z / longer;
    let y = c / longer;
    let length = sqrt(x * x + y * y);
    return Block(d + z, b - c, 0.0, d - most / z * least, x / length, y / length);
  }
  let sum = b + c;
  let greater = max(abs(sum), abs(a - d));
  let length = greater * sqrt((sum / greater) * (sum / greater) + ((a - d) / greater) * ((a - d) / greater));
  var cosine = sqrt((1.0 + abs(sum) / length) * 0.5);
  var sine = -(half / (length * cosine)) * sign_of(sum);
  let aa = a * cosine + b * sine;
  let bb = b * cosine - a * sine;
  let cc = c * cosine + d * sine;
  let dd = d * cosine - c * sine;
  let middle = (aa * cosine + cc * sine + (dd * cosine - bb * sine)) * 0.5;
  let right = bb * cosine + dd * sine;
  let left = cc * cosine - aa * sine;
  if (left == 0.0) { return Block(middle, right, left, middle, cosine, sine); }
  if (right == 0.0) { return Block(middle, -left, 0.0, middle, -sine, cosine); }
  if ((right < 0.0) != (left < 0.0)) { return Block(middle, right, left, middle, cosine, sine); }
  let root_right = sqrt(abs(right));
  let root_left = sqrt(abs(left));
  let apart = sign_of(left) * root_right * root_left;
  let inverse = 1.0 / sqrt(abs(right + left));
  let more_cosine = root_right * inverse;
  let more_sine = root_left * inverse;
  return Block(middle + apart, right - left, 0.0, middle - apart, cosine * more_cosine - sine * more_sine,
               cosine * more_sine + sine * more_cosine);
}
// A rotation makes the block of 2 by 2 from k on triangular, if its eigenvalues are real, else its diagonal equal. As
// LAPACK's lanv2.
fn split(lid: u32, base: u32, k: u32) {
  let t = turned_block(h_at(base, k, k), h_at(base, k, k + 1u), h_at(base, k + 1u, k), h_at(base, k + 1u, k + 1u));
  // Of norm 1 to the last digit.
  let exact = 1.5 - 0.5 * (t.cosine * t.cosine + t.sine * t.sine);
  let cosine = t.cosine * exact;
  let sine = t.sine * exact;
  storageBarrier();
{% if vectors %}
  for (var j = k + 2u + lid; j < p.n; j += {{ threads }}u) {
    let x = h_at(base, k, j);
    let y = h_at(base, k + 1u, j);
    store_h(base + k * p.n + j, cosine * x + sine * y);
    store_h(base + (k + 1u) * p.n + j, cosine * y - sine * x);
  }
  for (var i = lid; i < k; i += {{ threads }}u) {
    let x = h_at(base, i, k);
    let y = h_at(base, i, k + 1u);
    store_h(base + i * p.n + k, cosine * x + sine * y);
    store_h(base + i * p.n + k + 1u, cosine * y - sine * x);
  }
  for (var i = lid; i < p.n; i += {{ threads }}u) {
    let x = load_z(base + k * p.n + i);
    let y = load_z(base + (k + 1u) * p.n + i);
    store_z(base + k * p.n + i, cosine * x + sine * y);
    store_z(base + (k + 1u) * p.n + i, cosine * y - sine * x);
  }
{% endif %}
  if (lid == 0u) {
    store_h(base + k * p.n + k, t.a);
    store_h(base + k * p.n + k + 1u, t.b);
    store_h(base + (k + 1u) * p.n + k, t.c);
    store_h(base + (k + 1u) * p.n + k + 1u, t.d);
  }
}
{% endif %}

fn reflect(x: array<value, 3>, r: Reflection) -> array<value, 3> {
  let sum = (x[0] + product(x[1], r.second) + product(x[2], r.third)) * r.factor;
  return array<value, 3>(x[0] - sum, x[1] - product(sum, conjugate(r.second)), x[2] - product(sum, conjugate(r.third)));
}
fn conjugate_of(r: Reflection) -> Reflection { return Reflection(conjugate(r.second), conjugate(r.third), r.factor); }

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let matrix = group_index(wg, groups);
  if (common_word(lid, select(0u, 1u, matrix < p.count)) == 0u) { return; }
  let base = matrix * p.n * p.n;
  let words = matrix * (p.n + 6u) + p.n;
  let bottom = common_word(lid, u32(load_state(words + 1u)));
  var last = min(common_word(lid, u32(load_state(words))), p.n);
  var turn = common_word(lid, u32(load_state(words + 2u)));
  var total = common_word(lid, u32(load_state(words + 3u)));
  if (last <= bottom) { return; }
  for (var step = 0u; step < p.steps && last > bottom; step++) {
    if (lid == 0u) { atomicStore(&begin, bottom); }
    storageBarrier();
    workgroupBarrier();
    for (var i = bottom + 1u + lid; i < last; i += {{ threads }}u) {
      if (negligible(base, i, bottom, last)) { atomicMax(&begin, i); }
    }
    workgroupBarrier();
    let first = common_word(lid, atomicLoad(&begin));
    if (lid == 0u && first > bottom) { store_h(base + first * p.n + first - 1u, value()); }
    if (first + {{ 1 if complex else 2 }}u >= last) {
{% if not complex %}
      if (first + 2u == last) { split(lid, base, first); }
{% endif %}
      last = first;
      turn = 1u;
      continue;
    }
    if (total == p.most) {
      if (lid == 0u) { store_state(words + 4u, 1); }
      last = bottom;
      break;
    }
    let columns_end = {{ "p.n" if vectors else "last" }};
    let rows_begin = {{ "0u" if vectors else "first" }};
    var x = start(base, first, last, turn);
    storageBarrier();
    for (var k = first; k + 1u < last; k++) {
{% if complex %}
      let three = false;
{% else %}
      let three = k + 2u < last;
{% endif %}
      if (k > first) {
        x = array<value, 3>(h_at(base, k, k - 1u), h_at(base, k + 1u, k - 1u), value());
        if (three) { x[2] = h_at(base, k + 2u, k - 1u); }
      }
      if (!three) { x[2] = value(); }
      let r = reflection(x[0], x[1], x[2]);
      for (var j = k + lid; j < columns_end; j += {{ threads }}u) {
        var y = array<value, 3>(h_at(base, k, j), h_at(base, k + 1u, j), value());
        if (three) { y[2] = h_at(base, k + 2u, j); }
        y = reflect(y, conjugate_of(r));
        store_h(base + k * p.n + j, y[0]);
        store_h(base + (k + 1u) * p.n + j, y[1]);
        if (three) { store_h(base + (k + 2u) * p.n + j, y[2]); }
      }
      storageBarrier();
      for (var i = rows_begin + lid; i < min(k + {{ 3 if complex else 4 }}u, last); i += {{ threads }}u) {
        let at = base + i * p.n + k;
        var y = array<value, 3>(load_h(at), load_h(at + 1u), value());
        if (three) { y[2] = load_h(at + 2u); }
        y = reflect(y, r);
        store_h(at, y[0]);
        store_h(at + 1u, y[1]);
        if (three) { store_h(at + 2u, y[2]); }
      }
{% if vectors %}
      for (var i = lid; i < p.n; i += {{ threads }}u) {
        let at = base + k * p.n + i;
        var y = array<value, 3>(load_z(at), load_z(at + p.n), value());
        if (three) { y[2] = load_z(at + 2u * p.n); }
        y = reflect(y, r);
        store_z(at, y[0]);
        store_z(at + p.n, y[1]);
        if (three) { store_z(at + 2u * p.n, y[2]); }
      }
{% endif %}
      if (k > first && lid == 0u) {
        let y = reflect(x, conjugate_of(r));
        store_h(base + k * p.n + k - 1u, y[0]);
        store_h(base + (k + 1u) * p.n + k - 1u, value());
        if (three) { store_h(base + (k + 2u) * p.n + k - 1u, value()); }
      }
      storageBarrier();
    }
    turn++;
    total++;
  }
  if (lid == 0u) {
    store_state(words, i32(last));
    store_state(words + 2u, i32(turn));
    store_state(words + 3u, i32(total));
  }
}
