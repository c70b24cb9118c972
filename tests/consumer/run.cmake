# Installs BUILD into a fresh prefix under WORK, then builds and runs the consumer against it, once through CMake's
# package and once through pkg-config. Then compiles it as a project that has Weft's sources as a part (FetchContent),
# without building these a second time.
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

find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG AND NOT EXTRA)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs weft
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags)
  run(c++ ${SOURCE}/main.cc -o ${WORK}/consumer_pkg ${flags})
  run(${WORK}/consumer_pkg)
endif()

# A user names the repository and a commit; here the sources are at hand.
file(COPY ${SOURCE}/fetched/CMakeLists.txt ${SOURCE}/main.cc DESTINATION ${WORK}/fetched)
run(${CMAKE_COMMAND} -G Ninja -S ${WORK}/fetched -B ${WORK}/fetched/build -DFETCHCONTENT_SOURCE_DIR_WEFT=${PROJECT} ${EXTRA})
run(${CMAKE_COMMAND} --build ${WORK}/fetched/build --target CMakeFiles/consumer.dir/main.cc.o)
