#include "text/wordpiece.h"

#include <algorithm>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/utf8.h"
#include "weft/error.h"

namespace weft::text {

WordPiece::WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options, std::string_view source)
    : first_(vocabulary.size()), continuing_(vocabulary.size()), max_chars_(options.max_input_chars_per_word) {
  const std::string_view prefix = options.continuing_subword_prefix;
  for (const auto& [token, id] : vocabulary) {
    if (token.empty()) continue;  // matches nothing
    first_.insert(token, id);
    if (token.size() > prefix.size() && token.starts_with(prefix)) {
      continuing_.insert(std::string_view(token).substr(prefix.size()), id);
    }
  }
  unk_id_ = first_.find(options.unk_token);
  if (unk_id_ < 0) {
    throw FormatError("{}: the vocabulary ({} tokens) lacks the unknown token {}", source, vocabulary.size(),
                      in_quotes(options.unk_token));
  }
}

void WordPiece::append(std::string_view word, std::vector<std::int32_t>& ids) const {
  const auto chars = [&] {
    return word.size() - static_cast<std::size_t>(std::ranges::count_if(word, is_continuation));
  };
  if (word.size() > max_chars_ && chars() > max_chars_) {
    ids.push_back(unk_id_);
    return;
  }
  const std::size_t before = ids.size();
  for (std::size_t at = 0; at < word.size();) {
    const auto match = (at ? continuing_ : first_).longest(word.substr(at));
    if (!match.size) {
      ids.resize(before);
      ids.push_back(unk_id_);
      return;
    }
    ids.push_back(match.id);
    at += match.size;
  }
}

}  // namespace weft::text
