#include "kernels/quantized/formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/common/memory.h"
#include "kernels/quantized/blocks.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr TypeSet kWords{DType::u32, DType::i32}, kBytes{DType::u8}, kNumbers{DType::f32, DType::f16, DType::bf16},
    kIntegers{DType::i8, DType::u8, DType::i4, DType::u4, DType::i2, DType::u2, DType::f8e4m3, DType::f8e5m2};

enum class Need : std::uint8_t { never, may, must };

// What a scheme allows. Lists of numbers end with 0; without any, every number is allowed.
struct SchemeRow {
  TypeSet values;
  int bits[8];
  std::int64_t groups[8];
  int usual_bits;
  std::int64_t usual_group;
  CodeType code;
  Packing packing;
  ScaleForm scale;
  TypeSet scales;
  Need zeros, groups_of_rows;
};

// So that products of sizes and bits do not overflow.
constexpr std::int64_t kMostColumns = std::int64_t{1} << 40;

constexpr auto kUnsigned = CodeType::unsigned_integer;
constexpr auto kRow = Packing::along_rows, kColumn = Packing::down_columns, kAwq = Packing::awq;
constexpr auto kFloats = ScaleForm::numbers;
constexpr auto kNo = Need::never, kMay = Need::may, kMust = Need::must;

// In the order of QuantizedScheme, without those of blocks.
constexpr SchemeRow kRows[] = {
    {kIntegers, {}, {}, 0, 0, kUnsigned, kRow, kFloats, kNumbers, kMay, kNo},
    {kWords, {1, 2, 3, 4, 5, 6, 8}, {32, 64, 128}, 4, 64, kUnsigned, kRow, kFloats, kNumbers, kMust, kNo},
    {kWords, {4}, {32}, 4, 32, CodeType::e2m1, kRow, ScaleForm::e8m0, kBytes, kNo, kNo},
    {kWords, {8}, {32}, 8, 32, CodeType::e4m3, kRow, ScaleForm::e8m0, kBytes, kNo, kNo},
    {kWords, {4}, {16}, 4, 16, CodeType::e2m1, kRow, ScaleForm::e4m3, kBytes | DType::f8e4m3, kNo, kNo},
    {kBytes, {2, 3, 4, 5, 6, 7, 8}, {}, 4, 32, kUnsigned, kRow, kFloats, kNumbers, kMay, kNo},
    {kWords, {2, 3, 4, 8}, {}, 4, 128, kUnsigned, kColumn, kFloats, kNumbers, kMay, kMay},
    {kWords, {2, 3, 4, 8}, {}, 4, 128, kUnsigned, kColumn, kFloats, kNumbers, kMay, kMay},
    {kWords, {4}, {}, 4, 128, kUnsigned, kAwq, kFloats, kNumbers, kMust, kNo},
};
constexpr SchemeRow kBlockRow{
    kBytes, {}, {}, 0, 0, CodeType::unsigned_integer, Packing::blocks, ScaleForm::none, {}, Need::never, Need::never};

const SchemeRow& row_of(QuantizedScheme scheme) {
  const auto i = static_cast<std::size_t>(scheme);
  return i < std::size(kRows) ? kRows[i] : kBlockRow;
}

std::string_view name_of(const QuantizedFormat& f) { return kQuantizedSchemes[static_cast<std::size_t>(f.scheme)]; }

template <class T, std::size_t n>
std::string listed(const T (&allowed)[n]) {
  std::string text;
  for (std::size_t i = 0; i < n && allowed[i] != 0; ++i) text += std::format("{}{}", i ? ", " : "", allowed[i]);
  return text;
}

template <class T, std::size_t n>
void check_number(const QuantizedFormat& f, std::string_view what, T given, const T (&allowed)[n]) {
  if (allowed[0] == 0 || std::ranges::find(allowed, given) != std::end(allowed)) return;
  throw InvalidArgument("quantised weights: {} of {} is {}, expected one of {}", what, name_of(f), given,
                        listed(allowed));
}

CodeType code_of(DType type) {
  if (type == DType::f8e4m3) return CodeType::e4m3;
  if (type == DType::f8e5m2) return CodeType::e5m2;
  return is_signed(type) ? CodeType::signed_integer : CodeType::unsigned_integer;
}

}  // namespace

