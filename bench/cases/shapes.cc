// What other families have in multiples of four, in the shapes that models and people have: rows of 1,001, images of
// three channels, pictures of 7 x 7, heads of 80.
#include <array>
#include <cmath>
#include <numeric>

#include "../bench.h"

namespace weft::bench {
namespace {

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
  // As many lines of this shape as x holds.
  Shape lines_of(Shape line) const {
    const std::int64_t n = count_ / element_count(line);
    Shape all{n};
    for (const std::int64_t d : line) all.push_back(d);
    return all;
  }
  double at(const View& v, const Index& index) {
    View one = v;
    std::int64_t offset = 0;
    for (int d = 0; d < v.rank(); ++d) offset += index[static_cast<std::size_t>(d)] * v.strides()[d];
    one.layout = Layout::dense({1});
    one.offset += static_cast<std::uint64_t>(offset * bits(type_) / 8);
    return b_.read(one, 0, 1)[0];
  }
  double size(const View& v) const { return static_cast<double>(v.count()) * bits(v.dtype) / 8; }

  // `at_y`, `at_x`: elements that are equal afterwards; none: nothing is compared.
  void measure(std::string_view what, const View& x, const View& y, double bytes, const Call& call,
               const Index& at_y = {}, const Index& at_x = {}) {
    const std::string label = std::format("{} {} {}", what, name(type_), to_string(x.shape()));
    const auto holds = [](const View& v, const Index& index) {
      for (std::size_t d = 0; d < index.size(); ++d) {
        if (index[d] >= v.shape()[static_cast<int>(d)]) return false;
      }
      return v.count() > 0;
    };
    if (!b_.asked(label) || !holds(x, at_x) || !holds(y, at_y)) return;  // too small a bench
    b_.measure(label, Unit::bytes, bytes, call, [&] { return at_y.empty() || at(y, at_y) == at(x, at_x); });
  }
  void copy(std::string_view what, const View& x, const View& y, const Index& at_y, const Index& at_x) {
    measure(what, x, y, 2 * size(x), [&](Stream& s) { kernels::copy(s, x, y); }, at_y, at_x);
  }

  void moves() {
    const Shape odd = lines_of({1001});
    const std::int64_t n = odd[0];
    const View rows = x(odd);
    copy("slice", kernels::slice(rows, 1, 1), y({n, 1000}), {3, 5}, {3, 5});
    copy("slice into", x({n, 1000}), kernels::slice(y(odd), 1, 1), {3, 5}, {3, 5});
    constexpr std::array<int, 2> kTurned{1, 0};
    copy("transpose", x({4099, count_ / 4099}).permuted(kTurned), y({count_ / 4099, 4099}), {5, 3}, {5, 3});
    copy("transpose", rows.permuted(kTurned), y({1001, n}), {5, 3}, {5, 3});
    const Shape images = lines_of({3, 224, 224}), heads = lines_of({77, 12, 80});
    constexpr std::array<int, 4> kLast{0, 2, 3, 1}, kFirst{0, 3, 1, 2}, kHeads{0, 2, 1, 3};
    copy("channels last", x(images).permuted(kLast), y({images[0], 224, 224, 3}), {0, 5, 7, 2}, {0, 5, 7, 2});
    copy("channels first", x({images[0], 224, 224, 3}).permuted(kFirst), y(images), {0, 2, 5, 7}, {0, 2, 5, 7});
    copy("heads", x(heads).permuted(kHeads), y({heads[0], 12, 77, 80}), {1, 3, 5, 7}, {1, 3, 5, 7});
    const View left = kernels::slice(rows, 1, 23), right = kernels::slice(rows, 1, 0, 23);
    const std::array<View, 2> parts{left, right};
    measure("concat", rows, y(odd), 2 * size(rows), [&](Stream& s) { kernels::concat(s, parts, y(odd), 1); }, {3, 0},
            {3, 23});
    const View padded = y({n, 1008});
    measure("pad", rows, padded, size(rows) + size(padded), [&](Stream& s) {
      kernels::pad(s, rows, padded, Index{0, 0}, kernels::PadMode::constant);
    }, {3, 1000}, {3, 1000});
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i * 7919 % numbers.size());
    const View list(b_.device().allocate(numbers.size() * 4), 0, DType::i32, {n});
    b_.device().upload(list.buffer, 0, std::as_bytes(std::span(numbers)));
    const std::int64_t line = numbers[3];
    measure("gather rows", rows, y(odd), 2 * size(rows),
            [&](Stream& s) { kernels::gather(s, rows, list, y(odd), 0); }, {3, 5}, {line, 5});
    measure("scatter rows", rows, y(odd), 2 * size(rows), [&](Stream& s) {
      kernels::scatter(s, kernels::ScatterOp::assign, list, rows, y(odd), 0);
    }, {line, 5}, {3, 5});
    measure("roll", rows, y(odd), 2 * size(rows), [&](Stream& s) { kernels::roll(s, rows, y(odd), Index{3, 5}); },
            {3, 5}, {0, 0});
  }

