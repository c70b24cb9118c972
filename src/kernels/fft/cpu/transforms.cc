// Stockham's algorithm on eight transforms side by side, and rows of any length by these.
#include "kernels/fft/cpu/transforms.h"

#include <bit>
#include <map>
#include <mutex>
#include <numbers>

#include "kernels/common/rows_cpu.h"
#include "kernels/common/transpose.h"
#include "kernels/cpu_loops.h"
#include "kernels/fft/plan.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;

// Rows up to so many elements have stages of eight at a time.
constexpr std::int64_t kLongestInLanes = 32768;
// A single row from so many elements on is a matrix, whose columns and rows fill the lanes.
constexpr std::int64_t kShortestMatrix = 64;

// ---- Transforms of a few elements in place

// Conjugate pairs share their products. `w`: the n roots of unity.
template <int n>
inline void butterfly(Element* x, const Complex* w) {
  constexpr int half = n / 2;
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
      const Complex& c = w[m * k % n];
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
inline void butterfly<2>(Element* x, const Complex*) {
  const Element a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}
template <>
inline void butterfly<4>(Element* x, const Complex*) {
  const Element a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned(x[1] - x[3]);
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
}

template <>
inline void butterfly<8>(Element* x, const Complex* w) {
  Element even[] = {x[0], x[2], x[4], x[6]}, odd[] = {x[1], x[3], x[5], x[7]};
  butterfly<4>(even, w);
  butterfly<4>(odd, w);
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

template <int r>
void run_stage(const FftStage& s, std::int64_t n, const Element* from, Element* to) {
  const std::int64_t count = n / r;
  const Complex* const circle = s.circle.data();
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
      butterfly<r>(x, circle);
      Element* out = to + at * r + q;
      for (int k = 0; k < r; ++k) out[k * s.span] = x[k];
    }
  }
}

// Everything is inlined, so that each instruction set has its own form of it.
WEFT_VECTOR_CLONES WEFT_FLATTEN void run_stage(const FftStage& s, std::int64_t n, const Element* from, Element* to) {
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

// between[k] = roots(k · first) · turns[k] · a[k], `pitch` apart.
WEFT_VECTOR_CLONES WEFT_FLATTEN void turn_column(const Roots& roots, const Element* turns, std::int64_t first,
                                                 std::int64_t rows, const Element* a, Element* between,
                                                 std::int64_t pitch) {
  for (std::int64_t k = 0; k < rows; ++k) between[k * pitch] = (roots(k * first) * turns[k]) * a[k];
}

// Eight rows of `between`, of `groups` elements of eight columns each, as `groups` times eight elements of eight rows.
WEFT_VECTOR_CLONES WEFT_FLATTEN void transpose_between(const Element* between, std::int64_t groups, Element* a) {
  const std::int64_t row = groups * 2 * kLanes, next = 2 * kLanes;  // in numbers
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto* x = reinterpret_cast<const double*>(between + g);
    auto* y = reinterpret_cast<double*>(a + g * kLanes);
    transpose8(x, row, y, next);
    transpose8(x + kLanes, row, y + kLanes, next);
  }
}

WEFT_VECTOR_CLONES WEFT_FLATTEN void multiply(const Complex* w, std::int64_t n, Element* a) {
  for (std::int64_t k = 0; k < n; ++k) a[k] = w[k] * a[k];
}
WEFT_VECTOR_CLONES WEFT_FLATTEN void multiply_and_swap(const Complex* w, std::int64_t n, Element* a) {
  for (std::int64_t k = 0; k < n; ++k) a[k] = swapped(w[k] * a[k]);
}
WEFT_VECTOR_CLONES WEFT_FLATTEN void swap_and_multiply(const Complex* w, std::int64_t n, Element* a) {
  for (std::int64_t k = 0; k < n; ++k) a[k] = w[k] * swapped(a[k]);
}

// ---- Rows that lie in memory, or are made of others

