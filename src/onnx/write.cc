#include "onnx/write.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "compiler/device_data.h"
#include "core/error_context.h"
#include "core/output_target.h"
#include "core/utf8.h"
#include "graph/leaf.h"
#include "onnx/graph_writer.h"
#include "onnx/node.h"
#include "onnx/proto.h"
#include "onnx/value.h"
#include "ops/elementwise.h"
#include "ops/op_rows.h"
#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kFirstOpset = 21, kLastOpset = 25, kKnownElements = 65536;
// The format's version that came with each opset from 21 on.
constexpr std::array<std::int64_t, 5> kFormats{10, 10, 11, 12, 13};
// What is in a file beside the model, of elements of so many bytes or more.
constexpr std::uint64_t kExternalBytes = 1024, kAlignment = 4096;
// Protocol Buffers' messages have less than 2 GiB.
constexpr std::uint64_t kLargest = (std::uint64_t{1} << 31) - (1 << 20);
constexpr int kDeepest = 8;

// ---- Attributes as texts

std::string text_of(double value) { return std::format("{}", value); }
std::string text_of(std::int64_t value) { return std::format("{}", value); }
std::string text_of(const Number& n) {
  if (!n.integral()) return text_of(n.value());
  if (const auto i = n.as_int64()) return text_of(*i);
  return std::format("{}", *n.integer());
}
std::string text_of(const std::string& text) { return text; }
template <class T>
std::string text_of(const std::vector<T>& list) {
  std::string text;
  for (const T& value : list) text += (text.empty() ? "" : " ") + text_of(value);
  return text;
}

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}
template <class T>
std::optional<std::vector<T>> numbers_in_text(std::string_view text) {
  std::vector<T> list;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto value = number_in<T>(text.substr(0, end));
    if (!value) return std::nullopt;
    list.push_back(*value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}
std::optional<AttributeValue> value_of(AttributeKind kind, const std::string& text) {
  switch (kind) {
    case AttributeKind::boolean:
    case AttributeKind::integer:
      if (const auto i = number_in<std::int64_t>(text)) return Number(*i);
      break;
    case AttributeKind::number:
      if (const auto i = number_in<std::int64_t>(text)) return Number(*i);
      if (const auto u = number_in<std::uint64_t>(text)) return Number(*u);
      if (const auto d = number_in<double>(text)) return Number(*d);
      break;
    case AttributeKind::text:
      return text;
    case AttributeKind::integers:
      if (auto list = numbers_in_text<std::int64_t>(text)) return *list;
      break;
    case AttributeKind::numbers:
      if (auto list = numbers_in_text<double>(text)) return *list;
      break;
  }
  return std::nullopt;
}

AttributeMap attributes_of(const Op& op) {
  AttributeMap map;
  AttributeCollector visitor(map);
  op.visit(visitor);
  return map;
}

using Metadata = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<const Op> op_of(std::string_view name, const std::map<std::string, std::string, std::less<>>& texts,
                                std::span<const TensorType> inputs) {
  const OpRow* row = find_op_row(name);
  if (!row || !row->make) return nullptr;
  try {
    AttributeMap given;
    for (const auto& [key, text] : texts) {
      const AttributeSchema* schema = row->schema.attribute(key);
      auto value = schema ? value_of(schema->kind, text) : std::nullopt;
      if (!value) return nullptr;
      given.emplace(key, std::move(*value));
    }
    return row->make(complete_attributes(row->schema, given), inputs);
  } catch (const Error&) {
    return nullptr;
  }
}

// What a function says of the op; nothing if its row does not make the same op of that.
Metadata metadata_of(const Op& op, std::span<const TensorType> inputs) {
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [name, value] : attributes_of(op)) {
    texts.emplace(name, std::visit([](const auto& v) { return text_of(v); }, value));
  }
  const auto again = op_of(op.name(), texts, inputs);
  if (!again || again->identity() != op.identity()) return {};
  Metadata metadata{{std::string(kOpKey), std::string(op.name())}};
  for (auto& [name, text] : texts) metadata.emplace_back(std::string(kAttributePrefix) + name, std::move(text));
  return metadata;
}

// ---- Messages

