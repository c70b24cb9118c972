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
  // Of tokens with the same content the first one is found (the reference keeps them in a hash table, and takes another
  // one from run to run), and one without content never.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  // Splits valid UTF-8: calls part(Part) for each, in order, until it returns false.
  template <class F>
  void split(std::string_view text, F&& part) const {
    std::size_t done = 0;  // everything before it was given to `part`
    for (std::size_t at = 0; const Match match = next(text, done, at);) {
      if (done < match.begin && !part(Part{text.substr(done, match.begin - done), -1})) return;
      if (!part(Part{text.substr(match.begin, match.end - match.begin), match.id})) return;
      done = match.end;
    }
    if (done < text.size()) part(Part{text.substr(done), -1});
  }

 private:
  struct Match {
    std::size_t begin, end;
    std::int32_t id;
    explicit operator bool() const { return id >= 0; }
  };
  // The next token from `at` on, which moves past it; the white space that it takes begins at `done` at the earliest.
  Match next(std::string_view text, std::size_t done, std::size_t& at) const;

  PieceTable patterns_;  // content → index in tokens_
  std::vector<AddedToken> tokens_;
  bool begins_[256] = {};  // first bytes of the patterns
};

}  // namespace weft::text
