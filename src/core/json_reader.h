// Reads JSON from outside with errors that name the file and the path of the value: `config.json: expected an integer
// from 1 to 64 at "heads.count", got "twelve"`.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A key that an object has twice: the last one counts, as for Python's json and for JavaScript, by which the files of
// Hugging Face's libraries are read; or it is refused, as two programs may take such a file for two things.
enum class RepeatedKeys : std::uint8_t { last_counts, refused };

// Parses a whole text. Throws FormatError, with line and column for what is no JSON.
nlohmann::json parse_json(std::string_view text, std::string_view source,
                          RepeatedKeys repeated = RepeatedKeys::last_counts);

// A value and its path. Cheap to copy; the json must outlive it. Every accessor throws FormatError on a value of
// another type.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& value, std::string source) : value_(&value), source_(std::move(source)) {}

  // The member of an object; at() throws if it is absent, find() returns nothing if it is absent or null.
  JsonReader at(std::string_view key) const;
  std::optional<JsonReader> find(std::string_view key) const;
  bool has(std::string_view key) const;  // also when it is null
  bool is_null() const;
  bool is_string() const;

  std::string text() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t highest = std::numeric_limits<std::int64_t>::max()) const;
  double number() const;
  std::vector<JsonReader> elements() const;                         // of an array
  std::vector<std::pair<std::string, JsonReader>> members() const;  // of an object

  const nlohmann::json& value() const { return *value_; }
  // "file: at \"path\"", for messages about the value.
  std::string where() const;
  // Throws FormatError: expected …, got this value.
  [[noreturn]] void expected(std::string_view what) const;

 private:
  JsonReader(const nlohmann::json& value, std::string source, std::string path)
      : value_(&value), source_(std::move(source)), path_(std::move(path)) {}
  JsonReader child(const nlohmann::json& value, std::string_view key) const;

  const nlohmann::json* value_;
  std::string source_, path_;
};

}  // namespace weft
