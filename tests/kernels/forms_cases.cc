#include "kernels/forms_cases.h"

#include <format>

#include "kernels/attention/attention.h"
#include "kernels/conv/problem.h"
#include "kernels/conv/product.h"
#include "kernels/copy/copy.h"
#include "kernels/custom/custom.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/variants.h"
#include "kernels/plan_cache.h"
#include "kernels/quantized/quantized_matmul.h"
#include "kernels/quantized_cases.h"
#include "kernels/reduce/reduce_form.h"
#include "kernels/scalar_cases.h"
#include "kernels/softmax/softmax_split.h"
#include "kernels/split_form.h"
#include "weft/error.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};

View large(DType type, const Shape& shape, std::uint64_t offset = 0) {
  const auto bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape))) + offset;
  return {Buffer::placeholder((bytes + 15) / 16 * 16), offset, type, shape};
}

template <class... Views>
std::vector<View> list(const Views&... views) {
  return {views...};
}

std::int64_t size_of(Rng& rng, std::int64_t least, std::int64_t most, std::int64_t multiple) {
  const std::int64_t n = least + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(most - least + 1));
  return (n + multiple - 1) / multiple * multiple;
}

// Sizes of rows and columns that are multiples of 16, or any.
Shape large_matrix(Rng& rng) {
  constexpr std::int64_t kSizes[][2] = {{4096, 4096},  {64, 65536},   {65536, 64},   {700, 50257},  {50257, 333},
                                        {8, 1 << 20},  {1 << 20, 8},  {1024, 32768}, {32768, 1024}, {3, 4000000},
                                        {2048, 20480}, {4096, 30000}, {100, 300},    {300, 100}};
  const auto& [rows, columns] = pick(rng, kSizes);
  const std::int64_t more = rng() % 3 == 0 ? static_cast<std::int64_t>(rng() % 5) : 0;
  return {rows + more, columns + (rng() % 3 == 0 ? more : 0)};
}

Problem transposed_copy(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::u8, DType::i8, DType::f64};
  const DType type = pick(rng, kTypes);
  const Shape shape = large_matrix(rng);
  const View x = large(type, {shape[1], shape[0]}), y = large(type, shape);
  // As measurements force it.
  std::optional<kernels::TransposeForm> form;
  if (rng() % 4 == 0) {
    const bool direct = rng() % 2, words = direct && type == DType::u8;
    form = {direct, 8u << random_int(rng, 0, 2), rng() % 2 == 0, words};
  }
  return {.what = "a large transpose",
          .inputs = list(x.permuted(std::array{1, 0})),
          .outputs = list(y),
          .call = [form](Stream& s, auto in, auto out) {
            if (!form || !s.gpu() || bits(in[0].dtype) > 32) return kernels::copy(s, in[0], out[0]);
            kernels::call_once(s, {in, out}, [&](Stream& t) { kernels::transpose_gpu(*t.gpu(), in[0], out[0], form); });
          }};
}

Problem repeats(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::u8};
  const DType type = pick(rng, kTypes);
  const bool tiles = rng() % 2 == 0;
  Shape from{random_int(rng, 1, 64), 512 << (rng() % 4)};
  while (rng() % 3 == 0 && from.rank() < 4) from.insert(0, random_int(rng, 2, 5));
  Shape to = from;
  for (int d = 0; d + 1 < from.rank(); ++d) to[d] *= rng() % 3 ? random_int(rng, 1, 4) : 1;
  // Of rows that are repeated, as many times as a thread's 16 bytes hold elements, or fewer.
  to[-1] *= tiles ? random_int(rng, 1, 4) : std::int64_t{1} << random_int(rng, 0, 4);
  return {.what = std::format("{} of large rows", tiles ? "tiles" : "repeats"),
          .inputs = list(large(type, from)),
          .outputs = list(large(type, to)),
          .call = [tiles](Stream& s, auto in, auto out) {
            tiles ? kernels::tile(s, in[0], out[0]) : kernels::repeat(s, in[0], out[0]);
          }};
}

Problem large_lu(Rng& rng, std::uint64_t) {
  const DType type = rng() % 2 ? DType::f32 : DType::c64;
  if (rng() % 2) {
    // In place.
    const std::int64_t m = random_int(rng, 1, 40), n = random_int(rng, 1, 40), steps = std::min(m, n);
    return {.what = std::format("lu of {} x {} in place", m, n),
            .inputs = {},
            .outputs = list(large(type, {8, m, n}), large(DType::i32, {8, steps}), large(DType::i32, {8, m}),
                            large(DType::i32, {8})),
            .call = [](Stream& s, auto, auto out) { kernels::lu(s, out[0], out[0], out[1], out[2], out[3]); }};
  }
  const std::int64_t n = random_int(rng, 1, 40), m = size_of(rng, 100, 80000, 1), steps = std::min(m, n);
  return {
      .what = std::format("lu of {} x {}", m, n),
      .inputs = list(large(type, {m, n})),
      .outputs = list(large(type, {m, n}), large(DType::i32, {steps}), large(DType::i32, {m}), large(DType::i32, {})),
      .call = [](Stream& s, auto in, auto out) { kernels::lu(s, in[0], out[0], out[1], out[2], out[3]); }};
}

Problem compressed(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::f16, DType::u8, DType::f32}, kMasks[] = {DType::boolean, DType::f32, DType::i32};
  const DType type = pick(rng, kTypes);
  const Shape shape{size_of(rng, 4, 1000000, 4)};
  return {.what = "elements chosen of many",
          .inputs = list(large(type, shape), large(pick(rng, kMasks), shape)),
          .outputs = list(large(type, shape), large(DType::u32, {})),
          .call = [](Stream& s, auto in, auto out) { kernels::compress(s, in[0], in[1], out[0], out[1]); }};
}

