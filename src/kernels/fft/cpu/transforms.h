// Forward transforms of one length in f64: eight rows side by side, or one row as columns and rows of a matrix, whose
// transforms are done eight at a time.
#pragma once

#include <memory>
#include <vector>

#include "cpu/executor.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/fft/cpu/lanes.h"

namespace weft::kernels {

// exp(-2πi k / n) for k < n, as products of two of about 2 sqrt(n) roots.
class Roots {
 public:
  Roots() = default;
  explicit Roots(std::int64_t n);
  std::complex<double> operator()(std::int64_t k) const {
    const std::complex<double> a = fine_[static_cast<std::size_t>(k & mask_)],
                               b = coarse_[static_cast<std::size_t>(k >> bits_)];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  std::size_t count() const { return fine_.size() + coarse_.size(); }

 private:
  int bits_ = 0;
  std::int64_t mask_ = 0;
  std::vector<std::complex<double>> fine_, coarse_;
};

// Where the elements of a row come from, and where its results go. A call is of n elements for each of `count` lanes:
// element i of lane l is that of number first + i · step + l of the row. Other lanes are zeros, or are left out.
class RowSource {
 public:
  virtual void load(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const = 0;

 protected:
  ~RowSource() = default;
};
class RowSink {
 public:
  // May change a.
  virtual void store(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const = 0;

 protected:
  ~RowSink() = default;
};

// Memory of a thread, which it keeps for the next call unless it is large: new pages of memory cost more than a
// transform reads and writes.
class KeptMemory {
 public:
  KeptMemory();
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;

  template <class T>
  T* need(std::int64_t count) {
    return scratch_.need<T>(count);
  }

 private:
  Scratch scratch_;
};

// Memory of a thread for transforms in lanes.
struct Work {
  std::vector<Element> a, b;
  // a, of n elements at least.
  Element* need(std::int64_t n);
};

// A step of a transform in lanes.
struct FftStage {
  int radix;
  std::int64_t span;                           // the product of the radices before
  std::vector<std::complex<double>> circle;    // the roots of unity of the radix
  std::vector<std::complex<double>> twiddles;  // [span][radix - 1]
};

class Transforms;
using TransformsPtr = std::shared_ptr<const Transforms>;
// With its tables, which are kept for recent lengths.
TransformsPtr transforms_of(std::int64_t n);

class Transforms {
 public:
  explicit Transforms(std::int64_t n);

  std::int64_t length() const { return n_; }
  // True if eight transforms side by side are done at a time.
  bool takes_lanes() const { return inner_ ? inner_->takes_lanes() : !stages_.empty() || n_ == 1; }
  // The transforms of eight rows, element by element in work.a, which has length() elements at least; the results are
  // there as well.
  void lanes(Work& work) const;

  // The transform of one row, which is loaded before anything is stored. `executor`: null for one thread.
  void alone(const RowSource& source, const RowSink& sink, cpu::Executor* executor) const;

  // exp(-2πi k / 2n): twice a row's length is that of the real numbers whose transform it helps.
  const Roots& roots_of_twice() const { return roots_of_twice_; }
  std::size_t bytes() const;

 private:
  void smooth_alone(const RowSource& source, const RowSink& sink, cpu::Executor* executor) const;

  std::int64_t n_;
  std::vector<FftStage> stages_;
  Roots roots_of_twice_;
  // Bluestein's algorithm.
  TransformsPtr inner_;
  std::vector<std::complex<double>> chirp_, filter_;
  // A matrix.
  std::int64_t rows_ = 0, columns_ = 0;
  TransformsPtr column_, row_;
  Roots roots_;
  std::vector<Element> turns_;  // of row k: exp(-2πi k l / n) for lane l
};

}  // namespace weft::kernels
