#include "transform/batch.h"

#include <algorithm>

#include "core/format.h"
#include "graph/batch_in_order.h"
#include "graph/ops/identity.h"
#include "graph/ops/leaf.h"
#include "graph/rules.h"
#include "transform/clone.h"
#include "transform/derivatives.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {

Tensor stand_in_for(TensorType type) { return apply(make_op<InputOp>("an entry of a batch", std::move(type), ""), {}); }

namespace {

// In place of an axis: entries with as many axes as a tensor can have, one after the other (graph/batch_in_order.h).
constexpr int kInOrder = -2;
bool has_batch(int axis) { return axis != -1; }
bool is_full(const TensorType& type) { return type.shape.rank() == kMaxRank; }

// A tensor that stands for entries of a batch.
Tensor stand_in(const Tensor& x, int axis) {
  TensorType type = x.type();
  if (axis >= 0) type.shape.erase(axis);
  return stand_in_for(std::move(type));
}

// The derivatives of a call, for a batch of calls: the rule is recorded for one entry, and batched.
class BatchedDerivative final : public CustomDerivative {
 public:
  BatchedDerivative(CustomDerivativePtr of_entry, std::vector<int> axes, std::vector<int> result_axes)
      : of_entry_(std::move(of_entry)), axes_(std::move(axes)), result_axes_(std::move(result_axes)) {
    results = of_entry_->results;
  }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> cotangents) const override {
    return of_batch(call, cotangents, result_axes_, axes_, call.inputs,
                    [&](const auto& entry, const auto& given) { return of_entry_->vjp(entry, given); });
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> tangents) const override {
    return of_batch(call, tangents, axes_, result_axes_, call.outputs,
                    [&](const auto& entry, const auto& given) { return of_entry_->jvp(entry, given); });
  }

 private:
  // `like`: what the derivatives that come out belong to; theirs are the axes `to`. An operand that all entries share
  // has the sum over the batch.
  template <class Rule>
  Derivatives of_batch(const Differentiated& call, std::span<const Tensor> given, std::span<const int> from,
                       std::span<const int> to, std::span<const Tensor> like, Rule&& rule) const {
    std::vector<Tensor> variables, values;
    std::vector<int> axes;
    const auto entry = [&](const Tensor& x, int axis) {
      if (!x.defined()) return Tensor();
      variables.push_back(stand_in(x, axis));
      values.push_back(x);
      axes.push_back(axis);
      return variables.back();
    };
    std::vector<Tensor> inputs, outputs, derivatives;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) inputs.push_back(entry(call.inputs[i], axes_[i]));
    for (std::size_t i = 0; i < call.outputs.size(); ++i) outputs.push_back(entry(call.outputs[i], result_axes_[i]));
    for (std::size_t i = 0; i < given.size(); ++i) derivatives.push_back(entry(given[i], from[i]));
    const auto made = rule(Differentiated{inputs, outputs, call.wanted}, derivatives);
    if (!made) return std::nullopt;
    const Batched all = batch(*made, variables, values, axes);
    const std::int64_t size = batch_size(values, axes);
    std::vector<Tensor> results(made->size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!all.outputs[i].defined() || !like[i].defined()) continue;
      const Tensor first = batch_first(all.outputs[i], all.axes[i], size);
      results[i] = to[i] < 0 ? reduce(ReduceKind::sum, first, {0}) : moveaxis(first, 0, to[i]);
    }
    return results;
  }

  CustomDerivativePtr of_entry_;
  std::vector<int> axes_, result_axes_;
};

std::string types_text(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& t : types) text += (text.empty() ? "" : ", ") + to_string(t);
  return text;
}

[[noreturn]] void fail_with_too_many_axes(std::string_view what, std::span<const TensorType> entries, std::int64_t size,
                                          const SourceLine& line) {
  throw ShapeError(
      "vmap: {} of {}{} for a batch of {} would have more than {} axes; let the function work on fewer axes, such as "
      "those of several nested batches reshaped to one",
      what, types_text(entries), recorded_at(line), size, kMaxRank);
}

