// Schemas: that what they say is what the kernels do.
#include "weft/schema.h"

#include <gtest/gtest.h>

#include <regex>

#include "cpu/executor.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/kernels/table.h"

namespace weft::test {
namespace {

// Shapes that an operand of that name may have where others vary; [1, 1] of all others.
std::vector<Shape> shapes_of(const Schema& kernel, std::string_view name) {
  if (kernel.family == "rnn") {
    const std::int64_t gates = kernel.name == "lstm" ? 4 : kernel.name == "gru" ? 3 : 1;
    if (name == "w" || name == "r") return {{1, gates, 1}};
    if (name == "bias" || name == "recurrent_bias") return {{1, gates}};
    if (name == "peephole") return {{1, 3}};
    if (name == "lengths") return {{1}};
    if (name == "y") return {{1, 1, 1, 1}};
    return {{1, 1, 1}};
  }
  if (kernel.family == "quantize") return {{1, 1}};
  const bool eigen = kernel.name == "eig" || kernel.name == "eigh";
  if (eigen && name == "w") return {{1}};
  if (eigen && name == "v") return {{1, 1}};
  if (name == "info") return {Shape{}};
  if (name == "pivots" || name == "order" || (kernel.family == "linalg" && name == "s")) return {{1}};
  if (name == "y") return {{1, 1}, {1}, {1, 2}, {1, 1, 1}, {1, 1, 1, 1}};
  if (name == "x" || name == "indices") return {{1, 1}, {1}};
  if (name == "key") return {{2}};
  if (name == "sorted") return {{1}};
  if (name == "segments") return {{1, 2}};
  if (name == "info") return {Shape()};
  if (name == "q" || name == "k" || name == "v") return {{1, 1, 1, 1}, {1, 1}};
  for (const std::string_view vector :
       {"count", "query_lengths", "key_lengths", "scale", "bias", "mean", "variance", "starts", "dscale", "dbias"}) {
    if (name == vector) return {{1}};
  }
  return {{1, 1}};
}

// One kernel on tensors of an element, of any types.
class Probe {
 public:
  explicit Probe(const kernels::KernelInfo& kernel) : kernel_(kernel) {
    for (const auto* list : {&kernel.inputs, &kernel.outputs}) {
      for (const OperandSchema& o : *list) {
        operands_.push_back({o.name, Buffer::host(64), {}, o.min_rank});
        std::fill_n(operands_.back().buffer.data(), 64, std::byte{});
      }
    }
    for (int length = 1; length <= 2 && !found_; ++length) {
      for (const AttributeSchema& a : kernel.attributes) {
        if (a.default_value) continue;
        if (a.kind == AttributeKind::integers) {
          attributes_[a.name] = std::vector<std::int64_t>(static_cast<std::size_t>(length), 0);
        } else {
          attributes_[a.name] = 1;
        }
      }
      if (kernel.family == "pool") attributes_["window"] = std::vector<std::int64_t>{1};
      attributes_ = complete_attributes(kernel, attributes_);
      found_ = find_shapes(0);
    }
  }
  bool found() const { return found_; }
  std::size_t operands() const { return operands_.size(); }

