// Functions of rows: an object that is called as a function of Python's, with a table of parameters, which the package
// makes from the row and its own names (_functions.py).
#include "core.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>

#include "weft/call.h"
#include "weft/error.h"
#include "weft/expression.h"
#include "weft/graph.h"

#if PY_VERSION_HEX < 0x030C0000  // later versions have these in Python.h
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

namespace weft::python {
namespace {

enum class Source { operand, operands, attribute };

struct Parameter {
  nb::object name;  // interned
  std::string text;
  Source source = Source::operand;
  std::size_t index = 0;  // of the operand
  bool takes_number = false;
  std::string attribute;
  AttributeKind kind = AttributeKind::integer;
  bool is_dtype = false;
  bool required = false;
  bool may_be_none = false;
  bool positional = true;
  bool rest = false;  // all positional arguments from here on: *arrays
};

struct Row {
  std::string name;
  std::optional<ScalarOp> scalar;  // an operation of elements that is no row of its own
  int operand_count = 0;
  std::vector<Parameter> parameters;
  std::size_t positional = 0;
  bool one_result = true;
  nb::object make_results;  // of several; none: a tuple
};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  Row* row;
};

FunctionObject* function_in(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }

std::string function_name(const Row& row, PyObject* self) {
  const nb::object own = nb::getattr(self, "__name__", nb::none());
  return own.is_none() ? row.name : nb::cast<std::string>(own);
}
[[noreturn]] void type_error(const Row& row, PyObject* self, const std::string& text) {
  throw weft::TypeError(function_name(row, self) + "() " + text);
}

AttributeValue attribute_from(const Parameter& p, nb::handle value) {
  const std::string& what = p.text;
  if (p.is_dtype) return std::string(name(dtype_of_object(value)));
  switch (p.kind) {
    case AttributeKind::boolean: {
      const int truth = PyObject_IsTrue(value.ptr());
      if (truth < 0) nb::raise_python_error();
      return Number(truth);
    }
    case AttributeKind::integer:
      return Number(integer_from(value, what));
    case AttributeKind::number: {
      try {
        if (const auto n = number_from(value)) return *n;
      } catch (nb::python_error& e) {
        if (!e.matches(PyExc_OverflowError)) throw;
        throw InvalidArgument(what + " is " + nb::cast<std::string>(nb::str(value)) + ", which no type holds");
      }
      if (PyIndex_Check(value.ptr()) && !is_array(value)) return Number(integer_from(value, what));
      const nb::object number = nb::steal(PyNumber_Float(value.ptr()));
      if (!number.is_valid()) nb::raise_python_error();
      return Number(PyFloat_AsDouble(number.ptr()));
    }
    case AttributeKind::text:
      if (!PyUnicode_Check(value.ptr())) {
        throw TypeError(what + " is " + nb::cast<std::string>(nb::repr(value)) + ", expected a string");
      }
      return nb::cast<std::string>(value);
    case AttributeKind::integers:
      return integers_from(value, what);
    case AttributeKind::numbers: {
      std::vector<double> numbers;
      for (const nb::handle v : nb::borrow<nb::object>(value)) {
        const nb::object number = nb::steal(PyNumber_Float(v.ptr()));
        if (!number.is_valid()) nb::raise_python_error();
        numbers.push_back(PyFloat_AsDouble(number.ptr()));
      }
      return numbers;
    }
  }
  throw InternalError("an attribute of no kind");
}

TensorLike operand(const Parameter& p, nb::handle value) {
  if (p.takes_number) {
    if (auto x = operand_from(value)) return *x;
  }
  return TensorLike(tensor_from(value));
}

PyObject* results(const Row& row, std::vector<Tensor> tensors) {
  if (row.one_result) return new_array(std::move(tensors.at(0)));
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PyObject* result = tensors[i].defined() ? new_array(std::move(tensors[i])) : Py_NewRef(Py_None);
    PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(i), result);
  }
  if (row.make_results.is_none()) return tuple.release().ptr();
  return PyObject_CallObject(row.make_results.ptr(), tuple.ptr());
}

