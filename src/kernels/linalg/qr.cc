// QR factors: small matrices are a workgroup's, large ones are reflected by panels of columns, whose reflections are
// applied to the other columns, and for q to the identity, as matrix products.
#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/linalg/linalg_products.h"
#include "kernels/linalg/qr_cpu.h"
#include "kernels/plan_cache.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/linalg.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kName = "qr";

std::int64_t bytes_of(const View& v) { return is_complex(v) ? 8 : 4; }
double operations_of(const View& v) { return is_complex(v) ? 4 : 1; }
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A batch's matrices of other sizes.
Shape with(Shape batch, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t s : sizes) batch.push_back(s);
  return batch;
}

// The least power of two that is no less than n.
std::int64_t power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

// ---- Small matrices

struct SmallQr {
  std::int64_t columns, threads, width, groups, bytes;

  // `most` threads at most.
  SmallQr(const View& a, const View& q, std::uint32_t most) {
    const std::int64_t m = a.shape()[-2], n = a.shape()[-1], steps = std::min(m, n);
    columns = std::max(n, q.shape()[-1]);
    const std::int64_t wanted = m * columns <= 256 ? 32 : m * columns <= 1024 ? 128 : 256;
    threads = std::min<std::int64_t>(wanted, most);
    const std::int64_t rows = power_of_two(m);
    width = std::min(power_of_two(columns), threads / std::clamp<std::int64_t>(rows, 1, threads / 32));
    groups = std::min(threads / width, rows);
    threads = width * groups;
    bytes = bytes_of(a) * (m * (columns | 1) + groups * columns + 2 * steps) + 4 * (columns + 1);
  }
};

void qr_small(gpu::Commands& commands, const View& a, const View& q, const View& r, const SmallQr& small) {
  Call call(commands, "qr_small");
  call.include("linalg_common").include("qr_common");
  const Batch batch(call, batch_of(a));
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], steps = std::min(m, n), q_columns = q.shape()[-1];
  call.read("a", a);
  batch.strides("a", a, 2);
  if (q_columns) {
    call.write("q", q);
    batch.strides("q", q, 2);
  }
  call.write("r", r);
  batch.strides("r", r, 2);
  call.set("complex", is_complex(a)).set("q", q_columns > 0);
  call.set("rows", m).set("pitch", small.columns | 1).set("columns", small.columns).set("steps", steps);
  call.set("threads", small.threads).set("width", small.width).set("groups", small.groups);
  call.index_param("m", m).index_param("n", n).index_param("steps", steps);
  call.index_param("q_columns", q_columns).index_param("r_rows", r.shape()[-2]).param("nan", kNan);
  const std::int64_t elements = a.count() + q.count() + r.count();
  call.cost({.bytes = byte_size(a.dtype, static_cast<std::uint64_t>(elements)),
             .flops = 2 * operations_of(a) * static_cast<double>(a.count() + q.count()) * static_cast<double>(steps)});
  call.dispatch_groups("qr", element_count(batch_of(a)));
}

// ---- Large matrices

class LargeQr {
 public:
  LargeQr(Stream& stream, const View& a, const View& q, const View& r)
      : stream_(stream),
        commands_(*stream.gpu()),
        a_(a),
        q_(q),
        r_(r),
        m_(a.shape()[-2]),
        n_(a.shape()[-1]),
        steps_(std::min(m_, n_)),
        batch_(batch_of(a)),
        memory_(commands_),
        work_(dense(memory_, a.dtype, with(batch_, {m_, n_}))),
        unscale_(dense(memory_, DType::f32, with(batch_, {1, n_}))),
        v_(dense(memory_, a.dtype, with(batch_, {steps_, m_}))) {
    for (std::int64_t k = 0; k < steps_; k += kColumns) {
      const std::int64_t columns = std::min(kColumns, steps_ - k);
      t_.push_back(dense(memory_, a.dtype, with(batch_, {columns, columns})));
    }
  }

  void run() {
    scale();
    for (std::size_t i = 0; i < t_.size(); ++i) panel(i);
    store_r();
    if (q_.count() == 0) return;
    eye(stream_, q_);
    for (std::size_t i = t_.size(); i-- > 0;) apply_to_q(i);
  }

 private:
  static constexpr std::int64_t kColumns = 32;  // of a panel
  // A workgroup reflects a panel of that many rows alone, all columns in one dispatch. Taller ones are divided among
  // workgroups, of all matrices about kGroups, and each column is a dispatch, which costs a few microseconds: about what
  // one workgroup is estimated to take for a column of kRowsAlone rows on an H100.
  static constexpr std::int64_t kRowsAlone = 1024, kGroups = 128, kLeastRows = 128;

  std::int64_t matrices() const { return element_count(batch_); }
  std::int64_t first(std::size_t panel) const { return static_cast<std::int64_t>(panel) * kColumns; }
  // The vectors of a panel's reflections, each a row, from the panel's first element on.
  View vectors(std::size_t panel) const {
    const std::int64_t k = first(panel);
    return block(v_, k, t_[panel].shape()[-1], k, m_ - k);
  }
  // Their conjugates.
  View conjugated(GpuScratch& scratch, const View& v) const { return transposed(adjoint(stream_, scratch, v)); }

