#include "kernels/quantized/encoding.h"

#include <algorithm>

#include "core/format.h"
#include "kernels/quantize/expressions.h"
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

[[noreturn]] void refuse(std::string_view kernel, QuantizedScheme scheme) {
  const std::string_view name = kQuantizedSchemes[static_cast<std::size_t>(scheme)];
  if (scheme == QuantizedScheme::gptq || scheme == QuantizedScheme::awq) {
    throw Unsupported("{}: weights of {} are calibrated with a model's activations, which it does not have; use nbits",
                      kernel, name);
  }
  throw Unsupported(
      "{}: blocks of {} come from a search for their scales, which it does not do; use q4_0, q5_0 or q8_0", kernel,
      name);
}

}  // namespace

QuantizedLayout encoded_layout(std::string_view kernel, const QuantizedMatrix& w) {
  QuantizedLayout l = quantized_layout(kernel, w);
  if (!l.blocks) return l;
  l.group_columns = l.blocks->elements;
  l.scale_rows = l.rows, l.scale_columns = l.stored_columns / l.group_columns;
  return l;
}

Encoding encoding_of(std::string_view kernel, const QuantizedMatrix& w, const QuantizedLayout& l) {
  const QuantizedScheme scheme = l.format.scheme;
  const auto unsigned_codes = [](EncodeRule rule, int bits) {
    return Encoding{rule, bits, 0, static_cast<float>((1 << bits) - 1)};
  };
  if (l.blocks) {
    const auto* const found = std::ranges::find(kBlockRules, scheme, &BlockRule::scheme);
    if (found == std::end(kBlockRules)) refuse(kernel, scheme);
    return found->rule == EncodeRule::magnitude ? Encoding{found->rule, found->bits, -127, 127}
                                                : unsigned_codes(found->rule, found->bits);
  }
  switch (scheme) {
    case QuantizedScheme::gptq:
    case QuantizedScheme::awq:
      refuse(kernel, scheme);
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
  const DType type = w.values.dtype;
  const auto [least, most] = quantized_range(type);
  Encoding e{is_floating(type) ? EncodeRule::floats : EncodeRule::integers, l.bits, static_cast<float>(least),
             static_cast<float>(most), w.zeros.has_value()};
  if (e.rule == EncodeRule::integers && !e.shifts && !is_signed(type)) {
    throw InvalidArgument(
        "{}: values are {} without zeros, which hold no negative numbers; give zeros, or signed values", kernel,
        to_string(w.values));
  }
  return e;
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
