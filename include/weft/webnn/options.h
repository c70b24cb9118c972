// The options of WebNN's operations are plain structs. Each lists its members once, with the specification's names,
//
//   struct EluOptions {
//     double alpha = 1;
//     std::string label = {};
//     void fields(OptionVisitor& v) { v("alpha", alpha); }
//   };
//
// and from that list come the schema, whose defaults are the members' own, and values by name in both directions. As
// weft/attributes.h does it, for what WebNN's values are: operands, lists that may be absent, and WebIDL's numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/number.h"
#include "weft/webnn/context.h"
#include "weft/webnn/schema.h"

namespace weft::webnn {

// A value of the graph that is being built. A handle: copies are the same operand.
class Operand {
 public:
  Operand() = default;
  explicit operator bool() const { return state_ != nullptr; }
  DType data_type() const;
  const Sizes& shape() const;

  bool operator==(const Operand&) const = default;

  struct State;  // src/webnn
  explicit Operand(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State* state() const { return state_.get(); }

 private:
  std::shared_ptr<const State> state_;
};

// A list that may be absent, which is something else than an empty one: reduce_sum(x, {.axes = {}}) reduces nothing,
// reduce_sum(x) everything.
template <class T>
class OptionalList {
 public:
  OptionalList(std::nullopt_t) {}                                      // NOLINT: implicit, as are the next
  OptionalList(std::initializer_list<T> values) : values_(values) {}   // NOLINT
  OptionalList(std::vector<T> values) : values_(std::move(values)) {}  // NOLINT
  explicit operator bool() const { return values_.has_value(); }
  const std::vector<T>& operator*() const { return *values_; }

 private:
  std::optional<std::vector<T>> values_;
};
using OptionalSizes = OptionalList<std::int64_t>;
using OptionalReals = OptionalList<double>;
inline constexpr std::nullopt_t kAbsent = std::nullopt;

// What call() takes: by the kinds of weft/webnn/schema.h. A size, an integer, a number or a real is a Number; choices
// are by their names; no value at all is an absent option.
using Value = std::variant<std::monostate, bool, Number, std::string, DType, Sizes, std::vector<double>,
                           std::vector<std::string>, Operand, std::vector<Operand>>;
using Arguments = std::vector<std::pair<std::string, Value>>;

struct OptionField {
  std::string_view name;
  ArgumentKind kind;
  Value absent = {};                               // of lists: what absence means, where that is always the same
  std::span<const std::string_view> choices = {};  // names of an enumeration's values, in their order
  // Of operands: the argument whose type it has, and the ranks.
  std::string_view same_as = {};
  int min_rank = 0, max_rank = kMaxRank;
};

class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  void operator()(std::string_view name, bool& member) { scalar({name, ArgumentKind::boolean}, member); }
  void operator()(std::string_view name, std::int64_t& member) { integer({name, ArgumentKind::size}, member); }
  // A long, where the others are unsigned.
  void signed_long(std::string_view name, std::int64_t& member) { integer({name, ArgumentKind::integer}, member); }
  void operator()(std::string_view name, double& member) {
    Value value = Number(member);
    if (visit({name, ArgumentKind::real}, value)) member = std::get<Number>(value).value();
  }
  void operator()(std::string_view name, Number& member) { scalar({name, ArgumentKind::number}, member); }
  void operator()(std::string_view name, std::optional<Number>& member) {
    Value value = member ? Value(*member) : Value();
    if (visit({name, ArgumentKind::number}, value)) member = std::get<Number>(value);
  }
  void operator()(std::string_view name, DType& member) { scalar({name, ArgumentKind::data_type}, member); }
  // What the operation gets for an absent list is `absent`.
  void operator()(std::string_view name, OptionalSizes& member, const OptionalSizes& absent = kAbsent) {
    list({name, ArgumentKind::sizes, values_of(absent)}, member);
  }
  void operator()(std::string_view name, OptionalReals& member, const OptionalReals& absent = kAbsent) {
    list({name, ArgumentKind::reals, values_of(absent)}, member);
  }
  // An enumeration, and a list of its values, by their names.
  template <class Enum, std::size_t n>
  void operator()(std::string_view name, Enum& member, const std::string_view (&names)[n]) {
    Value value = name_of(member, names);
    if (visit({name, ArgumentKind::choice, {}, names}, value)) {
      member = named<Enum>(std::get<std::string>(value), names);
    }
  }
  template <class Enum, std::size_t n>
  void operator()(std::string_view name, OptionalList<Enum>& member, const std::string_view (&names)[n],
                  const std::type_identity_t<OptionalList<Enum>>& absent) {
    Value value = names_of(member, names);
    if (!visit({name, ArgumentKind::choices, names_of(absent, names), names}, value)) return;
    std::vector<Enum> all;
    for (const std::string& one : std::get<std::vector<std::string>>(value)) all.push_back(named<Enum>(one, names));
    member = std::move(all);
  }
  // An operand of the type of the argument `same_as`; an empty one is absent.
  void operator()(std::string_view name, Operand& member, std::string_view same_as, int min_rank = 0,
                  int max_rank = kMaxRank) {
    Value value = member ? Value(member) : Value();
    if (visit({name, ArgumentKind::operand, {}, {}, same_as, min_rank, max_rank}, value)) {
      member = std::get<Operand>(value);
    }
  }

