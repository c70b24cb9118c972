#include "transform/control_flow.h"

#include <algorithm>
#include <limits>

#include "core/format.h"
#include "graph/leaf.h"
#include "ops/identity.h"
#include "ops/op_rows.h"
#include "ops/rules.h"
#include "transform/batch.h"
#include "transform/derivatives.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

using Places = std::vector<std::size_t>;

std::vector<Tensor> apply_all(OpPtr op, std::vector<Tensor> inputs) {
  return results_of(apply(std::move(op), std::move(inputs)));
}

template <class T>
void append(std::vector<T>& list, std::span<const std::type_identity_t<T>> more) {
  list.insert(list.end(), more.begin(), more.end());
}

// Those of a list for which a condition holds.
template <class Condition>
Places places_where(std::size_t count, Condition&& holds) {
  Places found;
  for (std::size_t i = 0; i < count; ++i) {
    if (holds(i)) found.push_back(i);
  }
  return found;
}
std::vector<Tensor> picked(std::span<const Tensor> of, const Places& at) {
  std::vector<Tensor> some;
  for (const std::size_t i : at) some.push_back(of[i]);
  return some;
}
Places shifted(Places indices, std::size_t by) {
  for (std::size_t& i : indices) i += by;
  return indices;
}

void require_types(std::string_view op, std::string_view what, std::span<const TensorType> given,
                   std::span<const TensorType> expected) {
  if (given.size() != expected.size()) {
    throw InvalidArgument("{}: {} {}, expected {}", op, given.size(), what, expected.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == expected[i]) continue;
    throw InvalidArgument("{}: of the {} number {} is {}, expected {}", op, what, i, to_string(given[i]),
                          to_string(expected[i]));
  }
}

// (Graphs may come from a file.)
void require_numbers(std::string_view op, const Graph& graph, std::span<const TensorType> expected) {
  std::vector<Tensor> numbers;
  for (const GraphPort& p : graph.impl().numbers) numbers.push_back(p.value);
  require_types(op, "numbers of a graph", types_of(numbers), expected);
}
// Parts of the list of operands are counted by attributes.
void require_counts(std::string_view op, std::size_t operands, int carries, int slices) {
  if (carries >= 0 && slices >= 0 && static_cast<std::size_t>(carries) + static_cast<std::size_t>(slices) <= operands)
    return;
  throw InvalidArgument("{}: {} carries and {} slices of {} operands", op, carries, slices, operands);
}
void require_results(std::string_view op, std::span<const TensorType> results) {
  if (results.empty()) throw InvalidArgument("{}: no results", op);
}

// The cotangents of these inputs of a graph.
std::vector<Tensor> pulled_back(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> numbers,
                                const Places& wanted, std::span<const Tensor> cotangents) {
  std::vector<Tensor> given(inputs.begin(), inputs.end()), variables;
  for (const std::size_t i : wanted) variables.push_back(given[i] = identity(given[i]));
  std::vector<Tensor> made = pull_back(inlined(graph, given, numbers), cotangents, variables);
  for (std::size_t k = 0; k < made.size(); ++k) made[k] = or_zeros(made[k], variables[k].type());
  return made;
}

// The outputs of a graph and their tangents, given those of the inputs; undefined: zeros.
struct WithTangents {
  std::vector<Tensor> outputs, tangents;
};
WithTangents pushed_forward(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> numbers,
                            std::span<const Tensor> tangents) {
  std::vector<Tensor> given(inputs.begin(), inputs.end()), variables(inputs.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (tangents[i].defined()) variables[i] = given[i] = identity(given[i]);
  }
  WithTangents made{inlined(graph, given, numbers), {}};
  made.tangents = push_forward(made.outputs, variables, tangents);
  for (std::size_t k = 0; k < made.tangents.size(); ++k) {
    made.tangents[k] =
        is_inexact(made.outputs[k].dtype()) ? or_zeros(made.tangents[k], made.outputs[k].type()) : Tensor();
  }
  return made;
}

// The outputs of a graph for inputs of which some have a batch as their first axis.
Batched batched_outputs(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> numbers,
                        std::span<const char> has_batch) {
  std::vector<Tensor> variables, outputs, values(inputs.begin(), inputs.end());
  std::vector<int> axes;
  for (const GraphPort& p : graph.impl().inputs) variables.push_back(p.value);
  for (const GraphPort& p : graph.impl().numbers) variables.push_back(p.value);
  for (const GraphPort& p : graph.impl().outputs) outputs.push_back(p.value);
  append(values, numbers);
  for (std::size_t i = 0; i < values.size(); ++i) axes.push_back(i < inputs.size() && has_batch[i] ? 0 : -1);
  return batch(outputs, variables, values, axes);
}

std::vector<char> having_batch(std::span<const int> axes) {
  std::vector<char> has;
  for (const int axis : axes) has.push_back(axis >= 0);
  return has;
}

// An operand as a graph for batches takes it.
Tensor with_batch(const Tensor& x, int axis, bool has_batch, std::int64_t size) {
  return has_batch ? batch_first(x, axis, size) : x;
}

// Carries have a batch where the body gives one for a carry without. `trace` makes the body for carries of which these
// have one, and notes the further ones.
template <class Trace>
GraphPtr until_stable(std::vector<char>& carries, Trace&& trace) {
  for (;;) {
    std::vector<char> next = carries;
    GraphPtr made = trace(next);
    if (next == carries) return made;
    carries = std::move(next);
  }
}

Batched with_first_axes(std::vector<Tensor> outputs, std::span<const char> has_batch) {
  Batched all{std::move(outputs), {}};
  for (const char has : has_batch) all.axes.push_back(has ? 0 : -1);
  return all;
}

}  // namespace

// ---- cond

OpPtr CondOp::with_subgraphs(std::vector<GraphPtr> graphs) const {
  return make_op<CondOp>(CondAttributes{}, Graphs{graphs[0], graphs[1]});
}

std::vector<TensorType> CondOp::infer(std::span<const TensorType> inputs) const {
  if (inputs.empty()) throw InvalidArgument("cond: no predicate");
  const TensorType expected{DType::boolean, {}};
  require_types("cond", "predicates", inputs.first(1), std::span(&expected, 1));
  for (const GraphPtr& g : graphs_) {
    require_types("cond", "operands of a branch", inputs.subspan(1), input_types(*g));
    require_numbers("cond", *g, {});
  }
  std::vector<TensorType> results = output_types(*graphs_[0]);
  require_results("cond", results);
  require_types("cond", "results of the second branch", output_types(*graphs_[1]), results);
  return results;
}

std::vector<Tensor> CondOp::expanded(std::span<const Tensor> inputs) const {
  const ConstantOp* constant = inputs[0].node()->op().constant();
  const auto value = constant ? constant->scalar() : std::nullopt;
  return value ? inlined(*graphs_[*value != 0 ? 0 : 1], inputs.subspan(1)) : std::vector<Tensor>();
}

OpPtr CondOp::branches_of(std::vector<Tensor>& operands, const std::array<SubgraphFunction, 2>& functions) const {
  const std::vector<GraphPtr> made = transformed_subgraphs(graphs_, types_of(operands), operands, functions);
  return make_op<CondOp>(CondAttributes{}, Graphs{made[0], made[1]});
}

Derivatives CondOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const std::span<const Tensor> operands = node.inputs.subspan(1);
  const Places wanted = places_where(operands.size(), [&](std::size_t i) { return node.wanted[i + 1]; });
  const Places given = places_where(cotangents.size(), [&](std::size_t i) { return cotangents[i].defined(); });
  std::vector<Tensor> inputs(operands.begin(), operands.end());
  append(inputs, picked(cotangents, given));
  const auto backward = [&](const Graph& branch) {
    return [&](std::span<const Tensor> x, std::span<const Tensor>) {
      std::vector<Tensor> all(cotangents.size());
      for (std::size_t k = 0; k < given.size(); ++k) all[given[k]] = x[operands.size() + k];
      return pulled_back(branch, x.first(operands.size()), {}, wanted, all);
    };
  };
  const OpPtr op = branches_of(inputs, {backward(*graphs_[0]), backward(*graphs_[1])});
  inputs.insert(inputs.begin(), node.inputs[0]);
  const std::vector<Tensor> made = apply_all(op, std::move(inputs));
  std::vector<Tensor> all(node.inputs.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) all[wanted[k] + 1] = made[k];
  return all;
}

Derivatives CondOp::jvp(const Differentiated& node, std::span<const Tensor> tangents) const {
  const std::span<const Tensor> operands = node.inputs.subspan(1);
  const Places given = places_where(operands.size(), [&](std::size_t i) { return tangents[i + 1].defined(); });
  const Places results =
      places_where(node.outputs.size(), [&](std::size_t i) { return is_inexact(node.outputs[i].dtype()); });
  std::vector<Tensor> all(node.outputs.size());
  if (results.empty()) return all;
  std::vector<Tensor> inputs(operands.begin(), operands.end());
  append(inputs, picked(tangents, shifted(given, 1)));
  const auto forward = [&](const Graph& branch) {
    return [&](std::span<const Tensor> x, std::span<const Tensor>) {
      std::vector<Tensor> t(operands.size());
      for (std::size_t k = 0; k < given.size(); ++k) t[given[k]] = x[operands.size() + k];
      return picked(pushed_forward(branch, x.first(operands.size()), {}, t).tangents, results);
    };
  };
  const OpPtr op = branches_of(inputs, {forward(*graphs_[0]), forward(*graphs_[1])});
  inputs.insert(inputs.begin(), node.inputs[0]);
  const std::vector<Tensor> made = apply_all(op, std::move(inputs));
  for (std::size_t k = 0; k < results.size(); ++k) all[results[k]] = made[k];
  return all;
}

