// The contents of a tokenizer's files: what is accepted, and what is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/generated.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/text.h"

namespace weft::text {
namespace {

using nlohmann::json;

json special_token(const std::string& content, int id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// A small valid tokenizer.json.
json good_tokenizer() {
  json file = json::parse(R"({
    "version": "1.0", "truncation": {"max_length": 4}, "padding": null, "decoder": {"type": "Anything"},
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                   "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
      "pair": [], "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                                     "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100,
              "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "##b": 5, "Über": 6, "c": 7, "!": 8}}
  })");
  file["added_tokens"] = json::array();
  for (const auto& [content, id] : {std::pair("[PAD]", 0), {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}}) {
    file["added_tokens"].push_back(special_token(content, id));
  }
  return file;
}

Tokenizer parse(const json& file, int max_length = Tokenizer::kUnlimited) {
  return Tokenizer::parse(file.dump(), "t.json", max_length);
}

TEST(TokenizerFile, ReadsAGoodOne) {
  const Tokenizer tokenizer = parse(good_tokenizer());
  EXPECT_EQ(tokenizer.encode("Ab c! z [SEP]a"), (Ids{2, 4, 5, 7, 8, 1, 3, 4, 3}));
  EXPECT_EQ(tokenizer.encode(""), (Ids{2, 3}));
  EXPECT_EQ(tokenizer.vocab_size(), 9);
  EXPECT_EQ(tokenizer.token(6), "Über");
  EXPECT_EQ(tokenizer.type_ids(4), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(test::thrown_by([&] { tokenizer.token(9); }), "InvalidArgument: there is no token 9, ids end at 8");
  EXPECT_EQ(test::thrown_by([&] { tokenizer.token(-1); }), "InvalidArgument: there is no token -1, ids end at 8");
  EXPECT_EQ(test::thrown_by([&] { tokenizer.type_ids(1); }), "InvalidArgument: an encoding has at least 2 ids, got 1");
}

TEST(TokenizerFile, CutsToItsLongest) {
  for (int length = 2; length < 8; ++length) {
    const Ids ids = parse(good_tokenizer(), length).encode("a c a c a c a c");
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(length));
    EXPECT_EQ(ids.front(), 2);
    EXPECT_EQ(ids.back(), 3);
  }
  // Inside a word, too.
  EXPECT_EQ(parse(good_tokenizer(), 4).encode("abbb"), (Ids{2, 4, 5, 3}));
  EXPECT_EQ(test::thrown_by([] { parse(good_tokenizer(), 1); }),
            "FormatError: t.json: a longest sequence of 1 leaves no room for the 2 special tokens");
  EXPECT_EQ(test::thrown_by([] { parse(good_tokenizer(), 0); }),
            "InvalidArgument: max_length is 0, expected at least 1");
}

TEST(TokenizerFile, TellsWhetherATextIsCut) {
  const Tokenizer tokenizer = parse(good_tokenizer(), 5);  // three of the text's own
  const auto cut = [&](std::string_view text) {
    bool was_cut = true;
    const Ids ids = tokenizer.encode(text, &was_cut);
    EXPECT_EQ(ids, tokenizer.encode(text)) << text;
    return was_cut;
  };
  for (const char* whole : {"", "a", "a c a", "a c a  ", "abb", "[SEP] a [SEP]"}) EXPECT_FALSE(cut(whole)) << whole;
  for (const char* longer : {"a c a c", "a c ab", "abbb", "[SEP] a [SEP] [SEP]", "[SEP] a c a"})
    EXPECT_TRUE(cut(longer)) << longer;
  std::size_t count = 9;
  tokenizer.encode_batch(std::vector<std::string>{"a c a", "a c a c", "abbb", ""}, &count);
  EXPECT_EQ(count, 2u);
  tokenizer.encode_batch({}, &count);
  EXPECT_EQ(count, 0u);
  bool was_cut = true;
  parse(good_tokenizer()).encode("a c a c a c a c", &was_cut);
  EXPECT_FALSE(was_cut);
}

TEST(TokenizerFile, NamesTheByteThatIsNotUtf8) {
  const Tokenizer tokenizer = parse(good_tokenizer());
  EXPECT_EQ(test::thrown_by([&] { tokenizer.encode("ab\xf0\x9f"); }),
            "FormatError: the text is not valid UTF-8 at byte 2 (0xf0)");
  // Past the maximum length, too.
  EXPECT_EQ(test::thrown_by([&] { parse(good_tokenizer(), 2).encode("a a a a\xff"); }),
            "FormatError: the text is not valid UTF-8 at byte 7 (0xff)");
}

TEST(TokenizerFile, EncodesABatchInOrder) {
  const Tokenizer tokenizer = parse(good_tokenizer());
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) {
    texts.push_back(std::string(static_cast<std::size_t>(i % 37), 'a') + (i % 2 ? "" : " c"));
  }
  const auto batch = tokenizer.encode_batch(texts);
  ASSERT_EQ(batch.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(batch[i], tokenizer.encode(texts[i]));
  EXPECT_TRUE(tokenizer.encode_batch({}).empty());
  texts[700] = texts[300] = "a\xff";
  EXPECT_EQ(test::thrown_by([&] { tokenizer.encode_batch(texts); }),
            "FormatError: text 300: the text is not valid UTF-8 at byte 1 (0xff)");
}

TEST(TokenizerFile, RefusesByNameWhatItDoesNotHave) {
  struct Case {
    const char* path;
    json value;
    std::string message;
  };
  const Case cases[] = {
      {"/model/type", "BPE",
       "Unsupported: t.json: at \"model\": the model \"BPE\" is not supported; Weft reads WordPiece"},
      {"/normalizer/type", "NFC",
       "Unsupported: t.json: at \"normalizer\": the normalizer \"NFC\" is not supported; Weft reads BertNormalizer"},
      {"/pre_tokenizer/type", "ByteLevel",
       "Unsupported: t.json: at \"pre_tokenizer\": the pre_tokenizer \"ByteLevel\" is not supported; Weft reads "
       "BertPreTokenizer"},
      {"/pre_tokenizer", nullptr,
       "Unsupported: t.json: a tokenizer without \"pre_tokenizer\" is not supported; Weft reads BertPreTokenizer"},
      {"/post_processor/type", "RobertaProcessing",
       "Unsupported: t.json: at \"post_processor\": the post_processor \"RobertaProcessing\" is not supported; Weft "
       "reads "
       "TemplateProcessing or BertProcessing"},
      {"/version", "2.0", "Unsupported: t.json: tokenizer version \"2.0\" is not supported, expected \"1.0\""},
      {"/model/unk_token", "<unk>", "FormatError: t.json: the vocabulary (9 tokens) lacks the unknown token \"<unk>\""},
      {"/model/unk_token", 3, "FormatError: t.json: at \"model.unk_token\": expected a string, got 3"},
      {"/model/vocab", json::array(),
       "FormatError: t.json: at \"model.vocab\": expected an object of tokens and ids, got an array"},
      {"/model/vocab/a", -1, "FormatError: t.json: at \"model.vocab.a\": expected an id from 0 to 16777215, got -1"},
      {"/model/vocab/a", 16777216,
       "FormatError: t.json: at \"model.vocab.a\": expected an id from 0 to 16777215, got 16777216"},
      {"/model/vocab/a", 1.5, "FormatError: t.json: at \"model.vocab.a\": expected an id from 0 to 16777215, got 1.5"},
      {"/model/max_input_chars_per_word", -1,
       "FormatError: t.json: at \"model.max_input_chars_per_word\": expected an integer from 0 to 1099511627776, got "
       "-1"},
      {"/normalizer/lowercase", "yes",
       "FormatError: t.json: at \"normalizer.lowercase\": expected true or false, got \"yes\""},
      {"/normalizer", 7, "FormatError: t.json: at \"normalizer\": expected an object, got 7"},
      {"/added_tokens/1/id", 5, "FormatError: t.json: the added token \"[UNK]\" has id 5, by the vocabulary it has 1"},
      {"/added_tokens/1/content", "new",
       "FormatError: t.json: the added token \"new\" has id 1, by the vocabulary it has 9"},
      {"/added_tokens", 1, "FormatError: t.json: at \"added_tokens\": expected an array, got 1"},
      {"/post_processor/single/0/SpecialToken/id", "[X]",
       "FormatError: t.json: \"post_processor.special_tokens.[X]\" is missing"},
      {"/post_processor/special_tokens/[SEP]/ids/0", 9,
       "FormatError: t.json: post_processor uses id 9, the vocabulary ends at 8"},
      {"/post_processor/single/1/Sequence/id", "B",
       "FormatError: t.json: at \"post_processor.single[1].Sequence.id\": expected \"A\", got \"B\""},
      {"/post_processor/single/0",
       {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
       "Unsupported: t.json: at \"post_processor.single[1]\": a template that holds the text twice is not supported"},
      {"/post_processor/single", json::array(),
       "FormatError: t.json: at \"post_processor.single\": expected a template with the sequence \"A\" in it"},
      {"/post_processor",
       {{"type", "BertProcessing"}, {"cls", {"[CLS]", 2}}, {"sep", {"[SEP]"}}},
       "FormatError: t.json: at \"post_processor.sep\": expected a token and its id, got an array"},
      {"/padding", {{"pad_id", 99}}, "FormatError: t.json: padding uses id 99, the vocabulary ends at 8"},
  };
  for (const auto& [path, value, message] : cases) {
    json file = good_tokenizer();
    file[json::json_pointer(path)] = value;
    EXPECT_EQ(test::thrown_by([&] { parse(file); }), message) << path;
  }
}

TEST(TokenizerFile, RefusesWhatIsMissing) {
  for (const char* path : {"/model", "/model/vocab", "/model/unk_token", "/model/continuing_subword_prefix",
                           "/model/max_input_chars_per_word", "/normalizer/type", "/normalizer/clean_text",
                           "/normalizer/lowercase", "/normalizer/handle_chinese_chars", "/pre_tokenizer/type",
                           "/post_processor/single", "/post_processor/special_tokens", "/added_tokens/0/id",
                           "/added_tokens/0/content", "/added_tokens/0/lstrip", "/added_tokens/0/normalized"}) {
    json file = good_tokenizer();
    const json::json_pointer pointer(path);
    file[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_THROW(parse(file), FormatError) << path;
  }
}

TEST(TokenizerFile, SaysWhereTheJsonIsBroken) {
  EXPECT_EQ(test::thrown_by([] { Tokenizer::parse("{\n \"a\": [1,\n ]}", "t.json"); }),
            "FormatError: t.json:3:2: broken JSON; the file may be damaged or cut off");
  EXPECT_EQ(test::thrown_by([] { Tokenizer::parse("", "t.json"); }),
            "FormatError: t.json:1:1: broken JSON; the file may be damaged or cut off");
  const std::string whole = good_tokenizer().dump();
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_THROW(Tokenizer::parse(whole.substr(0, size), "t.json"), FormatError) << size;
  }
  EXPECT_THROW(Tokenizer::parse("[1]", "t.json"), FormatError);
}

// A model's directory with the given files.
struct Directory {
  Directory(std::initializer_list<std::pair<const char*, json>> files) {
    for (const auto& [name, contents] : files) {
      dir.write(name, contents.is_string() ? contents.get<std::string>() : contents.dump());
    }
  }
  Tokenizer load() const { return Tokenizer::load(dir.path()); }
  std::string error() const {
    std::string message = test::thrown_by([&] { load(); });
    for (std::size_t at; (at = message.find(dir.path().string())) != std::string::npos;) {
      message.replace(at, dir.path().string().size(), "DIR");
    }
    return message;
  }
  test::TempDir dir;
};

TEST(TokenizerDirectory, TakesTheLengthFromTheRightFile) {
  struct Case {
    json sentence, model, config;  // null: the file is missing
    int expected;
  };
  const json none;
  const Case cases[] = {
      {{{"max_seq_length", 77}}, {{"max_position_embeddings", 512}}, {{"model_max_length", 50}}, 77},
      {{{"max_seq_length", nullptr}}, {{"max_position_embeddings", 512}}, {{"model_max_length", 50}}, 50},
      {json::object(), {{"max_position_embeddings", 40}}, {{"model_max_length", 50}}, 40},
      {none, {{"max_position_embeddings", 40}}, {{"model_max_length", 1e30}}, 40},
      {none, {{"max_position_embeddings", 40}}, none, 40},
      {none, {{"max_position_embeddings", -1}}, {{"model_max_length", 50}}, 50},
      {none, none, none, Tokenizer::kUnlimited},
  };
  for (const auto& [sentence, model, config, expected] : cases) {
    Directory d{{"tokenizer.json", good_tokenizer()}};
    if (!sentence.is_null()) d.dir.write("sentence_bert_config.json", sentence.dump());
    if (!model.is_null()) d.dir.write("config.json", model.dump());
    if (!config.is_null()) d.dir.write("tokenizer_config.json", config.dump());
    EXPECT_EQ(d.load().max_length(), expected);
  }
  EXPECT_EQ(
      (Directory{{"tokenizer.json", good_tokenizer()}, {"sentence_distilbert_config.json", {{"max_seq_length", 9}}}})
          .load()
          .max_length(),
      9);
}

TEST(TokenizerDirectory, LetsTokenizerConfigSetTheNormalizer) {
  const auto encode = [](json config, const char* text) {
    json file = good_tokenizer();
    file["model"]["vocab"] = {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}, {"É", 4},    {"é", 5},
                              {"E", 6},     {"e", 7},     {"中", 8},    {"e中", 9},   {"##中", 10}};
    return Directory{{"tokenizer.json", file}, {"tokenizer_config.json", config}}.load().encode(text)[1];
  };
  EXPECT_EQ(encode(json::object(), "É"), 7);
  EXPECT_EQ(encode({{"do_lower_case", false}}, "É"), 4);
  EXPECT_EQ(encode({{"strip_accents", false}}, "É"), 5);
  EXPECT_EQ(encode({{"do_lower_case", false}, {"strip_accents", true}}, "É"), 6);
  EXPECT_EQ(encode({{"strip_accents", nullptr}}, "É"), 7);
  EXPECT_EQ(encode({{"tokenize_chinese_chars", false}}, "e中"), 9);
  EXPECT_EQ(encode({{"tokenizer_class", "DistilBertTokenizerFast"}, {"do_lower_case", false}}, "É"), 4);
  // Classes that use tokenizer.json without changes.
  EXPECT_EQ(encode({{"tokenizer_class", "PreTrainedTokenizerFast"}, {"do_lower_case", false}}, "É"), 7);
}

TEST(TokenizerDirectory, LowerCasesForSentenceTransformers) {
  json file = good_tokenizer();
  file["model"]["vocab"] = {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}, {"É", 4}, {"é", 5}, {"e", 6}};
  file["normalizer"]["lowercase"] = false;
  const Directory d{{"tokenizer.json", file}, {"sentence_bert_config.json", {{"do_lower_case", true}}}};
  EXPECT_EQ(d.load().encode("É"), (Ids{2, 5, 3}));  // the accent stays, because the normalizer keeps its own rule
}

TEST(TokenizerDirectory, ReadsVocabTxt) {
  const Directory d{{"vocab.txt", "[PAD]\n[UNK]\r\n<s>\n[SEP]\na\n##b\na\n"},
                    {"tokenizer_config.json", {{"cls_token", {{"content", "<s>"}}}, {"model_max_length", 20}}}};
  const Tokenizer tokenizer = d.load();
  EXPECT_EQ(tokenizer.encode("Ab x <s>"), (Ids{2, 6, 5, 1, 2, 3}));  // "a" is there twice: the later line counts
  EXPECT_EQ(tokenizer.max_length(), 20);
  EXPECT_EQ(tokenizer.pad_id(), 0);
  EXPECT_EQ(tokenizer.vocab_size(), 7);
  EXPECT_EQ(tokenizer.token(4), "");  // replaced by line 6
}

// Values by tests/reference/tokenizer_directories.py: tokens in tokenizer_config.json, added_tokens.json and
// special_tokens_map.json, lines of vocab.txt with white space, texts that are cut at their start.
TEST(TokenizerDirectory, ReadsTheTokensOfAllFilesAsTheReference) {
  const json reference = json::parse(test::read_data("tokenizer_directories.json"));
  const auto texts = reference["texts"].get<std::vector<std::string>>();
  for (const json& entry : reference["cases"]) {
    SCOPED_TRACE(entry["name"]);
    Directory d{};
    for (const auto& [name, contents] : entry["files"].items()) {
      d.dir.write(name, contents.is_string() ? contents.get<std::string>() : contents.dump());
    }
    const Tokenizer tokenizer = d.load();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(tokenizer.encode(texts[i]), entry["ids"][i].get<Ids>()) << texts[i];
    }
  }
}

