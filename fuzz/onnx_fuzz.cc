// Any bytes must be a model of ONNX, of which a graph is made, or cause a typed error, in a bounded time. Mutations
// keep the lengths of Protocol Buffers' messages right: fields are dropped, repeated, exchanged and changed, names and
// operators replaced by others.
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "weft/error.h"
#include "weft/onnx.h"

namespace {

using namespace weft;

void load(std::span<const std::byte> bytes) {
  try {
    const onnx::Model model = onnx::Model::from_bytes(bytes, {.device = Device::cpu()});
    std::vector<onnx::NamedShape> shapes;
    for (const onnx::Port& port : model.inputs()) {
      if (!port.shape) continue;
      onnx::NamedShape& s = shapes.emplace_back(onnx::NamedShape{port.name, {}});
      for (const onnx::Dimension& d : *port.shape) {
        if (s.shape.rank() < kMaxRank) s.shape.push_back(d.size.value_or(2));
      }
    }
    const Graph graph = model.graph(shapes);
    graph.verify();
    FUZZ_CHECK(graph.hash() == Graph(graph).hash());
  } catch (const InternalError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    FUZZ_CHECK(false);
  } catch (const Error&) {
  }
}

// ---- Mutations

constexpr std::string_view kOperators[] = {
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "AffineGrid",
    "And",
    "ArgMax",
    "ArgMin",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Attention",
    "AveragePool",
    "BatchNormalization",
    "Bernoulli",
    "BiasAdd",
    "BiasGelu",
    "BiasSplitGelu",
    "BitCast",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "BlackmanWindow",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "CenterCropPad",
    "Clip",
    "Col2Im",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "Cos",
    "Cosh",
    "CumProd",
    "CumSum",
    "DFT",
    "DeformConv",
    "DepthToSpace",
    "DequantizeLinear",
    "Det",
    "Div",
    "Dropout",
    "DynamicQuantizeLSTM",
    "DynamicQuantizeLinear",
    "DynamicQuantizeMatMul",
    "Einsum",
    "Elu",
    "EmbedLayerNormalization",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "EyeLike",
    "FastGelu",
    "Flatten",
    "Floor",
    "FusedConv",
    "FusedGemm",
    "FusedMatMul",
    "GRU",
    "Gather",
    "GatherBlockQuantized",
    "GatherElements",
    "GatherND",
    "Gelu",
    "Gemm",
    "GemmFastGelu",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "Greater",
    "GreaterOrEqual",
    "GridSample",
    "GroupNorm",
    "GroupNormalization",
    "GroupQueryAttention",
    "HammingWindow",
    "HannWindow",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "If",
    "InstanceNormalization",
    "IsInf",
    "IsNaN",
    "LRN",
    "LSTM",
    "LayerNormalization",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "LogSoftmax",
    "Loop",
    "LpNormalization",
    "LpPool",
    "MatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "Max",
    "MaxPool",
    "MaxRoiPool",
    "MaxUnpool",
    "Mean",
    "MeanVarianceNormalization",
    "MelWeightMatrix",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "MultiHeadAttention",
    "Multinomial",
    "Neg",
    "NegativeLogLikelihoodLoss",
    "NhwcConv",
    "NhwcFusedConv",
    "NhwcMaxPool",
    "NonMaxSuppression",
    "NonZero",
    "Not",
    "OneHot",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Or",
    "PRelu",
    "Pad",
    "Pow",
    "QAttention",
    "QGemm",
    "QLinearAdd",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearConv",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearMatMul",
    "QLinearMul",
    "QLinearReduceMean",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QLinearWhere",
    "QuantizeLinear",
    "QuickGelu",
    "RMSNormalization",
    "RNN",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Range",
    "Reciprocal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Reshape",
    "Resize",
    "ReverseSequence",
    "RoiAlign",
    "RotaryEmbedding",
    "Round",
    "STFT",
    "Scan",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "Shape",
    "Shrink",
    "Sigmoid",
    "Sign",
    "SimplifiedLayerNormalization",
    "Sin",
    "Sinh",
    "Size",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
    "Slice",
    "Softmax",
    "SoftmaxCrossEntropyLoss",
    "Softplus",
    "Softsign",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "TensorScatter",
    "ThresholdedRelu",
    "Tile",
    "TopK",
    "Transpose",
    "TransposeMatMul",
    "Trilu",
    "Unique",
    "Unsqueeze",
    "Upsample",
    "Where",
    "Xor",
};

struct Field {
  std::uint64_t tag = 0, number = 0;  // number: of kinds 0, 1 and 5
  std::string bytes = {};             // of kind 2, unless it is a message
  std::optional<std::vector<Field>> message = {};
};

std::optional<std::uint64_t> varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto b = static_cast<std::uint8_t>(in.front());
    in.remove_prefix(1);
    value |= std::uint64_t{b & 0x7fu} << shift;
    if (!(b & 0x80)) return value;
  }
  return std::nullopt;
}
std::optional<std::vector<Field>> parsed(std::string_view in, int depth) {
  std::vector<Field> fields;
  while (!in.empty()) {
    const auto tag = varint(in);
    if (!tag || *tag < 8 || *tag > 256) return std::nullopt;
    Field& f = fields.emplace_back(Field{.tag = *tag});
    const std::uint64_t kind = *tag & 7;
    if (kind == 0 || kind == 2) {
      const auto n = varint(in);
      if (!n || (kind == 2 && *n > in.size())) return std::nullopt;
      f.number = *n;
    }
    const std::size_t size = kind == 2 ? f.number : kind == 1 ? 8 : kind == 5 ? 4 : 0;
    if (kind == 3 || kind == 4 || kind > 5 || size > in.size()) return std::nullopt;
    f.bytes = in.substr(0, size);
    in.remove_prefix(size);
    if (kind == 2 && depth < 12 && size) f.message = parsed(f.bytes, depth + 1);
  }
  return fields;
}
void write_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
std::string written(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& f : fields) {
    write_varint(out, f.tag);
    const std::string bytes = f.message ? written(*f.message) : f.bytes;
    if ((f.tag & 7) == 0) write_varint(out, f.number);
    if ((f.tag & 7) == 2) write_varint(out, bytes.size());
    if ((f.tag & 7) != 0) out += bytes;
  }
  return out;
}

