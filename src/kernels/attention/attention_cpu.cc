// Attention on the CPU, vectorised over queries: a block of queries is stored transposed (a vector holds one column of
// several queries), keys and values are broadcast one number at a time, and softmax needs no sums across a vector.

#include <bit>
#include <cmath>
#include <format>
#include <vector>

#include "core/host_memory.h"
#include "cpu/kernel_form.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cpu/standard_loops.h"
#include "kernels/common/instruction_sets.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"

namespace weft::kernels {
namespace {

using attention_loops::Block, attention_loops::kColumns, attention_loops::kHidden, attention_loops::kLowest,
    attention_loops::kTile;

// Converts `count` elements of any float type to f32; booleans to what a mask adds.
void widen(const View& view, std::int64_t start, std::int64_t stride, std::int64_t count, float* out,
           std::int64_t out_stride) {
  if (widens_to_f32(view.dtype)) {
    const LoadBlock load = load_block(view.dtype);
    const std::byte* const base = view.buffer.data() + view.offset;
    float values[256];
    for (std::int64_t at = 0; at < count; at += 256) {
      const int n = static_cast<int>(std::min<std::int64_t>(256, count - at));
      load(base, start + at * stride, stride, n, out_stride == 1 ? out + at : values);
      for (int i = 0; out_stride != 1 && i < n; ++i) out[(at + i) * out_stride] = values[i];
    }
    return;
  }
  with_type(view.dtype, [&]<class T>() {
    if constexpr (std::is_convertible_v<T, float>) {
      const T* source = data<const T>(view) + start;
      for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<T, bool>)
          out[i * out_stride] = source[i * stride] ? 0.0f : kHidden;
        else
          out[i * out_stride] = static_cast<float>(source[i * stride]);
      }
    }
  });
}

// The keys or values of one head as rows of f32: in place if possible, else a copy.
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
    copy = host_list<float>(count * width);
    for (std::int64_t i = 0; i < count; ++i) widen(view, first + i * s[2], s[3], width, copy.data() + i * width, 1);
    start = copy.data();
    stride = width;
  }
};

// The inner loops, compiled for each instruction set.
#if WEFT_GNU
#if WEFT_X86
WEFT_BEGIN_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
namespace avx512 {
#include "kernels/attention/cpu/query_block.h"
void run(const Block& b) { b.size == 16 ? attend<16, 1>(b) : attend<16, 2>(b); }
}  // namespace avx512
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma")
namespace avx2 {
#include "kernels/attention/cpu/query_block.h"
void run(const Block& b) { b.size == 16 ? attend<8, 2>(b) : attend<8, 4>(b); }
}  // namespace avx2
WEFT_END_TARGET
#endif
namespace plain {
#include "kernels/attention/cpu/query_block.h"
void run(const Block& b) { b.size == 16 ? attend<4, 4>(b) : attend<4, 8>(b); }
}  // namespace plain

#endif

void (*choose_run())(const Block&) {
#if WEFT_X86
  if (instruction_set() == 4) return avx512::run;
  if (instruction_set() == 3) return avx2::run;
#endif
#if WEFT_GNU
  return plain::run;
#else
  return attention_loops::run;
#endif
}

