// The eigenproblem of matrices of any kind: checks, and the launches of Francis' QR iteration. On GPUs a workgroup
// balances a matrix, makes it Hessenberg and then triangular, in device memory; the eigenvectors of the triangle are a
// thread's each, and the matrix' own a product of matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/linalg/eig_cpu.h"
#include "kernels/linalg/linalg_products.h"
#include "kernels/plan_cache.h"
#include "weft/kernels/linalg.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kBalanceSweeps = 16;
// So many steps until a matrix is given up, as LAPACK: two to three for each eigenvalue are usual.
std::int64_t most_steps(std::int64_t n) { return 30 * std::max<std::int64_t>(10, n); }
// With those that find an eigenvalue.
std::int64_t all_steps(std::int64_t n) { return most_steps(n) + n + 1; }

class GpuEig {
 public:
  GpuEig(Stream& stream, const View& a, const View& w, const View& info, const std::optional<View>& v)
      : stream_(stream),
        commands_(*stream.gpu()),
        a_(a),
        w_(w),
        info_(info),
        v_(v),
        n_(a.shape()[-1]),
        matrices_(element_count(batch_of(a))),
        scratch_(commands_),
        state_(dense(scratch_, DType::i32, {matrices_, n_ + 6})),
        factors_(dense(scratch_, DType::f32, {matrices_, n_ + 1})),
        values_(dense(scratch_, DType::c64, {matrices_, n_})),
        h_(whole(a.dtype)) {
    if (v_) z_ = whole(a.dtype);
  }

  void run() {
    prepare();
    // So much of the work of a workgroup is one dispatch that it takes some milliseconds.
    const std::int64_t reflections = std::max<std::int64_t>(1, kElements / (n_ * n_));
    for (std::int64_t k = 0; k + 2 < n_; k += reflections) make_hessenberg(k, std::min(k + reflections, n_ - 2));
    const std::int64_t all = all_steps(n_), steps = std::max({std::int64_t{1}, kElements / (2 * n_ * n_), all / 16384});
    for (std::int64_t done = 0; done < all; done += steps) make_triangular(std::min(steps, all - done));
    find_values();
    if (v_) find_vectors();
    finish();
  }

 private:
  static constexpr std::int64_t kElements = std::int64_t{1} << 25;

  bool complex() const { return is_complex(a_); }
  View whole(DType type) { return dense(scratch_, type, {matrices_, n_, n_}); }
  double cube() const {
    return std::pow(static_cast<double>(n_), 3) * static_cast<double>(matrices_) * (complex() ? 4 : 1);
  }
  std::uint64_t whole_bytes() const { return byte_size(a_.dtype, static_cast<std::uint64_t>(h_.count())); }

  // A kernel of a workgroup for each matrix.
  void start(Call& call) {
    const gpu::Capabilities& can = call.capabilities();
    start(call, workgroup_size(can, can.software || n_ <= 32 ? 32 : n_ <= 64 ? 64 : n_ <= 128 ? 128 : 256));
    call.include("eig_common");
    call.set("vectors", v_.has_value());
  }
  void start(Call& call, std::uint32_t threads) {
    call.include("linalg_common");
    call.set("complex", complex()).set("threads", threads);
    call.index_param("n", n_);
  }

  void prepare() {
    Call call(commands_, "eig_prepare");
    start(call);
    const Batch batch(call, batch_of(a_));
    call.read("a", a_);
    batch.strides("a", a_, 2);
    call.read_write("h", h_).read_write("factors", factors_).read_write("state", state_);
    if (v_) call.write("z", z_);
    call.index_param("sweeps", kBalanceSweeps);
    call.cost({.bytes = 8 * whole_bytes(), .flops = 0});
    call.dispatch_groups("eig_prepare", matrices_);
  }

  void make_hessenberg(std::int64_t first, std::int64_t last) {
    Call call(commands_, "eig_hessenberg");
    start(call);
    call.read_write("h", h_).read("state", state_);
    if (v_) call.read_write("z", z_);
    call.index_param("count", matrices_).index_param("first", first).index_param("last", last);
    const double part = static_cast<double>(last - first) / static_cast<double>(n_);
    call.cost(
        {.bytes = static_cast<std::uint64_t>(static_cast<double>(whole_bytes()) * static_cast<double>(last - first)),
         .flops = (v_ ? 14.0 : 10.0) / 3 * part * cube()});
    call.dispatch_groups("eig_hessenberg", matrices_);
  }