TEST(TokenizerDirectory, AByteOrderMarkIsNoPartOfTheFirstToken) {
  const Directory d{{"vocab.txt", "\xef\xbb\xbf[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n"}};
  EXPECT_EQ(d.load().pad_id(), 0);
  EXPECT_EQ(d.load().encode("[PAD] a"), (Ids{2, 0, 4, 3}));
}

// tokenizer_config.json decides before tokenizer.json, as in the reference.
TEST(TokenizerDirectory, PaddingOnTheLeftIsToldAndNotUsed) {
  json left = good_tokenizer();
  left["padding"] = {{"strategy", "BatchLongest"}, {"direction", "Left"}, {"pad_id", 0}};
  const auto warning = [](const json& tokenizer, const json& config) {
    const Directory d{{"tokenizer.json", tokenizer}, {"tokenizer_config.json", config}};
    testing::internal::CaptureStderr();
    EXPECT_EQ(d.load().encode("a c"), (Ids{2, 4, 7, 3}));
    return testing::internal::GetCapturedStderr();
  };
  for (const auto& [tokenizer, side] :
       {std::pair(left, json()), {left, json("left")}, {good_tokenizer(), json("left")}}) {
    EXPECT_THAT(warning(tokenizer, {{"padding_side", side}}), testing::HasSubstr("padding on the left is not used"));
  }
  EXPECT_EQ(warning(left, {{"padding_side", "right"}}), "");
  EXPECT_EQ(warning(good_tokenizer(), {{"padding_side", "right"}}), "");
  EXPECT_EQ(warning(good_tokenizer(), json::object()), "");
}