 protected:
  // The member's value; none if it is absent. True if the member is to have another one, which is of the field's kind.
  virtual bool visit(const OptionField& field, Value& value) = 0;

 private:
  template <class T>
  void scalar(const OptionField& field, T& member) {
    Value value = member;
    if (visit(field, value)) member = std::get<T>(value);
  }
  void integer(const OptionField& field, std::int64_t& member) {
    Value value = Number(member);
    if (visit(field, value)) member = static_cast<std::int64_t>(std::get<Number>(value).value());
  }
  template <class T>
  void list(const OptionField& field, OptionalList<T>& member) {
    Value value = values_of(member);
    if (visit(field, value)) member = std::get<std::vector<T>>(std::move(value));
  }
  template <class T>
  static Value values_of(const OptionalList<T>& values) {
    return values ? Value(*values) : Value();
  }
  // A value that the enumeration does not have is its number, which is no name.
  template <class Enum>
  static std::string name_of(Enum value, std::span<const std::string_view> names) {
    const auto index = static_cast<std::size_t>(value);
    return index < names.size() ? std::string(names[index]) : std::to_string(index);
  }
  template <class Enum>
  static Value names_of(const OptionalList<Enum>& values, std::span<const std::string_view> names) {
    if (!values) return {};
    std::vector<std::string> all;
    for (const Enum value : *values) all.push_back(name_of(value, names));
    return all;
  }
  template <class Enum>
  static Enum named(std::string_view name, std::span<const std::string_view> names) {
    return static_cast<Enum>(std::ranges::find(names, name) - names.begin());
  }
};

// ---- What the list of members is used for.

// Appends all values, in the list's order.
class OptionCollector final : public OptionVisitor {
 public:
  explicit OptionCollector(std::vector<Value>& values) : values_(values) {}

 private:
  bool visit(const OptionField& field, Value& value) override;
  std::vector<Value>& values_;
};
// Appends the values of the options' members to `values`, in their order.
template <class Options>
void append_values(const Options& options, std::vector<Value>& values) {
  OptionCollector visitor(values);
  const_cast<Options&>(options).fields(visitor);  // which only reads them
}

// Sets all members to values in the list's order, which are of the members' kinds.
class OptionSetter final : public OptionVisitor {
 public:
  explicit OptionSetter(std::span<const Value> values) : values_(values) {}

 private:
  bool visit(const OptionField& field, Value& value) override;
  std::span<const Value> values_;  // those that are left
};
// The options with these values of their members, in their order.
template <class Options>
Options options_of(std::span<const Value> values) {
  Options options;
  OptionSetter visitor(values);
  options.fields(visitor);
  return options;
}

// Appends the schemas.
class OptionDescriber final : public OptionVisitor {
 public:
  explicit OptionDescriber(std::vector<ArgumentSchema>& schemas) : schemas_(schemas) {}

 private:
  bool visit(const OptionField& field, Value& value) override;
  std::vector<ArgumentSchema>& schemas_;
};
// Appends the schemas of the options' members to `schemas`, in their order.
template <class Options>
void append_schemas(std::vector<ArgumentSchema>& schemas) {
  Options options;
  OptionDescriber visitor(schemas);
  options.fields(visitor);
}

}  // namespace weft::webnn
