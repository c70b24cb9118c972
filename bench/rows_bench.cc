// Softmax, norms and reductions: time and bandwidth over sizes, shapes and types, from memory.
//   rows_bench [PART OF A CASE'S NAME]
#include "bandwidth.h"
#include "weft/kernels.h"

using namespace weft;
using bench::Tensor;
using kernels::ReduceOp;

namespace {

std::string size_name(std::uint64_t bytes) { return std::format("{} MiB", bytes >> 20); }

struct Rows {
  bench::Bandwidth& b;

  void unary(const std::string& name, DType type, const Shape& shape, const std::function<void(Stream&, const View&, const View&)>& f) {
    const Tensor x{type, shape};
    b.run(std::format("{} {} {}, {}", name, weft::name(type), to_string(shape), size_name(x.bytes())), std::array{x, x}, 1,
          2 * x.bytes(), [&](Stream& s, auto v) { f(s, v[0], v[1]); });
  }

  void reduce(const std::string& name, ReduceOp op, DType type, const Shape& shape, const std::vector<int>& axes) {
    const Tensor x{type, shape};
    Tensor y{type, shape};
    for (int a : axes) y.shape[a] = 1;
    gpu::Encoder probe(b.device());
    const View px(b.device().allocate(x.bytes()), 0, type, shape), py(b.device().allocate(y.bytes() + 16), 0, type, y.shape);
    const auto scratch = kernels::reduce_workspace(probe, op, px, py, axes);
    const Tensor w{DType::u8, {static_cast<std::int64_t>(std::max<std::uint64_t>(scratch, 1))}};
    b.run(std::format("{} {} {}, {}", name, weft::name(type), to_string(shape), size_name(x.bytes())), std::array{x, y, w}, 1,
          x.bytes() + y.bytes(), [&](Stream& s, auto v) {
            kernels::reduce(s, op, v[0], v[1], axes, scratch ? std::optional<View>(v[2]) : std::nullopt);
          });
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Bandwidth b(gpu::Device::open(), argc > 1 ? argv[1] : "");
  std::printf("%s\n", b.device().reason().c_str());
  Rows rows{b};
  for (DType type : {DType::f32, DType::f16}) {
    const std::int64_t bytes = bits(type) / 8;
    const auto softmax = [](Stream& s, const View& x, const View& y) { kernels::softmax(s, x, y, -1); };
    const auto norm = [](Stream& s, const View& x, const View& y) {
      kernels::layer_norm(s, x, std::nullopt, std::nullopt, y, x.rank() - 1, 1e-5f);
    };
    for (std::int64_t mib : {1, 4, 16, 64, 256}) {
      const std::int64_t count = (mib << 20) / bytes;
      rows.unary("copy", type, {count / 1024, 1024}, [](Stream& s, const View& x, const View& y) { kernels::copy(s, x, y); });
      rows.unary("softmax", type, {count / 1024, 1024}, softmax);
      rows.unary("layer norm", type, {count / 1024, 1024}, norm);
      rows.reduce("sum to one", ReduceOp::sum, type, {count}, {0});
      rows.reduce("sum of rows", ReduceOp::sum, type, {count / 1024, 1024}, {1});
      rows.reduce("sum of columns", ReduceOp::sum, type, {count / 1024, 1024}, {0});
    }
    for (std::int64_t n : {64, 256, 4096, 8192, 32768, 262144}) {
      rows.unary("softmax", type, {(256 << 20) / bytes / n, n}, softmax);
      rows.unary("layer norm", type, {(256 << 20) / bytes / n, n}, norm);
    }
    rows.unary("softmax of columns", type, {8192, 8192}, [](Stream& s, const View& x, const View& y) { kernels::softmax(s, x, y, 0); });
    rows.unary("softmax of the middle", type, {64, 1024, 1024}, [](Stream& s, const View& x, const View& y) { kernels::softmax(s, x, y, 1); });
    rows.reduce("sum of columns", ReduceOp::sum, type, {8192, 8192}, {0});
    rows.reduce("max of columns", ReduceOp::max, type, {8192, 8192}, {0});
    rows.reduce("sum of rows", ReduceOp::sum, type, {8192, 8192}, {1});
    rows.reduce("sum of short rows", ReduceOp::sum, type, {1 << 20, 64}, {1});
    rows.reduce("sum of narrow columns", ReduceOp::sum, type, {1 << 20, 64}, {0});
    rows.reduce("sum of outer and inner", ReduceOp::sum, type, {64, 1024, 1024}, {0, 2});
    rows.reduce("log sum exp of rows", ReduceOp::log_sum_exp, type, {8192, 8192}, {1});
  }
}
