// Softmax, norms and reductions: along rows, columns and channels.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <format>
#include <numeric>

#include "../bench.h"

namespace weft::bench {
namespace {

using kernels::ReduceKind;
using Numbers = std::vector<double>;

double sum(const Numbers& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double mean(const Numbers& v) { return sum(v) / static_cast<double>(v.size()); }
double largest(const Numbers& v) { return *std::ranges::max_element(v); }
double place_of_largest(const Numbers& v) { return static_cast<double>(std::ranges::max_element(v) - v.begin()); }

double mean_square(Numbers v, double origin) {
  for (double& x : v) x = (x - origin) * (x - origin);
  return mean(v);
}

double log_softmax(Numbers v) {  // of the last element
  const double last = v.back();
  for (double& x : v) x = std::exp(x);
  return last - std::log(sum(v));
}

// The cases of one type. All read the same x: while the host generates another, the GPU would lower its clocks.
class Rows {
 public:
  Rows(KernelBench& b, DType type)
      : b_(b),
        type_(type),
        x_(b.random({b.bytes() * 8 / bits(type)}, type)),
        y_(b.poisoned(x_.shape(), type)),
        weights_(b.random({std::ranges::max(kLengths)}, type)),
        variances_(b.poisoned({kChannels}, type)) {
    b.run([&](Stream& s) { kernels::fill(s, kVariance, variances_); });
  }

  // With an x of that many bytes.
  void cases(std::int64_t bytes) {
    const std::int64_t count = bytes * 8 / bits(type_);
    const Shape rows{count / kColumns, kColumns};
    const std::int64_t side = std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(count)) - 1) / 2;
    const Shape square{side, count / side};  // or twice as wide
    softmax("softmax", rows, 1, false);
    softmax("log softmax", rows, 1, true);
    softmax("softmax of columns", square, 0, false);
    row_norms(rows);
    channel_norms({count / (kChannels * kPixels), kChannels, kSide, kSide});
    reductions("rows", rows, 1);
    reductions("columns", rows, 0);
    if (square != rows) reductions("columns", square, 0);
  }

  // Rows and columns of the lengths of vocabularies, classes, hidden states and sequences; and a few long ones.
  void lengths(std::int64_t bytes) {
    for (const std::int64_t length : kLengths) {
      const std::int64_t others = bytes * 8 / bits(type_) / length;
      if (others == 0) continue;
      const Shape rows{others, length}, columns{length, others};
      softmax("softmax", rows, 1, false);
      softmax("log softmax", rows, 1, true);
      softmax("softmax of columns", columns, 0, false);
      row_norms(rows);
      reductions("rows", rows, 1);
      reductions("columns", columns, 0);
    }
  }

 private:
  static constexpr std::array<std::int64_t, 17> kLengths = {49,     77,      197,     384,     768,    1000,
                                                            5120,   30522,   32000,   50257,   65536,  128256,
                                                            151936, 1 << 18, 1 << 20, 1 << 22, 1 << 24};
  static constexpr std::int64_t kColumns = 1024, kChannels = 64, kGroups = 8, kSide = 64, kPixels = kSide * kSide;
  static constexpr float kEpsilon = 1e-5f;
  static constexpr double kVariance = 0.375;

  struct Case {
    std::string name;
    View x, y;
    double moved, functions;                         // bytes, in sizes of x; functions of an element
    View line;                                       // the last line of x that the kernel processes
    std::function<double(const Numbers&)> expected;  // the last element of y, of that line
    double unit = 1;                                 // magnitude of `expected`
    bool exact = false;
    Call call;
  };

  void measure(const Case& c) {
    const std::string name = std::format("{} {} {}", c.name, weft::name(type_), to_string(c.x.shape()));
    if (!b_.asked(name)) return;
    b_.poison(c.y);
    b_.measure(name, Unit::bytes, c.moved * static_cast<double>(touched_bytes(c.x)), c.call,
               [&] {
                 const double got = b_.read(c.y, c.y.count() - 1, 1)[0], expected = c.expected(b_.read(c.line));
                 return c.exact ? got == expected
                                : close(got / c.unit, expected / c.unit, type_ == DType::f32 ? 2e-5 : 5e-3);
               },
               {.functions = c.functions * static_cast<double>(c.x.count())});
  }

