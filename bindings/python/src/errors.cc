// Weft's errors as Python's.
#include "core.h"
#include "weft/error.h"

namespace weft::python {
namespace {

// A class of errors: that of Weft, the name of a class of Python's own for it, or else one that is Python's.
struct ErrorRow {
  bool (*is)(const std::exception& e);
  const char* own;         // weft.DeviceLost; null: the base itself
  PyObject* const* base;   // what it derives from
  PyObject* type = nullptr;
};
template <class E>
bool is(const std::exception& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}

// The first that fits counts: those that derive from others stand in front of them.
ErrorRow rows[] = {
    {is<ShapeError>, nullptr, &PyExc_ValueError},
    {is<TypeError>, nullptr, &PyExc_TypeError},
    {is<IndexError>, nullptr, &PyExc_IndexError},
    {is<InvalidArgument>, nullptr, &PyExc_ValueError},
    {is<Unsupported>, "Unsupported", &PyExc_NotImplementedError},
    {is<LinAlgError>, "LinAlgError", &PyExc_ValueError},
    {is<IoError>, nullptr, &PyExc_OSError},
    {is<FormatError>, "FormatError", &PyExc_ValueError},
    {is<OutOfMemory>, nullptr, &PyExc_MemoryError},
    {is<NoDevice>, "NoDevice", &PyExc_RuntimeError},
    {is<DeviceLost>, "DeviceLost", &PyExc_RuntimeError},
    {is<ValidationError>, "ValidationError", &PyExc_RuntimeError},
    {is<InternalError>, "InternalError", &PyExc_RuntimeError},
    {is<Error>, nullptr, &PyExc_RuntimeError},
    {is<std::bad_alloc>, nullptr, &PyExc_MemoryError},
};

bool set_weft_error(const std::exception& e) {
  for (const ErrorRow& row : rows) {
    if (!row.is(e)) continue;
    PyErr_SetString(row.type ? row.type : *row.base, e.what());
    return true;
  }
  return false;
}

}  // namespace

void set_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const nb::builtin_exception& e) {
    if (e.type() == nb::exception_type::stop_iteration) {
      PyErr_SetNone(PyExc_StopIteration);
    } else {
      static PyObject* const* const kTypes[] = {&PyExc_RuntimeError, &PyExc_StopIteration, &PyExc_IndexError,
                                                &PyExc_KeyError,     &PyExc_ValueError,    &PyExc_TypeError,
                                                &PyExc_BufferError,  &PyExc_ImportError,   &PyExc_AttributeError};
      const auto i = static_cast<std::size_t>(e.type());
      PyErr_SetString(i < std::size(kTypes) ? *kTypes[i] : PyExc_RuntimeError, e.what());
    }
  } catch (const std::exception& e) {
    if (!set_weft_error(e)) PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception of an unknown type");
  }
}

void add_errors(nb::module_& m) {
  for (ErrorRow& row : rows) {
    if (!row.own) continue;
    row.type = PyErr_NewException((std::string("weft.") + row.own).c_str(), *row.base, nullptr);
    if (!row.type) nb::raise_python_error();
    m.attr(row.own) = nb::borrow(row.type);
  }
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const std::exception& e) {
      if (!set_weft_error(e)) throw;
    }
  });
}

}  // namespace weft::python
