// The CPU's Fourier transforms, in f64: rows are widened eight numbers at a time, transformed by Transforms, and
// rounded. Real rows of even length are complex ones of half of it, whose results two formulas take apart or put
// together.
#include "kernels/fft/fft_cpu.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "kernels/common/prologue.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/common/transpose.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_loops.h"
#include "kernels/fft/cpu/transforms.h"

namespace weft::kernels {
namespace {

using Complex64 = std::complex<float>;

// Rows of more elements are transformed one by one, so that what they take stays in a core's cache.
constexpr std::int64_t kLongestTogether = 2048;
// Of fewer rows than would fill that many lanes, longer ones than this are transformed one by one, too.
constexpr int kFewRows = 5;
constexpr std::int64_t kShortestAlone = 64;

// What is transformed in place of a row of `length` elements.
enum class Form {
  complex,
  real_pairs,  // elements 2i and 2i + 1 of a real row are one
  real,        // of odd length
  half,        // what gives pairs of real results: of half a spectrum, which determines the other half
  mirrored,    // half a spectrum of odd length, and the other half
};
Form form_of(const FftProblem& p) {
  const bool even = p.length() % 2 == 0;
  switch (p.kind) {
    case FftKind::real_to_complex:
      return even ? Form::real_pairs : Form::real;
    case FftKind::complex_to_real:
      return even ? Form::half : Form::mirrored;
    default:
      return Form::complex;
  }
}
bool is_half(Form form) { return form == Form::real_pairs || form == Form::half; }

// ---- Blocks of elements in lanes, from and to memory

// The first `count` of eight numbers one after another.
template <class X>
WEFT_INLINE Element widened(const X* x, int count) {
  return count == kLanes ? load_lanes(x) : load_lanes(x, count);
}
template <class Y>
WEFT_INLINE void narrowed(const Element& e, Y* y, int count) {
  count == kLanes ? store_lanes(e, y) : store_lanes(e, y, count);
}

// a[i] = x[i · step + l], for a lane l; zeros where i · step + l is not below `given`.
template <class X>
struct LoadBlocks {
  static WEFT_INLINE void run(const X* x, std::int64_t given, std::int64_t step, std::int64_t n, int count, bool swap,
                              Element* a) {
    std::int64_t i = 0;
    if (count == kLanes) {
      for (; i < n && i * step + kLanes <= given; ++i) {
        const Element e = widened(x + i * step, kLanes);
        a[i] = swap ? swapped(e) : e;
      }
    }
    for (; i < n; ++i) {
      const auto some = static_cast<int>(std::clamp<std::int64_t>(given - i * step, 0, count));
      const Element e = widened(x + i * step, some);
      a[i] = swap ? swapped(e) : e;
    }
  }
};
template <class X>
void load_blocks(const X* x, std::int64_t given, std::int64_t step, std::int64_t n, int count, bool swap, Element* a) {
  static const auto loop =
      CompiledLoop<LoadBlocks<X>, const X*, std::int64_t, std::int64_t, std::int64_t, int, bool, Element*>::choose();
  loop(x, given, step, n, count, swap, a);
}
// y[i · step + l] = scale · a[i], of lanes l that are below `wanted` there.
template <class Y>
struct StoreBlocks {
  static WEFT_INLINE void run(const Element* a, double scale, bool swap, std::int64_t wanted, std::int64_t step,
                              std::int64_t n, int count, Y* y) {
    for (std::int64_t i = 0; i < n && i * step < wanted; ++i) {
      const Element e = scale * (swap ? swapped(a[i]) : a[i]);
      const auto some = static_cast<int>(std::min<std::int64_t>(count, wanted - i * step));
      narrowed(e, y + i * step, some);
    }
  }
};
template <class Y>
void store_blocks(const Element* a, double scale, bool swap, std::int64_t wanted, std::int64_t step, std::int64_t n,
                  int count, Y* y) {
  static const auto loop = CompiledLoop<StoreBlocks<Y>, const Element*, double, bool, std::int64_t, std::int64_t,
                                        std::int64_t, int, Y*>::choose();
  loop(a, scale, swap, wanted, step, n, count, y);
}

// What holds an f32, or the two of a c64.
template <class X>
using Bits = std::conditional_t<std::is_same_v<X, float>, float, double>;

// a[i] lane l = x[l][i], of eight rows.
template <class X>
struct LoadRows {
  static WEFT_INLINE void run(const std::array<const X*, kLanes>& x, std::int64_t n, Element* a) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      Bits<X> square[kLanes * kLanes], turned[kLanes * kLanes];
      for (int l = 0; l < kLanes; ++l) {
        std::memcpy(square + l * kLanes, x[static_cast<std::size_t>(l)] + i, kLanes * sizeof(X));
      }
      transpose8<Bits<X>>(square, kLanes, turned, kLanes);
      for (int j = 0; j < kLanes; ++j) a[i + j] = widened(reinterpret_cast<const X*>(turned + j * kLanes), kLanes);
    }
    for (; i < n; ++i) {
      X column[kLanes];
      for (int l = 0; l < kLanes; ++l) column[l] = x[static_cast<std::size_t>(l)][i];
      a[i] = widened(column, kLanes);
    }
  }
};
template <class X>
void load_rows(const std::array<const X*, kLanes>& x, std::int64_t n, Element* a) {
  static const auto loop =
      CompiledLoop<LoadRows<X>, const std::array<const X*, kLanes>&, std::int64_t, Element*>::choose();
  loop(x, n, a);
}
template <class Y>
struct StoreRows {
  static WEFT_INLINE void run(const Element* a, double scale, std::int64_t n, int count,
                              const std::array<Y*, kLanes>& y) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      Bits<Y> square[kLanes * kLanes], turned[kLanes * kLanes];
      for (int j = 0; j < kLanes; ++j) narrowed(scale * a[i + j], reinterpret_cast<Y*>(square + j * kLanes), kLanes);
      transpose8<Bits<Y>>(square, kLanes, turned, kLanes);
      for (int l = 0; l < count; ++l) {
        std::memcpy(static_cast<void*>(y[static_cast<std::size_t>(l)] + i), turned + l * kLanes, kLanes * sizeof(Y));
      }
    }
    for (; i < n; ++i) {
      Y column[kLanes];
      narrowed(scale * a[i], column, kLanes);
      for (int l = 0; l < count; ++l) y[static_cast<std::size_t>(l)][i] = column[l];
    }
  }
};
template <class Y>
void store_rows(const Element* a, double scale, std::int64_t n, int count, const std::array<Y*, kLanes>& y) {
  static const auto loop =
      CompiledLoop<StoreRows<Y>, const Element*, double, std::int64_t, int, const std::array<Y*, kLanes>&>::choose();
  loop(a, scale, n, count, y);
}

