#include "weft/derivatives.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/format.h"
#include "graph/clone.h"
#include "graph/differentiation.h"
#include "ops/identity.h"
#include "ops/rules.h"
#include "tensor/tracing.h"
#include "transform/batch.h"
#include "transform/derivatives.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"

namespace weft {
namespace detail {

struct Derivation::State {
  std::string_view function;
  std::optional<DifferentiationScope> scope;
  std::vector<Tensor> operands;   // that variables were asked for
  std::vector<Tensor> variables;  // undefined: it was passed over
  std::vector<Tensor> results;
  std::optional<Dependence> dependence;  // of the results on the variables
};

Derivation::Derivation(std::string_view function) : state_(std::make_unique<State>()) {
  state_->function = function;
  state_->scope.emplace();
}
Derivation::~Derivation() = default;
Derivation::Derivation(Derivation&&) noexcept = default;
Derivation& Derivation::operator=(Derivation&&) noexcept = default;

Tensor Derivation::variable(const Tensor& x) {
  state_->operands.push_back(x);
  Tensor& v = state_->variables.emplace_back();
  if (!x.defined() || !is_inexact(x.dtype())) return x;
  v = identity(x);
  v.node()->set_differentiation(state_->scope->get());
  return v;
}

void Derivation::require_variables() const {
  if (std::ranges::any_of(state_->variables, &Tensor::defined)) return;
  std::string types;
  for (const Tensor& x : state_->operands) {
    if (x.defined()) types += (types.empty() ? "" : ", ") + to_string(x.type());
  }
  throw TypeError("{}: derivatives are for floats and complex numbers, got {}", state_->function,
                  types.empty() ? "no tensor" : types);
}

void Derivation::finish(std::span<const Tensor> results) {
  state_->results.assign(results.begin(), results.end());
  state_->dependence.emplace(state_->results, state_->variables, Dependence::Along::inexact);
  state_->scope.reset();
}

void Derivation::require_scalar() const {
  const Tensor& y = state_->results[0];
  if (!y.defined()) throw InvalidArgument("{}: the function's result is an undefined Tensor", state_->function);
  if (!is_floating(y.dtype())) {
    throw TypeError("{}: the function's result is {}, expected a real number; vjp() takes any results",
                    state_->function, to_string(y.type()));
  }
  if (y.size() != 1) {
    throw ShapeError("{}: the function's result is {}, expected one number; sum() or mean() make one, vjp() takes any",
                     state_->function, to_string(y.type()));
  }
}

namespace {

// What a caller gives for each of `like` fits it.
void require_types(std::string_view function, std::string_view what, std::span<const Tensor> given,
                   std::span<const Tensor> like) {
  if (given.size() != like.size()) {
    throw InvalidArgument("{}: {} {}{}, expected {}", function, given.size(), what, given.size() == 1 ? "" : "s",
                          like.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined() || !like[i].defined() || !is_inexact(like[i].dtype())) continue;
    if (given[i].shape() != like[i].shape()) {
      throw ShapeError("{}: {} {} is {}, expected {}", function, what, i, to_string(given[i].type()),
                       to_string(like[i].type()));
    }
    if (given[i].dtype() != like[i].dtype()) {
      throw TypeError("{}: {} {} is {}, expected {}", function, what, i, to_string(given[i].type()),
                      to_string(like[i].type()));
    }
  }
}

// Without those that belong to no inexact type.
std::vector<Tensor> inexact(std::span<const Tensor> derivatives, std::span<const Tensor> like) {
  std::vector<Tensor> all(derivatives.begin(), derivatives.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!like[i].defined() || !is_inexact(like[i].dtype())) all[i] = {};
  }
  return all;
}

}  // namespace

std::vector<Tensor> filled(std::span<const Tensor> derivatives, std::span<const Tensor> like) {
  std::vector<Tensor> all(derivatives.begin(), derivatives.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined() && like[i].defined() && is_inexact(like[i].dtype())) all[i] = zeros_of(like[i].type());
  }
  return all;
}

std::vector<Tensor> Derivation::pull_back(std::span<const Tensor> cotangents) const {
  require_types(state_->function, "cotangent", cotangents, state_->results);
  return filled(
      weft::pull_back(*state_->dependence, state_->results, inexact(cotangents, state_->results), state_->variables),
      state_->variables);
}

std::vector<Tensor> Derivation::gradient() const {
  std::vector<Tensor> cotangents(state_->results.size());
  const Tensor& y = state_->results[0];
  cotangents[0] = ones(y.shape(), y.dtype());
  return pull_back(cotangents);
}

std::vector<Tensor> Derivation::push_forward(std::span<const Tensor> tangents) const {
  require_types(state_->function, "tangent", tangents, state_->operands);
  return filled(
      weft::push_forward(*state_->dependence, state_->results, state_->variables, inexact(tangents, state_->operands)),
      state_->results);
}

