// Pages put together of embedded texts.
#include "core/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/error.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(HtmlPage, HasItsStyleItsScriptAndItsData) {
  for (const std::string name : {"profile/page", "graph/drawing"}) {
    const std::string page =
        html_page(name, "A title", "{\"title\":\"</script>\"}", "--f0: #123456;", "--f0: #abcdef;");
    EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), HasSubstr("<title>A title</title>"),
                            HasSubstr("\"\\u003c/script>\""), HasSubstr("</html>"),
                            HasSubstr(embedded_text(name + ".js").substr(0, 14))));
    for (const char* mark : {"/*TITLE*/", "<!--BODY-->", "/*STYLE*/", "/*SCRIPT*/", "/*DATA*/", "/*FAMILIES LIGHT*/",
                             "/*FAMILIES DARK*/"}) {
      EXPECT_THAT(page, Not(HasSubstr(mark))) << name;
    }
  }
}

TEST(HtmlPage, OfNoTextsIsAnError) { EXPECT_THROW(html_page("nowhere", "", "{}", "", ""), InternalError); }

}  // namespace
}  // namespace weft
