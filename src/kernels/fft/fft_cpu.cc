// The CPU's Fourier transforms: Stockham's algorithm in f64 on eight transforms side by side, whose elements fill
// vectors; long rows as columns and rows of a matrix, whose transforms are done eight at a time.
#include "kernels/fft/fft_cpu.h"

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <variant>

#include "kernels/common/prologue.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/cpu_loops.h"
#include "kernels/fft/fft_lanes.h"
#include "kernels/fft/plan.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;

// Without the test for NaN of std::complex's product.
inline Complex product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Rows up to so many elements are transformed eight at a time: they stay in the cache.
constexpr std::int64_t kLongestInLanes = 32768;

struct alignas(kLanes * sizeof(double)) Element {
  Lanes re, im;
};
inline Element operator+(const Element& a, const Element& b) { return {a.re + b.re, a.im + b.im}; }
inline Element operator-(const Element& a, const Element& b) { return {a.re - b.re, a.im - b.im}; }
inline Element operator*(double a, const Element& b) { return {a * b.re, a * b.im}; }
inline Element operator*(const Complex& w, const Element& b) {
  return {w.real() * b.re - w.imag() * b.im, w.real() * b.im + w.imag() * b.re};
}
// Times -i.
inline Element turned(const Element& a) { return {a.im, -1.0 * a.re}; }

// ---- Transforms of a few elements in place

// Conjugate pairs share their products.
template <int n>
struct Circle {
  std::array<Complex, n> w;
  Circle() {
    for (int k = 0; k < n; ++k) w[static_cast<std::size_t>(k)] = root_of_unity(static_cast<std::uint64_t>(k), n);
  }
};
template <int n>
const std::array<Complex, n>& circle() {
  static const Circle<n> c;
  return c.w;
}
template <int n>
inline void butterfly(Element* x) {
  constexpr int half = n / 2;
  const auto& w = circle<n>();
  Element sums[half], differences[half], all = x[0];
  for (int k = 1; k <= half; ++k) {
    sums[k - 1] = x[k] + x[n - k];
    differences[k - 1] = x[k] - x[n - k];
    all = all + sums[k - 1];
  }
  Element even[half], odd[half];
  for (int m = 1; m <= half; ++m) {
    Element a = x[0], b{};
    for (int k = 1; k <= half; ++k) {
      const Complex& c = w[static_cast<std::size_t>(m * k % n)];
      a = a + c.real() * sums[k - 1];
      b = b - c.imag() * differences[k - 1];
    }
    even[m - 1] = a;
    odd[m - 1] = turned(b);
  }
  x[0] = all;
  for (int m = 1; m <= half; ++m) {
    x[m] = even[m - 1] + odd[m - 1];
    x[n - m] = even[m - 1] - odd[m - 1];
  }
}
template <>
inline void butterfly<2>(Element* x) {
  const Element a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}
template <>
inline void butterfly<4>(Element* x) {
  const Element a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned(x[1] - x[3]);
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
}

template <>
inline void butterfly<8>(Element* x) {
  Element even[] = {x[0], x[2], x[4], x[6]}, odd[] = {x[1], x[3], x[5], x[7]};
  butterfly<4>(even);
  butterfly<4>(odd);
  constexpr double h = std::numbers::sqrt2 / 2;
  odd[1] = h * (odd[1] + turned(odd[1]));
  odd[2] = turned(odd[2]);
  odd[3] = h * (turned(odd[3]) - odd[3]);
  for (int k = 0; k < 4; ++k) {
    x[k] = even[k] + odd[k];
    x[k + 4] = even[k] - odd[k];
  }
}

// ---- Stages

struct Stage {
  int radix;
  std::int64_t span;              // the product of the radices before
  std::vector<Complex> twiddles;  // [span][radix - 1]
};

template <int r>
void run_stage(const Stage& s, std::int64_t n, const Element* from, Element* to) {
  const std::int64_t count = n / r;
  Element x[r];
  for (std::int64_t at = 0; at < count; at += s.span) {
    for (std::int64_t q = 0; q < s.span; ++q) {
      const Element* in = from + at + q;
      x[0] = in[0];
      if (s.span == 1) {
        for (int k = 1; k < r; ++k) x[k] = in[k * count];
      } else {
        const Complex* w = s.twiddles.data() + q * (r - 1);
        for (int k = 1; k < r; ++k) x[k] = w[k - 1] * in[k * count];
      }
      butterfly<r>(x);
      Element* out = to + at * r + q;
      for (int k = 0; k < r; ++k) out[k * s.span] = x[k];
    }
  }
}