Problem rows(Rng& rng, std::uint64_t) {
  const DType from = pick(rng, kFloats), to = pick(rng, kFloats);
  const Shape shape = large_matrix(rng);
  const int axis = static_cast<int>(rng() % 2), kind = random_int(rng, 0, 3);
  const View x = large(from, shape), y = large(to, shape);
  const bool log = rng() % 2 == 0;
  Problem p{.what = std::format("large rows along axis {}, {}", axis, kind), .inputs = list(x), .outputs = list(y)};
  if (kind == 0) {
    p.call = [axis, log](Stream& s, auto in, auto out) {
      log ? kernels::log_softmax(s, in[0], out[0], axis) : kernels::softmax(s, in[0], out[0], axis);
    };
    return p;
  }
  // Channels that lie last have columns as rows.
  const bool across = axis == 0;
  p.inputs = list(across ? x.permuted(std::array{1, 0}) : x, large(DType::f32, {across ? shape[0] : shape[1]}));
  p.outputs = list(across ? y.permuted(std::array{1, 0}) : y);
  if (kind == 1) {
    p.call = [](Stream& s, auto in, auto out) { kernels::layer_norm(s, in[0], in[1], std::nullopt, out[0], 1, 1e-5); };
  } else if (kind == 2) {
    p.call = [](Stream& s, auto in, auto out) { kernels::rms_norm(s, in[0], in[1], out[0], 1, 1e-5); };
  } else {
    p.call = [](Stream& s, auto in, auto out) {
      kernels::layer_norm(s, in[0], std::nullopt, std::nullopt, out[0], 1, 1e-5);
    };
  }
  return p;
}

// A test of look-back in which all partial statistics arrive late.
Problem late_rows(Rng& rng, std::uint64_t) {
  const bool log = rng() % 2 == 0;
  kernels::SplitForm form = random_split_form(rng);
  form.look_back = form.late = true;
  return {.what = "softmax that looks back, late",
          .inputs = list(large(DType::f32, {4, 4096})),
          .outputs = list(large(DType::f32, {4, 4096})),
          .call = [log, form](Stream& s, auto in, auto out) {
            kernels::softmax_split_rows(s, {.inputs = {in[0]}, .results = {out[0]}}, 1, log, form);
          }};
}

Problem counts(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::i32, DType::i64, DType::f32}, kTrials[] = {DType::i32, DType::i64};
  const Shape shape{random_int(rng, 1, 1000)};
  const View key = large(DType::u32, {2}), y = large(pick(rng, kTypes), shape), n = large(pick(rng, kTrials), shape);
  const int kind = random_int(rng, 0, 2);
  return {.what = "random counts",
          .inputs = list(key, large(DType::f32, shape), n),
          .outputs = list(y),
          .call = [kind](Stream& s, auto in, auto out) {
            if (kind == 0) kernels::random_poisson(s, in[0], in[1], out[0]);
            if (kind == 1) kernels::random_geometric(s, in[0], in[1], out[0]);
            if (kind == 2) kernels::random_binomial(s, in[0], in[2], in[1], out[0]);
          }};
}

Problem users_kernel(Rng& rng, std::uint64_t) {
  CustomKernel kernel{.name = "mine", .inputs = {"x"}, .outputs = {"y"}};
  if (rng() % 2) {
    kernel.wgsl = "fn kernel(i: u32) { store_y(i, load_x(i)); }";
  } else {
    kernel.wgsl =
        "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { store_y(id.x, "
        "load_x(id.x)); }";
    kernel.workgroups = [](auto, auto) { return std::array<std::uint32_t, 3>{1, 1, 1}; };
  }
  return {.what = "a user's kernel",
          .inputs = list(large(pick(rng, kFloats), {1024})),
          .outputs = list(large(pick(rng, kFloats), {1024})),
          .call = [kernel](Stream& s, auto in, auto out) {
            if (s.gpu()) kernels::custom(*s.gpu(), kernel, in, out);
          }};
}

// ---- Products

std::vector<kernels::MatmulVariant> product_variants(const gpu::Capabilities& can, DType type) {
  std::vector<kernels::MatmulVariant> all(kernels::matmul_variants().begin(), kernels::matmul_variants().end());
  for (const kernels::MatmulVariant& v : kernels::matrix_variants(can, type)) all.push_back(v);
  return all;
}

std::int64_t side_of_matrix(Rng& rng, bool whole) {
  constexpr std::int64_t kWhole[] = {128, 256, 512, 1024, 4096}, kAny[] = {1, 2, 3, 4, 8, 17, 32, 100, 1000, 2047};
  return whole ? pick(rng, kWhole) : pick(rng, kAny);
}

// Matrices of which some are as large as fill a GPU, by every variant, one after the other, and as a launcher chooses.
Problem products(Rng& rng, std::uint64_t number) {
  constexpr DType kTypes[] = {DType::f16, DType::f16, DType::i8, DType::u8, DType::f32, DType::bf16, DType::i32};
  const DType type = pick(rng, kTypes), other = rng() % 4 ? type : is_integer(type) ? DType::i8 : DType::f32;
  const bool whole = rng() % 4 != 0;
  const std::int64_t m = side_of_matrix(rng, whole && rng() % 3), n = side_of_matrix(rng, whole),
                     k = side_of_matrix(rng, whole), batch = rng() % 3 ? 1 : 3;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, DType t) {
    if (rng() % 2) return large(t, {batch, rows, columns});
    return large(t, {batch, columns, rows}).permuted(std::array{0, 2, 1});
  };
  const DType result = is_integer(type) ? (rng() % 2 ? DType::i32 : DType::u32) : pick(rng, kFloats);
  const bool chosen = rng() % 3 == 0;
  const int splits = 1 << random_int(rng, 0, 2);
  return {.what = std::format("a product {} x {} x {} of {} and {}", m, k, n, name(type), name(other)),
          .inputs = list(matrix(m, k, type), matrix(k, n, other)),
          .outputs = list(matrix(m, n, result)),
          .call = [=](Stream& s, auto in, auto out) {
            if (!s.gpu() || chosen) return kernels::matmul(s, in[0], in[1], out[0]);
            const gpu::Capabilities& can = s.gpu()->device().capabilities();
            const std::vector<kernels::MatmulVariant> all = product_variants(can, type);
            kernels::MatmulVariant v = all[number % all.size()];
            using Kind = kernels::MatmulKind;
            if (v.kind == Kind::tile || v.kind == Kind::subgroup_matrix || v.kind == Kind::gemv_n) v.splits = splits;
            const kernels::MatmulProblem problem = kernels::matmul_problem(in[0], in[1], out[0], kernels::Epilogue{});
            if (!can_run(v, problem, can)) return kernels::matmul(s, in[0], in[1], out[0]);
            kernels::matmul_by(*s.gpu(), problem, nullptr, v);
          }};
}

