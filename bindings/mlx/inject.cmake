# Builds MLX with Weft as its GPU, without a change to MLX's source:
#   cmake -DCMAKE_PROJECT_mlx_INCLUDE=<this file> -DCMAKE_PREFIX_PATH=<an installed Weft> <MLX's source>
# CMake includes it at the end of MLX's project(); what is deferred runs when MLX's targets are complete.

if(NOT PROJECT_VERSION VERSION_EQUAL 0.32.4)
  message(FATAL_ERROR "Weft's backend is one for MLX 0.32.4, and this is ${PROJECT_VERSION}")
endif()
find_package(weft REQUIRED COMPONENTS kernels)
find_package(nlohmann_json REQUIRED)
find_package(doctest REQUIRED)

set(BUILD_SHARED_LIBS ON)
set(MLX_BUILD_GGUF OFF)
set(USE_SYSTEM_FMT ON)
# MLX uses functions of shared pointers that C++20 advises against, in a header that all its sources include.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wno-deprecated-declarations>)

# What MLX would fetch are the system's packages, in folders with the structure of their sources.
set(FETCHCONTENT_FULLY_DISCONNECTED ON)
set(WEFT_MLX_PACKAGES ${CMAKE_BINARY_DIR}/packages)
set(FETCHCONTENT_SOURCE_DIR_JSON ${WEFT_MLX_PACKAGES}/json)
set(FETCHCONTENT_SOURCE_DIR_DOCTEST ${WEFT_MLX_PACKAGES}/doctest)
get_target_property(WEFT_JSON_INCLUDE nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY ${WEFT_MLX_PACKAGES}/json/single_include ${WEFT_MLX_PACKAGES}/doctest/scripts/cmake)
list(GET WEFT_JSON_INCLUDE 0 WEFT_JSON_INCLUDE)
file(CREATE_LINK ${WEFT_JSON_INCLUDE}/nlohmann ${WEFT_MLX_PACKAGES}/json/single_include/nlohmann SYMBOLIC)
file(WRITE ${WEFT_MLX_PACKAGES}/doctest/scripts/cmake/doctest.cmake "include(${doctest_DIR}/doctest.cmake)\n")
add_library(doctest INTERFACE)
target_link_libraries(doctest INTERFACE doctest::doctest)

set(WEFT_MLX_DIR ${CMAKE_CURRENT_LIST_DIR})
function(weft_mlx_backend)
  # Six files stand for a GPU that is not there.
  get_target_property(sources mlx SOURCES)
  set(without ${sources})
  list(FILTER without INCLUDE REGEX "/backend/no_gpu/")
  list(LENGTH without count)
  if(NOT count EQUAL 6)
    message(FATAL_ERROR "MLX has ${count} sources in backend/no_gpu, not 6")
  endif()
  list(REMOVE_ITEM sources ${without})
  set_target_properties(mlx PROPERTIES SOURCES "${sources}")
  file(GLOB ours CONFIGURE_DEPENDS ${WEFT_MLX_DIR}/*.cpp)
  set(gpu ${PROJECT_SOURCE_DIR}/mlx/backend/gpu)
  target_sources(mlx PRIVATE ${ours} ${gpu}/primitives.cpp ${gpu}/copy.cpp ${gpu}/slicing.cpp)
  target_link_libraries(mlx PRIVATE $<BUILD_INTERFACE:weft::kernels>)
  # Programs that link MLX see MLX alone. It finds what it loads beside itself.
  target_link_options(mlx PRIVATE LINKER:--exclude-libs,ALL LINKER:--disable-new-dtags)
  set_target_properties(mlx PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH $ORIGIN)
  add_executable(weft_mlx_bench ${WEFT_MLX_DIR}/bench/decode.cpp)
  target_link_libraries(weft_mlx_bench PRIVATE mlx)
  # It takes the device from the backend, to lose it.
  add_executable(weft_mlx_lost_device ${WEFT_MLX_DIR}/tests/lost_device.cpp)
  target_link_libraries(weft_mlx_lost_device PRIVATE mlx weft::kernels)
  if(TARGET tests)
    target_sources(tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/gpu_tests.cpp)
  endif()
endfunction()
cmake_language(DEFER CALL weft_mlx_backend)
