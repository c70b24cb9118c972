// What a model's files say about its tokenizer, as plain data.
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

// What stands around the text: special tokens before and after, and the token type of each part.
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
  std::int32_t pad_id = -1;  // -1: not said
  int max_length;            // special tokens included
};

// Reads a tokenizer.json. Throws FormatError, and Unsupported for what is not BERT's.
TokenizerSpec read_tokenizer_json(std::string_view json, std::string_view source);

// Reads all that concerns the tokenizer in a model's directory; the rules are those of Tokenizer::load.
TokenizerSpec read_tokenizer_files(const std::filesystem::path& model_dir);

}  // namespace weft::text
