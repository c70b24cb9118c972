// The gradient of attention on the CPU, in f32: a head of keys and values is a piece of work, so that no two threads
// add to the same gradient. Blocks of queries meet tiles of keys; all five products are of small matrices whose rows
// are vectors: the queries of the block, or columns of heads.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/host_memory.h"
#include "kernels/attention/attention.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/cpu_loops.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kQueries = 32, kKeys = 64;  // of a block and of a tile
constexpr std::int64_t kVector = 16;               // rows are padded to multiples of it
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// `count` elements from `start` on.
template <class T>
void read(const View& view, std::int64_t start, std::int64_t stride, std::int64_t count, T* out,
          std::int64_t out_stride = 1) {
  with_type(view.dtype, [&]<class E>() {
    if constexpr (std::is_convertible_v<E, T>) {
      const E* source = data<const E>(view) + start;
      for (std::int64_t i = 0; i < count; ++i) out[i * out_stride] = static_cast<T>(source[i * stride]);
    }
  });
}

void write(const View& view, std::int64_t start, std::int64_t stride, std::int64_t count, const float* values) {
  with_type(view.dtype, [&]<class E>() {
    if constexpr (std::is_constructible_v<E, float>) {
      E* target = data<E>(view) + start;
      for (std::int64_t i = 0; i < count; ++i) target[i * stride] = static_cast<E>(values[i]);
    }
  });
}

std::int64_t place(const View& view, std::int64_t batch, std::int64_t head, std::int64_t i) {
  const Strides& s = view.strides();
  return batch * s[0] + head * s[1] + i * s[2];
}

std::int64_t padded(std::int64_t width) { return (width + kVector - 1) / kVector * kVector; }

// A matrix whose element [i, j] is at i · row + j · column.
struct Matrix {
  const float* start;
  std::int64_t row, column;
};

// rows × columns elements of c += a · b, held in registers.
template <int rows, int columns>
WEFT_INLINE void multiply_tile(const Matrix& a, std::int64_t depth, const float* b, std::int64_t b_row, float* c,
                               std::int64_t c_row) {
  float sums[rows][columns];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) sums[i][j] = c[i * c_row + j];
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    for (int i = 0; i < rows; ++i) {
      const float x = a.start[i * a.row + k * a.column];
      for (int j = 0; j < columns; ++j) sums[i][j] += x * b[k * b_row + j];
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) c[i * c_row + j] = sums[i][j];
  }
}

// c [rows, columns] += a [rows, depth] · b [depth, columns]; columns is a multiple of kVector.
WEFT_VECTOR_CLONES
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, const Matrix& a, const float* b,
              std::int64_t b_row, float* c, std::int64_t c_row) {
  for (std::int64_t j = 0; j < columns;) {
    const bool wide = columns - j >= 32;
    for (std::int64_t i = 0; i < rows;) {
      const Matrix from{a.start + i * a.row, a.row, a.column};
      float* const to = c + i * c_row + j;
      if (rows - i >= 4) {
        if (wide)
          multiply_tile<4, 32>(from, depth, b + j, b_row, to, c_row);
        else
          multiply_tile<4, 16>(from, depth, b + j, b_row, to, c_row);
        i += 4;
      } else {
        multiply_tile<1, 16>(from, depth, b + j, b_row, to, c_row);
        if (wide) multiply_tile<1, 16>(from, depth, b + j + 16, b_row, to + 16, c_row);
        ++i;
      }
    }
    j += wide ? 32 : 16;
  }
}

// e^x to about 1 ulp: 2^n · e^r with |r| ≤ ln2/2 and the Taylor polynomial of e^r; 0 below e^-87. NaN stays NaN.
WEFT_INLINE float exponential(float x) {
  const float y = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float shifted = y * 1.44269504f + 12582912.0f;  // its low bits are the nearest integer
  const float n = shifted - 12582912.0f;
  const float r = (y - n * 0.693359375f) + n * 2.12194440e-4f;
  float e = 1.0f / 5040;
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) e = e * r + c;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) - 0x4b400000u + 127u) << 23;
  const float result = e * std::bit_cast<float>(exponent);
  return x < -87.0f ? 0.0f : x > 88.0f ? std::numeric_limits<float>::infinity() : result;
}

