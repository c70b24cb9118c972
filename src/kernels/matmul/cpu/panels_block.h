// The inner loops of panels.cc, which includes this file once for each instruction set, in a namespace of its own.
// So there is no include guard and no include, and nothing here calls a library, whose inline functions would be
// compiled for that instruction set as well.

// `lanes` sums.
template <class Sum, int lanes>
struct Sums {
  typedef Sum V __attribute__((vector_size(sizeof(Sum) * lanes), aligned(sizeof(Sum)), may_alias));
};

// `lanes` numbers of each kind.
template <int lanes>
struct Simd {
  typedef typename Sums<float, lanes>::V Floats;
  typedef std::uint32_t Words __attribute__((vector_size(4 * lanes)));
  typedef std::uint16_t Halves __attribute__((vector_size(2 * lanes), aligned(2), may_alias));
};

// Loads of stored numbers, a vector at a time, as numbers of the sums' type.
template <class T>
struct Same {
  using Stored = T;
  using Sum = T;
  template <int lanes>
  static inline __attribute__((always_inline)) void load(const Stored* p, typename Sums<T, lanes>::V& v) {
    v = *reinterpret_cast<const typename Sums<T, lanes>::V*>(p);
  }
};
using F32 = Same<float>;
using F64 = Same<double>;

struct BF16 {
  using Sum = float;
  using Stored = std::uint16_t;
  template <int lanes>
  static inline __attribute__((always_inline)) void load(const Stored* p, typename Simd<lanes>::Floats& v) {
    using S = Simd<lanes>;
    const typename S::Halves h = *reinterpret_cast<const typename S::Halves*>(p);
    v = __builtin_bit_cast(typename S::Floats, __builtin_convertvector(h, typename S::Words) << 16);
  }
};

struct F16 {
  using Sum = float;
  using Stored = std::uint16_t;
  template <int lanes>
  static inline __attribute__((always_inline)) void load(const Stored* p, typename Simd<lanes>::Floats& v) {
    using S = Simd<lanes>;
    const typename S::Halves h = *reinterpret_cast<const typename S::Halves*>(p);
#if WEFT_X86
    if constexpr (lanes == 16) {
      v = __builtin_bit_cast(typename S::Floats, _mm512_cvtph_ps(__builtin_bit_cast(__m256i, h)));
      return;
    } else if constexpr (lanes == 8) {
      v = __builtin_bit_cast(typename S::Floats, _mm256_cvtph_ps(__builtin_bit_cast(__m128i, h)));
      return;
    }
#endif
    // The exponent is 112 too small; the multiplication corrects it and normalises denormals.
    const typename S::Words w = __builtin_convertvector(h, typename S::Words), magnitude = w & 0x7fffu;
    const auto scaled = __builtin_bit_cast(typename S::Floats, magnitude << 13) * 0x1p112f;
    auto b = __builtin_bit_cast(typename S::Words, scaled);
    b = magnitude >= 0x7c00u ? b | 0x7f800000u : b;
    v = __builtin_bit_cast(typename S::Floats, b | (w & 0x8000u) << 16);
  }
};

template <class T>
struct Byte {
  using Sum = float;
  using Stored = T;
  template <int lanes>
  static inline __attribute__((always_inline)) void load(const Stored* p, typename Simd<lanes>::Floats& v) {
    typedef T Bytes __attribute__((vector_size(lanes), aligned(1), may_alias));
    typedef std::int32_t Integers __attribute__((vector_size(4 * lanes)));
    const Bytes b = *reinterpret_cast<const Bytes*>(p);
    v = __builtin_convertvector(__builtin_convertvector(b, Integers), typename Simd<lanes>::Floats);
  }
};

