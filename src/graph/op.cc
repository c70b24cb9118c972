#include "graph/op.h"

#include <algorithm>

#include "core/format.h"
#include "graph/graph.h"
#include "weft/error.h"

namespace weft {

Attributes& Attributes::add(std::string_view name, std::int64_t value) {
  return wanted_.empty() ? put(name, std::to_string(value)) : add(name, Dims{value});
}

Attributes& Attributes::add(std::string_view name, const Dims& value) {
  if (wanted_.empty()) return put(name, weft::to_string(value));
  if (name == wanted_) found_ = value;
  return *this;
}

Attributes& Attributes::add(std::string_view name, double value) { return put(name, std::format("{}", value)); }

Attributes& Attributes::add(std::string_view name, std::span<const int> value) {
  Dims dims;
  for (const int v : value) dims.push_back(v);
  return add(name, dims);
}

Attributes& Attributes::add(std::string_view name, const std::vector<double>& value) {
  std::string text;
  for (const double v : value) text += std::format("{}{}", text.empty() ? "[" : ", ", v);
  return put(name, (text.empty() ? "[" : text) + "]");
}

Attributes& Attributes::put(std::string_view name, std::string_view value) {
  if (wanted_.empty()) shown_.append(shown_.empty() ? "" : ", ").append(name).append("=").append(value);
  return *this;
}

Attributes& Attributes::hide(std::string_view name, std::string_view value) {
  hidden_.append("; ").append(name).append("=").append(value);
  return *this;
}

Attributes& Attributes::add(const Op& op) {
  if (wanted_.empty()) {
    AttributeText visitor(shown_);
    op.visit(visitor);
    return *this;
  }
  AttributeMap values;
  AttributeCollector visitor(values);
  op.visit(visitor);
  const auto value = values.find(wanted_);
  if (value == values.end()) return *this;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value->second)) found_ = Dims(*list);
  const auto* number = std::get_if<Number>(&value->second);
  if (number && number->as_int64()) found_ = Dims{*number->as_int64()};
  return *this;
}

void Op::attributes(Attributes& f) const { f.add(*this); }

std::optional<Dims> Op::integers(std::string_view attribute) const {
  Attributes f(attribute);
  attributes(f);
  return f.found();
}

std::optional<Placement> Op::place(const Layout&) const { throw InternalError("{} is not a view", name()); }

OpPtr Op::with_subgraphs(std::vector<std::shared_ptr<const Graph>>) const {
  throw InternalError("{} owns no graphs", name());
}

Tensor Op::simplified(std::span<const Tensor>) const { return {}; }

FusionSpec Op::fusion_spec(const gpu::Capabilities*, std::span<const TensorType>, std::span<const TensorType>) const {
  return {};
}

OpPtr Op::with_iotas(std::span<const std::optional<Placement>>, const Shape&) const { return nullptr; }

OpPtr Op::with_fusion(std::optional<Expression>, std::optional<Expression>) const {
  throw InternalError("{} takes no work into its kernel", name());
}

OpPtr Op::with_types(std::span<const TensorType>, std::span<const TensorType>, std::span<const DType>) const {
  return nullptr;
}

std::vector<Tensor> Op::vjp(std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor>) const {
  throw Unsupported("no gradient of {} yet", name());
}

std::vector<Tensor> Op::jvp(std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor>) const {
  throw Unsupported("no forward derivative of {} yet", name());
}

Op::Batched Op::vmap(std::span<const Tensor>, std::span<const int>) const {
  throw Unsupported("no batching of {} yet", name());
}

void Op::lower(const Launch&) const { throw InternalError("{} has no kernel", name()); }

Work with_bytes(const Launch& call, Work work) {
  for (const auto& views : {call.inputs, call.outputs}) {
    for (const View& v : views) work.bytes += touched_bytes(v);
  }
  return work;
}

Work Op::work(const Launch& call) const {
  std::int64_t elements = 0;
  for (const auto& views : {call.inputs, call.outputs}) {
    for (const View& v : views) elements = std::max(elements, v.count());
  }
  return with_bytes(call, {.functions = static_cast<double>(elements) * cost()});
}

std::string Op::to_string() const {
  Attributes f;
  attributes(f);
  return f.shown().empty() ? std::string(name()) : std::format("{}{{{}}}", name(), f.shown());
}

const std::string& Op::identity() const {
  if (const std::string* made = identity_.load(std::memory_order_acquire)) return *made;
  Attributes f;
  attributes(f);
  auto mine = std::make_unique<const std::string>([&] {
    std::string text;
    text.append(name()).append("{").append(f.shown()).append(f.hidden()).append("}");
    for (const auto& graph : subgraphs()) text.append("(").append(graph->impl().identity()).append(")");
    return text;
  }());
  const std::string* theirs = nullptr;
  if (identity_.compare_exchange_strong(theirs, mine.get(), std::memory_order_acq_rel)) return *mine.release();
  return *theirs;
}

}  // namespace weft
