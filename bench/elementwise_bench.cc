// Bandwidth of the elementwise, copy and index kernels: GB/s of bytes read and written, beside each other in one run.
//   elementwise_bench [MEBI-ELEMENTS]
//   elementwise_bench transpose [PART OF A FORM'S NAME]
#include <chrono>
#include <cstdio>
#include <random>

#include "kernels/copy/copy.h"
#include "wake.h"
#include "weft/gpu.h"
#include "weft/kernels.h"

using namespace weft;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Bench {
 public:
  explicit Bench(gpu::Device device) : device_(std::move(device)) {}

  View view(DType type, const Shape& shape) {
    const std::uint64_t bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape)));
    const View v(device_.allocate(bytes), 0, type, shape);
    // Random bits, small exponents, so that no value is special.
    std::vector<std::uint32_t> words(std::min<std::uint64_t>(bytes, 1 << 24) / 4);
    std::mt19937 rng(1);
    for (auto& w : words) w = (rng() & 0x83ff83ffu) | 0x38003800u;
    for (std::uint64_t at = 0; at < bytes; at += words.size() * 4) {
      device_.upload(v.buffer, at,
                     std::as_bytes(std::span(words)).first(std::min<std::uint64_t>(words.size() * 4, bytes - at)));
    }
    return v;
  }

  // Repeats until a batch takes a while; prints the best of a few batches.
  template <class F>
  void run(const std::string& name, std::uint64_t bytes, F&& call) {
    if (name.find(only) == std::string::npos) return;
    auto batch = [&](int n) {
      gpu::Encoder encoder(device_);
      const double start = now();
      for (int i = 0; i < n; ++i) call(encoder);
      encoder.submit();
      device_.wait();
      return (now() - start) / n;
    };
    batch(1);
    bench::wake(device_, [&] { batch(8); });
    int n = 1;
    double t = batch(n);
    while (t * n < 0.1) t = batch(n *= 2);
    double best = t;
    for (int i = 0; i < 3; ++i) best = std::min(best, batch(n));
    std::printf("%-44s %9.1f us %8.0f GB/s\n", name.c_str(), best * 1e6, static_cast<double>(bytes) / best * 1e-9);
    std::fflush(stdout);
  }

  gpu::Device& device() { return device_; }
  std::string only;  // a part of the names

 private:
  gpu::Device device_;
};

View transposed(const View& v) {
  const int order[] = {1, 0};
  return v.permuted(order);
}

