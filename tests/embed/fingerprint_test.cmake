# The fingerprint of the WGSL templates, by which shaders are stored on disk, is that of their texts without comments.
#   cmake -DSOURCE=PROJECT_DIR -DFOLDER=SCRATCH_DIR -P fingerprint_test.cmake
function(fingerprint text result)
  file(WRITE ${FOLDER}/template.wgsl "${text}")
  file(WRITE ${FOLDER}/generator.cc "")
  execute_process(COMMAND ${CMAKE_COMMAND} "-DFILES=${FOLDER}/template.wgsl;${FOLDER}/generator.cc"
    -DOUTPUT=${FOLDER}/table.cc -P ${SOURCE}/cmake/generated/fingerprint.cmake COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${FOLDER}/table.cc line REGEX "kSourcesFingerprint")
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

fingerprint("{# One;\n  options:\n    a: 1, 2\n#}\nlet x = 1;\n" first)
foreach(same "let x = 1;\n" "{# [Another]. #}\nlet x = 1;\n{# Behind it. #}\n" "let x = {# here #}1;\n")
  fingerprint("${same}" got)
  if(NOT got STREQUAL first)
    message(FATAL_ERROR "Comments change the fingerprint of\n${same}: ${got}, expected ${first}")
  endif()
endforeach()
fingerprint("{# One. #}\nlet x = 2;\n" other)
if(first STREQUAL "" OR other STREQUAL first)
  message(FATAL_ERROR "Another text has the same fingerprint: ${other}")
endif()
