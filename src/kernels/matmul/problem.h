// A matrix product in the normal form that all kernels of the family start from.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/kernels/matmul.h"

namespace weft::kernels {

class Call;
template <class Sum>
struct PanelRun;

// How an operand's elements are best loaded.
struct LoadForm {
  bool along_k = true;  // adjacent threads lie along k, else along m or n
  int width = 1;        // elements in one load
};

// An operand whose rows are the windows of a convolution (conv/conv_windows.wgsl).
class WindowOperand {
 public:
  virtual ~WindowOperand() = default;
  // Whether they are copied to a matrix in memory, the operand's view; else they are read from what they lie on.
  virtual bool in_memory() const = 0;
  // Whether any reaches into padding, which takes no part in sums.
  virtual bool padded() const = 0;
  // Adds to a call where they lie: what is_inside() takes to tell an element of x from padding.
  virtual void add_places(Call& call, std::string_view name) const = 0;

  // Of windows that are not in memory. `wide`: elements of a load, if the layout allows it.
  virtual LoadForm form(int wide) const = 0;
  // Adds it to a call whose batch dimensions are set, with places.
  virtual void add(Call& call, std::string_view name, int width) const = 0;
  // k up to a multiple of this many is within one element of a window.
  virtual std::int64_t run() const = 0;
};

// How a kernel reads an operand.
struct ReadForm {
  bool runs = false;    // as runs of 32 elements, for matmul_read_gemv.wgsl
  bool coarse = false;  // runs may be read so that sums of products have some times more rounding errors
};

// An operand whose elements are computed from what is in memory, such as quantised weights, but is a matrix else: its
// view has the layout of its elements, f32 or f16, and an offset from the first one, in placeholder memory.
class ReadOperand {
 public:
  virtual ~ReadOperand() = default;
  // Adds the elements of the view to a call whose batch dimensions are set, as load_<name>(i), load4_<name>(i) where
  // in_fours(), and words8_<name>(held8_<name>(k)), eight of f16.
  virtual void add(Call& call, std::string_view name, const View& view, const ReadForm& form) const = 0;
  virtual bool in_fours() const = 0;
  // Writes elements of a view [rows, columns], whose columns are adjacent, to dense memory.
  virtual void decode(gpu::Commands& commands, const View& view, const View& to) const = 0;
  // So many adjacent elements, a multiple of 32, from a multiple of as many on, are in one row, and can be read as runs
  // of 32 (ReadForm::runs). 0: none.
  virtual int run_elements() const = 0;
  // Bytes that are read for the elements of the view.
  virtual std::uint64_t bytes(const View& view) const = 0;
  // On the CPU: elements [first, first + count), which are in one row, or in rows of one element. Safe to use from
  // several threads.
  virtual void load(std::int64_t first, std::int64_t count, float* to) const = 0;
  // On the CPU: multiplies run.a by columns at elements `first`, first + stride, …, each of adjacent elements of one
  // row. False, and nothing is written, if they must be loaded instead.
  virtual bool multiply(const PanelRun<float>& run, std::int64_t first, std::int64_t stride) const = 0;
};

// y[…, m, n] = epilogue(Σ_k a[…, m, k] · b[…, k, n], operands[…, m, n]). All views have the same leading (batch)
// dimensions, broadcast by strides of zero and merged as far as possible.
struct MatmulProblem {
  View a, b, y;
  std::vector<View> operands;

  Shape batch;
  std::int64_t m = 0, n = 0, k = 0;

  // The rows of a (or columns of b) are windows; if these are not in memory, its view has only a shape and a type.
  const WindowOperand* windows = nullptr;
  bool windows_are_b = false;
  bool reads_windows() const { return windows && !windows->in_memory(); }
  // Reads b (or a) instead of the memory of its view.
  const ReadOperand* reader = nullptr;
  bool reader_is_b = true;
  // Integers, of the batch dimensions and two more of size 1: which of the matrices of b (or a, where the reader's)
  // each batch takes, of `matrices`, `matrix` elements apart. The operand's view then has no strides along the batch.
  std::optional<View> chosen = {};
  std::int64_t matrices = 0, matrix = 0;
  // The same: where the part of k begins that each batch sums; where it ends is `range_step` elements further. Both
  // count from `k_first` elements before the first k.
  std::optional<View> ranges = {};
  std::int64_t range_step = 0, k_first = 0;

  // Both ends of the ranges, along the last axis.
  std::optional<View> both_ends() const;

  // True for what tells batches apart and is no operand of the product.
  bool selects(const View& view) const { return (chosen && &view == &*chosen) || (ranges && &view == &*ranges); }
  // True for the operand of whose matrices some are chosen.
  bool is_chosen_from(const View& view) const { return chosen && &view == (reader_is_b ? &b : &a); }
  // The view of all matrices of such an operand, given that of one.
  View all_matrices(const View& one) const;

  // On the CPU: the first element of a batch of the operand that the reader reads.
  std::int64_t first_read(std::int64_t batch_index) const;
  // On the CPU: the product of one batch alone, with its matrix and its part of k.
  MatmulProblem of_batch(std::int64_t batch_index) const;

  std::int64_t batches() const { return element_count(batch); }
  std::int64_t products() const { return batches() * m * n; }  // elements of y
  DType sum_type() const { return product_type(a.dtype, b.dtype); }
  // Bytes of scratch for `parts` partial sums of each element.
  std::uint64_t sums_bytes(std::int64_t parts) const { return static_cast<std::uint64_t>(parts * products()) * 4; }
  // Calls f(view) for a, b, y and each operand.
  template <class F>
  void for_each_view(F&& f) {
    f(a), f(b), f(y);
    for (View& v : operands) f(v);
    if (chosen) f(*chosen);
    if (ranges) f(*ranges);
  }
};

// The operand b for matmul_problem().
struct RightOperand {
  const ReadOperand* reader = nullptr;  // reads it
  View view;                            // [matrices…, k, n], of its elements
  std::optional<View> chosen = {};      // broadcasts to y's leading dimensions; view has three dimensions then
  std::optional<View> ranges = {};      // [..., 2], whose other dimensions broadcast to y's leading ones
};

// Checks the operands and brings them to normal form: leading dimensions are broadcast; those that b does not have are
// merged with m; and if y is contiguous along m instead of n, or n is 1, it is the transposed product yᵀ = bᵀ·aᵀ.
// Throws InvalidArgument.
MatmulProblem matmul_problem(const View& a, const View& b, const View& y, const Epilogue& epilogue);
// The same with such an operand b.
MatmulProblem matmul_problem(const View& a, const RightOperand& b, const View& y, const Epilogue& epilogue);

// The strides of a view's leading dimensions.
Strides batch_strides(const View& view);

// The part [begin, begin + size) of dimension `d`: of the batch, or batch.rank() for m, + 1 for n, + 2 for k.
MatmulProblem part(const MatmulProblem& problem, int d, std::int64_t begin, std::int64_t size);

}  // namespace weft::kernels
