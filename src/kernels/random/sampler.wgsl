{#
  Numbers by rejection or inversion, as specified in include/weft/kernels/random.h: a thread makes one element, from
  words that are numbered by the element and by the attempt. sampler_cpu.cc has the same arithmetic.

  options:
    form: gamma, poisson, binomial, geometric
    logarithm: flag
    workgroup: number
    attempts: number
    fill: number
    result: f32, f16, bf16, i32, i64
    long_trials: flag
#}
fn words(element: vec2<u32>, attempt: u32) -> vec2<u32> {
  return threefry(vec2<u32>(load_key(0u), load_key(p.key_step)), vec2<u32>(element.x, attempt | (element.y << 8u)));
}

fn reciprocal(x: f32) -> f32 {
  var r = bitcast<f32>(0x7ef311c7u - bitcast<u32>(x));
  r = times(r, 2.0 - times(x, r));
  r = times(r, 2.0 - times(x, r));
  return times(r, 2.0 - times(x, r));
}
fn inverse_sqrt(x: f32) -> f32 {
  var r = bitcast<f32>(0x5f3759dfu - (bitcast<u32>(x) >> 1u));
  r = times(r, 1.5 - times(times(0.5 * x, r), r));
  r = times(r, 1.5 - times(times(0.5 * x, r), r));
  return times(r, 1.5 - times(times(0.5 * x, r), r));
}
fn log_of(x: f32) -> f32 {
  let parts = log_parts(x);
  return log_core(parts.x, parts.y);
}
fn exponential(w: u32) -> f32 {
  let half = 0.5 * fraction(w << 1u);
  let parts = select(log1p_parts(-half), log_parts(half), (w >> 31u) != 0u);
  return -log_core(parts.x, parts.y);
}
// The sign in front of the bits of a number.
fn with_sign(x: f32, w: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ (w & 0x80000000u)); }

{% if form != "geometric" %}
fn exp_of(x: f32) -> f32 {
  if (x < -87.0) { return 0.0; }
  let n = floor(times(x, 1.44269504) + 0.5);
  var r = rounded(x - times(n, 0.693359375));
  r = rounded(r - times(n, -2.12194440e-4));
  var y = 1.9875691500e-4;
  y = times(y, r) + 1.3981999507e-3;
  y = times(y, r) + 8.3334519073e-3;
  y = times(y, r) + 4.1665795894e-2;
  y = times(y, r) + 1.6666665459e-1;
  y = times(y, r) + 5.0000001201e-1;
  y = rounded(times(y, times(r, r)) + r) + 1.0;
  return times(y, bitcast<f32>((i32(n) + 127) << 23u));
}
{% endif %}

{% if form == "gamma" %}
fn normal(word: u32) -> f32 {
  let a = fraction(word << 1u);
  let w = -log_of(times(a, 2.0 - a));
  var y: f32;
  if (w < 5.0) {
    let t = w - 2.5;
    y = 4.46400207e-07;
    y = times(y, t) - 4.50548396e-06;
    y = times(y, t) - 5.79034759e-06;
    y = times(y, t) + 0.000307359238;
    y = times(y, t) - 0.00177431607;
    y = times(y, t) - 0.00590612134;
    y = times(y, t) + 0.348803639;
    y = times(y, t) + 2.12331319;
  } else {
    let t = times(w, inverse_sqrt(w)) - 3.5;
    y = -0.000236691616;
    y = times(y, t) + 0.000799088797;
    y = times(y, t) - 0.00110394007;
    y = times(y, t) + 0.00141015858;
    y = times(y, t) - 0.00284474622;
    y = times(y, t) + 0.00467032148;
    y = times(y, t) + 1.42462552;
    y = times(y, t) + 4.71708727;
  }
  return with_sign(times(1.0 - a, y), word);
}

fn log1p_rest(t: f32) -> f32 {
  let z = times(t, t);
  if (abs(t) >= 0.1) { return ((log1p_of(t) - t) + 0.5 * z) - times(times(t, z), 0.33333333); }
  var y = -0.1;
  y = times(y, t) + 0.111111112;
  y = times(y, t) - 0.125;
  y = times(y, t) + 0.142857149;
  y = times(y, t) - 0.166666672;
  y = times(y, t) + 0.2;
  y = times(y, t) - 0.25;
  return times(y, times(z, z));
}

