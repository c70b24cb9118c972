#include "transform/batch.h"

#include <algorithm>

#include "core/format.h"
#include "graph/clone.h"
#include "graph/leaf.h"
#include "ops/batch_in_order.h"
#include "ops/identity.h"
#include "ops/rules.h"
#include "transform/control_flow.h"
#include "transform/derivatives.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {

Tensor stand_in_for(TensorType type) { return apply(make_op<InputOp>("an entry of a batch", std::move(type), ""), {}); }

namespace {

// In place of an axis: entries with as many axes as a tensor can have, one after the other (ops/batch_in_order.h).
constexpr int kInOrder = -2;
bool has_batch(int axis) { return axis != -1; }
bool is_full(const TensorType& type) { return type.shape.rank() == kMaxRank; }

// A tensor that stands for entries of a batch.
Tensor stand_in(const Tensor& x, int axis) {
  TensorType type = x.type();
  if (axis >= 0) type.shape.erase(axis);
  return stand_in_for(std::move(type));
}

// The elements of each entry in a row.
Tensor rows_of(const Tensor& x, int axis, std::int64_t size, const Shape& entry) {
  const std::int64_t count = element_count(entry);
  if (!has_batch(axis)) return broadcast_to(reshape(x, {1, count}), {size, count});
  return reshape(axis == kInOrder ? x : batch_first(x, axis, size), {size, count});
}

Batched batch_of(std::span<const Tensor> outputs, std::span<const Tensor> variables, std::span<const Tensor> values,
                 std::span<const int> axes, std::int64_t size);

// Operands or results of a batch of calls: axes, and what an entry is.
struct Entries {
  std::vector<int> axes;
  std::vector<TensorType> types;  // of undefined tensors any

  void add(int axis, const Tensor& entry) {
    axes.push_back(axis);
    types.push_back(entry.defined() ? entry.type() : TensorType());
  }
};

// The derivatives of a call, for a batch of calls: the rule is recorded for one entry, and batched.
class BatchedDerivative final : public CustomDerivative {
 public:
  BatchedDerivative(CustomDerivativePtr of_entry, std::int64_t size, Entries operands, Entries results_of_entry)
      : of_entry_(std::move(of_entry)),
        size_(size),
        operands_(std::move(operands)),
        results_(std::move(results_of_entry)) {
    results = of_entry_->results;
  }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> cotangents) const override {
    return of_batch(call, cotangents, results_, operands_, call.inputs,
                    [&](const auto& entry, const auto& given) { return of_entry_->vjp(entry, given); });
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> tangents) const override {
    return of_batch(call, tangents, operands_, results_, call.outputs,
                    [&](const auto& entry, const auto& given) { return of_entry_->jvp(entry, given); });
  }

 private:
  // `like`: what the derivatives that come out, `to`, belong to. An operand that all entries share has the sum over the
  // batch.
  template <class Rule>
  Derivatives of_batch(const Differentiated& call, std::span<const Tensor> given, const Entries& from,
                       const Entries& to, std::span<const Tensor> like, Rule&& rule) const {
    std::vector<Tensor> variables, values;
    std::vector<int> axes;
    const auto all_of = [&](std::span<const Tensor> tensors, const Entries& entries) {
      std::vector<Tensor> of_entry(tensors.size());
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!tensors[i].defined()) continue;
        variables.push_back(of_entry[i] = stand_in_for(entries.types[i]));
        values.push_back(tensors[i]);
        axes.push_back(entries.axes[i]);
      }
      return of_entry;
    };
    const std::vector<Tensor> inputs = all_of(call.inputs, operands_), outputs = all_of(call.outputs, results_);
    const std::vector<Tensor> derivatives = all_of(given, from);
    const auto made = rule(Differentiated{inputs, outputs, call.wanted}, derivatives);
    if (!made) return std::nullopt;
    const Batched all = batch_of(*made, variables, values, axes, size_);
    std::vector<Tensor> results(made->size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!all.outputs[i].defined() || !like[i].defined()) continue;
      const Shape& entry = to.types[i].shape;
      if (is_full(to.types[i])) {
        const Tensor rows = rows_of(all.outputs[i], all.axes[i], size_, entry);
        results[i] = has_batch(to.axes[i]) ? reshape(rows, shape_in_order(entry, size_))
                                           : reshape(reduce(ReduceKind::sum, rows, {0}), entry);
        continue;
      }
      const Tensor first = batch_first(all.outputs[i], all.axes[i], size_);
      results[i] = has_batch(to.axes[i]) ? moveaxis(first, 0, to.axes[i]) : reduce(ReduceKind::sum, first, {0});
    }
    return results;
  }

  CustomDerivativePtr of_entry_;
  std::int64_t size_;
  Entries operands_, results_;
};

