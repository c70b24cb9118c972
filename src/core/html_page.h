// Pages of one file that load nothing from elsewhere: profiles and drawings of graphs.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// A page's files, which the build embeds (cmake/generated/embed_page.cmake).
struct PageTexts {
  const char* markup;
  const char* style;
  const char* script;
};

// The page, whose script finds `json` in the place of /*DATA*/. `light` and `dark`: custom properties of CSS for either
// kind of page, as the colours of families.
std::string html_page(const PageTexts& texts, std::string_view json, std::string_view light, std::string_view dark);

}  // namespace weft
