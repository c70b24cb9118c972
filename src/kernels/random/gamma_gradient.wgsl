{#
  y = the derivative of a sample x of a gamma distribution for its concentration a, with the probability below x fixed,
  as specified in include/weft/kernels/random.h; gamma_gradient_cpu.cc explains the three forms.

  options:
    workgroup: number
    logarithm: flag
#}
{% set nodes = ["0.0876494105", "0.462696329", "1.14105777", "2.12928365", "3.43708663", "5.07801861", "7.07033854", "9.43831434", "12.2142234", "15.4415274", "19.1801569", "23.5159057", "28.5787297", "34.5833987", "41.9404526", "51.7011603"] %}
{% set weights = ["0.206151715", "0.331057855", "0.265795778", "0.136296934", "0.0473289287", "0.0112999001", "0.00184907094", "0.000204271915", "1.48445869e-05", "6.82831933e-07", "1.88102484e-08", "2.86235024e-10", "2.12707903e-12", "6.297967e-15", "5.0504737e-18", "4.16146237e-22"] %}
fn digamma_above(a: f32) -> f32 {
  let r = 1.0 / (a + 7.0);
  let z = r * r;
  var y = (log(a + 7.0) - 0.5 * r) - z * (0.0833333333 - z * (0.00833333333 - z * 0.00396825397));
  for (var i = 1; i < 7; i++) { y -= 1.0 / (a + f32(i)); }
  return y;
}

fn normal_like(a: f32, x: f32) -> f32 {
  let root = sqrt(a);
  let first = 1.0 / (36.0 * root);
  let second = 1.0 / (810.0 * a);
  let third = (1.0 / (38880.0 * a)) / root;
  let distance = x - a;
  var z = distance / root;
  for (var i = 0; i < 6; i++) {
    let s = z * z;
    let f = ((((z * root - distance) + (s - 1.0) / 3.0) + z * (s - 7.0) * first) - ((3.0 * s + 7.0) * s - 16.0) * second) +
            z * ((9.0 * s + 256.0) * s - 433.0) * third;
    let slope = (((root + z * 0.666666667) + (3.0 * s - 7.0) * first) - z * (12.0 * s + 14.0) * second) +
                ((45.0 * s + 768.0) * s - 433.0) * third;
    z -= f / slope;
  }
  let s = z * z;
  let half = 0.5 / a;
  return 1.0 + z / (2.0 * root) - z * (s - 7.0) * first * half + ((3.0 * s + 7.0) * s - 16.0) * second * 2.0 * half -
         3.0 * z * ((9.0 * s + 256.0) * s - 433.0) * third * half;
}

// The derivative over x.
fn by_series(a: f32, x: f32, log_x: f32) -> f32 {
  var psi = digamma_above(a);
  var term = 1.0;
  var sum = 0.0;
  for (var n = 1; n < 100; n++) {
    sum += term * (psi - log_x);
    let above = a + f32(n);
    psi += 1.0 / above;
    term *= x / above;
    if (term < 1e-9 && f32(n) > x) { break; }
  }
  return sum / a;
}

fn by_quadrature(a: f32, x: f32) -> f32 {
  let psi = digamma_above(a) - 1.0 / a;
  let b = a - 1.0;
  var sum = 0.0;
{% for k in range(16) %}
  sum += {{ weights[k] }} * (log(x + {{ nodes[k] }}) - psi) * exp(b * log(1.0 + {{ nodes[k] }} / x));
{% endfor %}
  return sum;
}

fn gradient(a: f32, given: f32) -> f32 {
  let bits = bitcast<u32>(a);
  let of_x = bitcast<u32>(given) & 0x7fffffffu;
  if (bits == 0u || bits > 0x7f800000u || of_x > 0x7f800000u) { return bitcast<f32>(0x7fc00000u | p.opaque_zero); }
{% if logarithm %}
  let log_x = given;
  let x = exp(given);
{% else %}
  let x = given;
  if (x <= 0.0) { return 0.0; }
  let log_x = log(x);
{% endif %}
  var y: f32;
  if (a < 30.0 && x <= max(a, 1.0)) {
    y = by_series(a, x, log_x){{ "" if logarithm else " * x" }};
  } else if (a < 30.0) {
    y = by_quadrature(a, x){{ " / x" if logarithm }};
  } else {
    y = normal_like(a, x){{ " / x" if logarithm }};
  }
  return y;
}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(wg, n) * {{ workgroup }}u + lane;
  if (g >= p.count) { return; }
  let c = coords(g);
  store_y(at_y(c), gradient(load_a(at_a(c)), load_x(at_x(c))));
}
