// How quantised weights lie in memory: a row for each scheme, and what a matrix's operands make of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/kernels/quantized.h"
#include "weft/tensor_type.h"

namespace weft::kernels {

// What the bits of an element stand for.
enum class CodeType : std::uint8_t { unsigned_integer, signed_integer, e2m1, e4m3, e5m2 };
inline constexpr std::string_view kCodeTypes[] = {"unsigned_integer", "signed_integer", "e2m1", "e4m3", "e5m2"};
// Where they are: one after the other along rows (rows lie one behind the other), so but eight in a word in AWQ's
// order, down columns of words, or in blocks with a format of their own (blocks.h).
enum class Packing : std::uint8_t { along_rows, awq, down_columns, blocks };
// What comes off a code, or (bias) is added to its product with the scale.
enum class ZeroForm : std::uint8_t {
  none,
  constant,  // QuantizedLayout::constant
  numbers,   // for each scale, as floats
  bias,      // the same, added
  codes,     // for each scale, of the values' type
  bytes,     // packed, rows of whole bytes
  columns,   // packed in words along columns, QuantizedLayout::constant less than the zero point
  awq,       // packed in words along columns, in AWQ's order
};
inline constexpr std::string_view kZeroForms[] = {"none",  "constant", "numbers", "bias",
                                                  "codes", "bytes",    "columns", "awq"};
enum class ScaleForm : std::uint8_t { none, numbers, e8m0, e4m3 };

struct BlockFormat;

// Whether it is rows that share scales, for stored columns are what others' rows are.
inline bool groups_rows(QuantizedScheme scheme) {
  return scheme == QuantizedScheme::gptq || scheme == QuantizedScheme::gptq_v2 || scheme == QuantizedScheme::awq;
}

// Whether codes are entries of a codebook, which kernels bind as one more buffer.
bool has_grid(QuantizedScheme scheme);

struct QuantizedLayout {
  QuantizedFormat format;  // complete
  CodeType code = CodeType::unsigned_integer;
  Packing packing = Packing::along_rows;
  ZeroForm zero = ZeroForm::none;
  ScaleForm scale = ScaleForm::none;
  int bits = 0;
  double constant = 0;
  // As stored; the last group of a row may end behind `columns`.
  std::int64_t matrices = 1, rows = 0, stored_columns = 0;
  std::int64_t columns = 0;
  // A scale is that of so many adjacent rows and columns; scales are [matrices, scale_rows, scale_columns].
  std::int64_t group_rows = 1, group_columns = 1, scale_rows = 1, scale_columns = 1;
  const BlockFormat* blocks = nullptr;

  std::int64_t stored() const { return matrices * rows * stored_columns; }
  // Whether the scale of element i is number i / group_columns, and so is what comes off.
  bool scales_in_order() const {
    return group_rows == 1 && stored_columns % group_columns == 0 && zero != ZeroForm::columns && zero != ZeroForm::awq;
  }
  // So many elements, from a multiple of as many on, share a scale.
  bool in_runs(int count) const;
  // How many adjacent runs of 32 share bytes of values: threads that read runs take a part of each.
  int run_span() const;
  // Four elements that begin at a multiple of four are in one row, and share a scale or have one each.
  bool in_fours() const {
    return stored_columns % 4 == 0 && (blocks || group_columns % 4 == 0 || group_columns == 1 || scale_columns == 1);
  }
};

// Where the weights' elements are stored, in the order of the axes of `weights`, [..., rows, columns]: a view of
// placeholder memory as if each took the bytes of `counted_as`, so that chunks can be cut of it.
View stored_elements(const View& weights, const QuantizedLayout& layout, DType counted_as);

// The types of a matrix's operands; null where one is not given.
struct QuantizedTypes {
  TensorType values;
  const TensorType *scales = nullptr, *zeros = nullptr, *groups = nullptr;
};

// The layout as far as values say it.
QuantizedLayout values_layout(const QuantizedFormat& format, DType values, const Shape& shape);
// The layout of a matrix of operands of these types, which are checked in the name of `kernel`.
QuantizedLayout quantized_layout(std::string_view kernel, const QuantizedFormat& format, const QuantizedTypes& types);
// The same; views must be dense.
QuantizedLayout quantized_layout(std::string_view kernel, const QuantizedMatrix& w);

// Which types values, scales and zeros may have, for schemas.
TypeSet quantized_value_types();

}  // namespace weft::kernels
