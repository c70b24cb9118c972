// The inner loops of pairs.cc, which includes this file once for each instruction set, in a namespace of its own,
// behind a struct Lanes of its instructions. So there is no include guard and no include, and nothing here calls a
// library, whose inline functions would be compiled for that instruction set as well.

// Computes rows × 2 vectors of the product.
template <class T, int rows>
inline __attribute__((always_inline)) void tile(const PairRun& r, std::int64_t row) {
  using V = Lanes::V;
  const std::int16_t* const a = r.a + row * r.a_row;
  std::uint32_t* const y = r.y + row * r.pitch;
  V sum[rows][2];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < 2; ++j) {
      if (r.add)
        Lanes::load(y + i * r.pitch + j * Lanes::kCount, sum[i][j]);
      else
        Lanes::zero(sum[i][j]);
    }
  }
  const T* b = static_cast<const T*>(r.b);
  for (std::int64_t k = 0; k < r.pairs; ++k, b += 4 * Lanes::kCount) {
    V w[2];
    Lanes::widen(b, w[0]);
    Lanes::widen(b + 2 * Lanes::kCount, w[1]);
    for (int i = 0; i < rows; ++i) {
      V x;
      Lanes::repeat(a + i * r.a_row + 2 * k, x);
      for (int j = 0; j < 2; ++j) Lanes::add_products(x, w[j], sum[i][j]);
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < 2; ++j) Lanes::store(sum[i][j], y + i * r.pitch + j * Lanes::kCount);
  }
}

// Multiplies a panel of 2 · kCount columns.
template <class T, int most>
void panel(const PairRun& r) {
  std::int64_t row = 0;
  for (; row + most <= r.rows; row += most) tile<T, most>(r, row);
  if constexpr (most > 4) {
    if (row + 4 <= r.rows) tile<T, 4>(r, row), row += 4;
  }
  if (row + 2 <= r.rows) tile<T, 2>(r, row), row += 2;
  if (row < r.rows) tile<T, 1>(r, row);
  static_assert(most <= 8, "four, two and one row are all that is left");
}

// The loops for this instruction set.
template <int rows>
constexpr PairLoops loops(const char* name) {
  return {name, 2 * Lanes::kCount, {panel<std::int8_t, rows>, panel<std::uint8_t, rows>, panel<std::int16_t, rows>}};
}