void add_type(WireWriter& to, int field, const TensorType& type) {
  WireWriter shape;
  for (const std::int64_t d : type.shape) shape.message(1, WireWriter().integer(1, d));
  const WireWriter tensor =
      WireWriter().integer(1, static_cast<std::int64_t>(element_type(type.dtype))).message(2, shape);
  to.message(field, WireWriter().message(1, tensor));
}
WireWriter port_message(const std::string& name, const TensorType& type) {
  WireWriter w;
  w.text(1, name);
  add_type(w, 2, type);
  return w;
}
WireWriter tensor_head(std::string_view name, DType dtype, const Shape& shape) {
  WireWriter w;
  for (const std::int64_t d : shape) w.integer(1, d);
  w.integer(2, static_cast<std::int64_t>(element_type(dtype)));
  if (!name.empty()) w.text(8, name);
  return w;
}
std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
WireWriter entry(std::string_view key, std::string_view value) { return WireWriter().text(1, key).text(2, value); }

Shape wider(const Shape& a, const Shape& b) { return broadcast(a, b); }

bool is_f8(DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; }

// A float clamped to the range of an integer type of at most 16 bits, whose ends are floats, and cast to `to`: Weft's
// casts saturate where others wrap.
std::string saturated(const Written& w, const std::string& x, DType from, DType range, DType to) {
  const bool has_sign = is_signed(range);
  const std::int64_t most = (std::int64_t{1} << (bits(range) - (has_sign ? 1 : 0))) - 1;
  const DType wide = from == DType::f64 ? from : DType::f32;
  const std::string clamped =
      w.node("Clip", {w.cast(x, from, wide), w.scalar(has_sign ? -most - 1 : 0, wide), w.scalar(most, wide)});
  return w.cast(clamped, wide, to);
}

}  // namespace

// ---- Reading

std::shared_ptr<const Op> op_of_function(const FunctionProto& function, std::span<const TensorType> inputs) {
  const auto named = function.metadata.find(kOpKey);
  if (function.domain != kWeftDomain || named == function.metadata.end()) return nullptr;
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [key, text] : function.metadata) {
    if (key != kOpKey && key.starts_with(kAttributePrefix)) texts.emplace(key.substr(kAttributePrefix.size()), text);
  }
  return op_of(named->second, texts, inputs);
}

const WriteRow* find_write_row(std::string_view op) {
  static const auto rows = [] {
    std::map<std::string_view, const WriteRow*> by_name;
    for (const OperatorRows& file : all_rows()) {
      for (const WriteRow& row : file.written) by_name.emplace(row.op, &row);
    }
    return by_name;
  }();
  const auto found = rows.find(op);
  return found == rows.end() ? nullptr : found->second;
}

// ---- What rows see

std::optional<TensorData> Written::constant_operand(std::size_t i) const {
  if (const TensorData* data = writer_.find_constant(in(i))) return *data;
  return std::nullopt;
}

std::int64_t Written::integer(std::string_view name) const {
  const auto it = attributes_.find(name);
  const Number* n = it == attributes_.end() ? nullptr : std::get_if<Number>(&it->second);
  return n ? n->as_int64().value_or(0) : 0;
}
double Written::number(std::string_view name) const {
  const auto it = attributes_.find(name);
  const Number* n = it == attributes_.end() ? nullptr : std::get_if<Number>(&it->second);
  return n ? n->value() : 0;
}
std::string Written::text(std::string_view name) const {
  const auto it = attributes_.find(name);
  const auto* t = it == attributes_.end() ? nullptr : std::get_if<std::string>(&it->second);
  return t ? *t : std::string();
}
std::vector<std::int64_t> Written::integers(std::string_view name) const {
  const auto it = attributes_.find(name);
  const auto* list = it == attributes_.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&it->second);
  return list ? *list : std::vector<std::int64_t>();
}
std::vector<double> Written::numbers(std::string_view name) const {
  const auto it = attributes_.find(name);
  const auto* list = it == attributes_.end() ? nullptr : std::get_if<std::vector<double>>(&it->second);
  return list ? *list : std::vector<double>();
}

