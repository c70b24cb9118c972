// WebNN: handles, and operations called by their names; weft/webnn.py has Python's names and conversions of data.
#include "core.h"

#include <algorithm>

#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/webnn.h"

namespace weft::python {
namespace {

using webnn::ArgumentKind;

// The names of ArgumentKind's values.
constexpr const char* kKinds[] = {"operand", "operands", "boolean", "size",   "integer", "sizes",    "splits",
                                  "number",  "real",     "reals",   "choice", "choices", "data_type"};

nb::tuple sizes(const webnn::Sizes& shape) {
  nb::list list;
  for (const std::int64_t n : shape) list.append(n);
  return nb::tuple(list);
}
nb::object data_type(DType type) { return nb::str(std::string(webnn::data_type_name(type)).c_str()); }

// A contiguous buffer of Python's, while it is used.
class Bytes {
 public:
  explicit Bytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) nb::raise_python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::byte> span() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

[[noreturn]] void refuse(const std::string& op, const std::string& argument, nb::handle value, const char* expected) {
  throw webnn::TypeError(op + ": " + argument + " is " + nb::cast<std::string>(nb::repr(value)) + ", expected " +
                         expected);
}

template <class T>
const T& object_in(const std::string& op, const std::string& argument, nb::handle value, const char* expected) {
  T* object = nullptr;
  if (!nb::try_cast(value, object) || !object) refuse(op, argument, value, expected);
  return *object;
}
std::string text(const std::string& op, const std::string& argument, nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) refuse(op, argument, value, "a string");
  return nb::cast<std::string>(value);
}
// A number of Python's, or of NumPy's: what has __index__ or __float__.
Number number(const std::string& op, const std::string& argument, nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) {
    if (const std::optional<Number> n = number_from(value)) return *n;
    if (PyIndex_Check(value.ptr())) return Number(integer_from(value, argument));
    const nb::object made = nb::steal(PyNumber_Float(value.ptr()));
    if (made.is_valid()) return Number(PyFloat_AsDouble(made.ptr()));
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
  }
  refuse(op, argument, value, "a number");
}

webnn::Value value_of(const std::string& op, const std::string& argument, ArgumentKind kind, nb::handle value) {
  const auto each = [&](auto&& take) {
    if (PyUnicode_Check(value.ptr())) refuse(op, argument, value, "a sequence");
    const nb::object iterator = nb::steal(PyObject_GetIter(value.ptr()));
    if (!iterator.is_valid()) {
      PyErr_Clear();
      refuse(op, argument, value, "a sequence");
    }
    for (PyObject* item; (item = PyIter_Next(iterator.ptr()));) take(nb::steal(item));
    check_python();
  };
  switch (kind) {
    case ArgumentKind::operand:
      return object_in<webnn::Operand>(op, argument, value, "an MLOperand");
    case ArgumentKind::operands: {
      std::vector<webnn::Operand> list;
      each([&](nb::handle o) { list.push_back(object_in<webnn::Operand>(op, argument, o, "an MLOperand")); });
      return list;
    }
    case ArgumentKind::boolean: {
      const int truth = PyObject_IsTrue(value.ptr());
      if (truth < 0) nb::raise_python_error();
      return truth != 0;
    }
    case ArgumentKind::size:
    case ArgumentKind::integer:
    case ArgumentKind::number:
    case ArgumentKind::real:
      return number(op, argument, value);
    case ArgumentKind::splits:
      if (PyIndex_Check(value.ptr())) return number(op, argument, value);
      [[fallthrough]];
    case ArgumentKind::sizes:
      return webnn::Sizes(integers_from(value, op + ": " + argument));
    case ArgumentKind::reals: {
      std::vector<double> list;
      each([&](nb::handle n) { list.push_back(number(op, argument, n).value()); });
      return list;
    }
    case ArgumentKind::choices: {
      std::vector<std::string> list;
      each([&](nb::handle n) { list.push_back(text(op, argument, n)); });
      return list;
    }
    case ArgumentKind::data_type:
      if (!PyUnicode_Check(value.ptr())) return dtype_of_object(value);
      [[fallthrough]];
    case ArgumentKind::choice:
      break;
  }
  return text(op, argument, value);
}

// Pairs of the names and objects of a dict.
template <class T>
std::vector<std::pair<std::string, T>> named(const char* op, nb::dict objects, const char* expected) {
  std::vector<std::pair<std::string, T>> list;
  for (const auto& [name, object] : objects) {
    auto key = text(op, "a name", name);
    list.emplace_back(key, object_in<T>(op, key, object, expected));
  }
  return list;
}

nb::list names_of(TypeSet types) {
  nb::list names;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (const auto type = static_cast<DType>(i); types.contains(type)) names.append(data_type(type));
  }
  return names;
}
// (data types, least rank, greatest rank)
nb::tuple described(const webnn::TensorLimits& limits) {
  return nb::make_tuple(names_of(limits.data_types), limits.rank_range.min, limits.rank_range.max);
}

