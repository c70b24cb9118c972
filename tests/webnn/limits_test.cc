// What op_support_limits() tells is true: a call with each data type and rank that it lists is taken, one with any
// other is refused. Sizes are 1, so that shapes fit each other whatever their ranks; where they would not, the table
// below says how the ranks of a call's operands hang together.
#include <gmock/gmock.h>

#include <algorithm>

#include "compiler/bound.h"
#include "weft/webnn.h"

namespace weft::webnn {
namespace {

constexpr TypeSet kAll = kDataTypes | kPackedDataTypes;

// Ranks of all operands of a call in which that one has this rank.
std::map<std::string, int> ranks_of(const OpSchema& op, const std::string& varied, int rank) {
  std::map<std::string, int> ranks;
  for (const ArgumentSchema& a : op.arguments) {
    if (a.kind == ArgumentKind::operand || a.kind == ArgumentKind::operands) ranks[a.name] = std::max(a.min_rank, 0);
  }
  if (op.name == "gatherElements" || op.name == "scatterElements") {
    for (auto& [name, r] : ranks) r = rank;
  }
  ranks[varied] = rank;
  if (op.name == "scatterND") {
    const bool updates = varied == "updates";
    if (updates)
      ranks["input"] = 1, ranks["indices"] = rank + 1;
    else
      ranks["updates"] = std::max(ranks["input"] + ranks["indices"] - 2, 0);
    if (updates && rank == kMaxRank) ranks["input"] = 2, ranks["indices"] = kMaxRank;
  }
  if (op.name == "quantizeLinear" || op.name == "dequantizeLinear") {
    if (varied == "scale") ranks["zeroPoint"] = rank;
    if (varied == "zeroPoint") ranks["scale"] = rank;
    if (varied != "input") ranks["input"] = kMaxRank;
    if (op.name == "dequantizeLinear" && varied == "input") ranks["scale"] = ranks["zeroPoint"] = 0;
  }
  if (op.name == "prelu" && varied == "slope") ranks["input"] = kMaxRank;
  if (op.name == "layerNormalization" && varied != "input") {
    for (auto& [name, r] : ranks) r = rank;
  }
  return ranks;
}

Sizes shape_of(const OpSchema& op, const std::string& operand, int rank) {
  Sizes shape(static_cast<std::size_t>(rank), 1);
  // Gates are rows of weights.
  const bool lstm = op.name.starts_with("lstm"), gru = op.name.starts_with("gru");
  if (!lstm && !gru) return shape;
  const std::size_t direction = op.name.ends_with("Cell") ? 0 : 1;
  const bool rows = operand.ends_with("eight") || operand.ends_with("ias");
  if (rows && shape.size() > direction) shape[direction] = operand == "peepholeWeight" ? 3 : lstm ? 4 : 3;
  return shape;
}

class WebnnLimits : public testing::TestWithParam<std::string> {
 protected:
  Context context = Context::create(test::device_named(GetParam()));

  // The error of a call in which operands have these types and ranks; empty if it was taken. Options are operands'
  // alone.
  std::string error_of(const OpSchema& op, const std::map<std::string, DType>& types,
                       const std::map<std::string, int>& ranks, const std::string& varied) {
    GraphBuilder builder(context);
    Arguments arguments;
    int rank = 0;
    std::vector<std::int64_t> all_axes;
    for (const ArgumentSchema& a : op.arguments) {
      const bool operand = a.kind == ArgumentKind::operand;
      if (!operand && a.kind != ArgumentKind::operands) continue;
      if (!a.required && a.name != varied) continue;
      const int r = ranks.at(a.name);
      const Operand x = builder.input(a.name, {types.at(a.name), shape_of(op, a.name, r)});
      if (arguments.empty()) rank = r;
      arguments.emplace_back(a.name, operand ? Value(x) : Value(std::vector<Operand>{x, x}));
    }
    for (int d = 0; d < rank; ++d) all_axes.push_back(d);
    for (const ArgumentSchema& a : op.arguments) {
      if (op.name == "layerNormalization" && a.name == "axes") arguments.emplace_back(a.name, all_axes);
      if (a.name == "axis") arguments.emplace_back(a.name, Number(0));
      if (!a.required) continue;
      if (a.kind == ArgumentKind::data_type) arguments.emplace_back(a.name, DType::f32);
      if (a.kind == ArgumentKind::splits || (a.kind == ArgumentKind::size && a.name != "axis"))
        arguments.emplace_back(a.name, Number(1));
      if (a.kind != ArgumentKind::sizes) continue;
      const bool zeros = a.name.ends_with("Padding") || a.name == "starts";
      arguments.emplace_back(a.name, Sizes(static_cast<std::size_t>(rank), zeros ? 0 : 1));
    }
    try {
      builder.call(op.name, arguments);
    } catch (const TypeError& e) {
      return e.what();
    }
    return "";
  }