  View first(const View& v, const Shape& shape) const { return {v.buffer, 0, type_, shape}; }
  View last(const View& v, std::int64_t count) const {
    return {v.buffer, static_cast<std::uint64_t>((v.count() - count) * bits(type_) / 8), type_, {count}};
  }
  static View last_line(const View& v, int axis) { return kernels::slice(v, 1 - axis, v.shape()[1 - axis] - 1); }

  void softmax(const char* name, const Shape& shape, int axis, bool logarithm) {
    const View x = first(x_, shape), y = first(y_, shape);
    measure(
        {.name = name,
         .x = x,
         .y = y,
         .moved = 2,
         .functions = 0.6,
         .line = last_line(x, axis),
         .expected = [&](const Numbers& v) { return logarithm ? log_softmax(v) : std::exp(log_softmax(v)); },
         // For f16, at least its smallest normal number.
         .unit = logarithm ? 1 : std::max(1 / static_cast<double>(shape[axis]), type_ == DType::f16 ? 0x1p-14 : 0.0),
         .call =
             [&](Stream& s) { logarithm ? kernels::log_softmax(s, x, y, axis) : kernels::softmax(s, x, y, axis); }});
  }

  // A norm whose last line is the last `line` elements.
  void norm(const char* name, const Shape& shape, std::int64_t line,
            const std::function<double(const Numbers&)>& expected,
            const std::function<void(Stream&, const View&, const View&)>& call) {
    const View x = first(x_, shape), y = first(y_, shape);
    measure({.name = name,
             .x = x,
             .y = y,
             .moved = 2,
             .functions = 0.3,
             .line = last(x, line),
             .expected = expected,
             .call = [&](Stream& s) { call(s, x, y); }});
  }

  // The norm of a line with these weights as scale and bias.
  auto normalised(const View& weights) {
    return [weight = b_.read(weights).back()](const Numbers& v) {
      return (v.back() - mean(v)) / std::sqrt(mean_square(v, mean(v)) + kEpsilon) * weight + weight;
    };
  }

  void row_norms(const Shape& rows) {
    const View w = first(weights_, {rows[1]});
    norm("layer norm", rows, rows[1], normalised(w),
         [&](Stream& s, auto& x, auto& y) { kernels::layer_norm(s, x, w, w, y, 1, kEpsilon); });
    norm(
        "rms norm", rows, rows[1],
        [&](const Numbers& v) { return v.back() / std::sqrt(mean_square(v, 0) + kEpsilon) * b_.read(w).back(); },
        [&](Stream& s, auto& x, auto& y) { kernels::rms_norm(s, x, w, y, 1, kEpsilon); });
  }

  void channel_norms(const Shape& images) {
    const View c = first(weights_, {kChannels});
    norm("group norm", images, kChannels / kGroups * kPixels, normalised(c),
         [&](Stream& s, auto& x, auto& y) { kernels::group_norm(s, x, c, c, y, 1, kGroups, kEpsilon); });
    norm("instance norm", images, kPixels, normalised(c),
         [&](Stream& s, auto& x, auto& y) { kernels::instance_norm(s, x, c, c, y, 1, kEpsilon); });
    norm(
        "batch norm", images, 1,
        [&](const Numbers& v) {
          const double weight = b_.read(c).back();  // the mean as well
          return (v.back() - weight) / std::sqrt(kVariance + kEpsilon) * weight + weight;
        },
        [&](Stream& s, auto& x, auto& y) { kernels::batch_norm(s, x, c, variances_, c, c, y, 1, kEpsilon); });
  }

  void reductions(const std::string& lines, const Shape& shape, int axis) {
    const std::array axes{axis};
    const View x = first(x_, shape), line = last_line(x, axis);
    Shape reduced = shape;
    reduced[axis] = 1;
    const View y = first(y_, reduced), places = b_.poisoned(reduced, DType::i32);
    struct Reduction {
      const char* name;
      ReduceKind op;
      double (*expected)(const Numbers&);
      double unit;
    };
    for (const auto& r : {Reduction{"sum", ReduceKind::sum, sum, 1},
                          {"mean", ReduceKind::mean, mean, 1 / static_cast<double>(shape[axis])},
                          {"max", ReduceKind::max, largest, 1}}) {
      measure({.name = std::format("{} of {}", r.name, lines),
               .x = x,
               .y = y,
               .moved = 1,
               .functions = 0.1,
               .line = line,
               .expected = r.expected,
               .unit = r.unit,
               .call = [&](Stream& s) { kernels::reduce(s, r.op, x, y, axes); }});
    }
    measure({.name = std::format("argmax of {}", lines),
             .x = x,
             .y = places,
             .moved = 1,
             .functions = 0.1,
             .line = line,
             .expected = place_of_largest,
             .exact = true,
             .call = [&](Stream& s) { kernels::arg_reduce(s, kernels::ArgKind::max, x, places, axes); }});
  }

