#include "core/error_context.h"

#include <gtest/gtest.h>

#include <string>

#include "core/format.h"
#include "support/throws.h"

namespace weft {
namespace {

using test::message_of;

TEST(ErrorContext, NamesTheFunctionThatWasCalled) {
  const auto named = [](const std::string& text) {
    return message_of([&] { in_function("stack", [&] { throw ShapeError("{}", text); }); });
  };
  EXPECT_EQ(named("concat: parts differ: 2 and 3"), "stack: parts differ: 2 and 3");
  EXPECT_EQ(named("\"layers.0\": concat: parts differ"), "\"layers.0\": stack: parts differ");
  EXPECT_EQ(named("\"a \\\" b\": concat: parts differ"), "\"a \\\" b\": stack: parts differ");
  EXPECT_EQ(named("shapes [2] and [3] do not broadcast: sizes 2 and 3"),
            "stack: shapes [2] and [3] do not broadcast: sizes 2 and 3");
  EXPECT_EQ(named("\"w\" is not there"), "stack: \"w\" is not there");
  EXPECT_EQ(named("scatter{op=min, axis=0}: x is c64 [2]"), "stack: x is c64 [2]");
  EXPECT_EQ(named("random::uniform: the key is f32"), "stack: the key is f32");
  EXPECT_EQ(named("::"), "stack: ::");
  EXPECT_EQ(named("concat{axis: 0"), "stack: concat{axis: 0");
  EXPECT_EQ(named(""), "stack: ");
}

TEST(ErrorContext, KeepsTheType) {
  EXPECT_THROW(in_function("f", [] { throw ShapeError("g: no"); }), ShapeError);
  EXPECT_THROW(in_function("f", [] { throw TypeError("g: no"); }), TypeError);
  EXPECT_THROW(in_function("f", [] { throw IndexError("g: no"); }), IndexError);
  EXPECT_THROW(in_function("f", [] { throw Unsupported("g: no"); }), Unsupported);
  EXPECT_THROW(in_function("f", [] { throw OutOfMemory("g: no"); }), OutOfMemory);
  EXPECT_EQ(in_function("f", [] { return 5; }), 5);
}

TEST(ErrorContext, LeavesOutLabelsAndFunctions) {
  EXPECT_EQ(without_function("conv: x is [2]"), "x is [2]");
  EXPECT_EQ(without_function("\"a.b\": conv: x is [2]"), "x is [2]");
  EXPECT_EQ(without_function("x is [2]: too short"), "x is [2]: too short");
}

}  // namespace
}  // namespace weft
