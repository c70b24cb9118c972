// Ids against the reference library: small tokenizers that use every option, and the real model if it is available.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/generated.h"
#include "weft/text.h"

namespace weft::text {
namespace {

using nlohmann::json;

class SmallTokenizers : public testing::TestWithParam<std::string> {};

json small_index() { return json::parse(test::read_data("tokenizers/index.json")); }

TEST_P(SmallTokenizers, GiveTheReferenceIds) {
  const std::string name = GetParam();
  const json entry = small_index()[name];
  const int max_length = entry["max_length"].get<int>() ? entry["max_length"].get<int>() : Tokenizer::kUnlimited;
  const auto tokenizer = Tokenizer::parse(test::read_data("tokenizers/" + name + ".json"), name, max_length);
  EXPECT_EQ(tokenizer.max_length(), max_length);

  const auto expected = test::read_hashes("tokenizers/" + name + ".u64");
  auto texts = test::reference_sentences();
  const std::size_t sentences = texts.size();
  while (texts.size() < expected.size()) texts.push_back(test::generated_string(texts.size() - sentences));
  ASSERT_GT(expected.size(), sentences);
  int shown = 0;
  for (std::size_t i = 0; i < texts.size() && shown < 5; ++i) {
    const Ids ids = tokenizer.encode(texts[i]);
    ASSERT_LE(ids.size(), static_cast<std::size_t>(max_length));
    if (test::hash_ids(ids) == expected[i]) continue;
    ++shown;
    ADD_FAILURE() << "text " << i << " " << json(texts[i]).dump() << "\ngot ids " << json(ids).dump();
  }

  const Ids types = entry["type_ids"];
  EXPECT_EQ(tokenizer.type_ids(types.size()), types);
  EXPECT_EQ(tokenizer.has_type_ids(), name == "typed");
}

std::vector<std::string> small_names() {
  std::vector<std::string> names;
  const json index = small_index();
  for (const auto& [name, entry] : index.items()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Text, SmallTokenizers, testing::ValuesIn(small_names()),
                         [](const auto& info) { return info.param; });

class RealModel : public testing::Test {
 protected:
  void SetUp() override {
    const char* dir = std::getenv("WEFT_MODEL_DIR");
    if (!dir) GTEST_SKIP() << "WEFT_MODEL_DIR does not name a directory with all-MiniLM-L6-v2; ./dev test sets it";
    tokenizer_.emplace(Tokenizer::load(dir));
  }
  std::optional<Tokenizer> tokenizer_;
};

TEST_F(RealModel, TakesItsLengthFromSentenceTransformers) {
  EXPECT_EQ(tokenizer_->max_length(), 256);  // tokenizer.json alone would say 128
  EXPECT_EQ(tokenizer_->pad_id(), 0);
  EXPECT_EQ(tokenizer_->vocab_size(), 30522);
  EXPECT_EQ(tokenizer_->token(101), "[CLS]");
  EXPECT_EQ(tokenizer_->token(30521), "##～");
  EXPECT_FALSE(tokenizer_->has_type_ids());
}

TEST_F(RealModel, GivesTheReferenceIdsForTheSentences) {
  const auto sentences = test::reference_sentences();
  std::istringstream lines(test::read_data("sentence_ids.jsonl"));
  std::string line;
  std::size_t count = 0;
  const auto batch = tokenizer_->encode_batch(sentences);
  for (; std::getline(lines, line); ++count) {
    ASSERT_LT(count, sentences.size());
    EXPECT_EQ(tokenizer_->encode(sentences[count]), json::parse(line).get<Ids>()) << json(sentences[count]).dump();
    EXPECT_EQ(batch[count], tokenizer_->encode(sentences[count]));
  }
  EXPECT_EQ(count, sentences.size());
}

TEST_F(RealModel, GivesTheReferenceIdsForGeneratedStrings) {
  std::vector<std::string> words;
  for (std::int32_t id = 0; id < tokenizer_->vocab_size(); ++id) words.emplace_back(tokenizer_->token(id));
  const auto expected = test::read_hashes("generated_ids.u64");
  ASSERT_EQ(expected.size(), 10000u);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto text = test::generated_string(i, words);
    const Ids ids = tokenizer_->encode(text);
    if (test::hash_ids(ids) == expected[i]) continue;
    if (++wrong <= 5) ADD_FAILURE() << "string " << i << " " << json(text).dump() << "\ngot ids " << json(ids).dump();
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace weft::text
