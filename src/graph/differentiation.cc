#include "graph/differentiation.h"

#include <utility>
#include <vector>

#include "graph/node.h"

namespace weft {
namespace {

// The innermost run of this thread; null: none.
thread_local DifferentiationPtr current;

}  // namespace

Differentiation::Differentiation(DifferentiationPtr outer)
    : outer_(std::move(outer)), depth_(outer_ ? outer_->depth() + 1 : 0) {}

bool Differentiation::active() const {
  for (const Differentiation* d = this; d; d = d->outer_.get()) {
    if (d->runs_.load(std::memory_order_acquire)) return true;
  }
  return false;
}

bool Differentiation::keep(const Node& node) const {
  for (const Differentiation* d = this; d; d = d->outer_.get()) {
    const std::lock_guard lock(d->mutex_);
    if (!d->runs_.load(std::memory_order_relaxed)) continue;
    d->kept_.insert(&node);
    return true;
  }
  return false;
}

void Differentiation::forget(const Node& node) const {
  for (const Differentiation* d = this; d; d = d->outer_.get()) {
    const std::lock_guard lock(d->mutex_);
    d->kept_.erase(&node);
  }
}

void Differentiation::end() {
  std::vector<NodePtr> kept;
  {
    const std::lock_guard lock(mutex_);
    runs_.store(false, std::memory_order_release);
    // Those that another thread is deleting are about to forget themselves.
    for (const Node* node : kept_) {
      if (auto held = node->retain_if_alive()) kept.push_back(std::move(*held));
    }
    kept_.clear();
  }
  for (const NodePtr& node : kept) node->release_inputs();
}

DifferentiationScope::DifferentiationScope()
    : run_(std::make_shared<Differentiation>(current)), before_(std::exchange(current, run_)) {}
DifferentiationScope::~DifferentiationScope() {
  current = before_;
  run_->end();
}

bool differentiating() { return current != nullptr; }

}  // namespace weft
