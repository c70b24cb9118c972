#include "kernels/quantized/decode_cpu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/compiler.h"
#include "kernels/call.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/quantized/blocks.h"
#include "kernels/quantized/codes_cpu.h"
#include "kernels/quantized/cpu/code_loops.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

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
  choose_loop();
}

void WeightDecoder::choose_loop() {
  const auto numbers = [&](auto&& of) {
    for (int i = 0; i < 16; ++i) numbers_[i] = static_cast<float>(of(i));
  };
  const auto blocks = [&](WeightForm form, ZeroForm zero, int codes_at, auto&& of) {
    numbers(of);
    loop_ = weight_loop(form, zero);
    weight_run_.block_bytes = layout_.blocks->bytes, weight_run_.codes_at = codes_at;
  };
  const auto code = [](int i) { return i; };
  weight_run_.numbers = numbers_;
  switch (layout_.format.scheme) {
    case QuantizedScheme::q4_0:
      return blocks(WeightForm::nibble_blocks, ZeroForm::none, 2, [](int i) { return i - 8; });
    case QuantizedScheme::q4_1:
      return blocks(WeightForm::nibble_blocks, ZeroForm::bias, 4, code);
    case QuantizedScheme::iq4_nl:
      return blocks(WeightForm::nibble_blocks, ZeroForm::none, 2, [](int i) { return kNonlinear[i]; });
    case QuantizedScheme::ggml_mxfp4:
      return blocks(WeightForm::e8m0_blocks, ZeroForm::none, 1, [](int i) { return kDoubledE2M1[i]; });
    case QuantizedScheme::q4_k:
      return blocks(WeightForm::k_blocks, ZeroForm::bias, 16, code);
    case QuantizedScheme::q8_0:
      loop_ = weight_loop(WeightForm::byte_blocks, ZeroForm::none);
      return;
    default:
      break;
  }
  const bool sixteens =
      layout_.stored_columns % 16 == 0 && (layout_.scale_columns == 1 || layout_.group_columns % 16 == 0);
  if (layout_.blocks || layout_.packing != Packing::along_rows || !sixteens) return;
  if (layout_.bits == 4) {
    numbers([&](int i) { return number_of(static_cast<std::uint32_t>(i), layout_.code, 4); });
    loop_ = weight_loop(WeightForm::nibbles, layout_.zero);
  } else if (layout_.bits == 8 && layout_.code == CodeType::unsigned_integer) {
    loop_ = weight_loop(WeightForm::bytes, layout_.zero);
  } else if (layout_.bits == 8 && layout_.code == CodeType::signed_integer) {
    loop_ = weight_loop(WeightForm::signed_bytes, layout_.zero);
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
      return static_cast<float>(bits_at(zeros_ + scale_row * zero_row_ * 4, scale_column * bits, bits)) +
             static_cast<float>(layout_.constant);
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

void WeightDecoder::plain_blocks(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
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

void WeightDecoder::plain_codes(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
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

void WeightDecoder::plain_row(std::int64_t row, std::int64_t column, std::int64_t count, float* to,
                              std::optional<DType> rounded) const {
  if (layout_.blocks) return plain_blocks(row, column, count, to);
  plain_codes(row, column, count, to);
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

void WeightDecoder::scales(std::int64_t first, std::int64_t count, float* to) const {
  if (layout_.scale != ScaleForm::e8m0) return load_scales_(scales_, first, 1, static_cast<int>(count), to);
  for (std::int64_t i = 0; i < count; ++i) to[i] = e8m0_to_f32(byte_at(scales_, first + i));
}

void WeightDecoder::zeros(std::int64_t scale_row, std::int64_t first, std::int64_t count, float* to) const {
  const ZeroForm form = layout_.zero;
  if (form == ZeroForm::constant) {
    std::fill_n(to, count, static_cast<float>(layout_.constant));
  } else if (form == ZeroForm::numbers || form == ZeroForm::bias) {
    load_zeros_(zeros_, scale_row * zero_row_ + first, 1, static_cast<int>(count), to);
  } else if (form == ZeroForm::columns || form == ZeroForm::awq) {
    // For each column, from a multiple of 16 on.
    std::uint8_t codes[kPiece];
    const std::int64_t at = first / 8 * layout_.bits, bytes = zero_row_ * 4, eights = ceil_div(count, 8);
    const std::byte* const from = zeros_ + scale_row * bytes + at;
    if (form == ZeroForm::awq)
      code_loops::unpack_awq(from, eights, codes);
    else
      code_loops::unpack(from, bytes - at, layout_.bits, eights, codes);
    const int more = form == ZeroForm::columns ? static_cast<int>(layout_.constant) : 0;
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(codes[i] + more);
  } else if (form != ZeroForm::none) {
    const int bits = layout_.bits;
    const std::int64_t at =
        form == ZeroForm::bytes ? 8 * scale_row * zero_row_ + first * bits : (scale_row * zero_row_ + first) * bits;
    if (at % 8 != 0) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = zero(scale_row, first + i);
      return;
    }
    std::uint8_t codes[kPiece];
    code_loops::unpack(zeros_ + at / 8, ceil_div(count * bits, 8), bits, ceil_div(count, 8), codes);
    for (std::int64_t i = 0; i < count; ++i) to[i] = number_of(codes[i], layout_.code, bits);
  }
}

const std::uint8_t* WeightDecoder::codes(std::int64_t row, std::int64_t column, std::int64_t count,
                                         std::uint8_t* to) const {
  const int bits = layout_.bits;
  const std::int64_t columns = layout_.stored_columns, element = row * columns + column;
  if (layout_.packing == Packing::down_columns) {
    const std::int64_t bit = row % 32 * bits;
    const std::byte* const words = values_ + 4 * ((row / 32 * bits + bit / 32) * columns + column);
    code_loops::unpack_words(words, words + 4 * columns, static_cast<int>(bit % 32), bits, count, to);
    return to;
  }
  // By eight elements, which begin with a byte.
  const std::int64_t skip = element % 8, eights = ceil_div(skip + count, 8), at = element / 8 * bits;
  if (layout_.packing == Packing::awq) {
    code_loops::unpack_awq(values_ + at, eights, to);
  } else {
    code_loops::unpack(values_ + at, ceil_div(layout_.stored() * bits, 8) - at, bits, eights, to);
  }
  return to + skip;
}

void WeightDecoder::block_piece(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
  const BlockFormat& format = *layout_.blocks;
  const std::int64_t blocks = ceil_div(count, format.elements);
  std::uint8_t codes[kPiece];
  float scale[kPiece / 16], zero[kPiece / 16];
  format.unpack(values_ + (row * layout_.stored_columns + column) / format.elements * format.bytes, blocks, codes,
                scale, zero);
  if (!format.adds) std::ranges::fill(zero, static_cast<float>(format.zero));
  code_loops::widen(codes, blocks * format.elements, CodeType::unsigned_integer, 8,
                    {scale, zero, format.run, format.adds ? ZeroForm::bias : ZeroForm::numbers}, to);
}

void WeightDecoder::piece(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
  if (layout_.blocks) return block_piece(row, column, count, to);
  std::uint8_t codes[kPiece + 32] = {};
  float scale[kPiece], zero[kPiece];
  const int run = layout_.scale_columns == 1 || layout_.group_columns % 16 == 0 ? 16 : 1;
  factors(row, column, count, run, scale, zero);
  const std::uint8_t* const from = this->codes(row, column, count, codes);
  code_loops::widen(from, ceil_div(count, run) * run, layout_.code, layout_.bits, {scale, zero, run, layout_.zero}, to);
}

void WeightDecoder::factors(std::int64_t row, std::int64_t column, std::int64_t count, int run, float* scale,
                            float* zero) const {
  float of_scale[kPiece], of_zero[kPiece];
  const std::int64_t group = layout_.group_columns, of_row = scale_row(row);
  const std::int64_t first = column / group, last = (column + count - 1) / group, groups = last - first + 1;
  const bool direct = group == run;
  scales(of_row * layout_.scale_columns + first, groups, direct ? scale : of_scale);
  zeros(of_row, first, groups, direct ? zero : of_zero);
  if (direct) return;
  const int shift = std::countr_zero(static_cast<unsigned>(run));
  for (std::int64_t g = 0, i = 0; g < groups; ++g) {
    const std::int64_t end = (std::min((first + g + 1) * group - column, count) + run - 1) >> shift;
    for (; i < end; ++i) scale[i] = of_scale[g], zero[i] = of_zero[g];
  }
}

std::int64_t WeightDecoder::bytes(std::int64_t elements) const {
  return layout_.blocks ? elements / layout_.blocks->elements * layout_.blocks->bytes : elements * layout_.bits / 8;
}

void WeightDecoder::prefetch(std::int64_t row, std::int64_t column, std::int64_t count) const {
  if (layout_.packing == Packing::awq || layout_.packing == Packing::down_columns) return;
  const std::int64_t element = (row + kAhead) * layout_.stored_columns + column;
  const std::int64_t end = std::min(bytes(element + count), bytes(layout_.stored()));
  for (std::int64_t at = bytes(element); at < end; at += 64) WEFT_PREFETCH(values_ + at);
}

bool WeightDecoder::multiply(const PanelRun<float>& run, std::int64_t first, std::int64_t stride) const {
  constexpr std::int64_t kDepth = 4096, kSixteens = kDepth / 16;  // at a time
  const std::int64_t block = layout_.blocks ? layout_.blocks->elements : 16;
  if (!loop_ || first % block != 0 || stride % block != 0 || run.depth % block != 0) return false;
  thread_local Scratch scratch;
  const std::int64_t together = run.rows >= kWeightRows ? kWeightRows : run.rows >= 2 ? 2 : 1;
  const std::int64_t group = layout_.group_columns;
  WeightRun r = weight_run_;
  // Scales that are those of whole groups need not be repeated.
  if (group >= 16 && group <= kDepth && std::has_single_bit(static_cast<std::uint64_t>(group)) && first % group == 0 &&
      stride % group == 0) {
    r.shift = std::countr_zero(static_cast<std::uint64_t>(group / 16));
  }
  r.ahead = bytes(kAhead * stride);
  r.a_row = run.a_row, r.pitch = run.pitch, r.rows = together;
  if (together < run.rows)
    r.kept_row = std::min(kDepth, run.depth) + 16, r.kept = scratch.need(kWeightCols * r.kept_row);
  for (std::int64_t c = 0; c < run.cols; c += kWeightCols) {
    r.cols = std::min(kWeightCols, run.cols - c), r.y = run.y + c;
    for (std::int64_t k = 0; k < run.depth; k += kDepth) {
      r.a = run.a + k, r.depth = std::min(kDepth, run.depth - k), r.add = run.add || k > 0;
      WeightColumn columns[kWeightCols];
      float scale[kWeightCols][kSixteens], zero[kWeightCols][kSixteens];
      for (std::int64_t j = 0; j < r.cols; ++j) {
        const std::int64_t element = first + (c + j) * stride + k;
        columns[j] = {values_ + bytes(element), scale[j], zero[j]};
        if (!layout_.blocks)
          factors(element / layout_.stored_columns, element % layout_.stored_columns, r.depth, 16 << r.shift, scale[j],
                  zero[j]);
      }
      r.columns = columns;
      loop_(r);
      if (!r.kept) continue;
      panel_loops<float>().dots[0]({r.a + together * r.a_row, r.a_row, r.kept, r.kept_row, r.y + together * r.pitch,
                                    r.pitch, run.rows - together, r.cols, r.depth, r.add});
    }
  }
  return true;
}

void WeightDecoder::row(std::int64_t row, std::int64_t column, std::int64_t count, float* to,
                        std::optional<DType> rounded) const {
  if (rounded.value_or(DType::f32) != DType::f32) return plain_row(row, column, count, to, rounded);
  prefetch(row, column, count);
  const std::int64_t align = layout_.blocks ? layout_.blocks->elements : 16;
  for (const std::int64_t end = column + count; column < end;) {
    const std::int64_t first = column / align * align, stop = std::min(first + kPiece, end);
    if (first == column && (stop - first) % align == 0) {
      piece(row, first, stop - first, to);
    } else {
      float whole[kPiece];
      piece(row, first, stop - first, whole);
      std::copy(whole + (column - first), whole + (stop - first), to);
    }
    to += stop - column;
    column = stop;
  }
}

}  // namespace weft::kernels
