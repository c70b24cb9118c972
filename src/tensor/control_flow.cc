#include "weft/control_flow.h"

#include <algorithm>
#include <limits>

#include "core/format.h"
#include "graph/clone.h"
#include "tensor/pending_graph.h"
#include "tensor/tracing.h"
#include "transform/batch.h"
#include "transform/control_flow.h"
#include "weft/creation.h"
#include "weft/error.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();

// A function's results for tensors without values, which become a graph that an op owns.
class Trace {
 public:
  // `arguments`: like what it is called with; undefined ones stay so.
  Trace(std::span<const Tensor> arguments, const TensorFunction& function) : since_(Node::next_sequence()) {
    for (const Tensor& x : arguments) stand_ins_.push_back(x.defined() ? stand_in_for(x.type()) : Tensor());
    const TracingScope scope;
    results_ = function(stand_ins_);
  }
  const std::vector<Tensor>& results() const { return results_; }

  // What the function takes from outside of its arguments: what was there before and is no constant, and what has data.
  void collect(std::vector<Tensor>& outside, ResultMap& known) const {
    collect_outside(results_, [&](const Node& node) { return node.sequence() < since_; }, outside, known);
  }

  // The results on other tensors in place of the arguments and of what is outside.
  std::vector<Tensor> on(std::span<const Tensor> arguments, std::span<const Tensor> outside,
                         std::span<const Tensor> in_place) const {
    ResultMap now;
    for (std::size_t i = 0, next = 0; i < stand_ins_.size(); ++i) {
      if (stand_ins_[i].defined()) now.set(stand_ins_[i], arguments[next++]);
    }
    for (std::size_t i = 0; i < outside.size(); ++i) now.set(outside[i], in_place[i]);
    return clone(defined(results_), now);
  }

  // The function as a graph of operands of which the last are what is outside, and the others its arguments.
  GraphPtr graph(std::span<const Tensor> operands, std::span<const Tensor> outside) const {
    const std::size_t own = operands.size() - outside.size();
    return make_subgraph(types_of(operands), nullptr, [&](std::span<const Tensor> x, std::span<const Tensor>) {
      return on(x.first(own), outside, x.subspan(own));
    });
  }

  static std::vector<Tensor> defined(std::span<const Tensor> all) {
    std::vector<Tensor> some;
    std::ranges::copy_if(all, std::back_inserter(some), &Tensor::defined);
    return some;
  }

 private:
  const std::uint64_t since_;
  std::vector<Tensor> stand_ins_, results_;
};

// The results of an op in the places of those that are defined.
std::vector<Tensor> in_places(std::span<const Tensor> like, const Tensor& first) {
  std::vector<Tensor> all(like.size());
  int next = 0;
  for (std::size_t i = 0; i < like.size(); ++i) {
    if (like[i].defined()) all[i] = result(first, next++);
  }
  return all;
}

// Throws unless a function gives tensors of the types that are expected.
void require_alike(std::string_view function, std::string_view what, std::span<const Tensor> given,
                   std::span<const Tensor> expected, std::string_view why) {
  if (given.size() != expected.size()) {
    throw InvalidArgument("{}: {} gives {} tensors, expected {}, {}", function, what, given.size(), expected.size(),
                          why);
  }
  const auto text = [](const Tensor& t) {
    return t.defined() ? to_string(t.type()) : std::string("an undefined Tensor");
  };
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Tensor &x = given[i], &like = expected[i];
    if (!x.defined() && !like.defined()) continue;
    if (x.defined() && like.defined() && x.type() == like.type()) continue;
    const std::string message =
        std::format("{}: {} gives {} for tensor {}, expected {}, {}", function, what, text(x), i, text(like), why);
    if (!x.defined() || !like.defined()) throw InvalidArgument("{}", message);
    if (x.dtype() != like.dtype()) throw TypeError("{}", message);
    throw ShapeError("{}", message);
  }
}

// The op's first result, recorded at a line of the program.
Tensor apply_at(const std::source_location& where, OpPtr op, std::vector<Tensor> inputs) {
  const Operand line = inputs.empty() ? Operand() : Operand(inputs[0], where);
  return apply(std::move(op), std::move(inputs));
}

// One boolean, as a tensor of shape [].
Tensor as_condition(std::string_view function, std::string_view what, const Tensor& x) {
  if (!x.defined()) throw InvalidArgument("{}: {} is an undefined Tensor", function, what);
  if (x.dtype() != DType::boolean) {
    throw TypeError("{}: {} is {}, expected one bool", function, what, to_string(x.type()));
  }
  if (x.size() != 1) throw ShapeError("{}: {} is {}, expected one bool", function, what, to_string(x.type()));
  return x.rank() == 0 ? x : reshape(x, {});
}

}  // namespace

std::vector<Tensor> cond(const Predicate& predicate, std::span<const Tensor> operands, const TensorFunction& then,
                         const TensorFunction& otherwise) {
  const Tensor condition = as_condition("cond", "the predicate", predicate.tensor);
  const Trace traces[] = {Trace(operands, then), Trace(operands, otherwise)};
  require_alike("cond", "the second branch", traces[1].results(), traces[0].results(), "as the first");
  std::vector<Tensor> inputs = Trace::defined(operands), outside;
  if (Trace::defined(traces[0].results()).empty()) return traces[0].results();
  ResultMap known;
  for (const Trace& t : traces) t.collect(outside, known);
  inputs.insert(inputs.end(), outside.begin(), outside.end());
  const OpPtr op = make_op<CondOp>(CondAttributes{},
                                   CondOp::Graphs{traces[0].graph(inputs, outside), traces[1].graph(inputs, outside)});
  inputs.insert(inputs.begin(), condition);
  return in_places(traces[0].results(), apply_at(predicate.where, op, std::move(inputs)));
}