std::optional<Batched> CondOp::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  const std::int64_t size = batch_size(inputs, axes);
  const std::vector<char> has_batch = having_batch(axes.subspan(1));
  std::vector<Tensor> operands;
  for (std::size_t i = 1; i < inputs.size(); ++i)
    operands.push_back(with_batch(inputs[i], axes[i], axes[i] >= 0, size));
  if (axes[0] >= 0) {
    // Entries take different branches, so both are computed.
    const Tensor predicate = batch_first(inputs[0], axes[0], size);
    const Batched a = batched_outputs(*graphs_[0], operands, {}, has_batch);
    const Batched b = batched_outputs(*graphs_[1], operands, {}, has_batch);
    std::vector<Tensor> chosen;
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
      const Tensor x = batch_first(a.outputs[i], a.axes[i], size);
      chosen.push_back(
          select(batch_broadcast(predicate, 0, x.rank() - 1), x, batch_first(b.outputs[i], b.axes[i], size)));
    }
    return with_first_axes(std::move(chosen), std::vector<char>(a.outputs.size(), 1));
  }
  std::vector<char> results(output_types(*graphs_[0]).size(), 0);
  const auto traced = [&](const Graph& branch, bool look) {
    return [&, look](std::span<const Tensor> x, std::span<const Tensor>) {
      Batched made = batched_outputs(branch, x, {}, has_batch);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (look)
          results[i] |= made.axes[i] >= 0;
        else if (results[i])
          made.outputs[i] = batch_first(made.outputs[i], made.axes[i], size);
      }
      return made.outputs;
    };
  };
  for (const GraphPtr& g : graphs_) make_subgraph(types_of(operands), nullptr, traced(*g, true));
  const OpPtr op = branches_of(operands, {traced(*graphs_[0], false), traced(*graphs_[1], false)});
  operands.insert(operands.begin(), inputs[0]);
  return with_first_axes(apply_all(op, std::move(operands)), results);
}

// ---- while_loop

OpPtr WhileLoopOp::with_subgraphs(std::vector<GraphPtr> graphs) const {
  return make_op<WhileLoopOp>(a, Graphs{graphs[0], graphs[1]});
}

std::vector<TensorType> WhileLoopOp::infer(std::span<const TensorType> inputs) const {
  require_counts("while_loop", inputs.size(), a.carries, 0);
  for (const GraphPtr& g : graphs_) {
    require_types("while_loop", "operands", inputs, input_types(*g));
    require_numbers("while_loop", *g, {});
  }
  const TensorType expected{DType::boolean, {}};
  require_types("while_loop", "results of the condition", output_types(*graphs_[0]), std::span(&expected, 1));
  const auto carries = inputs.first(static_cast<std::size_t>(a.carries));
  require_types("while_loop", "results of the body", output_types(*graphs_[1]), carries);
  require_results("while_loop", carries);
  return {carries.begin(), carries.end()};
}

Derivatives WhileLoopOp::vjp(const Differentiated& node, std::span<const Tensor>) const {
  throw Unsupported(
      "no reverse derivative of while_loop{}: how often it turns is not known, so what its turns computed "
      "is not kept; fori_loop() and scan() have one, and forward mode has",
      node.outputs[0].defined() ? recorded_at(node.outputs[0].node()->line()) : std::string());
}

