// By Francis' QR steps, as on GPUs (eig.cc): a matrix is balanced, made Hessenberg by reflections, and then triangular,
// or of real numbers triangular but for blocks of 2 by 2; its eigenvectors are found by substitution.
#include "kernels/linalg/eig_cpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/linalg/linalg_matrices_cpu.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// |re| + |im|, by which numbers are compared.
double size_of(double x) { return std::abs(x); }
double size_of(Complex x) { return std::abs(x.real()) + std::abs(x.imag()); }

template <class W>
class Eigenproblem {
 public:
  Eigenproblem(std::int64_t n, bool vectors) : n_(n), vectors_(vectors), h_(squared(n)), scales_(size(n), 1) {
    place_.resize(size(n));
    std::iota(place_.begin(), place_.end(), 0);
    if (!vectors) return;
    z_.resize(squared(n));
    for (std::int64_t i = 0; i < n; ++i) z(i, i) = 1;
  }

  W& h(std::int64_t i, std::int64_t j) { return h_[size(i * n_ + j)]; }

  // False: they were not found.
  bool solve() {
    double most = 0;
    for (const W& x : h_) {
      const double greater = std::max(std::abs(std::real(x)), std::abs(std::imag(x)));
      if (!std::isfinite(greater)) return false;
      most = std::max(most, greater);
    }
    exponent_ = most > 0 ? std::ilogb(most) : 0;
    for (W& x : h_) x = scaled(x, -exponent_);
    isolate();
    balance();
    make_hessenberg();
    if (!make_triangular()) return false;
    find_values();
    if (vectors_) find_vectors();
    sort();
    return true;
  }

  std::complex<float> value(std::int64_t place) const { return rounded(order_[size(place)]); }
  // Element i of the vector of that value.
  Complex vector(std::int64_t i, std::int64_t place) const { return v_[size(order_[size(place)] * n_ + i)]; }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  static std::size_t squared(std::int64_t n) { return static_cast<std::size_t>(n * n); }
  static double scaled(double x, int exponent) { return std::ldexp(x, exponent); }
  static Complex scaled(Complex x, int exponent) {
    return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
  }
  // Row j of z is column j of the matrix that h's own vectors are multiplied by.
  W& z(std::int64_t j, std::int64_t i) { return z_[size(j * n_ + i)]; }

  // Exchanges rows and columns such that only h(first_ … last_ - 1, the same) is not triangular.
  void isolate() {
    last_ = n_;
    const auto alone = [&](std::int64_t i, bool row) {
      for (std::int64_t j = first_; j < last_; ++j) {
        if (j != i && (row ? h(i, j) : h(j, i)) != 0.0) return false;
      }
      return true;
    };
    const auto exchange = [&](std::int64_t i, std::int64_t j) {
      if (i == j) return;
      for (std::int64_t k = 0; k < n_; ++k) std::swap(h(i, k), h(j, k));
      for (std::int64_t k = 0; k < n_; ++k) std::swap(h(k, i), h(k, j));
      std::swap(place_[size(i)], place_[size(j)]);
    };
    for (std::int64_t i = last_ - 1; i >= first_ && last_ - first_ > 1;) {
      if (!alone(i, true)) {
        --i;
        continue;
      }
      exchange(i, --last_);
      i = last_ - 1;
    }
    for (std::int64_t i = first_; i < last_ && last_ - first_ > 1;) {
      if (!alone(i, false)) {
        ++i;
        continue;
      }
      exchange(i, first_++);
      i = first_;
    }
  }

  // Rows and columns are scaled by powers of two until their norms are about equal. Sources: Parlett and Reinsch,
  // "Balancing a matrix for calculation of eigenvalues and eigenvectors", 1969; James, Langou and Lowery, "On matrix
  // balancing and eigenvector computation", 2014, by which norms are Euclidean and the diagonal takes part: with sums
  // of magnitudes, residuals of a Hessenberg matrix of 200 rows of ones were thousands of times as large.
  void balance() {
    std::vector<int> exponents(size(n_));
    bool changed = true;
    for (int sweep = 0; sweep < 16 && changed; ++sweep) {
      changed = false;
      for (std::int64_t i = first_; i < last_; ++i) {
        double column = 0, row = 0;
        for (std::int64_t j = first_; j < last_; ++j) {
          column += std::norm(h(j, i));
          row += std::norm(h(i, j));
        }
        column = std::sqrt(column);
        row = std::sqrt(row);
        if (column == 0 || row == 0) continue;
        int& own = exponents[size(i)];
        const int by = std::clamp(own + (std::ilogb(row) - std::ilogb(column)) / 2, -60, 60) - own;
        if (by == 0 || std::ldexp(column, by) + std::ldexp(row, -by) >= 0.95 * (column + row)) continue;
        own += by;
        changed = true;
        for (std::int64_t j = 0; j < n_; ++j) h(j, i) = scaled(h(j, i), by);
        for (std::int64_t j = 0; j < n_; ++j) h(i, j) = scaled(h(i, j), -by);
      }
    }
    for (std::int64_t i = 0; i < n_; ++i) scales_[size(i)] = std::ldexp(1.0, exponents[size(i)]);
  }