ValueNames Written::nodes(std::string_view op, std::span<const std::string> inputs, std::size_t results,
                          WrittenAttributes attributes) const {
  return writer_.add(op, "", inputs, results, std::move(attributes));
}
std::string Written::constant(const TensorData& data) const { return writer_.constant(data); }
std::string Written::constant(std::span<const std::int64_t> values) const {
  return constant(TensorData::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}
std::string Written::scalar(Number value, DType dtype) const {
  const std::uint64_t bits = value.bits(dtype);
  return constant(TensorData::copy_of(dtype, {}, std::as_bytes(std::span(&bits, 1)).first(byte_size(dtype, 1))));
}
std::string Written::cast(const std::string& x, DType from, DType to) const {
  if (from == to) return x;
  WrittenAttributes attributes{{"to", static_cast<std::int64_t>(element_type(to))}};
  if (is_f8(to)) attributes.push_back({"saturate", std::int64_t{0}});
  return node("Cast", {x}, std::move(attributes));
}
std::string Written::reshape(const std::string& x, const Shape& shape) const {
  WrittenAttributes attributes;
  if (std::ranges::count(shape, 0)) attributes.push_back({"allowzero", std::int64_t{1}});
  return node("Reshape", {x, constant(std::span(shape.begin(), shape.end()))}, std::move(attributes));
}
std::string Written::transpose(const std::string& x, std::span<const std::int64_t> order) const {
  return node("Transpose", {x}, {{"perm", std::vector<std::int64_t>(order.begin(), order.end())}});
}
std::string Written::slice(const std::string& x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                           std::int64_t step) const {
  return node("Slice", {x, constant({begin}), constant({end}), constant({axis}), constant({step})});
}
std::string Written::concat(std::span<const std::string> parts, std::int64_t axis) const {
  return nodes("Concat", parts, 1, {{"axis", axis}})[0];
}
void Written::need(std::int64_t opset) const { writer_.need(opset); }
void Written::lacks_with(const std::string& why) const { throw Unsupported("{}", why); }

// ---- The writer

TensorData GraphWriter::Initializer::elements() const {
  if (!constant) return data;
  TensorData all = constant->data();
  return {type.dtype, type.shape, all.bytes, std::move(all.owner)};
}

void GraphWriter::claim(const std::string& name, std::string_view what) {
  if (name.empty()) throw InvalidArgument("onnx: an {} without a name", what);
  if (find_invalid_utf8(name) != name.size()) throw InvalidArgument("onnx: the name of an {} is not UTF-8", what);
  if (!names_.insert(name).second) {
    throw InvalidArgument("onnx: two of the inputs, numbers and outputs are called '{}', and ONNX has one of a name",
                          name);
  }
}

std::string GraphWriter::fresh_name(std::string_view wanted) {
  if (in_function_) return std::format("t{}", next_++);
  if (wanted.empty()) {
    for (;;) {
      std::string name = std::format("t{}", next_++);
      if (names_.insert(name).second) return name;
    }
  }
  std::string name(wanted);
  for (int& count = counts_.try_emplace(name, 1).first->second; !names_.insert(name).second;) {
    name = std::format("{}.{}", wanted, ++count);
  }
  return name;
}

ValueNames GraphWriter::add(std::string_view op, std::string_view domain, std::span<const std::string> inputs,
                            std::size_t results, WrittenAttributes attributes) {
  WrittenNode node{.op = std::string(op),
                   .domain = std::string(domain),
                   .name = {},
                   .inputs = {inputs.begin(), inputs.end()},
                   .outputs = {},
                   .attributes = std::move(attributes)};
  for (std::size_t i = 0; i < results; ++i) node.outputs.push_back(fresh_name());
  if (!in_function_ && label_) node.name = fresh_name(std::format("{}/{}", *label_, op));
  ValueNames names = node.outputs;
  section_->nodes.push_back(std::move(node));
  return names;
}

std::string GraphWriter::constant(const TensorData& data, std::string_view name) {
  const std::int64_t count = element_count(data.shape);
  std::string key = std::format("{} {} ", to_string(TensorType{data.dtype, data.shape}), count);
  key += view_of(data.bytes);
  auto& known = in_function_ ? function_constants_ : constants_;
  if (const auto it = known.find(key); it != known.end()) return it->second;
  std::string chosen;
  if (in_function_) {
    chosen = add("Constant", "", {}, 1, {{"value", data}})[0];
  } else {
    chosen = fresh_name(name);
    initializers_.push_back({chosen, {data.dtype, data.shape}, nullptr, data});
    if (count <= kKnownElements) small_.emplace(chosen, data);
  }
  known.emplace(std::move(key), chosen);
  return chosen;
}

const TensorData* GraphWriter::find_constant(const std::string& name) const {
  const auto it = in_function_ ? small_.end() : small_.find(name);
  return it == small_.end() ? nullptr : &it->second;
}

ValueNames GraphWriter::own_outputs(const ValueNames& names) {
  std::set<std::string> own;
  for (const WrittenNode& node : section_->nodes) own.insert(node.outputs.begin(), node.outputs.end());
  ValueNames result;
  for (const std::string& name : names) {
    result.push_back(own.erase(name) ? name : add("Identity", "", std::span(&name, 1), 1, {})[0]);
  }
  return result;
}

template <class F>
ValueNames GraphWriter::call(std::string_view op, Metadata metadata, std::size_t results,
                             std::span<const std::string> given, const F& make) {
  Function function{.name = std::string(op), .inputs = {}, .outputs = {}, .metadata = std::move(metadata), .body = {}};
  for (std::size_t i = 0; i < given.size(); ++i) function.inputs.push_back(std::format("x{}", i));
  WrittenGraph* const outer = std::exchange(section_, &function.body);
  const int next = std::exchange(next_, 0);
  auto constants = std::exchange(function_constants_, {});
  ++in_function_;
  const auto restore = [&] {
    --in_function_;
    function_constants_ = std::move(constants);
    next_ = next;
    section_ = outer;
  };
  try {
    if (++depth_ > kDeepest) throw Unsupported("it is made of operations that are made of it");
    function.outputs = own_outputs(make(function.inputs));
    --depth_;
  } catch (...) {
    --depth_;
    restore();
    throw;
  }
  restore();
  std::string key;
  for (const auto& [name, value] : function.metadata) key += name + '\0' + value + '\0';
  key += graph_bytes(function.body, false);
  for (const std::string& output : function.outputs) key += output + '\0';
  const auto [it, is_new] = by_body_.try_emplace(key, functions_.size());
  if (is_new) {
    const auto same = std::ranges::count_if(
        functions_, [&](const Function& f) { return f.name == op || f.name.starts_with(std::string(op) + "."); });
    if (same) function.name += std::format(".{}", same + 1);
    functions_.push_back(std::move(function));
  }
  return add(functions_[it->second].name, kWeftDomain, given, results, {});
}

ValueNames Written::function(ValueNames (*write)(const Written& w)) const {
  return writer_.write_function(*this, write);
}

ValueNames GraphWriter::write_function(const Written& w, ValueNames (*write)(const Written& w)) {
  Metadata metadata;
  if (w.node() && !w.node()->op().elementwise()) {
    metadata = metadata_of(w.node()->op(), w.node()->input_types());
  } else if (const auto op = scalar_op(w.op())) {
    Expression e;
    std::vector<int> args;
    for (std::size_t i = 0; i < w.size(); ++i) args.push_back(e.input(w.dtype(i)));
    e.output(e.apply(*op, args));
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < w.size(); ++i) types.push_back(w.type(i));
    metadata = metadata_of(ElementwiseOp(std::move(e)), types);
  }
  return call(w.op(), std::move(metadata), w.results(), w.all(), [&](const ValueNames& names) {
    Written inside = w;
    inside.rename(names);
    return write(inside);
  });
}

