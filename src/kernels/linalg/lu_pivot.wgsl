{# How templates of the LU factors choose pivots, and what they divide by. #}
// A row whose element may be the pivot: the one of the largest size, and of equal ones the first. NaN is never chosen.
struct Pivot {
  size: f32,
  row: u32,
}
fn larger_pivot(a: Pivot, b: Pivot) -> Pivot {
  if (b.size > a.size || (b.size == a.size && b.row < a.row)) { return b; }
  return a;
}
// The factor of the rows below pivot k; `zero` becomes the number, from 1 on, of the first pivot that is 0.
fn pivot_factor(pivot: value, k: u32, zero: ptr<function, u32>) -> value {
  if (size_of(pivot) == 0.0 && *zero == 0u) { *zero = k + 1u; }
  return inverse(pivot);
}
