// Functions called by name (weft/call.h) beside the C++ functions, for every row of ops/function_row.h: the results
// are the same bits, and the errors the same texts.
//
//   void add_statistics_cases(NamedCases& c) {
//     const Tensor x = c.floats({3, 4});
//     c.same("nansum", {x}, {{"axes", Number(1)}, {"keep_dims", Number(1)}}, nansum(x, 1, true));
//     c.refused("nansum", {Tensor()}, {}, [] { nansum(Tensor()); });
//   }
//   const bool statistics = named_cases(add_statistics_cases);
#pragma once

#include <functional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ops/function_row.h"
#include "weft/call.h"
#include "weft/creation.h"
#include "weft/tensor.h"

namespace weft::test {

class NamedCases {
 public:
  // Operands on the default device, other values in each of them. Floats are from -2 to 2 and have no fraction of more
  // than four bits, so that sums of them are exact; integers from 0 to 6.
  Tensor floats(const Shape& shape, DType dtype = DType::f32);
  Tensor integers(const Shape& shape, DType dtype = DType::i32);
  Tensor bools(const Shape& shape);
  // A well-conditioned symmetric matrix, or a batch of them.
  Tensor positive_definite(const Shape& shape, DType dtype = DType::f32);

  // `expected`: what the C++ function returned: a tensor, a list of them, or a struct of them.
  template <class R>
  void same(std::string_view name, const std::vector<TensorLike>& operands, const AttributeMap& attributes,
            R expected) {
    compare(name, operands, attributes, detail::as_list(std::move(expected)));
  }
  // Both throw an error of one type and text.
  void refused(std::string_view name, const std::vector<TensorLike>& operands, const AttributeMap& attributes,
               const std::function<void()>& direct);

  const std::set<std::string, std::less<>>& seen() const { return seen_; }
  // The attributes of a function that some case gave, as "function.attribute".
  const std::set<std::string, std::less<>>& given() const { return given_; }

 private:
  void compare(std::string_view name, const std::vector<TensorLike>& operands, const AttributeMap& attributes,
               const std::vector<Tensor>& expected);

  std::mt19937 random_{1};
  std::set<std::string, std::less<>> seen_, given_;
};

// At namespace scope.
bool named_cases(void (*add)(NamedCases&));

}  // namespace weft::test
