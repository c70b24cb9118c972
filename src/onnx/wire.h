// Protocol Buffers' wire format, read where it lies.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/format.h"
#include "core/utf8.h"
#include "weft/error.h"

namespace weft::onnx {

// The fields of a message, one after the other:
//
//   for (WireReader r(bytes, "NodeProto"); r.next();) switch (r.field()) { case 1: name = r.text(); break; … }
//
// A field that nobody asks for is skipped. Throws FormatError, which names the message and the offset in it, for what
// is cut off or of another kind than asked for.
class WireReader {
 public:
  WireReader(std::span<const std::byte> bytes, std::string_view message) : bytes_(bytes), message_(message) {}

  // Goes to the next field; false at the end.
  bool next() {
    if (at_ == bytes_.size()) return false;
    const std::uint64_t tag = read_varint();
    field_ = static_cast<std::uint32_t>(tag >> 3);
    kind_ = static_cast<Kind>(tag & 7);
    if (tag >> 32 || field_ == 0) fail("a field has the number {}", tag >> 3);
    switch (kind_) {
      case Kind::varint:
        number_ = read_varint();
        break;
      case Kind::fixed64:
        number_ = read_fixed<std::uint64_t>();
        break;
      case Kind::fixed32:
        number_ = read_fixed<std::uint32_t>();
        break;
      case Kind::bytes: {
        const std::uint64_t size = read_varint();
        if (size > bytes_.size() - at_)
          fail("field {} has {} bytes, and {} are left", field_, size, bytes_.size() - at_);
        value_ = bytes_.subspan(at_, static_cast<std::size_t>(size));
        at_ += static_cast<std::size_t>(size);
        break;
      }
      default:
        fail("field {} is of kind {}, which Protocol Buffers 3 do not have", field_, static_cast<int>(kind_));
    }
    return true;
  }
  std::uint32_t field() const { return field_; }

  std::int64_t integer() const { return static_cast<std::int64_t>(expect(Kind::varint)); }
  float float32() const { return std::bit_cast<float>(static_cast<std::uint32_t>(expect(Kind::fixed32))); }
  std::span<const std::byte> bytes() const { return expect(Kind::bytes), value_; }
  std::string text() const {
    const std::span<const std::byte> b = bytes();
    const std::string_view view(reinterpret_cast<const char*>(b.data()), b.size());
    if (find_invalid_utf8(view) != view.size()) fail("field {} is a text that is not UTF-8", field_);
    return std::string(view);
  }

  // One or more elements of a repeated field of numbers, packed or not, to `to.push_back`.
  template <class T>
  void integers(T& to) {
    if (kind_ != Kind::bytes) return to.push_back(static_cast<typename T::value_type>(integer()));
    WireReader inside(value_, message_);
    while (inside.at_ < inside.bytes_.size()) to.push_back(static_cast<typename T::value_type>(inside.read_varint()));
  }
  template <class T>
  void floats(T& to) {
    using Number = typename T::value_type;
    using Bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
    constexpr Kind kOne = sizeof(Number) == 4 ? Kind::fixed32 : Kind::fixed64;
    if (kind_ != Kind::bytes) return to.push_back(std::bit_cast<Number>(static_cast<Bits>(expect(kOne))));
    if (value_.size() % sizeof(Number))
      fail("field {} has {} bytes, which are no numbers of {}", field_, value_.size(), sizeof(Number));
    const std::size_t first = to.size(), count = value_.size() / sizeof(Number);
    to.resize(first + count);
    if (count) std::memcpy(to.data() + first, value_.data(), value_.size());
  }

  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    throw FormatError(
        std::format("onnx: {}, at byte {} of it: {}", message_, at_, std::format(format, std::forward<Args>(args)...)));
  }

 private:
  enum class Kind : std::uint8_t { varint, fixed64, bytes, begin_group, end_group, fixed32 };

  std::uint64_t expect(Kind kind) const {
    if (kind_ != kind)
      fail("field {} is of kind {}, expected {}", field_, static_cast<int>(kind_), static_cast<int>(kind));
    return number_;
  }
  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == bytes_.size()) fail("a number is cut off");
      const auto b = static_cast<std::uint64_t>(bytes_[at_++]);
      if (shift < 64) value |= (b & 0x7f) << shift;
      if (!(b & 0x80)) return value;
    }
    fail("a number has more than ten bytes");
  }
  template <class T>
  T read_fixed() {
    if (bytes_.size() - at_ < sizeof(T)) fail("a number is cut off");
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::span<const std::byte> bytes_, value_;
  std::string_view message_;
  std::size_t at_ = 0;
  std::uint32_t field_ = 0;
  Kind kind_ = Kind::varint;
  std::uint64_t number_ = 0;
};

}  // namespace weft::onnx