  void elementwise() {
    const Shape odd = lines_of({1001});
    const View rows = x(odd), result = y(odd);
    const View row = b_.random({1001}, type_), column = b_.random({odd[0], 1}, type_);
    const auto binary = [&](const char* what, const View& a, const View& b, const View& y, double bytes) {
      measure(what, a, y, bytes, [&](Stream& s) { kernels::binary(s, ScalarOp::add, a, b, y); });
    };
    binary("add row", rows, row, result, 2 * size(rows));
    binary("add column", rows, column, result, 2 * size(rows));
    const View cut = kernels::slice(rows, 1, 1), dense = y({odd[0], 1000});
    binary("add slices", cut, cut, dense, 2 * size(cut));
    measure("tanh of slice", cut, dense, 2 * size(cut), [&](Stream& s) {
      kernels::unary(s, ScalarOp::tanh, cut, dense);
    });
    const Shape images = lines_of({64, 7, 7});
    const View bias = b_.random({64, 1, 1}, type_);
    binary("add to channels", x(images), bias, y(images), 2 * size(x(images)));
  }

  void channels() {
    const View weights = b_.random({512}, type_);
    for (const std::int64_t side : {7, 14, 28}) {
      const Shape images = lines_of({512, side, side});
      const View x = this->x(images), y = this->y(images);
      measure("batch norm", x, y, 2 * size(x), [&](Stream& s) {
        kernels::batch_norm(s, x, weights, weights, weights, weights, y, 1, 2.0f);
      });
      const auto norm = [&](const char* what, std::int64_t groups) {
        const auto scratch = b_.workspace(b_.ask([&](Stream& s) {
          return kernels::group_norm_workspace(s, x, weights, weights, y, 1, groups);
        }));
        measure(what, x, y, 2 * size(x), [&](Stream& s) {
          kernels::group_norm(s, x, weights, weights, y, 1, groups, 1e-5f, scratch);
        });
      };
      norm("group norm", 32);
      norm("instance norm", 512);
      const View mean = this->y({images[0], 512, 1, 1});
      constexpr std::array<int, 2> kPixels{2, 3};
      measure("mean of pixels", x, mean, size(x), [&](Stream& s) {
        kernels::reduce(s, kernels::ReduceOp::mean, x, mean, kPixels);
      });
    }
  }

