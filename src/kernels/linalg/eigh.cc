// The Hermitian eigenproblem: checks, and the launches of Jacobi's iteration. Matrices that fit workgroup memory are a
// workgroup's each. Large ones are divided into blocks; in each round of a sweep every block meets another one, a
// workgroup rotates what is where the two meet, and the products of its rotations are applied to the rest of the
// matrix. Source: Golub and Van Loan, "Matrix Computations", 4th edition, 8.5.
#include <cmath>
#include <limits>

#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/linalg/eigh_cpu.h"
#include "kernels/linalg/linalg_products.h"
#include "kernels/plan_cache.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/linalg.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {
namespace {

// Sweeps converge quadratically in the end: 6 to 12 are usual, a few more where many eigenvalues are equal.
constexpr std::int64_t kSweeps = 30, kLargeSweeps = 20;

struct Problem {
  View a;
  bool conjugates;  // a's lower triangle is read, as its conjugate
  View w;
  std::optional<View> v;
  View info;

  bool complex() const { return is_complex(a); }
  std::int64_t n() const { return a.shape()[-1]; }
  std::int64_t matrices() const { return element_count(batch_of(a)); }
};

// Bytes of workgroup memory that a matrix of `rows` rows and the product of its rotations take.
std::int64_t rotation_bytes(std::int64_t rows, bool complex, bool vectors, std::int64_t threads) {
  return rows * (rows + 1) * (complex ? 8 : 4) * (vectors ? 2 : 1) + rows / 2 * 24 + rows * 4 + threads * 4 + 64;
}

void read_matrix(Call& call, const Batch& batch, const Problem& p) {
  call.read("a", p.a);
  batch.strides("a", p.a, 2);
}
void write_results(Call& call, const Batch& batch, const Problem& p) {
  call.write("w", p.w).write("info", p.info);
  batch.strides("w", p.w, 1);
  call.index_param("w_step", p.w.strides()[-1]);
  batch.strides("info", p.info, 0);
  call.set("vectors", p.v.has_value());
  if (p.v) {
    call.write("v", *p.v);
    batch.strides("v", *p.v, 2);
  }
  call.param("nan", std::numeric_limits<float>::quiet_NaN());
}
void start(Call& call, bool complex) {
  call.include("linalg_common").include("eigh_common");
  call.set("complex", complex);
}

// ---- Matrices that fit workgroup memory

std::int64_t small_threads(std::int64_t n, const gpu::Capabilities& can) {
  return workgroup_size(can, can.software || n <= 8 ? 32 : n <= 16 ? 64 : n <= 24 ? 128 : 256);
}

void eigh_small(gpu::Commands& commands, const Problem& p, std::int64_t rows) {
  Call call(commands, "eigh_small");
  start(call, p.complex());
  call.include("eigh_rotations");
  const Batch batch(call, batch_of(p.a));
  read_matrix(call, batch, p);
  write_results(call, batch, p);
  const std::int64_t n = p.n();
  call.set("size", rows).set("pitch", rows + 1).set("threads", small_threads(n, call.capabilities()));
  call.set("conjugates", p.conjugates);
  call.index_param("n", n).index_param("sweeps", kSweeps);
  const double cube = std::pow(static_cast<double>(n), 3) * (p.complex() ? 4 : 1);
  call.cost({.bytes = byte_size(p.a.dtype, static_cast<std::uint64_t>(p.a.count() * (p.v ? 2 : 1))),
             .flops = 8 * (p.v ? 7.0 : 4.0) * cube * static_cast<double>(p.matrices())});
  call.dispatch_groups("eigh", p.matrices());
}

// ---- Large matrices

class LargeEigh {
 public:
  LargeEigh(Stream& stream, const Problem& problem, std::int64_t size)
      : stream_(stream),
        commands_(*stream.gpu()),
        p_(problem),
        size_(size),
        pairs_(ceil_div(problem.n(), size)),
        rows_(pairs_ * size),
        matrices_(problem.matrices()),
        scratch_(commands_),
        scales_(dense(scratch_, DType::f32, {matrices_, 3})),
        flags_(dense(scratch_, DType::i32, {2, matrices_, pairs_})),
        active_(dense(scratch_, DType::i32, {matrices_, pairs_})),
        values_(dense(scratch_, DType::f32, {matrices_, rows_})),
        order_(dense(scratch_, DType::i32, {matrices_, problem.n()})),
        h_(whole()),
        v_(whole()) {}

  void run() {
    measure();
    prepare(true);
    {
      GpuScratch scratch(commands_);
      const View products = dense(scratch, p_.a.dtype, {matrices_, pairs_, size_, size_});
      const std::int64_t rounds = 2 * pairs_ - 1;
      for (std::int64_t sweep = 0; sweep < kLargeSweeps; ++sweep) {
        for (std::int64_t round = 0; round < rounds; ++round) {
          rotate(products, sweep, round);
          apply(products, round);
        }
      }
    }
    refine();
    sort();
    finish();
  }

