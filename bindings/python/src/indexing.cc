// What Python's brackets say as indices.
#include "weft/indexing.h"
#include "core.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft::python {
namespace {

std::optional<std::int64_t> bound(nb::handle slice, const char* name) {
  const nb::object value = nb::getattr(slice, name);
  if (value.is_none()) return {};
  // As Python's slices, which cut off what lies outside.
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) nb::raise_python_error();
  int overflow = 0;
  const long long i = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) return overflow > 0 ? INT64_MAX : INT64_MIN;
  return i;
}

Index index_from(nb::handle object, bool& waits) {
  PyObject* o = object.ptr();
  if (PySlice_Check(o)) {
    return Slice{bound(object, "start"), bound(object, "stop"), bound(object, "step").value_or(1)};
  }
  if (object.is_none()) return newaxis;
  if (o == Py_Ellipsis) return ellipsis;
  if (PyLong_Check(o) && !PyBool_Check(o)) return integer_from(object, "an index");
  if (PyUnicode_Check(o) || PyFloat_Check(o)) {
    throw IndexError("an index is " + nb::cast<std::string>(nb::repr(object)) +
                     ", expected integers, slices, None, ..., and arrays of integers or bool");
  }
  Tensor t = PyList_Check(o) && PyList_Size(o) == 0 ? zeros({0}, DType::i32) : tensor_from(object);
  if (t.dtype() == DType::boolean) {
    waits = true;
  } else if (!is_integer(t.dtype())) {
    throw IndexError("an index is an array of " + nb::cast<std::string>(nb::str(dtype_object(t.dtype()))) +
                     ", expected integers or bool");
  } else if (!is_array(object) && PyIndex_Check(o) && t.rank() == 0) {
    return t.item<std::int64_t>();  // a scalar of NumPy's, which has a value
  }
  return t;
}

Indices indices_from(nb::handle object, bool& waits) {
  std::vector<Index> list;
  if (PyTuple_Check(object.ptr())) {
    for (const nb::handle i : nb::borrow<nb::tuple>(object)) list.push_back(index_from(i, waits));
  } else {
    list.push_back(index_from(object, waits));
  }
  return list;
}

}  // namespace

Tensor get_item(const Tensor& x, nb::handle index) {
  bool waits = false;
  const Indices at = indices_from(index, waits);
  if (!waits) return x[at];
  return released([&] { return x[at]; });
}

void set_item(Tensor& x, nb::handle index, nb::handle value) {
  bool waits = false;
  const Indices at = indices_from(index, waits);
  std::optional<TensorLike> v = operand_from(value);
  if (!v) v.emplace(tensor_from(value));
  if (v->tensor() && v->tensor()->dtype() != x.dtype()) {
    if (v->tensor()->dtype() == DType::c64) throw TypeError("complex numbers are assigned to real ones");
  }
  if (!waits) return void(x.set(at, *v));
  released([&] { x.set(at, *v); });
}

void add_indexing(nb::module_& m) {
  using Update = Tensor(const Operand&, const Indices&, const TensorLike&);
  const auto add = [&](const char* name, Update* update) {
    m.def(name, [update](const Tensor& x, nb::handle index, nb::handle value) {
      const CallerLine line;
      bool waits = false;
      const Indices at = indices_from(index, waits);
      std::optional<TensorLike> v = operand_from(value);
      if (!v) v.emplace(tensor_from(value));
      return array(released([&] { return update(x, at, *v); }));
    });
  };
  add("at_set", at_set);
  add("at_add", at_add);
  add("at_max", at_max);
  add("at_min", at_min);
}

}  // namespace weft::python
