#include <algorithm>
#include <cmath>

#include "core/error_context.h"
#include "core/format.h"
#include "core/is_or_are.h"
#include "core/nearest.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "graph/walk.h"
#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/state.h"
#include "weft/label.h"
#include "weft/webnn/builder.h"

namespace weft::webnn {

namespace {

constexpr double kMostUnsigned = 4294967295.0;  // of an unsigned long
constexpr double kMostSigned = 2147483647.0, kLeastSigned = -2147483648.0;

std::string prefix_of(std::string_view op, std::string_view label) {
  return label.empty() ? std::format("{}: ", op) : std::format("{} [{}]: ", op, printable(label));
}

// What a value is, for messages.
std::string describe(const Value& value) {
  struct {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const Number& v) const { return to_string(v); }
    std::string operator()(const std::string& v) const { return std::format("'{}'", printable(v)); }
    std::string operator()(DType v) const { return std::string(data_type_name(v)); }
    std::string operator()(const Sizes& v) const { return to_string(v); }
    std::string operator()(const std::vector<double>& v) const { return std::format("a list of {} numbers", v.size()); }
    std::string operator()(const std::vector<std::string>& v) const {
      return std::format("a list of {} names", v.size());
    }
    std::string operator()(const Operand&) const { return "an operand"; }
    std::string operator()(const std::vector<Operand>&) const { return "a list of operands"; }
  } text;
  return std::visit(text, value);
}

// The values of named arguments in the order of the schema.
std::vector<Value> in_order_of(const OpSchema& schema, const std::string& prefix, const Arguments& given) {
  std::vector<Value> values(schema.arguments.size());
  for (const auto& [name, value] : given) {
    const auto it = std::ranges::find(schema.arguments, name, &ArgumentSchema::name);
    if (it == schema.arguments.end()) {
      throw TypeError("{}there is no argument '{}'{}", prefix, printable(name),
                      nearest_text(nearest(name, schema.arguments, &ArgumentSchema::name)));
    }
    Value& argument = values[static_cast<std::size_t>(it - schema.arguments.begin())];
    if (!std::holds_alternative<std::monostate>(argument)) throw TypeError("{}{} is given twice", prefix, name);
    argument = value;
  }
  return values;
}

// Checks the arguments of one call by the schema, in whose order they are.
class Checker {
 public:
  Checker(const OpSchema& schema, const std::string& prefix, const void* builder, std::vector<Value> values)
      : schema_(schema), prefix_(prefix), builder_(builder), values_(std::move(values)) {}

  std::vector<Value> checked() {
    // Operands first, as the specification has it: those of another builder are told before all else.
    for (const bool operands : {true, false}) {
      for (std::size_t i = 0; i < values_.size(); ++i) {
        const ArgumentSchema& a = schema_.arguments[i];
        const bool is_operand = a.kind == ArgumentKind::operand || a.kind == ArgumentKind::operands;
        if (is_operand == operands) check(a, values_[i]);
      }
    }
    for (std::size_t i = 0; i < values_.size(); ++i) check_types(schema_.arguments[i], values_[i]);
    return std::move(values_);
  }

 private:
  [[noreturn]] void refuse(const ArgumentSchema& a, const Value& value) const {
    throw TypeError("{}{} is {}, expected {}", prefix_, a.name, describe(value), name(a.kind));
  }