// The same of eight rows side by side, of which elements are `step` apart; `given`: those that there are. `pairs`:
// elements 2i and 2i + 1 of real rows are one.
template <class X>
struct LoadColumns {
  static WEFT_INLINE void run(const X* x, std::int64_t step, std::int64_t given, std::int64_t n, bool pairs,
                              Element* a) {
    const auto element = [&](std::int64_t k) { return k < given ? widened(x + k * step, kLanes) : Element{}; };
    for (std::int64_t i = 0; i < n; ++i) a[i] = pairs ? Element{element(2 * i).re, element(2 * i + 1).re} : element(i);
  }
};
template <class X>
void load_columns(const X* x, std::int64_t step, std::int64_t given, std::int64_t n, bool pairs, Element* a) {
  static const auto loop =
      CompiledLoop<LoadColumns<X>, const X*, std::int64_t, std::int64_t, std::int64_t, bool, Element*>::choose();
  loop(x, step, given, n, pairs, a);
}
template <class Y>
struct StoreColumns {
  static WEFT_INLINE void run(const Element* a, double scale, std::int64_t step, std::int64_t n, bool pairs, Y* y) {
    for (std::int64_t i = 0; i < n; ++i) {
      narrowed(scale * a[i], y + (pairs ? 2 * i : i) * step, kLanes);
      if (pairs) narrowed(scale * swapped(a[i]), y + (2 * i + 1) * step, kLanes);
    }
  }
};
template <class Y>
void store_columns(const Element* a, double scale, std::int64_t step, std::int64_t n, bool pairs, Y* y) {
  static const auto loop =
      CompiledLoop<StoreColumns<Y>, const Element*, double, std::int64_t, std::int64_t, bool, Y*>::choose();
  loop(a, scale, step, n, pairs, y);
}
WEFT_VECTOR_CLONES WEFT_FLATTEN void swap_all(std::int64_t n, Element* a) {
  for (std::int64_t i = 0; i < n; ++i) a[i] = swapped(a[i]);
}

