#include "compiler/passes/hoist_views.h"

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "graph/clone.h"

namespace weft::compiler {
namespace {

// True if all users can fuse the elementwise work.
bool read_by_maps_alone(const Uses& uses, const Tensor& v) {
  const auto& users = uses.of(v);
  return !users.empty() && !uses.is_output(v) &&
         std::ranges::all_of(users, [](const Node* n) { return n->op().elementwise() || n->op().reduction(); });
}

}  // namespace

Graph hoist_views(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    if (!node.op().is_view() || !read_by_maps_alone(r.uses(), node.value())) return {};
    const Tensor result = node.inputs()[0];
    const Node& producer = *r.at(result).node();
    const Expression* e = producer.op().elementwise();
    if (!e || producer.types().size() != 1 || result.shape().rank() == 0) return {};

    const Shape& shape = node.types()[0].shape;
    const bool cheap = is_cheap(*e);
    if (element_count(shape) > element_count(result.shape()) && !cheap) return {};
    int full = 0;
    std::vector<Tensor> operands;
    for (const Tensor& v : producer.inputs()) {
      full += v.shape() == result.shape();
      if (element_count(v.shape()) == 1) {
        operands.push_back(reshape(v, {}));
        continue;
      }
      const Tensor whole = broadcast_to(v, result.shape());
      const auto shown = node.op().view_layout(Layout::dense(v.shape()).broadcast_to(result.shape()));
      if (!shown || shown->offset * bits(v.dtype()) % 8 != 0) return {};  // packed types begin at whole bytes
      operands.push_back(clone(node, {whole}));
    }
    if (!r.uses().only(result, node) && (!cheap || full > 1)) return {};
    if (std::ranges::none_of(operands, [&](const Tensor& v) { return v.shape() == shape; })) return {};
    const Tensor made = clone(producer, std::move(operands));
    r.add_labels(*made.node(), producer);
    return made;
  });
}

}  // namespace weft::compiler