// Convolutions of images with whole vectors of channels, and depthwise ones.
Problem convolutions(Rng& rng, std::uint64_t number) {
  constexpr DType kTypes[] = {DType::f16, DType::f16, DType::f32, DType::bf16, DType::i8, DType::u8};
  constexpr std::int64_t kChannels[] = {1, 3, 4, 8, 16, 32, 64, 128, 256, 60};
  const DType type = pick(rng, kTypes);
  const int spatial = random_int(rng, 1, 3);
  const bool depthwise = rng() % 4 == 0, last = rng() % 2, fused = rng() % 3 == 0;
  const std::int64_t c = pick(rng, kChannels), o = depthwise ? c : pick(rng, kChannels);
  Shape x{random_int(rng, 1, 4), c}, w{o, depthwise ? 1 : c}, y{x[0], o};
  kernels::ConvOptions options{.groups = depthwise ? c : 1};
  for (int d = 0; d < spatial; ++d) {
    const std::int64_t size = spatial == 3 ? 16 : rng() % 3 ? 56 : 31, window = random_int(rng, 1, 4);
    const std::int64_t stride = random_int(rng, 1, 2), dilation = random_int(rng, 1, 2),
                       before = rng() % 2 * (window / 2);
    options.strides.push_back(stride), options.dilations.push_back(dilation), options.before.push_back(before);
    x.push_back(size), w.push_back(window);
    y.push_back((size + 2 * before - (window - 1) * dilation - 1) / stride + 1);
  }
  // With channels last, or where they are second.
  const auto image = [&](const Shape& shape, DType t) {
    if (!last) return large(t, shape);
    Shape stored{shape[0]};
    std::vector<int> order{0, shape.rank() - 1};
    for (int d = 2; d < shape.rank(); ++d) stored.push_back(shape[d]), order.push_back(d - 1);
    stored.push_back(shape[1]);
    return large(t, stored).permuted(order);
  };
  const DType result = is_integer(type) ? DType::i32 : type;
  Shape bias{o};
  for (int d = 0; d < spatial; ++d) bias.push_back(1);
  auto e = std::make_shared<Expression>();
  const DType sums = is_integer(type) ? DType::i32 : DType::f32;
  const int sum = e->apply(ScalarOp::add, {e->input(sums), e->input(sums)});
  e->output(result == sums ? sum : e->cast(sum, result));
  return {.what = std::format("a convolution of {} of {} by {} to {}", name(type), to_string(x), to_string(w),
                              to_string(y)),
          .inputs = list(image(x, type), image(w, type), large(sums, bias)),
          .outputs = list(image(y, result)),
          .call = [=](Stream& s, auto in, auto out) {
            const kernels::Epilogue epilogue = fused ? kernels::Epilogue{e.get(), in.subspan(2)} : kernels::Epilogue{};
            if (!s.gpu() || number % 2 || depthwise) return kernels::conv(s, in[0], in[1], out[0], options, epilogue);
            std::vector<kernels::MatmulVariant> tiles;
            for (const kernels::MatmulVariant& v : product_variants(s.gpu()->device().capabilities(), type)) {
              using Kind = kernels::MatmulKind;
              if (v.kind == Kind::tile || v.kind == Kind::subgroup_matrix) tiles.push_back(v);
            }
            const kernels::MatmulVariant& v = tiles[number / 2 % tiles.size()];
            kernels::call_once(s, {in, out}, [&](Stream& t) {
              const auto problem = kernels::conv_problem(in[0], in[1], out[0], options, epilogue);
              kernels::conv_product(*t.gpu(), problem, epilogue.expression, &v);
            });
          }};
}

// ---- Attention

// Which keys queries see: each kind of windows with each kind of mask, one after the other.
struct Seen {
  enum class Windows { none, left, causal, lengths } windows;
  enum class Mask { none, keys, rows } mask = Mask::none;  // a number for a key, or for each query of a key
  DType mask_type = DType::boolean;

  static constexpr std::uint64_t kCount = 20;
  explicit Seen(std::uint64_t number) : windows(static_cast<Windows>(number % 4)) {
    constexpr Mask kMasks[] = {Mask::none, Mask::keys, Mask::keys, Mask::rows, Mask::rows};
    mask = kMasks[number / 4 % 5];
    if (number / 4 % 5 % 2 == 0) mask_type = DType::f16;
  }

  // The mask, and the lengths of queries, whether or not they are given.
  std::vector<View> views(Rng& rng, std::int64_t batch, std::int64_t heads, std::int64_t queries,
                          std::int64_t keys) const {
    const bool of_heads = mask == Mask::rows && (queries == 1 || rng() % 2);
    const Shape shape{rng() % 2 ? 1 : batch, of_heads ? heads : 1, mask == Mask::keys ? 1 : queries, keys};
    return list(large(mask_type, shape), large(rng() % 2 ? DType::i32 : DType::u32, {batch}));
  }
  kernels::AttentionOptions options(std::int64_t keys) const {
    return {
        .scale = 0.1, .causal = windows == Windows::causal, .window_left = windows == Windows::left ? keys / 2 : -1};
  }
  std::optional<View> mask_of(const View& view) const {
    return mask == Mask::none ? std::nullopt : std::optional(view);
  }
  std::optional<View> query_lengths_of(const View& view) const {
    return windows == Windows::lengths ? std::optional(view) : std::nullopt;
  }
};

// Attention on cooperative matrices, which a launcher takes for large problems alone: in the first form from a random
// one on that the device can run.
Problem matrix_attention(Rng& rng, std::uint64_t number) {
  constexpr int kSizes[] = {16, 32, 40, 64, 80, 96, 128, 160, 192, 256};
  const Seen seen(number);
  const int dim = pick(rng, kSizes), value_dim = rng() % 2 ? dim : pick(rng, kSizes);
  const std::int64_t batch = random_int(rng, 1, 4), heads = random_int(rng, 1, 8),
                     queries = rng() % 2 ? 512 : random_int(rng, 100, 2000),
                     keys = rng() % 2 ? 1024 : random_int(rng, 20, 2000);
  const bool lengths = rng() % 4 == 0;
  std::vector<View> inputs =
      list(large(DType::f16, {batch, heads, queries, dim}), large(DType::f16, {batch, heads, keys, dim}),
           large(DType::f16, {batch, heads, keys, value_dim}), large(DType::i32, {batch}));
  for (View& v : seen.views(rng, batch, heads, queries, keys)) inputs.push_back(std::move(v));
  const int splits = random_int(rng, 1, 3);
  const std::uint64_t first = rng();
  return {.what = "attention on cooperative matrices",
          .inputs = inputs,
          .outputs = list(large(DType::f16, {batch, heads, queries, value_dim})),
          .call = [=](Stream& s, auto in, auto out) {
            if (!s.gpu()) return;
            const gpu::Capabilities& can = s.gpu()->device().capabilities();
            kernels::AttentionLengths given{.queries = seen.query_lengths_of(in[5])};
            if (lengths) given.keys = in[3];
            const kernels::AttentionCall call(in[0], in[1], in[2], seen.mask_of(in[4]), out[0], seen.options(keys),
                                              given);
            constexpr std::uint64_t kForms = 96;
            for (std::uint64_t i = 0; i < kForms; ++i) {
              const auto form = static_cast<int>((first + i) % kForms);
              auto v = kernels::attention_subgroup_matrix(can, 1 << form % 4, 1 + form / 4 % 2, 16 << form / 8 % 2,
                                                          16 << form / 16 % 2, form / 32);
              if (!v) return;
              v->kv_splits = splits;
              if (kernels::attention_can_run(*v, call, can)) return kernels::attention_gpu(*s.gpu(), call, *v);
            }
          }};
}

