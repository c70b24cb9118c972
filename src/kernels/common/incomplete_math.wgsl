// The regularised incomplete gamma and beta functions of f32. The tail of the distribution that is not much more than ½
// is computed, so that it keeps its digits, and the other one is 1 minus it. By series and continued fractions
// (DiDonato and Morris, "Algorithm 708: significant digit computation of the incomplete beta function ratios", 1992;
// Gil, Segura and Temme, "Efficient and accurate algorithms for the computation and inversion of the incomplete gamma
// function ratios", 2012), and near the mean of large parameters, where these take many steps, by a quadrature of the
// tail. What stands in exponents has 36 bits and more, as a sum of two numbers.

// a + b within 2^-46 of the larger, as two numbers. The first is not the rounded sum, so that no compiler takes the
// difference with it for what it is in the algebra of real numbers.
fn sum_pair_f32(a: f32, b: f32) -> vec2<f32> {
  let s = bitcast<f32>(bitcast<u32>(a + b) & 0xfffffffeu);
  let larger = abs(a) >= abs(b);
  return vec2<f32>(s, select(a, b, larger) - (s - select(b, a, larger)));
}

// a · b within 2^-46 of it. The first part is not the rounded product, so that no compiler fuses the difference with it.
fn product_pair_f32(a: f32, b: f32) -> vec2<f32> {
  let p = bitcast<f32>(bitcast<u32>(a * b) & 0xfffffffeu);
  let ah = high_part_f32(a);
  let bh = high_part_f32(b);
  return vec2<f32>(p, ((ah * bh - p) + (ah * (b - bh) + (a - ah) * bh)) + (a - ah) * (b - bh));
}

fn product_pairs_f32(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let p = product_pair_f32(a.x, b.x);
  return vec2<f32>(p.x, p.y + (a.x * b.y + a.y * b.x));
}

// log((x.x + x.y) / a), of which the first part has 12 bits.
fn log_ratio_pair_f32(x: vec2<f32>, a: f32) -> vec2<f32> {
  let sx = split_f32(x.x);
  let sa = split_f32(a);
  let k = f32(sx.exponent - sa.exponent);
  // The quotient of the mantissas is (1 + q) / (1 - q).
  let f = sx.fraction - sa.fraction;
  let low = 1.0 + min(sx.fraction, sa.fraction);
  let high = 1.0 + max(sx.fraction, sa.fraction);
  let g = low + high;
  let gh = high_part_f32(g);
  let gl = low - (gh - high);
  let q = f / g;
  let qh = high_part_f32(q);
  let ql = ((f - qh * gh) - qh * gl) / g;
  let z = q * q;
  var p = 0.0588235294;
  p = p * z + 0.0666666667;
  p = p * z + 0.0769230769;
  p = p * z + 0.0909090909;
  p = p * z + 0.111111111;
  p = p * z + 0.142857143;
  p = p * z + 0.2;
  p = p * z + 0.333333333;
  let rest = 2.0 * (ql + (qh * qh * qh + 3.0 * (qh * qh) * ql) * p) + (k * 1.42860682e-6 + x.y / max(x.x, 1.2e-38));
  let whole = k * 0.693145751953125;
  let h = high_part_f32(whole + (2.0 * qh + rest));
  return vec2<f32>(h, (clamp(whole - h, -2.0, 2.0) + 2.0 * qh) + rest);
}