// Everything is inlined, so that each instruction set has its own form of it.
WEFT_VECTOR_CLONES WEFT_FLATTEN void run_stage(const Stage& s, std::int64_t n, const Element* from, Element* to) {
  switch (s.radix) {
    case 2:
      return run_stage<2>(s, n, from, to);
    case 3:
      return run_stage<3>(s, n, from, to);
    case 4:
      return run_stage<4>(s, n, from, to);
    case 5:
      return run_stage<5>(s, n, from, to);
    case 7:
      return run_stage<7>(s, n, from, to);
    case 8:
      return run_stage<8>(s, n, from, to);
    case 11:
      return run_stage<11>(s, n, from, to);
    default:
      return run_stage<13>(s, n, from, to);
  }
}

// Forward transforms of one length.
class Transforms;
using TransformsPtr = std::shared_ptr<const Transforms>;
TransformsPtr transforms_of(std::int64_t n);

// Memory of a thread for transforms in lanes.
struct Work {
  std::vector<Element> a, b, inner;
};

class Transforms {
 public:
  explicit Transforms(std::int64_t n) : n_(n) {
    if (!is_smooth(n)) {
      // Long rows that are no product of short ones are transformed as a convolution, too.
      chirp_ = chirp(n);
      const std::int64_t m = smooth_length(2 * n - 1);
      inner_ = transforms_of(m);
      filter_ = inner_->row(chirp_kernel(chirp_, m), nullptr);
    } else if (n <= kLongestInLanes) {
      std::int64_t span = 1, rest = n;
      while (rest > 1) {
        const int r = rest % 8 == 0 && rest != 16 ? 8 : rest % 4 == 0 ? 4 : static_cast<int>(primes_of(rest)[0]);
        Stage stage{r, span, {}};
        for (std::int64_t q = 0; q < (span > 1 ? span : 0); ++q) {
          for (int k = 1; k < r; ++k) {
            stage.twiddles.push_back(
                root_of_unity(static_cast<std::uint64_t>(q * k), static_cast<std::uint64_t>(span * r)));
          }
        }
        stages_.push_back(std::move(stage));
        span *= r;
        rest /= r;
      }
    } else {
      const std::vector<std::int64_t> sizes = pass_lengths(n, kLongestInLanes);
      rows_ = sizes[0];
      columns_ = n / rows_;
      column_ = transforms_of(rows_);
      row_ = transforms_of(columns_);
      bits_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)) + 1) / 2;
      const auto period = static_cast<std::uint64_t>(n);
      for (std::uint64_t k = 0; k < std::uint64_t{1} << bits_; ++k) fine_.push_back(root_of_unity(k % period, period));
      for (std::uint64_t k = 0; k < period; k += std::uint64_t{1} << bits_) coarse_.push_back(root_of_unity(k, period));
    }
  }

  // True if eight transforms side by side are done at a time.
  bool takes_lanes() const { return inner_ ? inner_->takes_lanes() : column_ == nullptr; }
  std::size_t bytes() const {
    std::size_t all = chirp_.size() + filter_.size() + fine_.size() + coarse_.size();
    for (const Stage& s : stages_) all += s.twiddles.size();
    return all * sizeof(Complex);
  }

  // The transforms of eight rows, element by element in work.a; the results are there as well.
  void lanes(Work& work) const {
    const auto n = static_cast<std::size_t>(n_);
    if (inner_) {
      // X[k] = c[k] Σ (x[j] c[j]) conj(c[k - j]), the convolution by transforms of m elements.
      const std::size_t m = filter_.size();
      work.a.resize(m);
      for (std::size_t k = 0; k < n; ++k) work.a[k] = chirp_[k] * work.a[k];
      for (std::size_t k = n; k < m; ++k) work.a[k] = Element{};
      inner_->lanes(work);
      for (std::size_t k = 0; k < m; ++k) work.a[k] = swapped(filter_[k] * work.a[k]);
      inner_->lanes(work);
      for (std::size_t k = 0; k < n; ++k) work.a[k] = chirp_[k] * swapped(work.a[k]);
      return;
    }
    if (work.b.size() < n) work.b.resize(n);
    for (const Stage& s : stages_) {
      run_stage(s, n_, work.a.data(), work.b.data());
      std::swap(work.a, work.b);
      if (work.b.size() < n) work.b.resize(n);
    }
  }

  // The transform of one row of elements load(i), whose results store(k, value) takes once all are loaded. `executor`:
  // null for one thread.
  template <class Load, class Store>
  void row(const Load& load, const Store& store, cpu::Executor* executor) const {
    if (!inner_) return smooth_row(load, store, executor);
    const auto n = static_cast<std::size_t>(n_);
    std::vector<Complex> c(filter_.size());
    inner_->smooth_row([&](std::size_t i) { return i < n ? product(chirp_[i], load(i)) : Complex(); },
                       [&](std::size_t k, Complex v) { c[k] = swapped(product(filter_[k], v)); }, executor);
    inner_->smooth_row([&](std::size_t i) { return c[i]; },
                       [&](std::size_t k, Complex v) {
                         if (k < n) store(k, product(chirp_[k], swapped(v)));
                       },
                       executor);
  }
  std::vector<Complex> row(std::vector<Complex> x, cpu::Executor* executor) const {
    row([&](std::size_t i) { return x[i]; }, [&](std::size_t k, Complex v) { x[k] = v; }, executor);
    return x;
  }

  // Without large primes.
  template <class Load, class Store>
  void smooth_row(const Load& load, const Store& store, cpu::Executor* executor) const {
    const auto n = static_cast<std::size_t>(n_), rows = static_cast<std::size_t>(rows_);
    if (takes_lanes()) {
      Work work;
      work.a.resize(n);
      for (std::size_t i = 0; i < n; ++i) set(work.a[i], 0, load(i));
      lanes(work);
      for (std::size_t k = 0; k < n; ++k) store(k, get(work.a[k], 0));
      return;
    }
    // Element (i, j) of a matrix: transforms along i, factors, transforms along j, and the result is transposed.
    std::vector<Complex> between(n);
    in_groups(
        executor, columns_,
        [&](Work& work, std::int64_t first, int count) {
          for (std::size_t i = 0; i < rows; ++i) {
            for (int l = 0; l < count; ++l) set(work.a[i], l, load(at(static_cast<std::int64_t>(i), first + l)));
          }
          column_->lanes(work);
          for (std::int64_t k = 0; k < rows_; ++k) {
            for (int l = 0; l < count; ++l) {
              const auto turn = static_cast<std::uint64_t>(k * (first + l));
              const Complex factor = product(fine_[turn & ((std::uint64_t{1} << bits_) - 1)], coarse_[turn >> bits_]);
              between[at(k, first + l)] = product(get(work.a[static_cast<std::size_t>(k)], l), factor);
            }
          }
        },
        rows_);
    if (!row_->takes_lanes()) {
      for (std::size_t k = 0; k < rows; ++k) {
        const auto begin = between.begin() + static_cast<std::int64_t>(k) * columns_;
        const std::vector<Complex> line = row_->row({begin, begin + columns_}, executor);
        for (std::size_t j = 0; j < line.size(); ++j) store(j * rows + k, line[j]);
      }
      return;
    }
    in_groups(
        executor, rows_,
        [&](Work& work, std::int64_t first, int count) {
          for (std::int64_t j = 0; j < columns_; ++j) {
            for (int l = 0; l < count; ++l) set(work.a[static_cast<std::size_t>(j)], l, between[at(first + l, j)]);
          }
          row_->lanes(work);
          for (std::int64_t j = 0; j < columns_; ++j) {
            for (int l = 0; l < count; ++l) {
              store(static_cast<std::size_t>(j * rows_ + first + l), get(work.a[static_cast<std::size_t>(j)], l));
            }
          }
        },
        columns_);
  }

  static void set(Element& e, int lane, Complex v) {
    e.re[lane] = v.real();
    e.im[lane] = v.imag();
  }
  static Complex get(const Element& e, int lane) { return {e.re[lane], e.im[lane]}; }
  // Calls f(work, first, count) for groups of up to eight of `all`; work.a has n elements.
  template <class F>
  static void in_groups(cpu::Executor* executor, std::int64_t all, const F& f, std::int64_t n) {
    const std::int64_t groups = (all + kLanes - 1) / kLanes;
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      Work work;
      for (std::int64_t g = begin; g < end; ++g) {
        work.a.resize(static_cast<std::size_t>(n));
        f(work, g * kLanes, static_cast<int>(std::min<std::int64_t>(kLanes, all - g * kLanes)));
      }
    };
    if (executor)
      parallel(*executor, groups, std::max<std::int64_t>(16384 / (n * kLanes), 1), some);
    else
      some(0, groups);
  }

 private:
  static Complex swapped(Complex v) { return {v.imag(), v.real()}; }
  static Element swapped(const Element& v) { return {v.im, v.re}; }
  std::size_t at(std::int64_t i, std::int64_t j) const { return static_cast<std::size_t>(i * columns_ + j); }

  std::int64_t n_;
  std::vector<Stage> stages_;
  // Bluestein's algorithm.
  TransformsPtr inner_;
  std::vector<Complex> chirp_, filter_;
  // A matrix.
  std::int64_t rows_ = 0, columns_ = 0;
  TransformsPtr column_, row_;
  int bits_ = 0;
  std::vector<Complex> fine_, coarse_;
};

