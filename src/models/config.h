// The settings in the JSON files of a model's directory, checked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/graph.h"

namespace weft::models {

enum class Architecture : std::uint8_t { bert, distilbert };

// config.json.
struct EncoderConfig {
  Architecture architecture = Architecture::bert;
  std::int64_t vocabulary = 0, positions = 0, token_types = 0;  // token_types is 0 where the model has none
  std::int64_t hidden = 0, intermediate = 0, layers = 0, heads = 0;
  double epsilon = 1e-12;
  ScalarOp activation = ScalarOp::gelu_erf;
};

enum class Pooling : std::uint8_t { cls, max, mean, mean_sqrt_length, weighted_mean, last };

// A dense layer after pooling (sentence_transformers.models.Dense).
struct DenseModule {
  std::filesystem::path directory;
  std::int64_t in = 0, out = 0;
  bool bias = true;
  std::optional<ScalarOp> activation;  // none: identity
  bool residual = false;               // the input is added to the result, times a weight of its own if in != out
};

// What follows the pooling: a dense layer, or, without one, the scaling to length 1.
using SentenceModule = std::optional<DenseModule>;

// modules.json and the files that it refers to.
struct SentenceConfig {
  std::filesystem::path transformer;  // the folder of config.json, weights and tokenizer
  std::vector<Pooling> pooling;       // their results are concatenated in this order
  bool include_prompt = true;         // whether the tokens of a prompt are pooled, too
  std::vector<SentenceModule> modules;
};

// Throw IoError, FormatError, Unsupported; the message names the file and the key.
EncoderConfig read_encoder_config(const std::filesystem::path& transformer);
SentenceConfig read_sentence_config(const std::filesystem::path& model_dir);

}  // namespace weft::models
