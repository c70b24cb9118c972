#include "attention_cases.h"
#include "support/npy.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using Case = AttentionCase;

// Sizes on both sides of every tile, chunk and vector.
std::vector<Case> sizes() {
  std::vector<Case> list;
  for (std::int64_t dim : {1, 8, 31, 32, 33, 64, 80, 128, 256}) {
    list.push_back({.queries = 33, .keys = 33, .dim = dim, .value_dim = dim});
  }
  for (std::int64_t length : {1, 2, 7, 16, 127, 128, 129, 512}) {
    list.push_back({.heads = 1, .kv_heads = 1, .queries = length, .keys = length});
  }
  list.push_back({.queries = 3, .keys = 40, .dim = 16, .value_dim = 40});
  list.push_back({.queries = 40, .keys = 5, .dim = 72, .value_dim = 12});
  list.push_back({.heads = 1, .kv_heads = 1, .queries = 5, .keys = 34, .dim = 4, .value_dim = 300});
  return list;
}

// One case for each kind of mask, group and layout.
std::vector<Case> kinds() {
  std::vector<Case> list;
  for (DType type : {DType::boolean, DType::f32, DType::f16, DType::bf16}) {
    list.push_back(
        {.batch = 2, .queries = 9, .keys = 37, .dim = 8, .value_dim = 8, .mask = Mask::keys, .mask_type = type});
  }
  for (Mask mask : {Mask::rows, Mask::heads, Mask::everything}) {
    for (DType type : {DType::boolean, DType::f32}) {
      list.push_back({.batch = 2, .queries = 9, .keys = 37, .dim = 8, .value_dim = 8, .mask = mask, .mask_type = type});
    }
  }
  for (auto [queries, keys] : {std::pair{37, 37}, {9, 37}, {37, 9}, {1, 37}}) {
    list.push_back({.queries = queries, .keys = keys, .dim = 8, .value_dim = 8, .causal = true});
  }
  list.push_back({.queries = 70, .keys = 70, .dim = 8, .value_dim = 8, .mask = Mask::keys, .causal = true});
  for (std::int64_t queries : {1, 21}) {
    list.push_back({.batch = 2, .heads = 6, .queries = queries, .keys = 37, .dim = 8, .value_dim = 8});
    list.push_back(
        {.heads = 6, .kv_heads = 1, .queries = queries, .keys = 37, .dim = 8, .value_dim = 8, .causal = true});
    list.push_back({.heads = 6,
                    .queries = queries,
                    .keys = 37,
                    .dim = 8,
                    .value_dim = 8,
                    .mask = Mask::heads,
                    .mask_type = DType::f32});
  }
  for (Kind kind : test::kInputKinds) {
    list.push_back(
        {.queries = 9, .keys = 19, .dim = 8, .value_dim = 8, .q_kind = kind, .k_kind = kind, .v_kind = kind});
  }
  for (Kind kind : test::kOutputKinds) {
    list.push_back({.queries = 9, .keys = 19, .dim = 8, .value_dim = 8, .y_kind = kind});
  }
  for (DType type : {DType::f16, DType::bf16}) {
    list.push_back({.batch = 2, .queries = 21, .keys = 37, .dim = 8, .value_dim = 8, .mask = Mask::keys, .type = type});
    list.push_back({.queries = 9,
                    .keys = 19,
                    .dim = 7,
                    .value_dim = 5,
                    .type = type,
                    .q_kind = Kind::transposed,
                    .k_kind = Kind::offset,
                    .v_kind = Kind::reversed,
                    .y_kind = Kind::sliced});
  }
  return list;
}

// ---- The reference against PyTorch, the vectorised CPU form against the reference

TEST(AttentionReference, EqualsPyTorch) {
  for (const std::string name : {"plain", "boolean", "added", "grouped", "causal"}) {
    auto load = [&](const char* part) { return test::load_npy(std::format("attention/{}_{}.npy", name, part)); };
    const View q = load("q"), expected = load("y");
    std::optional<View> mask;
    if (name == "boolean" || name == "added") mask = load("mask");
    const AttentionOptions options{.scale = name == "added" ? 0.7f : 1 / std::sqrt(static_cast<float>(q.shape()[3])),
                                   .causal = name == "causal"};
    View y(Buffer::host(static_cast<std::uint64_t>(expected.count()) * 4), 0, DType::f32, expected.shape());
    attention_plain(AttentionCall(q, load("k"), load("v"), mask, y, options));
    for (std::int64_t i = 0; i < y.count(); ++i) {
      // The rounding of the reference to f32, and of the scale.
      ASSERT_NEAR(test::value(y, i), test::value(expected, i), 5e-7) << name << " at " << i;
    }
  }
}