TEST(TokenizerDirectory, IsWhereModulesJsonSays) {
  const test::TempDir model;
  const auto inner = model.path() / "0_Transformer";
  std::filesystem::create_directory(inner);
  std::ofstream(inner / "tokenizer.json") << good_tokenizer();
  std::ofstream(inner / "sentence_bert_config.json") << json{{"max_seq_length", 4}};
  model.write("modules.json",
              json::array({{{"type", "sentence_transformers.models.Transformer"}, {"path", "0_Transformer"}},
                           {{"type", "sentence_transformers.models.Pooling"}, {"path", "1_Pooling"}}})
                  .dump());
  EXPECT_EQ(Tokenizer::load(model.path()).max_length(), 4);
  EXPECT_EQ(Tokenizer::load(model.path()).encode("a"), parse(good_tokenizer()).encode("a"));
}

// With the start of texts, and with their end, of which only so many tokens are kept as count.
TEST(TokenizerFile, CutsLongTextsAtEitherEnd) {
  json file = good_tokenizer();
  std::string text;
  for (int i = 0; i < 100000; ++i) text += i % 3 ? "a " : "c ";
  const Ids all = parse(file).encode(text);
  for (const int length : {2, 3, 7, 4096, 9000, 100002}) {
    for (const bool keeps_end : {false, true}) {
      file["truncation"] = {{"direction", keeps_end ? "Left" : "Right"}};
      bool cut = false;
      const Ids ids = parse(file, length).encode(text, &cut);
      const auto first = all.begin() + 1 + (keeps_end ? 100002 - length : 0);
      EXPECT_EQ(Ids(ids.begin() + 1, ids.end() - 1), Ids(first, first + length - 2)) << length;
      EXPECT_EQ(cut, length < 100002);
    }
  }
}

