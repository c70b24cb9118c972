# Writes OUTPUT: a C++ table of the names and texts of the FILES, which src/kernels/source.cc looks up.
include(${CMAKE_CURRENT_LIST_DIR}/raw_literal.cmake)
set(entries "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  raw_literal("${text}" text)
  string(APPEND entries "    {\"${name}\", \"${path}\", ${text}},\n")
endforeach()
file(WRITE ${OUTPUT}
"// Generated from src/kernels/**/*.wgsl; do not edit.
#include \"kernels/source.h\"
namespace weft::kernels {
const KernelSource kKernelSources[] = {
${entries}    {nullptr, nullptr, nullptr}};
}  // namespace weft::kernels
")
