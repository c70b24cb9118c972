// The inner loops in standard C++, which compilers without GNU's vectors take: here they are compared with sums in
// double, and with the loops of this build.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/attention/cpu/standard_loops.h"
#include "kernels/matmul/cpu/pairs.h"
#include "kernels/matmul/cpu/panels.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

class Numbers {
 public:
  float operator()() { return std::round(distribution_(random_) * 64) / 16; }  // exact in all types of panels

 private:
  std::mt19937 random_{7};
  std::uniform_real_distribution<float> distribution_{-1, 1};
};

template <class T, class Sum>
void expect_products(const PanelLoops<Sum>& loops, int type, Numbers& number) {
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 9}) {
    for (const std::int64_t depth : {1, 5, 8, 16, 37}) {
      for (const std::int64_t cols : {1, 3, loops.width - 1, loops.width}) {
        const bool add = rows % 2;
        const std::int64_t pitch = loops.width + 3;
        std::vector<Sum> a(static_cast<std::size_t>(rows * depth));
        for (Sum& x : a) x = number();
        std::vector<T> b(static_cast<std::size_t>(cols * depth));
        for (T& x : b) x = static_cast<T>(std::is_integral_v<T> ? std::abs(std::round(number())) : number());
        std::vector<Sum> start(static_cast<std::size_t>(rows * pitch));
        for (Sum& x : start) x = number();
        std::vector<T> packed(static_cast<std::size_t>(loops.width * depth));
        loops.pack[type](b.data(), depth, depth, cols, loops.width, packed.data());

        PanelRun<Sum> run{.a = a.data(),
                          .a_row = depth,
                          .b = packed.data(),
                          .b_row = loops.width,
                          .pitch = pitch,
                          .rows = rows,
                          .cols = cols,
                          .depth = depth,
                          .add = add};
        std::vector<Sum> by_panel = start, by_dots = start;
        run.y = by_panel.data();
        loops.panel[type](run);
        run.b = b.data();
        run.b_row = depth;
        run.y = by_dots.data();
        loops.dots[type](run);
        for (std::int64_t i = 0; i < rows * pitch; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const std::int64_t row = i / pitch, col = i % pitch;
          double sum = add ? start[at] : 0.0;
          for (std::int64_t k = 0; col < cols && k < depth; ++k) {
            sum += static_cast<double>(a[static_cast<std::size_t>(row * depth + k)]) *
                   static_cast<double>(static_cast<Sum>(b[static_cast<std::size_t>(col * depth + k)]));
          }
          if (col < cols) {
            ASSERT_EQ(by_panel[at], sum) << rows << " × " << depth << " × " << cols << " at " << row << ", " << col;
            ASSERT_EQ(by_dots[at], sum) << rows << " × " << depth << " × " << cols << " at " << row << ", " << col;
          } else {
            if (col >= loops.width) {
              ASSERT_EQ(by_panel[at], start[at]) << "written past the panel";
            }
            ASSERT_EQ(by_dots[at], start[at]) << "written past the columns";
          }
        }
      }
    }
  }
}

TEST(StandardLoops, Panels) {
  Numbers number;
  for (const PanelLoops<float>* loops : {&standard_panel_loops<float>(), &panel_loops<float>()}) {
    expect_products<float>(*loops, 0, number);
    expect_products<float16>(*loops, 1, number);
    expect_products<bfloat16>(*loops, 2, number);
    expect_products<std::int8_t>(*loops, 3, number);
    expect_products<std::uint8_t>(*loops, 4, number);
  }
  for (const PanelLoops<double>* loops : {&standard_panel_loops<double>(), &panel_loops<double>()})
    expect_products<double>(*loops, 0, number);
}

