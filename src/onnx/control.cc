// Branches, loops, sequences and optionals.
//
// A branch that is known is made in place. Else both become branches of the graph, if they give tensors of the same
// types; if not, the condition is read, and the graph goes on with what it says. Loops likewise: a loop of the graph
// where the carried tensors keep their types, else turned while the graph is made.
#include <algorithm>
#include <limits>

#include "core/format.h"
#include "onnx/graph_writer.h"
#include "onnx/tracer.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft::onnx {
namespace {

// Loops of known length that turn up to this often are made turn by turn, so that neighbours fuse.
constexpr std::int64_t kFewTurns = 4;

const GraphProto& graph_of(const Node& node, std::string_view name) {
  const AttributeProto* a = node.attribute(name);
  if (!a || a->graphs.empty()) node.fail("the attribute {} is missing", name);
  return *a->graphs[0];
}

bool truth(Tracer& tracer, const Value& value, const Node& node) {
  const std::vector<std::int64_t> all = integers_in(tracer.elements(value));
  if (all.size() != 1) node.fail("a condition of {} elements, expected one", all.size());
  return all[0] != 0;
}

Tensors tensors_of(const Values& values) {
  Tensors tensors;
  for (const Value& v : values) {
    if (!v.is_tensor()) throw NotOfGraph{};
    tensors.push_back(v.tensor);
  }
  return tensors;
}
Values values_of(std::span<const Tensor> tensors) {
  Values values;
  for (const Tensor& t : tensors) values.push_back({.tensor = t});
  return values;
}

Value integer_value(std::int64_t n) { return Tracer::constant(TensorData::of<std::int64_t>({}, std::span(&n, 1))); }
Value boolean_value(bool b) {
  const std::uint8_t byte = b;
  return Tracer::constant(TensorData::of<std::uint8_t>(DType::boolean, {}, std::span(&byte, 1)));
}

Values branch(Tracer& tracer, const Node& node, const std::string&) {
  const GraphProto &then = graph_of(node, "then_branch"), &otherwise = graph_of(node, "else_branch");
  const Value& condition = node.value(0);
  if (!condition.data && tracer.may_wait()) {
    const auto made = tracer.in_graph([&] {
      const auto of = [&](const GraphProto& graph, std::string_view part) {
        return [&tracer, &node, &graph, part] { return tensors_of(tracer.call_graph(graph, node, part, {})); };
      };
      return values_of(cond(condition.tensor.reshape({}), of(then, "then"), of(otherwise, "else")));
    });
    if (made) return *made;
  }
  const bool is_then = truth(tracer, condition, node);
  return tracer.call_graph(is_then ? then : otherwise, node, is_then ? "then" : "else", {});
}

// One after the other along a new first axis; of no turns, of the type that the graph says.
Value stacked(const Node& node, const Values& turns, const ValueInfoProto& port) {
  if (!turns.empty()) {
    Tensors parts;
    for (const Value& v : turns) {
      if (!v.is_tensor()) node.fail("a scanned output is no tensor");
      parts.push_back(v.tensor);
    }
    return {.tensor = stack(parts, 0)};
  }
  Shape shape{0};
  if (port.type.shape) {
    for (const DimensionProto& d : *port.type.shape) shape.push_back(d.size.value_or(0));
  }
  return {.tensor = zeros(shape, dtype_of(port.type.element, std::format("output '{}'", port.name)))};
}

// Whether the condition behind each turn of a loop is that before it.
bool never_ends(const GraphProto& body) {
  const std::string& before = body.inputs[1].name;
  const std::string& behind = body.outputs[0].name;
  if (before == behind) return true;
  const auto gives = [&](const NodeProto& n) {
    return n.op_type == "Identity" && !n.inputs.empty() && n.inputs[0] == before && !n.outputs.empty() &&
           n.outputs[0] == behind;
  };
  return std::ranges::any_of(body.nodes, gives);
}

Values loop(Tracer& tracer, const Node& node, const std::string& path) {
  const GraphProto& body = graph_of(node, "body");
  const std::size_t carried = node.size() > 2 ? node.size() - 2 : 0;
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1) {
    node.fail("a body of {} inputs and {} outputs, for {} carried values", body.inputs.size(), body.outputs.size(),
              carried);
  }
  const std::size_t scanned = body.outputs.size() - 1 - carried;
  Values carries;
  for (std::size_t i = 0; i < carried; ++i) carries.push_back(node.value(i + 2));
  const bool counts = node.has(0), tests = node.has(1);
  const bool count_known = !counts || node.value(0).data, test_known = !tests || node.value(1).data;
  const std::int64_t most = counts && count_known ? node.integer_of(0) : std::numeric_limits<std::int64_t>::max();
  const bool begins = !tests || !test_known || truth(tracer, node.value(1), node);

