#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {

// The diagonal makes the matrices well conditioned, and keeps the signs of r's diagonal.
void add_qr_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<std::vector<Tensor>(Operands)> f,
                       double tolerance = 1) {
    cases.push_back(
        {.name = std::move(name), .shapes = std::move(shapes), .function = std::move(f), .tolerance = tolerance});
  };
  const auto regular = [](const Tensor& x) { return x * 0.5 + 2 * eye(x.shape()[-2], x.shape()[-1], x.dtype()); };
  const auto both = [](const QrResult& f) { return std::vector{f.q, f.r}; };
  add("qr", {{3, 3}}, [=](Operands x) { return both(qr(regular(x[0]))); });
  add("qr_tall", {{2, 4, 2}}, [=](Operands x) { return both(qr(regular(x[0]))); });
  add("qr_wide", {{2, 4}}, [=](Operands x) { return both(qr(regular(x[0]))); });
  add("qr_of_one", {{2, 1, 1}}, [=](Operands x) { return std::vector{qr(square(x[0]) + 1).r}; });
  add("qr_column", {{4, 1}}, [=](Operands x) { return both(qr(regular(x[0]))); });
  add("qr_row", {{1, 3}}, [=](Operands x) { return std::vector{qr(regular(x[0])).r}; });
  add("qr_empty", {{2, 0, 0}}, [=](Operands x) { return both(qr(x[0])); });
  add("qr_no_columns", {{3, 0}}, [=](Operands x) { return both(qr(x[0])); });
  add("qr_no_rows", {{0, 3}}, [=](Operands x) { return both(qr(x[0])); });
  add("qr_q", {{3, 2}}, [=](Operands x) { return std::vector{qr(regular(x[0])).q}; });
  add("qr_r", {{3, 2}}, [=](Operands x) { return std::vector{qr(regular(x[0])).r}; });
  add("qr_r_alone", {{4, 3}}, [=](Operands x) { return std::vector{qr(regular(x[0]), QrMode::r).r}; });
  add("qr_r_alone_wide", {{2, 3}}, [=](Operands x) { return std::vector{qr(regular(x[0]), QrMode::r).r}; });
  add("qr_complete", {{3, 3}}, [=](Operands x) { return both(qr(regular(x[0]), QrMode::complete)); });
  add("qr_complete_wide", {{2, 3}}, [=](Operands x) { return both(qr(regular(x[0]), QrMode::complete)); });
  // Larger than a workgroup's memory on the minimum device. Sums over 70 terms are off by more.
  add(
      "qr_panels", {{70, 2}, {70}},
      [](Operands x) { return std::vector{qr(matmul(x[0], x[0].T()) * 0.1 + diag(square(x[1]) + 2)).r}; }, 20);
  add("lstsq", {{4, 2}, {4, 3}}, [=](Operands x) {
    const LstsqResult y = lstsq(regular(x[0]), x[1]);
    return std::vector{y.solution, y.residuals};
  });
  add("lstsq_square", {{3, 3}, {3}}, [=](Operands x) { return std::vector{lstsq(regular(x[0]), x[1]).solution}; });
  add("lstsq_wide", {{2, 4}, {2, 2}}, [=](Operands x) { return std::vector{lstsq(regular(x[0]), x[1]).solution}; });
  add("lstsq_broadcast", {{2, 3, 2}, {3, 1}},
      [=](Operands x) { return std::vector{lstsq(regular(x[0]), x[1]).solution}; });
}

}  // namespace weft::test