// Computes rows × 2 vectors of the product.
template <class B, int lanes, int rows>
inline __attribute__((always_inline)) void tile(const PanelRun<typename B::Sum>& r, std::int64_t row) {
  using Sum = typename B::Sum;
  using V = typename Sums<Sum, lanes>::V;
  const Sum* const a = r.a + row * r.a_row;
  Sum* const y = r.y + row * r.pitch;
  V sum[rows][2];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < 2; ++j) sum[i][j] = r.add ? *reinterpret_cast<const V*>(y + i * r.pitch + j * lanes) : V{};
  }
  const auto* b = static_cast<const typename B::Stored*>(r.b);
  for (std::int64_t k = 0; k < r.depth; ++k, b += r.b_row) {
    V w[2];
    B::template load<lanes>(b, w[0]);
    B::template load<lanes>(b + lanes, w[1]);
    for (int i = 0; i < rows; ++i) {
      const Sum x = a[i * r.a_row + k];
      for (int j = 0; j < 2; ++j) sum[i][j] += w[j] * x;
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < 2; ++j) *reinterpret_cast<V*>(y + i * r.pitch + j * lanes) = sum[i][j];
  }
}

// Multiplies a panel of 2 · lanes columns.
template <class B, int lanes, int most>
void panel(const PanelRun<typename B::Sum>& r) {
  std::int64_t row = 0;
  for (; row + most <= r.rows; row += most) tile<B, lanes, most>(r, row);
  if constexpr (most > 4) {
    if (row + 4 <= r.rows) tile<B, lanes, 4>(r, row), row += 4;
  }
  if (row + 2 <= r.rows) tile<B, lanes, 2>(r, row), row += 2;
  if (row < r.rows) tile<B, lanes, 1>(r, row);
}

// a and b hold sums in parts, each sum in 2 · half adjacent lanes. `to` gets those of a, then those of b, in `half`
// lanes each.
template <class Sum, int lanes, int half, int... lane>
inline __attribute__((always_inline)) void halve(const typename Sums<Sum, lanes>::V& a,
                                                 const typename Sums<Sum, lanes>::V& b,
                                                 std::integer_sequence<int, lane...>,
                                                 typename Sums<Sum, lanes>::V& to) {
  using V = typename Sums<Sum, lanes>::V;
  const V low = __builtin_shufflevector(a, b, (lane / half * 2 * half + lane % half)...);
  const V high = __builtin_shufflevector(a, b, (lane / half * 2 * half + lane % half + half)...);
  to = low + high;
}

// Each vector's lanes summed: total[i] is that of sum[i / cols][i % cols]. All vectors are halved together, two into
// one: one after the other would take a few instructions for each.
template <class Sum, int lanes, int count, int half>
inline __attribute__((always_inline)) void add_lanes(typename Sums<Sum, lanes>::V* v, Sum* total) {
  using V = typename Sums<Sum, lanes>::V;
  if constexpr (half == 0) {
    for (int i = 0; i < count; ++i) *reinterpret_cast<V*>(total + i * lanes) = v[i];
  } else {
    constexpr auto kLanes = std::make_integer_sequence<int, lanes>();
    constexpr int pairs = count == 1 ? 1 : count / 2;
    for (int i = 0; i < pairs; ++i) halve<Sum, lanes, half>(v[2 * i], v[count == 1 ? 0 : 2 * i + 1], kLanes, v[i]);
    add_lanes<Sum, lanes, pairs, half / 2>(v, total);
  }
}

// y[rows][cols] = the sums of each vector's lanes, or, with `add`, they are added to it.
template <class Sum, int lanes, int rows, int cols>
inline __attribute__((always_inline)) void store_totals(typename Sums<Sum, lanes>::V (&sum)[rows][cols], Sum* y,
                                                        std::int64_t pitch, bool add) {
  constexpr int count = rows * cols;
  typename Sums<Sum, lanes>::V v[count];
  for (int i = 0; i < count; ++i) v[i] = sum[i / cols][i % cols];
  Sum total[count > lanes ? count : lanes];
  add_lanes<Sum, lanes, count, lanes / 2>(v, total);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j)
      y[i * pitch + j] = add ? y[i * pitch + j] + total[i * cols + j] : total[i * cols + j];
  }
}

