#include "onnx_sentences.h"

#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "core/suffix.h"
#include "model_inputs.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/models.h"

namespace weft::app {

namespace fs = std::filesystem;

std::optional<fs::path> find_onnx(const fs::path& model) {
  if (has_suffix(model.string(), ".onnx")) return model;
  std::error_code none;
  if (!fs::is_directory(model, none) || fs::exists(model / "model.safetensors")) return std::nullopt;
  for (const fs::path& folder : {model / "onnx", model}) {
    if (fs::exists(folder / "model.onnx")) return folder / "model.onnx";
    if (!fs::is_directory(folder, none)) continue;
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (has_suffix(entry.path().string(), ".onnx")) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    if (found.size() == 1) return found[0];
    if (found.empty()) continue;
    std::string names;
    for (const fs::path& f : found) names += (names.empty() ? "" : ", ") + f.filename().string();
    throw InvalidArgument("{} has several models, {}: name one of them", folder.string(), names);
  }
  return std::nullopt;
}

fs::path folder_of_onnx(const fs::path& file) {
  const fs::path own = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const auto has_tokenizer = [](const fs::path& folder) {
    return fs::exists(folder / "tokenizer.json") || fs::exists(folder / "vocab.txt");
  };
  return has_tokenizer(own) || !has_tokenizer(own / "..") ? own : own / "..";
}

OnnxSentences::OnnxSentences(const fs::path& file, Device device, int batch, const std::optional<std::string>& prompt,
                             std::function<void(std::size_t)> progress)
    : model_(onnx::Model::load(file, {.device = std::move(device)})),
      tokenizer_(
          text::Tokenizer::load(folder_of_onnx(file)).with_prompt(models::prompt_text(folder_of_onnx(file), prompt))),
      progress_(std::move(progress)),
      batch_(static_cast<std::size_t>(batch)) {
  ids_name_ = ids_port(model_.inputs());
  const std::vector<onnx::Port>& outputs = model_.outputs();
  // Exports with their pooling say so by the name; others have a vector a token.
  const auto of_rank = [&](std::size_t rank) {
    return std::ranges::find_if(outputs, [&](const onnx::Port& p) {
      return p.dtype && is_floating(*p.dtype) && p.shape && p.shape->size() == rank;
    });
  };
  auto found = std::ranges::find(outputs, "sentence_embedding", &onnx::Port::name);
  is_pooled_ = found != outputs.end();
  if (!is_pooled_) found = of_rank(3);
  if (found == outputs.end()) {
    found = of_rank(2);
    is_pooled_ = true;
  }
  if (found == outputs.end())
    throw Unsupported("{}: it has no output of floats [sentences, tokens, hidden] or [sentences, hidden]",
                      file.string());
  output_ = static_cast<std::size_t>(found - outputs.begin());
  if (!is_pooled_) {
    sentence_ = models::read_sentence_config(folder_of_onnx(file));
    dense_ = models::read_dense_weights(sentence_);
    if (!sentence_.include_prompt) unpooled_ = static_cast<std::int64_t>(tokenizer_.prompt_length());
  }
  // Of a few tokens, since not every model says how long its vectors are.
  const text::Ids few = tokenizer_.encode("a");
  dimension_ = static_cast<int>(embed_batch(std::span(&few, 1), few.size()).shape()[1]);
}

Tensor OnnxSentences::embed_batch(std::span<const text::Ids> ids, std::size_t length) const {
  std::vector<onnx::NamedValue> inputs = text_inputs(model_.inputs(), ids_name_, ids, tokenizer_, length);
  const Tensor y = cast(model_.run_values(inputs)[output_].tensor, DType::f32);
  if (is_pooled_) return y;
  std::vector<std::int32_t> lengths;
  for (const text::Ids& one : ids) lengths.push_back(static_cast<std::int32_t>(one.size()));
  const Tensor counts = Graph::constant(TensorData::of<std::int32_t>({static_cast<std::int64_t>(lengths.size())},
                                                                     std::span<const std::int32_t>(lengths)));
  Tensor vectors = models::sentence_vectors(y, counts, sentence_, dense_, unpooled_);
  eval(vectors);
  return vectors;
}

Tensor OnnxSentences::embed_ids(std::span<const text::Ids> ids) const {
  const DefaultDeviceScope here(device());
  std::vector<std::int32_t> order(ids.size()), places(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::int32_t i) { return ids[static_cast<std::size_t>(i)].size(); });
  std::vector<Tensor> parts;
  for (std::size_t at = 0; at < order.size(); at += batch_) {
    const std::size_t end = std::min(at + batch_, order.size());
    std::vector<text::Ids> rows;
    for (std::size_t i = at; i < end; ++i) {
      rows.push_back(ids[static_cast<std::size_t>(order[i])]);
      places[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    }
    parts.push_back(embed_batch(rows, rows[0].size()));
    if (end == order.size() || !progress_) continue;
    device().wait();
    progress_(end);
  }
  const Tensor all = parts.size() == 1 ? parts[0] : concat(parts, 0);
  const Tensor at = Graph::constant(
      TensorData::of<std::int32_t>({static_cast<std::int64_t>(places.size())}, std::span<const std::int32_t>(places)));
  Tensor result = gather(all, at);
  eval(result);
  return result;
}

}  // namespace weft::app
