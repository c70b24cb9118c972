#include "models/encoder_graph.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <format>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>

#include "core/format.h"
#include "core/in_quotes.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/label.h"
#include "weft/log.h"

namespace weft::models {
namespace {

// The names of weights in each architecture. A layer's names follow "<layers>.<index>.".
struct Names {
  const char* words;
  const char* positions;
  const char* token_types;
  const char* embedding_norm;
  const char* layers;
  const char *query, *key, *value, *attention_output, *attention_norm, *intermediate, *output, *output_norm;
};

const Names& names(Architecture architecture) {
  static constexpr Names kBert = {.words = "embeddings.word_embeddings.weight",
                                  .positions = "embeddings.position_embeddings.weight",
                                  .token_types = "embeddings.token_type_embeddings.weight",
                                  .embedding_norm = "embeddings.LayerNorm",
                                  .layers = "encoder.layer",
                                  .query = "attention.self.query",
                                  .key = "attention.self.key",
                                  .value = "attention.self.value",
                                  .attention_output = "attention.output.dense",
                                  .attention_norm = "attention.output.LayerNorm",
                                  .intermediate = "intermediate.dense",
                                  .output = "output.dense",
                                  .output_norm = "output.LayerNorm"};
  static constexpr Names kDistilBert = {.words = "embeddings.word_embeddings.weight",
                                        .positions = "embeddings.position_embeddings.weight",
                                        .token_types = nullptr,
                                        .embedding_norm = "embeddings.LayerNorm",
                                        .layers = "transformer.layer",
                                        .query = "attention.q_lin",
                                        .key = "attention.k_lin",
                                        .value = "attention.v_lin",
                                        .attention_output = "attention.out_lin",
                                        .attention_norm = "sa_layer_norm",
                                        .intermediate = "ffn.lin1",
                                        .output = "ffn.lin2",
                                        .output_norm = "output_layer_norm"};
  return architecture == Architecture::bert ? kBert : kDistilBert;
}

class WeightReader {
 public:
  WeightReader(SafeTensors file, std::string prefix, PlaceWeight place = {})
      : file_(std::move(file)), prefix_(std::move(prefix)), place_(std::move(place)) {}

  // What some checkpoints put before all names ("bert.", "model.", "0.auto_model.") is told by the weight `known`.
  static WeightReader after_prefix(SafeTensors file, std::string_view known, PlaceWeight place) {
    std::optional<std::string> prefix;
    for (const std::string& name : file.names()) {
      if (!name.ends_with(known)) continue;
      std::string before = name.substr(0, name.size() - known.size());
      const bool whole = before.empty() || before.ends_with('.');
      if (whole && (!prefix || before.size() < prefix->size())) prefix = std::move(before);
    }
    return {std::move(file), prefix.value_or(""), std::move(place)};
  }

  Weight tensor(const std::string& name, const Shape& shape) {
    const std::string full = prefix_ + name;
    // Old checkpoints call a layer norm's scale and bias gamma and beta.
    std::string found = full;
    if (!file_.contains(found)) {
      if (found.ends_with("LayerNorm.weight")) found = found.substr(0, found.size() - 6) + "gamma";
      if (found.ends_with("LayerNorm.bias")) found = found.substr(0, found.size() - 4) + "beta";
    }
    if (!file_.contains(found)) {
      throw FormatError("{}: the weight {} {} that config.json calls for is missing", file_.source(), in_quotes(full),
                        to_string(shape));
    }
    used_.insert(found);
    const TensorData& data = file_.at(found, shape);
    if (!is_floating(data.dtype) || bits(data.dtype) < 16 || data.dtype == DType::f64) {
      throw Unsupported("{}: {} is {}; weights are f32, f16 or bf16", file_.source(), in_quotes(found),
                        weft::name(data.dtype));
    }
    return place_ ? place_(found, data) : Weight{.data = data, .tensor = {}};
  }
  LinearWeights linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias = true) {
    return {tensor(name + ".weight", {out, in}), bias ? tensor(name + ".bias", {out}) : Weight{}};
  }
  NormWeights norm(const std::string& name, std::int64_t size) {
    return {tensor(name + ".weight", {size}), tensor(name + ".bias", {size})};
  }

