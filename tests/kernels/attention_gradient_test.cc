// The gradient of attention: random problems by random variants, GPUs against the CPU (whose values are NumPy's:
// tests/reference/attention_gradient.py); what it refuses.
#include "attention_cases.h"
#include "support/differential.h"
#include "support/throws.h"
#include "support/unfilled.h"
#include "weft/error.h"
#include "weft/kernels/attention.h"

namespace weft::kernels {
namespace {

using test::pick;
using test::random_int;

AttentionCase random_case(Rng& rng) {
  static constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f16, DType::bf16};
  static constexpr DType kMaskTypes[] = {DType::boolean, DType::f32, DType::f16};
  static constexpr int kDims[] = {1, 4, 5, 8, 31, 32, 33, 64, 72, 128, 260};
  static constexpr int kLengths[] = {1, 2, 7, 16, 31, 32, 33, 65, 80};
  const auto length = [&] {
    return rng.details()() % 2 ? std::int64_t{pick(rng.details(), kLengths)} : random_int(rng.details(), 1, 40);
  };
  const auto kind = [&] { return rng() % 4 ? Kind::dense : test::random_input_kind(rng); };
  AttentionCase c;
  c.batch = random_int(rng.details(), 1, 2);
  c.kv_heads = random_int(rng.details(), 1, 2);
  c.heads = c.kv_heads * (rng() % 2 ? 1 : random_int(rng.details(), 1, 3));
  c.queries = length();
  c.keys = length();
  c.dim = pick(rng, kDims);
  c.value_dim = rng() % 3 ? c.dim : pick(rng, kDims);
  c.mask = static_cast<Mask>(rng() % 2 ? 0 : rng() % 5);
  c.mask_type = pick(rng, kMaskTypes);
  c.causal = rng() % 3 == 0;
  if (rng() % 3 == 0) c.window_left = random_int(rng.details(), 0, static_cast<int>(c.keys));
  if (rng() % 3 == 0) c.window_right = random_int(rng.details(), 0, static_cast<int>(c.keys));
  c.top_left = rng() % 4 == 0;
  c.query_lengths = rng() % 4 == 0;
  c.key_lengths = rng() % 3 == 0;
  c.length_type = rng() % 2 ? DType::i32 : DType::u32;
  c.type = pick(rng, kTypes);
  c.q_kind = kind();
  c.k_kind = kind();
  c.v_kind = kind();
  return c;
}

// Sums of up to 240 products of weights, cotangents and numbers of a few units, of weights with relative errors of
// 1e-5; narrow results are rounded once more. With cooperative matrices weights and scores' cotangents are rounded to
// f16.
Tolerance tolerance(const AttentionCase& c) {
  if (c.type == DType::f16 && c.dim % 8 == 0 && c.value_dim % 8 == 0) {
    return {.ulp = 1, .absolute = 2e-2, .relative = 2e-3};
  }
  return {.ulp = c.type == DType::f32 ? 0.0 : 1.0, .absolute = 2e-3, .relative = 1e-4};
}

// A variant that the device can run.
std::optional<AttentionGradientVariant> random_variant(const gpu::Capabilities& capabilities,
                                                       const AttentionGradientCall& call, std::uint64_t which) {
  Rng rng(which);
  const auto one_of = [&](std::initializer_list<int> values) { return values.begin()[rng() % values.size()]; };
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::optional<AttentionGradientVariant> v;
    if (rng() % 2) {
      // A software device compiles matrices into long loops: only small ones.
      const int unit = static_cast<int>(capabilities.matrix_shapes.empty() ? 8 : capabilities.matrix_shapes[0].m);
      v = attention_gradient_matrix(capabilities, one_of({1, 2}), unit * one_of({1, 2}), one_of({16, 32}));
      if (capabilities.software && call.forward.dim + call.forward.value_dim > 96) continue;
      if (v) v->stores_slopes = rng() % 2;
    } else {
      v = AttentionGradientVariant{.threads = one_of({8, 32, 64, 128}), .rows = one_of({1, 2, 4})};
    }
    if (v && attention_gradient_can_run(*v, call, capabilities)) return v;
  }
  return std::nullopt;
}

