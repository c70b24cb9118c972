// Functions of arrays on tensors of 2^20 elements, as programs written for NumPy use them.
#include <format>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench.h"
#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/random.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kCount = 1 << 20;

// A step of the problem of `n` bodies in three dimensions: the accelerations, with coordinates adjacent.
Tensor accelerations(const Tensor& bodies) {
  const std::int64_t n = bodies.shape()[0];
  const Tensor away = reshape(bodies, {1, n, 3}) - reshape(bodies, {n, 1, 3});
  const Tensor squares = sum(away * away, {-1}, true) + 0.01;
  return sum(away / (squares * sqrt(squares)), {1});
}

class ArraysBench {
 public:
  ArraysBench(const Device& device, const Options& options, Report& report)
      : device_(device), options_(options), report_(report) {
    set_default_device(device);
    random::seed(7);
    wake(device_);
  }

  void short_axes() {
    for (const std::int64_t width : {1, 2, 3, 4, 5, 7, 24}) {
      const std::int64_t rows = kCount / width;
      const Tensor x = random::normal({rows, width}), column = random::normal({rows, 1}), row = random::normal({width});
      eval({x, column, row});
      const auto name = [&](const char* what) { return std::format("{}, rows of {}", what, width); };
      measure(name("x * column"), [&] { return x * column; });
      measure(name("x - row"), [&] { return x - row; });
      measure(name("sum of each row"), [&] { return sum(x, {-1}); });
      measure(name("argmax of each row"), [&] { return argmax(x, {-1}); });
    }
    const Tensor bodies = random::normal({256, 3}), points = random::normal({kCount / 3, 3}), row = random::normal({3});
    const Tensor halves = random::normal({kCount / 3, 3}, 0, 1, DType::f16),
                 small = random::integers({kCount / 3, 3}, 0, 99, DType::i32);
    const Tensor planes = random::normal({3, kCount / 3});
    eval({bodies, points, row, halves, small, planes});
    measure("accelerations of 256 bodies", [&] { return accelerations(bodies); });
    measure("(x - row) / max(x), rows of 3", [&] { return (points - row) / max(points, {-1}, true); });
    measure("x - row f16, rows of 3", [&] { return halves - row; });
    measure("x - row i32, rows of 3", [&] { return small - slice(small, 0, 5, 6); });
    measure("planes of 3 and rows of 3", [&] { return planes.T() * points; });
    measure("every second column of 4",
            [&] { return slice(reshape(slice(flatten(points), 0, 0, kCount / 4 * 4 - 4), {-1, 4}), 1, 0, 4, 2) * 2; });
  }

  void moves() {
    const Tensor x = random::normal({kCount}), points = random::normal({kCount / 3, 3}), row = random::normal({3});
    const Tensor half = random::normal({kCount / 2}), sixth = random::normal({kCount / 6, 3}),
                 square = random::normal({512, 512});
    const Tensor order = random::permutation(kCount), rows = random::integers({kCount / 3}, 0, kCount / 3),
                 columns = random::integers({1024}, 0, 1024);
    const Tensor table = random::normal({1024, 1024});
    const Tensor elements = random::integers({1024, 1024}, 0, 1024);
    eval({x, points, row, half, sixth, square, order, rows, columns, table, elements});
    measure("tile, twice 2^19", [&] { return tile(half, {2}); });
    measure("tile, a row of 3", [&] { return tile(row, {kCount / 3, 1}); });
    measure("tile, 3 elements", [&] { return tile(row, {kCount / 3}); });
    measure("tile, rows of 3 twice", [&] { return tile(sixth, {1, 2}); });
    measure("tile, 2 x 2 of 512 x 512", [&] { return tile(square, {2, 2}); });
    measure("repeat each twice", [&] { return repeat(half, 2, 0); });
    measure("repeat rows of 3 twice", [&] { return repeat(sixth, 2, 0); });
    measure("roll by 1000", [&] { return roll(x, 1000); });
    measure("roll rows of 3 by 1", [&] { return roll(points, {1}, {1}); });
    measure("pad rows of 3 by 1",
            [&] { return pad(sixth, std::array<std::int64_t, 2>{0, 1}, std::array<std::int64_t, 2>{0, 1}); });
    measure("x[indices]", [&] { return x[order]; });
    measure("x[indices], rows of 3", [&] { return points[rows]; });
    measure("x[:, indices] of 1024", [&] { return table[{all, columns}]; });
    measure("gather_elements, last axis of 1024", [&] { return gather_elements(table, elements, 1); });
    measure("x[indices] = y", [&] {
      Tensor y = x;
      return y.set({order}, x);
    });
  }

