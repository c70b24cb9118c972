// Tensors that are larger than what a dispatch may bind, and work that is longer than one may take: on a device whose
// limits are forced down.
#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "kernels/attention_cases.h"
#include "kernels/common/windows.h"
#include "kernels/operands.h"
#include "support/kernel_test.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

gpu::Device limited(std::optional<std::uint64_t> binding, std::optional<std::uint64_t> work) {
  gpu::DeviceOptions options;
  options.adapter = std::to_string(devices().front().device.adapter().index);
  options.binding_limit = binding;
  options.dispatch_limit = work;
  return gpu::Device::open(options);
}

class WindowsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (devices().empty()) GTEST_SKIP() << "no adapter here";
    device.emplace(limited(64 << 10, std::nullopt));
  }
  std::optional<gpu::Device> device;  // 16,384 floats a binding
  Rng rng{7};

  void both(std::vector<View> inputs, std::vector<View> outputs, const KernelCall& call, const Tolerance& tolerance) {
    run_both(*device, inputs, outputs, call, tolerance);
  }

  KernelCall sorts(int axis, bool descending) {
    return [this, options = kernels::SortOptions{axis, descending}](Stream& s, auto in, auto out) {
      const std::optional<View> places = out.size() > 1 ? std::optional<View>(out[1]) : std::nullopt;
      kernels::sort(s, in[0], out[0], places, options);
    };
  }
  KernelCall argsorts(int axis, bool descending) {
    return [this, options = kernels::SortOptions{axis, descending}](Stream& s, auto in, auto out) {
      kernels::sort(s, in[0], {}, out[0], options);
    };
  }
  KernelCall finds_top(int axis) {
    return [this, options = kernels::TopKOptions{.axis = axis}](Stream& s, auto in, auto out) {
      kernels::top_k(s, in[0], out[0], out[1], options);
    };
  }

  // What is left of a shape without some axes.
  static Shape without(const Shape& shape, const std::vector<int>& axes) {
    Shape kept;
    for (int d = 0; d < shape.rank(); ++d) {
      if (std::ranges::find(axes, d) == axes.end()) kept.push_back(shape[d]);
    }
    return kept;
  }
};

// On every device.
class WindowsOnDevice : public WindowsTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    const gpu::Device& whole = test::device(GetParam());
    gpu::DeviceOptions options = like(whole);
    options.minimum = whole.capabilities().minimum;
    options.binding_limit = 64 << 10;
    device.emplace(gpu::Device::open(options));
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, WindowsOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

// Rows over some axes.
struct Rows {
  Shape shape;
  std::vector<int> axes;
  Kind kind;
};

TEST_F(WindowsTest, Elementwise) {
  for (const Kind kind : {Kind::dense, Kind::offset, Kind::transposed, Kind::sliced, Kind::reversed}) {
    const View a = random_view(rng, {70, 3, 500}, DType::f32, kind), row = random_view(rng, {500}, DType::f32);
    const View y = random_view(rng, {70, 3, 500}, DType::f32, kind);
    both({a, row}, {y}, [](Stream& s, auto in, auto out) { kernels::binary(s, ScalarOp::add, in[0], in[1], out[0]); },
         {});
  }
  for (const DType type : {DType::f16, DType::i8, DType::u64, DType::u4}) {
    const View x = random_view(rng, {200000}, type), y = random_view(rng, {200000}, type);
    both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, kSameBits);
    both({}, {y}, [](Stream& s, auto, auto out) { kernels::fill(s, 3, out[0]); }, kSameBits);
  }
  const View x = random_view(rng, {300, 200}, DType::i16), y = random_view(rng, {300, 200}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, {});
}

// q and y are cut by heads and queries, keys by batch and heads; windows and lengths stay what they were.
TEST_F(WindowsTest, Attention) {
  const auto call = [](const kernels::AttentionOptions& options) {
    return [=](Stream& s, std::span<const View> in, std::span<const View> out) {
      kernels::attention(s, in[0], in[1], in[2], in[3], out[0], options, {in[4], in[5]});
    };
  };
  for (const auto& [queries, keys, options] :
       {std::tuple{700, 50, kernels::AttentionOptions{.scale = 0.3f, .window_left = 20, .window_right = 3}},
        {40, 300, kernels::AttentionOptions{.scale = 0.3f, .causal = true}}}) {
    const View q = random_view(rng, {2, 4, queries, 32}, DType::f32),
               k = random_view(rng, {2, 2, keys, 32}, DType::f32);
    const View v = random_view(rng, {2, 2, keys, 32}, DType::f32),
               y = random_view(rng, {2, 4, queries, 32}, DType::f32);
    const View mask = random_view(rng, {2, 1, queries, keys}, DType::boolean);
    const View q_lengths = host_view(DType::i32, {2}, std::vector<double>{queries - 100.0, 1000.0});
    const View k_lengths = host_view(DType::u32, {2}, std::vector<double>{keys - 7.0, keys + 9.0});
    both({q, k, v, mask, q_lengths, k_lengths}, {y}, call(options), {.absolute = 2e-5});
  }
}

// Keys of one head that no binding holds, in windows: what hides some of them, and ends within a window.
TEST_P(WindowsOnDevice, AttentionToLongKeys) {
  using kernels::Mask;
  std::vector<kernels::AttentionCase> cases;
  const kernels::AttentionCase base{.heads = 4, .kv_heads = 2, .queries = 11, .keys = 1301};
  const auto add = [&](auto&& change) { change(cases.emplace_back(base)); };
  for (const Mask mask : {Mask::none, Mask::keys, Mask::rows, Mask::heads, Mask::everything}) {
    for (const DType type : {DType::boolean, DType::f32, DType::f16}) {
      add([&](auto& c) {
        c.mask = mask;
        c.mask_type = type;
        c.type = type == DType::f16 ? DType::f16 : DType::f32;
        if (type == DType::f16) c.keys = 2 * c.keys;
        c.key_lengths = type == DType::f32;
      });
      if (mask == Mask::none) break;
    }
  }
  add([](auto& c) { c.causal = true, c.queries = 1301, c.heads = 2; });
  add([](auto& c) { c.causal = c.top_left = true, c.queries = 700, c.query_lengths = true; });
  add([](auto& c) { c.window_left = 300, c.window_right = 260, c.queries = 901, c.heads = 2, c.key_lengths = true; });
  add([](auto& c) { c.batch = 3, c.query_lengths = c.key_lengths = true, c.length_type = DType::u32; });
  add([](auto& c) { c.queries = 1, c.heads = 14, c.type = DType::f16, c.keys = 2503, c.mask = Mask::rows; });
  add([](auto& c) { c.dim = 37, c.value_dim = 19, c.k_kind = Kind::sliced, c.v_kind = Kind::reversed; });
  add([](auto& c) { c.dim = 130, c.value_dim = 300, c.keys = 203, c.y_kind = Kind::transposed; });
  add([](auto& c) { c.queries = 1000, c.mask = Mask::rows, c.mask_type = DType::f32; });  // a mask past it both ways
  for (const kernels::AttentionCase& c : cases) kernels::check_attention(*device, c);
}

