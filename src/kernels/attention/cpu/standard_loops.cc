#include "kernels/attention/cpu/standard_loops.h"

#include <algorithm>
#include <cmath>

namespace weft::kernels::attention_loops {
namespace {

// Online softmax over tiles of keys, as in query_block.h: `top` and `sum` are those of the keys so far.
template <int size>
void attend(const Block& b) {
  float top[size], sum[size] = {};
  std::fill(top, top + size, kLowest);
  std::fill(b.o, b.o + b.value_dim * size, 0.0f);

  for (std::int64_t base = b.begin; base < b.end; base += kTile) {
    const std::int64_t count = std::min<std::int64_t>(b.end - base, kTile);
    float tile_top[size];
    std::copy(top, top + size, tile_top);
    const auto hidden = [&](std::int64_t key, int i) {
      return (b.key_bias && b.key_bias[key] == kHidden) || (b.bias && b.bias[key * size + i] == kHidden) ||
             (b.seen_first && (key < b.seen_first[i] || key >= b.seen_end[i]));
    };
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t key = base + j;
      const float* const k = b.k + key * b.k_stride;
      float s[size] = {};
      for (std::int64_t d = 0; d < b.dim; ++d) {
        for (int i = 0; i < size; ++i) s[i] += b.q[d * size + i] * k[d];
      }
      for (int i = 0; i < size; ++i) {
        if (b.key_bias) s[i] += b.key_bias[key];
        if (b.bias) s[i] += b.bias[key * size + i];
        if (hidden(key, i)) s[i] = kHidden;
        b.scores[j * size + i] = s[i];
        tile_top[i] = s[i] > tile_top[i] ? s[i] : tile_top[i];
      }
    }
    float shrink[size];
    for (int i = 0; i < size; ++i) {
      shrink[i] = std::exp(top[i] - tile_top[i]);
      top[i] = tile_top[i];
      sum[i] *= shrink[i];
    }
    for (std::int64_t j = 0; j < count; ++j) {
      float* const weights = b.scores + j * size;
      for (int i = 0; i < size; ++i) {
        weights[i] = std::exp(weights[i] - top[i]);
        sum[i] += weights[i];
      }
    }
    for (std::int64_t d = 0; d < b.value_dim; ++d) {
      float* const o = b.o + d * size;
      for (int i = 0; i < size; ++i) o[i] *= shrink[i];
      for (std::int64_t j = 0; j < count; ++j) {
        const float v = b.v[(base + j) * b.v_stride + d];
        for (int i = 0; i < size; ++i) {
          if (!b.careful || !hidden(base + j, i)) o[i] += b.scores[j * size + i] * v;
        }
      }
    }
  }
  if (b.tops) {
    std::copy(top, top + size, b.tops);
    std::copy(sum, sum + size, b.sums);
  }
  for (int i = 0; i < size; ++i) {
    const float factor = sum[i] == 0 ? b.empty : 1 / sum[i];  // no key seen: zeros or NaN
    for (std::int64_t d = 0; d < b.value_dim; ++d) b.o[d * size + i] *= factor;
  }
}

}  // namespace

void run(const Block& b) { b.size == 16 ? attend<16>(b) : attend<32>(b); }

}  // namespace weft::kernels::attention_loops