  KernelBench& b_;
  DType type_;
  View x_, y_, weights_, variances_;
};

void row_cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    Rows rows(b, type);
    for (const std::int64_t bytes : b.sizes()) rows.cases(bytes);
  }
}

void length_cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) Rows(b, type).lengths(b.bytes() / 4);
}

// a · scale + b, computed in f32, as `type`; with `both` the same as a second result.
Expression scaled_sum(DType type, double scale, bool both) {
  Expression e;
  const int a = e.cast(e.input(type), DType::f32);
  const int sum = e.apply(
      ScalarOp::add, {e.apply(ScalarOp::mul, {a, e.constant(scale, DType::f32)}), e.cast(e.input(type), DType::f32)});
  e.output(sum);
  if (both) e.output(e.cast(sum, type));
  return e;
}

// With a prologue, in one dispatch.
void row_fusion(KernelBench& b, DType type, std::int64_t rows, std::int64_t columns) {
  const View x = b.random({rows, columns}, type), more = b.random({rows, columns}, type),
             row = b.random({columns}, type);
  const View y = b.poisoned({rows, columns}, type), sum = b.poisoned({rows, columns}, type);
  const auto elements = static_cast<double>(rows * columns);
  const double bytes = elements * bits(type) / 8, tolerance = type == DType::f32 ? 1e-5 : 4e-3;
  const auto label = [&](const char* op) { return std::format("{} {} [{}, {}]", op, name(type), rows, columns); };
  const auto last = [&](const View& v) { return b.read(v, (rows - 1) * columns, columns); };
  const Expression masked = scaled_sum(type, 0.125, false), residual = scaled_sum(type, 1, true);
  b.measure(
      label("softmax of scaled x + mask"), Unit::bytes, 2 * bytes,
      [&](Stream& s) { kernels::softmax(s, x, y, -1, {.prologue = {&masked, std::span(&row, 1)}}); },
      [&] {
        const auto in = last(x), mask = b.read(row, 0, columns);
        double all = 0;
        for (std::size_t i = 0; i < in.size(); ++i) all += std::exp(0.125 * in[i] + mask[i]);
        return close(last(y)[7], std::exp(0.125 * in[7] + mask[7]) / all, tolerance);
      },
      {.functions = 0.75 * elements});
  b.measure(
      label("layer norm of x + r, both"), Unit::bytes, 4 * bytes,
      [&](Stream& s) {
        kernels::layer_norm(s, x, row, row, y, 1, 1e-5f,
                            {.prologue = {&residual, std::span(&more, 1), std::span(&sum, 1)}});
      },
      [&] {
        auto in = last(x);
        const auto other = last(more);
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < in.size(); ++i) mean += (in[i] += other[i]) / static_cast<double>(columns);
        for (double v : in) variance += (v - mean) * (v - mean) / static_cast<double>(columns);
        const double w = b.read(row, 7, 1)[0];
        return close(last(sum)[7], in[7], tolerance) &&
               close(last(y)[7], (in[7] - mean) / std::sqrt(variance + 1e-5) * w + w, 4 * tolerance);
      },
      {.functions = 0.4 * elements});
}

void row_work_cases(KernelBench& b) {
  for (const std::int64_t bytes : b.sizes()) {
    for (const DType type : {DType::f32, DType::f16}) row_fusion(b, type, bytes * 8 / bits(type) / 1024, 1024);
  }
}

const bool registered = register_cases("rows", row_cases) && register_cases("lengths", length_cases) &&
                        register_cases("row_fusion", row_work_cases);

}  // namespace
}  // namespace weft::bench
