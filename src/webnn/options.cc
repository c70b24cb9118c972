#include "weft/webnn/options.h"

#include "webnn/message.h"

namespace weft::webnn {

namespace {

// A default as schemas show it.
std::string text_of(const Value& value) {
  const auto listed = [](const auto& values, auto text) {
    std::string all;
    for (const auto& v : values) all += (all.empty() ? "" : ", ") + text(v);
    return "[" + all + "]";
  };
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<Number>(&value)) return to_string(*number);
  if (const auto* name = std::get_if<std::string>(&value)) return *name;
  if (const auto* type = std::get_if<DType>(&value)) return std::string(data_type_name(*type));
  if (const auto* sizes = std::get_if<Sizes>(&value)) return to_string(*sizes);
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    return listed(*reals, [](double v) { return to_string(Number(v)); });
  }
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) {
    return listed(*names, [](const std::string& v) { return v; });
  }
  return {};
}

}  // namespace

bool OptionCollector::visit(const OptionField&, Value& value) {
  values_.push_back(std::move(value));
  return false;
}

bool OptionSetter::visit(const OptionField& field, Value& value) {
  const Value& given = values_.front();
  values_ = values_.subspan(1);
  Value other(std::holds_alternative<std::monostate>(given) ? field.absent : given);
  value.swap(other);
  return !std::holds_alternative<std::monostate>(value);
}

bool OptionDescriber::visit(const OptionField& field, Value& value) {
  schemas_.push_back({.name = std::string(field.name),
                      .kind = field.kind,
                      .same_as = std::string(field.same_as),
                      .min_rank = field.min_rank,
                      .max_rank = field.max_rank,
                      .default_text = text_of(std::holds_alternative<std::monostate>(value) ? field.absent : value),
                      .choices = {field.choices.begin(), field.choices.end()}});
  return false;
}

}  // namespace weft::webnn
