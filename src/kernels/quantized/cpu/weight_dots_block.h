// The inner loops of weight_dots.cc, which includes this file once for each instruction set, in a namespace of its
// own, behind panels_block.h. So there is no include guard and no include, and nothing here calls a library.

// Sixteen numbers, and the selection among them by the lowest four bits of words.
template <int lanes>
struct Table {
  typename Simd<lanes>::Floats part[16 / lanes];

  inline __attribute__((always_inline)) void load(const float* from) {
    for (int i = 0; i < 16 / lanes; ++i)
      part[i] = *reinterpret_cast<const typename Simd<lanes>::Floats*>(from + i * lanes);
  }
  inline __attribute__((always_inline)) void select(const typename Simd<lanes>::Words& codes,
                                                    typename Simd<lanes>::Floats& to) const {
    if constexpr (lanes == 16) {
      to = _mm512_permutexvar_ps((__m512i)codes, (__m512)part[0]);
    } else {
      const __m256i c = (__m256i)codes;
      to = _mm256_blendv_ps(_mm256_permutevar8x32_ps((__m256)part[0], c), _mm256_permutevar8x32_ps((__m256)part[1], c),
                            _mm256_castsi256_ps(_mm256_slli_epi32(c, 28)));
    }
  }
};

inline __attribute__((always_inline)) float half_at(const std::byte* at) {
  std::uint16_t bits;
  __builtin_memcpy(&bits, at, 2);
  return _cvtsh_ss(bits);
}

// Bytes as words.
template <int lanes>
inline __attribute__((always_inline)) void bytes_at(const std::byte* at, typename Simd<lanes>::Words& to) {
  typedef std::uint8_t Bytes __attribute__((vector_size(lanes), aligned(1), may_alias));
  to = __builtin_convertvector(*reinterpret_cast<const Bytes*>(at), typename Simd<lanes>::Words);
}

// Makes weights of their numbers, and rounds as WeightDecoder::plain_row() does. `form`: as weight_loop() has it.
template <int lanes, ZeroForm form>
inline __attribute__((always_inline)) void weigh(typename Simd<lanes>::Floats& v, float scale, float zero) {
  if constexpr (form != ZeroForm::none && form != ZeroForm::bias) v -= zero;
  v *= scale;
  if constexpr (form == ZeroForm::bias) v += zero;
}

// A form of weights: blocks of kBlock elements, which consist of parts of kPart elements, or kPart / lanes vectors.
// Blocks of 32 elements with halves of bytes.
template <int lanes, ZeroForm form, bool e8m0>
struct NibbleBlocks {
  static constexpr int kBlock = 32, kPart = 32;
  const std::byte* codes;
  Table<lanes> table;

  inline __attribute__((always_inline)) void open(const WeightRun& r, const WeightColumn& column, std::int64_t block) {
    const std::byte* const at = column.codes + block * r.block_bytes;
    codes = at + r.codes_at;
    __builtin_prefetch(at + r.ahead);
    float scale;
    if constexpr (e8m0) {
      const auto code = static_cast<std::uint32_t>(at[0]);
      scale = __builtin_bit_cast(float, code < 2 ? 0x00200000u << code : code == 255 ? 0x7fc00000u : (code - 1) << 23);
    } else {
      scale = half_at(at);
    }
    const float added = form == ZeroForm::bias ? half_at(at + 2) : 0.0f;
    table.load(r.numbers);
    for (auto& part : table.part) weigh<lanes, form>(part, scale, added);
  }
  template <int v>
  inline __attribute__((always_inline)) void weights(int, typename Simd<lanes>::Floats& to) const {
    typename Simd<lanes>::Words words;
    bytes_at<lanes>(codes + v * lanes % 16, words);
    table.select(v * lanes < 16 ? words : words >> 4, to);
  }
};

// q4_k: parts of 64 elements lie in 32 bytes, and have two scales.
template <int lanes>
struct KBlocks {
  static constexpr int kBlock = 256, kPart = 64;
  const std::byte* codes;
  float scale[8], least[8];
  Table<lanes> numbers;

