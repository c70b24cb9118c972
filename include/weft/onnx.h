// Models in ONNX's format: loaded, compiled and run on any device.
//
//   auto model = onnx::Model::load("resnet50.onnx");
//   Tensor scores = model.run({{"x", image}})[0];
//
// A model is compiled for the shapes that it is given, when it is first given them, and forms are kept: what comes in a
// shape again compiles nothing. Weights are uploaded once. Elements that say what the graph is like (shapes, axes, how
// often a loop turns) are computed while it is made; where they depend on the data of a run, the run has a stage before
// that point, whose result is read, and a stage after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/compile.h"
#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/future.h"
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
  std::vector<std::string> files = {};             // beside the model, in which it has weights (external data)
  std::uint64_t parameters = 0, weight_bytes = 0;  // of initializers and constants
  std::uint64_t external_bytes = 0;                // of those, in other files
  // What else keeps the model from running here, or from running on a GPU alone: types, versions.
  std::vector<std::string> problems = {}, remarks = {};
};
// Throws IoError, FormatError.
Description describe(const std::filesystem::path& path);

// An attribute of a node.
using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>, Tensor>;

// A node of an operator of the program's own, while a graph is made of the model. Its tensors have types and shapes,
// but no values that can be read.
struct OperatorCall {
  std::vector<Tensor> inputs;                                     // undefined where the node leaves one out
  std::size_t outputs = 0;                                        // how many results the node has
  std::int64_t version = 1;                                       // of the operator's domain, which the model imports
  std::map<std::string, Attribute, std::less<>> attributes = {};  // but graphs, types and sparse tensors

  // An input that must be there. Throws FormatError.
  const Tensor& input(std::size_t i) const;
  // An attribute that is an integer, or what it is if the node does not have it; without that it must be there. Throws
  // FormatError for one that is missing or of another kind, as do the next ones.
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> otherwise = {}) const;
  // The same of a number.
  double number(std::string_view name, std::optional<double> otherwise = {}) const;
  // The same of a text.
  std::string text(std::string_view name, std::optional<std::string> otherwise = {}) const;
  // The same of integers.
  std::vector<std::int64_t> integers(std::string_view name,
                                     std::optional<std::vector<std::int64_t>> otherwise = {}) const;
  // The same of numbers.
  std::vector<double> numbers(std::string_view name, std::optional<std::vector<double>> otherwise = {}) const;
};

// An operator of the program's own: the function gives the node's results, made of Weft's functions. It is called for
// each node, when a graph is made for new shapes.
//
//   onnx::Options options;
//   options.operators.push_back({"my.domain", "ScaledTanh", [](const onnx::OperatorCall& node) {
//     return std::vector{tanh(node.input(0) * node.number("scale", 1))};
//   }});
//   auto model = onnx::Model::load("model.onnx", options);
struct Operator {
  std::string domain;  // "" is ai.onnx
  std::string name;
  std::function<std::vector<Tensor>(const OperatorCall& node)> make;
};

struct Options {
  std::optional<Device> device = {};        // none: the default device
  std::optional<Precision> precision = {};  // as in CompileOptions
  std::size_t forms = 32;                   // how many shapes are kept, those used last
  std::vector<Operator> operators = {};     // in place of Weft's and the model's functions of the same names
  // Where nodes run that the device cannot compute, as those of f64 on a GPU: Device::cpu(). None: they are an error,
  // which names all of them.
  std::optional<Device> fallback = {};
};

// A node that runs on Options::fallback, and why.
struct FallbackNode {
  std::string node, op;  // its name, which may be empty, and "Conv" or "com.microsoft.FusedConv"
  std::string reason;
};

// A value that runs read from the device on the way, since the graph depends on it.
struct Readback {
  std::string value;                 // its name
  std::string node, op;              // what needs its elements, as in FallbackNode
  std::size_t bytes = 0, count = 0;  // of one, and how often
};

// A value that a node gives in a run. Names of values in functions, branches and loops begin with those of the nodes
// around them.
struct NodeValue {
  std::string node, op;  // as in FallbackNode
  std::string name;
  Tensor value;
  bool is_inside = false;  // of a function, branch or loop
};

using weft::NamedShape;

