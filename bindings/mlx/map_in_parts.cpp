#include "map_in_parts.h"

#include <algorithm>
#include <map>
#include <set>

namespace mlx::core::webgpu {
namespace {

using weft::Expression;
using weft::View;

class Parts {
 public:
  Parts(Call& call, const Expression& e, const std::vector<View>& inputs, const weft::Shape& shape, std::size_t limit)
      : call_(call), nodes_(e.nodes()), inputs_(inputs), shape_(shape), limit_(limit), reads_(nodes_.size()) {}

  // Finds what each node reads, and stores nodes that would read too much.
  void cut() {
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
      if (nodes_[node].op == weft::ScalarOp::input) {
        stored_[node] = inputs_[nodes_[node].input];
        reads_[node] = {node};
      }
      std::vector<int> args;
      for (const int arg : nodes_[node].args) {
        if (arg >= 0) args.push_back(arg);
      }
      std::ranges::sort(args, std::greater(), [&](int arg) { return reads_[arg].size(); });
      for (std::size_t i = 0; i <= args.size(); ++i) {
        for (const int arg : args) reads_[node].insert(reads_[arg].begin(), reads_[arg].end());
        if (reads_[node].size() < limit_) break;
        reads_[node].clear();
        store(args[i]);
      }
    }
  }

  // Computes all outputs, as many at once as the device binds.
  void compute(const std::vector<int>& outputs, const std::vector<View>& views) {
    std::set<int> reads;
    std::size_t first = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::set<int> all = reads;
      all.insert(reads_[outputs[i]].begin(), reads_[outputs[i]].end());
      if (all.size() + i + 1 - first > limit_) {
        record({outputs.begin() + first, outputs.begin() + i}, {views.begin() + first, views.begin() + i});
        first = i;
        all = reads_[outputs[i]];
      }
      reads = all;
    }
    record({outputs.begin() + first, outputs.end()}, {views.begin() + first, views.end()});
  }

 private:
  void store(int node) {
    if (stored_.contains(node)) return;
    const View view = call_.temporary(nodes_[node].type, shape_);
    record({node}, {view});
    stored_[node] = view;
    reads_[node] = {node};
  }

  void record(const std::vector<int>& nodes, const std::vector<View>& views) {
    Expression part;
    std::map<int, int> copies;
    std::vector<View> operands;
    for (const int node : nodes) part.output(copy(node, part, copies, operands));
    weft::kernels::map(call_.stream(), part, operands, views);
  }

  int copy(int node, Expression& part, std::map<int, int>& copies, std::vector<View>& operands) {
    const auto found = copies.find(node);
    if (found != copies.end()) return found->second;
    int result;
    if (const auto stored = stored_.find(node); stored != stored_.end()) {
      operands.push_back(stored->second);
      result = part.input(nodes_[node].type);
    } else {
      Expression::Node copied = nodes_[node];
      for (int& arg : copied.args) {
        if (arg >= 0) arg = copy(arg, part, copies, operands);
      }
      result = part.append(copied);
    }
    copies[node] = result;
    return result;
  }

  Call& call_;
  const std::vector<Expression::Node>& nodes_;
  const std::vector<View>& inputs_;
  const weft::Shape shape_;
  const std::size_t limit_;
  std::vector<std::set<int>> reads_;  // of each node, the stored ones that it is computed from
  std::map<int, View> stored_;        // inputs are, too
};

}  // namespace

void map_in_parts(Call& call, const Expression& e, const std::vector<View>& inputs, const std::vector<View>& outputs) {
  const std::size_t limit = device().capabilities().max_storage_buffers;
  if (inputs.size() + outputs.size() <= limit) return weft::kernels::map(call.stream(), e, inputs, outputs);
  Parts parts(call, e, inputs, outputs[0].shape(), limit);
  parts.cut();
  parts.compute(e.outputs(), outputs);
}

}  // namespace mlx::core::webgpu
