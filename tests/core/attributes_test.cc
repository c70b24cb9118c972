// Attributes that are plain structs: schema, text, and values by name in both directions from one list of fields.
#include "weft/attributes.h"

#include <cmath>

#include "ops/op_rows.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft {
namespace {

using testing::HasSubstr;

enum class Mode : std::uint8_t { linear, cubic };
constexpr std::string_view kModes[] = {"linear", "cubic"};

struct Options {
  std::int64_t count = 0;
  int axis = -1;
  bool reverse = false;
  double scale = 1;
  Number value = 0;
  Mode mode = Mode::linear;
  std::optional<DType> type = {};
  Dims sizes = {};
  std::vector<double> weights = {};

  void fields(AttributeVisitor& v) {
    v("count", count, "how many");
    v("axis", axis, -1, "the axis");
    v.brief("reverse", reverse, false, "backwards");
    v("scale", scale, 1, "the factor");
    v("value", value, 0, "the value");
    v("mode", mode, Mode::linear, kModes, "the mode");
    v("type", type, {}, "the type");
    v("sizes", sizes, {}, "the sizes");
    v("weights", weights, {}, "the weights");
  }
};

TEST(Attributes, TextsShowWhatIsSet) {
  EXPECT_EQ(to_text(Options()), "count=0, axis=-1, scale=1, value=0, mode=linear, sizes=[], weights=[]");
  const Options o{3, 1, true, -0.0, 9007199254740993, Mode::cubic, DType::bf16, {2, 3}, {0.5, NAN}};
  EXPECT_EQ(to_text(o),
            "count=3, axis=1, reverse=true, scale=-0, value=9007199254740993, mode=cubic, type=bf16, sizes=[2, 3], "
            "weights=[0.5, nan]");
}

TEST(Attributes, ComeBackFromTheirValuesByName) {
  const Options o{3, 1, true, -0.0, 9007199254740993, Mode::cubic, DType::bf16, {2, 3}, {0.5, NAN}};
  EXPECT_EQ(to_text(from_map<Options>("test", to_map(o))), to_text(o));
  EXPECT_EQ(to_text(from_map<Options>("test", to_map(Options()))), to_text(Options()));
  EXPECT_FALSE(to_map(Options()).contains("type"));
}

TEST(Attributes, SchemasSayKindsDefaultsAndWhatMustBeGiven) {
  const Schema schema{.name = "test", .attributes = schemas_of<Options>()};
  EXPECT_THAT(test::refused_by([&] { complete_attributes(schema, {}); }),
              HasSubstr("attribute count: integer is missing"));
  const AttributeMap all = complete_attributes(schema, {{"count", Number(2)}});
  EXPECT_EQ(to_text(from_map<Options>("test", all)), to_text(Options{.count = 2}));
  EXPECT_THAT(
      test::refused_by([&] { complete_attributes(schema, {{"count", Number(2)}, {"mode", std::string("x")}}); }),
      HasSubstr("attribute mode is \"x\", expected one of linear, cubic"));
  EXPECT_THAT(test::refused_by([&] { from_map<Options>("test", {{"axis", Number(std::int64_t{1} << 40)}}); }),
              HasSubstr("attribute axis is 1099511627776, expected an integer of 32 bits"));
  EXPECT_THAT(test::refused_by([&] { from_map<Options>("test", {{"type", std::string("f31")}}); }),
              HasSubstr("attribute type is \"f31\", expected a data type"));
}

// The op that a row makes has the attributes that it was given.
TEST(Attributes, RowsOfOpsMakeWhatTheyAreGiven) {
  // Starts have a number for each of two axes.
  std::vector<TensorType> types(9, {DType::i32, {2}});
  types[0] = {DType::f32, {4, 4, 4, 4}};
  for (const OpRow& row : op_rows()) {
    if (!row.make) continue;  // a function of the expression op
    AttributeMap given;
    for (const AttributeSchema& a : row.schema.attributes) {
      if (a.default_value || a.optional) continue;
      if (a.kind == AttributeKind::integers)
        given[a.name] = std::vector<std::int64_t>{1, 2};
      else if (a.kind == AttributeKind::text)
        given[a.name] = std::string(row.schema.name == "map" ? "(x0:f32) exp(x0)" : "f16");
      else
        given[a.name] = Number(3);
    }
    const OpPtr op = row.make(complete_attributes(row.schema, given), types);
    EXPECT_EQ(op->name(), row.schema.name);
    AttributeMap back;
    AttributeCollector visitor(back);
    op->visit(visitor);
    EXPECT_EQ(row.make(back, types)->identity(), op->identity());
    for (const auto& [name, value] : given) EXPECT_EQ(to_string(back.at(name)), to_string(value)) << row.schema.name;
  }
}

}  // namespace
}  // namespace weft
