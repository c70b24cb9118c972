// weft.Array: a tensor's handle as an object, and its operators as slots.
#include "core.h"

#include <complex>
#include <cstring>

#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/print.h"

namespace weft::python {
namespace {

PyTypeObject* array_class = nullptr;

// ---- Operators

using BinaryFunction = Tensor(const TensorLike&, const TensorLike&);

template <ScalarOp op>
Tensor scalar_function(const TensorLike& a, const TensorLike& b) {
  return binary(op, a, b);
}
Tensor true_divide(const TensorLike& a, const TensorLike& b) { return divide(a, b); }
const Tensor& as_tensor(const TensorLike& x) {
  if (!x.tensor()) throw TypeError("matmul: an operand is a number, expected arrays of at least one axis");
  return *x.tensor();
}
// Of the operands' common type, as the standard has it, also where sums of narrow integers are i32.
Tensor matrix_product(const TensorLike& a, const TensorLike& b) {
  const Tensor& x = as_tensor(a);
  const Tensor& y = as_tensor(b);
  Tensor product = matmul(x, y);
  const DType type = result_type(x.dtype(), y.dtype());
  return product.dtype() == type ? product : cast(product, type);
}

template <BinaryFunction* function>
PyObject* operate(PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    const CallerLine line;
    const std::optional<TensorLike> left = operand_from(a), right = operand_from(b);
    if (!left || !right) return Py_NewRef(Py_NotImplemented);
    return new_array(function(*left, *right));
  });
}

bool same_kind(DType from, DType to) {
  const DTypeKind a = info(from).kind, b = info(to).kind;
  if (a == b) return true;
  switch (b) {
    case DTypeKind::complex:
      return true;
    case DTypeKind::floating:
      return a != DTypeKind::complex;
    case DTypeKind::signed_integer:
      return a == DTypeKind::unsigned_integer || a == DTypeKind::boolean;
    case DTypeKind::unsigned_integer:
      return a == DTypeKind::boolean;
    case DTypeKind::boolean:
      return false;
  }
  return false;
}

// The array keeps its type and shape. Its memory is used again if no other handle has it.
template <BinaryFunction* function>
PyObject* operate_in_place(PyObject* self, PyObject* other) noexcept {
  return guarded([&]() -> PyObject* {
    const CallerLine line;
    const std::optional<TensorLike> right = operand_from(other);
    if (!right) return Py_NewRef(Py_NotImplemented);
    Tensor& x = tensor_in(self);
    Tensor result = function(TensorLike(x), *right);
    if (result.shape() != x.shape()) {
      throw ShapeError("the result has the shape " + to_string(result.shape()) + ", and an array of the shape " +
                       to_string(x.shape()) + " cannot become it in place");
    }
    if (!same_kind(result.dtype(), x.dtype())) {
      throw TypeError("the result has the type " + nb::cast<std::string>(nb::str(dtype_object(result.dtype()))) +
                      ", which an array of " + nb::cast<std::string>(nb::str(dtype_object(x.dtype()))) +
                      " cannot hold in place; x = x + y gives a new array");
    }
    x = result.dtype() == x.dtype() ? std::move(result) : cast(result, x.dtype());
    return Py_NewRef(self);
  });
}

template <Tensor (*function)(const Operand&)>
PyObject* operate_alone(PyObject* self) noexcept {
  return guarded([&] {
    const CallerLine line;
    return new_array(function(tensor_in(self)));
  });
}
Tensor negative(const Operand& x) { return -x; }
Tensor positive(const Operand& x) {
  if (x.dtype() == DType::boolean) throw TypeError("positive: x is bool, expected numbers");
  return x;
}
Tensor absolute(const Operand& x) { return unary(ScalarOp::abs, x); }
Tensor inverted(const Operand& x) { return unary(ScalarOp::bitwise_not, x); }

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus != Py_None) return Py_NewRef(Py_NotImplemented);
  return operate<scalar_function<ScalarOp::pow>>(a, b);
}
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) noexcept {
  return operate_in_place<scalar_function<ScalarOp::pow>>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int how) noexcept {
  switch (how) {
    case Py_LT:
      return operate<scalar_function<ScalarOp::less>>(a, b);
    case Py_LE:
      return operate<scalar_function<ScalarOp::less_equal>>(a, b);
    case Py_EQ:
      return operate<scalar_function<ScalarOp::equal>>(a, b);
    case Py_NE:
      return operate<scalar_function<ScalarOp::not_equal>>(a, b);
    case Py_GT:
      return operate<scalar_function<ScalarOp::greater>>(a, b);
    default:
      return operate<scalar_function<ScalarOp::greater_equal>>(a, b);
  }
}