 private:
  View whole() { return dense(scratch_, p_.a.dtype, {matrices_, rows_, rows_}); }
  double products() const { return (p_.complex() ? 4.0 : 1.0) * static_cast<double>(matrices_); }
  std::uint64_t whole_bytes() const { return byte_size(p_.a.dtype, static_cast<std::uint64_t>(h_.count())); }
  // A thread for each of so many elements.
  void dispatch_threads(Call& call, std::string_view label, std::int64_t count) {
    const std::uint32_t threads = workgroup_size(call.capabilities(), 256);
    call.set("threads", threads);
    call.dispatch_groups(label, ceil_div(count, threads));
  }

  void measure() {
    Call call(commands_, "eigh_scale");
    start(call, p_.complex());
    const Batch batch(call, batch_of(p_.a));
    read_matrix(call, batch, p_);
    call.write("scales", scales_);
    call.index_param("n", p_.n());
    call.set("threads", workgroup_size(call.capabilities(), call.capabilities().software ? 32 : 1024));
    call.dispatch_groups("eigh_scale", matrices_);
  }

  // h is the scaled matrix, and v, if `vectors`, the identity.
  void prepare(bool vectors) {
    Call call(commands_, "eigh_prepare");
    start(call, p_.complex());
    const Batch batch(call, batch_of(p_.a));
    read_matrix(call, batch, p_);
    call.read("scales", scales_).write("h", h_);
    if (vectors) call.write("v", v_);
    call.set("vectors", vectors).set("conjugates", p_.conjugates);
    call.index_param("n", p_.n()).index_param("size", rows_);
    dispatch_threads(call, "eigh_prepare", h_.count());
  }

  void rotate(const View& products, std::int64_t sweep, std::int64_t round) {
    Call call(commands_, "eigh_rotate");
    start(call, p_.complex());
    call.include("eigh_rotations");
    call.read("scales", scales_).read_write("h", h_).write("j", products).write("active", active_);
    call.read_write("flags", flags_);
    call.set("vectors", true).set("size", size_).set("pitch", size_ + 1);
    call.set("threads", rotate_threads(call.capabilities(), size_));
    call.index_param("count", matrices_).index_param("pairs", pairs_).index_param("rows", rows_);
    call.index_param("sweep", sweep).index_param("round", round).param("own", round == 0 ? 1u : 0u);
    const auto size = static_cast<double>(size_);
    call.cost({.bytes = byte_size(p_.a.dtype, static_cast<std::uint64_t>(3 * matrices_ * pairs_ * size_ * size_)),
               .flops = this->products() * static_cast<double>(pairs_) * (round == 0 ? 14 : 7) * size * size * size});
    call.dispatch_groups("eigh_rotate", matrices_ * pairs_);
  }

  void apply(const View& products, std::int64_t round) {
    Call call(commands_, "eigh_apply");
    start(call, p_.complex());
    call.read("active", active_).read("j", products).read_write("h", h_).read_write("v", v_);
    const gpu::Capabilities& device = call.capabilities();
    const std::int64_t width = device.software || device.max_workgroup_size < 256 ? 8 : 16;
    call.set("size", size_).set("width", width).set("tile", size_ / width);
    const std::int64_t meetings = pairs_ * (pairs_ / 2), each = meetings + pairs_ * pairs_;
    call.index_param("count", matrices_).index_param("pairs", pairs_).index_param("rows", rows_);
    call.index_param("round", round).index_param("meetings", meetings).index_param("each", each);
    call.cost({.bytes = 4 * whole_bytes(),
               .flops = this->products() * 4 * static_cast<double>(rows_ * rows_) * static_cast<double>(size_)});
    call.dispatch_groups("eigh_apply", matrices_ * each);
  }

  // Thousands of rotations have left v's columns a little off orthonormal: a step of the Newton-Schulz iteration,
  // v + v (1 - vᴴ v) / 2, makes them so. Their Rayleigh quotients in the matrix itself are the eigenvalues. Source:
  // Higham, "Functions of Matrices", 2008, 8.3.
  void refine() {
    GpuScratch scratch(commands_);
    const View x = dense(scratch, p_.a.dtype, h_.shape());
    {
      GpuScratch conjugates(commands_);
      matmul(stream_, adjoint(stream_, conjugates, v_), v_, h_);
    }
    {
      Call call(commands_, "eigh_halve");
      start(call, p_.complex());
      call.read_write("h", h_);
      call.index_param("count", h_.count()).index_param("size", rows_);
      dispatch_threads(call, "eigh_halve", h_.count());
    }
    matmul(stream_, v_, h_, x);
    Expression e;
    const int own = e.input(v_.dtype), more = e.input(v_.dtype);
    e.output(e.apply(ScalarOp::add, {own, more}));
    const View operands[] = {v_, x};
    map(stream_, e, operands, std::span(&v_, 1));
    prepare(false);
    matmul(stream_, h_, v_, x);
    Call call(commands_, "eigh_values");
    start(call, p_.complex());
    call.read("v", v_).read("x", x).write("w", values_);
    call.set("threads", workgroup_size(call.capabilities(), call.capabilities().software ? 32 : 256));
    call.index_param("count", matrices_).index_param("size", rows_);
    call.dispatch_groups("eigh_values", matrices_ * (rows_ / 16));
  }