// Each form of the kernel: the windows' edges lie within its tiles or at their ends.
TEST_P(WindowsOnDevice, FormsOfAttentionToLongKeys) {
  using kernels::AttentionKind, kernels::Mask;
  const gpu::Capabilities& capabilities = device->capabilities();
  std::vector<kernels::AttentionVariant> forms{
      {.threads = 32, .splits = 4, .tile = 32}, {.staged = false, .threads = 8, .rows = 2},
      {.kind = AttentionKind::tiles, .threads = 32, .rows = 2},
      {.kind = AttentionKind::few, .threads = 32, .rows = 3, .lanes = 4}};
  int ran = 0;
  const int unit = capabilities.matrix_shapes.empty() ? 16 : static_cast<int>(capabilities.matrix_shapes[0].m);
  for (const int buffers : {0, 1, 2}) {
    if (const auto v = kernels::attention_matrices(capabilities, 2, 1, unit, 16, buffers)) forms.push_back(*v);
  }
  for (const auto& [causal, lengths, mask] : {std::tuple{false, false, Mask::none}, {true, false, Mask::rows},
                                              {false, true, Mask::keys}, {true, true, Mask::everything}}) {
    kernels::AttentionCase c{.heads = 4, .queries = 21, .keys = 2603, .dim = 16, .value_dim = 16, .mask = mask,
                             .causal = causal, .type = DType::f16, .key_lengths = lengths};
    if (causal) c.window_left = 1700;
    for (kernels::AttentionVariant form : forms) {
      if (form.kind == AttentionKind::matrices && mask != Mask::rows) continue;  // they take long to compile
      form.parts = form.kind != AttentionKind::matrices && causal ? 2 : 1;
      const auto o = kernels::operands(rng, c);
      if (!kernels::attention_can_run(form, o.call(o.inputs, o.y, c.options()), capabilities)) continue;
      ++ran;
      kernels::check_attention(*device, o, c.options(), kernels::text(c), &form, kernels::attention_tolerance(c));
    }
  }
  EXPECT_GE(ran, 12 + (capabilities.subgroups ? 4 : 0) + (forms.size() > 4 ? 3 : 0));
}

// Windows without a key that a query sees, a query without one, and what is no number; past a length it is not read.
TEST_P(WindowsOnDevice, AttentionToLongKeysThatAreHidden) {
  constexpr std::int64_t kQueries = 5, kKeys = 1200, kLength = 1111;
  const View mask = view_of(DType::f32, {kQueries, kKeys}, Kind::dense, [](std::int64_t i) {
    const std::int64_t row = i / kKeys, key = i % kKeys;
    double seen = 0;
    if (row == 2 && key == 1000) seen = NAN;
    if (row == 4 && key == 700) seen = 1e30;
    return row == 1 || (row == 0 && key < 1100) || (row == 3 && key > 5) ? -INFINITY : seen;
  });
  const auto random = [&](std::int64_t length) { return random_view(rng, {1, 1, length, 32}, DType::f32); };
  const View values = view_of(DType::f32, {1, 1, kKeys, 32}, Kind::dense, [noise = normal(4)](std::int64_t i) {
    return i < kLength * 32 ? noise(i) : NAN;
  });
  const View lengths = host_view(DType::i32, {1}, std::vector<double>{kLength});
  const kernels::AttentionOperands problem{.inputs = {random(kQueries), random(kKeys), values, mask, lengths},
                                           .y = random(kQueries), .mask = true, .key_lengths = true};
  kernels::check_attention(*device, problem, {.scale = 0.2f}, "hidden");
}

// A graph's executable brings the scratch that windows of keys need.
TEST_F(WindowsTest, AttentionOfAGraphToLongKeys) {
  const Shape shape{2, 2, 901, 40};
  Graph g;
  const Value q = g.input("q", DType::f32, shape), k = g.input("k", DType::f32, shape),
              v = g.input("v", DType::f32, shape), mask = g.input("mask", DType::f32, {901, 901});
  g.output("y", attention(q, k, v, mask, {.scale = 0.2f, .causal = true}));
  const Device gpu(*device);
  Executable exe = compile(g, gpu);
  const std::map<std::string, TensorData> inputs{
      {"q", noise(shape, 1)}, {"k", noise(shape, 2)}, {"v", noise(shape, 3)}, {"mask", noise({901, 901}, 4)}};
  const Bound bound(gpu, g, inputs);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, inputs), "attention to long keys");
}

// Heads beside each other: the keys of all are in one window. And operands in y's own buffer, far from it.
TEST_P(WindowsOnDevice, AttentionLaidOutOtherwise) {
  const auto call = [this](Stream& s, std::span<const View> in, std::span<const View> out) {
    const kernels::AttentionOptions options{.scale = 0.2f, .causal = true};
    kernels::attention(s, in[0], in[1], in[2], {}, out[0], options);
  };
  const Shape kept{2, 4, 700, 16};
  const auto beside = [&] {
    View v = random_view(rng, {2, 700, 4, 16}, DType::f32);
    v.layout = {kept, {4 * 700 * 16, 16, 4 * 16, 1}};
    return v;
  };
  both({beside(), beside(), beside()}, {beside()}, call, {.absolute = 2e-5});
  for (const std::int64_t keys : {300, 1100}) {
    const View all = random_view(rng, {8, 1100, 16}, DType::f32);
    const auto at = [&](std::uint64_t block, std::int64_t length) {
      return View(all.buffer, block * 1100 * 16 * 4, DType::f32, {1, 1, length, 16});
    };
    both({at(0, 90), at(2, keys), at(7, keys)}, {at(4, 90)}, call, {.absolute = 2e-5});
  }
}

TEST_F(WindowsTest, Transposition) {
  const View x = random_view(rng, {3, 260, 140}, DType::f32, Kind::transposed),
             y = random_view(rng, {3, 260, 140}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, kSameBits);
}

TEST_F(WindowsTest, Rows) {
  const View x = random_view(rng, {5, 90, 128}, DType::f32), y = random_view(rng, {5, 90, 128}, DType::f32);
  const View scale = random_view(rng, {128}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], 1); },
       {.ulp = 64, .absolute = 1e-6});
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], -1); },
       {.ulp = 64, .absolute = 1e-6});
  both({x, scale}, {y}, [](Stream& s, auto in, auto out) {
    kernels::layer_norm(s, in[0], in[1], {}, out[0], -1, 1e-5f);
  }, {.ulp = 64, .absolute = 1e-5});
  for (const std::vector<int>& axes : {std::vector{2}, std::vector{1}}) {
    const View sum = random_view(rng, without(x.shape(), axes), DType::f32);
    both({x}, {sum},
         [&](Stream& s, auto in, auto out) { kernels::reduce(s, kernels::ReduceOp::max, in[0], out[0], axes, {}); },
         {});
    both({x}, {sum}, [&](Stream& s, auto in, auto out) {
      kernels::reduce(s, kernels::ReduceOp::sum, in[0], out[0], axes, {});
    }, {.absolute = 1e-3});
  }
}

