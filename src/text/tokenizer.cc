#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "core/format.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "text/added_tokens.h"
#include "text/normalizer.h"
#include "text/tokenizer_file.h"
#include "text/unicode.h"
#include "text/wordpiece.h"
#include "weft/error.h"
#include "weft/text.h"

namespace weft::text {
namespace {

constexpr std::string_view kPadToken = "[PAD]";
constexpr std::size_t kKeptBytes = 1 << 20;  // scratch above this is freed after use

// BERT's pre-tokenizer: calls `word` for each run without white space, and for each punctuation character separately,
// until it returns false.
template <class Word>
void for_each_word(std::string_view text, Word&& word) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    const auto known = properties(decode_utf8(text, at));
    if (!(known & (kSpace | kPunctuation))) continue;
    if (begin < here && !word(text.substr(begin, here - begin))) return;
    if (known & kPunctuation && !word(text.substr(here, at - here))) return;
    begin = at;
  }
  if (begin < text.size()) word(text.substr(begin));
}

void require_utf8(std::string_view text) {
  if (const std::size_t bad = find_invalid_utf8(text); bad < text.size()) {
    throw FormatError("the text is not valid UTF-8 at byte {} (0x{:02x})", bad, static_cast<unsigned char>(text[bad]));
  }
}

std::vector<AddedToken> tokens_where(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<AddedToken> result;
  std::ranges::copy_if(tokens, std::back_inserter(result), [&](const auto& t) { return t.normalized == normalized; });
  return result;
}

// A token that is matched in normalised text has normalised content itself.
std::vector<AddedToken> normalized_tokens(const TokenizerSpec& spec) {
  const Normalizer normalizer(spec.normalizer);
  auto tokens = tokens_where(spec.added_tokens, true);
  for (auto& token : tokens) {
    std::string content;
    normalizer.normalize(token.content, content);
    token.content = std::move(content);
  }
  return tokens;
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(TokenizerSpec spec)
      : word_piece(spec.vocabulary, spec.word_piece, spec.source),
        normalizer(spec.normalizer),
        raw_tokens(tokens_where(spec.added_tokens, false)),
        normalized_tokens(text::normalized_tokens(spec)),
        around(std::move(spec.post_processor)),
        max_length(spec.max_length),
        keeps_end(spec.keeps_end) {
    const auto keep = [&](std::string_view token, std::int32_t id) {
      const auto at = static_cast<std::size_t>(id);
      if (at >= tokens.size()) tokens.resize(at + 1);
      tokens[at] = token;
    };
    for (const auto& [token, id] : spec.vocabulary) keep(token, id);
    for (const auto& token : spec.added_tokens) keep(token.content, token.id);
    for (const auto* specials : {&around.before, &around.after}) {
      for (const auto& special : *specials) check_id(special.id, "post_processor", spec.source);
    }
    pad_id = spec.pad_id >= 0 ? spec.pad_id : std::max(word_piece.find(kPadToken), 0);
    check_id(pad_id, "padding", spec.source);
    if (static_cast<std::size_t>(max_length) < around.size()) {
      throw FormatError("{}: a longest sequence of {} leaves no room for the {} special tokens", spec.source,
                        max_length, around.size());
    }
  }

  void check_id(std::int32_t id, std::string_view where, std::string_view source) const {
    if (static_cast<std::size_t>(id) < tokens.size()) return;
    throw FormatError("{}: {} uses id {}, the vocabulary ends at {}", source, where, id, tokens.size() - 1);
  }

  Ids encode(std::string_view text, bool& cut) const;

  WordPiece word_piece;
  Normalizer normalizer;
  AddedTokenFinder raw_tokens, normalized_tokens;
  Template around;
  int max_length;
  bool keeps_end;
  std::int32_t pad_id = 0;
  std::vector<std::string> tokens;  // by id
};

// `text` must be valid UTF-8.
Ids Tokenizer::Impl::encode(std::string_view text, bool& cut) const {
  // Reused from call to call, so that a short text allocates nothing but its result.
  thread_local std::string normalized;
  thread_local Ids ids;
  const auto room = static_cast<std::size_t>(max_length) - around.size();

  ids.clear();
  for (const auto& special : around.before) ids.push_back(special.id);
  const std::size_t full = ids.size() + room;
  cut = false;
  const auto keep_end = [&] {
    if (ids.size() <= full) return;
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(around.before.size());
    ids.erase(first, first + static_cast<std::ptrdiff_t>(ids.size() - full));
    cut = true;
  };
  // Whether more of the text counts. If its start is kept, the first token without room tells that it is cut. If its
  // end is kept, tokens without room go now and then, so that they take no memory.
  const auto more = [&] {
    if (!keeps_end) return ids.size() <= full;
    constexpr std::size_t kSpare = 4096;
    if (ids.size() > full && ids.size() - full > std::max(room, kSpare)) keep_end();
    return true;
  };
  const auto take_word = [&](std::string_view word) {
    word_piece.append(word, ids);
    return more();
  };
  raw_tokens.split(text, [&](const AddedTokenFinder::Part& part) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      return more();
    }
    normalized.clear();
    normalizer.normalize(part.text, normalized);
    normalized_tokens.split(normalized, [&](const AddedTokenFinder::Part& inner) {
      if (inner.id < 0) {
        for_each_word(inner.text, take_word);
      } else {
        ids.push_back(inner.id);
      }
      return more();
    });
    return more();
  });
  if (keeps_end) {
    keep_end();
  } else if (ids.size() > full) {
    cut = true;
    ids.resize(full);
  }
  for (const auto& special : around.after) ids.push_back(special.id);
  Ids result = ids;
  if (normalized.capacity() > kKeptBytes) std::string().swap(normalized);
  if (ids.capacity() > kKeptBytes / sizeof(std::int32_t)) Ids().swap(ids);
  return result;
}

