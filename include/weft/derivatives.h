// Derivatives of functions of tensors, of any order, and functions on batches.
//
//   auto loss = [&](const Mlp& net, Tensor x, Tensor y) { return mean(square(net(x) - y)); };
//   auto [value, g] = value_and_grad(loss)(net, x, y);   // g is an Mlp of gradients
//   auto hv = hvp(f)(x, v);                              // the Hessian of f at x times v
//   auto all = vmap(f)(batch);                           // f of each row of the batch
//
// Each takes a function and gives a function, so they nest in any order, inside and outside of compile(). Functions
// take what compile() takes: tensors, containers and structs of them (weft/traced.h), and whatever else, which is
// constant.
//
// Values are concrete while a function is differentiated: it may read them, print them and branch on them, and the
// derivative is that of the branch that was taken. What it depends on is recorded as it runs; the derivative is a
// second part of the same expression, computed when somebody reads it. Compiled functions that it calls are ordinary
// calls. (In compile() and vmap() there are no values, and reading throws InvalidArgument.)
//
// Tensors of integers and booleans have no derivatives: in a struct they are passed over, and their place in a struct
// of derivatives is an undefined Tensor; if nothing else was asked for it is a TypeError. What the result does not
// depend on has the derivative zero. Of complex numbers the gradient is the conjugate of the Wirtinger derivative,
// PyTorch's convention: x - rate * gradient descends. At points without a derivative values are PyTorch's
// (docs/derivatives.md).
//
// Derivatives of functions of single elements have the digits of their type also in tails, where terms would cancel,
// and at joints of functions of several pieces: f32 ones are within 2e-6 of the exact derivative, f64 ones within
// 1e-14, and of what a few ULP of x make of it; docs/derivatives.md lists those whose own errors are larger.
//
// All throw Unsupported for an operation that has no derivative, naming it and the line that called it, and whatever
// the function throws.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/tensor.h"
#include "weft/tensor_tree.h"

namespace weft {
namespace detail {

// A run of a function that is differentiated: hands out its variables, and knows derivatives once it has the results.
class Derivation {
 public:
  // `function`: what messages call it, "grad".
  explicit Derivation(std::string_view function);
  ~Derivation();
  Derivation(Derivation&&) noexcept;
  Derivation& operator=(Derivation&&) noexcept;

  // Stands for an operand. Undefined ones, integers and booleans stand for themselves.
  Tensor variable(const Tensor& x);
  // Throws TypeError if there is no variable that has derivatives.
  void require_variables() const;
  // Ends the run. Results of no variables' node are as they are.
  void finish(std::span<const Tensor> results);