// As a launcher chooses, for sizes that have each of the other kernels; numbers of queries and of rows that share keys,
// and of slices of 32 columns, one after the other.
Problem chosen_attention(Rng& rng, std::uint64_t number) {
  const Seen seen(number);
  enum class Size : std::uint8_t { one_query, few_queries, few_columns, many_columns, wide };
  const auto size = static_cast<Size>(number / Seen::kCount % 5);
  const bool few = size <= Size::few_queries;
  DType type = pick(rng, kFloats);
  // Else by cooperative matrices.
  if (!few && type == DType::f16 && rng() % 2) type = DType::f32;
  const auto count = static_cast<std::int64_t>(number % 8 + 1);
  const std::int64_t batch = random_int(rng, 1, 4), kv_heads = random_int(rng, 1, 8);
  std::int64_t group = 1 << (rng() % 3), queries = 64 * random_int(rng, 1, 16), dim = 8 * random_int(rng, 1, 32);
  std::int64_t value_dim = dim;
  switch (size) {
    case Size::one_query:
      group = count, queries = 1, dim = value_dim = 8 * random_int(rng, 1, 16);
      break;
    case Size::few_queries:
      group = 1, queries = count + 1;
      break;
    case Size::few_columns:
      dim = 4 * random_int(rng, 1, 16), value_dim = 4 * random_int(rng, 1, 16);
      break;
    case Size::many_columns:
      // Of few rows more threads share one.
      if (number % 2) group = 1, queries = 48;
      dim = value_dim = 32 * random_int(rng, 3, 8);
      break;
    case Size::wide:
      dim = 32 * 9, value_dim = static_cast<std::int64_t>(number % 9 + 1) * 32;
      break;
  }
  const std::int64_t heads = kv_heads * group;
  std::int64_t keys = rng() % 3 ? 64 * random_int(rng, 1, 32) : random_int(rng, 1, 2000);
  if (few) keys = 512 * random_int(rng, 1, 8);
  const bool lengths = rng() % 3 == 0;
  // Lengths behind y, in its buffer.
  const Shape result{batch, heads, queries, value_dim};
  View y = large(type, result), of_keys = large(DType::i32, {batch});
  if (rng() % 2) {
    const std::uint64_t bytes = (byte_size(type, static_cast<std::uint64_t>(y.count())) + 255) / 256 * 256;
    const Buffer both = Buffer::placeholder(bytes + 256);
    y = View(both, 0, type, result), of_keys = View(both, bytes, DType::i32, {batch});
  }
  std::vector<View> inputs = list(large(type, {batch, heads, queries, dim}), large(type, {batch, kv_heads, keys, dim}),
                                  large(type, {batch, kv_heads, keys, value_dim}), of_keys);
  for (View& v : seen.views(rng, batch, heads, queries, keys)) inputs.push_back(std::move(v));
  return {.what = std::format("attention of {} queries of {} and {} keys of {} columns", queries, name(type), keys,
                              value_dim),
          .inputs = inputs,
          .outputs = list(y),
          .call = [=](Stream& s, auto in, auto out) {
            kernels::AttentionLengths given{.queries = seen.query_lengths_of(in[5])};
            if (lengths) given.keys = in[3];
            kernels::attention(s, in[0], in[1], in[2], seen.mask_of(in[4]), out[0], seen.options(keys), given);
          }};
}

// Of few queries, with numbers of slices of 32 columns one after the other; and of many, by cooperative matrices.
Problem attention_gradients(Rng& rng, std::uint64_t number) {
  const Seen seen(number);
  const std::uint64_t round = number / Seen::kCount;
  const bool few = round % 2;
  // Cotangents of scores are stored where there are neither windows nor lengths.
  const bool lengths = round / 2 % 2;
  const DType type = few ? pick(rng, kFloats) : DType::f16;
  const int most = rng() % 2 ? 12 : 16;  // of eight columns each: the fewer fit more devices' workgroup memory
  const std::int64_t dim = few ? static_cast<std::int64_t>(number % 8 + 1) * 32 : 8 * random_int(rng, 8, most),
                     value_dim = few ? static_cast<std::int64_t>(number % 9) * 32 : 8 * random_int(rng, 8, most);
  const std::int64_t batch = random_int(rng, 1, 4), heads = random_int(rng, 2, 8), queries = few ? 32 : 1024,
                     keys = few ? 40 : 1024;
  const View q = large(type, {batch, heads, queries, dim}), k = large(type, {batch, heads, keys, dim}),
             v = large(type, {batch, heads, keys, value_dim}), g = large(type, {batch, heads, queries, value_dim}),
             sums = large(DType::f32, {batch, heads, queries});
  std::vector<View> inputs = list(q, k, v, g, sums, sums, large(DType::i32, {batch}));
  for (View& w : seen.views(rng, batch, heads, queries, keys)) inputs.push_back(std::move(w));
  return {.what = std::format("gradients of attention of {} and {} columns", dim, value_dim),
          .inputs = inputs,
          .outputs = list(large(type, q.shape()), large(type, k.shape()), large(type, v.shape())),
          .call = [=](Stream& s, auto in, auto out) {
            kernels::AttentionLengths given{.queries = seen.query_lengths_of(in[8])};
            if (lengths) given.keys = in[6];
            kernels::attention_gradient(s, in[0], in[1], in[2], in[3], in[4], in[5], seen.mask_of(in[7]), out[0],
                                        out[1], out[2], seen.options(keys), given);
          }};
}

// ---- Rows

