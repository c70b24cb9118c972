#include "core/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/throws.h"

namespace weft {
namespace {

TEST(JsonReader, RepeatedKeysCountOnceOrAreRefused) {
  const auto strict = [](const char* text) {
    return test::thrown_by([&] { parse_json(text, "f", RepeatedKeys::refused); });
  };
  EXPECT_EQ(parse_json(R"({"a": 1, "b": 2, "a": 3})", "f"), (nlohmann::json{{"a", 3}, {"b", 2}}));
  EXPECT_EQ(strict(R"({"a": 1, "b": 2, "a": 3})"), "FormatError: f: an object has the key \"a\" twice");
  // Escapes are other spellings of the same key, an object in it has keys of its own, and so has the next one.
  EXPECT_EQ(strict(R"({"a": 1, "\u0061": 1})"), "FormatError: f: an object has the key \"a\" twice");
  EXPECT_EQ(strict(R"({"a": {"b": [{"c": 1, "c": null}]}})"), "FormatError: f: an object has the key \"c\" twice");
  EXPECT_EQ(strict(R"({"a": {"b": 1}, "b": {"a": 1, "b": [{"a": 1}, {"a": 2}]}, "c": {}})"), "nothing");
  EXPECT_EQ(parse_json(R"([{"a": {"b": 1}}, null, 2.5, "a"])", "f", RepeatedKeys::refused),
            parse_json(R"([{"a": {"b": 1}}, null, 2.5, "a"])", "f"));
  for (const char* broken : {"", "{", R"({"a": 1,})", R"({"a": 1 "a": 2})", "[1e400]", "\xff"}) {
    EXPECT_EQ(strict(broken), test::thrown_by([&] { parse_json(broken, "f"); })) << broken;
  }
}

}  // namespace
}  // namespace weft
