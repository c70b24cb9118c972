// The rows of the kernel table for weft/kernels/elementwise.h: one for each function.
#include <format>

#include "kernels/elementwise/scalar_ops.h"
#include "kernels/table_rows.h"
#include "weft/expressions.h"
#include "weft/kernels/elementwise.h"

namespace weft::kernels {
namespace {

// By what a scalar operation takes and yields. Complex operands of real parts have a signature of their own.
std::vector<TypeSignature> signatures(const ScalarOpInfo& op) {
  TypeSet real;
  for (int t = 0; t < kDTypeCount; ++t) {
    if (type_set(static_cast<DType>(t)) & op.types & ~kComplex) real = real | static_cast<DType>(t);
  }
  const TypeSet complex = op.types & kComplex ? types::complex : TypeSet();
  const bool selects = op.op == ScalarOp::select;
  const int first = selects ? 1 : 0;
  std::vector<TypeSignature> all;
  const auto add = [&](TypeSet set, const OperandTypes& y) {
    if (set.empty()) return;
    TypeSignature s;
    if (selects) s.push_back(types::boolean);
    s.push_back(set);
    for (int i = first + 1; i < op.arity; ++i) s.push_back(as(first));
    s.push_back(y);
    all.push_back(std::move(s));
  };
  switch (op.yields) {
    case Yields::same: add(real | complex, as(first)); break;
    case Yields::boolean: add(real | complex, types::boolean); break;
    case Yields::complex: add(real | complex, types::complex); break;
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
    Schema schema{.name = std::string(f.name), .family = "elementwise", .outputs = {{"y"}}};
    if (op == ScalarOp::select) schema.inputs = {{"condition"}, {"a"}, {"b"}};
    else if (f.operands == 1) schema.inputs = {{"x"}};
    else for (const char* name : {"a", "b", "c"}) schema.inputs.push_back({name});
    schema.inputs.resize(static_cast<std::size_t>(f.operands));
    schema.signatures = op ? signatures(info(*op)) : std::vector<TypeSignature>{{types::floats, as(0)}};
    for (const FunctionParameter& p : f.parameters) {
      schema.attributes.push_back(number(std::string(p.name), Number(p.default_value)));
    }
    std::string operands;
    for (const OperandSchema& o : schema.inputs) operands += (operands.empty() ? "" : ", ") + o.name;
    schema.summary = std::format("y = {}({}), elementwise with broadcasting", f.name, operands);
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
