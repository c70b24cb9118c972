// Numbers, lists and foreign memory as tensors.
#include "core.h"

#include <complex>
#include <cstring>

#include "weft/call.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/random.h"

namespace weft::python {
namespace {

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(nb::str(nb::getattr(nb::handle(Py_TYPE(object.ptr())), "__name__")));
}

// ---- Lists

// The numbers of lists that are equally long on each level. What is no number ends the walk: then the elements are
// tensors of their own.
class Numbers {
 public:
  // False if something in it is no number.
  bool add(nb::handle list) {
    if (!walk(list, 0)) return false;
    return true;
  }
  Tensor tensor(std::optional<DType> dtype) const {
    const DType type = dtype.value_or(has_complex_ ? DType::c64
                                      : has_float_ ? DType::f32
                                      : has_int_   ? integer_type()
                                      : has_bool_  ? DType::boolean
                                                   : DType::f32);
    if (!has_complex_) return from_numbers(Shape(sizes_), real_, type);
    if (type != DType::c64) {
      throw TypeError("asarray: complex numbers as " + nb::cast<std::string>(nb::str(dtype_object(type))));
    }
    std::vector<std::complex<float>> values;
    for (std::size_t i = 0; i < real_.size(); ++i) {
      values.emplace_back(static_cast<float>(real_[i].value()), static_cast<float>(imaginary_[i]));
    }
    return weft::tensor(Shape(sizes_), values);
  }

 private:
  bool walk(nb::handle object, std::size_t level) {
    const bool is_list = PyList_Check(object.ptr()), is_tuple = PyTuple_Check(object.ptr());
    if (!is_list && !is_tuple) {
      if (!number(object)) return false;
      if (level < levels_) ragged();
      return true;
    }
    const Py_ssize_t count = is_list ? PyList_Size(object.ptr()) : PyTuple_Size(object.ptr());
    if (levels_ == kUnknown || level >= sizes_.size()) {
      if (levels_ != kUnknown) ragged();
      if (level >= kMaxRank) {
        throw ShapeError("asarray: lists of more than " + std::to_string(kMaxRank) + " levels");
      }
      sizes_.push_back(count);
      if (count == 0) levels_ = sizes_.size();
    } else if (sizes_[level] != count) {
      ragged();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      const nb::handle element = is_list ? PyList_GetItem(object.ptr(), i) : PyTuple_GetItem(object.ptr(), i);
      if (!walk(element, level + 1)) return false;
    }
    return true;
  }
  bool number(nb::handle object) {
    if (PyComplex_Check(object.ptr())) {
      has_complex_ = true;
      real_.emplace_back(PyComplex_RealAsDouble(object.ptr()));
      imaginary_.resize(real_.size());
      imaginary_.back() = PyComplex_ImagAsDouble(object.ptr());
    } else {
      const std::optional<Number> n = number_from(object);
      if (!n) return false;
      if (PyBool_Check(object.ptr()))
        has_bool_ = true;
      else
        (n->integral() ? has_int_ : has_float_) = true;
      if (n->integral()) note_range(*n);
      real_.push_back(*n);
    }
    imaginary_.resize(real_.size());
    if (levels_ == kUnknown) levels_ = sizes_.size();
    return true;
  }
  void note_range(const Number& n) {
    const std::optional<std::int64_t> i = n.as_int64();
    past_i64_ |= !i;
    past_i32_ |= !i || *i != static_cast<std::int32_t>(*i);
    negative_ |= i && *i < 0;
  }
  DType integer_type() const {
    if (!past_i32_) return DType::i32;
    if (!past_i64_) return DType::i64;
    if (negative_) throw TypeError("asarray: no type of integers holds all of these numbers");
    return DType::u64;
  }
  [[noreturn]] static void ragged() { throw ShapeError("asarray: the lists are not equally long on each level"); }

  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  std::vector<std::int64_t> sizes_;
  std::size_t levels_ = kUnknown;  // of lists, once a number or an empty list was met
  std::vector<Number> real_;
  std::vector<double> imaginary_;
  bool has_bool_ = false, has_int_ = false, has_float_ = false, has_complex_ = false;
  bool past_i32_ = false, past_i64_ = false, negative_ = false;
};

// What NumPy has beside numbers: moments and durations have no buffers, and their errors would be DLPack's.
bool is_moment(nb::handle object) {
  const nb::object kind = nb::getattr(nb::getattr(object, "dtype", nb::none()), "kind", nb::none());
  if (!PyUnicode_Check(kind.ptr())) return false;
  const auto text = nb::cast<std::string>(kind);
  return text == "M" || text == "m";
}

Tensor of_list(nb::handle list, std::optional<DType> dtype) {
  Numbers numbers;
  if (numbers.add(list)) return numbers.tensor(dtype);
  std::vector<TensorLike> parts;
  const nb::object iterator = nb::steal(PyObject_GetIter(list.ptr()));
  for (PyObject* item; (item = PyIter_Next(iterator.ptr()));) {
    const nb::object held = nb::steal(item);
    parts.emplace_back(tensor_from(held, dtype));
  }
  check_python();
  return call("stack", parts)[0];
}

// ---- Memory

// What a buffer's format says of its elements; nothing if Weft has no such type.
std::optional<DType> type_of_format(const char* format, Py_ssize_t itemsize) {
  std::string_view f = format ? format : "B";
  if (f.starts_with('@') || f.starts_with('=') || f.starts_with('<')) f.remove_prefix(1);
  if (f == "Zf") return DType::c64;
  if (f.size() != 1) return {};
  switch (f[0]) {
    case '?':
      return DType::boolean;
    case 'e':
      return DType::f16;
    case 'f':
      return DType::f32;
    case 'd':
      return DType::f64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return itemsize == 1 ? DType::i8 : itemsize == 2 ? DType::i16 : itemsize == 4 ? DType::i32 : DType::i64;
    case 'c':
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return itemsize == 1 ? DType::u8 : itemsize == 2 ? DType::u16 : itemsize == 4 ? DType::u32 : DType::u64;
    default:
      return {};
  }
}

struct BufferGuard {
  Py_buffer view{};
  bool held = false;
  ~BufferGuard() {
    if (held) PyBuffer_Release(&view);
  }
};

bool dense(const Py_buffer& view) { return PyBuffer_IsContiguous(&view, 'C') != 0; }

}  // namespace