// Integers in pairs, whose sums wrap.
template <class T>
void expect_pairs(const PairLoops& loops, int type, std::mt19937& random) {
  const std::int64_t width = loops.width, pitch = width + 3;
  for (const std::int64_t rows : {1, 2, 3, 5, 7, 8, 21}) {
    for (const std::int64_t pairs : {1, 2, 9, 40}) {
      const bool add = rows % 2;
      const auto list = [&]<class X>(std::int64_t n, X) {
        std::vector<X> all(static_cast<std::size_t>(n));
        // The least integers too: twice the product of two of them leaves 32 bits.
        for (X& x : all) x = random() % 4 == 0 ? std::numeric_limits<X>::min() : static_cast<X>(random());
        return all;
      };
      const auto a = list(rows * 2 * pairs, std::int16_t());
      const auto b = list(pairs * width * 2, T());
      const auto start = list(rows * pitch, std::uint32_t());
      auto y = start;
      loops.panel[type]({a.data(), 2 * pairs, b.data(), y.data(), pitch, rows, pairs, add});
      for (std::int64_t i = 0; i < rows * pitch; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t row = i / pitch, col = i % pitch;
        std::uint32_t sum = add || col >= width ? start[at] : 0;
        for (std::int64_t k = 0; col < width && k < 2 * pairs; ++k) {
          sum += static_cast<std::uint32_t>(a[static_cast<std::size_t>(row * 2 * pairs + k)] *
                                            b[static_cast<std::size_t>((k / 2 * width + col) * 2 + k % 2)]);
        }
        ASSERT_EQ(y[at], sum) << loops.name << " " << rows << " × " << pairs << " at " << row << ", " << col;
      }
    }
  }
}

TEST(StandardLoops, Pairs) {
  std::mt19937 random{7};
  for (const PairLoops* loops : {&standard_pair_loops(), &pair_loops()}) {
    expect_pairs<std::int8_t>(*loops, 0, random);
    expect_pairs<std::uint8_t>(*loops, 1, random);
    expect_pairs<std::int16_t>(*loops, 2, random);
  }
}

struct Options {
  bool key_bias = false, bias = false, hides = false;
};

// Attention of a block against sums in double.
void expect_attention(int size, std::int64_t keys, std::int64_t dim, std::int64_t value_dim, const Options& options,
                      Numbers& number) {
  using namespace attention_loops;
  const auto list = [&](std::int64_t n) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& x : v) x = number() / 4;
    return v;
  };
  std::vector<float> q = list(dim * size), k = list(keys * dim), v = list(keys * value_dim), key_bias = list(keys),
                     bias = list(keys * size), o = list((value_dim + kColumns) * size), scores = list(kTile * size);
  std::vector<std::int32_t> first(static_cast<std::size_t>(size)), end(first);
  for (int i = 0; i < size; ++i) {
    first[static_cast<std::size_t>(i)] = i % 3;
    end[static_cast<std::size_t>(i)] = i == 5 ? i % 3 : static_cast<std::int32_t>(keys) - i % 2;  // query 5 sees none
  }
  Block b{.size = size,
          .begin = 0,
          .end = keys,
          .dim = dim,
          .value_dim = value_dim,
          .k = k.data(),
          .v = v.data(),
          .k_stride = dim,
          .v_stride = value_dim,
          .q = q.data(),
          .o = o.data(),
          .scores = scores.data(),
          .key_bias = options.key_bias ? key_bias.data() : nullptr,
          .bias = options.bias ? bias.data() : nullptr,
          .seen_first = options.hides ? first.data() : nullptr,
          .seen_end = options.hides ? end.data() : nullptr};
  run(b);
  for (int i = 0; i < size; ++i) {
    const auto lane = static_cast<std::size_t>(i);
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < dim; ++d) {
        score += static_cast<double>(q[static_cast<std::size_t>(d * size + i)]) *
                 static_cast<double>(k[static_cast<std::size_t>(j * dim + d)]);
      }
      if (options.key_bias) score += static_cast<double>(key_bias[static_cast<std::size_t>(j)]);
      if (options.bias) score += static_cast<double>(bias[static_cast<std::size_t>(j * size + i)]);
      const bool seen = !options.hides || (j >= first[lane] && j < end[lane]);
      weights.push_back(seen ? std::exp(score) : 0);
      total += weights.back();
    }
    for (std::int64_t d = 0; d < value_dim; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        sum +=
            weights[static_cast<std::size_t>(j)] * static_cast<double>(v[static_cast<std::size_t>(j * value_dim + d)]);
      }
      ASSERT_NEAR(o[static_cast<std::size_t>(d * size + i)], total > 0 ? sum / total : 0, 1e-5)
          << "query " << i << " of " << size << ", column " << d << ", " << keys << " keys of " << dim;
    }
  }
}

TEST(StandardLoops, Attention) {
  Numbers number;
  for (const int size : {16, 32}) {
    for (const std::int64_t keys : {4, 31, 32, 33, 100}) {
      for (const Options& options : {Options{}, Options{.key_bias = true}, Options{.bias = true},
                                     Options{.hides = true}, Options{true, true, true}}) {
        expect_attention(size, keys, 24, 17, options, number);
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels
