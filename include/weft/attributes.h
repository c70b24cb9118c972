// Plain structs of attributes: options of kernels, attributes of operations. Each lists its fields once,
//
//   struct SoftmaxAttributes {
//     int axis = -1;
//     void fields(AttributeVisitor& v) { v("axis", axis, -1, "the axis along which the results add up to 1"); }
//   };
//
// and from that list come schemas, texts, comparisons, and values by name in both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "weft/axes.h"
#include "weft/dtype.h"
#include "weft/number.h"
#include "weft/schema.h"
#include "weft/shape.h"

namespace weft {

// A field, or its default, by its type. An enumeration of one byte is that byte; its choices are named beside it.
using AttributePointer =
    std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, Number*, std::string*, DType*, Dims*, Axes*,
                 std::optional<bool>*, std::optional<int>*, std::optional<std::int64_t>*, std::optional<double>*,
                 std::optional<DType>*, std::optional<Dims>*, std::vector<int>*, std::vector<std::int64_t>*,
                 std::vector<double>*, std::uint8_t*>;

struct AttributeField {
  std::string_view name, meaning;
  AttributePointer value;
  std::optional<AttributePointer> default_value;  // none: it must be given
  std::span<const std::string_view> choices;      // names of an enumeration's values, in their order
  bool brief = false;                             // texts leave it out where it has its default
  bool quoted = true;                             // texts put a string in quotes
};

class AttributeVisitor {
 public:
  virtual ~AttributeVisitor() = default;

  // One that must be given.
  template <class T>
  AttributeVisitor& operator()(std::string_view name, T& field, std::string_view meaning) {
    visit({name, meaning, pointer(field), {}, {}});
    return *this;
  }
  // One that has a default.
  template <class T>
  AttributeVisitor& operator()(std::string_view name, T& field, std::type_identity_t<T> default_value,
                               std::string_view meaning) {
    visit({name, meaning, pointer(field), pointer(default_value), {}});
    return *this;
  }
  // The same, which texts show only if it has another value.
  template <class T>
  AttributeVisitor& brief(std::string_view name, T& field, std::type_identity_t<T> default_value,
                          std::string_view meaning) {
    visit({name, meaning, pointer(field), pointer(default_value), {}, true});
    return *this;
  }
  // One of the names, which are in the order of the enumeration; the default.
  template <class Enum, std::size_t n>
    requires std::is_enum_v<Enum>
  AttributeVisitor& operator()(std::string_view name, Enum& field, std::type_identity_t<Enum> default_value,
                               const std::string_view (&names)[n], std::string_view meaning) {
    static_assert(sizeof(Enum) == 1);
    visit({name, meaning, reinterpret_cast<std::uint8_t*>(&field), reinterpret_cast<std::uint8_t*>(&default_value),
           names});
    return *this;
  }

  // The same of an enumeration: left out of the text while it has its default.
  template <class Enum, std::size_t n>
    requires std::is_enum_v<Enum>
  AttributeVisitor& brief(std::string_view name, Enum& field, std::type_identity_t<Enum> default_value,
                          const std::string_view (&names)[n], std::string_view meaning) {
    static_assert(sizeof(Enum) == 1);
    visit({name, meaning, reinterpret_cast<std::uint8_t*>(&field), reinterpret_cast<std::uint8_t*>(&default_value),
           names, true});
    return *this;
  }
  // One of a type with a text form, to_string(value) and from_text(text, value), which throws for what is none.
  template <class T>
  AttributeVisitor& text(std::string_view name, T& field, std::string_view meaning) {
    return as_text(name, field, {}, false, meaning);
  }
  template <class T>
  AttributeVisitor& text(std::string_view name, T& field, const std::type_identity_t<T>& default_value,
                         std::string_view meaning) {
    return as_text(name, field, to_string(default_value), false, meaning);
  }
  // text(), left out of the text while it has its default.
  template <class T>
  AttributeVisitor& brief_text(std::string_view name, T& field, const std::type_identity_t<T>& default_value,
                               std::string_view meaning) {
    return as_text(name, field, to_string(default_value), true, meaning);
  }

 protected:
  virtual void visit(const AttributeField& field) = 0;

 private:
  template <class T>
  AttributeVisitor& as_text(std::string_view name, T& field, std::optional<std::string> default_value, bool brief,
                            std::string_view meaning) {
    const std::string before = to_string(field);
    std::string now = before;
    AttributeField f{name, meaning, &now, {}, {}, brief, false};
    if (default_value) f.default_value = &*default_value;
    visit(f);
    if (now != before) from_text(now, field);  // reading visitors must not write: ops are shared between threads
    return *this;
  }
  template <class T>
  static AttributePointer pointer(T& field) {
    return &field;
  }
};

// ---- What the list of fields is used for. Struct A may be derived from others, whose fields it lists with its own.

// Appends "axis=1, keep_dims=true", behind a comma if the text is not empty: all fields but absent optional ones, and
// brief ones that have their default.
class AttributeText final : public AttributeVisitor {
 public:
  explicit AttributeText(std::string& text) : text_(text) {}

 private:
  void visit(const AttributeField& field) override;
  std::string& text_;
};
// The attributes as AttributeText writes them: "axis=1, keep_dims=true".
template <class A>
std::string to_text(const A& attributes) {
  std::string text;
  AttributeText visitor(text);
  const_cast<A&>(attributes).fields(visitor);  // which only reads them
  return text;
}

// All fields by their names.
class AttributeCollector final : public AttributeVisitor {
 public:
  explicit AttributeCollector(AttributeMap& values) : values_(values) {}

 private:
  void visit(const AttributeField& field) override;
  AttributeMap& values_;
};
// The attributes as AttributeCollector collects them, by their names.
template <class A>
AttributeMap to_map(const A& attributes) {
  AttributeMap values;
  AttributeCollector visitor(values);
  const_cast<A&>(attributes).fields(visitor);
  return values;
}

// Sets the fields that are named. Kinds are those of the schema (complete_attributes()). Throws InvalidArgument for a
// number that the field's type does not hold, and for names of no type or value.
class AttributeSetter final : public AttributeVisitor {
 public:
  AttributeSetter(std::string_view op, const AttributeMap& values) : op_(op), values_(values) {}

 private:
  void visit(const AttributeField& field) override;
  std::string_view op_;
  const AttributeMap& values_;
};
// `attributes` with the fields that `values` names set, as AttributeSetter does it. `op` stands in messages.
template <class A>
A from_map(std::string_view op, const AttributeMap& values, A attributes = {}) {
  AttributeSetter visitor(op, values);
  attributes.fields(visitor);
  return attributes;
}

// Their names, kinds, defaults, choices and meanings.
class AttributeDescriber final : public AttributeVisitor {
 public:
  explicit AttributeDescriber(std::vector<AttributeSchema>& schemas) : schemas_(schemas) {}

 private:
  void visit(const AttributeField& field) override;
  std::vector<AttributeSchema>& schemas_;
};
// The schemas of the fields; defaults are those of `attributes`.
template <class A>
std::vector<AttributeSchema> schemas_of(A attributes = {}) {
  std::vector<AttributeSchema> schemas;
  AttributeDescriber visitor(schemas);
  attributes.fields(visitor);
  return schemas;
}

}  // namespace weft
