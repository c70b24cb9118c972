// Singular values: checks, and the launches of the templates svd_*. A wide matrix is worked on as its transpose, so
// that all have m >= n. What is decomposed is the square factor of a factor, a = q1 r1 and r1ᵀ = q2 r2: the columns of
// r2ᵀ are nearly orthogonal, so that few sweeps of Jacobi's iteration are left, whatever the matrix. Those that fit
// workgroup memory are a workgroup's each. Of large ones the pairs of blocks that meet in a round of a tournament are
// worked on at once: their Gram matrix, the rotations that it asks for, and what these make of the columns. The number
// of launches is that of the most sweeps; when all columns are orthogonal the remaining ones return at once. Source:
// Drmač and Veselić, "New fast and accurate Jacobi SVD algorithm", 2008.
#include <array>
#include <cmath>
#include <limits>

#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/linalg/linalg_products.h"
#include "kernels/linalg/svd_cpu.h"
#include "kernels/plan_cache.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/linalg.h"
#include "weft/kernels/matmul.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {
namespace {

// Most sweeps of a small matrix, which take about eight, and of a large one; inner ones of two blocks.
constexpr int kSweeps = 30, kBlockSweeps = 20, kInnerSweeps = 2;

// Where singular vectors go, as columns: a = left · diag(s) · rightᵀ.
struct Vectors {
  View left, right;
};

// A square matrix.
struct Problem {
  View a, s, info;
  std::optional<Vectors> vectors;

  std::int64_t n() const { return a.shape()[-1]; }
  std::int64_t matrices() const { return element_count(batch_of(a)); }
  bool complex() const { return is_complex(a); }
  std::int64_t element() const { return complex() ? 8 : 4; }
  // Products of vectors of that many elements are zero to rounding below this, times their norms.
  float tolerance() const { return std::ldexp(1.0f, -24) * std::max(4.0f, std::sqrt(static_cast<float>(n()))); }
};

// What all templates take.
class SvdCall : public Call {
 public:
  SvdCall(gpu::Commands& commands, std::string_view kernel, const Problem& problem)
      : Call(commands, kernel), batch(*this, batch_of(problem.a)), problem_(problem) {
    include("linalg_common");
    include("svd_common");
    set("complex", problem.complex());
    index_param("n", problem.n());
    param("nan", std::numeric_limits<float>::quiet_NaN());
  }
  // The results but for left.
  void results() {
    write("s", problem_.s).write("info", problem_.info);
    batch.strides("s", problem_.s, 1);
    index_param("s_step", problem_.s.strides()[-1]);
    batch.strides("info", problem_.info, 0);
    set("vectors", problem_.vectors.has_value());
    if (!problem_.vectors) return;
    write("right", problem_.vectors->right);
    batch.strides("right", problem_.vectors->right, 2);
  }
  // `bytes`, and `flops` of real numbers.
  void work(double bytes, double flops) {
    cost({.bytes = static_cast<std::uint64_t>(bytes), .flops = flops * (problem_.complex() ? 4 : 1)});
  }

  const Batch batch;