PyObject* apply(PyObject* self, const Row& row, std::span<PyObject* const> values, std::span<PyObject* const> rest) {
  std::vector<TensorLike> operands;
  operands.reserve(static_cast<std::size_t>(row.operand_count) + rest.size());
  AttributeMap attributes;
  // Operands come in the row's order, which the parameters' need not be.
  for (int i = 0; i < row.operand_count; ++i) operands.emplace_back(Tensor());
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    const Parameter& p = row.parameters[i];
    const nb::handle value = values[i];
    const bool given = value.is_valid() && !(value.is_none() && p.may_be_none);
    if (p.rest) {
      for (PyObject* o : rest) operands.push_back(operand(p, o));
    } else if (!given) {
      if (p.required) type_error(row, self, "needs the argument '" + p.text + "'");
    } else if (value.is_none() && p.source != Source::operands) {
      type_error(row, self, "takes no None for '" + p.text + "'");
    } else if (p.source == Source::operand) {
      operands[p.index].~TensorLike();
      new (&operands[p.index]) TensorLike(operand(p, value));
    } else if (p.source == Source::operands) {
      if (is_array(value)) {
        const Tensor& x = tensor_in(value);
        if (x.rank() == 0) type_error(row, self, "takes a sequence of arrays for '" + p.text + "'");
        for (std::int64_t k = 0; k < x.shape()[0]; ++k) {
          operands.emplace_back(get_item(x, nb::int_(k)));
        }
        continue;
      }
      const std::size_t before = operands.size();
      for (const nb::handle o : nb::borrow<nb::object>(value)) operands.push_back(operand(p, o));
      if (operands.size() == before) {
        throw InvalidArgument(function_name(row, self) + ": " + p.text + " is empty, expected at least one array");
      }
    } else {
      attributes.emplace(p.attribute, attribute_from(p, value));
    }
  }
  if (row.scalar && attributes.empty()) {
    switch (operands.size()) {
      case 1:
        return new_array(unary(*row.scalar, *operands[0].tensor()));
      case 2:
        return new_array(binary(*row.scalar, operands[0], operands[1]));
      case 3:
        return new_array(ternary(*row.scalar, operands[0], operands[1], operands[2]));
      default:
        break;
    }
  }
  return results(row, released([&] { return call(row.name, std::span(std::as_const(operands)), attributes); }));
}

PyObject* call_function(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) noexcept {
  return guarded([&] {
    const CallerLine line;
    const Row& row = *function_in(self)->row;
    const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
    constexpr std::size_t kMost = 40;
    std::array<PyObject*, kMost> values{};
    const std::size_t parameters = row.parameters.size();
    std::span<PyObject* const> rest;
    if (row.positional < parameters && row.parameters[row.positional].rest) {
      if (count > row.positional) rest = {arguments + row.positional, count - row.positional};
    } else if (count > row.positional) {
      std::string named;
      for (std::size_t i = row.positional; i < parameters; ++i) {
        named += (named.empty() ? "; by name it takes " : ", ") + row.parameters[i].text + "=";
      }
      type_error(row, self,
                 "takes " + std::to_string(row.positional) +
                     (row.positional == 1 ? " positional argument, got " : " positional arguments, got ") +
                     std::to_string(count) + named);
    }
    for (std::size_t i = 0; i < std::min(count, row.positional); ++i) values[i] = arguments[i];
    const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t k = 0; k < named; ++k) {
      PyObject* key = PyTuple_GetItem(keywords, k);
      std::size_t i = 0;
      while (i < parameters && row.parameters[i].name.ptr() != key) ++i;
      if (i == parameters) {
        const auto text = nb::cast<std::string>(nb::handle(key));
        i = 0;
        while (i < parameters && row.parameters[i].text != text) ++i;
        if (i == parameters || row.parameters[i].rest) {
          type_error(row, self,
                     "got an unexpected keyword argument '" + text + "'" +
                         (text == "out" ? ", as NumPy's functions give it: of these arrays it is weft." +
                                              function_name(row, self) + "()"
                                        : ""));
        }
      }
      if (values[i]) type_error(row, self, "got several values for the argument '" + row.parameters[i].text + "'");
      values[i] = arguments[count + static_cast<std::size_t>(k)];
    }
    return apply(self, row, std::span(values).first(parameters), rest);
  });
}

PyObject* method_type = nullptr;  // types.MethodType