  // work = a, with each column times the power of two that brings its largest element near 1.
  void scale() {
    GpuScratch scratch(commands_);
    const View bits = dense(scratch, DType::u32, {matrices(), n_ + 1});
    const View factors = dense(scratch, DType::f32, with(batch_, {1, n_}));
    fill(stream_, 0, bits);
    {
      Call call(commands_, "qr_magnitude");
      call.update("bits", bits);
      call.include("linalg_common").include("qr_common");
      const Batch batch(call, batch_);
      call.read("a", a_);
      batch.strides("a", a_, 2);
      const std::uint32_t threads = workgroup_size(call.capabilities(), 256);
      constexpr std::int64_t kWidth = 32, kRows = 512;
      const std::int64_t tiles = ceil_div(n_, kWidth), chunks = ceil_div(m_, kRows);
      call.set("complex", is_complex(a_)).set("threads", threads).set("width", kWidth);
      call.index_param("m", m_).index_param("n", n_).index_param("tiles", tiles).index_param("chunks", chunks);
      call.index_param("chunk", kRows);
      call.cost({.bytes = byte_size(a_.dtype, static_cast<std::uint64_t>(a_.count())), .flops = 0});
      call.dispatch_groups("qr_magnitude", matrices() * tiles * chunks);
    }
    {
      Call call(commands_, "qr_scale");
      call.include("linalg_common").include("qr_common");
      call.read("bits", bits).write("scale", factors).write("unscale", unscale_);
      const std::uint32_t threads = workgroup_size(call.capabilities(), 64);
      call.set("complex", is_complex(a_)).set("threads", threads);
      call.index_param("count", matrices()).index_param("n", n_).param("nan", kNan);
      call.dispatch_groups("qr_scale", ceil_div(matrices() * n_, threads));
    }
    multiply(a_, factors, work_);
  }

  // y = x times a real number for each column.
  void multiply(const View& x, const View& by, const View& y) {
    Expression e;
    const int number = e.input(x.dtype), scale = e.input(DType::f32);
    const auto part = [&](ScalarOp op) { return e.apply(ScalarOp::mul, {e.apply(op, {number}), scale}); };
    e.output(is_complex(x) ? e.apply(ScalarOp::complex, {part(ScalarOp::real), part(ScalarOp::imag)})
                           : e.apply(ScalarOp::mul, {number, scale}));
    const View operands[] = {x, by};
    map(stream_, e, operands, std::span(&y, 1));
  }

  void reflect(const View& columns, const View& v, const View& r, const View& t) {
    GpuScratch scratch(commands_);
    const std::int64_t n = columns.shape()[-2], rows = columns.shape()[-1];
    const gpu::Capabilities& can = commands_.device().capabilities();
    const std::int64_t groups =
        rows <= kRowsAlone ? 1 : std::min(ceil_div(kGroups, matrices()), ceil_div(rows, kLeastRows));
    const View sums = dense(scratch, columns.dtype, {2, matrices(), groups + 1, n});
    const std::uint32_t threads = workgroup_size(can, can.software ? 64 : 1024);
    const std::int64_t size = power_of_two(n);
    const std::int64_t lanes = std::clamp<std::int64_t>(threads / size, std::min(threads / 8, 32u), 64);
    for (std::int64_t step = 0; step <= n; step += groups > 1 ? 1 : n + 1) {
      Call call(commands_, "qr_panel");
      call.include("linalg_common").include("qr_common");
      const Batch batch(call, batch_);
      call.read_write("panel", columns).read_write("v", v).write("r", r).read_write("t", t).read_write("sums", sums);
      batch.strides("v", v, 2);
      batch.strides("r", r, 2);
      call.set("complex", is_complex(columns))
          .set("size", size)
          .set("threads", threads)
          .set("lanes", lanes)
          .set("unroll", 4);
      call.index_param("m", rows).index_param("n", n).index_param("groups", groups);
      call.index_param("chunk", ceil_div(rows, groups));
      const std::int64_t last = groups > 1 ? step + 1 : n + 1;
      call.index_param("first", step).index_param("last", last);
      const auto passes = static_cast<double>(last - step), elements = static_cast<double>(columns.count());
      call.cost({.bytes = byte_size(columns.dtype, static_cast<std::uint64_t>(1.5 * passes * elements)),
                 .flops = 3 * passes * elements * operations_of(columns)});
      call.dispatch_groups("qr_panel", matrices() * groups);
    }
  }