TEST(TokenizerFile, OfTokensThatBecomeEqualTheFirstCounts) {
  json file = good_tokenizer();
  const auto added = [](const char* content, int id) {
    json token = special_token(content, id);
    token["normalized"] = true;
    token["special"] = false;
    return token;
  };
  file["added_tokens"].insert(file["added_tokens"].end(), {added("Foo", 9), added("FOO", 10), added("foo", 11)});
  const Tokenizer tokenizer = parse(file);
  for (const char* text : {"foo", "Foo", "FOO"}) EXPECT_EQ(tokenizer.encode(text), (Ids{2, 9, 3})) << text;
  EXPECT_EQ(tokenizer.vocab_size(), 12);
}

// The ids of tokenizers 0.23.3 for a space as a token. Where it takes the space on both sides there are tokens of which
// nothing is left: normalisation puts two spaces between ideographs.
TEST(TokenizerFile, ATokenOfWhiteSpaceIsLostToTheOneBefore) {
  const char* texts[] = {"你好",      "a你好 c",         "a  c",      "a   你 ",     "  ",
                         "a [SEP] c", "[SEP]  [SEP]  a", "你[SEP]你", " a\t\u3000你"};
  const struct {
    bool normalized, lstrip, rstrip;
    std::vector<Ids> ids;
  } cases[] = {
      {true,
       false,
       false,
       {{2, 9, 1, 9, 9, 1, 9, 3},
        {2, 4, 9, 1, 9, 9, 1, 9, 9, 7, 3},
        {2, 4, 9, 9, 7, 3},
        {2, 4, 9, 9, 9, 9, 1, 9, 9, 3},
        {2, 9, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 9, 3, 9, 9, 4, 3},
        {2, 9, 1, 9, 3, 9, 1, 9, 3},
        {2, 9, 4, 9, 9, 9, 1, 9, 3}}},
      {true,
       false,
       true,
       {{2, 9, 1, 9, 9, 1, 9, 3},
        {2, 4, 9, 1, 9, 9, 1, 9, 9, 7, 3},
        {2, 4, 9, 9, 7, 3},
        {2, 4, 9, 9, 9, 9, 1, 9, 9, 3},
        {2, 9, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 9, 3, 9, 9, 4, 3},
        {2, 9, 1, 9, 3, 9, 1, 9, 3},
        {2, 9, 4, 9, 9, 9, 1, 9, 3}}},
      {true,
       true,
       false,
       {{2, 9, 1, 9, 9, 1, 9, 3},
        {2, 4, 9, 1, 9, 9, 1, 9, 9, 7, 3},
        {2, 4, 9, 9, 7, 3},
        {2, 4, 9, 9, 9, 9, 1, 9, 9, 3},
        {2, 9, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 9, 3, 9, 9, 4, 3},
        {2, 9, 1, 9, 3, 9, 1, 9, 3},
        {2, 9, 4, 9, 9, 9, 1, 9, 3}}},
      {true,
       true,
       true,
       {{2, 9, 1, 9, 1, 9, 3},
        {2, 4, 9, 1, 9, 1, 9, 7, 3},
        {2, 4, 9, 7, 3},
        {2, 4, 9, 1, 9, 3},
        {2, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 3, 9, 4, 3},
        {2, 9, 1, 9, 3, 9, 1, 9, 3},
        {2, 9, 4, 9, 1, 9, 3}}},
      {false,
       false,
       false,
       {{2, 1, 1, 3},
        {2, 4, 1, 1, 9, 7, 3},
        {2, 4, 9, 9, 7, 3},
        {2, 4, 9, 9, 9, 1, 9, 3},
        {2, 9, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 9, 3, 9, 9, 4, 3},
        {2, 1, 3, 1, 3},
        {2, 9, 4, 1, 3}}},
      {false,
       false,
       true,
       {{2, 1, 1, 3},
        {2, 4, 1, 1, 9, 7, 3},
        {2, 4, 9, 9, 7, 3},
        {2, 4, 9, 9, 9, 1, 9, 3},
        {2, 9, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 9, 3, 9, 9, 4, 3},
        {2, 1, 3, 1, 3},
        {2, 9, 4, 1, 3}}},
      {false,
       true,
       false,
       {{2, 1, 1, 3},
        {2, 4, 1, 1, 9, 7, 3},
        {2, 4, 9, 9, 7, 3},
        {2, 4, 9, 9, 9, 1, 9, 3},
        {2, 9, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 9, 3, 9, 9, 4, 3},
        {2, 1, 3, 1, 3},
        {2, 9, 4, 1, 3}}},
      {false,
       true,
       true,
       {{2, 1, 1, 3},
        {2, 4, 1, 1, 9, 7, 3},
        {2, 4, 9, 7, 3},
        {2, 4, 9, 1, 9, 3},
        {2, 9, 3},
        {2, 4, 9, 3, 9, 7, 3},
        {2, 3, 9, 3, 9, 4, 3},
        {2, 1, 3, 1, 3},
        {2, 9, 4, 1, 3}}},
  };
  for (const auto& c : cases) {
    json file = good_tokenizer();
    json space = special_token(" ", 9);
    space["special"] = false;
    space["normalized"] = c.normalized;
    space["lstrip"] = c.lstrip;
    space["rstrip"] = c.rstrip;
    file["added_tokens"].push_back(space);
    const Tokenizer tokenizer = parse(file);
    for (std::size_t i = 0; i < std::size(texts); ++i) {
      EXPECT_EQ(tokenizer.encode(texts[i]), c.ids[i]) << texts[i] << c.normalized << c.lstrip << c.rstrip;
    }
  }
  json file = good_tokenizer();
  json x = special_token("<x>", 9), y = special_token("<y>", 10), space = special_token(" ", 11);
  x["rstrip"] = y["lstrip"] = space["lstrip"] = space["rstrip"] = true;
  file["added_tokens"].insert(file["added_tokens"].end(), {x, y, space});
  const Tokenizer tokenizer = parse(file);
  EXPECT_EQ(tokenizer.encode("<x>  <y>"), (Ids{2, 9, 10, 3}));
  EXPECT_EQ(tokenizer.encode("<x> <x>"), (Ids{2, 9, 9, 3}));
  EXPECT_EQ(tokenizer.encode("<y> <y>"), (Ids{2, 10, 11, 10, 3}));
  EXPECT_EQ(tokenizer.encode("a <x> <y> c"), (Ids{2, 4, 11, 9, 10, 11, 7, 3}));
  EXPECT_EQ(tokenizer.encode("<x> a <y>"), (Ids{2, 9, 4, 11, 10, 3}));
}