  // The result, which must be one real number. Throws ShapeError, TypeError.
  void require_scalar() const;
  // Cotangents of the variables in their order; undefined where the operand was passed over, else zeros at least. Those
  // of results may be undefined: zeros. Throws ShapeError, TypeError if they do not fit.
  std::vector<Tensor> pull_back(std::span<const Tensor> cotangents) const;
  std::vector<Tensor> gradient() const;  // of the one number
  // Tangents of the results; undefined for integers and booleans.
  std::vector<Tensor> push_forward(std::span<const Tensor> tangents) const;
  // The Jacobian of the one result for the one variable, [result's shape…, variable's shape…].
  Tensor jacobian(bool forward) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct VariableMaker {
  void tensor(Tensor& t) { t = derivation.variable(t); }
  template <class T>
  void fixed(const T&) {}
  Derivation& derivation;
};

// The arguments that derivatives are for: their places in the order in which they were named.
template <std::size_t... at>
struct Chosen {
  template <class Arguments>
  static auto of(const Arguments& arguments) {
    static_assert(((at < std::tuple_size_v<Arguments>) && ...),
                  "derivatives for an argument that the function does not have");
    // Named: deduced, the type would be that of a lone pair or tuple itself.
    return std::tuple<std::tuple_element_t<at, Arguments>...>(std::get<at>(arguments)...);
  }
  // One argument's derivative stands for itself; those of several are a tuple.
  template <class Tuple>
  static auto result(Tuple tuple) {
    if constexpr (sizeof...(at) == 1)
      return std::get<0>(std::move(tuple));
    else
      return tuple;
  }
  template <class Arguments>
  static void make_variables(Derivation& derivation, Arguments& arguments) {
    VariableMaker maker{derivation};
    (visit_tensors(std::get<at>(arguments), maker), ...);
    derivation.require_variables();
  }
};
template <std::size_t... at>
using ChosenOrFirst = std::conditional_t<sizeof...(at) == 0, Chosen<0>, Chosen<at...>>;
template <class Sequence>
struct ChosenAll;
template <std::size_t... at>
struct ChosenAll<std::index_sequence<at...>> {
  using type = Chosen<at...>;
};
template <std::size_t count>
using EveryArgument = typename ChosenAll<std::make_index_sequence<count>>::type;

// What is differentiated of a result: the tensor that it is, or the first of a pair or tuple.
template <class Result>
const Tensor& value_of(const Result& result) {
  if constexpr (std::is_same_v<Result, Tensor>) {
    return result;
  } else {
    static_assert(is_a<Result, std::pair> || is_a<Result, std::tuple>,
                  "the function returns a tensor, or a pair or tuple that begins with one");
    static_assert(std::is_same_v<std::tuple_element_t<0, Result>, Tensor>,
                  "the function returns a tensor, or a pair or tuple that begins with one");
    return std::get<0>(result);
  }
}

// Runs the function on variables in place of the chosen arguments.
template <class Chosen, class F, class Arguments>
auto run(Derivation& derivation, const F& function, Arguments arguments) {
  Chosen::make_variables(derivation, arguments);
  return std::apply(function, std::move(arguments));
}

template <class F>
using Function = std::decay_t<F>;

}  // namespace detail

// ---- Gradients of a function whose result is one real number (of any shape with one element).

// (arguments…) → (result, gradient for argument 0). value_and_grad<1, 3>(f): for these arguments, as a tuple. If the
// function returns a pair or a tuple its first tensor is differentiated; the others come out as they are. Throws
// ShapeError, TypeError for another result.
template <std::size_t... arguments, class F>
auto value_and_grad(F&& function) {
  return [f = detail::Function<F>(std::forward<F>(function))]<class... Args>(Args&&... args) {
    using Chosen = detail::ChosenOrFirst<arguments...>;
    detail::Derivation derivation("grad");
    std::tuple<std::decay_t<Args>...> all(std::forward<Args>(args)...);
    const auto chosen = Chosen::of(all);
    auto result = detail::run<Chosen>(derivation, f, std::move(all));
    std::vector<Tensor> tensors = detail::tensors_in(result);
    (void)detail::value_of(result);
    derivation.finish(tensors);
    derivation.require_scalar();
    return std::pair(std::move(result), Chosen::result(detail::with_tensors(chosen, derivation.gradient())));
  };
}

// (arguments…) → the gradient alone.
template <std::size_t... arguments, class F>
auto grad(F&& function) {
  return [f = value_and_grad<arguments...>(std::forward<F>(function))]<class... Args>(Args&&... args) {
    return f(std::forward<Args>(args)...).second;
  };
}

// ---- Both modes of functions with any results.

// (arguments…) → (result, pull back): the second takes cotangents, of the result's type, and gives those of argument 0,
// or of the chosen ones as a tuple. It may be called any number of times.
template <std::size_t... arguments, class F>
auto vjp(F&& function) {
  return [f = detail::Function<F>(std::forward<F>(function))]<class... Args>(Args&&... args) {
    using Chosen = detail::ChosenOrFirst<arguments...>;
    auto derivation = std::make_shared<detail::Derivation>("vjp");
    std::tuple<std::decay_t<Args>...> all(std::forward<Args>(args)...);
    auto chosen = Chosen::of(all);
    auto result = detail::run<Chosen>(*derivation, f, std::move(all));
    derivation->finish(detail::tensors_in(result));
    using Result = std::remove_cvref_t<decltype(result)>;
    auto pull_back = [derivation, chosen = detail::without_tensors(chosen)](const Result& cotangents) {
      return Chosen::result(detail::with_tensors(chosen, derivation->pull_back(detail::tensors_in(cotangents))));
    };
    return std::pair(std::move(result), std::move(pull_back));
  };
}

// (arguments…) → (result, tangent map): the second takes a tangent for each argument, of the argument's type, and gives
// those of the result. It is linear, and may be called any number of times.
template <class F>
auto linearize(F&& function) {
  return [f = detail::Function<F>(std::forward<F>(function))]<class... Args>(Args&&... args) {
    using Chosen = detail::EveryArgument<sizeof...(Args)>;
    auto derivation = std::make_shared<detail::Derivation>("jvp");
    std::tuple<std::decay_t<Args>...> all(std::forward<Args>(args)...);
    auto result = detail::run<Chosen>(*derivation, f, std::move(all));
    derivation->finish(detail::tensors_in(result));
    auto map = [derivation, result = detail::without_tensors(result)](const std::decay_t<Args>&... tangents) {
      return detail::with_tensors(result, derivation->push_forward(detail::tensors_in(std::tie(tangents...))));
    };
    return std::pair(std::move(result), std::move(map));
  };
}

// (arguments…, a tangent for each) → (result, its tangents).
template <class F>
auto jvp(F&& function) {
  return [f = linearize(std::forward<F>(function))]<class... Args>(Args&&... args) {
    static_assert(sizeof...(Args) % 2 == 0 && sizeof...(Args) > 0, "jvp: the arguments, and a tangent for each");
    constexpr std::size_t count = sizeof...(Args) / 2;
    std::tuple<std::decay_t<Args>...> all(std::forward<Args>(args)...);
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      auto [result, map] = f(std::get<i>(all)...);
      auto tangents = map(std::get<count + i>(all)...);
      return std::pair(std::move(result), std::move(tangents));
    }(std::make_index_sequence<count>());
  };
}

// ---- Whole matrices of derivatives, of a function of one tensor that gives one.

enum class DerivativeMode : std::uint8_t {
  automatic,  // the one with fewer columns to compute
  forward,    // a column for each element of the argument
  reverse,    // a row for each element of the result
};

// (x) → [result's shape…, x's shape…]. Throws ShapeError if that has more than eight axes.
template <class F>
auto jacobian(F&& function, DerivativeMode mode = DerivativeMode::automatic) {
  return [f = detail::Function<F>(std::forward<F>(function)), mode](const Tensor& x) {
    detail::Derivation derivation("jacobian");
    const Tensor v = derivation.variable(x);
    derivation.require_variables();
    const Tensor y = f(v);
    derivation.finish(std::span(&y, 1));
    const bool forward = mode == DerivativeMode::forward || (mode == DerivativeMode::automatic && x.size() < y.size());
    return derivation.jacobian(forward);
  };
}

// (x) → [x's shape…, x's shape…] of a function whose result is one number: forward over reverse.
template <class F>
auto hessian(F&& function) {
  return jacobian(grad(std::forward<F>(function)), DerivativeMode::forward);
}

// (x, v) → the Hessian at x times v, without the Hessian: as much time as a few gradients. x and v are of one type.
template <class F>
auto hvp(F&& function) {
  return [f = jvp(grad(std::forward<F>(function)))]<class X>(const X& x, const X& v) { return f(x, v).second; };
}

// (x) → the derivative of that order of each element of the result for the same element of x, of a function that
// computes each by itself. Throws ShapeError if the result has another shape, InvalidArgument for a negative order.
std::function<Tensor(const Tensor&)> nth_derivative(std::function<Tensor(const Tensor&)> function, int order);

// ---- Batches

namespace detail {
// Axes of the batch in arguments and results.
struct BatchedCall {
  explicit BatchedCall(std::vector<std::optional<int>> axes, int result_axis);
  ~BatchedCall();
  BatchedCall(const BatchedCall&) = delete;
  BatchedCall& operator=(const BatchedCall&) = delete;
  // An entry of that argument's tensor. Throws ShapeError if sizes of batches differ, IndexError.
  Tensor entry(const Tensor& x, std::size_t argument);
  std::vector<Tensor> finish(std::span<const Tensor> results);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
struct EntryMaker {
  void tensor(Tensor& t) { t = call.entry(t, argument); }
  template <class T>
  void fixed(const T&) {}
  BatchedCall& call;
  std::size_t argument;
};
}  // namespace detail

// Axes of the batch: in each argument, nullopt for one that all entries share; missing ones are 0. In results: all the
// same.
struct BatchAxes {
  std::vector<std::optional<int>> arguments = {};
  int result = 0;
};

// (arguments…) → the results for all entries of a batch, as if the function was called for each: it is called once, on
// an entry that has types and no values. Throws ShapeError if arguments have batches of different sizes or none has
// one, or if a result has, with its batches, more than eight axes; what is computed inside may have more.
template <class F>
auto vmap(F&& function, BatchAxes axes = {}) {
  return [f = detail::Function<F>(std::forward<F>(function)), axes]<class... Args>(Args&&... args) {
    std::tuple<std::decay_t<Args>...> all(std::forward<Args>(args)...);
    detail::BatchedCall call(axes.arguments, axes.result);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      const auto make = [&](auto& argument, std::size_t place) {
        detail::EntryMaker maker{call, place};
        detail::visit_tensors(argument, maker);
      };
      (make(std::get<i>(all), i), ...);
    }(std::make_index_sequence<sizeof...(Args)>());
    auto result = std::apply(f, std::move(all));
    const std::vector<Tensor> tensors = call.finish(detail::tensors_in(result));
    return detail::with_tensors(std::move(result), tensors);
  };
}

// ---- What a program says about derivatives

// x, which is constant for derivatives.
Tensor stop_gradient(const Operand& x);
// The same of all tensors in a value.
template <class T>
  requires(!std::is_convertible_v<const T&, Operand>)
T stop_gradient(const T& value) {
  std::vector<Tensor> tensors = detail::tensors_in(value);
  for (Tensor& t : tensors) {
    if (t.defined()) t = stop_gradient(t);
  }
  return detail::with_tensors(value, tensors);
}

namespace detail {
// Cotangents of operands, given operands, results and cotangents of results; or tangents of results, given operands,
// results and tangents of operands. Undefined: zeros.
using CustomRule = std::function<std::vector<Tensor>(std::span<const Tensor> operands, std::span<const Tensor> results,
                                                     std::span<const Tensor> derivatives)>;
std::vector<Tensor> with_rules(std::span<const Tensor> operands, std::span<const Tensor> results, CustomRule vjp,
                               CustomRule jvp);
// Results of `function`, which is run on the operands, and whose intermediates are computed again for derivatives.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor> operands)>;
std::vector<Tensor> checkpointed(std::span<const Tensor> operands, const TensorFunction& function);
// Zeros in the places of undefined derivatives of floats and complex numbers.
std::vector<Tensor> filled(std::span<const Tensor> derivatives, std::span<const Tensor> like);
}  // namespace detail

namespace detail {
enum class OwnRule : std::uint8_t { vjp, jvp };
template <OwnRule kind, class F, class Rule>
auto with_own_rule(F&& function, Rule&& rule) {
  return [f = Function<F>(std::forward<F>(function)),
          rule = Function<Rule>(std::forward<Rule>(rule))]<class... Args>(Args&&... args) {
    const std::tuple<std::decay_t<Args>...> all(std::forward<Args>(args)...);
    auto result = std::apply(f, all);
    CustomRule own = [rule, all = without_tensors(all), result = without_tensors(result)](
                         std::span<const Tensor> operands, std::span<const Tensor> results,
                         std::span<const Tensor> derivatives) {
      // What is given has the form of the results, or that of the arguments.
      const auto given = [&] {
        if constexpr (kind == OwnRule::vjp)
          return with_tensors(result, filled(derivatives, results));
        else
          return with_tensors(all, filled(derivatives, operands));
      }();
      return tensors_in(rule(with_tensors(all, operands), with_tensors(result, results), given));
    };
    const std::vector<Tensor> operands = tensors_in(all), results = tensors_in(result);
    const std::vector<Tensor> tensors = kind == OwnRule::vjp ? with_rules(operands, results, std::move(own), {})
                                                             : with_rules(operands, results, {}, std::move(own));
    return with_tensors(std::move(result), tensors);
  };
}
}  // namespace detail

// The function with a derivative of the program's own: pull_back(arguments as a tuple, result, cotangents of the
// result's type) → cotangents of the arguments as a tuple (of one argument: that one's). Cotangents of what has no
// derivatives may be undefined. The function itself is not differentiated; tensors that it captures are constant.
// Forward mode takes the transpose of pull_back, which is linear in its cotangents.
template <class F, class Rule>
auto custom_vjp(F&& function, Rule&& pull_back) {
  return detail::with_own_rule<detail::OwnRule::vjp>(std::forward<F>(function), std::forward<Rule>(pull_back));
}

// The function with a derivative of the program's own: push_forward(arguments as a tuple, result, tangents as a tuple)
// → tangents of the result's type, linear in the tangents. Reverse mode takes its transpose.
template <class F, class Rule>
auto custom_jvp(F&& function, Rule&& push_forward) {
  return detail::with_own_rule<detail::OwnRule::jvp>(std::forward<F>(function), std::forward<Rule>(push_forward));
}

// The function, whose intermediates are not kept for its derivative but computed again: less memory for more time.
// Tensors that it captures are differentiated as arguments are.
template <class F>
auto checkpoint(F&& function) {
  return [f = detail::Function<F>(std::forward<F>(function))]<class... Args>(Args&&... args) {
    using Arguments = std::tuple<std::decay_t<Args>...>;
    using Result = std::remove_cvref_t<std::invoke_result_t<const detail::Function<F>&, std::decay_t<Args>...>>;
    const Arguments all(std::forward<Args>(args)...);
    std::optional<Result> result;
    const std::vector<Tensor> tensors =
        detail::checkpointed(detail::tensors_in(all), [&](std::span<const Tensor> operands) {
          result.emplace(std::apply(f, detail::with_tensors(all, operands)));
          return detail::tensors_in(*result);
        });
    return detail::with_tensors(std::move(*result), tensors);
  };
}

}  // namespace weft
