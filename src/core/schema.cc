#include "weft/schema.h"

#include <algorithm>
#include <format>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/is_or_are.h"
#include "weft/error.h"

namespace weft {
namespace {

std::string list(TypeSet types) {
  std::string text;
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    if (types.contains(type)) text += (text.empty() ? "" : " ") + std::string(name(type));
  }
  return text;
}

std::string operands_text(std::span<const OperandSchema> operands) {
  std::string text;
  for (const OperandSchema& o : operands) {
    text += (text.empty() ? "" : " ") + o.name;
    if (o.arity == Arity::optional) text += "?";
    if (o.arity == Arity::repeated) text += "...";
  }
  return text;
}

const OperandSchema& operand(const Schema& schema, std::size_t i) {
  return i < schema.inputs.size() ? schema.inputs[i] : schema.outputs[i - schema.inputs.size()];
}

std::string signature_text(const Schema& schema, const TypeSignature& signature) {
  std::vector<std::pair<std::string, std::string>> groups;  // names, their types
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const OperandTypes& t = signature[i];
    const auto other = static_cast<std::size_t>(std::max(t.same_as, 0));
    const bool as = t.same_as >= 0 && signature[other].set.size() > 1;
    std::string types = as              ? "as " + operand(schema, other).name
                        : t.same_as < 0 ? to_string(t.set)
                                        : to_string(signature[other].set);
    const std::string& name = operand(schema, i).name;
    if (!groups.empty() && groups.back().second == types)
      groups.back().first += ", " + name;
    else
      groups.emplace_back(name, std::move(types));
  }
  std::string text;
  for (const auto& [names, types] : groups) text += std::format("{}{}: {}", text.empty() ? "" : "; ", names, types);
  return text;
}

using GivenTypes = std::span<const TensorType* const>;

void check_count(std::string_view kernel, std::string_view what, std::span<const OperandSchema> declared,
                 GivenTypes given) {
  std::size_t least = 0, most = declared.size();
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].arity != Arity::optional) least = i + 1;
    if (declared[i].arity == Arity::repeated) most = ~std::size_t{0};
  }
  if (given.size() < least || given.size() > most) {
    throw InvalidArgument("{}: {} {}s given, expected {}", kernel, given.size(), what,
                          declared.empty() ? "none" : "'" + operands_text(declared) + "'");
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].arity != Arity::optional && !given[i]) {
      throw InvalidArgument("{}: {} {} has no buffer", kernel, what, declared[i].name);
    }
  }
}

// Each operand that is there, with its schema's index; of repeated ones each with the index of all.
template <class F>
void for_each_operand(const Schema& schema, GivenTypes inputs, GivenTypes outputs, const F& f) {
  const auto walk = [&](std::span<const OperandSchema> declared, GivenTypes given, std::size_t first) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i]) f(first + std::min(i, declared.size() - 1), i, *given[i]);
    }
  };
  walk(schema.inputs, inputs, 0);
  walk(schema.outputs, outputs, schema.inputs.size());
}

std::string name_of(const Schema& schema, std::size_t i, std::size_t given_index) {
  const OperandSchema& o = operand(schema, i);
  if (o.arity != Arity::repeated) return o.name;
  return std::format("{} {}", o.name.ends_with('s') ? o.name.substr(0, o.name.size() - 1) : o.name,
                     given_index - (i < schema.inputs.size() ? i : i - schema.inputs.size()));
}

const TensorType* first_of(GivenTypes given, std::size_t i) { return i < given.size() ? given[i] : nullptr; }

bool fits(const Schema& schema, const TypeSignature& signature, GivenTypes inputs, GivenTypes outputs) {
  bool all = true;
  for_each_operand(schema, inputs, outputs, [&](std::size_t i, std::size_t given_index, const TensorType& type) {
    const OperandTypes& t = signature[i];
    if (operand(schema, i).arity == Arity::repeated) {
      const GivenTypes list = i < schema.inputs.size() ? inputs : outputs;
      const std::size_t first = i < schema.inputs.size() ? i : i - schema.inputs.size();
      all &= given_index == first || !list[first] || type.dtype == list[first]->dtype;
    }
    if (t.same_as < 0) {
      all &= t.set.contains(type.dtype);
      return;
    }
    const auto other = static_cast<std::size_t>(t.same_as), count = schema.inputs.size();
    const TensorType* as = other < count ? first_of(inputs, other) : first_of(outputs, other - count);
    // As one that is not there: what that one could be.
    all &= as ? type.dtype == as->dtype : signature[other].set.contains(type.dtype);
  });
  return all;
}

