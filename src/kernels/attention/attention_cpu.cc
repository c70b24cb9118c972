// Attention on the CPU, vectorised over queries: a block of them lies transposed (one vector holds one column of
// several queries), keys and values are broadcast a number at a time, and softmax needs no sums across a vector.

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/twin.h"

namespace weft::kernels {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
#define WEFT_FOR(target_name) __attribute__((target(target_name)))
#else
#define WEFT_FOR(target_name)
#endif
#define WEFT_INLINE inline __attribute__((always_inline))

constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr int kTile = 32;  // keys whose scores are held

// A vector of `width` floats, and of as many integers.
template <int width>
struct Simd {
  typedef float Floats __attribute__((vector_size(4 * width), may_alias));
  typedef std::int32_t Ints __attribute__((vector_size(4 * width), may_alias));

  static WEFT_INLINE Floats& at(float* p) { return *reinterpret_cast<Floats*>(p); }

  // x = exp(x) for x ≤ 0 to about 1 ulp: 2^n · e^r with |r| ≤ ln2/2 and Taylor's polynomial for e^r. Below e^-87: 0.
  // NaN stays.
  static WEFT_INLINE void exp_nonpositive(Floats& x) {
    const Floats low = -87.0f - Floats{};
    const Ints vanishes = x < low;
    const Floats y = vanishes ? low : x;
    const Floats n = (y * 1.44269504f + 12582912.0f) - 12582912.0f;  // to the nearest integer
    const Floats r = (y - n * 0.693359375f) + n * 2.12194440e-4f;    // ln 2 in two parts, the first exact in products
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

// `count` elements of any float type as f32; booleans as what a mask adds.
void widen(const View& view, std::int64_t start, std::int64_t stride, std::int64_t count, float* out,
           std::int64_t out_stride) {
  with_type(view.dtype, [&]<class T>() {
    if constexpr (std::is_convertible_v<T, float>) {
      const T* source = data<const T>(view) + start;
      for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<T, bool>) out[i * out_stride] = source[i * stride] ? 0.0f : kHidden;
        else out[i * out_stride] = static_cast<float>(source[i * stride]);
      }
    }
  });
}

// The keys or values of one head as rows of f32: where they lie if they can be used there, else a copy.
struct Rows {
  const float* start = nullptr;
  std::int64_t stride = 0;
  std::vector<float> copy;

  static bool usable(const View& view) {
    return view.dtype == DType::f32 && (view.strides()[3] == 1 || view.shape()[3] == 1);
  }
  Rows(const View& view, std::int64_t batch, std::int64_t head) {
    if (view.count() == 0) return;
    const Strides& s = view.strides();
    const std::int64_t first = batch * s[0] + head * s[1];
    if (usable(view)) {
      start = data<const float>(view) + first;
      stride = s[2];
      return;
    }
    const std::int64_t count = view.shape()[2], width = view.shape()[3];
    copy.resize(static_cast<std::size_t>(count * width));
    for (std::int64_t i = 0; i < count; ++i) widen(view, first + i * s[2], s[3], width, copy.data() + i * width, 1);
    start = copy.data();
    stride = width;
  }
  const float* row(std::int64_t i) const { return start + i * stride; }
};

// One block of queries with everything that its arithmetic touches. `size` queries lie side by side.
struct Block {
  int size = 0;
  std::int64_t keys = 0;             // that any of them sees
  std::int64_t dim = 0, value_dim = 0;
  const Rows* k = nullptr;
  const Rows* v = nullptr;
  float* q = nullptr;                // [dim][size], scaled
  float* o = nullptr;                // [value_dim rounded up to 8][size]: the result
  float* scores = nullptr;           // [kTile][size]
  const float* key_bias = nullptr;   // [keys], or none
  const float* bias = nullptr;       // [keys][size], or none
  const std::int32_t* visible = nullptr;  // [size]: how many keys each query sees, or none: all
};

template <int width, int vectors>
WEFT_INLINE void attend(const Block& b) {
  using S = Simd<width>;
  using V = typename S::Floats;
  using I = typename S::Ints;
  constexpr int size = width * vectors;
  constexpr int at_once = vectors >= 8 ? 1 : 8 / vectors;  // keys or columns that share a load of the queries

  V m[vectors], l[vectors];
  for (int i = 0; i < vectors; ++i) {
    m[i] = kLowest - V{};
    l[i] = V{};
  }
  for (std::int64_t d = 0; d < (b.value_dim + 7) / 8 * 8 * size; ++d) b.o[d] = 0;

  for (std::int64_t base = 0; base < b.keys; base += kTile) {
    const int count = static_cast<int>(std::min<std::int64_t>(kTile, b.keys - base));
    V top[vectors];
    for (int i = 0; i < vectors; ++i) top[i] = m[i];
    for (int j = 0; j < count; j += at_once) {
      const float* k[at_once];
      V s[at_once][vectors];
      for (int c = 0; c < at_once; ++c) {
        k[c] = b.k->row(std::min<std::int64_t>(base + j + c, b.keys - 1));
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
          if (b.visible) {
            const I& visible = *reinterpret_cast<const I*>(b.visible + i * width);
            score = static_cast<std::int32_t>(key) - I{} < visible ? score : kHidden - V{};
          }
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
      std::int64_t column[at_once];  // those past the end repeat the last, and are not read back
      for (int c = 0; c < at_once; ++c) column[c] = std::min<std::int64_t>(d + c, b.value_dim - 1);
      for (int j = 0; j < count; ++j) {
        const float* v = b.v->row(base + j);
        for (int c = 0; c < at_once; ++c) {
          for (int i = 0; i < vectors; ++i) o[c][i] += S::at(b.scores + j * size + i * width) * v[column[c]];
        }
      }
      for (int c = 0; c < at_once; ++c) {
        for (int i = 0; i < vectors; ++i) S::at(b.o + (d + c) * size + i * width) = o[c][i];
      }
    }
  }
  for (int i = 0; i < vectors; ++i) {
    const V f = l[i] == V{} ? V{} : 1.0f / l[i];  // no key seen: zeros
    for (std::int64_t d = 0; d < b.value_dim; ++d) S::at(b.o + d * size + i * width) *= f;
  }
}

// One instantiation for each instruction set; blocks hold 16 or 32 queries.
#if defined(__x86_64__) && defined(__GNUC__)
WEFT_FOR("avx512f,avx512dq,avx512vl,avx512bw,fma") void attend_avx512(const Block& b) {
  b.size == 16 ? attend<16, 1>(b) : attend<16, 2>(b);
}
WEFT_FOR("avx2,fma") void attend_avx2(const Block& b) { b.size == 16 ? attend<8, 2>(b) : attend<8, 4>(b); }
#endif
void attend_plain(const Block& b) { b.size == 16 ? attend<4, 4>(b) : attend<4, 8>(b); }

void (*choose_attend())(const Block&) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    return attend_avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return attend_avx2;
#endif
  return attend_plain;
}

// Aligned floats that only grow.
class Scratch {
 public:
  float* need(std::int64_t count) {
    if (static_cast<std::int64_t>(buffer_.size() / sizeof(float)) < count) {
      buffer_ = Buffer::host(static_cast<std::uint64_t>(count) * sizeof(float));
    }
    return reinterpret_cast<float*>(buffer_.data());
  }