ValueNames GraphWriter::write_row(const WriteRow& row, const Written& w) {
  need(row.since);
  if (!row.as.empty()) return add(row.as, "", w.all(), w.results(), {});
  ValueNames names = row.function ? write_function(w, row.write) : row.write(w);
  if (names.size() != w.results()) {
    throw InternalError("onnx: the row of {} gives {} results, expected {}", row.op, names.size(), w.results());
  }
  return names;
}

std::string GraphWriter::scalar(ScalarOp op, std::span<const TensorType> types, const TensorType& result,
                                const ValueNames& names) {
  static const AttributeMap none;
  const WriteRow* row = find_write_row(name(op));
  if (!row) throw Unsupported("{}", name(op));
  for (const TensorType& t : types) {
    if (t.dtype == DType::c64) throw Unsupported("{} of c64", name(op));
    if (t.dtype == DType::bf16) need(22);
  }
  return write_row(*row, Written(*this, row->op, none, {types.begin(), types.end()}, {result}, names))[0];
}

// The operations of an expression one by one. 8-bit floats are computed as f32, and rounded at the end.
ValueNames GraphWriter::write_map(const weft::Node& node, const ValueNames& inputs) {
  static const AttributeMap none;
  const Expression& e = *node.op().elementwise();
  const std::vector<TensorType> given = node.input_types();
  const Written w(*this, "map", none, given, {node.types().begin(), node.types().end()}, inputs, &node);
  struct Held {
    std::string name;
    TensorType type;  // in which it is held
  };
  std::vector<Held> held;
  const auto computed = [&](int i) {
    Held& h = held[static_cast<std::size_t>(i)];
    if (is_f8(h.type.dtype)) {
      h.name = w.cast(h.name, h.type.dtype, DType::f32);
      h.type.dtype = DType::f32;
    }
    return h;
  };
  for (const Expression::Node& n : e.nodes()) {
    switch (n.op) {
      case ScalarOp::input: {
        const auto i = static_cast<std::size_t>(n.input);
        held.push_back({inputs[i], given[i]});
        break;
      }
      case ScalarOp::constant: {
        const auto bytes = std::as_bytes(std::span(&n.bits, 1)).first(byte_size(n.type, 1));
        held.push_back({constant(TensorData::copy_of(n.type, {}, bytes)), {n.type, {}}});
        break;
      }
      case ScalarOp::cast: {
        const Held x = computed(n.args[0]);
        const DType from = x.type.dtype;
        if (from == DType::c64 || n.type == DType::c64) throw Unsupported("cast of or to c64");
        std::string y = x.name;
        if (bits(n.type) < 8 && from != n.type) {
          // Beyond the range Weft saturates floats and keeps the low bits of integers.
          Expression one;
          one.output(one.cast(one.input(from), n.type));
          const TensorType type{from, x.type.shape};
          y = call("cast", metadata_of(ElementwiseOp(std::move(one)), std::span(&type, 1)), 1, std::span(&y, 1),
                   [&](const ValueNames& names) -> ValueNames {
                     std::string v = names[0];
                     if (is_floating(from)) {
                       v = saturated(w, v, from, n.type, DType::i32);
                     } else {
                       v = w.cast(v, from, DType::i64);
                       const std::int64_t count = std::int64_t{1} << bits(n.type);
                       const std::int64_t half = is_signed(n.type) ? count / 2 : 0;
                       v = w.node("Mod", {w.node("Add", {v, w.scalar(half, DType::i64)}), w.scalar(count, DType::i64)});
                       v = w.cast(w.node("Sub", {v, w.scalar(half, DType::i64)}), DType::i64, DType::i32);
                     }
                     return {w.node("Cast", {v}, {{"to", static_cast<std::int64_t>(element_type(n.type))}})};
                   })[0];
        } else if (from == n.type) {
          if (n.type != DType::f16 && n.type != DType::bf16 && !is_f8(n.type)) y = x.name;
        } else if (is_floating(from) && is_integer(n.type) && bits(n.type) <= 16) {
          y = saturated(w, y, from, n.type, n.type);
        } else {
          y = w.cast(y, from, n.type);
        }
        held.push_back({y, {n.type, x.type.shape}});
        break;
      }
      default: {
        std::vector<TensorType> types;
        ValueNames names;
        TensorType result{is_f8(n.type) ? DType::f32 : n.type, {}};
        for (int k = 0; k < arity(n.op); ++k) {
          const Held h = computed(n.args[static_cast<std::size_t>(k)]);
          types.push_back(h.type);
          names.push_back(h.name);
          result.shape = wider(result.shape, h.type.shape);
        }
        held.push_back({scalar(n.op, types, result, names), result});
      }
    }
  }
  ValueNames results;
  for (std::size_t i = 0; i < e.outputs().size(); ++i) {
    const Held& h = held[static_cast<std::size_t>(e.outputs()[i])];
    const TensorType& type = node.types()[i];
    std::string y = w.cast(h.name, h.type.dtype, type.dtype);
    if (h.type.shape != type.shape)
      y = w.node("Expand", {y, w.constant(std::span(type.shape.begin(), type.shape.end()))});
    results.push_back(std::move(y));
  }
  return results;
}

