#include "text/input.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/utf8.h"
#include "support/temp_dir.h"
#include "support/throws.h"

namespace weft::text {
namespace {

using namespace std::string_literals;
using Sentences = std::vector<std::string>;

Sentences read_all(const std::string& bytes, InputFormat format) {
  std::istringstream stream(bytes);
  SentenceReader reader(stream, "input", format);
  Sentences sentences;
  for (std::string sentence; reader.next(sentence);) sentences.push_back(sentence);
  return sentences;
}

TEST(Input, ReadsLines) {
  struct Case {
    std::string bytes;
    Sentences expected;
  };
  const Case cases[] = {
      {"", {}},
      {"a", {"a"}},
      {"a\n", {"a"}},
      {"a\nb", {"a", "b"}},
      {"a\r\nb\r\n", {"a", "b"}},
      {"\n", {""}},
      {"\n\na\n\n", {"", "", "a", ""}},
      {"a\rb\n", {"a\rb"}},
      {"a\r\r\n", {"a\r"}},
      {"\xef\xbb\xbf"
       "a\n\xef\xbb\xbf"
       "b",
       {"a", "\ufeffb"}},
      {"\xef\xbb\xbf", {""}},
      {" a \t\n", {" a \t"}},
      {"a\0b\n"s, {"a\0b"s}},
      {"{\"text\": 1}\n", {"{\"text\": 1}"}},
      {"日本\n😀", {"日本", "😀"}},
  };
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(read_all(bytes, InputFormat::lines), expected) << bytes;
}

TEST(Input, ReadsJsonLines) {
  struct Case {
    std::string bytes;
    Sentences expected;
  };
  const Case cases[] = {
      {"", {}},
      {"\"a\"\n\"b\"", {"a", "b"}},
      {"\"a\"\r\n{\"text\": \"b\"}\r\n", {"a", "b"}},
      {"\"\"\n", {""}},
      {"\"a\\nb\\u0000\\ud83d\\ude00\\u00e9\"", {"a\nb\0😀é"s}},
      {"{\"id\": [1, {\"text\": 2}], \"text\": \"x\", \"z\": null}", {"x"}},
      {"\xef\xbb\xbf\"a\"", {"a"}},
      {"  \"a\"  ", {"a"}},
  };
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(read_all(bytes, InputFormat::json_lines), expected) << bytes;
}

TEST(Input, RefusesWhatIsBroken) {
  struct Case {
    InputFormat format;
    std::string bytes, message;
  };
  const auto lines = InputFormat::lines;
  const auto jsonl = InputFormat::json_lines;
  const std::string form = "expected a JSON string or an object with \"text\"";
  const Case cases[] = {
      {lines, "a\nb\xff\n", "input:2: byte 2 (0xff) is not valid UTF-8; convert the input to UTF-8"},
      {lines, "\xc3", "input:1: byte 1 (0xc3) is not valid UTF-8; convert the input to UTF-8"},
      {jsonl, "\"a\"\n\"b\xed\xa0\x80\"", "input:2: byte 3 (0xed) is not valid UTF-8; convert the input to UTF-8"},
      {jsonl, "\"a\"\n\n\"b\"", "input:2: " + form + ", got an empty line; an empty sentence is \"\""},
      {jsonl, "\"a", "input:1: broken JSON at column 3: " + form},
      {jsonl, "plain words\n", "input:1: broken JSON at column 1: " + form},
      {jsonl, "\"a\" \"b\"\n", "input:1: broken JSON at column 7: " + form},
      {jsonl, "\"\\ud800\"\n", "input:1: broken JSON at column 8: " + form},
      {jsonl, "1e999", "input:1: " + form},
      {jsonl, "12", "input:1: " + form + ", got number"},
      {jsonl, "[\"a\"]", "input:1: " + form + ", got array"},
      {jsonl, "null", "input:1: " + form + ", got null"},
      {jsonl, "{\"txt\": \"a\"}", "input:1: the object has no \"text\""},
      {jsonl, "{\"text\": 3}", "input:1: expected a string as \"text\", got number"},
      {jsonl, "{\"text\": {\"text\": \"a\"}}", "input:1: expected a string as \"text\", got object"},
  };
  for (const auto& [format, bytes, message] : cases) {
    EXPECT_EQ(test::thrown_by([&] { read_all(bytes, format); }), "FormatError: " + message);
  }
}

TEST(Input, GoesOnBehindAFaultyLine) {
  std::istringstream stream("\"a\"\nbroken\n\"b\"\n");
  SentenceReader reader(stream, "x.jsonl");
  std::string sentence;
  ASSERT_TRUE(reader.next(sentence));
  EXPECT_THROW(reader.next(sentence), FormatError);
  EXPECT_EQ(reader.line(), 2u);
  ASSERT_TRUE(reader.next(sentence));
  EXPECT_EQ(sentence, "b");
  EXPECT_FALSE(reader.next(sentence));
}

TEST(Input, TakesTheFormatFromTheName) {
  const test::TempDir dir;
  const auto first = [](const std::filesystem::path& path) {
    auto reader = SentenceReader::open(path);
    std::string sentence;
    return reader.next(sentence) ? sentence : "(none)";
  };
  EXPECT_EQ(first(dir.write("a.txt", "\"x\"")), "\"x\"");
  EXPECT_EQ(first(dir.write("a.jsonl", "\"x\"")), "x");
  EXPECT_EQ(first(dir.write("a.ndjson", "\"x\"")), "x");
  EXPECT_EQ(first(dir.write("jsonl", "\"x\"")), "\"x\"");
}

TEST(Input, NamesTheFileThatCannotBeRead) {
  const test::TempDir dir;
  const auto message = [](const std::filesystem::path& path) {
    return test::thrown_by([&] {
      auto reader = SentenceReader::open(path);
      for (std::string sentence; reader.next(sentence);) {
      }
    });
  };
  const std::string missing = (dir.path() / "missing.txt").string();
  EXPECT_EQ(message(missing), "IoError: cannot open " + missing + ": No such file or directory");
  EXPECT_EQ(message(dir.path()), "IoError: cannot read " + dir.path().string() + ": it is a directory");
  // Can be opened, but its first page cannot be read.
  if (std::filesystem::exists("/proc/self/mem")) {
    EXPECT_EQ(message("/proc/self/mem"), "IoError: cannot read /proc/self/mem: Input/output error");
  }
}

TEST(Input, EndsALineThatIsTooLong) {
  class Endless : public std::streambuf {
    int_type underflow() override {
      setg(block_, block_, block_ + sizeof block_);
      return traits_type::to_int_type(block_[0]);
    }
    char block_[4096] = {};
  } endless;
  std::istream stream(&endless);
  SentenceReader reader(stream, "endless");
  std::string sentence;
  EXPECT_EQ(test::thrown_by([&] { reader.next(sentence); }), "FormatError: endless:1: the line is longer than 64 MiB");
}

// Piped JSON lines, or JSON in a file, are not taken for text in silence.
TEST(Input, TellsWhatLooksLikeJson) {
  const auto automatic = InputFormat::automatic;
  EXPECT_EQ(
      test::thrown_by([&] { read_all("{\"text\": \"a\"}\n{\"text\": \"b\"}\n", automatic); }),
      "FormatError: input:1: the line is a JSON object; --format jsonl reads its \"text\", --format text takes the "
      "line as it is");
  const auto counted = [](const std::string& bytes, InputFormat format) {
    std::istringstream stream(bytes);
    SentenceReader reader(stream, "input", format);
    for (std::string sentence; reader.next(sentence);) {
    }
    return reader.json_like();
  };
  EXPECT_EQ(counted("\"a\"\n\"b\"\nc\n", automatic), 2u);
  EXPECT_EQ(counted("a\n{\"text\": \"b\"}\n {\"c\": 1} \n", automatic), 2u);
  EXPECT_EQ(counted("\"Yes\", she said.\n\"No\" and \"no\"\n{a}\n[1]\n\"\n{\n\n 12\n", automatic), 0u);
  EXPECT_EQ(counted("{\"text\": \"a\"}\n", InputFormat::lines), 0u) << "asked for";
  const test::TempDir dir;
  const auto path = dir.write("a.json", "[\"a\",\n\"b\"]");
  EXPECT_EQ(test::thrown_by([&] { SentenceReader::open(path); }),
            "FormatError: " + path.string() +
                ": a file of JSON is neither a sentence a line nor JSON lines; --format jsonl "
                "reads an object or a string a line, --format text takes each line as it is");
  EXPECT_NO_THROW(SentenceReader::open(path, InputFormat::lines));
}

TEST(Input, CountsBytes) {
  std::istringstream stream("ab\r\n\"c\"\n");
  SentenceReader reader(stream, "input", InputFormat::lines);
  std::string sentence;
  ASSERT_TRUE(reader.next(sentence));
  EXPECT_EQ(reader.bytes(), 4u);
  ASSERT_TRUE(reader.next(sentence));
  EXPECT_EQ(reader.bytes(), 8u);
}

// Any text survives JSON lines; any text without line ends survives lines.
RC_GTEST_PROP(Input, RoundTrips, (const std::vector<std::u32string>& texts)) {
  std::string json_lines, lines;
  Sentences expected, expected_lines;
  for (const auto& text : texts) {
    std::string utf8;
    for (char32_t c : text) {
      c %= 0x110000;
      if (c >= 0xd800 && c <= 0xdfff) c = 0xfffd;
      append_utf8(utf8, c);
    }
    expected.push_back(utf8);
    json_lines += nlohmann::json(utf8).dump() + "\n";
    std::erase_if(utf8, [](char c) { return c == '\n' || c == '\r'; });
    expected_lines.push_back(utf8);
    lines += utf8 + "\n";
  }
  RC_ASSERT(read_all(json_lines, InputFormat::json_lines) == expected);
  RC_ASSERT(read_all(lines, InputFormat::lines) == expected_lines);
}

}  // namespace
}  // namespace weft::text
