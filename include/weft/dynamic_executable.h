// A graph on inputs of any shapes ("dynamic shapes"): it is compiled for shapes when they first come, and what was
// compiled is kept. Constants are on the device once, and kernels are compiled once, however many shapes there are.
//
//   DynamicExecutable encoder(load_graph("encoder.safetensors"), device);   // recorded with x [1, 128, 384]
//   Tensor y = encoder.run({{"x", x}})[0];                                  // x [3, 70, 384]
//
// Which graphs have other shapes is told at Graph::with_shapes(). Compiled functions (weft/traced.h) and models of ONNX
// (weft/onnx.h) take any shapes by themselves.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "weft/compile.h"
#include "weft/device.h"
#include "weft/graph.h"
#include "weft/tensor.h"

namespace weft {

class DynamicExecutable {
 public:
  // Compiles nothing yet. Executables are kept for `capacity` combinations of shapes, those that were used last. Pairs
  // of options.donate name an output that each run gives in the memory of an input, which is its result then. Throws
  // InvalidArgument for a graph without outputs, and for pairs of names that it does not have.
  explicit DynamicExecutable(const Graph& graph, Device device, const CompileOptions& options = {},
                             std::size_t capacity = 32);

  // The outputs, in the graph's order: new tensors on the executable's device. Compiles the graph if these shapes are
  // new, submits the work and returns before it is done. Every input and number is given once. Inputs have the graph's
  // types and as many axes, and are on the executable's device; those that are not computed yet are evaluated, and
  // views are copied. Any number of threads may run it at once: those that need the same new shapes wait for one
  // compilation. Throws InvalidArgument, TypeError and ShapeError, which name the input; what Graph::with_shapes() and
  // compile() throw; DeviceLost, OutOfMemory.
  std::vector<Tensor> run(std::span<const NamedTensor> inputs, std::span<const NamedNumber> numbers = {}) const;
  // In the order in which the graph got its inputs and numbers.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const Number> numbers = {}) const;
  // The same of lists in braces.
  std::vector<Tensor> run(std::initializer_list<NamedTensor> inputs,
                          std::initializer_list<NamedNumber> numbers = {}) const {
    return run(std::span(inputs.begin(), inputs.size()), std::span(numbers.begin(), numbers.size()));
  }

  // The executable for inputs of these shapes, those that are not named having the graph's own: to compile it before it
  // is needed, or to run it on outputs of one's own. Throws as run().
  Executable executable(std::span<const NamedShape> shapes) const;
  // The same of a list in braces.
  Executable executable(std::initializer_list<NamedShape> shapes) const {
    return executable(std::span(shapes.begin(), shapes.size()));
  }

  // The graph that it was made of.
  const Graph& graph() const;
  const Device& device() const;
  // For how many combinations of shapes executables are kept, and how many there were that were compiled.
  std::size_t cached() const;
  std::size_t compilations() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with copies
};

}  // namespace weft