// The place in a row of 2^32 elements, which is cut along two axes or three on every device.
Problem place_in_cut_row(Rng& rng, std::uint64_t number) {
  const DType type = number % 2 ? DType::f32 : DType::f16;
  const std::int64_t many = std::int64_t{1} << 31;
  const Shape shape = rng() % 2 ? Shape{2, many} : Shape{2, 2, many / 2};
  Shape result;
  std::vector<int> axes;
  for (int d = 0; d < shape.rank(); ++d) result.push_back(1), axes.push_back(d);
  return {.what = std::format("the place of the largest of {}", to_string(shape)),
          .inputs = list(large(type, shape)),
          .outputs = list(large(DType::i64, result)),
          .call = [axes](Stream& s, auto in, auto out) {
            kernels::arg_reduce(s, kernels::ArgKind::max, in[0], out[0], axes);
          }};
}

Problem reductions(Rng& rng, std::uint64_t number) {
  if (number % 20 == 0) return place_in_cut_row(rng, number / 20);
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::i64, DType::f8e4m3};
  const DType type = pick(rng, kTypes);
  Shape shape = large_matrix(rng);
  if (rng() % 4 == 0) shape = {shape[0] * shape[1] / 64 / 4, 64, random_int(rng, 1, 8)};
  // Rows that begin anywhere, a few elements long or many.
  if (rng() % 4 == 0) shape = {random_int(rng, 1, 100000), random_int(rng, 1, rng() % 2 ? 40 : 3000)};
  const std::uint64_t offset = rng() % 3 == 0 && bits(type) <= 32 ? static_cast<std::uint64_t>(bits(type)) / 8 : 0;
  const int axis = random_int(rng, 0, shape.rank() - 1);
  Shape result = shape;
  result[axis] = 1;
  const View x = large(type, shape, offset);
  if (number % 4 == 0) {
    return {.what = std::format("the place of the largest along axis {} of {}", axis, to_string(x)),
            .inputs = list(x),
            .outputs = list(large(rng() % 2 ? DType::i32 : DType::i64, result)),
            .call = [axis](Stream& s, auto in, auto out) {
              kernels::arg_reduce(s, kernels::ArgKind::max, in[0], out[0], std::array{axis});
            }};
  }
  if (number % 4 == 1) {
    // In forms of measurements: of rows that begin anywhere, fewer than a step for each of a row's threads, or many.
    const Shape rows{random_int(rng, 1, 1000), random_int(rng, 65, 130) * 2 + 1};
    const kernels::ReduceForm form{{1u << random_int(rng, 2, 7), 1}, 4, rng() % 2 ? 1 : random_int(rng, 1, 3)};
    return {.what = std::format("sums of {} in forms of measurements", to_string(rows)),
            .inputs = list(large(DType::f16, rows)),
            .outputs = list(large(DType::f16, {rows[0], 1})),
            .call = [form](Stream& s, auto in, auto out) {
              if (s.gpu()) kernels::reduce_in_form(s, kernels::ReduceKind::sum, in[0], out[0], std::array{1}, form);
            }};
  }
  const auto kind =
      static_cast<kernels::ReduceKind>(random_int(rng, 0, static_cast<int>(kernels::ReduceKind::deviation)));
  return {.what = std::format("reduction {} along axis {} of {}", static_cast<int>(kind), axis, to_string(x)),
          .inputs = list(x),
          .outputs = list(large(type, result)),
          .call = [axis, kind](Stream& s, auto in, auto out) {
            try {
              kernels::reduce(s, kind, in[0], out[0], std::array{axis});
            } catch (const InvalidArgument&) {  // such a type has no such reduction
            }
          }};
}

Problem row_gradients(Rng& rng, std::uint64_t) {
  const DType type = pick(rng, kFloats);
  const Shape shape = large_matrix(rng);
  const bool layer = rng() % 2, vectors = rng() % 2;
  const Shape row{shape[1]};
  return {.what = "gradients of large norms",
          .inputs = list(large(type, shape), large(type, shape), large(DType::f32, row)),
          .outputs = list(large(type, shape), large(DType::f32, row), large(DType::f32, row)),
          .call = [=](Stream& s, auto in, auto out) {
            if (!vectors && layer) return kernels::layer_norm_gradient(s, in[0], in[1], in[2], out[0], 1, 1e-5);
            if (!vectors) return kernels::rms_norm_gradient(s, in[0], in[1], in[2], out[0], 1, 1e-5);
            if (layer) return kernels::layer_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], out[2], 1, 1e-5);
            kernels::rms_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], 1, 1e-5);
          }};
}

// Gradients of norms of channels: of images whose channels fit a workgroup, of larger ones in tiles or segments, one
// after the other, and of images whose channels lie last.
Problem channel_gradients(Rng& rng, std::uint64_t number) {
  constexpr std::int64_t kPixels[] = {49, 1024, 4096, 12544, 16384, 50176, 65536};
  const DType type = pick(rng, kFloats);
  const std::int64_t pixels = kPixels[number % std::size(kPixels)];
  const auto lanes = std::int64_t{1} << number / std::size(kPixels) % 3;  // channels of a group
  const std::int64_t groups = random_int(rng, 1, 8), channels = groups * lanes;
  // Those of 32 MiB or more, and smaller ones, which may stay in a cache.
  const std::uint64_t round = number / (std::size(kPixels) * 3) % 4;
  const bool last = round == 2, small = round == 3, of_instances = lanes == 1 && rng() % 2;
  const std::int64_t samples = small ? 2 : (std::int64_t{1} << 24) / (channels * pixels) + 1;
  const auto image = [&] {
    if (!last) return large(type, {samples, channels, pixels});
    return large(type, {samples, pixels, channels}).permuted(std::array{0, 2, 1});
  };
  const View weight = large(rng() % 2 ? DType::f32 : type, {channels});
  return {.what = std::format("gradients of norms of {} x {} channels of {} elements", samples, channels, pixels),
          .inputs = list(image(), image(), weight),
          .outputs = list(image(), large(weight.dtype, weight.shape()), large(weight.dtype, weight.shape())),
          .call = [=](Stream& s, auto in, auto out) {
            if (of_instances) {
              return kernels::instance_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], out[2], 1, 1e-5);
            }
            kernels::group_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], out[2], 1, groups, 1e-5);
          }};
}