// ---- Real rows of length 2n by transforms of n
// (W. H. Press et al., "Numerical Recipes", 3rd edition, 2007, section 12.3.2.)

// Of the transform z of pairs, and its elements from the end, the transform of the real row: its element k, of n + 1,
// with w = exp(-πi k / n).
WEFT_INLINE Element of_pairs(const Element& z, const Element& mirror, const Element& w) {
  const Element back = conjugate(mirror);
  return 0.5 * (z + back) + w * turned(0.5 * (z - back));
}
// What the inverse transform makes pairs of real numbers of: element k, of n, from elements k and n - k of a spectrum.
WEFT_INLINE Element to_pairs(const Element& x, const Element& mirror, const Element& w) {
  const Element back = conjugate(mirror), odd = conjugate(w) * (x - back);
  return x + back - turned(odd);  // + i odd
}
WEFT_INLINE Element everywhere(std::complex<double> v) {
  Element e;
  for (int l = 0; l < kLanes; ++l) set(e, l, v);
  return e;
}

// Eight rows: z[0…n-1] to the spectra's n + 1 elements, in place.
WEFT_VECTOR_CLONES WEFT_FLATTEN void lanes_of_pairs(const Roots& roots, std::int64_t n, bool conjugates, Element* z) {
  z[n] = z[0];
  for (std::int64_t k = 0; 2 * k <= n; ++k) {
    const Element a = z[k], b = z[n - k];
    const Element first = of_pairs(a, b, everywhere(roots(k))), second = of_pairs(b, a, everywhere(roots(n - k)));
    z[k] = conjugates ? conjugate(first) : first;
    z[n - k] = conjugates ? conjugate(second) : second;
  }
}
// And back, swapped for an inverse transform.
WEFT_VECTOR_CLONES WEFT_FLATTEN void lanes_to_pairs(const Roots& roots, std::int64_t n, bool conjugates, Element* x) {
  for (std::int64_t k = 0; 2 * k <= n; ++k) {
    Element a = conjugates ? conjugate(x[k]) : x[k], b = conjugates ? conjugate(x[n - k]) : x[n - k];
    if (k == 0) a.im = b.im = Lanes{};  // the sums of a real row have none
    const Element first = to_pairs(a, b, everywhere(roots(k))), second = to_pairs(b, a, everywhere(roots(n - k)));
    x[k] = swapped(first);
    x[n - k] = swapped(second);
  }
}

// The roots of k…k+7, each of a product.
WEFT_INLINE Element roots_from(const Roots& roots, std::int64_t k, const Element& next) { return roots(k) * next; }
Element next_roots(const Roots& roots, std::int64_t n) {
  Element e;
  for (int l = 0; l < kLanes; ++l) set(e, l, roots(std::min<std::int64_t>(l, 2 * n - 1)));
  return e;
}

WEFT_VECTOR_CLONES WEFT_FLATTEN void store_all_parts(const Element* a, std::int64_t step, std::int64_t n, int count,
                                                     double* re, double* im) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (count == kLanes) {
      store_parts(a[i], re + i * step, im + i * step);
      continue;
    }
    for (int l = 0; l < count; ++l) {
      re[i * step + l] = a[i].re[l];
      im[i * step + l] = a[i].im[l];
    }
  }
}