fn draw(element: vec2<u32>, given: f32) -> f32 {
  let bits = bitcast<u32>(given) & select(0xffffffffu, 0u, bitcast<u32>(given) == 0x80000000u);
  if (bits > 0x7f800000u) { return bitcast<f32>(0x7fc00000u | p.opaque_zero); }
  if (bits == 0x7f800000u) { return bitcast<f32>(0x7f800000u | p.opaque_zero); }
  if (bits < 0x00800000u) { return {{ "bitcast<f32>(0xff800000u | p.opaque_zero)" if logarithm else "0.0" }}; }
  // Of bits: lavapipe has been seen to take `given < 1.0` for its opposite in the branch after the loop.
  let boosted = bits < 0x3f800000u;
  let d = select(given, given + 1.0, boosted) - 0.333333343;
  let c = times(inverse_sqrt(d), 0.333333343);
  var t = 0.0;
  for (var attempt = 0u; attempt < {{ attempts }}u; attempt++) {
    let w = words(element, attempt);
    let x = normal(w.x);
    t = times(c, x);
    if (t <= -1.0) {
      t = 0.0;
      continue;
    }
    let u = fraction(w.y);
    let square = times(x, x);
    if (u < 1.0 - times(0.0331, times(square, square))) { break; }
    if (log_of(u) < times(times(3.0, d), log1p_rest(t))) { break; }
  }
{% if logarithm %}
  var y = log_of(d) + times(3.0, log1p_of(t));
  if (boosted) { y = y - times(exponential(words(element, 255u).x), reciprocal(given)); }
{% else %}
  let v = 1.0 + t;
  var y = times(d, times(times(v, v), v));
  if (boosted) { y = times(y, exp_of(-times(exponential(words(element, 255u).x), reciprocal(given)))); }
{% endif %}
  return y;
}
{% else %}
{# Counts are computed in 64 bits, as vec2<u32>, low word first. #}
fn float_below_48(n: vec2<u32>) -> f32 {
  return f32((n.x >> 24u) | (n.y << 8u)) * 0x1p24 + f32(n.x & 0xffffffu);
}
fn float_of(n: vec2<u32>) -> f32 {
  if (n.y < 0x10000u) { return float_below_48(n); }
  return float_below_48(vec2<u32>((n.x >> 16u) | (n.y << 16u), n.y >> 16u)) * 0x1p16;
}
// An integer, up to 2^62 in magnitude.
fn long_of(x: f32) -> vec2<u32> {
  let bits = bitcast<u32>(x) & 0x7fffffffu;
  if (bits < 0x4b000000u) {  // 2^23
    let n = i32(x);
    return vec2<u32>(bitcast<u32>(n), bitcast<u32>(n >> 31u));
  }
  let n = shift_left_64(vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u), vec2<u32>((bits >> 23u) - 150u, 0u));
  return select(n, neg_64(n), (bitcast<u32>(x) >> 31u) != 0u);
}
// The binary digits of an integer of x's size, 0 or more, that come after the first `digits` + 1, as a mask.
fn digits_after(digits: u32, x: f32) -> vec2<u32> {
  let exponent = bitcast<u32>(x) >> 23u;
  if (exponent <= 127u + digits) { return vec2<u32>(0u); }
  return sub_64(shift_left_64(vec2<u32>(1u, 0u), vec2<u32>(exponent - 127u - digits, 0u)), vec2<u32>(1u, 0u));
}

