{# The numbers of matrices, real or `complex`, shared by the templates of this family. #}
alias value = {{ "vec2<f32>" if complex else "f32" }};
fn conjugate(a: value) -> value { return {{ "vec2<f32>(a.x, -a.y)" if complex else "a" }}; }
fn product(a: value, b: value) -> value { return {{ "mul_c64(a, b)" if complex else "a * b" }}; }
fn quotient(a: value, b: value) -> value { return {{ "div_c64(a, b)" if complex else "a / b" }}; }
// By which pivots are chosen, as in LAPACK.
fn size_of(a: value) -> f32 { return {{ "abs(a.x) + abs(a.y)" if complex else "abs(a)" }}; }
// Of a pivot; of 0, below which a column is 0 and stays so, 0.
fn inverse(a: value) -> value {
  if (size_of(a) == 0.0) { return value(); }
  return {{ "div_c64(vec2<f32>(1.0, 0.0), a)" if complex else "1.0 / a" }};
}
