// Attention on random problems by random variants of the kernel; windows and lengths.
#include "attention_cases.h"
#include "support/differential.h"
#include "support/npy.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using test::pick;
using test::random_int;

// A difficult size: 1, odd sizes, both sides of tiles and chunks.
std::int64_t random_length(Rng& rng) {
  static constexpr int kAwkward[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 200};
  return rng.details()() % 2 ? pick(rng.details(), kAwkward) : random_int(rng.details(), 1, 80);
}

AttentionCase random_case(Rng& rng) {
  static constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f16, DType::f16, DType::bf16};
  static constexpr DType kMaskTypes[] = {DType::boolean, DType::boolean, DType::f32, DType::f16, DType::bf16};
  static constexpr int kDims[] = {1, 4, 5, 8, 16, 31, 32, 33, 64, 65, 72, 96, 128};
  static constexpr DType kLengthTypes[] = {DType::i32, DType::u32};
  AttentionCase c;
  c.batch = random_int(rng.details(), 1, 3);
  c.kv_heads = random_int(rng.details(), 1, 3);
  c.heads = c.kv_heads * (rng() % 2 ? 1 : random_int(rng.details(), 1, 5));
  c.queries = rng() % 3 ? random_length(rng) : random_int(rng.details(), 1, 8);
  c.keys = rng() % 4 ? random_length(rng) : c.queries;
  c.dim = pick(rng, kDims);
  c.value_dim = rng() % 3 ? c.dim : pick(rng, kDims);
  c.mask = static_cast<Mask>(rng() % 2 ? 0 : rng() % 5);
  c.mask_type = pick(rng, kMaskTypes);
  c.causal = rng() % 3 == 0;
  const auto window = [&] {
    return rng() % 3 ? std::int64_t{-1} : std::int64_t{random_int(rng.details(), 0, static_cast<int>(c.keys) + 2)};
  };
  c.window_left = window();
  c.window_right = window();
  c.top_left = rng() % 4 == 0;
  c.empty_is_nan = rng() % 4 == 0;
  c.query_lengths = rng() % 4 == 0;
  c.key_lengths = rng() % 3 == 0;
  c.length_type = pick(rng, kLengthTypes);
  c.type = pick(rng, kTypes);
  // Dense in three of four cases: only dense operands use the fast variants.
  const auto input = [&] { return rng() % 4 ? Kind::dense : test::random_input_kind(rng); };
  c.q_kind = input();
  c.k_kind = input();
  c.v_kind = input();
  c.y_kind = rng() % 4 ? Kind::dense : test::random_output_kind(rng);
  return c;
}

// A variant that the device can run, selected by `which`; none: the chosen one.
std::optional<AttentionVariant> random_variant(const gpu::Capabilities& capabilities, const AttentionCall& call,
                                               std::uint64_t which) {
  Rng rng(which);
  if (rng() % 4 == 0) return std::nullopt;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const AttentionVariant v = test_variant(rng, capabilities);
    const bool slow =
        capabilities.software && v.kind == AttentionKind::subgroup_matrix && call.dim + call.value_dim > 96;
    if (!slow && attention_can_run(v, call, capabilities)) return v;
  }
  return std::nullopt;
}

test::Problem random_problem(Rng& rng, bool with_log_sums) {
  const AttentionCase c = random_case(rng);
  const AttentionOperands o = operands(rng, c);
  const std::uint64_t which = rng();
  std::vector<View> outputs{o.y};
  if (with_log_sums) {
    outputs.push_back(random_view(rng, {c.batch, c.heads, c.queries}, DType::f32,
                                  rng() % 4 ? Kind::dense : test::random_output_kind(rng)));
  }
  const auto call_on = [=](std::span<const View> in, std::span<const View> out) {
    return o.call(in, out[0], c.options(), with_log_sums ? std::optional(out[1]) : std::nullopt);
  };
  return {.what = text(c),
          .inputs = o.inputs,
          .outputs = outputs,
          .call =
              [=](Stream& stream, std::span<const View> in, std::span<const View> out) {
                const AttentionCall call = call_on(in, out);
                if (!stream.gpu()) return attention_cpu(*stream.cpu(), call);
                const auto variant = random_variant(stream.gpu()->device().capabilities(), call, which);
                SCOPED_TRACE(variant ? to_string(*variant) : "the chosen form");
                run_attention(stream, call, variant ? &*variant : nullptr);
              },
          .tolerance = attention_tolerance(c),
          .reference = [=](Stream&, std::span<const View> in,
                           std::span<const View> out) { attention_plain(call_on(in, out)); }};
}

const bool registered = test::differential("attention", [](Rng& rng) { return random_problem(rng, false); }, 4);
const bool with_log_sums =
    test::differential("attention_with_log_sums", [](Rng& rng) { return random_problem(rng, true); }, 4);