  void check(const ArgumentSchema& a, Value& value) const {
    if (const auto* o = std::get_if<Operand>(&value); o && !*o) value = std::monostate();
    if (std::holds_alternative<std::monostate>(value)) {
      if (a.required) throw TypeError("{}{} is not given, expected {}", prefix_, a.name, name(a.kind));
      return;
    }
    switch (a.kind) {
      case ArgumentKind::operand:
        if (!std::holds_alternative<Operand>(value)) refuse(a, value);
        check_builder(a, std::get<Operand>(value));
        break;
      case ArgumentKind::operands:
        if (!std::holds_alternative<std::vector<Operand>>(value)) refuse(a, value);
        for (const Operand& o : std::get<std::vector<Operand>>(value)) check_builder(a, o);
        break;
      case ArgumentKind::boolean:
        if (!std::holds_alternative<bool>(value)) refuse(a, value);
        break;
      case ArgumentKind::size:
        check_range(a, value, 0, kMostUnsigned);
        break;
      case ArgumentKind::integer:
        check_range(a, value, kLeastSigned, kMostSigned);
        break;
      case ArgumentKind::splits:
        if (std::holds_alternative<Number>(value))
          check_range(a, value, 0, kMostUnsigned);
        else
          check_sizes(a, value);
        break;
      case ArgumentKind::sizes:
        check_sizes(a, value);
        break;
      case ArgumentKind::number:
        if (!std::holds_alternative<Number>(value)) refuse(a, value);
        break;
      case ArgumentKind::real:
        if (!std::holds_alternative<Number>(value) || !std::isfinite(std::get<Number>(value).value())) refuse(a, value);
        break;
      case ArgumentKind::reals:
        if (const auto* sizes = std::get_if<Sizes>(&value)) value = std::vector<double>(sizes->begin(), sizes->end());
        if (!std::holds_alternative<std::vector<double>>(value)) refuse(a, value);
        for (const double v : std::get<std::vector<double>>(value)) {
          // Floats: what would round to an infinity is refused, too.
          if (!std::isfinite(static_cast<float>(v)))
            throw TypeError("{}{} has {}, expected finite floats", prefix_, a.name, v);
        }
        break;
      case ArgumentKind::choice:
        if (!std::holds_alternative<std::string>(value)) refuse(a, value);
        check_choice(a, std::get<std::string>(value));
        break;
      case ArgumentKind::choices:
        // An empty list has no type of its own.
        if (const auto* sizes = std::get_if<Sizes>(&value); sizes && sizes->empty()) value = std::vector<std::string>();
        if (!std::holds_alternative<std::vector<std::string>>(value)) refuse(a, value);
        for (const std::string& v : std::get<std::vector<std::string>>(value)) check_choice(a, v);
        break;
      case ArgumentKind::data_type:
        if (const auto* text = std::get_if<std::string>(&value)) {
          const auto type = data_type_from_name(*text);
          if (!type) refuse(a, value);
          value = *type;
        }
        if (!std::holds_alternative<DType>(value)) refuse(a, value);
        if (!kTensorTypes.contains(std::get<DType>(value))) refuse(a, value);
        break;
    }
  }

  void check_builder(const ArgumentSchema& a, const Operand& operand) const {
    if (!operand) throw TypeError("{}{} is an empty Operand", prefix_, a.name);
    if (operand.state()->builder != builder_) throw TypeError("{}{} is of another builder", prefix_, a.name);
  }

  // As WebIDL's [EnforceRange]: the integer part of a finite number in the range.
  void check_range(const ArgumentSchema& a, Value& value, double least, double most) const {
    if (!std::holds_alternative<Number>(value)) refuse(a, value);
    const double v = std::trunc(std::get<Number>(value).value());
    if (!(v >= least && v <= most)) {
      throw TypeError("{}{} is {}, expected an integer from {:.0f} to {:.0f}", prefix_, a.name, describe(value), least,
                      most);
    }
    value = Number(static_cast<std::int64_t>(v));
  }
  void check_sizes(const ArgumentSchema& a, Value& value) const {
    if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      Sizes sizes;
      for (const double v : *reals) {
        Value one = Number(v);
        check_range(a, one, 0, kMostUnsigned);
        sizes.push_back(static_cast<std::int64_t>(v));
      }
      value = sizes;
    }
    if (!std::holds_alternative<Sizes>(value)) refuse(a, value);
    for (const std::int64_t v : std::get<Sizes>(value)) {
      if (v < 0 || v > static_cast<std::int64_t>(kMostUnsigned)) {
        throw TypeError("{}{} {} {}, expected integers from 0 to {:.0f}", prefix_, a.name, is_or_are(a.name),
                        describe(value), kMostUnsigned);
      }
    }
  }
  void check_choice(const ArgumentSchema& a, const std::string& value) const {
    if (std::ranges::find(a.choices, value) != a.choices.end()) return;
    std::string list;
    for (std::size_t i = 0; i < a.choices.size(); ++i) {
      list += (i == 0 ? "" : i + 1 < a.choices.size() ? ", " : " or ") + a.choices[i];
    }
    throw TypeError("{}{} is '{}', expected {}", prefix_, a.name, printable(value), list);
  }

