// Data types: objects such as weft.float32, of which there is one each.
#include "core.h"

#include <array>

#include "weft/error.h"
#include "weft/inspection.h"

namespace weft::python {
namespace {

struct DTypeObject {
  DType type;
};

struct DTypeRow {
  DType type;
  const char* name;   // in Python: the array API standard's, NumPy's, or ml_dtypes'
  const char* numpy;  // the type string of NumPy's array interface; null: NumPy has none
};
constexpr DTypeRow kRows[] = {
    {DType::f32, "float32", "<f4"},
    {DType::f16, "float16", "<f2"},
    {DType::bf16, "bfloat16", nullptr},
    {DType::f64, "float64", "<f8"},
    {DType::i8, "int8", "|i1"},
    {DType::i16, "int16", "<i2"},
    {DType::i32, "int32", "<i4"},
    {DType::i64, "int64", "<i8"},
    {DType::u8, "uint8", "|u1"},
    {DType::u16, "uint16", "<u2"},
    {DType::u32, "uint32", "<u4"},
    {DType::u64, "uint64", "<u8"},
    {DType::boolean, "bool", "|b1"},
    {DType::c64, "complex64", "<c8"},
    {DType::i4, "int4", nullptr},
    {DType::u4, "uint4", nullptr},
    {DType::i2, "int2", nullptr},
    {DType::u2, "uint2", nullptr},
    {DType::f8e4m3, "float8_e4m3fn", nullptr},
    {DType::f8e5m2, "float8_e5m2", nullptr},
};
static_assert(std::size(kRows) == kDTypeCount);

const DTypeRow& row(DType type) { return kRows[static_cast<std::size_t>(type)]; }

// Each lives as long as the module.
std::array<nb::handle, kDTypeCount> objects;

const DTypeRow* find(std::string_view name) {
  for (const DTypeRow& r : kRows) {
    if (name == r.name || name == weft::name(r.type)) return &r;
  }
  return nullptr;
}

const char* kind(DType type) {
  switch (info(type).kind) {
    case DTypeKind::floating:
      return "real floating";
    case DTypeKind::signed_integer:
      return "signed integer";
    case DTypeKind::unsigned_integer:
      return "unsigned integer";
    case DTypeKind::boolean:
      return "bool";
    case DTypeKind::complex:
      return "complex floating";
  }
  return "";
}

[[noreturn]] void refuse(nb::handle object) {
  const std::string text = nb::cast<std::string>(nb::repr(object));
  throw weft::TypeError(text + " is no data type of Weft's, which are float32, float16, bfloat16, float64, int8 to " +
                        "int64, uint8 to uint64, bool, complex64, int4, uint4, int2, uint2, float8_e4m3fn and " +
                        "float8_e5m2");
}

}  // namespace

nb::object dtype_object(DType type) { return nb::borrow(objects[static_cast<std::size_t>(type)]); }

DType dtype_of_object(nb::handle object) {
  DTypeObject* own = nullptr;
  if (nb::try_cast(object, own) && own) return own->type;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i32;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::f32;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::c64;
  // A name, or what has one: NumPy's dtype objects and its classes of scalars.
  nb::object name = nb::borrow(object);
  if (!PyUnicode_Check(object.ptr())) {
    name = nb::getattr(object, "name", nb::none());
    if (!PyUnicode_Check(name.ptr())) name = nb::getattr(object, "__name__", nb::none());
    if (!PyUnicode_Check(name.ptr())) refuse(object);
  }
  const auto text = nb::cast<std::string>(name);
  const DTypeRow* found = find(text == "bool_" ? "bool" : text);
  if (!found) refuse(object);
  return found->type;
}

std::optional<DType> optional_dtype(nb::handle object) {
  if (object.is_none()) return {};
  return dtype_of_object(object);
}

void add_dtypes(nb::module_& m) {
  nb::class_<DTypeObject> type(m, "DType", nb::is_final());
  type.attr("__module__") = "weft";
  type.attr("__doc__") = "The type of an array's elements: weft.float32, weft.int64, …, each of which there is once.";
  type.def_prop_ro(
          "name", [](const DTypeObject& d) { return row(d.type).name; }, "\"float32\", …")
      .def_prop_ro(
          "itemsize", [](const DTypeObject& d) { return (bits(d.type) + 7) / 8; }, "Bytes of an element.")
      .def_prop_ro(
          "bits", [](const DTypeObject& d) { return bits(d.type); }, "Bits of an element.")
      .def_prop_ro(
          "kind", [](const DTypeObject& d) { return kind(d.type); },
          "\"bool\", \"signed integer\", \"unsigned integer\", \"real floating\" or \"complex floating\".")
      .def_prop_ro("_numpy", [](const DTypeObject& d) { return row(d.type).numpy; })
      .def_prop_ro("_short", [](const DTypeObject& d) { return std::string(weft::name(d.type)); })
      .def("__repr__", [](const DTypeObject& d) { return std::string("weft.") + row(d.type).name; })
      .def("__str__", [](const DTypeObject& d) { return row(d.type).name; })
      .def("__reduce__", [](const DTypeObject& d) { return row(d.type).name; })
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); });
  for (const DTypeRow& r : kRows) {
    nb::object object = nb::cast(DTypeObject{r.type});
    objects[static_cast<std::size_t>(r.type)] = object;
    m.attr(r.name) = object;
  }
  m.def("dtype", [](nb::handle object) { return dtype_object(dtype_of_object(object)); });
  // The limits of a type, as tuples.
  m.def("finfo", [](nb::handle object) {
    const FloatInfo i = finfo(dtype_of_object(object));
    return nb::make_tuple(i.bits, i.eps, i.max, i.min, i.smallest_normal, dtype_object(i.dtype));
  });
  m.def("iinfo", [](nb::handle object) {
    const IntegerInfo i = iinfo(dtype_of_object(object));
    return nb::make_tuple(i.bits, i.max, i.min, dtype_object(i.dtype));
  });
  m.def("can_cast",
        [](nb::handle from, nb::handle to) { return can_cast(dtype_of_object(from), dtype_of_object(to)); });
  m.def("computes", [](const Device& device) {  // the types in which it computes
    nb::list all;
    const TypeSet set = dtypes(device);
    for (const DTypeRow& r : kRows) {
      if (set.contains(r.type)) all.append(dtype_object(r.type));
    }
    return all;
  });
}

}  // namespace weft::python
