# Writes OUTPUT: a C++ table of the KERNELS' names and texts, looked up by src/kernels/source.cc, and a fingerprint of
# all that shaders are made of: the KERNELS without their comments, which no shader has, and the GENERATORS, the C++
# sources that write WGSL.
set(entries "")
set(hashes "")
# without_comments(TEXT RESULT): sets RESULT to TEXT without its {# comments #}, and without the rest of the lines of
# those that begin a line, as src/kernels/template.cc takes them away.
function(without_comments text result)
  set(rest "\n${text}")
  set(kept "")
  string(FIND "${rest}" "{#" begin)
  while(NOT begin EQUAL -1)
    string(SUBSTRING "${rest}" 0 ${begin} before)
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "#}" end)
    math(EXPR end "${end} + 2")
    string(SUBSTRING "${rest}" ${end} -1 rest)
    if(before MATCHES "\n$" AND rest MATCHES "^\n")
      string(SUBSTRING "${rest}" 1 -1 rest)
    endif()
    string(APPEND kept "${before}")
    string(FIND "${rest}" "{#" begin)
  endwhile()
  set(${result} "${kept}${rest}" PARENT_SCOPE)
endfunction()
foreach(path IN LISTS GENERATORS)
  file(SHA256 ${path} hash)
  string(APPEND hashes ${hash})
endforeach()
foreach(path IN LISTS KERNELS)
  file(READ ${path} text)
  without_comments("${text}" text)
  string(SHA256 hash "${text}")
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 fingerprint "${hashes}")
string(SUBSTRING ${fingerprint} 0 16 fingerprint)
include(${CMAKE_CURRENT_LIST_DIR}/raw_literal.cmake)
foreach(path IN LISTS KERNELS)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  raw_literal("${text}" text)
  string(APPEND entries "    {\"${name}\", \"${path}\", ${text}},\n")
endforeach()
file(WRITE ${OUTPUT}.new
"// Generated from src/kernels/**/*.wgsl; do not edit.
#include \"kernels/source.h\"
namespace weft::kernels {
const char kSourcesFingerprint[] = \"${fingerprint}\";
const KernelSource kKernelSources[] = {
${entries}    {nullptr, nullptr, nullptr}};
}  // namespace weft::kernels
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(TOUCH ${OUTPUT})