  // By the kernel itself, past the schema's checks.
  bool runs(std::span<const DType> types) {
    std::vector<View> views;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      views.emplace_back(operands_[i].buffer, 0, types[i], operands_[i].shape);
    }
    const std::span all(views);
    try {
      kernel_.run(cpu_, {all.first(kernel_.inputs.size()), all.subspan(kernel_.inputs.size()), attributes_});
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  bool fits(std::span<const DType> types) const {
    std::vector<TensorType> all;
    for (std::size_t i = 0; i < operands_.size(); ++i) all.push_back({types[i], operands_[i].shape});
    std::vector<const TensorType*> given;
    for (const TensorType& t : all) given.push_back(&t);
    const std::span list(given);
    try {
      check_operands(kernel_, kernel_.name, list.first(kernel_.inputs.size()), list.subspan(kernel_.inputs.size()));
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  }

 private:
  struct TriedOperand {
    std::string name;
    Buffer buffer;
    Shape shape;
    int min_rank = 0;
  };
  // The first shapes on which it runs with types of its first signature.
  bool find_shapes(std::size_t i) {
    if (i == operands_.size()) {
      const TypeSignature& s = kernel_.signatures[0];
      std::vector<DType> types;
      for (const OperandTypes& t : s) types.push_back(t.same_as < 0 ? t.set.first() : types[t.same_as]);
      return runs(types);
    }
    const int rank = operands_[i].min_rank;
    const std::vector<Shape> by_rank{Dims::filled(rank, 1)};
    const bool plain = rank > 2 && kernel_.family != "rnn";
    for (const Shape& shape : plain ? by_rank : shapes_of(kernel_, operands_[i].name)) {
      operands_[i].shape = shape;
      if (find_shapes(i + 1)) return true;
    }
    return false;
  }

  const kernels::KernelInfo& kernel_;
  cpu::Executor cpu_{1};
  std::vector<TriedOperand> operands_;
  AttributeMap attributes_;
  bool found_ = false;
};

// Every pair of types in every pair of operands of types that fit, and all that differ from those in one operand.
TEST(Schema, SaysWhichTypesKernelsTake) {
  for (const kernels::KernelInfo& k : kernels::table()) {
    // Its schemes say which types go together, which a schema cannot (tests/ops/quantized_weights_test.cc).
    if (k.family == "quantized") continue;
    Probe probe(k);
    ASSERT_TRUE(probe.found()) << k.name << ": no shapes are found on which it runs";
    int differences = 0;
    const auto compare = [&](const std::vector<DType>& types) {
      const bool fits = probe.fits(types);
      // Quantised types that take no zero point: a schema cannot say that of an operand that may be left out
      // (quantize_test.cc).
      const bool no_zero_point =
          types.size() > 2 && (types[2] == DType::i32 || (is_floating(types[2]) && bits(types[2]) == 8));
      if (k.family == "quantize" && no_zero_point) return fits;
      if (fits == probe.runs(types) || ++differences > 3) return fits;
      std::string text;
      for (const DType t : types) text += " " + std::string(name(t));
      ADD_FAILURE() << k.name << " of" << text << (fits ? " is refused, the schema says: " : " runs, the schema says: ")
                    << k.types_text();
      return fits;
    };
    for (const TypeSignature& s : k.signatures) {
      for (int subject = 0; subject < kDTypeCount; ++subject) {
        std::vector<DType> types;
        for (const OperandTypes& t : s) {
          const auto own = static_cast<DType>(subject);
          types.push_back(t.same_as >= 0 ? types[t.same_as] : t.set.contains(own) ? own : t.set.first());
        }
        compare(types);
        for (std::size_t i = 0; i < types.size(); ++i) {
          for (int t = 0; t < kDTypeCount; ++t) {
            std::vector<DType> changed = types;
            changed[i] = static_cast<DType>(t);
            compare(changed);
          }
        }
      }
    }
    EXPECT_LE(differences, 3) << k.name << ": and more";
  }
}

TEST(Schema, ListsAreWellFormed) {
  for (const kernels::KernelInfo& k : kernels::table()) {
    const std::size_t count = k.inputs.size() + k.outputs.size();
    ASSERT_FALSE(k.signatures.empty()) << k.name;
    for (const TypeSignature& s : k.signatures) {
      ASSERT_EQ(s.size(), count) << k.name;
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NE(s[i].set.empty(), s[i].same_as < 0) << k.name << " operand " << i;
        EXPECT_LT(s[i].same_as, static_cast<int>(i)) << k.name << " operand " << i;
        if (s[i].same_as >= 0) {
          EXPECT_LT(s[s[i].same_as].same_as, 0) << k.name << ": as one that is as another";
        }
      }
    }
    for (const AttributeSchema& a : k.attributes) {
      // An activation is a text with parameters.
      const bool chosen = a.kind == AttributeKind::text && !a.name.ends_with("activation");
      EXPECT_EQ(a.choices.empty(), !chosen) << k.name << " " << a.name;
      EXPECT_EQ(k.attribute(a.name), &a);
    }
    if (std::ranges::all_of(k.attributes, [](const AttributeSchema& a) { return a.default_value.has_value(); })) {
      EXPECT_EQ(complete_attributes(k, {}).size(), k.attributes.size()) << k.name;
    }
  }
}

// What docs/kernels.md and docs/ops.md say of each kernel and op: a formula, a sentence, shapes, and what attributes
// set.
void expect_texts(const Schema& s) {
  SCOPED_TRACE(s.name);
  const bool computes = s.family != "leaf" && s.family != "custom";
  EXPECT_EQ(s.formula.empty(), !computes);
  EXPECT_FALSE(s.summary.empty() || s.summary.ends_with('.'));
  for (const auto* operands : {&s.inputs, &s.outputs}) {
    for (const OperandSchema& o : *operands) EXPECT_FALSE(o.shape.empty()) << o.name;
  }
  for (const AttributeSchema& a : s.attributes) EXPECT_FALSE(a.meaning.empty() || a.meaning.ends_with('.')) << a.name;
  // A formula says what an output is; those of elementwise functions are of all operands.
  const auto named = [&](const OperandSchema& o) {
    return std::regex_search(s.formula, std::regex("\\b" + o.name + "\\b"));
  };
  EXPECT_EQ(std::ranges::any_of(s.outputs, named), computes) << s.formula;
  if (s.family == "elementwise") {
    EXPECT_TRUE(std::ranges::all_of(s.inputs, named)) << s.formula;
  }
}

TEST(Schema, TextsForPeople) {
  for (const kernels::KernelInfo& k : kernels::table()) expect_texts(k);
  for (const Schema& s : op_schemas()) expect_texts(s);
  for (const Schema& s : function_schemas()) {
    expect_texts(s);
    EXPECT_FALSE(s.outputs[0].type.empty()) << s.name;
  }
}

// The type that a text such as "x's type; integers and bool: f32" promises for an operand of that type.
DType promised(const std::string& text, DType given) {
  const auto is = [&](std::string_view kinds) {
    return (kinds.find("integers") != kinds.npos && is_integer(given)) || kinds.find(name(given)) != kinds.npos;
  };
  if (const auto fixed = dtype_from_name(text)) return *fixed;
  for (std::size_t at = text.find("; "); at != text.npos; at = text.find("; ", at + 2)) {
    const std::size_t colon = text.find(": ", at);
    const std::string result = text.substr(colon + 2, text.find("; ", colon) - colon - 2);
    if (is(text.substr(at + 2, colon - at - 2))) return dtype_from_name(result).value();
  }
  return given;
}

TEST(Schema, ElementwiseOpsGiveTheTypesOfTheirTexts) {
  int checked = 0;
  for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    const Schema* schema = find_op_schema(name(op));
    ASSERT_NE(schema, nullptr) << name(op);
    for (int t = 0; t < kDTypeCount; ++t) {
      const auto type = static_cast<DType>(t);
      const Tensor x = Graph().input("x", type, {2});
      std::optional<DType> result;
      try {
        result = op == ScalarOp::select ? select(Graph().input("c", DType::boolean, {2}), x, x).dtype()
                 : arity(op) == 1       ? unary(op, x).dtype()
                 : arity(op) == 2       ? binary(op, x, x).dtype()
                                        : ternary(op, x, x, x).dtype();
      } catch (const InvalidArgument&) {
        continue;  // it does not take the type
      }
      ++checked;
      EXPECT_EQ(name(*result), name(promised(schema->outputs[0].type, type)))
          << name(op) << " of " << name(type) << ": " << schema->outputs[0].type;
    }
  }
  EXPECT_GT(checked, 900);
}

TEST(Schema, FunctionsGiveTheTypesOfTheirTexts) {
  const auto of = [](std::string_view name) {
    for (const Schema& s : function_schemas()) {
      if (s.name == name) return s.outputs[0].type;
    }
    return std::string("absent");
  };
  Graph g;
  const Tensor truth = g.input("t", DType::boolean, {4}), half = g.input("h", DType::f16, {4});
  EXPECT_EQ(promised(of("cumsum"), DType::boolean), cumsum(truth, 0).dtype());
  EXPECT_EQ(promised(of("cumsum"), DType::f16), cumsum(half, 0).dtype());
  // Positions and counts, of few elements and of many.
  const Tensor many = g.input("many", DType::u8, {std::int64_t{1} << 31});
  constexpr std::string_view kPositions = "i32; i64 from 2^31 elements on";
  EXPECT_EQ(find_op_schema("argmax")->outputs[0].type, kPositions);
  EXPECT_EQ(find_op_schema("reduce_count")->outputs[0].type, kPositions);
  EXPECT_EQ(find_op_schema("top_k")->outputs[1].type, kPositions);
  for (const auto& [x, type] : {std::pair(half, DType::i32), {many, DType::i64}}) {
    EXPECT_EQ(argmax(x).dtype(), type);
    EXPECT_EQ(reduce(ReduceKind::count, x, {0}).dtype(), type);
    EXPECT_EQ(top_k(x, 2).indices.dtype(), type);
  }
}

TEST(Schema, SetsInFewWords) {
  EXPECT_EQ(to_string(types::any), "any");
  EXPECT_EQ(to_string(types::numbers), "numbers");
  EXPECT_EQ(to_string(types::numbers | types::complex), "numbers, c64");
  EXPECT_EQ(to_string(types::integers - types::packed), "integers but i4 u4 i2 u2");
  EXPECT_EQ(to_string(types::boolean | (types::numbers - types::packed)), "bool, numbers but i4 u4 i2 u2");
  EXPECT_EQ(to_string(TypeSet{DType::f16, DType::f32}), "f32 f16");
  EXPECT_EQ(to_string(TypeSet()), "");
  EXPECT_EQ(types::any.size(), kDTypeCount);
  EXPECT_EQ((types::floats & types::integers).size(), 0);
  EXPECT_EQ(kernels::kernel("add").types_text(), "a: numbers, c64; b, y: as a");
  EXPECT_EQ(kernels::kernel("abs").types_text(), "x: numbers; y: as x or x: c64; y: f32");
  EXPECT_EQ(kernels::kernel("attention").inputs_text(), "q k v mask? query_lengths? key_lengths?");
  EXPECT_EQ(to_string(*kernels::kernel("pad").attribute("mode")),
            "mode: constant|edge|reflect|symmetric|wrap = constant");
  EXPECT_EQ(to_string(*kernels::kernel("layer_norm").attribute("epsilon")), "epsilon: number = 1e-05");
}

// Bounds and counts past 32 bits reach the kernels whole.
TEST(Schema, AttributesOf64Bits) {
  cpu::Executor cpu;
  const View key(Buffer::host(8), 0, DType::u32, {2}), y(Buffer::host(32), 0, DType::u64, {4});
  std::fill_n(key.buffer.data(), 8, std::byte{1});
  const std::uint64_t low = 0xfffffffffffffff0u;
  kernels::call(cpu, "random_integers",
                {.inputs = {{key}}, .outputs = {{y}}, .attributes = {{"low", low}, {"high", ~std::uint64_t{0}}}});
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(reinterpret_cast<const std::uint64_t*>(y.buffer.data())[i], low);
    EXPECT_LT(reinterpret_cast<const std::uint64_t*>(y.buffer.data())[i], ~std::uint64_t{0});
  }
  EXPECT_EQ(refused_by([&] {
              kernels::call(cpu, "random_integers",
                            {.inputs = {{key}}, .outputs = {{y}}, .attributes = {{"low", -1}, {"high", 3}}});
            }),
            "random_integers: from -1 to 3 in u64; expected integers low < high within the type");
  EXPECT_EQ(refused_by([&] {
              kernels::call(cpu, "random_integers",
                            {.inputs = {{key}}, .outputs = {{y}}, .attributes = {{"high", 2.5}}});
            }),
            "random_integers: from 0 to 2.5 in u64; expected integers low < high within the type");

  // 2^40 + 1 elements further along an axis of 3 is 2 further (2^40 = 1 mod 3).
  const View x(Buffer::host(3), 0, DType::u8, {3}), rolled(Buffer::host(3), 0, DType::u8, {3});
  for (int i = 0; i < 3; ++i) x.buffer.data()[i] = static_cast<std::byte>(i);
  const AttributeMap far{{"shifts", std::vector{(std::int64_t{1} << 40) + 1}}};
  kernels::call(cpu, "roll", {.inputs = {{x}}, .outputs = {{rolled}}, .attributes = far});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(static_cast<int>(rolled.buffer.data()[(i + 2) % 3]), i);
}

}  // namespace
}  // namespace weft::test
