// The rows of the kernel table for weft/kernels/elementwise.h: one for each function.
#include <format>

#include "core/format.h"
#include "kernels/elementwise/function_text.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/table_rows.h"
#include "weft/expressions.h"
#include "weft/kernels/elementwise.h"

namespace weft::kernels {
namespace {

std::array<std::string_view, 3> operand_names(std::optional<ScalarOp> op, int count) {
  if (op && !info(*op).facts.operands[0].empty()) return info(*op).facts.operands;
  if (count == 1) return {"x"};
  return {"a", "b", "c"};
}

const FunctionText& text_of(std::string_view function) {
  for (const auto& texts : {scalar_texts(), composite_texts()}) {
    for (const FunctionText& t : texts) {
      if (t.name == function) return t;
    }
  }
  throw InternalError("elementwise function {} has no text in scalar_texts() or composite_texts()", function);
}

std::string meaning_of(std::string_view function, std::string_view parameter) {
  for (const ParameterText& t : parameter_texts()) {
    if (t.name == parameter && (t.function.empty() || t.function == function)) return std::string(t.meaning);
  }
  throw InternalError("parameter {} of {} has no text in parameter_texts()", parameter, function);
}

// By what a scalar operation takes and yields. Complex operands of real parts have a signature of their own.
std::vector<TypeSignature> signatures(const ScalarOpInfo& op) {
  TypeSet real;
  for (int t = 0; t < kDTypeCount; ++t) {
    if (type_set(static_cast<DType>(t)) & op.types & ~kComplex) real = real | static_cast<DType>(t);
  }
  const TypeSet complex = op.types & kComplex ? types::complex : TypeSet();
  const int first = op.first_value();
  std::vector<TypeSignature> all;
  const auto add = [&](TypeSet set, const OperandTypes& y) {
    if (set.empty()) return;
    TypeSignature s;
    if (first > 0) s.push_back(types::boolean);
    s.push_back(set);
    for (int i = first + 1; i < op.arity; ++i) s.push_back(as(first));
    s.push_back(y);
    all.push_back(std::move(s));
  };
  switch (op.yields) {
    case Yields::same:
      add(real | complex, as(first));
      break;
    case Yields::boolean:
      add(real | complex, types::boolean);
      break;
    case Yields::complex:
      add(real | complex, types::complex);
      break;
    case Yields::real:
      add(real, as(first));
      add(complex, DType::f32);
      break;
  }
  return all;
}

}  // namespace

void add_elementwise_rows(TableRows& rows) {
  for (const FunctionInfo& f : functions()) {
    const std::optional<ScalarOp> op = scalar_op(f.name);
    const FunctionText& text = text_of(f.name);
    Schema schema{.name = std::string(f.name),
                  .family = "elementwise",
                  .summary = std::string(text.summary),
                  .formula = std::format("y = {}", text.formula),
                  .outputs = {one("y", f.operands == 1 ? "x's shape" : "the operands' common shape")}};
    const std::array names = operand_names(op, f.operands);
    for (const std::string_view name : std::span(names).first(static_cast<std::size_t>(f.operands))) {
      schema.inputs.push_back(one(std::string(name), "broadcasts to y"));
    }
    schema.signatures = op ? signatures(info(*op)) : std::vector<TypeSignature>{{types::floats, as(0)}};
    for (const FunctionParameter& p : f.parameters) {
      schema.attributes.push_back(number(std::string(p.name), meaning_of(f.name, p.name), Number(p.default_value)));
    }
    for (const auto& [other, named] : other_names()) {
      if (op == named) schema.other_names.emplace_back(other);
    }
    if (f.name == "clamp") schema.other_names.emplace_back("clip");
    if (f.name == "bitwise_not") schema.other_names.emplace_back("invert");
    rows.push_back(row(std::move(schema), [f](Stream& s, const Reader& r) {
      std::vector<double> parameters;
      for (const FunctionParameter& p : f.parameters) parameters.push_back(r.real(p.name));
      elementwise(s, f.name, r.inputs(), r.out(0), parameters);
    }));
  }
}

}  // namespace weft::kernels