// One row: n elements of z in re and im, which have room for n + 1.
WEFT_VECTOR_CLONES WEFT_FLATTEN void row_of_pairs(const Roots& roots, const Element& next, std::int64_t n, double scale,
                                                  bool conjugates, double* re, double* im, Complex64* y) {
  re[n] = re[0];
  im[n] = im[0];
  for (std::int64_t k = 0; k <= n; k += kLanes) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kLanes, n + 1 - k));
    const std::int64_t end = n + 1 - k;  // of the elements n-k-7 … n-k
    Element a, b;
    if (count == kLanes) {
      a = load_parts(re + k, im + k);
      b = reversed(load_parts(re + end - kLanes, im + end - kLanes));
    } else {
      for (int l = 0; l < kLanes; ++l) {
        const std::int64_t j = k + std::min(l, count - 1);
        set(a, l, {re[j], im[j]});
        set(b, l, {re[n - j], im[n - j]});
      }
    }
    const Element e = scale * of_pairs(a, b, roots_from(roots, k, next));
    const Element v = conjugates ? conjugate(e) : e;
    count == kLanes ? store_lanes(v, y + k) : store_lanes(v, y + k, count);
  }
}
// Elements k…k+count-1 of what gives pairs, of half a spectrum's n + 1 elements.
WEFT_INLINE Element row_to_pairs(const Complex64* x, const Roots& roots, const Element& next, std::int64_t n,
                                 bool conjugates, std::int64_t k, int count) {
  Element a, b;
  if (count == kLanes) {
    a = load_lanes(x + k);
    b = reversed(load_lanes(x + n - k - (kLanes - 1)));
  } else {
    a = load_lanes(x + k, count);
    for (int l = 0; l < kLanes; ++l) set(b, l, l < count ? std::complex<double>(x[n - k - l]) : 0.0);
  }
  if (conjugates) a = conjugate(a), b = conjugate(b);
  if (k == 0) a.im[0] = b.im[0] = 0;  // the sums of a real row have none
  return swapped(to_pairs(a, b, roots_from(roots, k, next)));
}
WEFT_VECTOR_CLONES WEFT_FLATTEN void load_half(const Complex64* x, const Roots& roots, const Element& next,
                                               std::int64_t length, bool conjugates, std::int64_t first,
                                               std::int64_t step, std::int64_t n, int count, Element* a) {
  for (std::int64_t i = 0; i < n; ++i) {
    a[i] = row_to_pairs(x, roots, next, length, conjugates, first + i * step, count);
  }
}

// ---- A row as a source and a sink of Transforms::alone

template <class X>
class Source final : public RowSource {
 public:
  Source(const X* x, std::int64_t given, bool swap) : x_(x), given_(given), swap_(swap) {}
  void load(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    load_blocks(x_ + first, given_ - first, step, n, count, swap_, a);
  }

 private:
  const X* x_;
  std::int64_t given_;
  bool swap_;
};
class HalfSource final : public RowSource {
 public:
  HalfSource(const Complex64* x, const Transforms& half, bool conjugates)
      : x_(x), half_(half), conjugates_(conjugates), next_(next_roots(half.roots_of_twice(), half.length())) {}
  void load(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    load_half(x_, half_.roots_of_twice(), next_, half_.length(), conjugates_, first, step, n, count, a);
  }

 private:
  const Complex64* x_;
  const Transforms& half_;
  bool conjugates_;
  Element next_;
};
// Half a spectrum of `length` elements, an odd number, and its mirror image.
class MirroredSource final : public RowSource {
 public:
  MirroredSource(const Complex64* x, std::int64_t length, bool swap) : x_(x), length_(length), swap_(swap) {}
  void load(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    for (std::int64_t i = 0; i < n; ++i) {
      a[i] = Element{};
      for (int l = 0; l < count; ++l) {
        const std::int64_t k = first + i * step + l;
        const std::complex<double> v = k <= length_ / 2 ? x_[k] : std::conj(x_[length_ - k]);
        set(a[i], l, swap_ ? std::complex(v.imag(), v.real()) : v);
      }
    }
  }

 private:
  const Complex64* x_;
  std::int64_t length_;
  bool swap_;
};
template <class Y>
class Sink final : public RowSink {
 public:
  Sink(Y* y, std::int64_t wanted, double scale, bool swap) : y_(y), wanted_(wanted), scale_(scale), swap_(swap) {}
  void store(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    store_blocks(a, scale_, swap_, wanted_ - first, step, n, count, y_ + first);
  }

 private:
  Y* y_;
  std::int64_t wanted_;
  double scale_;
  bool swap_;
};
// Both parts of the numbers, apart.
class PartsSink final : public RowSink {
 public:
  PartsSink(double* re, double* im) : re_(re), im_(im) {}
  void store(std::int64_t first, std::int64_t step, std::int64_t n, int count, Element* a) const override {
    store_all_parts(a, step, n, count, re_ + first, im_ + first);
  }

