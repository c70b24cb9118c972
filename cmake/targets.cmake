# The library's targets, from the bottom up, and what they link.
# Each target: its name, as in weft::kernels | its rooms, which are folders of src/ | the targets below that it links |
# the packages that it links, of the next table. tests/rooms/rooms_test.py compares this with the table of rooms.
set(WEFT_TARGETS
  "kernels | core memory gpu cpu device kernels                    |              | spdlog fmt TBB LAPACK Threads"
  "tensors | files graph ops transform compiler tensor functions reports webnn onnx | kernels | libzip Threads"
  "text    | text                                                  | kernels      | ICU"
  "profile | profile                                               | tensors      |"
  "models  | models                                                | text tensors | Threads")

# Each package: its name | what find_package takes | its targets | what pkg-config says.
set(WEFT_PACKAGES
  "spdlog  | spdlog                 | spdlog::spdlog   | -lspdlog"
  "fmt     | fmt                    | fmt::fmt         | -lfmt"
  "TBB     | TBB                    | TBB::tbb         | -ltbb"
  "LAPACK  | LAPACK                 | LAPACK::LAPACK   |"
  "ICU     | ICU COMPONENTS uc i18n | ICU::uc ICU::i18n | -licui18n -licuuc"
  "libzip  | libzip                 | libzip::zip      | -lzip"
  "Threads | Threads                | Threads::Threads | -lpthread")

# weft_read_row(ROW NAMES...): sets the variable of each name to the list in its column.
function(weft_read_row row)
  string(REGEX REPLACE " *\\| *" "|" row "${row}|")
  foreach(name IN LISTS ARGN)
    string(REGEX REPLACE "^([^|]*)\\|(.*)$" "\\1;\\2" both "${row}")
    list(GET both 0 column)
    list(GET both 1 row)
    string(REPLACE " " ";" column "${column}")
    set(${name} "${column}" PARENT_SCOPE)
  endforeach()
endfunction()

# The columns as lists: WEFT_BUILT, the targets, and for each T of them WEFT_ROOMS_T, WEFT_BELOW_T and WEFT_USES_T;
# for each package P WEFT_FIND_P, WEFT_LINKS_P and WEFT_PC_P.
foreach(row IN LISTS WEFT_PACKAGES)
  weft_read_row("${row}" name find links pc)
  set(WEFT_FIND_${name} ${find})
  set(WEFT_LINKS_${name} ${links})
  set(WEFT_PC_${name} ${pc})
endforeach()
set(all "")
foreach(row IN LISTS WEFT_TARGETS)
  weft_read_row("${row}" name rooms below uses)
  list(APPEND all ${name})
  set(WEFT_ROOMS_${name} ${rooms})
  set(WEFT_BELOW_${name} ${below})
  set(WEFT_USES_${name} ${uses})
endforeach()

# Not all of them, if only some are wanted: these and what they link.
set(WEFT_COMPONENTS "" CACHE STRING "The parts of the library to build, of ${all}, with what they need; empty: all")
set(wanted ${WEFT_COMPONENTS})
list(REMOVE_ITEM wanted ${all})
if(wanted)
  message(FATAL_ERROR "WEFT_COMPONENTS has ${wanted}, and may have ${all}")
endif()
set(WEFT_BUILT ${all})
set(wanted ${WEFT_COMPONENTS})
list(REVERSE all)
foreach(component IN LISTS all)
  if(component IN_LIST wanted)
    list(APPEND wanted ${WEFT_BELOW_${component}})
  elseif(wanted)
    list(REMOVE_ITEM WEFT_BUILT ${component})
  endif()
endforeach()
