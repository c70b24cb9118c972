// What the rows of the kernel table are written with: each family has its own in <family>/<family>_rows.cc, which the
// build collects.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/format.h"
#include "weft/attributes.h"
#include "weft/error.h"
#include "weft/kernels/table.h"

namespace weft::kernels {

using TableRows = std::vector<KernelInfo>;
// Every void add_<family>_rows(TableRows&) of the families' folders, and the add_<family>_forms, which add forms of
// kernels that have names of their own, such as argsort.
std::span<void (*const)(TableRows&)> collected_rows();
std::span<void (*const)(TableRows&)> collected_forms();

// ---- Attributes; `meaning` is documentation only
inline AttributeSchema boolean(std::string name, std::string meaning, bool default_value) {
  return {std::move(name), AttributeKind::boolean, Number(default_value ? 1 : 0), {}, std::move(meaning)};
}
inline AttributeSchema integer(std::string name, std::string_view meaning,
                               std::optional<AttributeValue> default_value = {}) {
  return {std::move(name), AttributeKind::integer, std::move(default_value), {}, std::string(meaning)};
}
inline AttributeSchema number(std::string name, std::string meaning, std::optional<AttributeValue> default_value = {}) {
  return {std::move(name), AttributeKind::number, std::move(default_value), {}, std::move(meaning)};
}
inline AttributeSchema integers(std::string name, std::string_view meaning) {
  return {std::move(name), AttributeKind::integers, {}, {}, std::string(meaning)};
}
// Lists that may be left out, and are empty then.
inline AttributeSchema optional_integers(std::string name, std::string meaning) {
  return {std::move(name), AttributeKind::integers, std::vector<std::int64_t>(), {}, std::move(meaning)};
}
inline AttributeSchema optional_numbers(std::string name, std::string meaning) {
  return {std::move(name), AttributeKind::numbers, std::vector<double>(), {}, std::move(meaning)};
}
// One of the names; the first is the default.
template <std::size_t n>
AttributeSchema choice(std::string name, std::string_view meaning, const std::string_view (&names)[n]) {
  return {std::move(name),
          AttributeKind::text,
          std::string(names[0]),
          {std::begin(names), std::end(names)},
          std::string(meaning)};
}

// An attribute and the fields of options.
template <class Options>
std::vector<AttributeSchema> with(AttributeSchema first, Options options) {
  std::vector<AttributeSchema> all{std::move(first)};
  std::ranges::move(schemas_of(std::move(options)), std::back_inserter(all));
  return all;
}

// ---- Operands; `shape` is documentation only
inline OperandSchema one(std::string name, std::string shape) {
  return {.name = std::move(name), .shape = std::move(shape)};
}
inline OperandSchema optional(std::string name, std::string shape) {
  return {.name = std::move(name), .arity = Arity::optional, .shape = std::move(shape)};
}
inline OperandSchema repeated(std::string name, std::string shape) {
  return {.name = std::move(name), .arity = Arity::repeated, .shape = std::move(shape)};
}
// Of a rank from `least` to `most`.
inline OperandSchema ranked(std::string name, std::string shape, int least, int most = kMaxRank) {
  return {.name = std::move(name), .min_rank = least, .max_rank = most, .shape = std::move(shape)};
}
inline OperandTypes as(int operand) { return OperandTypes::as(operand); }

// ---- Calling: what a row's function reads of arguments that fit its schema.
class Reader {
 public:
  explicit Reader(const Arguments& arguments) : a_(arguments) {}

  std::span<const View> inputs() const { return a_.inputs; }
  std::span<const View> outputs() const { return a_.outputs; }
  const View& in(std::size_t i) const { return a_.inputs[i]; }
  const View& out(std::size_t i) const { return a_.outputs[i]; }
  std::optional<View> maybe_in(std::size_t i) const { return there(a_.inputs, i); }
  std::optional<View> maybe_out(std::size_t i) const { return there(a_.outputs, i); }

  const Number& number(std::string_view name) const { return get<Number>(name); }
  double real(std::string_view name) const { return number(name).value(); }
  bool flag(std::string_view name) const { return real(name) != 0; }
  std::int64_t integer(std::string_view name) const { return *number(name).as_int64(); }
  int axis(std::string_view name = "axis") const { return narrowed(integer(name)); }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  std::vector<int> axes(std::string_view name = "axes") const {
    std::vector<int> all;
    for (const std::int64_t a : integers(name)) all.push_back(narrowed(a));
    return all;
  }
  const std::vector<double>& numbers(std::string_view name) const { return get<std::vector<double>>(name); }
  // Options whose fields are attributes.
  template <class Options>
  Options options(Options defaults = {}) const {
    return from_map({}, a_.attributes, std::move(defaults));
  }
  // An enumerator by its name in `names`, which are in the enumeration's order.
  template <class Enum, std::size_t n>
  Enum choice(std::string_view name, const std::string_view (&names)[n]) const {
    return static_cast<Enum>(std::ranges::find(names, get<std::string>(name)) - std::begin(names));
  }

 private:
  static std::optional<View> there(std::span<const View> views, std::size_t i) {
    if (i >= views.size() || !views[i].buffer) return {};
    return views[i];
  }
  // An axis that no int holds is outside of every tensor, and so is the nearest that one does.
  static int narrowed(std::int64_t i) { return static_cast<int>(std::clamp<std::int64_t>(i, INT32_MIN, INT32_MAX)); }
  template <class T>
  const T& get(std::string_view name) const {
    const auto found = a_.attributes.find(name);
    const T* value = found == a_.attributes.end() ? nullptr : std::get_if<T>(&found->second);
    if (!value) throw InternalError("no attribute {} of the kind that is read", name);
    return *value;
  }

  const Arguments& a_;
};

template <class Run>
KernelInfo row(Schema schema, Run run) {
  return {std::move(schema), [run = std::move(run)](Stream& s, const Arguments& a) { run(s, Reader(a)); }};
}

}  // namespace weft::kernels
