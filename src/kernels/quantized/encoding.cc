#include "kernels/quantized/encoding.h"

#include <algorithm>
#include <string>

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/quantize/expressions.h"
#include "kernels/quantized/block_search.h"
#include "kernels/quantized/blocks.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

struct BlockRule {
  QuantizedScheme scheme;
  EncodeRule rule;
  int bits;
};
constexpr BlockRule kBlockRules[] = {
    {QuantizedScheme::q4_0, EncodeRule::largest, 4},   {QuantizedScheme::q4_1, EncodeRule::bounds, 4},
    {QuantizedScheme::q5_0, EncodeRule::largest, 5},   {QuantizedScheme::q5_1, EncodeRule::bounds, 5},
    {QuantizedScheme::q8_0, EncodeRule::magnitude, 8}, {QuantizedScheme::ggml_mxfp4, EncodeRule::power, 4},
};

bool in_blocks(QuantizedScheme scheme) { return scheme >= QuantizedScheme::q4_0; }

// Of blocks.
bool has_rule(QuantizedScheme scheme) {
  return block_search(scheme) || std::ranges::find(kBlockRules, scheme, &BlockRule::scheme) != std::end(kBlockRules);
}

// Throws for schemes that are only read.
void check_scheme(std::string_view kernel, QuantizedScheme scheme) {
  const std::string_view name = kQuantizedSchemes[static_cast<std::size_t>(scheme)];
  if (groups_rows(scheme)) {
    throw Unsupported("{}: weights of {} are calibrated with a model's activations, which it does not have; use nbits",
                      kernel, name);
  }
  if (!in_blocks(scheme) || has_rule(scheme)) return;
  std::string others;
  for (std::size_t i = 0; i < std::size(kQuantizedSchemes); ++i) {
    const auto other = static_cast<QuantizedScheme>(i);
    if (in_blocks(other) && has_rule(other))
      others += std::format("{}{}", others.empty() ? "" : ", ", kQuantizedSchemes[i]);
  }
  throw Unsupported("{}: blocks of {} are only read; it makes those of {}", kernel, name, others);
}

}  // namespace

QuantizedLayout encoded_layout(std::string_view kernel, const QuantizedMatrix& w) {
  QuantizedLayout l = quantized_layout(kernel, w);
  if (!l.blocks) return l;
  l.group_columns = l.blocks->elements;
  l.scale_rows = l.rows, l.scale_columns = l.stored_columns / l.group_columns;
  return l;
}

Encoding encoding_of(std::string_view kernel, const TensorType& values, const QuantizedLayout& l) {
  const QuantizedScheme scheme = l.format.scheme;
  check_scheme(kernel, scheme);
  const auto unsigned_codes = [](EncodeRule rule, int bits) {
    return Encoding{rule, bits, 0, static_cast<float>((1 << bits) - 1)};
  };
  if (block_search(scheme)) return {.rule = EncodeRule::search};
  if (l.blocks) {
    const auto* const found = std::ranges::find(kBlockRules, scheme, &BlockRule::scheme);
    return found->rule == EncodeRule::magnitude ? Encoding{found->rule, found->bits, -127, 127}
                                                : unsigned_codes(found->rule, found->bits);
  }
  switch (scheme) {
    case QuantizedScheme::affine:
      return unsigned_codes(EncodeRule::affine, l.bits);
    case QuantizedScheme::mxfp4:
    case QuantizedScheme::nvfp4:
      return {EncodeRule::micro, l.bits, -6, 6};
    case QuantizedScheme::mxfp8:
      return {EncodeRule::micro, l.bits, -448, 448};
    default:
      break;
  }
  if (scheme == QuantizedScheme::nbits) {
    Encoding e = unsigned_codes(EncodeRule::integers, l.bits);
    e.shifts = l.zero != ZeroForm::constant;
    return e;
  }
  const DType type = values.dtype;
  const auto [least, most] = quantized_range(type);
  Encoding e{is_floating(type) ? EncodeRule::floats : EncodeRule::integers, l.bits, static_cast<float>(least),
             static_cast<float>(most), l.zero == ZeroForm::codes};
  if (e.rule == EncodeRule::integers && !e.shifts && !is_signed(type)) {
    throw InvalidArgument(
        "{}: values are {} without zeros, which hold no negative numbers; give zeros, or signed values", kernel,
        to_string(values));
  }
  return e;
}

