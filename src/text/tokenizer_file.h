// A tokenizer's settings from a model's files, as plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/normalizer.h"
#include "text/wordpiece.h"

namespace weft::text {

// Special tokens before and after the text, and the token type of each part.
struct Template {
  struct Special {
    std::int32_t id, type;
  };
  std::vector<Special> before, after;
  std::int32_t text_type = 0;

  std::size_t size() const { return before.size() + after.size(); }
};

struct TokenizerSpec {
  std::string source;  // the file that it came from
  Vocabulary vocabulary;
  WordPieceOptions word_piece;
  NormalizerOptions normalizer;
  std::vector<AddedToken> added_tokens;
  Template post_processor;
  std::int32_t pad_id = -1;  // -1: not given
  int max_length;            // special tokens included
  bool keeps_end = false;    // of texts that are too long, instead of their start
  bool pads_left = false;    // the reference's batches; Weft's have no padding that counts

  // Adds a token, or gives the one with the same content the new one's properties. Its id is the vocabulary's, or
  // otherwise the next one, as the reference numbers them, whatever token.id is. One without content is left out.
  void add(AddedToken token);
  // The id of a token of the vocabulary; -1 if it has none.
  std::int32_t vocabulary_id(std::string_view token) const;
};

// Reads a tokenizer.json. Throws FormatError, and Unsupported for everything but BERT's settings.
TokenizerSpec read_tokenizer_json(std::string_view json, std::string_view source);

// The directory of a model's transformer, which modules.json may name: that of its configuration, weights and
// tokenizer. Throws FormatError.
std::filesystem::path transformer_directory(const std::filesystem::path& model_dir);

// Reads everything about the tokenizer in a model's directory, by the rules of Tokenizer::load.
TokenizerSpec read_tokenizer_files(const std::filesystem::path& model_dir);

}  // namespace weft::text
