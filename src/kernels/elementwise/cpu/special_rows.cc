// Special functions: of the error function's, gamma's, Bessel's and beta's families.
#include "kernels/elementwise/cpu/scalar_rows.h"
#include "kernels/elementwise/gamma_math_cpu.h"
#include "kernels/elementwise/incomplete_math_cpu.h"
#include "kernels/elementwise/special_math_cpu.h"

namespace weft::kernels::scalar_rows {

using enum ScalarOp;

std::span<const ScalarRow> special_rows() {
  static const ScalarRow kRows[] = {
      row<kFloat, 1>(ScalarOp::erf, WEFT_WIDE(erf, [](double x) { return std::erf(x); })),
      row<kFloat, 1>(ScalarOp::erfc, WEFT_WIDE(erfc, [](double x) { return std::erfc(x); })),
      row<kFloat, 1>(erfinv, WEFT_WIDE(erfinv, [](double x) { return erfinv_f64(x); })),
      row<kFloat, 1>(ScalarOp::lgamma, WEFT_WIDE(lgamma, [](double x) { return lgamma_f64(x); })),
      row<kFloat, 1>(digamma, WEFT_WIDE(digamma, [](double x) { return digamma_f64(x); })),
      row<kFloat, 1>(ScalarOp::j0, WEFT_UNARY(T, x, static_cast<T>(j0_f64(x)))),
      row<kFloat, 1>(ScalarOp::j1, WEFT_UNARY(T, x, static_cast<T>(j1_f64(x)))),
      row<kFloat, 1>(ScalarOp::y0, WEFT_UNARY(T, x, static_cast<T>(y0_f64(x)))),
      row<kFloat, 1>(ScalarOp::y1, WEFT_UNARY(T, x, static_cast<T>(y1_f64(x)))),
      row<kFloat, 1>(k0, WEFT_UNARY(T, x, static_cast<T>(bessel_k(0, x, false)))),
      row<kFloat, 1>(k1, WEFT_UNARY(T, x, static_cast<T>(bessel_k(1, x, false)))),
      row<kFloat, 1>(k0e, WEFT_UNARY(T, x, static_cast<T>(bessel_k(0, x, true)))),
      row<kFloat, 1>(k1e, WEFT_UNARY(T, x, static_cast<T>(bessel_k(1, x, true)))),
      row<kFloat, 2>(gammainc, WEFT_BINARY(T, a, x, static_cast<T>(incomplete::gamma_tails(a, x).lower))),
      row<kFloat, 2>(gammaincc, WEFT_BINARY(T, a, x, static_cast<T>(incomplete::gamma_tails(a, x).upper))),
      row<kFloat, 3>(betainc, WEFT_TERNARY(T, a, b, x, static_cast<T>(incomplete::beta_tails(a, b, x).lower))),
      row<kFloat, 2>(gammaincinv, WEFT_BINARY(T, a, p, static_cast<T>(incomplete::gammaincinv(a, p)))),
      row<kFloat, 2>(gammainccinv, WEFT_BINARY(T, a, q, static_cast<T>(incomplete::gammainccinv(a, q)))),
      row<kFloat, 3>(betaincinv, WEFT_TERNARY(T, a, b, p, static_cast<T>(incomplete::betaincinv(a, b, p)))),
  };
  return kRows;
}

}  // namespace weft::kernels::scalar_rows