class Mutation {
 public:
  Mutation(std::vector<Field>& fields, unsigned seed) : random_(seed) { collect(fields); }
  void run() {
    if (places_.empty()) return;
    auto [list, at] = places_[below(places_.size())];
    Field& f = (*list)[at];
    const auto i = static_cast<std::ptrdiff_t>(at);
    switch (below(8)) {
      case 0:
        list->erase(list->begin() + i);
        return;
      case 1:
        list->insert(list->begin() + i, Field(f));
        return;
      case 2:
        std::swap(f, (*list)[below(list->size())]);
        return;
      case 3: {  // another field of the file, which may be a whole node or tensor
        const auto [from, place] = places_[below(places_.size())];
        Field copy = (*from)[place];
        (*list)[at] = std::move(copy);
        return;
      }
      default:
        change(f);
    }
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  void collect(std::vector<Field>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      places_.emplace_back(&list, i);
      if (list[i].message)
        collect(*list[i].message);
      else if ((list[i].tag & 7) == 2 && list[i].bytes.size() < 64)
        names_.push_back(list[i].bytes);
    }
  }
  void change(Field& f) {
    static constexpr std::int64_t kNumbers[] = {0,
                                                1,
                                                2,
                                                3,
                                                7,
                                                -1,
                                                -2,
                                                64,
                                                255,
                                                65536,
                                                1 << 30,
                                                INT64_C(1) << 31,
                                                INT64_C(1) << 40,
                                                INT64_C(1) << 62,
                                                INT64_MAX,
                                                INT64_MIN};
    if ((f.tag & 7) == 0) {
      f.number = below(3) ? static_cast<std::uint64_t>(kNumbers[below(std::size(kNumbers))]) : f.number + below(7) - 3;
    } else if ((f.tag & 7) != 2) {
      for (char& c : f.bytes) c = static_cast<char>(below(3) ? c : below(256));
    } else if (!f.message || below(8) == 0) {
      f.message.reset();
      if (below(3) == 0)
        f.bytes = kOperators[below(std::size(kOperators))];
      else if (!names_.empty() && below(3))
        f.bytes = names_[below(names_.size())];
      else if (!f.bytes.empty())
        f.bytes[below(f.bytes.size())] = static_cast<char>(below(256));
    }
  }

  std::mt19937 random_;
  std::vector<std::pair<std::vector<Field>*, std::size_t>> places_;
  std::vector<std::string> names_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) __attribute__((weak));

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  auto fields = seed % 8 ? parsed({reinterpret_cast<const char*>(data), size}, 0) : std::nullopt;
  if (!fields || fields->empty()) return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
  for (unsigned i = 0; i <= seed / 8 % 3; ++i) Mutation(*fields, seed + i).run();
  const std::string bytes = written(*fields);
  if (bytes.size() > most) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  load(std::as_bytes(std::span(data, size)));
  return 0;
}
