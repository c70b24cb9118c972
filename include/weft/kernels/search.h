// Positions in sorted lists. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include "weft/attributes.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// Before elements that equal the value, or behind them.
enum class SearchSide : std::uint8_t { left, right };
inline constexpr std::string_view kSearchSides[] = {"left", "right"};

struct SearchOptions {
  SearchSide side = SearchSide::left;

  void fields(AttributeVisitor& v) {
    v("side", side, SearchSide::left, kSearchSides,
      "the position before elements that equal the value, or behind them");
  }
};

// y[i…] = how many elements of sorted [n] come before values[i…], of the side `right` also those that equal it. The
// list is in the order of sort(): ascending, NaN after all others and equal to NaN, -0 equal to 0. Of one that is not,
// results are any numbers from 0 to n. Both are of one real type (f64 too); y, of the values' shape, is i32, u32, i64
// or u64, which must hold n. On a GPU a list that exceeds a binding is searched in pieces.
void searchsorted(Stream& stream, const View& sorted, const View& values, const View& y,
                  const SearchOptions& options = {});

}  // namespace weft::kernels
