#include "ops/function_row.h"

#include <algorithm>
#include <string>

#include "core/format.h"
#include "core/is_or_are.h"

namespace weft {
namespace {

std::size_t operand_count(const FunctionText& text) {
  const auto end = std::ranges::find_if(text.operands, [](const FunctionOperand& o) { return o.name.empty(); });
  return static_cast<std::size_t>(end - std::begin(text.operands));
}

std::string name_of(const FunctionText& text, std::size_t i, std::size_t in_list) {
  const FunctionOperand& o = text.operands[i];
  if (o.arity == Arity::repeated) {
    return std::format("{} {}", o.name.ends_with('s') ? o.name.substr(0, o.name.size() - 1) : o.name, in_list);
  }
  return std::string(o.name);
}

std::string rank_text(const FunctionOperand& o) {
  if (o.min_rank == o.max_rank) return std::format("rank {}", o.min_rank);
  if (o.max_rank == kMaxRank) return std::format("rank {} or more", o.min_rank);
  if (o.max_rank == o.min_rank + 1) return std::format("rank {} or {}", o.min_rank, o.max_rank);
  return std::format("rank {} to {}", o.min_rank, o.max_rank);
}

std::string text_of(TypeSet types) {
  if (types == types::real) return "real numbers";
  if (types == types::floats) return "a floating type";
  if (types == types::numbers) return "floats or integers";
  return to_string(types);
}

[[noreturn]] void refuse(const FunctionText& text, std::size_t i, std::size_t in_list, const Tensor& x) {
  const FunctionOperand& o = text.operands[i];
  const std::string name = name_of(text, i, in_list);
  if (!x.defined()) {
    if (operand_count(text) == 1 && o.arity != Arity::repeated) {
      throw InvalidArgument("{}: the operand is an undefined Tensor", text.function());
    }
    throw InvalidArgument("{}: {} is an undefined Tensor", text.function(), name);
  }
  const std::string is = std::format("{} {} {}", name, is_or_are(name), to_string(x.type()));
  if (!o.types.contains(x.dtype())) {
    throw TypeError("{}: {}, expected {}", text.function(), is, text_of(o.types));
  }
  throw ShapeError("{}: {}, expected {}", text.function(), is, rank_text(o));
}

}  // namespace

namespace detail {

void check_operands(const FunctionText& text, std::span<const GivenOperand> given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const FunctionOperand& o = text.operands[i];
    for (std::size_t k = 0; k < given[i].count; ++k) {
      const Tensor& x = given[i].tensors[k];
      if (!x.defined()) {
        if (o.arity == Arity::optional) continue;
        refuse(text, i, k, x);
      }
      const TensorType& type = x.type();
      const int rank = type.shape.rank();
      if (!o.types.contains(type.dtype) || rank < o.min_rank || rank > o.max_rank) refuse(text, i, k, x);
    }
  }
}

const Tensor& NamedCall::tensor(std::size_t i) const {
  static const Tensor& none = *new Tensor;
  if (i >= operands.size()) return none;
  if (const Tensor* t = operands[i].tensor()) return *t;
  throw InvalidArgument("{}: operand {} is a number, expected a tensor", function, i);
}

const TensorLike& NamedCall::like(std::size_t i) const {
  static const TensorLike& none = *new TensorLike(Tensor());
  return i < operands.size() ? operands[i] : none;
}

std::vector<Tensor> NamedCall::list(std::size_t i) const {
  std::vector<Tensor> all;
  for (; i < operands.size(); ++i) all.push_back(tensor(i));
  return all;
}

}  // namespace detail

Schema FunctionRows::schema_of(const FunctionText& text, std::vector<AttributeSchema> attributes) {
  Schema schema{.name = std::string(text.name),
                .family = "function",
                .summary = std::string(text.summary),
                .formula = std::string(text.formula)};
  TypeSignature signature;
  for (std::size_t i = 0; i < operand_count(text); ++i) {
    const FunctionOperand& o = text.operands[i];
    const std::string_view shape = o.shape.empty() ? "any" : o.shape;
    schema.inputs.push_back({std::string(o.name), o.arity, o.min_rank, o.max_rank, std::string(shape)});
    signature.emplace_back(o.types);
  }
  for (const FunctionResult& r : text.results) {
    if (r.name.empty()) break;
    schema.outputs.push_back(
        {.name = std::string(r.name), .arity = r.arity, .shape = std::string(r.shape), .type = std::string(r.type)});
    signature.emplace_back(types::any);
  }
  schema.signatures = {std::move(signature)};
  schema.attributes = std::move(attributes);
  return schema;
}

std::span<const FunctionRow> function_rows() {
  static const std::vector<FunctionRow>& all = *new std::vector<FunctionRow>([] {
    FunctionRows table;
    for (void (*add)(FunctionRows&) : collected_functions()) add(table);
    std::ranges::sort(table.rows, {}, [](const FunctionRow& row) -> const std::string& { return row.schema.name; });
    const auto twice = std::ranges::adjacent_find(
        table.rows, {}, [](const FunctionRow& row) -> const std::string& { return row.schema.name; });
    if (twice != table.rows.end()) throw InternalError("{} has two rows", twice->schema.name);
    return std::move(table.rows);
  }());
  return all;
}

const FunctionRow* find_function_row(std::string_view name) {
  const auto rows = function_rows();
  const auto found = std::ranges::lower_bound(rows, name, {},
                                              [](const FunctionRow& row) { return std::string_view(row.schema.name); });
  return found != rows.end() && found->schema.name == name ? &*found : nullptr;
}

}  // namespace weft