  void check_types(const ArgumentSchema& a, const Value& value) const {
    if (const auto* o = std::get_if<Operand>(&value)) check_operand(a, *o);
    if (const auto* list = std::get_if<std::vector<Operand>>(&value)) {
      for (const Operand& o : *list) check_operand(a, o);
    }
  }
  void check_operand(const ArgumentSchema& a, const Operand& operand) const {
    TypeSet types = a.types;
    std::string_view as;
    if (!a.same_as.empty()) {
      for (std::size_t i = 0; i < values_.size(); ++i) {
        if (schema_.arguments[i].name != a.same_as) continue;
        as = a.same_as;
        if (const auto* o = std::get_if<Operand>(&values_[i]))
          types = o->data_type();
        else if (const auto* list = std::get_if<std::vector<Operand>>(&values_[i]); list && !list->empty()) {
          types = list->front().data_type();
        } else {
          types = schema_.types_of(a);  // the other one is absent
        }
      }
    }
    if (!types.contains(operand.data_type())) {
      throw TypeError("{}{} {} {}, expected {}{}", prefix_, a.name, is_or_are(a.name),
                      to_string(operand.data_type(), operand.shape()), names(types),
                      as.empty() ? "" : std::format(", as {}", as));
    }
    const auto rank = static_cast<int>(operand.shape().size());
    if (rank < a.min_rank || rank > a.max_rank) {
      const std::string ranks =
          a.min_rank == a.max_rank ? std::format("{}", a.min_rank) : std::format("{} to {}", a.min_rank, a.max_rank);
      throw TypeError("{}{} {} {}, expected a rank of {}", prefix_, a.name, is_or_are(a.name),
                      to_string(operand.data_type(), operand.shape()), ranks);
    }
  }

  const OpSchema& schema_;
  const std::string& prefix_;
  const void* builder_;
  std::vector<Value> values_;
};

}  // namespace

DType Operand::data_type() const {
  if (!state_) throw TypeError("operand: an empty Operand");
  return state_->descriptor.data_type;
}
const Sizes& Operand::shape() const {
  if (!state_) throw TypeError("operand: an empty Operand");
  return state_->descriptor.shape;
}

GraphBuilder::GraphBuilder(const Context& context) {
  context.state().check("graph builder");
  state_ = std::make_shared<State>(context);
}

const Context& GraphBuilder::context() const { return state_->context; }

namespace {

// Throws InvalidStateError.
void check_can_build(const GraphBuilder::State& builder, std::string_view prefix) {
  if (builder.built) throw InvalidStateError("{}the builder has built its graph already; make another builder", prefix);
  try {
    builder.context.state().check("graph builder");
  } catch (const InvalidStateError& e) {
    throw InvalidStateError("{}{}", prefix, e.what());
  }
}

Operand made(const GraphBuilder::State& builder, const OperandDescriptor& descriptor, weft::Tensor tensor,
             Operand::State::Kind kind, std::string_view name = {}) {
  auto state = std::make_shared<Operand::State>();
  state->builder = &builder;
  state->descriptor = descriptor;
  state->tensor = std::move(tensor);
  state->kind = kind;
  state->name = name;
  return Operand(std::move(state));
}

// Records a call with what `arguments` gives of the schema and the prefix of messages: values in the schema's order.
template <class Values>
std::vector<Operand> record(GraphBuilder::State& builder, std::string_view name, const std::string& label,
                            Values&& arguments) {
  const Op* op = find_op_row(name);
  if (!op) {
    throw TypeError(
        "there is no operation '{}'{}", printable(name),
        nearest_text(nearest(name, op_rows(), [](const Op& o) { return std::string_view(o.schema.name); })));
  }
  const std::string prefix = prefix_of(name, label);
  const std::lock_guard lock(builder.mutex);
  check_can_build(builder, prefix);
  const std::vector<Value> values = Checker(op->schema, prefix, &builder, arguments(op->schema, prefix)).checked();
  const Call call(prefix);
  std::vector<weft::Tensor> tensors;
  try {
    std::optional<LabelScope> scope;
    if (!label.empty()) scope.emplace(label);
    tensors = op->map(call, values);
  } catch (const Exception&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const Error& e) {
    throw TypeError("{}{}", prefix, without_function(e.what()));
  }
  builder.unbuildable.insert(builder.unbuildable.end(), call.all_unbuildable().begin(), call.all_unbuildable().end());
  std::vector<Operand> results;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ArgumentSchema& rule = op->schema.outputs[std::min(i, op->schema.outputs.size() - 1)];
    const OperandDescriptor descriptor{tensors[i].dtype(), to_sizes(tensors[i].shape())};
    if (!op->schema.types_of(rule).contains(descriptor.data_type)) {
      throw InternalError("{}the result is {}", prefix, data_type_name(descriptor.data_type));
    }
    builder.context.state().check_descriptor(prefix + rule.name, descriptor.data_type, descriptor.shape);
    results.push_back(made(builder, descriptor, std::move(tensors[i]), Operand::State::Kind::result));
  }
  return results;
}

}  // namespace

