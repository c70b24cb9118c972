// Tables of what belongs to nodes, found by the nodes' addresses: the nodes must live as long as the table.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "graph/node.h"

namespace weft {

// A number for each of some nodes.
class NodeIds {
 public:
  void reserve(std::size_t count);
  // False if the node has a number already.
  bool insert(const Node& node, int id);
  // Gives a node that has one another number.
  void set(const Node& node, int id) { entries_[slot(node)].id = id; }
  // -1 if it has none.
  int find(const Node& node) const;
  bool contains(const Node& node) const { return find(node) >= 0; }

 private:
  struct Entry {
    const Node* node = nullptr;
    int id = -1;
  };
  // Where the node is, or would be.
  std::size_t slot(const Node& node) const;
  std::vector<Entry> entries_;  // a power of two of them
  std::size_t count_ = 0;
};

// A T for each of some nodes. References stay valid.
template <class T>
class NodeMap {
 public:
  bool empty() const { return values_.empty(); }
  bool contains(const Node& node) const { return ids_.contains(node); }
  // Null if there is none.
  const T* find(const Node& node) const {
    const int id = ids_.find(node);
    return id < 0 ? nullptr : &values_[static_cast<std::size_t>(id)];
  }
  // The node's; a new one if there is none.
  T& operator[](const Node& node) {
    const int id = ids_.find(node);
    if (id >= 0) return values_[static_cast<std::size_t>(id)];
    ids_.insert(node, static_cast<int>(values_.size()));
    return values_.emplace_back();
  }

 private:
  NodeIds ids_;
  std::deque<T> values_;
};

// A tensor for each of some tensors.
class ResultMap {
 public:
  // Undefined if there is none.
  const Tensor& find(const Tensor& of) const;
  void set(const Tensor& of, Tensor value);
  // The tensor itself if there is none.
  const Tensor& at(const Tensor& of) const {
    const Tensor& found = find(of);
    return found.defined() ? found : of;
  }
  std::vector<Tensor> at(std::span<const Tensor> of) const;
  // True if a result of the node has one.
  bool contains(const Node& node) const { return first_.contains(node); }

 private:
  NodeIds first_;  // the index of result 0 in values_; the node's other results follow it
  std::vector<Tensor> values_;
};

}  // namespace weft