bool has_grid(QuantizedScheme scheme) {
  return row_of(scheme).packing == Packing::blocks && block_format(scheme).grid != Grid::none;
}

QuantizedLayout values_layout(const QuantizedFormat& given, DType type, const Shape& shape) {
  QuantizedLayout l;
  l.format = complete(given);
  const QuantizedFormat& f = l.format;
  const SchemeRow& row = row_of(f.scheme);
  if (!row.values.contains(type)) {
    throw TypeError("quantised weights: values of {} are {}, expected {}", name_of(f), name(type),
                    to_string(row.values));
  }
  const auto fail = [&](const std::string& expected) {
    throw ShapeError("quantised weights: values of {} are {} {}, expected {}", name_of(f), name(type), to_string(shape),
                     expected);
  };
  const int inner = f.scheme == QuantizedScheme::nbits ? 3 : 2;
  if (shape.rank() < inner) fail(std::format("rank {} or more", inner));
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size > kMostColumns; })) fail("sizes of at most 2^40");
  l.code = row.code, l.packing = row.packing, l.scale = row.scale, l.bits = f.bits;
  l.matrices = element_count(Shape(std::span(shape.begin(), shape.end() - inner)));
  l.rows = shape[-inner];
  const std::int64_t last = shape[-1];
  if (row.packing == Packing::blocks) {
    l.blocks = &block_format(f.scheme);
    l.bits = 0;
    if (last % l.blocks->bytes != 0) fail(std::format("rows of a multiple of {} bytes", l.blocks->bytes));
    l.stored_columns = l.columns = last / l.blocks->bytes * l.blocks->elements;
    return l;
  }
  switch (f.scheme) {
    case QuantizedScheme::integers:
      l.code = code_of(type), l.bits = weft::bits(type);
      l.stored_columns = l.columns = last;
      break;
    case QuantizedScheme::nbits: {
      if (last * 8 != f.group * f.bits) fail(std::format("[rows, blocks, {}]", f.group * f.bits / 8));
      l.stored_columns = shape[-2] * f.group;
      l.columns = f.columns == 0 ? l.stored_columns : f.columns;
      if (l.columns > l.stored_columns || l.columns <= l.stored_columns - f.group) {
        fail(std::format("as many blocks of {} as {} columns take", f.group, l.columns));
      }
      break;
    }
    case QuantizedScheme::gptq:
    case QuantizedScheme::gptq_v2:
      if (l.rows * 32 % f.bits != 0) fail(std::format("words for whole rows of {} bits", f.bits));
      l.rows = l.rows * 32 / f.bits;
      l.stored_columns = l.columns = last;
      break;
    default:
      if (last * 32 % f.bits != 0) fail(std::format("words for whole columns of {} bits", f.bits));
      l.stored_columns = l.columns = last * 32 / f.bits;
  }
  const auto groups = [](std::int64_t size, std::int64_t group) { return group == 0 ? 1 : ceil_div(size, group); };
  if (groups_rows(f.scheme)) {
    l.group_rows = std::min(f.group, std::max<std::int64_t>(l.rows, 1)), l.group_columns = 1;
    l.scale_rows = groups(l.rows, l.group_rows), l.scale_columns = l.stored_columns;
  } else {
    const auto within = [](std::int64_t group, std::int64_t size) {
      return group == 0 ? std::max<std::int64_t>(size, 1) : std::min(group, std::max<std::int64_t>(size, 1));
    };
    l.group_rows = within(f.group_rows, l.rows);
    l.group_columns = f.scheme == QuantizedScheme::integers ? within(f.group, l.stored_columns) : f.group;
    // One group of all rows or columns is there even if these are none.
    l.scale_rows = groups(l.rows, f.group_rows == 0 ? 0 : l.group_rows);
    l.scale_columns = groups(l.stored_columns, f.group == 0 ? 0 : l.group_columns);
    if (f.scheme != QuantizedScheme::integers && l.stored_columns % l.group_columns != 0) {
      fail(std::format("a multiple of {} columns, not {}", l.group_columns, l.stored_columns));
    }
  }
  return l;
}