test::Problem random_problem(Rng& rng) {
  const AttentionCase c = random_case(rng);
  const AttentionOperands o = operands(rng, c);
  const std::uint64_t which = rng();
  std::vector<View> inputs = o.inputs;
  const Shape result{c.batch, c.heads, c.queries, c.value_dim};
  inputs.push_back(random_view(rng, result, c.type, rng() % 4 ? Kind::dense : test::random_input_kind(rng)));
  const auto of_queries = [&] {
    return random_view(rng, {c.batch, c.heads, c.queries}, DType::f32,
                       rng() % 4 ? Kind::dense : test::random_input_kind(rng));
  };
  inputs.push_back(of_queries());
  // What attention gives for these operands.
  const View log_sums = of_queries();
  const View y = random_view(rng, result, DType::f32);
  if (!test::UnfilledViews::live()) attention_plain(o.call(o.inputs, y, c.options(), log_sums));
  inputs.push_back(log_sums);
  std::vector<View> outputs;
  for (int i = 0; i < 3; ++i) {
    outputs.push_back(random_view(rng, inputs[static_cast<std::size_t>(i)].shape(), c.type,
                                  rng() % 4 ? Kind::dense : test::random_output_kind(rng)));
  }
  return {.what = text(c),
          .inputs = inputs,
          .outputs = outputs,
          .call =
              [=](Stream& stream, std::span<const View> in, std::span<const View> out) {
                std::size_t next = 3;
                std::optional<View> mask;
                AttentionLengths lengths;
                if (o.mask) mask = in[next++];
                if (o.query_lengths) lengths.queries = in[next++];
                if (o.key_lengths) lengths.keys = in[next++];
                const View &g = in[next], &delta = in[next + 1], &log_sums = in[next + 2];
                const AttentionGradientCall call(in[0], in[1], in[2], g, log_sums, delta, mask, out[0], out[1], out[2],
                                                 c.options(), lengths);
                gpu::Commands* const commands = stream.gpu();
                if (commands && which % 4) {
                  const auto v = random_variant(commands->device().capabilities(), call, which);
                  SCOPED_TRACE(v ? to_string(*v) : "the chosen form");
                  if (v) return attention_gradient_gpu(*commands, call, *v, *v);
                }
                attention_gradient(stream, in[0], in[1], in[2], g, log_sums, delta, mask, out[0], out[1], out[2],
                                   c.options(), lengths);
              },
          .tolerance = tolerance(c),
          // NaN in q and g also reaches the gradients of keys that their queries do not see, if they are in one tile.
          .nan_inputs = o.mask ? std::vector<std::size_t>{1, 2, 3} : std::vector<std::size_t>{1, 2}};
}

const bool registered = test::differential("attention_gradient", random_problem, 4);

class AttentionGradientOn : public testing::TestWithParam<std::string> {};