// a (d / a - log(1 + d / a)) as a sum, for a + d = x / unit > 0; from 105 on not exact.
fn excess_f32(a: f32, x: vec2<f32>, unit: f32, d: vec2<f32>) -> vec2<f32> {
  let t = sum_pair_f32(2.0 * a, d.x);
  if (abs(d.x) > 0.2 * t.x) {
    let l = log_ratio_pair_f32(x, a * unit);
    let ah = high_part_f32(a);
    let s = sum_pair_f32(d.x, -ah * l.x);
    return vec2<f32>(s.x, (s.y + d.y) - ((a - ah) * l.x + a * l.y));
  }
  // d s - 2 a s³ (1/3 + s²/5 + …) with s = d / (2 a + d), and 2 a s / d = 1 - s
  let th = high_part_f32(t.x);
  let s = d.x / t.x;
  let sh = high_part_f32(s);
  let sl = (((d.x - sh * th) - sh * ((t.x - th) + (t.y + d.y))) + d.y) / t.x;
  let dh = high_part_f32(d.x);
  let z = s * s;
  var p = 0.090909091;
  p = p * z + 0.111111111;
  p = p * z + 0.142857143;
  p = p * z + 0.2;
  p = p * z + 0.333333333;
  let rest = (d.x - dh) * sh + d.x * sl + d.y * s;
  return vec2<f32>(dh * sh, rest - (dh * sh + rest) * (s * (1.0 - s) * p));
}

// a^a exp(-a) / Γ(a), by Stirling's formula from 1 on.
fn scaled_rgamma_f32(a: f32) -> f32 {
  if (a < 1.0) { return a * exp_f32((a * log_f32(a) - a) - lgamma_near_two_f32(a - 1.0, a)); }
  let r = 1.0 / a;
  var q = 5.494366e-05;
  q = q * r - 0.000113530565;
  q = q * r - 0.00026961035;
  q = q * r + 0.0011357168;
  q = q * r + 0.0013741612;
  q = q * r - 0.033244506;
  return root_f32(a) * (q * r + 0.39894226);
}

// v - log(1 + v)
fn log1p_excess_f32(v: f32) -> f32 {
  if (v > -0.292 && v < 0.414) { return -log1p_rest_f32(v); }
  return v - log1p_f32(max(v, -0.9999999));
}

// The exponent below as a function of t.
fn tail_exponent_f32(t: f32, slope: f32, alpha: f32, u: f32, beta: f32, v: f32) -> f32 {
  return slope * t + (alpha * log1p_excess_f32(t * u) + beta * log1p_excess_f32(t * v));
}

// Nodes and weights of Gauss and Legendre for [0, 1].
const kTailNodes = array<f32, 12>(0.0092196828, 0.0479413718, 0.115048663, 0.206341023, 0.316084251, 0.437383296,
                                  0.562616704, 0.683915749, 0.793658977, 0.884951337, 0.952058628, 0.990780317);
const kTailWeights = array<f32, 6>(0.0235876682, 0.0534696630, 0.0800391643, 0.101583713, 0.116746268, 0.124573523);

// The integral of exp(-slope t - α (u t - log(1 + u t)) - β (v t - log(1 + v t))) over t > 0, of which the exponent is
// convex: α and β are 0 or many.
fn tail_integral_f32(slope: f32, alpha: f32, u: f32, beta: f32, v: f32) -> f32 {
  let root = sqrt(alpha * u * u + beta * v * v);
  let r = slope / root;
  // The parabola of the same slope and curvature is 17 there, and the exponent, which is convex, where this is
  // stretched by what it lacks.
  var end = 34.0 / (root * (r + sqrt(r * r + 34.0)));
  if (u < 0.0) { end = min(end, -1.0 / u); }
  if (v < 0.0) { end = min(end, -1.0 / v); }
  end *= max(1.0, 17.0 / tail_exponent_f32(0.999 * end, slope, alpha, u, beta, v));
  var sum = 0.0;
  for (var i = 0u; i < 12u; i++) {
    let e = tail_exponent_f32(kTailNodes[i] * end, slope, alpha, u, beta, v);
    sum += kTailWeights[min(i, 11u - i)] * exp_f32(-e);
  }
  return sum * end;
}

// How many steps of a continued fraction are enough: fewer, the more events are expected on the rarer side.
fn fraction_steps_f32(events: f32) -> i32 { return i32(13.0 + 20.0 / clamp(events, 0.4, 1e3)); }

