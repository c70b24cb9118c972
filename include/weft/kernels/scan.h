// Scans: each element combined with all before it along an axis. Conventions that all kernels share are in
// weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/attributes.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

enum class ScanKind : std::uint8_t { sum, prod, max, min, log_sum_exp };

struct ScanOptions {
  bool reverse = false;
  bool exclusive = false;

  void fields(AttributeVisitor& v) {
    v.brief("reverse", reverse, false, "from the last element to the first");
    v.brief("exclusive", exclusive, false, "without the element itself, so that the first result is that of none");
  }
};

// y[i] = x[0] ∘ … ∘ x[i] along `axis`; y has x's shape, and may be the very same view.
//   sum, prod     x floating, integer, boolean (0 and 1) or complex64
//   max, min      x floating or integer
//   log_sum_exp   x floating: log(exp(x[0]) + … + exp(x[i])), without overflow in between
// Floating x: y floating; computed in f32 (f64 on the CPU), rounded to y's type once. Integer or boolean x: y of any
// integer type for sum and prod, which wrap at its width; else of x's type. Complex: y complex. From the first NaN on
// all results are NaN; of zeros of both signs max and min may give either. Of no elements sum is 0, prod 1, max -inf,
// min +inf (integers: the type's least and largest), log_sum_exp -inf. The order of additions depends only on shapes
// and device, so results are the same to the bit on every run. Each element takes part in at most 40 + n / (16 · t)
// additions (n: the row's elements; t: the threads that share a row, 1 to 1024), which times 2^-24 bounds the relative
// error of sums of positive numbers. On a GPU f64 is Unsupported.
void scan(Stream& stream, ScanKind op, const View& x, const View& y, int axis, const ScanOptions& options = {});

}  // namespace weft::kernels