 private:
  const Problem& problem_;
};

// ---- Matrices that fit workgroup memory

// How a workgroup shares the columns; nothing: they do not fit.
struct SmallForm {
  std::int64_t size, pitch, lanes, threads;
};
std::optional<SmallForm> small_form(const gpu::Capabilities& can, const Problem& problem) {
  const auto form_of = [&](std::int64_t size) -> std::optional<SmallForm> {
    const std::int64_t pairs = size / 2, rows = problem.vectors ? 2 * size : size;
    const std::int64_t most = can.software ? 64 : workgroup_size(can, 256);
    if (pairs > workgroup_size(can, 256)) return {};
    // A software device runs a workgroup on one core: there is nothing to share.
    std::int64_t lanes = 1, threads = 32;
    while (lanes < (can.software ? 2 : 32) && lanes * 2 * pairs <= most && lanes * 16 <= rows) lanes *= 2;
    while (threads < pairs * lanes) threads *= 2;
    const auto fits = [&](std::int64_t pitch) {
      return size * pitch * problem.element() + threads * 16 + size * 14 + 16 <= can.max_workgroup_memory;
    };
    // With this pitch the threads of adjacent columns are in different banks.
    std::int64_t pitch = rows;
    while (lanes < 32 && pitch % 32 != lanes) ++pitch;
    if (!fits(pitch)) pitch = rows;
    if (!fits(pitch)) return {};
    return SmallForm{size, pitch, lanes, threads};
  };
  const std::int64_t n = problem.n();
  // Few sizes, so that there are few shaders; beyond them the very one.
  for (const std::int64_t size : {8, 16, 32, 48, 64}) {
    if (n > size) continue;
    if (const auto form = form_of(size)) return form;
  }
  return form_of(n + n % 2);
}

void svd_small(gpu::Commands& commands, const Problem& problem, const SmallForm& form, const View& good) {
  SvdCall call(commands, "svd_small", problem);
  call.read("a", problem.a);
  call.batch.strides("a", problem.a, 2);
  call.results();
  // Adjacent threads read adjacent elements.
  call.param("by_rows", std::uint32_t{std::abs(problem.a.strides()[-1]) <= std::abs(problem.a.strides()[-2])});
  if (problem.vectors) {
    call.write("left", problem.vectors->left).write("good", good);
    call.batch.strides("left", problem.vectors->left, 2);
  }
  call.set("size", form.size).set("pitch", form.pitch).set("lanes", form.lanes).set("threads", form.threads);
  call.index_param("pairs", (problem.n() + 1) / 2);
  call.param("sweeps", std::uint32_t{kSweeps}).param("tolerance", problem.tolerance());
  const auto n = static_cast<double>(problem.n()), matrices = static_cast<double>(problem.matrices());
  const double sweeps = 7, rows = problem.vectors ? 2 * n : n;
  call.work(matrices * (n * n + rows * n) * static_cast<double>(problem.element()),
            matrices * sweeps * n * n / 2 * (6 * n + 8 * rows));
  call.dispatch_groups("svd", problem.matrices());
}

// Columns of the vectors on the left for singular values of 0.
void complete(gpu::Commands& commands, const Problem& problem, const View& good) {
  const View& left = problem.vectors->left;
  const std::int64_t n = problem.n(), matrices = problem.matrices();
  GpuScratch scratch(commands);
  const View coefficients = dense(scratch, left.dtype, {matrices * n});
  Call call(commands, "svd_complete");
  call.include("linalg_common");
  call.include("svd_common");
  const Batch batch(call, batch_of(left));
  call.read("good", good).read_write("left", left).read_write("coefficients", coefficients);
  batch.strides("left", left, 2);
  call.set("complex", problem.complex());
  call.set("threads", workgroup_size(call.capabilities(), call.capabilities().software ? 32 : 64));
  call.index_param("n", n);
  call.cost({.bytes = static_cast<std::uint64_t>(matrices * 4), .flops = 0});
  call.dispatch_groups("svd_complete", matrices);
}

// ---- Large matrices

class LargeSvd {
 public:
  LargeSvd(Stream& stream, const Problem& problem)
      : stream_(stream), commands_(*stream.gpu()), problem_(problem), memory_(commands_) {
    const gpu::Capabilities& can = commands_.device().capabilities();
    // The Gram matrix and the rotations of two blocks are in workgroup memory.
    std::int64_t most = std::min<std::int64_t>(32, workgroup_size(can, 256) / 8);  // as svd_apply.wgsl shares them
    while (most > 4 && 8 * most * most * problem.element() + most * 40 + 64 > can.max_workgroup_memory) most -= 2;
    blocks_ = 2 * ceil_div(problem.n(), 2 * most);
    block_ = ceil_div(problem.n(), blocks_);
    block_ = std::min(most, ceil_div(block_, 4) * 4);  // few sizes, so that there are few shaders
  }
  // Of the largest of its buffers, for each matrix; blocks are filled up.
  static std::int64_t elements(std::int64_t n, bool vectors) { return (n + 64) * n * (vectors ? 2 : 1); }

  void run() {
    Shape shape = batch_of(problem_.a);
    shape.push_back(columns());
    shape.push_back(rows());
    const View x = dense(memory_, problem_.a.dtype, shape);
    load(x);
    const std::int64_t matrices = problem_.matrices();
    x_ = View(x.buffer, x.offset, x.dtype, {matrices, columns(), rows()});
    bits_ = dense(memory_, DType::u32, {matrices * columns()});
    norms_ = dense(memory_, DType::f32, {matrices * columns()});
    each_column("measure");
    each_column("scale");
    const std::int64_t n = problem_.n();
    const View above = transposed(block(x, 0, n, 0, n));  // a, and what becomes of it
    View scaled;
    if (problem_.vectors) {
      scaled = dense(memory_, x.dtype, square());
      copy(stream_, above, transposed(scaled));
    }
    go_ = dense(memory_, DType::i32, {matrices});
    fill(stream_, 1, go_);
    iterate();
    if (problem_.vectors) refresh(transposed(scaled), above, transposed(block(x, 0, n, n, n)));
    each_column("norms");
    if (!problem_.vectors) return store({});
    const View sorted = dense(memory_, x.dtype, square());
    store(sorted);
    orthonormal(transposed(sorted), problem_.vectors->left);
  }