// The probabilities of the gamma distribution of shape a below and above x, of which the smaller one has all of its
// digits.
fn gamma_tails_f32(a: f32, x: f32) -> vec2<f32> {
  let ba = bitcast<u32>(a);
  let bx = bitcast<u32>(x);
  let infinite = 0x7f800000u;
  let a_zero = (ba & 0x7fffffffu) == 0u;
  let x_zero = (bx & 0x7fffffffu) == 0u;
  if ((ba > infinite && !a_zero) || (bx > infinite && !x_zero) || (a_zero && x_zero) || (ba == infinite && bx == infinite)) {
    return vec2<f32>(nan_f32());
  }
  if (a_zero || bx == infinite) { return vec2<f32>(1.0, 0.0); }
  if (x_zero || ba == infinite) { return vec2<f32>(0.0, 1.0); }
  if (max(a, x) > 1e30) {
    let lower = select(select(1.0, 0.0, x < a), 0.5, x == a);
    return vec2<f32>(lower, 1.0 - lower);
  }
  return gamma_tails_inside_f32(a, x);
}

fn gamma_tails_inside_f32(a: f32, x: f32) -> vec2<f32> {
  if (x <= 1.1 && (a <= 1.1 * x || a * log_f32(x) > -0.4) && a < 1.25) {
    // The upper tail of a small shape, by the power series of the lower one.
    let t = a * log_f32(x) - lgamma_near_two_f32(a - 1.0, a);
    var term = 1.0;
    var sum = 0.0;
    for (var k = 1; k <= 12; k++) {
      term *= -x / f32(k);
      sum += term / (a + f32(k));
    }
    let v = -expm1_f32(t) - exp_f32(t) * a * sum;
    return vec2<f32>(1.0 - v, v);
  }
  let d = sum_pair_f32(x, -a);
  let e = excess_f32(a, vec2<f32>(x, 0.0), 1.0, d);
  if (e.x > 105.0) { return select(vec2<f32>(1.0, 0.0), vec2<f32>(0.0, 1.0), d.x < 0.0); }
  let density = times_exp_f32(scaled_rgamma_f32(a), -e.x, -e.y);
  if (a > 20.0 && abs(d.x) < 0.3 * a) {
    let side = select(1.0, -1.0, d.x < 0.0);
    let v = density * tail_integral_f32(side * (d.x + 1.0), a - 1.0, side, 0.0, 0.0);
    return select(vec2<f32>(1.0 - v, v), vec2<f32>(v, 1.0 - v), d.x < 0.0);
  }
  if (x < a || x <= 1.1) {
    var term = 1.0;
    var sum = 1.0;
    for (var k = 1; k <= 80 && term > 3e-8 * sum; k++) {
      term *= x / (a + f32(k));
      sum += term;
    }
    let v = density / a * sum;
    return vec2<f32>(v, 1.0 - v);
  }
  var rest = 0.0;
  for (var k = f32(fraction_steps_f32(x)); k > 0.0; k -= 1.0) {
    rest = k * (k - a) / (((d.x + 1.0) + 2.0 * k) - rest);
  }
  let v = density / ((d.x + 1.0) - rest);
  return vec2<f32>(1.0 - v, v);
}

// log(Γ(b + a) / Γ(b)) for a in [0, ½], to the digits of a: t + a log c - log(1 + p) with t, c and p.
fn lgamma_step_f32(b: f32, a: f32) -> vec3<f32> {
  var base = b;
  var p = 0.0;
  while (base < 4.0) {
    let q = a / base;
    p += q + p * q;
    base += 1.0;
  }
  let top = base + a;
  let r = 1.0 / base;
  let s = 1.0 / top;
  let z = r * r + s * s;
  let y = r * s;
  let stirling = -a * y * ((0.0833333333 - (z + y) * 0.00277777778) + (z * z + y * (z - y)) * 0.000793650794);
  let q = a / base;
  let near = select((base - 0.5) * log1p_f32(q) - a, -0.5 * q, q < 1e-8);
  return vec3<f32>(near + stirling, top, p);
}

