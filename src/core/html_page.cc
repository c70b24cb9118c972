#include "core/html_page.h"

#include "core/embedded_texts.h"
#include "core/format.h"
#include "core/str_cat.h"
#include "weft/error.h"

namespace weft {

std::string_view embedded_text(std::string_view path) {
  for (const EmbeddedText* t = kEmbeddedTexts; t->path; ++t) {
    if (path == t->path) return t->text;
  }
  throw InternalError("no text is embedded as '{}'", path);
}

std::string html_page(std::string_view name, std::string_view title, std::string_view json, std::string_view light,
                      std::string_view dark) {
  std::string data;
  for (const char c : json) {
    // Text inside a script element must not close it or begin a comment.
    if (c == '<')
      data += "\\u003c";
    else
      data += c;
  }
  std::string page(embedded_text("core/page.html"));
  const auto put = [&](std::string_view mark, std::string_view text) {
    page.replace(page.find(mark), mark.size(), text);
  };
  put("/*TITLE*/", title);
  put("<!--BODY-->\n", embedded_text(str_cat(name, ".html")));
  put("/*STYLE*/\n", embedded_text(str_cat(name, ".css")));
  put("/*FAMILIES LIGHT*/", light);
  put("/*FAMILIES DARK*/", dark);
  put("/*SCRIPT*/\n", embedded_text(str_cat(name, ".js")));
  put("/*DATA*/", data);
  return page;
}

}  // namespace weft