  // Throws FormatError if the file has layers past the first `layers`, and warns of other weights that were not
  // used, except those that begin with one of `expected`.
  void check_all_used(std::string_view layers, std::int64_t count, std::span<const std::string_view> expected) const {
    const std::string layer_prefix = std::format("{}{}.", prefix_, layers);
    std::vector<std::string> unused;
    for (const std::string& name : file_.names()) {
      if (used_.contains(name)) continue;
      std::int64_t layer = -1;
      if (name.starts_with(layer_prefix)) {
        std::from_chars(name.data() + layer_prefix.size(), name.data() + name.size(), layer);
      }
      if (layer >= count) {
        throw FormatError(
            "{}: {} is a weight of a layer past the {} of config.json; one of the two files belongs to "
            "another model",
            file_.source(), in_quotes(name), count);
      }
      std::string_view plain = name;
      if (plain.starts_with(prefix_)) plain.remove_prefix(prefix_.size());
      const auto begins = [&](std::string_view prefix) { return plain.starts_with(prefix); };
      if (std::ranges::none_of(expected, begins)) unused.push_back(name);
    }
    if (unused.empty()) return;
    constexpr std::size_t kNamed = 4;
    std::string names;
    for (const std::string& name : unused | std::views::take(kNamed)) {
      names += (names.empty() ? "" : ", ") + in_quotes(name);
    }
    if (unused.size() > kNamed) names += std::format(" and {} more", unused.size() - kNamed);
    log(LogLevel::warning, "{}: {} weight{} not used: {}", file_.source(), unused.size(),
        unused.size() == 1 ? " is" : "s are", names);
  }

 private:
  SafeTensors file_;
  std::string prefix_;
  PlaceWeight place_;
  std::set<std::string, std::less<>> used_;
};

// What checkpoints hold besides the encoder: heads of the tasks that it was trained for, and buffers of PyTorch.
constexpr std::string_view kHeads[] = {"pooler.",
                                       "cls.",
                                       "classifier.",
                                       "pre_classifier.",
                                       "qa_outputs.",
                                       "vocab_transform.",
                                       "vocab_layer_norm.",
                                       "vocab_projector.",
                                       "embeddings.position_ids"};

// The graph under construction, with methods for its building blocks.
class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  Tensor weight(const Weight& w, const std::string& name) {
    const Tensor v = w.tensor.defined() ? w.tensor : graph_.constant(w.data, name);
    return v.dtype() == DType::f32 ? v : cast(v, DType::f32);
  }
  // Weights are named with the scopes around them, "layers.0.query"; scopes add that to labels by themselves.
  Tensor linear(const Tensor& x, const LinearWeights& w, const std::string& part) {
    const LabelScope scope(part);
    const std::string name = outer_ + part;
    const Tensor y = matmul(x, weight(w.weight, name).T());
    return w.bias ? y + weight(w.bias, name + ".bias") : y;
  }
  Tensor norm(const Tensor& x, const NormWeights& w, double epsilon, const std::string& part) {
    const LabelScope scope(part);
    const std::string name = outer_ + part;
    return layer_norm(x, weight(w.scale, name + ".scale"), weight(w.bias, name + ".bias"), epsilon);
  }
  // A dense layer after the pooling.
  Tensor dense(const Tensor& x, const DenseModule& module, const DenseWeights& w, const std::string& part) {
    Tensor y = linear(x, w.linear, part);
    if (module.activation) y = unary(*module.activation, y);
    if (!module.residual) return y;
    return y + (w.residual ? linear(x, {.weight = w.residual, .bias = {}}, part + ".residual") : x);
  }
  // What follows is of that layer.
  void begin_layer(const std::string& layer) { outer_ = layer + "."; }
  void end_layers() { outer_.clear(); }
  // [batch, length, heads · dim] → [batch, heads, length, dim]
  static Tensor split_heads(const Tensor& x, std::int64_t heads) {
    return permute(unflatten(x, 2, {heads, -1}), {0, 2, 1, 3});
  }
  static Tensor merge_heads(const Tensor& x) { return flatten_axes(permute(x, {0, 2, 1, 3}), 2); }