// The same of the beta distribution where b x and x are at most 0.7; `density` is x^a (1 - x)^b / B(a, b), and n = a + b.
fn beta_tails_near_f32(a: f32, b: f32, n: f32, x: f32, density: f32) -> vec2<f32> {
  if (a < 0.5) {
    let step = lgamma_step_f32(b, a);
    let t = (a * log_f32(x * step.y) + step.x) - lgamma_near_two_f32(a - 1.0, a);
    var term = 1.0;
    var sum = 0.0;
    for (var k = 1.0; k <= 50.0 && abs(term) > 3e-8; k += 1.0) {
      term *= (k - b) * x / k;
      sum += term / (a + k);
    }
    let power = exp_f32(t) / (1.0 + step.z);
    let v = -expm1_f32(t - log1p_f32(step.z)) - power * (a * sum);
    if (v < 0.5) { return vec2<f32>(1.0 - v, v); }
    // The density of tiny parameters is denormal.
    if (density < 1e-34) { return vec2<f32>(power + power * (a * sum), v); }
  }
  var term = 1.0;
  var sum = 1.0;
  for (var k = 0.0; k < 80.0 && term > 3e-8 * sum; k += 1.0) {
    term *= (n + k) * x / ((a + 1.0) + k);
    sum += term;
  }
  let v = density / a * sum;
  return vec2<f32>(v, 1.0 - v);
}

// The lower tail divided by x^a (1 - x)^b / B(a, b), for x below the mean: λ = a - (a + b) x >= 0.
fn beta_fraction_f32(a: f32, b: f32, x: f32, y: f32, lambda: f32, steps: i32) -> f32 {
  let r = 1.0 / a;
  let c = 1.0 + lambda;
  var rest = 0.0;
  for (var k = f32(steps); k > 0.0; k -= 1.0) {
    let s = 1.0 / (a + (2.0 * k - 1.0));
    let p = 1.0 + (k - 1.0) * r;
    let e = a * s;
    let w = (b - k) * x;
    let t = k * r;
    let alpha = (p * e * e * k) * ((p + b * r) * x) * w;
    let beta = k + k * w * s + (1.0 + t) / ((1.0 + r) + 2.0 * t) * (c + k * (1.0 + y));
    rest = alpha / (beta + rest);
  }
  return 1.0 / (c / (1.0 + r) + rest);
}

// The probabilities of the beta distribution of a and b below and above x.
fn beta_tails_f32(a: f32, b: f32, x: f32) -> vec2<f32> {
  let ba = bitcast<u32>(a);
  let bb = bitcast<u32>(b);
  let bx = bitcast<u32>(x);
  let infinite = 0x7f800000u;
  let a_zero = (ba & 0x7fffffffu) == 0u;
  let b_zero = (bb & 0x7fffffffu) == 0u;
  let x_zero = (bx & 0x7fffffffu) == 0u;
  if ((ba > infinite && !a_zero) || (bb > infinite && !b_zero) || (bx > 0x3f800000u && !x_zero) ||
      (a_zero && b_zero) || (ba == infinite && bb == infinite)) {
    return vec2<f32>(nan_f32());
  }
  if (x_zero) { return vec2<f32>(0.0, 1.0); }
  if (bx == 0x3f800000u) { return vec2<f32>(1.0, 0.0); }
  if (a_zero || bb == infinite) { return vec2<f32>(1.0, 0.0); }
  if (b_zero || ba == infinite) { return vec2<f32>(0.0, 1.0); }
  if (max(a, b) <= 1e30) { return beta_tails_inside_f32(a, b, x); }
  if (min(a, b) <= 1e20) {
    let rare = gamma_tails_f32(min(a, b), max(a, b) * select(1.0 - x, x, b > a));
    return select(rare.yx, rare, b > a);
  }
  // So many events that only at the mean there is neither 0 nor 1.
  let p = product_pair_f32(b * 0x1p-10, x);
  let q = product_pairs_f32(vec2<f32>(a * 0x1p-10, 0.0), sum_pair_f32(1.0, -x));
  let d = (p.x - q.x) + (p.y - q.y);
  let lower = select(select(1.0, 0.0, d < 0.0), 0.5, abs(d) <= 1e-9 * p.x);
  return vec2<f32>(lower, 1.0 - lower);
}

