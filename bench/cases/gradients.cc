// Gradients: of softmax and norms with their parameters, of cross entropy, of lookups in tables. Bytes are those that
// must move: each operand read and each result written once.
#include <algorithm>
#include <cmath>
#include <format>
#include <random>

#include "../bench.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/losses.h"

namespace weft::bench {
namespace {

using Values = std::vector<Tensor>;
using Function = std::function<Values(const Values&)>;

class Gradients {
 public:
  Gradients(KernelBench& b, DType type)
      : b_(b),
        type_(type),
        count_(b.bytes() * 8 / bits(type)),
        x_(b.random({count_}, type)),
        g_(b.random({count_}, type)),
        y_(b.poisoned({count_}, type)),
        weights_(b.random({1024}, type)) {}

  void cases() {
    for (const std::int64_t length : {1024, 4096, 1 << 17}) {
      softmax_gradient(length, false);
      softmax_gradient(length, true);
    }
    softmax_gradient_of_columns();
    norms();
    images();
    for (const std::int64_t classes : {1000, 50257, 128256}) cross_entropies(classes);
  }

 private:
  static constexpr double kEpsilon = 1e-5;

  View first(const View& v, const Shape& shape) const { return {v.buffer, 0, type_, shape}; }
  View last(const View& v, const Shape& shape) const {
    const auto end = static_cast<std::uint64_t>(v.count() - element_count(shape));
    return {v.buffer, v.offset + end * bits(type_) / 8, type_, shape};
  }
  double size(const View& v) const {
    return static_cast<double>(byte_size(v.dtype, static_cast<std::uint64_t>(v.count())));
  }
  std::string label(std::string_view what, const Shape& shape) const {
    return std::format("{} {} {}", what, name(type_), to_string(shape));
  }
  double tolerance() const { return type_ == DType::f32 ? 2e-5 : 4e-3; }

  // The last element of what `f` makes of these inputs on the cpu.
  double on_cpu(const std::vector<View>& inputs, const Function& f) {
    Graph graph;
    Values in;
    std::vector<Tensor> data;
    for (const View& v : inputs) {
      in.push_back(graph.input(std::format("{}", in.size()), v.dtype, v.shape()));
      std::vector<std::byte> bytes(static_cast<std::size_t>(size(v)));
      b_.device().read(v.buffer, v.offset, bytes);
      data.emplace_back(Device::cpu(), v.dtype, v.shape()).write(bytes);
    }
    const Tensor y = f(in)[0];
    graph.output("y", y);
    const Tensor result(Device::cpu(), y.dtype(), y.shape());
    compile(graph, Device::cpu()).run(data, std::array{result}).get();
    return result.to_vector<double>().back();
  }

  // What a graph computes; `small`: inputs that give the same last element of the first result.
  void graph_case(const std::string& name, const std::vector<View>& inputs, const std::vector<View>& outputs,
                  const Function& f, double functions, const std::vector<View>& small, const Function& of_small) {
    if (!b_.asked(name)) return;
    Graph graph;
    Values in;
    std::vector<Tensor> from, to;
    double bytes = 0;
    for (const View& v : inputs) {
      in.push_back(graph.input(std::format("{}", in.size()), v.dtype, v.shape()));
      from.emplace_back(b_.device(), v);
      bytes += size(v);
    }
    const Values results = f(in);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      graph.output(std::format("y{}", k), results[k]);
      to.emplace_back(b_.device(), outputs[k]);
      bytes += size(outputs[k]);
    }
    Executable executable = compile(graph, b_.device());
    b_.poison(outputs[0]);
    b_.measure(
        name, Unit::bytes, bytes, [&](Stream& s) { executable.record(s, from, to); },
        [&] {
          const double got = b_.read(outputs[0], outputs[0].count() - 1, 1)[0], expected = on_cpu(small, of_small);
          const bool right = close(got / unit_, expected / unit_, tolerance());
          if (!right) std::fputs(std::format("{} instead of {}\n", got, expected).c_str(), stderr);
          return right;
        },
        {.functions = functions * static_cast<double>(inputs[0].count())}, 1, executable.report().dispatches);
  }

  void softmax_gradient(std::int64_t length, bool log) {
    const Shape shape{count_ / length, length};
    const View y = first(x_, shape), g = first(g_, shape), dx = first(y_, shape);
    measure_rows(
        label(log ? "log softmax gradient" : "softmax gradient", shape), y, g, dx,
        [&](Stream& s) { (log ? kernels::log_softmax_gradient : kernels::softmax_gradient)(s, y, g, dx, 1); },
        [&](const std::vector<double>& a, const std::vector<double>& b) {
          double sum = 0;
          for (std::size_t i = 0; i < a.size(); ++i) sum += log ? b[i] : a[i] * b[i];
          return log ? b.back() - std::exp(a.back()) * sum : a.back() * (b.back() - sum);
        });
  }