{% set most = {"i32": "0x7fffffff", "i64": "vec2<u32>(0xffffffffu, 0x7fffffffu)"} %}
{% if result == "f32" %}
fn count_of(k: vec2<u32>) -> y_t { return float_of(k); }
fn large_count(x: f32) -> y_t { return bitcast<f32>(bitcast<u32>(x) | p.opaque_zero); }
fn no_count() -> y_t { return bitcast<f32>(0x7fc00000u | p.opaque_zero); }
{% else %}
// The count in its type, the largest one that it has at most.
fn count_of(k: vec2<u32>) -> y_t {
  return {{ "k" if result == "i64" else "bitcast<i32>(select(k.x, 0x7fffffffu, k.y != 0u || k.x > 0x7fffffffu))" }};
}
// A count of 2^63 or more.
fn large_count(x: f32) -> y_t { return {{ most[result] }}; }
// Without a distribution.
fn no_count() -> y_t { return {{ "vec2<u32>(0xffffffffu)" if result == "i64" else "-1" }}; }
{% endif %}

{% if form == "geometric" %}
fn draw(element: vec2<u32>, given: f32) -> y_t {
  let bits = bitcast<u32>(given) & select(0xffffffffu, 0u, bitcast<u32>(given) == 0x80000000u);
  if (bits > 0x3f800000u) { return no_count(); }
  if (bits == 0x3f800000u) { return count_of(vec2<u32>(1u, 0u)); }
  if (bits < 0x00800000u) { return large_count(bitcast<f32>(0x7f800000u | p.opaque_zero)); }
  let y = floor(times(exponential(words(element, 0u).x), reciprocal(-log1p_of(-given))));
  if (y >= 0x1p63) { return large_count(y); }
  // The digits that f32 does not have are as good as evenly distributed.
  let k = add_64(long_of(y), words(element, {{ fill }}u) & digits_after(22u, y));
  return count_of(add_64(min_u64(k, vec2<u32>(0xfffffffeu, 0x7fffffffu)), vec2<u32>(1u, 0u)));
}
{% else %}
fn expm1_of(x: f32) -> f32 {
  if (x <= -0.35) { return exp_of(x) - 1.0; }
  var y = 1.9841270e-4;
  y = times(y, x) + 1.3888889e-3;
  y = times(y, x) + 8.3333333e-3;
  y = times(y, x) + 4.1666667e-2;
  y = times(y, x) + 1.6666667e-1;
  y = times(y, x) + 0.5;
  y = times(y, x) + 1.0;
  return times(y, x);
}
fn deviance(x: f32) -> f32 {
  if (abs(x) >= 0.1) { return times(1.0 + x, log_of(1.0 + x)) - x; }
  var y = 0.0178571437;
  y = times(y, x) - 0.0238095243;
  y = times(y, x) + 0.0333333351;
  y = times(y, x) - 0.05;
  y = times(y, x) + 0.0833333358;
  y = times(y, x) - 0.166666672;
  y = times(y, x) + 0.5;
  return times(y, times(x, x));
}
fn stirling_error(k: f32) -> f32 {
  let r = reciprocal(k);
  let z = times(r, r);
  return times(r, 8.3333333e-2 - times(z, 2.7777778e-3 - times(z, 7.9365079e-4)));
}

// The distribution: its mean, and for binomial ones the number of trials and the probability of the rarer outcome.
struct Counts {
  mean: f32,
  whole: vec2<u32>,  // of the mean
  rest: f32,
{% if form == "binomial" %}
  n: vec2<u32>,
  trials: f32,
  q: f32,
{% endif %}
}
// The probability of k is that of k - 1 times above / k.
fn above(d: Counts, k: f32) -> f32 {
{% if form == "binomial" %}
  return times((d.trials - k) + 1.0, times(d.q, reciprocal(1.0 - d.q)));
{% else %}
  return d.mean;
{% endif %}
}
fn log_of_none(d: Counts) -> f32 {
  return {{ "times(d.trials, log1p_of(-d.q))" if form == "binomial" else "-d.mean" }};
}