// The beta distribution about x = 1 - y: n = a + b, n x and n y, d = n x - a, and the density in log(x / y), which is
// x^a y^b / B(a, b); `beyond`: it is 0, and one of the tails, too.
struct BetaPointF32 { y: f32, n: f32, nx: f32, ny: f32, d: f32, density: f32, beyond: bool }

fn beta_point_f32(a: f32, b: f32, x: f32) -> BetaPointF32 {
  let y = sum_pair_f32(1.0, -x);
  let n = sum_pair_f32(a, b);
  // A tiny x is scaled up: its low bits, and n x, may be denormal.
  let unit = select(1.0, 0x1p64, x < 1e-20);
  let scaled = product_pairs_f32(n, vec2<f32>(x * unit, 0.0));
  let nx = scaled / unit;
  let ny = product_pairs_f32(n, y);
  // n x - a
  let whole = sum_pair_f32(nx.x, -a);
  let d = sum_pair_f32(whole.x, whole.y + nx.y);
  let ea = excess_f32(a, scaled, unit, d);
  let eb = excess_f32(b, ny, 1.0, -d);
  if (ea.x + eb.x > 105.0) { return BetaPointF32(y.x, n.x, nx.x, ny.x, d.x, 0.0, true); }
  let e = sum_pair_f32(ea.x, eb.x);
  let scale = scaled_rgamma_f32(a) / scaled_rgamma_f32(n.x) * scaled_rgamma_f32(b);
  let density = times_exp_f32(scale, -e.x, -(e.y + (ea.y + eb.y)));
  return BetaPointF32(y.x, n.x, nx.x, ny.x, d.x, density, false);
}

fn beta_tails_inside_f32(a: f32, b: f32, x: f32) -> vec2<f32> {
  return beta_tails_at_f32(a, b, x, beta_point_f32(a, b, x));
}

fn beta_tails_at_f32(a: f32, b: f32, x: f32, point: BetaPointF32) -> vec2<f32> {
  let y = point.y;
  let d = point.d;
  let density = point.density;
  let low = d < 0.0;
  if (point.beyond) { return select(vec2<f32>(1.0, 0.0), vec2<f32>(0.0, 1.0), low); }
  if (min(a, b) > 20.0) {
    let side = select(-1.0, 1.0, low);
    let slope = side * ((x - y) - d);
    let v = density * tail_integral_f32(slope, a - 1.0, -side * y, b - 1.0, side * x);
    return select(vec2<f32>(1.0 - v, v), vec2<f32>(v, 1.0 - v), low);
  }
  if (x <= 0.7 && b * x <= 0.7) { return beta_tails_near_f32(a, b, point.n, x, density); }
  if (y <= 0.7 && a * y <= 0.7) { return beta_tails_near_f32(b, a, point.n, y, density).yx; }
  let steps = fraction_steps_f32(min(point.nx, point.ny));
  if (low) {
    let v = density * beta_fraction_f32(a, b, x, y, -d, steps);
    return vec2<f32>(v, 1.0 - v);
  }
  let v = density * beta_fraction_f32(b, a, y, x, d, steps);
  return vec2<f32>(1.0 - v, v);
}

fn gammainc_f32(a: f32, x: f32) -> f32 { return gamma_tails_f32(a, x).x; }

fn gammaincc_f32(a: f32, x: f32) -> f32 { return gamma_tails_f32(a, x).y; }

fn betainc_f32(a: f32, b: f32, x: f32) -> f32 { return beta_tails_f32(a, b, x).x; }

// ---- Inverses in x. A tail's logarithm is concave in log x, of the beta distribution in log(x / y): the densities in
// these are log-concave. So Newton's method converges from one side; Halley's steps, by the density and its derivative,
// are cubic, and an interval of the solution bounds them.