// Shared where that is asked for or nobody may write to it, else copied.
Tensor of_memory(const Py_buffer& view, DType type, nb::handle owner, std::optional<bool> copy) {
  if (view.ndim > kMaxRank) {
    throw ShapeError("asarray: an array of " + std::to_string(view.ndim) + " axes; at most " +
                     std::to_string(kMaxRank) + " are possible");
  }
  std::vector<std::int64_t> sizes(view.shape, view.shape + view.ndim);
  const Shape shape{std::span<const std::int64_t>(sizes)};
  const auto bytes = static_cast<std::size_t>(byte_size(type, static_cast<std::uint64_t>(element_count(shape))));
  const bool aligned = reinterpret_cast<std::uintptr_t>(view.buf) % static_cast<std::size_t>(view.itemsize) == 0;
  const bool can_share = dense(view) && aligned && !default_device().is_gpu() && bytes > 0;
  if (copy == false && !can_share && bytes > 0) {
    throw InvalidArgument(!dense(view) || !aligned
                              ? "asarray: copy=False of memory that is not dense and aligned"
                              : "asarray: copy=False, and the device has memory of its own, into which it is copied");
  }
  const std::span<const std::byte> given(static_cast<const std::byte*>(view.buf), bytes);
  if (can_share && (copy == false || (!copy && view.readonly))) {
    return Tensor(Device::cpu(), View(Buffer::borrow(given, shared(owner)), 0, type, shape));
  }
  if (dense(view)) return released([&] { return tensor(type, shape, given); });
  std::vector<std::byte> ordered(bytes);
  if (PyBuffer_ToContiguous(ordered.data(), &view, static_cast<Py_ssize_t>(bytes), 'C') != 0) nb::raise_python_error();
  return released([&] { return tensor(type, shape, ordered); });
}