// For means below 10: the count beyond which there is the probability u. Sums of probabilities from the least on lose
// the digits of a small u, for which they are added from the far end.
fn by_inversion(d: Counts, u: f32) -> u32 {
  let none = log_of_none(d);
  var beyond = -expm1_of(none);
  if (u >= beyond) { return 0u; }
  var term = exp_of(none);
  let most = {{ "select(min(d.n.x, 64u), 64u, d.n.y != 0u)" if form == "binomial" else "64u" }};
  let rare = u < 0x1p-10;
  var k = 0u;
  while (k < most) {
    k++;
    term = times(times(term, above(d, f32(k))), reciprocal(f32(k)));
    beyond = beyond - term;
    if (rare) {
      if (term < 0x1p-40 && f32(k) > d.mean) { break; }
    } else if (u >= beyond) {
      return k;
    }
  }
  if (!rare) { return k; }
  var sum = 0.0;
  while (k > 0u) {
    sum = sum + term;
    if (u < sum) { return k; }
    term = times(times(term, f32(k)), reciprocal(above(d, f32(k))));
    k--;
  }
  return 0u;
}

// The logarithm of the probability of k = d.whole + off.
fn log_probability(d: Counts, off: f32, k: vec2<u32>) -> f32 {
  if ((k.x | k.y) == 0u) { return log_of_none(d); }
  let from_mean = off - d.rest;
  let many = float_of(k);
{% if form == "binomial" %}
  let others = sub_64(d.n, k);
  if ((others.x | others.y) == 0u) { return times(d.trials, log_of(d.q)); }
  let other_mean = d.trials - d.mean;
  let other = float_of(others);
  let first = times(d.mean, deviance(times(from_mean, reciprocal(d.mean))));
  let second = times(other_mean, deviance(times(-from_mean, reciprocal(other_mean))));
  let width = times(d.trials, reciprocal(times(6.28318531, times(many, other))));
  return ((0.5 * log_of(width) - first) - second) +
         ((stirling_error(d.trials) - stirling_error(many)) - stirling_error(other));
{% else %}
  let first = times(d.mean, deviance(times(from_mean, reciprocal(d.mean))));
  return (-first - 0.5 * log_of(times(6.28318531, many))) - stirling_error(many);
{% endif %}
}

// For means of 10 and more.
fn by_rejection(d: Counts, element: vec2<u32>) -> vec2<u32> {
{% if form == "binomial" %}
  let variance = times(d.mean, 1.0 - d.q);
  let deviation = times(variance, inverse_sqrt(variance));
  let b = 1.15 + times(2.53, deviation);
  let a = (-0.0873 + times(0.0248, b)) + times(0.01, d.q);
  let inverse = reciprocal(b);
  let inner = 0.92 - times(4.2, inverse);
  let centre = d.rest + 0.5;
  let height = times(2.83 + times(5.1, inverse), deviation);
  let mode = floor(d.rest + d.q);
  let level = log_probability(d, mode, add_64(d.whole, long_of(mode)));
  let last = sub_64(d.n, d.whole);
{% else %}
  let deviation = times(d.mean, inverse_sqrt(d.mean));
  let b = 0.931 + times(2.53, deviation);
  let a = -0.059 + times(0.02483, b);
  let inner = 0.9277 - times(3.6224, reciprocal(b - 2.0));
  let centre = d.rest + 0.43;
  let height = 1.1239 + times(1.1328, reciprocal(b - 3.4));
  let level = 0.0;
  let last = sub_64(vec2<u32>(0xffffffffu, 0x7fffffffu), d.whole);
{% endif %}
  // Where f32 has no digits for each integer, those that it does not have are filled.
  let gap = digits_after(21u, b).x;
  var fill = vec2<u32>(0u);
  if (gap != 0u) { fill = sub_64(vec2<u32>(words(element, {{ fill }}u).x & gap, 0u), vec2<u32>(gap >> 1u, 0u)); }
  for (var attempt = 0u; attempt < {{ attempts }}u; attempt++) {
    let w = words(element, attempt);
    let edge = 0.5 * fraction(w.x << 1u);
    let u = with_sign(0.5 - edge, w.x);
    let v = fraction(w.y);
    let inverse_edge = reciprocal(edge);
    let slope = times(a, inverse_edge);
    let at = clamp(floor(times(2.0 * slope + b, u) + centre), -0x1p62, 0x1p62);
    let off = long_of(at);
    let quick = edge >= 0.07 && v <= inner;
    let k = add_64(d.whole, off);
    if (!quick) {
      if (is_negative_64(k) || less_i64(last, off) || (edge < 0.013 && v > edge)) { continue; }
      let drawn = times(times(v, height), reciprocal(times(slope, inverse_edge) + b));
      if (log_of(drawn) + level > log_probability(d, at, k)) { continue; }
    }
    if (gap == 0u) { return add_64(d.whole, min_i64(off, last)); }
    return add_64(d.whole, max_i64(min_i64(add_64(min_i64(off, last), fill), last), neg_64(d.whole)));
  }
  return d.whole;
}
fn draw_count(d: Counts, element: vec2<u32>) -> vec2<u32> {
  if (d.mean < 10.0) { return vec2<u32>(by_inversion(d, fraction(words(element, 0u).x)), 0u); }
  return by_rejection(d, element);
}

