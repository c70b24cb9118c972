// Maps values of any real type to unsigned integers of the same order, from the bits alone: for argmin, argmax, sort
// and top-k. Ascending, NaN is the largest of all; -0 and 0 have the same key. Descending, every key but NaN's is
// inverted, so that NaN stays the largest. The WGSL half is common/ordered_key.wgsl.
#pragma once

#include "kernels/call.h"

namespace weft::kernels {

// The view with elements of unsigned type and the same bits.
View as_raw(const View& view);

// The rule by which a type's bits become a key.
struct KeyRule {
  enum class Kind : std::uint8_t { unsigned_integer, signed_integer, floating, boolean } kind;
  int bits;
  std::uint64_t infinity = 0;  // of a float: magnitudes past it are NaN
  bool descending = false;

  KeyRule(DType type, bool descending);
  std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - bits); }
  // The CPU's form.
  std::uint64_t operator()(std::uint64_t raw) const {
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    std::uint64_t key = raw;
    if (kind == Kind::signed_integer) key ^= sign;
    if (kind == Kind::boolean) key = raw != 0;
    if (kind == Kind::floating) {
      const std::uint64_t magnitude = raw & (sign - 1);
      if (magnitude > infinity) return mask();
      key = raw & sign ? sign - magnitude : sign + magnitude;
    }
    return descending ? key ^ mask() : key;
  }
  // Declares fn ordered_key(raw) of this rule for `call`.
  void add_to(Call& call) const;
};

}  // namespace weft::kernels