// Where one of the results has no elements, the others are written: zeros, or what heads of no columns give.
TEST_P(AttentionGradientOn, EmptyOperands) {
  struct {
    std::int64_t batch, queries, keys, dim, value_dim;
  } const cases[] = {{2, 0, 5, 8, 8}, {2, 3, 0, 8, 8}, {2, 3, 5, 8, 0}, {0, 3, 5, 8, 8}};
  for (const auto& c : cases) {
    Rng rng(5);
    const std::vector<View> inputs{random_view(rng, {c.batch, 2, c.queries, c.dim}, DType::f32),
                                   random_view(rng, {c.batch, 2, c.keys, c.dim}, DType::f32),
                                   random_view(rng, {c.batch, 2, c.keys, c.value_dim}, DType::f32),
                                   random_view(rng, {c.batch, 2, c.queries, c.value_dim}, DType::f32),
                                   random_view(rng, {c.batch, 2, c.queries}, DType::f32),
                                   random_view(rng, {c.batch, 2, c.queries}, DType::f32)};
    std::vector<View> outputs;
    for (int i = 0; i < 3; ++i)
      outputs.push_back(random_view(rng, inputs[static_cast<std::size_t>(i)].shape(), DType::f32));
    const test::KernelCall gradient = [](Stream& s, auto in, auto out) {
      attention_gradient(s, in[0], in[1], in[2], in[3], in[4], in[5], {}, out[0], out[1], out[2], {});
    };
    test::run_both(test::device(GetParam()), inputs, outputs, gradient, {.absolute = 1e-4, .relative = 1e-5},
                   std::format("{} queries, {} keys of {} and {}", c.queries, c.keys, c.dim, c.value_dim));
    if (c.batch * c.queries * c.keys > 0) continue;
    for (const View& y : outputs) {
      for (const double value : test::values(y)) ASSERT_EQ(value, 0);
    }
  }
}