namespace {

void check_operand(std::string_view kernel, const QuantizedLayout& l, std::string_view what, Need need,
                   const TensorType* type) {
  if (type ? need != Need::never : need != Need::must) return;
  throw InvalidArgument("{}: weights of {} {} {}", kernel, name_of(l.format), type ? "have no" : "need", what);
}

// Throws unless the operand has one of these types and that shape behind the matrices' axes.
void check_type(std::string_view kernel, const QuantizedLayout& l, std::string_view what, const TensorType& type,
                TypeSet types, const Shape& leading, std::initializer_list<std::int64_t> last) {
  Shape expected = leading;
  for (const std::int64_t size : last) expected.push_back(size);
  if (!types.contains(type.dtype)) {
    throw TypeError("{}: {} of {} are {}, expected {}", kernel, what, name_of(l.format), to_string(type),
                    to_string(types));
  }
  if (type.shape != expected) {
    throw ShapeError("{}: {} of {} are {}, expected {}", kernel, what, name_of(l.format), to_string(type),
                     to_string(expected));
  }
}

}  // namespace

QuantizedFormat complete(const QuantizedFormat& given) {
  if (static_cast<std::size_t>(given.scheme) >= std::size(kQuantizedSchemes)) {
    throw InvalidArgument("quantised weights: there is no scheme {}", static_cast<int>(given.scheme));
  }
  QuantizedFormat f = given;
  const SchemeRow& row = row_of(f.scheme);
  const bool integers = f.scheme == QuantizedScheme::integers;
  if (f.bits == 0) f.bits = row.usual_bits;
  if (f.group == 0) f.group = row.usual_group;
  const auto none = [&](std::string_view what, std::int64_t value, std::int64_t usual) {
    if (value == usual) return;
    throw InvalidArgument("quantised weights: {} of {} is {}, which {} says itself", what, name_of(f), value,
                          integers ? "the type" : "the scheme");
  };
  if (row.bits[0] == 0) none("bits", f.bits, 0);
  if (row.packing == Packing::blocks) none("group", f.group, 0);
  if (!integers) none("group_rows", f.group_rows, 1);
  if (f.scheme != QuantizedScheme::nbits) none("columns", f.columns, 0);
  check_number(f, "bits", f.bits, row.bits);
  check_number(f, "group", f.group, row.groups);
  constexpr std::int64_t kLeast = 16;
  if (f.scheme == QuantizedScheme::nbits &&
      (f.group < kLeast || f.group > kMostColumns || !std::has_single_bit(static_cast<std::uint64_t>(f.group)))) {
    throw InvalidArgument("quantised weights: group of {} is {}, expected a power of two from {} on", name_of(f),
                          f.group, kLeast);
  }
  if (f.group < 0 || f.group_rows < 0 || f.columns < 0) {
    throw InvalidArgument("quantised weights: group is {}, group_rows {} and columns {}, none may be negative", f.group,
                          f.group_rows, f.columns);
  }
  return f;
}

Shape quantized_shape(const QuantizedFormat& format, DType values, const Shape& shape) {
  const QuantizedLayout l = values_layout(format, values, shape);
  const int inner = l.format.scheme == QuantizedScheme::nbits ? 3 : 2;
  Shape result;
  for (int d = 0; d + inner < shape.rank(); ++d) result.push_back(shape[d]);
  result.push_back(l.rows);
  result.push_back(l.columns);
  return result;
}

