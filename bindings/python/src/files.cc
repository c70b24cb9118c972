// Arrays and graphs in files, and models.
#include "core.h"

#include "weft/files.h"

#include "weft/compile.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph_file.h"
#include "weft/models.h"

namespace weft::python {

void add_files(nb::module_& m) {
  m.def("load", [](const std::string& path) { return array(released([&] { return load(path); })); });
  m.def("load_all", [](const std::string& path) {
    nb::dict all;
    for (const auto& [name, tensor] : released([&] { return load_all(path); })) all[name.c_str()] = array(tensor);
    return all;
  });
  m.def("load_metadata", [](const std::string& path) {
    nb::dict all;
    const auto file = released([&] { return SafeTensors::open(path); });
    for (const auto& [key, value] : file.metadata()) all[key.c_str()] = nb::str(value.c_str());
    return all;
  });
  m.def("save", [](const std::string& path, const Tensor& x) { released([&] { save(path, x); }); });
  m.def("save_all", [](const std::string& path, nb::dict tensors, nb::dict metadata) {
    TensorMap all;
    for (const auto& [name, x] : tensors) all.emplace(nb::cast<std::string>(name), tensor_in(x));
    SafeTensors::Metadata texts;
    for (const auto& [key, value] : metadata) texts[nb::cast<std::string>(key)] = nb::cast<std::string>(value);
    released([&] { save(path, all, texts); });
  });
  m.def("save_graph", [](const std::string& path, const Graph& graph) { released([&] { save(path, graph); }); });
  m.def("load_graph", [](const std::string& path) { return released([&] { return load_graph(path); }); });

  nb::class_<Executable>(m, "Executable")
      // Of inputs and numbers in the graph's order.
      .def("__call__", [](Executable& e, const Graph& graph, nb::handle inputs, nb::handle numbers) {
        std::vector<Tensor> given = tensors_in(inputs);
        const std::vector<Graph::Port> ports = graph.inputs();
        for (std::size_t i = 0; i < given.size() && i < ports.size(); ++i) {
          if (given[i].shape() == ports[i].type.shape) continue;
          throw ShapeError("input '" + ports[i].name + "' is " + to_string(given[i].type()) +
                           ", and the graph was recorded for " + to_string(ports[i].type) +
                           "; with_shapes() gives it for other shapes");
        }
        std::vector<Number> values;
        for (const nb::handle n : nb::borrow<nb::object>(numbers)) values.push_back(number_from(n).value_or(Number()));
        std::vector<Tensor> outputs;
        released([&] {
          for (Tensor& x : given) x = to(x, e.device());
          for (const Graph::Port& p : graph.outputs()) outputs.emplace_back(e.device(), p.type.dtype, p.type.shape);
          e.run(given, outputs, values);
        });
        return arrays(outputs);
      });
  m.def("compile_graph",
        [](const Graph& graph, const Device& device) { return released([&] { return compile(graph, device); }); });
  m.def("graph_with_shapes", [](const Graph& graph, nb::dict shapes) {
    std::vector<NamedShape> all;
    for (const auto& [name, shape] : shapes) {
      NamedShape& one = all.emplace_back(NamedShape{nb::cast<std::string>(name), {}});
      for (const nb::handle size : nb::borrow<nb::object>(shape)) one.shape.push_back(nb::cast<std::int64_t>(size));
    }
    return graph.with_shapes(all);
  });
  // Names of inputs, numbers and outputs.
  m.def("graph_ports", [](const Graph& graph) {
    const auto names = [](const std::vector<Graph::Port>& ports) {
      nb::list list;
      for (const Graph::Port& p : ports) list.append(p.name);
      return list;
    };
    return nb::make_tuple(names(graph.inputs()), names(graph.numbers()), names(graph.outputs()));
  });

  nb::class_<models::SentenceEncoder>(m, "SentenceEncoder")
      .def_prop_ro("dimension", &models::SentenceEncoder::dimension)
      .def_prop_ro("vocabulary", &models::SentenceEncoder::vocabulary)
      .def_prop_ro("device", [](const models::SentenceEncoder& e) { return e.device(); })
      .def("embed", [](models::SentenceEncoder& e, nb::handle sentences) {
        std::vector<std::string> texts;
        for (const nb::handle s : nb::borrow<nb::object>(sentences)) {
          if (!PyUnicode_Check(s.ptr())) {
            throw TypeError("SentenceEncoder: a sentence is " + nb::cast<std::string>(nb::repr(s)) +
                            ", expected a string");
          }
          texts.push_back(nb::cast<std::string>(s));
        }
        return array(released([&] { return e.embed(texts); }));
      });
  m.def(
      "load_encoder",
      [](const std::string& path, const Device& device, int batch_size, std::optional<std::string> prompt) {
        models::EmbedOptions options;
        options.batch = batch_size;
        options.prompt = std::move(prompt);
        return released([&] { return models::SentenceEncoder::load(path, device, options); });
      },
      nb::arg("path"), nb::arg("device"), nb::arg("batch_size"), nb::arg("prompt").none());
}

}  // namespace weft::python
