// The graph of a transformer encoder with its pooling.
#pragma once

#include <functional>

#include "models/config.h"
#include "weft/graph.h"
#include "weft/safetensors.h"
#include "weft/tensor.h"

namespace weft::models {

// A constant of the graph, or a tensor on its device.
struct Weight {
  TensorData data;
  Tensor tensor;

  explicit operator bool() const { return tensor.defined() || data.owner; }
};

// A model's weights under Weft's names, each checked against the shape that config.json implies.
struct LinearWeights {
  Weight weight, bias;  // [out, in], [out]
};
struct NormWeights {
  Weight scale, bias;  // [hidden]
};
struct LayerWeights {
  LinearWeights query, key, value, attention_output, intermediate, output;
  NormWeights attention_norm, output_norm;
};
struct DenseWeights {
  LinearWeights linear;
  Weight residual;  // [out, in]; none where the input is added as it is, or not
};
struct EncoderWeights {
  Weight words, positions, token_types;  // [vocabulary, hidden], [positions, hidden], [token_types, hidden]
  NormWeights embedding_norm;
  std::vector<LayerWeights> layers;
  std::vector<DenseWeights> dense;  // of the sentence's modules; empty where these are not dense
};

// The weight that a tensor of the file becomes.
using PlaceWeight = std::function<Weight(const std::string& name, const TensorData& data)>;

// `file` is that of the transformer; files of dense modules are read. Throws FormatError (a weight is missing or has
// another type or shape).
EncoderWeights read_weights(const EncoderConfig& encoder, const SentenceConfig& sentence, SafeTensors file,
                            const PlaceWeight& place = {});

// Calls f with each weight that there is.
void for_each_weight(EncoderWeights& weights, const std::function<void(Weight&)>& f);

// Inputs: "ids" i32 [batch, length], "lengths" i32 [batch] (ids past a row's length are padding). "token_types" are
// constant: `type_ids`, [length], or empty for zeros. The first `unpooled` tokens, those of a prompt, do not take part
// in the pooling. Output: "embeddings" f32 [batch, dimension].
Graph encoder_graph(const EncoderConfig& encoder, const SentenceConfig& sentence, const EncoderWeights& weights,
                    std::span<const std::int32_t> type_ids, std::int64_t unpooled, std::int64_t batch,
                    std::int64_t length);

// Those of the dense modules alone.
std::vector<DenseWeights> read_dense_weights(const SentenceConfig& sentence);

// The vectors of a batch's sentences, [batch, dimension], of those of their tokens, f32 [batch, length, hidden], and of
// their lengths, i32 [batch]: what encoder_graph() makes of its last layer.
Tensor sentence_vectors(const Tensor& tokens, const Tensor& lengths, const SentenceConfig& sentence,
                        std::span<const DenseWeights> dense, std::int64_t unpooled);

std::int64_t embedding_dimension(const EncoderConfig& encoder, const SentenceConfig& sentence);

}  // namespace weft::models
