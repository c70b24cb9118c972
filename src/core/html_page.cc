#include "core/html_page.h"

namespace weft {

std::string html_page(const PageTexts& texts, std::string_view json, std::string_view light, std::string_view dark) {
  std::string data;
  for (const char c : json) {
    // Text inside a script element must not close it or begin a comment.
    if (c == '<')
      data += "\\u003c";
    else
      data += c;
  }
  std::string page = texts.markup;
  const auto put = [&](std::string_view mark, std::string_view text) {
    page.replace(page.find(mark), mark.size(), text);
  };
  put("/*STYLE*/\n", texts.style);
  put("/*FAMILIES LIGHT*/", light);
  put("/*FAMILIES DARK*/", dark);
  put("/*SCRIPT*/\n", texts.script);
  put("/*DATA*/", data);
  return page;
}

}  // namespace weft