// The tables of recent lengths.
TransformsPtr transforms_of(std::int64_t n) {
  constexpr std::size_t kMost = std::size_t{128} << 20;  // bytes
  static std::mutex mutex;
  static std::map<std::int64_t, TransformsPtr> known;
  static std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex);
    if (const auto it = known.find(n); it != known.end()) return it->second;
  }
  auto made = std::make_shared<const Transforms>(n);
  const std::lock_guard lock(mutex);
  if (made->bytes() > kMost / 2) return made;
  if (bytes + made->bytes() > kMost) {
    known.clear();
    bytes = 0;
  }
  if (known.emplace(n, made).second) bytes += made->bytes();
  return made;
}

// ---- Calls

// The rows of a call, for one thread: where a row's elements are, and where its results go. A prologue makes the
// elements in memory of the thread, from which an epilogue takes the results.
template <class X, class Y>
class Rows {
 public:
  explicit Rows(const FftProblem& p) : p_(p) {
    if (p.prologue) {
      prologue_.emplace(*p.prologue, std::is_same_v<X, std::complex<float>> ? DType::c64 : DType::f32);
      before_.emplace(prologue_->registers());
    }
    if (p.epilogue) {
      epilogue_.emplace(*p.epilogue);
      after_.emplace(*epilogue_);
    }
  }