TEST_F(WindowsTest, ScansArgumentsAndVariances) {
  for (const Kind kind : {Kind::dense, Kind::transposed}) {
    const View x = random_view(rng, {5, 90, 128}, DType::f32, kind), y = random_view(rng, {5, 90, 128}, DType::f32);
    for (const int axis : {1, -1}) {
      if (kind == Kind::transposed && axis == -1) continue;  // a row would reach past a binding
      both({x}, {y}, [axis](Stream& s, auto in, auto out) {
        kernels::scan(s, kernels::ScanOp::sum, in[0], out[0], axis, {});
      }, {.absolute = 1e-4});
      const View which = random_view(rng, axis == 1 ? Shape{5, 128} : Shape{5, 90, 1}, DType::i32);
      both({x}, {which}, [axis](Stream& s, auto in, auto out) {
        kernels::arg_reduce(s, kernels::ArgOp::max, in[0], out[0], std::array{axis});
      }, kSameBits);
      const View spread = random_view(rng, which.shape(), DType::f32);
      both({x}, {spread}, [axis](Stream& s, auto in, auto out) {
        kernels::reduce(s, kernels::ReduceOp::variance, in[0], out[0], std::array{axis}, 1);
      }, {.absolute = 1e-5});
    }
  }
}

// Rows longer than a binding: windows of them leave accumulators in scratch.
TEST_F(WindowsTest, LongRows) {
  using enum kernels::ReduceOp;
  for (const Rows& c : {Rows{{100000}, {0}, Kind::dense}, Rows{{3, 70001}, {1}, Kind::sliced},
                        Rows{{70001, 3}, {0}, Kind::dense}, Rows{{40, 50, 60}, {0, 1, 2}, Kind::reversed},
                        Rows{{5, 300, 200}, {0, 2}, Kind::dense}, Rows{{30000, 2, 4}, {0, 2}, Kind::transposed}}) {
    const Shape kept = without(c.shape, c.axes);
    for (const auto& [op, type, result] :
         {std::tuple{sum, DType::f32, DType::f32}, {mean, DType::f16, DType::f16}, {max, DType::f32, DType::f32},
          {log_sum_exp, DType::f32, DType::f32}, {l2, DType::f32, DType::f32}, {sum, DType::i8, DType::i32},
          {prod, DType::i64, DType::i64}, {any, DType::f32, DType::boolean}, {count, DType::u8, DType::i64}}) {
      const View x = random_view(rng, c.shape, type, c.kind), y = random_view(rng, kept, result);
      both(
          {x}, {y},
          [&](Stream& s, auto in, auto out) {
            kernels::reduce(s, op, in[0], out[0], c.axes);
          },
          is_floating(result) ? Tolerance{.ulp = 16, .absolute = op == sum ? 3e-3 : 1e-5} : kSameBits);
    }
  }
  // With work on both sides, through a graph.
  const Graph g = [] {
    Graph graph;
    const Value a = graph.input("x", DType::f32, {2, 40000}), b = graph.input("b", DType::f32, {2});
    graph.output("y", relu(reduce(ReduceOp::sum, exp(a) * 0.001, std::vector<int>{1}, false) + b));
    return graph;
  }();
  const Device gpu(*device);
  const Executable exe = compile(g, gpu);
  EXPECT_EQ(exe.report().steps.size(), 1u) << exe.report().graph;
  const std::map<std::string, TensorData> inputs{{"x", noise({2, 40000}, 1)}, {"b", noise({2}, 2)}};
  const Bound bound(gpu, g, inputs);
  Executable run = exe;
  bound.run(run);
  bound.compare(compiler::evaluate(g, inputs), "a sum of long rows");
}

// Rows of nothing have as many results as others.
TEST_F(WindowsTest, ResultsOfEmptyRows) {
  const View x = random_view(rng, {200, 0, 300}, DType::f32), y = random_view(rng, {200, 300}, DType::f32);
  const View wide = random_view(rng, {3, 30000, 5, 0}, DType::f32), z = random_view(rng, {30000, 5}, DType::f32);
  for (const kernels::ReduceOp op : {kernels::ReduceOp::sum, kernels::ReduceOp::max, kernels::ReduceOp::log_sum_exp}) {
    both({x}, {y}, [op](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], std::array{1}); },
         kSameBits);
    both({wide}, {z}, [op](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], std::array{0, 3}); },
         kSameBits);
  }
}

// Moments of windows join without loss: 5e-6 is what some 80 additions of squares may round, and less than a forgotten
// correction or element of most of these rows.
TEST_F(WindowsTest, VariancesOfLongRows) {
  using enum kernels::ReduceOp;
  const auto check = [&](const View& x, const std::vector<int>& axes, const View& y) {
    for (const auto& [op, correction] : {std::pair{variance, 0}, {deviation, 1}}) {
      both({x}, {y}, [&, op = op, correction = correction](Stream& s, auto in, auto out) {
        kernels::reduce(s, op, in[0], out[0], axes, correction);
      }, {.ulp = 1, .relative = 5e-6});
    }
  };
  for (const Rows& c :
       {Rows{{100000}, {0}, Kind::dense}, Rows{{3, 70001}, {1}, Kind::sliced}, Rows{{70001, 3}, {0}, Kind::dense},
        Rows{{20000, 8}, {0}, Kind::dense}, Rows{{40, 50, 60}, {0, 1, 2}, Kind::reversed},
        Rows{{5, 300, 200}, {0, 2}, Kind::dense}, Rows{{30000, 2, 4}, {0, 2}, Kind::transposed},
        Rows{{3, 2, 40001}, {0, 2}, Kind::dense}, Rows{{3, 40000}, {0}, Kind::dense}}) {
    // The mean as large beside the deviation as the type's spacing there allows.
    for (const auto& [type, result, mean, deviation] : {std::tuple{DType::f32, DType::f32, 1e4, 1e-2},
                                                        {DType::f16, DType::f16, 64, 0.25},
                                                        {DType::bf16, DType::f32, -8, 0.25}}) {
      check(view_of(type, c.shape, c.kind, normal(7, mean, deviation)), c.axes,
            random_view(rng, without(c.shape, c.axes), result, c.kind));
    }
  }
  const View y = output(DType::f32, {3});
  // Windows of different means, and an outlier first.
  check(view_of(DType::f32, {3, 50001}, Kind::dense, [noise = normal(8)](std::int64_t i) {
          return i == 50001 ? 1e6 : static_cast<double>(i / 5000 * 100) + noise(i);
        }), {1}, y);
  // NaN in one row's last window, an infinity in another's first.
  check(view_of(DType::f32, {50001, 3}, Kind::dense, [](std::int64_t i) {
          return i == 150001 ? NAN : i == 302 ? INFINITY : static_cast<double>(i % 7);
        }), {0}, y);
}

TEST_F(WindowsTest, SoftmaxOfLongRows) {
  struct Case {
    Shape shape;
    int axis;
    DType type;
  };
  for (const Case& c :
       {Case{{100000}, 0, DType::f32}, Case{{3, 40000}, 1, DType::f16}, Case{{30000, 4}, 0, DType::f32}}) {
    for (const bool log : {false, true}) {
      const View x = random_view(rng, c.shape, c.type), y = random_view(rng, c.shape, c.type);
      both({x}, {y}, [&](Stream& s, auto in, auto out) {
        log ? kernels::log_softmax(s, in[0], out[0], c.axis)
            : kernels::softmax(s, in[0], out[0], c.axis);
      }, {.ulp = 64, .absolute = log ? 1e-4 : 1e-9});
    }
  }
}

// Work before and after rows that are cut into windows is done by the same dispatches.
TEST_F(WindowsTest, WorkAroundLongRows) {
  using Build = std::function<void(Graph&, Value x, Value r)>;
  const std::pair<Shape, Build> cases[] = {
      {{2, 40000}, [](Graph& g, Value x, Value r) { g.output("y", relu(softmax(x * 0.5 + r, 1))); }},
      {{30000, 4}, [](Graph& g, Value x, Value r) { g.output("y", log_softmax(x + r, 0) * r); }},
      {{2, 4, 9000}, [](Graph& g, Value x, Value r) { g.output("y", silu(group_norm(x + r, {}, {}, 2, 1e-5))); }},
      {{70000},
       [](Graph& g, Value x, Value r) {
         const Value sum = x + r;
         g.output("y", layer_norm(sum, {}, {}, 1e-5, 0) * 2.0);
         g.output("sum", sum);
       }},
      {{2, 40000}, [](Graph& g, Value x, Value r) { g.output("y", reduce(ReduceOp::log_sum_exp, x * 0.5 + r, {1})); }},
      {{30000, 4}, [](Graph& g, Value x, Value r) { g.output("y", sqrt(variance(x - r, {0}) + 1.0)); }},
      {{2, 40000},
       [](Graph& g, Value x, Value r) {
         const Value sum = x + r;
         g.output("y", relu(reduce(ReduceOp::max, sum, {1})));
         g.output("sum", sum);
       }},
      {{30000, 4},
       [](Graph& g, Value x, Value r) {
         g.output("y", reduce(ReduceOp::max, x, {1}));
         g.output("r", x * r);
       }},
  };
  const Device gpu(*device);
  for (const auto& [shape, build] : cases) {
    Graph g;
    build(g, g.input("x", DType::f32, shape), g.input("r", DType::f32, shape));
    Executable exe = compile(g, gpu);
    EXPECT_EQ(exe.report().steps.size(), 1u) << exe.report().graph;
    const std::map<std::string, TensorData> inputs{{"x", noise(shape, 1)}, {"r", noise(shape, 2)}};
    for (const std::uint64_t shift : {0, 4}) {  // so that fours no longer lie together, and other ways are gone
      const Bound bound(gpu, g, inputs, shift);
      bound.run(exe);
      bound.compare(compiler::evaluate(g, inputs), to_string(shape));
    }
  }
}

// What does not suit windows stays apart: operands that lie otherwise than the rows, or too many of them.
TEST_F(WindowsTest, WorkThatStaysApart) {
  gpu::DeviceOptions options;
  options.adapter = std::to_string(device->adapter().index);
  options.minimum = true;
  options.binding_limit = 64 << 10;
  const Device gpu(gpu::Device::open(options));
  const auto check = [&](const Graph& g, const std::map<std::string, TensorData>& inputs) {
    Executable exe = compile(g, gpu);
    const Bound bound(gpu, g, inputs);
    bound.run(exe);
    bound.compare(compiler::evaluate(g, inputs), exe.report().graph);
  };
  for (const bool before : {false, true}) {
    Graph g;
    const Value a = g.input("a", DType::f32, {4, 300, 200}), turned = permute(a, {2, 0, 1});
    const Value b = before ? turned * 2.0 : g.input("b", DType::f32, {200, 4, 300});
    const Value y = layer_norm(b, {}, {}, 1e-5, 1);
    g.output("y", before ? y : y * turned);
    std::map<std::string, TensorData> inputs{{"a", noise({4, 300, 200}, 1)}};
    if (!before) inputs.emplace("b", noise({200, 4, 300}, 2));
    check(g, inputs);
  }
  Graph g;
  std::map<std::string, TensorData> inputs;
  const auto next = [&] {
    const std::string name = std::format("x{}", inputs.size());
    inputs.emplace(name, noise({2, 40000}, static_cast<unsigned>(inputs.size())));
    return g.input(name, DType::f32, {2, 40000});
  };
  Value y = softmax(relu(next()), 1);
  for (int i = 0; i < 6; ++i) y = y * next();
  g.output("y", y);
  check(g, inputs);
}

TEST_F(WindowsTest, Products) {
  const View a = random_view(rng, {300, 60}, DType::f32), b = random_view(rng, {60, 250}, DType::f32);
  const View y = random_view(rng, {300, 250}, DType::f32);
  both({a, b}, {y}, [](Stream& s, auto in, auto out) { kernels::matmul(s, in[0], in[1], out[0]); }, {.absolute = 1e-3});
}

