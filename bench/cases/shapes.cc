// Shapes of real models that are not multiples of four, as the other families have: rows of 1,001, images of three
// channels, pictures of 7 x 7, heads of 80.
#include <array>
#include <cmath>
#include <format>
#include <numeric>

#include "../bench.h"

namespace weft::bench {
namespace {

// A few roundings of the greatest result, and of sums in f32. A sum of some thousand terms errs by a few units in the
// last place of the sum of its terms' magnitudes, `magnitude`, which can be far larger than results near zero.
Tolerance tolerance_of(DType type, double magnitude = 1) {
  return {.relative = type == DType::f32 ? 2e-6 : 2e-3, .absolute = 2e-7 * magnitude};
}

class Shapes {
 public:
  Shapes(KernelBench& b, DType type) : b_(b), type_(type), count_(b.bytes() / 4 * 8 / bits(type)) {
    x_ = b.random({count_}, type);
    y_ = b.poisoned({count_ * 3 / 2}, type);
  }

  void cases() {
    moves();
    elementwise();
    channels();
    lines();
  }

 private:
  using Index = std::vector<std::int64_t>;

  View first(const View& v, const Shape& shape) const { return {v.buffer, 0, type_, shape}; }
  View x(const Shape& shape) const { return first(x_, shape); }
  View y(const Shape& shape) const { return first(y_, shape); }
  // As many lines of this shape as fit in x.
  Shape lines_of(Shape line) const {
    const std::int64_t n = count_ / element_count(line);
    Shape all{n};
    for (const std::int64_t d : line) all.push_back(d);
    return all;
  }
  double size(const View& v) const { return static_cast<double>(v.count()) * bits(v.dtype) / 8; }

  void measure(std::string_view what, const std::vector<View>& inputs, const View& y, double bytes,
               const Operation& operation) {
    const std::string label = std::format("{} {} {}", what, name(type_), to_string(inputs[0].shape()));
    if (!b_.asked(label) || inputs[0].count() == 0 || y.count() == 0) return;  // too small a bench
    b_.poison(y_);
    b_.measure(
        label, Unit::bytes, bytes, [&](Stream& s) { operation(s, inputs, y); },
        [&] { return b_.agrees(inputs, y, operation, tolerance_of(type_)); });
  }
  void copy(std::string_view what, const View& x, const View& y) {
    measure(what, {x}, y, 2 * size(x), [](Stream& s, auto in, auto& out) { kernels::copy(s, in[0], out); });
  }

  void moves() {
    const Shape odd = lines_of({1001});
    const std::int64_t n = odd[0];
    const View rows = x(odd);
    copy("slice", kernels::slice(rows, 1, 1), y({n, 1000}));
    copy("slice into", x({n, 1000}), kernels::slice(y(odd), 1, 1));
    constexpr std::array<int, 2> kTurned{1, 0};
    copy("transpose", x({4099, count_ / 4099}).permuted(kTurned), y({count_ / 4099, 4099}));
    copy("transpose", rows.permuted(kTurned), y({1001, n}));
    const Shape images = lines_of({3, 224, 224}), heads = lines_of({77, 12, 80});
    constexpr std::array<int, 4> kLast{0, 2, 3, 1}, kFirst{0, 3, 1, 2}, kHeads{0, 2, 1, 3};
    copy("channels last", x(images).permuted(kLast), y({images[0], 224, 224, 3}));
    copy("channels first", x({images[0], 224, 224, 3}).permuted(kFirst), y(images));
    copy("heads", x(heads).permuted(kHeads), y({heads[0], 12, 77, 80}));
    measure("concat", {rows}, y(odd), 2 * size(rows), [](Stream& s, auto in, auto& out) {
      const std::array<View, 2> parts{kernels::slice(in[0], 1, 23), kernels::slice(in[0], 1, 0, 23)};
      kernels::concat(s, parts, out, 1);
    });
    const View padded = y({n, 1008});
    measure("pad", {rows}, padded, size(rows) + size(padded), [](Stream& s, auto in, auto& out) {
      kernels::pad(s, in[0], out, Index{0, 0}, kernels::PadMode::constant);
    });
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i * 7919 % numbers.size());
    const View list(b_.device().allocate(numbers.size() * 4), 0, DType::i32, {n});
    b_.device().upload(list.buffer, 0, std::as_bytes(std::span(numbers)));
    measure("gather rows", {rows, list}, y(odd), 2 * size(rows),
            [](Stream& s, auto in, auto& out) { kernels::gather(s, in[0], in[1], out, 0); });
    measure("scatter rows", {rows, list}, y(odd), 2 * size(rows), [](Stream& s, auto in, auto& out) {
      kernels::scatter(s, kernels::ScatterKind::assign, in[1], in[0], out, 0);
    });
    measure("roll", {rows}, y(odd), 2 * size(rows),
            [](Stream& s, auto in, auto& out) { kernels::roll(s, in[0], out, Index{3, 5}); });
  }

