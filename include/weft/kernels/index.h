// Indexing: elements chosen by integer tensors. Conventions that all kernels share are in weft/kernels.h.
//
// Three ways of choosing elements of `whole`, each for reading (gather) and for writing (scatter). `part` has whole's
// type, any one; indices are of any integer type of 8 to 64 bits; negative ones count from the end.
//   gather, scatter          whole rows by one list: part[i…, j…, k…] is whole[i…, indices[j…], k…], the indices
//                            standing at `axis` of whole
//   …_elements               one by one along an axis (NumPy's take_along_axis and put_along_axis): part[i…, j, k…] is
//                            whole[i…, indices[i…, j, k…], k…]; indices and part have one shape, whose sizes are at
//                            most whole's but for `axis`
//   …_nd                     by tuples: part[b…, i…, k…] is whole[b…, indices[b…, i…, :], k…]; the first `batch` axes
//                            are common, indices' last axis has one number for each of whole's next axes
#pragma once

#include <cstdint>
#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = the part of x. Indices outside are clamped to the valid range.
void gather(Stream& stream, const View& x, const View& indices, const View& y, int axis);
void gather_elements(Stream& stream, const View& x, const View& indices, const View& y, int axis);
void gather_nd(Stream& stream, const View& x, const View& indices, const View& y, int batch = 0);

// What becomes of an element and an update. Integers wrap; NaN wins min and max, and -0 is less than +0. `assign` takes
// any type, min and max any but complex, add and mul numbers.
enum class ScatterKind : std::uint8_t { assign, add, mul, min, max };

// y's part = y's part combined with the updates; the rest of y stays. Updates whose index lies outside are left out; an
// axis without elements, in which every index would, is refused.
//
// Where several updates meet in one element: `assign` keeps one of them, whole (the CPU: the last; a GPU: any, 64-bit
// types the last); min, max and the integers' add and mul come out exact, in any order; sums and products of floats are
// rounded to y's type at each step, or at the end alone, on a GPU in an order that may change from run to run, so their
// last bits may too.
//
// On a GPU, types of up to 32 bits are combined by compare-exchange on words. WGSL has no atomics of 64 bits: there
// scatter chains the updates of each element through scratch and folds each chain by one thread. Large updates of
// long rows go the same way: they need fewer operations on words. f64: only `assign`, the others are Unsupported.
void scatter(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int axis);
void scatter_elements(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y,
                      int axis);
void scatter_nd(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int batch = 0);

}  // namespace weft::kernels