Derivatives WhileLoopOp::jvp(const Differentiated& node, std::span<const Tensor> tangents) const {
  const auto carries = static_cast<std::size_t>(a.carries);
  const Places moving = places_where(carries, [&](std::size_t i) { return is_inexact(node.inputs[i].dtype()); });
  const Places given =
      places_where(node.inputs.size() - carries, [&](std::size_t i) { return tangents[carries + i].defined(); });
  // Carries, their tangents, what all turns see, its tangents.
  std::vector<Tensor> inputs(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(carries));
  for (const std::size_t i : moving) inputs.push_back(or_zeros(tangents[i], node.inputs[i].type()));
  append(inputs, node.inputs.subspan(carries));
  append(inputs, picked(tangents, shifted(given, carries)));
  const auto own = [&](std::span<const Tensor> x) {
    std::vector<Tensor> all(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(carries));
    append(all, x.subspan(carries + moving.size(), node.inputs.size() - carries));
    return all;
  };
  const SubgraphFunction functions[] = {
      [&](std::span<const Tensor> x, std::span<const Tensor>) { return inlined(*graphs_[0], own(x)); },
      [&](std::span<const Tensor> x, std::span<const Tensor>) {
        std::vector<Tensor> t(node.inputs.size());
        for (std::size_t k = 0; k < moving.size(); ++k) t[moving[k]] = x[carries + k];
        for (std::size_t k = 0; k < given.size(); ++k) {
          t[carries + given[k]] = x[node.inputs.size() + moving.size() + k];
        }
        WithTangents made = pushed_forward(*graphs_[1], own(x), {}, t);
        append(made.outputs, picked(made.tangents, moving));
        return made.outputs;
      }};
  const std::vector<GraphPtr> graphs = transformed_subgraphs(graphs_, types_of(inputs), inputs, functions);
  const int all_carries = static_cast<int>(carries + moving.size());
  const std::vector<Tensor> made = apply_all(
      make_op<WhileLoopOp>(WhileLoopAttributes{all_carries}, Graphs{graphs[0], graphs[1]}), std::move(inputs));
  std::vector<Tensor> all(carries);
  for (std::size_t k = 0; k < moving.size(); ++k) all[moving[k]] = made[carries + k];
  return all;
}

std::optional<Batched> WhileLoopOp::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  const std::int64_t size = batch_size(inputs, axes);
  const auto carries = static_cast<std::size_t>(a.carries);
  std::vector<char> has_batch = having_batch(axes);
  std::vector<char> moving(has_batch.begin(), has_batch.begin() + static_cast<std::ptrdiff_t>(carries));
  bool each_stops = false;  // by itself
  std::vector<Tensor> operands;
  const auto set_operands = [&] {
    std::ranges::copy(moving, has_batch.begin());
    operands.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      operands.push_back(with_batch(inputs[i], axes[i], has_batch[i], size));
  };
  const auto condition_of = [&](std::span<const Tensor> x) { return batched_outputs(*graphs_[0], x, {}, has_batch); };
  const auto trace = [&](std::vector<char>& next) {
    set_operands();
    return make_subgraph(types_of(operands), nullptr, [&](std::span<const Tensor> x, std::span<const Tensor>) {
      const Batched condition = condition_of(x);
      each_stops = condition.axes[0] >= 0;
      Batched made = batched_outputs(*graphs_[1], x, {}, has_batch);
      for (std::size_t i = 0; i < carries; ++i) {
        next[i] |= made.axes[i] >= 0 || each_stops;
        if (!next[i]) continue;
        Tensor& y = made.outputs[i];
        y = batch_first(y, made.axes[i], size);
        // Entries that have stopped stay as they are.
        if (each_stops && has_batch[i]) {
          const Tensor goes_on = batch_first(condition.outputs[0], condition.axes[0], size);
          y = select(batch_broadcast(goes_on, 0, y.rank() - 1), y, x[i]);
        }
      }
      return made.outputs;
    });
  };
  const GraphPtr body = until_stable(moving, trace);
  set_operands();
  const GraphPtr condition =
      make_subgraph(types_of(operands), nullptr, [&](std::span<const Tensor> x, std::span<const Tensor>) {
        const Batched made = condition_of(x);
        if (made.axes[0] < 0) return made.outputs;
        return std::vector{any(made.outputs[0])};
      });
  return with_first_axes(apply_all(make_op<WhileLoopOp>(a, Graphs{condition, body}), operands), moving);
}

// ---- scan

std::vector<TensorType> types_in_turn(std::span<const Tensor> operands, std::size_t carries, std::size_t slices) {
  std::vector<TensorType> types = types_of(operands);
  for (std::size_t i = carries; i < carries + slices; ++i) types[i].shape.erase(0);
  return types;
}

OpPtr ScanLoopOp::with_subgraphs(std::vector<GraphPtr> graphs) const {
  return make_op<ScanLoopOp>(a, Graphs{graphs[0]});
}

std::int64_t ScanLoopOp::turns(std::span<const TensorType> inputs) const {
  if (a.length != -1 || a.slices == 0) return a.length;
  const TensorType& sliced = inputs[static_cast<std::size_t>(a.carries)];
  if (sliced.shape.empty()) throw ShapeError("scan: {} has no axis to go along", weft::to_string(sliced));
  return sliced.shape[0];
}

