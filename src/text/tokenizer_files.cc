// The files in addition to tokenizer.json: tokenizer_config.json, vocab.txt, sentence_bert_config.json, config.json.
#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/git_lfs.h"
#include "core/in_quotes.h"
#include "core/json_reader.h"
#include "core/mapped_file.h"
#include "core/utf8.h"
#include "text/tokenizer_file.h"
#include "text/unicode.h"
#include "weft/error.h"
#include "weft/log.h"
#include "weft/text.h"

namespace weft::text {
namespace fs = std::filesystem;
namespace {

// A JSON file of the model, or an empty object if there is none.
struct OptionalFile {
  nlohmann::json json = nlohmann::json::object();
  JsonReader reader;

  OptionalFile(const fs::path& dir, const char* name) : reader(json, (dir / name).string()) {
    if (fs::exists(dir / name)) json = parse_json(read_file(dir / name), (dir / name).string());
  }
  OptionalFile(const OptionalFile&) = delete;  // reader points at json
};

// A token as a file of settings has it: its text, or an object with its properties.
AddedToken read_token(const JsonReader& token, bool special) {
  if (token.is_string()) return {.content = token.text(), .normalized = !special};
  const auto flag = [&](std::string_view key, bool otherwise) {
    const auto value = token.find(key);
    return value ? value->boolean() : otherwise;
  };
  return {.content = token.at("content").text(),
          .single_word = flag("single_word", false),
          .lstrip = flag("lstrip", false),
          .rstrip = flag("rstrip", false),
          .normalized = flag("normalized", !flag("special", special))};
}

bool is_added(const TokenizerSpec& spec, std::string_view content) {
  return std::ranges::find(spec.added_tokens, content, &AddedToken::content) != spec.added_tokens.end();
}

// tokenizer_config.json and what is read beside it: special_tokens_map.json, whose entries count before its own unless
// it has "added_tokens_decoder", and added_tokens.json then, too.
class TokenizerConfig {
 public:
  explicit TokenizerConfig(const fs::path& dir)
      : config_(dir, "tokenizer_config.json"),
        special_(dir, "special_tokens_map.json"),
        added_(dir, "added_tokens.json"),
        legacy_(!config_.reader.find("added_tokens_decoder")) {}

  const JsonReader& config() const { return config_.reader; }

  // The text of a special token.
  std::optional<std::string> special_token(std::string_view role) const {
    const auto token = find(role);
    return token ? std::optional(read_token(*token, true).content) : std::nullopt;
  }

  // Adds the tokens that the tokenizer does not have yet, in the reference's order.
  void add_tokens(TokenizerSpec& spec) const {
    std::map<std::int64_t, AddedToken> by_id;
    if (const auto decoder = config().find("added_tokens_decoder")) {
      for (const auto& [id, token] : decoder->members()) by_id[number(id, token)] = read_token(token, false);
    } else {
      const std::vector<std::string> specials = special_texts();
      for (const auto& [text, id] : added_.reader.members()) {
        const bool special = std::ranges::find(specials, text) != specials.end();
        by_id[id.integer(0)] = {.content = text, .normalized = !special};
      }
    }
    for (auto& [id, token] : by_id) spec.add(std::move(token));

    std::vector<AddedToken> without_role;
    bool numbered = false;  // whether one of them gets an id past the vocabulary
    for (const JsonReader& token : special_tokens()) {
      AddedToken read = read_token(token, true);
      if (is_added(spec, read.content)) continue;
      numbered |= spec.vocabulary_id(read.content) < 0;
      without_role.push_back(std::move(read));
    }
    // The reference also adds special tokens that no file has, and these come first. No text can contain them, so they
    // are added only if the others' ids depend on it.
    for (const auto& [role, usual] : kRoles) {
      const auto token = find(role);
      AddedToken read = token ? read_token(*token, true) : AddedToken{.content = std::string(usual)};
      if (is_added(spec, read.content)) continue;
      if (numbered || (token && spec.vocabulary_id(read.content) >= 0)) spec.add(std::move(read));
    }
    for (AddedToken& token : without_role) spec.add(std::move(token));
  }

 private:
  // And BERT's tokens for them.
  static constexpr std::pair<std::string_view, std::string_view> kRoles[] = {
      {"bos_token", ""},      {"eos_token", ""},      {"unk_token", "[UNK]"},  {"sep_token", "[SEP]"},
      {"pad_token", "[PAD]"}, {"cls_token", "[CLS]"}, {"mask_token", "[MASK]"}};
  static constexpr std::string_view kLists[] = {"additional_special_tokens", "extra_special_tokens"};

