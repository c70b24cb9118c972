#!/usr/bin/env bash
# install.sh PROJECT BUILD DIRECTORY
# Installs Weft so that it runs, and programs are built against it, on any Linux of this processor family:
#   bin/weft              the program, started through the bundled loader
#   include/weft/         the public headers
#   lib/libweft.so        the library, with C++'s standard interface to its callers
#   lib/cmake/weft/       find_package(weft): the target weft::weft, of which each of its components is another name
#   lib/pkgconfig/        pkg-config weft
#   lib/weft/             a bundle (bundle.sh) of all that these load, with Dawn's headers
# Other files in DIRECTORY are kept. The directory may be moved; programs that were linked before name its old place.
# Runs in the environment (./dev install).
set -euo pipefail

project=$1
build=$2
mkdir -p "$3"
directory=$(cd "$3" && pwd -P)

bash "$project/cmake/environment/bundle.sh" "$project" "$build" "$directory/lib/weft" '' weft "$build/libweft.so"
loader=$(cd "$directory/lib/weft/lib" && echo ld-linux*)

mkdir -p "$directory"/{bin,include,lib/cmake/weft,lib/pkgconfig}
rm -rf "$directory/include/weft"
cp -r "$project/include/weft" "$directory/include/weft"
cp "$build/include/weft/version.h" "$directory/include/weft/version.h"
dawn=$(sed -n 's/^WEFT_DAWN_INCLUDE_DIR:PATH=//p' "$build/CMakeCache.txt")
mkdir "$directory/lib/weft/include"
cp -r "$dawn/webgpu" "$dawn/dawn" "$directory/lib/weft/include/"

# Whole under its name at any time, as programs may run that have it loaded.
strip --strip-unneeded -o "$directory/lib/libweft.so.partial" "$build/libweft.so"
mv -T "$directory/lib/libweft.so.partial" "$directory/lib/libweft.so"
soname=$(cd "$directory/lib/weft/lib" && echo libwebgpu_dawn.so*)
ln -sfT "weft/lib/$soname" "$directory/lib/libwebgpu_dawn.so"

cat >"$directory/bin/weft" <<'END_OF_FILE'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/../lib/weft/run" weft "$@"
END_OF_FILE
chmod +x "$directory/bin/weft"

# How programs are linked: they are loaded by the bundled loader with the bundled C library, which is that of the
# libraries, so it does not matter that the host's is older. --disable-new-dtags: the path is valid for what the
# libraries load, too.
link="-Wl,--disable-new-dtags,-rpath,@lib@,-rpath,@lib@/weft/lib,-dynamic-linker,@lib@/weft/lib/$loader,--allow-shlib-undefined"
version=$(sed -n 's/^#define WEFT_VERSION "\(.*\)"$/\1/p' "$directory/include/weft/version.h")
# (Not -isystem, whose directory pkg-config does not escape: it would break in one with a space in its name.)
cat >"$directory/lib/pkgconfig/weft.pc" <<END_OF_FILE
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: weft
Description: Tensors and neural networks on any GPU through WebGPU
Version: $version
Cflags: -I\${includedir} -I\${libdir}/weft/include -std=c++20
Libs: -L\${libdir} -lweft -lwebgpu_dawn ${link//@lib@/\$\{libdir\}}
END_OF_FILE
cp "$build/weftConfigVersion.cmake" "$build/weftComponents.cmake" "$directory/lib/cmake/weft/"
cat >"$directory/lib/cmake/weft/weftConfig.cmake" <<END_OF_FILE
# Weft with all that it loads: needs no other package. The one library has every component.
include(\${CMAKE_CURRENT_LIST_DIR}/weftComponents.cmake)
weft_check_components()
if(NOT weft_FOUND)
  return()
endif()
if(NOT TARGET weft::weft)
  get_filename_component(_weft_prefix "\${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
  add_library(weft::weft SHARED IMPORTED)
  set_target_properties(weft::weft PROPERTIES
    IMPORTED_LOCATION "\${_weft_prefix}/lib/libweft.so"
    IMPORTED_NO_SONAME FALSE
    IMPORTED_SONAME libweft.so
    INTERFACE_INCLUDE_DIRECTORIES "\${_weft_prefix}/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "\${_weft_prefix}/lib/weft/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "\${_weft_prefix}/lib/libwebgpu_dawn.so"
    INTERFACE_LINK_OPTIONS "${link//@lib@/\$\{_weft_prefix\}/lib}")
  set_property(TARGET weft::weft APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES "\${_weft_prefix}/lib/weft/include")
  unset(_weft_prefix)
endif()
foreach(_weft_component IN LISTS _weft_components)
  set(weft_\${_weft_component}_FOUND TRUE)
  if(NOT TARGET weft::\${_weft_component})
    add_library(weft::\${_weft_component} INTERFACE IMPORTED)
    target_link_libraries(weft::\${_weft_component} INTERFACE weft::weft)
  endif()
endforeach()
END_OF_FILE
cat >&2 <<END_OF_FILE
dev: installed into $directory ($(du -sh "$directory/lib/weft" | cut -f 1)):
  the program           $directory/bin/weft
  CMake                 find_package(weft) with -DCMAKE_PREFIX_PATH=$directory
  other build systems   pkg-config weft with PKG_CONFIG_PATH=$directory/lib/pkgconfig
END_OF_FILE
