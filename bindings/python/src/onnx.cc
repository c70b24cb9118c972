// Models in ONNX's format; weft/onnx.py has their faces.
#include "core.h"

#include "weft/onnx.h"

#include <algorithm>

#include "weft/error.h"
#include "weft/number_range.h"

namespace weft::python {
namespace {

// Reasons quote what is in the file, as errors do: what is no UTF-8 is \xNN.
nb::object text(std::string_view s) {
  PyObject* const made = PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace");
  if (!made) nb::raise_python_error();
  return nb::steal(made);
}

// (name, type as ONNX calls it, data type or None, sizes, names or None of dimensions, or None)
nb::tuple port(const onnx::Port& p) {
  nb::object shape = nb::none();
  if (p.shape) {
    nb::list sizes;
    for (const onnx::Dimension& d : *p.shape) {
      if (d.size)
        sizes.append(*d.size);
      else if (!d.name.empty())
        sizes.append(text(d.name));
      else
        sizes.append(nb::none());
    }
    shape = nb::tuple(sizes);
  }
  return nb::make_tuple(text(p.name), text(p.type), p.dtype ? dtype_object(*p.dtype) : nb::none(), shape);
}
nb::list ports(const std::vector<onnx::Port>& all) {
  nb::list list;
  for (const onnx::Port& p : all) list.append(port(p));
  return list;
}

nb::tuple texts(const std::vector<std::string>& all) {
  nb::list list;
  for (const std::string& s : all) list.append(text(s));
  return nb::tuple(list);
}

// In the order of weft.onnx.Description's fields.
nb::tuple description(const onnx::Description& d) {
  nb::dict opsets, metadata;
  for (const auto& [domain, version] : d.opsets) opsets[text(domain.empty() ? "ai.onnx" : domain)] = nb::cast(version);
  for (const auto& [key, value] : d.metadata) metadata[text(key)] = text(value);
  nb::list operators;
  for (const onnx::OperatorUse& use : d.operators) {
    operators.append(nb::make_tuple(text(use.domain.empty() ? "ai.onnx" : use.domain), text(use.name), use.version,
                                    use.count, use.supported, text(use.reason)));
  }
  return nb::make_tuple(text(d.name), text(d.producer), d.ir_version, opsets, metadata, ports(d.inputs),
                        ports(d.outputs), operators, d.parameters, d.weight_bytes, texts(d.files), d.external_bytes,
                        texts(d.problems), texts(d.remarks));
}

// Throws for a number in lists, or alone, that the input's type does not have: as it is, [[300]] of uint8.
void check_range(const onnx::Port& p, nb::handle object, std::vector<std::size_t>& place) {
  PyObject* const o = object.ptr();
  if (PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o)) {
    place.push_back(0);
    for (const nb::handle item : nb::borrow<nb::object>(object)) {
      check_range(p, item, place);
      ++place.back();
    }
    place.pop_back();
    return;
  }
  nb::object index;
  if (!PyFloat_Check(o) && !PyLong_Check(o)) {
    // NumPy's integers; arrays have a type, which is another check.
    if (is_array(object) || !PyIndex_Check(o)) return;
    index = nb::steal(PyNumber_Index(o));
    if (!index.is_valid()) {
      PyErr_Clear();
      return;
    }
  }
  const std::optional<Number> number = number_from(index.is_valid() ? nb::handle(index) : object);
  if (!number || can_hold(*p.dtype, *number)) return;
  std::string where;
  for (const std::size_t i : place) where += (where.empty() ? " at [" : ", ") + std::to_string(i);
  if (!where.empty()) where += "]";
  throw InvalidArgument("onnx: input '" + p.name + "' is given " + nb::cast<std::string>(nb::str(object)) + where +
                        ", expected " + std::string(name(*p.dtype)) + ", " + range_text(*p.dtype));
}
// Numbers and lists of them become the input's type.
Tensor tensor_of(const onnx::Port& p, nb::handle object) {
  std::vector<std::size_t> place;
  if (p.dtype && (is_integer(*p.dtype) || *p.dtype == DType::boolean)) check_range(p, object, place);
  return tensor_from(object, p.dtype);
}

// A name that a program gives. Throws TypeError for what is no text.
std::string name_in(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) return nb::cast<std::string>(object);
  throw TypeError("onnx: an input is called " + nb::cast<std::string>(nb::repr(object)) + ", expected a name (str)");
}