  // 1 - factor v vᴴ with v = (1, second, third), which makes a column (x, y, z) a multiple of (1, 0, 0).
  struct Reflection {
    W second = 0, third = 0;
    double factor = 0;
  };
  static Reflection reflection(W x, W y, W z) {
    const double most = std::max({size_of(x), size_of(y), size_of(z)});
    if (size_of(y) == 0 && size_of(z) == 0) return {};
    const int exponent = -std::ilogb(most);
    x = scaled(x, exponent);
    y = scaled(y, exponent);
    z = scaled(z, exponent);
    const double own = std::abs(x), norm = std::sqrt(std::norm(x) + std::norm(y) + std::norm(z));
    const W tip = own > 0 ? x * (1 + norm / own) : W(norm);
    const W second = y / tip, third = z / tip;
    return {second, third, 2 / (1 + std::norm(second) + std::norm(third))};
  }

  // Source: Golub and Van Loan, "Matrix Computations", 4th edition, 7.4.3.
  void make_hessenberg() {
    std::vector<W> x(size(n_)), sums(size(n_));
    for (std::int64_t k = first_; k + 2 < last_; ++k) {
      double most = 0;
      for (std::int64_t i = k + 2; i < last_; ++i) most = std::max(most, size_of(h(i, k)));
      if (most == 0) continue;
      const int exponent = -std::ilogb(std::max(most, size_of(h(k + 1, k))));
      double squares = 0;
      for (std::int64_t i = k + 1; i < last_; ++i) squares += std::norm(x[size(i)] = scaled(h(i, k), exponent));
      const double own = std::abs(x[size(k + 1)]), norm = std::sqrt(squares);
      const W phase = own > 0 ? x[size(k + 1)] / own : W(1), tip = phase * (own + norm);
      squares = 1;
      x[size(k + 1)] = 1;
      for (std::int64_t i = k + 2; i < last_; ++i) squares += std::norm(x[size(i)] = x[size(i)] / tip);
      const double factor = 2 / squares;
      h(k + 1, k) = scaled(-phase * norm, -exponent);
      for (std::int64_t i = k + 2; i < last_; ++i) h(i, k) = 0;
      std::fill(sums.begin(), sums.end(), W(0));
      for (std::int64_t i = k + 1; i < last_; ++i) {
        for (std::int64_t j = k + 1; j < n_; ++j) sums[size(j)] += product(conjugate(x[size(i)]), h(i, j));
      }
      for (std::int64_t i = k + 1; i < last_; ++i) {
        const W own_factor = factor * x[size(i)];
        for (std::int64_t j = k + 1; j < n_; ++j) h(i, j) -= product(own_factor, sums[size(j)]);
      }
      for (std::int64_t i = 0; i < last_; ++i) {
        W sum = 0;
        for (std::int64_t j = k + 1; j < last_; ++j) sum += product(h(i, j), x[size(j)]);
        sum *= factor;
        for (std::int64_t j = k + 1; j < last_; ++j) h(i, j) -= product(sum, conjugate(x[size(j)]));
      }
      if (!vectors_) continue;
      std::fill(sums.begin(), sums.end(), W(0));
      for (std::int64_t j = k + 1; j < last_; ++j) {
        for (std::int64_t i = 0; i < n_; ++i) sums[size(i)] += product(z(j, i), x[size(j)]);
      }
      for (std::int64_t j = k + 1; j < last_; ++j) {
        const W own_factor = factor * conjugate(x[size(j)]);
        for (std::int64_t i = 0; i < n_; ++i) z(j, i) -= product(own_factor, sums[size(i)]);
      }
    }
  }

