// Options that are plain structs: schema, defaults, and values by name in both directions from one list of members.
#include "weft/webnn/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/device.h"
#include "weft/webnn.h"

namespace weft::webnn {
namespace {

enum class Mode : std::uint8_t { linear, cubic };
constexpr std::string_view kModes[] = {"linear", "cubic"};

struct Options {
  bool flag = true;
  std::int64_t size = 3, offset = -2;
  double factor = 0.5;
  Number value = 7;
  std::optional<Number> limit = {};
  DType type = DType::i64;
  OptionalSizes strides = kAbsent, axes = kAbsent;
  OptionalReals scales = kAbsent;
  Mode mode = Mode::cubic;
  OptionalList<Mode> modes = kAbsent;
  Operand bias = {};
  std::string label = {};

  void fields(OptionVisitor& v) {
    v("flag", flag);
    v("size", size);
    v.signed_long("offset", offset);
    v("factor", factor);
    v("value", value);
    v("limit", limit);
    v("type", type);
    v("strides", strides, {1, 1});
    v("axes", axes);
    v("scales", scales, {1, 0.5});
    v("mode", mode, kModes);
    v("modes", modes, kModes, {Mode::linear, Mode::cubic});
    v("bias", bias, "input", 1, 2);
  }
};

std::vector<Value> values_of(const Options& options) {
  std::vector<Value> values;
  append_values(options, values);
  return values;
}

TEST(WebnnOptions, SchemasSayKindsDefaultsChoicesAndRanks) {
  std::vector<ArgumentSchema> schemas;
  append_schemas<Options>(schemas);
  std::string text;
  for (const ArgumentSchema& a : schemas) {
    EXPECT_FALSE(a.required) << a.name;
    text += a.name + ": " + std::string(name(a.kind)) + " = " + a.default_text + "\n";
  }
  EXPECT_EQ(text,
            "flag: a boolean = true\n"
            "size: an unsigned long = 3\n"
            "offset: a long = -2\n"
            "factor: a finite number = 0.5\n"
            "value: a number = 7\n"
            "limit: a number = \n"
            "type: a data type = int64\n"
            "strides: a list of unsigned longs = [1, 1]\n"
            "axes: a list of unsigned longs = \n"
            "scales: a list of finite numbers = [1, 0.5]\n"
            "mode: a value of an enumeration = cubic\n"
            "modes: a list of values of an enumeration = [linear, cubic]\n"
            "bias: an operand = \n");
  EXPECT_EQ(schemas[10].choices, (std::vector<std::string>{"linear", "cubic"}));
  EXPECT_EQ(schemas[11].choices, (std::vector<std::string>{"linear", "cubic"}));
  EXPECT_EQ(schemas[12].same_as, "input");
  EXPECT_EQ(schemas[12].min_rank, 1);
  EXPECT_EQ(schemas[12].max_rank, 2);
}

// A list that is absent is what its absence means, where the list of members says so.
TEST(WebnnOptions, HaveTheirDefaultsWithoutValues) {
  for (const std::vector<Value>& values : {std::vector<Value>(13), values_of({})}) {
    const Options o = options_of<Options>(values);
    EXPECT_TRUE(o.flag);
    EXPECT_EQ(o.size, 3);
    EXPECT_EQ(o.offset, -2);
    EXPECT_EQ(o.factor, 0.5);
    EXPECT_EQ(to_string(o.value), "7");
    EXPECT_FALSE(o.limit);
    EXPECT_EQ(o.type, DType::i64);
    EXPECT_EQ(*o.strides, (Sizes{1, 1}));
    EXPECT_FALSE(o.axes);
    EXPECT_EQ(*o.scales, (std::vector<double>{1, 0.5}));
    EXPECT_EQ(o.mode, Mode::cubic);
    EXPECT_EQ(*o.modes, (std::vector<Mode>{Mode::linear, Mode::cubic}));
    EXPECT_FALSE(o.bias);
  }
}

TEST(WebnnOptions, ComeBackFromTheirValues) {
  GraphBuilder builder(Context::create(Device::cpu()));
  const Operand bias = builder.input("bias", {DType::f32, {2}});
  const Options given{.flag = false,
                      .size = 5,
                      .offset = 4,
                      .factor = 2,
                      .value = 9007199254740993,
                      .limit = 8,
                      .type = DType::u8,
                      .strides = {2, 3},
                      .axes = Sizes{},
                      .scales = {4.0},
                      .mode = Mode::linear,
                      .modes = {Mode::cubic},
                      .bias = bias};
  const Options o = options_of<Options>(values_of(given));
  EXPECT_FALSE(o.flag);
  EXPECT_EQ(o.size, 5);
  EXPECT_EQ(o.offset, 4);
  EXPECT_EQ(o.factor, 2);
  EXPECT_EQ(to_string(o.value), "9007199254740993");
  EXPECT_EQ(to_string(*o.limit), "8");
  EXPECT_EQ(o.type, DType::u8);
  EXPECT_EQ(*o.strides, (Sizes{2, 3}));
  EXPECT_TRUE(o.axes && (*o.axes).empty());
  EXPECT_EQ(*o.scales, std::vector<double>{4});
  EXPECT_EQ(o.mode, Mode::linear);
  EXPECT_EQ(*o.modes, std::vector{Mode::cubic});
  EXPECT_EQ(o.bias, bias);
  // Which are the values of a call by name.
  EXPECT_EQ(std::get<std::string>(values_of(given)[10]), "linear");
  EXPECT_EQ(std::get<std::vector<std::string>>(values_of(given)[11]), std::vector<std::string>{"cubic"});
}

// A value that an enumeration does not have is refused as a name that it does not have.
TEST(WebnnOptions, RefuseValuesThatAnEnumerationDoesNotHave) {
  GraphBuilder builder(Context::create(Device::cpu()));
  const Operand x = builder.input("x", {DType::f32, {2}});
  try {
    builder.pad(x, {1}, {1}, {.mode = static_cast<PaddingMode>(9)});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TypeError& e) {
    EXPECT_STREQ(e.what(), "pad: mode is '9', expected constant, edge, reflection or symmetric");
  }
}

}  // namespace
}  // namespace weft::webnn