std::vector<TensorType> ScanLoopOp::infer(std::span<const TensorType> inputs) const {
  require_counts("scan", inputs.size(), a.carries, a.slices);
  const std::int64_t length = turns(inputs);
  if (length < 0 || length > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidArgument("scan: {} turns, expected 0 to 2147483647", length);
  }
  const TensorType index{DType::i32, {}};
  require_numbers("scan", *graphs_[0], std::span(&index, 1));
  const auto stacked = [&](TensorType type) {
    if (type.shape.rank() == kMaxRank) {
      throw ShapeError("scan: {} of each turn would be stacked to more than {} axes", weft::to_string(type), kMaxRank);
    }
    type.shape.insert(0, length);
    return type;
  };
  const std::vector<TensorType> own = input_types(*graphs_[0]);
  std::vector<TensorType> expected(own.begin(), own.end());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto first = static_cast<std::size_t>(a.carries);
    if (i >= first && i < first + static_cast<std::size_t>(a.slices)) expected[i] = stacked(expected[i]);
  }
  require_types("scan", "operands", inputs, expected);
  const std::vector<TensorType> given = output_types(*graphs_[0]);
  const auto count = static_cast<std::size_t>(a.carries);
  const std::span<const TensorType> carries = inputs.first(count);
  if (given.size() < count) throw InvalidArgument("scan: the body gives {} carries, expected {}", given.size(), count);
  require_types("scan", "carries that the body gives", std::span(given).first(count), carries);
  std::vector<TensorType> results(carries.begin(), carries.end());
  for (std::size_t i = count; i < given.size(); ++i) results.push_back(stacked(given[i]));
  if (a.keep_carries) {
    for (const TensorType& t : carries) results.push_back(stacked(t));
  }
  require_results("scan", results);
  return results;
}

OpPtr ScanLoopOp::with_more_results() const {
  if (a.keep_carries) return nullptr;
  ScanLoopAttributes keeping = a;
  keeping.keep_carries = true;
  return make_op<ScanLoopOp>(keeping, graphs_);
}

std::vector<Tensor> ScanLoopOp::expanded(std::span<const Tensor> inputs) const {
  if (a.slices == 0 && !a.keep_carries && output_types(*graphs_[0]).size() == static_cast<std::size_t>(a.carries))
    return {};
  const auto carries = static_cast<std::size_t>(a.carries);
  const std::vector<TensorType> results = infer(types_of(inputs));
  std::vector<Tensor> operands;
  append(operands, inputs.first(carries));
  for (std::size_t i = carries; i < results.size(); ++i) operands.push_back(zeros_of(results[i]));
  const std::int64_t length = turns(types_of(inputs));
  if (length == 0) return operands;
  append(operands, inputs.subspan(carries));
  const GraphPtr body = make_subgraph(
      types_of(operands), graphs_[0].get(), [&](std::span<const Tensor> x, std::span<const Tensor> numbers) {
        const Tensor& at = numbers[0];
        std::vector<Tensor> given(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(carries));
        const std::span<const Tensor> rest = x.subspan(results.size());
        for (std::size_t i = 0; i < rest.size(); ++i) {
          if (i >= static_cast<std::size_t>(a.slices)) {
            given.push_back(rest[i]);
            continue;
          }
          Shape part = rest[i].shape();
          part[0] = 1;
          const Tensor row = dynamic_slice(rest[i], at, part, {0});
          part.erase(0);
          given.push_back(reshape(row, part));
        }
        std::vector<Tensor> made = inlined(*graphs_[0], given, numbers);
        if (a.keep_carries) append(made, std::span(given).first(carries));
        for (std::size_t i = carries; i < made.size(); ++i) {
          made[i] = dynamic_update_slice(x[i], expand_dims(made[i], 0), at, {0});
        }
        return made;
      });
  ScanLoopAttributes plain{.length = length, .carries = static_cast<int>(results.size()), .reverse = a.reverse};
  return apply_all(make_op<ScanLoopOp>(plain, Graphs{body}), std::move(operands));
}

std::vector<Tensor> scanned(std::span<const Tensor> carries, std::span<const Tensor> slices,
                            std::span<const Tensor> shared, bool reverse,
                            const std::function<std::vector<Tensor>(std::span<const Tensor>)>& body) {
  std::vector<Tensor> operands;
  append(operands, carries);
  append(operands, slices);
  append(operands, shared);
  Graph like;
  like.number("index", DType::i32);
  const GraphPtr graph = make_subgraph(types_in_turn(operands, carries.size(), slices.size()), &like,
                                       [&](std::span<const Tensor> x, std::span<const Tensor>) { return body(x); });
  const ScanLoopAttributes loop{.length = -1,
                                .carries = static_cast<int>(carries.size()),
                                .slices = static_cast<int>(slices.size()),
                                .reverse = reverse};
  return apply_all(make_op<ScanLoopOp>(loop, ScanLoopOp::Graphs{graph}), std::move(operands));
}

