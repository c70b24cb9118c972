// Rendering of WGSL templates.
#include "kernels/template.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "weft/error.h"

namespace weft::test {
namespace {

std::string rendered(std::vector<std::string> texts, const nlohmann::ordered_json& variables = {{"lanes", 2}}) {
  return kernels::render_templates(texts, variables);
}

// Each has a text inside a block, the first of its template.
constexpr const char
    *kShared = "{#\n  Shared.\n#}\n{% macro first(x) %}\nlet a = {{ x }};\n{% endmacro %}\n{% set two = 2 %}\n",
    *kKernel = "{% for i in range(lanes) %}\nlet b{{ i }} = {{ two }};\n{{ first(i) }}{% endfor %}\nend\n";

TEST(Templates, HaveWhatThoseBeforeThemDeclare) {
  const std::string expected = "let b0 = 2;\nlet a = 0;\nlet b1 = 2;\nlet a = 1;\nend\n";
  EXPECT_EQ(rendered({kShared, kKernel}), expected);
  EXPECT_EQ(rendered({std::string(kShared) + kKernel}), expected);
  // A template that is already parsed, among others.
  EXPECT_EQ(rendered({"{% if lanes %}\nhead\n{% endif %}\n", kShared, kKernel}), "head\n" + expected);
  EXPECT_EQ(rendered({kShared, kKernel}), expected);
}

TEST(Templates, LeaveNoLineOfATag) {
  EXPECT_EQ(rendered({"a\n  {% if lanes == 2 %}\n  b\n  {% else %}\n  c\n  {% endif %}\nd"}), "a\n  b\nd");
  EXPECT_EQ(rendered({"a  {%- if lanes -%}  b {% endif %} {c}"}), "ab  {c}");
}

TEST(Templates, SayWhereTheyAreWrong) {
  EXPECT_THROW(rendered({"{% if lanes %}\n"}), InternalError);
  EXPECT_THROW(rendered({"{{ lanes"}), InternalError);
}

}  // namespace
}  // namespace weft::test