// What a program gives for an input: None for an optional without a value, a list for a sequence, else what a tensor is
// made of. Numbers and lists of them become the input's type.
onnx::PortValue value_in(const onnx::Port& p, nb::handle object) {
  onnx::PortValue value;
  if (object.is_none()) {
    // The model refuses inputs that it does not have.
    if (p.type.empty() || p.type.starts_with("optional")) return value;
    throw InvalidArgument("onnx: input '" + p.name + "' is None, and is no optional but a " + p.type);
  }
  if (p.type.find("seq(") == std::string::npos) {
    const bool typed = nb::hasattr(object, "dtype") || nb::hasattr(object, "__dlpack__");
    value.tensor = typed ? tensor_from(object) : tensor_of(p, object);
    return value;
  }
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    throw TypeError("onnx: input '" + p.name + "' is a " + p.type + ", which is given as a list of arrays");
  }
  value.sequence.emplace();
  for (const nb::handle item : nb::borrow<nb::object>(object)) value.sequence->push_back(tensor_from(item));
  return value;
}
nb::object object_of(const onnx::PortValue& value) {
  if (value.sequence) return arrays(*value.sequence);
  return value.tensor.defined() ? array(value.tensor) : nb::none();
}

struct ObjectOfAttribute {
  nb::object operator()(std::int64_t v) const { return nb::cast(v); }
  nb::object operator()(double v) const { return nb::cast(v); }
  // Any bytes, which are a text in most models.
  nb::object operator()(const std::string& v) const {
    PyObject* made = PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), nullptr);
    if (made) return nb::steal(made);
    PyErr_Clear();
    return nb::bytes(v.data(), v.size());
  }
  nb::object operator()(const Tensor& v) const { return array(v); }
  template <class T>
  nb::object operator()(const std::vector<T>& v) const {
    nb::list list;
    for (const T& item : v) list.append((*this)(item));
    return list;
  }
};
nb::object attribute(const onnx::Attribute& value) { return std::visit(ObjectOfAttribute{}, value); }

// (domain, name, function of (inputs, attributes, outputs, version)) as operators of a program's own.
std::vector<onnx::Operator> operators_in(nb::handle list) {
  std::vector<onnx::Operator> operators;
  for (const nb::handle item : nb::borrow<nb::object>(list)) {
    const auto row = nb::cast<nb::tuple>(item);
    operators.push_back({nb::cast<std::string>(row[0]), nb::cast<std::string>(row[1]),
                         [f = shared(row[2])](const onnx::OperatorCall& call) {
                           const nb::gil_scoped_acquire acquire;
                           nb::list inputs;
                           for (const Tensor& t : call.inputs) inputs.append(t.defined() ? array(t) : nb::none());
                           nb::dict attributes;
                           for (const auto& [name, value] : call.attributes) attributes[text(name)] = attribute(value);
                           return tensors_in(nb::handle(f.get())(inputs, attributes, call.outputs, call.version));
                         }});
  }
  return operators;
}

}  // namespace

