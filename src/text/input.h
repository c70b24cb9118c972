// Reads sentences from a file or a stream, one at a time, in memory that does not grow with the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

namespace weft::text {

enum class InputFormat {
  // json_lines for names that end in .jsonl or .ndjson, else lines; then a name in .json and a first line that is a
  // JSON object are refused, because they hardly mean the text of the JSON
  automatic,
  lines,       // a sentence a line; an empty line is an empty sentence
  json_lines,  // a JSON string, or an object with "text", a line: the form for sentences with any character in them
};

class SentenceReader {
 public:
  // `path` "-" is standard input. Throws IoError when the file cannot be opened, FormatError for a name in .json
  // without a format.
  static SentenceReader open(const std::filesystem::path& path, InputFormat format = InputFormat::automatic);
  // Reads from `stream`, which must outlive the reader. `name` is what errors call it.
  SentenceReader(std::istream& stream, std::string name, InputFormat format = InputFormat::automatic);

  // Puts the next sentence into `sentence`; false at the end. A line may end in LF, in CRLF, or with the input; a byte
  // order mark at the start is skipped. Throws FormatError, naming input and line, for bytes that are not UTF-8, JSON
  // that is malformed or of another form, and lines over kMaxLine bytes; IoError when reading fails. After a
  // FormatError the next call continues after the faulty line, unless that line was too long. With the automatic
  // format throws FormatError also where the input looks like JSON that is not read as such.
  bool next(std::string& sentence);

  // Lines read so far.
  std::size_t line() const { return line_; }
  // Bytes read so far, line ends included.
  std::uint64_t bytes() const { return bytes_; }
  // Sentences that are a JSON object or string and were read as they are, because the format is automatic: probably by
  // mistake.
  std::size_t json_like() const { return json_like_; }
  const std::string& name() const { return name_; }

  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;

 private:
  bool read_line();
  int next_byte();

  std::unique_ptr<std::istream> owned_;
  std::istream* stream_;
  std::string name_;
  InputFormat format_;
  bool guessed_ = false;  // the format is that of any name
  std::string buffer_;
  std::size_t line_ = 0, json_like_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::text
