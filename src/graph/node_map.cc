#include "graph/node_map.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft {

void NodeIds::reserve(std::size_t count) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(2 * count, 16));
  if (size <= entries_.size()) return;
  const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(size));
  for (const Entry& e : old) {
    if (e.node) entries_[slot(*e.node)] = e;
  }
}

std::size_t NodeIds::slot(const Node& node) const {
  // The high bits of a product depend on all bits of the address.
  const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(&node) * 0x9e3779b97f4a7c15u;
  std::size_t i = hash >> (64 - std::countr_zero(entries_.size()));
  while (entries_[i].node && entries_[i].node != &node) i = (i + 1) & (entries_.size() - 1);
  return i;
}

bool NodeIds::insert(const Node& node, int id) {
  reserve(count_ + 1);
  Entry& e = entries_[slot(node)];
  if (e.node) return false;
  e = {&node, id};
  ++count_;
  return true;
}

int NodeIds::find(const Node& node) const { return entries_.empty() ? -1 : entries_[slot(node)].id; }

const Tensor& ResultMap::find(const Tensor& of) const {
  static const Tensor none;
  const int first = first_.find(*of.node());
  return first < 0 ? none : values_[static_cast<std::size_t>(first + of.index())];
}

void ResultMap::set(const Tensor& of, Tensor value) {
  const Node& node = *of.node();
  if (first_.insert(node, static_cast<int>(values_.size()))) values_.resize(values_.size() + node.types().size());
  values_[static_cast<std::size_t>(first_.find(node) + of.index())] = std::move(value);
}

std::vector<Tensor> ResultMap::at(std::span<const Tensor> of) const {
  std::vector<Tensor> values;
  values.reserve(of.size());
  for (const Tensor& v : of) values.push_back(at(v));
  return values;
}

}  // namespace weft