// A number of which the standard normal distribution has about that upper tail (Hastings, "Approximations for digital
// computers", 1955).
fn normal_quantile_f32(tail: f32) -> f32 {
  let t = sqrt(-2.0 * log_f32(tail));
  return t - (2.30753 + 0.27061 * t) / (1.0 + t * (0.99229 + 0.04481 * t));
}

// A step of Halley's method for log(tail / wanted) = g, whose derivative is `slope`; `curvature`: the second derivative
// divided by the first one. `last`: what is left is below the tails' own errors.
struct HalleyStepF32 { by: f32, last: bool }

fn halley_step_f32(g: f32, slope: f32, curvature: f32) -> HalleyStepF32 {
  let newton = clamp(-g / slope, -1e18, 1e18);
  let bend = newton * curvature;
  return HalleyStepF32(newton / clamp(1.0 + 0.5 * bend, 0.5, 2.0), abs(g) < 3e-3 && abs(bend) < 1e-2);
}

const kLeastF32 = 1.17549435e-38;
const kMostF32 = 3.0e38;

// log Γ(1 + a), to the digits of a.
fn lgamma1p_f32(a: f32) -> f32 {
  if (a <= 1.0) { return lgamma_near_two_f32(a - 1.0, a); }
  return lgamma_positive_f32(1.0 + a);
}

// True if an upper tail of that shape is proportional to the shape, and the same of a multiple of both, whose parts are
// not denormal.
fn is_proportional_f32(a: f32, tail: f32) -> bool { return max(a, tail) < 1e-30; }

// The x > 0 at which the gamma distribution of shape a has that lower, or upper, tail of (0, ½].
fn gamma_quantile_f32(a: f32, tail: f32, lower: bool) -> f32 {
  if (!lower && is_proportional_f32(a, tail)) { return gamma_quantile_inside_f32(a * 0x1p32, tail * 0x1p32, lower); }
  return gamma_quantile_inside_f32(a, tail, lower);
}

fn gamma_quantile_inside_f32(a: f32, tail: f32, lower: bool) -> f32 {
  if (a > 1e18) { return a; }
  let wanted = log_f32(tail);
  let gamma = lgamma1p_f32(a);
  // x^a / Γ(a + 1) is above the lower tail.
  var x = exp_f32((select(log1p_f32(-tail), wanted, lower) + gamma) / max(a, 1e-36));
  if (a >= 1.0) {                          // Wilson and Hilferty, "The distribution of chi-square", 1931
    let h = 1.0 / (9.0 * a);
    let c = (1.0 - h) + select(1.0, -1.0, lower) * normal_quantile_f32(tail) * sqrt(h);
    x = max(x, select(0.0, a * c * c * c, c > 0.0));
  } else if (!lower) {                     // exp(-x) / Γ(a) is above the upper tail from 1 on
    x = max(x, log_f32(a) - gamma - wanted);
  }
  var low = 0.0;
  var high = kMostF32;
  for (var k = 0; k < 64; k++) {
    x = clamp(x, kLeastF32, kMostF32);
    let both = gamma_tails_f32(a, x);
    let at = select(both.y, both.x, lower);
    let below = (at < tail) == lower;
    if (x == kLeastF32 && !below) { return 0.0; }
    if (below) { low = x; } else { high = x; }
    var next = -1.0;
    let d = sum_pair_f32(x, -a);
    let e = excess_f32(a, vec2<f32>(x, 0.0), 1.0, d);
    if (at > 0.0 && e.x < 105.0) {
      let density = times_exp_f32(scaled_rgamma_f32(a), -e.x, -e.y);
      if (density > 0.0) {
        let g = log_f32(at / tail);
        let slope = select(-density, density, lower) / at;
        if (!lower && x > 1.0) {           // the upper tail is nearly exponential
          let step = halley_step_f32(g, slope / x, (a - 1.0 - slope) / x - 1.0);
          next = x + step.by;
          if (step.last || next == x) { return next; }
        } else {
          let step = halley_step_f32(g, slope, -d.x - slope);
          next = x * exp_f32(step.by);
          if (step.last || next == x) { return next; }
        }
      }
    }
    if (!(next < high && next > low)) {
      next = sqrt(low) * sqrt(high);
      if (low == 0.0) { next = 0.25 * x; }
      if (high == kMostF32) { next = 4.0 * x; }
      if (!(next < high && next > low)) { return x; }
    }
    x = next;
  }
  return x;
}