std::vector<Tensor> while_loop(std::span<const Tensor> carries, const TensorFunction& condition,
                               const TensorFunction& body, const std::source_location& where) {
  const Trace test(carries, [&](std::span<const Tensor> x) {
    return std::vector{as_condition("while_loop", "what the condition gives", condition(x)[0])};
  });
  const Trace step(carries, body);
  require_alike("while_loop", "the body", step.results(), carries, "as it takes");
  std::vector<Tensor> inputs = Trace::defined(carries), outside;
  const auto own = static_cast<int>(inputs.size());
  if (own == 0) throw InvalidArgument("while_loop: no tensor that the body makes again");
  ResultMap known;
  test.collect(outside, known);
  step.collect(outside, known);
  inputs.insert(inputs.end(), outside.begin(), outside.end());
  const OpPtr op = make_op<WhileLoopOp>(WhileLoopAttributes{own},
                                        WhileLoopOp::Graphs{test.graph(inputs, outside), step.graph(inputs, outside)});
  return in_places(carries, apply_at(where, op, std::move(inputs)));
}

std::int64_t count_turns(std::int64_t first, std::int64_t end) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
  if (end <= first) return 0;
  if (first < kLowest || end > kHighest + 1 || end - first > kHighest) {
    throw InvalidArgument("fori_loop: indices from {} up to {}; indices have 32 bits, and there are 2147483647 at most",
                          first, end);
  }
  return end - first;
}

std::int64_t scan_length(std::span<const Tensor> xs) {
  std::optional<std::int64_t> length;
  for (const Tensor& x : xs) {
    if (!x.defined()) continue;
    if (x.rank() == 0) throw ShapeError("scan: {} has no axis to go along", to_string(x.type()));
    if (length && *length != x.shape()[0]) {
      throw ShapeError("scan: a tensor {} has {} slices, one before it {}", to_string(x.type()), x.shape()[0], *length);
    }
    length = x.shape()[0];
  }
  if (!length) throw ShapeError("scan: no tensor to take slices of; give the number of turns instead");
  return *length;
}

std::vector<Tensor> scan(const Loop& loop, std::span<const Tensor> carries, std::span<const Tensor> xs,
                         const TensorFunction& body) {
  if (loop.length < 0) throw InvalidArgument("{}: {} turns, expected 0 or more", loop.function, loop.length);
  if (loop.length > kHighest) throw InvalidArgument("{}: {} turns; indices have 32 bits", loop.function, loop.length);
  // As the body sees them: the index, the carries, a slice of each of xs. Slices of no rows have a type too.
  std::vector<Tensor> arguments{zeros({}, DType::i32)};
  arguments.insert(arguments.end(), carries.begin(), carries.end());
  for (const Tensor& x : xs) {
    if (!x.defined()) {
      arguments.emplace_back();
      continue;
    }
    TensorType type = x.type();
    type.shape.erase(0);
    arguments.push_back(stand_in_for(std::move(type)));
  }
  const Trace trace(arguments, [&](std::span<const Tensor> seen) {
    std::vector<Tensor> given(seen.begin(), seen.end());
    if (loop.first != 0) given[0] = given[0] + Graph::scalar(loop.first, DType::i32);
    return body(given);
  });
  const std::span<const Tensor> results = trace.results();
  if (results.size() < carries.size()) {
    throw InvalidArgument("{}: the body gives {} tensors, expected {} or more", loop.function, results.size(),
                          carries.size());
  }
  require_alike(loop.function, "the body", results.first(carries.size()), carries, "as it takes");
  if (Trace::defined(results).empty()) return {results.begin(), results.end()};
  std::vector<Tensor> inputs = Trace::defined(carries), outside;
  const std::vector<Tensor> sliced = Trace::defined(xs);
  ScanLoopAttributes attributes{.length = sliced.empty() ? loop.length : -1,
                                .carries = static_cast<int>(inputs.size()),
                                .slices = static_cast<int>(sliced.size()),
                                .reverse = loop.reverse};
  inputs.insert(inputs.end(), sliced.begin(), sliced.end());
  const std::size_t own = inputs.size();
  ResultMap known;
  trace.collect(outside, known);
  inputs.insert(inputs.end(), outside.begin(), outside.end());
  const std::vector<TensorType> types = types_in_turn(inputs, own - sliced.size(), sliced.size());
  Graph like;
  like.number("index", DType::i32);
  const GraphPtr graph = make_subgraph(types, &like, [&](std::span<const Tensor> x, std::span<const Tensor> numbers) {
    std::vector<Tensor> given{numbers[0]};
    given.insert(given.end(), x.begin(), x.begin() + static_cast<std::ptrdiff_t>(own));
    return trace.on(given, outside, x.subspan(own));
  });
  return in_places(results,
                   apply_at(loop.where, make_op<ScanLoopOp>(attributes, ScanLoopOp::Graphs{graph}), std::move(inputs)));
}

}  // namespace weft::detail
