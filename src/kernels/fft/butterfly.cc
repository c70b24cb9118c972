#include "kernels/fft/butterfly.h"

#include <algorithm>
#include <format>
#include <vector>

#include "kernels/fft/plan.h"

namespace weft::kernels {
namespace {

using Names = std::vector<std::string>;

// Writes one function, a statement a line.
class Writer {
 public:
  // The names of the transform of these values.
  Names transform(const Names& x) {
    const int n = static_cast<int>(x.size());
    if (n == 1) return x;
    if (n == 2) return {let(x[0] + " + " + x[1]), let(x[0] + " - " + x[1])};
    const int a = static_cast<int>(primes_of(n)[0]);
    return a == n ? prime(x) : composite(x, n % 4 == 0 && n > 4 ? 4 : a);
  }

  std::string text;

 private:
  std::string let(const std::string& expression) {
    std::string name = std::format("v{}", next_++);
    text += std::format("  let {} = {};\n", name, expression);
    return name;
  }
  static std::string number(double v) { return std::format("{:.9e}f", v); }
  // v · exp(-2πi k / n).
  std::string turned(const std::string& v, int k, int n) {
    if (k % n == 0) return v;
    if (4 * k == n) return let(std::format("vec2<f32>({0}.y, -{0}.x)", v));
    if (2 * k == n) return let("-" + v);
    const std::complex<double> w = root_of_unity(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(n));
    return let(std::format("{} * {} + {} * vec2<f32>({}.y, -{}.x)", number(w.real()), v, number(-w.imag()), v, v));
  }
  // Conjugate pairs share their products: x[k] + x[n - k] those with cosines, x[k] - x[n - k] those with sines.
  Names prime(const Names& x) {
    const int n = static_cast<int>(x.size()), half = n / 2;
    Names sums, differences, y(x.size());
    std::string all = x[0];
    for (int k = 1; k <= half; ++k) {
      const auto& a = x[static_cast<std::size_t>(k)];
      const auto& b = x[static_cast<std::size_t>(n - k)];
      sums.push_back(let(a + " + " + b));
      differences.push_back(let(a + " - " + b));
      all += " + " + sums.back();
    }
    y[0] = let(all);
    for (int m = 1; m <= half; ++m) {
      std::string even = x[0], odd;
      for (int k = 1; k <= half; ++k) {
        const auto w = root_of_unity(static_cast<std::uint64_t>(m * k % n), static_cast<std::uint64_t>(n));
        even += std::format(" + {} * {}", number(w.real()), sums[static_cast<std::size_t>(k - 1)]);
        odd += std::format("{}{} * {}", k > 1 ? " + " : "", number(-w.imag()),
                           differences[static_cast<std::size_t>(k - 1)]);
      }
      const std::string re = let(even), im = let(odd);
      y[static_cast<std::size_t>(m)] = let(std::format("vec2<f32>({0}.x + {1}.y, {0}.y - {1}.x)", re, im));
      y[static_cast<std::size_t>(n - m)] = let(std::format("vec2<f32>({0}.x - {1}.y, {0}.y + {1}.x)", re, im));
    }
    return y;
  }
  // n = a · b: b transforms of a elements, b elements apart, then a of b.
  Names composite(const Names& x, int a) {
    const int n = static_cast<int>(x.size()), b = n / a;
    std::vector<Names> columns;
    for (int j = 0; j < b; ++j) {
      Names column;
      for (int i = 0; i < a; ++i) column.push_back(x[static_cast<std::size_t>(i * b + j)]);
      columns.push_back(transform(column));
    }
    Names y(x.size());
    for (int k = 0; k < a; ++k) {
      Names row;
      for (int j = 0; j < b; ++j)
        row.push_back(turned(columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)], j * k, n));
      row = transform(row);
      for (int j = 0; j < b; ++j) y[static_cast<std::size_t>(k + a * j)] = row[static_cast<std::size_t>(j)];
    }
    return y;
  }

  int next_ = 0;
};

}  // namespace

std::string butterflies_wgsl(std::span<const int> radices) {
  std::vector<int> each(radices.begin(), radices.end());
  std::ranges::sort(each);
  const auto repeated = std::ranges::unique(each);
  each.erase(repeated.begin(), repeated.end());
  std::string text;
  for (const int r : each) {
    Names x;
    for (int k = 0; k < r; ++k) x.push_back(std::format("x[{}]", k));
    Writer writer;
    const Names y = writer.transform(x);
    std::string results;
    for (const std::string& name : y) results += (results.empty() ? "" : ", ") + name;
    text += std::format(
        "fn butterfly_{0}(x: array<vec2<f32>, {0}>) -> array<vec2<f32>, {0}> {{\n{1}"
        "  return array<vec2<f32>, {0}>({2});\n}}\n",
        r, writer.text, results);
  }
  return text;
}

}  // namespace weft::kernels