 private:
  Graph& graph_;
  std::string outer_;
};

// The tokens of a batch, for pooling.
struct Tokens {
  Tensor vectors;          // [batch, length, hidden]
  Tensor lengths;          // i32 [batch, 1, 1]
  Tensor position;         // i32 [1, length, 1]
  Tensor pooled;           // bool [batch, length, 1]: which take part
  std::int64_t first = 0;  // of those that take part
};

// One vector a row, as sentence-transformers 6 pools them (sentence_transformer/modules/pooling.py).
Tensor pool(Pooling mode, const Tokens& t) {
  const auto number = [](double value) { return Graph::scalar(value, DType::f32); };
  switch (mode) {
    case Pooling::cls: {  // the first that takes part, or the first of all where none does
      const Tensor start = slice(t.vectors, 1, 0, 1);
      if (t.first == 0 || t.first >= t.vectors.shape()[1]) return squeeze(start, 1);
      const Tensor there = greater(t.lengths, Graph::scalar(static_cast<double>(t.first), DType::i32));
      return squeeze(select(there, slice(t.vectors, 1, t.first, t.first + 1), start), 1);
    }
    case Pooling::max:
      return reduce(ReduceKind::max, select(t.pooled, t.vectors, number(-std::numeric_limits<double>::infinity())),
                    {1});
    case Pooling::mean:
    case Pooling::mean_sqrt_length: {
      const Tensor mask = cast(t.pooled, DType::f32);
      const Tensor count = maximum(reduce(ReduceKind::sum, mask, {1}), number(1e-9));
      const Tensor sum = reduce(ReduceKind::sum, t.vectors * mask, {1});
      return sum / (mode == Pooling::mean ? count : sqrt(count));
    }
    case Pooling::weighted_mean: {  // by positions from 1, also where the first do not take part
      const Tensor weights = select(t.pooled, cast(t.position, DType::f32) + number(1), number(0));
      const Tensor sum = reduce(ReduceKind::sum, t.vectors * weights, {1});
      return sum / maximum(reduce(ReduceKind::sum, weights, {1}), number(1e-9));
    }
    case Pooling::last: {  // zeros where none takes part
      const Tensor last =
          logical_and(t.pooled, binary(ScalarOp::equal, t.position + Graph::scalar(1, DType::i32), t.lengths));
      return reduce(ReduceKind::sum, select(last, t.vectors, number(0)), {1});
    }
  }
  throw InternalError("unknown pooling {}", static_cast<int>(mode));
}

// As torch.nn.functional.normalize: the norm is at least 1e-12.
Tensor normalized(const Tensor& x) {
  const Tensor squares = reduce(ReduceKind::sum_squares, x, {1}, true);
  return x / maximum(sqrt(squares), Graph::scalar(1e-12, DType::f32));
}

// One vector a sentence.
Tensor vectors_of(Builder& b, Tokens tokens, const SentenceConfig& sentence, std::span<const DenseWeights> dense) {
  const LabelScope scope("pooling");
  if (tokens.first > 0) {
    const Tensor first = Graph::scalar(static_cast<double>(tokens.first), DType::i32);
    tokens.pooled = logical_and(tokens.pooled, greater_equal(tokens.position, first));
  }
  std::vector<Tensor> pooled;
  for (const Pooling mode : sentence.pooling) pooled.push_back(pool(mode, tokens));
  Tensor y = pooled.size() == 1 ? pooled[0] : concat(pooled, 1);
  for (std::size_t i = 0; i < sentence.modules.size(); ++i) {
    y = sentence.modules[i] ? b.dense(y, *sentence.modules[i], dense[i], std::format("dense.{}", i)) : normalized(y);
  }
  return y;
}

}  // namespace

