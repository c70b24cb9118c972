#include "kernels/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace weft::kernels {

std::complex<double> root_of_unity(std::uint64_t k, std::uint64_t n) {
  // The angle is brought into the first eighth of the circle in integers, where sine and cosine lose no digits.
  std::uint64_t eighths = 8 * k;
  const bool below = eighths > 4 * n;  // the second half of the circle mirrors the first
  if (below) eighths = 8 * n - eighths;
  const bool left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const double angle = std::numbers::pi / 4 * (static_cast<double>(eighths) / static_cast<double>(n));
  double re = std::cos(angle), im = std::sin(angle);
  if (steep) std::swap(re, im);
  if (left) re = -re;
  if (below) im = -im;
  return {re, -im};
}

std::vector<std::complex<double>> chirp(std::int64_t n) {
  std::vector<std::complex<double>> w(static_cast<std::size_t>(n));
  const auto period = 2 * static_cast<std::uint64_t>(n);
  std::uint64_t square = 0;  // k² modulo the period; k² itself may exceed 64 bits
  for (std::uint64_t k = 0; k < w.size(); ++k) {
    w[k] = root_of_unity(square, period);
    square = (square + 2 * k + 1) % period;
  }
  return w;
}

std::vector<std::complex<double>> chirp_kernel(std::span<const std::complex<double>> chirp, std::int64_t m) {
  std::vector<std::complex<double>> b(static_cast<std::size_t>(m));
  for (std::size_t k = 0; k < chirp.size(); ++k) {
    b[k] = std::conj(chirp[k]) / static_cast<double>(m);
    if (k > 0) b[b.size() - k] = b[k];
  }
  return b;
}

std::vector<std::int64_t> primes_of(std::int64_t n) {
  std::vector<std::int64_t> primes;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

bool is_smooth(std::int64_t n) {
  for (int p = 2; p <= kLargestPrime; ++p) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

std::int64_t smooth_length(std::int64_t n) {
  // Work grows with the length; other primes than 2 cost more operations for each element.
  std::int64_t best = 0;
  double least = 0;
  for (std::int64_t fives = 1; fives < 2 * n && fives <= 25; fives *= 5) {
    for (std::int64_t threes = fives; threes < 2 * n && threes <= 27 * fives; threes *= 3) {
      std::int64_t m = threes;
      while (m < n) m *= 2;
      const double odd = static_cast<double>(m >> std::countr_zero(static_cast<std::uint64_t>(m)));
      const double cost = static_cast<double>(m) * (1 + 0.03 * std::log2(odd));
      if (best == 0 || cost < least) {
        best = m;
        least = cost;
      }
    }
  }
  return best;
}

std::vector<int> radices_of(std::int64_t n, int largest) {
  // The fewest factors, and of these lists the one whose sum, which is the work, is least.
  std::vector<int> best, now;
  int least = 0;
  const auto search = [&](auto&& self, std::int64_t rest, int most, int sum) -> void {
    if (rest == 1) {
      if (best.empty() || now.size() < best.size() || sum < least) {
        best = now;
        least = sum;
      }
      return;
    }
    if (!best.empty() && now.size() + 1 > best.size()) return;
    for (int r = most; r >= 2; --r) {
      if (rest % r) continue;
      now.push_back(r);
      self(self, rest / r, r, sum + r);
      now.pop_back();
    }
  };
  search(search, n, largest, 0);
  return best;
}

std::vector<std::int64_t> pass_lengths(std::int64_t n, std::int64_t limit) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d) continue;
    divisors.push_back(d);
    if (d * d != n) divisors.push_back(n / d);
  }
  std::ranges::sort(divisors);
  std::erase_if(divisors, [&](std::int64_t d) { return d > limit || (d == 1 && n > 1); });
  std::vector<std::int64_t> best, now;
  // Descending lists of `left` factors; the first, which is the largest, is to be least.
  const auto search = [&](auto&& self, std::int64_t rest, std::int64_t most, int left) -> void {
    if (left == 1) {
      if (rest > most) return;
      now.push_back(rest);
      if (best.empty() || now.front() < best.front()) best = now;
      now.pop_back();
      return;
    }
    for (const std::int64_t d : divisors) {
      if (d > most) break;
      if (rest % d) continue;
      now.push_back(d);
      self(self, rest / d, d, left - 1);
      now.pop_back();
    }
  };
  for (int passes = 1; passes <= 8 && best.empty(); ++passes) search(search, n, limit, passes);
  return best;
}

}  // namespace weft::kernels