std::vector<Tensor> ScanLoopOp::on_lists(std::span<const Tensor> inputs) const {
  const auto carries = static_cast<std::size_t>(a.carries), slices = static_cast<std::size_t>(a.slices);
  const auto is_full = [](const TensorType& t) { return t.shape.rank() >= kMaxRank - 1; };
  const auto list_of = [&](const Tensor& x) { return is_full(x.type()) ? reshape(x, {x.size()}) : x; };
  const std::vector<TensorType> own = input_types(*graphs_[0]), results = infer(types_of(inputs));
  if (std::ranges::none_of(own, is_full)) return {};
  std::vector<Tensor> lists(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!is_full(own[i])) continue;
    Shape shape{element_count(own[i].shape)};
    if (i >= carries && i < carries + slices) shape.insert(0, inputs[i].shape()[0]);
    lists[i] = reshape(lists[i], shape);
  }
  const GraphPtr body = make_subgraph(types_in_turn(lists, carries, slices), graphs_[0].get(),
                                      [&](std::span<const Tensor> x, std::span<const Tensor> numbers) {
                                        std::vector<Tensor> given;
                                        for (std::size_t i = 0; i < x.size(); ++i)
                                          given.push_back(reshape(x[i], own[i].shape));
                                        std::vector<Tensor> made = inlined(*graphs_[0], given, numbers);
                                        for (Tensor& y : made) y = list_of(y);
                                        return made;
                                      });
  std::vector<Tensor> made = apply_all(make_op<ScanLoopOp>(a, Graphs{body}), std::move(lists));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = reshape(made[i], results[i].shape);
  return made;
}

std::vector<Tensor> ScanLoopOp::decomposed(std::span<const Tensor> inputs) const {
  if (!a.keep_carries) return on_lists(inputs);
  const GraphPtr body = make_subgraph(input_types(*graphs_[0]), graphs_[0].get(),
                                      [&](std::span<const Tensor> x, std::span<const Tensor> numbers) {
                                        std::vector<Tensor> made = inlined(*graphs_[0], x, numbers);
                                        append(made, x.first(static_cast<std::size_t>(a.carries)));
                                        return made;
                                      });
  ScanLoopAttributes attributes = a;
  attributes.keep_carries = false;
  return apply_all(make_op<ScanLoopOp>(attributes, Graphs{body}), {inputs.begin(), inputs.end()});
}

OpPtr ScanLoopOp::loop_of(const ScanLoopAttributes& attributes, std::span<const TensorType> types,
                          std::vector<Tensor>& operands, const SubgraphFunction& body) const {
  return make_op<ScanLoopOp>(attributes,
                             Graphs{transformed_subgraphs(graphs_, types, operands, std::span(&body, 1))[0]});
}

