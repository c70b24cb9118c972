// Singular values: checks, and the launches of the templates svd_*. A wide matrix is worked on as its adjoint, so that
// all have m >= n. Those that fit workgroup memory are a workgroup's each. Of larger ones the pairs of blocks that meet
// in a round of a tournament are worked on at once: their Gram matrix, the rotations that it asks for, and what these
// make of the columns. The number of launches is that of the most sweeps; when all columns are orthogonal the remaining
// ones return at once.
#include <array>
#include <cmath>
#include <limits>

#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/linalg/linalg_launch.h"
#include "kernels/linalg/svd_cpu.h"
#include "kernels/plan_cache.h"
#include "weft/kernels/linalg.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {
namespace {

// Most sweeps of a small matrix, which take about eight, and of a large one; inner ones of two blocks.
constexpr int kSweeps = 30, kBlockSweeps = 24, kInnerSweeps = 2;

// Where singular vectors go, as columns of a · right = left · diag(s).
struct Vectors {
  View left, right;
  bool left_conjugates, right_conjugates;
};

// a has no more columns than rows, after `conjugates`.
struct Problem {
  View a, s, info;
  bool conjugates;
  std::optional<Vectors> vectors;

  std::int64_t m() const { return a.shape()[-2]; }
  std::int64_t n() const { return a.shape()[-1]; }
  std::int64_t matrices() const { return element_count(batch_of(a)); }
  bool complex() const { return is_complex(a); }
  std::int64_t element() const { return complex() ? 8 : 4; }
  // Products of vectors of that many elements are zero to rounding below this, times their norms.
  float tolerance() const {
    return std::ldexp(1.0f, -24) * std::max(4.0f, std::sqrt(static_cast<float>(m())));
  }
};

std::uint32_t by_rows(const View& v) { return std::abs(v.strides()[-1]) <= std::abs(v.strides()[-2]); }

// What all templates take.
class SvdCall : public Call {
 public:
  SvdCall(gpu::Commands& commands, std::string_view kernel, const Problem& problem)
      : Call(commands, kernel), batch(*this, batch_of(problem.a)), problem_(problem) {
    include("linalg_common");
    include("svd_common");
    set("complex", problem.complex()).set("vectors", problem.vectors.has_value());
    index_param("m", problem.m()).index_param("n", problem.n());
    param("nan", std::numeric_limits<float>::quiet_NaN());
  }
  void results() {
    write("s", problem_.s).write("info", problem_.info);
    batch.strides("s", problem_.s, 1);
    index_param("s_step", problem_.s.strides()[-1]);
    batch.strides("info", problem_.info, 0);
    if (!problem_.vectors) return;
    const Vectors& v = *problem_.vectors;
    write("left", v.left).write("right", v.right);
    batch.strides("left", v.left, 2);
    batch.strides("right", v.right, 2);
    set("left_conjugates", v.left_conjugates && problem_.complex());
    set("right_conjugates", v.right_conjugates && problem_.complex());
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
  std::int64_t columns, pitch, lanes, threads;
};
std::optional<SmallForm> small_form(const gpu::Capabilities& can, const Problem& problem) {
  const std::int64_t m = problem.m(), n = problem.n();
  const std::int64_t columns = n + n % 2, pairs = columns / 2, rows = m + (problem.vectors ? n : 0);
  const std::int64_t most = std::min<std::int64_t>(workgroup_size(can, 256), can.software ? 64 : 256);
  if (pairs > workgroup_size(can, 256)) return {};
  // A software device runs a workgroup on one core: there is nothing to share.
  std::int64_t lanes = 1;
  while (lanes < (can.software ? 2 : 32) && lanes * 2 * pairs <= most && lanes * 4 <= rows) lanes *= 2;
  std::int64_t threads = 32;
  while (threads < pairs * lanes) threads *= 2;
  const auto fits = [&](std::int64_t pitch) {
    return columns * pitch * problem.element() + threads * 16 + columns * 14 + 16 <= can.max_workgroup_memory;
  };
  // With this pitch the threads of adjacent columns are in different banks.
  std::int64_t pitch = rows;
  while (lanes < 32 && pitch % 32 != lanes) ++pitch;
  if (!fits(pitch)) pitch = rows;
  if (!fits(pitch)) return {};
  return SmallForm{columns, pitch, lanes, threads};
}

void svd_small(gpu::Commands& commands, const Problem& problem, const SmallForm& form, const View& good) {
  SvdCall call(commands, "svd_small", problem);
  call.read("a", problem.a);
  call.batch.strides("a", problem.a, 2);
  call.results();
  call.param("by_rows", by_rows(problem.a));
  if (problem.vectors) {
    call.write("good", good);
    call.param("left_by_rows", by_rows(problem.vectors->left));
    call.param("right_by_rows", by_rows(problem.vectors->right));
  }
  call.set("conjugates", problem.conjugates && problem.complex());
  call.set("columns", form.columns).set("pitch", form.pitch).set("lanes", form.lanes).set("threads", form.threads);
  call.param("sweeps", std::uint32_t{kSweeps}).param("tolerance", problem.tolerance());
  const auto m = static_cast<double>(problem.m()), n = static_cast<double>(problem.n());
  const double matrices = static_cast<double>(problem.matrices()), sweeps = 8;
  const double rows = problem.vectors ? m + n : m;
  call.work(matrices * (m * n + rows * n) * static_cast<double>(problem.element()),
            matrices * sweeps * n * n / 2 * (6 * m + 8 * rows));
  call.dispatch_groups("svd", problem.matrices());
}

// Columns of the vectors on the left for singular values of 0, and those behind all values.
void complete(gpu::Commands& commands, const Problem& problem, const View& good) {
  const View& left = problem.vectors->left;
  const std::int64_t m = left.shape()[-2], n = left.shape()[-1], matrices = problem.matrices();
  GpuScratch scratch(commands);
  const View coefficients = dense(scratch, left.dtype, {matrices * m});
  Call call(commands, "svd_complete");
  call.include("linalg_common");
  call.include("svd_common");
  const Batch batch(call, batch_of(left));
  call.read("good", good).read_write("left", left).read_write("coefficients", coefficients);
  batch.strides("left", left, 2);
  call.set("complex", problem.complex());
  call.set("threads", workgroup_size(call.capabilities(), call.capabilities().software ? 32 : m <= 64 ? 64 : 256));
  call.index_param("m", m).index_param("n", n).index_param("known", problem.n());
  call.param("nan", std::numeric_limits<float>::quiet_NaN());
  const double missing = static_cast<double>((n - problem.n()) * matrices);
  call.cost({.bytes = static_cast<std::uint64_t>(matrices * 4),
             .flops = missing * static_cast<double>(m * n) * (problem.complex() ? 32 : 8)});
  call.dispatch_groups("svd_complete", matrices);
}

// ---- Large matrices

class LargeSvd {
 public:
  LargeSvd(Stream& stream, const Problem& problem)
      : stream_(stream), commands_(*stream.gpu()), problem_(problem), memory_(commands_) {
    const gpu::Capabilities& can = commands_.device().capabilities();
    // The Gram matrix and the rotations of two blocks are in workgroup memory.
    std::int64_t most = 32;
    while (most > 4 && 8 * most * most * problem.element() + most * 40 + 64 > can.max_workgroup_memory) most -= 2;
    blocks_ = 2 * ceil_div(problem.n(), 2 * most);
    block_ = ceil_div(problem.n(), blocks_);
    block_ += block_ % 2;
  }
  // Elements of the largest of its buffers, for each matrix.
  std::int64_t elements() const { return columns() * rows(); }