TEST(AttentionCpu, EqualsReference) {
  std::vector<Case> cases = sizes();
  std::ranges::copy(kinds(), std::back_inserter(cases));
  cases.push_back({.batch = 3, .queries = 65, .keys = 65, .dim = 33, .value_dim = 31});
  for (const Case& c : cases) {
    Rng rng(3);
    check_attention_cpu(operands(rng, c), c.options(), text(c));
  }
}

TEST(AttentionCpu, BadCallsAreNamed) {
  cpu::Executor cpu;
  auto view = [](Shape shape, DType type = DType::f32) {
    return View(Buffer::host(byte_size(type, static_cast<std::uint64_t>(element_count(shape)))), 0, type, shape);
  };
  const View q = view({1, 4, 3, 8}), k = view({1, 2, 5, 8}), v = view({1, 2, 5, 6}), y = view({1, 4, 3, 6});
  EXPECT_NO_THROW(attention(cpu, q, k, v, {}, y, {}));
  auto refuses = [&](const char* words, const View& q, const View& k, const View& v, std::optional<View> mask,
                     const View& y) {
    try {
      attention(cpu, q, k, v, mask, y, {});
      ADD_FAILURE() << "accepted: " << words;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::AllOf(testing::StartsWith("attention: "), testing::HasSubstr(words)));
    }
  };
  refuses("expected [batch, heads, length, dim]", view({4, 3, 8}), k, v, {}, y);
  refuses("axis 0 (batch) must be 1", q, view({2, 2, 5, 8}), v, {}, y);
  refuses("axis 2 (keys, as k's) must be 5", q, k, view({1, 2, 4, 6}), {}, y);
  refuses("axis 3 (dim, as q's) must be 8", q, view({1, 2, 5, 7}), v, {}, y);
  refuses("not a multiple of the 3", q, view({1, 3, 5, 8}), view({1, 3, 5, 6}), {}, y);
  refuses("y is f32 [1, 4, 3, 7], expected [1, 4, 3, 6]", q, k, v, {}, view({1, 4, 3, 7}));
  refuses("does not broadcast", q, k, v, view({3, 4}, DType::boolean), y);
  refuses("mask is i32", q, k, v, view({3, 5}, DType::i32), y);
  refuses("v is i32", q, k, view({1, 2, 5, 6}, DType::i32), {}, y);
  refuses("may not be the same memory as k or v", view({1, 2, 5, 8}), k, view({1, 2, 5, 8}), {}, k);
}

// ---- Special inputs: generated once, run on every device and on the CPU

struct Special {
  std::string name;
  AttentionOperands operands;
  AttentionOptions options;
  Tolerance allowed = attention_tolerance(DType::f32);
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void set(const View& view, std::int64_t i, float x) {
  test::set_element_bits(view, i, std::bit_cast<std::uint32_t>(x));
}

std::vector<Special> specials() {
  std::vector<Special> list;
  Rng rng(11);
  const Case base{.queries = 5, .keys = 21, .dim = 8, .value_dim = 8};

  // No visible key for any query; for some queries; by each kind of mask.
  for (DType type : {DType::boolean, DType::f32}) {
    for (Mask mask : {Mask::keys, Mask::rows}) {
      Case c = base;
      c.batch = mask == Mask::keys ? 2 : 1;
      c.mask = mask;
      c.mask_type = type;
      AttentionOperands o = operands(rng, c);
      const View& m = o.inputs[3];
      for (std::int64_t i = 0; i < m.count(); ++i) {
        const bool hide = i < c.keys || i % 3 == 0;  // the first batch or query wholly
        if (type == DType::boolean)
          test::set_element_bits(m, i, !hide);
        else if (hide)
          set(m, i, -kInfinity);
      }
      for (const bool nan : {false, true}) {
        c.empty_is_nan = nan;
        list.push_back({std::format("hidden by {} along {}{}", name(type), static_cast<int>(mask), nan ? ", NaN" : ""),
                        o, c.options()});
      }
    }
  }
  {  // The lowest finite number added to all scores: not hidden, so the result is an average of all values.
    Case c = base;
    c.mask = Mask::keys;
    c.mask_type = DType::f32;
    AttentionOperands o = operands(rng, c);
    for (std::int64_t i = 0; i < c.keys; ++i) set(o.inputs[3], i, std::numeric_limits<float>::lowest());
    list.push_back({"lowest finite mask", o, c.options()});
  }
  {  // Huge scores, all of them integers that f32 holds exactly, so that only exp's error remains.
    AttentionOperands o = operands(rng, base);
    std::uniform_int_distribution<int> whole(-16, 16);
    for (int part : {0, 1}) {
      for (std::int64_t i = 0; i < o.inputs[part].count(); ++i) set(o.inputs[part], i, static_cast<float>(whole(rng)));
    }
    list.push_back({"scores of 1e4", o, {.scale = 8}});
  }
  {  // Scores of one size, far from zero: the weights depend only on their differences.
    AttentionOperands o = operands(rng, base);
    for (std::int64_t i = 0; i < o.inputs[0].count(); ++i) set(o.inputs[0], i, i % 8 == 0 ? 1e4f : 0.0f);
    for (std::int64_t i = 0; i < o.inputs[1].count(); ++i) set(o.inputs[1], i, i % 8 == 0 ? 1.0f : -1.0f);
    list.push_back({"equal scores of 1e4", o, {}});
    for (std::int64_t i = 0; i < o.inputs[0].count(); ++i) set(o.inputs[0], i, i % 8 == 0 ? -1e4f : 0.0f);
    list.push_back({"equal scores of -1e4", o, {}});
  }
  // NaN and infinity: a score of NaN or +inf makes its row NaN, -inf hides the key.
  for (float x : {std::nanf(""), kInfinity, -kInfinity}) {
    AttentionOperands o = operands(rng, base);
    set(o.inputs[0], 2 * 8 + 3, x);  // query 2 of head 0
    list.push_back({std::format("{} in q", x), o, base.options()});
    o = operands(rng, base);
    set(o.inputs[1], 20 * 8 + 3, x);  // the last key of head 0
    list.push_back({std::format("{} in k", x), o, base.options()});
    o = operands(rng, base);
    set(o.inputs[2], 7 * 8 + 3, x);
    list.push_back({std::format("{} in v", x), o, base.options()});
    Case c = base;
    c.mask = Mask::rows;
    c.mask_type = DType::f32;
    o = operands(rng, c);
    set(o.inputs[3], 21 + 4, x);
    list.push_back({std::format("{} in the mask", x), o, c.options()});
    // A mask hides a key and its values whatever they hold, of all queries or of some.
    for (const Mask mask : {Mask::keys, Mask::rows}) {
      for (const DType type : {DType::boolean, DType::f32, DType::f16}) {
        for (const std::size_t operand : {1u, 2u}) {
          c.mask = mask;
          c.mask_type = type;
          o = operands(rng, c);
          for (std::int64_t i = 0; i < o.inputs[3].count(); ++i) {
            const bool hide = i % c.keys == 20 && (mask == Mask::keys || i / c.keys % 3 != 0);
            if (type == DType::boolean)
              test::set_element_bits(o.inputs[3], i, !hide);
            else if (hide)
              test::set_element_bits(o.inputs[3], i, type == DType::f16 ? 0xFC00 : 0xFF800000);
          }
          set(o.inputs[operand], 20 * 8 + 3, x);
          list.push_back(
              {std::format("{} in operand {}, hidden by {} along {}", x, operand, name(type), static_cast<int>(mask)),
               o, c.options()});
        }
      }
    }
    // So do windows; and values of several keys that queries see, or not, are in one tile.
    Case windows = base;
    windows.window_left = 3;
    windows.window_right = 2;
    for (const std::size_t operand : {1u, 2u}) {
      o = operands(rng, windows);
      set(o.inputs[operand], 18 * 8 + 3, x);
      list.push_back({std::format("{} in operand {}, in some windows", x, operand), o, windows.options()});
      set(o.inputs[operand], 15 * 8 + 3, kInfinity);
      list.push_back({std::format("{} and infinity in operand {}, in some windows", x, operand), o, windows.options()});
    }
  }
  // Nothing to compute, and no visible keys.
  for (auto [batch, queries, keys, columns] : {std::array{0, 3, 5, 8}, {1, 0, 5, 8}, {1, 3, 5, 0}, {1, 3, 0, 8}}) {
    for (Mask mask : {Mask::none, Mask::rows}) {
      Case c{.batch = batch, .queries = queries, .keys = keys, .dim = 8, .value_dim = columns, .mask = mask};
      list.push_back({text(c), operands(rng, c), c.options()});
    }
  }
  return list;
}

TEST(AttentionCpu, SpecialValues) {
  for (const Special& s : specials()) check_attention_cpu(s.operands, s.options, s.name, s.allowed);
}

// ---- The GPU against the reference

class Attention : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }

  // The variants that some device would use, as far as this one can run them.
  std::vector<AttentionVariant> variants() {
    return {
        {.threads = 128, .tile = 64},
        {.threads = 128, .rows = 2, .chunk = 8, .tile = 16},
        {.threads = 64, .splits = 2, .tile = 32},
        {.threads = 128, .rows = 2, .splits = 4, .chunk = 2, .tile = 32},
        {.threads = 64, .splits = 8, .chunk = 1, .tile = 8},
        {.staged = false, .threads = 16, .rows = 2, .chunk = 2},
        {.kind = AttentionKind::tiled, .threads = 128, .rows = 2},
        {.kind = AttentionKind::tiled, .threads = 64, .rows = 4},
        {.threads = 64, .splits = 2, .tile = 32, .kv_splits = 3},
        {.staged = false, .threads = 8, .chunk = 2, .kv_splits = 2},
        {.kind = AttentionKind::tiled, .threads = 64, .rows = 2, .kv_splits = 5},
        {.kind = AttentionKind::decode, .threads = 64, .rows = 2, .chunk = 2, .lanes_per_key = 4},
        {.kind = AttentionKind::decode, .threads = 32, .rows = 3, .chunk = 1, .lanes_per_key = 8, .kv_splits = 4},
        {.threads = 128, .rows = 2, .threads_per_row = 2, .chunk = 8, .tile = 32},
        {.threads = 64, .rows = 2, .threads_per_row = 4, .chunk = 4, .tile = 16, .kv_splits = 2},
        {.threads = 32, .threads_per_row = 4, .chunk = 2, .tile = 8},
    };
  }
};