Tensor Derivation::jacobian(bool forward) const {
  const Tensor &y = state_->results[0], &x = state_->variables[0];
  if (!y.defined()) throw InvalidArgument("jacobian: the function's result is an undefined Tensor");
  for (const Tensor& t : {x, y}) {
    if (!is_floating(t.dtype())) throw TypeError("jacobian: {}, expected floats", to_string(t.type()));
  }
  Shape shape = y.shape();
  for (const std::int64_t n : x.shape()) {
    if (shape.rank() == kMaxRank) {
      throw ShapeError("jacobian: of {} for {} it has more than {} axes", to_string(y.type()), to_string(x.type()),
                       kMaxRank);
    }
    shape.push_back(n);
  }
  const Tensor& from = forward ? x : y;
  const Tensor basis_entry = stand_in_for(from.type());
  const std::span ys(&y, 1), xs(&x, 1), given(&basis_entry, 1);
  const Tensor made = forward ? weft::push_forward(*state_->dependence, ys, xs, given)[0]
                              : weft::pull_back(*state_->dependence, ys, given, xs)[0];
  if (!made.defined() || element_count(shape) == 0) return zeros_of({forward ? y.dtype() : x.dtype(), shape});
  const std::int64_t n = from.size();
  Shape basis_shape = from.shape();
  basis_shape.insert(0, n);
  const Tensor basis = reshape(eye(n, n, from.dtype()), basis_shape);
  const int axis = 0;
  const Batched all = batch(std::span(&made, 1), std::span(&basis_entry, 1), std::span(&basis, 1), std::span(&axis, 1));
  const Tensor rows = batch_first(all.outputs[0], all.axes[0], n);
  return reshape(forward ? moveaxis(rows, 0, -1) : rows, shape);
}

// ---- Batches

struct BatchedCall::State {
  std::vector<std::optional<int>> argument_axes;
  int result_axis = 0;
  TracingScope scope;
  std::vector<Tensor> entries, values;
  std::vector<int> axes;
  std::optional<std::int64_t> size;
};

BatchedCall::BatchedCall(std::vector<std::optional<int>> axes, int result_axis) : state_(std::make_unique<State>()) {
  state_->argument_axes = std::move(axes);
  state_->result_axis = result_axis;
}
BatchedCall::~BatchedCall() = default;

Tensor BatchedCall::entry(const Tensor& x, std::size_t argument) {
  const auto asked = argument < state_->argument_axes.size() ? state_->argument_axes[argument] : std::optional<int>(0);
  if (!x.defined() || !asked) return x;
  if (x.rank() == 0) {
    throw ShapeError(
        "vmap: argument {} has a tensor {}, which has no axis for a batch; nullopt among the axes shares it", argument,
        to_string(x.type()));
  }
  const int axis = normalize_axis(*asked, x.rank(), "vmap");
  TensorType type = x.type();
  const std::int64_t size = type.shape[axis];
  if (state_->size && *state_->size != size) {
    throw ShapeError("vmap: argument {} has a tensor {} with a batch of {}, before were {}", argument,
                     to_string(x.type()), size, *state_->size);
  }
  state_->size = size;
  type.shape.erase(axis);
  state_->entries.push_back(stand_in_for(std::move(type)));
  state_->values.push_back(x);
  state_->axes.push_back(axis);
  return state_->entries.back();
}

std::vector<Tensor> BatchedCall::finish(std::span<const Tensor> results) {
  if (!state_->size) throw ShapeError("vmap: no argument has a batch");
  const Batched all = batch(results, state_->entries, state_->values, state_->axes);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!all.outputs[i].defined()) {
      out.emplace_back();
      continue;
    }
    const Tensor first = batch_first(all.outputs[i], all.axes[i], *state_->size);
    out.push_back(moveaxis(first, 0, normalize_axis(state_->result_axis, first.rank(), "vmap")));
  }
  return out;
}

// ---- What a program says about derivatives

namespace {

class FunctionDerivative final : public CustomDerivative {
 public:
  FunctionDerivative(CustomRule vjp, CustomRule jvp, std::size_t count) : vjp_(std::move(vjp)), jvp_(std::move(jvp)) {
    results = static_cast<int>(count);
  }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> given) const override {
    return of(vjp_, call, given, call.inputs, "cotangent");
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> given) const override {
    return of(jvp_, call, given, call.outputs, "tangent");
  }

 private:
  static Derivatives of(const CustomRule& rule, const Differentiated& call, std::span<const Tensor> given,
                        std::span<const Tensor> like, std::string_view what) {
    if (!rule) return std::nullopt;
    const std::vector<Tensor> made = rule(call.inputs, call.outputs, given);
    require_types(what == "tangent" ? "custom_jvp" : "custom_vjp", what, made, like);
    return inexact(made, like);
  }
  CustomRule vjp_, jvp_;
};

}  // namespace

