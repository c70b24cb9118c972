// Pages put together of embedded texts.
#include "core/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/page.h"
#include "reports/drawing.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(HtmlPage, HasItsStyleItsScriptAndItsData) {
  for (const PageTexts* texts : {&kProfilePage, &kDrawingPage}) {
    const std::string page = html_page(*texts, "{\"title\":\"</script>\"}", "--f0: #123456;", "--f0: #abcdef;");
    EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), HasSubstr("<title>Weft "), HasSubstr("</html>"),
                            HasSubstr("\"\\u003c/script>\""), HasSubstr(std::string(texts->script).substr(0, 14))));
    for (const char* mark : {"/*TITLE*/", "<!--BODY-->", "/*STYLE*/", "/*SCRIPT*/", "/*DATA*/", "/*FAMILIES LIGHT*/",
                             "/*FAMILIES DARK*/"}) {
      EXPECT_THAT(page, Not(HasSubstr(mark)));
    }
  }
}

}  // namespace
}  // namespace weft
