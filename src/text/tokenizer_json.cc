// tokenizer.json of Hugging Face's `tokenizers` library, as far as BERT's family uses it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/json_reader.h"
#include "text/tokenizer_file.h"
#include "weft/error.h"
#include "weft/text.h"

namespace weft::text {
namespace {

constexpr std::int64_t kMaxId = (1 << 24) - 1;  // real vocabularies have a few hundred thousand tokens

// Throws Unsupported for every kind but those in `known`.
std::string kind_of(const JsonReader& part, std::string_view what, std::initializer_list<std::string_view> known) {
  const std::string kind = part.at("type").text();
  if (std::ranges::find(known, kind) != known.end()) return kind;
  std::string list;
  for (const auto name : known) list += (list.empty() ? "" : " or ") + std::string(name);
  throw Unsupported("{}: the {} {} is not supported; Weft reads {}", part.where(), what, in_quotes(kind), list);
}

Vocabulary read_vocabulary(const JsonReader& vocab) {
  // Tens of thousands of entries: a reader with a path for each would take longer than parsing the JSON.
  if (!vocab.value().is_object()) vocab.expected("an object of tokens and ids");
  Vocabulary result;
  result.reserve(vocab.value().size());
  for (const auto& [token, id] : vocab.value().items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMaxId) {
      vocab.at(token).expected(std::format("an id from 0 to {}", kMaxId));
    }
    result.emplace_back(token, id.get<std::int32_t>());
  }
  return result;
}

void read_model(const JsonReader& model, TokenizerSpec& spec) {
  // The first versions of the format omit the type if the fields identify it.
  if (model.has("type") || !model.has("max_input_chars_per_word")) kind_of(model, "model", {"WordPiece"});
  spec.word_piece.unk_token = model.at("unk_token").text();
  spec.word_piece.continuing_subword_prefix = model.at("continuing_subword_prefix").text();
  spec.word_piece.max_input_chars_per_word =
      static_cast<std::size_t>(model.at("max_input_chars_per_word").integer(0, std::int64_t{1} << 40));
  spec.vocabulary = read_vocabulary(model.at("vocab"));
}

NormalizerOptions read_normalizer(const JsonReader& normalizer) {
  kind_of(normalizer, "normalizer", {"BertNormalizer"});
  NormalizerOptions options;
  options.clean_text = normalizer.at("clean_text").boolean();
  options.handle_chinese_chars = normalizer.at("handle_chinese_chars").boolean();
  if (const auto strip = normalizer.find("strip_accents")) options.strip_accents = strip->boolean();
  options.lowercase = normalizer.at("lowercase").boolean();
  return options;
}

// [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, …]; the ids of special
// tokens are in a separate list.
Template read_template(const JsonReader& processor) {
  Template result;
  bool text_seen = false;
  for (const auto& piece : processor.at("single").elements()) {
    if (const auto sequence = piece.find("Sequence")) {
      if (sequence->at("id").text() != "A") sequence->at("id").expected("\"A\"");
      if (std::exchange(text_seen, true)) {
        throw Unsupported("{}: a template that holds the text twice is not supported", piece.where());
      }
      result.text_type = static_cast<std::int32_t>(sequence->at("type_id").integer(0, kMaxId));
      continue;
    }
    const auto special = piece.at("SpecialToken");
    const auto type = static_cast<std::int32_t>(special.at("type_id").integer(0, kMaxId));
    for (const auto& id : processor.at("special_tokens").at(special.at("id").text()).at("ids").elements()) {
      (text_seen ? result.after : result.before).push_back({static_cast<std::int32_t>(id.integer(0, kMaxId)), type});
    }
  }
  if (!text_seen) {
    throw FormatError("{}: expected a template with the sequence \"A\" in it", processor.at("single").where());
  }
  return result;
}

Template read_post_processor(const JsonReader& processor) {
  if (kind_of(processor, "post_processor", {"TemplateProcessing", "BertProcessing"}) == "TemplateProcessing") {
    return read_template(processor);
  }
  const auto id_of = [&](std::string_view key) {
    const auto pair = processor.at(key).elements();
    if (pair.size() != 2) processor.at(key).expected("a token and its id");
    return static_cast<std::int32_t>(pair[1].integer(0, kMaxId));
  };
  return {.before = {{id_of("cls"), 0}}, .after = {{id_of("sep"), 0}}};
}

AddedToken read_added_token(const JsonReader& token) {
  return {.content = token.at("content").text(),
          .id = static_cast<std::int32_t>(token.at("id").integer(0, kMaxId)),
          .single_word = token.at("single_word").boolean(),
          .lstrip = token.at("lstrip").boolean(),
          .rstrip = token.at("rstrip").boolean(),
          .normalized = token.at("normalized").boolean()};
}

// Takes the tokens of the file, whose ids must be those that the reference gives them, whatever the file says.
void read_added_tokens(const JsonReader& added, TokenizerSpec& spec) {
  for (const auto& element : added.elements()) {
    const AddedToken token = read_added_token(element);
    spec.add(token);
    const auto same = std::ranges::find(spec.added_tokens, token.content, &AddedToken::content);
    if (same != spec.added_tokens.end() && same->id != token.id) {
      throw FormatError("{}: the added token {} has id {}, by the vocabulary it has {}", spec.source,
                        in_quotes(token.content), token.id, same->id);
    }
  }
}

}  // namespace