QuantizedLayout quantized_layout(std::string_view kernel, const QuantizedFormat& format, const QuantizedTypes& w) {
  QuantizedLayout l = values_layout(format, w.values.dtype, w.values.shape);
  const SchemeRow& row = row_of(l.format.scheme);
  check_operand(kernel, l, "scales", row.scale == ScaleForm::none ? Need::never : Need::must, w.scales);
  check_operand(kernel, l, "zeros", row.zeros, w.zeros);
  check_operand(kernel, l, "groups", row.groups_of_rows, w.groups);
  if (!w.scales) return l;

  Shape leading = w.values.shape;
  for (int d = l.format.scheme == QuantizedScheme::nbits ? 3 : 2; d > 0; --d) leading.erase(leading.rank() - 1);
  if (w.groups) {
    // Groups of rows say themselves how many scales there are.
    l.scale_rows = w.scales->shape.rank() >= 2 ? w.scales->shape[-2] : 0;
    if (l.scale_rows == 0 && l.rows > 0) {
      throw ShapeError("{}: scales are {}, expected [groups, {}]", kernel, to_string(*w.scales), l.scale_columns);
    }
  }
  check_type(kernel, l, "scales", *w.scales, row.scales, leading, {l.scale_rows, l.scale_columns});
  if (w.groups) check_type(kernel, l, "groups", *w.groups, kWords, leading, {l.rows});

  const auto packed_words = [&] { return ceil_div(l.scale_columns * l.bits, 32); };
  switch (l.format.scheme) {
    case QuantizedScheme::integers: {
      if (!w.zeros) break;
      l.zero = ZeroForm::codes;
      const TypeSet shifted = kIntegers - TypeSet{DType::f8e4m3, DType::f8e5m2};
      check_type(kernel, l, "zeros", *w.zeros, TypeSet(w.values.dtype) & shifted, leading,
                 {l.scale_rows, l.scale_columns});
      break;
    }
    case QuantizedScheme::affine:
      l.zero = ZeroForm::bias;
      check_type(kernel, l, "zeros", *w.zeros, kNumbers, leading, {l.scale_rows, l.scale_columns});
      break;
    case QuantizedScheme::nbits:
      if (!w.zeros) {
        l.zero = ZeroForm::constant;
        l.constant = static_cast<double>(1 << (l.bits - 1));
      } else if (w.zeros->dtype == DType::u8) {
        l.zero = ZeroForm::bytes;
        check_type(kernel, l, "zeros", *w.zeros, kBytes, leading,
                   {l.scale_rows, ceil_div(l.scale_columns * l.bits, 8)});
      } else {
        l.zero = ZeroForm::numbers;
        check_type(kernel, l, "zeros", *w.zeros, kNumbers, leading, {l.scale_rows, l.scale_columns});
      }
      break;
    case QuantizedScheme::gptq:
    case QuantizedScheme::gptq_v2:
      if (!w.zeros) {
        l.zero = ZeroForm::constant;
        l.constant = static_cast<double>(1 << (l.bits - 1));
        break;
      }
      l.zero = ZeroForm::columns;
      l.constant = l.format.scheme == QuantizedScheme::gptq ? 1 : 0;
      check_type(kernel, l, "zeros", *w.zeros, kWords, leading, {l.scale_rows, packed_words()});
      break;
    case QuantizedScheme::awq:
      l.zero = ZeroForm::awq;
      check_type(kernel, l, "zeros", *w.zeros, kWords, leading, {l.scale_rows, packed_words()});
      break;
    default:
      break;
  }
  return l;
}

QuantizedLayout quantized_layout(std::string_view kernel, const QuantizedMatrix& w) {
  const auto type = [](const View& view) { return TensorType{view.dtype, view.shape()}; };
  std::optional<TensorType> types[3];
  const std::optional<View>* const views[] = {&w.scales, &w.zeros, &w.groups};
  for (int i = 0; i < 3; ++i) {
    if (*views[i]) types[i] = type(**views[i]);
  }
  const auto pointer = [&](int i) { return types[i] ? &*types[i] : nullptr; };
  const QuantizedLayout layout =
      quantized_layout(kernel, w.format, {type(w.values), pointer(0), pointer(1), pointer(2)});
  const auto check_dense = [&](std::string_view what, const View& view) {
    if (!view.is_dense()) throw Unsupported("{}: {} are {}, expected dense ones", kernel, what, to_string(view));
  };
  check_dense("values", w.values);
  if (w.scales) check_dense("scales", *w.scales);
  if (w.zeros) check_dense("zeros", *w.zeros);
  if (w.groups) check_dense("groups", *w.groups);
  return layout;
}

View stored_elements(const View& weights, const QuantizedLayout& layout, DType counted_as) {
  View elements = weights;
  elements.dtype = counted_as;
  elements.buffer = placeholder_memory();
  elements.offset = 0;
  std::int64_t stride = layout.stored_columns;
  elements.layout.strides[-1] = 1;
  for (int d = weights.rank() - 2; d >= 0; --d) {
    elements.layout.strides[d] = stride;
    stride *= weights.shape()[d];
  }
  return elements;
}

bool QuantizedLayout::in_runs(int count) const {
  if (blocks) return blocks->run % count == 0;
  return packing == Packing::along_rows && in_fours() && stored_columns % count == 0 &&
         (group_columns % count == 0 || scale_columns == 1);
}

int QuantizedLayout::run_span() const { return blocks ? blocks->run_span : 1; }

TypeSet quantized_value_types() { return kIntegers | kWords; }

}  // namespace weft::kernels
