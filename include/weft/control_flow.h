// Branches and loops that depend on values of tensors, as operations of a graph.
//
//   Tensor y = cond(sum(x) > 0, [](Tensor x) { return sqrt(x); }, [](Tensor x) { return -x; }, x);
//   auto [n, v] = while_loop([](auto s) { return abs(s.second) > 1e-6; }, newton_step, std::pair(n0, v0));
//   Tensor x10 = fori_loop(0, 10, [&](Tensor i, Tensor x) { return x + dt * f(x); }, x0);
//   auto [last, path] = scan([&](Tensor x, Tensor u) { x = step(x, u); return std::pair(x, x); }, x0, inputs);
//
// Outside of compile(), vmap() and these functions C++'s own if, while and for do the same on values that are read, and
// are the simplest. Inside of these, where tensors have no values, and for loops of many turns, whose operations would
// make a graph of as many copies, these record one operation that holds the branches, or the body once.
//
// The functions are called once (condition and body of while_loop: once each), on tensors that have types and no
// values; reading them throws InvalidArgument. They take and give what compile() takes: tensors, containers and structs
// of them; what is no tensor in them is constant. Tensors that they capture are operands like their arguments.
// Gradients, tangents and batches go through all of them, but for the gradient of while_loop(), which throws
// Unsupported: how often it turns is not known. A loop's gradient keeps the carries of each turn, and computes the rest
// of a turn again.
//
// On a GPU scan() and fori_loop() are submitted at once. For the condition of a cond(), and of each turn of a
// while_loop(), a run waits for the device (CompileReport::blocks); a vmap() over conditions of cond() computes both
// branches instead, without a wait. The names and their meaning are JAX's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/derivatives.h"
#include "weft/tensor_tree.h"

