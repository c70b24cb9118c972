#include "kernels/quantized/reader.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "core/format.h"
#include "kernels/quantized/blocks.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kPackings[] = {"along_rows", "awq", "down_columns", "blocks"};

// What an index in a kernel counts.
constexpr std::int64_t kMostElements = std::int64_t{1} << 32;

// The rows of all matrices, counted through, that a part of the elements is bound from.
struct Rows {
  std::int64_t begin = 0, end = 0;
};

// Rows that begin with a byte, and with a word of those that lie down columns.
std::int64_t whole_rows(const QuantizedLayout& l) {
  if (l.packing == Packing::down_columns) return 32;
  return 8 / std::gcd(std::int64_t{8}, l.stored_columns * l.bits);
}

// Whole matrices, or whole_rows() of one.
Rows rows_of(const QuantizedLayout& l, std::int64_t first, std::int64_t count) {
  const std::int64_t columns = std::max<std::int64_t>(l.stored_columns, 1);
  Rows rows{first / columns, ceil_div(first + count, columns)};
  const std::int64_t matrix = rows.begin / std::max<std::int64_t>(l.rows, 1), start = matrix * l.rows;
  if (rows.end > start + l.rows) return {start, ceil_div(rows.end, l.rows) * l.rows};
  const std::int64_t unit = whole_rows(l);
  return {start + (rows.begin - start) / unit * unit,
          std::min(start + ceil_div(rows.end - start, unit) * unit, start + l.rows)};
}

std::int64_t value_bytes(const QuantizedLayout& l, std::int64_t rows) {
  const std::int64_t elements = rows * l.stored_columns;
  return l.blocks ? elements / l.blocks->elements * l.blocks->bytes : (elements * l.bits + 7) / 8;
}

// Bytes [begin, end) of a dense view, from a multiple of four bytes on.
View words_of(const View& view, std::int64_t begin, std::int64_t end, std::uint32_t& misaligned) {
  const std::uint64_t offset = view.offset + static_cast<std::uint64_t>(begin);
  misaligned = static_cast<std::uint32_t>(offset % 4);
  return View(view.buffer, offset - misaligned, DType::u8, {end - begin + misaligned});
}

// Elements [begin, end) of a dense view.
View elements_of(const View& view, std::int64_t begin, std::int64_t end) {
  if (begin * bits(view.dtype) % 8 != 0) {
    throw Unsupported("quantised weights: a part of {} would begin inside a byte", to_string(view));
  }
  const std::int64_t bytes = begin * bits(view.dtype) / 8;
  return View(view.buffer, view.offset + static_cast<std::uint64_t>(bytes), view.dtype, {end - begin});
}

// A codebook in memory of the device, which lives as long as the plan of the call.
View on_device(const gpu::Device& device, Grid grid) {
  const std::span<const std::uint32_t> words = grid_words(grid);
  const Buffer buffer = device.allocate(words.size_bytes());
  device.upload(buffer, 0, std::as_bytes(words));
  return {buffer, 0, DType::u32, {static_cast<std::int64_t>(words.size())}};
}

}  // namespace

std::uint64_t quantized_bytes(const QuantizedLayout& l, std::int64_t first, std::int64_t count) {
  if (count <= 0 || l.stored() == 0) return 0;
  const Rows rows = rows_of(l, first, count);
  const std::int64_t size = rows.end - rows.begin;
  if (size * l.stored_columns >= kMostElements) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(value_bytes(l, size));
}

