// weft._core.
#include "command_line.h"
#include "core.h"
#include "weft/version.h"

NB_MODULE(_core, m) {
  using namespace weft::python;
  // Classes are called by the package's name, which people know.
  const nanobind::object own_name = m.attr("__name__");
  m.attr("__name__") = "weft";
  add_errors(m);
  add_waiting(m);
  add_lines(m);
  add_devices(m);
  add_dtypes(m);
  add_array(m);
  add_values(m);
  add_indexing(m);
  add_interchange(m);
  add_functions(m);
  add_transforms(m);
  add_files(m);
  add_kernels(m);
  add_profiles(m);
  add_webnn(m);
  add_onnx(m);
  add_command_line(m);
  m.attr("__name__") = own_name;
  m.attr("version") = WEFT_VERSION;
  // What lives when the interpreter ends may be a program's, or another extension's doing. Tests want to know.
  nanobind::set_leak_warnings(false);
  m.def("set_leak_warnings", [](bool told) { nanobind::set_leak_warnings(told); });
}