  void elementwise() {
    const Shape odd = lines_of({1001});
    const View rows = x(odd), result = y(odd);
    const View row = b_.random({1001}, type_), column = b_.random({odd[0], 1}, type_);
    const auto add = [&](const char* what, const View& a, const View& b, const View& y) {
      measure(what, {a, b}, y, 2 * size(a),
              [](Stream& s, auto in, auto& out) { kernels::binary(s, ScalarOp::add, in[0], in[1], out); });
    };
    add("add row", rows, row, result);
    add("add column", rows, column, result);
    const View cut = kernels::slice(rows, 1, 1), dense = y({odd[0], 1000});
    add("add slices", cut, cut, dense);
    measure("tanh of slice", {cut}, dense, 2 * size(cut),
            [](Stream& s, auto in, auto& out) { kernels::unary(s, ScalarOp::tanh, in[0], out); });
    const Shape images = lines_of({64, 7, 7});
    add("add to channels", x(images), b_.random({64, 1, 1}, type_), y(images));
  }

  void channels() {
    const View weights = b_.random({512}, type_);
    for (const std::int64_t side : {7, 14, 28}) {
      const Shape images = lines_of({512, side, side});
      const View x = this->x(images), y = this->y(images);
      measure("batch norm", {x, weights}, y, 2 * size(x), [](Stream& s, auto in, auto& out) {
        kernels::batch_norm(s, in[0], in[1], in[1], in[1], in[1], out, 1, 2.0f);
      });
      const auto norm = [&](const char* what, std::int64_t groups) {
        measure(what, {x, weights}, y, 2 * size(x), [&](Stream& s, auto in, auto& out) {
          kernels::group_norm(s, in[0], in[1], in[1], out, 1, groups, 1e-5f);
        });
      };
      norm("group norm", 32);
      norm("instance norm", 512);
      constexpr std::array<int, 2> kPixels{2, 3};
      measure("mean of pixels", {x}, this->y({images[0], 512, 1, 1}), size(x), [&](Stream& s, auto in, auto& out) {
        kernels::reduce(s, kernels::ReduceKind::mean, in[0], out, kPixels);
      });
    }
  }

  // Rows along a middle axis: classes of pixels, tokens.
  void lines() {
    for (const Shape& line : {Shape{21, 4096}, {19, 1001}, {197, 768}, {77, 80}}) {
      const Shape shape = lines_of(line);
      const View x = this->x(shape), y = this->y(shape), one = this->y({shape[0], 1, shape[2]});
      const std::array axes{1};
      measure("softmax of the middle", {x}, y, 2 * size(x),
              [&](Stream& s, auto in, auto& out) { kernels::softmax(s, in[0], out, 1); });
      measure("mean of the middle", {x}, one, size(x),
              [&](Stream& s, auto in, auto& out) { kernels::reduce(s, kernels::ReduceKind::mean, in[0], out, axes); });
      const View places = b_.poisoned({shape[0], 1, shape[2]}, DType::i32);
      measure("argmax of the middle", {x}, places, size(x),
              [&](Stream& s, auto in, auto& out) { kernels::arg_reduce(s, kernels::ArgKind::max, in[0], out, axes); });
      scan("scan of the middle", x, y, 1);
    }
    const Shape odd = lines_of({1001});
    scan("scan", x(odd), y(odd), 1);
  }
  void scan(std::string_view what, const View& x, const View& y, int axis) {
    measure(what, {x}, y, 2 * size(x),
            [&](Stream& s, auto in, auto& out) { kernels::scan(s, kernels::ScanKind::sum, in[0], out, axis); });
  }