// What the op is made of, as the body of a function.
ValueNames GraphWriter::write_decomposed(const weft::Node& node, const ValueNames& inputs) {
  const std::vector<TensorType> types = node.input_types();
  Graph made;
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < types.size(); ++i) {
    given.push_back(made.input(std::format("x{}", i), types[i].dtype, types[i].shape));
  }
  const WithoutLabelScope scope;
  const std::vector<Tensor> results = node.op().decomposed(given);
  if (results.empty()) throw Unsupported("ONNX has no operator for it");
  for (std::size_t i = 0; i < results.size(); ++i) made.output(std::format("y{}", i), results[i]);
  return call(node.op().name(), metadata_of(node.op(), types), node.types().size(), inputs,
              [&](const ValueNames& names) { return inlined(made, names); });
}

ValueNames GraphWriter::write_leaf(const weft::Node& node) {
  const Op& op = node.op();
  const TensorType& type = node.types()[0];
  if (type.dtype == DType::c64 && op.constant() == nullptr) throw Unsupported("complex numbers");
  if (const ConstantOp* c = op.constant()) {
    // Small ones are one by their content, others by what identifies them.
    if (in_function_ || element_count(type.shape) <= kKnownElements) {
      TensorData data = c->data()->data();
      return {constant({type.dtype, type.shape, data.bytes, std::move(data.owner)},
                       c->constant_name().empty() ? "constant" : c->constant_name())};
    }
    const std::string key = std::format("{} {}", c->data()->key(), to_string(type));
    if (const auto it = constants_.find(key); it != constants_.end()) return {it->second};
    const std::string name = fresh_name(c->constant_name().empty() ? "constant" : c->constant_name());
    initializers_.push_back({name, type, c->data()});
    constants_.emplace(key, name);
    return {name};
  }
  const auto bytes = std::make_shared<gpu::ReadBytes>(data_of(node.value()).async_read().get());
  return {constant({type.dtype, type.shape, bytes->span(), bytes}, "captured")};
}

