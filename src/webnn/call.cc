#include "webnn/call.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/format.h"
#include "core/is_or_are.h"
#include "graph/graph.h"
#include "graph/ops/leaf.h"
#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/state.h"
#include "weft/small_float.h"

namespace weft::webnn {

void Call::refuse(const std::string& text) const { throw TypeError("{}{}", prefix_, text); }

std::size_t Call::place(std::string_view name) const {
  for (std::size_t i = 0; i < schema_.arguments.size(); ++i) {
    if (schema_.arguments[i].name == name) return i;
  }
  throw InternalError("webnn: {} has no argument '{}'", schema_.name, name);
}
const ArgumentSchema& Call::argument(std::string_view name) const { return schema_.arguments[place(name)]; }
const Value& Call::value(std::string_view name) const { return values_[place(name)]; }

bool Call::has(std::string_view name) const { return !std::holds_alternative<std::monostate>(value(name)); }

weft::Tensor Call::operand(std::string_view name) const {
  const auto* given = std::get_if<Operand>(&value(name));
  return given ? given->state()->tensor : weft::Tensor();
}
std::vector<weft::Tensor> Call::operands(std::string_view name) const {
  std::vector<weft::Tensor> tensors;
  for (const Operand& o : std::get<std::vector<Operand>>(value(name))) tensors.push_back(o.state()->tensor);
  return tensors;
}
const Sizes& Call::shape(std::string_view name) const { return std::get<Operand>(value(name)).shape(); }

DType Call::data_type(std::string_view name) const {
  const Value& v = value(name);
  if (const auto* given = std::get_if<Operand>(&v)) return given->data_type();
  if (const auto* given = std::get_if<DType>(&v)) return *given;
  return *data_type_from_name(argument(name).default_text);
}
bool Call::boolean(std::string_view name) const {
  const auto* given = std::get_if<bool>(&value(name));
  return given ? *given : argument(name).default_text == "true";
}
Number Call::number(std::string_view name) const {
  const auto* given = std::get_if<Number>(&value(name));
  return given ? *given : Number(std::stod(argument(name).default_text));
}
std::int64_t Call::size(std::string_view name) const {
  const auto* given = std::get_if<Number>(&value(name));
  return given ? static_cast<std::int64_t>(given->value()) : std::stoll(argument(name).default_text);
}
bool Call::is_size(std::string_view name) const { return std::holds_alternative<Number>(value(name)); }
double Call::real(std::string_view name) const { return number(name).value(); }
const Sizes& Call::sizes(std::string_view name) const { return std::get<Sizes>(value(name)); }
const std::vector<double>& Call::reals(std::string_view name) const {
  return std::get<std::vector<double>>(value(name));
}
std::string_view Call::choice(std::string_view name) const {
  const auto* given = std::get_if<std::string>(&value(name));
  return given ? std::string_view(*given) : std::string_view(argument(name).default_text);
}
std::vector<std::string> Call::choices(std::string_view name, std::vector<std::string> otherwise) const {
  const auto* given = std::get_if<std::vector<std::string>>(&value(name));
  return given ? *given : std::move(otherwise);
}

Sizes Call::sizes(std::string_view name, std::size_t count, std::int64_t otherwise) const {
  if (!has(name)) return Sizes(count, otherwise);
  const Sizes& given = sizes(name);
  if (given.size() != count) fail("{} {} {}, expected {} numbers", name, is_or_are(name), to_string(given), count);
  return given;
}

int Call::axis(std::string_view name, int rank) const {
  const std::int64_t axis = size(name);
  if (axis >= rank) fail("{} is {}, expected one below the rank, which is {}", name, axis, rank);
  return static_cast<int>(axis);
}

std::vector<int> Call::axes(std::string_view name, int rank) const {
  std::vector<int> axes;
  for (const std::int64_t axis : sizes(name)) {
    if (axis >= rank)
      fail("{} {} {}, expected numbers below the rank, which is {}", name, is_or_are(name), to_string(sizes(name)),
           rank);
    if (std::ranges::find(axes, static_cast<int>(axis)) != axes.end()) {
      fail("{} {} {}: axis {} is there twice", name, is_or_are(name), to_string(sizes(name)), axis);
    }
    axes.push_back(static_cast<int>(axis));
  }
  return axes;
}

Number cast_number(const Number& number, DType type) {
  if (type == DType::f16)
    return Number(static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(number.bits(type)))));
  if (type == DType::f32) return Number(std::bit_cast<float>(static_cast<std::uint32_t>(number.bits(type))));
  if (number.integral()) {
    // Saturates, as bits() does it, without a way through double.
    const std::uint64_t bits = number.bits(type);
    if (!is_signed(type)) return Number(bits);
    const int unused = 64 - weft::bits(type);
    return Number(static_cast<std::int64_t>(bits << unused) >> unused);
  }
  const double value = std::nearbyint(number.value());  // to even; NaN becomes 0 in bits()
  return cast_number(is_signed(type) ? Number(static_cast<std::int64_t>(Number(value).bits(DType::i64)))
                                     : Number(Number(value).bits(DType::u64)),
                     type);
}

weft::Tensor Call::unbuildable(const Shape& shape, const std::string& text) const {
  const TensorType type{data_type(schema_.arguments[0].name), shape};
  unbuildable_.emplace_back(apply(make_op<InputOp>(std::string(op()), type, ""), {}), prefix_ + text);
  return unbuildable_.back().first;
}

std::optional<Sizes> broadcast(const Sizes& a, const Sizes& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Sizes shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) return {};
    shape[i] = std::max(x, y);
  }
  return shape;
}

bool broadcasts_to(const Sizes& from, const Sizes& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[i + to.size() - from.size()]) return false;
  }
  return true;
}

Shape to_shape(const Sizes& sizes) { return Shape(std::span<const std::int64_t>(sizes)); }
Sizes to_sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace weft::webnn