  void order() {
    const Tensor x = random::normal({kCount}), numbers = random::integers({kCount}, -1000000, 1000000),
                 long_numbers = cast(numbers, DType::i64);
    const Tensor rows = reshape(x, {1024, 1024}), short_rows = reshape(x, {-1, 16}), tiny = reshape(x, {-1, 4});
    const Tensor values = random::integers({kCount}, 0, 1000), halves = cast(x, DType::f16),
                 doubles = cast(x, DType::f64), bytes = cast(values, DType::u8);
    const Tensor sorted = sort(x), queries = random::normal({kCount});
    eval({x, numbers, long_numbers, rows, short_rows, tiny, values, halves, doubles, bytes, sorted, queries});
    measure("sort f32", [&] { return sort(x); });
    measure("sort f32 descending", [&] { return sort(x, -1, true); });
    measure("sort f32, sorted already", [&] { return sort(sorted); });
    measure("sort i32", [&] { return sort(numbers); });
    measure("sort f16", [&] { return sort(halves); });
    measure("sort u8", [&] { return sort(bytes); });
    measure("sort i64", [&] { return sort(long_numbers); });
    measure("sort f64", [&] { return sort(doubles); });
    measure("sort f32, rows of 1024", [&] { return sort(rows); });
    measure("sort f32, columns of 1024", [&] { return sort(rows, 0); });
    measure("sort f32, rows of 16", [&] { return sort(short_rows); });
    measure("sort f32, rows of 4", [&] { return sort(tiny); });
    measure("argsort f32", [&] { return argsort(x); });
    measure("argsort i32", [&] { return argsort(numbers); });
    measure("argsort f64", [&] { return argsort(doubles); });
    measure("argsort f32, rows of 1024", [&] { return argsort(rows); });
    measure("argsort f32, rows of 16", [&] { return argsort(short_rows); });
    measure("unique of 1,000 values", [&] { return unique(values).values; });
    measure("permutation", [&] { return random::permutation(kCount); });
    measure("searchsorted", [&] { return searchsorted(sorted, queries); });
    measure("argmax f32", [&] { return argmax(x); });
    measure("argmax i32", [&] { return argmax(numbers); });
    measure("argmax f16", [&] { return argmax(halves); });
    measure("argmax f32, rows of 1024", [&] { return argmax(rows, {-1}); });
    measure("argmax f32, columns of 1024", [&] { return argmax(rows, {0}); });
  }

  void arithmetic() {
    const Tensor x = random::integers({kCount}, -1000000, 1000000), y = random::integers({kCount}, 1, 1000);
    const Tensor bytes = cast(y, DType::u8) | std::uint8_t{1}, long_x = cast(x, DType::i64),
                 long_y = cast(y, DType::i64);
    const Tensor f = random::normal({kCount}), g = random::normal({kCount});
    const Tensor a = random::normal({10000, 4, 4}), b = random::normal({10000, 4, 4}),
                 v = random::normal({10000, 4, 1});
    const Tensor a3 = random::normal({10000, 3, 3}), b3 = random::normal({10000, 3, 3}), one = random::normal({4, 4});
    eval({x, y, bytes, long_x, long_y, f, g, a, b, v, a3, b3, one});
    measure("f32 + f32", [&] { return f + g; });
    measure("f32 // f32", [&] { return floor_divide(f, g); });
    measure("i32 / 7", [&] { return x / 7; });
    measure("i32 / i32", [&] { return x / y; });
    measure("i32 // 7", [&] { return floor_divide(x, 7); });
    measure("i32 // i32", [&] { return floor_divide(x, y); });
    measure("i32 % 7", [&] { return remainder(x, 7); });
    measure("i32 % i32", [&] { return remainder(x, y); });
    measure("u8 // u8", [&] { return floor_divide(bytes, bytes); });
    measure("i64 // 7", [&] { return floor_divide(long_x, std::int64_t{7}); });
    measure("i64 // i64", [&] { return floor_divide(long_x, long_y); });
    measure("10,000 products of 4 x 4", [&] { return matmul(a, b); });
    measure("10,000 products of 3 x 3", [&] { return matmul(a3, b3); });
    measure("10,000 products of 4 x 4 and 4", [&] { return matmul(a, v); });
    measure("10,000 products of 4 x 4 by one", [&] { return matmul(a, one); });
  }

 private:
  // The least time of an evaluation among several: of all of the process' threads on the CPU, where other work on the
  // machine disturbs it less than the time that passes.
  void measure(const std::string& name, const std::function<Tensor()>& make) {
    if (!asked(options_, name)) return;
    double least = 1e300;
    const auto begin = Clock::now();
    for (int turn = 0; turn < 5 || seconds_since(begin) < options_.timing.seconds; ++turn) {
      const std::clock_t before = std::clock();
      const auto start = Clock::now();
      eval(make());
      device_.wait();
      const double processor = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
      least = std::min(least, device_.is_gpu() ? seconds_since(start) : processor);
    }
    report_.add(name, least * 1e3, "ms", false, {{"device", device_.name()}},
                std::format("{:48} {:10.3f} ms", name, least * 1e3));
  }

  Device device_;
  const Options& options_;
  Report& report_;
};

}  // namespace

void bench_arrays(const Device& device, const Options& options, Report& report) {
  ArraysBench bench(device, options, report);
  bench.short_axes();
  bench.moves();
  bench.order();
  bench.arithmetic();
}

}  // namespace weft::bench