 private:
  double *re_, *im_;
};

// ---- Calls

// The rows of an operand for one thread: where they are, if their elements are adjacent and of type X, else copies. X
// is f32 or c64.
template <class X>
constexpr DType kTypeOf = std::is_same_v<X, float> ? DType::f32 : DType::c64;

template <class X>
class Inputs {
 public:
  // `elements`: how many a row must have; those that are not given are zeros.
  Inputs(const FftProblem& p, std::int64_t elements) : p_(p), elements_(elements) {
    if (!p.prologue) return;
    prologue_.emplace(*p.prologue, kTypeOf<X>);
    registers_.emplace(prologue_->registers());
  }

  const X* row(std::int64_t index, std::vector<X>& memory) {
    const std::int64_t given = std::min(p_.given(), elements_);
    if (const X* const x = element(index); x && p_.steps[0] == 1 && given == elements_) return x;
    memory.assign(static_cast<std::size_t>(elements_), X());
    if (prologue_) {
      std::vector<CpuExpression::Row> inputs;
      for (std::size_t k = 0; k < p_.inputs.size(); ++k) {
        inputs.push_back({data<std::byte>(p_.inputs[k]), offset(k, index), p_.steps[k]});
      }
      (*prologue_)(*registers_, inputs, given, memory.data());
      return memory.data();
    }
    constexpr std::int64_t kMost = 1 << 20;
    for (std::int64_t i = 0; i < given; i += kMost) {
      load_block(p_.x().dtype)(data<std::byte>(p_.x()), offset(0, index) + i * p_.steps[0], p_.steps[0],
                               static_cast<int>(std::min(kMost, given - i)), memory.data() + i);
    }
    return memory.data();
  }
  // The first of eight rows that lie side by side, which starts with theirs; null if they do not.
  const X* side_by_side(std::int64_t first) const {
    const X* const x = element(first);
    for (int l = 1; x && l < kLanes; ++l) {
      if (offset(0, first + l) != offset(0, first) + l) return nullptr;
    }
    return x;
  }
  std::int64_t step() const { return p_.steps[0]; }

 private:
  std::int64_t offset(std::size_t k, std::int64_t index) const {
    return offset_of(Layout{p_.rows.shape, p_.rows.strides[k]}, index);
  }
  // Where a row's first element is, if it is read as it is.
  const X* element(std::int64_t index) const {
    return prologue_ || p_.x().dtype != kTypeOf<X> ? nullptr : data<X>(p_.x()) + offset(0, index);
  }

  const FftProblem& p_;
  std::int64_t elements_;
  std::optional<PrologueRows> prologue_;
  std::optional<CpuExpression::Registers> registers_;
};

template <class Y>
class Outputs {
 public:
  explicit Outputs(const FftProblem& p) : p_(p) {
    if (!p.epilogue) return;
    epilogue_.emplace(*p.epilogue);
    registers_.emplace(*epilogue_);
  }

  // Memory for a row's results, which end() takes to where they belong.
  Y* row(std::int64_t index, std::vector<Y>& memory) const {
    if (Y* const y = element(index); y && step() == 1) return y;
    memory.resize(static_cast<std::size_t>(p_.y_size()));
    return memory.data();
  }
  void end(std::int64_t index, Y* results) {
    if (epilogue_) {
      std::vector<CpuExpression::Row> inputs{{reinterpret_cast<std::byte*>(results), 0, 1}};
      for (std::size_t k = 0; k < p_.operands.size(); ++k) {
        inputs.push_back(part(p_.operands[k], p_.operand_place(k), index));
      }
      const CpuExpression::Row y = part(p_.y, p_.y_place(), index);
      epilogue_->evaluate(*registers_, inputs, std::span(&y, 1), p_.y_size());
      return;
    }
    if (results == element(index) && step() == 1) return;
    constexpr std::int64_t kMost = 1 << 20;
    for (std::int64_t i = 0; i < p_.y_size(); i += kMost) {
      store_block(p_.y.dtype)(data<std::byte>(p_.y), offset(p_.y_place(), index) + i * step(), step(),
                              static_cast<int>(std::min(kMost, p_.y_size() - i)), results + i);
    }
  }
  Y* side_by_side(std::int64_t first) const {
    Y* const y = element(first);
    for (int l = 1; y && l < kLanes; ++l) {
      if (offset(p_.y_place(), first + l) != offset(p_.y_place(), first) + l) return nullptr;
    }
    return y;
  }
  std::int64_t step() const { return p_.steps[p_.y_place()]; }

