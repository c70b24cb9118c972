// Quantised weights decoded on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/elementwise/block_memory.h"
#include "kernels/quantized/formats.h"

namespace weft::kernels {

// Safe to use from several threads.
class WeightDecoder {
 public:
  WeightDecoder(const QuantizedMatrix& w, const QuantizedLayout& layout);

  // Elements [column, column + count) of a row, where rows of all matrices are counted through. With `rounded`,
  // products are rounded to that type before something is added.
  void row(std::int64_t row, std::int64_t column, std::int64_t count, float* to,
           std::optional<DType> rounded = {}) const;

 private:
  void blocks(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const;
  // The codes of elements, as numbers.
  void codes(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const;
  std::int64_t scale_row(std::int64_t row) const;
  float scale(std::int64_t index) const;
  float zero(std::int64_t scale_row, std::int64_t scale_column) const;

  QuantizedLayout layout_;
  const std::byte *values_ = nullptr, *scales_ = nullptr, *zeros_ = nullptr;
  const std::int32_t* groups_ = nullptr;
  LoadBlock load_scales_ = nullptr, load_zeros_ = nullptr;
  std::int64_t zero_row_ = 0;
};

}  // namespace weft::kernels