  void sort() {
    Call call(commands_, "eigh_order");
    call.read("values", values_).write("order", order_).write("scales", scales_);
    call.read("flags", slice(flags_, 0, (kLargeSweeps + 1) % 2, (kLargeSweeps + 1) % 2 + 1));
    call.index_param("count", matrices_).index_param("n", p_.n()).index_param("size", rows_);
    call.index_param("pairs", pairs_);
    dispatch_threads(call, "eigh_order", order_.count());
  }

  void finish() {
    Call call(commands_, "eigh_finish");
    start(call, p_.complex());
    const Batch batch(call, batch_of(p_.a));
    write_results(call, batch, p_);
    call.read("scales", scales_).read("values", values_).read("order", order_);
    if (p_.v) call.read("columns", v_);
    const std::int64_t lines = 1 + (p_.v ? p_.n() : 0);
    call.index_param("n", p_.n()).index_param("size", rows_).index_param("lines", lines);
    dispatch_threads(call, "eigh_finish", matrices_ * lines * p_.n());
  }

 public:
  static std::int64_t rotate_threads(const gpu::Capabilities& can, std::int64_t size) {
    return workgroup_size(can, can.software ? 32 : size >= 64 ? 512 : size >= 32 ? 256 : 64);
  }

 private:
  Stream& stream_;
  gpu::Commands& commands_;
  const Problem& p_;
  std::int64_t size_, pairs_, rows_, matrices_;
  GpuScratch scratch_;
  View scales_, flags_, active_, values_, order_, h_, v_;
};

// As many rows of a pair of blocks as fit workgroup memory.
std::int64_t pair_size(const gpu::Capabilities& can, bool complex) {
  std::int64_t size = can.software ? 32 : 64;
  while (size > 16 &&
         rotation_bytes(size, complex, true, LargeEigh::rotate_threads(can, size)) > can.max_workgroup_memory) {
    size /= 2;
  }
  return size;
}

// The rows that workgroup memory holds a small matrix with: sizes in steps of 8 share pipelines. None: it is large.
std::optional<std::int64_t> small_rows(const gpu::Capabilities& can, std::int64_t n, bool complex, bool vectors) {
  for (const std::int64_t rows : {(n + 7) / 8 * 8, (n + 1) / 2 * 2}) {
    if (rotation_bytes(rows, complex, vectors, small_threads(n, can)) <= can.max_workgroup_memory) return rows;
  }
  return {};
}

void run(Stream& stream, const View& a, const View& w, const View& info, const std::optional<View>& v,
         const EighOptions& options) {
  constexpr std::string_view kName = "eigh";
  check_eigenvalues(stream, kName, a, w, info, v);
  if (info.count() == 0) return;
  if (a.count() == 0) return fill(stream, 0, info);
  if (stream.cpu()) return eigh_cpu(*stream.cpu(), a, w, info, v, options.upper);
  if (a.dtype == DType::f64) throw Unsupported("{}: a is {}, which runs on the CPU only", kName, to_string(a));
  const gpu::Capabilities& can = stream.gpu()->device().capabilities();
  const std::optional<std::int64_t> small = small_rows(can, a.shape()[-1], is_complex(a), v.has_value());
  const std::int64_t size = pair_size(can, is_complex(a));
  std::vector<View> views{options.upper ? transposed(a) : a, w, info};
  if (v) views.push_back(*v);
  // Each of the whole matrices in scratch of large ones is bound, too.
  Shape filled = a.shape();
  filled[-1] = filled[-2] = ceil_div(filled[-1], size) * size;
  if (!small) {
    const std::uint64_t bytes = byte_size(a.dtype, static_cast<std::uint64_t>(element_count(filled)));
    views.push_back({Buffer::placeholder(bytes), 0, a.dtype, filled});
  }
  in_batches(can, kName, views, info.rank(), [&](std::span<const View> part) {
    const Problem p{.a = part[0],
                    .conjugates = options.upper && is_complex(a),
                    .w = part[1],
                    .v = v ? std::optional(part[3]) : std::nullopt,
                    .info = part[2]};
    if (small)
      eigh_small(*stream.gpu(), p, *small);
    else
      LargeEigh(stream, p, size).run();
  });
}

}  // namespace

void eigh(Stream& stream, const View& a, const View& w, const View& info, const std::optional<View>& v,
          const EighOptions& options) {
  call(stream, CallKey("eigh", options.upper), {a, w, info, v}, [&](Stream& s) { run(s, a, w, info, v, options); });
}

}  // namespace weft::kernels