Derivatives ScanLoopOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  // (The carries of all turns are stacked.)
  const auto is_full = [](const Tensor& x) { return x.rank() == kMaxRank; };
  if (a.keep_carries || std::ranges::any_of(node.inputs.first(static_cast<std::size_t>(a.carries)), is_full)) {
    return std::nullopt;
  }
  const auto carries = static_cast<std::size_t>(a.carries), slices = static_cast<std::size_t>(a.slices);
  const std::vector<Tensor> kept = apply_all(with_more_results(), {node.inputs.begin(), node.inputs.end()});
  const std::span<const Tensor> stacked = cotangents.subspan(carries);
  const Places moving = places_where(carries, [&](std::size_t i) { return is_inexact(node.inputs[i].dtype()); });
  const Places given = places_where(stacked.size(), [&](std::size_t i) { return stacked[i].defined(); });
  const Places sliced = places_where(slices, [&](std::size_t i) { return node.wanted[carries + i]; });
  const Places shared = places_where(node.inputs.size() - carries - slices,
                                     [&](std::size_t i) { return node.wanted[carries + slices + i]; });
  // Carries: cotangents of the carries, and the sums of those of what all turns see. Slices: the carries that the turns
  // began with, the slices, the cotangents of what was stacked.
  std::vector<Tensor> inputs;
  for (const std::size_t i : moving) inputs.push_back(or_zeros(cotangents[i], node.inputs[i].type()));
  for (const std::size_t i : shared) inputs.push_back(accumulated(zeros_of(node.inputs[carries + slices + i].type())));
  const std::size_t back_carries = inputs.size();
  append(inputs, std::span(kept).last(carries));
  append(inputs, node.inputs.subspan(carries, slices));
  append(inputs, picked(stacked, given));
  const std::size_t back_slices = inputs.size() - back_carries;
  append(inputs, node.inputs.subspan(carries + slices));
  const std::vector<TensorType> types = types_in_turn(inputs, back_carries, back_slices);
  const ScanLoopAttributes backward{.length = back_slices > 0 ? -1 : a.length,
                                    .carries = static_cast<int>(back_carries),
                                    .slices = static_cast<int>(back_slices),
                                    .reverse = !a.reverse};
  const OpPtr op = loop_of(backward, types, inputs, [&](std::span<const Tensor> x, std::span<const Tensor> numbers) {
    std::vector<Tensor> operands;
    append(operands, x.subspan(back_carries, carries + slices));
    append(operands, x.subspan(back_carries + back_slices));
    std::vector<Tensor> all(cotangents.size());
    for (std::size_t k = 0; k < moving.size(); ++k) all[moving[k]] = x[k];
    for (std::size_t k = 0; k < given.size(); ++k) all[carries + given[k]] = x[back_carries + carries + slices + k];
    Places wanted = moving;
    append(wanted, shifted(shared, carries + slices));
    append(wanted, shifted(sliced, carries));
    std::vector<Tensor> made = pulled_back(*graphs_[0], operands, numbers, wanted, all);
    for (std::size_t k = moving.size(); k < back_carries; ++k) made[k] = x[k] + accumulated(made[k]);
    return made;
  });
  const std::vector<Tensor> made = apply_all(op, std::move(inputs));
  std::vector<Tensor> all(node.inputs.size());
  for (std::size_t k = 0; k < moving.size(); ++k) all[moving[k]] = made[k];
  for (std::size_t k = 0; k < shared.size(); ++k) {
    const std::size_t i = carries + slices + shared[k];
    const Tensor& sum = made[moving.size() + k];
    all[i] = sum.dtype() == node.inputs[i].dtype() ? sum : cast(sum, node.inputs[i].dtype());
  }
  for (std::size_t k = 0; k < sliced.size(); ++k) all[carries + sliced[k]] = made[back_carries + k];
  return all;
}

Derivatives ScanLoopOp::jvp(const Differentiated& node, std::span<const Tensor> tangents) const {
  if (a.keep_carries) return std::nullopt;
  const auto carries = static_cast<std::size_t>(a.carries), slices = static_cast<std::size_t>(a.slices);
  const std::vector<TensorType> results = output_types(*graphs_[0]);
  const auto has_tangent = [&](std::size_t first) {
    return [&, first](std::size_t i) { return tangents[first + i].defined(); };
  };
  const Places moving = places_where(carries, [&](std::size_t i) { return is_inexact(node.inputs[i].dtype()); });
  const Places sliced = places_where(slices, has_tangent(carries));
  const Places shared = places_where(node.inputs.size() - carries - slices, has_tangent(carries + slices));
  const Places stacked =
      places_where(results.size() - carries, [&](std::size_t i) { return is_inexact(results[carries + i].dtype); });
  std::vector<Tensor> inputs;
  append(inputs, node.inputs.first(carries));
  for (const std::size_t i : moving) inputs.push_back(or_zeros(tangents[i], node.inputs[i].type()));
  const std::size_t all_carries = inputs.size();
  append(inputs, node.inputs.subspan(carries, slices));
  append(inputs, picked(tangents, shifted(sliced, carries)));
  const std::size_t all_slices = inputs.size() - all_carries;
  append(inputs, node.inputs.subspan(carries + slices));
  append(inputs, picked(tangents, shifted(shared, carries + slices)));
  const std::vector<TensorType> types = types_in_turn(inputs, all_carries, all_slices);
  const std::size_t others = node.inputs.size() - carries - slices;
  const ScanLoopAttributes forward{.length = a.length,
                                   .carries = static_cast<int>(all_carries),
                                   .slices = static_cast<int>(all_slices),
                                   .reverse = a.reverse};
  const OpPtr op = loop_of(forward, types, inputs, [&](std::span<const Tensor> x, std::span<const Tensor> numbers) {
    std::vector<Tensor> operands, t(node.inputs.size());
    append(operands, x.first(carries));
    append(operands, x.subspan(all_carries, slices));
    append(operands, x.subspan(all_carries + all_slices, others));
    for (std::size_t k = 0; k < moving.size(); ++k) t[moving[k]] = x[carries + k];
    for (std::size_t k = 0; k < sliced.size(); ++k) t[carries + sliced[k]] = x[all_carries + slices + k];
    for (std::size_t k = 0; k < shared.size(); ++k) {
      t[carries + slices + shared[k]] = x[all_carries + all_slices + others + k];
    }
    const WithTangents made = pushed_forward(*graphs_[0], operands, numbers, t);
    std::vector<Tensor> outputs;
    append(outputs, std::span(made.outputs).first(carries));
    append(outputs, picked(made.tangents, moving));
    append(outputs, picked(made.tangents, shifted(stacked, carries)));
    return outputs;
  });
  const std::vector<Tensor> made = apply_all(op, std::move(inputs));
  std::vector<Tensor> all(node.outputs.size());
  for (std::size_t k = 0; k < moving.size(); ++k) all[moving[k]] = made[carries + k];
  for (std::size_t k = 0; k < stacked.size(); ++k) all[carries + stacked[k]] = made[all_carries + k];
  return all;
}