// ---- Values

template <class T>
T one_value(const Tensor& x) {
  return released([&] { return x.item<T>(); });
}
std::complex<float> one_complex(const Tensor& x) {
  std::complex<float> value;
  released([&] { x.reshape({}).read_bytes(std::as_writable_bytes(std::span(&value, 1))); });
  return value;
}

void require_one(const Tensor& x, const char* what, bool value_error = false) {
  if (x.size() == 1) return;
  const std::string text =
      std::string(what) + " of an array of the shape " + to_string(x.shape()) + ", expected one of a single element";
  if (value_error) throw InvalidArgument(text + "; any() and all() tell of several");
  throw TypeError(text);
}

PyObject* item(const Tensor& x) {
  switch (info(x.dtype()).kind) {
    case DTypeKind::boolean:
      return PyBool_FromLong(one_value<bool>(x));
    case DTypeKind::floating:
      return PyFloat_FromDouble(one_value<double>(x));
    case DTypeKind::signed_integer:
      return PyLong_FromLongLong(one_value<std::int64_t>(x));
    case DTypeKind::unsigned_integer:
      return PyLong_FromUnsignedLongLong(one_value<std::uint64_t>(x));
    case DTypeKind::complex: {
      const std::complex<float> z = one_complex(x);
      return PyComplex_FromDoubles(z.real(), z.imag());
    }
  }
  return nullptr;
}

int truth(PyObject* self) noexcept {
  try {
    const Tensor& x = tensor_in(self);
    require_one(x, "bool()", true);
    if (x.dtype() == DType::c64) return one_complex(x) != std::complex<float>() ? 1 : 0;
    return one_value<bool>(x) ? 1 : 0;
  } catch (...) {
    set_error();
    return -1;
  }
}

PyObject* as_index(PyObject* self) noexcept {
  return guarded([&] {
    const Tensor& x = tensor_in(self);
    require_one(x, "an index");
    if (!is_integer(x.dtype())) throw TypeError("an index of " + std::string(name(x.dtype())) + ", expected integers");
    return item(x);
  });
}
PyObject* as_int(PyObject* self) noexcept {
  return guarded([&] {
    const Tensor& x = tensor_in(self);
    require_one(x, "int()");
    if (x.dtype() == DType::c64) throw TypeError("int() of a complex number");
    const nb::object value = nb::steal(item(x));
    return PyNumber_Long(value.ptr());
  });
}
PyObject* as_float(PyObject* self) noexcept {
  return guarded([&] {
    const Tensor& x = tensor_in(self);
    require_one(x, "float()");
    if (x.dtype() == DType::c64) throw TypeError("float() of a complex number");
    const nb::object value = nb::steal(item(x));
    return PyNumber_Float(value.ptr());
  });
}

Py_ssize_t length(PyObject* self) noexcept {
  try {
    const Tensor& x = tensor_in(self);
    if (x.rank() == 0) throw TypeError("len() of an array without axes");
    return static_cast<Py_ssize_t>(x.shape()[0]);
  } catch (...) {
    set_error();
    return -1;
  }
}
PyObject* subscript(PyObject* self, PyObject* index) noexcept {
  return guarded([&] {
    const CallerLine line;
    return new_array(get_item(tensor_in(self), index));
  });
}
int assign_subscript(PyObject* self, PyObject* index, PyObject* value) noexcept {
  try {
    if (!value) throw TypeError("the elements of an array cannot be deleted");
    const CallerLine line;
    set_item(tensor_in(self), index, value);
    return 0;
  } catch (...) {
    set_error();
    return -1;
  }
}

