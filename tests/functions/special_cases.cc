#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/special.h"

namespace weft::test {
namespace {

void add_special_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4}), p = (cast(c.integers({3, 4}), DType::f32) + 1) / 8;
  c.same("sinc", {x}, {}, sinc(x));
  c.same("xlogy", {x, p}, {}, xlogy(x, p));
  c.same("xlogy", {0.5, p}, {}, xlogy(0.5, p));
  c.same("xlog1py", {x, p}, {}, xlog1py(x, p));
  c.same("xlog1py", {x, 2}, {}, xlog1py(x, 2));
  c.same("entr", {x}, {}, entr(x));
  c.same("logit", {p}, {}, logit(p));
  c.same("ndtr", {x}, {}, ndtr(x));
  c.same("log_ndtr", {x}, {}, log_ndtr(x));
  c.same("ndtri", {p}, {}, ndtri(p));
  c.same("polygamma", {p}, {{"order", Number(2)}}, polygamma(2, p));
  c.same("polygamma", {p}, {{"order", Number(0)}}, polygamma(0, p));
  c.same("i0", {x}, {}, i0(x));
  c.same("i0e", {x}, {}, i0e(x));
  c.same("i1", {x}, {}, i1(x));
  const Tensor whole = c.integers({3});
  c.same("i1e", {whole}, {}, i1e(whole));
  const Tensor z = cast(x, DType::c64);
  c.refused("sinc", {z}, {}, [&] { sinc(z); });
  c.refused("xlogy", {z, p}, {}, [&] { xlogy(z, p); });
  c.refused("xlogy", {x, ones({2})}, {}, [&] { xlogy(x, ones({2})); });
  c.refused("polygamma", {x}, {{"order", Number(-1)}}, [&] { polygamma(-1, x); });
}
const bool added = named_cases(add_special_cases);

}  // namespace
}  // namespace weft::test