// The op on one entry after the other.
std::vector<Tensor> one_by_one(const Node& node, const BatchInOrder& all) {
  std::vector<Tensor> slices, shared;
  for (std::size_t i = 0; i < all.inputs.size(); ++i) {
    if (all.has_batch[i])
      slices.push_back(reshape(all.inputs[i], {all.size, element_count(all.entries[i].shape)}));
    else
      shared.push_back(all.inputs[i]);
  }
  return scanned({}, slices, shared, false, [&](std::span<const Tensor> x) {
    std::vector<Tensor> operands;
    std::size_t next_slice = 0, next_shared = slices.size();
    for (std::size_t i = 0; i < all.inputs.size(); ++i) {
      operands.push_back(all.has_batch[i] ? reshape(x[next_slice++], all.entries[i].shape) : x[next_shared++]);
    }
    std::vector<Tensor> made = results_of(apply(node.shared_op(), std::move(operands)));
    for (Tensor& y : made) y = reshape(y, {y.size()});
    return made;
  });
}

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
    made = node.op().batching().vmap_in_order(all);
  }
  if (made.empty()) {
    std::vector<Tensor> variables;
    for (const TensorType& t : entries) variables.push_back(stand_in_for(t));
    const std::vector<Tensor> parts = node.op().decomposed(variables);
    if (!parts.empty()) return batch_of(parts, variables, inputs, axes, size);
    made = one_by_one(node, all);
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
      const std::vector<Tensor> own = CustomResultOp::values_of(node);
      std::vector<Tensor> values = own;
      std::vector<int> value_axes;
      for (Tensor& v : values) {
        value_axes.push_back(v.defined() ? axis_of(v) : -1);
        if (v.defined()) v = now.at(v);
      }
      const std::size_t count = CustomResultOp::operands_of(node).size();
      const auto operands = std::span(inputs).subspan(1, count);
      const auto operand_axes = std::span(input_axes).subspan(1, count);
      const AsNodeScope scope(node);
      CustomDerivativePtr of_results = CustomResultOp::derivative_of(node);
      if (std::ranges::any_of(operand_axes, has_batch) || std::ranges::any_of(value_axes, has_batch)) {
        Entries of_operands, of_values;
        for (std::size_t i = 0; i < count; ++i) of_operands.add(operand_axes[i], node.inputs()[i + 1]);
        // Each entry is a call of its own, and has its own results, also where these are equal.
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (values[i].defined() && !has_batch(value_axes[i])) {
            const Shape& entry = own[i].shape();
            const bool in_order = is_full(own[i].type());
            values[i] = in_order ? reshape(rows_of(values[i], -1, size, entry), shape_in_order(entry, size))
                                 : batch_first(values[i], -1, size);
            value_axes[i] = in_order ? kInOrder : 0;
          }
          of_values.add(value_axes[i], own[i]);
        }
        of_results = std::make_shared<const BatchedDerivative>(std::move(of_results), size, std::move(of_operands),
                                                               std::move(of_values));
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
        made = node.op().batching().vmap(inputs, input_axes);
      } catch (const ShapeError&) {
        // What is the same for all entries may have no room for a batch, either.
        if (std::ranges::none_of(node.input_types(), is_full)) throw;
        made = batch_in_order(node, inputs, input_axes, size);
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
  for (std::size_t i = 0; any && i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !is_full(outputs[i].type())) continue;
    throw ShapeError(
        "vmap: the result of {}{} for a batch of {} would have more than {} axes; let the function work on fewer axes, "
        "such as those of several nested batches reshaped to one",
        to_string(outputs[i].type()), recorded_at(outputs[i].node()->line()), size, kMaxRank);
  }
  return made;
}

}  // namespace weft