  void run(const View& good) {
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
    go_ = dense(memory_, DType::i32, {matrices});
    fill(stream_, 1, go_);
    {
      GpuScratch scratch(commands_);
      gram_ = dense(scratch, x.dtype, {matrices * pairs() * parts() * 4 * block_ * block_});
      q_ = dense(scratch, x.dtype, {matrices * pairs() * 4 * block_ * block_});
      active_ = dense(scratch, DType::i32, {matrices * pairs()});
      status_ = dense(scratch, DType::i32, {matrices, rounds() * pairs()});
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
    each_column("norms");
    store(good);
  }

 private:
  std::int64_t columns() const { return blocks_ * block_; }
  std::int64_t rows() const { return problem_.m() + (problem_.vectors ? problem_.n() : 0); }
  std::int64_t pairs() const { return blocks_ / 2; }
  std::int64_t rounds() const { return blocks_ - 1; }
  static constexpr std::int64_t kPartRows = 256;
  std::int64_t parts() const { return ceil_div(problem_.m(), kPartRows); }
  double matrices() const { return static_cast<double>(problem_.matrices()); }

  // The columns of a, side by side, and zeros.
  void load(const View& x) {
    const std::int64_t m = problem_.m(), n = problem_.n();
    fill(stream_, 0, x);
    const View to = transposed(block(x, 0, n, 0, m));
    if (!problem_.conjugates || !problem_.complex()) return copy(stream_, problem_.a, to);
    Expression e;
    e.output(e.apply(ScalarOp::conj, {e.input(DType::c64)}));
    map(stream_, e, std::span(&problem_.a, 1), std::span(&to, 1));
  }

  void each_column(const std::string& step) {
    SvdCall call(commands_, "svd_columns", problem_);
    if (step == "scale")
      call.read("bits", bits_).read_write("x", x_);
    else
      call.read("x", x_).write(step == "measure" ? "bits" : "norms", step == "measure" ? bits_ : norms_);
    call.set("step", step).set("threads", threads(256));
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
    const double elements = matrices() * static_cast<double>(problem_.m() * columns());
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

  void store(const View& good) {
    SvdCall call(commands_, "svd_store", problem_);
    call.read("x", x_).read("bits", bits_).read("norms", norms_).read("go", go_);
    call.results();
    if (problem_.vectors) call.write("good", good);
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

void svd_gpu(Stream& stream, const Problem& problem) {
  gpu::Commands& commands = *stream.gpu();
  GpuScratch scratch(commands);
  const View good = dense(scratch, DType::i32, {problem.matrices()});
  if (problem.n() == 0) {
    fill(stream, 0, problem.info);
    if (problem.vectors) fill(stream, 0, good);
  } else if (const auto form = small_form(commands.device().capabilities(), problem)) {
    svd_small(commands, problem, *form, good);
  } else {
    LargeSvd(stream, problem).run(good);
  }
  if (problem.vectors && problem.vectors->left.count()) complete(commands, problem, good);
}

// The problem of wide matrices is that of their adjoints.
Problem problem_of(const View& a, const View* u, const View& s, const View* vh, const View& info) {
  const bool wide = a.shape()[-2] < a.shape()[-1];
  Problem problem{wide ? transposed(a) : a, s, info, wide, {}};
  if (u) problem.vectors = wide ? Vectors{transposed(*vh), *u, true, false} : Vectors{*u, transposed(*vh), false, true};
  return problem;
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
  const gpu::Capabilities& can = stream.gpu()->device().capabilities();
  std::vector<View> views{a, s, info};
  if (u) views.insert(views.end(), {*u, *vh});
  // The columns that large matrices are copied to also have to fit a binding.
  const Problem whole = problem_of(a, u, s, vh, info);
  if (k > 0 && !small_form(can, whole)) {
    Shape shape = batch_of(a);
    shape.push_back(LargeSvd(stream, whole).elements());
    views.emplace_back(a.buffer, 0, a.dtype, shape);
  }
  in_batches(can, name, views, info.rank(), [&](std::span<const View> v) {
    svd_gpu(stream, u ? problem_of(v[0], &v[3], v[1], &v[4], v[2]) : problem_of(v[0], nullptr, v[1], nullptr, v[2]));
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
