# Writes OUTPUT: a C++ table of the TEXTS, files in the folder SOURCE, looked up by src/core/html_page.cc.
include(${CMAKE_CURRENT_LIST_DIR}/raw_literal.cmake)
set(entries "")
foreach(path IN LISTS TEXTS)
  file(RELATIVE_PATH name ${SOURCE} ${path})
  file(READ ${path} text)
  raw_literal("${text}" text)
  string(APPEND entries "    {\"${name}\", ${text}},\n")
endforeach()
file(WRITE ${OUTPUT}.new
"// Generated from the pages' files in src/; do not edit.
#include \"core/embedded_texts.h\"
namespace weft {
const EmbeddedText kEmbeddedTexts[] = {
${entries}    {nullptr, nullptr}};
}  // namespace weft
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(TOUCH ${OUTPUT})
