{#
  What templates of the eigenproblem share. h [matrix, row, column] is what a matrix becomes, and z [matrix, column, row]
  the vectors of which h's are made.

  options:
    threads: number
#}
fn of_real(a: f32) -> value { return {{ "vec2<f32>(a, 0.0)" if complex else "a" }}; }
fn size_bits(a: value, b: value, c: value) -> u32 {
  return max(magnitude_bits(a), max(magnitude_bits(b), magnitude_bits(c)));
}
// 1 - factor v vᴴ with v = (1, second, third).
struct Reflection {
  second: value,
  third: value,
  factor: f32,
}
// 2 / x, corrected: the reflection is then orthogonal to the last digit, also where division is less accurate.
fn two_over(x: f32) -> f32 {
  let about = 2.0 / x;
  return about + about * (1.0 - 0.5 * x * about);
}
// Which makes a column (x, y, z) a multiple of (1, 0, 0).
fn reflection(x0: value, y0: value, z0: value) -> Reflection {
  let beside = max(magnitude_bits(y0), magnitude_bits(z0));
  if (beside == 0u) { return Reflection(value(), value(), 0.0); }
  let scale = scale_of(max(beside, magnitude_bits(x0)));
  let x = x0 * scale;
  let y = y0 * scale;
  let z = z0 * scale;
  let own = sqrt(square_of(x));
  let norm = sqrt(square_of(x) + square_of(y) + square_of(z));
  var tip = of_real(norm);
  if (own > 0.0) { tip = x * (1.0 + norm / own); }
  let second = quotient(y, tip);
  let third = quotient(z, tip);
  return Reflection(second, third, two_over(1.0 + square_of(second) + square_of(third)));
}
var<workgroup> word: u32;
// Thread 0's, for all; after what the threads did before.
fn common_word(lid: u32, own: u32) -> u32 {
  storageBarrier();
  if (lid == 0u) { word = own; }
  return workgroupUniformLoad(&word);
}