namespace {

// Of a type that Weft does not have: a library that has it converts it.
Tensor of_other_type(nb::handle object, const std::string& text, std::optional<DType> dtype, std::optional<bool> copy) {
  if (dtype && nb::hasattr(object, "astype") && copy != false) {
    const nb::object numpy = nb::getattr(dtype_object(*dtype), "_numpy");
    if (!numpy.is_none()) return tensor_from(object.attr("astype")(numpy));
  }
  throw TypeError("asarray: an array " + text + ", a type that Weft does not have; give dtype=, to which it is " +
                  "converted");
}

std::optional<Tensor> of_buffer(nb::handle object, std::optional<DType> dtype, std::optional<bool> copy) {
  if (!PyObject_CheckBuffer(object.ptr())) return {};
  // It holds what has the memory, and keeps it where it is.
  nb::object memory = nb::steal(PyMemoryView_FromObject(object.ptr()));
  if (!memory.is_valid()) {
    // NumPy's types without a format for buffers (bfloat16) have other ways out.
    if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
        !PyErr_ExceptionMatches(PyExc_TypeError)) {
      nb::raise_python_error();
    }
    PyErr_Clear();
    return {};
  }
  BufferGuard guard;
  if (PyObject_GetBuffer(memory.ptr(), &guard.view, PyBUF_FULL_RO) != 0) nb::raise_python_error();
  guard.held = true;
  const std::optional<DType> type = type_of_format(guard.view.format, guard.view.itemsize);
  if (!type) {
    const nb::object given = nb::getattr(object, "dtype", nb::none());
    const std::string text = given.is_none() ? std::string("of the format '") + guard.view.format + "'"
                                             : "of " + nb::cast<std::string>(nb::str(given));
    return of_other_type(object, text, dtype, copy);
  }
  Tensor x = of_memory(guard.view, *type, memory, dtype && *dtype != *type ? std::optional<bool>() : copy);
  if (!dtype || *dtype == *type) return x;
  if (copy == false) throw InvalidArgument("asarray: copy=False, and the type is converted");
  return cast(x, *dtype);
}

}  // namespace

std::optional<Number> number_from(nb::handle object) {
  PyObject* o = object.ptr();
  if (PyBool_Check(o)) return Number(o == Py_True ? 1 : 0);
  if (PyFloat_Check(o)) return Number(PyFloat_AsDouble(o));
  if (!PyLong_Check(o)) return {};
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow == 0) {
    if (value == -1) check_python();
    return Number(static_cast<std::int64_t>(value));
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(o);
    if (large != static_cast<unsigned long long>(-1) || !PyErr_Occurred()) {
      return Number(static_cast<std::uint64_t>(large));
    }
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_SetString(PyExc_OverflowError, "an integer of 2**64 or more, which no type holds");
    }
  } else {
    PyErr_SetString(PyExc_OverflowError, "an integer below -2**63, which no type holds");
  }
  nb::raise_python_error();
}

std::int64_t integer_from(nb::handle object, std::string_view what) {
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
    throw TypeError(std::string(what) + " is " + nb::cast<std::string>(nb::repr(object)) + ", expected an integer");
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) {
    const std::string text =
        std::string(what) + " is " + nb::cast<std::string>(nb::str(index)) + ", and has to fit into 64 bits";
    if (what == "an index") throw IndexError(text);
    throw InvalidArgument(text);
  }
  if (value == -1) check_python();
  return value;
}
std::vector<std::int64_t> integers_from(nb::handle object, std::string_view what) {
  if (PyIndex_Check(object.ptr()) && !(is_array(object) && tensor_in(object).rank() > 0)) {
    return {integer_from(object, what)};
  }
  const nb::object iterator = nb::steal(PyObject_GetIter(object.ptr()));
  if (!iterator.is_valid()) {
    PyErr_Clear();
    throw TypeError(std::string(what) + " is " + nb::cast<std::string>(nb::repr(object)) +
                    ", expected an integer or a sequence of integers");
  }
  std::vector<std::int64_t> values;
  for (PyObject* item; (item = PyIter_Next(iterator.ptr()));) {
    values.push_back(integer_from(nb::steal(item), what));
  }
  check_python();
  return values;
}
Shape shape_from(nb::handle object) {
  const std::vector<std::int64_t> sizes = integers_from(object, "shape");
  return Shape(std::span<const std::int64_t>(sizes));
}