// All forms of a transposition.
void transpose_sweep(Bench& bench) {
  for (DType type : {DType::u32, DType::u16, DType::u8}) {
    for (std::int64_t size : {1024, 8192, 16384}) {
      if (bits(type) * size * size > std::int64_t{1} << 31) continue;
      const View x = transposed(bench.view(type, {size, size}));
      const View y = bench.view(type, {size, size});
      for (std::uint32_t tile : {8, 16, 32, 64}) {
        for (bool b_first : {false, true}) {
          const kernels::TransposeForm form{true, tile, b_first, true};
          gpu::Encoder probe(bench.device());
          if (!kernels::transpose_gpu(probe, x, y, form)) continue;
          bench.run(std::format("{} {} words {} {}", name(type), size, tile, b_first ? "b first" : "a first"),
                    2 * byte_size(type, static_cast<std::uint64_t>(size * size)),
                    [&](Stream& s) { kernels::transpose_gpu(*s.gpu(), x, y, form); });
        }
      }
      for (bool direct : {true, false}) {
        for (std::uint32_t tile : {4, 8, 16, 32, 64}) {
          if (!direct && tile < 32) continue;
          for (bool b_first : {false, true}) {
            const kernels::TransposeForm form{direct, tile, b_first};
            gpu::Encoder probe(bench.device());
            if (!kernels::transpose_gpu(probe, x, y, form)) continue;
            bench.run(std::format("{} {} {} {} {}", name(type), size, direct ? "direct" : "tile", tile,
                                  b_first ? "b first" : "a first"),
                      2 * byte_size(type, static_cast<std::uint64_t>(size * size)),
                      [&](Stream& s) { kernels::transpose_gpu(*s.gpu(), x, y, form); });
          }
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "transpose") {
    Bench bench(gpu::Device::open());
    if (argc > 2) bench.only = argv[2];
    transpose_sweep(bench);
    return 0;
  }
  const std::int64_t million = argc > 1 ? std::atol(argv[1]) : 256;  // elements of the largest tensors, in 2^20
  Bench bench(gpu::Device::open());
  std::printf("%s\n", bench.device().reason().c_str());
  const std::int64_t n = million << 20;
  const auto un = static_cast<std::uint64_t>(n);
  {
    const View a = bench.view(DType::f32, {n});
    const View b = bench.view(DType::f32, {n});
    const View y = bench.view(DType::f32, {n});
    bench.run("copy f32", un * 8, [&](Stream& s) { kernels::copy(s, a, y); });
    bench.run("add f32", un * 12, [&](Stream& s) { kernels::binary(s, ScalarOp::add, a, b, y); });
    bench.run("fill f32", un * 4, [&](Stream& s) { kernels::fill(s, 1.5, y); });
    for (ScalarOp op : {ScalarOp::square, ScalarOp::relu, ScalarOp::exp, ScalarOp::log, ScalarOp::tanh, ScalarOp::sin,
                        ScalarOp::gelu_erf, ScalarOp::gelu_tanh, ScalarOp::silu}) {
      bench.run((std::string(name(op)) + " f32"), un * 8, [&](Stream& s) { kernels::unary(s, op, a, y); });
    }
    bench.run("pow f32", un * 12, [&](Stream& s) { kernels::binary(s, ScalarOp::pow, a, b, y); });
    const View rows(a.buffer, 0, DType::f32, {n / 1024, 1024});
    const View out(y.buffer, 0, DType::f32, {n / 1024, 1024});
    const View bias(b.buffer, 0, DType::f32, {1024});
    bench.run("add row f32 [.., 1024]", un * 8, [&](Stream& s) { kernels::binary(s, ScalarOp::add, rows, bias, out); });
    const View odd(a.buffer, 4, DType::f32, {n - 4});
    bench.run("copy f32 from an odd offset", un * 8,
              [&](Stream& s) { kernels::copy(s, odd, View(y.buffer, 0, DType::f32, {n - 4})); });
    const View h(y.buffer, 0, DType::f16, {n});
    bench.run("cast f32 to f16", un * 6, [&](Stream& s) { kernels::copy(s, a, h); });
    for (std::int64_t size : {1024, 4096, 8192}) {
      if (size * size > n) continue;
      const View x(a.buffer, 0, DType::f32, {size, size});
      const View t(y.buffer, 0, DType::f32, {size, size});
      bench.run(std::format("transpose f32 {0}x{0}", size), static_cast<std::uint64_t>(size * size) * 8,
                [&](Stream& s) { kernels::copy(s, transposed(x), t); });
      const View xh(a.buffer, 0, DType::f16, {size, size});
      const View th(y.buffer, 0, DType::f16, {size, size});
      bench.run(std::format("transpose f16 {0}x{0}", size), static_cast<std::uint64_t>(size * size) * 4,
                [&](Stream& s) { kernels::copy(s, transposed(xh), th); });
    }
    const Shape heads{n / (512 * 16 * 64), 512, 16, 64};
    const int order[] = {0, 2, 1, 3};
    const View x4(a.buffer, 0, DType::f32, heads);
    const View swapped = x4.permuted(order);
    bench.run("permute f32 [b, 512, 16, 64] 0213", un * 8,
              [&](Stream& s) { kernels::copy(s, swapped, View(y.buffer, 0, DType::f32, swapped.shape())); });
  }
  {
    const View a = bench.view(DType::f16, {2 * n});
    const View b = bench.view(DType::f16, {2 * n});
    const View y = bench.view(DType::f16, {2 * n});
    bench.run("copy f16", un * 8, [&](Stream& s) { kernels::copy(s, a, y); });
    bench.run("add f16", un * 12, [&](Stream& s) { kernels::binary(s, ScalarOp::add, a, b, y); });
    bench.run("gelu_erf f16", un * 8, [&](Stream& s) { kernels::unary(s, ScalarOp::gelu_erf, a, y); });
    const View bytes_a(a.buffer, 0, DType::u8, {4 * n});
    const View bytes_y(y.buffer, 0, DType::u8, {4 * n});
    const View bytes_b(b.buffer, 0, DType::u8, {4 * n});
    bench.run("copy u8", un * 8, [&](Stream& s) { kernels::copy(s, bytes_a, bytes_y); });
    bench.run("add u8", un * 12, [&](Stream& s) { kernels::binary(s, ScalarOp::add, bytes_a, bytes_b, bytes_y); });
  }
  {
    const std::int64_t rows = n / 1024;
    const View table = bench.view(DType::f32, {rows, 512});
    const View y = bench.view(DType::f32, {rows, 512});
    View indices = bench.view(DType::i32, {rows});
    std::vector<std::int32_t> v(static_cast<std::size_t>(rows));
    std::mt19937 rng(2);
    for (auto& i : v) i = static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(rows));
    bench.device().upload(indices.buffer, 0, std::as_bytes(std::span(v)));
    bench.run("gather rows f32 [.., 512]", un * 4, [&](Stream& s) { kernels::gather(s, table, indices, y, 0); });
  }
  for (std::int64_t kib : {1024, 4096, 16384, 65536}) {
    const View a = bench.view(DType::f32, {kib * 128});
    const View y = bench.view(DType::f32, {kib * 128});
    bench.run(std::format("copy f32, {} KiB in all", kib), static_cast<std::uint64_t>(kib) * 1024,
              [&](Stream& s) { kernels::copy(s, a, y); });
  }
}
