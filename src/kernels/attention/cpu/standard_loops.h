// What the inner loops of attention on the CPU work on, and these loops in standard C++. query_block.h has them in
// GNU's vectors, which attention_cpu.cc takes where the compiler has those.
#pragma once

#include <cstdint>
#include <limits>

namespace weft::kernels::attention_loops {

inline constexpr float kHidden = -std::numeric_limits<float>::infinity();
inline constexpr float kLowest = std::numeric_limits<float>::lowest();
inline constexpr int kTile = 32;     // keys whose scores are in memory at once
inline constexpr int kColumns = 16;  // of the result at once, at most

// A block of queries with all that the inner loops access. `size` queries are adjacent.
struct Block {
  int size = 0;
  std::int64_t begin = 0, end = 0;  // of the keys that any query of the block sees
  std::int64_t dim = 0, value_dim = 0;
  const float* k = nullptr;  // [keys][dim], with row stride k_stride
  const float* v = nullptr;  // [keys][value_dim], with row stride v_stride
  std::int64_t k_stride = 0, v_stride = 0;
  float* q = nullptr;                        // [dim][size], scaled
  float* o = nullptr;                        // [value_dim rounded up to kColumns][size]: the result
  float* scores = nullptr;                   // [kTile][size]
  const float* key_bias = nullptr;           // [keys], or null; kHidden hides its key whatever that holds
  const float* bias = nullptr;               // [keys][size], or null
  const std::int32_t* seen_first = nullptr;  // [size]: first and end of each query's keys; null: all keys
  const std::int32_t* seen_end = nullptr;
  // Values of hidden keys are passed over, not multiplied by 0: for values among which there are NaN or infinities.
  bool careful = false;
  float* tops = nullptr;  // [size]: of each query the highest score and the sum of exp(score - it); or null
  float* sums = nullptr;
  float empty = 0;  // factor of the result of a query that sees no key
};

// b.o = softmax(b.q · b.k + bias) · b.v.
void run(const Block& b);

}  // namespace weft::kernels::attention_loops