StoredTypes stored_types(std::string_view kernel, const QuantizedFormat& format, const TensorType& x,
                         std::optional<DType> values, std::optional<DType> scales, bool zeros) {
  const QuantizedFormat f = complete(format);
  check_scheme(kernel, f.scheme);
  const bool integers = f.scheme == QuantizedScheme::integers, nbits = f.scheme == QuantizedScheme::nbits,
             blocks = in_blocks(f.scheme);
  const std::int64_t columns = x.shape[-1], group = blocks ? block_format(f.scheme).elements : f.group;
  const auto fail = [&](const std::string& expected) {
    throw ShapeError("{}: x is {}, expected {}", kernel, to_string(x), expected);
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // as what is stored
  if (std::ranges::any_of(x.shape, [](std::int64_t size) { return size > kMost; })) fail("sizes of at most 2^40");
  if (!integers && !nbits && columns % group != 0) {
    fail(std::format("rows of whole groups of {}, which share a scale in {}", group,
                     kQuantizedSchemes[static_cast<std::size_t>(f.scheme)]));
  }
  if (f.columns != 0 && f.columns != columns) fail(std::format("{} columns, as its format says", f.columns));

  StoredTypes s{format, x, {}, {}};
  Shape& shape = s.values.shape;
  if (blocks) {
    shape[-1] = columns / group * block_format(f.scheme).bytes;
  } else if (nbits) {
    if (columns % group != 0) s.format.columns = columns;
    shape[-1] = ceil_div(columns, group);
    shape.push_back(group * f.bits / 8);
  } else if (!integers) {
    shape[-1] = columns / group * (group * f.bits / 32);
  }
  s.values.dtype = values.value_or(integers ? DType::i8 : blocks || nbits ? DType::u8 : DType::u32);

  const QuantizedLayout of_values = values_layout(s.format, s.values.dtype, shape);
  Shape of_scales(std::span(x.shape.begin(), x.shape.end() - 2));
  of_scales.push_back(of_values.scale_rows);
  of_scales.push_back(of_values.scale_columns);
  if (of_values.scale != ScaleForm::none || scales) {
    const DType number = x.dtype == DType::f64 ? DType::f32 : x.dtype;
    s.scales = {scales.value_or(of_values.scale == ScaleForm::numbers ? number : DType::u8), of_scales};
  }
  if (f.scheme == QuantizedScheme::affine) {
    s.zeros = s.scales;
  } else if (zeros) {
    s.zeros = {s.values.dtype, of_scales};
    if (nbits) s.zeros->shape[-1] = ceil_div(of_values.scale_columns * f.bits, 8);
  }
  const auto pointer = [](const std::optional<TensorType>& type) { return type ? &*type : nullptr; };
  encoding_of(kernel, s.values, quantized_layout(kernel, s.format, {s.values, pointer(s.scales), pointer(s.zeros)}));
  return s;
}

int elements_of_run(const QuantizedLayout& l) {
  if (l.blocks) return l.blocks->elements;
  return l.format.scheme == QuantizedScheme::integers ? 32
                                                      : static_cast<int>(std::min<std::int64_t>(l.group_columns, 32));
}

std::int64_t row_bits(const QuantizedLayout& l) {
  return l.blocks ? l.stored_columns / l.blocks->elements * l.blocks->bytes * 8 : l.stored_columns * l.bits;
}

}  // namespace weft::kernels
