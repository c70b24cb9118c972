// Pages of one file that load nothing from elsewhere: profiles and drawings of graphs.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// A text that the build embeds, by its path in src/: "profile/page.js". Throws InternalError.
std::string_view embedded_text(std::string_view path);

// The page of that title whose body is src/NAME.html, with the style NAME.css and the script NAME.js, in which `json`
// replaces /*DATA*/. `light` and `dark`: custom properties of CSS for either kind of page, as the colours of families.
std::string html_page(std::string_view name, std::string_view title, std::string_view json, std::string_view light,
                      std::string_view dark);

}  // namespace weft
