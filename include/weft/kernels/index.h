// Indexing: elements chosen by integer tensors. Conventions that all kernels share are in weft/kernels.h.
//
// Three ways of choosing elements of `whole`, each for reading (gather) and for writing (scatter). `part` has whole's
// type (any); indices are of any integer type of 8 to 64 bits; negative ones count from the end.
//   gather, scatter          whole rows by one list: part[i…, j…, k…] is whole[i…, indices[j…], k…]; the axes of
//                            indices take the place of `axis` of whole
//   …_elements               one by one along an axis (NumPy's take_along_axis and put_along_axis): part[i…, j, k…] is
//                            whole[i…, indices[i…, j, k…], k…]; indices and part have one shape, whose sizes are at
//                            most whole's but for `axis`
//   …_nd                     by tuples: part[b…, i…, k…] is whole[b…, indices[b…, i…, :], k…]; the first `batch` axes
//                            are common, indices' last axis has one number for each of whole's next axes
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// What attributes of these kernels, and of the ops that they compute, set.
inline constexpr std::string_view kAxisMeaning = "the axis of the whole tensor that the indices count along";
inline constexpr std::string_view kBatchMeaning = "how many leading axes the tensors have in common";
inline constexpr std::string_view kStartsMeaning = "the axes that the starts belong to; 0 along others";
inline constexpr std::string_view kScatterMeaning =
    "how an element and an update are combined: assign stores the update";

// y = the part of x, whole rows of it. Indices outside are clamped to the valid range, here and below.
void gather(Stream& stream, const View& x, const View& indices, const View& y, int axis);
// y = the part of x, one by one along an axis.
void gather_elements(Stream& stream, const View& x, const View& indices, const View& y, int axis);
// y = the part of x, by tuples of indices.
void gather_nd(Stream& stream, const View& x, const View& indices, const View& y, int batch = 0);

// y = the part of x that begins at `starts`: y[i…] = x[start + i…]. `starts` has one integer for each of `axes`, or is
// one of rank 0; along other axes the part begins at 0. y's sizes are at most x's. A start is clamped so that the part
// lies inside of x, also a negative one, as StableHLO and XLA do it.
void dynamic_slice(Stream& stream, const View& x, const View& starts, const View& y, std::span<const int> axes);
// That part of y = update; all other elements of y are unchanged.
void dynamic_update_slice(Stream& stream, const View& update, const View& starts, const View& y,
                          std::span<const int> axes);

// How an element is combined with an update. Integers wrap; min and max give NaN if either is NaN, and -0 is less than
// +0. `assign` takes any type, min and max any but complex, add and mul numbers.
enum class ScatterKind : std::uint8_t { assign, add, mul, min, max };
inline constexpr std::string_view kScatterKinds[] = {"assign", "add", "mul", "min", "max"};

// y's part = y's part combined with the updates; all other elements of y are unchanged. Updates whose index is outside
// are ignored; an axis without elements, where every index is outside, is refused.
//
// If several updates have the same element: `assign` stores one of them, never a mixture (the CPU: the last; a GPU:
// any, 64-bit types the last); min, max and the integers' add and mul are exact, in any order; sums and products of
// floats are rounded to y's type at each step, or only at the end. On a GPU their order, and with it the last bits, may
// change from run to run. (Graphs store the last update on every device; gradients are added in order.)
//
// On a GPU, types of up to 32 bits are combined by compare-exchange on 32-bit words. WGSL has no atomics of 64 bits:
// there scatter chains the updates of each element through scratch, and one thread folds each chain. Large updates of
// long rows are done the same way, because that takes fewer operations on words. f64: only `assign`, the others are
// Unsupported.
void scatter(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int axis);
// scatter() of single elements, each with an index of its own: the opposite of gather_elements().
void scatter_elements(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y,
                      int axis);
// scatter() of elements or slices that tuples of indices name: the opposite of gather_nd().
void scatter_nd(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int batch = 0);

}  // namespace weft::kernels
