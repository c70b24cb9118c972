// Protocol Buffers' wire format, written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::onnx {

// The fields of a message, in the order in which they are added.
class WireWriter {
 public:
  WireWriter& integer(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  WireWriter& number(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  WireWriter& text(int field, std::string_view value) {
    begin(field, value.size());
    bytes_ += value;
    return *this;
  }
  WireWriter& message(int field, const WireWriter& value) { return text(field, value.bytes_); }
  // A field of so many bytes, which follow.
  WireWriter& begin(int field, std::uint64_t size) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(size);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace weft::onnx