// As the reference takes them: it keeps the later properties of a token that is there twice, and drops an empty one.
TEST(TokenizerFile, TokensThatAreThereTwiceOrEmpty) {
  json file = good_tokenizer();
  json again = special_token("[SEP]", 3);
  again["rstrip"] = true;
  file["added_tokens"].insert(file["added_tokens"].end(), {again, special_token("", 9), special_token("<x>", 9)});
  const Tokenizer tokenizer = parse(file);
  EXPECT_EQ(tokenizer.encode("[SEP]  a<x>"), (Ids{2, 3, 4, 9, 3}));
}

TEST(TokenizerFile, PutsThePromptBeforeEachText) {
  const Tokenizer plain = parse(good_tokenizer(), 6);
  const Tokenizer tokenizer = plain.with_prompt("a c");
  EXPECT_EQ(tokenizer.prompt(), "a c");
  EXPECT_EQ(tokenizer.encode(" a"), plain.encode("a c a"));
  EXPECT_EQ(tokenizer.encode("bb"), plain.encode("a cbb"));
  EXPECT_EQ(tokenizer.encode_batch(std::vector<std::string>{"", " a"}),
            (std::vector<Ids>{plain.encode("a c"), plain.encode("a c a")}));
  EXPECT_EQ(tokenizer.prompt_length(), 3u);  // [CLS] a c
  EXPECT_EQ(plain.with_prompt("a c a c a c a c").prompt_length(), 5u);
  EXPECT_EQ(plain.prompt_length(), 0u);
  bool cut = false;
  tokenizer.encode(" a a a", &cut);
  EXPECT_TRUE(cut);
  EXPECT_EQ(test::thrown_by([&] { tokenizer.encode("a\xff"); }),
            "FormatError: the text is not valid UTF-8 at byte 1 (0xff)");
  EXPECT_EQ(test::thrown_by([&] { plain.with_prompt("\xff"); }),
            "FormatError: the text is not valid UTF-8 at byte 0 (0xff)");
}