  // The types of all operands in which that one has this type; others their first, or the same.
  std::map<std::string, DType> types_of(const OpSchema& op, const std::string& varied, DType type) {
    std::map<std::string, DType> types;
    for (const ArgumentSchema& a : op.arguments) {
      if (a.kind != ArgumentKind::operand && a.kind != ArgumentKind::operands) continue;
      const std::string& source = a.same_as.empty() ? a.name : a.same_as;
      types[a.name] = source == varied ? type : op.types_of(a).first();
    }
    types[varied] = type;
    return types;
  }
};

TEST_P(WebnnLimits, AreTrueOfDataTypes) {
  const OpSupportLimits limits = context.op_support_limits();
  for (const OpSchema& op : ops()) {
    for (const ArgumentSchema& a : op.arguments) {
      if (a.kind != ArgumentKind::operand && a.kind != ArgumentKind::operands) continue;
      const TensorLimits& l = limits.ops.at(op.name).at(a.name);
      for (int t = 0; t < kDTypeCount; ++t) {
        const auto type = static_cast<DType>(t);
        if (!kAll.contains(type)) continue;
        // An operand that has another's type brings the other one along.
        const std::string& source = a.same_as.empty() ? a.name : a.same_as;
        auto types = types_of(op, source, type);
        const std::string error = error_of(op, types, ranks_of(op, a.name, l.rank_range.max), a.name);
        EXPECT_EQ(error.empty(), l.data_types.contains(type))
            << op.name << ", " << a.name << " " << data_type_name(type) << ": " << error;
        if (!a.same_as.empty() && op.types_of(a).size() > 1) {
          // Without the other one it is refused.
          types = types_of(op, a.same_as, op.types_of(a).first());
          types[a.name] = op.types_of(a).first() == DType::f32 ? DType::f16 : DType::f32;
          EXPECT_THAT(error_of(op, types, ranks_of(op, a.name, l.rank_range.max), a.name),
                      testing::HasSubstr(", as " + a.same_as))
              << op.name;
        }
      }
    }
  }
}

TEST_P(WebnnLimits, AreTrueOfRanks) {
  const OpSupportLimits limits = context.op_support_limits();
  for (const OpSchema& op : ops()) {
    for (const ArgumentSchema& a : op.arguments) {
      if (a.kind != ArgumentKind::operand && a.kind != ArgumentKind::operands) continue;
      const RankRange range = limits.ops.at(op.name).at(a.name).rank_range;
      for (int rank = 0; rank <= kMaxRank; ++rank) {
        const std::string& source = a.same_as.empty() ? a.name : a.same_as;
        const std::string error =
            error_of(op, types_of(op, source, op.types_of(a).first()), ranks_of(op, a.name, rank), a.name);
        EXPECT_EQ(error.empty(), rank >= range.min && rank <= range.max)
            << op.name << ", " << a.name << " of rank " << rank << ": " << error;
      }
    }
  }
}

TEST_P(WebnnLimits, AreTrueOfInputsAndSizes) {
  const OpSupportLimits limits = context.op_support_limits();
  EXPECT_EQ(limits.ops.size(), 95u);
  EXPECT_EQ(limits.preferred_input_layout, InputOperandLayout::nhwc);
  GraphBuilder builder(context);
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    const bool listed = limits.input.data_types.contains(type);
    const auto taken = [&](const Sizes& shape) {
      try {
        builder.input("x", {type, shape});
        return true;
      } catch (const TypeError&) {
        return false;
      }
    };
    EXPECT_EQ(taken({1}), listed) << name(type);
    if (!listed) continue;
    EXPECT_TRUE(taken(Sizes(static_cast<std::size_t>(limits.input.rank_range.max), 1)));
    EXPECT_FALSE(taken(Sizes(static_cast<std::size_t>(limits.input.rank_range.max) + 1, 1)));
    // The most elements that fit, and one more.
    const std::uint64_t bits = limits.max_tensor_byte_length * 8;
    const auto most = static_cast<std::int64_t>(
        std::min<std::uint64_t>(bits / static_cast<std::uint64_t>(weft::bits(type)), 2147483647));
    EXPECT_TRUE(taken({most})) << name(type) << " " << most;
    EXPECT_FALSE(taken({most + 1})) << name(type) << " " << most + 1;
  }
  // Results, too.
  const Operand x = builder.input("x", {DType::f32, {1}});
  const auto most = static_cast<std::int64_t>(limits.max_tensor_byte_length / 4);
  EXPECT_NO_THROW(builder.expand(x, {most}));
  EXPECT_THROW(builder.expand(x, {most + 1}), TypeError);
}

INSTANTIATE_TEST_SUITE_P(Devices, WebnnLimits, testing::ValuesIn(test::all_devices()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::webnn