Operand GraphBuilder::input(std::string_view name, const OperandDescriptor& descriptor) {
  const std::lock_guard lock(state_->mutex);
  check_can_build(*state_, "input: ");
  if (name.empty()) throw TypeError("input: the name is empty");
  const std::string what = std::format("input '{}'", printable(name));
  state_->context.state().check_descriptor(what, descriptor.data_type, descriptor.shape);
  const TensorType type{descriptor.data_type, to_shape(descriptor.shape)};
  state_->inputs.push_back(made(*state_, descriptor, apply(make_op<InputOp>(std::string(name), type, ""), {}),
                                Operand::State::Kind::input, name));
  return state_->inputs.back();
}

Operand GraphBuilder::constant(const OperandDescriptor& descriptor, const BufferSource& data) {
  const std::lock_guard lock(state_->mutex);
  check_can_build(*state_, "constant: ");
  state_->context.state().check_descriptor("constant", descriptor.data_type, descriptor.shape);
  check_data("constant", descriptor.data_type, descriptor.shape, data);
  return made(
      *state_, descriptor,
      weft::Graph::constant(TensorData::copy_of(descriptor.data_type, to_shape(descriptor.shape), data.bytes())),
      Operand::State::Kind::constant);
}

Operand GraphBuilder::constant(DType data_type, const Number& value) {
  const std::lock_guard lock(state_->mutex);
  check_can_build(*state_, "constant: ");
  state_->context.state().check_descriptor("constant", data_type, {});
  return made(*state_, {data_type, {}}, weft::Graph::scalar(cast_number(value, data_type), data_type),
              Operand::State::Kind::constant);
}

Operand GraphBuilder::constant(const Tensor& tensor) {
  if (!tensor) throw TypeError("constant: an empty Tensor");
  const Tensor::State& t = *tensor.state();
  const std::lock_guard lock(state_->mutex);
  if (t.context != state_->context.shared_state()) throw TypeError("constant: the tensor is of another context");
  const std::lock_guard order(t.context->timeline);
  if (t.destroyed) throw TypeError("constant: the tensor is destroyed");
  if (!t.constant) throw TypeError("constant: the tensor was not made by create_constant_tensor()");
  check_can_build(*state_, "constant: ");
  return made(*state_, {t.descriptor.data_type, t.descriptor.shape}, weft::Graph::constant(t.constant_data),
              Operand::State::Kind::constant);
}

std::vector<Operand> GraphBuilder::call(std::string_view name, const Arguments& arguments) {
  std::string label;
  Arguments given;
  for (const auto& [key, value] : arguments) {
    if (key != "label")
      given.emplace_back(key, value);
    else if (const auto* text = std::get_if<std::string>(&value))
      label = *text;
    else
      throw TypeError("{}: label is {}, expected a string", printable(name), describe(value));
  }
  return record(*state_, name, label,
                [&](const OpSchema& schema, const std::string& prefix) { return in_order_of(schema, prefix, given); });
}

std::vector<Operand> GraphBuilder::in_order(std::string_view name, std::vector<Value> arguments,
                                            const std::string& label) {
  return record(*state_, name, label, [&](const OpSchema& schema, const std::string& prefix) {
    if (arguments.size() != schema.arguments.size()) {
      throw InternalError("{}its method gives {} arguments, expected {}", prefix, arguments.size(),
                          schema.arguments.size());
    }
    return std::move(arguments);
  });
}