PyObject* bind(PyObject* self, PyObject* object, PyObject*) noexcept {
  if (!object || object == Py_None) return Py_NewRef(self);
  return PyObject_CallFunctionObjArgs(method_type, self, object, nullptr);
}
PyObject* function_repr(PyObject* self) noexcept {
  return guarded([&] {
    const nb::object name = nb::getattr(self, "__name__", nb::none());
    const std::string text =
        "<function weft." + (name.is_none() ? function_in(self)->row->name : nb::cast<std::string>(name)) + ">";
    return PyUnicode_FromString(text.c_str());
  });
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  FunctionObject* f = function_in(self);
  Py_VISIT(f->dict);
  if (f->row) Py_VISIT(f->row->make_results.ptr());
  return 0;
}
int clear(PyObject* self) {
  FunctionObject* f = function_in(self);
  Py_CLEAR(f->dict);
  return 0;
}
void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  delete function_in(self)->row;
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}
// Pickled by name.
PyObject* reduce(PyObject* self, PyObject*) noexcept {
  return guarded([&] { return nb::getattr(self, "__qualname__").release().ptr(); });
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(FunctionObject, vectorcall), Py_READONLY, nullptr},
    {"__dictoffset__", Py_T_PYSSIZET, offsetof(FunctionObject, dict), Py_READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
// Of Python: (function, "__doc__" or "__signature__") → the value, which is made when it is wanted.
PyObject* describer = nullptr;

PyObject* described_attribute(PyObject* self, void* name) noexcept {
  return guarded([&]() -> PyObject* {
    FunctionObject* f = function_in(self);
    const nb::object key = nb::str(static_cast<const char*>(name));
    if (PyObject* found = PyDict_GetItemWithError(f->dict, key.ptr())) return Py_NewRef(found);
    check_python();
    if (!describer) return Py_NewRef(Py_None);
    const nb::object made = nb::steal(PyObject_CallFunctionObjArgs(describer, self, key.ptr(), nullptr));
    if (!made.is_valid() || PyDict_SetItem(f->dict, key.ptr(), made.ptr()) != 0) nb::raise_python_error();
    return nb::object(made).release().ptr();
  });
}

char doc_name[] = "__doc__", signature_name[] = "__signature__";

PyGetSetDef getters[] = {
    {doc_name, described_attribute, nullptr, nullptr, doc_name},
    {signature_name, described_attribute, nullptr, nullptr, signature_name},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot function_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
    {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, nullptr},
};
PyType_Spec function_spec = {
    .name = "weft.Function",
    .basicsize = sizeof(FunctionObject),
    .itemsize = 0,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = function_slots,
};
PyTypeObject* function_type = nullptr;

// ---- Rows as the package reads them

nb::object value_of(const AttributeSchema& a) {
  if (!a.default_value) return nb::none();
  if (const auto* n = std::get_if<Number>(&*a.default_value)) {
    if (a.kind == AttributeKind::boolean) return nb::bool_(n->value() != 0);
    if (n->integral()) return nb::int_(n->as_int64().value_or(0));
    return nb::float_(n->value());
  }
  if (const auto* text = std::get_if<std::string>(&*a.default_value)) return nb::str(text->c_str());
  nb::list list;
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&*a.default_value)) {
    for (const std::int64_t i : *integers) list.append(i);
  } else {
    for (const double v : std::get<std::vector<double>>(*a.default_value)) list.append(v);
  }
  return nb::tuple(list);
}

const Schema& schema_named(const std::string& name) {
  static const auto& by_name = *new auto([] {
    std::unordered_map<std::string_view, const Schema*> all;
    for (const Schema* s : callable_schemas()) all.emplace(s->name, s);
    return all;
  }());
  const auto found = by_name.find(name);
  if (found == by_name.end()) throw InvalidArgument("there is no row '" + name + "'");
  return *found->second;
}