const TypeSignature& check(const Schema& schema, std::string_view kernel, GivenTypes inputs, GivenTypes outputs,
                           bool with_outputs) {
  check_count(kernel, "input", schema.inputs, inputs);
  if (with_outputs) check_count(kernel, "output", schema.outputs, outputs);
  for (const TypeSignature& s : schema.signatures) {
    if (!fits(schema, s, inputs, outputs)) continue;
    for_each_operand(schema, inputs, outputs, [&](std::size_t i, std::size_t given_index, const TensorType& type) {
      const OperandSchema& o = operand(schema, i);
      if (i >= schema.inputs.size() && !with_outputs) return;
      if (type.shape.rank() >= o.min_rank && type.shape.rank() <= o.max_rank) return;
      const std::string name = name_of(schema, i, given_index);
      throw ShapeError("{}: {} {} {}; expected rank {}", kernel, name, is_or_are(name), to_string(type),
                       o.min_rank == o.max_rank ? std::to_string(o.min_rank)
                       : o.max_rank == kMaxRank ? std::format("{} or more", o.min_rank)
                                                : std::format("{} to {}", o.min_rank, o.max_rank));
    });
    return s;
  }
  std::string all;
  for_each_operand(schema, inputs, outputs, [&](std::size_t i, std::size_t given_index, const TensorType& type) {
    // Of a result that is to be made there is a type alone, that was asked for.
    const bool asked = i >= schema.inputs.size() && !with_outputs;
    const std::string name = asked ? "the result" : name_of(schema, i, given_index);
    const std::string is =
        std::format("{} {} {}", name, is_or_are(name), asked ? std::string(weft::name(type.dtype)) : to_string(type));
    if (const TypeSet types = schema.types_of(i); !types.contains(type.dtype)) {
      throw TypeError("{}: {}; expected {}", kernel, is, to_string(types));
    }
    all += (all.empty() ? "" : ", ") + is;
  });
  throw TypeError("{}: {}; expected {}", kernel, all, schema.types_text());
}

std::string number_text(double value) { return std::format("{}", value); }

}  // namespace

std::string to_string(TypeSet types) {
  constexpr std::pair<const char*, TypeSet> kKinds[] = {
      {"any", types::any},           {"numbers", types::numbers},        {"floats", types::floats},
      {"integers", types::integers}, {"signed", types::signed_integers}, {"unsigned", types::unsigned_integers}};
  std::string best;
  int fewest = kDTypeCount + 1;
  // Of a kind a few types may be missing: they are named.
  for (int spared = 0; spared <= 6; ++spared) {
    std::vector<std::string> parts;
    int count = 0;
    TypeSet left = types;
    for (const auto& [name, kind] : kKinds) {
      const TypeSet missing = kind - types;
      if ((kind & left).empty() || missing.size() > spared || (kind & left) != (kind & types)) continue;
      parts.push_back(name + (missing.empty() ? "" : " but " + list(missing)));
      count += 1 + missing.size();
      left = left - kind;
    }
    count += left.size();
    if (count >= fewest) continue;
    if (!left.empty()) parts.push_back(list(left));
    // What is missing comes last, so that it is clear where that list ends.
    std::ranges::stable_partition(parts, [](const std::string& part) { return part.find(" but ") == part.npos; });
    fewest = count;
    best.clear();
    for (const std::string& part : parts) best += (best.empty() ? "" : ", ") + part;
  }
  return best;
}

std::string_view name(AttributeKind kind) {
  constexpr std::string_view kNames[] = {"boolean", "integer", "number", "text", "integers", "numbers"};
  return kNames[static_cast<int>(kind)];
}

std::string to_string(const AttributeValue& value) {
  if (const auto* n = std::get_if<Number>(&value)) return n->as_int64() ? to_string(*n) : number_text(n->value());
  if (const auto* s = std::get_if<std::string>(&value)) return in_quotes(*s);
  std::string text = "[";
  const auto add = [&](const auto& list) {
    for (const auto v : list) text += std::format("{}{}", text.size() > 1 ? ", " : "", v);
  };
  if (const auto* numbers = std::get_if<std::vector<double>>(&value))
    add(*numbers);
  else
    add(std::get<std::vector<std::int64_t>>(value));
  return text + "]";
}

std::string to_string(const AttributeSchema& a) {
  std::string text = a.name + ": ";
  if (a.choices.empty()) {
    text += name(a.kind);
  } else {
    for (const std::string& c : a.choices) text += (&c == a.choices.data() ? "" : "|") + c;
  }
  if (!a.default_value) return text;
  if (a.kind == AttributeKind::boolean) {
    return text + (std::get<Number>(*a.default_value).value() != 0 ? " = true" : " = false");
  }
  const auto* plain = std::get_if<std::string>(&*a.default_value);
  return text + " = " + (plain ? *plain : to_string(*a.default_value));
}

