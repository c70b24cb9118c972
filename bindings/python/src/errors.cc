// Weft's errors as Python's.
#include "core.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_map>

#include "weft/custom_kernel.h"
#include "weft/error.h"
#include "weft/webnn/error.h"

namespace weft::python {
namespace {

// A class of errors: that of Weft, the name of a class of Python's own for it, or else one that is Python's.
struct ErrorRow {
  bool (*is)(const std::exception& e);
  const char* own;             // "DeviceLost", "webnn.OperationError"; null: the base itself
  PyObject* const* base;       // what it derives from
  const char* text = nullptr;  // of its own class, for help()
  bool in_python = false;      // the message is of the library's functions, and gets Python's words
  PyObject* type = nullptr;
};
template <class E>
bool is(const std::exception& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}

PyObject* kernel_error = nullptr;  // made after ValidationError, from which it derives

// The first that fits counts: those that derive from others stand in front of them.
ErrorRow rows[] = {
    {is<ShapeError>, nullptr, &PyExc_ValueError, nullptr, true},
    {is<TypeError>, nullptr, &PyExc_TypeError, nullptr, true},
    {is<IndexError>, nullptr, &PyExc_IndexError, nullptr, true},
    {is<InvalidArgument>, nullptr, &PyExc_ValueError, nullptr, true},
    {is<Unsupported>, "Unsupported", &PyExc_NotImplementedError,
     "A valid request that this device, or this version, cannot carry out.", true},
    {is<LinAlgError>, "LinAlgError", &PyExc_ValueError, "A matrix has no inverse, solution or factor.", true},
    {is<IoError>, nullptr, &PyExc_OSError},
    {is<FormatError>, "FormatError", &PyExc_ValueError, "Data from outside (a file, a model) is malformed."},
    {is<OutOfMemory>, nullptr, &PyExc_MemoryError},
    {is<NoDevice>, "NoDevice", &PyExc_RuntimeError, "No device fits the request."},
    {is<DeviceLost>, "DeviceLost", &PyExc_RuntimeError,
     "The device is gone; arrays on it are lost, and device() opens another."},
    {is<KernelError>, nullptr, &kernel_error},
    {is<ValidationError>, "ValidationError", &PyExc_RuntimeError, "The device refused what it was given."},
    {is<InternalError>, "InternalError", &PyExc_RuntimeError,
     "Something in Weft that should not be possible: please report it."},
    {is<webnn::TypeError>, nullptr, &PyExc_TypeError},
    {is<webnn::InvalidStateError>, "webnn.InvalidStateError", &PyExc_RuntimeError,
     "Something was used that was destroyed, built already, or lost."},
    {is<webnn::OperationError>, "webnn.OperationError", &PyExc_RuntimeError, "A graph could not be compiled or run."},
    {is<webnn::UnknownError>, "webnn.UnknownError", &PyExc_RuntimeError, "Memory could not be had or read."},
    {is<webnn::NotSupportedError>, "webnn.NotSupportedError", &PyExc_NotImplementedError,
     "There is no such context here."},
    {is<Error>, nullptr, &PyExc_RuntimeError},
    {is<std::bad_alloc>, nullptr, &PyExc_MemoryError},
};

// ---- Messages in Python's words

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
// Whether the text at [begin, end) stands alone: no part of a name, a path, a quotation or a type such as array<f32>.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kBefore = " (,[", kAfter = " ),:;]";
  if (begin > 0 && kBefore.find(text[begin - 1]) == kBefore.npos) return false;
  if (end == text.size() || kAfter.find(text[end]) != kAfter.npos) return true;
  return text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' ');
}

// Messages quote what is in files and arguments, which may be any bytes: those that are no UTF-8 are \xNN.
nb::object decoded(std::string_view text) {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (!made) nb::raise_python_error();
  return nb::steal(made);
}
void set_text(PyObject* type, std::string_view text) { PyErr_SetObject(type, decoded(text).ptr()); }

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// The library's messages have C++'s names of types and functions. Those of a program's kernels have WGSL's.
std::string in_python(std::string_view text) {
  if (text.starts_with("kernel '")) return std::string(text);
  static const auto& words = *new std::unordered_map<std::string_view, std::string>([] {
    std::unordered_map<std::string_view, std::string> all = {
        {"nullopt", "None"}, {"tensor", "array"}, {"tensors", "arrays"}};
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto type = static_cast<DType>(i);
      all.emplace(name(type), nb::cast<std::string>(nb::str(dtype_object(type))));
    }
    return all;
  }());
  constexpr std::pair<std::string_view, std::string_view> kPhrases[] = {
      {"random::", "random."},
      {"linalg::", "linalg."},
      {"an undefined Tensor", "an undefined array, which was donated to a compiled function"},
      {"a tensor ", "an array "},
      {"std::nullopt", "None"},
  };
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const auto phrase =
        std::ranges::find_if(kPhrases, [&](const auto& p) { return text.substr(at).starts_with(p.first); });
    if (phrase != std::end(kPhrases) && (at == 0 || !is_word(text[at - 1]))) {
      made += phrase->second;
      at += phrase->first.size();
      continue;
    }
    if (!is_word(text[at])) {
      made += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const auto found = words.find(word);
    made += found != words.end() && stands_alone(text, at, end) ? std::string_view(found->second) : word;
    at = end;
  }
  if (has(made, "float64 and complex64 have no type in common") ||
      has(made, "complex64 and float64 have no type in common")) {
    made += "; there is no complex128";
  }
  if (has(made, "complex128' is no data type")) made += "; complex numbers are complex64";
  return made;
}

bool set_weft_error(const std::exception& e) {
  for (const ErrorRow& row : rows) {
    if (!row.is(e)) continue;
    if (const auto* kernel = dynamic_cast<const KernelError*>(&e)) {
      const nb::object error = nb::handle(kernel_error)(decoded(e.what()));
      error.attr("line") = kernel->line();
      error.attr("message") = decoded(kernel->message());
      PyErr_SetObject(kernel_error, error.ptr());
      return true;
    }
    if (!row.in_python) {
      set_text(row.type ? row.type : *row.base, e.what());
      return true;
    }
    const std::string text = in_python(e.what());
    // An index into an axis of no elements, which the library takes for an error of shapes.
    const bool is_index = row.is == is<ShapeError> && text.ends_with("has nothing to pick from");
    set_text(is_index ? PyExc_IndexError : row.type ? row.type : *row.base, text);
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
      set_text(i < std::size(kTypes) ? *kTypes[i] : PyExc_RuntimeError, e.what());
    }
  } catch (const std::exception& e) {
    if (!set_weft_error(e)) set_text(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception of an unknown type");
  }
}

void add_errors(nb::module_& m) {
  for (ErrorRow& row : rows) {
    if (!row.own) continue;
    row.type = PyErr_NewExceptionWithDoc((std::string("weft.") + row.own).c_str(), row.text, *row.base, nullptr);
    if (!row.type) nb::raise_python_error();
    m.attr(std::string(row.own).substr(std::string_view(row.own).rfind('.') + 1).c_str()) = nb::borrow(row.type);
    if (row.is == is<ValidationError>) {
      kernel_error = PyErr_NewExceptionWithDoc("weft.KernelError",
                                               "The WGSL compiler rejected a kernel(): `message` is the compiler's, "
                                               "`line` counts from 1 in the kernel's text.",
                                               row.type, nullptr);
    }
  }
  if (!kernel_error) nb::raise_python_error();
  m.attr("KernelError") = nb::borrow(kernel_error);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const std::exception& e) {
      if (!set_weft_error(e)) throw;
    }
  });
}

}  // namespace weft::python