 private:
  std::int64_t offset(std::size_t k, std::int64_t index) const {
    return offset_of(Layout{p_.rows.shape, p_.rows.strides[k]}, index);
  }
  CpuExpression::Row part(const View& v, std::size_t k, std::int64_t index) const {
    return {data<std::byte>(v), offset(k, index), p_.steps[k]};
  }
  Y* element(std::int64_t index) const {
    return epilogue_ || p_.y.dtype != kTypeOf<Y> ? nullptr : data<Y>(p_.y) + offset(p_.y_place(), index);
  }

  const FftProblem& p_;
  std::optional<CpuExpression> epilogue_;
  std::optional<CpuExpression::Registers> registers_;
};

// A call with elements X and results Y, f32 or c64.
template <class X, class Y>
class FftCall {
 public:
  explicit FftCall(const FftProblem& p)
      : p_(p),
        form_(form_of(p)),
        n_(is_half(form_) ? p.length() / 2 : p.length()),
        elements_(p.kind == FftKind::complex_to_real ? p.length() / 2 + 1 : p.length()),
        transforms_(transforms_of(n_)) {}

  void run(cpu::Executor& executor) const {
    // Rows that are transformed eight at a time, and the others.
    const bool together = transforms_->takes_lanes() && n_ <= kLongestTogether;
    const std::int64_t rest = p_.count % kLanes;
    const bool rest_alone = n_ >= kShortestAlone && rest < kFewRows;
    const std::int64_t groups = !together ? 0 : p_.count / kLanes + (rest > 0 && !rest_alone ? 1 : 0);
    if (groups > 0) {
      parallel(executor, groups, std::max<std::int64_t>(16384 / (n_ * kLanes), 1),
               [&](std::int64_t begin, std::int64_t end) { lanes(begin, end); });
    }
    Inputs<X> inputs(p_, elements_);
    Outputs<Y> outputs(p_);
    std::vector<X> x;
    std::vector<Y> y;
    for (std::int64_t row = groups * kLanes; row < p_.count; ++row) {
      Y* const results = outputs.row(row, y);
      alone(inputs.row(row, x), results, executor);
      outputs.end(row, results);
    }
  }

 private:
  bool inverse() const { return p_.options.inverse; }
  double scale() const { return p_.options.scale; }
  // Which spectra of real numbers are conjugates of the forward transform's.
  bool conjugates() const { return p_.kind == FftKind::real_to_complex ? inverse() : !inverse(); }

  // The transform of one row, which has elements_ elements.
  void alone(const X* x, Y* y, cpu::Executor& executor) const {
    if constexpr (std::is_same_v<X, Complex64> && std::is_same_v<Y, Complex64>) {
      transforms_->alone(Source<X>(x, n_, inverse()), Sink<Y>(y, n_, scale(), inverse()), &executor);
    } else if constexpr (std::is_same_v<X, float>) {
      if (form_ == Form::real) {
        const Sink<Y> sink(y, p_.y_size(), scale(), inverse());  // what is left out are conjugates
        return transforms_->alone(Source<X>(x, n_, inverse()), sink, &executor);
      }
      KeptMemory memory;
      double* const re = memory.need<double>(2 * (n_ + 1));
      double* const im = re + n_ + 1;
      transforms_->alone(Source<Complex64>(reinterpret_cast<const Complex64*>(x), n_, false), PartsSink(re, im),
                         &executor);
      const Roots& roots = transforms_->roots_of_twice();
      row_of_pairs(roots, next_roots(roots, n_), n_, scale(), conjugates(), re, im, y);
    } else if (form_ == Form::half) {
      // The inverse transform gives pairs.
      transforms_->alone(HalfSource(x, *transforms_, conjugates()),
                         Sink<Complex64>(reinterpret_cast<Complex64*>(y), n_, scale(), true), &executor);
    } else {
      transforms_->alone(MirroredSource(x, p_.length(), inverse()), Sink<Y>(y, n_, scale(), inverse()), &executor);
    }
  }

  // Rows in groups of eight, from begin to end.
  void lanes(std::int64_t begin, std::int64_t end) const {
    Work work;
    Inputs<X> inputs(p_, elements_);
    Outputs<Y> outputs(p_);
    std::array<std::vector<X>, kLanes> x;
    std::array<std::vector<Y>, kLanes> y;
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t first = g * kLanes;
      const auto count = static_cast<int>(std::min<std::int64_t>(kLanes, p_.count - first));
      Element* a = work.need(std::max(elements_, n_) + 1);
      if (const X* const block = count == kLanes ? inputs.side_by_side(first) : nullptr) {
        load_columns(block, inputs.step(), std::min(p_.given(), elements_), form_ == Form::real_pairs ? n_ : elements_,
                     form_ == Form::real_pairs, a);
      } else {
        std::array<const X*, kLanes> rows;
        for (int l = 0; l < kLanes; ++l) {
          const auto at = static_cast<std::size_t>(l);
          rows[at] = l < count ? inputs.row(first + l, x[at]) : rows[0];
        }
        load_all(rows, a);
      }
      before(a);
      transforms_->lanes(work);
      a = work.need(n_ + 1);
      behind(a);
      if (Y* const block = count == kLanes ? outputs.side_by_side(first) : nullptr) {
        store_columns(a, scale(), outputs.step(), form_ == Form::half ? n_ : p_.y_size(), form_ == Form::half, block);
        continue;
      }
      std::array<Y*, kLanes> rows{};
      for (int l = 0; l < count; ++l) {
        rows[static_cast<std::size_t>(l)] = outputs.row(first + l, y[static_cast<std::size_t>(l)]);
      }
      store_all(a, count, rows);
      for (int l = 0; l < count; ++l) outputs.end(first + l, rows[static_cast<std::size_t>(l)]);
    }
  }

  void load_all(const std::array<const X*, kLanes>& rows, Element* a) const {
    if (form_ == Form::real_pairs) {
      std::array<const Complex64*, kLanes> pairs;
      std::ranges::transform(rows, pairs.begin(), [](const X* x) { return reinterpret_cast<const Complex64*>(x); });
      return load_rows(pairs, n_, a);
    }
    load_rows(rows, elements_, a);
  }
  void store_all(const Element* a, int count, const std::array<Y*, kLanes>& rows) const {
    if (form_ == Form::half) {
      std::array<Complex64*, kLanes> pairs;
      std::ranges::transform(rows, pairs.begin(), [](Y* y) { return reinterpret_cast<Complex64*>(y); });
      return store_rows(a, scale(), n_, count, pairs);
    }
    store_rows(a, scale(), p_.y_size(), count, rows);
  }
  // What is transformed in place of the elements, and the results of that.
  void before(Element* a) const {
    if (form_ == Form::half) return lanes_to_pairs(transforms_->roots_of_twice(), n_, conjugates(), a);
    if (form_ == Form::mirrored) {
      for (std::int64_t k = 1; 2 * k < n_; ++k) a[n_ - k] = conjugate(a[k]);
    }
    if (form_ != Form::real_pairs && inverse()) swap_all(n_, a);
  }
  void behind(Element* a) const {
    if (form_ == Form::real_pairs) return lanes_of_pairs(transforms_->roots_of_twice(), n_, conjugates(), a);
    if (form_ == Form::half || inverse()) swap_all(n_, a);
  }

  const FftProblem& p_;
  Form form_;
  std::int64_t n_;         // of the transforms
  std::int64_t elements_;  // of a row of x
  TransformsPtr transforms_;
};

}  // namespace

void fft_cpu(cpu::Executor& executor, const FftProblem& p) {
  switch (p.kind) {
    case FftKind::complex:
      return FftCall<Complex64, Complex64>(p).run(executor);
    case FftKind::real_to_complex:
      return FftCall<float, Complex64>(p).run(executor);
    case FftKind::complex_to_real:
      return FftCall<Complex64, float>(p).run(executor);
  }
}

}  // namespace weft::kernels
