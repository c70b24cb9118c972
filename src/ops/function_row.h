// A public function of tensors is a row: name, operands, attributes, results, formula, body. The function that a header
// declares fills the attributes and calls the row; calls by name (weft/call.h), bindings and the reference pages are
// made of the rows.
//
//   constexpr Function kNansum = {
//       {.name = "nansum",
//        .operands = {{"x", types::real}},
//        .results = {{"y", "x's shape without the axes", "as sum"}},
//        .formula = "y = Σ x over axes",
//        .summary = "the sum of the elements that are not NaN"},
//       [](const Tensor& x, const ReductionAttributes& a) { return sum(without_nan(x, 0), a.axes, a.keep_dims); }};
//
//   Tensor nansum(const Operand& x, const Axes& axes, bool keep_dims) { return kNansum(x, {axes, keep_dims}); }
//
//   void add_statistics_functions(FunctionRows& rows) { rows.add(kNansum); }
//
// The build finds the last one by its name. A body takes its operands in order: `const Tensor&`; `const TensorLike&`,
// if it may be a number; `std::span<const Tensor>`, a list, as the last of them. Behind them stands the struct of
// attributes (weft/attributes.h), if it has any. It returns a Tensor, a list of them, or a struct of them in the order
// of `results`. The row checks that operands are defined, of its types and ranks, before the body runs, and errors name
// the row's function, whatever threw them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error_context.h"
#include "weft/attributes.h"
#include "weft/error.h"
#include "weft/schema.h"
#include "weft/tensor.h"
#include "weft/tensor_tree.h"

namespace weft {

// An operand of a function. `shape` is documentation.
struct FunctionOperand {
  std::string_view name = {};
  TypeSet types = types::any;
  Arity arity = Arity::one;
  int min_rank = 0, max_rank = kMaxRank;
  std::string_view shape = {};
};

// A result of a function: documentation, but for the arity; one that is repeated is a list of results.
struct FunctionResult {
  std::string_view name = {}, shape = {}, type = {};
  Arity arity = Arity::one;
};

struct FunctionText {
  std::string_view name;  // "nansum", "random::uniform"
  FunctionOperand operands[9] = {};
  FunctionResult results[5] = {};
  std::string_view formula = {}, summary = {};
  // The function of the headers, and of messages, where each of its forms has a row of its own; else it is `name`.
  std::string_view form_of = {};

  constexpr std::string_view function() const { return form_of.empty() ? name : form_of; }
};

namespace detail {

// What a call gives for an operand: a tensor, a list of them, or null for a number.
struct GivenOperand {
  const Tensor* tensors = nullptr;
  std::size_t count = 0;

  GivenOperand() = default;
  GivenOperand(const Tensor& t) : tensors(&t), count(1) {}                            // NOLINT: implicit, as the next
  GivenOperand(const TensorLike& t) : tensors(t.tensor()), count(tensors ? 1 : 0) {}  // NOLINT
  GivenOperand(std::span<const Tensor> list) : tensors(list.data()), count(list.size()) {}  // NOLINT
};

// Throws InvalidArgument, TypeError or ShapeError, which name function and operand, for one that is undefined, of
// another type or of another rank.
void check_operands(const FunctionText& text, std::span<const GivenOperand> given);

// A call by name.
struct NamedCall {
  std::string_view function;
  std::span<const TensorLike> operands;
  const AttributeMap& attributes;

  // Operand i; undefined if it is left out. Throws InvalidArgument if it is a number.
  const Tensor& tensor(std::size_t i) const;
  const TensorLike& like(std::size_t i) const;
  // The operands from i on.
  std::vector<Tensor> list(std::size_t i) const;
};

template <class A>
concept Attributes = requires(A a, AttributeVisitor& v) { a.fields(v); };

// The parameter of a body that a call by name gives it.
template <class T>
class Argument;
template <>
class Argument<Tensor> {
 public:
  Argument(const NamedCall& call, std::size_t i) : tensor_(call.tensor(i)) {}
  operator const Tensor&() const { return tensor_; }

 private:
  const Tensor& tensor_;
};
template <>
class Argument<TensorLike> {
 public:
  Argument(const NamedCall& call, std::size_t i) : operand_(call.like(i)) {}
  operator const TensorLike&() const { return operand_; }

 private:
  const TensorLike& operand_;
};
template <>
class Argument<std::span<const Tensor>> {
 public:
  Argument(const NamedCall& call, std::size_t i) : list_(call.list(i)) {}
  operator std::span<const Tensor>() const { return list_; }