#define SLOT(slot, function) {slot, reinterpret_cast<void*>(function)}
#define OPERATOR(name, function) \
  SLOT(Py_nb_##name, (operate<function>)), SLOT(Py_nb_inplace_##name, (operate_in_place<function>))

PyType_Slot slots[] = {
    OPERATOR(add, scalar_function<ScalarOp::add>),
    OPERATOR(subtract, scalar_function<ScalarOp::sub>),
    OPERATOR(multiply, scalar_function<ScalarOp::mul>),
    OPERATOR(true_divide, true_divide),
    OPERATOR(floor_divide, scalar_function<ScalarOp::floor_divide>),
    OPERATOR(remainder, scalar_function<ScalarOp::remainder>),
    OPERATOR(and, scalar_function<ScalarOp::bitwise_and>),
    OPERATOR(or, scalar_function<ScalarOp::bitwise_or>),
    OPERATOR(xor, scalar_function<ScalarOp::bitwise_xor>),
    OPERATOR(lshift, scalar_function<ScalarOp::shift_left>),
    OPERATOR(rshift, scalar_function<ScalarOp::shift_right>),
    OPERATOR(matrix_multiply, matrix_product),
    SLOT(Py_nb_power, power),
    SLOT(Py_nb_inplace_power, power_in_place),
    SLOT(Py_nb_negative, operate_alone<negative>),
    SLOT(Py_nb_positive, operate_alone<positive>),
    SLOT(Py_nb_absolute, operate_alone<absolute>),
    SLOT(Py_nb_invert, operate_alone<inverted>),
    SLOT(Py_nb_bool, truth),
    SLOT(Py_nb_index, as_index),
    SLOT(Py_nb_int, as_int),
    SLOT(Py_nb_float, as_float),
    SLOT(Py_tp_richcompare, compare),
    SLOT(Py_tp_hash, PyObject_HashNotImplemented),
    SLOT(Py_mp_length, length),
    SLOT(Py_mp_subscript, subscript),
    SLOT(Py_mp_ass_subscript, assign_subscript),
    SLOT(Py_bf_getbuffer, get_buffer),
    SLOT(Py_bf_releasebuffer, release_buffer),
    {0, nullptr},
};

#undef OPERATOR
#undef SLOT

// The elements as lists of lists, from the one at `next` on.
template <class Make>
nb::object nested(const Shape& shape, int axis, std::size_t& next, const Make& make) {
  if (axis == shape.rank()) return nb::steal(make(next++));
  nb::list list;
  for (std::int64_t i = 0; i < shape[axis]; ++i) list.append(nested(shape, axis + 1, next, make));
  return list;
}
template <class T, class Make>
nb::object listed(const Tensor& x, const Make& make) {
  const auto values = released([&] { return x.to_vector<T>(); });
  std::size_t next = 0;
  return nested(x.shape(), 0, next, [&](std::size_t i) { return make(values[i]); });
}
nb::object as_list(const Tensor& x) {
  switch (info(x.dtype()).kind) {
    case DTypeKind::boolean:
      return listed<std::uint8_t>(x, [](std::uint8_t v) { return PyBool_FromLong(v); });
    case DTypeKind::floating:
      return listed<double>(x, PyFloat_FromDouble);
    case DTypeKind::signed_integer:
      return listed<std::int64_t>(x, [](std::int64_t v) { return PyLong_FromLongLong(v); });
    case DTypeKind::unsigned_integer:
      return listed<std::uint64_t>(x, [](std::uint64_t v) { return PyLong_FromUnsignedLongLong(v); });
    case DTypeKind::complex: {
      const auto values = released([&] { return x.read<std::complex<float>>(); });
      std::size_t next = 0;
      return nested(x.shape(), 0, next,
                    [&](std::size_t i) { return PyComplex_FromDoubles(values[i].real(), values[i].imag()); });
    }
  }
  return nb::none();
}

nb::tuple sizes(const Shape& shape) {
  PyObject* tuple = PyTuple_New(shape.rank());
  if (!tuple) nb::raise_python_error();
  for (int i = 0; i < shape.rank(); ++i) PyTuple_SetItem(tuple, i, PyLong_FromLongLong(shape[i]));
  return nb::steal<nb::tuple>(tuple);
}

}  // namespace

bool is_array(nb::handle object) { return Py_TYPE(object.ptr()) == array_class; }
Tensor& tensor_in(nb::handle array) { return *nb::inst_ptr<Tensor>(array); }