  std::optional<JsonReader> find(std::string_view key) const {
    const auto mapped = legacy_ ? special_.reader.find(key) : std::nullopt;
    return mapped ? mapped : config().find(key);
  }

  // The lists of special tokens without a role; of an object the values.
  std::vector<JsonReader> special_tokens() const {
    std::vector<JsonReader> tokens;
    for (const std::string_view key : kLists) {
      const auto list = find(key);
      if (!list) continue;
      if (list->value().is_object()) {
        for (const auto& [name, token] : list->members()) tokens.push_back(token);
      } else {
        for (const JsonReader& token : list->elements()) tokens.push_back(token);
      }
    }
    return tokens;
  }

  std::vector<std::string> special_texts() const {
    std::vector<std::string> texts;
    for (const JsonReader& token : special_tokens()) texts.push_back(read_token(token, true).content);
    for (const auto& [role, usual] : kRoles) {
      if (const auto text = special_token(role)) texts.push_back(*text);
    }
    return texts;
  }

  static std::int64_t number(std::string_view id, const JsonReader& token) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
    if (error != std::errc() || end != id.data() + id.size() || value < 0) token.expected("an id from 0 as its key");
    return value;
  }

  OptionalFile config_, special_, added_;
  bool legacy_;
};

bool is_bert(const JsonReader& config) {
  const auto name = config.find("tokenizer_class");
  if (!name) return true;
  constexpr std::string_view kBert[] = {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer",
                                        "DistilBertTokenizerFast"};
  return std::ranges::find(kBert, name->text()) != std::end(kBert);
}

// The reference takes these settings from tokenizer_config.json, which overrides tokenizer.json.
void override_normalizer(const JsonReader& config, NormalizerOptions& options) {
  if (!is_bert(config)) return;
  if (const auto value = config.find("do_lower_case")) options.lowercase = value->boolean();
  if (const auto value = config.find("tokenize_chinese_chars")) options.handle_chinese_chars = value->boolean();
  if (config.has("strip_accents")) {
    const auto value = config.find("strip_accents");
    options.strip_accents = value ? std::optional(value->boolean()) : std::nullopt;
  }
}

// Whether a setting says "left"; unchanged where it is absent.
void read_side(const JsonReader& config, std::string_view key, bool& left) {
  const auto side = config.find(key);
  if (!side) return;
  if (side->text() != "left" && side->text() != "right") side->expected("\"left\" or \"right\"");
  left = side->text() == "left";
}

// The text without the white space at its end.
std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (is_continuation(text[last])) --last;
    std::size_t at = last;
    if (!(properties(decode_utf8(text, at)) & kSpace)) break;
    text = text.substr(0, last);
  }
  return text;
}

// vocab.txt: a token a line; its id is the line's number from 0. A token on two lines has the later id. As the
// reference reads it, white space at the end of a line is no part of the token; a byte order mark at the start is none
// either.
Vocabulary read_vocab_txt(const fs::path& path) {
  const std::string file = read_file(path);
  refuse_git_lfs_pointer(file, path.string());
  if (const auto bad = find_invalid_utf8(file); bad < file.size()) {
    throw FormatError("{}: byte {} is not UTF-8", path.string(), bad);
  }
  std::string_view text = file;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::map<std::string_view, std::int32_t> ids;
  std::int32_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const auto end = std::min(text.find('\n', at), text.size());
    ids[trimmed(text.substr(at, end - at))] = line;
    at = end + 1;
  }
  return {ids.begin(), ids.end()};
}

std::int32_t find_id(const TokenizerSpec& spec, std::string_view token) {
  const auto added = std::ranges::find(spec.added_tokens, token, &AddedToken::content);
  return added != spec.added_tokens.end() ? added->id : spec.vocabulary_id(token);
}