  // Whether h(i, i - 1) is negligible. Source: Ahues and Tisseur, "A new deflation criterion for the QR algorithm",
  // 1997.
  bool negligible(std::int64_t i) {
    const double below = size_of(h(i, i - 1)), above = size_of(h(i - 1, i));
    double around = size_of(h(i, i)) + size_of(h(i - 1, i - 1));
    if (around == 0) {
      if (i - 1 > first_) around += size_of(h(i - 1, i - 2));
      if (i + 1 < last_) around += size_of(h(i + 1, i));
    }
    if (below == 0) return true;
    if (below > kEpsilon * around) return false;
    const double own = size_of(h(i, i)), gap = size_of(h(i - 1, i - 1) - h(i, i));
    const double more = std::max(below, above), less = std::min(below, above), far = std::max(own, gap),
                 near = std::min(own, gap), sum = far + more;
    return less * (more / sum) <= std::max(1e-290, kEpsilon * (near * (far / sum)));
  }

  // The two shifts of a step: eigenvalues of the last block of 2 by 2; of complex numbers the first one only counts.
  struct Shifts {
    Complex first, second;
  };
  Shifts shifts(std::int64_t first, std::int64_t last, int turn) {
    W a = h(last - 2, last - 2), b = h(last - 2, last - 1), c = h(last - 1, last - 2), d = h(last - 1, last - 1);
    if (turn % 20 == 10 || turn % 20 == 0) {  // exceptional ones, where the iteration turns in a circle
      const bool top = turn % 20 == 10;
      double sum = top ? size_of(h(first + 1, first)) : size_of(c);
      if constexpr (std::is_same_v<W, double>) {
        sum += top ? size_of(h(first + 2, first + 1)) : size_of(h(last - 2, last - 3));
      }
      a = d = 0.75 * sum + (top ? h(first, first) : d);
      b = -0.4375 * sum;
      c = sum;
      if constexpr (std::is_same_v<W, Complex>) return {d, d};
    }
    const double most = std::max({size_of(a), size_of(b), size_of(c), size_of(d)});
    if (most == 0) return {};
    const int exponent = -std::ilogb(most);
    a = scaled(a, exponent);
    b = scaled(b, exponent);
    c = scaled(c, exponent);
    d = scaled(d, exponent);
    const W half = (a - d) / 2.0, square = half * half + b * c;
    Shifts s;
    if constexpr (std::is_same_v<W, double>) {
      const double root = std::sqrt(std::abs(square)), middle = (a + d) / 2;
      if (square < 0) {
        s = {{middle, root}, {middle, -root}};
      } else {
        const double near = std::abs(middle + root - d) <= std::abs(middle - root - d) ? middle + root : middle - root;
        s = {near, near};
      }
    } else {
      Complex root = std::sqrt(square);
      if (std::norm(half + root) < std::norm(half - root)) root = -root;
      const Complex sum = half + root, near = sum == 0.0 ? d : d - b * (c / sum);
      s = {near, near};
    }
    return {scaled(s.first, -exponent), scaled(s.second, -exponent)};
  }

  // The column that a step begins with, up to a factor.
  std::array<W, 3> start(std::int64_t first, const Shifts& s) {
    const W a = h(first, first);
    if constexpr (std::is_same_v<W, double>) {
      const double x = s.first.real(), y = s.first.imag();
      const double u = s.second.real(), v = s.second.imag();
      const double most = std::abs(a - u) + std::abs(v) + std::abs(h(first + 1, first));
      if (most == 0) return {};
      const double below = h(first + 1, first) / most;
      return {below * h(first, first + 1) + (a - x) * ((a - u) / most) - y * (v / most),
              below * (a + h(first + 1, first + 1) - x - u), below * h(first + 2, first + 1)};
    } else {
      return {a - s.first, h(first + 1, first), 0.0};
    }
  }