  // A loop of the graph that turns a known number of times.
  if (counts && count_known && test_known && begins && most > kFewTurns) {
    const auto made = tracer.in_graph([&] {
      const Tensors initial = tensors_of(carries);
      return values_of(detail::scan({.function = "Loop", .length = most}, initial, {}, [&](std::span<const Tensor> t) {
        const Tracer::Turn turn(tracer, t[0]);
        Values inputs{{.tensor = cast(t[0], DType::i64)}, boolean_value(true)};
        for (const Tensor& carry : t.subspan(1)) inputs.push_back({.tensor = carry});
        const Values results = tracer.call_graph(body, node, "turn", std::move(inputs));
        if (!results[0].data || !truth(tracer, results[0], node)) throw NotOfGraph{};
        return tensors_of({results.begin() + 1, results.end()});
      }));
    });
    if (made) return *made;
  }
  // One that tests a condition.
  if (tracer.may_wait() && scanned == 0 && carried && (!test_known || !counts || !count_known || most > kFewTurns)) {
    const auto made = tracer.in_graph([&] {
      Tensors initial{Graph::scalar(Number(0), DType::i64),
                      tests ? node.in(1).reshape({}) : Graph::scalar(Number(1), DType::boolean)};
      const Tensors first = tensors_of(carries);
      initial.insert(initial.end(), first.begin(), first.end());
      const Tensor limit = counts ? node.in(0).reshape({}) : Tensor();
      Tensors last =
          while_loop([&](const Tensors& t) { return limit.defined() ? logical_and(t[1], t[0] < limit) : t[1]; },
                     [&](const Tensors& t) {
                       const Tracer::Turn turn(tracer, t[0]);
                       Values inputs{{.tensor = t[0]}, {.tensor = t[1]}};
                       for (std::size_t i = 2; i < t.size(); ++i) inputs.push_back({.tensor = t[i]});
                       const Values results = tracer.call_graph(body, node, "turn", std::move(inputs));
                       Tensors next{t[0] + 1, results[0].tensor.reshape({})};
                       const Tensors rest = tensors_of({results.begin() + 1, results.end()});
                       next.insert(next.end(), rest.begin(), rest.end());
                       return next;
                     },
                     initial);
      last.erase(last.begin(), last.begin() + 2);
      return values_of(last);
    });
    if (made) return *made;
  }
  // Turn by turn.
  const std::int64_t count = counts ? node.integer_of(0) : most;
  bool goes_on = !tests || truth(tracer, node.value(1), node);
  if (goes_on && count > static_cast<std::int64_t>(kMostNodes) && never_ends(body)) {
    node.lacks("{} turns, which are made one by one", count);
  }
  Tracer::Holds holds(tracer);
  std::vector<Values> results(scanned);
  for (std::int64_t i = 0; i < count && goes_on; ++i) {
    Values inputs{integer_value(i), boolean_value(true)};
    inputs.insert(inputs.end(), carries.begin(), carries.end());
    Values turn = tracer.call_graph(body, node, std::format("{}", i), std::move(inputs));
    carries.assign(turn.begin() + 1, turn.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t k = 0; k < scanned; ++k) {
      Value& value = turn[1 + carried + k];
      holds.add(value);
      results[k].push_back(std::move(value));
    }
    for (const Value& c : carries) holds.add(c);
    goes_on = truth(tracer, turn[0], node);
  }
  for (std::size_t k = 0; k < scanned; ++k) {
    carries.push_back(
        tracer.named(std::format("{}scanned{}", path, k), stacked(node, results[k], body.outputs[1 + carried + k])));
  }
  return carries;
}