// Softmax down columns of 16 bits that are split, into numbers of splits one after the other, which look back.
Problem split_columns(Rng& rng, std::uint64_t number) {
  constexpr DType kTypes[] = {DType::f16, DType::bf16};
  constexpr std::int64_t kTile = 46 * 8;  // elements of a column in a tile of 32 groups of columns
  const bool log = rng() % 2;
  const auto splits = static_cast<std::int64_t>(number % 48 + 1);
  const std::int64_t rows = rng() % 2 ? splits * kTile : splits * kTile - random_int(rng, 0, kTile - 1);
  const Shape shape{rows, ((std::int64_t{1} << 24) / rows + 1) / 128 * 128 + 128};  // 32 MiB
  return {.what = std::format("softmax down columns in {} splits", splits),
          .inputs = list(large(pick(rng, kTypes), shape)),
          .outputs = list(large(pick(rng, kTypes), shape)),
          .call = [log](Stream& s, auto in, auto out) {
            log ? kernels::log_softmax(s, in[0], out[0], 0) : kernels::softmax(s, in[0], out[0], 0);
          }};
}

// Softmax along columns that workgroups share, in all forms of their partial statistics.
Problem shared_columns(Rng& rng, std::uint64_t) {
  const bool log = rng() % 2;
  const DType type = pick(rng, kFloats);
  const Shape shape{1 << random_int(rng, 8, 17), 4 << random_int(rng, 0, 8)};
  return {.what = "softmax along columns",
          .inputs = list(large(type, shape)),
          .outputs = list(large(rng() % 2 ? type : DType::f32, shape)),
          .call = [log](Stream& s, auto in, auto out) {
            log ? kernels::log_softmax(s, in[0], out[0], 0) : kernels::softmax(s, in[0], out[0], 0);
          }};
}

Problem sorts(Rng& rng, std::uint64_t) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::u8, DType::i64, DType::boolean};
  const DType type = pick(rng, kTypes);
  const Shape shape{random_int(rng, 1, 3), random_int(rng, 1, 1 << 20)};
  return {.what = "long rows sorted",
          .inputs = list(large(type, shape)),
          .outputs = list(large(type, shape), large(DType::i32, shape)),
          .call = [](Stream& s, auto in, auto out) { kernels::sort(s, in[0], out[0], out[1], {.axis = 1}); }};
}

// ---- Quantised weights

// Every scheme by every kernel that reads or writes it, one after the other.
Problem quantised(Rng& rng, std::uint64_t number) {
  using Scheme = kernels::QuantizedScheme;
  constexpr std::size_t kSchemes = std::size(kernels::kQuantizedSchemes);
  const auto scheme = static_cast<Scheme>(number % kSchemes);
  const std::uint64_t what = number / kSchemes % 5;
  constexpr std::int64_t kRows[] = {1, 4, 64}, kWeights[][2] = {{64, 256}, {30, 1024}, {256, 128}, {8, 4096}};
  const auto& [rows, columns] = pick(rng, kWeights);
  RandomWeights w = random_weights(rng, scheme, {}, rows, columns);
  // Floats of 8 bits are integers, too; values of bytes may begin at an odd one.
  for (View& v : w.views) {
    const bool values = &v == &w.views[0], bytes = bits(v.dtype) == 8;
    DType type = v.dtype;
    if (values && scheme == Scheme::integers && !w.zeros) {
      if (bytes) type = rng() % 3 == 0 ? DType::i8 : rng() % 2 ? DType::f8e4m3 : DType::f8e5m2;
      if (bits(type) == 4) type = DType::i4;
      if (bits(type) == 2) type = DType::i2;
    }
    v = large(type, v.shape(), values && bytes && rng() % 4 == 0 ? 1 : 0);
  }
  const DType type = w.scales && rng() % 2 && is_floating(w.views[1].dtype) && bits(w.views[1].dtype) > 8
                         ? w.views[1].dtype
                         : pick(rng, kFloats);
  if (what == 0) {
    return {.what = "weights decoded",
            .inputs = w.views,
            .outputs = list(large(type, w.shape)),
            .call = [w](Stream& s, auto in, auto out) { kernels::dequantize_weights(s, w.matrix(in), out[0]); }};
  }
  if (what == 1) {
    return {.what = "weights stored",
            .inputs = list(large(type, w.shape)),
            .outputs = w.views,
            .call = [w](Stream& s, auto in, auto out) {
              try {
                kernels::quantize_weights(s, in[0], w.matrix(out));
              } catch (const InvalidArgument&) {  // a scheme without a rule
              }
            }};
  }
  const std::int64_t m = kRows[what - 2], k = w.shape[-1], n = w.shape[-2];
  Problem p{.what = "products with weights", .inputs = w.views, .outputs = list(large(type, {m, n}))};
  p.inputs.push_back(large(type, {m, k}));
  const std::uint64_t which = rng();
  p.call = [w, which](Stream& s, auto in, auto out) {
    const kernels::QuantizedMatrix weights = w.matrix(in);
    if (s.gpu() && which % 2) {
      // By one of the kernels that read runs, where it can.
      std::vector<kernels::MatmulVariant> runs;
      for (const kernels::MatmulVariant& v : kernels::matmul_variants()) {
        if (v.kind == kernels::MatmulKind::read_gemv) runs.push_back(v);
      }
      const kernels::MatmulVariant& v = runs[which / 2 % runs.size()];
      const kernels::QuantizedProblem q(in.back(), weights, std::nullopt, out[0], {}, {});
      if (can_run(v, q.problem, s.gpu()->device().capabilities())) {
        return kernels::quantized_matmul_by(*s.gpu(), q, nullptr, v);
      }
    }
    kernels::quantized_matmul(s, in.back(), weights, std::nullopt, out[0]);
  };
  return p;
}

// ---- Others

Problem random_numbers(Rng& rng, std::uint64_t number) {
  constexpr DType kIntegers[] = {DType::i64, DType::u64, DType::i32, DType::u8};
  const bool integers = number % 5 == 3;
  const DType type = integers ? pick(rng, kIntegers) : number % 5 == 0 ? DType::f32 : pick(rng, kFloats);
  const Shape shape{random_int(rng, 1, 100000)};
  const std::uint64_t offset = rng() % 2 ? 0 : static_cast<std::uint64_t>(bits(type)) / 8;
  const std::int64_t most = type == DType::i64 || type == DType::u64 ? std::int64_t{1} << (rng() % 60) : 100;
  return {.what = "random numbers",
          .inputs = list(large(DType::u32, {2})),
          .outputs = list(large(type, shape, offset)),
          .call = [number, most](Stream& s, auto in, auto out) {
            if (number % 5 == 0) kernels::random_signed_uniform(s, in[0], out[0]);
            if (number % 5 == 1) kernels::random_uniform(s, in[0], 0, 1, out[0]);
            if (number % 5 == 2) kernels::random_uniform(s, in[0], -3, 5, out[0]);
            if (number % 5 == 3) kernels::random_integers(s, in[0], 0, most, out[0]);
            if (number % 5 == 4) kernels::random_normal(s, in[0], 0, 1, out[0]);
          }};
}

