# Weft's dependencies. weft_dependencies collects those that only the implementation needs.
include(GNUInstallDirs)

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
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(TBB REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n)
find_package(libzip REQUIRED)
find_package(Threads REQUIRED)
find_path(MINJA_INCLUDE_DIR minja.hpp PATH_SUFFIXES minja REQUIRED)
# The header alone: src/memory/buffer.cc compiles all of it.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
if(NOT XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR
    "xxHash's header xxhash.h (0.8 or later) was not found.\n"
    "  Debian has it as libxxhash-dev, vcpkg as its port `xxhash`; ./dev build makes an environment that has it.\n"
    "  Elsewhere pass -DXXHASH_INCLUDE_DIR=<the directory that has xxhash.h>.")
endif()

add_library(weft_dependencies INTERFACE)
target_link_libraries(weft_dependencies INTERFACE
  nlohmann_json::nlohmann_json fmt::fmt spdlog::spdlog TBB::tbb ICU::uc ICU::i18n libzip::zip Threads::Threads)
target_include_directories(weft_dependencies SYSTEM INTERFACE ${MINJA_INCLUDE_DIR} ${XXHASH_INCLUDE_DIR})
