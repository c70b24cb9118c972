{# What templates of the Hermitian eigenproblem share. #}
fn of_real(a: f32) -> value { return {{ "vec2<f32>(a, 0.0)" if complex else "a" }}; }
// Off-diagonal elements up to this are left: 2^-23 times the root mean square of the eigenvalues, of which `squares` is
// the sum of squares.
fn negligible(squares: f32, n: u32) -> f32 { return 1.1920929e-7 * sqrt(squares / f32(n)); }
