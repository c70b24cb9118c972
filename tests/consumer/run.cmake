# Installs BUILD into a fresh prefix under WORK, then builds and runs the consumers against it, of all of Weft and of the
# kernels alone, once through CMake's package and once through pkg-config. Then compiles one as a project that has Weft's
# sources as a part (FetchContent), without building these a second time.
#   cmake -DBUILD=… -DSOURCE=… -DPROJECT=… -DWORK=… -DLIBDIR=… -P run.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix ${EXTRA})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

# Where Dawn is not to be found, the package says what to do.
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/without -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_DISABLE_FIND_PACKAGE_Dawn=ON ${EXTRA} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(status EQUAL 0 OR NOT output MATCHES "-DDawn_DIR=.*\\./dev install DIR")
  message(FATAL_ERROR "without Dawn find_package(weft) gives ${status} and says: ${output}")
endif()

# The kernels alone, where what only other parts need is not to be found; none of it is linked.
set(without -DCMAKE_DISABLE_FIND_PACKAGE_ICU=ON -DCMAKE_DISABLE_FIND_PACKAGE_libzip=ON)
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/kernels -B ${WORK}/kernels -DCMAKE_PREFIX_PATH=${WORK}/prefix ${without} ${EXTRA})
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/kernels --verbose OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
if(NOT commands MATCHES "libweft_kernels\\." OR commands MATCHES "icu|libzip|-lzip|weft_t|weft_models|weft_profile")
  message(FATAL_ERROR "weft::kernels is linked with what it does not need:\n${commands}")
endif()
run(${WORK}/kernels/consumer)

# What cannot be found is named.
function(expect_refusal components message)
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/components -B ${WORK}/refused -DCMAKE_PREFIX_PATH=${WORK}/prefix
    "-DCOMPONENTS=${components}" ${without} ${EXTRA} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "${message}")
    message(FATAL_ERROR "find_package(weft COMPONENTS ${components}) gives ${status} and says: ${output}")
  endif()
endfunction()
expect_refusal("kernels;nets" "no component 'nets'. Its components are kernels, tensors, text, profile, models")
if(EXISTS ${WORK}/prefix/${LIBDIR}/libweft_text.a)  # a shared library links them itself
  expect_refusal(models "weft::models needs what was not found: ICU, libzip")
endif()

find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG AND NOT EXTRA)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/${LIBDIR}/pkgconfig)
  foreach(package weft weft_kernels)
    execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${package}
      OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    set(main ${SOURCE}/main.cc)
    if(package STREQUAL weft_kernels)
      set(main ${SOURCE}/kernels/main.cc)
    endif()
    run(c++ ${main} -o ${WORK}/${package}_pkg ${flags})
    run(${WORK}/${package}_pkg)
  endforeach()
endif()

# A user names the repository and a commit; here the sources are at hand.
file(COPY ${SOURCE}/fetched/CMakeLists.txt ${SOURCE}/main.cc DESTINATION ${WORK}/fetched)
run(${CMAKE_COMMAND} -G Ninja -S ${WORK}/fetched -B ${WORK}/fetched/build -DFETCHCONTENT_SOURCE_DIR_WEFT=${PROJECT} ${EXTRA})
run(${CMAKE_COMMAND} --build ${WORK}/fetched/build --target CMakeFiles/consumer.dir/main.cc.o)
# Or a part of them.
file(COPY ${SOURCE}/fetched/CMakeLists.txt ${SOURCE}/kernels/main.cc DESTINATION ${WORK}/fetched_kernels)
run(${CMAKE_COMMAND} -G Ninja -S ${WORK}/fetched_kernels -B ${WORK}/fetched_kernels/build -DFETCHCONTENT_SOURCE_DIR_WEFT=${PROJECT}
  -DWEFT_COMPONENTS=kernels ${without} ${EXTRA})
run(${CMAKE_COMMAND} --build ${WORK}/fetched_kernels/build --target CMakeFiles/consumer.dir/main.cc.o)
