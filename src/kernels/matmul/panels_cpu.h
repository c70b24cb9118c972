// Products on the CPU by panels: b is stored as panels of some columns, [k][width] each, whose rows are vectors; a tile
// of y stays in registers while k advances (the order of Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34, 2008).
#pragma once

#include "weft/dtype.h"

namespace weft::kernels {

// One panel's part of a product: y[rows][cols] = a[rows][depth] · b, or, with `add`, is added to y. Sums are f32.
struct PanelRun {
  const float* a = nullptr;  // contiguous along k, row stride a_row
  std::int64_t a_row = 0;
  const void* b = nullptr;   // panels: [depth][width], row stride b_row; dots: [cols][depth], row stride b_row
  std::int64_t b_row = 0;
  float* y = nullptr;        // row stride `pitch`; a panel writes its whole width
  std::int64_t pitch = 0;
  std::int64_t rows = 0, cols = 0, depth = 0;
  bool add = false;
};

// The loops for one instruction set, for b in f32, f16, bf16, i8 and u8.
constexpr int kPanelTypes = 5;
struct PanelLoops {
  int width;  // columns of a panel
  void (*panel[kPanelTypes])(const PanelRun&);
  void (*dots[kPanelTypes])(const PanelRun&);
  // Packs a panel of `width` columns from `cols` columns with stride `stride`, contiguous along k; the rest is zeros.
  void (*pack[kPanelTypes])(const void* from, std::int64_t stride, std::int64_t depth, std::int64_t cols,
                            std::int64_t width, void* to);
};

// The loops for this processor.
const PanelLoops& panel_loops();

// The same in standard C++, for compilers without GNU's vectors.
const PanelLoops& standard_panel_loops();

// The index of the loops for b of that type; -1: none, b must be converted to f32 first.
inline int panel_type(DType type) {
  switch (type) {
    case DType::f32: return 0;
    case DType::f16: return 1;
    case DType::bf16: return 2;
    case DType::i8: return 3;
    case DType::u8: return 4;
    default: return -1;
  }
}
inline std::int64_t panel_element_bytes(int type) { return type == 0 ? 4 : type < 3 ? 2 : 1; }

}  // namespace weft::kernels
