#include "functions.h"

#include <algorithm>

#include "weft/call.h"
#include "weft/error.h"
#include "weft/indexing.h"

namespace weft::web {
namespace {

[[noreturn]] void refuse(std::string_view what, const json& value, std::string_view expected) {
  const bool numeric = value.is_object() && value.contains("number");
  const std::string shown = numeric ? value["number"].get<std::string>() : value.dump();
  throw InvalidArgument(std::string(what) + " is " + shown + ", expected " + std::string(expected));
}

}  // namespace

DType dtype_named(std::string_view name) {
  if (const auto type = dtype_from_name(name)) return *type;
  throw InvalidArgument("there is no data type '" + std::string(name) + "'");
}

Number number(const json& value, std::string_view what) {
  if (value.is_boolean()) return Number(value.get<bool>() ? 1 : 0);
  if (value.is_number_unsigned()) return Number(value.get<std::uint64_t>());
  if (value.is_number_integer()) return Number(value.get<std::int64_t>());
  if (value.is_number()) return Number(value.get<double>());
  if (!value.is_object() || !value.contains("number")) refuse(what, value, "a number");
  const std::string text = value["number"].get<std::string>();
  const bool whole = text.find_first_not_of("0123456789", text.starts_with('-')) == text.npos && text != "-0";
  if (!whole) return Number(std::stod(text));
  try {
    return text[0] == '-' ? Number(static_cast<std::int64_t>(std::stoll(text)))
                          : Number(static_cast<std::uint64_t>(std::stoull(text)));
  } catch (const std::out_of_range&) {
    return Number(std::stod(text));
  }
}

std::int64_t integer(const json& value, std::string_view what) {
  const bool numeric = value.is_number() || (value.is_object() && value.contains("number"));
  if (!numeric) refuse(what, value, "an integer");
  const auto i = number(value).as_int64();
  if (!i) refuse(what, value, "an integer below 2^63");
  return *i;
}

std::uint64_t seed(const json& value, std::string_view what) {
  const Number n = number(value, what);
  const auto i = n.integer();
  if (!i || !n.integral() || n.value() < 0) refuse(what, value, "an integer from 0 to 2^64 - 1");
  return *i;
}

std::vector<std::int64_t> integers(const json& value, std::string_view what) {
  if (!value.is_array()) refuse(what, value, "a list of integers");
  std::vector<std::int64_t> list;
  for (const json& v : value) list.push_back(integer(v, what));
  return list;
}

Shape shape_of(const json& sizes) {
  const auto dims = integers(sizes, "shape");
  return Shape(std::span<const std::int64_t>(dims));
}

AttributeValue attribute(const json& value, std::string_view what) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return number(value, what);
  std::vector<double> list;
  bool whole = true;
  for (const json& v : value) {
    const Number n = number(v, what);
    whole &= n.integral();
    list.push_back(n.value());
  }
  if (whole) return integers(value, what);
  return list;
}

TensorLike number_operand(const json& value) {
  const json& given = value.at("number");
  if (given.is_boolean()) return TensorLike(given.get<bool>());
  return TensorLike(number(given.is_string() ? value : given));
}