namespace weft {

namespace detail {
// A tensor, and the line of the program that gave it.
struct Predicate {
  Predicate(const Tensor& t, std::source_location line = std::source_location::current())  // NOLINT: implicit
      : tensor(t), where(line) {}
  Tensor tensor;
  std::source_location where;
};
std::vector<Tensor> cond(const Predicate& predicate, std::span<const Tensor> operands, const TensorFunction& then,
                         const TensorFunction& otherwise);
std::vector<Tensor> while_loop(std::span<const Tensor> carries, const TensorFunction& condition,
                               const TensorFunction& body, const std::source_location& where);
// `body`: of the index, the carries, and a slice of each of xs, gives the next carries and what is stacked. `function`:
// what messages call it.
struct Loop {
  std::string_view function;
  std::source_location where;
  std::int64_t first = 0, length = 0;
  bool reverse = false;
};
std::vector<Tensor> scan(const Loop& loop, std::span<const Tensor> carries, std::span<const Tensor> xs,
                         const TensorFunction& body);
// How many indices are from first up to end. Throws InvalidArgument if they have more than 32 bits.
std::int64_t count_turns(std::int64_t first, std::int64_t end);
// The length of the tensors' first axis. Throws ShapeError if they have none, or several.
std::int64_t scan_length(std::span<const Tensor> xs);

// A function of values as one of tensors, which keeps the form of its result.
template <class Result>
struct ResultForm {
  std::optional<Result> form;
  std::vector<Tensor> tensors(const Result& result) {
    std::vector<Tensor> all = tensors_in(result);
    form = without_tensors(result);
    return all;
  }
};

// step(carry, slices) gives a pair of the next carry and a result.
template <class Carry, class Step>
auto scanned(const Loop& loop, const Carry& initial, std::span<const Tensor> slices, const Step& step) {
  using Pair = std::decay_t<std::invoke_result_t<const Step&, const Carry&, std::span<const Tensor>>>;
  static_assert(is_a<Pair, std::pair>, "scan: the body gives a pair of the next carry and a result");
  static_assert(std::is_same_v<typename Pair::first_type, Carry>, "scan: the body gives a carry of the type it takes");
  const std::vector<Tensor> carries = tensors_in(initial);
  ResultForm<typename Pair::second_type> result;
  const std::vector<Tensor> made = scan(loop, carries, slices, [&](std::span<const Tensor> tensors) {
    const Pair next =
        step(with_tensors(initial, tensors.subspan(1, carries.size())), tensors.subspan(1 + carries.size()));
    std::vector<Tensor> all = tensors_in(next.first);
    const std::vector<Tensor> results = result.tensors(next.second);
    all.insert(all.end(), results.begin(), results.end());
    return all;
  });
  const std::span<const Tensor> all(made);
  return std::pair(with_tensors(initial, all.first(carries.size())),
                   with_tensors(std::move(*result.form), all.subspan(carries.size())));
}
}  // namespace detail

// then(operands…) where the predicate, one bool, is true, else otherwise(operands…): only that one is computed. Both
// give tensors of the same types. Throws TypeError, ShapeError where the predicate or the results do not fit.
template <class Then, class Otherwise, class... Operands>
auto cond(const detail::Predicate& predicate, Then&& then, Otherwise&& otherwise, const Operands&... operands) {
  using Result = std::decay_t<std::invoke_result_t<Then&, Operands...>>;
  static_assert(std::is_same_v<Result, std::decay_t<std::invoke_result_t<Otherwise&, Operands...>>>,
                "cond: both branches give values of one type");
  const std::tuple<Operands...> all(operands...);
  detail::ResultForm<Result> result;
  const auto branch = [&](auto& function) {
    return [&](std::span<const Tensor> tensors) {
      return result.tensors(std::apply(function, detail::with_tensors(all, tensors)));
    };
  };
  const std::vector<Tensor> made = detail::cond(predicate, detail::tensors_in(all), branch(then), branch(otherwise));
  return detail::with_tensors(std::move(*result.form), made);
}

// body(body(… initial)), as often as condition(value), one bool, is true in front of the body. The body gives tensors
// of the types that it takes. Throws TypeError, ShapeError where they do not fit.
template <class Condition, class Body, class Value>
Value while_loop(Condition&& condition, Body&& body, const Value& initial,
                 std::source_location where = std::source_location::current()) {
  const std::vector<Tensor> made = detail::while_loop(
      detail::tensors_in(initial),
      [&](std::span<const Tensor> tensors) {
        return std::vector<Tensor>{condition(detail::with_tensors(initial, tensors))};
      },
      [&](std::span<const Tensor> tensors) {
        const Value next = body(detail::with_tensors(initial, tensors));
        return detail::tensors_in(next);
      },
      where);
  return detail::with_tensors(initial, made);
}

// body(i, value) for i = first … end − 1, an i32 of shape []. The body gives tensors of the types that it takes. Throws
// TypeError, ShapeError where they do not fit, InvalidArgument for indices past 32 bits.
template <class Body, class Value>
Value fori_loop(std::int64_t first, std::int64_t end, Body&& body, const Value& initial,
                std::source_location where = std::source_location::current()) {
  const std::vector<Tensor> made =
      detail::scan({"fori_loop", where, first, detail::count_turns(first, end)}, detail::tensors_in(initial), {},
                   [&](std::span<const Tensor> tensors) {
                     const Value next = body(tensors[0], detail::with_tensors(initial, tensors.subspan(1)));
                     return detail::tensors_in(next);
                   });
  return detail::with_tensors(initial, made);
}

// (last carry, results): body(carry, x) gives the next carry and a result for each slice x of xs along the first axis,
// which all tensors in xs have in common; the results are stacked along a first axis. reverse: from the last slice to
// the first; results are stacked at the places of their slices. Throws TypeError, ShapeError where they do not fit.
template <class Body, class Carry, class Xs>
  requires std::is_invocable_v<Body&, Carry, Xs>
auto scan(Body&& body, const Carry& initial, const Xs& xs, bool reverse = false,
          std::source_location where = std::source_location::current()) {
  const std::vector<Tensor> slices = detail::tensors_in(xs);
  return detail::scanned(
      {"scan", where, 0, detail::scan_length(slices), reverse}, initial, slices,
      [&](const Carry& carry, std::span<const Tensor> slice) { return body(carry, detail::with_tensors(xs, slice)); });
}

// The same without slices: body(carry) gives the next carry and a result, `length` times. Throws InvalidArgument for a
// negative length.
template <class Body, class Carry>
  requires std::is_invocable_v<Body&, Carry>
auto scan(Body&& body, const Carry& initial, std::int64_t length,
          std::source_location where = std::source_location::current()) {
  return detail::scanned({"scan", where, 0, length}, initial, {},
                         [&](const Carry& carry, std::span<const Tensor>) { return body(carry); });
}

}  // namespace weft