// A run in steps, which never waits, for programs that may not, as in a page: where a stage of the run must be read, a
// step ends. Of one run one step is under way at a time.
class RunSteps {
 public:
  bool done() const;
  // Submits the next stage. Ready when it is submitted, and what the stage behind it depends on was read. Throws
  // InvalidArgument when the run is done, and what Model::run() does, when it is called or when its result is taken;
  // after an error there is no next step.
  Future<void> next();
  // The outputs, as run_values() gives them. Throws InvalidArgument unless the run is done.
  const std::vector<PortValue>& results() const;

  struct Impl;  // src/onnx

 private:
  friend class Model;
  explicit RunSteps(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

class Model {
 public:
  // Maps the file; weights are read when they are uploaded, on the cpu whenever the model runs. So the file must stay
  // as it is as long as there is a copy of the model: bytes that are overwritten count from then on, and a file that is
  // cut off ends the process where its missing part is read (SIGBUS). Replacing it by a new file of the name is
  // harmless. Throws IoError, FormatError (what the file says, and
  // where), Unsupported (an opset of ai.onnx that is newer than 26; all operators that Weft lacks, with their nodes).
  static Model load(const std::filesystem::path& path, const Options& options = {});
  // The same of bytes in memory, which the model copies. External data are looked for in `folder`; without one they are
  // an error.
  static Model from_bytes(std::span<const std::byte> bytes, const Options& options = {},
                          const std::filesystem::path& folder = {});

  const Description& description() const;
  const std::vector<Port>& inputs() const { return description().inputs; }
  const std::vector<Port>& outputs() const { return description().outputs; }
  const Device& device() const;

  // The outputs, in their order, on the model's device. (A NamedTensor refers to a name and a tensor that must live
  // until the call returns; NamedValue, of run_values(), holds them.) Inputs are tensors on any device; each is given
  // once, and has the port's type and the sizes that it fixes; names of sizes have one value a run. Submits the work
  // and returns before it is done, unless a stage must be read or nodes run on another device. Any number of threads
  // may run a model at once. Throws InvalidArgument, TypeError and ShapeError, which name the input or the node;
  // OutOfMemory, DeviceLost.
  //
  // In functions that are differentiated, compiled or batched (weft/derivatives.h, weft/traced.h) a run is part of the
  // function: its operations are recorded as if the function called them, in the types that the model has. Floats must
  // be on the model's device there. What such a trace has no values for, and the graph depends on, is an
  // InvalidArgument.
  //
  // Random operators draw other numbers in each run: without a seed they follow from the default generator
  // (random::seed()), with one the first, second, … run of each loaded model draws the same.
  std::vector<Tensor> run(std::span<const NamedTensor> inputs) const;
  std::vector<Tensor> run(std::initializer_list<NamedTensor> inputs) const {
    return run(std::span(inputs.begin(), inputs.size()));
  }

  // The same where outputs are written into tensors of the program's own: of each that is named one on the model's
  // device, with data and memory of its own and the output's type, which the run overwrites for all handles to it, as
  // Tensor::write() does. The others are made. A tensor that is also an input is donated: what the model keeps of it
  // stays where it is, and where the operations allow it (a row that is written into a cache of keys and values)
  // nothing is copied.
  //
  //   model.run({{"tokens", tokens}, {"past", cache}}, {{"logits", logits}, {"present", cache}});
  //
  // Throws what run() does, and InvalidArgument, TypeError and ShapeError, which name the output. After an error the
  // tensors hold what they held, unless the device or its memory failed in the last stage of the run.
  std::vector<Tensor> run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs) const;
  std::vector<Tensor> run(std::initializer_list<NamedTensor> inputs, std::initializer_list<NamedTensor> outputs) const {
    return run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
  }

  // The same where inputs or outputs are sequences or optionals.
  std::vector<PortValue> run_values(std::span<const NamedValue> inputs,
                                    std::span<const NamedTensor> outputs = {}) const;

  // The same without waiting. Throws InvalidArgument, TypeError and ShapeError as run() does. On a GPU conditions of
  // branches and loops that depend on data are read, a step each, where run() waits for them inside of a stage.
  RunSteps run_steps(std::span<const NamedValue> inputs) const;

  // What the model computes of inputs of these shapes, as a graph, for those who go on building: its inputs and outputs
  // have the names and the order of the model's. Inputs of which the model fixes the shape need none. `constants`:
  // values of inputs, which are part of the graph then; it needs those of inputs that say what the graph is like. The
  // graph keeps the file's memory. Throws InvalidArgument, TypeError and ShapeError, which name the input or the
  // node; Unsupported if the graph depends on data (run() reads them), or a port is no tensor.
  //
  //   Graph g = onnx::Model::load("encoder.onnx").graph({{"ids", {1, 128}}});
  //   save("encoder.safetensors", g);
  Graph graph(std::span<const NamedShape> shapes, std::span<const NamedTensor> constants = {}) const;
  Graph graph(std::initializer_list<NamedShape> shapes = {}, std::initializer_list<NamedTensor> constants = {}) const {
    return graph(std::span(shapes.begin(), shapes.size()), std::span(constants.begin(), constants.size()));
  }

  // The values of all nodes, in the order in which they are computed, for finding faults: without those that are
  // sequences, and those in loops and branches of the graph. With values `instead`, which another run or another
  // program computed, each node takes its operands from these where they are there, so that its results show its own
  // error alone. Compiles the model each time, and holds all values at once.
  std::vector<NodeValue> node_values(std::span<const NamedValue> inputs, std::span<const NodeValue> instead = {}) const;

  // The nodes that ran on Options::fallback.
  std::vector<FallbackNode> on_fallback() const;

  // What was read on the way since the model was loaded, for a form whose graph depends on data. (Conditions that a GPU
  // waits for within a stage are none of them, nor what nodes on Options::fallback take.)
  std::vector<Readback> readbacks() const;
  // How many forms were compiled since the model was loaded, and the sum of the readbacks' counts.
  std::size_t compilations() const;
  std::size_t reads() const;

  struct Impl;  // src/onnx

 private:
  friend class Loader;
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// Loads a model that comes in pieces, over a network say. Large weights that products, convolutions and lookups take as
// they are go to a GPU as they come, and are never in the host's memory as a whole; all others are there once.
class Loader {
 public:
  // `source` is what errors call the model.
  explicit Loader(const Options& options = {}, std::string source = "model.onnx");
  const Device& device() const;
  // The next bytes of the model's file. Throws FormatError, OutOfMemory, DeviceLost.
  void take(std::span<const std::byte> bytes);
  // The model's file is whole: the files beside it that are needed, by the names that the model has for them. Throws
  // FormatError and Unsupported as Model::load() does.
  const std::vector<std::string>& files();
  // The next bytes of one of them. Throws InvalidArgument for another file.
  void take(std::string_view file, std::span<const std::byte> bytes);
  // The model; the loader is at its end. Throws what Model::load() does, and FormatError for what did not come.
  Model finish();

 private:
  struct Impl;
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

// ---- Writing

struct SaveOptions {
  // The version of ai.onnx, 21 to 25; none: 21, or the first one that has all the operators that the graph needs. The
  // format's version (IR) is the one that came with it.
  std::optional<std::int64_t> opset = {};
  // Whether constants of 1 KiB and more are written to a file of their own beside the model, called as it with ".data"
  // behind; none: if the model would have 2 GiB or more, which the format does not allow.
  std::optional<bool> external_data = {};
};

// Writes a graph as a model of ONNX: its inputs, and behind them its numbers as inputs of shape [], in their order and
// with their names, and its outputs. Constants are initializers; tensors with data that it captured become constants
// with the values that they have now, which this waits for. What ONNX has no operator for becomes a function of the
// model in the domain "weft", made of ONNX's operators: other programs compute these, and Weft, which reads in the
// function's metadata what it was, the operation itself, with the same bits. A file that is there is replaced once the
// new one is complete. Throws Unsupported, which lists all operations that cannot be said, with their labels, or says
// that the opset that was asked for lacks an operator; InvalidArgument (names that are empty, not UTF-8, or those of an
// input and an output; an opset; 2 GiB without external data); IoError.
//
//   onnx::save("step.onnx", graph);
//   onnx::save("f.onnx", f.graph(x, y));     // of a function that compile() made
void save(const std::filesystem::path& path, const Graph& graph, const SaveOptions& options = {});

// What a file holds as ONNX's test data have them (.pb): a tensor, or what the type of a port says, such as
// "seq(tensor(float))". Throws IoError, FormatError, Unsupported (a type that Weft lacks).
PortValue load_value(const std::filesystem::path& path, std::string_view type = "tensor");

}  // namespace weft::onnx