// Lengths that fill workgroup memory, whole or in several passes, and large primes.
Problem transforms(Rng& rng, std::uint64_t) {
  constexpr std::int64_t kLengths[] = {1024, 1536, 2048, 3072, 4096, 6144, 8192, 65536, 1009, 4001, 65537, 1000003};
  const std::int64_t n = rng() % 3 ? pick(rng, kLengths) : random_int(rng, 1, 100000);
  const bool across = rng() % 2;
  const Shape shape = across ? Shape{n, 16} : Shape{16, n};
  const DType real = pick(rng, kFloats);
  const int kind = random_int(rng, 0, 2), axis = across ? 0 : 1;
  Shape half = shape;
  half[axis] = n / 2 + 1;
  return {.what = std::format("a transform of length {}", n),
          .inputs = list(kind == 1 ? large(real, shape) : large(DType::c64, kind == 0 ? shape : half)),
          .outputs = list(kind == 2 ? large(real, shape) : large(DType::c64, kind == 0 ? shape : half)),
          .call = [=](Stream& s, auto in, auto out) {
            kernels::fft(s, static_cast<kernels::FftKind>(kind), in[0], out[0], axis, {.length = n});
          }};
}

Problem folds(Rng& rng, std::uint64_t) {
  const int spatial = random_int(rng, 1, 3);
  Shape x{2, 4}, y{2, 4};
  for (int d = 0; d < spatial; ++d) y.push_back(random_int(rng, 4, 6));
  for (int d = 0; d < spatial; ++d) x.push_back(2);
  for (int d = 0; d < spatial; ++d) x.push_back(y[2 + d] - 1);
  return {.what = "a fold",
          .inputs = list(large(DType::f32, x)),
          .outputs = list(large(DType::f32, y)),
          .call = [](Stream& s, auto in, auto out) { kernels::fold(s, in[0], out[0]); }};
}

// Parts at given places of tensors whose axes cannot be joined, of as many as there may be.
Problem placed_parts(Rng& rng, std::uint64_t number) {
  constexpr DType kTypes[] = {DType::i64, DType::f64, DType::f16, DType::u8};
  const DType type = kTypes[number % std::size(kTypes)];
  const int rank = number / std::size(kTypes) % 2 ? 8 : random_int(rng, 1, 7);
  Shape whole, part;
  for (int d = 0; d < rank; ++d) whole.push_back(random_int(rng, 2, 3)), part.push_back(random_int(rng, 1, 2));
  return {.what = "a part of a tensor is replaced",
          .inputs = list(large(type, part), large(DType::i32, {1})),
          .outputs = list(large(type, whole)),
          .call = [](Stream& s, auto in, auto out) {
            kernels::dynamic_update_slice(s, in[0], in[1], out[0], std::array{0});
          }};
}

// Matrices too large for workgroup memory.
Problem decompositions(Rng& rng, std::uint64_t) {
  const DType type = rng() % 2 ? DType::f32 : DType::c64;
  const std::int64_t n = random_int(rng, 60, 200);
  return {.what = std::format("eigenvectors of {} x {}", n, n),
          .inputs = list(large(type, {n, n})),
          .outputs = list(large(DType::f32, {n}), large(DType::i32, {}), large(type, {n, n})),
          .call = [](Stream& s, auto in, auto out) { kernels::eigh(s, in[0], out[0], out[1], out[2]); }};
}

// A few steps of wide cells, for numbers of sequences one after the other.
Problem recurrences(Rng& rng, std::uint64_t number) {
  const DType type = pick(rng, kFloats);
  const std::int64_t batch = static_cast<std::int64_t>(number % 40 + 1), hidden = 256 * random_int(rng, 1, 8),
                     inputs = 64;
  const bool lengths = rng() % 2, bias = rng() % 2;
  const int kind = random_int(rng, 0, 2);
  const std::int64_t gates = kind == 0 ? 4 : kind == 1 ? 3 : 1;
  const bool after = rng() % 2;
  return {.what = std::format("{} sequences of cells of {}", batch, hidden),
          .inputs = list(large(type, {2, batch, inputs}), large(type, {1, gates * hidden, inputs}),
                         large(type, {1, gates * hidden, hidden}), large(type, {1, gates * hidden}),
                         large(DType::i32, {batch})),
          .outputs = list(large(type, {1, batch, hidden}), large(type, {1, batch, hidden})),
          .call = [=](Stream& s, auto in, auto out) {
            kernels::RnnInputs given{.x = in[0], .w = in[1], .r = in[2]};
            if (bias) given.bias = given.recurrent_bias = in[3];
            if (lengths) given.lengths = in[4];
            if (kind == 0) kernels::lstm(s, given, {.h = out[0], .c = out[1]});
            if (kind == 1) kernels::gru(s, given, {.h = out[0]}, {.reset_after = after});
            if (kind == 2) kernels::rnn(s, given, {.h = out[0]});
          }};
}

// ---- Scalar functions

// An expression of some functions of one type's elements: the selection of one of them, of which each is a text's
// result. With a single result, so that the functions have their fast paths.
struct Functions {
  std::string what;
  Expression expression;
};

int largest_arity(std::span<const ScalarOp> ops) {
  int most = 0;
  for (const ScalarOp op : ops) most = std::max(most, arity(op));
  return most;
}

// The functions on `from`, rounded to `to`.
Functions functions_of(std::span<const ScalarOp> ops, DType from, std::optional<DType> to) {
  Expression e;
  const int choice = e.input(DType::boolean);
  std::array<int, 3> x{};
  for (int k = 0; k < largest_arity(ops); ++k) x[static_cast<std::size_t>(k)] = e.input(from);
  std::optional<int> chosen;
  for (const ScalarOp op : ops) {
    const int y = op == ScalarOp::select
                      ? e.apply(op, {choice, x[0], x[1]})
                      : e.apply(op, std::span<const int>(x).first(static_cast<std::size_t>(arity(op))));
    chosen = chosen ? e.apply(ScalarOp::select, {choice, y, *chosen}) : y;
  }
  e.output(to ? e.cast(*chosen, *to) : *chosen);
  return {std::format("{} and others of {}", name(ops[0]), name(from)), std::move(e)};
}