// The states behind the last turn, and what the turns give, along new first axes. The slices' first axes are scanned.
Tensors scanned(Tracer& tracer, const Node& node, const GraphProto& body, const std::string& part, const Values& states,
                const Tensors& slices) {
  const std::int64_t length = slices[0].shape()[0];
  const std::size_t count = states.size();
  if (length > kFewTurns) {
    const auto made = tracer.in_graph([&] {
      return values_of(detail::scan(
          {.function = "Scan", .length = length}, tensors_of(states), slices, [&](std::span<const Tensor> t) {
            const Tracer::Turn turn(tracer, t[0]);
            return tensors_of(tracer.call_graph(body, node, part + "turn", values_of(t.subspan(1))));
          }));
    });
    if (made) return tensors_of(*made);
  }
  Values carries = states;
  std::vector<Values> results(body.outputs.size() - count);
  for (std::int64_t i = 0; i < length; ++i) {
    Values inputs = carries;
    for (const Tensor& x : slices) inputs.push_back({.tensor = squeeze(slice(x, 0, i, i + 1), 0)});
    Values made = tracer.call_graph(body, node, std::format("{}{}", part, i), std::move(inputs));
    carries.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t k = 0; k < results.size(); ++k) results[k].push_back(made[count + k]);
    for (const Value& v : made) tracer.hold(v);
  }
  Tensors last = tensors_of(carries);
  for (std::size_t k = 0; k < results.size(); ++k)
    last.push_back(stacked(node, results[k], body.outputs[count + k]).tensor);
  return last;
}

Values scan_graph(Tracer& tracer, const Node& node, const std::string&) {
  const GraphProto& body = graph_of(node, "body");
  const std::int64_t given = node.integer("num_scan_inputs");
  // Opset 8: lengths in front, a first axis of batches everywhere, and directions alone.
  const bool batched = node.version() < 9;
  const std::size_t skipped = batched ? 1 : 0, all = node.size() - std::min(node.size(), skipped);
  if (given < 1 || static_cast<std::size_t>(given) > all)
    node.fail("num_scan_inputs is {}, and there are {} inputs", given, all);
  const auto inputs = static_cast<std::size_t>(given), states = all - inputs;
  if (body.inputs.size() != all || body.outputs.size() < states) {
    node.fail("a body of {} inputs and {} outputs, for {} states and {} scanned inputs", body.inputs.size(),
              body.outputs.size(), states, inputs);
  }
  const std::size_t outputs = body.outputs.size() - states;
  const Ints in_axes = node.integers("scan_input_axes", Ints(inputs)),
             out_axes = node.integers("scan_output_axes", Ints(outputs));
  const Ints in_ways = node.integers(batched ? "directions" : "scan_input_directions", Ints(inputs)),
             out_ways = node.integers("scan_output_directions", Ints(outputs));
  if (in_axes.size() != inputs || in_ways.size() != inputs || out_axes.size() != outputs ||
      out_ways.size() != outputs) {
    node.fail("axes or directions that are not as many as what is scanned");
  }
  if (batched && node.has(0)) node.lacks("Scan of opset 8 with lengths of sequences");
  Tracer::Holds holds(tracer);
  Values initial;
  for (std::size_t i = 0; i < states; ++i) initial.push_back(node.value(skipped + i));
  Tensors slices;
  for (std::size_t i = 0; i < inputs; ++i) {
    Tensor x = node.in(skipped + states + i);
    const int axis = batched ? 1 : axis_of(node, in_axes[i], x.rank());
    if (axis >= x.rank()) node.fail("a scanned input of rank {}", x.rank());
    x = moveaxis(x, axis, 0);
    slices.push_back(in_ways[i] ? flip(x, 0) : x);
    if (x.shape()[0] != slices[0].shape()[0])
      node.fail("scanned inputs of {} and {} elements", slices[0].shape()[0], x.shape()[0]);
  }
  Tensors results;
  if (batched) {
    const std::int64_t batches = slices[0].shape()[1];
    std::vector<Tensors> parts(states + outputs);
    for (std::int64_t b = 0; b < batches; ++b) {
      const auto of_batch = [&](const Tensor& x, int axis) { return squeeze(slice(x, axis, b, b + 1), axis); };
      Values own;
      for (const Value& v : initial) own.push_back({.tensor = of_batch(v.tensor, 0)});
      Tensors own_slices;
      for (const Tensor& x : slices) own_slices.push_back(of_batch(x, 1));
      const Tensors made = scanned(tracer, node, body, std::format("batch{}/", b), own, own_slices);
      for (std::size_t k = 0; k < made.size(); ++k) parts[k].push_back(made[k]);
    }
    if (batches == 0) node.lacks("Scan of opset 8 without batches");
    for (const Tensors& p : parts) results.push_back(stack(p, 0));
  } else {
    results = scanned(tracer, node, body, "", initial, slices);
    for (std::size_t k = 0; k < outputs; ++k) {
      Tensor& y = results[states + k];
      if (out_ways[k]) y = flip(y, 0);
      y = moveaxis(y, 0, axis_of(node, out_axes[k], y.rank()));
    }
  }
  return values_of(results);
}

