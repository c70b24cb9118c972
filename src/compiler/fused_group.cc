#include "compiler/fused_group.h"

#include <algorithm>

#include "compiler/expressions.h"
#include "ops/fused.h"

namespace weft::compiler {
namespace {

bool includes(std::span<const Node* const> list, const Node* node) {
  return std::ranges::find(list, node) != list.end();
}

FusedOperands<const Tensor> operands_of(const Node& anchor) {
  return split_operands(anchor.op().fusing().fusion(), std::span(anchor.inputs()));
}

}  // namespace

FusedGroup::FusedGroup(const Grouping::Group& group, const Node* repeated) {
  anchor = *std::ranges::find_if(group, [](const Node* n) { return !n->op().elementwise(); });
  if (repeated) prologue.push_back(repeated);
  for (const Node* n : group) {
    if (n == anchor) continue;
    const bool after = std::ranges::any_of(n->inputs(), [&](const Tensor& v) { return v.node() == anchor; });
    (after ? epilogue : prologue).push_back(n);
  }
}

std::vector<Tensor> FusedGroup::prologue_operands() const {
  std::vector<Tensor> list;
  const auto add = [&](std::span<const Tensor> values) {
    for (const Tensor& v : values) {
      if (!includes(prologue, v.node())) add_once(list, v);
    }
  };
  for (const Node* n : prologue) add(n->inputs());
  add(operands_of(*anchor).prologue);
  return list;
}

std::vector<Tensor> FusedGroup::epilogue_operands() const {
  const auto own = operands_of(*anchor).epilogue;
  std::vector<Tensor> list(own.begin(), own.end());
  for (const Node* n : epilogue) {
    for (const Tensor& v : n->inputs()) {
      if (v.node() != anchor) add_once(list, v);
    }
  }
  return list;
}

std::size_t FusedGroup::own_operands() const {
  const auto own = operands_of(*anchor);
  return own.first.size() + own.rest.size();
}

bool FusedGroup::is_sound(const Grouping::Group& group) const {
  const auto inside = [&](const Tensor& v) { return Grouping::member(group, *v.node()); };
  const auto own = operands_of(*anchor);
  return std::ranges::none_of(own.first, inside) && std::ranges::none_of(own.rest, inside) &&
         std::ranges::none_of(epilogue_operands(), inside);
}

std::vector<Tensor> FusedGroup::make(DType epilogue_input, std::span<const Tensor> results,
                                     const Grouping::At& at) const {
  const Fusion has = anchor->op().fusing().fusion();
  const auto own = operands_of(*anchor);
  std::optional<Expression> before, after;
  std::vector<Tensor> operands(own.first.begin(), own.first.end());
  std::vector<Tensor> made, extra;  // the new node's results

  if (prologue.empty()) {
    if (has.prologue) before = *has.prologue;
    operands.insert(operands.end(), own.prologue.begin(), own.prologue.end());
  } else {
    Region region;
    region.add(prologue);
    const auto x = has.prologue ? region.add(*has.prologue, own.prologue) : region.at(own.prologue);
    region.expression.output(x[0]);
    for (const Tensor& v : results) {
      if (!includes(prologue, v.node())) continue;
      region.expression.output(region.at(v));
      extra.push_back(v);
    }
    operands.insert(operands.end(), region.inputs.begin(), region.inputs.end());
    before = std::move(region.expression);
  }
  operands.insert(operands.end(), own.rest.begin(), own.rest.end());

  if (epilogue.empty()) {
    if (has.epilogue) after = *has.epilogue;
    operands.insert(operands.end(), own.epilogue.begin(), own.epilogue.end());
    for (std::size_t k = 0; k < anchor->types().size(); ++k) made.push_back(anchor->value(static_cast<int>(k)));
  } else {
    Region region;
    const Tensor y = anchor->value();
    const int rounded = region.expression.cast(region.expression.input(epilogue_input), y.dtype());
    region.set(y, rounded);
    region.add(epilogue);
    if (contains(results, y)) made.push_back(y);
    for (const Node* n : epilogue) made.push_back(n->value());
    for (const Tensor& v : made) region.expression.output(region.at(v));
    operands.insert(operands.end(), region.inputs.begin(), region.inputs.end());
    after = std::move(region.expression);
  }
  made.insert(made.end(), extra.begin(), extra.end());

  for (Tensor& v : operands) v = at(v);
  const Tensor first = apply(
      with_fusion(anchor->shared_op(), own.first.size() + 1 + own.rest.size(), std::move(before), std::move(after)),
      std::move(operands));
  std::vector<Tensor> values;
  for (const Tensor& v : results) {
    const auto it = std::ranges::find_if(made, [&](const Tensor& o) { return same(o, v); });
    values.push_back(result(first, static_cast<int>(it - made.begin())));
  }
  return values;
}

std::size_t operation_count(std::span<const Node* const> nodes) {
  std::size_t count = 0;
  for (const Node* n : nodes) count += n->op().elementwise()->nodes().size();
  return count;
}

}  // namespace weft::compiler