// ---- Windows and lengths: the reference against NumPy, every variant against the reference

TEST(AttentionReference, WindowsAndLengthsEqualNumPy) {
  for (const std::string name : {"window", "window_causal", "window_top_left", "lengths", "lengths_window"}) {
    const auto load = [&](const char* part) { return test::load_npy(std::format("attention/{}_{}.npy", name, part)); };
    const View q = load("q"), expected = load("y"), window = load("window");
    const bool has_lengths = name.starts_with("lengths");
    AttentionLengths lengths;
    if (has_lengths) lengths = {load("query_lengths"), load("key_lengths")};
    const auto at = [&](std::int64_t i) { return static_cast<std::int64_t>(test::value(window, i)); };
    const AttentionOptions options{.scale = 1 / std::sqrt(static_cast<float>(q.shape()[3])),
                                   .causal = name == "window_causal",
                                   .window_left = at(0),
                                   .window_right = at(1),
                                   .top_left = name == "window_top_left"};
    View y(Buffer::host(static_cast<std::uint64_t>(expected.count()) * 4), 0, DType::f32, expected.shape());
    attention_plain(AttentionCall(q, load("k"), load("v"), {}, y, options, lengths));
    for (std::int64_t i = 0; i < y.count(); ++i) {
      ASSERT_NEAR(test::value(y, i), test::value(expected, i), 5e-7) << name << " at " << i;
    }
  }
}

std::vector<AttentionCase> windows() {
  std::vector<AttentionCase> list;
  const AttentionCase base{.queries = 37, .keys = 70, .dim = 8, .value_dim = 8};
  for (auto [left, right] : {std::pair{0, 0}, {3, 0}, {0, 5}, {20, 20}, {-1, 4}, {4, -1}, {100, 100}, {1000000, 2}}) {
    AttentionCase c = base;
    c.window_left = left;
    c.window_right = right;
    list.push_back(c);
    c.top_left = true;
    list.push_back(c);
    std::swap(c.queries, c.keys);  // first queries before the first key, or last ones after the last
    list.push_back(c);
    c.top_left = false;
    list.push_back(c);
  }
  for (DType type : {DType::i32, DType::u32}) {
    for (int which : {1, 2, 3}) {
      AttentionCase c = base;
      c.batch = 6;
      c.query_lengths = which & 1;
      c.key_lengths = which & 2;
      c.length_type = type;
      list.push_back(c);
      c.causal = true;
      list.push_back(c);
      c.heads = 6;
      c.window_left = 9;
      c.mask = Mask::keys;
      list.push_back(c);
    }
  }
  return list;
}

TEST(AttentionCpu, WindowsAndLengths) {
  for (const AttentionCase& c : windows()) {
    Rng rng(5);
    check_attention_cpu(operands(rng, c), c.options(), text(c));
  }
}

class AttentionWindows : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
};

TEST_P(AttentionWindows, EqualReference) {
  for (const AttentionCase& c : windows()) check_attention(device(), c);
}

// Keys and values past a sequence's length are not read: NaN there has no effect.
TEST_P(AttentionWindows, PaddingIsNotRead) {
  AttentionCase c{.batch = 4, .queries = 5, .keys = 50, .dim = 8, .value_dim = 8, .key_lengths = true};
  for (const AttentionVariant& v :
       {AttentionVariant{.threads = 64, .tile = 32}, AttentionVariant{.staged = false, .threads = 8},
        AttentionVariant{.kind = AttentionKind::tiled, .threads = 64, .rows = 2}}) {
    Rng rng(6);
    const AttentionOperands o = operands(rng, c);
    for (int part : {1, 2}) {
      const View& x = o.inputs[static_cast<std::size_t>(part)];
      for (std::int64_t b = 0; b < c.batch; ++b) {
        const auto length = static_cast<std::int64_t>(test::value(o.inputs[3], b));
        for (std::int64_t i = 0; i < c.kv_heads * c.keys * 8; ++i) {
          if (i / 8 % c.keys >= length) test::set_element_bits(x, b * c.kv_heads * c.keys * 8 + i, 0x7fc00000u);
        }
      }
    }
    check_attention(device(), o, c.options(), text(c), &v);
  }
}

// Lengths in the buffer that the kernel writes.
TEST_P(AttentionWindows, LengthsBesideTheResult) {
  AttentionCase c{
      .batch = 3, .queries = 5, .keys = 50, .dim = 8, .value_dim = 8, .query_lengths = true, .key_lengths = true};
  Rng rng(8);
  AttentionOperands o = operands(rng, c);
  const View memory = random_view(rng, {c.batch * c.heads * c.queries * 8 + 16}, DType::f32);
  o.y = View(memory.buffer, 64, DType::f32, {c.batch, c.heads, c.queries, 8});
  for (std::size_t i : {3, 4}) {
    const View here(memory.buffer, (i - 3) * 16, c.length_type, {c.batch});
    for (std::int64_t b = 0; b < c.batch; ++b) test::set_element_bits(here, b, test::element_bits(o.inputs[i], b));
    o.inputs[i] = here;
  }
  for (const AttentionVariant& v :
       {AttentionVariant{.threads = 64, .tile = 32}, AttentionVariant{.staged = false, .threads = 8},
        AttentionVariant{.kind = AttentionKind::tiled, .threads = 64, .rows = 2}}) {
    check_attention(device(), o, c.options(), text(c), &v);
  }
}

