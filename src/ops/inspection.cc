// Properties of data types and devices (weft/inspection.h).
#include "weft/inspection.h"

#include <cmath>

#include "core/format.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {
namespace {

// A float format: digits behind the point of a mantissa, the exponents of the least normal and the greatest number, and
// how many of the patterns with that exponent are no finite numbers.
struct FloatFormat {
  DType dtype;
  int digits, least, greatest, not_finite;
};
constexpr FloatFormat kFormats[] = {{DType::f32, 23, -126, 127, 0}, {DType::f16, 10, -14, 15, 0},
                                    {DType::bf16, 7, -126, 127, 0}, {DType::f64, 52, -1022, 1023, 0},
                                    {DType::f8e4m3, 3, -6, 8, 1},   {DType::f8e5m2, 2, -14, 15, 0}};

}  // namespace

FloatInfo finfo(DType dtype) {
  const DType part = dtype == DType::c64 ? DType::f32 : dtype;
  for (const FloatFormat& f : kFormats) {
    if (f.dtype != part) continue;
    const double eps = std::ldexp(1, -f.digits), most = std::ldexp(2 - eps * (1 + f.not_finite), f.greatest);
    return {.dtype = part,
            .bits = bits(part),
            .eps = eps,
            .min = -most,
            .max = most,
            .smallest_normal = std::ldexp(1, f.least)};
  }
  throw TypeError("finfo: the type is {}, expected a float or c64", name(dtype));
}

IntegerInfo iinfo(DType dtype) {
  if (!is_integer(dtype)) throw TypeError("iinfo: the type is {}, expected an integer", name(dtype));
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits(dtype));
  if (!is_signed(dtype)) return {dtype, bits(dtype), 0, all};
  const auto most = static_cast<std::int64_t>(all >> 1);
  return {dtype, bits(dtype), -most - 1, all >> 1};
}

bool isdtype(DType dtype, TypeSet kinds) { return kinds.contains(dtype); }

bool can_cast(DType from, DType to) try { return result_type(from, to) == to; } catch (const TypeError&) {
  return false;
}

TypeSet dtypes(const Device& device, TypeSet kinds) {
  TypeSet all = (types::integers - types::packed) | types::boolean | types::complex | DType::f32;
  if (!device.is_gpu()) all = all | DType::f64;
  return all & kinds;
}

DefaultTypes default_dtypes(const Device&) { return {}; }
Capabilities capabilities() { return {}; }

}  // namespace weft