// ---- Sequences

const Values& sequence_of(const Node& node, std::size_t i) {
  const Value& v = node.value(i);
  if (!v.sequence) node.fail("operand {} is no sequence", i);
  node.tracer().charge(v.sequence->size());
  return *v.sequence;
}
Value sequence_value(Values values) {
  Value v;
  v.sequence = std::move(values);
  return v;
}
// A position counted from the front, in [0, size]; `end`: whether it may be the size.
std::size_t position(const Node& node, std::size_t i, std::size_t size, bool end) {
  const std::int64_t n = static_cast<std::int64_t>(size), at = node.integer_of(i);
  if (at < -n || at > n || (at == n && !end)) node.fail("position {} in a sequence of {}", at, n);
  return static_cast<std::size_t>(at < 0 ? at + n : at);
}

Values sequence_empty(Tracer&, const Node&, const std::string&) { return {sequence_value({})}; }
Values sequence_construct(Tracer&, const Node& node, const std::string&) {
  Values all;
  for (std::size_t i = 0; i < node.size(); ++i) all.push_back(node.value(i));
  return {sequence_value(std::move(all))};
}
Values sequence_insert(Tracer&, const Node& node, const std::string&) {
  Values all = sequence_of(node, 0);
  const std::size_t at = node.has(2) ? position(node, 2, all.size(), true) : all.size();
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), node.value(1));
  return {sequence_value(std::move(all))};
}
Values sequence_erase(Tracer&, const Node& node, const std::string&) {
  Values all = sequence_of(node, 0);
  if (all.empty()) node.fail("nothing to erase from an empty sequence");
  const std::size_t at = node.has(1) ? position(node, 1, all.size(), false) : all.size() - 1;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  return {sequence_value(std::move(all))};
}
Values sequence_at(Tracer&, const Node& node, const std::string&) {
  const Values& all = sequence_of(node, 0);
  return {all[position(node, 1, all.size(), false)]};
}
Values sequence_length(Tracer&, const Node& node, const std::string&) {
  return {integer_value(static_cast<std::int64_t>(sequence_of(node, 0).size()))};
}
Values split_to_sequence(Tracer&, const Node& node, const std::string&) {
  const Tensor x = node.in(0);
  const int axis = axis_of(node, node.integer("axis", 0), x.rank());
  const std::int64_t size = x.shape()[axis];
  Ints sizes;
  bool keeps = true;
  constexpr std::int64_t kMostParts = 1 << 16;
  if (!node.has(1) && size > kMostParts) node.lacks("{} parts", size);
  if (!node.has(1)) {
    sizes.assign(static_cast<std::size_t>(size), 1);
    keeps = node.integer("keepdims", 1) != 0;
  } else if (node.in(1).rank() == 0) {
    const std::int64_t part = node.integer_of(1);
    if (part < 1) node.fail("parts of {} elements", part);
    if (size / part > kMostParts) node.lacks("{} parts", size / part);
    for (std::int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
  } else {
    sizes = node.integers_of(1);
  }
  Values parts;
  std::int64_t at = 0;
  for (const std::int64_t n : sizes) {
    if (n < 0 || n > size - at) node.fail("parts that are not the {} elements of the axis", size);
    const Tensor part = slice(x, axis, at, at + n);
    parts.push_back({.tensor = keeps ? part : squeeze(part, axis)});
    at += n;
  }
  if (at != size) node.fail("parts of {} elements in all, and the axis has {}", at, size);
  return {sequence_value(std::move(parts))};
}
Values concat_from_sequence(Tracer&, const Node& node, const std::string&) {
  Tensors parts;
  for (const Value& v : sequence_of(node, 0)) parts.push_back(v.tensor);
  if (parts.empty()) node.fail("an empty sequence has no parts");
  const bool is_new = node.integer("new_axis", 0) != 0;
  const int axis = axis_of(node, node.integer("axis"), parts[0].rank() + is_new);
  return {{.tensor = is_new ? stack(parts, axis) : concat(parts, axis)}};
}
Values sequence_map(Tracer& tracer, const Node& node, const std::string&) {
  const GraphProto& body = graph_of(node, "body");
  const std::size_t length = sequence_of(node, 0).size();
  std::vector<Values> results(body.outputs.size());
  Tracer::Holds holds(tracer);
  for (std::size_t i = 0; i < length; ++i) {
    Values inputs;
    for (std::size_t k = 0; k < node.size(); ++k) {
      const Value& v = node.value(k);
      if (v.sequence && v.sequence->size() != length)
        node.fail("sequences of {} and {} elements", length, v.sequence->size());
      inputs.push_back(v.sequence ? (*v.sequence)[i] : v);
    }
    Values made = tracer.call_graph(body, node, std::format("{}", i), std::move(inputs));
    for (std::size_t k = 0; k < made.size(); ++k) {
      holds.add(made[k]);
      results[k].push_back(std::move(made[k]));
    }
  }
  Values sequences;
  for (Values& r : results) sequences.push_back(sequence_value(std::move(r)));
  return sequences;
}

// ---- Optionals: a value, or none

Values optional(Tracer&, const Node& node, const std::string&) {
  return {node.size() && node.has(0) ? node.value(0) : Value{}};
}
Values optional_element(Tracer&, const Node& node, const std::string&) {
  if (!node.has(0)) node.fail("the optional has no value");
  return {node.value(0)};
}
Values optional_has_element(Tracer&, const Node& node, const std::string&) { return {boolean_value(node.has(0))}; }
Values identity(Tracer&, const Node& node, const std::string&) { return {node.value(0)}; }

constexpr ControlRow kRows[] = {
    {"If", branch},
    {"Loop", loop},
    {"Scan", scan_graph, 8, "of opset 8 without lengths of sequences"},
    {"Identity", identity},
    {"SequenceEmpty", sequence_empty, 11},
    {"SequenceConstruct", sequence_construct, 11},
    {"SequenceInsert", sequence_insert, 11},
    {"SequenceErase", sequence_erase, 11},
    {"SequenceAt", sequence_at, 11},
    {"SequenceLength", sequence_length, 11},
    {"SequenceMap", sequence_map, 17},
    {"SplitToSequence", split_to_sequence, 11},
    {"ConcatFromSequence", concat_from_sequence, 11},
    {"Optional", optional, 15},
    {"OptionalGetElement", optional_element, 15},
    {"OptionalHasElement", optional_has_element, 15},
};

// ---- Read backwards: branches and loops of the graph, whose graphs see the names around them

const Graph& subgraph(const Written& w, std::size_t i) { return *w.node()->op().subgraphs()[i]; }
std::vector<TensorType> result_types(const Written& w) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < w.results(); ++i) types.push_back(w.result(i));
  return types;
}
std::span<const std::string> from(const Written& w, std::size_t first) { return std::span(w.all()).subspan(first); }

