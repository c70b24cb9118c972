#include "compiler/passes/fuse.h"

#include <algorithm>

#include "compiler/expressions.h"
#include "compiler/fused_group.h"

namespace weft::compiler {
namespace {

using Group = Grouping::Group;

// For an element, in f32 operations (Work::amount): compares reading its operands and computing it that many times more
// with storing it once and reading it twice.
bool worth_repeating(const Node& maker, int more) {
  const Expression& e = *maker.op().elementwise();
  int read = 0;
  for (const Tensor& v : maker.inputs()) read += v.shape() == maker.types()[0].shape ? bits(v.dtype()) : 0;
  const Work again{.bytes = 0, .flops = static_cast<double>(e.operation_count()), .functions = e.cost()};
  constexpr double kBit = 10.0 / 8;
  return more * (again.amount() + kBit * read) <= kBit * 3 * bits(maker.types()[0].dtype);
}

class Fuser {
 public:
  Fuser(const Graph& graph, const PassContext& context, FusionStage stage)
      : groups_(graph), target_(context.target), stage_(stage) {}

  Graph run() {
    for (const NodePtr& node : groups_.graph().impl().nodes()) {
      if (node->op().fusing().fusion_stage() == stage_)
        add_anchor(*node);
      else if (!anchors_.empty() && node->op().elementwise())
        offer(*node);
    }
    return groups_.build([&](const Group& group, std::span<const Tensor> results, const Grouping::At& at) {
      const Anchor& anchor = *anchors_.find(*FusedGroup(group).anchor);
      return FusedGroup(group, anchor.repeated).make(anchor.spec.epilogue_input, results, at);
    });
  }

 private:
  // A node that takes a prologue or an epilogue.
  struct Anchor {
    FusionSpec spec;
    const Node* repeated = nullptr;  // computed again in its prologue
  };

  void add_anchor(const Node& node) {
    const FusionSpec spec = node.op().fusing().fusion_spec(target_.capabilities(), node.input_types(), node.types());
    if ((!spec.prologue && spec.epilogue_outputs == 0) || !lies_plainly(node, spec)) return;
    Anchor& anchor = anchors_[node] = {spec};
    if (spec.prologue) take_prologue(node, anchor);
  }

  void take_prologue(const Node& node, Anchor& anchor) {
    const Tensor x = node.inputs()[static_cast<std::size_t>(node.op().fusing().fusion().operand)];
    const Node& maker = *x.node();
    if (!fits_by_itself(maker, anchor.spec)) return;
    if (!worth_repeating(maker, anchor.spec.prologue_passes - 1)) return;
    if (groups_.uses().only(x, node) || anchor.spec.shared == SharedPrologue::stored) {
      join(maker, node, anchor);
    } else if (anchor.spec.shared == SharedPrologue::repeated) {
      // Cheap to compute, and reads at most one operand of its own size.
      std::size_t reads = 0;
      for (const Tensor& v : maker.inputs()) reads += v.shape() == x.shape();
      const bool cheap = reads <= 1 && !groups_.uses().is_output(x) && is_cheap(*maker.op().elementwise());
      const Group& group = groups_.at(groups_.of(node));
      if (!cheap || !fits(FusedGroup(group, &maker), group, anchor.spec)) return;
      anchor.repeated = &maker;
      groups_.remake(groups_.of(node));
    }
  }

  // Fuses elementwise work into the epilogue of one of the ops whose results it reads.
  void offer(const Node& node) {
    std::vector<const Node*> makers;
    for (const Tensor& v : node.inputs()) {
      if (v.index() != 0 || v.shape() != node.types()[0].shape) continue;
      if (anchors_.contains(*v.node()) && std::ranges::find(makers, v.node()) == makers.end())
        makers.push_back(v.node());
    }
    // Of several such ops the one with most work, or else the first.
    std::ranges::sort(makers, {},
                      [&](const Node* n) { return std::pair(-anchors_.find(*n)->spec.work, groups_.id(*n)); });
    for (const Node* maker : makers) {
      const Anchor& anchor = *anchors_.find(*maker);
      if (fits_by_itself(node, anchor.spec) && join(node, *maker, anchor)) return;
    }
  }

  // True for elementwise work that is in no group yet and that the op supports.
  bool fits_by_itself(const Node& node, const FusionSpec& spec) const {
    const Expression* e = node.op().elementwise();
    return e && node.types().size() == 1 && groups_.at(groups_.of(node)).size() == 1 &&
           e->nodes().size() <= spec.max_operations && lies_plainly(node, spec) && has_its_types(*e, spec);
  }

  // Kernels of GPUs have no f64; that of elementwise work alone, and those that say so, convert its bits.
  bool has_its_types(const Expression& e, const FusionSpec& spec) const {
    return !target_.capabilities() || spec.doubles ||
           std::ranges::none_of(e.nodes(), [](const Expression::Node& n) { return n.type == DType::f64; });
  }

  static bool lies_plainly(const Node& node, const FusionSpec& spec) {
    if (spec.max_view == FusionSpec().max_view) return true;
    return std::ranges::all_of(node.inputs(), [&](const Tensor& v) {
      if (!v.node()->op().is_view()) return true;
      return byte_size(root_of(v).type()) <= spec.max_view;
    });
  }

  bool fits(const FusedGroup& fused, const Group& group, const FusionSpec& spec) const {
    if (!fused.is_sound(group) || operation_count(fused.epilogue) > spec.max_operations) return false;
    const std::vector<Tensor> results = groups_.results(group);
    const auto epilogue = std::ranges::count_if(
        results, [&](const Tensor& v) { return std::ranges::find(fused.prologue, v.node()) == fused.prologue.end(); });
    if (!fused.epilogue.empty() && epilogue > spec.epilogue_outputs) return false;
    const std::size_t bound = fused.prologue_operands().size() + fused.own_operands() +
                              fused.epilogue_operands().size() + results.size() +
                              static_cast<std::size_t>(spec.bindings);
    return bound <= static_cast<std::size_t>(target_.max_operands);
  }

  bool join(const Node& node, const Node& into, const Anchor& anchor) {
    const int a = groups_.of(node), b = groups_.of(into);
    const Group all = groups_.joined(a, b);
    if (!fits(FusedGroup(all, anchor.repeated), all, anchor.spec)) return false;
    if (!reads_all(node, b) && !reads_all(into, a) && !groups_.may_join(a, b)) return false;
    groups_.join(a, b);
    return true;
  }

  // True if only the node reads the group's results, so that nothing can be between the two.
  bool reads_all(const Node& node, int group) const {
    return std::ranges::all_of(groups_.results(groups_.at(group)),
                               [&](const Tensor& v) { return groups_.uses().only(v, node); });
  }

  Grouping groups_;
  const Target& target_;
  FusionStage stage_;
  NodeMap<Anchor> anchors_;
};

}  // namespace

Graph fuse(const Graph& graph, const PassContext& context, FusionStage stage) {
  return Fuser(graph, context, stage).run();
}

}  // namespace weft::compiler