  void step(std::int64_t first, std::int64_t last, const Shifts& s) {
    constexpr std::int64_t kRows = std::is_same_v<W, double> ? 3 : 2;
    const std::int64_t columns_end = vectors_ ? n_ : last, rows_begin = vectors_ ? 0 : first;
    std::array<W, 3> x = start(first, s);
    for (std::int64_t k = first; k + 1 < last; ++k) {
      const bool third = kRows == 3 && k + 2 < last;
      if (k > first) x = {h(k, k - 1), h(k + 1, k - 1), third ? h(k + 2, k - 1) : W(0)};
      const Reflection r = reflection(x[0], x[1], third ? x[2] : W(0));
      if (k > first) {
        h(k, k - 1) -= r.factor * (x[0] + product(conjugate(r.second), x[1]) + product(conjugate(r.third), x[2]));
        h(k + 1, k - 1) = 0;
        if (third) h(k + 2, k - 1) = 0;
      }
      for (std::int64_t j = k; j < columns_end; ++j) {
        W sum = h(k, j) + product(conjugate(r.second), h(k + 1, j));
        if (third) sum += product(conjugate(r.third), h(k + 2, j));
        sum *= r.factor;
        h(k, j) -= sum;
        h(k + 1, j) -= product(r.second, sum);
        if (third) h(k + 2, j) -= product(r.third, sum);
      }
      const auto reflect = [&](W& u, W& v, W* w) {
        W sum = u + product(v, r.second);
        if (third) sum += product(*w, r.third);
        sum *= r.factor;
        u -= sum;
        v -= product(sum, conjugate(r.second));
        if (third) *w -= product(sum, conjugate(r.third));
      };
      for (std::int64_t i = rows_begin; i < std::min(k + kRows + 1, last); ++i)
        reflect(h(i, k), h(i, k + 1), third ? &h(i, k + 2) : nullptr);
      for (std::int64_t i = 0; vectors_ && i < n_; ++i) reflect(z(k, i), z(k + 1, i), third ? &z(k + 2, i) : nullptr);
    }
  }

  // A rotation makes the block of 2 by 2 from k on triangular, if its eigenvalues are real, else its diagonal equal.
  // As LAPACK's lanv2.
  void split(std::int64_t k) {
    if constexpr (std::is_same_v<W, double>) {
      double a = h(k, k), b = h(k, k + 1), c = h(k + 1, k), d = h(k + 1, k + 1), cosine = 1, sine = 0;
      if (c == 0) return;
      if (b == 0) {
        std::swap(a, d);
        b = -c;
        c = 0;
        cosine = 0;
        sine = 1;
      } else if (a != d || std::signbit(b) == std::signbit(c)) {
        double half = (a - d) / 2;
        const double most = std::max(std::abs(b), std::abs(c)),
                     least = std::min(std::abs(b), std::abs(c)) * std::copysign(1, b) * std::copysign(1, c);
        double scale = std::max(std::abs(half), most);
        double z = half / scale * half + most / scale * least;
        if (z >= 4 * kEpsilon) {
          z = half + std::copysign(std::sqrt(scale) * std::sqrt(z), half);
          a = d + z;
          d -= most / z * least;
          const double length = std::hypot(c, z);
          cosine = z / length;
          sine = c / length;
          b -= c;
          c = 0;
        } else {
          const double sum = b + c, length = std::hypot(sum, a - d);
          cosine = std::sqrt((1 + std::abs(sum) / length) / 2);
          sine = -(half / (length * cosine)) * std::copysign(1, sum);
          const double aa = a * cosine + b * sine, bb = b * cosine - a * sine, cc = c * cosine + d * sine,
                       dd = d * cosine - c * sine;
          b = bb * cosine + dd * sine;
          c = cc * cosine - aa * sine;
          a = d = (aa * cosine + cc * sine + (dd * cosine - bb * sine)) / 2;
          if (c != 0 && b == 0) {
            b = -c;
            c = 0;
            const double other = cosine;
            cosine = -sine;
            sine = other;
          } else if (c != 0 && std::signbit(b) == std::signbit(c)) {
            const double root_b = std::sqrt(std::abs(b)), root_c = std::sqrt(std::abs(c));
            half = std::copysign(root_b * root_c, c);
            const double inverse = 1 / std::sqrt(std::abs(b + c));
            a = d + half;
            d -= half;
            b -= c;
            c = 0;
            const double of_b = root_b * inverse, of_c = root_c * inverse, before = cosine;
            cosine = before * of_b - sine * of_c;
            sine = before * of_c + sine * of_b;
          }
        }
      }
      const auto rotate = [&](double& x, double& y) {
        const double u = x;
        x = cosine * u + sine * y;
        y = cosine * y - sine * u;
      };
      for (std::int64_t j = k + 2; vectors_ && j < n_; ++j) rotate(h(k, j), h(k + 1, j));
      for (std::int64_t i = 0; vectors_ && i < k; ++i) rotate(h(i, k), h(i, k + 1));
      for (std::int64_t i = 0; vectors_ && i < n_; ++i) rotate(z(k, i), z(k + 1, i));
      h(k, k) = a;
      h(k, k + 1) = b;
      h(k + 1, k) = c;
      h(k + 1, k + 1) = d;
    }
  }