// Operands that are past a binding along k: sums of its windows meet in scratch. Small whole numbers, whose sums
// are exact whatever their order.
TEST_F(WindowsTest, ProductsAlongK) {
  const auto whole = [](int seed) -> ValueOf {
    return [seed](std::int64_t i) { return static_cast<double>((i + seed) * 7919 % 1013 % 7 - 3); };
  };
  const auto product = [&](const Expression* epilogue = nullptr) -> KernelCall {
    return [this, epilogue](Stream& s, auto in, auto out) {
      const std::vector<View> operands(in.begin() + 2, in.end());
      kernels::matmul(s, in[0], in[1], out[0], {epilogue, operands});
    };
  };
  Expression shifted;  // of a product and a row, to f16
  const int sum = shifted.input(DType::f32), row = shifted.input(DType::f32);
  shifted.output(shifted.cast(shifted.apply(ScalarOp::add, {sum, row}), DType::f16));
  const auto check = [&](DType type, const Shape& a_shape, const Shape& b_shape, Kind kind, DType y,
                         const Tolerance& tolerance = {}) {
    SCOPED_TRACE(std::format("{} {} x {}", name(type), weft::to_string(a_shape), weft::to_string(b_shape)));
    Shape shape = a_shape;
    shape[-1] = b_shape[-1];
    const View a = view_of(type, a_shape, kind, whole(1)), b = view_of(type, b_shape, kind, whole(2));
    both({a, b}, {random_view(rng, shape, y)}, product(), tolerance);
    if (y != DType::f16) return;
    const View r = view_of(DType::f32, Shape{b_shape[-1]}, Kind::dense, whole(3));
    both({a, b, r}, {random_view(rng, shape, y)}, product(&shifted), {});
  };
  for (const Kind kind : {Kind::dense, Kind::transposed, Kind::reversed}) {
    check(DType::f32, {5, 9000}, {9000, 40}, kind, DType::f32);
    check(DType::f32, {3, 40000}, {40000, 1}, kind, DType::f32);
    check(DType::f16, {1, 50001}, {50001, 6}, kind, DType::f16);
    check(DType::bf16, {2, 3, 20000}, {2, 20000, 5}, kind, DType::f16);
    check(DType::i8, {4, 70000}, {70000, 3}, kind, DType::i32);
    check(DType::f32, {150, 1500}, {1500, 170}, kind, DType::f32);  // sums past a binding, too
  }
  // Their imaginary parts are not whole; sums of 9,000 products of about 3 are known to 9,000 · 2^-24 · 27,000.
  check(DType::c64, {3, 9000}, {9000, 4}, Kind::dense, DType::c64, {.absolute = 0.01});
  // Past a binding by a few bytes only.
  check(DType::f32, {2, 4096}, {4096, 4}, Kind::dense, DType::f32);
}

// Tables, indices and results past a binding; of each index the window that holds it does the work.
TEST_F(WindowsTest, Selections) {
  using enum ScatterOp;
  const auto indices = [&](const Shape& shape, DType type, int size) {
    const View v = random_view(rng, shape, type);
    for (std::int64_t i = 0; i < v.count(); ++i) {
      set_element_bits(v, i, static_cast<std::uint64_t>(static_cast<std::int64_t>(rng() % (2 * size)) - size));
    }
    return v;
  };
  const auto gather = [](int axis) {
    return [axis](Stream& s, auto in, auto out) { kernels::gather(s, in[0], in[1], out[0], axis); };
  };
  for (const DType type : {DType::f32, DType::f16, DType::u4, DType::u64}) {
    const View table = random_view(rng, {6000, 40}, type);
    both({table, indices({500}, DType::i32, 6000)}, {random_view(rng, {500, 40}, type)}, gather(0), kSameBits);
    const View wide = random_view(rng, {40, 6000}, type, Kind::transposed);
    both({wide, indices({9}, DType::i64, 6000)}, {random_view(rng, {40, 9}, type)}, gather(1), kSameBits);
  }
  const View table = random_view(rng, {300, 20, 30}, DType::f32, Kind::reversed);
  both(
      {table, indices({300, 7, 30}, DType::i32, 20)}, {random_view(rng, {300, 7, 30}, DType::f32)},
      [](Stream& s, auto in, auto out) { kernels::gather_elements(s, in[0], in[1], out[0], 1); }, kSameBits);
  View tuples = indices({90, 2}, DType::i32, 20);
  both({table, tuples}, {random_view(rng, {90, 30}, DType::f32)}, [](Stream& s, auto in, auto out) {
    kernels::gather_nd(s, in[0], in[1], out[0], 0);
  }, kSameBits);

  for (const auto& [op, type] :
       {std::pair{assign, DType::f32}, {add, DType::f32}, {max, DType::f16}, {add, DType::u8}, {assign, DType::i8}}) {
    const View by = indices({300}, DType::i32, 2000);
    if (op == assign) {
      for (std::int64_t i = 0; i < 300; ++i) set_element_bits(by, i, static_cast<std::uint64_t>(6 * i));  // each once
    }
    both(
        {by, random_view(rng, {300, 90}, type)}, {random_view(rng, {2000, 90}, type)},
        [op](Stream& s, auto in, auto out) { kernels::scatter(s, op, in[0], in[1], out[0], 0); },
        op == add ? Tolerance{.absolute = 1e-5} : kSameBits);
  }
  both({indices({200, 3, 30}, DType::i32, 20), random_view(rng, {200, 3, 30}, DType::f32)}, {table},
       [](Stream& s, auto in, auto out) { kernels::scatter_elements(s, add, in[0], in[1], out[0], 1); },
       {.absolute = 1e-5});
  both({tuples, random_view(rng, {90, 30}, DType::f32)}, {table}, [](Stream& s, auto in, auto out) {
    kernels::scatter_nd(s, max, in[0], in[1], out[0], 0);
  }, kSameBits);
}

// Elements of 64 bits, whose chains of updates take room too; of updates that meet the last one stays.
TEST_F(WindowsTest, Chains) {
  using enum ScatterOp;
  const auto check = [&](ScatterOp op, DType type, const Shape& whole, const Shape& part, int axis, Kind kind) {
    const View y = random_view(rng, whole, type), updates = random_view(rng, part, type, kind);
    const View indices = random_view(rng, part, DType::i32, kind);
    for (std::int64_t i = 0; i < indices.count(); ++i)
      set_element_bits(indices, i, rng() % static_cast<std::uint64_t>(whole[axis]));
    both({indices, updates}, {y}, [=](Stream& s, auto in, auto out) {
      kernels::scatter_elements(s, op, in[0], in[1], out[0], axis);
    }, kSameBits);
  };
  for (const ScatterOp op : {assign, add}) {
    check(op, DType::i64, {30000}, {20000}, 0, Kind::dense);
    check(op, DType::u64, {60, 500}, {60, 300}, 1, Kind::transposed);
    check(op, DType::i64, {700, 40}, {900, 40}, 0, Kind::dense);
    check(op, DType::i64, {3, 5}, {9000, 5}, 0, Kind::transposed);
  }
}