void add_onnx(nb::module_& m) {
  m.def("describe_onnx",
        [](const std::string& path) { return description(released([&] { return onnx::describe(path); })); });
  const auto options = [](const Device& device, const std::optional<std::string>& precision, nb::handle operators,
                          const std::optional<Device>& fallback) {
    return onnx::Options{.device = device,
                         .precision = precision_named(precision),
                         .operators = operators_in(operators),
                         .fallback = fallback};
  };
  m.def(
      "save_onnx",
      [](const std::string& path, const Graph& graph, std::optional<std::int64_t> opset, std::optional<bool> external) {
        released([&] { onnx::save(path, graph, {.opset = opset, .external_data = external}); });
      },
      nb::arg("path"), nb::arg("graph"), nb::arg("opset").none(), nb::arg("external_data").none());
  m.def(
      "load_onnx",
      [options](const std::string& path, const Device& device, std::optional<std::string> precision,
                nb::handle operators, std::optional<Device> fallback) {
        const onnx::Options all = options(device, precision, operators, fallback);
        return released([&] { return onnx::Model::load(path, all); });
      },
      nb::arg("path"), nb::arg("device"), nb::arg("precision").none(), nb::arg("operators"),
      nb::arg("fallback").none());
  m.def(
      "onnx_from_bytes",
      [options](nb::bytes bytes, const Device& device, std::optional<std::string> precision, const std::string& folder,
                nb::handle operators, std::optional<Device> fallback) {
        const std::span<const std::byte> all(static_cast<const std::byte*>(bytes.data()), bytes.size());
        const onnx::Options chosen = options(device, precision, operators, fallback);
        return released([&] { return onnx::Model::from_bytes(all, chosen, folder); });
      },
      nb::arg("bytes"), nb::arg("device"), nb::arg("precision").none(), nb::arg("folder"), nb::arg("operators"),
      nb::arg("fallback").none());

  nb::class_<onnx::Model>(m, "OnnxModel")
      .def("description", [](const onnx::Model& model) { return description(model.description()); })
      .def_prop_ro("device", [](const onnx::Model& model) { return model.device(); })
      .def_prop_ro("compilations", &onnx::Model::compilations)
      .def("readbacks",
           [](const onnx::Model& model) {
             nb::list all;
             for (const onnx::Readback& r : model.readbacks()) {
               all.append(nb::make_tuple(text(r.value), text(r.node), text(r.op), r.bytes, r.count));
             }
             return all;
           })
      .def("on_fallback",
           [](const onnx::Model& model) {
             nb::list all;
             for (const onnx::FallbackNode& n : model.on_fallback()) {
               all.append(nb::make_tuple(text(n.node), text(n.op), text(n.reason)));
             }
             return all;
           })
      // Shapes and arrays by inputs' names.
      .def("graph",
           [](const onnx::Model& model, nb::dict shapes, nb::dict constants) {
             std::vector<onnx::NamedShape> named;
             for (const auto& [key, sizes] : shapes) {
               std::string name = name_in(key);
               const std::vector<std::int64_t> all = integers_from(sizes, "the shape of input '" + name + "'");
               named.push_back({std::move(name), Shape(std::span<const std::int64_t>(all))});
             }
             std::vector<std::pair<std::string, Tensor>> values;
             for (const auto& [key, value] : constants) {
               const std::string name = name_in(key);
               const auto port = std::ranges::find(model.inputs(), name, &onnx::Port::name);
               values.emplace_back(name, port == model.inputs().end() ? tensor_from(value) : tensor_of(*port, value));
             }
             return released([&] {
               std::vector<NamedTensor> given;
               for (const auto& [name, tensor] : values) given.push_back({name, tensor});
               return model.graph(named, given);
             });
           })
      // Values by inputs' names; a list of values in the outputs' order.
      .def("run", [](const onnx::Model& model, nb::dict given) {
        std::vector<onnx::NamedValue> inputs;
        const DefaultDeviceScope here(model.device());
        for (const auto& [key, object] : given) {
          auto name = nb::cast<std::string>(key);
          // The model refuses names that it does not have.
          const auto port = std::ranges::find(model.inputs(), name, &onnx::Port::name);
          onnx::PortValue value =
              value_in(port == model.inputs().end() ? onnx::Port{.name = name, .type = {}} : *port, object);
          inputs.push_back({std::move(name), std::move(value)});
        }
        const std::vector<onnx::PortValue> outputs = released([&] { return model.run_values(inputs); });
        nb::list results;
        for (const onnx::PortValue& value : outputs) results.append(object_of(value));
        return results;
      });
}

}  // namespace weft::python
