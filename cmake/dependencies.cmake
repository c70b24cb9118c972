# Finds what the library needs. weft_dependencies collects, for programs that read src/, what only the implementation
# needs; weft_headers those of them that are headers alone.
include(GNUInstallDirs)
include(cmake/targets.cmake)

if(EMSCRIPTEN)
  list(PREPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/bindings/web/cmake)
  include(bindings/web/cmake/headers.cmake)
endif()
find_package(Dawn QUIET)
if(NOT Dawn_FOUND)
  message(FATAL_ERROR
    "Dawn's CMake package was not found.\n"
    "  Debian testing has it as libwebgpu-dawn-dev; ./dev build makes such an environment by itself.\n"
    "  Elsewhere: vcpkg's port `dawn`, or a Dawn of your own, built with -DDAWN_ENABLE_INSTALL=ON and installed:\n"
    "  then pass -DDawn_DIR=<the directory that has DawnConfig.cmake>.")
endif()
# For ./dev install, which copies Dawn's headers.
find_path(WEFT_DAWN_INCLUDE_DIR webgpu/webgpu_cpp.h HINTS ${Dawn_DIR}/../../../include ${Dawn_DIR}/../../../../include REQUIRED)
mark_as_advanced(WEFT_DAWN_INCLUDE_DIR)

find_package(nlohmann_json REQUIRED)
find_path(MINJA_INCLUDE_DIR minja.hpp PATH_SUFFIXES minja REQUIRED)
# The header alone: src/memory/buffer.cc compiles all of it.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
if(NOT XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR
    "xxHash's header xxhash.h (0.8 or later) was not found.\n"
    "  Debian has it as libxxhash-dev, vcpkg as its port `xxhash`; ./dev build makes an environment that has it.\n"
    "  Elsewhere pass -DXXHASH_INCLUDE_DIR=<the directory that has xxhash.h>.")
endif()
add_library(weft_headers INTERFACE)
target_link_libraries(weft_headers INTERFACE nlohmann_json::nlohmann_json)
target_include_directories(weft_headers SYSTEM INTERFACE ${MINJA_INCLUDE_DIR} ${XXHASH_INCLUDE_DIR})

# Without TBB, loops run on threads of src/core/thread_pool.h. The thread sanitizer would not see the order of TBB's tasks.
option(WEFT_TBB "Run loops on oneTBB, where it is found" ON)
set(WEFT_HAS_TBB OFF)
if(WEFT_TBB AND NOT WEFT_SANITIZE MATCHES "thread")
  find_package(TBB QUIET)
  set(WEFT_HAS_TBB ${TBB_FOUND})
endif()
if(NOT WEFT_HAS_TBB)
  message(STATUS "Weft: loops run on threads of its own, without TBB")
endif()

# Without LAPACK, matrices are decomposed by loops of the kernels' own. CMake's BLA_VENDOR chooses among several; OpenBLAS
# has BLAS and LAPACK in one library. It was not built with the thread sanitizer, which does not see the order of its threads.
option(WEFT_LAPACK "Decompose matrices on the cpu by LAPACK, where it is found" ON)
set(WEFT_HAS_LAPACK OFF)
if(WEFT_LAPACK AND NOT WEFT_SANITIZE MATCHES "thread")
  find_package(LAPACK QUIET)
  set(WEFT_HAS_LAPACK ${LAPACK_FOUND})
endif()
if(WEFT_HAS_LAPACK)
  list(JOIN LAPACK_LIBRARIES " " libraries)
  message(STATUS "Weft: matrices are decomposed on the cpu by ${libraries}")
  set(WEFT_PC_LAPACK ${LAPACK_LIBRARIES})
else()
  message(STATUS "Weft: matrices are decomposed on the cpu by loops of its own, without LAPACK")
endif()

# Without libzip, .npz files are refused.
option(WEFT_LIBZIP "Read and write .npz files by libzip" ON)
set(WEFT_HAS_libzip ${WEFT_LIBZIP})

# A page has JavaScript's Unicode (src/text/unicode_web.cc).
set(WEFT_HAS_ICU ON)
if(EMSCRIPTEN)
  set(WEFT_HAS_ICU OFF)
endif()

foreach(package TBB LAPACK libzip ICU)
  if(NOT WEFT_HAS_${package})
    foreach(component IN LISTS WEFT_BUILT)
      list(REMOVE_ITEM WEFT_USES_${component} ${package})
    endforeach()
  endif()
endforeach()

add_library(weft_dependencies INTERFACE)
target_link_libraries(weft_dependencies INTERFACE weft_headers)
foreach(component IN LISTS WEFT_BUILT)
  foreach(package IN LISTS WEFT_USES_${component})
    find_package(${WEFT_FIND_${package}} REQUIRED)
    target_link_libraries(weft_dependencies INTERFACE ${WEFT_LINKS_${package}})
    # All targets have the definitions of all packages, since they have one precompiled header.
    foreach(link IN LISTS WEFT_LINKS_${package})
      target_compile_definitions(weft_headers INTERFACE $<TARGET_PROPERTY:${link},INTERFACE_COMPILE_DEFINITIONS>)
    endforeach()
  endforeach()
endforeach()