{% if form == "binomial" %}
// The distribution of n trials; the mean n · q exactly, with 24 bits of its fraction. q is normal and at most ½.
fn distribution(n: vec2<u32>, q: f32) -> Counts {
  let m = (bitcast<u32>(q) & 0x7fffffu) | 0x800000u;
  let point = 150u - (bitcast<u32>(q) >> 23u);  // binary digits of the fraction, 24 or more
  let low = mul_wide_u32(n.x, m);
  let high = add_64(mul_wide_u32(n.y, m), vec2<u32>(low.y, 0u));
  let digits = vec4<u32>(low.x, high, 0u);
  let below = select(word_at(digits, point - 32u), low.x << ((32u - point) & 31u), point < 32u);
  let whole = vec2<u32>(word_at(digits, point), word_at(digits, point + 32u));
  let trials = float_of(n);
  return Counts(times(trials, q), whole, f32(below >> 8u) * 0x1p-24, n, trials, q);
}
// 32 bits from there on.
fn word_at(digits: vec4<u32>, bit: u32) -> u32 {
  if (bit >= 96u) { return 0u; }
  let i = bit / 32u;
  return shift_right_u64(vec2<u32>(digits[i], digits[i + 1u]), vec2<u32>(bit % 32u, 0u)).x;
}
fn draw(element: vec2<u32>, given: f32, n: vec2<u32>) -> y_t {
  let bits = bitcast<u32>(given) & select(0xffffffffu, 0u, bitcast<u32>(given) == 0x80000000u);
  if (bits > 0x3f800000u || is_negative_64(n)) { return no_count(); }
  let swapped = bits > 0x3f000000u;
  let q = select(given, 1.0 - given, swapped);
  var k = vec2<u32>(0u);
  if (bitcast<u32>(q) >= 0x00800000u && bits >= 0x00800000u && (n.x | n.y) != 0u) { k = draw_count(distribution(n, q), element); }
  return count_of(select(k, sub_64(n, k), swapped));
}
{% else %}
fn draw(element: vec2<u32>, given: f32) -> y_t {
  let bits = bitcast<u32>(given) & select(0xffffffffu, 0u, bitcast<u32>(given) == 0x80000000u);
  if (bits > 0x7f800000u) { return no_count(); }
  if (bits < 0x00800000u) { return count_of(vec2<u32>(0u)); }
  if (bits >= 0x5f000000u) { return large_count(given); }
  let whole = floor(given);
  return count_of(draw_count(Counts(given, long_of(whole), given - whole), element));
}
{% endif %}
{% endif %}
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(wg, n) * {{ workgroup }}u + lane;
  if (g >= p.count) { return; }
  let c = coords(g);
  let low = p.first + g;
  let element = vec2<u32>(low, p.first_high + select(0u, 1u, low < g));
{% if form == "binomial" %}
  let n_given = load_n(at_n(c));
  let trials = {{ "n_given" if long_trials else "vec2<u32>(bitcast<u32>(n_given), bitcast<u32>(n_given >> 31u))" }};
  store_y(at_y(c), draw(element, load_a(at_a(c)), trials));
{% else %}
  store_y(at_y(c), draw(element, load_a(at_a(c))));
{% endif %}
}