std::optional<Batched> ScanLoopOp::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  if (a.keep_carries) return std::nullopt;
  const std::int64_t size = batch_size(inputs, axes);
  const auto carries = static_cast<std::size_t>(a.carries), slices = static_cast<std::size_t>(a.slices);
  std::vector<char> has_batch = having_batch(axes), stacked;
  std::vector<char> moving(has_batch.begin(), has_batch.begin() + static_cast<std::ptrdiff_t>(carries));
  std::vector<Tensor> operands;
  const auto trace = [&](std::vector<char>& next) {
    std::ranges::copy(moving, has_batch.begin());
    operands.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_slice = i >= carries && i < carries + slices;
      const Tensor x = with_batch(inputs[i], axes[i], has_batch[i], size);
      operands.push_back(is_slice && has_batch[i] ? moveaxis(x, 0, 1) : x);  // behind the axis of the turns
    }
    return make_subgraph(types_in_turn(operands, carries, slices), graphs_[0].get(),
                         [&](std::span<const Tensor> x, std::span<const Tensor> numbers) {
                           Batched made = batched_outputs(*graphs_[0], x, numbers, has_batch);
                           stacked.clear();
                           for (std::size_t i = 0; i < made.outputs.size(); ++i) {
                             if (i < carries)
                               next[i] |= made.axes[i] >= 0;
                             else
                               stacked.push_back(made.axes[i] >= 0);
                             if (i < carries ? next[i] : stacked.back()) {
                               made.outputs[i] = batch_first(made.outputs[i], made.axes[i], size);
                             }
                           }
                           return made.outputs;
                         });
  };
  const GraphPtr body = until_stable(moving, trace);
  Batched all = with_first_axes(apply_all(make_op<ScanLoopOp>(a, Graphs{body}), operands), moving);
  for (const char has : stacked) all.axes.push_back(has ? 1 : -1);
  return all;
}

void add_control_flow_ops(OpRows& rows) {
  const auto row = [&]<class O>(std::type_identity<O>, std::string name, std::string summary, std::string formula,
                                std::string operands) {
    OpRow made;
    made.schema = {.name = std::move(name),
                   .family = "control flow",
                   .summary = std::move(summary),
                   .formula = std::move(formula),
                   .inputs = {{.name = "operands", .arity = Arity::repeated, .shape = std::move(operands)}},
                   .outputs = {{.name = "y", .arity = Arity::repeated, .shape = "as the graphs give"}},
                   .signatures = {{types::any, types::any}},
                   .attributes = schemas_of(typename O::AttributesType())};
    made.make_of_graphs = [name = made.schema.name](const AttributeMap& given, std::vector<GraphPtr> graphs) -> OpPtr {
      typename O::Graphs all;
      if (graphs.size() != all.size())
        throw InvalidArgument("{}: {} graphs, expected {}", name, graphs.size(), all.size());
      std::ranges::move(graphs, all.begin());
      return make_op<O>(from_map<typename O::AttributesType>(name, given), std::move(all));
    };
    rows.push_back(std::move(made));
  };
  row(std::type_identity<CondOp>(), "cond", "the results of one of two graphs (weft/control_flow.h)",
      "y = predicate ? then(operands…) : otherwise(operands…)",
      "the predicate, a bool of shape []; what the graphs take");
  row(std::type_identity<WhileLoopOp>(), "while_loop", "the carries when the condition holds no more",
      "while condition(carries…, shared…): carries… = body(carries…, shared…); y = carries",
      "carries; what all turns see");
  row(std::type_identity<ScanLoopOp>(), "scan_loop", "the last carries, and what each turn gives beside them, stacked",
      "carries…, z[i]… = body(carries…, x[i]…, shared…) for each i; y = carries…, z…",
      "carries; what is sliced; what all turns see");
}

}  // namespace weft
