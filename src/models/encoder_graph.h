// The graph of a transformer encoder with its pooling.
#pragma once

#include "models/config.h"
#include "weft/graph.h"
#include "weft/safetensors.h"

namespace weft::models {

// A model's weights under Weft's names, each checked against the shape that config.json implies.
struct LinearWeights {
  TensorData weight, bias;  // [out, in], [out]
};
struct NormWeights {
  TensorData scale, bias;  // [hidden]
};
struct LayerWeights {
  LinearWeights query, key, value, attention_output, intermediate, output;
  NormWeights attention_norm, output_norm;
};
struct DenseWeights {
  LinearWeights linear;
  TensorData residual;  // [out, in]; none where the input is added as it is, or not
};
struct EncoderWeights {
  TensorData words, positions, token_types;  // [vocabulary, hidden], [positions, hidden], [token_types, hidden]
  NormWeights embedding_norm;
  std::vector<LayerWeights> layers;
  std::vector<DenseWeights> dense;  // of the sentence's modules; empty where these are not dense
};

// Throws FormatError (a weight is missing or has another type or shape).
EncoderWeights read_weights(const EncoderConfig& encoder, const SentenceConfig& sentence);

// Inputs: "ids" i32 [batch, length], "lengths" i32 [batch] (ids past a row's length are padding). "token_types" are
// constant: `type_ids`, [length], or empty for zeros. The first `unpooled` tokens, those of a prompt, do not take part
// in the pooling. Output: "embeddings" f32 [batch, dimension].
Graph encoder_graph(const EncoderConfig& encoder, const SentenceConfig& sentence, const EncoderWeights& weights,
                    std::span<const std::int32_t> type_ids, std::int64_t unpooled, std::int64_t batch,
                    std::int64_t length);

std::int64_t embedding_dimension(const EncoderConfig& encoder, const SentenceConfig& sentence);

}  // namespace weft::models
