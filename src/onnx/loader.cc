// Models that come in pieces. The wire format is read as it comes: elements of large initializers are taken out of it,
// to where they stay, and what is kept of the file is small.
#include <algorithm>
#include <map>
#include <set>

#include "core/checked.h"
#include "core/error_context.h"
#include "core/format.h"
#include "onnx/external.h"
#include "onnx/load.h"
#include "onnx/value.h"
#include "onnx/wire.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/onnx.h"
#include "weft/view.h"

namespace weft::onnx {
namespace {

using Bytes = std::span<const std::byte>;

// Tensors of fewer bytes stay where they are: in the file's bytes.
constexpr std::uint64_t kLarge = 16 << 10;

// Operands that kernels read as they are stored, so that nothing is lost if the host has not got them.
struct Weights {
  std::string_view domain, op;
  std::size_t operand;
};
constexpr Weights kWeights[] = {
    {"", "MatMul", 1},
    {"", "Gemm", 1},
    {"", "Conv", 1},
    {"", "Gather", 0},
    {"com.microsoft", "FusedMatMul", 1},
    {"com.microsoft", "FusedConv", 1},
    {"com.microsoft", "FusedGemm", 1},
};
bool is_weight(const NodeProto& node, std::size_t operand) {
  return std::ranges::any_of(kWeights, [&](const Weights& w) {
    return w.domain == node.domain && w.op == node.op_type && w.operand == operand;
  });
}

// Initializers that are such operands of all nodes that use them.
std::set<std::string, std::less<>> weights_of(const GraphProto& graph) {
  std::set<std::string, std::less<>> weights, others;
  const auto use = [&](const auto& self, std::span<const NodeProto> nodes, bool main) -> void {
    for (const NodeProto& node : nodes) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        (main && is_weight(node, i) ? weights : others).insert(node.inputs[i]);
      }
      for (const AttributeProto& a : node.attributes) {
        for (const auto& inside : a.graphs) {
          self(self, inside->nodes, false);
          for (const ValueInfoProto& output : inside->outputs) others.insert(output.name);
        }
      }
    }
  };
  use(use, graph.nodes, true);
  for (const ValueInfoProto& output : graph.outputs) others.insert(output.name);
  std::erase_if(weights, [&](const std::string& name) { return others.contains(name); });
  return weights;
}

// The type, if its elements are `size` bytes that may be taken as they are.
std::optional<TensorType> type_of(const TensorProto& t, std::uint64_t size) {
  const std::optional<DType> dtype = find_dtype(t.type);
  if (!dtype || t.name.empty() || t.dims.size() > static_cast<std::size_t>(kMaxRank)) return std::nullopt;
  TensorType type{*dtype, {}};
  std::int64_t count = 1;
  for (const std::int64_t d : t.dims) {
    if (d <= 0 || multiply_overflows(count, d, count)) return std::nullopt;
    type.shape.push_back(d);
  }
  if (count > std::int64_t{1} << 48 || byte_size(*dtype, static_cast<std::uint64_t>(count)) != size)
    return std::nullopt;
  return type;
}
bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

// Where elements go that come in pieces.
struct Target {
  std::string name;  // of the initializer; empty: of no initializer
  TensorType type;
  Tensor tensor;  // on a GPU; without one they are in `buffer`, on the host
  Buffer buffer;
  std::uint64_t size = 0, filled = 0;
  TensorData data() const { return {type.dtype, type.shape, {buffer.data(), static_cast<std::size_t>(size)}, owner()}; }
  std::shared_ptr<const void> owner() const { return std::make_shared<const Buffer>(buffer); }
};

}  // namespace

struct Loader::Impl {
  Impl(const Options& o, std::string s)
      : options(o), device(o.device ? *o.device : default_device()), source(std::move(s)) {
    options.device = device;
    const bool strict =
        options.precision ? *options.precision == Precision::strict : flag_text(Flag::precision) == "strict";
    streams = device.is_gpu() && strict;
  }

  Options options;
  Device device;
  std::string source;
  bool streams;  // weights go to the device as they come