EncoderWeights read_weights(const EncoderConfig& encoder, const SentenceConfig& sentence, SafeTensors file,
                            const PlaceWeight& place) {
  const Names& n = names(encoder.architecture);
  WeightReader read = WeightReader::after_prefix(std::move(file), n.words, place);
  const std::int64_t h = encoder.hidden;
  EncoderWeights w;
  w.words = read.tensor(n.words, {encoder.vocabulary, h});
  w.positions = read.tensor(n.positions, {encoder.positions, h});
  if (n.token_types) w.token_types = read.tensor(n.token_types, {encoder.token_types, h});
  w.embedding_norm = read.norm(n.embedding_norm, h);
  for (std::int64_t i = 0; i < encoder.layers; ++i) {
    const std::string layer = std::format("{}.{}.", n.layers, i);
    w.layers.push_back({.query = read.linear(layer + n.query, h, h),
                        .key = read.linear(layer + n.key, h, h),
                        .value = read.linear(layer + n.value, h, h),
                        .attention_output = read.linear(layer + n.attention_output, h, h),
                        .intermediate = read.linear(layer + n.intermediate, h, encoder.intermediate),
                        .output = read.linear(layer + n.output, encoder.intermediate, h),
                        .attention_norm = read.norm(layer + n.attention_norm, h),
                        .output_norm = read.norm(layer + n.output_norm, h)});
  }
  read.check_all_used(n.layers, encoder.layers, kHeads);
  w.dense = read_dense_weights(sentence);
  return w;
}

std::vector<DenseWeights> read_dense_weights(const SentenceConfig& sentence) {
  std::vector<DenseWeights> all;
  for (const SentenceModule& module : sentence.modules) {
    DenseWeights& weights = all.emplace_back();
    if (!module) continue;
    const DenseModule& d = *module;
    WeightReader dense(SafeTensors::open(d.directory), "");
    weights.linear = dense.linear("linear", d.in, d.out, d.bias);
    if (d.residual && d.in != d.out) weights.residual = dense.tensor("residual.weight", {d.out, d.in});
    dense.check_all_used("linear", 0, {});
  }
  return all;
}

void for_each_weight(EncoderWeights& weights, const std::function<void(Weight&)>& f) {
  const auto visit = [&](auto&... some) { ((some ? f(some) : void()), ...); };
  visit(weights.words, weights.positions, weights.token_types, weights.embedding_norm.scale,
        weights.embedding_norm.bias);
  for (LayerWeights& l : weights.layers) {
    for (LinearWeights* w : {&l.query, &l.key, &l.value, &l.attention_output, &l.intermediate, &l.output}) {
      visit(w->weight, w->bias);
    }
    for (NormWeights* w : {&l.attention_norm, &l.output_norm}) visit(w->scale, w->bias);
  }
  for (DenseWeights& d : weights.dense) visit(d.linear.weight, d.linear.bias, d.residual);
}

std::int64_t embedding_dimension(const EncoderConfig& encoder, const SentenceConfig& sentence) {
  std::int64_t dimension = encoder.hidden * static_cast<std::int64_t>(sentence.pooling.size());
  for (const SentenceModule& module : sentence.modules) {
    if (module) dimension = module->out;
  }
  return dimension;
}