  template <class Expected>
  void measure_rows(const std::string& name, const View& x, const View& g, const View& dx, const Call& call,
                    const Expected& expected) {
    if (!b_.asked(name)) return;
    b_.poison(dx);
    const std::int64_t n = x.shape()[1];
    b_.measure(name, Unit::bytes, 3 * size(x), call,
               [&] {
                 const double right = expected(b_.read(last(x, {n})), b_.read(last(g, {n}))),
                              got = b_.read(last(dx, {1}))[0];
                 const double unit = std::sqrt(static_cast<double>(n));
                 return close(got / unit, right / unit, tolerance());
               },
               {.functions = 0.6 * static_cast<double>(x.count())});
  }

  void softmax_gradient_of_columns() {
    const std::int64_t side = std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(count_)) - 1) / 2;
    const Shape shape{side, count_ / side};
    const View y = first(x_, shape), g = first(g_, shape), dx = first(y_, shape);
    const std::string name = label("softmax gradient of columns", shape);
    b_.measure(name, Unit::bytes, 3 * size(y), [&](Stream& s) { kernels::softmax_gradient(s, y, g, dx, 0); }, {});
  }

  void norms() {
    for (const std::int64_t length : {std::int64_t{1024}, std::int64_t{4096}, std::int64_t{1} << 17}) {
      const Shape shape{count_ / length, length}, row{1, length};
      const View x = first(x_, shape), g = first(g_, shape), dx = first(y_, shape);
      const View w = b_.random({length}, type_), dw = b_.poisoned({length}, type_), db = b_.poisoned({length}, type_);
      // x, scale, cotangent
      const auto layer = [](const Values& v) {
        const Tensor bias = zeros({v[1].shape()[0]}, v[1].dtype());
        return vjp([](const Values& a) { return Values{layer_norm(a[0], a[1], a[2], kEpsilon)}; })(
                   Values{v[0], v[1], bias})
            .second(Values{v[2]});
      };
      const auto layer_of_x = [](const Values& v) {
        const Tensor bias = zeros({v[1].shape()[0]}, v[1].dtype());
        return vjp([&](const Values& a) { return Values{layer_norm(a[0], v[1], bias, kEpsilon)}; })(Values{v[0]})
            .second(Values{v[2]});
      };
      const auto rms = [](const Values& v) {
        return vjp([](const Values& a) { return Values{rms_norm(a[0], a[1], kEpsilon)}; })(Values{v[0], v[1]})
            .second(Values{v[2]});
      };
      const std::vector<View> small{last(x, row), w, last(g, row)};
      graph_case(label("layer norm gradient", shape), {x, w, g}, {dx, dw, db}, layer, 0.5, small, layer);
      graph_case(label("rms norm gradient", shape), {x, w, g}, {dx, dw}, rms, 0.5, small, rms);
      graph_case(label("layer norm gradient of x", shape), {x, w, g}, {dx}, layer_of_x, 0.5, small, layer_of_x);
    }
  }

  void images() {
    const Shape shape{count_ / (64 * 4096), 64, 64, 64}, sample{1, 64, 64, 64};
    const View x = first(x_, shape), g = first(g_, shape), dx = first(y_, shape), w = first(weights_, {64});
    const View dw = b_.poisoned({64}, type_), db = b_.poisoned({64}, type_);
    const std::vector<View> small{last(x, sample), w, last(g, sample)};
    // x, scale, cotangent
    const auto of = [](auto f) {
      return [f](const Values& v) {
        const Tensor bias = zeros({64}, v[1].dtype());
        return vjp([f](const Values& a) { return Values{f(a[0], a[1], a[2])}; })(Values{v[0], v[1], bias})
            .second(Values{v[2]});
      };
    };
    const auto group = of([](auto& a, auto& s, auto& b) { return group_norm(a, s, b, 8, kEpsilon); });
    const auto instance = of([](auto& a, auto& s, auto& b) { return instance_norm(a, s, b, kEpsilon); });
    // By given statistics, as at inference; and by those of x, as in training, in f32 as PyTorch computes them.
    const auto batch = of([](auto& a, auto& s, auto& b) {
      return batch_norm(a, full({64}, 0.25, DType::f32), full({64}, 0.375, DType::f32), s, b, kEpsilon);
    });
    const auto training = of([](auto& a, auto& s, auto& b) {
      const Tensor wide = cast(a, DType::f32);
      return batch_norm(a, mean(wide, {0, 2, 3}), variance(wide, {0, 2, 3}), s, b, kEpsilon);
    });
    graph_case(label("group norm gradient", shape), {x, w, g}, {dx, dw, db}, group, 0.5, small, group);
    graph_case(label("instance norm gradient", shape), {x, w, g}, {dx, dw, db}, instance, 0.5, small, instance);
    graph_case(label("batch norm gradient", shape), {x, w, g}, {dx, dw, db}, batch, 0.5, small, batch);
    graph_case(label("batch norm training gradient", shape), {x, w, g}, {dx, dw, db}, training, 0.5, {x, w, g},
               training);
  }

  void cross_entropies(std::int64_t classes) {
    const std::int64_t rows = count_ / classes;
    if (rows == 0) return;
    const Shape shape{rows, classes};
    const View x = first(x_, shape), dx = first(y_, shape), loss = b_.poisoned({}, type_);
    std::vector<std::int32_t> values(static_cast<std::size_t>(rows));
    std::mt19937 random(7);
    for (auto& v : values) v = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(classes));
    const View labels(b_.device().allocate(values.size() * 4), 0, DType::i32, {rows});
    b_.device().upload(labels.buffer, 0, std::as_bytes(std::span(values)));
    const auto sum_of = [](const Tensor& a, const Tensor& l, double smoothing) {
      return cross_entropy(a, l, {.label_smoothing = smoothing, .reduction = LossReduction::sum});
    };
    const auto gradient = [&](double smoothing) {
      return [=](const Values& v) {
        auto [value, g] = value_and_grad([&](const Tensor& a) { return sum_of(a, v[1], smoothing); })(v[0]);
        return Values{g, value};
      };
    };
    const View last_label(labels.buffer, static_cast<std::uint64_t>(rows - 1) * 4, DType::i32, {1});
    const std::vector<View> small{last(x, {1, classes}), last_label};
    unit_ = 1 / static_cast<double>(classes);
    // Both directions: x is read twice.
    graph_case(
        label("cross entropy with gradient", shape), {x, x, labels}, {dx, loss},
        [&](const Values& v) { return gradient(0)({v[0], v[2]}); }, 1, small, gradient(0));
    graph_case(
        label("cross entropy with gradient, smoothed", shape), {x, x, labels}, {dx, loss},
        [&](const Values& v) { return gradient(0.1)({v[0], v[2]}); }, 1, small, gradient(0.1));
    unit_ = 1;
    const auto value = [&](const Values& v) { return Values{cross_entropy(v[0], v[1])}; };
    if (b_.asked(label("cross entropy", shape))) {
      graph_case(label("cross entropy", shape), {x, labels}, {loss}, value, 0.5, {x, labels}, value);
    }
  }

  KernelBench& b_;
  DType type_;
  std::int64_t count_;
  View x_, g_, y_, weights_;
  double unit_ = 1;  // magnitude of results
};