TEST_P(Attention, Sizes) {
  for (const Case& c : sizes()) check_attention(device(), c);
}

TEST_P(Attention, Kinds) {
  for (const Case& c : kinds()) check_attention(device(), c);
}

TEST_P(Attention, EveryVariant) {
  const Case cases[] = {
      {.queries = 150, .keys = 70, .dim = 8, .value_dim = 12},
      {.batch = 2, .heads = 4, .queries = 19, .keys = 64, .dim = 12, .value_dim = 8, .mask = Mask::keys},
      {.queries = 33,
       .keys = 45,
       .dim = 7,
       .value_dim = 9,
       .mask = Mask::everything,
       .mask_type = DType::f32,
       .causal = true},
      {.queries = 1, .keys = 130, .dim = 8, .value_dim = 8, .type = DType::f16},
      {.batch = 2, .heads = 4, .queries = 150, .keys = 71, .dim = 32, .value_dim = 64, .mask = Mask::keys},
      {.queries = 45,
       .keys = 33,
       .dim = 96,
       .value_dim = 32,
       .mask = Mask::everything,
       .mask_type = DType::f16,
       .causal = true,
       .type = DType::f16},
      {.batch = 3,
       .queries = 70,
       .keys = 90,
       .dim = 16,
       .value_dim = 32,
       .window_left = 20,
       .window_right = 5,
       .query_lengths = true,
       .key_lengths = true},
  };
  for (const AttentionVariant& v : variants()) {
    for (const Case& c : cases) check_attention(device(), c, &v);
  }
}