// log(a / (a + b))
fn log_share_f32(a: f32, b: f32) -> f32 {
  if (b > a) { return log_f32(a) - log_f32(a + b); }
  return -log1p_f32(b / a);
}

// Of the beta distribution of a and b, as a number and its difference from 1.
fn beta_quantile_f32(a: f32, b: f32, tail: f32, lower: bool) -> vec2<f32> {
  if (max(a, b) > 1e30) {
    if (min(a, b) > 1e20) { return vec2<f32>(1.0 / (1.0 + div_f32(b, a)), 1.0 / (1.0 + div_f32(a, b))); }
    let v = div_f32(gamma_quantile_f32(min(a, b), tail, lower == (b > a)), max(a, b));
    return select(vec2<f32>(1.0 - v, v), vec2<f32>(v, 1.0 - v), b > a);
  }
  // A tail at the end of a tiny parameter, unless the other one is not much larger.
  if (max(a, b) > 1e-13 && is_proportional_f32(select(a, b, lower), tail)) {
    let up = vec2<f32>(select(0x1p32, 1.0, lower), select(1.0, 0x1p32, lower));
    return beta_quantile_inside_f32(a * up.x, b * up.y, tail * 0x1p32, lower);
  }
  return beta_quantile_inside_f32(a, b, tail, lower);
}

fn beta_quantile_inside_f32(a: f32, b: f32, tail: f32, lower: bool) -> vec2<f32> {
  var x = 0.0;
  var y = 0.0;
  if (min(a, b) >= 1.0) {                  // Abramowitz and Stegun 26.5.22
    let z = select(-1.0, 1.0, lower) * normal_quantile_f32(tail);
    let r = 1.0 / (2.0 * a - 1.0);
    let s = 1.0 / (2.0 * b - 1.0);
    let h = 2.0 / (r + s);
    let l = (z * z - 3.0) / 6.0;
    let w = z * sqrt(l + h) / h - (s - r) * (l + 0.833333333 - 2.0 / (3.0 * h));
    let e = exp_f32(clamp(2.0 * w, -80.0, 80.0));
    x = 1.0 / (1.0 + b / a * e);
    y = 1.0 / (1.0 + a / b / e);
  } else {
    // The density is about that of x^a / a below the mean, and that of y^b / b above it.
    let log_a = a * log_share_f32(a, b);
    let log_b = b * log_share_f32(b, a);
    let ratio = clamp((log_b - log_a) + (log_f32(a) - log_f32(b)), -80.0, 80.0);
    let below = select(log1p_f32(-tail), log_f32(tail), lower);
    let above = select(log_f32(tail), log1p_f32(-tail), lower);
    let part = softplus_f32(ratio);
    let in_lower = below < -part;
    let v = select((log_b + (part - ratio) + above) / max(b, 1e-36), (log_a + part + below) / max(a, 1e-36), in_lower);
    let e = exp_f32(min(v, -1e-3));
    x = select(1.0 - e, e, in_lower);
    y = select(e, 1.0 - e, in_lower);
  }
  var low = vec2<f32>(0.0, 1.0);
  var high = vec2<f32>(1.0, 0.0);
  for (var k = 0; k < 64; k++) {
    if (x < kLeastF32) {
      x = kLeastF32;
      y = 1.0;
    }
    if (y < 0x1p-30) {
      x = 1.0;
      y = 0x1p-30;
    }
    let turned = x > 0.5;
    let pa = select(a, b, turned);
    let pb = select(b, a, turned);
    let px = select(x, y, turned);
    let point = beta_point_f32(pa, pb, px);
    let both = beta_tails_at_f32(pa, pb, px, point);
    let at = select(both.y, both.x, lower != turned);
    let below = (at < tail) == lower;
    if (x == kLeastF32 && !below) { return vec2<f32>(0.0, 1.0); }
    if (y == 0x1p-30 && below) { return vec2<f32>(1.0, 0.0); }
    if (below) { low = vec2<f32>(x, y); } else { high = vec2<f32>(x, y); }
    var up = -1.0;                         // x / y relative to what it is
    if (at > 0.0 && point.density > 0.0) {
      let slope = select(-point.density, point.density, lower) / at;
      let step = halley_step_f32(log_f32(at / tail), slope, select(-point.d, point.d, turned) - slope);
      up = exp_f32(clamp(step.by, -80.0, 80.0));
      if (step.last || abs(step.by) < 6e-8) {
        let sum = y + x * up;
        return vec2<f32>(x * up / sum, y / sum);
      }
    }
    if (x * up * high.y < y * high.x && x * up * low.y > y * low.x) {
      let sum = y + x * up;
      x = x * up / sum;
      y = y / sum;
    } else {
      var odds = sqrt(low.x / low.y) * sqrt(high.x / max(high.y, 1e-30));
      if (low.x == 0.0) { odds = 0.0625 * (x / y); }
      if (high.y == 0.0) { odds = 16.0 * (x / y); }
      if (abs(odds * y - x) < 6e-8 * x) { break; }
      x = odds / (1.0 + odds);
      y = 1.0 / (1.0 + odds);
    }
  }
  return vec2<f32>(x, y);
}

