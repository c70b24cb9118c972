#include "onnx/proto.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/utf8.h"
#include "onnx/wire.h"

namespace weft::onnx {
namespace {

using Bytes = std::span<const std::byte>;

// Messages that may have messages of their kind inside count how deep they are.
constexpr int kDeepest = 100;
void check_depth(int depth, std::string_view message) {
  if (depth > kDeepest) throw FormatError("onnx: {}: more than {} of them within each other", message, kDeepest);
}

GraphProto read_graph(Bytes bytes, int depth);

std::pair<std::string, std::string> read_entry(Bytes bytes) {
  std::pair<std::string, std::string> entry;
  for (WireReader r(bytes, "StringStringEntryProto"); r.next();) {
    if (r.field() == 1) entry.first = r.text();
    if (r.field() == 2) entry.second = r.text();
  }
  return entry;
}

std::pair<std::string, std::int64_t> read_opset(Bytes bytes) {
  std::pair<std::string, std::int64_t> opset;
  for (WireReader r(bytes, "OperatorSetIdProto"); r.next();) {
    if (r.field() == 1) opset.first = r.text();
    if (r.field() == 2) opset.second = r.integer();
  }
  if (opset.first == "ai.onnx") opset.first.clear();
  return opset;
}

std::uint64_t number_in(const std::string& text, std::string_view key) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > (UINT64_MAX - 9) / 10) {
      throw FormatError("onnx: external data: {} is '{}', expected a number", key, text);
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// Numbers of typed fields, each stored in the type's own width.
template <class T, class From>
std::vector<std::byte> narrowed(std::span<const From> numbers) {
  std::vector<std::byte> stored(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T value = static_cast<T>(numbers[i]);
    std::memcpy(stored.data() + i * sizeof(T), &value, sizeof(T));
  }
  return stored;
}

// float_data, int32_data and int64_data, uint64_data, double_data.
struct TypedFields {
  std::vector<float> floats = {};
  std::vector<std::int64_t> integers = {};
  std::vector<std::uint64_t> unsigned_integers = {};
  std::vector<double> doubles = {};

  // The bytes of what they hold: a number an element, but a byte of elements of less than 8 bits, and two floats a
  // complex number.
  std::vector<std::byte> packed(ElementType type) const {
    switch (type) {
      using enum ElementType;
      case f32:
      case c64:
        return narrowed<float, float>(floats);
      case f64:
      case c128:
        return narrowed<double, double>(doubles);
      case ElementType::u32:
        return narrowed<std::uint32_t, std::uint64_t>(unsigned_integers);
      case ElementType::u64:
        return narrowed<std::uint64_t, std::uint64_t>(unsigned_integers);
      case ElementType::i64:
        return narrowed<std::int64_t, std::int64_t>(integers);
      case ElementType::i32:
        return narrowed<std::int32_t, std::int64_t>(integers);
      case f16:
      case bf16:
      case ElementType::i16:
      case ElementType::u16:
        return narrowed<std::uint16_t, std::int64_t>(integers);
      default:
        return narrowed<std::uint8_t, std::int64_t>(integers);
    }
  }
};

TensorProto read_tensor(Bytes bytes) {
  TensorProto t;
  ExternalData external;
  TypedFields typed;
  bool is_external = false;
  for (WireReader r(bytes, "TensorProto"); r.next();) {
    switch (r.field()) {
      case 1:
        r.integers(t.dims);
        break;
      case 2:
        t.type = static_cast<ElementType>(r.integer());
        break;
      case 3:
        throw FormatError("onnx: TensorProto: segments, which the format no longer has");
      case 4:
        r.floats(typed.floats);
        break;
      case 5:
      case 7:
        r.integers(typed.integers);
        break;
      case 6: {
        const Bytes b = r.bytes();
        t.strings.emplace_back(reinterpret_cast<const char*>(b.data()), b.size());
        break;
      }
      case 8:
        t.name = r.text();
        break;
      case 9:
        t.raw = r.bytes();
        break;
      case 10:
        r.floats(typed.doubles);
        break;
      case 11:
        r.integers(typed.unsigned_integers);
        break;
      case 13: {
        auto [key, value] = read_entry(r.bytes());
        if (key == "location")
          external.location = std::move(value);
        else if (key == "offset")
          external.offset = number_in(value, key);
        else if (key == "length")
          external.length = number_in(value, key);
        break;
      }
      case 14:
        is_external = r.integer() == 1;
        break;
      default:
        break;
    }
  }
  if (is_external) {
    t.external = std::move(external);
  } else if (t.raw.empty()) {
    std::vector<std::byte> packed = typed.packed(t.type);
    if (!packed.empty()) t.packed = std::make_shared<const std::vector<std::byte>>(std::move(packed));
  }
  return t;
}

SparseTensorProto read_sparse_tensor(Bytes bytes) {
  SparseTensorProto t;
  for (WireReader r(bytes, "SparseTensorProto"); r.next();) {
    switch (r.field()) {
      case 1:
        t.values = read_tensor(r.bytes());
        break;
      case 2:
        t.indices = read_tensor(r.bytes());
        break;
      case 3:
        r.integers(t.dims);
        break;
      default:
        break;
    }
  }
  return t;
}

std::vector<DimensionProto> read_shape(Bytes bytes) {
  std::vector<DimensionProto> shape;
  for (WireReader r(bytes, "TensorShapeProto"); r.next();) {
    if (r.field() != 1) continue;
    DimensionProto& d = shape.emplace_back();
    for (WireReader inside(r.bytes(), "TensorShapeProto.Dimension"); inside.next();) {
      if (inside.field() == 1) d.size = inside.integer();
      if (inside.field() == 2) d.name = inside.text();
    }
  }
  return shape;
}

TypeProto read_type(Bytes bytes, int depth) {
  check_depth(depth, "TypeProto");
  TypeProto t;
  const auto element = [&](Bytes inside) {
    for (WireReader r(inside, "TypeProto"); r.next();) {
      if (r.field() == 1) t.inner = std::make_shared<const TypeProto>(read_type(r.bytes(), depth + 1));
    }
  };
  const auto tensor_type = [&](Bytes inside) {
    for (WireReader r(inside, "TypeProto.Tensor"); r.next();) {
      if (r.field() == 1) t.element = static_cast<ElementType>(r.integer());
      if (r.field() == 2) t.shape = read_shape(r.bytes());
    }
  };
  for (WireReader r(bytes, "TypeProto"); r.next();) {
    using enum TypeProto::Kind;
    switch (r.field()) {
      case 1:
        t.kind = TypeProto::Kind::tensor;
        tensor_type(r.bytes());
        break;
      case 4:
        t.kind = sequence;
        element(r.bytes());
        break;
      case 5:
        t.kind = map;
        break;
      case 8:
        t.kind = sparse_tensor;
        tensor_type(r.bytes());
        break;
      case 9:
        t.kind = optional;
        element(r.bytes());
        break;
      default:
        break;
    }
  }
  return t;
}

ValueInfoProto read_value(Bytes bytes) {
  ValueInfoProto v;
  for (WireReader r(bytes, "ValueInfoProto"); r.next();) {
    if (r.field() == 1) v.name = r.text();
    if (r.field() == 2) v.type = read_type(r.bytes(), 0);
  }
  return v;
}

AttributeProto read_attribute(Bytes bytes, int depth) {
  AttributeProto a;
  bool typed = false;
  const auto graph = [&](Bytes b) { a.graphs.push_back(std::make_shared<const GraphProto>(read_graph(b, depth + 1))); };
  using enum AttributeProto::Type;
  for (WireReader r(bytes, "AttributeProto"); r.next();) {
    const auto is = [&](AttributeProto::Type type) {
      if (!typed) a.type = type;
    };
    switch (r.field()) {
      case 1:
        a.name = r.text();
        break;
      case 2:
        a.f = r.float32();
        is(f);
        break;
      case 3:
        a.i = r.integer();
        is(i);
        break;
      case 4: {
        const Bytes b = r.bytes();
        a.s.assign(reinterpret_cast<const char*>(b.data()), b.size());
        is(s);
        break;
      }
      case 5:
        a.tensors.push_back(read_tensor(r.bytes()));
        is(t);
        break;
      case 6:
        graph(r.bytes());
        is(g);
        break;
      case 7:
        r.floats(a.floats);
        is(floats);
        break;
      case 8:
        r.integers(a.ints);
        is(ints);
        break;
      case 9: {
        const Bytes b = r.bytes();
        a.strings.emplace_back(reinterpret_cast<const char*>(b.data()), b.size());
        is(strings);
        break;
      }
      case 10:
        a.tensors.push_back(read_tensor(r.bytes()));
        is(tensors);
        break;
      case 11:
        graph(r.bytes());
        is(graphs);
        break;
      case 14:
        a.types.push_back(read_type(r.bytes(), 0));
        is(type_proto);
        break;
      case 15:
        a.types.push_back(read_type(r.bytes(), 0));
        is(type_protos);
        break;
      case 20:
        a.type = static_cast<AttributeProto::Type>(r.integer());
        typed = true;
        break;
      case 21:
        a.reference = r.text();
        break;
      case 22:
        a.sparse_tensors.push_back(read_sparse_tensor(r.bytes()));
        is(sparse_tensor);
        break;
      case 23:
        a.sparse_tensors.push_back(read_sparse_tensor(r.bytes()));
        is(sparse_tensors);
        break;
      default:
        break;
    }
  }
  return a;
}

NodeProto read_node(Bytes bytes, int depth) {
  NodeProto n;
  for (WireReader r(bytes, "NodeProto"); r.next();) {
    switch (r.field()) {
      case 1:
        n.inputs.push_back(r.text());
        break;
      case 2:
        n.outputs.push_back(r.text());
        break;
      case 3:
        n.name = r.text();
        break;
      case 4:
        n.op_type = r.text();
        break;
      case 5:
        n.attributes.push_back(read_attribute(r.bytes(), depth));
        break;
      case 7:
        n.domain = r.text();
        break;
      case 8:
        n.overload = r.text();
        break;
      default:
        break;
    }
  }
  if (n.domain == "ai.onnx") n.domain.clear();
  return n;
}

GraphProto read_graph(Bytes bytes, int depth) {
  check_depth(depth, "GraphProto");
  GraphProto g;
  for (WireReader r(bytes, "GraphProto"); r.next();) {
    switch (r.field()) {
      case 1:
        g.nodes.push_back(read_node(r.bytes(), depth));
        break;
      case 2:
        g.name = r.text();
        break;
      case 5:
        g.initializers.push_back(read_tensor(r.bytes()));
        break;
      case 11:
        g.inputs.push_back(read_value(r.bytes()));
        break;
      case 12:
        g.outputs.push_back(read_value(r.bytes()));
        break;
      case 13:
        g.values.push_back(read_value(r.bytes()));
        break;
      case 15:
        g.sparse_initializers.push_back(read_sparse_tensor(r.bytes()));
        break;
      default:
        break;
    }
  }
  return g;
}

FunctionProto read_function(Bytes bytes) {
  FunctionProto f;
  for (WireReader r(bytes, "FunctionProto"); r.next();) {
    switch (r.field()) {
      case 1:
        f.name = r.text();
        break;
      case 4:
        f.inputs.push_back(r.text());
        break;
      case 5:
        f.outputs.push_back(r.text());
        break;
      case 6:
        f.attributes.push_back(r.text());
        break;
      case 7:
        f.nodes.push_back(read_node(r.bytes(), 0));
        break;
      case 9:
        f.opsets.insert(read_opset(r.bytes()));
        break;
      case 10:
        f.domain = r.text();
        break;
      case 11:
        f.defaults.push_back(read_attribute(r.bytes(), 0));
        break;
      case 13:
        f.overload = r.text();
        break;
      case 14:
        f.metadata.insert(read_entry(r.bytes()));
        break;
      default:
        break;
    }
  }
  if (f.domain == "ai.onnx") f.domain.clear();
  return f;
}

constexpr std::array<std::string_view, 27> kNames{
    "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};

}  // namespace

std::string_view name(ElementType type) {
  const auto i = static_cast<std::size_t>(type);
  return i < kNames.size() ? kNames[i] : "an unknown type";
}

const AttributeProto* NodeProto::attribute(std::string_view of_name) const {
  const auto found = std::ranges::find(attributes, of_name, &AttributeProto::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::int64_t version_of(const Opsets& opsets, std::string_view domain) {
  const auto found = opsets.find(domain);
  return found != opsets.end() ? found->second : domain.empty() ? 0 : 1;
}

namespace {

// What a file is that is none of ONNX, by its first bytes; nothing for what is not known.
std::string_view other_format(Bytes bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::pair<std::string_view, std::string_view> kBegins[] = {
      {"\x93NUMPY", "an array of NumPy (.npy)"},
      {"GGUF", "in GGUF"},
      {"PK\3\4", "a zip archive, as .npz files and PyTorch's .pt are"},
      {"\x89HDF", "in HDF5, as Keras's .h5 are"},
      {"\x89PNG", "a picture (PNG)"},
      {"\xff\xd8\xff", "a picture (JPEG)"},
      {"\x1f\x8b", "compressed (gzip)"},
      {"version https://git-lfs", "a pointer of Git LFS, in place of the file itself: git lfs pull brings that"},
  };
  for (const auto& [begin, what] : kBegins) {
    if (all.starts_with(begin)) return what;
  }
  if (all.size() >= 8) {
    if (all.substr(4).starts_with("TFL3")) return "in TensorFlow Lite's format";
    if (all.substr(4).starts_with("ORTM")) return "in ONNX Runtime's own format (.ort)";
    std::uint64_t header = 0;
    for (std::size_t i = 8; i-- > 0;) header = header << 8 | static_cast<unsigned char>(all[i]);
    if (all.substr(8).starts_with("{") && header <= all.size() - 8) return "in the format safetensors";
  }
  // No file of ONNX begins so: it has bytes below 8 among the first ones.
  const std::string_view begin = all.substr(0, 512);
  const bool is_text =
      std::ranges::none_of(begin, [](unsigned char c) { return (c < 0x20 && (c < 9 || c > 13)) || c == 0x7f; });
  const std::size_t invalid = find_invalid_utf8(begin);
  return is_text && (invalid == begin.size() || (begin.size() < all.size() && invalid + 4 > begin.size())) ? "a text"
                                                                                                           : "";
}

ModelProto read_model(Bytes bytes) {
  ModelProto m;
  bool has_graph = false;
  for (WireReader r(bytes, "ModelProto"); r.next();) {
    switch (r.field()) {
      case 1:
        m.ir_version = r.integer();
        break;
      case 2:
        m.producer = r.text();
        break;
      case 3:
        m.producer_version = r.text();
        break;
      case 4:
        m.domain = r.text();
        break;
      case 5:
        m.model_version = r.integer();
        break;
      case 7:
        m.graph = read_graph(r.bytes(), 0);
        has_graph = true;
        break;
      case 8:
        m.opsets.insert(read_opset(r.bytes()));
        break;
      case 14:
        m.metadata.insert(read_entry(r.bytes()));
        break;
      case 25:
        m.functions.push_back(read_function(r.bytes()));
        break;
      default:
        break;
    }
  }
  if (!has_graph) throw FormatError("onnx: ModelProto: no graph; the file is no model of ONNX, or not a whole one");
  return m;
}

}  // namespace

ModelProto parse_model(Bytes bytes) {
  if (bytes.empty()) throw FormatError("onnx: it is no model of ONNX: it is empty");
  try {
    return read_model(bytes);
  } catch (const FormatError&) {
    if (const std::string_view other = other_format(bytes); !other.empty())
      throw FormatError("onnx: it is no model of ONNX: it is {}", other);
    throw;
  }
}

GraphProto parse_graph(Bytes bytes) { return read_graph(bytes, 0); }
TensorProto parse_tensor(Bytes bytes) { return read_tensor(bytes); }

}  // namespace weft::onnx
