// What one evaluation computes, and a key of it: equal keys mean that one executable serves both.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/device_data.h"
#include "graph/node_map.h"
#include "weft/compile.h"
#include "weft/number.h"

namespace weft {

// The node whose memory the node's result is: its own, or that of what a chain of views shows. Hold
// Node::graph_mutex().
const Node& stored_by(const Node& node);

// The nodes that lead from tensors with data to those that are wanted, in the order in which they were made. While it
// lives their operands are retained, and what is wanted must have handles.
class PendingGraph {
 public:
  enum class Use : std::uint8_t {
    maybe_in_pieces,  // evaluated as a whole, or by pieces() if it is large
    whole,            // evaluated as a whole
    look,             // only graph() is called
  };
  PendingGraph(std::span<const Tensor> wanted, Use use);
  ~PendingGraph() { end_retaining(); }
  PendingGraph(const PendingGraph&) = delete;
  PendingGraph& operator=(const PendingGraph&) = delete;

  // True if all that is wanted has data.
  bool empty() const { return items_.empty(); }

  // ---- Pieces. A graph of more nodes than one executable should have is evaluated in several: first the tensors of
  // the first list, then those of the next, and at last what was wanted. It is cut where few tensors are needed later.
  // So the iterations of a loop are cut at the same point of its body, and equal pieces share an executable.
  std::vector<std::vector<Tensor>> pieces() const;

  // ---- One executable
  // Chooses results, inputs and numbers, and makes the key.
  void prepare();
  const std::string& key() const { return key_; }
  // An input: a tensor with data, or a dense view of one, or a constant.
  struct Leaf {
    const Node* node;  // that is replaced by it
    int index;         // of its result
    bool constant;
    const DeviceData* data;  // null: a constant's, which hold() sets
    DataPtr held = {};       // data that no node holds
    void hold(DataPtr other);
    DataPtr shared() const;
    Tensor tensor() const { return node->value(index); }
  };
  std::span<Leaf> leaves() { return leaves_; }
  const std::vector<Number>& numbers() const { return numbers_; }
  std::vector<TensorType> result_types() const;
  // The graph whose inputs, numbers and outputs are the leaves, numbers and results, in order.
  Graph graph() const;
  // Pairs of a leaf and a result that is written into the leaf's memory: the result is the leaf with some elements
  // replaced, and nothing else refers to the leaf.
  const std::vector<std::pair<int, int>>& donated() const { return donated_; }
  // Sets the results' data, and releases the nodes that led to them.
  void finish(std::span<const DataPtr> data);

 private:
  using Index = std::uint32_t;  // in items_
  struct Item {
    const Node* node;
    Index found = 0;                             // its place in the search
    Index first_operand = 0, operand_count = 0;  // in operands_; none of nodes with data
    Index stored_by = 0;                         // the node whose memory its result is
    int uses = 0;                                // how often it is an operand of nodes that are computed
    int result = -1;                             // the number of its first result; -1: it is none of the results
    int id = -1;                                 // of what is computed: its number in the key
    int leaf_number = -1;                        // of result 0 among the leaves; -1: none yet
    int shown = -1;                              // in shown_: the memory that a dense view of data shows
    bool leaf = false;                           // it has data
    bool constant = false, view = false, checks = false;  // what its op says
    bool stored = false;                                  // it is wanted, or others want it later
    bool needed = false;                                  // by results, up to leaves and to views that serve as leaves
  };

  void collect(std::span<const Tensor> wanted);
  // The index of the node, as found until sort().
  Index add(const Node& node, NodeIds& seen);
  void sort();
  void count_uses();
  void choose_results();
  void choose_donations();
  void choose_needed();
  void make_key();
  // Gives the results the checks of what they depend on. Call when they have data.
  void pass_checks_on();
  void end_retaining();
  std::span<const Index> operands_of(const Item& item) const {
    return std::span(operands_).subspan(item.first_operand, item.operand_count);
  }
  bool reads(const Item& item, Index operand) const;
  bool may_donate(Index leaf) const;
  std::optional<Index> donor_of(Index index) const;
  int leaf_number(const Tensor& v, Index index);

  std::vector<Item> items_;
  std::vector<Index> operands_;
  std::vector<Index> results_;
  std::vector<View> shown_;
  std::vector<std::pair<Index, Index>> donor_indices_;
  PendingDonations pending_donations_;
  bool large_ = false, retains_ = false, checks_ = false;
  std::vector<std::pair<Index, ValueChecks>> leaf_checks_;
  std::vector<Leaf> leaves_;
  std::map<std::pair<Index, int>, int> further_leaves_;  // of results other than 0
  std::vector<Number> numbers_;
  std::vector<std::pair<int, int>> donated_;
  std::string key_;
};

// eval(), but what depends on no tensor with data is computed on that device.
void eval_on(std::span<const Tensor> tensors, const Device& device);

}  // namespace weft
