// Text to token ids, as the model's own files define it. Weft reads the tokenizers of BERT's family: WordPiece with
// BERT's normalisation. The ids are those of the reference, Hugging Face's `tokenizers` library, with its Unicode
// versions (src/text/unicode.h) and with the sequence length that sentence-transformers uses. Source:
// https://github.com/huggingface/tokenizers (tokenizer.json), https://arxiv.org/abs/1609.08144 (WordPiece).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

using Ids = std::vector<std::int32_t>;

class Tokenizer {
 public:
  // Reads tokenizer.json of a model's directory or, where there is none, vocab.txt, and tokenizer_config.json; added
  // tokens also come from the latter, or from special_tokens_map.json and added_tokens.json. Where modules.json names a
  // folder for the transformer, they are there. max_length() is max_seq_length of sentence_bert_config.json; without
  // one the smaller of config.json's max_position_embeddings and tokenizer_config.json's model_max_length. Truncation
  // and padding that tokenizer.json stores are not used, but the end of a text is what is kept if its truncation says
  // so, or tokenizer_config.json's truncation_side. Padding on the left (padding_side) is not used either, and told in
  // a warning: the reference's results then depend on the longest text of a batch, which moves the others' positions.
  // Throws IoError when a file cannot be read, FormatError when one is malformed, Unsupported (by name) for a kind of
  // model, normalizer, pre-tokenizer or post-processor that is not BERT's.
  static Tokenizer load(const std::filesystem::path& model_dir);

  // Reads the contents of a tokenizer.json; `source` is what errors call it. `max_length` counts special tokens.
  static Tokenizer parse(std::string_view tokenizer_json, std::string_view source, int max_length = kUnlimited);

  // A tokenizer of the same model that puts `prompt` before each text. Throws FormatError when it is not UTF-8.
  Tokenizer with_prompt(std::string prompt) const;
  const std::string& prompt() const { return prompt_; }
  // The ids at the start of each encoding that stand for the prompt, with the special tokens before it; 0 without one.
  std::size_t prompt_length() const;

  // Ids of a text, special tokens included, at most max_length() of them.
  // Throws FormatError, naming the byte, when `text` is not UTF-8. Safe to call from several threads.
  // `cut`, if given, becomes true if the text has more tokens than that, and false otherwise.
  Ids encode(std::string_view text, bool* cut = nullptr) const;

  // encode() for each, on all cores. An error names the index of its text. `cut`, if given, becomes the number of texts
  // that were cut.
  std::vector<Ids> encode_batch(std::span<const std::string> texts, std::size_t* cut = nullptr) const;

  // Token type (segment) ids of an encoding of that many ids. They depend only on the length, since the special tokens
  // are at both ends. has_type_ids() is false when they are all 0 for every length.
  Ids type_ids(std::size_t length) const;
  bool has_type_ids() const;

  // Longest encoding, in ids, special tokens included.
  int max_length() const;
  std::int32_t pad_id() const;
  // One more than the largest id.
  std::int32_t vocab_size() const;
  // The token's text; empty for an id that the vocabulary skips. Throws InvalidArgument outside [0, vocab_size()).
  std::string_view token(std::int32_t id) const;

  static constexpr int kUnlimited = 0x7fffffff;

 private:
  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
  std::string prompt_;
};

}  // namespace weft::text
