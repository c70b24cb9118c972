// Kernels that only write: fills and random numbers.
#include <cmath>
#include <cstring>
#include <format>
#include <numeric>
#include <type_traits>

#include "../bench.h"

namespace weft::bench {
namespace {

void generate_cases(KernelBench& b) {
  const View key(b.device().allocate(8), 0, DType::u32, {2});
  const std::uint32_t words[] = {123, 456};
  b.device().upload(key.buffer, 0, std::as_bytes(std::span(words)));
  for (const DType type : {DType::f32, DType::f16}) {
    const std::int64_t count = b.bytes() * 8 / bits(type);
    const View y = b.poisoned({count}, type);
    const auto bytes = static_cast<double>(b.bytes());
    const auto label = [&](const char* what) { return std::format("{} {} [{}]", what, name(type), count); };
    const auto mean_square = [&] {
      const std::vector<double> v = b.read(y, count - 65536, 65536);
      return std::inner_product(v.begin(), v.end(), v.begin(), 0.0) / static_cast<double>(v.size());
    };
    b.measure(
        label("fill"), Unit::bytes, bytes, [&](Stream& s) { kernels::fill(s, 1.5, y); },
        [&] { return b.read(y, count - 1, 1)[0] == 1.5; });
    b.measure(
        label("random uniform"), Unit::bytes, bytes, [&](Stream& s) { kernels::random_uniform(s, key, 0, 1, y); },
        [&] { return close(mean_square(), 1.0 / 3, 0.02); });
    b.measure(
        label("random normal"), Unit::bytes, bytes, [&](Stream& s) { kernels::random_normal(s, key, 0, 1, y); },
        [&] { return close(mean_square(), 1, 0.02); });
  }
}

// Distributions, in bytes of their results, and categories, in bytes of their logits.
void distribution_cases(KernelBench& b) {
  const auto upload = [&](auto... values) {
    const View v(b.device().allocate(8), 0, DType::f32, {1});
    const std::common_type_t<decltype(values)...> words[] = {values...};
    b.device().upload(v.buffer, 0, std::as_bytes(std::span(words)));
    return v;
  };
  View key = upload(123u, 456u);
  key = View(key.buffer, 0, DType::u32, {2});
  const std::int64_t count = b.bytes() / 16;
  const View floats = b.poisoned({count}), counts = b.poisoned({count}, DType::i32);
  const auto mean = [&](const View& y) {
    const std::vector<double> v = b.read(y, count - 65536, 65536);
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  const auto bytes = static_cast<double>(4 * count);
  for (const float a : {0.5F, 2.0F, 40.0F}) {
    const View parameter = upload(a);
    b.measure(
        std::format("gamma {} f32 [{}]", a, count), Unit::bytes, bytes,
        [&](Stream& s) { kernels::random_gamma(s, key, parameter, floats); },
        [&] { return close(mean(floats), a, 0.02); });
    b.measure(
        std::format("poisson {} f32 [{}]", a, count), Unit::bytes, bytes,
        [&](Stream& s) { kernels::random_poisson(s, key, parameter, counts); },
        [&] { return close(mean(counts), a, 0.02); });
  }
  for (const std::int64_t n : {10, 1000, 50257}) {
    const std::int64_t rows = b.bytes() / 4 / n;
    const View logits = b.random({rows, n}), y = b.poisoned({rows}, DType::i32);
    b.measure(
        std::format("categorical f32 [{}, {}]", rows, n), Unit::bytes, 4.0 * static_cast<double>(rows * n),
        [&](Stream& s) { kernels::random_categorical(s, key, logits, y); },
        [&] {
          const std::int64_t some = std::min<std::int64_t>(rows, 65536);
          const std::vector<double> v = b.read(y, 0, some);
          const double middle = std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(some);
          return close(middle, 0.5 * static_cast<double>(n - 1), 0.1);
        });
  }
}

const bool registered = register_cases("generate", generate_cases);
const bool distributions_registered = register_cases("distributions", distribution_cases);

}  // namespace
}  // namespace weft::bench
