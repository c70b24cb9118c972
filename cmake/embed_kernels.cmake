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
# Microsoft's compiler takes string literals of 16 KiB at most, but joins adjacent ones.
function(split_literal text result)
  set(parts "")
  string(LENGTH "${text}" length)
  while(length GREATER 12000)
    string(SUBSTRING "${text}" 0 12000 part)
    string(FIND "${part}" "\n" end REVERSE)
    string(SUBSTRING "${text}" 0 ${end} part)
    string(APPEND parts "${part})WGSL\" R\"WGSL(")
    string(SUBSTRING "${text}" ${end} -1 text)
    string(LENGTH "${text}" length)
  endwhile()
  set(${result} "${parts}${text}" PARENT_SCOPE)
endfunction()

foreach(path IN LISTS KERNELS)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  split_literal("${text}" text)
  string(APPEND entries "    {\"${name}\", \"${path}\", R\"WGSL(${text})WGSL\"},\n")
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