  // Reflects a panel's columns, and applies the reflections to the columns to the right: 1 - v tᴴ vᴴ.
  void panel(std::size_t index) {
    const View &t = t_[index], v = vectors(index);
    const std::int64_t k = first(index), columns = t.shape()[-1], rows = m_ - k, right = n_ - k - columns;
    {
      GpuScratch scratch(commands_);
      const View own = dense(scratch, v.dtype, with(batch_, {columns, rows}));
      copy(stream_, transposed(block(work_, k, rows, k, columns)), own);
      reflect(own, v, block(work_, k, columns, k, columns), t);
    }
    if (right == 0) return;
    GpuScratch scratch(commands_);
    const View y = block(work_, k, rows, k + columns, right);
    const View products = dense(scratch, v.dtype, with(batch_, {columns, right}));
    const View weights = dense(scratch, v.dtype, with(batch_, {columns, right}));
    matmul(stream_, conjugated(scratch, v), y, products);
    matmul(stream_, adjoint(stream_, scratch, t), products, weights);
    subtract_product(stream_, commands_, transposed(v), weights, y);
  }

  void store_r() {
    const View upper = block(r_, 0, steps_, 0, n_);
    multiply(block(work_, 0, steps_, 0, n_), unscale_, upper);
    triangle(stream_, Triangle::upper, upper, upper);
    if (r_.shape()[-2] > steps_) fill(stream_, 0, block(r_, steps_, r_.shape()[-2] - steps_, 0, n_));
  }

  // q = (1 - v t vᴴ) q, in the rows and columns from the panel's on: the other elements stay. Of its own columns, and
  // of its own rows, q is still the identity.
  void apply_to_q(std::size_t index) {
    const View &t = t_[index], v = vectors(index);
    const std::int64_t k = first(index), columns = t.shape()[-1], rows = m_ - k, right = q_.shape()[-1] - k - columns;
    GpuScratch scratch(commands_);
    const View products = dense(scratch, v.dtype, with(batch_, {columns, columns + right}));
    const View weights = dense(scratch, v.dtype, with(batch_, {columns, columns + right}));
    const View conjugates = conjugated(scratch, v);
    copy(stream_, block(conjugates, 0, columns, 0, columns), block(products, 0, columns, 0, columns));
    if (right > 0) {
      matmul(stream_, block(conjugates, 0, columns, columns, rows - columns),
             block(q_, k + columns, rows - columns, k + columns, right), block(products, 0, columns, columns, right));
    }
    matmul(stream_, t, products, weights);
    subtract_product(stream_, commands_, transposed(v), weights, block(q_, k, rows, k, columns + right));
  }

  Stream& stream_;
  gpu::Commands& commands_;
  const View &a_, &q_, &r_;
  std::int64_t m_, n_, steps_;
  Shape batch_;
  GpuScratch memory_;
  View work_, unscale_, v_;
  std::vector<View> t_;  // of each panel
};

void qr_gpu(Stream& stream, const View& a, const View& q, const View& r) {
  const gpu::Capabilities& can = stream.gpu()->device().capabilities();
  const SmallQr small(a, q, workgroup_size(can, 256));
  if (small.bytes <= can.max_workgroup_memory) return qr_small(*stream.gpu(), a, q, r, small);
  LargeQr(stream, a, q, r).run();
}

void run(Stream& stream, const View& a, const View& q, const View& r, const QrOptions& options) {
  check_views(kName, {&a}, {&q, &r});
  const Shape batch = batch_of(a);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], steps = std::min(m, n);
  const auto expect = [&](std::string_view operand, const View& v, std::int64_t rows, std::int64_t columns) {
    const Shape shape = with(batch, {rows, columns});
    if (v.shape() == shape) return;
    throw InvalidArgument("{}: {} is {}; expected the shape {}, for a {}", kName, operand, to_string(v),
                          to_string(shape), to_string(a));
  };
  const bool complete = options.mode == QrMode::complete;
  expect("q", q, m, options.mode == QrMode::r ? 0 : complete ? m : steps);
  expect("r", r, complete ? m : steps, n);
  check_memory(stream, kName, {{"a", a}}, {{"q", q}, {"r", r}}, Sharing::none);
  if (q.count() == 0 && r.count() == 0) return;
  if (stream.cpu()) return qr_cpu(*stream.cpu(), a, q, r);
  if (a.dtype == DType::f64) throw Unsupported("{}: a is {}, which runs on the CPU only", kName, to_string(a));
  if (a.count() == 0) return eye(stream, q);
  // What is in scratch has the size of a's matrices. So has q or r, by which the batch is cut, or else a itself, where
  // none of them is one that is repeated.
  GpuScratch scratch(*stream.gpu());
  View from = a;
  if (options.mode == QrMode::r && span_bytes(a) < byte_size(a.dtype, static_cast<std::uint64_t>(a.count()))) {
    from = dense(scratch, a.dtype, a.shape());
    copy(stream, a, from);
  }
  in_batches(stream.gpu()->device().capabilities(), kName, {from, q, r}, batch.rank(),
             [&](std::span<const View> v) { qr_gpu(stream, v[0], v[1], v[2]); });
}

}  // namespace

void qr(Stream& stream, const View& a, const View& q, const View& r, const QrOptions& options) {
  call(stream, CallKey(kName, options.mode), {a, q, r}, [&](Stream& s) { run(s, a, q, r, options); });
}

}  // namespace weft::kernels
