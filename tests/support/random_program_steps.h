// The operations of random programs (support/random_program.h).
#pragma once

#include <optional>
#include <random>
#include <span>
#include <string_view>

#include "support/random_program.h"
#include "weft/array.h"
#include "weft/indexing.h"

namespace weft::test {

// What a program has when its next operation is chosen.
class ProgramState {
 public:
  explicit ProgramState(unsigned seed) : random_(seed) {}

  int up_to(int n) { return std::uniform_int_distribution<int>(0, n)(random_); }
  bool chance(int one_in) { return up_to(one_in - 1) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(up_to(static_cast<int>(list.size()) - 1))];
  }
  // A value that satisfies the condition; -1 if none does.
  template <class Condition>
  int value(const Condition& condition) {
    std::vector<int> all;
    for (std::size_t i = 0; i < program.values.size(); ++i) {
      if (condition(program.values[i])) all.push_back(static_cast<int>(i));
    }
    // The later ones, so that chains grow.
    if (all.size() > 4 && !chance(3)) all.erase(all.begin(), all.end() - 4);
    return all.empty() ? -1 : pick(all);
  }
  const ProgramValue& operator[](int i) const { return program.values[static_cast<std::size_t>(i)]; }

  RandomProgram program;

 private:
  std::mt19937 random_;
};

// An operation that may become the next step. Its results that are floats are exact if the operands are and `exact` is
// set; else their error is `error` and one rounding.
struct Candidate {
  ProgramStep step;
  bool exact = true;
  double error = 0;
};

using Tensors = std::vector<Tensor>;
using Run = std::function<std::vector<Tensor>(Tensors&)>;
using Maybe = std::optional<Candidate>;

inline const std::vector<DType> kProgramTypes{DType::f32, DType::f32, DType::f32,    DType::f16, DType::bf16,
                                              DType::i32, DType::i32, DType::i8,     DType::u8,  DType::i16,
                                              DType::u32, DType::i64, DType::boolean};
// Integers up to this are floats of every type that programs have.
inline constexpr double kExactIntegers = 256;

inline bool is_float(const ProgramValue& v) { return is_floating(v.type.dtype); }
inline bool is_number(const ProgramValue& v) { return v.type.dtype != DType::boolean; }
inline int rank(const ProgramValue& v) { return v.type.shape.rank(); }
inline std::int64_t size(const ProgramValue& v) { return static_cast<std::int64_t>(v.elements.size()); }
// Whether integers that would be rounded are converted to the other's floats.
inline bool mixes(const ProgramValue& a, const ProgramValue& b) {
  return is_float(a) != is_float(b) && (is_float(a) ? b : a).top > kExactIntegers;
}

Candidate step(std::string_view name, std::vector<int> operands, Run run, double error = 0, bool exact = true,
               std::string_view arguments = {});
template <class F>
Candidate unary_step(std::string_view name, int x, F f, double error = 0, bool exact = true,
                     std::string_view arguments = {}) {
  return step(name, {x}, [f](Tensors& o) { return Tensors{f(o[0])}; }, error, exact, arguments);
}

int any_axis(ProgramState& s, int rank);                // perhaps negative
std::vector<int> some_axes(ProgramState& s, int rank);  // or all
std::string list(std::span<const int> numbers);         // "{1 -2}"
Tensor integers_of(const std::vector<int>& values);

// None if the values that there are do not fit.
Maybe random_leaf(ProgramState& s);
Maybe random_view(ProgramState& s);
Maybe random_index(ProgramState& s);
Maybe random_update(ProgramState& s);
Maybe random_selection(ProgramState& s);  // whose size depends on data
Maybe random_image(ProgramState& s);      // and quantised numbers, and sequences
Maybe random_candidate(ProgramState& s);  // any of these and others

// Bits of a float's significand.
int significand_bits(DType type);
bool fits_exactly(int grid, double top, DType type);

}  // namespace weft::test