  struct Row {
    std::int64_t index;
    const X* x;
    Y* y;
    std::vector<X> made;
    std::vector<Y> results;
  };

  void begin(Row& row, std::int64_t index) {
    row.index = index;
    if (prologue_) {
      row.made.resize(static_cast<std::size_t>(p_.given()));
      std::vector<CpuExpression::Row> inputs;
      for (std::size_t k = 0; k < p_.inputs.size(); ++k) inputs.push_back(part(p_.inputs[k], k, index));
      (*prologue_)(*before_, inputs, p_.given(), row.made.data());
      row.x = row.made.data();
    } else {
      row.x = data<X>(p_.x()) + offset(0, index);
    }
    if (epilogue_) {
      row.results.resize(static_cast<std::size_t>(p_.y_size()));
      row.y = row.results.data();
    } else {
      row.y = data<Y>(p_.y) + offset(p_.y_place(), index);
    }
  }
  void end(Row& row) {
    if (!epilogue_) return;
    std::vector<CpuExpression::Row> inputs{{reinterpret_cast<std::byte*>(row.y), 0, 1}};
    for (std::size_t k = 0; k < p_.operands.size(); ++k) {
      inputs.push_back(part(p_.operands[k], p_.operand_place(k), row.index));
    }
    const CpuExpression::Row y = part(p_.y, p_.y_place(), row.index);
    epilogue_->evaluate(*after_, inputs, std::span(&y, 1), p_.y_size());
  }

  Complex load(const Row& row, std::int64_t i) const {
    const std::int64_t step = prologue_ ? 1 : p_.steps[0];
    if constexpr (std::is_same_v<X, std::complex<float>>) {
      const bool mirrored = p_.kind == FftKind::complex_to_real && i > p_.length() / 2;
      const std::int64_t k = mirrored ? p_.length() - i : i;
      if (k >= p_.given()) return 0;
      const std::complex<float> v = row.x[k * step];
      const double im = mirrored ? -v.imag() : v.imag();
      return p_.options.inverse ? Complex(im, v.real()) : Complex(v.real(), im);
    } else {
      if (i >= p_.given()) return 0;
      const auto v = static_cast<double>(static_cast<float>(row.x[i * step]));
      return p_.options.inverse ? Complex(0, v) : Complex(v, 0);
    }
  }
  void store(const Row& row, std::int64_t k, Complex v) const {
    Y& y = row.y[k * (epilogue_ ? 1 : p_.steps[p_.y_place()])];
    const double re = p_.options.scale * (p_.options.inverse ? v.imag() : v.real());
    if constexpr (std::is_same_v<Y, std::complex<float>>) {
      const double im = p_.options.scale * (p_.options.inverse ? v.real() : v.imag());
      y = {static_cast<float>(re), static_cast<float>(im)};
    } else {
      y = static_cast<Y>(static_cast<float>(re));
    }
  }