webnn::OperandDescriptor descriptor(nb::handle type, nb::handle shape) {
  return {dtype_of_object(type), integers_from(shape, "shape")};
}

// A read that was called for, in the order of calls.
struct Reading {
  DType type;
  webnn::Sizes shape;
  Future<gpu::ReadBytes> bytes;
};

}  // namespace

void add_webnn(nb::module_& m) {
  nb::class_<webnn::Operand>(m, "MLOperand", nb::is_final())
      .def_prop_ro(
          "data_type", [](const webnn::Operand& o) { return data_type(o.data_type()); }, "\"float32\", \"int64\", …")
      .def_prop_ro(
          "shape", [](const webnn::Operand& o) { return sizes(o.shape()); }, "The sizes of the axes.")
      .def("__repr__",
           [](const webnn::Operand& o) {
             return nb::str("<MLOperand {} {}>").format(data_type(o.data_type()), sizes(o.shape()));
           })
      .attr("__doc__") = "A value of the graph that is being built: an MLGraphBuilder's operations take and give them.";

  nb::class_<webnn::Tensor>(m, "MLTensor", nb::is_final())
      .def_prop_ro(
          "data_type", [](const webnn::Tensor& t) { return data_type(t.data_type()); }, "\"float32\", \"int64\", …")
      .def_prop_ro(
          "shape", [](const webnn::Tensor& t) { return sizes(t.shape()); }, "The sizes of the axes.")
      .def_prop_ro("readable", &webnn::Tensor::readable, "Whether read_tensor() takes it.")
      .def_prop_ro("writable", &webnn::Tensor::writable, "Whether write_tensor() takes it.")
      .def_prop_ro("constant", &webnn::Tensor::constant, "Whether create_constant_tensor() made it.")
      .def_prop_ro("destroyed", &webnn::Tensor::destroyed, "Whether its memory was given back.")
      .def(
          "destroy", [](webnn::Tensor& t) { released([&] { t.destroy(); }); },
          "Gives back its memory when what was called before is done; may be called again.")
      .def("_dtype", [](const webnn::Tensor& t) { return dtype_object(t.data_type()); })
      .def("__repr__",
           [](const webnn::Tensor& t) {
             return nb::str("<MLTensor {} {}>").format(data_type(t.data_type()), sizes(t.shape()));
           })
      .attr("__doc__") = "Memory of a context: MLContext.create_tensor() makes them.";

  nb::class_<webnn::Graph>(m, "MLGraph", nb::is_final())
      .def_prop_ro(
          "inputs",
          [](const webnn::Graph& g) {
            nb::dict all;
            for (const auto& [name, d] : g.inputs()) {
              all[name.c_str()] = nb::make_tuple(data_type(d.data_type), sizes(d.shape));
            }
            return all;
          },
          "What dispatch() takes: (data type, shape) by name. Inputs that no output needs are not there.")
      .def_prop_ro(
          "outputs",
          [](const webnn::Graph& g) {
            nb::dict all;
            for (const auto& [name, d] : g.outputs()) {
              all[name.c_str()] = nb::make_tuple(data_type(d.data_type), sizes(d.shape));
            }
            return all;
          },
          "What dispatch() writes: (data type, shape) by name.")
      .def_prop_ro("destroyed", &webnn::Graph::destroyed, "Whether its memory was given back.")
      .def(
          "destroy", [](webnn::Graph& g) { released([&] { g.destroy(); }); },
          "Gives back its memory when what was called before is done; may be called again.")
      .attr("__doc__") = "A compiled graph: MLGraphBuilder.build() makes it, MLContext.dispatch() runs it.";

  nb::class_<Reading>(m, "MLReading").def("get", [](Reading& r) {
    return array(released([&] {
      const gpu::ReadBytes bytes = r.bytes.get();
      const DefaultDeviceScope on_cpu(Device::cpu());
      return tensor(r.type, Shape(std::span<const std::int64_t>(r.shape)), bytes.span());
    }));
  });

  nb::class_<webnn::Context>(m, "MLContextHandle")
      .def("__init__",
           [](webnn::Context* self, const Device& device) {
             new (self) webnn::Context(released([&] { return webnn::Context::create(device); }));
           })
      .def("create_tensor",
           [](webnn::Context& c, nb::handle type, nb::handle shape, bool readable, bool writable) {
             const auto d = descriptor(type, shape);
             return released([&] { return c.create_tensor({d.data_type, d.shape, readable, writable}); });
           })
      .def("create_constant_tensor",
           [](webnn::Context& c, nb::handle type, nb::handle shape, nb::handle data) {
             const auto d = descriptor(type, shape);
             const Bytes bytes(data);
             return released([&] { return c.create_constant_tensor(d, bytes.span()); });
           })
      .def("write_tensor",
           [](webnn::Context& c, const webnn::Tensor& tensor, nb::handle data) {
             const Bytes bytes(data);
             released([&] { c.write_tensor(tensor, bytes.span()); });
           })
      .def("read_tensor",
           [](webnn::Context& c, const webnn::Tensor& tensor) {
             return released([&] {
               Future<gpu::ReadBytes> bytes = c.read_tensor(tensor);
               return Reading{tensor.data_type(), tensor.shape(), std::move(bytes)};
             });
           })
      .def("dispatch",
           [](webnn::Context& c, const webnn::Graph& graph, nb::dict inputs, nb::dict outputs) {
             const auto in = named<webnn::Tensor>("dispatch", inputs, "an MLTensor");
             const auto out = named<webnn::Tensor>("dispatch", outputs, "an MLTensor");
             released([&] { c.dispatch(graph, in, out); });
           })
      .def_prop_ro("accelerated", &webnn::Context::accelerated)
      .def_prop_ro("device", [](const webnn::Context& c) { return c.device(); })
      .def("lost",
           [](const webnn::Context& c) -> nb::object {
             if (!c.is_lost()) return nb::none();
             return nb::str(released([&] { return c.lost().get().message; }).c_str());
           })
      .def("destroy", [](webnn::Context& c) { released([&] { c.destroy(); }); })
      // (preferred layout, most bytes of a tensor, input, constant, output, {operation: {operand: limits}})
      .def("limits", [](const webnn::Context& c) {
        const webnn::OpSupportLimits limits = c.op_support_limits();
        nb::dict ops;
        for (const auto& [op, operands] : limits.ops) {
          nb::dict all;
          for (const auto& [name, operand] : operands) all[name.c_str()] = described(operand);
          ops[op.c_str()] = all;
        }
        const auto layout = static_cast<std::size_t>(limits.preferred_input_layout);
        return nb::make_tuple(nb::str(std::string(webnn::kInputOperandLayouts[layout]).c_str()),
                              limits.max_tensor_byte_length, described(limits.input), described(limits.constant),
                              described(limits.output), ops);
      });

  nb::class_<webnn::GraphBuilder>(m, "MLGraphBuilderHandle")
      .def(nb::init<const webnn::Context&>())
      .def("input", [](webnn::GraphBuilder& b, const std::string& name, nb::handle type,
                       nb::handle shape) { return b.input(name, descriptor(type, shape)); })
      .def("constant",
           [](webnn::GraphBuilder& b, nb::handle type, nb::handle shape, nb::handle data) {
             const auto d = descriptor(type, shape);
             const Bytes bytes(data);
             return released([&] { return b.constant(d, bytes.span()); });
           })
      .def("scalar",
           [](webnn::GraphBuilder& b, nb::handle type, nb::handle value) {
             return b.constant(dtype_of_object(type), number("constant", "the value", value));
           })
      .def("constant_of", [](webnn::GraphBuilder& b, const webnn::Tensor& tensor) { return b.constant(tensor); })
      // `arguments`: by the specification's names.
      .def("call",
           [](webnn::GraphBuilder& b, const std::string& op, nb::dict arguments) {
             const webnn::OpSchema* schema = webnn::find_op(op);
             webnn::Arguments given;
             for (const auto& [key, value] : arguments) {
               auto name = nb::cast<std::string>(key);
               const webnn::ArgumentSchema* argument = schema ? schema->argument(name) : nullptr;
               webnn::Value converted = argument ? value_of(op, name, argument->kind, value)
                                                 : webnn::Value(text(op, name, value));  // the label
               given.emplace_back(std::move(name), std::move(converted));
             }
             nb::list results;
             for (webnn::Operand& result : b.call(op, given)) results.append(nb::cast(std::move(result)));
             return results;
           })
      .def("build", [](webnn::GraphBuilder& b, nb::dict outputs) {
        const auto all = named<webnn::Operand>("build", outputs, "an MLOperand");
        return released([&] { return b.build(all); });
      });

  // The device that a context with these wishes is on.
  m.def("webnn_device", [](int power_preference, bool accelerated) {
    return released([&] {
      return webnn::Context::create({static_cast<webnn::PowerPreference>(power_preference), accelerated}).device();
    });
  });
  // [(name, gives a list, section, [(name, kind, required, default as text, choices)], result names)]
  m.def("webnn_ops", [] {
    nb::list ops;
    for (const webnn::OpSchema& op : webnn::ops()) {
      nb::list arguments, outputs;
      for (const webnn::ArgumentSchema& a : op.arguments) {
        nb::list choices;
        for (const std::string& c : a.choices) choices.append(c);
        arguments.append(
            nb::make_tuple(a.name, kKinds[static_cast<std::size_t>(a.kind)], a.required, a.default_text, choices));
      }
      for (const webnn::ArgumentSchema& o : op.outputs) outputs.append(o.name);
      const bool list = op.outputs.size() > 1 || op.outputs.front().kind == ArgumentKind::operands;
      ops.append(nb::make_tuple(op.name, list, op.section, arguments, outputs));
    }
    return ops;
  });
}

}  // namespace weft::python