nb::dict described(const Schema& s) {
  constexpr const char* kArity[] = {"one", "optional", "repeated"};
  nb::list inputs, outputs, attributes;
  for (const OperandSchema& o : s.inputs) {
    inputs.append(nb::make_tuple(o.name, kArity[static_cast<int>(o.arity)], o.shape));
  }
  for (const OperandSchema& o : s.outputs) {
    outputs.append(nb::make_tuple(o.name, kArity[static_cast<int>(o.arity)], o.shape, o.type));
  }
  for (const AttributeSchema& a : s.attributes) {
    // Those with the name of an operand only say which operands there are, and call() sets them.
    if (std::ranges::find(s.inputs, a.name, &OperandSchema::name) != s.inputs.end()) continue;
    nb::list choices;
    for (const std::string& c : a.choices) choices.append(c);
    attributes.append(nb::make_tuple(a.name, std::string(name(a.kind)), value_of(a), a.default_value.has_value(),
                                     a.optional, nb::tuple(choices), a.meaning));
  }
  nb::dict d;
  d["name"] = s.name;
  d["family"] = s.family;
  d["summary"] = s.summary;
  d["formula"] = s.formula;
  d["inputs"] = nb::tuple(inputs);
  d["outputs"] = nb::tuple(outputs);
  d["attributes"] = nb::tuple(attributes);
  d["types"] = s.types_text();
  return d;
}

// `parameters`: (name, the row's operand or attribute, is required, may be None, is positional, takes all the rest).
nb::object make_function(const std::string& row_name, nb::handle parameters, nb::object make_results) {
  const Schema& schema = schema_named(row_name);
  auto row = std::make_unique<Row>();
  row->name = row_name;
  const bool is_op = schema.family == "elementwise";
  if (is_op) row->scalar = scalar_op(row_name);
  row->one_result = schema.outputs.size() == 1 && schema.outputs[0].arity != Arity::repeated;
  row->make_results = std::move(make_results);
  for (const OperandSchema& o : schema.inputs) row->operand_count += o.arity != Arity::repeated;
  for (const nb::handle given : nb::borrow<nb::object>(parameters)) {
    Parameter p;
    const auto tuple = nb::cast<nb::tuple>(given);
    p.text = nb::cast<std::string>(tuple[0]);
    PyObject* interned = PyUnicode_InternFromString(p.text.c_str());
    p.name = nb::steal(interned);
    const auto of = nb::cast<std::string>(tuple[1]);
    p.required = nb::cast<bool>(tuple[2]);
    p.may_be_none = nb::cast<bool>(tuple[3]);
    p.positional = nb::cast<bool>(tuple[4]);
    p.rest = nb::cast<bool>(tuple[5]);
    const auto operand = std::ranges::find(schema.inputs, of, &OperandSchema::name);
    if (operand != schema.inputs.end()) {
      p.source = operand->arity == Arity::repeated ? Source::operands : Source::operand;
      p.index = static_cast<std::size_t>(operand - schema.inputs.begin());
      p.takes_number = operand->takes_number || (row->scalar && schema.inputs.size() > 1);
    } else {
      const AttributeSchema* a = schema.attribute(of);
      if (!a) throw InvalidArgument("the row '" + row_name + "' has no operand or attribute '" + of + "'");
      p.source = Source::attribute;
      p.attribute = of;
      p.kind = a->kind;
      p.is_dtype = a->kind == AttributeKind::text && a->choices.empty() && (of == "dtype" || of == "type");
    }
    if (p.positional && !p.rest) ++row->positional;
    row->parameters.push_back(std::move(p));
  }
  if (row->parameters.size() > 40) throw InternalError("a row of more than 40 parameters");
  PyObject* object = reinterpret_cast<allocfunc>(PyType_GetSlot(function_type, Py_tp_alloc))(function_type, 0);
  if (!object) nb::raise_python_error();
  FunctionObject* f = function_in(object);
  f->vectorcall = call_function;
  f->dict = PyDict_New();
  f->row = row.release();
  return nb::steal(object);
}

}  // namespace

void add_functions(nb::module_& m) {
  PyObject* type = PyType_FromSpec(&function_spec);
  if (!type) nb::raise_python_error();
  function_type = reinterpret_cast<PyTypeObject*>(type);
  m.attr("Function") = nb::steal(type);
  method_type = nb::object(nb::module_::import_("types").attr("MethodType")).release().ptr();
  m.def("set_describer", [](nb::handle f) { describer = nb::borrow(f).release().ptr(); });
  m.def("row_names", [] {
    nb::list names;
    for (const Schema* s : callable_schemas()) names.append(nb::make_tuple(s->name, s->family));
    return names;
  });
  m.def("row", [](const std::string& name) { return described(schema_named(name)); });
  m.def("make_function", make_function, nb::arg("row"), nb::arg("parameters"), nb::arg("make_results").none());
}

}  // namespace weft::python