  KernelBench& b_;
  DType type_;
  std::int64_t count_;
  View x_, y_;
};

void products(KernelBench& b, DType type) {
  constexpr std::array<int, 2> kTurned{1, 0};
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{1001, 1003, 997},
                                {4099, 1001, 1003},
                                {4099, 4097, 4101},
                                {77, 768, 3072},
                                {197, 768, 2304},
                                {4095, 1000, 2047},
                                {1, 4097, 14335}}) {
    for (const bool turned : {false, true}) {
      const View a = b.random({m, k}, type), w = b.random(turned ? Shape{n, k} : Shape{k, n}, type);
      const View y = b.poisoned({m, n}, type), right = turned ? w.permuted(kTurned) : w;
      const std::string label = std::format("product {} [{}, {}] x [{}, {}]{}", name(type), m, k, w.shape()[0],
                                            w.shape()[1], turned ? "T" : "");
      if (!b.asked(label)) continue;
      b.measure(
          label, Unit::flop, 2.0 * static_cast<double>(m * k * n), [&](Stream& s) { kernels::matmul(s, a, right, y); },
          [&] {
            // The CPU would take seconds for all rows.
            const std::int64_t first = std::max<std::int64_t>(m - 40, 0);
            const std::array inputs{kernels::slice(a, 0, first), right};
            return b.agrees(
                inputs, kernels::slice(y, 0, first),
                [](Stream& s, auto in, auto& out) { kernels::matmul(s, in[0], in[1], out); },
                tolerance_of(type, static_cast<double>(k) / 4));  // a product's magnitude is 1/4 on average
          });
    }
  }
  for (const auto& [batch, heads, tokens, dim] : {std::array<std::int64_t, 4>{256, 12, 77, 64},
                                                  {64, 12, 197, 64},
                                                  {2, 8, 4096, 40},
                                                  {2, 8, 1024, 80},
                                                  {2, 10, 1001, 96},
                                                  {2, 8, 1001, 72},
                                                  {8, 8, 1000, 256}}) {
    const Shape shape{batch, heads, tokens, dim};
    const View q = b.random(shape, type), k = b.random(shape, type), v = b.random(shape, type),
               y = b.poisoned(shape, type);
    const kernels::AttentionOptions options{.scale = 1 / std::sqrt(static_cast<float>(dim))};
    const std::string label = std::format("attend {} {}", name(type), to_string(shape));
    if (!b.asked(label)) continue;
    // Weights sum to 1. An absolute error of a score, whose magnitude is a quarter of dim times scale, is a relative
    // error of its weight, and of the sum by which weights are divided.
    b.measure(
        label, Unit::flop, 4.0 * static_cast<double>(batch * heads * tokens * tokens * dim),
        [&](Stream& s) { kernels::attention(s, q, k, v, {}, y, options); },
        [&] {
          const auto last = [&](const View& v) { return kernels::slice(v, 0, batch - 1); };
          return b.agrees(
              std::array{last(q), last(k), last(v)}, last(y),
              [&](Stream& s, auto in, auto& out) { kernels::attention(s, in[0], in[1], in[2], {}, out, options); },
              tolerance_of(type, 1 + std::sqrt(static_cast<double>(dim)) / 2));
        });
  }
}

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    Shapes(b, type).cases();
    // Software devices and CPUs would take minutes for the work of a minute on a GPU.
    if (b.bytes() >= 256 << 20) products(b, type);
  }
}

const bool registered = register_cases("shapes", cases);

}  // namespace
}  // namespace weft::bench
