# Writes OUTPUT: a C++ table of the KERNELS' names and texts, looked up by src/kernels/source.cc, and a fingerprint of
# all that shaders are made of: the KERNELS and the GENERATORS, the C++ sources that write WGSL.
set(entries "")
set(hashes "")
foreach(path IN LISTS KERNELS GENERATORS)
  file(SHA256 ${path} hash)
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