// Computes the rows first…first+count-1 of one head of keys and values.
void run_block(const AttentionCall& a, std::int64_t batch, std::int64_t kv_head, const Rows& k, const Rows& v,
               const float* key_bias, std::int64_t first, std::int64_t count) {
  static void (*const run)(const Block&) = choose_run();
  thread_local Scratch scratch;
  Block b;
  b.size = count <= 16 ? 16 : 32;
  const std::int64_t size = b.size;
  const std::int64_t o_columns = (a.value_dim + kColumns - 1) / kColumns * kColumns;
  const bool row_bias = a.mask && !key_bias && a.keys > 0;
  b.q = scratch.need(size * (a.dim + o_columns + kTile + (row_bias ? a.keys : 0)));
  alignas(64) std::int32_t seen_first[32], seen_end[32];
  alignas(64) float tops[32], sums[32];
  if (a.log_sums) b.tops = tops, b.sums = sums;
  b.o = b.q + a.dim * size;
  b.scores = b.o + o_columns * size;
  float* bias = b.scores + kTile * size;
  b.dim = a.dim;
  b.value_dim = a.value_dim;
  b.k = k.start;
  b.v = v.start;
  b.k_stride = k.stride;
  b.v_stride = v.stride;
  b.key_bias = key_bias;
  if (row_bias) b.bias = bias;
  b.empty = a.empty();

  auto place = [&](const View& view, std::int64_t row) {
    const Strides& s = view.strides();
    return batch * s[0] + (kv_head * a.group + row / a.queries) * s[1] + row % a.queries * s[2];
  };
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t row = first + std::min(i, count - 1);  // repeats the last row past the end
    widen(a.q, place(a.q, row), a.q.strides()[3], a.dim, b.q + i, size);
    const AttentionCall::Keys seen = a.seen(batch, row % a.queries);
    seen_first[i] = static_cast<std::int32_t>(seen.first);
    seen_end[i] = static_cast<std::int32_t>(seen.end);
    if (seen.first == seen.end) continue;
    b.begin = b.end == 0 ? seen.first : std::min(b.begin, seen.first);
    b.end = std::max(b.end, seen.end);
  }
  if (a.has_window() || a.lengths.queries || a.lengths.keys) {
    b.seen_first = seen_first;
    b.seen_end = seen_end;
  }
  const auto scale = static_cast<float>(a.options.scale);
  for (std::int64_t i = 0; i < a.dim * size; ++i) b.q[i] *= scale;
  for (std::int64_t i = 0; row_bias && i < size; ++i) {
    const std::int64_t row = first + std::min(i, count - 1);
    const std::int64_t stride = a.mask->strides()[3];
    widen(*a.mask, place(*a.mask, row) + b.begin * stride, stride, b.end - b.begin, bias + b.begin * size + i, size);
  }
  run(b);
  if (b.key_bias || b.bias || b.seen_first) {
    // Once more where a hidden key's value may have reached the result: 0 times NaN is NaN.
    std::uint32_t carries = 0;  // of exponents that are all ones, by one
    for (std::int64_t i = 0; i < a.value_dim * size; ++i) {
      carries |= (std::bit_cast<std::uint32_t>(b.o[i]) & 0x7f800000u) + 0x00800000u;
    }
    if (carries >> 31 != 0) {
      b.careful = true;
      run(b);
    }
  }
  for (std::int64_t i = 0; a.log_sums && i < count; ++i) {
    data<float>(*a.log_sums)[place(*a.log_sums, first + i)] = sums[i] == 0 ? kHidden : tops[i] + std::log(sums[i]);
  }
  if (widens_to_f32(a.y.dtype)) {
    const StoreBlock store = store_block(a.y.dtype);
    float values[256];
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t d = 0; d < a.value_dim; d += 256) {
        const int n = static_cast<int>(std::min<std::int64_t>(256, a.value_dim - d));
        for (int e = 0; e < n; ++e) values[e] = b.o[(d + e) * size + i];
        store(a.y.buffer.data() + a.y.offset, place(a.y, first + i) + d * a.y.strides()[3], a.y.strides()[3], n,
              values);
      }
    }
    return;
  }
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
  check_attention_memory(executor, a);
  constexpr std::int64_t kBlock = 32;
  // A head whose keys or values are copied is one piece of work, so that they are copied once.
  const std::int64_t blocks = (a.rows() + kBlock - 1) / kBlock;
  const std::int64_t pieces = Rows::usable(a.k) && Rows::usable(a.v) ? blocks : 1;
  const std::int64_t blocks_a_piece = blocks / pieces;
  cpu::say_form([&] {
    const char* const why = pieces == blocks ? "blocks of 32 queries" : "keys or values are copied once a head";
    return std::pair(std::format("{}_{}", pieces == blocks ? "query_blocks" : "heads", instruction_set_name()),
                     std::string(why));
  });
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
