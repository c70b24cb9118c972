// The rules of quantize_weights() step by step, each rounded to f32: quantize_weights.wgsl has the same. Compiled
// without contraction of products and sums (CMakeLists.txt).
#include "kernels/quantized/encode_cpu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/quantized/block_search.h"
#include "kernels/quantized/blocks.h"
#include "kernels/quantized/codes_cpu.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint32_t magnitude_bits(float x) { return bits_of(x) & 0x7fffffffu; }
float not_minus_zero(float x) { return bits_of(x) == 0x80000000u ? 0.0f : x; }

// x / s; 0 of x's sign where s is 0.
float quotient(float x, float s) { return s == 0 ? std::copysign(0.0f, x) : x / s; }
float reciprocal(float s) { return s == 0 ? 0.0f : 1 / s; }

// Bits one after the other from a bit of memory on; bits before and behind stay.
class BitWriter {
 public:
  BitWriter(std::byte* bytes, std::int64_t bit) : at_(bytes + bit / 8), used_(static_cast<int>(bit % 8)) {
    if (used_) word_ = static_cast<std::uint32_t>(*at_) & ((1u << used_) - 1);
  }
  // At most 16 bits.
  void put(std::uint32_t value, int bits) {
    word_ |= value << used_;
    for (used_ += bits; used_ >= 8; used_ -= 8, word_ >>= 8) *at_++ = static_cast<std::byte>(word_ & 255);
  }
  int used() const { return used_; }  // of the last byte
  void end() {
    if (used_ == 0) return;
    const std::uint32_t mask = (1u << used_) - 1;
    *at_ = static_cast<std::byte>((static_cast<std::uint32_t>(*at_) & ~mask) | word_);
  }

 private:
  std::byte* at_;
  std::uint32_t word_ = 0;
  int used_;
};

// The ends of a group, in the order of numbers where -0 is before 0 and NaN outside of the infinities.
class Range {
 public:
  // Whether 0 counts, too.
  explicit Range(bool with_zero) {
    if (with_zero) least_ = most_ = 0;
  }
  void take(float v) {
    const std::int32_t key = flipped(std::bit_cast<std::int32_t>(v));
    least_ = std::min(least_, key);
    most_ = std::max(most_, key);
    if (magnitude_bits(v) > magnitude_bits(first_largest_)) first_largest_ = v;
  }
  float low() const { return std::bit_cast<float>(flipped(least_)); }
  float high() const { return std::bit_cast<float>(flipped(most_)); }
  float first_largest() const { return first_largest_; }

 private:
  static std::int32_t flipped(std::int32_t b) { return b ^ ((b >> 31) & 0x7fffffff); }

  std::int32_t least_ = std::numeric_limits<std::int32_t>::max(), most_ = std::numeric_limits<std::int32_t>::min();
  float first_largest_ = 0;
};

struct GroupScale {
  bool valid = true;       // all are numbers, and f32 holds their range
  float scale = 0;         // as stored
  std::uint32_t code = 0;  // the same as 8 bits
  float zero = 0;          // a bias or zero point
  float factor = 0;        // what codes are computed by: a scale, or its reciprocal
};

class Encoder {
 public:
  Encoder(const View& x, const QuantizedMatrix& w, const QuantizedLayout& l, const Encoding& e)
      : x_(x), l_(l), e_(e), load_(load_block(x.dtype)), rows_(x.layout) {
    rows_.shape.erase(rows_.rank() - 1);
    rows_.strides.erase(rows_.strides.rank() - 1);
    values_ = data<std::byte>(w.values);
    if (w.scales) scales_ = data<std::byte>(*w.scales), scale_type_ = w.scales->dtype;
    if (w.zeros) zeros_ = data<std::byte>(*w.zeros), zero_type_ = w.zeros->dtype, zero_row_ = w.zeros->shape()[-1];
  }