// The variant on cooperative matrices, if the device has them: the shapes for which it is chosen, and edge cases.
TEST_P(AttentionWindows, Matrices) {
  const gpu::Capabilities& capabilities = device().capabilities();
  const auto first = attention_subgroup_matrix(capabilities, 1, 1, 16, 32, 1);
  if (!first || capabilities.minimum) GTEST_SKIP() << "no cooperative matrices of f16";
  const int unit = static_cast<int>(first->unit.m);
  const auto variant = [&](int m, int n, int rows, int tile, int buffers) {
    return *attention_subgroup_matrix(capabilities, m, n, rows * unit, tile, buffers);
  };
  AttentionVariant variants[] = {variant(1, 1, 1, 16, 0), variant(4, 1, 1, 16, 1), variant(2, 1, 1, 16, 2),
                                 variant(1, 2, 2, 16, 2)};
  if (!capabilities.software) {
    variants[2] = variant(2, 2, 2, 32, 2);
    variants[3] = variant(2, 2, 1, 32, 1);
  }
  variants[2].kv_splits = 3;
  const AttentionCase cases[] = {
      {.batch = 2, .heads = 3, .kv_heads = 3, .queries = 50, .keys = 70, .mask = Mask::keys, .type = DType::f16},
      {.heads = 4, .queries = 37, .keys = 64, .dim = 16, .value_dim = 32, .causal = true, .type = DType::f16},
      {.batch = 3,
       .queries = 20,
       .keys = 45,
       .dim = 16,
       .value_dim = 16,
       .mask = Mask::everything,
       .mask_type = DType::f16,
       .type = DType::f16,
       .window_left = 9,
       .query_lengths = true,
       .key_lengths = true},
      // Sizes of heads that are not whole matrices, or numbers of them that subgroups cannot divide evenly.
      {.heads = 2, .kv_heads = 1, .queries = 33, .keys = 45, .dim = 40, .value_dim = 24, .type = DType::f16},
      {.queries = 21, .keys = 50, .dim = 24, .value_dim = 40, .mask = Mask::keys, .type = DType::f16},
  };
  int ran = 0;
  for (const AttentionVariant& v : variants) {
    for (const AttentionCase& c : cases) {
      Rng rng(9);
      AttentionOperands o = operands(rng, c);
      if (!attention_can_run(v, o.call(o.inputs, o.y, c.options()), capabilities)) continue;
      ++ran;
      check_attention(device(), o, c.options(), text(c), &v, attention_tolerance(c));
      for (std::size_t i = 0; i < 3; ++i) {
        for (const int axis : {0, 1, 2}) o.inputs[i] = test::reversed(o.inputs[i], axis);
      }
      check_attention(device(), o, c.options(), text(c) + ", reversed", &v, attention_tolerance(c));
    }
  }
  EXPECT_GE(ran, 10);
}

// Scores that grow from key to key, so that the sums must follow the rising maximum.
TEST_P(AttentionWindows, MatricesFollowAGrowingMaximum) {
  const gpu::Capabilities& capabilities = device().capabilities();
  const auto v = attention_subgroup_matrix(
      capabilities, 2, 1, capabilities.matrix_shapes.empty() ? 16 : static_cast<int>(capabilities.matrix_shapes[0].m),
      16, 1);
  if (!v || capabilities.minimum) GTEST_SKIP() << "no cooperative matrices of f16";
  AttentionCase c{.queries = 20, .keys = 150, .dim = 16, .value_dim = 16, .type = DType::f16};
  Rng rng(10);
  const AttentionOperands o = operands(rng, c);
  for (std::int64_t i = 0; i < o.inputs[1].count(); ++i) {
    const double grown = test::value(o.inputs[1], i) * static_cast<double>(i / c.dim % c.keys) / 15;
    test::set_element_bits(o.inputs[1], i, float16(static_cast<float>(grown)).bits);
  }
  check_attention(device(), o, c.options(), text(c), &*v, attention_tolerance(c));
  EXPECT_TRUE(passes_attention_self_test(device(), *v, o.call(o.inputs, o.y, c.options())));
}

INSTANTIATE_TEST_SUITE_P(Devices, AttentionWindows, testing::ValuesIn(test::device_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::kernels