Tensor tensor_from(nb::handle object, std::optional<DType> dtype, std::optional<bool> copy) {
  if (is_array(object)) {
    const Tensor& x = tensor_in(object);
    if (!dtype || *dtype == x.dtype()) return x;
    if (copy == false) throw InvalidArgument("asarray: copy=False, and the type is converted");
    return cast(x, *dtype);
  }
  PyObject* o = object.ptr();
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || PyList_Check(o) || PyTuple_Check(o)) {
    if (copy == false) throw InvalidArgument("asarray: copy=False of numbers of Python's, which are copied");
    if (!PyList_Check(o) && !PyTuple_Check(o)) {
      Numbers numbers;
      numbers.add(object);
      return numbers.tensor(dtype);
    }
    return of_list(object, dtype);
  }
  if (PyRange_Check(o)) {
    const nb::object list = nb::steal(PySequence_List(o));
    if (!list.is_valid()) nb::raise_python_error();
    return tensor_from(list, dtype, copy);
  }
  if (is_moment(object)) {
    const nb::object type = nb::getattr(object, "dtype");
    return of_other_type(object, "of " + nb::cast<std::string>(nb::str(type)), dtype, copy);
  }
  if (auto x = of_buffer(object, dtype, copy)) return *x;
  if (nb::hasattr(object, "__dlpack__")) {
    const Tensor x = from_dlpack(object, copy);
    return dtype && *dtype != x.dtype() ? cast(x, *dtype) : x;
  }
  if (nb::hasattr(object, "__array__")) {
    const nb::object made = object.attr("__array__")();
    if (auto x = of_buffer(made, dtype, copy)) return *x;
  }
  if (nb::hasattr(object, "__cuda_array_interface__")) {
    throw nb::builtin_exception(nb::exception_type::buffer_error,
                                "asarray: memory of a GPU that only CUDA reads; copy it to the host first");
  }
  throw TypeError("asarray: an object of the type " + class_name(object) +
                  ", expected numbers, lists of numbers, or an array of any library");
}
Tensor tensor_from(nb::handle object, std::optional<DType> dtype) { return tensor_from(object, dtype, {}); }

std::optional<TensorLike> operand_from(nb::handle object) {
  if (is_array(object)) return TensorLike(tensor_in(object));
  PyObject* o = object.ptr();
  if (PyBool_Check(o)) return TensorLike(o == Py_True);
  if (const std::optional<Number> n = number_from(object)) return TensorLike(*n);
  if (PyComplex_Check(o)) return TensorLike(tensor_from(object));
  // Arrays of others, as NumPy's are, and NumPy's scalars; no lists.
  if (PyUnicode_Check(o) || PyBytes_Check(o)) return {};
  if (nb::hasattr(object, "__dlpack__") || nb::hasattr(object, "__array__")) return TensorLike(tensor_from(object));
  return {};
}

void add_values(nb::module_& m) {
  m.def(
      "asarray",
      [](nb::handle object, nb::handle dtype, const std::optional<Device>& device, std::optional<bool> copy) {
        std::optional<DefaultDeviceScope> scope;
        if (device && !is_array(object)) scope.emplace(*device);
        Tensor x = tensor_from(object, optional_dtype(dtype), copy);
        if (!device) return array(std::move(x));
        return array(released([&] { return device_of(x) == *device ? x : to(x, *device); }));
      },
      nb::arg("obj"), nb::arg("dtype").none(), nb::arg("device").none(), nb::arg("copy").none());
  m.def("from_bytes", [](nb::handle dtype, nb::handle shape, nb::bytes bytes) {
    const std::span<const std::byte> values(static_cast<const std::byte*>(bytes.data()), bytes.size());
    return array(tensor(dtype_of_object(dtype), shape_from(shape), values));
  });
  m.def(
      "seed", [](std::uint64_t seed) { random::seed(seed); }, nb::arg("seed"),
      "Starts the default generator anew: the same seed gives the same numbers afterwards.");
  m.def("result_type", [](nb::args operands) {
    std::vector<TensorLike> all;
    for (const nb::handle o : operands) {
      if (const auto operand = operand_from(o))
        all.push_back(*operand);
      else
        all.emplace_back(zeros({}, dtype_of_object(o)));
    }
    return dtype_object(result_type(all));
  });
}

}  // namespace weft::python