// Of numbers in memory.
class DenseRow final : public RowSource, public RowSink {
 public:
  explicit DenseRow(Complex* x) : x_(x) {}
  void load(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    load_all(x_ + first, step, n, count, a);
  }
  void store(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    store_all(x_ + first, step, n, count, a);
  }

 private:
  static WEFT_VECTOR_CLONES WEFT_FLATTEN void load_all(const Complex* x, std::int64_t step, std::int64_t n, int count,
                                                       Element* a) {
    if (count == kLanes) {
      for (std::int64_t i = 0; i < n; ++i) a[i] = load_lanes(x + i * step);
    } else {
      for (std::int64_t i = 0; i < n; ++i) a[i] = load_lanes(x + i * step, count);
    }
  }
  static WEFT_VECTOR_CLONES WEFT_FLATTEN void store_all(Complex* x, std::int64_t step, std::int64_t n, int count,
                                                        const Element* a) {
    if (count == kLanes) {
      for (std::int64_t i = 0; i < n; ++i) store_lanes(a[i], x + i * step);
    } else {
      for (std::int64_t i = 0; i < n; ++i) store_lanes(a[i], x + i * step, count);
    }
  }

  Complex* x_;
};

// Calls f(begin, rows, count) for those of a block's elements that are below `end`, which are all lanes of some rows
// and a part of those of another one; returns the rows.
template <class F>
std::int64_t below(std::int64_t end, std::int64_t first, std::int64_t step, std::int64_t n, int count, const F& f) {
  if (first >= end) return 0;
  const std::int64_t whole = first + count > end ? 0 : std::min(n, (end - count - first) / step + 1);
  if (whole > 0) f(std::int64_t{0}, whole, count);
  const std::int64_t rest = end - (first + whole * step);
  if (whole == n || rest <= 0) return whole;
  f(whole, std::int64_t{1}, static_cast<int>(rest));
  return whole + 1;
}

WEFT_VECTOR_CLONES WEFT_FLATTEN void multiply_rows(const Complex* w, std::int64_t step, std::int64_t n, int count,
                                                   bool swap_before, bool swap_behind, Element* a) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Element factor = count == kLanes ? load_lanes(w + i * step) : load_lanes(w + i * step, count);
    const Element v = factor * (swap_before ? swapped(a[i]) : a[i]);
    a[i] = swap_behind ? swapped(v) : v;
  }
}

// x[k] chirp[k] for k < n, zeros behind it.
class ChirpedSource final : public RowSource {
 public:
  ChirpedSource(const RowSource& source, const std::vector<Complex>& chirp) : source_(source), chirp_(chirp) {}
  void load(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    const std::int64_t rows = below(static_cast<std::int64_t>(chirp_.size()), first, step, n, count,
                                    [&](std::int64_t begin, std::int64_t some, int lanes) {
                                      const std::int64_t at = first + begin * step;
                                      source_.load(at, step, some, lanes, a + begin);
                                      multiply_rows(chirp_.data() + at, step, some, lanes, false, false, a + begin);
                                    });
    std::fill(a + rows, a + n, Element{});
  }

 private:
  const RowSource& source_;
  const std::vector<Complex>& chirp_;
};
// The numbers times `factors`, of which there may be fewer, into another sink.
class FactorSink final : public RowSink {
 public:
  FactorSink(const RowSink& sink, const std::vector<Complex>& factors, bool swap_before, bool swap_behind)
      : sink_(sink), factors_(factors), swap_before_(swap_before), swap_behind_(swap_behind) {}
  void store(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    below(static_cast<std::int64_t>(factors_.size()), first, step, n, count,
          [&](std::int64_t begin, std::int64_t some, int lanes) {
            const std::int64_t at = first + begin * step;
            multiply_rows(factors_.data() + at, step, some, lanes, swap_before_, swap_behind_, a + begin);
            sink_.store(at, step, some, lanes, a + begin);
          });
  }

