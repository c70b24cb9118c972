#include "graph/op.h"

#include <algorithm>

#include "core/format.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "weft/error.h"

namespace weft {

std::optional<Dims> Op::integers(std::string_view attribute) const {
  AttributeMap values;
  AttributeCollector visitor(values);
  visit(visitor);
  const auto value = values.find(attribute);
  if (value == values.end()) return std::nullopt;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value->second)) return Dims(*list);
  const auto* number = std::get_if<Number>(&value->second);
  if (number && number->as_int64()) return Dims{*number->as_int64()};
  return std::nullopt;
}

const InputOp* Op::input() const { return leaf_ == LeafKind::input ? static_cast<const InputOp*>(this) : nullptr; }
const ConstantOp* Op::constant() const {
  return leaf_ == LeafKind::constant ? static_cast<const ConstantOp*>(this) : nullptr;
}
const DataOp* Op::data_op() const { return leaf_ == LeafKind::data ? static_cast<const DataOp*>(this) : nullptr; }
const NumberOp* Op::number() const { return leaf_ == LeafKind::number ? static_cast<const NumberOp*>(this) : nullptr; }

std::optional<OwnWork> Op::own_work(std::span<const View>, std::span<const View>) const { return std::nullopt; }

std::vector<Tensor> Op::decomposed(std::span<const Tensor>) const { return {}; }

void Op::lower(const Launch&) const { throw InternalError("{} has no kernel", name()); }

Work with_bytes(const Launch& call, Work work) {
  for (const auto& views : {call.inputs, call.outputs}) {
    for (const View& v : views) work.bytes += touched_bytes(v);
  }
  return work;
}

Work Op::work(const Launch& call) const {
  if (const auto own = own_work(call.inputs, call.outputs)) {
    Work work = with_bytes(call, kernels::work_of(own->per_step, own->steps, nullptr, 0, nullptr));
    work.arithmetic = own->arithmetic;
    return work;
  }
  std::int64_t elements = 0;
  for (const auto& views : {call.inputs, call.outputs}) {
    for (const View& v : views) elements = std::max(elements, v.count());
  }
  return with_bytes(call, {.functions = static_cast<double>(elements) * cost()});
}

std::string Op::to_string() const {
  std::string text;
  AttributeText visitor(text);
  visit(visitor);
  return text.empty() ? std::string(name()) : std::format("{}{{{}}}", name(), text);
}

const std::string& Op::identity() const {
  if (const std::string* made = identity_.load(std::memory_order_acquire)) return *made;
  auto mine = std::make_unique<const std::string>([&] {
    std::string attributes;
    AttributeText visitor(attributes);
    visit(visitor);
    std::string text;
    text.append(name()).append("{").append(attributes);
    if (const std::string hidden = hidden_identity(); !hidden.empty()) text.append("; ").append(hidden);
    text.append("}");
    for (const auto& graph : subgraphs()) text.append("(").append(graph->impl().identity()).append(")");
    return text;
  }());
  const std::string* theirs = nullptr;
  if (identity_.compare_exchange_strong(theirs, mine.get(), std::memory_order_acq_rel)) return *mine.release();
  return *theirs;
}

}  // namespace weft