ValueNames branch_written(const Written& w) {
  GraphWriter& writer = w.writer();
  const auto made = [&](std::size_t i, const char* name) {
    return writer.inner(name, {}, result_types(w), [&] { return writer.inlined(subgraph(w, i), from(w, 1)); });
  };
  return w.nodes("If", ValueNames{w.in(0)}, w.results(),
                 {{"then_branch", made(0, "then")}, {"else_branch", made(1, "otherwise")}});
}

ValueNames while_written(const Written& w) {
  GraphWriter& writer = w.writer();
  const auto carried = static_cast<std::size_t>(w.integer("carries"));
  const std::span<const std::string> shared = from(w, carried);
  const auto condition = [&](ValueNames carries) {
    carries.insert(carries.end(), shared.begin(), shared.end());
    return w.reshape(writer.inlined(subgraph(w, 0), carries)[0], {});
  };
  const ValueNames first(w.all().begin(), w.all().begin() + static_cast<std::ptrdiff_t>(carried));
  const std::string begins = condition(first);
  std::vector<WrittenPort> inputs{{writer.fresh_name(), {DType::i64, {}}}, {writer.fresh_name(), {DType::boolean, {}}}};
  std::vector<TensorType> outputs{{DType::boolean, {}}};
  ValueNames names;
  for (std::size_t i = 0; i < carried; ++i) {
    names.push_back(writer.fresh_name());
    inputs.push_back({names.back(), w.type(i)});
    outputs.push_back(w.type(i));
  }
  const auto body = writer.inner("turn", std::move(inputs), outputs, [&] {
    ValueNames all = names;
    all.insert(all.end(), shared.begin(), shared.end());
    ValueNames next = writer.inlined(subgraph(w, 1), all);
    next.insert(next.begin(), condition(next));
    return next;
  });
  ValueNames operands{"", begins};
  operands.insert(operands.end(), first.begin(), first.end());
  return w.nodes("Loop", operands, carried, {{"body", body}});
}