// A tokenizer without tokenizer.json: all other settings are BERT's defaults.
TokenizerSpec read_vocab_files(const fs::path& dir, const TokenizerConfig& config) {
  const fs::path path = dir / "vocab.txt";
  if (!is_bert(config.config())) {
    throw Unsupported("{}: the tokenizer class {} is not supported; Weft reads BertTokenizer and DistilBertTokenizer",
                      config.config().where(), in_quotes(config.config().at("tokenizer_class").text()));
  }
  TokenizerSpec spec{.source = path.string(), .vocabulary = read_vocab_txt(path), .max_length = Tokenizer::kUnlimited};
  spec.word_piece.unk_token = config.special_token("unk_token").value_or("[UNK]");
  config.add_tokens(spec);

  constexpr std::pair<std::string_view, std::string_view> kSpecial[] = {{"unk_token", "[UNK]"},
                                                                        {"sep_token", "[SEP]"},
                                                                        {"pad_token", "[PAD]"},
                                                                        {"cls_token", "[CLS]"},
                                                                        {"mask_token", "[MASK]"}};
  std::map<std::string_view, std::int32_t> ids;
  for (const auto& [role, usual] : kSpecial) {
    const std::string content = config.special_token(role).value_or(std::string(usual));
    const std::int32_t id = ids[role] = find_id(spec, content);
    if (id >= 0) {
      if (!is_added(spec, content)) spec.add({.content = content});
    } else if (role != "mask_token" && role != "pad_token") {
      throw FormatError("{}: the vocabulary lacks {} ({})", spec.source, in_quotes(content), role);
    }
  }
  spec.post_processor = {.before = {{ids["cls_token"], 0}}, .after = {{ids["sep_token"], 0}}};
  return spec;
}

// Names that sentence-transformers has used for this file.
constexpr const char* kSentenceConfigs[] = {"sentence_bert_config.json",       "sentence_roberta_config.json",
                                            "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                            "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                            "sentence_xlnet_config.json"};

void read_sentence_config(const fs::path& dir, const JsonReader& tokenizer_config, TokenizerSpec& spec) {
  const auto named = std::ranges::find_if(kSentenceConfigs, [&](const char* name) { return fs::exists(dir / name); });
  const OptionalFile file(dir, named == std::end(kSentenceConfigs) ? kSentenceConfigs[0] : *named);
  if (const auto lower = file.reader.find("do_lower_case"); lower && lower->boolean() && !spec.normalizer.lowercase) {
    // Converts to lower case on top of the normaliser, which keeps its own rule for accents.
    spec.normalizer.strip_accents = spec.normalizer.strip_accents.value_or(false);
    spec.normalizer.lowercase = true;
  }
  if (const auto length = file.reader.find("max_seq_length")) {
    spec.max_length = static_cast<int>(length->integer(1, Tokenizer::kUnlimited));
    return;
  }
  const OptionalFile model(dir, "config.json");
  if (const auto length = model.reader.find("max_position_embeddings"); length && length->integer() != -1) {
    spec.max_length = static_cast<int>(length->integer(1, Tokenizer::kUnlimited));
  }
  // transformers writes 1e30 for "no limit".
  if (const auto length = tokenizer_config.find("model_max_length")) {
    if (length->number() < 1) length->expected("a length from 1");
    if (length->number() < spec.max_length) spec.max_length = static_cast<int>(length->number());
  }
}

}  // namespace

fs::path transformer_directory(const fs::path& model_dir) {
  const fs::path modules = model_dir / "modules.json";
  if (!fs::exists(modules)) return model_dir;
  const nlohmann::json json = parse_json(read_file(modules), modules.string());
  const std::vector<JsonReader> list = JsonReader(json, modules.string()).elements();
  const auto type = list.empty() ? std::nullopt : list[0].find("type");
  if (!type || !type->text().ends_with(".Transformer")) return model_dir;
  const auto path = list[0].find("path");
  return path && !path->text().empty() ? model_dir / path->text() : model_dir;
}

TokenizerSpec read_tokenizer_files(const fs::path& model_dir) {
  if (!fs::is_directory(model_dir)) {
    throw IoError("cannot open {}: {}, expected the directory of a model", model_dir.string(),
                  fs::exists(model_dir) ? "a file" : "no such directory");
  }
  const fs::path dir = transformer_directory(model_dir);
  const TokenizerConfig config(dir);

  TokenizerSpec spec;
  const fs::path json = dir / "tokenizer.json";
  if (fs::exists(json)) {
    spec = read_tokenizer_json(read_file(json), json.string());
    config.add_tokens(spec);
  } else if (fs::exists(dir / "vocab.txt")) {
    spec = read_vocab_files(dir, config);
  } else {
    throw IoError("{} has neither tokenizer.json nor vocab.txt; a model's directory needs one of them", dir.string());
  }
  read_side(config.config(), "truncation_side", spec.keeps_end);
  read_side(config.config(), "padding_side", spec.pads_left);
  if (spec.pads_left) {
    log(LogLevel::warning,
        "{}: padding on the left is not used: each sentence has the positions that it has alone, whatever the batch",
        dir.string());
  }
  override_normalizer(config.config(), spec.normalizer);
  read_sentence_config(dir, config.config(), spec);
  if (const auto pad = config.special_token("pad_token")) {
    if (const auto id = find_id(spec, *pad); id >= 0) spec.pad_id = id;
  }
  return spec;
}

}  // namespace weft::text
