#include "kernels/quantized/decode_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/quantized/blocks.h"
#include "kernels/quantized/codes_cpu.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

// The first element that AWQ has in slot i of a word is element kAwqSlot[i].
constexpr int kAwqSlot[] = {0, 4, 1, 5, 2, 6, 3, 7};

std::uint32_t byte_at(const std::byte* bytes, std::int64_t i) { return static_cast<std::uint32_t>(bytes[i]); }

// `bits` bits from bit `at` on.
std::uint32_t bits_at(const std::byte* bytes, std::int64_t at, int bits) {
  const int shift = static_cast<int>(at % 8);
  std::uint32_t word = byte_at(bytes, at / 8);
  if (shift + bits > 8) word |= byte_at(bytes, at / 8 + 1) << 8;
  return word >> shift & ((1u << bits) - 1);
}

float number_of(std::uint32_t code, CodeType type, int bits) {
  switch (type) {
    case CodeType::unsigned_integer:
      return static_cast<float>(code);
    case CodeType::signed_integer: {
      const std::uint32_t sign = 1u << (bits - 1);
      return static_cast<float>(static_cast<std::int32_t>((code ^ sign) - sign));
    }
    case CodeType::e2m1:
      return e2m1_to_f32(code);
    case CodeType::e4m3:
      return float8_e4m3::from_bits(static_cast<float8_e4m3::Bits>(code));
    case CodeType::e5m2:
      return float8_e5m2::from_bits(static_cast<float8_e5m2::Bits>(code));
  }
  throw InternalError("quantised weights: no such code");
}

float rounded_to(float x, DType type) {
  if (type == DType::f16) return static_cast<float>(float16(x));
  if (type == DType::bf16) return static_cast<float>(bfloat16(x));
  return x;
}

const std::byte* bytes_of(const std::optional<View>& view) {
  return view ? view->buffer.data() + view->offset : nullptr;
}

}  // namespace

WeightDecoder::WeightDecoder(const QuantizedMatrix& w, const QuantizedLayout& layout)
    : layout_(layout),
      values_(w.values.buffer.data() + w.values.offset),
      scales_(bytes_of(w.scales)),
      zeros_(bytes_of(w.zeros)),
      groups_(reinterpret_cast<const std::int32_t*>(bytes_of(w.groups))) {
  if (w.scales) load_scales_ = load_block(layout.scale == ScaleForm::e4m3 ? DType::f8e4m3 : w.scales->dtype);
  if (w.zeros) {
    load_zeros_ = load_block(w.zeros->dtype);
    zero_row_ = w.zeros->shape()[-1];
  }
}

std::int64_t WeightDecoder::scale_row(std::int64_t row) const {
  const std::int64_t matrix = row / layout_.rows, first = matrix * layout_.scale_rows;
  if (!groups_) return first + (row - matrix * layout_.rows) / layout_.group_rows;
  // As unsigned numbers, so that negative ones are too large.
  const auto group = static_cast<std::int64_t>(static_cast<std::uint32_t>(groups_[row]));
  return first + std::min(group, layout_.scale_rows - 1);
}

float WeightDecoder::scale(std::int64_t index) const {
  if (layout_.scale == ScaleForm::e8m0) return e8m0_to_f32(byte_at(scales_, index));
  float value = 0;
  load_scales_(scales_, index, 1, 1, &value);
  return value;
}

float WeightDecoder::zero(std::int64_t scale_row, std::int64_t scale_column) const {
  const int bits = layout_.bits;
  switch (layout_.zero) {
    case ZeroForm::none:
      return 0;
    case ZeroForm::constant:
      return static_cast<float>(layout_.constant);
    case ZeroForm::codes:
      return number_of(bits_at(zeros_, (scale_row * zero_row_ + scale_column) * bits, bits), layout_.code, bits);
    case ZeroForm::bytes:
      return static_cast<float>(bits_at(zeros_ + scale_row * zero_row_, scale_column * bits, bits));
    case ZeroForm::columns:
      return static_cast<float>(bits_at(zeros_ + scale_row * zero_row_ * 4, scale_column * bits, bits) + 1);
    case ZeroForm::awq: {
      const std::int64_t at = scale_column / 8 * 32 + 4 * kAwqSlot[scale_column % 8];
      return static_cast<float>(bits_at(zeros_ + scale_row * zero_row_ * 4, at, 4));
    }
    default:
      break;
  }
  float value = 0;
  load_zeros_(zeros_, scale_row * zero_row_ + scale_column, 1, 1, &value);
  return value;
}

void WeightDecoder::blocks(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
  const BlockFormat& format = *layout_.blocks;
  const std::byte* block =
      values_ + (row * (layout_.stored_columns / format.elements) + column / format.elements) * format.bytes;
  std::int64_t skip = column % format.elements;
  float whole[256];
  for (std::int64_t done = 0; done < count; skip = 0, block += format.bytes) {
    const std::int64_t part = std::min(format.elements - skip, count - done);
    if (part == format.elements) {
      format.decode(block, to + done);
    } else {
      format.decode(block, whole);
      std::copy_n(whole + skip, part, to + done);
    }
    done += part;
  }
}

void WeightDecoder::codes(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
  const int bits = layout_.bits;
  const std::int64_t columns = layout_.stored_columns;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t c = column + i;
    std::uint32_t code = 0;
    switch (layout_.packing) {
      case Packing::down_columns: {
        // A stream down each column of words.
        const std::int64_t bit = row % 32 * bits, word = (row / 32 * bits + bit / 32) * columns + c;
        const int shift = static_cast<int>(bit % 32);
        std::uint32_t low = 0, high = 0;
        std::memcpy(&low, values_ + 4 * word, 4);
        code = low >> shift;
        if (shift + bits > 32) {
          std::memcpy(&high, values_ + 4 * (word + columns), 4);
          code |= high << (32 - shift);
        }
        code &= (1u << bits) - 1;
        break;
      }
      case Packing::awq:
        code = bits_at(values_, (row * columns + c) / 8 * 32 + 4 * kAwqSlot[c % 8], 4);
        break;
      default:
        code = bits_at(values_, (row * columns + c) * bits, bits);
    }
    to[i] = number_of(code, layout_.code, bits);
  }
}

void WeightDecoder::row(std::int64_t row, std::int64_t column, std::int64_t count, float* to,
                        std::optional<DType> rounded) const {
  if (layout_.blocks) return blocks(row, column, count, to);
  codes(row, column, count, to);
  const std::int64_t of_scales = scale_row(row), group = layout_.group_columns;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t c = column + i, part = std::min(group - c % group, count - i), of_group = c / group;
    const float s = scale(of_scales * layout_.scale_columns + of_group), z = zero(of_scales, of_group);
    float* const w = to + i;
    if (layout_.zero == ZeroForm::none) {
      for (std::int64_t e = 0; e < part; ++e) w[e] *= s;
    } else if (layout_.zero != ZeroForm::bias) {
      for (std::int64_t e = 0; e < part; ++e) w[e] = (w[e] - z) * s;
    } else if (rounded && *rounded != DType::f32) {
      for (std::int64_t e = 0; e < part; ++e) w[e] = rounded_to(w[e] * s, *rounded) + z;
    } else {
      for (std::int64_t e = 0; e < part; ++e) w[e] = w[e] * s + z;
    }
    i += part;
  }
}

}  // namespace weft::kernels