void read_quantized(Call& call, std::string_view name, const QuantizedMatrix& w, const QuantizedLayout& l,
                    std::int64_t first, std::int64_t count, const ReadOptions& options) {
  // All of it, unless a binding cannot take that or an index cannot count it.
  Rows rows{0, l.matrices * l.rows};
  const auto limit = static_cast<std::int64_t>(std::min<std::uint64_t>(call.capabilities().max_binding, 1u << 31));
  if (l.stored() >= std::int64_t{1} << 31 || value_bytes(l, rows.end) > limit - 512) rows = rows_of(l, first, count);
  const std::int64_t size = std::max<std::int64_t>(l.rows, 1), matrix = rows.begin / size;
  const bool several = rows.end > (matrix + 1) * l.rows;

  if (rows.begin * l.stored_columns * l.bits % 8 != 0) {
    throw Unsupported("quantised weights: a part of {} would begin inside a byte", to_string(w.values));
  }
  if ((rows.end - rows.begin) * l.stored_columns >= kMostElements) {
    throw Unsupported("quantised weights: 2^32 elements or more of values {} are read together", to_string(w.values));
  }
  const std::int64_t bytes = value_bytes(l, rows.end) - value_bytes(l, rows.begin);
  if (bytes > static_cast<std::int64_t>(call.capabilities().max_binding) - 512) {
    throw Unsupported("quantised weights: {} bytes of values {} are read together; this device binds {}", bytes,
                      to_string(w.values), call.capabilities().max_binding);
  }
  std::uint32_t misaligned = 0;
  const View words = words_of(w.values, value_bytes(l, rows.begin), value_bytes(l, rows.end), misaligned);
  // Sixteen bytes at a time where runs begin at multiples of them.
  const bool fits = l.blocks ? l.blocks->run_bits == 4 && l.blocks->bytes % 16 == 0
                             : l.packing == Packing::along_rows && l.bits % 4 == 0;
  const bool wide = options.runs && fits && words.offset % 16 == 0;
  call.raw("w", words, wide ? "vec4<u32>" : "u32", wide ? 16 : 4, gpu::Access::read);
  call.set("even_bytes", misaligned % 2 == 0);
  call.set("wide", wide).set("whole_words", l.blocks && l.blocks->bytes % 4 == 0 && misaligned == 0);
  call.index_param("w_first", first - rows.begin * l.stored_columns).param("w_byte", misaligned);
  call.include("quantized_reader").opaque_zero().set("operand", name);
  call.set("packing", kPackings[static_cast<int>(l.packing)]).set("code", kCodeTypes[static_cast<int>(l.code)]);
  call.set("bits", l.bits).set("mask", (std::int64_t{1} << l.bits) - 1).set("half", std::int64_t{1} << l.bits >> 1);
  call.set("zero_more", l.zero == ZeroForm::columns ? static_cast<int>(l.constant) : 0);
  call.set("shifted", misaligned != 0).set("fours", l.in_fours());
  call.set("zero", kZeroForms[static_cast<int>(l.zero)]);
  const bool shifts = l.zero == ZeroForm::numbers || l.zero == ZeroForm::codes || l.zero == ZeroForm::bytes;
  const bool adds = l.blocks ? l.blocks->adds : l.zero == ZeroForm::bias;
  if (options.runs) {
    const int span = l.run_span();
    const int bits = l.blocks ? l.blocks->run_bits : l.code == CodeType::unsigned_integer ? l.bits : 0;
    // Measured on an H100: with four scales a run what comes off its sums costs more than it saves.
    const bool coarse = options.coarse && bits > 0 && span < 4 && (l.blocks || l.zero != ZeroForm::none);
    call.set("run_scales", span > 1 ? span : l.in_runs(32) ? 1 : 2).set("run_span", span).set("run_words", 0);
    call.set("run_bits", bits)
        .set("run_range", 1 << bits)
        .set("coarse", coarse)
        .set("block_zero", l.blocks ? l.blocks->zero : 0);
    call.set("sums_x", adds || shifts || coarse);
  } else {
    call.set("run_scales", 0);
  }
  call.set("adds", adds);
  call.set("halved", l.scale == ScaleForm::e8m0 || (l.blocks && l.blocks->e8m0));
  const bool rounds = options.round_products && adds;
  call.set("rounds", rounds);
  // Four at a time is what narrow types are rounded in; f32 elements keep both of their roundings.
  const bool narrow = rounds && l.in_fours() && *options.round_products != DType::f32;
  call.set("product_type", narrow ? weft::name(*options.round_products) : rounds ? "f32" : "");
  call.set("scales", l.scale == ScaleForm::e8m0 ? "e8m0" : "numbers");
  const bool per_column = !l.blocks && l.group_columns == 1;
  call.set("per_column", per_column);
  const bool in_order = l.scales_in_order() && !w.groups;
  call.set("in_order", in_order);
  const bool held = w.scales && bits(w.scales->dtype) == 16 && in_order && !per_column &&
                    l.scale == ScaleForm::numbers &&
                    (l.zero == ZeroForm::none || l.zero == ZeroForm::constant ||
                     (l.zero == ZeroForm::bias && w.zeros->dtype == w.scales->dtype));
  call.set("halves_held", held ? weft::name(w.scales->dtype) : std::string_view());
  const bool literal = l.group_columns <= 4096 && std::has_single_bit(static_cast<std::uint64_t>(l.group_columns));
  call.set("group", literal ? l.group_columns : 0).set("several", several).set("rows_say", w.groups.has_value());
  if (l.blocks) {
    if (l.blocks->grid != Grid::none) {
      call.raw("w_grid", on_device(call.device(), l.blocks->grid), "u32", 4, gpu::Access::read);
    }
    if (!l.blocks->shared_piece.empty()) call.include(l.blocks->shared_piece);
    call.include(l.blocks->piece);
    if (options.runs) call.include("quantized_runs");
    return;
  }
  if (options.runs) call.include("quantized_runs");
  // The rows' scales.
  const std::int64_t local = rows.begin - matrix * size;
  const std::int64_t scale_begin = matrix * l.scale_rows + (several || w.groups ? 0 : local / l.group_rows);
  const std::int64_t scale_end = several || w.groups
                                     ? ceil_div(rows.end, size) * l.scale_rows
                                     : matrix * l.scale_rows + ceil_div(rows.end - matrix * size, l.group_rows);
  View scales = elements_of(*w.scales, scale_begin * l.scale_columns, scale_end * l.scale_columns);
  if (l.scale == ScaleForm::e4m3) scales.dtype = DType::f8e4m3;
  call.read("w_scales", scales);
  if (w.groups) call.read("w_groups", elements_of(*w.groups, rows.begin, rows.end));
  if (w.zeros) {
    const std::int64_t row = w.zeros->shape()[-1];
    const View zeros = elements_of(*w.zeros, scale_begin * row, scale_end * row);
    if (l.zero == ZeroForm::columns || l.zero == ZeroForm::awq) {
      call.raw("w_zeros", zeros, "u32", 4, gpu::Access::read);
    } else {
      call.read("w_zeros", zeros);
    }
    call.index_param("w_zero_row", row);
  }
  call.index_param("w_columns", l.stored_columns).index_param("w_rows", l.rows);
  call.index_param("w_row", local % l.group_rows);
  call.index_param("w_group", l.group_columns).index_param("w_group_rows", l.group_rows);
  call.index_param("w_scale_rows", l.scale_rows).index_param("w_scale_columns", l.scale_columns);
}

}  // namespace weft::kernels