ValueNames scan_written(const Written& w) {
  GraphWriter& writer = w.writer();
  const auto carried = static_cast<std::size_t>(w.integer("carries")),
             sliced = static_cast<std::size_t>(w.integer("slices"));
  const std::int64_t given = w.integer("length"), way = w.flag("reverse");
  const std::int64_t length = given == -1 && sliced > 0 ? w.type(carried).shape[0] : given;
  const bool keeps = w.flag("keep_carries");
  // The index of the slice is one more that is scanned.
  const std::string places =
      w.node("Range", {w.scalar(0, DType::i32), w.scalar(length, DType::i32), w.scalar(1, DType::i32)});
  ValueNames operands(w.all().begin(), w.all().begin() + static_cast<std::ptrdiff_t>(carried + sliced)), names;
  operands.push_back(places);
  std::vector<WrittenPort> inputs;
  std::vector<TensorType> outputs;
  for (std::size_t i = 0; i <= carried + sliced; ++i) {
    TensorType type = i < carried + sliced ? w.type(i) : TensorType{DType::i32, {length}};
    if (i >= carried) type.shape.erase(0);
    names.push_back(writer.fresh_name());
    inputs.push_back({names.back(), type});
    if (i < carried) outputs.push_back(type);
  }
  for (std::size_t i = carried; i < w.results(); ++i) {
    TensorType type = w.result(i);
    type.shape.erase(0);
    outputs.push_back(type);
  }
  const auto body = writer.inner("turn", std::move(inputs), outputs, [&] {
    ValueNames all(names.begin(), names.end() - 1);
    const std::span<const std::string> shared = from(w, carried + sliced);
    all.insert(all.end(), shared.begin(), shared.end());
    ValueNames made = writer.inlined(subgraph(w, 0), all, std::span(&names.back(), 1));
    if (keeps) made.insert(made.end(), names.begin(), names.begin() + static_cast<std::ptrdiff_t>(carried));
    return made;
  });
  const Ints in_ways(sliced + 1, way), out_ways(w.results() - carried, way);
  WrittenAttributes attributes{
      {"body", body}, {"num_scan_inputs", static_cast<std::int64_t>(sliced + 1)}, {"scan_input_directions", in_ways}};
  if (!out_ways.empty()) attributes.push_back({"scan_output_directions", out_ways});
  return w.nodes("Scan", operands, w.results(), std::move(attributes));
}

constexpr WriteRow kWritten[] = {by("cond", branch_written), by("while_loop", while_written),
                                 by("scan_loop", scan_written)};

}  // namespace

OperatorRows control_written() { return {"", {}, kWritten}; }

std::span<const ControlRow> control_rows() { return kRows; }

const ControlRow* find_control_row(std::string_view domain, std::string_view name, std::int64_t version) {
  if (!domain.empty()) return nullptr;
  const auto found = std::ranges::find(kRows, name, &ControlRow::name);
  return found == std::end(kRows) || found->since > version ? nullptr : found;
}

}  // namespace weft::onnx
