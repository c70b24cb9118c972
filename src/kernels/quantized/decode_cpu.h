// Quantised weights decoded on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/elementwise/block_memory.h"
#include "kernels/matmul/cpu/panels.h"
#include "kernels/quantized/cpu/weight_dots.h"
#include "kernels/quantized/formats.h"

namespace weft::kernels {

// Safe to use from several threads.
class WeightDecoder {
 public:
  WeightDecoder(const QuantizedMatrix& w, const QuantizedLayout& layout);
  WeightDecoder(const WeightDecoder&) = delete;  // parts refer to each other
  WeightDecoder& operator=(const WeightDecoder&) = delete;

  // Elements [column, column + count) of a row, where rows of all matrices are counted through. With `rounded`,
  // products are rounded to that type before something is added.
  void row(std::int64_t row, std::int64_t column, std::int64_t count, float* to,
           std::optional<DType> rounded = {}) const;
  // y = a · the columns at elements `first`, first + stride, …, each of them `depth` elements of one row; `b` and its
  // row stride are not used. False where there is no form that takes weights as they are stored.
  bool multiply(const PanelRun<float>& run, std::int64_t first, std::int64_t stride) const;
  // The elements of row(), one by one: what the forms for many elements at a time are compared with.
  void plain_row(std::int64_t row, std::int64_t column, std::int64_t count, float* to,
                 std::optional<DType> rounded = {}) const;

 private:
  void choose_loop();
  void plain_blocks(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const;
  // The codes of elements, as numbers.
  void plain_codes(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const;
  std::int64_t scale_row(std::int64_t row) const;
  float scale(std::int64_t index) const;
  float zero(std::int64_t scale_row, std::int64_t scale_column) const;

  // Up to kPiece elements from a multiple of 16 on, and up to 15 more behind them.
  static constexpr std::int64_t kPiece = 256;
  void piece(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const;
  void block_piece(std::int64_t row, std::int64_t column, std::int64_t count, float* to) const;
  // The codes of elements; returns where in `to` the first one is.
  const std::uint8_t* codes(std::int64_t row, std::int64_t column, std::int64_t count, std::uint8_t* to) const;
  // Scales and zeros for each `run` elements, a power of two, up to kPiece of them.
  void factors(std::int64_t row, std::int64_t column, std::int64_t count, int run, float* scale, float* zero) const;
  void scales(std::int64_t first, std::int64_t count, float* to) const;
  void zeros(std::int64_t scale_row, std::int64_t first, std::int64_t count, float* to) const;
  // The number of bytes that so many elements take.
  std::int64_t bytes(std::int64_t elements) const;
  // Asks for the memory of the row that is kAhead rows further.
  static constexpr std::int64_t kAhead = 8;
  void prefetch(std::int64_t row, std::int64_t column, std::int64_t count) const;

  QuantizedLayout layout_;
  const std::byte *values_ = nullptr, *scales_ = nullptr, *zeros_ = nullptr;
  const std::int32_t* groups_ = nullptr;
  LoadBlock load_scales_ = nullptr, load_zeros_ = nullptr;
  std::int64_t zero_row_ = 0;
  WeightLoop loop_ = nullptr;
  WeightRun weight_run_;  // what all runs have in common
  float numbers_[16];
};

}  // namespace weft::kernels
