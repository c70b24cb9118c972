// The inner loops of attention_cpu.cc, which includes this file once for each instruction set, in a namespace of its
// own. So there is no include guard and no include, and nothing here calls a library, whose inline functions would be
// compiled for that instruction set as well.

// A vector of `width` floats, and of as many integers.
template <int width>
struct Simd {
  typedef float Floats __attribute__((vector_size(4 * width), may_alias));
  typedef std::int32_t Ints __attribute__((vector_size(4 * width), may_alias));

  static inline __attribute__((always_inline)) Floats& at(float* p) { return *reinterpret_cast<Floats*>(p); }

  // x = exp(x) for x ≤ 0 to about 1 ulp: 2^n · e^r with |r| ≤ ln2/2 and the Taylor polynomial of e^r; 0 below e^-87.
  // NaN stays NaN.
  static inline __attribute__((always_inline)) void exp_nonpositive(Floats& x) {
    const Floats low = -87.0f - Floats{};
    const Ints vanishes = x < low;
    const Floats y = vanishes ? low : x;
    const Floats n = (y * 1.44269504f + 12582912.0f) - 12582912.0f;  // to the nearest integer
    const Floats r = (y - n * 0.693359375f) + n * 2.12194440e-4f;    // ln 2 in two terms, the first exact in products
    Floats e = 1.0f / 5040 - Floats{};
    e = e * r + 1.0f / 720;
    e = e * r + 1.0f / 120;
    e = e * r + 1.0f / 24;
    e = e * r + 1.0f / 6;
    e = e * r + 0.5f;
    e = e * r + 1.0f;
    e = e * r + 1.0f;
    const Ints exponent = (__builtin_convertvector(n, Ints) + 127) << 23;
    x = vanishes ? Floats{} : e * __builtin_bit_cast(Floats, exponent);
  }
};

template <int width, int vectors>
void attend(const Block& b) {
  using S = Simd<width>;
  using V = typename S::Floats;
  using I = typename S::Ints;
  constexpr int size = width * vectors;
  constexpr int accumulators = width == 16 ? 16 : 8;  // of 32 or 16 registers
  constexpr int at_once = accumulators / vectors;     // keys or columns that share a load of the queries

  // Which of the queries of vector i do not see a key.
  const auto hidden = [&](std::int64_t key, int i) __attribute__((always_inline)) {
    I is_hidden = I{};
    if (b.key_bias) is_hidden |= b.key_bias[key] - V{} == kHidden - V{};
    if (b.bias) is_hidden |= *reinterpret_cast<const V*>(b.bias + key * size + i * width) == kHidden - V{};
    if (b.seen_first) {
      const I place = static_cast<std::int32_t>(key) - I{};
      is_hidden |= (place < *reinterpret_cast<const I*>(b.seen_first + i * width)) |
                   (place >= *reinterpret_cast<const I*>(b.seen_end + i * width));
    }
    return is_hidden;
  };
  V m[vectors], l[vectors];
  for (int i = 0; i < vectors; ++i) {
    m[i] = kLowest - V{};
    l[i] = V{};
  }
  for (std::int64_t d = 0; d < (b.value_dim + at_once - 1) / at_once * at_once * size; ++d) b.o[d] = 0;

  for (std::int64_t base = b.begin; base < b.end; base += kTile) {
    const int count = static_cast<int>(b.end - base < kTile ? b.end - base : kTile);
    V top[vectors];
    for (int i = 0; i < vectors; ++i) top[i] = m[i];
    for (int j = 0; j < count; j += at_once) {
      const float* k[at_once];
      V s[at_once][vectors];
      for (int c = 0; c < at_once; ++c) {
        k[c] = b.k + (base + j + c < b.end ? base + j + c : b.end - 1) * b.k_stride;
        for (int i = 0; i < vectors; ++i) s[c][i] = V{};
      }
      for (std::int64_t d = 0; d < b.dim; ++d) {
        for (int c = 0; c < at_once; ++c) {
          for (int i = 0; i < vectors; ++i) s[c][i] += S::at(b.q + d * size + i * width) * k[c][d];
        }
      }
      for (int c = 0; c < at_once && j + c < count; ++c) {
        const std::int64_t key = base + j + c;
        for (int i = 0; i < vectors; ++i) {
          V score = s[c][i];
          if (b.key_bias) score += b.key_bias[key];
          if (b.bias) score += *reinterpret_cast<const V*>(b.bias + key * size + i * width);
          score = hidden(key, i) ? kHidden - V{} : score;
          S::at(b.scores + (j + c) * size + i * width) = score;
          top[i] = score > top[i] ? score : top[i];
        }
      }
    }
    V shrink[vectors];
    for (int i = 0; i < vectors; ++i) {
      shrink[i] = m[i] - top[i];
      S::exp_nonpositive(shrink[i]);
      m[i] = top[i];
      l[i] *= shrink[i];
    }
    for (int j = 0; j < count; ++j) {
      for (int i = 0; i < vectors; ++i) {
        V& weight = S::at(b.scores + j * size + i * width);
        V w = weight - m[i];
        S::exp_nonpositive(w);
        weight = w;
        l[i] += w;
      }
    }
    for (std::int64_t d = 0; d < b.value_dim; d += at_once) {
      V o[at_once][vectors];
      for (int c = 0; c < at_once; ++c) {
        for (int i = 0; i < vectors; ++i) o[c][i] = S::at(b.o + (d + c) * size + i * width) * shrink[i];
      }
      std::int64_t column[at_once];  // columns past the end repeat the last one and are not read
      for (int c = 0; c < at_once; ++c) column[c] = d + c < b.value_dim ? d + c : b.value_dim - 1;
      if (b.careful) {
        for (int j = 0; j < count; ++j) {
          const float* v = b.v + (base + j) * b.v_stride;
          for (int i = 0; i < vectors; ++i) {
            const I is_hidden = hidden(base + j, i);
            for (int c = 0; c < at_once; ++c) {
              o[c][i] = is_hidden ? o[c][i] : o[c][i] + S::at(b.scores + j * size + i * width) * v[column[c]];
            }
          }
        }
      } else {
        for (int j = 0; j < count; ++j) {
          const float* v = b.v + (base + j) * b.v_stride;
          for (int c = 0; c < at_once; ++c) {
            for (int i = 0; i < vectors; ++i) o[c][i] += S::at(b.scores + j * size + i * width) * v[column[c]];
          }
        }
      }
      for (int c = 0; c < at_once; ++c) {
        for (int i = 0; i < vectors; ++i) S::at(b.o + (d + c) * size + i * width) = o[c][i];
      }
    }
  }
  for (int i = 0; b.tops && i < vectors; ++i) {
    S::at(b.tops + i * width) = m[i];
    S::at(b.sums + i * width) = l[i];
  }
  for (int i = 0; i < vectors; ++i) {
    const V f = l[i] == V{} ? b.empty - V{} : 1.0f / l[i];  // no key seen: zeros or NaN
    for (std::int64_t d = 0; d < b.value_dim; ++d) S::at(b.o + d * size + i * width) *= f;
  }
}