// NaN unless a >= 0 and p in [0, 1]; at 0 and 1 the ends of the distribution.
fn gammaincinv_f32(a: f32, p: f32) -> f32 { return gamma_quantile_of_f32(a, p, true); }

fn gammainccinv_f32(a: f32, q: f32) -> f32 { return gamma_quantile_of_f32(a, q, false); }

fn gamma_quantile_of_f32(a: f32, p: f32, lower: bool) -> f32 {
  let ba = bitcast<u32>(a);
  let bp = bitcast<u32>(p);
  let infinite = 0x7f800000u;
  let a_zero = (ba & 0x7fffffffu) == 0u;
  let p_zero = (bp & 0x7fffffffu) < 0x800000u;  // or denormal
  if ((ba > infinite && !a_zero) || (bp > 0x3f800000u && !p_zero)) { return nan_f32(); }
  if (p_zero || bp == 0x3f800000u) { return select(infinity_f32(), 0.0, p_zero == lower); }
  if (a_zero || ba == infinite) { return nan_f32(); }
  let far = p > 0.5;
  return gamma_quantile_f32(a, select(p, 1.0 - p, far), lower != far);
}

// NaN unless a > 0, b > 0 and p in [0, 1].
fn betaincinv_f32(a: f32, b: f32, p: f32) -> f32 {
  let ba = bitcast<u32>(a);
  let bb = bitcast<u32>(b);
  let bp = bitcast<u32>(p);
  let infinite = 0x7f800000u;
  let p_zero = (bp & 0x7fffffffu) < 0x800000u;  // or denormal
  if (ba - 1u >= infinite || bb - 1u >= infinite || (bp > 0x3f800000u && !p_zero)) { return nan_f32(); }
  if (p_zero || bp == 0x3f800000u) { return select(1.0, 0.0, p_zero); }
  if (ba == infinite || bb == infinite) { return select(select(0.0, 1.0, ba > bb), nan_f32(), ba == bb); }
  // Also of tiny ones, of which every x is within a rounding error.
  if (ba == bb && bp == 0x3f000000u) { return 0.5; }
  let far = p > 0.5;
  return beta_quantile_f32(a, b, select(p, 1.0 - p, far), !far).x;
}