 private:
  Buffer buffer_;
};

// Rows first…first+count-1 of one head of keys and values.
void run_block(const AttentionCall& a, std::int64_t batch, std::int64_t kv_head, const Rows& k, const Rows& v,
               const float* key_bias, std::int64_t first, std::int64_t count) {
  static void (*const attend)(const Block&) = choose_attend();
  thread_local Scratch scratch;
  Block b;
  b.size = count <= 16 ? 16 : 32;
  const std::int64_t size = b.size;
  const std::int64_t o_columns = (a.value_dim + 7) / 8 * 8;
  const bool row_bias = a.mask && !key_bias && a.keys > 0;
  b.q = scratch.need(size * (a.dim + o_columns + kTile + (row_bias ? a.keys : 0)));
  alignas(64) std::int32_t visible[32];
  b.o = b.q + a.dim * size;
  b.scores = b.o + o_columns * size;
  float* bias = b.scores + kTile * size;
  b.dim = a.dim;
  b.value_dim = a.value_dim;
  b.k = &k;
  b.v = &v;
  b.key_bias = key_bias;
  if (row_bias) b.bias = bias;
  if (a.options.causal) b.visible = visible;

  auto place = [&](const View& view, std::int64_t row) {
    const Strides& s = view.strides();
    return batch * s[0] + (kv_head * a.group + row / a.queries) * s[1] + row % a.queries * s[2];
  };
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t row = first + std::min(i, count - 1);  // the last again where there are no more
    widen(a.q, place(a.q, row), a.q.strides()[3], a.dim, b.q + i, size);
    const std::int64_t sees = a.options.causal
        ? std::clamp<std::int64_t>(row % a.queries + 1 + a.keys - a.queries, 0, a.keys) : a.keys;
    visible[i] = static_cast<std::int32_t>(sees);
    b.keys = std::max(b.keys, sees);
  }
  for (std::int64_t i = 0; i < a.dim * size; ++i) b.q[i] *= a.options.scale;
  for (std::int64_t i = 0; row_bias && i < size; ++i) {
    const std::int64_t row = first + std::min(i, count - 1);
    widen(*a.mask, place(*a.mask, row), a.mask->strides()[3], b.keys, bias + i, size);
  }
  attend(b);
  with_type(a.y.dtype, [&]<class T>() {
    if constexpr (std::is_constructible_v<T, float>) {
      for (std::int64_t i = 0; i < count; ++i) {
        T* y = data<T>(a.y) + place(a.y, first + i);
        for (std::int64_t d = 0; d < a.value_dim; ++d) y[d * a.y.strides()[3]] = static_cast<T>(b.o[d * size + i]);
      }
    }
  });
}

}  // namespace

void attention_cpu(cpu::Executor& executor, const AttentionCall& a) {
  constexpr std::int64_t kBlock = 32;
  // A head whose keys or values are copied first is one piece of work, so that they are copied once.
  const std::int64_t blocks = (a.rows() + kBlock - 1) / kBlock;
  const std::int64_t pieces = Rows::usable(a.k) && Rows::usable(a.v) ? blocks : 1;
  const std::int64_t blocks_a_piece = blocks / pieces;
  parallel(executor, a.batch * a.kv_heads * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> key_bias;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / pieces / a.kv_heads;
      const std::int64_t kv_head = i / pieces % a.kv_heads;
      const Rows k(a.k, batch, kv_head);
      const Rows v(a.v, batch, kv_head);
      if (a.mask_is_per_key() && a.keys > 0) {
        key_bias.resize(static_cast<std::size_t>(a.keys));
        const Strides& s = a.mask->strides();
        widen(*a.mask, batch * s[0] + kv_head * a.group * s[1], s[3], a.keys, key_bias.data(), 1);
      }
      for (std::int64_t j = 0; j < blocks_a_piece; ++j) {
        const std::int64_t first = (i % pieces * blocks_a_piece + j) * kBlock;
        run_block(a, batch, kv_head, k, v, key_bias.empty() ? nullptr : key_bias.data(), first,
                  std::min(kBlock, a.rows() - first));
      }
    }
  });
}

}  // namespace weft::kernels