 private:
  void iterate() {
    GpuScratch scratch(commands_);
    gram_ = dense(scratch, x_.dtype, {problem_.matrices() * pairs() * parts() * 4 * block_ * block_});
    q_ = dense(scratch, x_.dtype, {problem_.matrices() * pairs() * 4 * block_ * block_});
    active_ = dense(scratch, DType::i32, {problem_.matrices() * pairs()});
    status_ = dense(scratch, DType::i32, {problem_.matrices(), rounds() * pairs()});
    for (int sweep = 0; sweep < kBlockSweeps; ++sweep) {
      for (std::int64_t round = 0; round < rounds(); ++round) {
        gram(round);
        rotate(round);
        apply(round);
      }
      const int axes[] = {1};
      reduce(stream_, ReduceKind::max, status_, go_, axes);
    }
  }

  // After many products the columns of v, the rotations, are orthonormal to fewer digits than they could be. A step of
  // Newton's iteration, v (3 - vᴴ v) / 2, mends it, and `above` is what these make of a.
  void refresh(const View& a, const View& above, const View& v) {
    GpuScratch scratch(commands_);
    const View gram = dense(scratch, v.dtype, square()), change = dense(scratch, v.dtype, square());
    matmul(stream_, adjoint(stream_, scratch, v), v, gram);
    matmul(stream_, v, gram, change);
    Expression e;
    const int before = e.input(v.dtype), product = e.input(v.dtype);
    const auto times = [&](float number, int x) { return e.apply(ScalarOp::mul, {e.constant(number, v.dtype), x}); };
    e.output(e.apply(ScalarOp::sub, {times(1.5f, before), times(0.5f, product)}));
    const View operands[] = {v, change};
    map(stream_, e, operands, std::span(&v, 1));
    matmul(stream_, a, v, above);
  }

  // The orthonormal columns that x's are nearly multiples of, in descending order: of qr()'s factors r is nearly
  // diagonal, and q's columns are orthonormal to the last digit, also those for singular values of 0.
  void orthonormal(const View& x, const View& y) {
    GpuScratch scratch(commands_);
    const View q = dense(scratch, x.dtype, square()), r = dense(scratch, x.dtype, square());
    qr(stream_, x, q, r);
    View diagonal = r;
    diagonal.layout.shape[-2] = 1;
    diagonal.layout.strides[-1] += diagonal.layout.strides[-2];
    Expression e;
    const int vector = e.input(x.dtype), pivot = e.input(x.dtype);
    const int sign = problem_.complex() ? e.apply(ScalarOp::real, {pivot}) : pivot;
    e.output(e.apply(ScalarOp::select, {e.apply(ScalarOp::less, {sign, e.constant(0.0f, DType::f32)}),
                                        e.apply(ScalarOp::neg, {vector}), vector}));
    const View operands[] = {q, diagonal};
    map(stream_, e, operands, std::span(&y, 1));
  }

  Shape square() const {
    Shape shape = batch_of(problem_.a);
    shape.push_back(problem_.n());
    shape.push_back(problem_.n());
    return shape;
  }
  std::int64_t columns() const { return blocks_ * block_; }
  std::int64_t rows() const { return problem_.n() * (problem_.vectors ? 2 : 1); }
  std::int64_t pairs() const { return blocks_ / 2; }
  std::int64_t rounds() const { return blocks_ - 1; }
  static constexpr std::int64_t kPartRows = 256;
  std::int64_t parts() const { return ceil_div(problem_.n(), kPartRows); }
  double matrices() const { return static_cast<double>(problem_.matrices()); }

  // The columns of a, side by side, and zeros.
  void load(const View& x) {
    fill(stream_, 0, x);
    copy(stream_, problem_.a, transposed(block(x, 0, problem_.n(), 0, problem_.n())));
  }