  // ---- The model's file. `kept` is what it is without the elements of `targets`.
  std::vector<std::byte> kept;
  std::uint64_t at = 0;
  // The message whose fields are read: the model, its graph, or an initializer of it. Each ends there in the file, and
  // has its length in `kept` before its first byte, in kLengthBytes.
  struct Level {
    std::uint64_t end;
    std::size_t first;
  };
  static constexpr std::size_t kLengthBytes = 10;
  std::vector<Level> levels{{~std::uint64_t{0}, 0}};
  enum class State : std::uint8_t { tag, number, length, copy, take } state = State::tag;
  std::uint64_t varint = 0, tag = 0, left = 0;  // left: bytes of the field
  int shift = 0;
  std::size_t field = 0;  // where the field begins in `kept`
  bool has_graph = false;
  std::optional<std::set<std::string, std::less<>>> weights;
  std::map<std::string, Target, std::less<>> targets;
  Target* target = nullptr;  // of the field

  // ---- What is in it, and other files
  bool whole = false;
  Source made;
  std::vector<std::string> names;
  struct Part {
    std::uint64_t offset = 0;
    std::vector<Target> targets;  // tensors of the same elements
  };
  struct File {
    std::uint64_t at = 0;
    std::vector<Part> parts;
  };
  std::map<std::string, File, std::less<>> external;