ValueNames GraphWriter::write_node(const weft::Node& node, const ValueNames& inputs) {
  const Op& op = node.op();
  if (op.elementwise()) return write_map(node, inputs);
  if (const WriteRow* row = find_write_row(op.name())) {
    const AttributeMap attributes = attributes_of(op);
    const std::vector<TensorType> types = node.input_types();
    for (const auto& list : {std::span<const TensorType>(types), node.types()}) {
      for (const TensorType& t : list) {
        if (t.dtype == DType::c64) throw Unsupported("ONNX's operators do not take c64");
      }
    }
    const Written w(*this, op.name(), attributes, types, {node.types().begin(), node.types().end()}, inputs, &node);
    return write_row(*row, w);
  }
  return write_decomposed(node, inputs);
}

void GraphWriter::write_nodes(const Graph& graph, Values& values) {
  for (const NodePtr& pointer : graph.impl().nodes()) {
    const weft::Node& node = *pointer;
    if (values.contains(&node)) continue;
    const std::string* const outer = label_;
    if (node.label()) label_ = node.label();
    ValueNames inputs;
    for (const Tensor& v : node.inputs()) inputs.push_back(values.at(v.node())[static_cast<std::size_t>(v.index())]);
    try {
      values.emplace(&node, node.op().is_leaf() ? write_leaf(node) : write_node(node, inputs));
    } catch (const Unsupported& e) {
      if (in_function_) throw;
      lacking_.push_back(std::format("{}: {}", to_string(node), e.what()));
      if (node.label()) lacking_.back() = std::format("'{}' ({})", *node.label(), lacking_.back());
      values.emplace(&node, ValueNames(node.types().size(), "?"));
    }
    label_ = outer;
  }
}

ValueNames GraphWriter::inlined(const Graph& graph, std::span<const std::string> inputs,
                                std::span<const std::string> numbers) {
  Values values;
  const Graph::Impl& impl = graph.impl();
  for (std::size_t i = 0; i < impl.inputs.size(); ++i)
    values.emplace(impl.inputs[i].value.node(), ValueNames{inputs[i]});
  for (std::size_t i = 0; i < impl.numbers.size(); ++i) {
    values.emplace(impl.numbers[i].value.node(), ValueNames{numbers[i]});
  }
  write_nodes(graph, values);
  ValueNames outputs;
  for (const GraphPort& o : impl.outputs)
    outputs.push_back(values.at(o.value.node())[static_cast<std::size_t>(o.value.index())]);
  return outputs;
}