  void each_column(const std::string& step) {
    SvdCall call(commands_, "svd_columns", problem_);
    if (step == "scale")
      call.read("bits", bits_).read_write("x", x_);
    else
      call.read("x", x_).write(step == "measure" ? "bits" : "norms", step == "measure" ? bits_ : norms_);
    call.set("step", step).set("threads", threads(256)).set("vectors", problem_.vectors.has_value());
    call.index_param("columns", columns()).index_param("rows", rows());
    call.work(static_cast<double>(x_.count() * problem_.element()), static_cast<double>(x_.count()));
    call.dispatch_groups("svd_" + step, problem_.matrices() * columns());
  }

  void gram(std::int64_t round) {
    SvdCall call(commands_, "svd_gram", problem_);
    call.read("x", x_).read("go", go_).write("gram", gram_);
    blocks(call, round);
    call.set("depth", problem_.complex() ? 16 : 32);
    call.index_param("part_rows", kPartRows).index_param("parts", parts());
    const double elements = matrices() * static_cast<double>(problem_.n() * columns());
    call.work(elements * static_cast<double>(problem_.element()), elements * static_cast<double>(4 * block_));
    call.dispatch_groups("svd_gram", problem_.matrices() * pairs() * parts());
  }

  void rotate(std::int64_t round) {
    SvdCall call(commands_, "svd_rotate", problem_);
    call.read("gram", gram_).read("go", go_).write("q", q_).write("active", active_).write("status", status_);
    blocks(call, round);
    call.set("threads", threads(256));
    call.index_param("parts", parts()).param("inner", std::uint32_t{kInnerSweeps});
    call.param("tolerance", problem_.tolerance());
    const double elements = static_cast<double>(q_.count());
    call.work(elements * static_cast<double>(problem_.element()),
              elements * static_cast<double>(2 * block_ * kInnerSweeps * 8));
    call.dispatch_groups("svd_rotate", problem_.matrices() * pairs());
  }

  void apply(std::int64_t round) {
    SvdCall call(commands_, "svd_apply", problem_);
    const std::int64_t tiles = ceil_div(rows(), 64);
    call.read("q", q_).read("active", active_).read_write("x", x_);
    blocks(call, round);
    call.set("depth", problem_.complex() ? 8 : 16).index_param("tiles", tiles);
    const double elements = static_cast<double>(x_.count());
    call.work(2 * elements * static_cast<double>(problem_.element()), elements * static_cast<double>(4 * block_));
    call.dispatch_groups("svd_apply", problem_.matrices() * pairs() * tiles);
  }

  void blocks(SvdCall& call, std::int64_t round) {
    call.set("block", block_);
    call.index_param("columns", columns()).index_param("rows", rows()).index_param("pairs", pairs());
    call.index_param("round", round);
  }

  void store(const View& sorted) {
    SvdCall call(commands_, "svd_store", problem_);
    call.read("x", x_).read("bits", bits_).read("norms", norms_).read("go", go_);
    call.results();
    if (problem_.vectors) call.write("sorted", sorted);
    call.set("threads", threads(256));
    call.index_param("columns", columns()).index_param("rows", rows());
    call.work(2 * static_cast<double>(x_.count() * problem_.element()), static_cast<double>(x_.count()));
    call.dispatch_groups("svd_store", problem_.matrices() * problem_.n());
  }

  std::uint32_t threads(std::uint32_t wanted) const {
    const gpu::Capabilities& can = commands_.device().capabilities();
    return workgroup_size(can, can.software ? 64 : wanted);
  }