PyObject* new_array(Tensor tensor) {
  nb::object object = nb::inst_alloc(reinterpret_cast<PyObject*>(array_class));
  new (nb::inst_ptr<Tensor>(object)) Tensor(std::move(tensor));
  nb::inst_mark_ready(object);
  return object.release().ptr();
}

nb::list arrays(std::span<const Tensor> tensors) {
  nb::list list;
  for (const Tensor& t : tensors) list.append(t.defined() ? array(t) : nb::none());
  return list;
}
std::vector<Tensor> tensors_in(nb::handle sequence) {
  std::vector<Tensor> tensors;
  for (const nb::handle o : nb::borrow<nb::object>(sequence)) {
    if (o.is_none())
      tensors.emplace_back();
    else if (is_array(o) && tensor_in(o).defined())
      tensors.push_back(tensor_in(o));
    else if (is_array(o))
      throw InvalidArgument("an array is undefined: it was donated to a compiled function");
    else
      throw TypeError("expected arrays, got " + nb::cast<std::string>(nb::str(nb::handle(Py_TYPE(o.ptr())))));
  }
  return tensors;
}

void add_array(nb::module_& m) {
  m.def("matmul", [](const Tensor& a, const Tensor& b) {
    const CallerLine line;
    return array(matrix_product(a, b));
  });
  nb::class_<Tensor> type(m, "Array", nb::type_slots(slots), nb::is_weak_referenceable(), nb::is_final());
  array_class = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.attr("__module__") = "weft";
  type.attr("__doc__") =
      "A value of numbers in axes, on a device: computed when it is wanted. asarray() and functions make them.";
  type.attr("__array_priority__") = 1000;
  type.attr("__array_ufunc__") = nb::none();
  type.def_prop_ro(
          "shape", [](const Tensor& x) { return sizes(x.shape()); }, "The sizes of the axes.")
      .def_prop_ro(
          "dtype", [](const Tensor& x) { return dtype_object(x.dtype()); }, "The type of the elements.")
      .def_prop_ro(
          "ndim", [](const Tensor& x) { return x.rank(); }, "How many axes there are.")
      .def_prop_ro(
          "size", [](const Tensor& x) { return x.size(); }, "How many elements there are.")
      .def_prop_ro(
          "itemsize", [](const Tensor& x) { return (bits(x.dtype()) + 7) / 8; }, "Bytes of an element.")
      .def_prop_ro(
          "nbytes", [](const Tensor& x) { return byte_size(x.type()); }, "Bytes of all elements.")
      .def_prop_ro(
          "device", [](const Tensor& x) { return released([&] { return device_of(x); }); },
          "Where the elements are, or where they would be computed now.")
      .def_prop_rw(
          "label", [](const Tensor& x) { return x.label(); },
          [](Tensor& x, const std::string& label) { x.set_label(label); },
          "Its name in schedules, profiles and messages.")
      .def_prop_ro("_is_empty", [](const Tensor& x) { return !x.defined(); })  // it was donated
      .def_prop_ro("_has_data", [](const Tensor& x) { return x.has_data(); })
      .def(
          "item",
          [](const Tensor& x) {
            require_one(x, "item()", true);
            return nb::steal(item(x));
          },
          "The element of an array that has one, as a number of Python's. Waits.")
      .def("tolist", as_list, "The elements as numbers in lists of lists. Waits.")
      .def("__complex__",
           [](const Tensor& x) {
             require_one(x, "complex()");
             const nb::object value = nb::steal(item(x));
             return nb::handle(reinterpret_cast<PyObject*>(&PyComplex_Type))(value);
           })
      .def("_text",
           [](const Tensor& x, int precision, std::int64_t threshold, std::int64_t edge, int width,
              std::string separator) {
             return released([&] { return to_string(x, {precision, threshold, edge, width, separator, false}); });
           })
      .def("_bytes",
           [](const Tensor& x) {
             std::vector<std::byte> bytes(byte_size(x.type()));
             released([&] { x.read_bytes(bytes); });
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("_same", [](const Tensor& x, const Tensor& y) { return same(x, y); })
      .def("_assign", [](Tensor& x, const Tensor& y) { x = y; })
      .def("__copy__", [](const Tensor& x) { return array(x); })
      .def("__deepcopy__", [](const Tensor& x, nb::handle) { return array(x); });
}

}  // namespace weft::python
