// Sentence encoders in ONNX's format: the exports of sentence-transformers, with their tokenizer and pooling.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "models/config.h"
#include "models/encoder_graph.h"
#include "weft/onnx.h"
#include "weft/text.h"

namespace weft::app {

// The file of a model of ONNX that `--model` names: itself, or that of a directory without model.safetensors, which is
// onnx/model.onnx, model.onnx, or the only one there. None: the directory is none of ONNX. Throws InvalidArgument for
// several.
std::optional<std::filesystem::path> find_onnx(const std::filesystem::path& model);
// Where such a file's tokenizer and settings are: its folder, or the one around it.
std::filesystem::path folder_of_onnx(const std::filesystem::path& file);

class OnnxSentences {
 public:
  // Throws what onnx::Model::load, Tokenizer::load and the settings of the pooling do; Unsupported for a model that has
  // no input of ids, or no output that is of tokens or sentences.
  OnnxSentences(const std::filesystem::path& file, Device device, int batch, const std::optional<std::string>& prompt,
                std::function<void(std::size_t done)> progress = {});

  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  const Device& device() const { return model_.device(); }
  int dimension() const { return dimension_; }
  // Vectors f32 [sentences, dimension], on the device. Sentences go longest first, in batches.
  Tensor embed_ids(std::span<const text::Ids> ids) const;

 private:
  Tensor embed_batch(std::span<const text::Ids> ids, std::size_t length) const;

  onnx::Model model_;
  text::Tokenizer tokenizer_;
  models::SentenceConfig sentence_;
  std::vector<models::DenseWeights> dense_;
  std::function<void(std::size_t)> progress_;
  std::string ids_name_;
  std::size_t output_ = 0;
  bool is_pooled_ = false;  // the output has a vector a sentence
  std::int64_t unpooled_ = 0;
  std::size_t batch_;
  int dimension_ = 0;
};

}  // namespace weft::app