  // A row of blocks, where those of all matrices are counted through.
  void blocks_of_row(const BlockSearch& search, std::int64_t row) const {
    const std::int64_t elements = l_.blocks->elements, bytes = l_.blocks->bytes;
    std::byte* to = values_ + row * row_bits(l_) / 8;
    float v[kMost];
    for (std::int64_t column = 0; column < l_.stored_columns; column += elements, to += bytes) {
      load(row, column, elements, v);
      encode_block(search, v, to);
    }
  }

  // A row of groups, where those of all matrices are counted through.
  void scale_row(std::int64_t scale_row) const {
    const std::int64_t matrix = scale_row / l_.scale_rows, skipped = scale_row % l_.scale_rows * l_.group_rows;
    const std::int64_t row = matrix * l_.rows + skipped, rows = std::min(l_.group_rows, l_.rows - skipped);
    const bool packed = l_.zero == ZeroForm::bytes;
    BitWriter points(zeros_, packed ? scale_row * zero_row_ * 8 : 0);
    for (std::int64_t g = 0; g < l_.scale_columns; ++g) {
      const std::int64_t column = g * l_.group_columns;
      const std::int64_t columns = std::min(l_.group_columns, l_.stored_columns - column);
      const GroupScale s = group(row, rows, column, columns);
      store_scale(s, scale_row * l_.scale_columns + g);
      if (packed) points.put(static_cast<std::uint32_t>(s.zero), l_.bits);
      for (std::int64_t r = row; r < row + rows; ++r) codes(s, r, column, columns);
    }
    // The rest of the last byte.
    while (packed && points.used() > 0) {
      const int bits = std::min(l_.bits, 8 - points.used());
      points.put((1u << (l_.bits - 1)) & ((1u << bits) - 1), bits);
    }
  }

 private:
  static constexpr std::int64_t kMost = 256;