  inline __attribute__((always_inline)) void open(const WeightRun& r, const WeightColumn& column, std::int64_t block) {
    const std::byte* const at = column.codes + block * 144;
    codes = at + 16;
    for (int line = 0; line < 144; line += 64) __builtin_prefetch(at + r.ahead + line);
    numbers.load(r.numbers);
    // Six bits of each, as bytes: those of the last four runs are split.
    std::uint32_t packed[3];
    __builtin_memcpy(packed, at + 4, 12);
    const __m128i six =
        _mm_setr_epi32(static_cast<int>(packed[0] & 0x3f3f3f3fu),
                       static_cast<int>((packed[2] & 0x0f0f0f0fu) | (packed[0] >> 6 & 0x03030303u) << 4),
                       static_cast<int>(packed[1] & 0x3f3f3f3fu),
                       static_cast<int>((packed[2] >> 4 & 0x0f0f0f0fu) | (packed[1] >> 6 & 0x03030303u) << 4));
    const auto store = [](__m128i bytes, float d, float* to) __attribute__((always_inline)) {
      _mm256_storeu_ps(to, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)) * _mm256_set1_ps(d));
    };
    store(six, half_at(at), scale);
    store(_mm_srli_si128(six, 8), half_at(at + 2), least);
  }
  template <int v>
  inline __attribute__((always_inline)) void weights(int p, typename Simd<lanes>::Floats& to) const {
    const int run = 2 * p + v * lanes / 32;
    typename Simd<lanes>::Words words;
    bytes_at<lanes>(codes + 32 * p + v * lanes % 32, words);
    Table<lanes> table;
    for (int i = 0; i < 16 / lanes; ++i) table.part[i] = numbers.part[i] * scale[run] - least[run];
    table.select(v * lanes < 32 ? words : words >> 4, to);
  }
};

// q8_0.
template <int lanes>
struct ByteBlocks {
  static constexpr int kBlock = 32, kPart = 32;
  const std::int8_t* codes;
  float scale;

  inline __attribute__((always_inline)) void open(const WeightRun& r, const WeightColumn& column, std::int64_t block) {
    const std::byte* const at = column.codes + block * 34;
    codes = reinterpret_cast<const std::int8_t*>(at + 2);
    __builtin_prefetch(at + r.ahead);
    scale = half_at(at);
  }
  template <int v>
  inline __attribute__((always_inline)) void weights(int, typename Simd<lanes>::Floats& to) const {
    Byte<std::int8_t>::template load<lanes>(codes + v * lanes, to);
    weigh<lanes, ZeroForm::none>(to, scale, 0);
  }
};

// Sixteen adjacent elements in eight bytes.
template <int lanes, ZeroForm form>
struct Nibbles {
  static constexpr int kBlock = 16, kPart = 16;
  const std::byte* codes;
  Table<lanes> table;

  inline __attribute__((always_inline)) void open(const WeightRun& r, const WeightColumn& column, std::int64_t block) {
    codes = column.codes + block * 8;
    __builtin_prefetch(codes + r.ahead);
    table.load(r.numbers);
    const std::int64_t group = block >> r.shift;
    const float scale = column.scale[group], zero = form == ZeroForm::none ? 0.0f : column.zero[group];
    for (auto& part : table.part) weigh<lanes, form>(part, scale, zero);
  }
  template <int v>
  inline __attribute__((always_inline)) void weights(int, typename Simd<lanes>::Floats& to) const {
    using Words = typename Simd<lanes>::Words;
    // Each word of eight codes in eight lanes, shifted by four bits a lane.
    std::uint32_t word[2];
    __builtin_memcpy(word, codes, 8);
    Words words, shifts;
    if constexpr (lanes == 16) {
      const __m512i both = _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
      words = (Words)_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1), both);
    } else {
      words = Words{} + word[v];
    }
    for (int i = 0; i < lanes; ++i) shifts[i] = 4 * (i % 8);
    table.select(words >> shifts, to);
  }
};

// Sixteen adjacent elements in as many bytes.
template <int lanes, class Code, ZeroForm form>
struct Bytes {
  static constexpr int kBlock = 16, kPart = 16;
  const Code* codes;
  float scale, zero;

  inline __attribute__((always_inline)) void open(const WeightRun& r, const WeightColumn& column, std::int64_t block) {
    codes = reinterpret_cast<const Code*>(column.codes + block * 16);
    __builtin_prefetch(codes + r.ahead);
    const std::int64_t group = block >> r.shift;
    scale = column.scale[group], zero = form == ZeroForm::none ? 0.0f : column.zero[group];
  }
  template <int v>
  inline __attribute__((always_inline)) void weights(int, typename Simd<lanes>::Floats& to) const {
    Byte<Code>::template load<lanes>(codes + v * lanes, to);
    weigh<lanes, form>(to, scale, zero);
  }
};

// sum += w · x, rounded once.
template <int lanes>
inline __attribute__((always_inline)) void add_product(typename Simd<lanes>::Floats& sum,
                                                       const typename Simd<lanes>::Floats& w,
                                                       const typename Simd<lanes>::Floats& x) {
  if constexpr (lanes == 16)
    sum = _mm512_fmadd_ps((__m512)w, (__m512)x, (__m512)sum);
  else
    sum = _mm256_fmadd_ps((__m256)w, (__m256)x, (__m256)sum);
}