 private:
  std::vector<Tensor> list_;
};
template <Attributes A>
class Argument<A> {
 public:
  Argument(const NamedCall& call, std::size_t) : attributes_(from_map<A>(call.function, call.attributes)) {}
  operator const A&() const { return attributes_; }

 private:
  A attributes_;
};

// The tensors of results, in order.
struct ResultCollector {
  std::vector<Tensor> all;
  void tensor(Tensor& t) { all.push_back(std::move(t)); }
  template <class T>
  void fixed(const T&) {}
};
template <class R>
std::vector<Tensor> as_list(R results) {
  if constexpr (std::is_same_v<R, std::vector<Tensor>>) {
    return results;
  } else {
    ResultCollector collector;
    visit_tensors(results, collector);
    return std::move(collector.all);
  }
}

}  // namespace detail

template <class Signature>
class Function;

template <class R, class... Parameters>
class Function<R(Parameters...)> {
 public:
  consteval Function(const FunctionText& text, R (*body)(Parameters...)) : text_(text), body_(body) {}

  R operator()(Parameters... parameters) const {
    try {
      check(parameters...);
      return body_(parameters...);
    } catch (const Error& e) {
      throw_in_function(e, text_.function());
    }
  }

  // A call by name, whose operands are as many as the schema says, and whose attributes are complete.
  std::vector<Tensor> call(const detail::NamedCall& named) const {
    return call(named, std::index_sequence_for<Parameters...>());
  }

  const FunctionText& text() const { return text_; }
  // Of its attributes; none if it has no struct of them.
  static std::vector<AttributeSchema> attributes() {
    std::vector<AttributeSchema> all;
    const auto add = [&]<class P>(std::type_identity<P>) {
      if constexpr (detail::Attributes<P>) all = schemas_of<P>();
    };
    (add(std::type_identity<std::remove_cvref_t<Parameters>>()), ...);
    return all;
  }
  // Whether operand i may be a number.
  static constexpr bool takes_number(std::size_t i) {
    constexpr bool kNumbers[] = {std::is_same_v<std::remove_cvref_t<Parameters>, TensorLike>..., false};
    return i < sizeof...(Parameters) && kNumbers[i];
  }

 private:
  void check(const std::remove_cvref_t<Parameters>&... parameters) const {
    std::array<detail::GivenOperand, sizeof...(Parameters)> given;
    std::size_t count = 0;
    const auto add = [&]<class P>(const P& parameter) {
      if constexpr (!detail::Attributes<P>) given[count++] = parameter;
    };
    (add(parameters), ...);
    if (count > 0) detail::check_operands(text_, {given.data(), count});
  }
  template <std::size_t... i>
  std::vector<Tensor> call(const detail::NamedCall& named, std::index_sequence<i...>) const {
    return detail::as_list((*this)(detail::Argument<std::remove_cvref_t<Parameters>>(named, i)...));
  }

  FunctionText text_;
  R (*body_)(Parameters...);
};

namespace detail {
template <class Body>
struct BodySignature;
template <class Class, class R, class... Parameters>
struct BodySignature<R (Class::*)(Parameters...) const> {
  using Type = R(Parameters...);
};
}  // namespace detail

template <class Body>
Function(FunctionText, Body) -> Function<typename detail::BodySignature<decltype(&Body::operator())>::Type>;

// ---- The table of rows

struct FunctionRow {
  Schema schema;
  const void* function;  // a Function, for call
  std::vector<Tensor> (*call)(const void* function, const detail::NamedCall& named);
};

class FunctionRows {
 public:
  // Constants at namespace scope.
  template <class... Functions>
  void add(const Functions&... functions) {
    (add_one(functions), ...);
  }
  std::vector<FunctionRow> rows;

 private:
  template <class F>
  void add_one(const F& function) {
    Schema schema = schema_of(function.text(), F::attributes());
    for (std::size_t i = 0; i < schema.inputs.size(); ++i) schema.inputs[i].takes_number = F::takes_number(i);
    rows.push_back({std::move(schema), &function, [](const void* f, const detail::NamedCall& named) {
                      return static_cast<const F*>(f)->call(named);
                    }});
  }
  static Schema schema_of(const FunctionText& text, std::vector<AttributeSchema> attributes);
};

// All of them, by their names in ascending order.
std::span<const FunctionRow> function_rows();
// Null if there is none of that name.
const FunctionRow* find_function_row(std::string_view name);

// Every void add_<family>_functions(FunctionRows&) of the rooms ops, transform, tensor and functions,
// which the build collects.
std::span<void (*const)(FunctionRows&)> collected_functions();

}  // namespace weft
