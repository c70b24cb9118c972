#include "core/json_reader.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/format.h"
#include "core/git_lfs.h"
#include "core/in_quotes.h"
#include "weft/error.h"

namespace weft {

using nlohmann::json;

namespace {

// For json::parse(): refuses a key that its object has already.
class RefuseRepeatedKeys {
 public:
  explicit RefuseRepeatedKeys(std::string_view source) : source_(source) {}

  bool operator()(int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event != json::parse_event_t::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (keys_.back().insert(key).second) return true;
    throw FormatError("{}: an object has the key {} twice", source_, in_quotes(key));
  }

 private:
  std::string_view source_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects that are open, the innermost last
};

}  // namespace

json parse_json(std::string_view text, std::string_view source, RepeatedKeys repeated) {
  refuse_git_lfs_pointer(text, source);
  try {
    if (repeated == RepeatedKeys::last_counts) return json::parse(text);
    RefuseRepeatedKeys refuse(source);
    return json::parse(text, std::ref(refuse));
  } catch (const json::parse_error& error) {
    // `byte` counts from 1 and is the position after the last character read.
    const auto end = std::min<std::size_t>(error.byte ? error.byte - 1 : 0, text.size());
    const auto before = text.substr(0, end);
    const auto line = std::ranges::count(before, '\n') + 1;
    const auto newline = before.rfind('\n');
    const auto column = newline == std::string_view::npos ? end + 1 : end - newline;
    throw FormatError("{}:{}:{}: broken JSON; the file may be damaged or cut off", source, line, column);
  } catch (const json::out_of_range&) {
    throw FormatError("{}: broken JSON: a number is too large", source);
  }
}

JsonReader JsonReader::child(const json& value, std::string_view key) const {
  return {value, source_, path_.empty() ? std::string(key) : path_ + "." + std::string(key)};
}

JsonReader JsonReader::at(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) {
    throw FormatError("{}: {} is missing", source_,
                      in_quotes(path_.empty() ? std::string(key) : path_ + "." + std::string(key)));
  }
  return child(*found, key);
}

std::optional<JsonReader> JsonReader::find(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return child(*found, key);
}

bool JsonReader::has(std::string_view key) const { return value_->is_object() && value_->contains(key); }
bool JsonReader::is_null() const { return value_->is_null(); }
bool JsonReader::is_string() const { return value_->is_string(); }

std::string JsonReader::text() const {
  if (!value_->is_string()) expected("a string");
  return value_->get<std::string>();
}

bool JsonReader::boolean() const {
  if (!value_->is_boolean()) expected("true or false");
  return value_->get<bool>();
}

std::int64_t JsonReader::integer(std::int64_t lowest, std::int64_t highest) const {
  const auto refuse = [&] {
    const bool any = lowest == std::numeric_limits<std::int64_t>::min();
    expected(any ? "an integer" : std::format("an integer from {} to {}", lowest, highest));
  };
  if (!value_->is_number_integer()) refuse();
  // Above 2⁶³ nlohmann's conversion would wrap around.
  if (value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse();
  }
  const auto integer = value_->get<std::int64_t>();
  if (integer < lowest || integer > highest) refuse();
  return integer;
}

double JsonReader::number() const {
  if (!value_->is_number()) expected("a number");
  return value_->get<double>();
}

std::vector<JsonReader> JsonReader::elements() const {
  if (!value_->is_array()) expected("an array");
  std::vector<JsonReader> result;
  result.reserve(value_->size());
  for (const auto& element : *value_) {
    result.push_back({element, source_, std::format("{}[{}]", path_, result.size())});
  }
  return result;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (!value_->is_object()) expected("an object");
  std::vector<std::pair<std::string, JsonReader>> result;
  result.reserve(value_->size());
  for (const auto& [key, element] : value_->items()) result.emplace_back(key, child(element, key));
  return result;
}

std::string JsonReader::where() const {
  return path_.empty() ? source_ : std::format("{}: at {}", source_, in_quotes(path_));
}

void JsonReader::expected(std::string_view what) const {
  std::string got(value_->type_name());
  if (value_->is_string())
    got = in_quotes(value_->get_ref<const std::string&>());
  else if (value_->is_number() || value_->is_boolean())
    got = value_->dump();
  else if (!value_->is_null())
    got = "an " + got;
  throw FormatError("{}: expected {}, got {}", where(), what, got);
}

}  // namespace weft
