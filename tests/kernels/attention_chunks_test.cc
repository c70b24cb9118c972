// Attention whose operands exceed a binding.
#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "kernels/attention_cases.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/throws.h"

namespace weft::test {
namespace {

using AttentionChunks = ChunksTest;
using AttentionChunksOnDevice = ChunksOnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, AttentionChunksOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

// q and y are split by heads and queries, keys by batch and heads. The attention windows and lengths are unchanged.
TEST_F(AttentionChunks, HeadsAndQueries) {
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

// The gradient is cut by batches and heads of keys; what one head has must fit.
TEST_F(AttentionChunks, Gradient) {
  const auto call = [](Stream& s, std::span<const View> in, std::span<const View> out) {
    kernels::attention_gradient(s, in[0], in[1], in[2], in[3], in[4], in[5], in[6], out[0], out[1], out[2],
                                {.scale = 0.2f, .causal = true}, {{}, in[7]});
  };
  const auto operands = [&](std::int64_t queries) {
    const Shape of_queries{2, 4, queries, 32}, of_keys{2, 2, 90, 32}, rows{2, 4, queries};
    const auto any = [&](const Shape& shape) { return random_view(rng, shape, DType::f32); };
    const View q = any(of_queries), k = any(of_keys), v = any(of_keys), g = any(of_queries), log_sums = any(rows);
    const View mask = random_view(rng, {2, 1, queries, 90}, DType::boolean);
    const View lengths = host_view(DType::i32, {2}, std::vector<double>{77, 90});
    cpu::Executor cpu;
    kernels::attention(cpu, q, k, v, mask, any(of_queries), {.scale = 0.2f, .causal = true}, {{}, lengths}, log_sums);
    return std::vector{q, k, v, g, log_sums, any(rows), mask, lengths};
  };
  const auto results = [&](const std::vector<View>& in) {
    std::vector<View> out;
    for (int i = 0; i < 3; ++i) out.push_back(random_view(rng, in[static_cast<std::size_t>(i)].shape(), DType::f32));
    return out;
  };
  const std::vector<View> fits = operands(200), large = operands(400);
  both(fits, results(fits), call, {.absolute = 2e-3, .relative = 1e-4});
  // Not by both(), whose problems a quick run leaves out.
  std::vector<View> in, out;
  for (const View& v : large) in.push_back(to_device(*device, v));
  for (const View& v : results(large)) out.push_back(to_device(*device, v));
  gpu::Encoder encoder(*device);
  EXPECT_THAT(thrown_by([&] { call(encoder, in, out); }),
              testing::HasSubstr("attention_gradient: one head of f32 [1, 2, 400, 32] takes more than the"));
}

// The scores' cotangents of two heads fit beside what each row needs, those of four do not.
TEST_P(AttentionChunksOnDevice, GradientThatStoresSlopes) {
  const gpu::Capabilities& capabilities = device->capabilities();
  if (capabilities.matrix_shapes.empty()) GTEST_SKIP() << "no cooperative matrices here";
  if (!kernels::attention_gradient_matrix(capabilities, 1, 16, 16))
    GTEST_SKIP() << "no cooperative matrices of f16 here";
  const Shape of_queries{2, 8, 48, 16}, of_keys{2, 4, 80, 16}, rows{2, 8, 48};
  const auto any = [&](const Shape& shape) { return random_view(rng, shape, DType::f16); };
  const View q = any(of_queries), k = any(of_keys), values = any(of_keys), g = any(of_queries);
  const View log_sums = random_view(rng, rows, DType::f32), delta = random_view(rng, rows, DType::f32);
  const View mask = random_view(rng, {2, 1, 48, 80}, DType::boolean);
  const kernels::AttentionOptions options{.scale = 0.2f};
  cpu::Executor cpu;
  kernels::attention(cpu, q, k, values, mask, any(of_queries), options, {}, log_sums);
  both({q, k, values, g, log_sums, delta, mask}, {any(of_queries), any(of_keys), any(of_keys)},
       [&](Stream& s, std::span<const View> in, std::span<const View> out) {
         const kernels::AttentionGradientCall call(in[0], in[1], in[2], in[3], in[4], in[5], in[6], out[0], out[1],
                                                   out[2], options);
         if (!s.gpu()) return kernels::attention_gradient_cpu(*s.cpu(), call);
         // Which tiles there are depends on the device's matrices and subgroups.
         for (const auto& [rows, tile] : {std::pair{32, 16}, {16, 32}, {16, 16}, {8, 16}}) {
           auto v = kernels::attention_gradient_matrix(capabilities, 1, rows, tile);
           v->stores_slopes = true;
           if (!kernels::attention_gradient_can_run(*v, call, capabilities)) continue;
           return kernels::attention_gradient_gpu(*s.gpu(), call, *v, *v);
         }
         ADD_FAILURE() << "no form of it runs here";
       },
       {.ulp = 1, .absolute = 2e-2, .relative = 2e-3});
}

// One head's keys exceed a binding: masks and lengths hide some of them and end within a chunk.
TEST_P(AttentionChunksOnDevice, LongKeys) {
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
  // The mask exceeds a binding along both axes.
  add([](auto& c) { c.queries = 1000, c.mask = Mask::rows, c.mask_type = DType::f32; });
  for (const kernels::AttentionCase& c : cases) kernels::check_attention(*device, c);
}

// Each variant of the kernel: chunks end within its tiles or at their ends.
TEST_P(AttentionChunksOnDevice, FormsWithLongKeys) {
  using kernels::AttentionKind, kernels::Mask;
  const gpu::Capabilities& capabilities = device->capabilities();
  std::vector<kernels::AttentionVariant> forms{
      {.threads = 32, .splits = 4, .tile = 32},
      {.staged = false, .threads = 8, .rows = 2},
      {.kind = AttentionKind::tiled, .threads = 32, .rows = 2},
      {.kind = AttentionKind::decode, .threads = 32, .rows = 3, .lanes_per_key = 4}};
  int ran = 0;
  const int unit = capabilities.matrix_shapes.empty() ? 16 : static_cast<int>(capabilities.matrix_shapes[0].m);
  for (const int buffers : {0, 1, 2}) {
    if (const auto v = kernels::attention_subgroup_matrix(capabilities, 2, 1, unit, 16, buffers)) forms.push_back(*v);
  }
  for (const auto& [causal, lengths, mask] : {std::tuple{false, false, Mask::none},
                                              {true, false, Mask::rows},
                                              {false, true, Mask::keys},
                                              {true, true, Mask::everything}}) {
    kernels::AttentionCase c{.heads = 4,
                             .queries = 21,
                             .keys = 2603,
                             .dim = 16,
                             .value_dim = 16,
                             .mask = mask,
                             .causal = causal,
                             .type = DType::f16,
                             .key_lengths = lengths};
    if (causal) c.window_left = 1700;
    for (kernels::AttentionVariant form : forms) {
      if (form.kind == AttentionKind::subgroup_matrix && mask != Mask::rows) continue;  // slow to compile
      form.kv_splits = form.kind != AttentionKind::subgroup_matrix && causal ? 2 : 1;
      const auto o = kernels::operands(rng, c);
      if (!kernels::attention_can_run(form, o.call(o.inputs, o.y, c.options()), capabilities)) continue;
      ++ran;
      kernels::check_attention(*device, o, c.options(), kernels::text(c), &form, kernels::attention_tolerance(c));
    }
  }
  // Without a buffer in workgroup memory whole tiles are read, and the number of these keys is no multiple of a tile.
  EXPECT_GE(ran, 12 + (capabilities.subgroups ? 4 : 0) + (forms.size() > 4 ? 2 : 0));
}

// Chunks in which a query sees no key, a query that sees none at all, and NaN past a length, which is not read.
TEST_P(AttentionChunksOnDevice, LongKeysThatAreHidden) {
  constexpr std::int64_t kQueries = 5, kKeys = 1200, kLength = 1111;
  const View mask = view_of(DType::f32, {kQueries, kKeys}, Kind::dense, [](std::int64_t i) {
    const std::int64_t row = i / kKeys, key = i % kKeys;
    double seen = 0;
    if (row == 2 && key == 1000) seen = NAN;
    if (row == 4 && key == 700) seen = 1e30;
    return row == 1 || (row == 0 && key < 1100) || (row == 3 && key > 5) ? -INFINITY : seen;
  });
  const auto random = [&](std::int64_t length) { return random_view(rng, {1, 1, length, 32}, DType::f32); };
  const View values = view_of(DType::f32, {1, 1, kKeys, 32}, Kind::dense,
                              [noise = normal(4)](std::int64_t i) { return i < kLength * 32 ? noise(i) : NAN; });
  const View lengths = host_view(DType::i32, {1}, std::vector<double>{kLength});
  const kernels::AttentionOperands problem{.inputs = {random(kQueries), random(kKeys), values, mask, lengths},
                                           .y = random(kQueries),
                                           .mask = true,
                                           .key_lengths = true};
  kernels::check_attention(*device, problem, {.scale = 0.2f}, "hidden");
}

// A graph's executable provides the scratch that chunks of keys need.
TEST_F(AttentionChunks, LongKeysInAGraph) {
  const Shape shape{2, 2, 901, 40};
  Graph g;
  const Tensor q = g.input("q", DType::f32, shape), k = g.input("k", DType::f32, shape),
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

// Heads that are interleaved in memory, so that one chunk has keys of all heads; and operands in y's own buffer, far
// from y.
TEST_P(AttentionChunksOnDevice, InterleavedHeadsAndSharedBuffers) {
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

}  // namespace
}  // namespace weft::test