  // Elements of a row; 0 for those behind its end.
  void load(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const {
    const std::int64_t stride = x_.strides()[-1], first = offset_of(rows_, row) + column * stride;
    const auto given = static_cast<int>(std::clamp<std::int64_t>(l_.columns - column, 0, count));
    const std::byte* const from = data<const std::byte>(x_);
    if (x_.dtype == DType::f64) {
      double wide[kMost];
      load_(from, first, stride, given, wide);
      std::transform(wide, wide + given, to, [](double v) { return static_cast<float>(v); });
    } else {
      load_(from, first, stride, given, to);
    }
    std::fill(to + given, to + count, 0.0f);
  }

  GroupScale group(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    Range range(e_.rule != EncodeRule::affine && e_.rule != EncodeRule::bounds);
    float v[kMost];
    for (std::int64_t r = row; r < row + rows; ++r) {
      for (std::int64_t c = 0; c < columns; c += kMost) {
        const std::int64_t n = std::min(kMost, columns - c);
        load(r, column + c, n, v);
        for (std::int64_t i = 0; i < n; ++i) range.take(v[i]);
      }
    }
    return scale_of(range);
  }

  float rounded_to_scales(float scale) const {
    round_block(scale_type_, &scale, 1);
    return scale;
  }

  GroupScale scale_of(const Range& range) const {
    float low = range.low(), high = range.high(), end = range.first_largest();
    const std::uint32_t magnitude = std::max(magnitude_bits(low), magnitude_bits(high));
    const bool zeros = magnitude < bits_of(kLeastMagnitude);
    if (zeros) low = high = end = 0;
    const bool below = magnitude_bits(low) > magnitude_bits(high);
    const float largest = zeros ? 0 : std::bit_cast<float>(magnitude), difference = high - low;
    const float steps = static_cast<float>((1 << e_.bits) - 1), half = static_cast<float>(1 << (e_.bits - 1));
    GroupScale s;
    s.valid = magnitude < 0x7f800000u;
    const auto reaches = [&] { s.valid &= magnitude_bits(difference) < 0x7f800000u; };
    switch (e_.rule) {
      case EncodeRule::affine:
        reaches();
        s.factor = std::max(difference / steps, kLeastAffineScale);
        if (e_.bits == 1) {
          s.zero = not_minus_zero(low);
        } else {
          if (!below) s.factor = -s.factor;
          const float edge = below ? low : high, code = std::nearbyint(edge / s.factor);
          if (code != 0) s.factor = edge / code, s.zero = edge;
        }
        s.scale = s.factor;
        break;
      case EncodeRule::micro: {
        const float scale = largest / e_.most;
        if (l_.scale == ScaleForm::e8m0) {
          s.code = !s.valid ? 255 : zeros ? 127 : e8m0_from_f32(scale);
          s.factor = e8m0_to_f32(s.code);
        } else {
          const float8_e4m3 nearest(std::min(scale, 448.0f));
          s.code = s.valid ? nearest.bits : 0x7f;
          s.factor = nearest;
        }
        break;
      }
      case EncodeRule::integers:
        if (e_.shifts) {
          reaches();
          s.scale = difference / steps;
          s.zero = std::nearbyint(std::clamp(quotient(-low, s.scale), 0.0f, steps)) + e_.least;
        } else {
          s.scale = (magnitude_bits(high) > magnitude_bits(low) ? high : low) / -half;
          s.zero = e_.least + half;
        }
        s.factor = rounded_to_scales(s.scale);
        break;
      case EncodeRule::floats:
        s.scale = largest / e_.most;
        s.factor = rounded_to_scales(s.scale);
        break;
      case EncodeRule::largest:
        s.scale = end / -half;
        s.factor = reciprocal(s.scale);
        break;
      case EncodeRule::bounds:
        reaches();
        s.scale = difference / steps;
        s.zero = not_minus_zero(low);
        s.factor = reciprocal(s.scale);
        break;
      case EncodeRule::magnitude:
        s.scale = largest / e_.most;
        s.factor = reciprocal(s.scale);
        break;
      case EncodeRule::search:
        break;  // blocks_of_row()
      case EncodeRule::power:
        s.code = !s.valid ? 255 : zeros ? 0 : (magnitude >> 23) - 2;
        s.factor = zeros ? 0 : std::bit_cast<float>(s.code << 23);
        break;
    }
    if (!s.valid) s.scale = std::numeric_limits<float>::quiet_NaN(), s.zero = 0;
    return s;
  }

  std::uint32_t code(const GroupScale& s, float v) const {
    if (!s.valid) return 0;
    const auto integer = [&](float c) {
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::clamp(c, e_.least, e_.most)));
    };
    const std::uint32_t mask = (1u << e_.bits) - 1;
    switch (e_.rule) {
      case EncodeRule::affine:
        return integer(std::nearbyint((v - s.zero) / s.factor));
      case EncodeRule::micro:
        if (e_.bits == 4) return e2m1_from_f32(quotient(v, s.factor), false);
        [[fallthrough]];
      case EncodeRule::floats: {
        const float q = std::clamp(quotient(v, s.factor), e_.least, e_.most);
        return l_.code == CodeType::e4m3 ? float8_e4m3(q).bits : float8_e5m2(q).bits;
      }
      case EncodeRule::integers:
        return integer(std::nearbyint(quotient(v, s.factor)) + s.zero) & mask;
      case EncodeRule::largest: {
        const float product = v * s.factor;
        return integer(std::floor(product + (static_cast<float>(1 << (e_.bits - 1)) + 0.5f)));
      }
      case EncodeRule::bounds: {
        const float product = (v - s.zero) * s.factor;
        return integer(std::floor(product + 0.5f));
      }
      case EncodeRule::magnitude:
        return integer(std::round(v * s.factor)) & mask;
      case EncodeRule::search:
        break;
      case EncodeRule::power:
        return e2m1_from_f32(quotient(v, s.factor), true);
    }
    return 0;
  }

  void store_scale(const GroupScale& s, std::int64_t index) const {
    if (!scales_) return;
    if (l_.scale != ScaleForm::numbers) {
      scales_[index] = static_cast<std::byte>(s.code);
      return;
    }
    store_block(scale_type_)(scales_, index, 1, 1, &s.scale);
    if (l_.zero == ZeroForm::bias || l_.zero == ZeroForm::numbers) {
      store_block(zero_type_)(zeros_, index, 1, 1, &s.zero);
    } else if (l_.zero == ZeroForm::codes) {
      BitWriter writer(zeros_, index * l_.bits);
      writer.put(static_cast<std::uint32_t>(static_cast<std::int32_t>(s.zero)) & ((1u << l_.bits) - 1), l_.bits);
      writer.end();
    }
  }

  // The codes of a group in a row, and a block's scale before them.
  void codes(const GroupScale& s, std::int64_t row, std::int64_t column, std::int64_t columns) const {
    float v[kMost];
    if (l_.blocks) {
      load(row, column, columns, v);
      BitWriter writer(values_, row * row_bits(l_) + column / columns * l_.blocks->bytes * 8);
      return block(s, v, writer);
    }
    BitWriter writer(values_, row * row_bits(l_) + column * l_.bits);
    for (std::int64_t c = 0; c < columns; c += kMost) {
      const std::int64_t n = std::min(kMost, columns - c);
      load(row, column + c, n, v);
      for (std::int64_t i = 0; i < n; ++i) writer.put(code(s, v[i]), l_.bits);
    }
    writer.end();
  }

  void block(const GroupScale& s, const float* v, BitWriter& writer) const {
    std::uint32_t c[32];
    for (int i = 0; i < 32; ++i) c[i] = code(s, v[i]);
    if (e_.rule == EncodeRule::power) {
      writer.put(s.code, 8);
    } else {
      writer.put(float16(s.scale).bits, 16);
    }
    if (e_.rule == EncodeRule::bounds) writer.put(float16(s.zero).bits, 16);
    if (e_.bits == 5) {
      for (const std::uint32_t i : c) writer.put(i >> 4, 1);
    }
    if (e_.bits == 8) {
      for (const std::uint32_t i : c) writer.put(i, 8);
    } else {
      for (int i = 0; i < 16; ++i) writer.put((c[i] & 15) | (c[i + 16] & 15) << 4, 8);
    }
  }

  const View& x_;
  const QuantizedLayout& l_;
  const Encoding& e_;
  LoadBlock load_;
  Layout rows_;
  std::byte *values_ = nullptr, *scales_ = nullptr, *zeros_ = nullptr;
  DType scale_type_ = DType::f32, zero_type_ = DType::f32;
  std::int64_t zero_row_ = 0;
};

}  // namespace

void encode_cpu(cpu::Executor& executor, const View& x, const QuantizedMatrix& w, const QuantizedLayout& l,
                const Encoding& e) {
  const Encoder encoder(x, w, l, e);
  const std::int64_t rows = l.matrices * l.scale_rows;
  // Rows that share bytes are one thread's.
  const bool whole = row_bits(l) % 8 == 0 && (l.zero != ZeroForm::codes || l.scale_columns * l.bits % 8 == 0);
  const std::int64_t elements = std::max<std::int64_t>(l.group_rows * l.stored_columns, 1);
  if (const BlockSearch* const search = block_search(l.format.scheme)) {
    return parallel(executor, rows, std::max<std::int64_t>(1, 512 / elements),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t r = begin; r < end; ++r) encoder.blocks_of_row(*search, r);
                    });
  }
  parallel(executor, rows, whole ? std::max<std::int64_t>(1, 4096 / elements) : rows,
           [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t r = begin; r < end; ++r) encoder.scale_row(r);
           });
}

}  // namespace weft::kernels