Batched batch_of(std::span<const Tensor> outputs, std::span<const Tensor> variables, std::span<const Tensor> values,
                 std::span<const int> axes, std::int64_t size);

// The results of a node for entries one of which has kMaxRank axes.
Batched batch_in_order(const Node& node, std::span<const Tensor> inputs, std::span<const int> axes, std::int64_t size) {
  const std::vector<TensorType> entries = node.input_types();
  std::vector<Tensor> values(inputs.begin(), inputs.end());
  std::vector<char> batched;
  for (std::size_t i = 0; i < values.size(); ++i) {
    batched.push_back(has_batch(axes[i]));
    if (axes[i] >= 0) values[i] = batch_first(values[i], axes[i], size);
  }
  const std::span<const TensorType> types = node.types();
  const BatchInOrder all{size, values, batched, entries, types};
  std::vector<Tensor> made;
  if (node.op().elementwise()) {
    std::vector<Tensor> operands;
    const bool alike = std::ranges::all_of(types, [&](const TensorType& t) { return t.shape == types[0].shape; });
    for (std::size_t i = 0; alike && i < values.size(); ++i) {
      operands.push_back(broadcast_in_order(all, i, types[0].shape));
    }
    if (alike) made = results_of(apply(node.shared_op(), std::move(operands)));
  } else {
    made = node.op().vmap_in_order(all);
  }
  if (made.empty()) {
    std::vector<Tensor> variables;
    for (const TensorType& t : entries) variables.push_back(stand_in_for(t));
    const std::vector<Tensor> parts = node.op().decomposed(variables);
    if (parts.empty()) fail_with_too_many_axes(node.op().name(), entries, size, node.line());
    return batch_of(parts, variables, inputs, axes, size);
  }
  Batched results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Shape& entry = types[i].shape;
    Shape shape = entry;
    const bool in_order = entry.rank() == kMaxRank;
    if (in_order)
      shape = shape_in_order(entry, size);
    else
      shape.insert(0, size);
    results.outputs.push_back(reshape(made[i], shape));
    results.axes.push_back(in_order ? kInOrder : 0);
  }
  return results;
}