// Calls f with Index<0>, …, Index<count - 1>: a loop whose counter is a constant in each turn, so that what it indexes
// stays in registers.
template <int i>
struct Index {
  static constexpr int value = i;
};
template <class F, int... i>
inline __attribute__((always_inline)) void each_of(const F& f, std::integer_sequence<int, i...>) {
  (f(Index<i>()), ...);
}
template <int count, class F>
inline __attribute__((always_inline)) void each(const F& f) {
  each_of(f, std::make_integer_sequence<int, count>());
}

template <class Form, int lanes, int rows, int cols, bool keeps>
inline __attribute__((always_inline)) void weight_tile(const WeightRun& r, std::int64_t col) {
  using V = typename Simd<lanes>::Floats;
  constexpr int kVectors = Form::kPart / lanes;
  V sum[rows][cols];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) sum[i][j] = V{};
  }
  const float* a = r.a;
  float* kept = r.kept + col * r.kept_row;
  for (std::int64_t block = 0; block < r.depth / Form::kBlock; ++block) {
    Form form[cols];
    each<cols>([&](auto j) __attribute__((always_inline)) { form[j.value].open(r, r.columns[col + j.value], block); });
    for (int p = 0; p < Form::kBlock / Form::kPart; ++p, a += Form::kPart, kept += Form::kPart) {
      each<kVectors>([&](auto v) __attribute__((always_inline)) {
        V w[cols];
        each<cols>([&](auto j) __attribute__((always_inline)) {
          form[j.value].template weights<v.value>(p, w[j.value]);
          if constexpr (keeps) *reinterpret_cast<V*>(kept + j.value * r.kept_row + v.value * lanes) = w[j.value];
        });
        each<rows>([&](auto i) __attribute__((always_inline)) {
          const V x = *reinterpret_cast<const V*>(a + i.value * r.a_row + v.value * lanes);
          each<cols>([&](auto j)
                         __attribute__((always_inline)) { add_product<lanes>(sum[i.value][j.value], w[j.value], x); });
        });
      });
    }
  }
  store_totals<float, lanes, rows, cols>(sum, r.y + col, r.pitch, r.add);
}

template <class Form, int lanes, int rows, bool keeps>
inline __attribute__((always_inline)) void weight_rows(const WeightRun& r) {
  if (r.cols == 4) return weight_tile<Form, lanes, rows, 4, keeps>(r, 0);
  for (std::int64_t col = 0; col < r.cols; ++col) weight_tile<Form, lanes, rows, 1, keeps>(r, col);
}

template <class Form, int lanes>
void weight_products(const WeightRun& given) {
  const WeightRun r = given;  // which nothing that is written can be
  if (r.kept) return r.rows == 4 ? weight_rows<Form, lanes, 4, true>(r) : weight_rows<Form, lanes, 2, true>(r);
  if (r.rows == 4) return weight_rows<Form, lanes, 4, false>(r);
  if (r.rows == 2) return weight_rows<Form, lanes, 2, false>(r);
  weight_rows<Form, lanes, 1, false>(r);
}

// By WeightForm, and by what zeros do: nothing, come off, are added.
template <int lanes>
constexpr WeightLoop kWeightLoops[kWeightForms][3] = {
    {weight_products<NibbleBlocks<lanes, ZeroForm::none, false>, lanes>, nullptr,
     weight_products<NibbleBlocks<lanes, ZeroForm::bias, false>, lanes>},
    {weight_products<NibbleBlocks<lanes, ZeroForm::none, true>, lanes>},
    {nullptr, nullptr, weight_products<KBlocks<lanes>, lanes>},
    {weight_products<ByteBlocks<lanes>, lanes>},
    {weight_products<Nibbles<lanes, ZeroForm::none>, lanes>, weight_products<Nibbles<lanes, ZeroForm::numbers>, lanes>,
     weight_products<Nibbles<lanes, ZeroForm::bias>, lanes>},
    {weight_products<Bytes<lanes, std::uint8_t, ZeroForm::none>, lanes>,
     weight_products<Bytes<lanes, std::uint8_t, ZeroForm::numbers>, lanes>,
     weight_products<Bytes<lanes, std::uint8_t, ZeroForm::bias>, lanes>},
    {weight_products<Bytes<lanes, std::int8_t, ZeroForm::none>, lanes>,
     weight_products<Bytes<lanes, std::int8_t, ZeroForm::numbers>, lanes>},
};