  static std::string_view message(std::size_t level) {
    constexpr std::string_view kMessages[] = {"ModelProto", "GraphProto", "TensorProto"};
    return kMessages[level];
  }
  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    throw FormatError(std::format("onnx: {}, at byte {} of the file: {}", message(levels.size() - 1), at,
                                  std::format(format, std::forward<Args>(args)...)));
  }

  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) kept.push_back(static_cast<std::byte>(value | 0x80));
    kept.push_back(static_cast<std::byte>(value));
  }

  // A byte of a number that is written as it comes; true at its end.
  bool read_varint(std::byte b) {
    if (shift == 70) fail("a number has more than ten bytes");
    if (shift < 64) varint |= (static_cast<std::uint64_t>(b) & 0x7f) << shift;
    shift += 7;
    if ((b & std::byte{0x80}) != std::byte{}) return false;
    shift = 0;
    return true;
  }

  void take(Bytes bytes) {
    if (whole) throw InvalidArgument("onnx: the model's file was whole before these bytes");
    while (!bytes.empty()) {
      const std::uint64_t end = levels.back().end;
      if (state == State::copy || state == State::take) {
        const auto part = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left)));
        if (state == State::copy)
          kept.insert(kept.end(), part.begin(), part.end());
        else
          fill(*target, part);
        at += part.size();
        left -= part.size();
        bytes = bytes.subspan(part.size());
        if (left == 0) end_field();
        continue;
      }
      if (at == end) fail("a number is cut off");
      const std::byte b = bytes[0];
      bytes = bytes.subspan(1);
      if (state == State::tag && shift == 0) field = kept.size();
      ++at;
      kept.push_back(b);
      if (!read_varint(b)) continue;
      const std::uint64_t value = std::exchange(varint, 0);
      if (state == State::tag)
        begin_field(value);
      else if (state == State::number)
        end_field();
      else
        begin_bytes(value);
    }
  }

  void begin_field(std::uint64_t value) {
    tag = value;
    switch (tag & 7) {
      case 0:
        state = State::number;
        break;
      case 1:
        begin_copy(8);
        break;
      case 2:
        state = State::length;
        break;
      case 5:
        begin_copy(4);
        break;
      default:
        fail("field {} is of kind {}, which Protocol Buffers 3 do not have", tag >> 3, tag & 7);
    }
  }
  void begin_copy(std::uint64_t size) {
    if (levels.size() > 1 && size > levels.back().end - at) {
      fail("field {} has {} bytes, and {} are left", tag >> 3, size, levels.back().end - at);
    }
    state = State::copy;
    left = size;
    if (left == 0) end_field();
  }
  void begin_bytes(std::uint64_t size) {
    const std::uint64_t number = tag >> 3;
    if (size >> 62) fail("field {} has {} bytes", number, size);
    if (levels.size() > 1 && size > levels.back().end - at) {
      fail("field {} has {} bytes, and {} are left", number, size, levels.back().end - at);
    }
    if (levels.size() == 1 && number == 7 && !has_graph) {
      has_graph = true;
      return descend(size);
    }
    if (levels.size() == 2 && number == 5 && size >= kLarge) return descend(size);
    if (levels.size() == 3 && number == 9 && size >= kLarge && begin_target(size)) return;
    begin_copy(size);
  }

  void descend(std::uint64_t size) {
    kept.resize(field);
    put_varint(tag);
    kept.resize(kept.size() + kLengthBytes);
    levels.push_back({at + size, kept.size()});
    state = State::tag;
    if (size == 0) end_field();
  }
  // Behind a field, and behind the messages that end with it.
  void end_field() {
    state = State::tag;
    while (levels.size() > 1 && at == levels.back().end) {
      const std::size_t first = levels.back().first;
      std::uint64_t size = kept.size() - first;
      // In as many bytes as there are.
      for (std::size_t i = 0; i < kLengthBytes; ++i, size >>= 7) {
        const std::uint64_t more = i + 1 < kLengthBytes ? 0x80 : 0;
        kept[first - kLengthBytes + i] = static_cast<std::byte>((size & 0x7f) | more);
      }
      levels.pop_back();
    }
  }

  Target new_target(std::string name, const TensorType& type, std::uint64_t size, bool on_device) const {
    Target t{.name = std::move(name), .type = type, .tensor = {}, .buffer = {}, .size = size};
    if (on_device) {
      t.tensor = Tensor(device, type.dtype, type.shape);
      t.buffer = t.tensor.view().buffer;
    } else {
      t.buffer = Buffer::host(size);
    }
    return t;
  }
  void fill(Target& t, Bytes part) const {
    (t.tensor.defined() ? device : Device::cpu()).upload(t.buffer, t.filled, part);
    t.filled += part.size();
  }

  // Whether the field, the elements of an initializer, goes elsewhere: if all is known of it before.
  bool begin_target(std::uint64_t size) {
    const TensorProto t = parse_tensor(Bytes(kept).subspan(levels.back().first, field - levels.back().first));
    const std::optional<TensorType> type = type_of(t, size);
    if (!type || t.external) return false;
    if (streams && !weights) {
      // Nodes come before initializers, as their fields are numbered.
      const std::size_t first = levels[1].first, end = tensor_begin();
      weights = weights_of(parse_graph(Bytes(kept).subspan(first, end - first)));
    }
    const bool on_device = streams && is_float(type->dtype) && weights->contains(t.name);
    const auto [it, is_new] = targets.emplace(t.name, Target());
    if (!is_new) throw FormatError("onnx: two initializers are called '{}'", t.name);
    it->second = new_target(t.name, *type, size, on_device);
    target = &it->second;
    kept.resize(field);
    state = State::take;
    left = size;
    return true;
  }
  // Where the field of the graph begins that is the tensor being read.
  std::size_t tensor_begin() const { return levels.back().first - kLengthBytes - 1; }

  // What the file says, when it is whole.
  void read() {
    if (whole) return;
    if (levels.size() > 1) fail("the file ends here, and the message has {} bytes more", levels.back().end - at);
    if (state != State::tag || shift) fail("the file ends here, in the middle of field {}", tag >> 3);
    made.owner = std::make_shared<const std::vector<std::byte>>(std::move(kept));
    made.model = parse_model(*std::static_pointer_cast<const std::vector<std::byte>>(made.owner));
    made.index(options.operators);
    const Description description = describe(made);
    check_operators(made, description);
    if (streams && !weights) weights = weights_of(made.model.graph);
    for (auto& [name, t] : targets) add(t);
    each_external(made.model, [&](const TensorProto& t, bool main) { add_external(t, main); });
    names = description.files;
    whole = true;
  }

  void add(const Target& t) {
    if (t.name.empty()) return;
    const bool is_new = t.tensor.defined()
                            ? made.resident.emplace(t.name, t.tensor).second
                            : made.initializers.emplace(t.name, Tracer::constant(t.data(), t.name)).second;
    if (!is_new) throw FormatError("onnx: two initializers are called '{}'", t.name);
  }

  void add_external(const TensorProto& t, bool main) {
    const std::string what = std::format("tensor '{}'", t.name);
    check_location(t.external->location, what);
    const DType dtype = dtype_of(t.type, what);
    double count = 1;
    for (const std::int64_t d : t.dims) count *= static_cast<double>(d);
    if (!(count >= 0 && count < 0x1p48)) throw FormatError("onnx: {} has {} elements", what, count);
    const std::uint64_t size = byte_size(dtype, static_cast<std::uint64_t>(count)),
                        length = t.external->length.value_or(size);
    if (length != size) {
      throw FormatError("onnx: {} takes {} bytes, and is said to be {} bytes from {} on of '{}'", what, size, length,
                        t.external->offset, t.external->location);
    }
    File& file = external[t.external->location];
    auto part = std::ranges::find(file.parts, t.external->offset, &Part::offset);
    if (part == file.parts.end()) part = file.parts.insert(part, Part{.offset = t.external->offset, .targets = {}});
    const std::optional<TensorType> type = type_of(t, size);
    const bool on_device =
        main && type && size >= kLarge && streams && is_float(type->dtype) && weights->contains(t.name);
    // Without a name they are found by their place.
    part->targets.push_back(
        new_target(main && type ? t.name : std::string(), type.value_or(TensorType{}), size, on_device));
  }

  void take(std::string_view name, Bytes bytes) {
    read();
    const auto it = external.find(name);
    if (it == external.end()) throw InvalidArgument("onnx: the model has no data in '{}'", name);
    File& file = it->second;
    const std::uint64_t end = file.at + bytes.size();
    for (Part& part : file.parts) {
      for (Target& t : part.targets) {
        const std::uint64_t first = std::max(part.offset, file.at), last = std::min(part.offset + t.size, end);
        if (first < last)
          fill(t, bytes.subspan(static_cast<std::size_t>(first - file.at), static_cast<std::size_t>(last - first)));
      }
    }
    file.at = end;
  }

  std::shared_ptr<Model::Impl> finish() {
    read();
    ExternalFiles::Parts parts;
    for (const auto& [name, file] : external) {
      for (const Part& part : file.parts) {
        for (const Target& t : part.targets) {
          if (t.filled != t.size) {
            throw FormatError("onnx: '{}' has {} bytes; the model has {} from {} on", name, file.at, t.size,
                              part.offset);
          }
          if (t.name.empty()) {
            parts[{name, part.offset, t.size}] = {t.data().bytes, t.owner()};
          } else {
            add(t);
          }
        }
      }
    }
    made.files = std::make_shared<ExternalFiles>(std::move(parts));
    external.clear();
    targets.clear();
    return make_model(std::move(made), options);
  }
};

Loader::Loader(const Options& options, std::string source)
    : impl_(std::make_shared<Impl>(options, std::move(source))) {}

const Device& Loader::device() const { return impl_->device; }
void Loader::take(std::span<const std::byte> bytes) {
  in_context([&] { return std::format("'{}'", impl_->source); }, [&] { impl_->take(bytes); });
}
const std::vector<std::string>& Loader::files() {
  in_context([&] { return std::format("'{}'", impl_->source); }, [&] { impl_->read(); });
  return impl_->names;
}
void Loader::take(std::string_view file, std::span<const std::byte> bytes) {
  in_context([&] { return std::format("'{}'", impl_->source); }, [&] { impl_->take(file, bytes); });
}
Model Loader::finish() {
  return in_context([&] { return std::format("'{}'", impl_->source); }, [&] { return Model(impl_->finish()); });
}

}  // namespace weft::onnx