 private:
  const RowSink& sink_;
  const std::vector<Complex>& factors_;
  bool swap_before_, swap_behind_;
};
// Number j of a row is number j · rows + k of another sink.
class InterleavedSink final : public RowSink {
 public:
  InterleavedSink(const RowSink& sink, std::int64_t rows, std::int64_t k) : sink_(sink), rows_(rows), k_(k) {}
  void store(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    std::vector<Element> one(static_cast<std::size_t>(n));
    for (int l = 0; l < count; ++l) {
      for (std::int64_t i = 0; i < n; ++i) set(one[static_cast<std::size_t>(i)], 0, get(a[i], l));
      sink_.store((first + l) * rows_ + k_, step * rows_, n, 1, one.data());
    }
  }

 private:
  const RowSink& sink_;
  std::int64_t rows_, k_;
};

// Calls f(work, first, count) for groups of up to eight of `all`; each group's work is of n elements.
template <class F>
void in_groups(cpu::Executor* executor, std::int64_t all, std::int64_t n, const F& f) {
  const std::int64_t groups = ceil_div(all, kLanes);
  const auto some = [&](std::int64_t begin, std::int64_t end) {
    Work work;
    for (std::int64_t g = begin; g < end; ++g) {
      f(work, g * kLanes, static_cast<int>(std::min<std::int64_t>(kLanes, all - g * kLanes)));
    }
  };
  if (executor)
    parallel(*executor, groups, std::max<std::int64_t>(16384 / (n * kLanes), 1), some);
  else
    some(0, groups);
}

}  // namespace

static Scratch& kept_by_thread() {
  thread_local Scratch kept;
  return kept;
}
KeptMemory::KeptMemory() : scratch_(std::exchange(kept_by_thread(), {})) {}
KeptMemory::~KeptMemory() {
  constexpr std::uint64_t kMost = 8 << 20;  // bytes
  if (scratch_.size() <= kMost) kept_by_thread() = std::move(scratch_);
}

Element* Work::need(std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  if (a.size() < count) a.resize(count);
  return a.data();
}

Roots::Roots(std::int64_t n) {
  bits_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)) + 1) / 2;
  mask_ = (std::int64_t{1} << bits_) - 1;
  const auto period = static_cast<std::uint64_t>(n);
  for (std::uint64_t k = 0; k <= static_cast<std::uint64_t>(mask_); ++k) {
    fine_.push_back(root_of_unity(k % period, period));
  }
  for (std::uint64_t k = 0; k < period; k += static_cast<std::uint64_t>(mask_) + 1) {
    coarse_.push_back(root_of_unity(k, period));
  }
}