// The gradient of a table of words: [vocabulary, width], read by so many indices, of which some repeat.
void embedding(KernelBench& b, DType type, std::int64_t words, std::int64_t width, std::int64_t count) {
  const std::string name = std::format("embedding gradient {} [{}, {}] x [{}]", weft::name(type), words, width, count);
  if (!b.asked(name)) return;
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  std::mt19937 random(7);
  std::geometric_distribution<std::int32_t> common(8.0 / static_cast<double>(words));
  for (auto& v : values) v = std::min(common(random), static_cast<std::int32_t>(words - 1));
  const View indices(b.device().allocate(values.size() * 4), 0, DType::i32, {count});
  b.device().upload(indices.buffer, 0, std::as_bytes(std::span(values)));
  const View g = b.random({count, width}, type), dx = b.poisoned({words, width}, type);
  Graph graph;
  const Tensor table = graph.input("table", type, {words, width}), at = graph.input("at", DType::i32, {count}),
               cotangent = graph.input("g", type, {count, width});
  const Tensor result =
      vjp([&](const Values& v) { return Values{gather(v[0], at)}; })(Values{table}).second(Values{cotangent})[0];
  graph.output("dx", result);
  Executable executable = compile(graph, b.device());
  const Tensor unread(b.device(), type, {words, width});
  const std::vector<Tensor> from{unread, Tensor(b.device(), indices), Tensor(b.device(), g)},
      to{Tensor(b.device(), dx)};
  const double bytes = static_cast<double>(bits(type)) / 8 * static_cast<double>(width * (words + count));
  b.measure(
      name, Unit::bytes, bytes, [&](Stream& s) { executable.record(s, from, to); },
      [&] {
        const std::int32_t word = values.back();
        double sum = 0, magnitude = 1;
        for (std::int64_t i = 0; i < count; ++i) {
          if (values[static_cast<std::size_t>(i)] != word) continue;
          const double v = b.read(g, i * width + 5, 1)[0];
          sum += v, magnitude += std::abs(v);
        }
        return std::abs(b.read(dx, word * width + 5, 1)[0] - sum) <= (type == DType::f32 ? 1e-6 : 2e-3) * magnitude;
      },
      {}, 1, executable.report().dispatches);
}

void gradient_cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    Gradients(b, type).cases();
    const std::int64_t share = std::max<std::int64_t>(256 / std::max<std::int64_t>(b.bytes() >> 20, 1), 1);
    embedding(b, type, 50000 / share, 768, 65536 / share);
  }
}

const bool registered = register_cases("gradients", gradient_cases);

}  // namespace
}  // namespace weft::bench