 private:
  std::int64_t offset(std::size_t k, std::int64_t index) const {
    return offset_of(Layout{p_.rows.shape, p_.rows.strides[k]}, index);
  }
  CpuExpression::Row part(const View& v, std::size_t k, std::int64_t index) const {
    return {data<std::byte>(v), offset(k, index), p_.steps[k]};
  }

  const FftProblem& p_;
  std::optional<PrologueRows> prologue_;
  std::optional<CpuExpression> epilogue_;
  std::optional<CpuExpression::Registers> before_, after_;
};

template <class X, class Y>
void run(cpu::Executor& executor, const FftProblem& p) {
  const TransformsPtr transforms = transforms_of(p.length());
  const std::int64_t n = p.length(), results = p.y_size();
  if (!transforms->takes_lanes() || p.count == 1) {
    Rows<X, Y> rows(p);
    typename Rows<X, Y>::Row row;
    for (std::int64_t r = 0; r < p.count; ++r) {
      rows.begin(row, r);
      transforms->row([&](std::size_t i) { return rows.load(row, static_cast<std::int64_t>(i)); },
                      [&](std::size_t k, Complex v) {
                        if (static_cast<std::int64_t>(k) < results) rows.store(row, static_cast<std::int64_t>(k), v);
                      },
                      &executor);
      rows.end(row);
    }
    return;
  }
  const std::int64_t groups = (p.count + kLanes - 1) / kLanes;
  parallel(executor, groups, std::max<std::int64_t>(16384 / (n * kLanes), 1),
           [&](std::int64_t begin, std::int64_t end) {
             Work work;
             Rows<X, Y> rows(p);
             std::array<typename Rows<X, Y>::Row, kLanes> row;
             for (std::int64_t g = begin; g < end; ++g) {
               work.a.resize(static_cast<std::size_t>(n));
               const int count = static_cast<int>(std::min<std::int64_t>(kLanes, p.count - g * kLanes));
               for (int l = 0; l < count; ++l) rows.begin(row[static_cast<std::size_t>(l)], g * kLanes + l);
               for (std::int64_t i = 0; i < n; ++i) {
                 Element& e = work.a[static_cast<std::size_t>(i)];
                 for (int l = 0; l < count; ++l) Transforms::set(e, l, rows.load(row[static_cast<std::size_t>(l)], i));
               }
               transforms->lanes(work);
               for (std::int64_t k = 0; k < results; ++k) {
                 const Element& e = work.a[static_cast<std::size_t>(k)];
                 for (int l = 0; l < count; ++l) rows.store(row[static_cast<std::size_t>(l)], k, Transforms::get(e, l));
               }
               for (int l = 0; l < count; ++l) rows.end(row[static_cast<std::size_t>(l)]);
             }
           });
}

}  // namespace

std::vector<std::complex<double>> transform(std::vector<std::complex<double>> x) {
  return transforms_of(static_cast<std::int64_t>(x.size()))->row(std::move(x), nullptr);
}

void fft_cpu(cpu::Executor& executor, const FftProblem& p) {
  using C = std::complex<float>;
  if (p.kind == FftKind::complex) return run<C, C>(executor, p);
  // What a prologue makes, and what an epilogue takes, is not rounded.
  const auto real = [](DType type, const Expression* expression, const auto& f) {
    if (type == DType::f32 || expression)
      f.template operator()<float>();
    else if (type == DType::f16)
      f.template operator()<float16>();
    else
      f.template operator()<bfloat16>();
  };
  if (p.kind == FftKind::real_to_complex) {
    return real(p.x().dtype, p.prologue, [&]<class T>() { run<T, C>(executor, p); });
  }
  real(p.y.dtype, p.epilogue, [&]<class T>() { run<C, T>(executor, p); });
}

}  // namespace weft::kernels