TEST_F(WindowsTest, Pads) {
  using kernels::PadMode;
  using Numbers = std::vector<std::int64_t>;
  for (const auto& [type, kind] : {std::pair{DType::f32, Kind::reversed},
                                   {DType::f16, Kind::dense},
                                   {DType::u8, Kind::transposed},
                                   {DType::i64, Kind::dense},
                                   {DType::u4, Kind::dense}}) {
    const View x = random_view(rng, {300, 240}, type, kind),
               y = random_view(rng, {320, 250}, type, rng() % 2 ? Kind::dense : Kind::offset);
    for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric, PadMode::wrap}) {
      both(
          {x}, {y}, [&](Stream& s, auto in, auto out) { kernels::pad(s, in[0], out[0], Numbers{13, 5}, mode, 3); },
          kSameBits);
    }
    both({x}, {random_view(rng, {300, 240}, type)}, [](Stream& s, auto in, auto out) {
      kernels::roll(s, in[0], out[0], Numbers{-17, 101});
    }, kSameBits);
    both(
        {x}, {random_view(rng, {600, 240}, type)},
        [](Stream& s, auto in, auto out) { kernels::tile(s, in[0], out[0]); }, kSameBits);
    both(
        {x}, {random_view(rng, {900, 480}, type)},
        [](Stream& s, auto in, auto out) { kernels::repeat(s, in[0], out[0]); }, kSameBits);
  }
  // One row past a binding, of a tiny tensor and back.
  const View x = random_view(rng, {1, 100000}, DType::f32);
  both({x}, {random_view(rng, {1, 300}, DType::f32)}, [](Stream& s, auto in, auto out) {
    kernels::pad(s, in[0], out[0], Numbers{0, -70001}, PadMode::constant, 0);
  }, kSameBits);
  both({random_view(rng, {1, 3}, DType::f32)}, {x}, [](Stream& s, auto in, auto out) {
    kernels::pad(s, in[0], out[0], Numbers{0, 99990}, PadMode::reflect);
  }, kSameBits);
}

TEST_F(WindowsTest, Compaction) {
  for (const DType type : {DType::f32, DType::u8, DType::i64}) {
    for (const auto& [shape, kind] : {std::pair{Shape{100000}, Kind::dense}, {Shape{30, 1200}, Kind::reversed}}) {
      const std::int64_t n = element_count(shape);
      const View x = random_view(rng, shape, type, kind);
      const View mask = random_view(rng, shape, DType::boolean, kind);
      for (const std::int64_t capacity : {n, n / 3}) {
        both(
            {x, mask}, {random_view(rng, {capacity}, type), random_view(rng, {1}, DType::u32)},
            [&](Stream& s, auto in, auto out) { kernels::compress(s, in[0], in[1], out[0], out[1]); },
            kSameBits);
        both(
            {random_view(rng, {capacity}, type), mask}, {x, random_view(rng, {1}, DType::u32)},
            [&](Stream& s, auto in, auto out) { kernels::expand(s, in[0], in[1], out[0], out[1]); },
            kSameBits);
      }
      both(
          {mask}, {random_view(rng, {n / 2, shape.rank()}, DType::i32), random_view(rng, {1}, DType::u32)},
          [&](Stream& s, auto in, auto out) { kernels::nonzero(s, in[0], out[0], out[1]); }, kSameBits);
    }
  }
}

TEST_F(WindowsTest, NormsAndScansOfLongRows) {
  for (const auto& [shape, first, type, kind] :
       {std::tuple{Shape{70000}, 0, DType::f32, Kind::dense}, {{3, 40000}, 1, DType::f16, Kind::sliced},
        {{2, 300, 90}, 1, DType::f32, Kind::dense}, {{2, 20000}, 1, DType::f32, Kind::transposed}}) {
    const Shape row(std::span(shape.begin() + first, shape.end()));
    const View x = random_view(rng, shape, type, kind), y = random_view(rng, shape, type);
    const View scale = random_view(rng, row, DType::f32), bias = random_view(rng, row, DType::f32);
    both({x, scale, bias}, {y}, [&, axis = first](Stream& s, auto in, auto out) {
      kernels::layer_norm(s, in[0], in[1], in[2], out[0], axis, 1e-5f);
    }, {.ulp = 2, .absolute = 2e-5});
    both({x, scale}, {y},
         [&, axis = first](Stream& s, auto in, auto out) {
           kernels::rms_norm(s, in[0], in[1], out[0], axis, 1e-5f);
         },
         {.ulp = 2, .absolute = 2e-5});
  }
  for (const int channels : {1, 2}) {  // the channels' axis
    const Shape shape = channels == 1 ? Shape{2, 6, 9000} : Shape{2, 9000, 6};
    const View x = random_view(rng, shape, DType::f32), y = random_view(rng, shape, DType::f32),
               w = random_view(rng, {6}, DType::f32);
    both({x, w}, {y}, [&, channels](Stream& s, auto in, auto out) {
      kernels::group_norm(s, in[0], in[1], in[1], out[0], channels, 2, 1e-5f);
    }, {.ulp = 2, .absolute = 2e-5});
  }
  for (const auto& [shape, axis] : {std::pair{Shape{50001}, 0}, {{2, 40000}, 1}, {{20000, 5}, 0}}) {
    for (const auto& [op, type] : {std::pair{kernels::ScanOp::sum, DType::i32},
                                   {kernels::ScanOp::sum, DType::i64},
                                   {kernels::ScanOp::max, DType::f32},
                                   {kernels::ScanOp::log_sum_exp, DType::f32}}) {
      for (const bool reverse : {false, true}) {
        const View x = random_view(rng, shape, type), y = random_view(rng, shape, type);
        both({x}, {y}, [&, axis = axis, op = op](Stream& s, auto in, auto out) {
          const kernels::ScanOptions options{.reverse = reverse, .exclusive = axis == 1};
          kernels::scan(s, op, in[0], out[0], axis, options);
        }, op == kernels::ScanOp::log_sum_exp ? Tolerance{.relative = 1e-4} : kSameBits);
      }
    }
  }
}

// The same for the places of extremes, which are counted over the whole row: over one axis and over several, in any
// order.
TEST_F(WindowsTest, ArgumentsOfLongRows) {
  for (const Rows& c :
       {Rows{{100000}, {0}, Kind::dense}, Rows{{3, 70001}, {1}, Kind::sliced}, Rows{{70001, 3}, {0}, Kind::dense},
        Rows{{40, 50, 60}, {0, 1, 2}, Kind::reversed}, Rows{{5, 300, 200}, {0, 2}, Kind::dense},
        Rows{{300, 4, 200}, {0, 2}, Kind::transposed}, Rows{{3, 40000}, {0}, Kind::dense}}) {
    const Shape kept = without(c.shape, c.axes);
    for (const auto& [type, index] :
         {std::pair{DType::f32, DType::i32}, {DType::u8, DType::i64}, {DType::i64, DType::u32}}) {
      for (const auto op : {kernels::ArgOp::min, kernels::ArgOp::max}) {
        both(
            {random_view(rng, c.shape, type, c.kind)}, {random_view(rng, kept, index)},
            [&](Stream& s, auto in, auto out) {
              kernels::arg_reduce(s, op, in[0], out[0], c.axes);
            },
            kSameBits);
      }
    }
  }
}

