// The rows of the kernel table for weft/kernels/linalg.h.
#include "kernels/table_rows.h"
#include "weft/kernels/linalg.h"

namespace weft::kernels {

void add_linalg_rows(TableRows& rows) {
  const TypeSet matrix = TypeSet(DType::f32) | DType::f64 | DType::c64;
  const TypeSet real_matrix = TypeSet(DType::f32) | DType::f64;
  rows.push_back(
      row({.name = "cholesky",
           .family = "linalg",
           .summary = "the Cholesky factor of a positive definite matrix",
           .formula = "a = l lᴴ; upper: a = uᴴ u",
           .inputs = {ranked("a", "[..., n, n]", 2)},
           .outputs = {one("l", "a's shape"), one("info", "[...]")},
           .signatures = {{matrix, as(0), DType::i32}},
           .attributes = schemas_of(CholeskyOptions()),
           .other_names = {"potrf"}},
          [](Stream& s, const Reader& r) { cholesky(s, r.in(0), r.out(0), r.out(1), r.options<CholeskyOptions>()); }));
  rows.push_back(row({.name = "eig",
                      .family = "linalg",
                      .summary = "the eigenvalues of a matrix in the order of their real parts, and its eigenvectors",
                      .formula = "a v = v diag(w)",
                      .inputs = {ranked("a", "[..., n, n]", 2)},
                      .outputs = {one("w", "[..., n]"), one("info", "[...]"), optional("v", "a's shape")},
                      .signatures = {{TypeSet(DType::f32) | DType::c64, DType::c64, DType::i32, DType::c64}},
                      .other_names = {"geev"}},
                     [](Stream& s, const Reader& r) { eig(s, r.in(0), r.out(0), r.out(1), r.maybe_out(2)); }));
  rows.push_back(row({.name = "eigh",
                      .family = "linalg",
                      .summary = "the eigenvalues of a Hermitian matrix in ascending order, and its eigenvectors",
                      .formula = "a v = v diag(w)",
                      .inputs = {ranked("a", "[..., n, n]", 2)},
                      .outputs = {one("w", "[..., n]"), one("info", "[...]"), optional("v", "a's shape")},
                      .signatures = {{TypeSet(DType::f32) | DType::f64, as(0), DType::i32, as(0)},
                                     {DType::c64, DType::f32, DType::i32, as(0)}},
                      .attributes = schemas_of(EighOptions()),
                      .other_names = {"syevd", "heevd"}},
                     [](Stream& s, const Reader& r) {
                       eigh(s, r.in(0), r.out(0), r.out(1), r.maybe_out(2), r.options<EighOptions>());
                     }));
  rows.push_back(row({.name = "lu",
                      .family = "linalg",
                      .summary = "the triangular factors of a matrix, with partial pivoting",
                      .formula = "a[order[i]] = (l u)[i]",
                      .inputs = {ranked("a", "[..., m, n]", 2)},
                      .outputs = {one("lu", "a's shape"), one("pivots", "[..., min(m, n)]"), one("order", "[..., m]"),
                                  one("info", "[...]")},
                      .signatures = {{matrix, as(0), DType::i32, DType::i32, DType::i32}},
                      .other_names = {"getrf", "lu_factor"}},
                     [](Stream& s, const Reader& r) { lu(s, r.in(0), r.out(0), r.out(1), r.out(2), r.out(3)); }));
  rows.push_back(row({.name = "qr",
                      .family = "linalg",
                      .summary = "orthonormal columns and a triangle whose product is the matrix",
                      .formula = "a = q r",
                      .inputs = {ranked("a", "[..., m, n]", 2)},
                      .outputs = {one("q", "[..., m, min(m, n)]; complete: [..., m, m]; r: [..., m, 0]"),
                                  one("r", "[..., min(m, n), n]; complete: [..., m, n]")},
                      .signatures = {{matrix, as(0), as(0)}},
                      .attributes = schemas_of(QrOptions()),
                      .other_names = {"geqrf"}},
                     [](Stream& s, const Reader& r) { qr(s, r.in(0), r.out(0), r.out(1), r.options<QrOptions>()); }));
  rows.push_back(row({.name = "triangular_solve",
                      .family = "linalg",
                      .summary = "the solution of a triangular system",
                      .formula = "a x = b",
                      .inputs = {ranked("a", "[..., n, n]", 2), ranked("b", "[..., n, m]", 2)},
                      .outputs = {one("x", "[..., n, m], the leading dimensions of a and b")},
                      .signatures = {{matrix, as(0), as(0)}},
                      .attributes = schemas_of(TriangularSolveOptions()),
                      .other_names = {"trsm", "solve_triangular"}},
                     [](Stream& s, const Reader& r) {
                       triangular_solve(s, r.in(0), r.in(1), r.out(0), r.options<TriangularSolveOptions>());
                     }));
  rows.push_back(
      row({.name = "svd",
           .family = "linalg",
           .summary = "the singular value decomposition of a matrix",
           .formula = "a = u diag(s) vh",
           .inputs = {ranked("a", "[..., m, n]", 2)},
           .outputs = {one("u", "[..., m, k], k = min(m, n); full_matrices: [..., m, m]"), one("s", "[..., k]"),
                       one("vh", "[..., k, n]; full_matrices: [..., n, n]"), one("info", "[...]")},
           .signatures = {{real_matrix, as(0), as(0), as(0), DType::i32},
                          {DType::c64, as(0), DType::f32, as(0), DType::i32}},
           .attributes = schemas_of(SvdOptions()),
           .other_names = {"gesvd", "gesdd", "gesvdj"}},
          [](Stream& s, const Reader& r) {
            svd(s, r.in(0), r.out(0), r.out(1), r.out(2), r.out(3), r.options<SvdOptions>());
          }));
  rows.push_back(row({.name = "svdvals",
                      .family = "linalg",
                      .summary = "the singular values of a matrix",
                      .formula = "a = u diag(s) vh",
                      .inputs = {ranked("a", "[..., m, n]", 2)},
                      .outputs = {one("s", "[..., min(m, n)]"), one("info", "[...]")},
                      .signatures = {{real_matrix, as(0), DType::i32}, {DType::c64, DType::f32, DType::i32}},
                      .other_names = {}},
                     [](Stream& s, const Reader& r) { svdvals(s, r.in(0), r.out(0), r.out(1)); }));
}

}  // namespace weft::kernels
