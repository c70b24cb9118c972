// Products on the CPU by panels: b is stored as panels of some columns, [k][width] each, whose rows are vectors; a tile
// of y stays in registers while k advances (the order of Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34, 2008).
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/dtype.h"

namespace weft::kernels {

// One panel's part of a product: y[rows][cols] = a[rows][depth] · b, or, with `add`, is added to y. Sum: f32 or f64.
template <class Sum>
struct PanelRun {
  const Sum* a = nullptr;  // contiguous along k, row stride a_row
  std::int64_t a_row = 0;
  const void* b = nullptr;  // panels: [depth][width], row stride b_row; dots: [cols][depth], row stride b_row
  std::int64_t b_row = 0;
  Sum* y = nullptr;  // row stride `pitch`; a panel writes its whole width
  std::int64_t pitch = 0;
  std::int64_t rows = 0, cols = 0, depth = 0;
  bool add = false;
};

// The types of b: for sums in f32 it is f32, f16, bf16, i8 or u8, for those in f64 it is f64.
template <class Sum>
constexpr int kPanelTypes = 5;
template <>
inline constexpr int kPanelTypes<double> = 1;

// The loops for one instruction set.
template <class Sum>
struct PanelLoops {
  int width;  // columns of a panel
  void (*panel[kPanelTypes<Sum>])(const PanelRun<Sum>&);
  void (*dots[kPanelTypes<Sum>])(const PanelRun<Sum>&);
  // Packs a panel of `width` columns from `cols` columns with stride `stride`, contiguous along k; the rest is zeros.
  void (*pack[kPanelTypes<Sum>])(const void* from, std::int64_t stride, std::int64_t depth, std::int64_t cols,
                                 std::int64_t width, void* to);
};

// The loops for this processor.
template <class Sum>
const PanelLoops<Sum>& panel_loops();

// The same in standard C++, for compilers without GNU's vectors.
template <class Sum>
const PanelLoops<Sum>& standard_panel_loops();

// The index of the loops for b of that type; -1: none, b must be converted to the type of sums first.
template <class Sum>
int panel_type(DType type) {
  if (std::is_same_v<Sum, double>) return type == DType::f64 ? 0 : -1;
  switch (type) {
    case DType::f32:
      return 0;
    case DType::f16:
      return 1;
    case DType::bf16:
      return 2;
    case DType::i8:
      return 3;
    case DType::u8:
      return 4;
    default:
      return -1;
  }
}
template <class Sum>
std::int64_t panel_element_bytes(int type) {
  return type == 0 ? static_cast<std::int64_t>(sizeof(Sum)) : type < 3 ? 2 : 1;
}

}  // namespace weft::kernels