GraphWriter::GraphWriter(const Graph& graph, const SaveOptions& options)
    : options_(options), opset_(options.opset.value_or(kFirstOpset)) {
  if (opset_ < kFirstOpset || opset_ > kLastOpset) {
    throw InvalidArgument("onnx: save: opset {}, expected {} to {}", opset_, kFirstOpset, kLastOpset);
  }
  main_.name = graph.name().empty() ? "weft" : graph.name();
  if (find_invalid_utf8(main_.name) != main_.name.size()) throw InvalidArgument("onnx: the graph's name is not UTF-8");
  const Graph::Impl& impl = graph.impl();
  ValueNames inputs, numbers;
  const auto add_inputs = [&](std::span<const GraphPort> ports, ValueNames& names) {
    for (const GraphPort& p : ports) {
      claim(p.name, "input");
      names.push_back(p.name);
      main_.inputs.push_back({p.name, p.value.type()});
    }
  };
  add_inputs(impl.inputs, inputs);
  add_inputs(impl.numbers, numbers);
  for (const GraphPort& p : impl.outputs) claim(p.name, "output");
  const ValueNames outputs = inlined(graph, inputs, numbers);
  if (!lacking_.empty()) {
    std::string all;
    for (const std::string& one : lacking_) all += "\n  " + one;
    throw Unsupported("onnx: save: {} operation{} of the graph cannot be said in ONNX:{}", lacking_.size(),
                      lacking_.size() == 1 ? "" : "s", all);
  }
  if (options.opset && opset_ > *options.opset) {
    throw Unsupported("onnx: save: the graph needs opset {}, and {} was asked for", opset_, *options.opset);
  }
  // A value that one output names has its name.
  const ValueNames own = own_outputs(outputs);
  for (std::size_t i = 0; i < own.size(); ++i) {
    renamed_.emplace(own[i], impl.outputs[i].name);
    main_.outputs.push_back({impl.outputs[i].name, impl.outputs[i].value.type()});
  }
}

const std::string& GraphWriter::final_name(const std::string& name) const {
  const auto it = renamed_.find(name);
  return it == renamed_.end() ? name : it->second;
}

std::string GraphWriter::attribute_bytes(const WrittenAttribute& a, bool renames) const {
  WireWriter w;
  w.text(1, a.name);
  struct Visitor {
    WireWriter& w;
    const GraphWriter& writer;
    bool renames;
    void operator()(std::int64_t v) const { w.integer(3, v).integer(20, 2); }
    void operator()(double v) const { w.number(2, static_cast<float>(v)).integer(20, 1); }
    void operator()(const std::string& v) const { w.text(4, v).integer(20, 3); }
    void operator()(const std::vector<std::int64_t>& v) const {
      for (const std::int64_t i : v) w.integer(8, i);
      w.integer(20, 7);
    }
    void operator()(const std::vector<double>& v) const {
      for (const double d : v) w.number(7, static_cast<float>(d));
      w.integer(20, 6);
    }
    void operator()(const std::vector<std::string>& v) const {
      for (const std::string& s : v) w.text(9, s);
      w.integer(20, 8);
    }
    void operator()(const TensorData& v) const {
      w.message(5, tensor_head("", v.dtype, v.shape).text(9, view_of(v.bytes))).integer(20, 4);
    }
    void operator()(const std::shared_ptr<const WrittenGraph>& v) const {
      w.text(6, writer.graph_bytes(*v, renames)).integer(20, 5);
    }
  };
  std::visit(Visitor{w, *this, renames}, a.value);
  return w.bytes();
}

std::string GraphWriter::node_bytes(const WrittenNode& node, bool renames) const {
  WireWriter w;
  for (const std::string& i : node.inputs) w.text(1, renames ? final_name(i) : i);
  for (const std::string& o : node.outputs) w.text(2, renames ? final_name(o) : o);
  if (!node.name.empty()) w.text(3, node.name);
  w.text(4, node.op);
  for (const WrittenAttribute& a : node.attributes) w.text(5, attribute_bytes(a, renames));
  if (!node.domain.empty()) w.text(7, node.domain);
  return w.bytes();
}

std::string GraphWriter::graph_bytes(const WrittenGraph& graph, bool renames) const {
  WireWriter w;
  for (const WrittenNode& node : graph.nodes) w.text(1, node_bytes(node, renames));
  w.text(2, graph.name);
  for (const WrittenPort& p : graph.inputs) w.message(11, port_message(renames ? final_name(p.name) : p.name, p.type));
  for (const WrittenPort& p : graph.outputs) {
    // Those of the main graph have their names already.
    const bool is_main = &graph == &main_;
    w.message(12, port_message(renames && !is_main ? final_name(p.name) : p.name, p.type));
  }
  return w.bytes();
}

