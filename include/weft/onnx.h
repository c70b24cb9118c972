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
};
// Throws IoError, FormatError.
Description describe(const std::filesystem::path& path);

struct Options {
  std::optional<Device> device = {};        // none: the default device
  std::optional<Precision> precision = {};  // as in CompileOptions
  std::size_t forms = 32;                   // how many shapes are kept, those used last
};

class Model {
 public:
  // Maps the file; weights are read when they are uploaded. Throws IoError, FormatError (what the file says, and where),
  // Unsupported (an opset of ai.onnx that is newer than 26; all operators that Weft lacks, with their nodes).
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
  // done, unless a stage must be read. Any number of threads may run a model at once. Throws InvalidArgument,
  // TypeError and ShapeError, which name the input or the node; OutOfMemory, DeviceLost.
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

  // The same where inputs or outputs are sequences or optionals.
  std::vector<PortValue> run_values(std::span<const NamedValue> inputs) const;

  // How many forms were compiled since the model was loaded, and how many values were read on the way (which a form needs
  // whose graph depends on the data).
  std::size_t compilations() const;
  std::size_t reads() const;

  struct Impl;  // src/onnx

 private:
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// What a file holds as ONNX's test data have them (.pb): a tensor, or what the type of a port says, such as
// "seq(tensor(float))". Throws IoError, FormatError, Unsupported (a type that Weft lacks).
PortValue load_value(const std::filesystem::path& path, std::string_view type = "tensor");

}  // namespace weft::onnx