  // By steps with one shift, of real numbers with two at once, which are conjugates or equal. Source: Francis, "The QR
  // transformation", 1961 and 1962; Golub and Van Loan, 7.5.
  bool make_triangular() {
    constexpr std::int64_t kAtOnce = std::is_same_v<W, double> ? 2 : 1;
    std::int64_t last = last_, left = 30 * std::max<std::int64_t>(10, n_);
    for (int turn = 1; last > first_;) {
      std::int64_t first = last - 1;
      while (first > first_ && !negligible(first)) --first;
      if (first > first_) h(first, first - 1) = 0;
      if (first + kAtOnce >= last) {
        if (first + 2 == last) split(first);
        last = first;
        turn = 1;
        continue;
      }
      if (left-- == 0) return false;
      step(first, last, shifts(first, last, turn++));
    }
    return true;
  }

  // Of real numbers: what is left of 2 by 2, with the diagonal (a, a), has the eigenvalues a ± i sqrt(-b c), that of
  // the positive imaginary part first. A unitary matrix makes such blocks, and so all of h, triangular.
  void find_values() {
    values_.resize(size(n_));
    if constexpr (std::is_same_v<W, Complex>) {
      for (std::int64_t k = 0; k < n_; ++k) values_[size(k)] = h(k, k);
      if (vectors_) t_ = std::move(h_), q_ = std::move(z_);
    } else {
      if (vectors_) {
        t_.assign(h_.begin(), h_.end());
        q_.assign(z_.begin(), z_.end());
      }
      for (std::int64_t k = 0; k < n_; ++k) {
        if (k + 1 == n_ || h(k + 1, k) == 0) {
          values_[size(k)] = h(k, k);
          continue;
        }
        const double a = h(k, k), b = h(k, k + 1);
        const double part = std::sqrt(std::abs(b)) * std::sqrt(std::abs(h(k + 1, k))), length = std::hypot(b, part);
        const Complex cosine = b / length, sine(0, part / length);
        if (vectors_) {
          const auto turn = [&](Complex& x, Complex& y, Complex s) {
            const Complex u = x;
            x = cosine * u + s * y;
            y = s * u + cosine * y;
          };
          for (std::int64_t j = k; j < n_; ++j) turn(t(k, j), t(k + 1, j), -sine);
          for (std::int64_t i = 0; i < k + 2; ++i) turn(t(i, k), t(i, k + 1), sine);
          for (std::int64_t i = 0; i < n_; ++i) turn(q_[size(k * n_ + i)], q_[size((k + 1) * n_ + i)], sine);
          t(k + 1, k) = 0;
          t(k, k) = {a, part};
          t(k + 1, k + 1) = {a, -part};
        }
        values_[size(k)] = {a, part};
        values_[size(++k)] = {a, -part};
      }
    }
  }
  Complex& t(std::int64_t i, std::int64_t j) { return t_[size(i * n_ + j)]; }

  // The vectors of a triangle by substitution, from those the ones of the matrix. Where eigenvalues are equal, a
  // perturbation in the last place makes their difference.
  void find_vectors() {
    v_.assign(squared(n_), 0);
    std::vector<Complex> x(size(n_));
    for (std::int64_t k = 0; k < n_; ++k) {
      const Complex w = values_[size(k)];
      const bool is_conjugate = std::is_same_v<W, double> && w.imag() < 0;
      if (!is_conjugate) {
        const double least = std::max(kEpsilon * size_of(w), 0x1p-60);
        x[size(k)] = 1;
        for (std::int64_t i = k; i-- > 0;) {
          Complex sum = 0;
          for (std::int64_t j = i + 1; j <= k; ++j) sum += product(t(i, j), x[size(j)]);
          Complex gap = t(i, i) - w;
          if (size_of(gap) < least) gap = least;
          x[size(i)] = -sum / gap;
          const double greater = size_of(x[size(i)]);
          if (greater > 0x1p40) {
            const int exponent = -std::ilogb(greater);
            for (std::int64_t j = i; j <= k; ++j) x[size(j)] = scaled(x[size(j)], exponent);
          }
        }
        Complex* const v = v_.data() + k * n_;
        for (std::int64_t j = 0; j <= k; ++j) {
          for (std::int64_t i = 0; i < n_; ++i) v[place_[size(i)]] += product(q_[size(j * n_ + i)], x[size(j)]);
        }
        for (std::int64_t i = 0; i < n_; ++i) v[place_[size(i)]] *= scales_[size(i)];
        normalise(v, std::is_same_v<W, double> && w.imag() == 0);
      } else {
        for (std::int64_t i = 0; i < n_; ++i) v_[size(k * n_ + i)] = std::conj(v_[size((k - 1) * n_ + i)]);
      }
    }
  }