  void make_triangular(std::int64_t steps) {
    Call call(commands_, "eig_step");
    start(call);
    call.read_write("h", h_).read_write("state", state_);
    if (v_) call.read_write("z", z_);
    call.index_param("count", matrices_).index_param("steps", steps).index_param("most", most_steps(n_));
    // Of two steps for each eigenvalue, of which each takes part in half of them.
    const double usual = 2.0 * static_cast<double>(steps) / static_cast<double>(all_steps(n_));
    call.cost(
        {.bytes = static_cast<std::uint64_t>(static_cast<double>(whole_bytes()) * usual * static_cast<double>(n_)),
         .flops = (v_ ? 12.0 : 4.0) * usual * cube()});
    call.dispatch_groups("eig_step", matrices_);
  }

  void find_values() {
    Call call(commands_, "eig_values");
    const std::uint32_t threads = workgroup_size(call.capabilities(), 64);
    start(call, threads);
    call.set("vectors", v_.has_value());
    call.read("h", h_).write("w", values_);
    const bool elements = v_ && !complex();
    if (elements) {
      t_ = whole(DType::c64);
      q_ = whole(DType::c64);
      call.read("z", z_).write("t", t_).write("q", q_);
    } else if (v_) {
      t_ = h_;
      q_ = z_;
    }
    call.index_param("count", matrices_);
    call.dispatch_groups("eig_values", ceil_div(matrices_ * n_ * (elements ? n_ : 1), threads));
  }

  void find_vectors() {
    const View x = whole(DType::c64);
    columns_ = whole(DType::c64);
    {
      Call call(commands_, "eig_vectors");
      const std::uint32_t threads = workgroup_size(call.capabilities(), 32);
      call.set("threads", threads).set("conjugates", !complex());
      call.read("t", t_).read("w", values_).read_write("x", x);
      call.index_param("n", n_).index_param("count", matrices_);
      call.cost({.bytes = 2 * whole_bytes(),
                 .flops = 4 * std::pow(static_cast<double>(n_), 3) * static_cast<double>(matrices_)});
      call.dispatch_groups("eig_vectors", ceil_div(matrices_ * n_, threads));
    }
    matmul(stream_, transposed(q_), x, columns_);
  }

  void finish() {
    Call call(commands_, "eig_finish");
    const std::uint32_t threads = workgroup_size(call.capabilities(), 32);
    call.set("threads", threads).set("conjugates", !complex()).set("vectors", v_.has_value());
    const Batch batch(call, batch_of(a_));
    call.read("values", values_).read("factors", factors_).read("state", state_);
    call.write("w", w_).write("info", info_);
    batch.strides("w", w_, 1);
    batch.strides("info", info_, 0);
    call.index_param("w_step", w_.strides()[-1]);
    if (v_) {
      call.read("columns", columns_).write("v", *v_);
      batch.strides("v", *v_, 2);
    }
    call.index_param("n", n_).param("nan", std::numeric_limits<float>::quiet_NaN());
    call.dispatch_groups("eig_finish", ceil_div(matrices_ * n_, threads));
  }

  Stream& stream_;
  gpu::Commands& commands_;
  const View &a_, &w_, &info_;
  const std::optional<View>& v_;
  std::int64_t n_, matrices_;
  GpuScratch scratch_;
  View state_, factors_, values_, h_, z_, t_, q_, columns_;
};

void run(Stream& stream, const View& a, const View& w, const View& info, const std::optional<View>& v) {
  constexpr std::string_view kName = "eig";
  check_eigenvalues(stream, kName, a, w, info, v);
  if (info.count() == 0) return;
  if (a.count() == 0) return fill(stream, 0, info);
  if (stream.cpu()) return eig_cpu(*stream.cpu(), a, w, info, v);
  std::vector<View> views{a, w, info};
  if (v) views.push_back(*v);
  // Whole matrices of complex numbers in scratch are bound, too.
  const std::uint64_t bytes = byte_size(DType::c64, static_cast<std::uint64_t>(a.count()));
  views.push_back({Buffer::placeholder(bytes), 0, DType::c64, a.shape()});
  in_batches(stream.gpu()->device().capabilities(), kName, views, info.rank(), [&](std::span<const View> part) {
    const std::optional<View> vectors = v ? std::optional(part[3]) : std::nullopt;
    GpuEig(stream, part[0], part[1], part[2], vectors).run();
  });
}

}  // namespace

void eig(Stream& stream, const View& a, const View& w, const View& info, const std::optional<View>& v) {
  call(stream, CallKey("eig"), {a, w, info, v}, [&](Stream& s) { run(s, a, w, info, v); });
}

}  // namespace weft::kernels