  // Of rows that lie in the middle: classes of pixels, tokens.
  void lines() {
    for (const Shape& line : {Shape{21, 4096}, {19, 1001}, {197, 768}, {77, 80}}) {
      const Shape shape = lines_of(line);
      const View x = this->x(shape), y = this->y(shape), one = this->y({shape[0], 1, shape[2]});
      const std::array axes{1};
      const auto scratch = b_.workspace(b_.ask([&](Stream& s) { return kernels::softmax_workspace(s, x, y, 1); }));
      measure("softmax of the middle", x, y, 2 * size(x), [&](Stream& s) { kernels::softmax(s, x, y, 1, scratch); });
      const auto some = b_.workspace(b_.ask([&](Stream& s) {
        return kernels::reduce_workspace(s, kernels::ReduceOp::mean, x, one, axes);
      }));
      measure("mean of the middle", x, one, size(x), [&](Stream& s) {
        kernels::reduce(s, kernels::ReduceOp::mean, x, one, axes, some);
      });
      const View places = b_.poisoned({shape[0], 1, shape[2]}, DType::i32);
      const auto more = b_.workspace(
          b_.ask([&](Stream& s) { return kernels::arg_reduce_workspace(s, kernels::ArgOp::max, x, places, axes); }));
      measure("argmax of the middle", x, one, size(x), [&](Stream& s) {
        kernels::arg_reduce(s, kernels::ArgOp::max, x, places, axes, more);
      });
      const auto sums = b_.workspace(
          b_.ask([&](Stream& s) { return kernels::scan_workspace(s, kernels::ScanOp::sum, x, y, 1); }));
      measure("scan of the middle", x, y, 2 * size(x), [&](Stream& s) {
        kernels::scan(s, kernels::ScanOp::sum, x, y, 1, {}, sums);
      });
    }
    const Shape odd = lines_of({1001});
    const View rows = x(odd), result = y(odd);
    const auto sums = b_.workspace(
        b_.ask([&](Stream& s) { return kernels::scan_workspace(s, kernels::ScanOp::sum, rows, result, 1); }));
    measure("scan", rows, result, 2 * size(rows), [&](Stream& s) {
      kernels::scan(s, kernels::ScanOp::sum, rows, result, 1, {}, sums);
    });
  }

  KernelBench& b_;
  DType type_;
  std::int64_t count_;
  View x_, y_;
};

void products(KernelBench& b, DType type) {
  constexpr std::array<int, 2> kTurned{1, 0};
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{1001, 1003, 997}, {4099, 1001, 1003}, {4099, 4097, 4101},
                                {77, 768, 3072}, {197, 768, 2304}, {4095, 1000, 2047}, {1, 4097, 14335}}) {
    for (const bool turned : {false, true}) {
      const View a = b.random({m, k}, type), w = b.random(turned ? Shape{n, k} : Shape{k, n}, type);
      const View y = b.poisoned({m, n}, type), right = turned ? w.permuted(kTurned) : w;
      const std::string label = std::format("product {} [{}, {}] x [{}, {}]{}", name(type), m, k, w.shape()[0],
                                            w.shape()[1], turned ? "T" : "");
      if (!b.asked(label)) continue;
      const auto scratch = b.workspace(b.ask([&](Stream& s) { return kernels::matmul_workspace(s, a, right, y); }));
      b.measure(label, Unit::flop, 2.0 * static_cast<double>(m * k * n),
                [&](Stream& s) { kernels::matmul(s, a, right, y, {}, scratch); }, [&] { return true; });
    }
  }
  for (const auto& [batch, heads, tokens, dim] :
       {std::array<std::int64_t, 4>{256, 12, 77, 64}, {64, 12, 197, 64}, {2, 8, 4096, 40}, {2, 8, 1024, 80},
        {2, 10, 1001, 96}, {2, 8, 1001, 72}, {8, 8, 1000, 256}}) {
    const Shape shape{batch, heads, tokens, dim};
    const View q = b.random(shape, type), k = b.random(shape, type), v = b.random(shape, type),
               y = b.poisoned(shape, type);
    const kernels::AttentionOptions options{.scale = 1 / std::sqrt(static_cast<float>(dim))};
    const std::string label = std::format("attend {} {}", name(type), to_string(shape));
    if (!b.asked(label)) continue;
    const auto scratch =
        b.workspace(b.ask([&](Stream& s) { return kernels::attention_workspace(s, q, k, v, {}, y, options); }));
    b.measure(label, Unit::flop, 4.0 * static_cast<double>(batch * heads * tokens * tokens * dim),
              [&](Stream& s) { kernels::attention(s, q, k, v, {}, y, options, {}, scratch); }, [&] { return true; });
  }
}

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    Shapes(b, type).cases();
    // Software devices and CPUs would take minutes for what a GPU does in one.
    if (b.bytes() >= 256 << 20) products(b, type);
  }
}

const bool registered = register_cases("shapes", cases);

}  // namespace
}  // namespace weft::bench