TEST_P(Attention, EveryVariantWithSpecialValues) {
  std::vector<AttentionVariant> some = variants();
  some = {some[3], some[10], some[12], some[13]};  // with splits, tiles, kv_splits, decode, threads_per_row
  for (const Special& s : specials()) {
    check_attention(device(), s.operands, s.options, s.name, nullptr, s.allowed);
    if (s.operands.y.count() == 0) continue;
    for (const AttentionVariant& v : some) check_attention(device(), s.operands, s.options, s.name, &v, s.allowed);
  }
}

// The last visible key has infinite values: its column's results are infinite, whatever else the kernel reads to fill a
// step or a tile.
TEST_P(Attention, EveryVariantWithInfiniteValuesOfTheLastKey) {
  std::vector<AttentionVariant> some = variants();
  const gpu::Capabilities& capabilities = device().capabilities();
  for (const int buffers : {0, 1, 2}) {
    const int unit = capabilities.matrix_shapes.empty() ? 8 : static_cast<int>(capabilities.matrix_shapes[0].m);
    if (const auto v = attention_subgroup_matrix(capabilities, 2, 1, unit, 16, buffers)) some.push_back(*v);
  }
  for (const DType type : {DType::f32, DType::f16}) {
    for (const bool lengths : {false, true}) {
      for (const std::int64_t keys : {1, 3, 35}) {
        if (keys < 35 && (lengths || type == DType::f16)) continue;
        const Case c{.queries = 3, .keys = keys, .type = type, .key_lengths = lengths};
        Rng rng(3);
        const AttentionOperands o = operands(rng, c);
        const std::int64_t last = lengths ? keys / 2 : keys - 1;
        if (lengths) test::set_element_bits(o.inputs.back(), 0, static_cast<std::uint64_t>(last + 1));
        for (std::int64_t head = 0; head < c.kv_heads; ++head) {
          const auto value_at = [&](std::int64_t column, float x) {
            const std::int64_t i = (head * keys + last) * c.value_dim + column;
            test::set_element_bits(o.inputs[2], i,
                                   type == DType::f16 ? float16(x).bits : std::bit_cast<std::uint32_t>(x));
          };
          value_at(5, -kInfinity);
          value_at(12, kInfinity);
        }
        const std::string what = std::format("{} keys of {}{}", keys, name(type), lengths ? ", half of them seen" : "");
        check_attention(device(), o, c.options(), what, nullptr, attention_tolerance(c));
        for (const AttentionVariant& v : some) {
          // The others differ by type only in their loads.
          const bool by_type = v.kind == AttentionKind::decode || v.kind == AttentionKind::subgroup_matrix;
          if (by_type || type == DType::f32)
            check_attention(device(), o, c.options(), what, &v, attention_tolerance(c));
        }
        // The reference's result, with which the GPU's results were compared.
        EXPECT_EQ(test::value(o.y, 5), -kInfinity) << what;
        EXPECT_EQ(test::value(o.y, 12), kInfinity) << what;
      }
    }
  }
}

// As in an encoder: one buffer [batch, length, 3, heads, dim], y [batch, length, heads, dim]; then y in q's place.
TEST_P(Attention, PackedProjection) {
  Rng rng(5);
  const std::int64_t batch = 2, length = 37, heads = 3;
  for (std::int64_t dim : {32, 5}) {
    const View packed = random_view(rng, {batch, length, 3, heads, dim}, DType::f32);
    const std::int64_t token = 3 * heads * dim;
    auto part = [&](std::int64_t i) {
      return View(packed.buffer, static_cast<std::uint64_t>(i * heads * dim) * 4, DType::f32,
                  {batch, heads, length, dim}, {length * token, dim, token, 1});
    };
    const View memory = random_view(rng, {batch, length, heads, dim}, DType::f32);
    const View y = memory.permuted(std::array{0, 2, 1, 3});
    const View mask = random_view(rng, {batch, 1, 1, length}, DType::boolean);
    check_attention(device(), plain_operands({part(0), part(1), part(2), mask}, y), {.scale = 0.2f}, "packed");
    check_attention(device(), plain_operands({part(0), part(1), part(2), mask}, part(0)), {.scale = 0.2f},
                    "packed, in place of q");
    const AttentionVariant staged{.threads = 64, .splits = 2};
    check_attention(device(), plain_operands({part(0), part(1), part(2), mask}, part(0)), {.scale = 0.2f},
                    "packed, in place of q", &staged);
    const AttentionVariant sides{.threads = 64, .rows = 2, .threads_per_row = 4};
    check_attention(device(), plain_operands({part(0), part(1), part(2), mask}, part(0)), {.scale = 0.2f},
                    "packed, in place of q", &sides);
  }
}

