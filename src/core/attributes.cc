#include "weft/attributes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/str_cat.h"
#include "weft/error.h"

namespace weft {
namespace {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <>
constexpr bool is_optional<Axes> = true;  // none are all

// The values of fields have few forms.
template <class T>
constexpr AttributeKind kind_of() {
  if constexpr (std::is_same_v<T, Axes>) {
    return AttributeKind::integers;
  } else if constexpr (is_optional<T>) {
    return kind_of<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return AttributeKind::boolean;
  } else if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, DType> || std::is_same_v<T, std::string>) {
    return AttributeKind::text;
  } else if constexpr (std::is_integral_v<T>) {
    return AttributeKind::integer;
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Number>) {
    return AttributeKind::number;
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    return AttributeKind::numbers;
  } else {
    return AttributeKind::integers;
  }
}

template <class T>
AttributeValue value_of(const T& v, std::span<const std::string_view> choices) {
  if constexpr (std::is_same_v<T, Axes>) {
    return value_of(v.given(), choices);
  } else if constexpr (is_optional<T>) {
    return value_of(*v, choices);
  } else if constexpr (std::is_same_v<T, bool>) {
    return Number(v ? 1 : 0);
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return std::string(choices[v]);
  } else if constexpr (std::is_same_v<T, DType>) {
    return std::string(name(v));
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<double>>) {
    return v;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Number>) {
    return Number(v);
  } else {
    return std::vector<std::int64_t>(v.begin(), v.end());
  }
}

// False for an optional one that is not there.
template <class T>
bool is_there(const T& v) {
  if constexpr (std::is_same_v<T, Axes>)
    return !v.are_all();
  else if constexpr (is_optional<T>)
    return v.has_value();
  else
    return true;
}

bool equal(const Number& a, const Number& b) { return a.integral() == b.integral() && to_string(a) == to_string(b); }
// As texts are: NaN is NaN, -0 is not 0.
bool equal(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}
template <class T>
bool equal(const T& a, const T& b) {
  return a == b;
}

template <class T>
void append_value(std::string& text, const T& v, std::span<const std::string_view> choices) {
  if constexpr (std::is_same_v<T, Axes>) {
    append_value(text, v.given(), choices);
  } else if constexpr (is_optional<T>) {
    append_value(text, *v, choices);
  } else if constexpr (std::is_same_v<T, bool>) {
    text += v ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    text += choices[v];
  } else if constexpr (std::is_same_v<T, DType>) {
    text += name(v);
  } else if constexpr (std::is_same_v<T, std::string>) {
    text += in_quotes(v);
  } else if constexpr (std::is_same_v<T, Number>) {
    text += to_string(v);
  } else if constexpr (std::is_integral_v<T>) {
    str_append(text, v);
  } else if constexpr (std::is_same_v<T, double>) {
    text += std::format("{}", v);
  } else {
    text += '[';
    bool first = true;
    for (const auto element : v) {
      if (!first) text += ", ";
      first = false;
      append_value(text, element, {});
    }
    text += ']';
  }
}

// Sets a field to a value of its kind.
struct Assign {
  std::string_view op;
  const AttributeField& field;
  const AttributeValue& value;

  [[noreturn]] void fail(std::string_view expected) const {
    throw InvalidArgument("{}: attribute {} is {}, expected {}", op, field.name, to_string(value), expected);
  }
  template <class T>
  const T& get() const {
    const T* v = std::get_if<T>(&value);
    if (!v) throw InternalError("{}: attribute {} is {}, of another kind", op, field.name, to_string(value));
    return *v;
  }
  template <std::integral T>
  T integer(std::int64_t v) const {
    if (v < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
        (sizeof(T) < 8 && v > static_cast<std::int64_t>(std::numeric_limits<T>::max()))) {
      fail(std::format("an integer of {} bits", 8 * sizeof(T)));
    }
    return static_cast<T>(v);
  }

  template <class T>
  void operator()(T* to) const {
    if constexpr (std::is_same_v<T, Axes>) {
      std::vector<int> v;
      (*this)(&v);
      *to = Axes(v);
    } else if constexpr (is_optional<T>) {
      typename T::value_type v{};
      (*this)(&v);
      *to = std::move(v);
    } else if constexpr (std::is_same_v<T, bool>) {
      *to = get<Number>().value() != 0;
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      const auto found = std::ranges::find(field.choices, get<std::string>());
      if (found == field.choices.end()) fail("one of its choices");
      *to = static_cast<std::uint8_t>(found - field.choices.begin());
    } else if constexpr (std::is_same_v<T, DType>) {
      const std::optional<DType> type = dtype_from_name(get<std::string>());
      if (!type) fail("a data type");
      *to = *type;
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<double>>) {
      *to = get<T>();
    } else if constexpr (std::is_same_v<T, Number>) {
      *to = get<Number>();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      *to = get<Number>().bits(DType::u64);
    } else if constexpr (std::is_integral_v<T>) {
      *to = integer<T>(*get<Number>().as_int64());
    } else if constexpr (std::is_same_v<T, double>) {
      *to = get<Number>().value();
    } else if constexpr (std::is_same_v<T, std::vector<int>>) {
      to->clear();
      for (const std::int64_t v : get<std::vector<std::int64_t>>()) to->push_back(integer<int>(v));
    } else if constexpr (std::is_same_v<T, Dims>) {
      const auto& list = get<std::vector<std::int64_t>>();
      if (list.size() > kMaxRank) fail(std::format("a list of at most {}", kMaxRank));
      *to = Dims(list);
    } else {
      *to = get<T>();
    }
  }
};

}  // namespace

void AttributeText::visit(const AttributeField& field) {
  std::visit(
      [&]<class T>(const T* v) {
        if (!is_there(*v)) return;
        if (field.brief && equal(*v, *std::get<T*>(*field.default_value))) return;
        str_append(text_, text_.empty() ? "" : ", ", field.name, "=");
        if constexpr (std::is_same_v<T, std::string>) {
          if (!field.quoted) return void(text_ += *v);
        }
        append_value(text_, *v, field.choices);
      },
      field.value);
}

void AttributeCollector::visit(const AttributeField& field) {
  std::visit(
      [&](const auto* v) {
        if (is_there(*v)) values_.insert_or_assign(std::string(field.name), value_of(*v, field.choices));
      },
      field.value);
}

void AttributeSetter::visit(const AttributeField& field) {
  const auto given = values_.find(field.name);
  if (given != values_.end()) std::visit(Assign{op_, field, given->second}, field.value);
}

void AttributeDescriber::visit(const AttributeField& field) {
  AttributeSchema schema{.name = std::string(field.name), .meaning = std::string(field.meaning)};
  schema.choices.assign(field.choices.begin(), field.choices.end());
  std::visit(
      [&]<class T>(const T*) {
        schema.kind = kind_of<T>();
        schema.optional = is_optional<T>;
        if (!field.default_value) return;
        const T& v = *std::get<T*>(*field.default_value);
        if (is_there(v)) schema.default_value = value_of(v, field.choices);
      },
      field.value);
  schemas_.push_back(std::move(schema));
}

}  // namespace weft
