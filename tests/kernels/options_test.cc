// The lists of options of WGSL templates, and what calls of them may give.
#include "kernels/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/error.h"

namespace weft::test {
namespace {

using kernels::OptionValues;
using kernels::TemplateOption;
using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const InternalError& e) {
    return e.what();
  }
  return "no error";
}

TEST(TemplateOptions, AreParsedAtTheEndOfTheFirstComment) {
  const auto options = kernels::parse_options("mine", R"({#
  Something.

  options:
    lanes: 1, 4
    rank: -1…2, 5
    steps: 0, number
    fused: flag
    name: text
    kind: one, ''
    modes: list of one, four
#}
fn other() {}  {# options: #}
)");
  ASSERT_EQ(options.size(), 7u);
  EXPECT_THAT(options[0].values, ElementsAre("1", "4"));
  EXPECT_THAT(options[1].values, ElementsAre("-1", "0", "1", "2", "5"));
  EXPECT_TRUE(options[1].allows(std::int64_t{-1}) && !options[1].allows(std::int64_t{3}) && !options[1].allows(true));
  EXPECT_TRUE(options[2].allows(std::int64_t{7}) && !options[2].allows(std::string("7")));
  EXPECT_TRUE(options[3].allows(false) && !options[3].allows(std::int64_t{0}));
  EXPECT_TRUE(options[4].allows(std::string("any")) && !options[4].allows(std::int64_t{0}));
  EXPECT_TRUE(options[5].allows(std::string()) && !options[5].allows(std::string("two")));
  EXPECT_TRUE(options[6].allows(std::vector<std::string>{"four", "one", "four"}));
  EXPECT_FALSE(options[6].allows(std::vector<std::string>{"two"}) || options[6].allows(std::string("one")));
  EXPECT_TRUE(kernels::parse_options("mine", "fn main() {}").empty());
  EXPECT_THAT(error_of([] { kernels::parse_options("mine", "{#\n options:\n lanes\n#}"); }), HasSubstr("mine"));
}

TEST(TemplateOptions, CallsGiveAllOfThemAndNoOthers) {
  const auto check = [](const OptionValues& values) {
    return error_of([&] { kernels::check_options("gamma_gradient", {}, values); });
  };
  EXPECT_EQ(check({{"workgroup", std::int64_t{64}}, {"logarithm", true}}), "no error");
  const std::string omitted = check({{"workgroup", std::int64_t{64}}});
  EXPECT_THAT(omitted, testing::AllOf(HasSubstr("gamma_gradient"), HasSubstr("logarithm"), HasSubstr("not given")));
  const std::string wrong = check({{"workgroup", std::int64_t{64}}, {"logarithm", std::string("yes")}});
  EXPECT_THAT(wrong, testing::AllOf(HasSubstr("gamma_gradient"), HasSubstr("logarithm"), HasSubstr("'yes'")));
  const std::string more = check({{"workgroup", std::int64_t{64}}, {"logarithm", true}, {"width", std::int64_t{4}}});
  EXPECT_THAT(more, testing::AllOf(HasSubstr("gamma_gradient"), HasSubstr("width"), HasSubstr("declared neither")));
}

}  // namespace
}  // namespace weft::test