// Multiplies `cols` columns from column `col` on, each contiguous along k.
template <class B, int lanes, int rows, int cols>
inline __attribute__((always_inline)) void dots(const PanelRun<typename B::Sum>& r, std::int64_t row,
                                                std::int64_t col) {
  using Sum = typename B::Sum;
  using V = typename Sums<Sum, lanes>::V;
  using Stored = typename B::Stored;
  const Sum* const a = r.a + row * r.a_row;
  const Stored* const b = static_cast<const Stored*>(r.b) + col * r.b_row;
  // Indexed loops: a deduced reference would lose V's reduced alignment, which is that of its elements.
  V sum[rows][cols];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) sum[i][j] = V{};
  }
  const auto add = [&](const auto& a_at, const auto& b_at) __attribute__((always_inline)) {
    V x[rows], w;
    for (int i = 0; i < rows; ++i) Same<Sum>::template load<lanes>(a_at(i), x[i]);
    for (int j = 0; j < cols; ++j) {
      B::template load<lanes>(b_at(j), w);
      for (int i = 0; i < rows; ++i) sum[i][j] += w * x[i];
    }
  };
  std::int64_t k = 0;
  for (; k + lanes <= r.depth; k += lanes) {
    add([&](int i) __attribute__((always_inline)) { return a + i * r.a_row + k; },
        [&](int j) __attribute__((always_inline)) { return b + j * r.b_row + k; });
  }
  if (k < r.depth) {
    Sum x[rows][lanes] = {};
    Stored w[cols][lanes] = {};
    for (std::int64_t e = k; e < r.depth; ++e) {
      for (int i = 0; i < rows; ++i) x[i][e - k] = a[i * r.a_row + e];
      for (int j = 0; j < cols; ++j) w[j][e - k] = b[j * r.b_row + e];
    }
    add([&](int i) __attribute__((always_inline)) { return x[i]; },
        [&](int j) __attribute__((always_inline)) { return w[j]; });
  }
  store_totals<Sum, lanes, rows, cols>(sum, r.y + row * r.pitch + col, r.pitch, r.add);
}

template <class B, int lanes, int rows>
inline __attribute__((always_inline)) void dot_rows(const PanelRun<typename B::Sum>& r, std::int64_t row) {
  std::int64_t col = 0;
  for (; col + 4 <= r.cols; col += 4) dots<B, lanes, rows, 4>(r, row, col);
  for (; col < r.cols; ++col) dots<B, lanes, rows, 1>(r, row, col);
}

template <class B, int lanes>
void dot_panel(const PanelRun<typename B::Sum>& r) {
  std::int64_t row = 0;
  for (; row + 4 <= r.rows; row += 4) dot_rows<B, lanes, 4>(r, row);
  if (row + 2 <= r.rows) dot_rows<B, lanes, 2>(r, row), row += 2;
  if (row < r.rows) dot_rows<B, lanes, 1>(r, row);
}

// Packs a panel of `width` columns from columns that are contiguous along k.
template <class T>
void pack(const void* from, std::int64_t stride, std::int64_t depth, std::int64_t cols, std::int64_t width, void* to) {
  const T* const b = static_cast<const T*>(from);
  T* const out = static_cast<T*>(to);
  for (std::int64_t k = 0; k < depth; k += 8) {
    for (std::int64_t col = 0; col < width; col += 8) {
      if (k + 8 <= depth && col + 8 <= cols) {
        transpose8(b + col * stride + k, stride, out + k * width + col, width);
        continue;
      }
      for (std::int64_t e = k; e < depth && e < k + 8; ++e) {
        for (std::int64_t c = col; c < col + 8; ++c) out[e * width + c] = c < cols ? b[c * stride + e] : T{};
      }
    }
  }
}

// The loops for this instruction set.
template <int lanes, int rows>
constexpr PanelLoops<float> loops() {
  return {2 * lanes,
          {panel<F32, lanes, rows>, panel<F16, lanes, rows>, panel<BF16, lanes, rows>,
           panel<Byte<std::int8_t>, lanes, rows>, panel<Byte<std::uint8_t>, lanes, rows>},
          {dot_panel<F32, lanes>, dot_panel<F16, lanes>, dot_panel<BF16, lanes>, dot_panel<Byte<std::int8_t>, lanes>,
           dot_panel<Byte<std::uint8_t>, lanes>},
          {pack<float>, pack<std::uint16_t>, pack<std::uint16_t>, pack<std::uint8_t>, pack<std::uint8_t>}};
}
template <int lanes, int rows>
constexpr PanelLoops<double> loops_f64() {
  return {2 * lanes, {panel<F64, lanes, rows>}, {dot_panel<F64, lanes>}, {pack<double>}};
}