std::string GraphWriter::function_bytes(const Function& f) const {
  WireWriter w;
  w.text(1, f.name);
  for (const std::string& i : f.inputs) w.text(4, i);
  for (const std::string& o : f.outputs) w.text(5, o);
  for (const WrittenNode& node : f.body.nodes) w.text(7, node_bytes(node, false));
  w.message(9, WireWriter().text(1, "").integer(2, opset_));
  w.message(9, WireWriter().text(1, kWeftDomain).integer(2, 1));
  w.text(10, kWeftDomain);
  for (const auto& [key, value] : f.metadata) w.message(14, entry(key, value));
  return w.bytes();
}

void GraphWriter::write(const std::filesystem::path& path) const {
  const auto aligned = [](std::uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; };
  // What comes before and behind the weights.
  WireWriter head;
  head.integer(1, kFormats[static_cast<std::size_t>(opset_ - kFirstOpset)]).text(2, "weft");
  head.message(8, WireWriter().text(1, "").integer(2, opset_));
  if (!functions_.empty()) head.message(8, WireWriter().text(1, kWeftDomain).integer(2, 1));
  for (const Function& f : functions_) head.text(25, function_bytes(f));
  const std::string graph = graph_bytes(main_, true);
  std::uint64_t weights = 0;
  for (const Initializer& i : initializers_) weights += byte_size(i.type) + i.name.size() + 128;
  const std::uint64_t rest = head.bytes().size() + graph.size();
  const bool external = options_.external_data.value_or(rest + weights > kLargest);
  if (!external && rest + weights > kLargest) {
    throw InvalidArgument(
        "onnx: save: the model has {} bytes, and a file of ONNX without external data has less than 2 GiB",
        rest + weights);
  }
  const std::filesystem::path data_path = path.string() + ".data";
  const std::string location = data_path.filename().string();
  struct Piece {
    std::string head;
    const Initializer* raw = nullptr;  // whose elements follow
  };
  std::vector<Piece> pieces;
  std::uint64_t graph_size = graph.size(), at = 0;
  std::vector<std::pair<const Initializer*, std::uint64_t>> outside;
  for (const Initializer& i : initializers_) {
    const std::uint64_t size = byte_size(i.type);
    WireWriter tensor = tensor_head(i.name, i.type.dtype, i.type.shape), field;
    Piece& piece = pieces.emplace_back();
    if (external && size >= kExternalBytes) {
      at = aligned(at);
      tensor.message(13, entry("location", location)).message(13, entry("offset", std::format("{}", at)));
      tensor.message(13, entry("length", std::format("{}", size))).integer(14, 1);
      outside.emplace_back(&i, at);
      at += size;
      piece.head = field.message(5, tensor).bytes();
      graph_size += piece.head.size();
    } else {
      tensor.begin(9, size);
      field.begin(5, tensor.bytes().size() + size);
      piece = {field.bytes() + tensor.bytes(), &i};
      graph_size += piece.head.size() + size;
    }
  }
  if (rest + graph_size > kLargest) {
    throw Unsupported("onnx: save: the graph has {} bytes without its weights, and ONNX allows less than 2 GiB",
                      graph_size);
  }
  head.begin(7, graph_size);

  const auto written = [](const std::filesystem::path& to, const std::filesystem::path& of, const auto& f) {
    std::ofstream file(to, std::ios::binary | std::ios::trunc);
    f(file);
    file.close();
    if (!file) throw IoError("cannot write {}", of.string());
  };
  const auto put = [](std::ofstream& file, std::string_view bytes) {
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  };
  std::optional<Replacement> data_file;
  if (!outside.empty()) {
    data_file.emplace(data_path);
    data_file->require_space(at);
    written(data_file->temporary(), data_path, [&](std::ofstream& file) {
      std::uint64_t place = 0;
      for (const auto& [initializer, offset] : outside) {
        put(file, std::string(offset - place, '\0'));
        put(file, view_of(initializer->elements().bytes));
        place = offset + byte_size(initializer->type);
      }
    });
  }
  Replacement model_file(path);
  model_file.require_space(rest + graph_size);
  written(model_file.temporary(), path, [&](std::ofstream& file) {
    put(file, head.bytes());
    put(file, graph);
    for (const Piece& p : pieces) {
      put(file, p.head);
      if (p.raw) put(file, view_of(p.raw->elements().bytes));
    }
  });
  if (data_file) data_file->commit();
  model_file.commit();
}

void save(const std::filesystem::path& path, const Graph& graph, const SaveOptions& options) {
  GraphWriter(graph, options).write(path);
}

}  // namespace weft::onnx