std::vector<Tensor> with_rules(std::span<const Tensor> operands, std::span<const Tensor> results, CustomRule vjp,
                               CustomRule jvp) {
  const auto call = std::make_shared<const FunctionDerivative>(std::move(vjp), std::move(jvp), results.size());
  // An undefined operand stands for none; rules see it as one.
  std::vector<Tensor> defined;
  for (const Tensor& x : operands) defined.push_back(x.defined() ? x : Graph::scalar(false, DType::boolean));
  return with_derivative(call, results, defined);
}

std::vector<Tensor> checkpointed(std::span<const Tensor> operands, const TensorFunction& function) {
  const std::uint64_t since = Node::next_sequence();
  const std::vector<Tensor> results = function(operands);
  // What it computes is kept as operations on stand-ins for what it takes from outside.
  std::vector<Tensor> outside, stand_ins;
  ResultMap now;
  const auto take = [&](const Tensor& v) {
    if (!v.defined() || v.node()->sequence() >= since || now.find(v).defined()) return;
    outside.push_back(v);
    stand_ins.push_back(stand_in_for(v.type()));
    now.set(v, stand_ins.back());
  };
  Walk inside;
  RetainedInputs retained;
  {
    const std::unique_lock lock(Node::graph_mutex());
    inside = walk(results, [&](const Node& node) { return node.sequence() < since || at_leaves(node); });
    retained.retain(inside.nodes);
  }
  for (const Node* node : inside.nodes) {
    if (node->sequence() < since) continue;
    for (const Tensor& v : node->inputs()) take(v);
  }
  for (const Tensor& y : results) take(y);
  std::vector<Tensor> defined, recipe;
  for (const Tensor& y : results) {
    if (y.defined()) defined.push_back(y);
  }
  recipe = clone(defined, now);
  for (const Node* node : inside.nodes) {
    if (node->sequence() >= since) node->end_differentiation();
  }
  // The recipe on these operands in place of the stand-ins.
  const auto again = [recipe, stand_ins](std::span<const Tensor> given) {
    ResultMap map;
    for (std::size_t i = 0; i < given.size(); ++i) map.set(stand_ins[i], given[i]);
    return clone(recipe, map);
  };
  const auto variables_of = [](std::span<const Tensor> given, bool barrier) {
    std::vector<Tensor> variables;
    for (const Tensor& v : given) variables.push_back(identity(barrier ? identity(v, IdentityKind::barrier) : v));
    return variables;
  };
  std::vector<char> is_defined;
  for (const Tensor& y : results) is_defined.push_back(y.defined());
  const auto present = [is_defined](std::span<const Tensor> values) {
    std::vector<Tensor> found;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_defined[i]) found.push_back(values[i]);
    }
    return found;
  };
  CustomRule vjp = [=](std::span<const Tensor> given, std::span<const Tensor>, std::span<const Tensor> cotangents) {
    const std::vector<Tensor> variables = variables_of(given, true);
    return pull_back(again(variables), present(cotangents), variables);
  };
  CustomRule jvp = [=](std::span<const Tensor> given, std::span<const Tensor>, std::span<const Tensor> tangents) {
    const std::vector<Tensor> variables = variables_of(given, false);
    const std::vector<Tensor> made = push_forward(again(variables), variables, tangents);
    std::vector<Tensor> all(is_defined.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_defined[i]) all[i] = made[next++];
    }
    return all;
  };
  return with_rules(outside, results, std::move(vjp), std::move(jvp));
}

}  // namespace detail

Tensor stop_gradient(const Operand& x) {
  if (!x.defined()) throw InvalidArgument("stop_gradient: the operand is an undefined Tensor");
  return identity(x, IdentityKind::stop_gradient);
}

std::function<Tensor(const Tensor&)> nth_derivative(std::function<Tensor(const Tensor&)> function, int order) {
  if (order < 0) throw InvalidArgument("nth_derivative: the order {}, expected 0 or more", order);
  return [function = std::move(function), order](const Tensor& x) {
    if (order == 0) return function(x);
    const std::uint64_t since = Node::next_sequence();
    detail::Derivation derivation("nth_derivative");
    const Tensor v = derivation.variable(x);
    derivation.require_variables();
    Tensor y = function(v);
    derivation.finish(std::span(&y, 1));
    if (!y.defined() || y.shape() != x.shape()) {
      throw ShapeError("nth_derivative: the function gives {} of {}, expected a number for each",
                       y.defined() ? to_string(y.type()) : "nothing", to_string(x.type()));
    }
    const Tensor one = ones(x.shape(), x.dtype());
    for (int k = 0; k < order; ++k) {
      const Tensor next = push_forward(std::span(&y, 1), std::span(&v, 1), std::span(&one, 1))[0];
      if (!next.defined()) return zeros_of(y.type());
      y = merge_equal(std::span(&next, 1), since)[0];
    }
    return y;
  };
}

}  // namespace weft
