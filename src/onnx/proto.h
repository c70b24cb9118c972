// A model of ONNX as its file has it: the messages of onnx.proto that matter here, in the format's own terms. Tensors'
// elements stay in the file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::onnx {

// TensorProto.DataType.
enum class ElementType : std::int32_t {
  undefined,
  f32,
  u8,
  i8,
  u16,
  i16,
  i32,
  i64,
  string,
  boolean,
  f16,
  f64,
  u32,
  u64,
  c64,
  c128,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  u4,
  i4,
  f4e2m1,
  f8e8m0,
  u2,
  i2,
};

struct ExternalData {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length = {};
};

// TensorProto. Elements are in one of `raw`, `external` and `packed`, the last the numbers of a typed field as elements
// of the type, which copies share.
struct TensorProto {
  std::string name = {};
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> dims = {};
  std::span<const std::byte> raw = {};
  std::optional<ExternalData> external = {};
  std::shared_ptr<const std::vector<std::byte>> packed = {};
  std::vector<std::string> strings = {};
};

struct SparseTensorProto {
  TensorProto values = {}, indices = {};
  std::vector<std::int64_t> dims = {};
};

// A dimension of a type: a size, a name, or neither.
struct DimensionProto {
  std::optional<std::int64_t> size = {};
  std::string name = {};
};

struct TypeProto {
  enum class Kind : std::uint8_t { none, tensor, sequence, map, optional, sparse_tensor } kind = Kind::none;
  ElementType element = ElementType::undefined;           // of tensors
  std::optional<std::vector<DimensionProto>> shape = {};  // of tensors, if it is known
  std::shared_ptr<const TypeProto> inner = {};            // of sequences and optionals
};

struct ValueInfoProto {
  std::string name = {};
  TypeProto type = {};
};

struct GraphProto;

// AttributeProto. `type` is AttributeProto.AttributeType.
struct AttributeProto {
  enum class Type : std::int32_t {
    undefined,
    f,
    i,
    s,
    t,
    g,
    floats,
    ints,
    strings,
    tensors,
    graphs,
    sparse_tensor,
    sparse_tensors,
    type_proto,
    type_protos
  };
  std::string name = {}, reference = {};  // reference: the attribute of the function around it whose value it has
  Type type = Type::undefined;
  float f = 0;
  std::int64_t i = 0;
  std::string s = {};
  std::vector<float> floats = {};
  std::vector<std::int64_t> ints = {};
  std::vector<std::string> strings = {};
  std::vector<TensorProto> tensors = {};                       // t or tensors
  std::vector<SparseTensorProto> sparse_tensors = {};          // likewise
  std::vector<std::shared_ptr<const GraphProto>> graphs = {};  // g or graphs
  std::vector<TypeProto> types = {};
};

struct NodeProto {
  std::string name = {}, op_type = {}, domain = {}, overload = {};
  std::vector<std::string> inputs = {}, outputs = {};  // an empty name: left out
  std::vector<AttributeProto> attributes = {};

  const AttributeProto* attribute(std::string_view of_name) const;
};

struct GraphProto {
  std::string name = {};
  std::vector<NodeProto> nodes = {};
  std::vector<TensorProto> initializers = {};
  std::vector<SparseTensorProto> sparse_initializers = {};
  std::vector<ValueInfoProto> inputs = {}, outputs = {}, values = {};
};

struct FunctionProto {
  std::string name = {}, domain = {}, overload = {};
  std::vector<std::string> inputs = {}, outputs = {}, attributes = {};
  std::vector<AttributeProto> defaults = {};
  std::vector<NodeProto> nodes = {};
  std::map<std::string, std::int64_t, std::less<>> opsets = {};
  std::map<std::string, std::string, std::less<>> metadata = {};
};

// Versions by domain; "" is ai.onnx.
using Opsets = std::map<std::string, std::int64_t, std::less<>>;
// The version that is imported of a domain; without one 1, but 0 of ai.onnx, which every model names.
std::int64_t version_of(const Opsets& opsets, std::string_view domain);

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string producer = {}, producer_version = {}, domain = {};
  std::int64_t model_version = 0;
  std::map<std::string, std::int64_t, std::less<>> opsets = {};  // version by domain; "" is ai.onnx
  std::map<std::string, std::string, std::less<>> metadata = {};
  GraphProto graph = {};
  std::vector<FunctionProto> functions = {};
};

// Parses a file's bytes, into which the model's tensors point. Throws FormatError with the offset and the message
// around it: what is cut off, a length past the end, a field of another kind, a text that is not UTF-8, messages within
// each other more than 100 deep.
ModelProto parse_model(std::span<const std::byte> bytes);
// A GraphProto alone, which may lack what follows behind these bytes.
GraphProto parse_graph(std::span<const std::byte> bytes);
// A TensorProto alone, as ONNX's test data has them (.pb).
TensorProto parse_tensor(std::span<const std::byte> bytes);

// "tensor(float)": the format's own name.
std::string_view name(ElementType type);

}  // namespace weft::onnx
