// Values of a model while a graph is made of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onnx/proto.h"
#include "weft/tensor.h"
#include "weft/tensor_data.h"

namespace weft::onnx {

struct Value {
  std::string id;                       // where the model has it: its name behind those of the calls around it
  Tensor tensor = {};                   // undefined: a sequence, or an optional without a value
  std::optional<TensorData> data = {};  // its elements, where they are known
  std::optional<std::vector<Value>> sequence = {};

  bool is_tensor() const { return tensor.defined(); }
  // An optional without a value.
  bool is_none() const { return !tensor.defined() && !sequence; }
};

// The type in Weft. Throws Unsupported for those that it lacks, naming `what`.
DType dtype_of(ElementType type, std::string_view what);
std::optional<DType> find_dtype(ElementType type);
// ONNX's number of the type.
ElementType element_type(DType type);

// The tensor's elements: those of the file where it has them as Weft does, else a copy. `owner` keeps the file;
// `folder` is where external data are. Throws FormatError, Unsupported, IoError.
class ExternalFiles;
TensorData data_of(const TensorProto& tensor, const std::shared_ptr<const void>& owner, ExternalFiles& files);
TensorData data_of(const SparseTensorProto& tensor, const std::shared_ptr<const void>& owner, ExternalFiles& files);

// The elements in host memory as 64-bit integers (floats as Number::bits() makes them), or as doubles. Throws TypeError
// for types that are none.
std::vector<std::int64_t> integers_in(const TensorData& data);
std::vector<double> numbers_in(const TensorData& data);

}  // namespace weft::onnx