  Stream& stream_;
  gpu::Commands& commands_;
  const Problem& problem_;
  GpuScratch memory_;
  std::int64_t block_ = 0, blocks_ = 0;
  View x_, bits_, norms_, go_, gram_, q_, active_, status_;
};

// ---- Calls

void solve_square(Stream& stream, const Problem& problem) {
  gpu::Commands& commands = *stream.gpu();
  const auto form = small_form(commands.device().capabilities(), problem);
  if (!form) return LargeSvd(stream, problem).run();
  GpuScratch scratch(commands);
  const View good = dense(scratch, DType::i32, {problem.matrices()});
  svd_small(commands, problem, *form, good);
  if (problem.vectors) complete(commands, problem, good);
}

// a has no more columns than rows.
void solve(Stream& stream, const View& a, const View& s, const View& info, const std::optional<Vectors>& vectors) {
  gpu::Commands& commands = *stream.gpu();
  GpuScratch scratch(commands);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], all = vectors ? vectors->left.shape()[-1] : 0;
  const auto matrices = [&](std::int64_t rows, std::int64_t columns) {
    Shape shape = batch_of(a);
    shape.push_back(rows);
    shape.push_back(columns);
    return dense(scratch, a.dtype, shape);
  };
  const QrMode mode = !vectors ? QrMode::r : all > n ? QrMode::complete : QrMode::reduced;
  const View q1 = matrices(m, all), r1 = matrices(std::max(all, n), n);
  const View q2 = matrices(n, vectors ? n : 0), r2 = matrices(n, n);
  qr(stream, a, q1, r1, {mode});
  qr(stream, transposed(block(r1, 0, n, 0, n)), q2, r2, {vectors ? QrMode::reduced : QrMode::r});
  if (!vectors) return solve_square(stream, {transposed(r2), s, info, {}});
  const Vectors inner{matrices(n, n), matrices(n, n)};
  solve_square(stream, {transposed(r2), s, info, inner});
  matmul(stream, block(q1, 0, m, 0, n), inner.left, block(vectors->left, 0, m, 0, n));
  if (all > n) copy(stream, block(q1, 0, m, n, all - n), block(vectors->left, 0, m, n, all - n));
  matmul(stream, q2, inner.right, vectors->right);
}

void run(Stream& stream, std::string_view name, const View& a, const View* u, const View& s, const View* vh,
         const View& info, bool full) {
  if (u)
    check_views(name, {&a}, {u, &s, vh, &info});
  else
    check_views(name, {&a}, {&s, &info});
  if (a.rank() < 2) throw InvalidArgument("{}: a is {}; expected matrices, [..., m, n]", name, to_string(a));
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], k = std::min(m, n);
  const auto expect = [&](std::string_view operand, const View& v, std::initializer_list<std::int64_t> own) {
    Shape shape = batch_of(a);
    for (const std::int64_t size : own) shape.push_back(size);
    if (v.shape() != shape) {
      throw InvalidArgument("{}: {} is {}; expected the shape {}, for a {}", name, operand, to_string(v),
                            to_string(shape), to_string(a));
    }
  };
  expect("s", s, {k});
  expect("info", info, {});
  if (u) {
    expect("u", *u, {m, full ? m : k});
    expect("vh", *vh, {full ? n : k, n});
    check_memory(stream, name, {{"a", a}}, {{"u", *u}, {"s", s}, {"vh", *vh}, {"info", info}}, Sharing::none);
  } else {
    check_memory(stream, name, {{"a", a}}, {{"s", s}, {"info", info}}, Sharing::none);
  }
  if (info.count() == 0) return;
  if (stream.cpu()) return svd_cpu(*stream.cpu(), a, u, s, vh, info);
  if (a.dtype == DType::f64) throw Unsupported("{}: a is {}, which runs on the CPU only", name, to_string(a));
  if (k == 0) {
    fill(stream, 0, info);
    for (const View* v : {u, vh}) {
      if (v && v->count()) eye(stream, *v);
    }
    return;
  }
  // A wide matrix is the transpose of a tall one.
  const bool wide = m < n;
  std::vector<View> views{wide ? transposed(a) : a, s, info};
  std::optional<Vectors> vectors;
  if (u) {
    vectors = wide ? Vectors{transposed(*vh), *u} : Vectors{*u, transposed(*vh)};
    views.insert(views.end(), {vectors->left, vectors->right});
  }
  // The columns that large matrices are copied to also have to fit a binding.
  views.push_back(a);
  Shape columns = batch_of(a);
  columns.push_back(LargeSvd::elements(k, u != nullptr));
  views.back().layout = {columns, dense_strides(columns)};
  in_batches(stream.gpu()->device().capabilities(), name, views, info.rank(), [&](std::span<const View> v) {
    if (vectors)
      solve(stream, v[0], v[1], v[2], Vectors{v[3], v[4]});
    else
      solve(stream, v[0], v[1], v[2], {});
  });
}

}  // namespace

void svd(Stream& stream, const View& a, const View& u, const View& s, const View& vh, const View& info,
         const SvdOptions& options) {
  call(stream, CallKey("svd", options.full_matrices), {a, u, s, vh, info},
       [&](Stream& t) { run(t, "svd", a, &u, s, &vh, info, options.full_matrices); });
}

void svdvals(Stream& stream, const View& a, const View& s, const View& info) {
  call(stream, CallKey("svdvals"), {a, s, info},
       [&](Stream& t) { run(t, "svdvals", a, nullptr, s, nullptr, info, false); });
}

}  // namespace weft::kernels