std::string Schema::inputs_text() const { return operands_text(inputs); }
std::string Schema::outputs_text() const { return operands_text(outputs); }

std::string Schema::types_text() const {
  std::string text;
  for (const TypeSignature& s : signatures) text += (text.empty() ? "" : " or ") + signature_text(*this, s);
  return text;
}

TypeSet Schema::types_of(std::size_t i) const {
  TypeSet types;
  for (const TypeSignature& s : signatures) {
    types = types | (s[i].same_as < 0 ? s[i].set : s[static_cast<std::size_t>(s[i].same_as)].set);
  }
  return types;
}

const AttributeSchema* Schema::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &AttributeSchema::name);
  return found == attributes.end() ? nullptr : &*found;
}

const TypeSignature& check_operands(const Schema& schema, std::string_view kernel, GivenTypes inputs,
                                    GivenTypes outputs) {
  return check(schema, kernel, inputs, outputs, true);
}
const TypeSignature& check_inputs(const Schema& schema, std::string_view kernel, GivenTypes inputs,
                                  std::optional<DType> result) {
  if (!result) return check(schema, kernel, inputs, {}, false);
  const TensorType y{*result, inputs.empty() || !inputs[0] ? Shape() : inputs[0]->shape};
  const TensorType* outputs[] = {&y};
  return check(schema, kernel, inputs, outputs, false);
}

DType result_type(const Schema& schema, const TypeSignature& signature, GivenTypes inputs, std::size_t k) {
  const OperandTypes& t = signature[schema.inputs.size() + k];
  const auto other = static_cast<std::size_t>(std::max(t.same_as, 0)), count = schema.inputs.size();
  if (t.same_as >= 0 && other >= count) return result_type(schema, signature, inputs, other - count);
  if (t.same_as >= 0) return inputs[other]->dtype;
  const TensorType* first = first_of(inputs, 0);
  return first && t.set.contains(first->dtype) ? first->dtype : t.set.first();
}

namespace {

AttributeValue checked(const Schema& schema, const AttributeSchema& a, const AttributeValue& given) {
  const auto fail = [&](std::string_view expected) {
    throw InvalidArgument("{}: attribute {} is {}, expected {}", schema.name, a.name, to_string(given), expected);
  };
  const auto* number = std::get_if<Number>(&given);
  switch (a.kind) {
    case AttributeKind::boolean:
      if (!number || (number->value() != 0 && number->value() != 1)) fail("true or false (1 or 0)");
      return given;
    case AttributeKind::integer:
      if (!number || !number->as_int64()) fail("an integer of 64 bits");
      return given;
    case AttributeKind::number:
      if (!number) fail("a number");
      return given;
    case AttributeKind::text: {
      const auto* text = std::get_if<std::string>(&given);
      std::string expected = a.choices.empty() ? "text" : "one of";
      for (const std::string& c : a.choices) expected += (&c == a.choices.data() ? " " : ", ") + c;
      if (!text || (!a.choices.empty() && std::ranges::find(a.choices, *text) == a.choices.end())) fail(expected);
      return given;
    }
    case AttributeKind::integers:
      if (std::holds_alternative<std::vector<std::int64_t>>(given)) return given;
      if (!number || !number->as_int64()) fail("a list of integers");
      return std::vector{*number->as_int64()};
    case AttributeKind::numbers:
      if (std::holds_alternative<std::vector<double>>(given)) return given;
      if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&given)) {
        return std::vector<double>(integers->begin(), integers->end());
      }
      if (!number) fail("a list of numbers");
      return std::vector{number->value()};
  }
  throw InternalError("{}: attribute {} has no kind", schema.name, a.name);
}

}  // namespace

AttributeMap complete_attributes(const Schema& schema, const AttributeMap& given) {
  AttributeMap all;
  for (const auto& [name, value] : given) {
    if (const AttributeSchema* a = schema.attribute(name)) {
      all.emplace(name, checked(schema, *a, value));
      continue;
    }
    std::string takes;
    for (const AttributeSchema& a : schema.attributes) takes += (takes.empty() ? "" : ", ") + to_string(a);
    throw InvalidArgument("{}: it has no attribute '{}'; it takes {}", schema.name, name,
                          takes.empty() ? "none" : takes);
  }
  for (const AttributeSchema& a : schema.attributes) {
    if (all.contains(a.name)) continue;
    if (!a.default_value && a.optional) continue;
    if (!a.default_value) throw InvalidArgument("{}: attribute {} is missing", schema.name, to_string(a));
    all.emplace(a.name, *a.default_value);
  }
  return all;
}

std::string to_string(const TensorType& type) { return std::format("{} {}", name(type.dtype), to_string(type.shape)); }

}  // namespace weft
