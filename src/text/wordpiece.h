// WordPiece: splits a word into pieces of a vocabulary, the longest match first.
// Source: Wu et al., https://arxiv.org/abs/1609.08144; https://github.com/google-research/bert, tokenization.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_table.h"

namespace weft::text {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";  // prefix of pieces inside a word
  std::size_t max_input_chars_per_word = 100;    // longer words become unk_token
};

// Tokens in the order of their bytes, and their ids.
using Vocabulary = std::vector<std::pair<std::string, std::int32_t>>;

class WordPiece {
 public:
  // Throws FormatError when `vocabulary` lacks the unknown token. `source` is what errors call the file.
  WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options, std::string_view source);

  // Appends the ids of a word: valid UTF-8, not empty.
  void append(std::string_view word, std::vector<std::int32_t>& ids) const;
  // The id of a token of the vocabulary, prefix included; -1 when there is none.
  std::int32_t find(std::string_view token) const { return first_.find(token); }

 private:
  PieceTable first_;       // all tokens, for the start of a word
  PieceTable continuing_;  // those with the prefix, stored without it
  std::int32_t unk_id_ = -1;
  std::size_t max_chars_;
};

}  // namespace weft::text
