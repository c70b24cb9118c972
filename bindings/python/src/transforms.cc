// Transformations of functions, on lists of arrays: the package takes trees of arguments apart and puts them together.
#include "core.h"

#include "weft/compile.h"
#include "weft/control_flow.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/traced.h"

namespace weft::python {
namespace {

// A function of Python's, of lists of arrays, which may be called and dropped by any thread.
detail::TensorFunction callable(nb::handle function) {
  return [f = shared(function)](std::span<const Tensor> operands) {
    const nb::gil_scoped_acquire acquire;
    return tensors_in(nb::handle(f.get())(arrays(operands)));
  };
}
detail::CustomRule rule(nb::handle function) {
  if (function.is_none()) return {};
  return [f = shared(function)](std::span<const Tensor> operands, std::span<const Tensor> results,
                                std::span<const Tensor> derivatives) {
    const nb::gil_scoped_acquire acquire;
    return tensors_in(nb::handle(f.get())(arrays(operands), arrays(results), arrays(derivatives)));
  };
}

// Both are ended when their function has run, whatever still refers to them (a traceback does).
struct DerivationObject {
  std::optional<detail::Derivation> run;
  detail::Derivation& get() {
    if (!run) throw InvalidArgument("a derivation that has ended");
    return *run;
  }
};
struct BatchObject {
  std::optional<detail::BatchedCall> run;
  detail::BatchedCall& get() {
    if (!run) throw InvalidArgument("a batch that has ended");
    return *run;
  }
};

struct TracedFunction {
  std::unique_ptr<detail::TracedCalls> calls;
};

// Runs `trace` of a list of arrays, which gives (value, results): a value of Python's, which is kept with what was
// compiled, and a list of arrays.
detail::TracedCalls::Trace tracer(nb::handle trace) {
  return [trace](std::span<const Tensor> stand_ins) {
    const nb::gil_scoped_acquire acquire;
    const auto made = nb::cast<nb::tuple>(trace(arrays(stand_ins)));
    const SharedObject value = shared(made[0]);
    return detail::TracedResults{std::shared_ptr<const void>(value, value.get()), tensors_in(made[1])};
  };
}

std::vector<std::optional<int>> optional_axes(nb::handle axes) {
  std::vector<std::optional<int>> all;
  for (const nb::handle a : nb::borrow<nb::object>(axes)) {
    all.push_back(a.is_none() ? std::optional<int>() : static_cast<int>(integer_from(a, "in_axes")));
  }
  return all;
}

}  // namespace

std::optional<Precision> precision_named(const std::optional<std::string>& name) {
  if (!name) return {};
  if (*name == "strict" || *name == "float32") return Precision::strict;
  if (*name == "f16" || *name == "float16") return Precision::f16;
  if (*name == "auto") return Precision::automatic;
  throw InvalidArgument("precision is '" + *name + "', expected 'float32', 'float16' or 'auto'");
}

void add_transforms(nb::module_& m) {
  nb::class_<DerivationObject>(m, "Derivation")
      .def("__init__",
           [](DerivationObject* self, const std::string& function) {
             // Messages keep a view of the name.
             static const std::string kNames[] = {"grad", "vjp", "jvp", "jacobian"};
             for (const std::string& name : kNames) {
               if (name != function) continue;
               new (self) DerivationObject();
               self->run.emplace(name);
               return;
             }
             throw InvalidArgument("no derivation is called '" + function + "'");
           })
      .def("end", [](DerivationObject& d) { d.run.reset(); })
      .def("variable", [](DerivationObject& d, const Tensor& x) { return array(d.get().variable(x)); })
      .def("require_variables", [](DerivationObject& d) { d.get().require_variables(); })
      .def("finish", [](DerivationObject& d, nb::handle results) { d.get().finish(tensors_in(results)); })
      .def("require_scalar", [](DerivationObject& d) { d.get().require_scalar(); })
      .def("pull_back",
           [](DerivationObject& d, nb::handle cotangents) {
             const auto given = tensors_in(cotangents);
             return arrays(released([&] { return d.get().pull_back(given); }));
           })
      .def("gradient", [](DerivationObject& d) { return arrays(released([&] { return d.get().gradient(); })); })
      .def("push_forward",
           [](DerivationObject& d, nb::handle tangents) {
             const auto given = tensors_in(tangents);
             return arrays(released([&] { return d.get().push_forward(given); }));
           })
      .def("jacobian", [](DerivationObject& d, bool forward) {
        return array(released([&] { return d.get().jacobian(forward); }));
      });

  nb::class_<BatchObject>(m, "BatchedCall")
      .def("__init__",
           [](BatchObject* self, nb::handle axes, int result_axis) {
             std::vector<std::optional<int>> all = optional_axes(axes);
             new (self) BatchObject();
             self->run.emplace(std::move(all), result_axis);
           })
      .def("end", [](BatchObject& c) { c.run.reset(); })
      .def("entry",
           [](BatchObject& c, const Tensor& x, std::size_t argument) { return array(c.get().entry(x, argument)); })
      .def("finish", [](BatchObject& c, nb::handle results) {
        const auto given = tensors_in(results);
        return arrays(released([&] { return c.get().finish(given); }));
      });

  nb::class_<TracedFunction>(m, "TracedFunction")
      .def(
          "__init__",
          [](TracedFunction* self, std::optional<std::string> precision, bool fusion) {
            CompileOptions options;
            options.precision = precision_named(precision);
            options.fusion = fusion;
            new (self) TracedFunction{std::make_unique<detail::TracedCalls>(std::move(options))};
          },
          nb::arg("precision").none(), nb::arg("fusion"))
      // (value, results); None: the function is to be called directly. `donated`: places of arguments, which are
      // empty afterwards.
      .def(
          "__call__",
          [](TracedFunction& f, nb::bytes key, nb::list arguments, nb::handle trace, nb::handle donated) -> nb::object {
            std::vector<Tensor> tensors = tensors_in(arguments);
            if (detail::TracedCalls::inlines(tensors)) return nb::none();
            std::vector<std::size_t> places;
            for (const nb::handle i : nb::borrow<nb::object>(donated)) places.push_back(nb::cast<std::size_t>(i));
            const detail::TracedResults results = released([&] {
              return f.calls->call(std::string(key.c_str(), key.size()), std::move(tensors), tracer(trace), places);
            });
            for (const std::size_t i : places) tensor_in(arguments[i]) = Tensor();
            return nb::make_tuple(nb::borrow(static_cast<PyObject*>(const_cast<void*>(results.value.get()))),
                                  arrays(results.tensors));
          })
      .def_prop_ro("cached", [](const TracedFunction& f) { return f.calls->cached(); })
      .def("clear", [](TracedFunction& f) { released([&] { f.calls->clear(); }); });
  nb::class_<Graph>(m, "Graph")
      .def("__str__", [](const Graph& g) { return g.to_string(); })
      .def("to_dot", [](const Graph& g) { return g.to_dot(); });
  m.def("traced_graph", [](nb::handle arguments, nb::handle trace) {
    const auto tensors = tensors_in(arguments);
    return released([&] { return detail::TracedCalls::graph(tensors, tracer(trace)); });
  });

  m.def(
      "with_rules",
      [](nb::handle operands, nb::handle results, nb::handle vjp, nb::handle jvp) {
        const CallerLine line;
        return arrays(detail::with_rules(tensors_in(operands), tensors_in(results), rule(vjp), rule(jvp)));
      },
      nb::arg("operands"), nb::arg("results"), nb::arg("vjp").none(), nb::arg("jvp").none());
  m.def("filled", [](nb::handle derivatives, nb::handle like) {
    return arrays(detail::filled(tensors_in(derivatives), tensors_in(like)));
  });
  m.def("checkpointed", [](nb::handle operands, nb::handle function) {
    const CallerLine line;
    const auto given = tensors_in(operands);
    const auto f = callable(function);
    return arrays(released([&] { return detail::checkpointed(given, f); }));
  });
  m.def("stop_gradient", [](const Tensor& x) { return array(stop_gradient(x)); });
  m.def("cond", [](const Tensor& predicate, nb::handle operands, nb::handle then, nb::handle otherwise) {
    const CallerLine line;
    const auto given = tensors_in(operands);
    const auto a = callable(then), b = callable(otherwise);
    return arrays(released([&] { return detail::cond(predicate, given, a, b); }));
  });
  m.def("while_loop", [](nb::handle carries, nb::handle condition, nb::handle body) {
    const CallerLine line;
    const auto given = tensors_in(carries);
    const auto c = callable(condition), b = callable(body);
    return arrays(released([&] { return detail::while_loop(given, c, b, std::source_location::current()); }));
  });
  m.def("fori_loop", [](std::int64_t first, std::int64_t end, nb::handle carries, nb::handle body) {
    const CallerLine line;
    const auto given = tensors_in(carries);
    const auto b = callable(body);
    return arrays(released([&] {
      return detail::scan({"fori_loop", std::source_location::current(), first, detail::count_turns(first, end)}, given,
                          {}, b);
    }));
  });
  m.def(
      "scan",
      [](nb::handle carries, nb::handle xs, std::optional<std::int64_t> length, bool reverse, nb::handle body) {
        const CallerLine line;
        const auto given = tensors_in(carries), slices = tensors_in(xs);
        const auto b = callable(body);
        const std::int64_t turns = length ? *length : detail::scan_length(slices);
        return arrays(released([&] {
          return detail::scan({"scan", std::source_location::current(), 0, turns, reverse}, given, slices, b);
        }));
      },
      nb::arg("carries"), nb::arg("xs"), nb::arg("length").none(), nb::arg("reverse"), nb::arg("body"));
}

}  // namespace weft::python
