// Products on the CPU by panels: b lies as panels of some columns, [k][width] each, whose rows are vectors; a tile of
// y stays in registers while k goes by (the order of Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34, 2008).
#pragma once

#include "weft/dtype.h"

namespace weft::kernels {

// One panel's part of a product: y[rows][cols] = a[rows][depth] · b, or is added to y. Sums are f32.
struct PanelRun {
  const float* a = nullptr;  // k side by side, rows a_row apart
  std::int64_t a_row = 0;
  const void* b = nullptr;   // panels: [depth][width], b_row elements apart; dots: [cols][depth], b_row apart
  std::int64_t b_row = 0;
  float* y = nullptr;        // rows `pitch` apart; a panel writes all of its width
  std::int64_t pitch = 0;
  std::int64_t rows = 0, cols = 0, depth = 0;
  bool add = false;
};

// The loops for one instruction set, for b in f32, f16 and bf16.
struct PanelLoops {
  int width;  // columns of a panel
  void (*panel[3])(const PanelRun&);
  void (*dots[3])(const PanelRun&);
  // A panel of `width` columns from `cols` columns that lie `stride` elements apart, k side by side; zeros for the rest.
  void (*pack[3])(const void* from, std::int64_t stride, std::int64_t depth, std::int64_t cols, std::int64_t width, void* to);
};

const PanelLoops& panel_loops();

// Which of the three; -1: none, such a b is converted to f32 first.
inline int panel_type(DType type) {
  return type == DType::f32 ? 0 : type == DType::f16 ? 1 : type == DType::bf16 ? 2 : -1;
}

}  // namespace weft::kernels