void TokenizerSpec::add(AddedToken token) {
  if (token.content.empty()) return;
  if (const auto same = std::ranges::find(added_tokens, token.content, &AddedToken::content);
      same != added_tokens.end()) {
    token.id = same->id;
    *same = std::move(token);
    return;
  }
  token.id = vocabulary_id(token.content);
  if (token.id < 0) {
    token.id = static_cast<std::int32_t>(vocabulary.size());
    for (const AddedToken& other : added_tokens) token.id = std::max(token.id, other.id + 1);
  }
  added_tokens.push_back(std::move(token));
}

std::int32_t TokenizerSpec::vocabulary_id(std::string_view token) const {
  const auto text = [](const auto& entry) -> std::string_view { return entry.first; };
  const auto found = std::ranges::lower_bound(vocabulary, token, {}, text);
  return found != vocabulary.end() && found->first == token ? found->second : -1;
}

TokenizerSpec read_tokenizer_json(std::string_view text, std::string_view source) {
  const auto json = parse_json(text, source);
  const JsonReader file(json, std::string(source));
  TokenizerSpec spec{.source = std::string(source), .max_length = Tokenizer::kUnlimited};
  if (const auto version = file.find("version"); version && version->text() != "1.0") {
    throw Unsupported("{}: tokenizer version {} is not supported, expected \"1.0\"", source,
                      in_quotes(version->text()));
  }

  const auto pre_tokenizer = file.find("pre_tokenizer");
  if (!pre_tokenizer) {
    throw Unsupported("{}: a tokenizer without \"pre_tokenizer\" is not supported; Weft reads BertPreTokenizer",
                      source);
  }
  kind_of(*pre_tokenizer, "pre_tokenizer", {"BertPreTokenizer"});
  const auto normalizer = file.find("normalizer");
  spec.normalizer = normalizer ? read_normalizer(*normalizer) : NormalizerOptions::none();
  if (const auto processor = file.find("post_processor")) spec.post_processor = read_post_processor(*processor);
  if (const auto padding = file.find("padding")) {
    spec.pad_id = static_cast<std::int32_t>(padding->at("pad_id").integer(0, kMaxId));
    const auto direction = padding->find("direction");
    spec.pads_left = direction && direction->text() == "Left";
  }
  read_model(file.at("model"), spec);
  if (const auto truncation = file.find("truncation")) {
    const auto direction = truncation->find("direction");
    spec.keeps_end = direction && direction->text() == "Left";
  }
  if (const auto added = file.find("added_tokens")) read_added_tokens(*added, spec);
  return spec;
}

}  // namespace weft::text
