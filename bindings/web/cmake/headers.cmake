# The libraries that Weft uses are headers alone here: those of the system are for another machine. Their headers lie
# beside that machine's C library, so only links to them are on the compiler's path.
set(WEFT_WEB_SYSTEM_HEADERS /usr/include CACHE PATH "Where the headers of webgpu, fmt, spdlog, nlohmann and others are")
set(WEFT_WEB_HEADERS ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${WEFT_WEB_HEADERS})

# weft_web_package(TARGET NAMES...): makes the target, whose headers are these names of the system's directory.
function(weft_web_package target)
  foreach(name IN LISTS ARGN)
    if(NOT EXISTS ${WEFT_WEB_SYSTEM_HEADERS}/${name})
      message(FATAL_ERROR "${WEFT_WEB_SYSTEM_HEADERS}/${name} was not found: ./dev web has an environment that has it")
    endif()
    file(CREATE_LINK ${WEFT_WEB_SYSTEM_HEADERS}/${name} ${WEFT_WEB_HEADERS}/${name} SYMBOLIC)
  endforeach()
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
  endif()
  target_include_directories(${target} SYSTEM INTERFACE ${WEFT_WEB_HEADERS})
endfunction()

weft_web_package(weft_web_files minja xxhash.h)
set(MINJA_INCLUDE_DIR ${WEFT_WEB_HEADERS}/minja CACHE PATH "")
set(XXHASH_INCLUDE_DIR ${WEFT_WEB_HEADERS} CACHE PATH "")