Graph encoder_graph(const EncoderConfig& config, const SentenceConfig& sentence, const EncoderWeights& weights,
                    std::span<const std::int32_t> type_ids, std::int64_t unpooled, std::int64_t batch,
                    std::int64_t length) {
  Graph graph("sentence encoder");
  Builder b(graph);
  const Tensor ids = graph.input("ids", DType::i32, {batch, length});
  const Tensor lengths = graph.input("lengths", DType::i32, {batch});

  std::vector<std::int32_t> steps(static_cast<std::size_t>(length));
  std::iota(steps.begin(), steps.end(), 0);
  const Tensor position = graph.constant(TensorData::of<std::int32_t>(DType::i32, {1, length}, steps), "positions");
  const Tensor visible = binary(ScalarOp::less, position, expand_dims(lengths, 1));  // [batch, length]

  // Embeddings: words + token types + positions, normalised.
  std::optional<LabelScope> part("embeddings");
  Tensor x = gather(b.weight(weights.words, "words"), ids);
  if (weights.token_types) {
    const Tensor types = b.weight(weights.token_types, "token_types");
    if (type_ids.empty()) {
      x = x + slice(types, 0, 0, 1);
    } else {
      x = x + gather(types, graph.constant(TensorData::of<std::int32_t>(DType::i32, {length}, type_ids)));
    }
  }
  x = x + slice(b.weight(weights.positions, "positions"), 0, 0, length);
  x = b.norm(x, weights.embedding_norm, config.epsilon, "embedding_norm");
  part.reset();

  // Layers: attention and feed-forward, each followed by its residual and norm.
  const double scale = 1.0 / std::sqrt(static_cast<double>(config.hidden / config.heads));
  part.emplace("mask");
  const Tensor hidden_keys = select(expand_dims(visible, {1, 2}), graph.scalar(0, DType::f32),
                                    graph.scalar(-std::numeric_limits<double>::infinity(), DType::f32));
  part.reset();
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& w = weights.layers[i];
    const std::string layer = std::format("layers.{}", i);
    const LabelScope scope(layer);
    b.begin_layer(layer);
    const Tensor q = Builder::split_heads(b.linear(x, w.query, "query"), config.heads);
    const Tensor k = Builder::split_heads(b.linear(x, w.key, "key"), config.heads);
    const Tensor v = Builder::split_heads(b.linear(x, w.value, "value"), config.heads);
    const Tensor context = [&] {
      const LabelScope scope("attention");
      const Tensor scores = matmul(q, k.T()) * scale + hidden_keys;
      return Builder::merge_heads(matmul(softmax(scores), v));
    }();
    x = b.norm(b.linear(context, w.attention_output, "attention_output") + x, w.attention_norm, config.epsilon,
               "attention_norm");
    const Tensor inner = unary(config.activation, b.linear(x, w.intermediate, "intermediate"));
    x = b.norm(b.linear(inner, w.output, "output") + x, w.output_norm, config.epsilon, "output_norm");
  }

  b.end_layers();

  const Tokens tokens{.vectors = x,
                      .lengths = expand_dims(lengths, {1, 2}),
                      .position = expand_dims(position, 2),
                      .pooled = expand_dims(visible, 2),
                      .first = unpooled};
  graph.output("embeddings", vectors_of(b, tokens, sentence, weights.dense));
  return graph;
}

Tensor sentence_vectors(const Tensor& x, const Tensor& lengths, const SentenceConfig& sentence,
                        std::span<const DenseWeights> dense, std::int64_t unpooled) {
  Graph names;
  Builder b(names);
  const std::int64_t length = x.shape()[1];
  std::vector<std::int32_t> steps(static_cast<std::size_t>(length));
  std::iota(steps.begin(), steps.end(), 0);
  const Tensor position = Graph::constant(TensorData::of<std::int32_t>(DType::i32, {1, length, 1}, steps), "positions");
  const Tensor of_rows = expand_dims(lengths, {1, 2});
  return vectors_of(
      b, {.vectors = x, .lengths = of_rows, .position = position, .pooled = less(position, of_rows), .first = unpooled},
      sentence, dense);
}

}  // namespace weft::models