// Of a tile of keys by the block's queries.
struct Tile {
  float* scores;          // [keys, kQueries] in, the weights out
  float* of_weights;      // their cotangents in, those of the scores out
  const float* bias;      // [keys, kQueries], or null; kHidden hides its key whatever that holds
  const float* log_sums;  // [kQueries]
  const float* delta;
  const std::int32_t *first, *end;  // of the keys that each query sees
  std::int32_t key;                 // the tile's first
};

WEFT_VECTOR_CLONES
void weigh(const Tile& t, std::int64_t keys, float scale) {
  for (std::int64_t j = 0; j < keys; ++j) {
    float* const scores = t.scores + j * kQueries;
    float* const of_weights = t.of_weights + j * kQueries;
    const auto key = static_cast<std::int32_t>(t.key + j);
    for (std::int64_t i = 0; i < kQueries; ++i) {
      const float bias = t.bias ? t.bias[j * kQueries + i] : 0.0f;
      const float score = bias == kHidden ? kHidden : scores[i] * scale + bias;
      float w = exponential(score - t.log_sums[i]);
      w = key >= t.first[i] && key < t.end[i] ? w : 0.0f;
      const float ds = w * (of_weights[i] - t.delta[i]) * scale;
      scores[i] = w;
      of_weights[i] = w == 0.0f ? 0.0f : ds;  // what is hidden does not reach the gradients
    }
  }
}

// The keys or values of a head in f32.
std::vector<float> rows_of(const View& view, std::int64_t batch, std::int64_t head) {
  const std::int64_t count = view.shape()[2], width = view.shape()[3];
  std::vector<float> rows = host_list<float>(count * width);
  for (std::int64_t i = 0; i < count && width > 0; ++i) {
    read(view, place(view, batch, head, i), view.strides()[3], width, rows.data() + i * width);
  }
  return rows;
}

void write_rows(const View& view, std::int64_t batch, std::int64_t head, const std::vector<float>& rows) {
  const std::int64_t width = view.shape()[3];
  for (std::int64_t i = 0; i < view.shape()[2] && width > 0; ++i) {
    write(view, place(view, batch, head, i), view.strides()[3], width, rows.data() + i * padded(width));
  }
}

// What a block of queries has: rows, and the same transposed.
struct Rows {
  std::int64_t width, pitch;
  std::vector<float> rows, columns;

  explicit Rows(std::int64_t width)
      : width(width),
        pitch(padded(width)),
        rows(host_list<float>(kQueries * pitch)),
        columns(host_list<float>(kQueries * width)) {}
  void clear(std::int64_t i) {
    std::fill_n(rows.data() + i * pitch, width, 0.0f);
    for (std::int64_t d = 0; d < width; ++d) columns[static_cast<std::size_t>(d * kQueries + i)] = 0;
  }
  void take(std::int64_t i, const View& view, std::int64_t start) {
    if (width == 0) return;
    read(view, start, view.strides()[3], width, rows.data() + i * pitch);
    for (std::int64_t d = 0; d < width; ++d) {
      columns[static_cast<std::size_t>(d * kQueries + i)] = rows[static_cast<std::size_t>(i * pitch + d)];
    }
  }
};

