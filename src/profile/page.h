// The page of a profile.
#pragma once

#include "core/html_page.h"

namespace weft {

extern const PageTexts kProfilePage;  // page.html, page.css and page.js

}  // namespace weft
