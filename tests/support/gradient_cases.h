// Values and gradients of a function, as a script of tests/reference wrote them.
#pragma once

#include <format>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/on_device.h"
#include "support/reference_cases.h"
#include "weft/array.h"
#include "weft/derivatives.h"

namespace weft::test {

// The last input of a case is a cotangent of the result, or null. The outputs are the result and, with a cotangent, the
// gradients for the inputs of which `differentiates` is true. `f` takes all inputs but the cotangent.
template <class Differentiates, class F>
void expect_values_and_gradients(const ReferenceCases& data, const nlohmann::json& c,
                                 const Differentiates& differentiates, const F& f) {
  using Values = std::vector<Tensor>;
  const std::vector<View> inputs = data.operands(c, "inputs"), expected = data.operands(c, "outputs");
  Values in;
  for (const View& v : inputs) in.push_back(v.buffer ? tensor_of(v) : Tensor());
  const Tensor cotangent = in.back();
  in.pop_back();
  Values wanted;
  for (const Tensor& t : in) {
    if (differentiates(t)) wanted.push_back(t);
  }
  const auto of_wanted = [&](const Values& x) {
    Values all = in;
    for (std::size_t k = 0, next = 0; k < all.size(); ++k) {
      if (differentiates(all[k])) all[k] = x[next++];
    }
    return f(all);
  };
  Values got;
  if (cotangent.defined()) {
    const auto [y, pull] = vjp(of_wanted)(wanted);
    got = pull(cotangent);
    got.insert(got.begin(), y);
  } else {
    got = {of_wanted(wanted)};
  }
  ASSERT_EQ(got.size(), expected.size()) << c.dump();
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].type(), (TensorType{expected[k].dtype, expected[k].shape()})) << c.dump();
    expect_close(read_view(contiguous(got[k])), expected[k], ReferenceCases::tolerance(c),
                 std::format("{} result {}", c.dump(), k));
  }
}

}  // namespace weft::test