// Rows that reach past a binding along several axes, each by itself: windows are cut along all of those, and are not of
// one length. Of equal elements, which lie in several windows, the first one counts.
TEST_P(WindowsOnDevice, RowsFarAlongSeveralAxes) {
  const Rows far[] = {{{5, 130, 151}, {0, 1}, Kind::dense},          {{5, 130, 151}, {0, 1, 2}, Kind::sliced},
                      {{151, 130, 5}, {1, 2}, Kind::transposed},     {{3, 2, 20001}, {0, 1, 2}, Kind::dense},
                      {{3, 30, 3, 701}, {0, 2, 3}, Kind::reversed}, {{701, 3, 30, 3}, {0, 2, 3}, Kind::transposed}};
  const auto steps = [](std::int64_t i) { return static_cast<double>(i * 7919 % 10007 / 1000 - i / 9000 % 7); };
  for (const auto& [shape, axes, kind] : far) {
    const Shape kept = without(shape, axes);
    for (const auto& [type, index] :
         {std::pair{DType::f32, DType::i32}, {DType::f16, DType::u32}, {DType::i64, DType::i64}}) {
      for (const auto op : {kernels::ArgOp::min, kernels::ArgOp::max}) {
        both({view_of(type, shape, kind, steps)}, {random_view(rng, kept, index)},
             [&, axes = axes](Stream& s, auto in, auto out) {
               kernels::arg_reduce(s, op, in[0], out[0], axes);
             },
             kSameBits);
      }
    }
    using enum kernels::ReduceOp;
    for (const auto& [op, type, result] :
         {std::tuple{sum, DType::i8, DType::i32}, {max, DType::f16, DType::f16}, {deviation, DType::f32, DType::f32}}) {
      both({view_of(type, shape, kind, steps)}, {random_view(rng, kept, result, kind)},
           [&, axes = axes, op = op](Stream& s, auto in, auto out) {
             kernels::reduce(s, op, in[0], out[0], axes, 1);
           },
           op == deviation ? Tolerance{.relative = 5e-6} : kSameBits);
    }
  }
  // Means that differ from window to window, so that each must count as many elements as it has.
  const auto drifting = [noise = normal(5)](std::int64_t i) { return static_cast<double>(i / 7000) + noise(i); };
  for (const auto& [type, kind] : {std::pair{DType::f32, Kind::dense}, {DType::f16, Kind::transposed}}) {
    const View x = view_of(type, {5, 130, 151}, kind, drifting), y = random_view(rng, x.shape(), type);
    const View scale = random_view(rng, x.shape(), DType::f32);
    both({x, scale}, {y}, [&](Stream& s, auto in, auto out) {
      kernels::layer_norm(s, in[0], in[1], {}, out[0], 0, 1e-5f);
    }, {.ulp = 2, .absolute = 2e-5});
    both({x, scale}, {y}, [&](Stream& s, auto in, auto out) {
      kernels::rms_norm(s, in[0], in[1], out[0], 0, 1e-5f);
    }, {.ulp = 2, .absolute = 2e-5});
    const View images = view_of(type, {2, 6, 20001}, kind, drifting), z = random_view(rng, images.shape(), type);
    const View weights = random_view(rng, {6}, DType::f32);
    both({images, weights}, {z}, [&](Stream& s, auto in, auto out) {
      kernels::group_norm(s, in[0], in[1], in[1], out[0], 1, 2, 1e-5f);
    }, {.ulp = 2, .absolute = 2e-5});
  }
}

// Rows that are few elements far apart, among others that are far apart, too.
TEST_P(WindowsOnDevice, RowsFarAmongOthers) {
  for (const auto& [shape, axis, kind] : {std::tuple{Shape{30, 701, 40}, 1, Kind::dense},
                                          {Shape{40, 701, 30}, 1, Kind::transposed},
                                          {Shape{3, 5, 9001}, 0, Kind::sliced}}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const View x = random_view(rng, shape, type, kind), y = random_view(rng, shape, type, kind);
      both({x}, {y}, [&, axis = axis](Stream& s, auto in, auto out) {
        kernels::softmax(s, in[0], out[0], axis);
      }, {.ulp = 64, .absolute = 1e-9});
      for (const bool reverse : {false, true}) {
        const kernels::ScanOptions options{.reverse = reverse};
        both({x}, {y}, [&, axis = axis](Stream& s, auto in, auto out) {
          kernels::scan(s, kernels::ScanOp::max, in[0], out[0], axis, options);
        }, kSameBits);
      }
    }
  }
}

// A row of one value has no end to cut at: so many elements are too many for a dispatch all the same.
TEST_F(WindowsTest, BroadcastRowsAreCutByTheirCount) {
  View x(device->allocate(4), 0, DType::f32, {3, std::int64_t{1} << 31}, {0, 0});
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, kernels::every_axis()), 1);
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, {true}), 0);
  x.layout.shape[0] = 1;
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, kernels::every_axis()), -1);
}

// Many rows that are longer than a binding: what their windows leave for each other must fit one too.
TEST_F(WindowsTest, ManyLongRows) {
  const View x = random_view(rng, {3, 40000}, DType::f32), y = random_view(rng, {3, 40000}, DType::f32);
  both({x}, {random_view(rng, {40000}, DType::f32)}, [&](Stream& s, auto in, auto out) {
    const std::array axes{0};
    kernels::reduce(s, kernels::ReduceOp::max, in[0], out[0], axes);
  }, kSameBits);
  both(
      {x}, {y},
      [&](Stream& s, auto in, auto out) {
        kernels::scan(s, kernels::ScanOp::max, in[0], out[0], 0, {});
      },
      kSameBits);
  both({x}, {y}, [&](Stream& s, auto in, auto out) {
    kernels::softmax(s, in[0], out[0], 0);
  }, {.ulp = 64, .absolute = 1e-9});
  const View z = random_view(rng, {30000, 3}, DType::f32, Kind::transposed),
             w = random_view(rng, {30000, 3}, DType::f32);
  const View scale = random_view(rng, {3}, DType::f32);
  both({z, scale}, {w},
       [&](Stream& s, auto in, auto out) {
         kernels::rms_norm(s, in[0], in[1], out[0], 1, 1e-5f);
       },
       {.ulp = 2, .absolute = 2e-5});
}

// Each element of a part is what it would be in the whole.
TEST_F(WindowsTest, RandomNumbers) {
  const View key = host_view(DType::u32, {2}, std::vector<double>{17, 4});
  for (const Kind kind : {Kind::dense, Kind::offset, Kind::transposed, Kind::sliced}) {
    both(
        {key}, {random_view(rng, {3, 101, 301}, DType::u8, kind)},
        [](Stream& s, auto in, auto out) { kernels::random_bits(s, in[0], out[0]); }, kSameBits);
    both({key}, {random_view(rng, {70, 501}, DType::f32, kind)}, [](Stream& s, auto in, auto out) {
      kernels::random_uniform(s, in[0], -1, 3, out[0]);
    }, kSameBits);
    both({key}, {random_view(rng, {40001}, DType::f16, kind)}, [](Stream& s, auto in, auto out) {
      kernels::random_normal(s, in[0], 0, 1, out[0]);
    }, {.ulp = 2, .absolute = 1e-3});
    both({key}, {random_view(rng, {90, 200}, DType::i64, kind)}, [](Stream& s, auto in, auto out) {
      kernels::random_integers(s, in[0], -7, 1000, out[0]);
    }, kSameBits);
  }
}

