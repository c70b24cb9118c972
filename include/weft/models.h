// Models in Hugging Face's directory layout, ready to run: config.json decides what is built.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/compile.h"
#include "weft/device.h"
#include "weft/future.h"
#include "weft/text.h"

namespace weft::models {

// The text that config_sentence_transformers.json puts before each sentence: the prompt of that name; without a name
// the model's default, if it has one; empty for the name "none". Throws InvalidArgument (there is no such prompt),
// FormatError.
std::string prompt_text(const std::filesystem::path& model_dir, const std::optional<std::string>& name = {});

struct EmbedOptions {
  // Sentences in a batch, at most. They are sorted by length first, so that there is little padding; large batches are
  // split where a tensor would take more than 256 MiB or exceed the device's binding limit.
  int batch = 32;
  // Called whenever a batch is done, with the number of sentences of this call that are; not for the last batch, which
  // is done when the result is read. On a GPU the host then waits for each batch but the last.
  std::function<void(std::size_t done)> progress = {};
  CompileOptions compile = {};
  // The name of the prompt that is put before each sentence, as for prompt_text().
  std::optional<std::string> prompt = {};
  // Without its tokenizer a model has embed_ids(), graph() and executable(), all token types are 0, and no prompt is
  // left out of the pooling.
  bool tokenizer = true;
};

// The work of embed() for who has other things to do between batches, and may not wait for the device, as in a page.
class EmbedSteps {
 public:
  bool done() const;
  std::size_t sentences_done() const;
  // Compiles what the next batch needs and computes it; the future is ready when that is done, and one step is under
  // way at a time. Throws InvalidArgument when all are done, and what SentenceEncoder::embed() does, also later.
  Future<void> next();
  // The embeddings, when all are done. Throws InvalidArgument before.
  Tensor result() const;

  struct Impl;
  explicit EmbedSteps(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// A transformer encoder (BERT, DistilBERT) with the prompt, pooling, dense layers and normalisation that its
// sentence-transformers files define; without such files: mean pooling without normalisation, as sentence-transformers
// does with a bare checkpoint. Weights that it does not use are named in a warning, except those of the heads that
// checkpoints of its architecture have. Calls on one object come from one thread at a time.
class SentenceEncoder {
 public:
  // Throws IoError (a file is missing or cannot be read), FormatError (it is malformed, a weight has another type or
  // shape than config.json implies, there are more layers than config.json says, or modules without the modules.json
  // that joins them), Unsupported (an architecture, activation or module that Weft does not have).
  static SentenceEncoder load(const std::filesystem::path& model_dir, Device device, EmbedOptions options = {});
  // The same while the device is still being opened: work that needs no device is done meanwhile.
  static SentenceEncoder load(const std::filesystem::path& model_dir, Future<Device> device, EmbedOptions options = {});
  // The same without waiting: reads the files now, and is ready when the device is. Throws as load(), when it is called
  // or when its result is taken.
  static Future<SentenceEncoder> load_async(const std::filesystem::path& model_dir, Future<Device> device,
                                            EmbedOptions options = {});

  // Puts the model's prompt before each text. Throws InvalidArgument where it was not to be loaded.
  const text::Tokenizer& tokenizer() const;
  const Device& device() const;
  int dimension() const;   // of an embedding
  int vocabulary() const;  // how many token ids the model has

  // Embeddings [sentences, dimension] in f32, on the device, in the order given. Returns when the work is submitted.
  // Throws FormatError (a sentence that is not UTF-8), OutOfMemory, DeviceLost.
  Tensor embed(std::span<const std::string> sentences);
  // The same for token ids, each list at most the model's length.
  Tensor embed_ids(std::span<const text::Ids> ids);
  // The same a batch at a time, of at most so many sentences (0: EmbedOptions::batch).
  EmbedSteps embed_steps(std::span<const std::string> sentences, int batch = 0);

  // Moves to another device after the device was lost: weights are read again from their file. Results of embed() are
  // lost with the old device. Throws OutOfMemory, DeviceLost, InvalidArgument (the weights are in no file:
  // EncoderLoader put them on the device).
  void restore(Device device);

  // The graph for batches of that shape: what `weft graph` draws. Throws InvalidArgument past the model's positions.
  Graph graph(int batch, int length) const;
  // The executable for that shape (compiled if it is not yet).
  Executable executable(int batch, int length);

  struct Impl;
  explicit SentenceEncoder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// Loads an encoder whose weights are in no file: they come over a network, say, and go to the device as they come, so
// that a GPU's are never in the host's memory as a whole.
class EncoderLoader {
 public:
  // `model_dir` has the model's files but model.safetensors. Throws as SentenceEncoder::load().
  EncoderLoader(const std::filesystem::path& model_dir, Device device, EmbedOptions options = {});
  // The next bytes of model.safetensors. Throws FormatError (the file is malformed, or has other weights than
  // config.json calls for: when its header is there), Unsupported, OutOfMemory, DeviceLost.
  void take(std::span<const std::byte> bytes);
  const Device& device() const;
  // How many bytes the file has in all; 0 until its header is there.
  std::uint64_t size() const;
  // The encoder. Throws FormatError unless all bytes were taken.
  SentenceEncoder finish();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// The model in that directory, by default on the best device.
inline SentenceEncoder load(const std::filesystem::path& model_dir, Device device = Device::open(),
                            EmbedOptions options = {}) {
  return SentenceEncoder::load(model_dir, std::move(device), std::move(options));
}

// The same without waiting.
inline Future<SentenceEncoder> load_async(const std::filesystem::path& model_dir,
                                          Future<Device> device = Device::open_async(), EmbedOptions options = {}) {
  return SentenceEncoder::load_async(model_dir, std::move(device), std::move(options));
}

}  // namespace weft::models