// Wide loads count elements from the operand's first one, before which others lie where axes are reversed.
TEST_P(Attention, ReversedOperands) {
  for (const std::int64_t queries : {1, 40}) {
    const Case c{.batch = 2, .queries = queries, .keys = 70, .dim = 16, .value_dim = 24, .type = DType::f16};
    Rng rng(7);
    AttentionOperands o = operands(rng, c);
    for (View& x : o.inputs) {
      for (const int axis : {0, 1, 2}) x = test::reversed(x, axis);
    }
    const std::string what = text(c) + ", reversed";
    check_attention(device(), o, c.options(), what, nullptr, attention_tolerance(c));
    for (const AttentionVariant& v : variants()) {
      check_attention(device(), o, c.options(), what, &v, attention_tolerance(c));
    }
  }
}

// More workgroups than one dimension of a dispatch allows.
TEST_P(Attention, ManyHeads) {
  const Case c{.batch = 66000, .heads = 1, .kv_heads = 1, .queries = 1, .keys = 2, .dim = 4, .value_dim = 4};
  check_attention(device(), c);
}

// The chosen variant fits the device, whatever the shape.
TEST(AttentionChoice, FitsTheDevice) {
  gpu::Capabilities minimum;
  minimum.max_workgroup_memory = 16384;
  minimum.max_workgroup_size = 128;
  gpu::Capabilities large = minimum;
  large.max_workgroup_memory = 49152;
  large.max_workgroup_size = 1024;
  gpu::Capabilities software = large;
  software.software = true;
  gpu::Capabilities shuffles = large, small_shuffles = minimum;
  for (gpu::Capabilities* c : {&shuffles, &small_shuffles}) c->subgroups = true, c->subgroup_min = c->subgroup_max = 32;
  for (const gpu::Capabilities& caps : {minimum, large, software, shuffles, small_shuffles}) {
    for (std::int64_t dim : {1, 32, 33, 64, 65, 96, 128, 160, 256, 512}) {
      for (std::int64_t length : {1, 16, 33, 64, 128, 200, 4096}) {
        // Only shapes matter: the views are broadcasts of a few numbers.
        const Buffer buffer = Buffer::host(4096), other = Buffer::host(4096);
        for (const std::int64_t batch : {64, 1}) {
          const View q(buffer, 0, DType::f32, {batch, 12, length, dim}, {0, 0, 0, 1});
          const View y(other, 0, DType::f32, {batch, 12, length, dim}, {0, 0, 0, 1});
          const View of_keys(buffer, 0, DType::boolean, {length}, {0}),
              of_scores = of_keys.broadcast_to({length, length});
          const View lengths(buffer, 0, DType::i32, {batch}, {0});
          for (const std::optional<View>& mask : {std::optional<View>(), {of_keys}, {of_scores}}) {
            for (const bool bounded : {false, true}) {
              AttentionLengths given;
              if (bounded) given.queries = given.keys = lengths;
              const AttentionCall call(q, q, q, mask, y, {.causal = bounded}, given);
              const AttentionVariant v = choose_attention(caps, call, 1 << 24);
              const std::string what =
                  std::format("{} dim {} keys {} mask {} {}", to_string(v), dim, length, mask.has_value(), bounded);
              EXPECT_LE(attention_workgroup_memory(v, call), caps.max_workgroup_memory) << what;
              EXPECT_LE(v.threads, static_cast<int>(caps.max_workgroup_size)) << what;
              EXPECT_EQ(v.tile % (v.splits * v.chunk), 0) << what;
              EXPECT_EQ(v.threads % (v.splits * v.threads_per_row), 0) << what;
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Attention, testing::ValuesIn(test::device_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::kernels