// Sorts go in parts of their rows: short ones, long ones with their keys on the way, and the few best.
TEST_F(WindowsTest, Sorts) {
  for (const auto& [shape, axis, type, kind] : {std::tuple{Shape{7, 90, 128}, 2, DType::f32, Kind::dense},
                                                {{7, 90, 128}, 1, DType::f16, Kind::dense},
                                                {{40, 1500}, 1, DType::f32, Kind::dense},
                                                {{1500, 40}, 0, DType::i32, Kind::transposed},
                                                {{30, 1200}, 1, DType::u8, Kind::sliced},
                                                {{30, 1100}, 1, DType::u64, Kind::dense},
                                                {{3, 20, 1300}, 2, DType::boolean, Kind::reversed}}) {
    const View x = random_view(rng, shape, type, kind, Values::special);
    both({x}, {random_view(rng, shape, type, kind), random_view(rng, shape, DType::i32, kind)}, sorts(axis, axis == 1),
         kSameBits);
    Shape top = shape;
    top[axis] = 9;
    both({x}, {random_view(rng, top, type, kind), random_view(rng, top, DType::i64, kind)}, finds_top(axis), kSameBits);
  }
}

// Rows longer than a binding, in windows that are sorted by twos: two to nine of them, the last whole or not.
TEST_F(WindowsTest, SortsOfLongRows) {
  for (const auto& [shape, axis, type, places, kind, descending] :
       {std::tuple{Shape{5000}, 0, DType::f32, DType::i32, Kind::dense, false},
        {{2, 11000}, 1, DType::f32, DType::i64, Kind::dense, true},
        {{20000}, 0, DType::u8, DType::u32, Kind::dense, false},
        {{30000}, 0, DType::i8, DType::i32, Kind::dense, true},
        {{9000, 2}, 0, DType::f16, DType::i32, Kind::transposed, true},
        {{3, 6000}, 1, DType::i64, DType::i32, Kind::dense, false},
        {{7001}, 0, DType::boolean, DType::i32, Kind::reversed, false},
        {{7456}, 0, DType::i64, DType::i32, Kind::reversed, false},
        {{70000}, 0, DType::f8e4m3, DType::i32, Kind::dense, true},
        {{40000}, 0, DType::f32, DType::i32, Kind::dense, false}}) {
    const View x = random_view(rng, shape, type, kind, Values::special);
    const KernelCall sort = sorts(axis, descending);
    both({x}, {random_view(rng, shape, type, kind), random_view(rng, shape, places, kind)}, sort, kSameBits);
    both({x}, {random_view(rng, shape, type, kind)}, sort, kSameBits);
    for (const std::int64_t k : {1, 9, 250}) {
      Shape top = shape;
      top[axis] = k;
      both({x}, {random_view(rng, top, type, kind), random_view(rng, top, places, kind)}, finds_top(axis), kSameBits);
    }
  }
}

// What the outputs do not hold while windows are sorted goes through scratch.
TEST_F(WindowsTest, SortsOfLongRowsInScratch) {
  for (const auto& [shape, axis, type, places, kind] :
       {std::tuple{Shape{9000}, 0, DType::f32, DType::i32, Kind::dense},
        {{2, 7000}, 1, DType::f32, DType::i64, Kind::dense},
        {{20000}, 0, DType::u8, DType::u32, Kind::dense},
        {{9000, 2}, 0, DType::f16, DType::i32, Kind::transposed},
        {{7001}, 0, DType::boolean, DType::i32, Kind::reversed}}) {
    const View x = random_view(rng, shape, type, kind, Values::special);
    both({x}, {random_view(rng, shape, places, kind)}, argsorts(axis, true), kSameBits);
    Shape most = shape;
    most[axis] = shape[axis] - 900;
    both({x}, {random_view(rng, most, type, kind), random_view(rng, most, places, kind)}, finds_top(axis), kSameBits);
  }
}

TEST_F(WindowsTest, WhatCannotBeCutIsRefusedByName) {
  const View x(device->allocate(400000), 0, DType::f32, {100000}), y(device->allocate(8), 0, DType::f32, {1, 1, 1, 2});
  gpu::Encoder encoder(*device);
  View turned(x.buffer, 0, DType::f32, {1, 1, 20000, 2}, {0, 0, 1, 50000});
  try {
    kernels::attention(encoder, y, turned, turned, {}, View(device->allocate(8), 0, DType::f32, {1, 1, 1, 2}), {});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("takes 280000 bytes where it cannot be cut"));
  }
  View apart(x.buffer, 0, DType::f32, {3});
  apart.layout.strides[0] = 40000;
  const View indices(device->allocate(12), 0, DType::i32, {3});
  try {
    kernels::sort(encoder, apart, {}, indices, {});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("neighbours along axis 0 lie more than the 65536 bytes apart"));
  }
}

TEST_F(WindowsTest, TheFlagForcesIt) {
  set_flag(Flag::binding_limit, "1M");
  const gpu::Device forced = limited(flag_bytes(Flag::binding_limit), std::nullopt);
  reset_flags();
  EXPECT_EQ(forced.capabilities().max_binding, 1u << 20);
  EXPECT_EQ(limited(4096, std::nullopt).capabilities().max_binding, 4096u);
  EXPECT_THAT(test::refused_by([] { limited(1000, std::nullopt); }),
              testing::HasSubstr("DeviceOptions::binding_limit) is 1000 bytes, expected 4096 or more"));
}

// A dispatch that could take too long for a watchdog goes as several, in place too; so does a submit.
TEST_F(WindowsTest, LongWorkIsCut) {
  device.emplace(limited(std::nullopt, 1 << 20));
  const View a = random_view(rng, {256, 128}, DType::f32), b = random_view(rng, {128, 192}, DType::f32);
  const View y = random_view(rng, {256, 192}, DType::f32), x = random_view(rng, {100000}, DType::f32);
  const auto product = [](Stream& s, auto in, auto out) { kernels::matmul(s, in[0], in[1], out[0]); };
  both({a, b}, {y}, product, {.absolute = 1e-3});
  both({x}, {x}, [](Stream& s, auto in, auto out) { kernels::binary(s, ScalarOp::add, in[0], in[0], out[0]); }, {});
  gpu::Recording recording(*device);
  const View views[] = {to_device(*device, a), to_device(*device, b), to_device(*device, y)};
  kernels::matmul(recording, views[0], views[1], views[2]);
  ASSERT_GE(recording.size(), 4u);
  double flops = 0;
  for (const KernelRun& r : recording.dispatches()) {
    EXPECT_LE(r.work.amount(), 2.1 * (1 << 20));
    flops += r.work.flops;
  }
  EXPECT_NEAR(flops, 2.0 * 256 * 128 * 192, 10);
}

}  // namespace
}  // namespace weft::test
