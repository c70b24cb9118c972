// Schemas: that what they say is what the kernels do.
#include "weft/schema.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "weft/cpu.h"
#include "weft/error.h"
#include "weft/kernels/table.h"

namespace weft::test {
namespace {

// Shapes that an operand of that name may have where others vary; [1, 1] of all others.
std::vector<Shape> shapes_of(std::string_view name) {
  if (name == "y") return {{1, 1}, {1}, {1, 2}, {1, 1, 1}, {1, 1, 1, 1}};
  if (name == "x" || name == "indices") return {{1, 1}, {1}};
  if (name == "key") return {{2}};
  if (name == "q" || name == "k" || name == "v") return {{1, 1, 1, 1}};
  for (const std::string_view vector :
       {"count", "query_lengths", "key_lengths", "scale", "bias", "mean", "variance", "starts"}) {
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
        operands_.push_back({o.name, Buffer::host(64)});
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
  struct Operand {
    std::string name;
    Buffer buffer;
    Shape shape;
  };
  // The first shapes on which it runs with types of its first signature.
  bool find_shapes(std::size_t i) {
    if (i == operands_.size()) {
      const TypeSignature& s = kernel_.signatures[0];
      std::vector<DType> types;
      for (const OperandTypes& t : s) types.push_back(t.same_as < 0 ? t.set.first() : types[t.same_as]);
      return runs(types);
    }
    for (const Shape& shape : shapes_of(operands_[i].name)) {
      operands_[i].shape = shape;
      if (find_shapes(i + 1)) return true;
    }
    return false;
  }

  const kernels::KernelInfo& kernel_;
  cpu::Executor cpu_{1};
  std::vector<Operand> operands_;
  AttributeMap attributes_;
  bool found_ = false;
};

// Every pair of types in every pair of operands of types that fit, and all that differ from those in one operand.
TEST(Schema, SaysWhichTypesKernelsTake) {
  for (const kernels::KernelInfo& k : kernels::table()) {
    Probe probe(k);
    ASSERT_TRUE(probe.found()) << k.name << ": no shapes are found on which it runs";
    int differences = 0;
    const auto compare = [&](const std::vector<DType>& types) {
      const bool fits = probe.fits(types);
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
      EXPECT_EQ(a.choices.empty(), a.kind != AttributeKind::text) << k.name << " " << a.name;
      EXPECT_EQ(k.attribute(a.name), &a);
    }
    if (std::ranges::all_of(k.attributes, [](const AttributeSchema& a) { return a.default_value.has_value(); })) {
      EXPECT_EQ(complete_attributes(k, {}).size(), k.attributes.size()) << k.name;
    }
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
            "random_integers: from -1 to 3 in u64; expected integers low < high, at most 2^32 apart, within the type");
  EXPECT_EQ(refused_by([&] {
              kernels::call(cpu, "random_integers", {.inputs = {{key}}, .outputs = {{y}}, .attributes = {{"high", 2.5}}});
            }),
            "random_integers: from 0 to 2.5 in u64; expected integers low < high, at most 2^32 apart, within the type");

  // 2^40 + 1 elements further along an axis of 3 is 2 further (2^40 = 1 mod 3).
  const View x(Buffer::host(3), 0, DType::u8, {3}), rolled(Buffer::host(3), 0, DType::u8, {3});
  for (int i = 0; i < 3; ++i) x.buffer.data()[i] = static_cast<std::byte>(i);
  const AttributeMap far{{"shifts", std::vector{(std::int64_t{1} << 40) + 1}}};
  kernels::call(cpu, "roll", {.inputs = {{x}}, .outputs = {{rolled}}, .attributes = far});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(static_cast<int>(rolled.buffer.data()[(i + 2) % 3]), i);
}

}  // namespace
}  // namespace weft::test