namespace {

// What build() compiles, and the graph that it becomes.
struct Building {
  std::shared_ptr<Graph::State> graph;
  weft::Graph tensors;
};

Building collect(GraphBuilder::State& builder, const NamedOperands& outputs) {
  const auto& context = builder.context.shared_state();
  check_can_build(builder, "build: ");
  if (outputs.empty()) throw TypeError("build: there are no outputs");
  auto graph = std::make_shared<Graph::State>(context);
  for (const auto& [name, operand] : outputs) {
    if (name.empty()) throw TypeError("build: the name of an output is empty");
    const std::string what = std::format("build: output '{}'", printable(name));
    if (!operand) throw TypeError("{} is an empty Operand", what);
    if (operand.state()->builder != &builder) throw TypeError("{} is of another builder", what);
    if (operand.state()->kind != Operand::State::Kind::result) {
      throw TypeError("{} is {} of the graph; identity() makes an output of it", what,
                      operand.state()->kind == Operand::State::Kind::input ? "an input" : "a constant");
    }
    if (!graph->outputs.emplace(name, operand.state()->descriptor).second) throw TypeError("{} is given twice", what);
    graph->output_order.push_back(name);
  }
  // The inputs that an output needs.
  std::vector<weft::Tensor> roots;
  for (const auto& [name, operand] : outputs) roots.push_back(operand.state()->tensor);
  NodeIds reached;
  reach(roots, reached, at_leaves);
  weft::Graph built;
  for (const Operand& input : builder.inputs) {
    const Operand::State& state = *input.state();
    if (!reached.contains(*state.tensor.node())) continue;
    if (!graph->inputs.emplace(state.name, state.descriptor).second) {
      throw TypeError("build: two inputs are named '{}'", printable(state.name));
    }
    graph->input_order.push_back(state.name);
    built.impl().add_input(state.name, state.tensor);
  }
  for (const auto& [name, operand] : outputs) built.output(name, operand.state()->tensor);
  builder.built = true;
  for (const auto& [tensor, text] : builder.unbuildable) {
    if (reached.contains(*tensor.node())) throw OperationError("build: {}", text);
  }
  return {std::move(graph), std::move(built)};
}

CompileOptions with_constants(CompileOptions options, const Context::State& context) {
  if (!options.constants) options.constants = context.constants;
  return options;
}

}  // namespace

Graph GraphBuilder::build(const NamedOperands& outputs) { return build(outputs, {.precision = Precision::strict}); }

Graph GraphBuilder::build(const NamedOperands& outputs, const CompileOptions& options) {
  const std::lock_guard lock(state_->mutex);
  const auto& context = state_->context.shared_state();
  const Building building = collect(*state_, outputs);
  const std::lock_guard order(context->timeline);
  context->guarded<OperationError>("build", [&] {
    building.graph->executable = compile(building.tensors, context->device, with_constants(options, *context));
    building.graph->report = building.graph->executable.report();
  });
  state_->inputs.clear();
  state_->unbuildable.clear();
  return Graph(building.graph);
}

Future<Graph> GraphBuilder::build_async(const NamedOperands& outputs) {
  return build_async(outputs, {.precision = Precision::strict});
}

Future<Graph> GraphBuilder::build_async(const NamedOperands& outputs, const CompileOptions& options) {
  const std::lock_guard lock(state_->mutex);
  const auto& context = state_->context.shared_state();
  const Building building = collect(*state_, outputs);
  const std::lock_guard order(context->timeline);
  Future<Executable> compiling = context->guarded<OperationError>(
      "build", [&] { return compile_async(building.tensors, context->device, with_constants(options, *context)); });
  state_->inputs.clear();
  state_->unbuildable.clear();
  return std::move(compiling).map_done([graph = building.graph, context](Future<Executable> done) {
    const std::lock_guard order(context->timeline);
    context->guarded<OperationError>("build", [&] {
      context->check("build");  // it may have been lost meanwhile, and the graph destroyed
      graph->executable = done.get();
      graph->report = graph->executable.report();
    });
    return Graph(graph);
  });
}

}  // namespace weft::webnn
