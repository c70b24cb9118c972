#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

void add_evaluation_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4});
  c.same("contiguous", {x}, {}, contiguous(x));
  c.same("contiguous", {x.T()}, {}, contiguous(x.T()));
}
const bool added = named_cases(add_evaluation_cases);

}  // namespace
}  // namespace weft::test
