{#
  Stores weights x in blocks whose scales come from a search, step by step as block_search_cpu.cc does (block_search.h),
  each step rounded to f32. A thread takes a run, whose scale it searches for; the `runs` of a block are adjacent threads',
  which then know the other runs' scales, compute codes of these and of numbers, and store a part of the block each.

  search, run, half, of_scale, first, tries, magnitudes: of BlockSearch. runs, bytes: of a block, which is stored as
  units of `unit` bits.

  options:
    search: offsets, scales, refined, nonlinear, ternary
    scheme: q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, tq1_0, tq2_0
    run: 16, 32
    runs: 1, 8, 16
    half: number
    of_scale: number
    first: text
    tries: number
    magnitudes: flag
    unit: 8, 32
    bytes: number
    threads: number
    least_magnitude: number
#}
{% set most = 2 * half - 1 %}
{% set slots = threads // runs %}
{% set words = run // 4 %}
fn nearest(x: f32, least: f32, most: f32) -> f32 { return clamp(round(x), least, most); }
fn quotient(a: f32, b: f32) -> f32 { return div_rn_f32(rounded(a), rounded(b)); }
// A sum with a product.
fn with_product(sum: f32, a: f32, b: f32) -> f32 { return rounded(sum + rounded(a * b)); }

// Powers of two by which numbers of such a magnitude come to 1 … 2 (of the largest, 4), and back.
fn exponent_of(magnitude: u32) -> u32 { return min(magnitude >> 23u, 253u); }
fn normalised(x: f32, exponent: u32) -> f32 {
  let v = x * bitcast<f32>((254u - exponent) << 23u);
  return select(v, 0.0, magnitude_bits(x) < 0x800000u || abs(v) < 0.000000000931322574615478515625);
}

// This thread's run, and the same as its scale is searched for.
var<private> of_block: array<f32, {{ run }}>;
var<private> x: array<f32, {{ run }}>;
var<private> codes: array<f32, {{ run }}>;

// The first number of the largest magnitude.
fn first_largest() -> f32 {
  var most = 0.0;
  for (var i = 0u; i < {{ run }}u; i++) {
    if (abs(x[i]) > abs(most)) { most = x[i]; }
  }
  return most;
}

{% if search == 'offsets' %}
var<private> mean: f32;
fn weight(i: u32) -> f32 { return {{ 'abs(x[i])' if magnitudes else 'rounded(mean + abs(x[i]))' }}; }
// Rounded to nearest even, digit by digit of the root of a normal number.
fn sqrt_rn(v: f32) -> f32 {
  let b = bitcast<u32>(v);
  let exponent = i32(b >> 23u) - 127;
  var rest = (((b & 0x7fffffu) | 0x800000u) << u32(exponent & 1)) << 1u;
  var root = 0u;
  var twice = 0u;
  for (var digit = 0x1000000u; digit != 0u; digit >>= 1u) {
    let next = twice + digit;
    if (next <= rest) {
      twice = next + digit;
      rest -= next;
      root += digit;
    }
    rest <<= 1u;
  }
  if (rest != 0u) { root += root & 1u; }
  return bitcast<f32>((root >> 1u) + 0x3f000000u + (u32(exponent >> 1u) << 23u));
}
fn codes_by(inverse: f32, low: f32) {
  for (var i = 0u; i < {{ run }}u; i++) { codes[i] = nearest(rounded(inverse * rounded(x[i] - low)), 0.0, {{ most }}.0); }
}
fn error_of(scale: f32, least: f32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < {{ run }}u; i++) {
    let off = rounded(rounded(rounded(scale * codes[i]) + least) - x[i]);
    sum = with_product(sum, weight(i), {{ 'abs(off)' if magnitudes else 'rounded(off * off)' }});
  }
  return sum;
}
// Of codes from a scale and a least number, the scale and the least number that fit them best.
fn search() -> vec2<f32> {
{% if not magnitudes %}
  mean = 0.0;
  for (var i = 0u; i < {{ run }}u; i++) { mean = with_product(mean, x[i], x[i]); }
  mean = sqrt_rn(quotient(mean, {{ run }}.0));
{% endif %}
  var low = x[0];
  var high = x[0];
  var sum_w = weight(0u);
  var sum_x = rounded(weight(0u) * x[0]);
  for (var i = 1u; i < {{ run }}u; i++) {
    low = min(low, x[i]);
    high = max(high, x[i]);
    sum_w = rounded(sum_w + weight(i));
    sum_x = with_product(sum_x, weight(i), x[i]);
  }
  low = min(low, 0.0);
  if (high == low) {
    for (var i = 0u; i < {{ run }}u; i++) { codes[i] = 0.0; }
    return vec2<f32>(0.0, low);
  }
  // Codes of the best try come from these.
  var best_inverse = quotient({{ most }}.0, high - low);
  var best_low = low;
  var scale = quotient(1.0, best_inverse);
  codes_by(best_inverse, low);
  var error = error_of(scale, low);
  for (var t = 0u; t < {{ tries }}u; t++) {
    let more = rounded(rounded(0.1 * f32(t)) + {{ first }});
    let inverse = quotient(more + {{ most }}.0, high - low);
    codes_by(inverse, low);
    var sum_l = 0.0;
    var sum_l2 = 0.0;
    var sum_xl = 0.0;
    for (var i = 0u; i < {{ run }}u; i++) {
      let w = rounded(weight(i) * codes[i]);
      sum_l = rounded(sum_l + w);
      sum_l2 = with_product(sum_l2, w, codes[i]);
      sum_xl = with_product(sum_xl, w, x[i]);
    }
    let determinant = rounded(rounded(sum_w * sum_l2) - rounded(sum_l * sum_l));
    if (determinant > 0.0) {
      var now_scale = quotient(rounded(sum_w * sum_xl) - rounded(sum_x * sum_l), determinant);
      var now_low = quotient(rounded(sum_l2 * sum_x) - rounded(sum_l * sum_xl), determinant);
      if (now_low > 0.0) {
        now_low = 0.0;
        now_scale = quotient(sum_xl, sum_l2);
      }
      let now = error_of(now_scale, now_low);
      if (now < error) {
        error = now;
        scale = now_scale;
        best_inverse = inverse;
        best_low = low;
        low = now_low;
      }
    }
  }
  codes_by(best_inverse, best_low);
  return vec2<f32>(scale, low);
}
{% elif search == 'scales' %}
fn codes_by(inverse: f32) {
  for (var i = 0u; i < {{ run }}u; i++) { codes[i] = nearest(rounded(inverse * x[i]), -{{ half }}.0, {{ half - 1 }}.0); }
}
// Of the codes of some scales, those whose sum of squared errors, which weigh as much as the numbers' squares, is least.
fn search() -> vec2<f32> {
  let end = first_largest();
  var scale = 0.0;
  var best = 0.0;
  var best_inverse = 0.0;
  for (var t = 0; t <= 18; t++) {
    // The first one is that of the number of largest magnitude.
    let step = select(select(t - 9, t - 10, t <= 9), 0, t == 0);
    let inverse = quotient(-rounded({{ half }}.0 + rounded(0.1 * f32(step))), end);
    codes_by(inverse);
    var sum_xl = 0.0;
    var sum_l2 = 0.0;
    for (var i = 0u; i < {{ run }}u; i++) {
      let w = rounded(x[i] * x[i]);
      sum_xl = with_product(sum_xl, rounded(w * x[i]), codes[i]);
      sum_l2 = with_product(sum_l2, rounded(w * codes[i]), codes[i]);
    }
    if (t == 0 || (sum_l2 > 0.0 && rounded(sum_xl * sum_xl) > rounded(best * sum_l2))) {
      scale = 0.0;
      if (sum_l2 > 0.0) { scale = quotient(sum_xl, sum_l2); }
      best = rounded(scale * sum_xl);
      best_inverse = inverse;
    }
  }
  codes_by(best_inverse);
  for (var i = 0u; i < {{ run }}u; i++) { codes[i] += {{ half }}.0; }
  return vec2<f32>(scale, 0.0);
}
{% elif search == 'refined' %}
// One code after the other is set to what fits best with the others, while this gives a better fit.
fn search() -> vec2<f32> {
  let inverse = quotient(-{{ half }}.0, first_largest());
  var sum_xl = 0.0;
  var sum_l2 = 0.0;
  for (var i = 0u; i < {{ run }}u; i++) {
    codes[i] = nearest(rounded(inverse * x[i]), -{{ half }}.0, {{ half - 1 }}.0);
    let w = rounded(x[i] * x[i]);
    sum_xl = with_product(sum_xl, rounded(w * x[i]), codes[i]);
    sum_l2 = with_product(sum_l2, rounded(w * codes[i]), codes[i]);
  }
  var changed = true;
  for (var t = 0u; t < 5u && changed; t++) {
    changed = false;
    for (var i = 0u; i < {{ run }}u; i++) {
      let w = rounded(x[i] * x[i]);
      let wx = rounded(w * x[i]);
      var xl = rounded(sum_xl - rounded(wx * codes[i]));
      if (xl > 0.0) {
        var l2 = rounded(sum_l2 - rounded(rounded(w * codes[i]) * codes[i]));
        let code = nearest(quotient(x[i] * l2, xl), -{{ half }}.0, {{ half - 1 }}.0);
        if (code != codes[i]) {
          xl = with_product(xl, wx, code);
          l2 = with_product(l2, rounded(w * code), code);
          if (l2 > 0.0 && rounded(rounded(xl * xl) * sum_l2) > rounded(rounded(sum_xl * sum_xl) * l2)) {
            codes[i] = code;
            sum_xl = xl;
            sum_l2 = l2;
            changed = true;
          }
        }
      }
    }
  }
  for (var i = 0u; i < {{ run }}u; i++) { codes[i] += {{ half }}.0; }
  var scale = 0.0;
  if (sum_l2 > 0.0) { scale = quotient(sum_xl, sum_l2); }
  return vec2<f32>(scale, 0.0);
}
{% elif search == 'nonlinear' %}
fn nearest_of_table(v: f32) -> u32 {
  return u32(v >= -115.5) + u32(v >= -93.5) + u32(v >= -74.0) + u32(v >= -57.0) + u32(v >= -42.0) + u32(v >= -28.5) +
         u32(v >= -16.0) + u32(v >= -4.5) + u32(v >= 7.0) + u32(v >= 19.0) + u32(v >= 31.5) + u32(v >= 45.5) +
         u32(v >= 61.0) + u32(v >= 79.0) + u32(v >= 101.0);
}
fn search() -> vec2<f32> {
  let end = first_largest();
  var scale = 0.0;
  var best = 0.0;
  for (var t = 0; t <= 15; t++) {
    var inverse = 0.0;
    if (t == 0) {
      inverse = quotient(1.0, quotient(end, 127.0));
    } else {
      inverse = quotient(f32(t - 135), end);
    }
    var sum_xq = 0.0;
    var sum_q2 = 0.0;
    for (var i = 0u; i < {{ run }}u; i++) {
      let q = nonlinear(nearest_of_table(rounded(inverse * x[i])));
      let w = rounded(rounded(x[i] * x[i]) * q);
      sum_xq = with_product(sum_xq, w, x[i]);
      sum_q2 = with_product(sum_q2, w, q);
    }
    if (t == 0 || (sum_q2 > 0.0 && rounded(sum_xq * sum_xq) > rounded(best * sum_q2))) {
      scale = 0.0;
      if (sum_q2 > 0.0) { scale = quotient(sum_xq, sum_q2); }
      best = rounded(scale * sum_xq);
    }
  }
  return vec2<f32>(scale, 0.0);
}
{% endif %}

// ---- A block before it is packed
var<workgroup> magnitudes: array<u32, {{ threads }}>;
var<workgroup> scales: array<f32, {{ threads }}>;
var<workgroup> leasts: array<f32, {{ threads }}>;
// The codes of a run's scale and of what comes off, a byte each; the f16 numbers of the block; four codes in a word.
var<workgroup> codes_of_scales: array<u32, {{ threads }}>;
var<workgroup> headers: array<u32, {{ slots }}>;
var<workgroup> codes_of_block: array<u32, {{ threads * words }}>;

// The number of an f16; devices may take denormal ones for 0 where they unpack them.
fn number_of_half(h: u32) -> f32 {
  let a = h & 0x7fffu;
  let v = select(bitcast<f32>((a << 13u) + 0x38000000u), f32(a) * 0.000000059604644775390625, a < 0x400u);
  return select(v, -v, (h & 0x8000u) != 0u);
}
fn is_finite_half(h: u32) -> bool { return (h & 0x7c00u) != 0x7c00u; }

struct Combined {
  header: u32,
  code_of_scale: u32,
  valid: bool,
}
// The codes of scales, and of what comes off; the codes of numbers then by the scales as they are stored.
fn combined(first: u32, lane: u32, exponent: u32, zeros: bool, found: vec2<f32>, magnitude: u32) -> Combined {
  let down = select(bitcast<f32>((254u - exponent) << 23u), 0.0, zeros);
  let up = select(bitcast<f32>(exponent << 23u), 0.0, zeros);
  var r = Combined(0u, 0u, true);
{% if search == 'ternary' %}
  let scale = select(normalised(bitcast<f32>(magnitude), exponent), 0.0, zeros);
  var inverse = 0.0;
  if (scale != 0.0) { inverse = quotient(1.0, scale); }
  r.header = narrow_f16(rounded(scale * up));
  for (var i = 0u; i < {{ run }}u; i++) {
    let product = rounded(of_block[i] * inverse);
    let away = select(0.0, 1.0, abs(product) >= 0.5);
    codes[i] = 1.0 + select(away, -away, product < 0.0);
  }
  r.valid = is_finite_half(r.header);
{% elif search == 'offsets' %}
  var scale = 0.0;
  var off = 0.0;
  for (var j = 0u; j < {{ runs }}u; j++) {
    scale = max(scale, scales[first + j]);
    off = max(off, -leasts[first + j]);
  }
  var by_scale = 0.0;
  var by_off = 0.0;
  if (scale > 0.0) { by_scale = quotient({{ of_scale }}.0, scale); }
  if (off > 0.0) { by_off = quotient({{ of_scale }}.0, off); }
  let scale_bits = narrow_f16(rounded(quotient(scale, {{ of_scale }}.0) * up));
  let off_bits = narrow_f16(rounded(quotient(off, {{ of_scale }}.0) * up));
  r.header = scale_bits | (off_bits << 16u);
  r.valid = is_finite_half(scale_bits) && is_finite_half(off_bits);
  let code = nearest(rounded(by_scale * found.x), 0.0, {{ of_scale }}.0);
  let less = nearest(rounded(by_off * -found.y), 0.0, {{ of_scale }}.0);
  r.code_of_scale = u32(code) | (u32(less) << 8u);
  let step = rounded(rounded(number_of_half(scale_bits) * down) * code);
  let added = rounded(rounded(number_of_half(off_bits) * down) * less);
  if (r.valid && step != 0.0) {
    for (var i = 0u; i < {{ run }}u; i++) {
      codes[i] = nearest(quotient(of_block[i] + added, step), 0.0, {{ most }}.0);
    }
  }
{% else %}
  var end = 0.0;
  for (var j = 0u; j < {{ runs }}u; j++) {
    if (abs(scales[first + j]) > abs(end)) { end = scales[first + j]; }
  }
{% if search == 'nonlinear' %}
{% if runs == 1 %}
  let scale = end;
{% else %}
  let scale = select(quotient(-end, {{ of_scale }}.0), 0.0, end == 0.0);
{% endif %}
  var by_scale = 0.0;
  if (scale != 0.0) { by_scale = quotient(1.0, scale); }
  r.header = narrow_f16(rounded(scale * up));
  r.valid = is_finite_half(r.header);
{% if runs == 1 %}
  let code = 1.0;
{% else %}
  let code = nearest(rounded(by_scale * found.x), -{{ of_scale }}.0, {{ of_scale - 1 }}.0);
{% endif %}
  r.code_of_scale = u32(i32(code) + {{ of_scale }});
  let step = rounded(scale * code);
  var inverse = 0.0;
  if (step != 0.0) { inverse = quotient(1.0, step); }
  for (var i = 0u; i < {{ run }}u; i++) { codes[i] = f32(nearest_of_table(rounded(inverse * of_block[i]))); }
{% else %}
  if (end != 0.0) {
    let by_scale = quotient(-{{ of_scale }}.0, end);
    r.header = narrow_f16(rounded(quotient(1.0, by_scale) * up));
    r.valid = is_finite_half(r.header);
    let code = nearest(rounded(by_scale * found.x), -{{ of_scale }}.0, {{ of_scale - 1 }}.0);
    r.code_of_scale = u32(i32(code){{ ' + ' ~ of_scale if scheme == 'q3_k' }}) & 255u;
    let step = rounded(rounded(number_of_half(r.header) * down) * code);
    if (r.valid && step != 0.0) {
      for (var i = 0u; i < {{ run }}u; i++) {
        codes[i] = nearest(quotient(of_block[i], step), -{{ half }}.0, {{ half - 1 }}.0) + {{ half }}.0;
      }
    }
  }
{% endif %}
{% endif %}
  return r;
}

// ---- Packing, as the formats' pieces read it: slots are blocks of the workgroup
fn code_at(slot: u32, e: u32) -> u32 { return (codes_of_block[slot * {{ runs * words }}u + e / 4u] >> (e % 4u * 8u)) & 255u; }
fn scale_at(slot: u32, j: u32) -> u32 { return codes_of_scales[slot * {{ runs }}u + j] & 255u; }
fn least_at(slot: u32, j: u32) -> u32 { return codes_of_scales[slot * {{ runs }}u + j] >> 8u; }
// Byte k of an f16, and of two.
fn header_at(slot: u32, k: u32) -> u32 { return (headers[slot] >> (k * 8u)) & 255u; }
// Two bits of each code, of four runs of 32 in a byte.
fn twos_at(slot: u32, k: u32, shift: u32) -> u32 {
  var byte = 0u;
  for (var r = 0u; r < 4u; r++) { byte |= ((code_at(slot, k / 32u * 128u + 32u * r + k % 32u) >> shift) & 3u) << (2u * r); }
  return byte;
}
// One bit of each code, of eight runs of 32.
fn ones_at(slot: u32, k: u32, shift: u32) -> u32 {
  var byte = 0u;
  for (var r = 0u; r < 8u; r++) { byte |= ((code_at(slot, 32u * r + k) >> shift) & 1u) << r; }
  return byte;
}
// The low four bits of elements that are `apart` from each other, in each 2 · apart.
fn fours_at(slot: u32, k: u32, apart: u32) -> u32 {
  let e = k / apart * 2u * apart + k % apart;
  return (code_at(slot, e) & 15u) | ((code_at(slot, e + apart) & 15u) << 4u);
}
// Digits of three values, the first one the highest, as 256ths of a byte that is rounded up.
fn threes_at(slot: u32, first: u32, count: u32, digits: u32, k: u32) -> u32 {
  var number = 0u;
  for (var n = 0u; n < 5u; n++) {
    number *= 3u;
    if (n < digits) { number += code_at(slot, first + n * count + k); }
  }
  return (number * 256u + 242u) / 243u;
}
// Six bits of eight scales and of what comes off.
fn k_scales_at(slot: u32, k: u32) -> u32 {
  let j = k % 4u;
  if (k < 4u) { return scale_at(slot, j) | ((scale_at(slot, j + 4u) >> 4u) << 6u); }
  if (k < 8u) { return least_at(slot, j) | ((least_at(slot, j + 4u) >> 4u) << 6u); }
  return (scale_at(slot, j + 4u) & 15u) | ((least_at(slot, j + 4u) & 15u) << 4u);
}
fn byte_at(slot: u32, k: u32) -> u32 {
{% if scheme == 'q2_k' %}
  if (k < 16u) { return scale_at(slot, k) | (least_at(slot, k) << 4u); }
  if (k < 80u) { return twos_at(slot, k - 16u, 0u); }
  return header_at(slot, k - 80u);
{% elif scheme == 'q3_k' %}
  if (k < 32u) { return ones_at(slot, k, 2u); }
  if (k < 96u) { return twos_at(slot, k - 32u, 0u); }
  if (k < 104u) { return (scale_at(slot, k - 96u) & 15u) | ((scale_at(slot, k - 88u) & 15u) << 4u); }
  if (k >= 108u) { return header_at(slot, k - 108u); }
  var byte = 0u;
  for (var r = 0u; r < 4u; r++) { byte |= (scale_at(slot, 4u * r + k - 104u) >> 4u) << (2u * r); }
  return byte;
{% elif scheme in ['q4_k', 'q5_k'] %}
  if (k < 4u) { return header_at(slot, k); }
  if (k < 16u) { return k_scales_at(slot, k - 4u); }
{% if scheme == 'q5_k' %}
  if (k < 48u) { return ones_at(slot, k - 16u, 4u); }
{% endif %}
  return fours_at(slot, k - {{ 48 if scheme == 'q5_k' else 16 }}u, 32u);
{% elif scheme == 'q6_k' %}
  if (k < 128u) { return fours_at(slot, k, 64u); }
  if (k < 192u) { return twos_at(slot, k - 128u, 4u); }
  if (k < 208u) { return scale_at(slot, k - 192u); }
  return header_at(slot, k - 208u);
{% elif scheme == 'iq4_nl' %}
  if (k < 2u) { return header_at(slot, k); }
  return fours_at(slot, k - 2u, 16u);
{% elif scheme == 'iq4_xs' %}
  if (k < 2u) { return header_at(slot, k); }
  if (k >= 8u) { return fours_at(slot, k - 8u, 16u); }
  if (k >= 4u) { return (scale_at(slot, 2u * k - 8u) & 15u) | ((scale_at(slot, 2u * k - 7u) & 15u) << 4u); }
  var byte = 0u;
  for (var r = 0u; r < 4u; r++) { byte |= (scale_at(slot, 4u * k - 8u + r) >> 4u) << (2u * r); }
  return byte;
{% elif scheme == 'tq1_0' %}
  if (k < 32u) { return threes_at(slot, 0u, 32u, 5u, k); }
  if (k < 48u) { return threes_at(slot, 160u, 16u, 5u, k - 32u); }
  if (k < 52u) { return threes_at(slot, 240u, 4u, 4u, k - 48u); }
  return header_at(slot, k - 52u);
{% else %}
  if (k < 64u) { return twos_at(slot, k, 0u); }
  return header_at(slot, k - 64u);
{% endif %}
}

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
  let slot = lid / {{ runs }}u;
  let lane = lid % {{ runs }}u;
  let first = slot * {{ runs }}u;
  let t = group_index(wg, groups) * {{ slots }}u + slot;
  let inside = t < p.count;
  let outer = min(t, p.count - 1u) / p.blocks;
  let block = min(t, p.count - 1u) - outer * p.blocks;
  let c = coords(outer);
  let begin = at_x(c) + (block * {{ runs * run }}u + lane * {{ run }}u) * p.x_along;
  var magnitude = 0u;
  for (var i = 0u; i < {{ run }}u; i++) {
    of_block[i] = load_x(begin + i * p.x_along);
    magnitude = max(magnitude, magnitude_bits(of_block[i]));
  }
  magnitudes[lid] = magnitude;
  workgroupBarrier();
  for (var j = 0u; j < {{ runs }}u; j++) { magnitude = max(magnitude, magnitudes[first + j]); }
  var valid = magnitude < 0x7f800000u;
  let zeros = !valid || magnitude < {{ least_magnitude }}u;
  let exponent = exponent_of(magnitude);
  var of_run = 0u;
  for (var i = 0u; i < {{ run }}u; i++) {
    var v = 0.0;
    if (!zeros) { v = normalised(of_block[i], exponent); }
    of_block[i] = v;
    codes[i] = 0.0;
    of_run = max(of_run, magnitude_bits(v));
  }
  var found = vec2<f32>();
{% if search != 'ternary' %}
  if (of_run != 0u) {
    let exponent_of_run = exponent_of(of_run);
    for (var i = 0u; i < {{ run }}u; i++) { x[i] = normalised(of_block[i], exponent_of_run); }
    found = search() * bitcast<f32>(exponent_of_run << 23u);
  }
  scales[lid] = found.x;
  leasts[lid] = found.y;
{% endif %}
  workgroupBarrier();
  let result = combined(first, lane, exponent, zeros, found, magnitude);
  valid = valid && result.valid;
  codes_of_scales[lid] = select({{ of_scale if scheme in ['q3_k', 'iq4_xs'] else 0 }}u, result.code_of_scale, valid);
  if (lane == 0u) { headers[slot] = select(0x7e00u, result.header, valid); }
  for (var w = 0u; w < {{ words }}u; w++) {
    let four = vec4<u32>(vec4<f32>(codes[4u * w], codes[4u * w + 1u], codes[4u * w + 2u], codes[4u * w + 3u]));
    codes_of_block[lid * {{ words }}u + w] = select(0u, four.x | (four.y << 8u) | (four.z << 16u) | (four.w << 24u), valid);
  }
  workgroupBarrier();
  if (!inside) { return; }
{% set units = bytes * 8 // unit %}
  let to = (at_row(c) * p.blocks + block) * {{ units }}u;
  for (var u = lane; u < {{ units }}u; u += {{ runs }}u) {
{% if unit == 32 %}
    store_values(to + u, byte_at(slot, 4u * u) | (byte_at(slot, 4u * u + 1u) << 8u) | (byte_at(slot, 4u * u + 2u) << 16u) | (byte_at(slot, 4u * u + 3u) << 24u));
{% else %}
    store_values(to + u, byte_at(slot, u));
{% endif %}
  }
}