// What a query does not see reaches neither its result nor its gradients: NaN and infinities in a key and its value
// give the queries that do not see them the same bits as zeros there.
TEST_P(AttentionGradientOn, HiddenKeysReachNothing) {
  constexpr std::int64_t kQueries = 40, kKeys = 48, kDim = 64;
  struct {
    const char* what;
    AttentionOptions options;
    std::optional<DType> mask;
    bool rows;  // the mask differs by the query
  } const cases[] = {{"a boolean a key", {}, DType::boolean, false}, {"a boolean a score", {}, DType::boolean, true},
                     {"-inf a key", {}, DType::f32, false},          {"-inf a score", {}, DType::f16, true},
                     {"causal", {.causal = true}, {}, true},         {"a window", {.window_left = 9}, {}, true}};
  for (const auto& c : cases) {
    for (const DType type : {DType::f32, DType::f16}) {
      for (const double x : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        SCOPED_TRACE(std::format("{}, {}, {}", c.what, name(type), x));
        const std::int64_t key = c.options.window_left >= 0 ? 3 : kKeys - 3;
        const auto sees = [&](std::int64_t query) {
          const std::int64_t place = query + kKeys - kQueries;
          if (c.mask) return c.rows && query % 3 == 0;
          return c.options.causal ? key <= place : key >= place - c.options.window_left;
        };
        std::optional<View> mask;
        if (c.mask) {
          std::vector<double> values;
          for (std::int64_t i = 0; i < (c.rows ? kQueries : 1) * kKeys; ++i) {
            const bool hide = i % kKeys == key && !(c.rows && i / kKeys % 3 == 0);
            values.push_back(c.mask == DType::boolean ? !hide : hide ? -std::numeric_limits<double>::infinity() : 0);
          }
          mask = test::host_view(*c.mask, {c.rows ? kQueries : 1, kKeys}, values);
        }
        for (const bool on_gpu : {false, true}) {
          std::vector<std::vector<double>> results[2];  // y, dq, dk, dv
          for (const bool plant : {false, true}) {
            Rng rng(5);
            std::vector<View> inputs;
            for (const std::int64_t count : {kQueries, kKeys, kKeys, kQueries}) {
              inputs.push_back(random_view(rng, {1, 2, count, kDim}, type));
            }
            inputs.push_back(random_view(rng, {1, 2, kQueries}, DType::f32));  // delta
            if (mask) inputs.push_back(*mask);
            for (const std::size_t operand : {1u, 2u}) {
              std::vector<double> values = test::values(inputs[operand]);
              for (std::int64_t d = 0; d < kDim; ++d) values[static_cast<std::size_t>(key * kDim + d)] = plant ? x : 0;
              inputs[operand] = test::host_view(type, inputs[operand].shape(), values);
            }
            std::vector<View> outputs{
                random_view(rng, {1, 2, kQueries, kDim}, DType::f32), random_view(rng, {1, 2, kQueries, kDim}, type),
                random_view(rng, {1, 2, kKeys, kDim}, type), random_view(rng, {1, 2, kKeys, kDim}, type),
                random_view(rng, {1, 2, kQueries}, DType::f32)};
            const auto call = [&](Stream& s, const std::vector<View>& in, const std::vector<View>& out) {
              std::optional<View> m;
              if (mask) m = in[5];
              attention(s, in[0], in[1], in[2], m, out[0], c.options, {}, out[4]);
              attention_gradient(s, in[0], in[1], in[2], in[3], out[4], in[4], m, out[1], out[2], out[3], c.options);
            };
            if (on_gpu) {
              gpu::Device& device = test::device(GetParam());
              for (View& view : inputs) view = test::to_device(device, view);
              for (View& view : outputs) view = test::to_device(device, view);
              gpu::Encoder encoder(device);
              call(encoder, inputs, outputs);
              encoder.submit();
              for (View& view : outputs) view = test::to_host(device, view);
            } else {
              cpu::Executor cpu;
              call(cpu, inputs, outputs);
            }
            for (std::size_t k = 0; k < 4; ++k) results[plant].push_back(test::values(outputs[k]));
          }
          bool seen = false;
          for (std::int64_t query = 0; query < kQueries; ++query) {
            seen |= sees(query);
            for (std::int64_t d = 0; d < kDim; ++d) {
              const auto at = static_cast<std::size_t>(query * kDim + d);
              for (const std::size_t k : {0u, 1u}) {
                if (sees(query))
                  ASSERT_FALSE(std::isfinite(results[1][k][at])) << "query " << query << " of result " << k;
                else
                  ASSERT_EQ(results[1][k][at], results[0][k][at]) << "query " << query << " of result " << k;
              }
            }
          }
          // The gradients of keys and values sum over queries: the same where none sees the key, or of the other head.
          for (const std::size_t k : {2u, 3u}) {
            for (std::size_t i = seen ? kKeys * kDim : 0; i < results[0][k].size(); ++i) {
              ASSERT_EQ(results[1][k][i], results[0][k][i]) << "element " << i << " of result " << k;
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AttentionGradientOn, testing::ValuesIn(test::device_names()),
                         [](const auto& i) { return i.param; });

TEST(AttentionGradient, RefusesOperandsThatDoNotFit) {
  cpu::Executor cpu;
  const auto of = [](const Shape& shape, DType type = DType::f32) {
    return View(Buffer::host(static_cast<std::uint64_t>(element_count(shape)) * 8), 0, type, shape);
  };
  const View q = of({1, 2, 3, 4}), k = of({1, 1, 5, 4}), v = of({1, 1, 5, 6}), g = of({1, 2, 3, 6});
  const View log_sums = of({1, 2, 3}), delta = of({1, 2, 3}), dq = of({1, 2, 3, 4}), dk = of({1, 1, 5, 4}),
             dv = of({1, 1, 5, 6});
  const auto refusal = [&](const View& g, const View& delta, const View& dk) {
    return test::thrown_by([&] { attention_gradient(cpu, q, k, v, g, log_sums, delta, {}, dq, dk, dv, {}); });
  };
  EXPECT_EQ(refusal(g, delta, dk), "nothing");
  EXPECT_THAT(refusal(q, delta, dk),
              testing::HasSubstr("attention_gradient: g is f32 [1, 2, 3, 4], expected the shape"));
  EXPECT_THAT(refusal(g, g, dk), testing::HasSubstr("delta is f32 [1, 2, 3, 6], expected f32 [1, 2, 3]"));
  EXPECT_THAT(refusal(g, delta, of({1, 1, 5, 6})), testing::HasSubstr("dk is f32 [1, 1, 5, 6], expected the shape"));
  EXPECT_THAT(refusal(g, delta, of({1, 1, 5, 4}, DType::f64)), testing::HasSubstr("dk is f64"));
  EXPECT_THAT(refusal(g, delta, k), testing::HasSubstr("dk"));
}

}  // namespace
}  // namespace weft::kernels
