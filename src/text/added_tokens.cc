#include "text/added_tokens.h"

#include "core/utf8.h"
#include "text/unicode.h"

namespace weft::text {
namespace {

std::uint8_t first_properties(std::string_view text) {
  std::size_t at = 0;
  return properties(decode_utf8(text, at));
}

std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (is_continuation(text[at])) --at;
  return at;
}

bool begins_with_word(std::string_view text) { return !text.empty() && first_properties(text) & kWord; }
bool ends_with_word(std::string_view text) {
  return !text.empty() && first_properties(text.substr(last_character(text))) & kWord;
}

// The start of the white space at the end of `text`.
std::size_t trailing_space(std::string_view text) {
  while (!text.empty()) {
    const std::size_t at = last_character(text);
    if (!(first_properties(text.substr(at)) & kSpace)) break;
    text = text.substr(0, at);
  }
  return text.size();
}

// The end of the white space at the start of `text`.
std::size_t leading_space(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size(); end = at) {
    if (!(properties(decode_utf8(text, at)) & kSpace)) break;
  }
  return end;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens)
    : patterns_(tokens.size()), tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = tokens_[i].content;
    if (content.empty()) continue;
    patterns_.insert(content, static_cast<std::int32_t>(i));
    begins_[static_cast<unsigned char>(content[0])] = true;
  }
}

AddedTokenFinder::Match AddedTokenFinder::next(std::string_view text, std::size_t done, std::size_t& at) const {
  while (at < text.size()) {
    if (!begins_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const auto match = patterns_.longest(text.substr(at));
    if (!match.size) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.id)];
    std::size_t begin = at;
    std::size_t end = at += match.size;
    if (token.single_word && (ends_with_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) continue;
    // White space that the token before took is no part of this one, and a token of which nothing is left is none.
    if (token.lstrip) begin = done < begin ? done + trailing_space(text.substr(done, begin - done)) : done;
    if (token.rstrip) end += leading_space(text.substr(end));
    if (begin >= end) continue;
    return {begin, end, token.id};
  }
  return {0, 0, -1};
}

}  // namespace weft::text