void run_head(const AttentionGradientCall& c, std::int64_t batch, std::int64_t kv_head) {
  const AttentionCall& a = c.forward;
  const std::vector<float> k = rows_of(a.k, batch, kv_head), v = rows_of(a.v, batch, kv_head);
  // NaN and infinities of a key must not meet the queries that do not see it, whose cotangents of its score are 0; the
  // score of such a key is NaN to the others, and so is its cotangent.
  std::vector<float> finite_k = k;
  for (float& x : finite_k) x = std::isfinite(x) ? x : 0;
  std::vector<float> dk = host_list<float>(a.keys * padded(a.dim)), dv = host_list<float>(a.keys * padded(a.value_dim));
  Rows q(a.dim), g(a.value_dim);
  std::vector<float> dq = host_list<float>(a.dim * kQueries), scores(kKeys * kQueries), of_weights(scores),
                     bias(a.mask ? kKeys * kQueries : 0), row(static_cast<std::size_t>(a.dim));
  const bool boolean = a.mask && a.mask->dtype == DType::boolean;

  for (std::int64_t begin = 0; begin < a.rows(); begin += kQueries) {
    float log_sums[kQueries], delta[kQueries];
    std::int32_t first[kQueries], end[kQueries];
    std::int64_t block_first = a.keys, block_end = 0;
    const auto at = [&](std::int64_t i) {
      return std::pair(kv_head * a.group + (begin + i) / a.queries, (begin + i) % a.queries);
    };
    const std::int64_t count = std::min(kQueries, a.rows() - begin);
    for (std::int64_t i = 0; i < kQueries; ++i) {
      log_sums[i] = delta[i] = 0;
      first[i] = end[i] = 0;
      q.clear(i);
      g.clear(i);
      if (i >= count) continue;
      const auto [head, query] = at(i);
      const AttentionCall::Keys seen = a.seen(batch, query);
      const float log_sum = data<const float>(*a.log_sums)[place(*a.log_sums, batch, head, query)];
      if (seen.end <= seen.first || log_sum == kHidden) continue;  // it sees no key
      log_sums[i] = log_sum;
      delta[i] = data<const float>(c.delta)[place(c.delta, batch, head, query)];
      first[i] = static_cast<std::int32_t>(seen.first);
      end[i] = static_cast<std::int32_t>(seen.end);
      block_first = std::min(block_first, seen.first);
      block_end = std::max(block_end, seen.end);
      q.take(i, a.q, place(a.q, batch, head, query));
      g.take(i, a.y, place(a.y, batch, head, query));
    }
    std::ranges::fill(dq, 0.0f);
    for (std::int64_t key = block_first; key < block_end; key += kKeys) {
      const std::int64_t keys = std::min(kKeys, block_end - key);
      for (std::int64_t i = 0; a.mask && i < count; ++i) {
        const auto [head, query] = at(i);
        const std::int64_t stride = a.mask->strides()[3];
        read(*a.mask, place(*a.mask, batch, head, query) + key * stride, stride, keys, bias.data() + i, kQueries);
      }
      for (float& b : bias) b = boolean ? (b != 0 ? 0.0f : kHidden) : b;
      std::ranges::fill(scores, 0.0f);
      std::ranges::fill(of_weights, 0.0f);
      const float *const k_tile = k.data() + key * a.dim, *const v_tile = v.data() + key * a.value_dim;
      multiply(keys, kQueries, a.dim, {k_tile, a.dim, 1}, q.columns.data(), kQueries, scores.data(), kQueries);
      multiply(keys, kQueries, a.value_dim, {v_tile, a.value_dim, 1}, g.columns.data(), kQueries, of_weights.data(),
               kQueries);
      weigh({scores.data(), of_weights.data(), a.mask ? bias.data() : nullptr, log_sums, delta, first, end,
             static_cast<std::int32_t>(key)},
            keys, static_cast<float>(a.options.scale));
      multiply(a.dim, kQueries, keys, {finite_k.data() + key * a.dim, 1, a.dim}, of_weights.data(), kQueries, dq.data(),
               kQueries);
      multiply(keys, q.pitch, kQueries, {of_weights.data(), kQueries, 1}, q.rows.data(), q.pitch,
               dk.data() + key * q.pitch, q.pitch);
      multiply(keys, g.pitch, kQueries, {scores.data(), kQueries, 1}, g.rows.data(), g.pitch, dv.data() + key * g.pitch,
               g.pitch);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const auto [head, query] = at(i);
      for (std::int64_t d = 0; d < a.dim; ++d) {
        row[static_cast<std::size_t>(d)] = dq[static_cast<std::size_t>(d * kQueries + i)];
      }
      write(c.dq, place(c.dq, batch, head, query), c.dq.strides()[3], a.dim, row.data());
    }
  }
  write_rows(c.dk, batch, kv_head, dk);
  write_rows(c.dv, batch, kv_head, dv);
}

}  // namespace

void attention_gradient_cpu(cpu::Executor& executor, const AttentionGradientCall& c) {
  const AttentionCall& a = c.forward;
  parallel(executor, a.batch * a.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) run_head(c, i / a.kv_heads, i % a.kv_heads);
  });
}

}  // namespace weft::kernels
