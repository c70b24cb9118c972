// The files in addition to tokenizer.json: tokenizer_config.json, vocab.txt, sentence_bert_config.json, config.json.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/git_lfs.h"
#include "core/in_quotes.h"
#include "core/json_reader.h"
#include "core/mapped_file.h"
#include "core/utf8.h"
#include "text/tokenizer_file.h"
#include "weft/error.h"
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

// A special token in tokenizer_config.json: its text, or an object that contains it.
std::optional<std::string> special_token(const JsonReader& config, std::string_view name) {
  const auto token = config.find(name);
  if (!token) return std::nullopt;
  return token->is_string() ? token->text() : token->at("content").text();
}

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

// vocab.txt: a token a line; its id is the line's number from 0. A token on two lines has the later id.
Vocabulary read_vocab_txt(const fs::path& path) {
  const std::string text = read_file(path);
  refuse_git_lfs_pointer(text, path.string());
  if (const auto bad = find_invalid_utf8(text); bad < text.size()) {
    throw FormatError("{}: byte {} is not UTF-8", path.string(), bad);
  }
  std::map<std::string_view, std::int32_t> ids;
  std::int32_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto token = std::string_view(text).substr(at, end - at);
    if (token.ends_with('\r')) token.remove_suffix(1);
    ids[token] = line;
    at = end + 1;
  }
  return {ids.begin(), ids.end()};
}

std::int32_t find_id(const TokenizerSpec& spec, std::string_view token) {
  for (const auto& added : spec.added_tokens) {
    if (added.content == token) return added.id;
  }
  for (const auto& [known, id] : spec.vocabulary) {
    if (known == token) return id;
  }
  return -1;
}

// A tokenizer without tokenizer.json: all other settings are BERT's defaults.
TokenizerSpec read_vocab_files(const fs::path& dir, const JsonReader& config) {
  const fs::path path = dir / "vocab.txt";
  if (!is_bert(config)) {
    throw Unsupported("{}: the tokenizer class {} is not supported; Weft reads BertTokenizer and DistilBertTokenizer",
                      config.where(), in_quotes(config.at("tokenizer_class").text()));
  }
  for (const char* name : {"added_tokens_decoder", "added_tokens.json"}) {
    if (config.find(name) || fs::exists(dir / name)) {
      throw Unsupported("{}: added tokens without a tokenizer.json ({}) are not supported; save the tokenizer again "
                        "with a current transformers", dir.string(), name);
    }
  }
  TokenizerSpec spec{.source = path.string(), .vocabulary = read_vocab_txt(path), .max_length = Tokenizer::kUnlimited};
  spec.word_piece.unk_token = special_token(config, "unk_token").value_or("[UNK]");

  constexpr std::pair<std::string_view, std::string_view> kSpecial[] = {
      {"unk_token", "[UNK]"}, {"sep_token", "[SEP]"}, {"pad_token", "[PAD]"},
      {"cls_token", "[CLS]"}, {"mask_token", "[MASK]"}};
  std::map<std::string_view, std::int32_t> ids;
  for (const auto& [role, usual] : kSpecial) {
    const std::string content = special_token(config, role).value_or(std::string(usual));
    const std::int32_t id = ids[role] = find_id(spec, content);
    if (id >= 0) {
      const auto same = [&](const AddedToken& token) { return token.content == content; };
      if (std::ranges::none_of(spec.added_tokens, same)) spec.added_tokens.push_back({.content = content, .id = id});
    } else if (role != "mask_token" && role != "pad_token") {
      throw FormatError("{}: the vocabulary lacks {} ({})", spec.source, in_quotes(content), role);
    }
  }
  spec.post_processor = {.before = {{ids["cls_token"], 0}}, .after = {{ids["sep_token"], 0}}};
  return spec;
}

// Names that sentence-transformers has used for this file.
constexpr const char* kSentenceConfigs[] = {
    "sentence_bert_config.json",      "sentence_roberta_config.json",     "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json",      "sentence_xlm-roberta_config.json",
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

TokenizerSpec read_tokenizer_files(const fs::path& dir) {
  if (!fs::is_directory(dir)) throw IoError("cannot open {}: expected the directory of a model", dir.string());
  const OptionalFile config(dir, "tokenizer_config.json");
  if (const auto side = config.reader.find("truncation_side"); side && side->text() != "right") {
    throw Unsupported("{}: truncation_side {} is not supported", config.reader.where(), in_quotes(side->text()));
  }

  TokenizerSpec spec;
  const fs::path json = dir / "tokenizer.json";
  if (fs::exists(json)) {
    spec = read_tokenizer_json(read_file(json), json.string());
  } else if (fs::exists(dir / "vocab.txt")) {
    spec = read_vocab_files(dir, config.reader);
  } else {
    throw IoError("{} has neither tokenizer.json nor vocab.txt; a model's directory needs one of them", dir.string());
  }
  override_normalizer(config.reader, spec.normalizer);
  read_sentence_config(dir, config.reader, spec);
  if (const auto pad = special_token(config.reader, "pad_token")) {
    if (const auto id = find_id(spec, *pad); id >= 0) spec.pad_id = id;
  }
  return spec;
}

}  // namespace weft::text
