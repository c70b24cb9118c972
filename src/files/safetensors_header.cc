#include "files/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/format.h"
#include "core/in_quotes.h"
#include "weft/error.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kMaxDimensions = 64;  // far above real tensors; bounds the memory of a header

// A strict reader of
//   {"__metadata__": {"key": "value", …}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
// As the format's own library does, it takes null for the metadata, and skips other fields of a tensor.
class HeaderReader : public json::json_sax_t {
 public:
  explicit HeaderReader(std::string_view source) : source_(source) {}

  SafeTensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::start:
        return to(State::names);
      case State::entry_value:
        return to(State::fields);
      case State::metadata_value:
        return to(State::metadata_keys);
      case State::skipped:
        return open();
      default:
        unexpected("an object");
    }
  }

  bool end_object() override {
    switch (state_) {
      case State::names:
        return to(State::done);
      case State::metadata_keys:
        return to(State::names);
      case State::skipped:
        return close();
      case State::fields:
        break;
      default:
        unexpected("the end of an object");
    }
    for (const auto field : {kDType, kShape, kOffsets}) {
      if (!(seen_ & field)) fail("tensor {} lacks \"{}\"", in_quotes(entry_.name), field_name(field));
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    header_.entries.push_back(std::move(entry_));
    return to(State::names);
  }

  bool key(string_t& name) override {
    switch (state_) {
      case State::names:
        if (name == kMetadata) {
          if (std::exchange(metadata_seen_, true)) fail("\"{}\" is there twice", kMetadata);
          return to(State::metadata_value);
        }
        entry_ = {.name = std::move(name)};
        offsets_.clear();
        seen_ = 0;
        return to(State::entry_value);
      case State::metadata_keys:
        metadata_key_ = std::move(name);
        return to(State::metadata_text);
      case State::fields: {
        const int field = name == "dtype" ? kDType : name == "shape" ? kShape : name == "data_offsets" ? kOffsets : 0;
        if (!field) return to(State::skipped);
        if (seen_ & field) fail("tensor {} has \"{}\" twice", in_quotes(entry_.name), name);
        seen_ |= field;
        return to(field == kDType ? State::dtype : field == kShape ? State::shape : State::offsets);
      }
      case State::skipped:
        return true;
      default:
        unexpected("a key");
    }
  }

  bool string(string_t& value) override {
    if (state_ == State::dtype) {
      entry_.dtype = std::move(value);
      return to(State::fields);
    }
    if (state_ == State::skipped) return scalar();
    if (state_ != State::metadata_text) unexpected("a string");
    if (!header_.metadata.emplace(std::move(metadata_key_), std::move(value)).second) {
      fail("a key of \"{}\" is there twice", kMetadata);
    }
    return to(State::metadata_keys);
  }

  bool start_array(std::size_t) override {
    if (state_ == State::shape) return to(State::shape_values);
    if (state_ == State::offsets) return to(State::offset_values);
    if (state_ == State::skipped) return open();
    unexpected("an array");
  }

  bool end_array() override {
    if (state_ == State::skipped) return close();
    if (state_ == State::offset_values && offsets_.size() != 2) {
      fail("\"data_offsets\" of tensor {} has {} numbers, expected 2", in_quotes(entry_.name), offsets_.size());
    }
    return to(State::fields);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::skipped) return scalar();
    if (state_ == State::shape_values) {
      if (entry_.shape.size() == kMaxDimensions) fail("tensor {} has too many dimensions", in_quotes(entry_.name));
      entry_.shape.push_back(value);
      return true;
    }
    if (state_ != State::offset_values) unexpected("a number");
    if (offsets_.size() == 2) fail("\"data_offsets\" of tensor {} has more than 2 numbers", in_quotes(entry_.name));
    offsets_.push_back(value);
    return true;
  }

  bool number_integer(number_integer_t) override { return scalar("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return scalar("a number that is no 64-bit integer"); }
  bool null() override { return state_ == State::metadata_value ? to(State::names) : scalar("null"); }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail("broken JSON at byte {}", position);
  }

 private:
  enum class State {
    start,
    names,
    entry_value,
    fields,
    dtype,
    shape,
    shape_values,
    offsets,
    offset_values,
    metadata_value,
    metadata_keys,
    metadata_text,
    skipped,
    done,
  };
  static constexpr int kDType = 1, kShape = 2, kOffsets = 4;

  static std::string_view field_name(int field) {
    return field == kDType ? "dtype" : field == kShape ? "shape" : "data_offsets";
  }

  bool to(State state) {
    state_ = state;
    return true;
  }

  // The value of a field that is skipped may hold others.
  bool open() { return ++depth_, true; }
  bool close() {
    if (--depth_ == 0) state_ = State::fields;
    return true;
  }
  bool scalar(std::string_view what = "a value") {
    if (state_ != State::skipped) unexpected(what);
    if (depth_ == 0) state_ = State::fields;
    return true;
  }

  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    throw FormatError("{}: safetensors header: {}", source_, std::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void unexpected(std::string_view got) const {
    switch (state_) {
      case State::start:
        fail("expected a JSON object, got {}", got);
      case State::entry_value:
        fail("expected an object for tensor {}, got {}", in_quotes(entry_.name), got);
      case State::dtype:
        fail("expected a string as \"dtype\" of tensor {}, got {}", in_quotes(entry_.name), got);
      case State::shape:
      case State::shape_values:
        fail("expected sizes from 0 as \"shape\" of tensor {}, got {}", in_quotes(entry_.name), got);
      case State::offsets:
      case State::offset_values:
        fail("expected two byte positions as \"data_offsets\" of tensor {}, got {}", in_quotes(entry_.name), got);
      case State::metadata_value:
        fail("expected an object of strings as \"{}\", got {}", kMetadata, got);
      case State::metadata_text:
        fail("expected a string for {} of \"{}\", got {}", in_quotes(metadata_key_), kMetadata, got);
      default:
        fail("did not expect {}", got);
    }
  }

  std::string_view source_;
  State state_ = State::start;
  SafeTensorsHeader header_;
  SafeTensorsEntry entry_;
  std::vector<std::uint64_t> offsets_;
  int seen_ = 0;
  int depth_ = 0;  // of arrays and objects in a field that is skipped
  std::string metadata_key_;
  bool metadata_seen_ = false;
};

// A reader that tracks the path of the current value, for {"weight_map": {"tensor": "file", …}, …}.
class IndexReader : public json::json_sax_t {
 public:
  explicit IndexReader(std::string_view source) : source_(source) {}

  std::map<std::string, std::string> take() {
    if (!found_) fail("there is no \"weight_map\"");
    return std::move(weight_map_);
  }

  bool start_object(std::size_t) override {
    if (depth_ == 1 && section_ == kWeightMap) {
      if (std::exchange(found_, true)) fail("\"weight_map\" is there twice");
    } else if (in_weight_map()) {
      fail("expected a file name for tensor {}", in_quotes(name_));
    }
    ++depth_;
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override { return scalar(), ++depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (depth_ == 1)
      section_ = std::move(name);
    else if (in_weight_map())
      name_ = std::move(name);
    return true;
  }
  bool string(string_t& file) override {
    if (!in_weight_map()) return scalar();
    const bool plain = !file.empty() && file != "." && file != ".." &&
                       file.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
    if (!plain) fail("{} of tensor {} is not the name of a file beside the index", in_quotes(file), in_quotes(name_));
    if (!weight_map_.emplace(name_, std::move(file)).second) fail("the tensor {} is there twice", in_quotes(name_));
    return true;
  }
  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(number_integer_t) override { return scalar(); }
  bool number_unsigned(number_unsigned_t) override { return scalar(); }
  bool number_float(number_float_t, const string_t&) override { return scalar(); }
  bool binary(binary_t&) override { return scalar(); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail("broken JSON at byte {}", position);
  }

 private:
  static constexpr std::string_view kWeightMap = "weight_map";

  bool in_weight_map() const { return depth_ == 2 && section_ == kWeightMap; }

  // For values that are not an object of strings where the map should be.
  bool scalar() const {
    if (depth_ == 0) fail("expected a JSON object");
    if (depth_ == 1 && section_ == kWeightMap) fail("expected an object as \"weight_map\"");
    if (in_weight_map()) fail("expected a file name for tensor {}", in_quotes(name_));
    return true;
  }

  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    throw FormatError("{}: safetensors index: {}", source_, std::format(format, std::forward<Args>(args)...));
  }

  std::string_view source_;
  int depth_ = 0;
  std::string section_, name_;
  bool found_ = false;
  std::map<std::string, std::string> weight_map_;
};

}  // namespace

SafeTensorsHeader parse_safetensors_header(std::string_view text, std::string_view source) {
  // Required by the format, so that no other data can pass as a header.
  if (!text.starts_with('{')) {
    throw FormatError("{}: the safetensors header does not begin with \"{{\"; this is another kind of file", source);
  }
  HeaderReader reader(source);
  json::sax_parse(text, &reader);
  return reader.take();
}

std::map<std::string, std::string> parse_safetensors_index(std::string_view text, std::string_view source) {
  IndexReader reader(source);
  json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace weft
