// What the sources of weft._core share. It is thin: tensors, calls of rows, waits and transformations as Python sees
// them; names, signatures and trees of arguments are the package's, in Python.
#pragma once

#include <nanobind/nanobind.h>  // first: it has Python's header
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/compile.h"
#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/future.h"
#include "weft/label.h"
#include "weft/number.h"
#include "weft/tensor.h"

namespace weft::python {

namespace nb = nanobind;

// ---- Errors (errors.cc)

// Sets Python's error for the exception that is being handled: Python's own types where it has them.
void set_error() noexcept;
// What f returns; null with Python's error set where it throws: for slots, which nanobind does not guard.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_error();
    return nullptr;
  }
}
// Throws Python's error, if it is set.
inline void check_python() {
  if (PyErr_Occurred()) nb::raise_python_error();
}
void add_errors(nb::module_& m);

// ---- Waiting and threads (waiting.cc)

// While it lives other Python threads run, and a wait for the device looks every 50 ms whether the program was
// interrupted (Ctrl-C), which then throws KeyboardInterrupt. Throws in a process that was forked from one that used
// Weft.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
// What f returns, called so.
template <class F>
decltype(auto) released(F&& f) {
  const Released other_threads_run;
  return f();
}

// An object that C++ may drop on any thread, whether that has Python's lock or not.
using SharedObject = std::shared_ptr<PyObject>;
SharedObject shared(nb::handle object);
void add_waiting(nb::module_& m);

// ---- Lines of programs (lines.cc)

struct PythonLine {
  const char* file = nullptr;  // lives as long as the process; null: there is no program
  std::uint32_t number = 0;
};
// The line of the innermost function that is not the package's.
PythonLine python_line() noexcept;
// While it lives, errors that show when tensors are computed name that line for those that are made.
class CallerLine {
 public:
  CallerLine() : CallerLine(python_line()) {}

 private:
  explicit CallerLine(const PythonLine& line) : scope_(line.file, line.number) {}
  SourceLineScope scope_;
};
void add_lines(nb::module_& m);

// ---- Data types (dtypes.cc)

nb::object dtype_object(DType type);
// The type of one of Weft's objects, a name, a type of NumPy's, or bool, int, float, complex. Throws TypeError.
DType dtype_of_object(nb::handle object);
// Also None.
std::optional<DType> optional_dtype(nb::handle object);
void add_dtypes(nb::module_& m);

// ---- Arrays (array.cc)

bool is_array(nb::handle object);
// Of an array; not checked.
Tensor& tensor_in(nb::handle array);
// A new reference.
PyObject* new_array(Tensor tensor);
inline nb::object array(Tensor tensor) { return nb::steal(new_array(std::move(tensor))); }
// None for undefined ones.
nb::list arrays(std::span<const Tensor> tensors);
// The tensors of a sequence of arrays; undefined for None. Throws TypeError for other things.
std::vector<Tensor> tensors_in(nb::handle sequence);
void add_array(nb::module_& m);

// ---- Values of Python's as tensors (values.cc)

// An array, a number, a list of such, what has memory (buffers, DLPack): as asarray() takes them.
Tensor tensor_from(nb::handle object, std::optional<DType> dtype = {});
// `copy`: never (false; throws InvalidArgument where it must), always, or where memory may be written to.
Tensor tensor_from(nb::handle object, std::optional<DType> dtype, std::optional<bool> copy);
// Memory that `owner` keeps.
Tensor of_memory(const Py_buffer& view, DType type, nb::handle owner, std::optional<bool> copy);
Tensor from_dlpack(nb::handle object, std::optional<bool> copy);
// The same as an operand: numbers stay numbers, which are weak. Nothing for what is none of them.
std::optional<TensorLike> operand_from(nb::handle object);
// A number of Python's: bool, int, float, or NumPy's. Nothing for what is none. Throws OverflowError.
std::optional<Number> number_from(nb::handle object);
std::int64_t integer_from(nb::handle object, std::string_view what);
std::vector<std::int64_t> integers_from(nb::handle object, std::string_view what);
Shape shape_from(nb::handle object);
void add_values(nb::module_& m);

// ---- The rest

// "float32", "float16", "auto"; throws InvalidArgument for others (transforms.cc).
std::optional<Precision> precision_named(const std::optional<std::string>& name);
void add_indexing(nb::module_& m);
void add_interchange(nb::module_& m);
void add_functions(nb::module_& m);
void add_transforms(nb::module_& m);
void add_devices(nb::module_& m);
void add_files(nb::module_& m);
void add_kernels(nb::module_& m);
void add_profiles(nb::module_& m);
void add_webnn(nb::module_& m);
void add_onnx(nb::module_& m);

// Of the index that Python's brackets have.
Tensor get_item(const Tensor& x, nb::handle index);
void set_item(Tensor& x, nb::handle index, nb::handle value);
// Slots of the buffer protocol.
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;
void release_buffer(PyObject* self, Py_buffer* view) noexcept;

}  // namespace weft::python