Tokenizer Tokenizer::load(const std::filesystem::path& model_dir) try {
  return Tokenizer(std::make_shared<const Impl>(read_tokenizer_files(model_dir)));
} catch (const std::filesystem::filesystem_error& e) {
  throw IoError("{}", e.what());
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, std::string_view source, int max_length) {
  TokenizerSpec spec = read_tokenizer_json(tokenizer_json, source);
  if (max_length < 1) throw InvalidArgument("max_length is {}, expected at least 1", max_length);
  spec.max_length = max_length;
  return Tokenizer(std::make_shared<const Impl>(std::move(spec)));
}

Tokenizer Tokenizer::with_prompt(std::string prompt) const {
  require_utf8(prompt);
  Tokenizer result(impl_);
  result.prompt_ = std::move(prompt);
  return result;
}

std::size_t Tokenizer::prompt_length() const {
  if (prompt_.empty()) return 0;
  bool ignored = false;
  return impl_->encode(prompt_, ignored).size() - (impl_->around.after.empty() ? 0 : 1);
}

Ids Tokenizer::encode(std::string_view text, bool* cut) const {
  require_utf8(text);
  bool was_cut = false;
  bool& is_cut = cut ? *cut : was_cut;
  if (prompt_.empty()) return impl_->encode(text, is_cut);
  thread_local std::string whole;
  whole = prompt_;
  whole += text;
  const Ids ids = impl_->encode(whole, is_cut);
  if (whole.capacity() > kKeptBytes) std::string().swap(whole);
  return ids;
}

std::vector<Ids> Tokenizer::encode_batch(std::span<const std::string> texts, std::size_t* cut) const {
  std::vector<Ids> result(texts.size());
  std::atomic<std::size_t> all_cut = 0;
  std::atomic<std::size_t> failed = texts.size();  // the lowest index, so that the message does not depend on timing
  in_pieces(static_cast<std::int64_t>(texts.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      try {
        bool one_cut = false;
        result[i] = encode(texts[i], &one_cut);
        if (one_cut) ++all_cut;
      } catch (const FormatError&) {
        for (std::size_t lowest = failed; i < lowest && !failed.compare_exchange_weak(lowest, i);) {
        }
      }
    }
  });
  if (cut) *cut = all_cut;
  if (failed == texts.size()) return result;
  try {
    encode(texts[failed]);
  } catch (const FormatError& error) {
    throw FormatError("text {}: {}", failed.load(), error.what());
  }
  throw InternalError("text {} failed once and then did not", failed.load());
}

Ids Tokenizer::type_ids(std::size_t length) const {
  const Template& around = impl_->around;
  if (length < around.size()) {
    throw InvalidArgument("an encoding has at least {} ids, got {}", around.size(), length);
  }
  Ids types(length, around.text_type);
  const auto type = [](const Template::Special& special) { return special.type; };
  std::ranges::transform(around.before, types.begin(), type);
  std::ranges::transform(around.after, types.end() - static_cast<std::ptrdiff_t>(around.after.size()), type);
  return types;
}

bool Tokenizer::has_type_ids() const {
  const Template& around = impl_->around;
  const auto set = [](const Template::Special& special) { return special.type != 0; };
  return around.text_type || std::ranges::any_of(around.before, set) || std::ranges::any_of(around.after, set);
}

int Tokenizer::max_length() const { return impl_->max_length; }
std::int32_t Tokenizer::pad_id() const { return impl_->pad_id; }
std::int32_t Tokenizer::vocab_size() const { return static_cast<std::int32_t>(impl_->tokens.size()); }

std::string_view Tokenizer::token(std::int32_t id) const {
  if (id < 0 || id >= vocab_size()) throw InvalidArgument("there is no token {}, ids end at {}", id, vocab_size() - 1);
  return impl_->tokens[static_cast<std::size_t>(id)];
}

}  // namespace weft::text
