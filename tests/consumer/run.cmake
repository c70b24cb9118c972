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
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/fetched -B ${WORK}/fetched -DFETCHCONTENT_SOURCE_DIR_WEFT=${PROJECT} ${EXTRA})
run(${CMAKE_COMMAND} --build ${WORK}/fetched --target CMakeFiles/consumer.dir${SOURCE}/main.cc.o)