namespace {

std::optional<std::int64_t> bound(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(integer(value, "at: the bound of a slice"));
}

// Of each axis an integer, a list [begin, end, step] of which null is none, or "...", "new" or null for all. Tensors
// stand among them as {"tensor": number of the operand}.
Indices indices(const json& attributes, std::span<const TensorLike> operands) {
  std::vector<Index> list;
  const auto given = attributes.find("indices");
  if (given == attributes.end()) throw InvalidArgument("at: indices is missing");
  for (const json& i : *given) {
    if (i.is_array() && !i.empty() && i.size() <= 3) {
      list.emplace_back(Slice{bound(i[0]), i.size() > 1 ? bound(i[1]) : std::nullopt,
                              i.size() > 2 && !i[2].is_null() ? integer(i[2], "at: the step of a slice") : 1});
    } else if (i.is_object() && i.contains("tensor")) {
      const TensorLike& operand = operands[i["tensor"].get<std::size_t>()];
      if (!operand.tensor()) throw InvalidArgument("at: an index is a number among the operands, expected a tensor");
      list.emplace_back(*operand.tensor());
    } else if (i == "...") {
      list.emplace_back(ellipsis);
    } else if (i.is_null()) {
      list.emplace_back(all);
    } else if (i == "new") {
      list.emplace_back(newaxis);
    } else if (i.is_number_integer()) {
      list.emplace_back(i.get<std::int64_t>());
    } else {
      refuse("at: an index", i, "an integer, [begin, end, step], a tensor, null, \"new\" or \"...\"");
    }
  }
  return list;
}

const Tensor& tensor(std::string_view function, std::span<const TensorLike> operands) {
  if (operands.empty() || !operands[0].tensor() || !operands[0].tensor()->defined()) {
    throw InvalidArgument(std::string(function) + ": operand x is missing");
  }
  return *operands[0].tensor();
}

// The syntax of this language: indices in brackets.
struct Own {
  std::string_view name;
  json inputs;
  Tensor (*call)(std::span<const TensorLike> operands, const json& attributes);
};
const std::vector<Own>& own_functions() {
  static const auto& all = *new std::vector<Own>{
      {"at", json::array({json::array({"x", "one"}), json::array({"tensors", "repeated"})}),
       [](std::span<const TensorLike> operands, const json& given) {
         return tensor("at", operands)[indices(given, operands)];
       }},
      {"with_at",
       json::array({json::array({"x", "one"}), json::array({"value", "one"}), json::array({"tensors", "repeated"})}),
       [](std::span<const TensorLike> operands, const json& given) {
         Tensor result = tensor("with_at", operands);
         if (operands.size() < 2) throw InvalidArgument("with_at: operand value is missing");
         result.set(indices(given, operands), operands[1]);
         return result;
       }},
  };
  return all;
}

// In JavaScript a function of a namespace is a member of an object, and a tensor's norm is that of a vector.
std::string js_name(std::string_view name) {
  if (name == "vector_norm") return "norm";
  std::string text(name);
  if (const std::size_t at = text.find("::"); at != text.npos) text.replace(at, 2, ".");
  return text;
}
std::string library_name(std::string_view name) {
  if (name == "norm") return "vector_norm";
  std::string text(name);
  if (const std::size_t at = text.find('.'); at != text.npos) text.replace(at, 1, "::");
  return text;
}

json described(const AttributeSchema& attribute) {
  json result = {{"name", attribute.name}, {"kind", name(attribute.kind)}};
  if (!attribute.choices.empty()) result["choices"] = attribute.choices;
  return result;
}

json described(const Schema& schema) {
  constexpr std::string_view kArity[] = {"one", "optional", "repeated"};
  json inputs = json::array(), attributes = json::array();
  for (const OperandSchema& o : schema.inputs) {
    inputs.push_back(json::array({o.name, kArity[static_cast<std::size_t>(o.arity)]}));
  }
  // Those that must be given come first. Attributes with the name of an operand only say which operands there are,
  // and call() sets them.
  int needs = 0;
  for (const AttributeSchema& a : schema.attributes) {
    if (std::ranges::find(schema.inputs, a.name, &OperandSchema::name) != schema.inputs.end()) continue;
    const bool needed = !a.default_value && !a.optional;
    attributes.insert(needed ? attributes.begin() + needs++ : attributes.end(), described(a));
  }
  const bool list = !schema.outputs.empty() && schema.outputs.back().arity == Arity::repeated;
  return {{"name", js_name(schema.name)},
          {"inputs", inputs},
          {"outputs", list ? 0 : schema.outputs.size()},
          {"attributes", attributes}};
}

}  // namespace

json described_functions() {
  json all = json::array();
  for (const Own& f : own_functions()) {
    all.push_back({{"name", f.name},
                   {"inputs", f.inputs},
                   {"outputs", 1},
                   {"attributes", json::array({json::object({{"name", "indices"}, {"kind", "indices"}})})}});
  }
  for (const Schema* schema : callable_schemas()) all.push_back(described(*schema));
  return all;
}

std::vector<Tensor> call_function(std::string_view name, const std::vector<TensorLike>& operands, const json& given) {
  const auto own = std::ranges::find(own_functions(), name, &Own::name);
  if (own != own_functions().end()) return {own->call(operands, given)};
  AttributeMap attributes;
  for (const auto& [key, value] : given.items()) {
    attributes.emplace(key, attribute(value, std::string(name) + ": " + key));
  }
  return call(library_name(name), std::span(operands), attributes);
}

}  // namespace weft::web