// The casts from a type to all others.
Functions casts_of(DType from) {
  Expression e;
  const int choice = e.input(DType::boolean), x = e.input(from);
  int chosen = e.cast(x, DType::f32);
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto to = static_cast<DType>(t);
    if (from == DType::f64 && to == DType::f64) continue;
    if (from == DType::c64 && to == DType::f64) continue;
    chosen = e.apply(ScalarOp::select, {choice, e.cast(e.cast(x, to), DType::f32), chosen});
  }
  e.output(chosen);
  return {std::format("casts of {}", name(from)), std::move(e)};
}

// Every function on every type that it takes, also of f32 that becomes a narrow float.
std::vector<Functions> all_functions() {
  constexpr std::size_t kOfOne = 6;  // functions of an expression
  std::vector<Functions> all;
  const auto add = [&](const std::vector<ScalarOp>& ops, DType from, std::optional<DType> to = {}) {
    for (std::size_t i = 0; i < ops.size(); i += kOfOne) {
      all.push_back(functions_of(std::span(ops).subspan(i, std::min(kOfOne, ops.size() - i)), from, to));
    }
  };
  for (const DType type : kComputingTypes) {
    std::map<kernels::Yields, std::vector<ScalarOp>> ops;
    std::vector<ScalarOp> shorter;
    for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
      const auto op = static_cast<ScalarOp>(i);
      if (!takes(op, type)) continue;
      ops[kernels::info(op).yields].push_back(op);
      if (!kernels::info(op).narrow.empty()) shorter.push_back(op);
    }
    for (const auto& [yields, list] : ops) {
      if (type != DType::c64 || yields != kernels::Yields::real) add(list, type);
    }
    if (type == DType::c64) add(ops[kernels::Yields::real], type);
    if (type == DType::f32) {
      for (const DType to : {DType::f16, DType::bf16, DType::f8e5m2}) add(shorter, type, to);
    }
    all.push_back(casts_of(type));
  }
  all.push_back(casts_of(DType::f64));
  return all;
}

// Functions made of others, each of them on each type of floats.
std::vector<std::pair<FunctionInfo, DType>> all_composites() {
  std::vector<std::pair<FunctionInfo, DType>> all;
  for (const FunctionInfo& f : functions()) {
    if (scalar_op(f.name)) continue;
    for (const DType type : kFloats) all.emplace_back(f, type);
  }
  return all;
}

Problem scalar_functions(Rng& rng, std::uint64_t number) {
  static const std::vector<Functions>& lists = *new std::vector<Functions>(all_functions());
  static const auto& composites = *new std::vector<std::pair<FunctionInfo, DType>>(all_composites());
  const Shape shape{rng() % 2 ? 4096 : 1 << 20};
  const bool wide = rng() % 2;
  Problem p{.what = "scalar functions"};
  std::vector<std::function<void(Stream&, std::span<const View>, std::span<const View>)>> calls;
  for (std::size_t i = number % kFormsCycle; i < lists.size(); i += kFormsCycle) {
    const Expression& e = lists[i].expression;
    const std::size_t first = p.inputs.size(), out_at = p.outputs.size(),
                      count = static_cast<std::size_t>(e.input_count());
    p.what += "; " + lists[i].what;
    int bits_of_all = 0;
    for (const auto& node : e.nodes()) {
      if (node.op != ScalarOp::input) continue;
      p.inputs.push_back(large(node.type, shape));
      bits_of_all = std::max(bits_of_all, bits(node.type));
    }
    p.outputs.push_back(large(e.output_type(0), shape));
    bits_of_all = std::max(bits_of_all, bits(e.output_type(0)));
    const kernels::MapForm form{.width = wide && bits_of_all < 32 ? 128 / std::max(bits_of_all, 8) : 0};
    calls.emplace_back([&e, first, count, out_at, form](Stream& s, auto in, auto out) {
      kernels::map(s, "map", e, in.subspan(first, count), out.subspan(out_at, 1), form);
    });
  }
  for (std::size_t i = number % kFormsCycle; i < composites.size(); i += kFormsCycle) {
    const auto& [f, type] = composites[i];
    p.what += std::format("; {} of {}", f.name, name(type));
    const std::size_t first = p.inputs.size(), out_at = p.outputs.size();
    p.inputs.push_back(large(type, shape)), p.outputs.push_back(large(type, shape));
    std::vector<double> parameters;
    for (const FunctionParameter& q : f.parameters) parameters.push_back(q.default_value);
    calls.emplace_back([name = f.name, parameters, first, out_at](Stream& s, auto in, auto out) {
      kernels::elementwise(s, name, in.subspan(first, 1), out[out_at], parameters);
    });
  }
  p.call = [calls](Stream& s, auto in, auto out) {
    for (const auto& call : calls) {
      try {
        call(s, in, out);
      } catch (const Unsupported&) {  // on such a device
      }
    }
  };
  return p;
}

}  // namespace

const std::map<std::string, NumberedGenerator>& forms_cases() {
  static const auto& all = *new std::map<std::string, NumberedGenerator>{{"large transpose", transposed_copy},
                                                                         {"large repeat", repeats},
                                                                         {"large lu", large_lu},
                                                                         {"large compress", compressed},
                                                                         {"large rows", rows},
                                                                         {"late rows", late_rows},
                                                                         {"random counts", counts},
                                                                         {"custom", users_kernel},
                                                                         {"matrix attention", matrix_attention},
                                                                         {"products", products},
                                                                         {"convolutions", convolutions},
                                                                         {"chosen attention", chosen_attention},
                                                                         {"attention gradients", attention_gradients},
                                                                         {"reductions", reductions},
                                                                         {"row gradients", row_gradients},
                                                                         {"channel gradients", channel_gradients},
                                                                         {"split columns", split_columns},
                                                                         {"shared columns", shared_columns},
                                                                         {"sorts", sorts},
                                                                         {"quantised", quantised},
                                                                         {"random numbers", random_numbers},
                                                                         {"transforms", transforms},
                                                                         {"folds", folds},
                                                                         {"placed parts", placed_parts},
                                                                         {"decompositions", decompositions},
                                                                         {"recurrences", recurrences},
                                                                         {"scalar functions", scalar_functions}};
  return all;
}

}  // namespace weft::test
