# Writes OUTPUT: the PageTexts (src/core/html_page.h) NAME of the page PAGE: PAGE.html, PAGE.css and PAGE.js.
include(${CMAKE_CURRENT_LIST_DIR}/raw_literal.cmake)
foreach(kind html css js)
  file(READ ${PAGE}.${kind} text)
  raw_literal("${text}" ${kind})
endforeach()
file(WRITE ${OUTPUT}.new
"// Generated from ${PAGE}.*; do not edit.
#include \"core/html_page.h\"
namespace weft {
extern const PageTexts ${NAME};
const PageTexts ${NAME} = {
    ${html},
    ${css},
    ${js}};
}  // namespace weft
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(TOUCH ${OUTPUT})