Batched batch_of(std::span<const Tensor> outputs, std::span<const Tensor> variables, std::span<const Tensor> values,
                 std::span<const int> axes, std::int64_t size) {
  const Dependence dependence(outputs, variables, Dependence::Along::all);
  ResultMap now;
  NodeMap<std::vector<int>> axes_of;  // of the results of each node; none: no batch
  const auto set = [&](const Tensor& v, Tensor value, int axis) {
    now.set(v, std::move(value));
    std::vector<int>& all = axes_of[*v.node()];
    all.resize(v.node()->types().size(), -1);
    all[static_cast<std::size_t>(v.index())] = axis;
  };
  const auto axis_of = [&](const Tensor& v) {
    const std::vector<int>* all = axes_of.find(*v.node());
    return all && !all->empty() ? (*all)[static_cast<std::size_t>(v.index())] : -1;
  };
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].defined()) set(variables[i], values[i], axes[i]);
  }
  for (const Node* n : dependence.nodes()) {
    const Node& node = *n;
    if (!dependence.depends(node) || dependence.is_variable(node)) continue;
    const std::vector<Tensor> inputs = now.at(node.inputs());
    std::vector<int> input_axes;
    for (const Tensor& v : node.inputs()) input_axes.push_back(axis_of(v));
    if (node.op().custom_derivative()) {
      const auto& results = dependence.results_of_call(node);
      if (results.front() != n) continue;
      std::vector<Tensor> values = CustomResultOp::values_of(node);
      std::vector<int> value_axes;
      for (Tensor& v : values) {
        value_axes.push_back(v.defined() ? axis_of(v) : -1);
        if (v.defined()) v = now.at(v);
      }
      const std::size_t count = CustomResultOp::operands_of(node).size();
      const auto operands = std::span(inputs).subspan(1, count);
      std::vector<int> operand_axes(input_axes.begin() + 1,
                                    input_axes.begin() + 1 + static_cast<std::ptrdiff_t>(count));
      const AsNodeScope scope(node);
      CustomDerivativePtr of_results = node.as<CustomResultOp>()->call();
      if (std::ranges::any_of(operand_axes, has_batch) || std::ranges::any_of(value_axes, has_batch)) {
        // Each entry is a call of its own, and has its own results, also where these are equal.
        if (std::ranges::any_of(node.input_types(), is_full)) {
          fail_with_too_many_axes("a result with a derivative of its own", node.types(), size, node.line());
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (!values[i].defined() || has_batch(value_axes[i])) continue;
          values[i] = batch_first(values[i], -1, size);
          value_axes[i] = 0;
        }
        of_results =
            std::make_shared<const BatchedDerivative>(std::move(of_results), std::move(operand_axes), value_axes);
      }
      const std::vector<Tensor> made = with_derivative(of_results, values, operands);
      for (const Node* r : results) {
        const std::size_t i = CustomResultOp::index_of(*r);
        set(r->value(), made[i], value_axes[i]);
      }
      continue;
    }
    if (std::ranges::none_of(input_axes, has_batch)) {
      clone(node, now);
      continue;
    }
    const AsNodeScope scope(node);
    std::optional<Batched> made;
    if (std::ranges::find(input_axes, kInOrder) != input_axes.end() || std::ranges::any_of(node.types(), is_full)) {
      made = batch_in_order(node, inputs, input_axes, size);
    } else {
      try {
        made = node.op().vmap(inputs, input_axes);
      } catch (const ShapeError&) {
        // What is the same for all entries may have no room for a batch, either.
        const std::vector<TensorType> entries = node.input_types();
        if (std::ranges::none_of(entries, is_full)) throw;
        fail_with_too_many_axes(node.op().name(), entries, size, node.line());
      }
    }
    if (!made) {
      std::vector<Tensor> entries;
      for (std::size_t i = 0; i < inputs.size(); ++i) entries.push_back(stand_in(inputs[i], input_axes[i]));
      const std::vector<Tensor> parts = node.op().decomposed(entries);
      if (parts.empty()) throw Unsupported("no batching of {}{}", node.op().name(), recorded_at(node.line()));
      made = batch_of(parts, entries, inputs, input_axes, size);
    }
    for (std::size_t i = 0; i < made->outputs.size(); ++i) {
      TensorType type = made->outputs[i].type();
      if (made->axes[i] >= 0) type.shape.erase(made->axes[i]);
      if (made->axes[i] == kInOrder) type.shape = node.types()[i].shape;
      if (type != node.types()[i]) {
        throw InternalError("vmap of {}: result {} has entries of {}, expected {}", node.op().name(), i,
                            to_string(type), to_string(node.types()[i]));
      }
      set(node.value(static_cast<int>(i)), made->outputs[i], made->axes[i]);
    }
  }
  Batched result;
  for (const Tensor& v : outputs) {
    result.outputs.push_back(v.defined() ? now.at(v) : v);
    result.axes.push_back(v.defined() ? axis_of(v) : -1);
  }
  return result;
}

}  // namespace

Batched batch(std::span<const Tensor> outputs, std::span<const Tensor> variables, std::span<const Tensor> values,
              std::span<const int> axes) {
  const bool any = std::ranges::any_of(axes, has_batch);
  const std::int64_t size = any ? batch_size(values, axes) : 0;
  Batched made = batch_of(outputs, variables, values, axes, size);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (made.axes[i] != kInOrder) continue;
    const TensorType type = outputs[i].type();
    fail_with_too_many_axes("the result", std::span(&type, 1), size, outputs[i].node()->line());
  }
  return made;
}

}  // namespace weft
