// Sorting. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

struct SortOptions {
  int axis = -1;
  bool descending = false;
};

// values = x sorted along an axis, indices = the elements' positions along it in x; either may be omitted. Stable in
// both directions: equal elements, -0 and 0 among them, stay in x's order. NaN comes last in both directions, NaNs in
// x's order; their bits are preserved. x is of any real type (f64 too), values of x's type and shape, indices i32, u32,
// i64 or u64 of its shape, which must hold the positions. The outputs share no memory with x. On a GPU rows that exceed
// a binding together with their intermediate keys and indices (about 20 bytes an element of up to 32 bits) are sorted
// in chunks, in as many rounds as there are chunks. Unsupported: a stride along the axis that exceeds a binding.
// Source: Batcher, "Sorting networks and their applications", 1968 (short rows); Satish, Harris and Garland, "Designing
// efficient sorting algorithms for manycore GPUs", 2009 (long rows: radix sort, eight bits a pass); Baudet and
// Stevenson, "Optimal sorting algorithms for parallel computers", 1978 (chunks).
void sort(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
          const SortOptions& options);

struct TopKOptions {
  int axis = -1;
  bool largest = true;
};

// The first k elements that sort() gives, descending if `largest`: the k best in order, of equal ones those of lower
// index; NaN only if there are fewer than k numbers. k is the outputs' size along the axis, up to x's. Types as for
// sort(). Much less work than sorting for k up to 256. Unsupported: as for sort().
void top_k(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
           const TopKOptions& options);

}  // namespace weft::kernels