TEST(TokenizerDirectory, RefusesWhatItCannotRead) {
  const char* vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
  EXPECT_EQ((Directory{}).error(),
            "IoError: DIR has neither tokenizer.json nor vocab.txt; a model's directory needs one of them");
  EXPECT_EQ((Directory{{"vocab.txt", "[PAD]\n[UNK]\n[SEP]"}}).error(),
            "FormatError: DIR/vocab.txt: the vocabulary lacks \"[CLS]\" (cls_token)");
  EXPECT_EQ((Directory{{"vocab.txt", "[UNK]\n\xff"}}).error(), "FormatError: DIR/vocab.txt: byte 6 is not UTF-8");
  EXPECT_EQ((Directory{{"vocab.txt", vocab}, {"tokenizer_config.json", {{"tokenizer_class", "T5Tokenizer"}}}}).error(),
            "Unsupported: DIR/tokenizer_config.json: the tokenizer class \"T5Tokenizer\" is not supported; Weft reads "
            "BertTokenizer and DistilBertTokenizer");
  EXPECT_EQ(
      (Directory{{"vocab.txt", vocab}, {"added_tokens.json", {{"<x>", "4"}}}}).error(),
      "FormatError: DIR/added_tokens.json: at \"<x>\": expected an integer from 0 to 9223372036854775807, got \"4\"");
  EXPECT_EQ(
      (Directory{{"vocab.txt", vocab},
                 {"tokenizer_config.json", {{"added_tokens_decoder", {{"four", {{"content", "<x>"}}}}}}}})
          .error(),
      "FormatError: DIR/tokenizer_config.json: at \"added_tokens_decoder.four\": expected an id from 0 as its key, "
      "got an object");
  EXPECT_EQ(
      (Directory{{"tokenizer.json", good_tokenizer()}, {"tokenizer_config.json", {{"truncation_side", "up"}}}}).error(),
      "FormatError: DIR/tokenizer_config.json: at \"truncation_side\": expected \"left\" or \"right\", got \"up\"");
  EXPECT_EQ(
      (Directory{{"tokenizer.json", good_tokenizer()}, {"tokenizer_config.json", {{"padding_side", "Left"}}}}).error(),
      "FormatError: DIR/tokenizer_config.json: at \"padding_side\": expected \"left\" or \"right\", got \"Left\"");
  EXPECT_EQ((Directory{{"tokenizer.json", good_tokenizer()}, {"tokenizer_config.json", "{"}}).error(),
            "FormatError: DIR/tokenizer_config.json:1:2: broken JSON; the file may be damaged or cut off");
  EXPECT_EQ(
      (Directory{{"tokenizer.json", good_tokenizer()}, {"sentence_bert_config.json", {{"max_seq_length", 0}}}}).error(),
      "FormatError: DIR/sentence_bert_config.json: at \"max_seq_length\": expected an integer from 1 to 2147483647, "
      "got 0");
  EXPECT_EQ(
      (Directory{{"tokenizer.json", good_tokenizer()}, {"sentence_bert_config.json", {{"max_seq_length", 1}}}}).error(),
      "FormatError: DIR/tokenizer.json: a longest sequence of 1 leaves no room for the 2 special tokens");
  EXPECT_EQ(test::thrown_by([] { Tokenizer::load("/nowhere/at/all"); }),
            "IoError: cannot open /nowhere/at/all: no such directory, expected the directory of a model");
  // Longer than file systems allow: what they say is an IoError, too.
  EXPECT_THAT(test::thrown_by([] { Tokenizer::load("/" + std::string(5000, 'x')); }),
              testing::HasSubstr("IoError: filesystem error"));
  Directory d{};
  std::filesystem::create_directory(d.dir.path() / "tokenizer.json");
  EXPECT_EQ(d.error(), "IoError: cannot open DIR/tokenizer.json: expected a file, this is a directory");
}

}  // namespace
}  // namespace weft::text