Transforms::Transforms(std::int64_t n) : n_(n), roots_of_twice_(2 * n) {
  if (!is_smooth(n)) {
    // Long rows that are no product of short ones are transformed as a convolution, too.
    chirp_ = chirp(n);
    const std::int64_t m = smooth_length(2 * n - 1);
    inner_ = transforms_of(m);
    filter_ = chirp_kernel(chirp_, m);
    const DenseRow row(filter_.data());
    inner_->alone(row, row, nullptr);
    return;
  }
  if (n <= kLongestInLanes) {
    std::int64_t span = 1, rest = n;
    while (rest > 1) {
      const int r = rest % 8 == 0 && rest != 16 ? 8 : rest % 4 == 0 ? 4 : static_cast<int>(primes_of(rest)[0]);
      FftStage stage{r, span, {}, {}};
      for (int k = 0; k < r; ++k) {
        stage.circle.push_back(root_of_unity(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(r)));
      }
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
  }
  if (n < kShortestMatrix) return;
  rows_ = pass_lengths(n, std::min(n / 2, kLongestInLanes))[0];
  columns_ = n / rows_;
  column_ = transforms_of(rows_);
  row_ = transforms_of(columns_);
  roots_ = Roots(n);
  turns_.resize(static_cast<std::size_t>(rows_));
  for (std::int64_t k = 0; k < rows_; ++k) {
    for (int l = 0; l < kLanes; ++l) {
      set(turns_[static_cast<std::size_t>(k)], l,
          root_of_unity(static_cast<std::uint64_t>(k * l % n), static_cast<std::uint64_t>(n)));
    }
  }
}

std::size_t Transforms::bytes() const {
  std::size_t all = chirp_.size() + filter_.size() + roots_.count() + roots_of_twice_.count();
  for (const FftStage& s : stages_) all += s.twiddles.size();
  return all * sizeof(Complex) + turns_.size() * sizeof(Element);
}

void Transforms::lanes(Work& work) const {
  if (inner_) {
    // X[k] = c[k] Σ (x[j] c[j]) conj(c[k - j]), the convolution by transforms of m elements.
    const auto m = static_cast<std::int64_t>(filter_.size());
    multiply(chirp_.data(), n_, work.need(m));
    std::fill(work.a.data() + n_, work.a.data() + m, Element{});
    inner_->lanes(work);
    multiply_and_swap(filter_.data(), m, work.a.data());
    inner_->lanes(work);
    swap_and_multiply(chirp_.data(), n_, work.a.data());
    return;
  }
  const auto n = static_cast<std::size_t>(n_);
  for (const FftStage& s : stages_) {
    if (work.b.size() < n) work.b.resize(n);
    run_stage(s, n_, work.a.data(), work.b.data());
    std::swap(work.a, work.b);
  }
}

void Transforms::alone(const RowSource& source, const RowSink& sink, cpu::Executor* executor) const {
  if (!inner_) return smooth_alone(source, sink, executor);
  KeptMemory memory;
  const DenseRow between(memory.need<Complex>(static_cast<std::int64_t>(filter_.size())));
  inner_->smooth_alone(ChirpedSource(source, chirp_), FactorSink(between, filter_, false, true), executor);
  inner_->smooth_alone(between, FactorSink(sink, chirp_, true, false), executor);
}

// Without large primes.
void Transforms::smooth_alone(const RowSource& source, const RowSink& sink, cpu::Executor* executor) const {
  if (!column_) {
    Work work;
    source.load(0, 1, n_, 1, work.need(n_));
    lanes(work);
    sink.store(0, 1, n_, 1, work.a.data());
    return;
  }
  // Element (i, j) of a matrix: transforms along i, factors, transforms along j, and the result is transposed.
  const std::int64_t groups = ceil_div(columns_, kLanes), padded = ceil_div(rows_, kLanes) * kLanes;
  KeptMemory memory;
  Element* const between = memory.need<Element>(padded * groups);
  std::fill(between + rows_ * groups, between + padded * groups, Element{});
  in_groups(executor, columns_, rows_, [&](Work& work, std::int64_t first, int count) {
    source.load(first, columns_, rows_, count, work.need(rows_));
    column_->lanes(work);
    turn_column(roots_, turns_.data(), first, rows_, work.a.data(), between + first / kLanes, groups);
  });
  if (!row_->takes_lanes()) {
    std::vector<Complex> row(static_cast<std::size_t>(columns_));
    for (std::int64_t k = 0; k < rows_; ++k) {
      for (std::int64_t j = 0; j < columns_; ++j) {
        row[static_cast<std::size_t>(j)] = get(between[k * groups + j / kLanes], j % kLanes);
      }
      row_->alone(DenseRow(row.data()), InterleavedSink(sink, rows_, k), executor);
    }
    return;
  }
  in_groups(executor, rows_, columns_, [&](Work& work, std::int64_t first, int count) {
    transpose_between(between + first * groups, groups, work.need(groups * kLanes));
    row_->lanes(work);
    sink.store(first, rows_, columns_, count, work.a.data());
  });
}

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

std::vector<Complex> transform(std::vector<Complex> x) {
  const DenseRow row(x.data());
  transforms_of(static_cast<std::int64_t>(x.size()))->alone(row, row, nullptr);
  return x;
}

}  // namespace weft::kernels
