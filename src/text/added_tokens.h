// Tokens that are matched in the text itself, before it is split into words: special ones such as "[SEP]", and those
// added to a vocabulary after training. Behaves as Hugging Face's AddedVocabulary: leftmost, then longest; a match that
// is rejected because of its neighbours still consumes its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_table.h"

namespace weft::text {

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  // not next to a word character
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // includes the white space after it
  bool normalized = false;   // matched in the normalised text, by its normalised content
};

class AddedTokenFinder {
 public:
  // A piece of the text: a token (id ≥ 0) or ordinary text between tokens (id -1).
  struct Part {
    std::string_view text;
    std::int32_t id;
  };

  AddedTokenFinder() = default;
  // Throws FormatError when two of them have the same content, or one has none.
  AddedTokenFinder(std::vector<AddedToken> tokens, std::string_view source);

  bool empty() const { return tokens_.empty(); }
  // Splits valid UTF-8, in order.
  void split(std::string_view text, std::vector<Part>& parts) const;

 private:
  PieceTable patterns_;  // content → index in tokens_
  std::vector<AddedToken> tokens_;
  bool begins_[256] = {};  // first bytes of the patterns
};

}  // namespace weft::text