  // Makes the norm 1 and the largest element real and positive. `real`: the real part of a real eigenvalue's vector is
  // one too; its phase is made the one of which the real part is longest.
  void normalise(Complex* v, bool real) const {
    double most = 0;
    for (std::int64_t i = 0; i < n_; ++i) most = std::max(most, size_of(v[i]));
    const int exponent = -std::ilogb(most);
    Complex squares = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      v[i] = scaled(v[i], exponent);
      squares += v[i] * v[i];
    }
    if (real) {
      const Complex half = std::sqrt(squares);
      const double length = std::abs(half);
      for (std::int64_t i = 0; i < n_; ++i) v[i] = length > 0 ? (v[i] * std::conj(half / length)).real() : v[i].real();
    }
    double sum = 0, largest = -1;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const double square = std::norm(v[i]);
      sum += square;
      if (square > largest) largest = square, at = i;
    }
    const Complex by = std::conj(v[at]) / std::abs(v[at]) / std::sqrt(sum);
    for (std::int64_t i = 0; i < n_; ++i) v[i] = product(v[i], by);
    v[at] = v[at].real();
  }

  std::complex<float> rounded(std::int64_t k) const {
    return narrowed<std::complex<float>>(scaled(values_[size(k)], exponent_));
  }
  void sort() {
    order_.resize(size(n_));
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::stable_sort(order_, [&](std::int64_t i, std::int64_t j) {
      const std::complex<float> x = rounded(i), y = rounded(j);
      return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
    });
  }

  std::int64_t n_;
  bool vectors_;
  std::vector<W> h_, z_;
  std::vector<double> scales_;
  std::vector<std::int64_t> place_;  // which row of the matrix a row of h is
  std::int64_t first_ = 0, last_ = 0;
  int exponent_ = 0;
  std::vector<Complex> t_, q_, values_, v_;
  std::vector<std::int64_t> order_;
};

template <class T>
void decompose_all(cpu::Executor& executor, const View& a, const View& w, const View& info,
                   const std::optional<View>& v) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  using Result = std::complex<float>;
  const Matrices<T> from(a);
  const std::int64_t n = a.shape()[-1], step = w.strides()[-1];
  const std::optional<Matrices<Result>> to = v ? std::optional<Matrices<Result>>(*v) : std::nullopt;
  Layout rows{w.shape(), w.strides()};
  rows.shape.pop_back();
  rows.strides.pop_back();
  parallel(executor, from.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      Eigenproblem<Wide<T>> problem(n, v.has_value());
      const std::int64_t a0 = from.first(m);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) problem.h(i, j) = from(a0, i, j);
      }
      const bool found = problem.solve();
      data<std::int32_t>(info)[offset_of(info.layout, m)] = found ? 0 : 1;
      Result* const values = data<Result>(w) + offset_of(rows, m);
      for (std::int64_t k = 0; k < n; ++k) {
        values[k * step] = found ? problem.value(k) : Result(kNan, kNan);
        for (std::int64_t i = 0; to && i < n; ++i)
          (*to)(to->first(m), i, k) = found ? narrowed<Result>(problem.vector(i, k)) : Result(kNan, kNan);
      }
    }
  });
}

}  // namespace

void eig_cpu(cpu::Executor& executor, const View& a, const View& w, const View& info, const std::optional<View>& v) {
  if (a.dtype == DType::c64)
    decompose_all<std::complex<float>>(executor, a, w, info, v);
  else
    decompose_all<float>(executor, a, w, info, v);
}

}  // namespace weft::kernels
