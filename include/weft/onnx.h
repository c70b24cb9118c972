// Models in ONNX's format: loaded, compiled and run on any device.
//
//   auto model = onnx::Model::load("resnet50.onnx");
//   Tensor scores = model.run({{"x", image}})[0];
//
// A model is compiled for the shapes that it is given, when it is first given them, and forms are kept: what comes in a
// shape again compiles nothing. Weights are uploaded once. Elements that say what the graph is like (shapes, axes, how often a
// loop turns) are computed while it is made; where they depend on the data of a run, the run has a stage before
// that point, whose result is read, and a stage after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/compile.h"
#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/graph.h"
#include "weft/tensor.h"

namespace weft::onnx {

// A dimension of a port: a size, or the name of one that each run may choose ("batch"), or neither.
struct Dimension {
  std::optional<std::int64_t> size = {};
  std::string name = {};
};

// An input or output. What is no tensor (a sequence, an optional), or of a type that Weft lacks, has no dtype.
struct Port {
  std::string name;
  std::string type;  // as ONNX calls it: "tensor(float)"
  std::optional<DType> dtype = {};
  std::optional<std::vector<Dimension>> shape = {};  // none: of any rank
};

// What a port takes or gives: a tensor, a sequence of tensors, or neither, an optional without a value.
struct PortValue {
  Tensor tensor = {};
  std::optional<std::vector<Tensor>> sequence = {};
};
struct NamedValue {
  std::string name;
  PortValue value;
};

// An operator that a model uses.
struct OperatorUse {
  std::string domain;  // "": ai.onnx
  std::string name;
  std::int64_t version = 0;
  std::size_t count = 0;  // nodes, those of branches, loops and functions too
  bool supported = false;
  std::string reason = {};  // why it is not supported; else what of it is not, if there is something
};

// What is in a file; its weights are not read.
struct Description {
  std::string name, producer;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t, std::less<>> opsets = {};  // version by domain; "" is ai.onnx
  std::map<std::string, std::string, std::less<>> metadata = {};
  std::vector<Port> inputs = {}, outputs = {};  // inputs without those that have initializers
  std::vector<OperatorUse> operators = {};
  std::uint64_t parameters = 0, weight_bytes = 0;  // of initializers
  std::uint64_t external_bytes = 0;                // of those, in other files
  // What else keeps the model from running here, or from running on a GPU alone: types, versions.
  std::vector<std::string> problems = {}, remarks = {};
};
// Throws IoError, FormatError.
Description describe(const std::filesystem::path& path);

struct Options {
  std::optional<Device> device = {};        // none: the default device
  std::optional<Precision> precision = {};  // as in CompileOptions
  std::size_t forms = 32;                   // how many shapes are kept, those used last
  // Where nodes run that the device cannot compute, as those of f64 on a GPU: Device::cpu(). None: they are an error,
  // which names all of them.
  std::optional<Device> fallback = {};
};

// A node that runs on Options::fallback, and why.
struct FallbackNode {
  std::string node, op;  // its name, which may be empty, and "Conv" or "com.microsoft.FusedConv"
  std::string reason;
};

// A value that a node gives in a run. Names of values in functions, branches and loops begin with those of the nodes around
// them.
struct NodeValue {
  std::string node, op;  // as in FallbackNode
  std::string name;
  Tensor value;
  bool is_inside = false;  // of a function, branch or loop
};

// The shape of an input.
struct NamedShape {
  std::string name;
  Shape shape;
};

class Model {
 public:
  // Maps the file; weights are read when they are uploaded. Throws IoError, FormatError (what the file says, and where),
  // Unsupported (an opset of ai.onnx that is newer than 25; all operators that Weft lacks, with their nodes).
  static Model load(const std::filesystem::path& path, const Options& options = {});
  // The same of bytes in memory, which the model copies. External data are looked for in `folder`; without one they are an
  // error.
  static Model from_bytes(std::span<const std::byte> bytes, const Options& options = {},
                          const std::filesystem::path& folder = {});

  const Description& description() const;
  const std::vector<Port>& inputs() const { return description().inputs; }
  const std::vector<Port>& outputs() const { return description().outputs; }
  const Device& device() const;

  // The outputs, in their order, on the model's device. Inputs are tensors on any device; each is given once, and has the
  // port's type and the sizes that it fixes; names of sizes have one value a run. Submits the work and returns before it is
  // done, unless a stage must be read or nodes run on another device. Any number of threads may run a model at once. Throws InvalidArgument,
  // TypeError and ShapeError, which name the input or the node; OutOfMemory, DeviceLost.
  std::vector<Tensor> run(std::span<const NamedTensor> inputs) const;
  std::vector<Tensor> run(std::initializer_list<NamedTensor> inputs) const {
    return run(std::span(inputs.begin(), inputs.size()));
  }

  // The same where inputs or outputs are sequences or optionals.
  std::vector<PortValue> run_values(std::span<const NamedValue> inputs) const;

  // What the model computes of inputs of these shapes, as a graph, for those who go on building: its inputs and outputs have
  // the names and the order of the model's. Inputs of which the model fixes the shape need none. `constants`: values of
  // inputs, which are part of the graph then; it needs those of inputs that say what the graph is like. The
  // graph keeps the file's memory. Throws InvalidArgument, TypeError and ShapeError, which name the input or the
  // node; Unsupported if the graph depends on data (run() reads them), or a port is no tensor.
  //
  //   Graph g = onnx::Model::load("encoder.onnx").graph({{"ids", {1, 128}}});
  //   save("encoder.safetensors", g);
  Graph graph(std::span<const NamedShape> shapes, std::span<const NamedTensor> constants = {}) const;
  Graph graph(std::initializer_list<NamedShape> shapes = {}, std::initializer_list<NamedTensor> constants = {}) const {
    return graph(std::span(shapes.begin(), shapes.size()), std::span(constants.begin(), constants.size()));
  }

  // The values of all nodes, in the order in which they are computed, for finding faults: without those that are sequences,
  // and those in loops and branches of the graph. With values `instead`, which another run or another program computed, each
  // node takes its operands from these where they are there, so that its results show its own error alone. Compiles the
  // model each time, and holds all values at once.
  std::vector<NodeValue> node_values(std::span<const NamedValue> inputs, std::span<const NodeValue> instead = {}) const;

  // The nodes that ran on Options::fallback.
  std::vector<FallbackNode> on_fallback() const;

  // How many forms were compiled since the model was loaded, and how many values were read on the way (which a form needs
  // whose graph depends on the data).
  std::size_t compilations() const;
  std::size_t reads() const;

  struct Impl;  // src/onnx

 private:
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// The graph of a file's model: Model::graph() of what Model::load() gives, with the errors of both.
Graph to_graph(const std::filesystem::path& path, std::span<const NamedShape> shapes = {},
               std::span<const NamedTensor> constants = {}, const Options& options = {});
// The same of shapes in braces.
inline Graph to_graph(const std::filesystem::path& path, std::initializer_list<NamedShape> shapes,
                      const Options& options = {}) {
  return to_graph(path, std::span(shapes.begin(), shapes.size()), {}, options);
}

// What a file holds as ONNX's test data have them (.pb): a tensor, or what the type of a port says, such as
// "seq(tensor(float))". Throws IoError, FormatError, Unsupported (a type that Weft lacks).
PortValue load_value(const std::filesystem::path& path, std::string_view type = "tensor");

}  // namespace weft::onnx
