#include "kernels/common/ordered_key.h"

namespace weft::kernels {

View as_raw(const View& view) {
  View raw = view;
  switch (bits(view.dtype)) {
    case 2:
      raw.dtype = DType::u2;
      break;
    case 4:
      raw.dtype = DType::u4;
      break;
    case 8:
      raw.dtype = DType::u8;
      break;
    case 16:
      raw.dtype = DType::u16;
      break;
    case 32:
      raw.dtype = DType::u32;
      break;
    default:
      raw.dtype = DType::u64;
      break;
  }
  return raw;
}

KeyRule::KeyRule(DType type, bool descending)
    : kind(Kind::unsigned_integer), bits(weft::bits(type)), descending(descending) {
  switch (info(type).kind) {
    case DTypeKind::signed_integer:
      kind = Kind::signed_integer;
      break;
    case DTypeKind::boolean:
      kind = Kind::boolean;
      break;
    case DTypeKind::floating:
      kind = Kind::floating;
      break;
    default:
      break;
  }
  switch (type) {
    case DType::f16:
      infinity = 0x7c00;
      break;
    case DType::bf16:
      infinity = 0x7f80;
      break;
    case DType::f32:
      infinity = 0x7f800000;
      break;
    case DType::f64:
      infinity = 0x7ff0000000000000;
      break;
    case DType::f8e5m2:
      infinity = 0x7c;
      break;
    case DType::f8e4m3:
      infinity = 0x7e;
      break;  // the largest finite number; there are no infinities
    default:
      break;
  }
}

void KeyRule::add_to(Call& call) const {
  constexpr std::string_view kNames[] = {"unsigned", "signed", "floating", "boolean"};
  call.include("ordered_key");
  call.set("key_kind", kNames[static_cast<int>(kind)]).set("key_bits", bits).set("descending", descending);
  const std::uint64_t sign = std::uint64_t{1} << (std::min(bits, 32) - 1);
  call.set("key_sign", static_cast<std::uint32_t>(sign)).set("key_mask", static_cast<std::uint32_t>(2 * sign - 1));
  call.set("key_infinity", static_cast<std::uint32_t>(bits == 64 ? infinity >> 32 : infinity));
}

}  // namespace weft::kernels
