#include "text/input.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/format.h"
#include "core/suffix.h"
#include "core/utf8.h"
#include "weft/error.h"

namespace weft::text {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kJsonForm = "expected a JSON string or an object with \"text\"";

bool is_json_lines(std::string_view name) { return has_suffix(name, ".jsonl") || has_suffix(name, ".ndjson"); }

// The sentence of a line of JSON.
std::string sentence_of(std::string_view line, std::string_view name, std::size_t number) {
  if (line.find_first_not_of(" \t") == std::string_view::npos) {
    throw FormatError("{}:{}: {}, got an empty line; an empty sentence is \"\"", name, number, kJsonForm);
  }
  json value;
  try {
    value = json::parse(line);
  } catch (const json::parse_error& error) {
    throw FormatError("{}:{}: broken JSON at column {}: {}", name, number, error.byte, kJsonForm);
  } catch (const json::exception&) {  // a number that no double holds
    throw FormatError("{}:{}: {}", name, number, kJsonForm);
  }
  if (value.is_object()) {
    const auto text = value.find("text");
    if (text == value.end()) throw FormatError("{}:{}: the object has no \"text\"", name, number);
    value = json(std::move(*text));
    if (!value.is_string()) {
      throw FormatError("{}:{}: expected a string as \"text\", got {}", name, number, value.type_name());
    }
  }
  if (!value.is_string()) throw FormatError("{}:{}: {}, got {}", name, number, kJsonForm, value.type_name());
  return std::move(value.get_ref<std::string&>());
}

// An object or a string, and nothing else.
bool looks_like_json(std::string_view line) {
  const auto first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t");
  if (first == last) return false;
  const char opening = line[first], closing = line[last];
  return ((opening == '{' && closing == '}') || (opening == '"' && closing == '"')) && json::accept(line);
}

}  // namespace

SentenceReader::SentenceReader(std::istream& stream, std::string name, InputFormat format)
    : stream_(&stream), name_(std::move(name)), format_(format) {
  if (format_ == InputFormat::automatic) {
    format_ = is_json_lines(name_) ? InputFormat::json_lines : InputFormat::lines;
    guessed_ = format_ == InputFormat::lines;
  }
}

SentenceReader SentenceReader::open(const fs::path& path, InputFormat format) {
  if (path == "-") return {std::cin, "standard input", format};
  if (format == InputFormat::automatic && has_suffix(path.string(), ".json")) {
    throw FormatError(
        "{}: a file of JSON is neither a sentence a line nor JSON lines; --format jsonl reads an object or a "
        "string a line, --format text takes each line as it is",
        path.string());
  }
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw IoError("cannot read {}: it is a directory", path.string());
  errno = 0;
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) throw IoError("cannot open {}: {}", path.string(), std::generic_category().message(errno));
  SentenceReader reader(*file, path.string(), format);
  reader.owned_ = std::move(file);
  return reader;
}

// A file's buffer throws if reading fails; standard input, which shares its buffer with C's stdin, only ends.
int SentenceReader::next_byte() {
  errno = 0;
  const auto fail = [&] { throw IoError("cannot read {}: {}", name_, std::generic_category().message(errno)); };
  try {
    const int c = stream_->rdbuf()->sbumpc();
    bytes_ += c != std::char_traits<char>::eof();
    if (c == std::char_traits<char>::eof() && stream_ == &std::cin && std::ferror(stdin)) fail();
    return c;
  } catch (const std::ios_base::failure&) {
    fail();
  }
  return std::char_traits<char>::eof();
}

// Reads the next line, without its line end, into buffer_.
bool SentenceReader::read_line() {
  buffer_.clear();
  while (true) {
    const int c = next_byte();
    if (c == std::char_traits<char>::eof()) {
      if (buffer_.empty()) return false;
      break;
    }
    if (c == '\n') break;
    if (buffer_.size() == kMaxLine) {
      throw FormatError("{}:{}: the line is longer than {} MiB", name_, line_ + 1, kMaxLine >> 20);
    }
    buffer_.push_back(static_cast<char>(c));
  }
  if (buffer_.ends_with('\r')) buffer_.pop_back();
  if (line_++ == 0 && buffer_.starts_with(kByteOrderMark)) buffer_.erase(0, kByteOrderMark.size());
  return true;
}

bool SentenceReader::next(std::string& sentence) {
  if (!read_line()) return false;
  if (const std::size_t bad = find_invalid_utf8(buffer_); bad < buffer_.size()) {
    throw FormatError("{}:{}: byte {} (0x{:02x}) is not valid UTF-8; convert the input to UTF-8", name_, line_, bad + 1,
                      static_cast<unsigned char>(buffer_[bad]));
  }
  if (format_ == InputFormat::json_lines)
    sentence = sentence_of(buffer_, name_, line_);
  else
    sentence.swap(buffer_);
  if (guessed_ && looks_like_json(sentence)) {
    if (line_ == 1 && sentence.find('{') < sentence.find('"')) {
      throw FormatError(
          "{}:1: the line is a JSON object; --format jsonl reads its \"text\", --format text takes the line "
          "as it is",
          name_);
    }
    ++json_like_;
  }
  return true;
}

}  // namespace weft::text
